"""The verdict on two answers in floats: which edge is named, and how much is measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from small_sides import mechanism_of

from optimaldp.certify.graphs import floats
from optimaldp.certify.graphs.floats import DoubtfulEdges, Promises, SmallSides, check_sides, float_stages
from optimaldp.certify.graphs.privacy import check_exactly
from optimaldp.privacy import level


def test_the_verdict_names_the_edge_and_its_epsilon():
    """Edges that pass in one float, in two, or by rationals alone: the largest epsilon is found among all of them."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    base = [0.1, 0.15, 0.2, 0.22, 0.25]
    for place, side in ((1, 0.05), (2, 0.4), (3, 0.44), (4, 0.44)):
        sides = list(base)
        sides[place] = side
        for promised in (level(3), level("ln(2)"), level("ln(2)", "0.001"), level("ln(3)")):
            mechanism = mechanism_of(sides, edges, [promised])
            quick, exact = check_sides(mechanism, mechanism.rows), check_exactly(mechanism)
            assert (quick.private, quick.worst, quick.reason) == (exact.private, exact.worst, exact.reason)
            assert exact.epsilon * (1 - 1e-15) <= quick.epsilon <= exact.epsilon * (1 + 1e-9) + 1e-12


def tight_line(count, ratio=2):
    """1/2^k: each edge exactly tight at ln 2, so that no float passes any."""
    sides = [2.0 ** -(k + 2) for k in range(count)]
    return mechanism_of(sides, [(k, k + 1) for k in range(count - 1)], [level(f"ln({ratio})")])


def test_tight_edges_are_passed_by_rationals():
    finding = check_sides(tight_line(8), tight_line(8).rows)
    assert finding.private
    assert finding.epsilon == pytest.approx(math.log(2), rel=1e-15)
    broken = check_sides(tight_line(8, "3/2"), tight_line(8).rows)
    assert not broken.private
    assert broken.epsilon == pytest.approx(math.log(2), rel=1e-15)


def near_tight(sides, promised):
    """Neighbours of *sides* whose ratio is a few units below the promise: passed in two floats."""
    return mechanism_of(sides, [(k, k + 1) for k in range(len(sides) - 1)], promised)


def test_what_passed_in_two_floats_is_measured_while_it_is_few(monkeypatch):
    sides = [0.1]
    for _ in range(4):
        sides.append(math.nextafter(math.nextafter(sides[-1] * 1.2, 0), 0))
    mechanism = near_tight(sides, [level("ln(6/5)")])
    doubtful, _, _ = float_stages(mechanism, SmallSides.of(mechanism.rows), Promises(mechanism.graph.levels))
    assert doubtful.kept.sum() >= 2
    assert all(math.log(1.2) * (1 - 1e-15) <= used <= math.log(1.2) * (1 + 1e-14) for used in doubtful.used)
    exact = check_exactly(mechanism)
    assert check_sides(mechanism, mechanism.rows).epsilon == pytest.approx(exact.epsilon, rel=1e-15)
    monkeypatch.setattr(floats, "_MOST_EXACT_EDGES", 1)
    many = check_sides(mechanism, mechanism.rows)
    assert many.private
    assert exact.epsilon <= many.epsilon <= float(mechanism.graph.levels[0].bounds[0].epsilon) * (1 + 1e-15)


def told_edges(edges, used, kept=True):
    return DoubtfulEdges(np.array(edges), np.array(used), np.full(len(edges), kept))


