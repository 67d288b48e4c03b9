"""Balls in plain Python hold the numbers that they stand for: against exact fractions, and against flint."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimaldp.privacy import plain_balls as plain
from optimaldp.privacy.plain_balls import Ball, BallPolynomial, Rational, factors

PRECISIONS = st.sampled_from([24, 53, 128, 300])
FRACTIONS = st.builds(
    lambda p, q, power: Fraction(p, q) * Fraction(2) ** power,
    st.integers(-(10**20), 10**20),
    st.integers(1, 10**20),
    st.integers(-90, 20),
)


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    before = plain.ctx.prec, flint.ctx.prec
    yield
    plain.ctx.prec, flint.ctx.prec = before


def enclosed(number: Fraction) -> Ball:
    return Ball(Rational(number.numerator, number.denominator))


def exactly(point: Ball) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(mantissa) * Fraction(2) ** exponent


def ends(ball: Ball) -> tuple[Fraction, Fraction]:
    return exactly(ball.mid()) - exactly(ball.rad()), exactly(ball.mid()) + exactly(ball.rad())


def holds(ball: Ball, number: Fraction) -> bool:
    low, high = ends(ball)
    return low <= number <= high


def by_flint(name: str, number: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """A function's value between two fractions that are much nearer than the ball on trial."""
    flint.ctx.prec = bits + 400
    value: Any = getattr(flint.arb(flint.fmpq(number.numerator, number.denominator)), name)()
    mantissa, exponent = map(int, value.mid().man_exp())
    middle = Fraction(mantissa) * Fraction(2) ** exponent
    return middle, (abs(middle) + 1) * Fraction(2) ** -(bits + 300)


@given(FRACTIONS, FRACTIONS, PRECISIONS)
def test_arithmetic_holds_the_exact_result(a: Fraction, b: Fraction, bits: int) -> None:
    plain.ctx.prec = bits
    x, y = enclosed(a), enclosed(b)
    assert holds(x, a)
    wide = x.union(x + enclosed(Fraction(1, 1000)))
    for one in (x, wide):
        assert holds(one + y, a + b)
        assert holds(one - y, a - b)
        assert holds(one * y, a * b)
        assert holds(one**3, a**3)
        assert holds(abs(one), abs(a))
        assert holds(one.max(y), max(a, b))
        assert holds(one.min(y), min(a, b))
        assert holds(one.union(y), b)
        if b:
            assert not (one / y).is_finite() or holds(one / y, a / b)
        assert exactly(one.lower()) <= a <= exactly(one.upper())
        assert not one < y or a < b
        assert not one >= y or a >= b
    assert holds(enclosed(abs(a)).sqrt() ** 2, abs(a))


@given(FRACTIONS, PRECISIONS, st.sampled_from(["exp", "expm1", "log", "log1p", "sqrt"]))
def test_functions_hold_the_value_and_are_narrow(number: Fraction, bits: int, name: str) -> None:
    if name in ("log", "sqrt"):
        number = abs(number) + Fraction(1, 10**9)
    if name == "log1p":
        number = abs(number)
    if name.startswith("exp"):
        number = number % 50 - 25
    plain.ctx.prec = bits
    exact = Ball(number.numerator) / Ball(1) if number.denominator == 1 else enclosed(number)
    point = exactly(exact.mid())
    found = getattr(exact.mid(), name)()
    value, slack = by_flint(name, point, bits)
    low, high = ends(found)
    assert low - slack <= value <= high + slack
    assert high - low <= max(abs(value), slack) * Fraction(2) ** (12 - bits)
    # A ball holds the values of all its numbers.
    wide = getattr(exact.union(exact + enclosed(Fraction(1, 10**6))), name)()
    low, high = ends(wide)
    assert low - slack <= value <= high + slack


@pytest.mark.parametrize("number", [1, 2, 7, 500, 501, 10**6, 10**12])
@pytest.mark.parametrize("bits", [64, 400])
def test_logarithms_of_factorials(number: int, bits: int) -> None:
    plain.ctx.prec = bits
    found = Ball(number).lgamma()
    value, slack = by_flint("lgamma", Fraction(number), bits)
    low, high = ends(found)
    assert low - slack <= value <= high + slack
    assert high - low <= (abs(value) + 1) * Fraction(2) ** (12 - bits)


