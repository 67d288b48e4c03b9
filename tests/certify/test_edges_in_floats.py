"""Two answers in floats, function by function: what passes in one float or in two holds exactly, and one hair more does not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from optimaldp.certify.closeness import enclosure, least_ratio
from optimaldp.certify.graphs import floats
from optimaldp.certify.graphs.double_double import parts_below, two_product, two_sum
from optimaldp.certify.graphs.edge_loop import (
    CERTAIN,
    CERTAIN_IN_TWO,
    OPEN,
    _holds,
    _product_error,
    _sum_error,
    examine_edges,
)
from optimaldp.certify.graphs.floats import DoubtfulEdges, Promises, SmallSides, check_sides, float_stages, holds
from optimaldp.certify.graphs.privacy import check_exactly, check_pair, check_privacy
from optimaldp.certify.graphs.rounding import (
    UNIT,
    decimal_above,
    float_above,
    float_below,
    log_above,
)
from optimaldp.errors import LevelError
from optimaldp.graphs import DatasetGraph, NumberNames, Preferences
from optimaldp.mechanisms import Mechanism, TwoSides
from optimaldp.mechanisms.rows import SURE_SIDE, side_to_fraction
from optimaldp.privacy import all_of, directed, level

LARGEST = float.fromhex("0x1.fffffffffffffp+1023")


def mechanism_of(sides, edges, levels, kinds=None, favourites=None):
    chosen = np.zeros(len(sides), dtype=np.int32) if favourites is None else np.array(favourites, dtype=np.int32)
    graph = DatasetGraph(
        NumberNames(len(sides)),
        [u for u, _ in edges],
        [v for _, v in edges],
        levels=levels,
        level_of_edge=[0] * len(edges) if kinds is None else kinds,
    )
    return Mechanism(graph, Preferences.of_truth(("yes", "no"), chosen), TwoSides(np.array(sides), chosen))


# --- rounding, and twice the precision -------------------------------------------------------------------------------


def test_rounding_at_the_ends_of_the_floats():
    third = Fraction(1, 3)
    for number in (third, -third, Fraction(1, 10**320), Fraction(10) ** 300, Fraction(3), Fraction(0)):
        below, above = float_below(number), float_above(number)
        assert Fraction(below) <= number <= Fraction(above)
        assert above in (below, math.nextafter(below, math.inf))
    assert float_above(Fraction(1, 4)) == float_below(Fraction(1, 4)) == 0.25
    assert float_below(Fraction(10) ** 400) == LARGEST
    assert float_above(Fraction(10) ** 400) == math.inf
    assert float_below(-(Fraction(10) ** 400)) == -math.inf
    assert float_above(-(Fraction(10) ** 400)) == -LARGEST
    assert np.finfo(float).eps / 2 == UNIT
    assert decimal_above(Fraction(1, 3)) == math.nextafter(1 / 3, 1)
    assert decimal_above(Fraction("0.69")) == 0.69
    assert log_above(Fraction(1)) == 0.0
    for ratio in (Fraction(2), Fraction(10**9 + 1, 10**9), Fraction(10) ** 350, Fraction(2**60 + 1, 2**60)):
        logarithm = log_above(ratio)
        assert Fraction(logarithm) > 0
        close = math.log(ratio.numerator) - math.log(ratio.denominator) if ratio > 2 else math.log1p(float(ratio - 1))
        assert close * (1 - 1e-15) <= logarithm <= close * (1 + 1e-15) or logarithm == close


def test_two_floats_are_below_and_near():
    for number in (
        Fraction(1, 3),
        Fraction(2, 7),
        Fraction(10**30 + 1, 7),
        Fraction(1, 4),
        Fraction(0),
        Fraction(1, 10**30),
    ):
        high, low = parts_below(number)
        total = Fraction(high) + Fraction(low)
        assert low >= 0
        assert number * (1 - Fraction(1, 2**104)) <= total <= number


def test_errors_of_single_sums_and_products_are_exact():
    generator = np.random.default_rng(2)
    first = generator.standard_normal(60) * 10.0 ** generator.integers(-40, 40, 60)
    second = generator.standard_normal(60) * 10.0 ** generator.integers(-40, 40, 60)
    for a, b in zip(first.tolist(), second.tolist()):
        for x, y in ((a, b), (b, a), (a, a / 3), (a, -a * (1 + 1e-9))):
            assert Fraction(x + y) + Fraction(_sum_error(x, y, x + y)) == Fraction(x) + Fraction(y)
            assert Fraction(x * y) + Fraction(_product_error(x, y, x * y)) == Fraction(x) * Fraction(y)
            assert two_sum(x, y) == (x + y, _sum_error(x, y, x + y))
            assert two_product(x, y) == (x * y, _product_error(x, y, x * y))


TIGHT = (0.625, 0.0, 0.25, 0.0, 2.0, 0.0, 0.125, 0.0)  # 0.625 <= 2 * 0.25 + 0.125, exactly
NAMES = ("above", "above_low", "below", "below_low", "growth", "growth_low", "delta", "delta_low")


def both_hold(values):
    """The loop's comparison of single numbers and the one of arrays, which must agree."""
    single = _holds(*values)
    above, below, promise = values[0:2], values[2:4], values[4:8]
    array = holds(
        tuple(np.array([x]) for x in above), tuple(np.array([x]) for x in below), [np.array([x]) for x in promise]
    )
    assert bool(array[0]) == single
    return single


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("hair", [2.0**-55, 2.0**-80, 2.0**-93])
def test_a_hair_on_either_side_decides(name, hair):
    if not name.endswith("_low"):
        hair = 2.0**-53 if name in ("above", "below", "delta") else 2.0**-51
    assert not both_hold(TIGHT)  # equality is left to rationals
    helps = not name.startswith("above")
    for sign in (1, -1):
        values = list(TIGHT)
        values[NAMES.index(name)] += sign * hair
        assert both_hold(values) is (helps == (sign > 0))


