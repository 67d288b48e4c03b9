"""Direct sums that leave out what is far: their enclosures hold the exact number, and are narrow, right at the border of far."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from optimaldp.certify.quantile import lies_at, second_reading
from optimaldp.certify.quantile_law import (
    DirectLaw,
    EnclosedPowers,
    ExactPowers,
    _falling_sum,
    clip,
    least,
    max_growth,
    people_at,
)
from optimaldp.errors import NotCertifiedError
from optimaldp.laws.quantile import QuantileLaw, QuantileMode
from optimaldp.privacy import Epsilon, level
from optimaldp.privacy.balls import Ball, Rational, ball, fraction, precision, rational

HALF = Fraction(1, 2)
BITS = 64  # what is farther than 0.7 * 64 in units of 1/epsilon is enclosed


def both(law: QuantileLaw, cells: Any, powers: ExactPowers, bits: int = BITS) -> Any:
    exact = DirectLaw(law, cells, powers)
    with precision(bits):
        return exact, DirectLaw(law, cells, EnclosedPowers((law.level.epsilon,), law.share))


# At e^-epsilon = 1/16 sixteen people are not far, seventeen are: 16 ln 16 = 44.36 < 0.7 * 64 = 44.8 < 17 ln 16.
HEIGHTS = [
    (-17, -16, -15, 2, 3),
    (-18, -17, -16, -1, 0),
    (-40, -17, -16, 16, 17),
    (-17, -17, -16, 0, 40),
    (-16, -16, -15, 15, 16),
    (-30, -20, -17, -16, -16),
    (0, 0, 15, 16, 17),
    (16, 16, 17, 17, 18),
]


@pytest.mark.parametrize("heights", HEIGHTS)
@pytest.mark.parametrize("mode", ["flip", "flip+"])
def test_flips_at_the_border_of_what_is_far(mode: str, heights: tuple[int, ...]) -> None:
    starts = [0, 4, 7, 11, 14]
    law = QuantileLaw(QuantileMode(mode), 17, HALF, level("ln(16)"))
    cells = people_at(heights, starts, 17, HALF)
    assert cells is not None
    powers = ExactPowers((Fraction(1, 16),), 1)
    exact, near = both(law, cells, powers)
    with precision(BITS):
        for cut in range(16):
            true, enclosed = fraction(exact.end(cut)), near.end(cut)
            assert enclosed.overlaps(ball(true)), cut
            low, high = fraction(rational_of(enclosed.lower())), fraction(rational_of(enclosed.upper()))
            assert low <= true <= high, cut
            # A number that is not far itself is known, one that is far is between 0 and a bound.
            if true > Fraction(1, 16**16):
                assert high - low <= true, cut
            assert high <= Fraction(17, 16**16) or high - low <= Fraction(1, 2**30), cut


def rational_of(number: Ball) -> Rational:
    man, exp = number.mid().man_exp()
    return Rational(int(man)) * Rational(2) ** int(exp)


def test_a_run_that_is_far_is_no_more_than_all_of_its_bins() -> None:
    """All mass of the left side lies in the first run, which is just far: without its bins the sum would be too small."""
    law = QuantileLaw(QuantileMode.FLIP, 17, HALF, level("ln(16)"))
    powers = ExactPowers((Fraction(1, 16),), 1)
    cells = people_at((-17, -16, 3), [0, 13, 14], 17, HALF)
    assert cells is not None
    exact, near = both(law, cells, powers)
    with precision(BITS):
        true, enclosed = fraction(exact.end(13)), near.end(13)
        low, high = fraction(rational_of(enclosed.lower())), fraction(rational_of(enclosed.upper()))
        # Thirteen bins at 16^-17 behind one at 16^-16.
        assert low < true < high
        assert Fraction(13, 16**17) <= high - low <= Fraction(14, 16**17) * Fraction(17, 16)


@pytest.mark.parametrize("weights", [None, tuple(Fraction(1 + b % 3, 2) for b in range(17))])
@pytest.mark.parametrize(
    "heights",
    [(-70, -65, -1, 0, 66), (-66, -64, -1, 1, 70), (-3, 0, 2, 70, 140), (-140, -70, 0, 3, 5), (0, 60, 70, 130, 131)],
)
def test_the_smoothed_rank_at_the_border_of_what_is_far(heights: tuple[int, ...], weights: Any) -> None:
    law = QuantileLaw(QuantileMode.SMOOTHED_RANK, 17, HALF, level("ln(4)"), weights=weights)
    cells = people_at(heights, [0, 4, 7, 11, 14], 17, HALF)
    assert cells is not None
    exact, near = both(law, cells, ExactPowers((HALF,), 2))
    with precision(BITS):
        for cut in range(16):
            true, enclosed = fraction(exact.end(cut)), near.end(cut)
            low, high = fraction(rational_of(enclosed.lower())), fraction(rational_of(enclosed.upper()))
            assert low <= true <= high, cut
            assert high - low <= true * Fraction(1, 2**40) + Fraction(1, 2**55), cut


def test_the_noise_of_odds_next_to_one() -> None:
    law = QuantileLaw(QuantileMode.SMOOTHED_RANK, 3, HALF, level("ln(4)"))
    with precision(256):
        direct = DirectLaw(law, {}, EnclosedPowers((law.level.epsilon,), Fraction(1)))
        tiny = Ball(2) ** -100
        across = (1 - tiny).union(1 + tiny)
        found = direct._noise_below(across)
        for rho in (1 - tiny, 1 + tiny):
            assert found.overlaps(rho / 2 if rho <= 1 else 1 - 1 / (2 * rho))
        assert found <= Ball(1) / 2 + tiny
        assert found >= Ball(1) / 2 - tiny
    exact = DirectLaw(law, {}, ExactPowers((HALF,), 2))
    assert [fraction(exact._noise_below(Rational(p, q))) for p, q in ((1, 2), (1, 1), (2, 1), (5, 1))] == [
        Fraction(1, 4),
        HALF,
        Fraction(3, 4),
        Fraction(9, 10),
    ]


@pytest.mark.parametrize("count", [1, 4, 5, 6, 9, 40, 200])
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_a_falling_line_between_its_top_and_its_floor(kind: int, count: int) -> None:
    """In every part: flat, sloping, gone."""
    for first in (0, 1, 3, count // 2, count, 2 * count):
        slope = Fraction(1, 8 * count + 1)
        top, floor = Fraction(1, 2), (Fraction(0), Fraction(1, 4), Fraction(2, 3))[kind]

        def line(place: int, first: int = first, slope: Fraction = slope) -> Rational:
            return rational(Fraction(1, 2) + slope * (first - place))

        wanted = sum(max(Fraction(0), min(top, fraction(line(i))) - floor) for i in range(count))
        assert fraction(_falling_sum(line, rational(top), rational(floor), count)) == wanted


@pytest.mark.parametrize("steep", [1, 5, 60])
def test_a_falling_line_in_balls(steep: int) -> None:
    count = 90
    with precision(96):
        top, floor = Ball(1) / 2, Ball(1) / 5

        def line(place: int) -> Ball:
            return Ball(3) / 5 - Ball(steep * place) / 90 / 7

        wanted = sum(max(0.0, min(0.5, 0.6 - steep * i / 630) - 0.2) for i in range(count))
        found = _falling_sum(line, top, floor, count)
        assert abs(float(found) - wanted) < 1e-12
        assert float(found.rad()) < 1e-20


def test_a_falling_line_that_is_hardly_known() -> None:
    """Where no place can be told from the top, the sum is enclosed by the values at its ends, and not at those behind them."""
    count, wide = 200, Fraction(1, 5)
    with precision(96):
        top, floor = Ball(1) / 2, Ball(0)

        def line(place: int) -> Ball:
            middle = ball(Fraction(1, 2) - Fraction(place, 2000) - (9 if place >= count else 0))
            return (middle - ball(wide)).union(middle + ball(wide))

        found = _falling_sum(line, top, floor, count)
        for moved in (-wide, Fraction(0), wide):
            exact = sum(min(Fraction(1, 2), Fraction(1, 2) - Fraction(i, 2000) + moved) for i in range(count))
            assert found.contains(ball(exact)), moved
        assert found > count * ball(Fraction(1, 2) - Fraction(count, 2000) - wide)


def test_clipping_and_the_lesser_of_two() -> None:
    assert [fraction(clip(Rational(p, 2))) for p in (-1, 0, 1, 2, 3)] == [0, 0, HALF, 1, 1]
    with precision(64):
        assert [float(clip(ball(Fraction(p, 2)))) for p in (-1, 1, 3)] == [0, 0.5, 1]
        assert float(least(Ball(2), Ball(1))) == 1
    assert least(Rational(1), Rational(2)) == 1
    exact = ExactPowers((HALF,), 2)
    with pytest.raises(ArithmeticError, match="no rational power"):
        exact(Fraction(1, 4))
    with pytest.raises(ArithmeticError, match="leave nothing out"):
        exact.up_to(Rational(1))
    with precision(64):
        between = EnclosedPowers((Epsilon.read(1),), Fraction(1)).up_to(Ball(3))
        assert float(between.lower()) <= 0 < 2.9 < float(between.upper())


def test_whoever_is_protected_least() -> None:
    levels = (Epsilon.read("ln(2)"), Epsilon.read("ln(4)"), Epsilon.read("ln(3)"))
    law = QuantileLaw(QuantileMode.SMOOTHED_RANK, 3, HALF, level("ln(4)"), levels=levels)
    with precision(64):
        assert abs(float(max_growth(law, EnclosedPowers(levels, Fraction(1)))) - 4) < 1e-12
        alone = QuantileLaw(QuantileMode.SMOOTHED_RANK, 3, HALF, level("ln(3)"))
        assert abs(float(max_growth(alone, EnclosedPowers((levels[2],), Fraction(1)))) - 3) < 1e-12


def test_where_a_word_lies() -> None:
    """Two bins at e^-epsilon = 1/2 and nobody: 1/3 ... exactly where the stretch of a bin ends, no word lies in it."""
    law = QuantileLaw(QuantileMode.SMOOTHED_RANK, 3, HALF, level("ln(4)"))
    cells = {1: 3}
    direct = DirectLaw(law, cells, ExactPowers((HALF,), 2))
    first, second = (fraction(direct.end(cut)) for cut in (0, 1))
    hair = Fraction(1, 2**40)
    assert lies_at(law, cells, Fraction(0), hair, 0, bits=64)
    assert lies_at(law, cells, first - 2 * hair, first - hair, 0, bits=64)
    assert lies_at(law, cells, first + hair, first + 2 * hair, 1, bits=64)
    assert lies_at(law, cells, 1 - hair, Fraction(1), 2, bits=64)
    assert lies_at(law, cells, second + hair, Fraction(1), 2, bits=64)
    for low, high, index in (
        (first - hair, first + hair, 0),
        (first - hair, first + hair, 1),
        (first - 2 * hair, first - hair, 1),
        (second - 2 * hair, second + hair, 1),
        (Fraction(0), hair, -1),
        (1 - hair, Fraction(1), 3),
    ):
        assert not lies_at(law, cells, low, high, index, bits=64), (low, index)
    word = int(first * 2**64)
    check = second_reading(law, cells)
    check(word - 1, 64, 0)
    check(word + 1, 64, 1)
    for value, index in ((word, 0), (word - 1, 1), (word + 1, 0), (word, 1)):
        if value == word and first * 2**64 == word and index == 1:
            continue
        with pytest.raises(NotCertifiedError):
            check(value, 64, index)


def test_a_word_next_to_the_border_needs_a_second_look() -> None:
    """So near that the first precision cannot tell: a finer one does."""
    law = QuantileLaw(QuantileMode.SMOOTHED_RANK, 3, HALF, level("ln(4)"))
    cells = {1: 3}
    first = fraction(DirectLaw(law, cells, ExactPowers((HALF,), 2)).end(0))
    for bits, told in ((120, True), (230, True), (600, False)):
        near = Fraction(1, 2**bits)
        assert lies_at(law, cells, first - 2 * near, first - near, 0, bits=8) is told, bits
