"""The gap to a predecessor's bound: in floats, rationals and enclosures, against the exact step."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from small_walks import LEVELS, UNIT, VALUES, sides

from optimaldp.certify.graphs.float_trees import _LevelTable, _padded
from optimaldp.certify.graphs.given import ShortGaps, number_above, number_below
from optimaldp.certify.graphs.privacy import LongRows
from optimaldp.certify.graphs.rounding import STEEP, Walk, step_above
from optimaldp.certify.graphs.trees import ENDLESS, _walk_gap
from optimaldp.errors import LevelError
from optimaldp.privacy import all_of, directed, level
from optimaldp.privacy.balls import Ball, ball, precision, rational


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
            assert y < 1 or slope == 0.0  # the bound is 1, whatever comes before it
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
            assert y < 1 or found[1] == 0.0
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


def test_enclosures_measure_gaps_on_the_small_side():
    """Probabilities next to 0 and next to 1: a difference of 2^-919 is seen, where 512 bits next to one would lose it."""
    tiny, hair = Fraction(1, 2**900), Fraction(1, 2**20)
    for y, x, gap in (
        (tiny, 2 * tiny * (1 - hair), 2 * tiny * hair),
        (1 - tiny, 1 - tiny / 2 * (1 + hair), tiny / 2 * hair),
    ):
        rows = [(y, 1 - y), (x, 1 - x)]
        enclosed = LongRows(rows)
        lines = enclosed.lines([Walk(level("ln(2)"), True)])
        with precision(LongRows.bits):
            found = enclosed.gap(lines, tuple(enclosed.row(0)), tuple(enclosed.row(1)))
        assert found is not None
        assert gap <= Fraction(found[0]) <= gap * (1 + hair)
