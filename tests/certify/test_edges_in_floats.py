"""Two answers in floats, edge by edge: what passes in one float or in two holds exactly, and one hair more does not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from small_sides import mechanism_of

from optimaldp.certify.core.closeness import enclosure, least_ratio
from optimaldp.certify.graphs.floats import (
    CERTAIN,
    CERTAIN_IN_TWO,
    OPEN,
    Promises,
    SmallSides,
    examine_edges,
)
from optimaldp.certify.graphs.privacy import check_privacy
from optimaldp.certify.graphs.rounding import (
    UNIT,
    check_pair,
)
from optimaldp.errors import LevelError
from optimaldp.mechanisms import TwoSides
from optimaldp.mechanisms.rows import SURE_SIDE, side_to_fraction
from optimaldp.privacy import all_of, directed, level


def examine(sides, promised, *, faint=2.0**-1000, favourites=(0, 0), edges=((0, 1),), kinds=None):
    """The states, the ratios of edges in doubt, and the largest ratio of the others with its edge."""
    mechanism = mechanism_of(sides, edges, promised, kinds, favourites)
    small, promises = SmallSides.of(mechanism.rows), Promises(tuple(promised))
    graph, count = mechanism.graph, len(edges)
    directions, numbers = zip(*((forward, np.stack(columns, axis=1)) for forward, columns in promises))
    state, ratio = np.full(count, CERTAIN, dtype=np.int8), np.full(count, -1.0)
    largest, worst = examine_edges(
        0, graph.tails, graph.heads, graph.level_of_edge, small.small, small.first_is_small, np.array(directions),
        np.stack(numbers), faint, state, ratio,
    )  # fmt: skip
    return state.tolist(), ratio.tolist(), largest, worst, mechanism


def exact_ratio(mechanism, edge=0):
    """The least ratio at the level's deltas, over all its bounds in both directions."""
    graph = mechanism.graph
    tail, head = (mechanism.rows.row(int(ends[edge])) for ends in (graph.tails, graph.heads))
    promised = graph.levels[int(graph.level_of_edge[edge])]
    ratios = [least_ratio(head, tail, bound.delta) for bound in promised.forward]
    ratios += [least_ratio(tail, head, bound.delta) for bound in promised.backward]
    return math.inf if None in ratios else max(ratios)


LOOSE = [level(40), level(40, "0.1"), level(40, "1e-7"), directed(forward=level(40, "0.3"), backward=level(40))]


@pytest.mark.parametrize("promised", LOOSE, ids=str)
def test_ratios_are_rounded_up_and_by_little(promised):
    generator = np.random.default_rng(6)
    for _ in range(12):
        sides = (
            generator.random(2) * 0.5 * 10.0 ** -generator.integers(0, 4, 2) * generator.choice([1, -1], 2)
        ).tolist()
        favourites = generator.integers(0, 2, 2).tolist()
        state, _, largest, worst, mechanism = examine(sides, [promised], favourites=favourites)
        exact = exact_ratio(mechanism)
        assert state == [CERTAIN]
        assert worst == 0
        assert exact <= Fraction(largest)
        assert Fraction(largest) <= exact * (1 + 20 * Fraction(UNIT)) + Fraction(1, 10**8) * any(
            b.delta for b in promised.bounds
        )
        # The same where every edge is left in doubt.
        state, ratio, largest, worst, _ = examine(sides, [promised], favourites=favourites, faint=1.0)
        assert state == [CERTAIN_IN_TWO]
        assert (
            exact
            <= Fraction(ratio[0])
            <= exact * (1 + 20 * Fraction(UNIT)) + Fraction(1, 10**8) * any(b.delta for b in promised.bounds)
        )
        assert (largest, worst) == (1.0, 0)