def test_what_two_floats_pass_is_true():
    """Numbers of all sizes next to equality: never a pass that is wrong, and a pass wherever there is room."""
    generator, passed = np.random.default_rng(4), 0
    for _ in range(80):
        below, growth = (
            float(generator.random()) * 10.0 ** -generator.integers(0, 30),
            1 + float(generator.random()) * 9,
        )
        delta = float(generator.choice([0.0, 0.1, 1e-9])) * float(generator.random())
        below_low, growth_low, delta_low = (x * 2.0**-54 * float(generator.random()) for x in (below, growth, delta))
        exact = (Fraction(growth) + Fraction(growth_low)) * (Fraction(below) + Fraction(below_low))
        exact += Fraction(delta) + Fraction(delta_low)
        for room in (Fraction(0), Fraction(1, 2**101), Fraction(1, 2**96), -Fraction(1, 2**101), -Fraction(1, 2**96)):
            above = float(exact * (1 - room))
            above_low = float(exact * (1 - room) - Fraction(above))
            true = Fraction(above) + Fraction(above_low) <= exact
            told = both_hold((above, above_low, below, below_low, growth, growth_low, delta, delta_low))
            assert true or not told
            assert told or room < Fraction(1, 2**97)
            passed += told
    assert passed >= 80
    assert both_hold((0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0))  # nothing is never too much
    assert not both_hold((2.0**-1074, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0))


# --- one edge after the other ----------------------------------------------------------------------------------------


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


# --- sides and promises ----------------------------------------------------------------------------------------------


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


# --- the verdict -----------------------------------------------------------------------------------------------------


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
            assert (quick.private, quick.worst_edge, quick.reason) == (exact.private, exact.worst_edge, exact.reason)
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
    monkeypatch.setattr(floats, "_ENOUGH", 1)
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
    monkeypatch.setattr(floats, "_ENOUGH", 3)
    assert floats._sharpen(mechanism, promises, told_edges([0, 1, 2, 3], used), 0.0, 9) == (1.5, 3)
    monkeypatch.setattr(floats, "_ENOUGH", 4)
    assert floats._sharpen(mechanism, promises, told_edges([0, 1, 2, 3], used), 0.0, 9) == (
        pytest.approx(math.log(4)),
        3,
    )
    promised = Promises((level("0.9"),))
    monkeypatch.setattr(floats, "_ENOUGH", 3)
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
    assert (whole.private, whole.worst_edge, whole.epsilon) == (False, 3, pytest.approx(math.log(4)))
    assert asked == [3, 2, 0, 1]  # by how much each is above its own promise
    asked.clear()
    monkeypatch.setattr(floats, "_ENOUGH", 1)
    part = floats._third_stage(mechanism, told_edges([0, 1, 2, 3], [0.7, 9.0, 1.1, 1.39], kept=False), 0.0, 9)
    assert asked == [1, 3]
    assert (part.private, part.worst_edge, part.epsilon) == (False, 3, pytest.approx(math.log(4)))
    part = floats._third_stage(mechanism, told_edges([0, 2, 3], [1.6, 1.7, 2.0], kept=False), 0.0, 9)
    assert (part.worst_edge, part.epsilon) == (3, 1.6)  # what was not measured stands with its bound
    kept = floats._third_stage(mechanism, told_edges([1], [0.41], kept=False), 0.1, 9)
    assert (kept.private, kept.worst_edge, kept.epsilon) == (True, 1, pytest.approx(math.log(1.5)))
    assert floats._third_stage(mechanism, told_edges([1], [0.41], kept=False), 5.0, 9).worst_edge == 9
    assert floats._third_stage(mechanism, told_edges([1], [0.41]), 0.2, 9).epsilon == 0.2
    monkeypatch.setattr(floats, "_ENOUGH", 0)
    assert floats._third_stage(mechanism, told_edges([0], [0.7], kept=False), 0.0, 9).epsilon < 0.7
    alike = mechanism_of([0.1, 0.2, 0.1, 0.2], [(0, 1), (2, 3)], levels[:1])
    assert check_sides(alike, alike.rows).worst_edge == 0
