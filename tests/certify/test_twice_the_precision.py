"""Rounding on a known side, and comparisons at twice the precision: what passes is true."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from small_sides import LARGEST

from optimaldp.certify.graphs.floats import (
    _holds,
    _product_error,
    _sum_error,
    holds,
)
from optimaldp.certify.graphs.rounding import (
    UNIT,
    decimal_above,
    float_above,
    float_below,
    log_above,
    parts_below,
    two_product,
    two_sum,
)


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