def test_sharpening_stops_where_nothing_larger_is_left(monkeypatch):
    mechanism = mechanism_of([0.1, 0.2, 0.3, 0.1, 0.4], [(0, 1), (1, 2), (2, 3), (3, 4)], [level(3)])
    promises, asked = Promises(mechanism.graph.levels), []
    check_edge = floats._check_edge

    def counted(mechanism, number, known):
        asked.append(number)
        return check_edge(mechanism, number, known)

    monkeypatch.setattr(floats, "_check_edge", counted)
    used = [0.8, 0.5, 1.2, 1.5]  # from above: ln 2, ln 1.5, ln 3, ln 4
    largest, edge = floats._sharpen(mechanism, promises, told_edges([0, 1, 2, 3], used), 0.0, 9)
    assert (largest, edge, asked) == (pytest.approx(math.log(4)), 3, [3])
    misjudged = told_edges([1, 3], [2.0, 1.5])  # ln 1.5 and ln 4: the larger bound is not the larger epsilon
    assert floats._sharpen(mechanism, promises, misjudged, 0.0, 9) == (pytest.approx(math.log(4)), 3)
    asked.clear()
    assert floats._sharpen(mechanism, promises, told_edges([0, 1, 2, 3], used), 1.5, 9) == (1.5, 9)
    assert not asked
    assert floats._sharpen(mechanism, promises, told_edges([0, 1], [0.8, 0.5]), 0.75, 9) == (0.75, 9)
    assert asked == [0]  # ln 2 is less than what is known
    assert floats._sharpen(
        mechanism, promises, DoubtfulEdges(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=bool)), 0.75, 9
    ) == (0.75, 9)
    assert floats._sharpen(mechanism, promises, told_edges([0, 3], [0.8, 1.5], kept=False), 0.1, 9) == (0.1, 9)
    monkeypatch.setattr(floats, "_MOST_EXACT_EDGES", 3)
    assert floats._sharpen(mechanism, promises, told_edges([0, 1, 2, 3], used), 0.0, 9) == (1.5, 3)
    monkeypatch.setattr(floats, "_MOST_EXACT_EDGES", 4)
    assert floats._sharpen(mechanism, promises, told_edges([0, 1, 2, 3], used), 0.0, 9) == (
        pytest.approx(math.log(4)),
        3,
    )
    promised = Promises((level("0.9"),))
    monkeypatch.setattr(floats, "_MOST_EXACT_EDGES", 3)
    assert floats._sharpen(mechanism, promised, told_edges([0, 1, 2, 3], used), 0.0, 9) == (0.9, 2)


def test_a_mechanism_that_is_broken_everywhere_is_not_measured_everywhere(monkeypatch):
    levels = [level("ln(3/2)"), level("ln(5/4)")]
    mechanism = mechanism_of([0.1, 0.2, 0.3, 0.1, 0.4], [(0, 1), (1, 2), (2, 3), (3, 4)], levels, [0, 0, 1, 0])
    asked, check_edge = [], floats._check_edge

    def counted(mechanism, number, known):
        asked.append(number)
        return check_edge(mechanism, number, known)

    monkeypatch.setattr(floats, "_check_edge", counted)
    open_edges = told_edges([0, 1, 2, 3], [0.7, 0.41, 1.1, 1.39], kept=False)
    whole = floats._third_stage(mechanism, open_edges, 0.0, 9)
    assert (whole.private, whole.worst, whole.epsilon) == (False, 3, pytest.approx(math.log(4)))
    assert asked == [3, 2, 0, 1]  # by how much each is above its own promise
    asked.clear()
    monkeypatch.setattr(floats, "_MOST_EXACT_EDGES", 1)
    part = floats._third_stage(mechanism, told_edges([0, 1, 2, 3], [0.7, 9.0, 1.1, 1.39], kept=False), 0.0, 9)
    assert asked == [1, 3]
    assert (part.private, part.worst, part.epsilon) == (False, 3, pytest.approx(math.log(4)))
    part = floats._third_stage(mechanism, told_edges([0, 2, 3], [1.6, 1.7, 2.0], kept=False), 0.0, 9)
    assert (part.worst, part.epsilon) == (3, 1.6)  # what was not measured stands with its bound
    kept = floats._third_stage(mechanism, told_edges([1], [0.41], kept=False), 0.1, 9)
    assert (kept.private, kept.worst, kept.epsilon) == (True, 1, pytest.approx(math.log(1.5)))
    assert floats._third_stage(mechanism, told_edges([1], [0.41], kept=False), 5.0, 9).worst == 9
    assert floats._third_stage(mechanism, told_edges([1], [0.41]), 0.2, 9).epsilon == 0.2
    monkeypatch.setattr(floats, "_MOST_EXACT_EDGES", 0)
    assert floats._third_stage(mechanism, told_edges([0], [0.7], kept=False), 0.0, 9).epsilon < 0.7
    monkeypatch.setattr(floats, "_MOST_EXACT_EDGES", 9)
    alike = mechanism_of([0.1, 0.2, 0.1, 0.2], [(0, 1), (2, 3)], levels[:1])
    assert check_sides(alike, alike.rows).worst == 0
