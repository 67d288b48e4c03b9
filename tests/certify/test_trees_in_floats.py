"""Bound trees over rows of floats: their sums, their faults, and where rationals decide."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from small_walks import UNIT

from optimaldp.certify.graphs.float_trees import FloatTrees, _Sums
from optimaldp.certify.graphs.given import GivenRows, Prefix
from optimaldp.certify.graphs.trees import ENDLESS, TINY, _settle
from optimaldp.graphs import DatasetGraph, NumberNames, Preferences
from optimaldp.mechanisms import BoundTree, FloatRows, Mechanism, TwoSides
from optimaldp.mechanisms.certificate import FREE, ROOT
from optimaldp.mechanisms.rows import SURE_SIDE
from optimaldp.privacy import level


def test_prefix_sums_in_floats():
    table = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    rows = FloatRows(table, np.array([2, 0, 2], dtype=np.int32), (), np.full(3, -1, dtype=np.int32))
    sums = _Sums(rows)
    assert sums.error == 12 * float(UNIT)
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        for length in (1, 2):
            small, low = sums.sides(Prefix(order, length))
            inside = table[:, list(order[:length])].sum(axis=1)
            assert small == pytest.approx(np.minimum(inside, 1 - inside), abs=1e-16)
            assert low.tolist() == (inside <= 0.5).tolist()
    two = _Sums(TwoSides(np.array([0.25, -0.125]), np.array([0, 1], dtype=np.int32)))
    assert two.error == 0.0
    for first in (0, 1):
        small, low = two.sides(Prefix((first, 1 - first), 1))
        assert small.tolist() == [0.25, 0.125]
        assert low.tolist() == ([True, True] if first == 0 else [False, False])


def examined(values, promised, predecessor, *, given=(0,), allowed=None, edges=None, needed=None):
    """Two answers on a line: the gaps of a tree for the event (0,)."""
    count = len(values)
    side = np.array([float(v) if v <= Fraction(1, 2) else -float(1 - v) for v in values])
    edges = [(k, k + 1) for k in range(count - 1)] if edges is None else edges
    graph = DatasetGraph(NumberNames(count), [u for u, _ in edges], [v for _, v in edges], levels=[promised])
    preferences = Preferences(("yes", "no"), ((0, 1),), np.zeros(count, dtype=np.int32))
    mechanism = Mechanism(graph, preferences, TwoSides(side, np.zeros(count, dtype=np.int32)))
    is_given = np.isin(np.arange(count), given)
    of = np.full(count, -1, dtype=np.int32)
    of[list(given)] = np.arange(len(given))
    rows = tuple((values[v], 1 - values[v]) for v in given) if allowed is None else allowed
    trees = FloatTrees(mechanism, is_given, GivenRows(rows, of), 1)
    tree = BoundTree((0,), np.array(predecessor, dtype=np.int32))
    return trees.gaps(tree, Prefix((0, 1), 1), ~is_given if needed is None else np.isin(np.arange(count), needed))


def test_a_huge_epsilon_is_no_error():
    """e^800 is larger than every float; rationals still know that it bounds nothing here but 1."""
    found = examined([Fraction(1, 4), Fraction(1, 2)], level(800), [ROOT, 0])
    assert not found.fault
    assert found.gaps[1] == pytest.approx(1.0)
    tiny = Fraction(1, 2**1000)
    assert examined([tiny, Fraction(1, 2)], level(800), [ROOT, 0]).gaps[1] == pytest.approx(1.0)


def test_trees_in_floats_at_the_edge():
    quarter, half = Fraction(1, 4), Fraction(1, 2)
    assert examined([quarter, half], level("ln(2)"), [ROOT, 0]).gaps.tolist() == pytest.approx([0.0, 0.0], abs=1e-14)
    short = examined([quarter, Fraction(2**30 - 1, 2**31)], level("ln(2)"), [ROOT, 0]).gaps
    assert short[1] == pytest.approx(1 / (2**30 - 1), rel=1e-6)
    assert short[1] >= 1 / (2**30 - 1)
    above = examined([quarter, half + Fraction(1, 2**20)], level("ln(2)"), [ROOT, 0])
    assert "above the bound" in above.fault or above.gaps[1] >= 0
    assert examined([Fraction(0), half], level("inf", "1/2"), [ROOT, 0]).gaps[1] == 0.0
    assert examined([Fraction(0), 3 * quarter], level("inf", "3/4"), [ROOT, 0]).gaps[1] == 0.0
    steep = examined([Fraction(0), Fraction(1, 8)], level("inf", "1/4"), [ROOT, 0])
    assert steep.gaps[1] == pytest.approx((0.25 - 0.125) / 0.25)  # of delta, which is larger than the side
    assert examined([quarter, half], level("ln(2)"), [ROOT, 0, 1]).fault == "a bound tree does not fit the graph"
    assert examined([quarter, half], level("ln(2)"), [ROOT, 2]).fault == "a bound tree does not fit the graph"
    astray = examined([quarter] * 3, level("ln(2)"), [ROOT, 0, 0]).fault
    assert astray == "'0' bounds '2' but is no neighbour of it"
    assert "is a root" in examined([quarter] * 3, level("ln(2)"), [ROOT, ROOT, 1]).fault
    assert "runs in a cycle" in examined([quarter] * 3, level(1), [ROOT, 2, 1]).fault
    assert "'0' runs in a cycle" in examined([quarter] * 2, level(1), [1, 0], given=()).fault
    assert examined([quarter] * 3, level(1), [ROOT, 2, 1], needed=[]).gaps.tolist() == [0.0] * 3
    assert examined([quarter], level(1), [FREE], given=()).gaps.tolist() == pytest.approx([4.0])  # one dataset alone
    free = examined([quarter, quarter], level("ln(2)"), [ROOT, FREE]).gaps
    assert 4.0 <= free[1] <= 4.0 * (1 + 1e-11)
    printed = examined(
        [quarter, half], level("ln(2)"), [ROOT, 0], allowed=((quarter + Fraction(1, 1000), Fraction(749, 1000)),)
    ).gaps
    assert printed == pytest.approx([4e-3, 4e-3], rel=1e-9)


def test_the_event_that_is_certain_needs_no_bound():
    sides_of = TwoSides(np.array([0.25, SURE_SIDE, 0.0, -0.25]), np.zeros(4, dtype=np.int32))
    graph = DatasetGraph(NumberNames(4), [0], [1], levels=[level(1)])
    preferences = Preferences(("yes", "no"), ((0, 1), (1, 0)), np.zeros(4, dtype=np.int32))
    nobody = np.zeros(4, dtype=bool)
    allowed = GivenRows((), np.full(4, -1, dtype=np.int32))
    trees = FloatTrees(Mechanism(graph, preferences, sides_of), nobody, allowed, 1)
    assert trees.sure(Prefix((0, 1), 1)).tolist() == [False, True, False, False]
    assert trees.sure(Prefix((1, 0), 1)).tolist() == [False, False, True, False]
    # What is certain is not asked for a predecessor, nor is what rests on it.
    tree = BoundTree((0,), np.array([FREE, ROOT, FREE, 1], dtype=np.int32))
    assert not trees.gaps(tree, Prefix((0, 1), 1), np.arange(4) == 1).fault
    assert TINY < 1e-200


def test_walks_that_met_themselves():
    parent, state = np.array([1, 0, 2, 0]), np.array([0, 0, 2, 0], dtype=np.int8)
    total = np.zeros(4)
    _settle(parent, total, np.ones(4), state, np.empty(5, dtype=np.int32), ENDLESS)
    assert state.tolist() == [3, 3, 2, 3]
