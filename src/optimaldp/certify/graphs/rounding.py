"""Floats on a known side of an exact number: the referee's directed rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.privacy.balls import ball, precision, upper

# Many equal things once, by arrays.


Numbers = npt.NDArray[np.int64]


def group(code: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """The distinct codes (all below *size*), and for each entry the place of its code among them."""
    if size > 4 * len(code) + 10**6:
        distinct, place = np.unique(code, return_inverse=True)
        return distinct, place.astype(np.int64)
    # A table of all codes: linear, where sorting is not.
    present = np.zeros(size, dtype=bool)
    present[code] = True
    distinct = np.flatnonzero(present)
    places = np.empty(size, dtype=np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[code]


def first_of_each(place: Numbers, count: int) -> Numbers:
    """For each of *count* places the first entry that has it."""
    first = np.empty(count, dtype=np.int64)
    first[place[::-1]] = np.arange(len(place) - 1, -1, -1)  # the last assignment wins
    return first


_LARGEST = float.fromhex("0x1.fffffffffffffp+1023")
UNIT = 2.0**-53  # the relative error of one floating-point operation


def float_below(number: Fraction) -> float:
    """The largest float not above *number*."""
    nearest = _nearest(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def float_above(number: Fraction) -> float:
    """The smallest float not below *number*."""
    nearest = _nearest(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def decimal_above(number: Fraction) -> float:
    """A float whose shortest decimal, the text that people read, is not below *number*."""
    candidate = float_below(number)  # 0.69 as a float is below 69/100, but what people read is not
    while Fraction(repr(candidate)) < number:
        candidate = math.nextafter(candidate, math.inf)
    return candidate


def log_above(ratio: Fraction) -> float:
    """A float whose decimal is not below ``ln(ratio)``, for a ratio of at least 1; exactly 0 for the ratio 1."""
    if ratio == 1:
        return 0.0
    with precision(128):
        return decimal_above(upper(ball(ratio).log()))


def _nearest(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        # Not infinity: float_below must stay below the number, and one step further float_above is infinite anyway.
        return _LARGEST if number > 0 else -_LARGEST


# Twice the precision of a float, on arrays: enough to decide nearly every comparison that one float leaves open.
#
# A number is an unevaluated sum of two floats. Knuth's sum and Dekker's product of two floats are exact, so the only errors are
# those of the small parts, which are bounded below.


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
