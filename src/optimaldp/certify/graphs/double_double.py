"""Twice the precision of a float, on arrays: enough to decide nearly every comparison that one float leaves open.

A number is an unevaluated sum of two floats. Knuth's sum and Dekker's product of two floats are exact, so the only errors are
those of the small parts, which are bounded below.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from optimaldp.certify.graphs.rounding import float_below

# A dozen roundings of parts that are 2^-52 of the whole come to less than 2^-101 of it; 2^-98 leaves room.
RELATIVE_ERROR = 2.0**-98
ABSOLUTE_ERROR = 2.0**-1060  # where products underflow
SPLIT = 2.0**27 + 1.0


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """``a + b`` exactly: the rounded sum and its error."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """``a b`` exactly (away from underflow): the rounded product and its error."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Any) -> tuple[Any, Any]:
    scaled = SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high


def parts_below(number: Fraction) -> tuple[float, float]:
    """Two floats whose sum is not above *number* and within ``2**-105`` of it."""
    high = float_below(number)
    return high, float_below(number - Fraction(high))
