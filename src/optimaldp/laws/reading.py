"""Probabilities as numbers that a caller can read: exact rationals, or decimals all of whose digits are right."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from optimaldp.laws.signed import Sides
from optimaldp.privacy.balls import precision

_DIGITS = 45
_MOST_BITS = 1 << 15  # a probability that is 0 to this many bits is reported as 0


def exact_or_decimal(sides: Callable[[], Sides]) -> Fraction | Decimal:
    """P(yes): a Fraction if both sides are, else a Decimal with at least 40 right digits."""
    bits = 4 * _DIGITS + 32
    while True:
        with precision(bits):
            yes = sides()[0]
            if isinstance(yes, Fraction):
                return yes
            if bits >= _MOST_BITS or yes.rel_accuracy_bits() > 3.4 * _DIGITS:
                return Decimal(0) if yes.contains(0) else Decimal(yes.str(_DIGITS, radius=False))
        bits *= 2