@pytest.mark.parametrize("promised", [level("ln(2)"), level(1), level("0.3", "0.01")], ids=str)
def test_one_float_passes_nothing_that_is_broken(promised):
    """A neighbour at the bound, moved by a few units: passed in one float, in two, or left open, but never wrongly."""
    sides = []
    for start in (0.1, 0.017, 1e-9, 0.49, -0.2, -1e-5):
        bound = promised.step_below(side_to_fraction(start), bits=200)
        side = float(bound) if bound <= Fraction(1, 2) else -float(1 - bound)
        moved = [side + ulps * math.ulp(side) for ulps in (-40, -12, -8, -5, -3, -2, -1, 0, 1, 2, 3)]
        sides += [one for near in moved if -0.5 <= near <= 0.5 for one in (start, near)]
    edges = [(k, k + 1) for k in range(0, len(sides), 2)]
    states, _, _, _, mechanism = examine(sides, [promised], edges=edges, favourites=[0] * len(sides))
    for (u, v), state in zip(edges, states):
        assert state == OPEN or check_pair(promised, mechanism.rows.row(u), mechanism.rows.row(v)).kept
    assert set(states) == {CERTAIN, CERTAIN_IN_TWO, OPEN}


@pytest.mark.parametrize("favourites", [(0, 0), (1, 1)])
@pytest.mark.parametrize("turned", [False, True])
def test_complements_that_round_to_one_keep_their_small_parts(favourites, turned):
    """1 - 2^-70 and 1 - 2^-69 are both 1 as floats; as sums of two floats they differ by what decides."""
    sides = [-(2.0**-69), -(2.0**-70)]
    for power, state in ((80, OPEN), (66, CERTAIN_IN_TWO)):
        ratio = Fraction(2**power + 1, 2**power)
        near = level(f"ln({ratio})", Fraction(1, 2**69))  # the small sides differ by 2^-70: covered by delta
        states = examine(sides[::-1] if turned else sides, [near], favourites=favourites)[0]
        assert states == [CERTAIN_IN_TWO]
        strict = directed(
            forward=level(f"ln({ratio})") if not turned else level(1),
            backward=level(1) if not turned else level(f"ln({ratio})"),
        )
        assert examine(sides[::-1] if turned else sides, [strict], favourites=favourites)[0] == [state]


def test_faint_sides_are_never_passed_in_one_float():
    for sides, faint, state in (
        ((0.25, 0.25), 0.25, CERTAIN),
        ((0.25, 0.25), 0.26, CERTAIN_IN_TWO),
        ((0.25, 0.3), 0.26, CERTAIN_IN_TWO),
        ((0.3, 0.25), 0.26, CERTAIN_IN_TWO),
        ((0.3, 0.3), 0.26, CERTAIN),
        ((0.0, 0.0), 0.26, CERTAIN),
        ((SURE_SIDE, SURE_SIDE), 0.26, CERTAIN),
    ):
        assert examine(sides, [level(1)], faint=faint)[0] == [state]


def test_nothing_against_something():
    for sides in ((0.0, 0.25), (0.25, 0.0), (SURE_SIDE, 0.25), (0.0, SURE_SIDE)):
        state, ratio, _, _, _ = examine(sides, [level(1)])
        assert (state, ratio) == ([OPEN], [math.inf])
    state, _, _, _, mechanism = examine((0.0, 0.25), [level("inf", "0.25")])
    assert state == [CERTAIN] or check_privacy(mechanism).private
    assert examine((0.0, 0.125), [level(1, "0.25")])[:3:2] == ([CERTAIN], 1.0)


def test_the_largest_ratio_and_its_edge():
    sides, edges = [0.1, 0.11, 0.13, 0.1, 0.2], [(0, 1), (1, 2), (0, 3), (3, 4), (1, 0)]
    state, _, largest, worst, _ = examine(sides, [level(3)], edges=edges, favourites=[0] * 5)
    assert state == [CERTAIN] * 5
    assert worst == 3
    assert largest == pytest.approx(2.0, rel=1e-14)
    # An edge in doubt does not count, and those after a broken one are looked at as well.
    levels = [level(3), level("ln(2)"), level("ln(3/2)")]
    state, ratio, largest, worst, _ = examine(sides, levels, edges=edges, kinds=[0, 0, 0, 1, 0], favourites=[0] * 5)
    assert (state[3] in (CERTAIN_IN_TWO, OPEN), worst) == (True, 1)
    assert largest == pytest.approx(0.13 / 0.11, rel=1e-14)
    state, ratio, largest, worst, _ = examine(sides, levels, edges=edges, kinds=[0, 0, 0, 2, 0], favourites=[0] * 5)
    assert state == [CERTAIN, CERTAIN, CERTAIN, OPEN, CERTAIN]
    assert ratio[3] == pytest.approx(2.0, rel=1e-14)


