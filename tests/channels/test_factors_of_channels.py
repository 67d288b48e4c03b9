"""Factors of channels between rationals, and comparisons with them that are never wrong."""

from __future__ import annotations

from fractions import Fraction

import pytest
from small_matrices import HALF, ONE, TWO

from optimaldp.certify.channels.reading import Factors
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.epsilon import Epsilon


def test_factors_lie_between_rationals() -> None:
    assert TWO.between(Fraction(3)) == (8, 8)
    low, high = TWO.between(HALF)
    assert low**2 < 2 < high**2
    assert 0 < high - low < Fraction(1, 2**150)
    assert TWO.between(HALF) is TWO.between(HALF)  # kept
    wide, wider = TWO.between(HALF, bits=40), TWO.between(HALF, bits=20)
    assert wider[1] - wider[0] > wide[1] - wide[0] > high - low
    real = Factors(Epsilon.read("0.7"))
    for length in (ONE, HALF, Fraction(5, 3)):
        low, high = real.between(length)
        with precision(400):
            exact = (Epsilon.read("0.7").ball() * ball(length)).exp()
            assert ball(low) < exact < ball(high)
    assert Factors(Epsilon.read("1e-60")).between(ONE)[0] == 1  # never below one, though an enclosure is


@pytest.mark.parametrize(
    ("epsilon", "length", "factor"),
    [("ln(2)", ONE, 2), ("ln(4)", HALF, 2), ("ln(4)", Fraction(3, 2), 8), ("ln(2)", Fraction(3), 8), ("0", ONE, 1)],
)
def test_a_factor_that_is_rational_is_met_exactly(epsilon: str, length: Fraction, factor: int) -> None:
    factors, low = Factors(Epsilon.read(epsilon)), Fraction(1, 10)
    assert factors.allows(factor * low, low, length)
    assert not factors.allows(factor * low + Fraction(1, 10**90), low, length)
    assert factors.allows(low, low, length)
    assert factors.allows(Fraction(0), Fraction(0), length)
    assert not factors.allows(Fraction(1, 10**90), Fraction(0), length)


@pytest.mark.parametrize("bits", [100, 200, 5000])
def test_a_factor_that_is_irrational_is_told_from_its_neighbours(bits: int) -> None:
    epsilon, low = Epsilon.read("0.7"), Fraction(1, 7)
    factors = Factors(epsilon)
    assert factors.allows(epsilon.ratio_below(bits=bits) * low, low, ONE)
    assert not factors.allows(epsilon.ratio_above(bits=bits) * low, low, ONE)
    root = factors.between(HALF, bits=bits)
    assert factors.allows(root[0], ONE, HALF)
    assert not factors.allows(root[1], ONE, HALF)
    assert TWO.allows(TWO.between(HALF, bits=bits)[0], ONE, HALF)
    assert not TWO.allows(TWO.between(HALF, bits=bits)[1], ONE, HALF)


def test_what_no_precision_tells_apart_is_refused() -> None:
    epsilon = Epsilon.read("0.7")
    assert not Factors(epsilon).allows(epsilon.ratio_below(bits=140_000), ONE, ONE)
    assert Factors(epsilon).allows(epsilon.ratio_below(bits=20_000), ONE, ONE)
