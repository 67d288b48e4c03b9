"""Bound trees, function by function: the gap to a predecessor's bound against the exact step, and what gaps add up to."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from optimaldp.certify.graphs.bounds import STEEP, Walk, step_above
from optimaldp.certify.graphs.float_trees import FloatTrees, _LevelTable, _padded, _Sums
from optimaldp.certify.graphs.given import GivenRows
from optimaldp.certify.graphs.long_rows import LongRows, _certainly_kept, _epsilon, _exactly_kept
from optimaldp.certify.graphs.prefix_sums import number_above, number_below
from optimaldp.certify.graphs.prefixes import Prefix
from optimaldp.certify.graphs.privacy import check_pair
from optimaldp.certify.graphs.short_gaps import ShortGaps
from optimaldp.certify.graphs.tree_loop import _local_gaps, _mark_ancestry, _settle, _total_gaps, _walk_gap
from optimaldp.certify.graphs.trees import ENDLESS, TINY, add_up, tree_edges
from optimaldp.errors import LevelError
from optimaldp.graphs import DatasetGraph, NumberNames, Preferences
from optimaldp.mechanisms import BoundTree, FloatRows, Mechanism, TwoSides
from optimaldp.mechanisms.certificate import FREE, ROOT
from optimaldp.mechanisms.rows import SURE_SIDE
from optimaldp.privacy import all_of, directed, level
from optimaldp.privacy.balls import Ball, ball, precision, rational

UNIT = Fraction(1, 2**53)
LEVELS = [
    level("ln(2)"),
    level("ln(2)", "0.1"),
    level("0.3", "1e-6"),
    level(3),
    all_of(level("ln(3)"), level("ln(5/4)", "0.05")),
    directed(forward=level("ln(2)", "0.01"), backward=level("ln(4)")),
    directed(forward=level("ln(4)"), backward=level("ln(3/2)", "0.2")),
]
VALUES = [Fraction(n, 64) for n in (0, 1, 5, 17, 31, 32, 33, 47, 60, 63, 64)] + [
    Fraction(1, 2**40),
    1 - Fraction(1, 2**40),
]


def sides(value: Fraction) -> tuple[float, bool]:
    """The small side of a probability, and whether it is the probability itself."""
    return (float(value), True) if value <= Fraction(1, 2) else (float(1 - value), False)


# --- one walk --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("promised", LEVELS, ids=str)
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("error", [0.0, 2.0**-50])
def test_gaps_in_floats_are_rounded_up_and_by_little(promised, forward, error):
    table = _LevelTable((level(1), promised))
    for y in VALUES:
        bound, steepness = step_above([Walk(promised, forward)], y)
        for x in VALUES:
            gap, slope = _walk_gap(*sides(y), *sides(x), error, table.ahead, table.back, 2 + (not forward))
            exact, small = max(bound - x, Fraction(0)), x <= Fraction(1, 2)
            reached = max(bound, x) if small else 1 - x
            room = (60 * UNIT + 4 * Fraction(error)) * (reached if small and y <= Fraction(1, 2) else 1)
            assert exact <= Fraction(gap) <= exact + room
            if bound < 1 and exact:
                assert slope == pytest.approx(float(steepness), rel=1e-12)


def test_relative_errors_of_sums_widen_the_gap():
    """Sides that may be wrong by 2^-20 of themselves, each the worst way."""
    table, error = _LevelTable((level("ln(2)"),)), 2.0**-20
    for y, x in ((0.125, 0.25), (0.125, 0.125), (0.25, 0.375)):
        gap, _ = _walk_gap(y, True, x, True, error, table.ahead, table.back, 0)
        worst = 2 * y * (1 + error) - x * (1 - error)
        assert worst <= gap <= worst + 1e-12
    for y, x in ((0.125, 0.0625), (0.125, 0.05)):  # both above one half: 1 - y and 1 - x are these
        gap, _ = _walk_gap(y, False, x, False, error, table.ahead, table.back, 0)
        worst = max(0.0, x * (1 + error) - y * (1 - error) / 2)
        assert worst <= gap <= worst + 1e-12
    gap, slope = _walk_gap(0.5, True, 0.25, False, error, table.ahead, table.back, 0)
    assert slope == pytest.approx(0.5)
    gap, slope = _walk_gap(0.0, False, 0.25, False, error, table.ahead, table.back, 0)
    assert (gap, slope) == (pytest.approx(0.25, rel=1e-5), 0.0)  # the bound is 1
    assert gap >= 0.25 * (1 + error)
    gap, _ = _walk_gap(0.0, False, 0.25, True, error, table.ahead, table.back, 0)
    assert 0.75 <= gap == pytest.approx(0.75, rel=1e-5)


def test_infinite_levels_bound_nothing_in_floats():
    table = _LevelTable((level("inf", "0.1"), level(mu=1), level("ln(2)")))
    for kind in range(4):
        assert _walk_gap(0.125, True, 0.25, True, 0.0, table.ahead, table.back, kind) == (pytest.approx(0.75), 0.0)
    assert _walk_gap(0.125, True, 0.25, True, 0.0, table.ahead, table.back, 4)[0] < 1e-15
    assert table.delta.tolist() == [pytest.approx(0.1), 0.0, 0.0]
    assert Fraction(table.delta[0]) >= Fraction(1, 10)


def test_levels_as_arrays_are_rounded_up():
    table = _LevelTable((level(1, "1/3"), all_of(level("ln(3)"), level("0.7", "1/7")), level(800)))
    assert table.ahead.shape == table.back.shape == (2, 6, 3)
    for k, promised in enumerate((level(1, "1/3"), all_of(level("ln(3)"), level("0.7", "1/7")))):
        for i in range(2):
            for way in range(2):
                bounds = promised.bounds if k else promised.forward
                ratio, delta, inverse = table.ahead[i, 2 * k + way].tolist()
                high = [(b.epsilon.ratio_above(bits=200), b.epsilon.ratio_below(bits=200), b.delta) for b in bounds]
                assert any(
                    e <= Fraction(ratio) <= e * (1 + 2 * UNIT)
                    and d <= Fraction(delta) <= d * (1 + 2 * UNIT)
                    and 1 / low <= Fraction(inverse) <= (1 + 2 * UNIT) / low
                    for e, low, d in high
                )
    assert math.isinf(table.ahead[0, 4, 0])  # e^800 is no float: it bounds nothing there
    assert _padded([[(1.0, 2.0, 3.0)], [], [(4.0, 5.0, 6.0), (7.0, 8.0, 9.0)]]).tolist() == [
        [[1, 2, 3], [math.inf, 1, 0], [4, 5, 6]],
        [[1, 2, 3], [math.inf, 1, 0], [7, 8, 9]],
    ]
    assert _LevelTable(()).delta.tolist() == [0.0]


@pytest.mark.parametrize("promised", LEVELS, ids=str)
@pytest.mark.parametrize("forward", [True, False])
def test_gaps_in_rationals_are_exact(promised, forward):
    rows = [(value, 1 - value) for value in VALUES]
    short, long = ShortGaps(rows), LongRows(rows)
    walks = [Walk(promised, forward)]
    lines, enclosed = short.lines(walks), long.lines(walks)
    for a, y in enumerate(VALUES):
        bound, steepness = step_above(walks, y)
        for b, x in enumerate(VALUES):
            gap, slope = short.gap(lines, tuple(short.row(a)), tuple(short.row(b)))
            if bound < x:
                assert gap == -1.0
            else:
                assert gap == (0.0 if bound == x else number_above(rational(bound - x)))
                assert bound == 1 or slope == pytest.approx(float(steepness))
            with precision(LongRows.bits):
                found = long.gap(enclosed, tuple(long.row(a)), tuple(long.row(b)))
            if bound < x:
                assert found is None
                continue
            assert found is not None
            assert bound - x <= Fraction(found[0]) <= bound - x + 8 * UNIT * (bound - x) + Fraction(1, 2**300)
            assert bound == 1 or bound == x or found[1] == pytest.approx(float(steepness))


def test_slopes_are_rounded_up():
    for arithmetic in (ShortGaps, LongRows):
        ahead, back = arithmetic([]).lines([Walk(level(1, "1/3"), True)])
        with precision(300):
            e = Ball(1).exp()
            assert e <= ball(Fraction(ahead[0][2])) <= e * (1 + Ball(2) ** -50)
            assert 1 / e <= ball(Fraction(back[0][2])) <= (1 + Ball(2) ** -50) / e
        assert float(ahead[0][1]) == pytest.approx(1 / 3)


def test_numbers_on_a_known_side():
    for number in (Fraction(1, 3), Fraction(2, 7), Fraction(1, 10**300), Fraction(10**20 + 1, 3)):
        assert Fraction(number_below(rational(number))) < number < Fraction(number_above(rational(number)))
        with precision(200):
            assert Fraction(number_below(ball(number))) < number < Fraction(number_above(ball(number)))
        assert number_above(rational(number)) == pytest.approx(number_below(rational(number)), rel=1e-15)
    assert number_above(rational(0)) == number_below(rational(0)) == 0.0


# --- steps -----------------------------------------------------------------------------------------------------------


def test_steps_at_infinite_and_gaussian_levels():
    assert step_above([Walk(level("inf", "0.1"), True)], Fraction(0)) == (Fraction(1, 10), STEEP)
    assert step_above([Walk(level("inf", "0.1"), True)], Fraction(1, 100)) == (1, 0)
    assert step_above([], Fraction(1, 2)) == (1, 0)
    assert step_above([Walk(level(mu=1), True)], Fraction(1)) == (1, 0)
    assert step_above([Walk(level(mu=1), True)], Fraction(0)) == (0, STEEP)
    assert step_above([Walk(level(mu=0), True)], Fraction(1, 3)) == (Fraction(1, 3), 1)
    assert step_above([Walk(level(mu=0), True)], Fraction(0)) == (0, 1)
    value, slope = step_above([Walk(level(mu=1), True)], Fraction(1, 2))
    assert float(value) == pytest.approx(0.8413447460685429, rel=1e-14)
    assert float(slope) == pytest.approx(math.exp(-0.5), rel=1e-14)
    value, slope = step_above([Walk(level(mu=1), False)], Fraction(1, 4))
    assert float(value) == pytest.approx(0.6273157682301877, rel=1e-10) or 0.6 < float(value) < 0.65
    assert float(slope) == pytest.approx(math.exp(0.6744897501960817 - 0.5), rel=1e-12)
    assert step_above([Walk(level("ln(2)"), True), Walk(level("ln(3/2)"), True)], Fraction(1, 4)) == (
        Fraction(3, 8),
        Fraction(3, 2),
    )
    # Forward bounds hold ahead, backward bounds on the way back.
    tilted = directed(forward=level("ln(2)"), backward=level("ln(4)", "0.1"))
    assert step_above([Walk(tilted, True)], Fraction(1, 4)) == (Fraction(1, 2), 2)
    assert step_above([Walk(tilted, False)], Fraction(1, 4))[0] == 1 - Fraction(3, 8)
    assert Walk(tilted, True).largest_delta == Walk(tilted, False).largest_delta == Fraction(1, 10)
    assert Walk(level(mu=1), True).largest_delta == 0
    with pytest.raises(LevelError, match="is not made of"):
        _ = Walk(level(mu=1), True).ahead
    rest = step_above([Walk(level("ln(2)", "1/4"), True)], Fraction(3, 4))
    assert rest == (1, 0)  # nothing is left of 1 - y - delta


def test_irrational_steps_are_rounded_up_and_by_little():
    for promised in (level(1), level("0.3", "0.01"), level("0.5+ln(2)")):
        for y in (Fraction(1, 10), Fraction(9, 10)):
            value, slope = step_above([Walk(promised, True)], y)
            with precision(600):
                e, delta = promised.bounds[0].epsilon.exp(), ball(promised.bounds[0].delta)
                ahead, back = e * ball(y) + delta, 1 - (1 - ball(y) - delta) / e
                exact, steepness = (ahead, e) if ahead < back else (back, 1 / e)
                assert exact < ball(value) < exact + Ball(2) ** -180
                assert steepness < ball(slope) < steepness + Ball(2) ** -180
    value, slope = step_above([Walk(level(mu=2), True)], Fraction(1, 10))
    assert float(value) == pytest.approx(0.7637595841058832, rel=1e-12)  # Phi(2 - 1.2815515655446004)
    assert float(slope) == pytest.approx(math.exp(2 * 1.2815515655446004 - 2), rel=1e-12)
    assert Fraction(ENDLESS) < STEEP


# --- what rests on what ----------------------------------------------------------------------------------------------


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


# --- what gaps add up to ---------------------------------------------------------------------------------------------


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


# --- which edges a tree walks ----------------------------------------------------------------------------------------


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


# --- long rows -------------------------------------------------------------------------------------------------------


def test_when_enclosures_pay():
    long, short = (Fraction(1, 2**1024), 1 - Fraction(1, 2**1024)), (Fraction(1, 3), Fraction(2, 3))
    assert LongRows.pays([short, long], [level(1)])
    assert not LongRows.pays([short, (Fraction(1, 2**1023), 1 - Fraction(1, 2**1023))], [level(1)])
    assert not LongRows.pays([long], [level("inf")])
    assert not LongRows.pays([long], [level(1), level(mu=1)])
    assert not LongRows.pays([short], [level(1)], pairs=2000)
    assert LongRows.pays([short], [level(1)], pairs=2001)
    assert not LongRows.pays([], [level(1)], pairs=10**6)
    assert not LongRows.pays([short], [level("inf")], pairs=10**6)


PAIRS = [
    ((Fraction(1, 4), Fraction(3, 4)), (Fraction(1, 2), Fraction(1, 2))),
    ((Fraction(1, 5), Fraction(1, 5), Fraction(3, 5)), (Fraction(2, 5), Fraction(2, 5), Fraction(1, 5))),
    ((Fraction(1, 5), Fraction(0), Fraction(4, 5)), (Fraction(2, 5), Fraction(0), Fraction(3, 5))),
    ((Fraction(0), Fraction(1)), (Fraction(1, 10), Fraction(9, 10))),
    ((Fraction(1, 3), Fraction(2, 3)), (Fraction(1, 3), Fraction(2, 3))),
]


@pytest.mark.parametrize(
    "promised", [*LEVELS, level("ln(5/2)"), level("ln(4/3)", "2/15"), level(0, "2/5"), level("ln(2)", "1/10")], ids=str
)
def test_enclosures_say_what_rationals_say(promised):
    for first, second in PAIRS:
        for tail, head in ((first, second), (second, first)):
            if promised.bounds[0].delta == Fraction(1, 10) and 0 in (tail[0], head[0]):
                continue  # delta covers it to the last digit, which no enclosure tells: then the promise is shown
            exact = check_pair(promised, tail, head)
            used = LongRows([tail, head]).used(promised, 0, 1)
            assert (used is not None) == exact.kept
            if used is not None:
                assert exact.used * (1 - 1e-15) <= used <= exact.used * (1 + 2e-12) + 2e-12


def test_each_bound_by_enclosures_and_by_rationals():
    bound, tight = level("ln(2)", "1/10").bounds[0], level("ln(2)").bounds[0]
    above, below = (Fraction(3, 5), Fraction(2, 5)), (Fraction(1, 4), Fraction(3, 4))
    hair = Fraction(1, 10**60)
    with precision(LongRows.bits):

        def both(bound, above, below):
            return _certainly_kept(bound, [ball(p) for p in above], [ball(p) for p in below]), _exactly_kept(
                bound, above, below
            )

        assert both(bound, above, below)[1]  # 3/5 = 2/4 + 1/10
        assert both(bound, (above[0] - hair, above[1] + hair), below) == (True, True)
        assert both(bound, (above[0] + hair, above[1] - hair), below) == (False, False)
        assert both(tight, (Fraction(1, 2) - hair, Fraction(1, 2) + hair), below) == (True, True)
        assert both(tight, (Fraction(1, 2) + hair, Fraction(1, 2) - hair), below) == (False, False)
        assert both(tight, (Fraction(1, 2), Fraction(1, 2)), below)[1]
        assert not _exactly_kept(
            level(1).bounds[0], above, above
        )  # an irrational promise is never met to the last digit
        # Two answers share one delta.
        three = (Fraction(3, 10), Fraction(3, 10), Fraction(4, 10)), (Fraction(1, 8), Fraction(1, 8), Fraction(6, 8))
        assert both(level("ln(2)", "1/10").bounds[0], *three)[1]
        assert both(level("ln(2)", "99/1000").bounds[0], *three) == (False, False)
        assert both(level("ln(2)", "101/1000").bounds[0], *three) == (True, True)
        assert _epsilon(level(3, "1/10").bounds[0], *([ball(p) for p in row] for row in three)) == pytest.approx(
            math.log(2)
        )
        assert _epsilon(level(3).bounds[0], *([ball(p) for p in row] for row in three)) == pytest.approx(math.log(2.4))
        assert _epsilon(level("0.1", "2/5").bounds[0], *([ball(p) for p in row] for row in three)) == 0.0
        assert _epsilon(level("ln(2)").bounds[0], *([ball(p) for p in row] for row in three)) == pytest.approx(
            math.log(2)
        )


def test_what_is_no_larger_than_known_is_not_measured_again():
    rows = [(Fraction(1, 4), Fraction(3, 4)), (Fraction(1, 2), Fraction(1, 2)), (Fraction(9, 40), Fraction(31, 40))]
    enclosed = LongRows(rows)
    assert enclosed.used(level(2), 0, 1) == pytest.approx(math.log(2))
    assert enclosed.used(level("0.5"), 0, 2) == 0.0
    assert enclosed.used(level("0.7"), 0, 2) == pytest.approx(math.log(10 / 9))
    assert enclosed.used(level("0.7"), 0, 1) == pytest.approx(math.log(2))
    assert enclosed.used(level("0.6"), 0, 1) is None


# --- floats: prefix sums ---------------------------------------------------------------------------------------------


def test_prefix_sums_in_floats():
    table = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    rows = FloatRows(table, np.array([2, 0, 2], dtype=np.int32), (), np.full(3, -1, dtype=np.int32))
    sums = _Sums(rows)
    assert sums.error == pytest.approx(12 * float(UNIT))
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


# --- whole trees in floats -------------------------------------------------------------------------------------------


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
    steep = examined([Fraction(0), Fraction(1, 8)], level("inf", "1/4"), [ROOT, 0])
    assert steep.gaps[1] == pytest.approx((0.25 - 0.125) / 0.25)  # of delta, which is larger than the side
    assert examined([quarter, half], level("ln(2)"), [ROOT, 0, 1]).fault == "a bound tree does not fit the graph"
    assert examined([quarter, half], level("ln(2)"), [ROOT, 2]).fault == "a bound tree does not fit the graph"
    assert "no neighbour" in examined([quarter] * 3, level("ln(2)"), [ROOT, 0, 0]).fault
    assert "is a root" in examined([quarter] * 3, level("ln(2)"), [ROOT, ROOT, 1]).fault
    assert "runs in a cycle" in examined([quarter] * 3, level(1), [ROOT, 2, 1]).fault
    assert "'0' runs in a cycle" in examined([quarter] * 2, level(1), [1, 0], given=()).fault
    assert examined([quarter] * 3, level(1), [ROOT, 2, 1], needed=[]).gaps.tolist() == [0.0] * 3
    free = examined([quarter, quarter], level("ln(2)"), [ROOT, FREE]).gaps
    assert free[1] == pytest.approx(4.0)
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