def test_of_equal_edges_the_first_is_named():
    state, _, _, worst, _ = examine([0.1, 0.2, 0.1, 0.2], [level(3)], edges=[(0, 1), (2, 3)], favourites=[0] * 4)
    assert (state, worst) == ([CERTAIN, CERTAIN], 0)
    assert examine([0.1] * 3, [level(3)], edges=[(0, 1), (1, 2)], favourites=[0] * 3)[3] == 0


def test_what_delta_nearly_covers_is_no_ratio_of_nothing():
    """1 - 3/2^55 is rounded down as a float: of what delta leaves, a unit or less, no part may be lost."""
    sides, promised = [2.0**-53, -3 * 2.0**-55], level("ln(11/10)", 1 - Fraction(1, 2**52))
    state, ratio, _, _, mechanism = examine(sides, [promised])
    assert exact_ratio(mechanism) == Fraction(4, 3)
    assert state == [OPEN]
    assert Fraction(ratio[0]) >= Fraction(4, 3)
    assert not check_privacy(mechanism).private


@pytest.mark.parametrize("turned", [False, True])
def test_each_direction_has_its_own_promise(turned):
    """0.1 and 0.2: the small answer doubles one way, the large one hardly falls the other way."""
    sides, tight, loose = ([0.2, 0.1] if turned else [0.1, 0.2]), level("ln(3/2)"), level("ln(3)")
    ahead = examine(sides, [directed(forward=tight, backward=loose)])[0]
    back = examine(sides, [directed(forward=loose, backward=tight)])[0]
    assert (ahead, back) == (([CERTAIN], [OPEN]) if turned else ([OPEN], [CERTAIN]))
    # Of several bounds each counts, also where another level of the graph has fewer.
    both = all_of(level("ln(3)"), level("ln(3/2)", "0.04"))
    assert examine(sides, [level(3), both], kinds=[1])[0] == [OPEN]
    assert examine(sides, [level(3), both], kinds=[0])[0] == [CERTAIN]
    enough = all_of(level("ln(3)"), level("ln(3/2)", "0.06"))
    assert examine(sides, [level(3), enough], kinds=[1])[0] == [CERTAIN]


def test_small_sides_and_whose_they_are():
    rows = TwoSides(np.array([0.25, -0.25, 0.0, SURE_SIDE, 0.5]), np.array([0, 0, 1, 1, 0]))
    small = SmallSides.of(rows)
    assert small.small.tolist() == [0.25, 0.25, 0.0, 0.0, 0.5]
    assert small.first_is_small.tolist() == [True, False, False, True, True]
    for vertex in range(5):
        first = rows.row(vertex)[0]
        assert first == (small.small[vertex] if small.first_is_small[vertex] else 1 - Fraction(small.small[vertex]))


def test_promises_are_rounded_down():
    levels = (
        level(1, "1/3"),
        all_of(level("ln(3)"), level("0.7", "1/7")),
        directed(forward=level("ln(5)"), backward=level(2, "0.1")),
        level("inf", "1/9"),
        level(800),
    )
    promises = Promises(levels)
    forwards = [forward for forward, _ in promises]
    assert forwards == [True, True, False, False]
    for forward, (growth, growth_low, delta, delta_low) in promises:
        for k, one in enumerate(levels):
            bounds = one.forward if forward else one.backward
            found = (Fraction(growth[k]) + Fraction(growth_low[k]), Fraction(delta[k]) + Fraction(delta_low[k]))
            exact = [
                (
                    Fraction(2) ** 500 if b.epsilon.infinite else min(enclosure(b.epsilon, 400)[0], Fraction(2) ** 500),
                    b.delta,
                )
                for b in bounds
            ]
            assert any(
                e * (1 - Fraction(1, 2**100)) <= found[0] <= e and d * (1 - Fraction(1, 2**100)) <= found[1] <= d
                for e, d in exact
            )
    columns = [column for forward, column in promises if forward]
    assert [column[0][1] for column in columns] == pytest.approx([3.0, math.exp(0.7)]) or [
        column[0][1] for column in columns
    ] == pytest.approx([math.exp(0.7), 3.0])
    assert columns[0][0][0] == columns[1][0][0]  # the last one is repeated
    assert promises.most == pytest.approx([1, math.log(3), 2, math.inf, 800])
    with pytest.raises(LevelError, match="is not made of"):
        Promises((level(mu=1),))
