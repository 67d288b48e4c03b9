"""Bound trees, function by function: what rests on what, what gaps add up to, which edges are walked."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from small_walks import sides

from optimaldp.certify.graphs.float_trees import _LevelTable
from optimaldp.certify.graphs.rounding import Walk, step_above
from optimaldp.certify.graphs.trees import ENDLESS, _local_gaps, _mark_ancestry, _total_gaps, add_up, tree_edges
from optimaldp.graphs import DatasetGraph, NumberNames
from optimaldp.privacy import directed, level


def marked(predecessor, needed, settled):
    concerned = np.zeros(len(predecessor), dtype=bool)
    _mark_ancestry(
        np.array(predecessor),
        np.isin(np.arange(len(predecessor)), needed),
        np.isin(np.arange(len(predecessor)), settled),
        concerned,
    )
    return np.flatnonzero(concerned).tolist()


def test_ancestry_ends_where_nothing_needs_a_proof():
    chain = [-1, 0, 1, 2, 1, -2]
    assert marked(chain, [3], [0]) == [1, 2, 3]
    assert marked(chain, [3], []) == [0, 1, 2, 3]
    assert marked(chain, [3], [2]) == [3]
    assert marked(chain, [3], [3]) == []
    assert marked(chain, [4, 5], [0]) == [1, 4, 5]
    assert marked(chain, [], []) == []
    assert marked([1, 2, 0], [0], []) == [0, 1, 2]  # in a circle, and it ends


def local(edges, kinds, levels, predecessor, values, concerned=None):
    count, table = len(values), _LevelTable(tuple(levels))
    small, low = (np.array(part) for part in zip(*map(sides, values)))
    gap, slope, delta = np.full(count, -1.0), np.zeros(count), np.zeros(count)
    _local_gaps(
        np.array([u for u, _ in edges]), np.array([v for _, v in edges]), np.array(kinds), np.array(predecessor),
        np.ones(count, dtype=bool) if concerned is None else np.array(concerned), small, low, 0.0, table.ahead, table.back,
        table.delta, gap, slope, delta,
    )  # fmt: skip
    return gap.tolist(), slope.tolist(), delta.tolist()


def test_local_gaps_walk_edges_both_ways():
    tilted = directed(forward=level("ln(2)", "0.125"), backward=level("ln(4)"))
    values = [Fraction(1, 16), Fraction(1, 8), Fraction(1, 8)]
    for edges, forward in (([(0, 1), (1, 2)], True), ([(1, 0), (2, 1)], False)):
        gap, slope, delta = local(edges, [1, 1], [level(5), tilted], [-1, 0, 1], values)
        assert gap[0] == -1.0
        for v in (1, 2):
            bound, steepness = step_above([Walk(tilted, forward)], values[v - 1])
            assert gap[v] == pytest.approx(float(bound - values[v]), rel=1e-13)
            assert slope[v] == pytest.approx(float(steepness))
        assert delta == [0.0, 0.125, 0.125]
    gap, _, _ = local([(0, 1), (1, 2)], [0, 0], [level(1)], [-1, 0, 0], values)
    assert gap[2] == -1.0  # its predecessor is no neighbour
    gap, _, _ = local([(0, 1), (1, 2)], [0, 0], [level(1)], [-1, 0, 1], values, [True, False, True])
    assert (gap[1], gap[2] > 0) == (-1.0, True)


def test_of_parallel_edges_the_one_that_bounds_most_counts():
    levels = [level("ln(3)", "0.01"), level("ln(2)"), level(4, "0.2")]
    values = [Fraction(1, 16), Fraction(1, 16)]
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]):
        gap, slope, delta = local([(0, 1), (1, 0), (0, 1)], order, levels, [-1, 0], values)
        assert gap[1] == pytest.approx(1 / 16)
        assert slope[1] == pytest.approx(2.0)
        assert delta[1] == pytest.approx(0.2)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_value_at_its_bound_has_no_gap_whatever_other_edges_allow(order):
    """1/4 is above twice 1/16: the looser edge next to it makes no gap of that."""
    gap, slope, _ = local(
        [(0, 1), (0, 1)], order, [level("ln(2)"), level("ln(16)")], [-1, 0], [Fraction(1, 16), Fraction(1, 4)]
    )
    assert (gap[1], slope[1]) == (0.0, pytest.approx(2.0))


def totals(predecessor, gap, slope, small, *, concerned, given=(), given_row=None, above=(), rest=(), low=True, delta=None,
           error=0.0, tiny=1e-9):  # fmt: skip
    count = len(predecessor)
    total, state = np.zeros(count), np.zeros(count, dtype=np.int8)
    astray = _total_gaps(
        np.array(predecessor), np.isin(np.arange(count), concerned), np.isin(np.arange(count), given),
        np.full(count, -1) if given_row is None else np.array(given_row), np.array(above), np.array(rest),
        np.array(small, dtype=float), np.full(count, low), error,
        np.zeros(count) if delta is None else np.array(delta, dtype=float),
        np.array(gap, dtype=float), np.array(slope, dtype=float), tiny, 1e150, total, state, np.empty(count + 1, dtype=np.int32),
    )  # fmt: skip
    return astray, total.tolist()


def test_gaps_are_carried_along_in_their_scales():
    small, gap, slope = [0.5, 0.25, 0.125, 0.0625, 0.5], [0.0, 0.01, 0.02, 0.03, 0.7], [0.0, 2.0, 3.0, 0.5, 9.0]
    astray, total = totals([-1, 0, 1, 2, 0], gap, slope, small, concerned=[1, 2, 3], given=[0])
    absolute = [0.0, 0.01, 0.02 + 3 * 0.01, 0.03 + 0.5 * 0.05]
    assert astray == -1
    assert total[:4] == pytest.approx([a / s for a, s in zip(absolute, small)])
    assert total[4] == 0.0  # nobody asked
    # In any order of the numbers: leaves first.
    order = [3, 1, 4, 0, 2]  # old number of each new one
    new = {old: number for number, old in enumerate(order)}
    predecessor = [[-1, 0, 1, 2, 0][old] for old in order]
    predecessor = [p if p < 0 else new[p] for p in predecessor]
    shuffled = totals(
        predecessor, [gap[old] for old in order], [slope[old] for old in order], [small[old] for old in order],
        concerned=[new[1], new[2], new[3]], given=[new[0]],
    )  # fmt: skip
    assert [shuffled[1][new[old]] for old in range(4)] == pytest.approx(total[:4])


def test_scales_are_never_below_delta_or_the_least():
    chain = {"concerned": [1, 2], "given": [0]}
    _, total = totals([-1, 0, 1], [0, 1e-3, 1e-3], [0, 1, 1], [0.5, 1e-12, 1e-12], delta=[0, 0.25, 0], **chain)
    assert total == pytest.approx([0, 1e-3 / 0.25, (1e-3 + 1e-3) / 1e-9])
    _, total = totals([-1, 0, 1], [0, 1e-3, 1e-3], [0, 1, 1], [0.5, 1e-12, 0.125], **chain)
    assert total == pytest.approx([0, 1e6, 2e-3 / 0.125])


@pytest.mark.filterwarnings("ignore:overflow encountered")  # uncompiled: the compiled loop says nothing
def test_roots_that_are_free_or_unnamed():
    _, total = totals([-2, 0], [0, 0.1], [0, 2.0], [0.25, 0.5], concerned=[0, 1])
    assert total == pytest.approx([4.0, (0.1 + 2.0) / 0.5])
    _, total = totals([-3, 0], [0, 0.1], [0, 2.0], [0.25, 0.5], concerned=[0, 1])
    assert total == [1e150, 1e150]
    _, total = totals([-2, 0], [0, 0.1], [0, 1e300], [0.25, 1e-300], concerned=[0, 1])
    assert total[1] == 1e150
    _, total = totals([-1, 0], [0, 1e200], [0, 1.0], [0.25, 0.5], concerned=[1], given=[0])
    assert total[1] == 1e150


def test_given_roots_may_be_rounded_when_printed():
    chain = {"concerned": [1], "given": [0], "given_row": [1, -1], "above": [9.0, 0.26], "rest": [9.0, 0.2]}
    _, total = totals([-1, 0], [0, 0], [0, 1.0], [0.25, 0.25], **chain)
    assert total == pytest.approx([0.01 / 0.25, 0.01 / 0.25])
    _, total = totals([-1, 0], [0, 0], [0, 1.0], [0.25, 0.25], low=False, **chain)
    assert total == pytest.approx([0.05 / 0.25, 0.05 / 0.25])
    _, total = totals([-1, 0], [0, 0], [0, 1.0], [0.5, 0.25], **chain)
    assert total == [0.0, 0.0]  # more than is given is no gap
    _, total = totals([-1, 0], [0, 0], [0, 1.0], [0.25, 0.25], error=0.01, **chain)
    assert total[0] == pytest.approx((0.26 - 0.25 * 0.99) / 0.25)
    _, total = totals([-1, 0], [0, 0], [0, 1.0], [0.25, 0.25], error=0.01, low=False, **chain)
    assert total[0] == pytest.approx((0.25 * 1.01 - 0.2) / 0.25)
    exact = chain | {"above": [9.0, 0.25]}
    _, total = totals([-1, 0], [0, 0], [0, 1.0], [0.25, 0.25], **exact)
    assert 0 < total[0] < 1e-15  # rounding of the side itself
    _, total = totals([-1, 0], [0, 0], [0, 1.0], [0.25, 0.25], **(chain | {"given": []}))
    assert total == [0.0, 0.0]
    _, total = totals([-1, 0], [0, 0], [0, 1.0], [0.25, 0.25], **(chain | {"given_row": [-1, -1]}))
    assert total == [0.0, 0.0]


def test_circles_are_found_from_everywhere():
    for predecessor, concerned in (([1, 2, 0], [0, 1, 2]), ([-1, 0, 3, 2, 3], [1, 2, 3, 4])):
        astray, _ = totals(
            predecessor, [0] * len(predecessor), [1] * len(predecessor), [0.5] * len(predecessor), concerned=concerned
        )
        assert astray in (0, 1, 2, 3)
        assert predecessor[astray] >= 0
    astray, _ = totals([-1, 0, 3, 2], [0] * 4, [1] * 4, [0.5] * 4, concerned=[1], given=[0])
    assert astray == -1  # nobody rests on the circle


def test_settling_stops_at_what_is_hopeless():
    total, astray = add_up(np.array([0, 0, 1]), np.array([1e200, 1.0, 1.0]), np.array([0.0, 1e200, 0.5]))
    assert total == pytest.approx([ENDLESS, ENDLESS, 0.5 * ENDLESS])
    assert not astray.size
    total, astray = add_up(np.array([1, 0, 2, 3, 3, 0]), np.ones(6), np.array([0.5, 0.5, 0.0, 0.0, 2.0, 1.0]))
    assert astray.tolist() == [0, 1, 5]
    assert total[2:5] == pytest.approx([1.0, 1.0, 3.0])
    assert total[4] > 3.0  # from above


def test_edges_of_a_tree_with_their_kinds():
    generator, tilted = np.random.default_rng(31), directed(forward=level("ln(2)"), backward=level("ln(3)"))
    levels, count = [level(1), tilted, level("ln(2)", "0.1")], 7
    parallel = 0
    for _ in range(30):
        ends = [
            tuple(generator.choice(count, 2, replace=False).tolist()) for _ in range(int(generator.integers(3, 12)))
        ]
        kinds = generator.integers(0, 3, len(ends)).tolist()
        graph = DatasetGraph(
            NumberNames(count), [u for u, _ in ends], [v for _, v in ends], levels=levels, level_of_edge=kinds
        )
        predecessor = generator.integers(-2, count, count).astype(np.int32)
        inner = (predecessor >= 0) & (generator.random(count) < 0.8)
        edges = tree_edges(graph, predecessor, inner)
        found = {
            v: {(w.level, w.forward) for w in edges.kinds[k]}
            for v, k in zip(edges.vertices.tolist(), edges.kind_of.tolist())
        }
        expected: dict[int, set] = {}
        for (u, v), k in zip(ends, kinds):
            for tail, head, forward in ((u, v, True), (v, u, False)):
                if inner[head] and predecessor[head] == tail:
                    expected.setdefault(head, set()).add((levels[k], forward or levels[k] != tilted))
        assert found == expected
        assert len(edges.vertices) == len(set(edges.vertices.tolist()))
        assert sorted(edges.lost.tolist()) == sorted(set(np.flatnonzero(inner).tolist()) - set(expected))
        parallel += any(len(walks) > 1 for walks in found.values())
    assert parallel


@pytest.mark.long
@pytest.mark.parametrize("gap", [0.1, 0.7, 1 / 3])
def test_totals_of_long_chains_are_not_below_the_exact_ones(gap: float) -> None:
    """Each step rounds twice: what one factor covers for a thousand steps it does not for many more."""
    steps = 300_000
    factor = np.ones(steps)
    factor[0] = 0.0
    total, _ = add_up(np.maximum(np.arange(steps) - 1, 0), np.full(steps, gap), factor)
    exact = Fraction(gap) * steps
    assert exact <= Fraction(float(total[-1])) <= exact * (1 + Fraction(1, 10**9))
