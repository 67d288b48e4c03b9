"""Many answers in floats: the verdict is the exact one, and nothing is passed that is broken."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from small_float_rows import line, mechanism_of, random_table, rows_of

from optimaldp.certify.graphs import floats, verdict
from optimaldp.certify.graphs.floats import check_float_rows, float_row_fault
from optimaldp.certify.graphs.privacy import check_exactly, check_privacy
from optimaldp.certify.graphs.verdict import as_floats_first
from optimaldp.mechanisms import FloatRows, SharedRows
from optimaldp.privacy import directed, level


@pytest.mark.parametrize("delta", ["0", "0.01"])
def test_the_verdict_is_the_exact_one(delta):
    generator, verdicts = np.random.default_rng(9), set()
    for trial in range(12):
        table = np.tile(random_table(generator, 1, 4), (5, 1)) * (1 + 0.3 * generator.random((5, 4)))
        table /= table.sum(axis=1)[:, None]
        levels = [level(("0.2", "0.05", "ln(2)", "0.15")[trial % 4], delta), level("0.22", delta)]
        mechanism = line(table, levels, [0, 1, 0, 1])
        quick, exact = check_float_rows(mechanism, mechanism.rows), check_exactly(mechanism)
        assert (quick.private, quick.reason) == (exact.private, exact.reason)
        assert quick.worst == exact.worst
        assert exact.epsilon * (1 - 1e-15) <= quick.epsilon <= exact.epsilon + 1e-11
        verdicts.add(quick.private)
    assert verdicts == {True, False}


def test_one_unit_more_than_the_promise_is_broken():
    for delta in ("0", "0.125"):
        covered = Fraction(delta)
        for ulps in range(-4, 5):
            first = 0.25 + ulps * 2.0**-54
            mechanism = line([[first, 0.25, 0.5], [0.125 - float(covered) / 2, 0.375, 0.5]], [level("ln(2)", delta)])
            exact = check_exactly(mechanism)
            assert check_privacy(mechanism).private == exact.private
            assert covered or exact.private == (ulps <= 0)


def test_ratios_that_passed_in_two_floats_are_told():
    """A unit or two below the promise: no larger than that, and no smaller than the truth."""
    low = 0.1
    high = math.nextafter(2 * low, 0)
    mechanism = line([[low, 0.4, 0.5], [high, 0.3, 0.5], [high, 0.3, 0.5]], [level("ln(2)")])
    finding = check_float_rows(mechanism, mechanism.rows)
    assert finding.private
    assert finding.worst == 0
    assert math.log(high / low) * (1 - 1e-15) <= finding.epsilon <= math.log(2) * (1 + 1e-15)
    # With a larger one among the clear edges that is the one.
    levels = [level("ln(2)"), level(3)]
    wide = line([[low, 0.4, 0.5], [high, 0.3, 0.5], [0.02, 0.4, 0.58]], levels, [0, 1])
    finding = check_float_rows(wide, wide.rows)
    assert (finding.private, finding.worst) == (True, 1)
    assert finding.epsilon == pytest.approx(math.log(high / 0.02))


@pytest.mark.parametrize("count", [2, 3])
def test_with_delta_events_are_more_than_single_answers(count):
    """0.4 is at most 3/2 of 0.2 plus 0.15, twice; 0.8 is more than 3/2 of 0.4 plus 0.15."""
    for covered, private in (("0.15", False), ("0.21", True)):
        table = [[0.2, 0.2, 0.6], *[[0.4, 0.4, 0.2]] * (count - 1)]
        mechanism = line(table, [level("ln(3/2)", covered), level("ln(5)")], [0, 1][: count - 1])
        turned = directed(forward=level("ln(3/2)", covered), backward=level("ln(5)"))
        mechanism = replace(mechanism, graph=mechanism.graph.with_level(turned))
        assert check_privacy(mechanism).private is check_exactly(mechanism).private is private
        four = line([[0.2, 0.2, 0.3, 0.3], [0.4, 0.4, 0.1, 0.1]], [turned])
        assert check_privacy(four).private is private


def test_what_passed_in_two_floats_is_not_shown_as_another_promise():
    high = math.nextafter(0.2, 0)
    tilted = directed(forward=level("ln(2)"), backward=level("ln(9)"))
    mechanism = line([[0.1, 0.4, 0.5], [high, 0.3, 0.5]], [tilted])
    finding = check_float_rows(mechanism, mechanism.rows)
    assert finding.private
    assert finding.epsilon == pytest.approx(math.log(2), abs=1e-11)


def test_edges_between_rows_of_floats_are_different_cases():
    rows = rows_of([[0.25, 0.25, 0.5], [0.3, 0.25, 0.45], [0.5, 0.25, 0.25]])
    mechanism = mechanism_of(rows, [(0, 1), (1, 2), (2, 0)], [level("ln(3/2)", "0.01")])
    known = {}
    kept = [floats._check_row_edge(mechanism, rows, edge, known).kept for edge in range(3)]
    assert kept == [True, False, False]
    assert not check_privacy(mechanism).private


def test_of_equally_broken_edges_the_first_is_named():
    table = [[0.1, 0.4, 0.5], [0.2, 0.3, 0.5], [0.1, 0.4, 0.5], [0.2, 0.3, 0.5]]
    mechanism = line(table, [level("ln(3/2)")])
    assert check_float_rows(mechanism, mechanism.rows).worst == 0
    wrong = rows_of([[0.25, 0.25, 0.5], [-0.1, 0.6, 0.5], [-0.1, 0.6, 0.5]])
    assert "'1'" in float_row_fault(mechanism_of(wrong, [(0, 1)], [level(1)]), wrong)


def test_many_broken_edges_are_not_all_measured(monkeypatch):
    asked, check = [], floats._check_row_edge

    def counted(mechanism, rows, number, known):
        asked.append(number)
        return check(mechanism, rows, number, known)

    monkeypatch.setattr(floats, "_check_row_edge", counted)
    table = [[0.1, 0.4, 0.5], [0.2, 0.3, 0.5], [0.05, 0.45, 0.5], [0.15, 0.35, 0.5], [0.16, 0.34, 0.5]]
    for enough, expected in ((9, [1, 2, 0]), (1, [1, 2]), (0, [1])):
        asked.clear()
        monkeypatch.setattr(floats, "_MOST_EXACT_EDGES", enough)
        mechanism = line(table, [level("ln(3/2)")])
        finding = check_float_rows(mechanism, mechanism.rows)
        assert asked == expected
        assert (finding.private, finding.worst) == (False, 1)
        assert finding.epsilon == pytest.approx(math.log(4))
    # The worst one breaks its own promise most, though another uses a larger epsilon.
    monkeypatch.setattr(floats, "_MOST_EXACT_EDGES", 9)
    levels = [level("ln(3/2)"), level("ln(39/10)")]
    mechanism = line(table, levels, [0, 1, 0, 0])
    finding = check_float_rows(mechanism, mechanism.rows)
    assert (finding.worst, finding.epsilon) == (2, pytest.approx(math.log(4)))


def test_given_rows_are_compared_exactly():
    """1/3 against 2/3 is tight at ln 2 to the last digit; the floats next to them say nothing."""
    third, two = Fraction(1, 3), Fraction(2, 3)
    for hair, private in ((0, True), (Fraction(1, 10**40), False)):
        exact = [(third - hair, two + hair), (two, third)]
        rows = rows_of([[0.5, 0.5]] * 4, exact, [0, 1, 0, 1], likeliest=[0] * 4)
        mechanism = mechanism_of(rows, [(0, 1), (2, 3), (1, 2)], [level("ln(2)")])
        assert check_privacy(mechanism).private is private
        mixed = rows_of([[0.25, 0.25, 0.5]] * 2, [(third, third, third)], [0, -1])
        ratio = Fraction(4, 3)
        for promised, kept in ((ratio, False), (Fraction(3, 2), True), (Fraction(149, 100), False)):
            one = mechanism_of(mixed, [(0, 1)], [level(f"ln({promised})")])
            assert check_privacy(one).private is kept


def test_edges_between_equal_given_rows_are_checked_once(monkeypatch):
    calls, check = [], floats.check_pair
    monkeypatch.setattr(floats, "check_pair", lambda *pair: calls.append(pair) or check(*pair))
    half = (Fraction(1, 2), Fraction(1, 2))
    rows = rows_of([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5], [0.25, 0.75]], [half], [0, -1, 0, -1])
    mechanism = mechanism_of(rows, [(0, 1), (2, 3), (2, 1)], [level("ln(2)"), level("ln(3)")], [0, 0, 1])
    known = {}
    for edge in (0, 0, 1, 2):
        floats._check_row_edge(mechanism, rows, edge, known)
    assert [(one[1], one[2]) for one in calls] == [(rows.row(u), rows.row(v)) for u, v in ((0, 1), (2, 3), (2, 1))]
    assert [one[0] for one in calls] == [level("ln(2)"), level("ln(2)"), level("ln(3)")]


def test_many_exact_rows_are_looked_at_in_floats_first(monkeypatch):
    rows = [(Fraction(1, k), Fraction(k - 2, k), Fraction(1, k)) for k in range(4, 9)]
    shared = SharedRows.from_rows([rows[k] for k in (0, 1, 2, 3, 4, 4)])
    mechanism = mechanism_of(shared, [(k, k + 1) for k in range(5)], [level(1)])
    assert as_floats_first(mechanism) is mechanism
    for many, changed in ((5, True), (6, False)):
        monkeypatch.setattr(verdict, "_MANY_ROWS", many)
        assert (as_floats_first(mechanism) is not mechanism) is changed
    monkeypatch.setattr(verdict, "_MANY_ROWS", 1)
    floats = as_floats_first(mechanism).rows
    assert isinstance(floats, FloatRows)
    assert [floats.row(v) for v in range(6)] == [shared.row(v) for v in range(6)]
    assert floats.table.tolist() == shared.floats().tolist()
    assert all(shared.row(v)[floats.likeliest[v]] == max(shared.row(v)) for v in range(6))
    assert check_privacy(as_floats_first(mechanism)).private == check_exactly(mechanism).private
    # Not where a level is not made of bounds, a row is none, or rows are long and more than two.
    gaussian = replace(mechanism, graph=mechanism.graph.with_level(level(mu=1)))
    assert as_floats_first(gaussian) is gaussian
    wrong = replace(mechanism, rows=SharedRows((*shared.rows[1:], (Fraction(1),) * 3), shared.of))
    assert as_floats_first(wrong) is wrong
    monkeypatch.setattr(verdict.LongRows, "pays", staticmethod(lambda *_, **__: True))
    assert as_floats_first(mechanism) is mechanism
    two = mechanism_of(
        SharedRows.from_rows([(p, 1 - p) for p in (Fraction(1, 3), Fraction(1, 4))]), [(0, 1)], [level(1)]
    )
    assert as_floats_first(two) is not two
