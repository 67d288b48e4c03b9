"""Floats on a known side of an exact number: the referee's directed rounding."""

from __future__ import annotations

import math
from fractions import Fraction

from optimaldp.privacy.balls import ball, precision, upper

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