def test_far_apart_numbers_are_not_written_out() -> None:
    plain.ctx.prec = 64
    tiny = Ball(-(10**9)).exp()
    assert 0 < tiny < Ball(-(10**8)).exp()
    assert (1 + tiny) / (1 - tiny) > 1 - Ball(2) ** -60
    assert tiny.str(3, radius=False).endswith("E-434294482")
    assert (1 + tiny).overlaps(Ball(1))
    assert (1 + tiny).upper() > 1


def test_what_is_not_known_is_not_claimed() -> None:
    plain.ctx.prec = 64
    around = Ball(-1).union(Ball(1))
    wild = 1 / around
    assert not wild.is_finite()
    for unsure in (wild < 0, wild > 0, wild == wild, around < 1, around >= 0, around == 0, around != 0):
        assert not unsure
    assert around.contains(0)
    assert around.overlaps(wild)


@given(FRACTIONS, FRACTIONS)
def test_rationals_are_exact(a: Fraction, b: Fraction) -> None:
    x, y = Rational(a.numerator, a.denominator), Rational(b.numerator, b.denominator)

    def same(found: Rational, wanted: Fraction) -> bool:
        return (found.p, found.q) == (wanted.numerator, wanted.denominator)

    assert same(x + y, a + b)
    assert same(1 - x * y, 1 - a * b)
    assert (x < y, x <= y, x == y) == (a < b, a <= b, a == b)
    assert (x.floor(), x.ceil()) == (math.floor(a), math.ceil(a))
    if b:
        assert same(x / y, a / b)
        assert same(y**-2, b**-2)


def test_polynomials_and_factors() -> None:
    product = BallPolynomial([1, 2]) * BallPolynomial([3, 4, 5])
    assert [exactly(one) for one in product.truncate(3).coeffs()] == [3, 10, 13]
    for number in (1, 2**61 - 1, 10**18 + 9, 3**5 * 1009**2 * 10007):
        assert factors(number) == [(int(p), int(e)) for p, e in flint.fmpz(number).factor()]
    plain.ctx.prec = 128
    assert holds(enclosed(Fraction(3, 2)).legendre_p(3), Fraction(5 * 27 - 3 * 3 * 4, 16))


def test_a_root_that_is_exact_has_no_radius() -> None:
    assert plain._root((9, 4), 64)[1] == (0, 0)
    assert plain._root((8, 4), 64)[1][0] > 0


def test_minus_one_is_compared_by_its_size() -> None:
    """A mantissa of -1 is negative, whatever its exponent: -32 < -3 < -1."""
    assert plain._compare((-1, 5), (-3, 0)) == -1
    assert plain._compare((-3, 0), (-1, 0)) == -1
    assert plain._compare((-1, 0), (-1, 0)) == 0
    assert [plain._compare((mantissa, 0), (0, 0)) for mantissa in (-1, 0, 1)] == [-1, 0, 1]


def test_balls_that_touch_overlap_and_are_in_no_certain_order() -> None:
    low, high = Ball(1).union(Ball(3)), Ball(3).union(Ball(5))
    assert (ends(low), ends(high)) == ((1, 3), (3, 5))
    assert low.overlaps(high)
    assert high.overlaps(low)
    assert not low < high
    assert low <= high
    assert not Ball(1).union(Ball(4)) < high, "one may be above the other"
    assert low < Ball(4)


def test_the_whole_number_below_and_above_a_ball() -> None:
    for number in (Fraction(-5, 2), Fraction(-1, 2), Fraction(3, 2), Fraction(7, 4), Fraction(2**70), Fraction(-6)):
        assert exactly(enclosed(number).floor()) == math.floor(number)
        assert exactly(enclosed(number).ceil()) == math.ceil(number)
    half = plain._made((-5, -1), (0, 0))
    assert (exactly(half.floor()), exactly(half.ceil())) == (-3, -2)
    assert ends(Ball(1).union(enclosed(Fraction(5, 2))).floor()) == (1, 2)


def test_a_number_to_the_power_of_a_ball() -> None:
    assert holds(2 ** Ball(3), Fraction(8))
    assert ends(2 ** Ball(3))[1] < Fraction(9)
    with pytest.raises(TypeError):
        "2" ** Ball(3)  # type: ignore[operator]


def test_what_lacks_in_the_series_of_pi_is_in_its_radius() -> None:
    assert all(exactly(plain._pi(bits).rad()) >= Fraction(20 * bits, 8) / 2**bits for bits in (64, 256))
