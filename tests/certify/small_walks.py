"""Levels, values and sides for walks along the edges of a tree."""

from __future__ import annotations

from fractions import Fraction

from optimaldp.privacy import all_of, directed, level

UNIT = Fraction(1, 2**53)
LEVELS = [
    level("ln(2)"),
    level("ln(2)", "0.1"),
    level("0.3", "1e-6"),
    level(3),
    all_of(level("ln(3)"), level("ln(5/4)", "0.05")),
    directed(forward=level("ln(2)", "0.01"), backward=level("ln(4)")),
    directed(forward=level("ln(4)"), backward=level("ln(3/2)", "0.2")),
    directed(forward=level("ln(5/4)", "0.01"), backward=level(4)),  # where both sides are above one half as well
]
VALUES = [Fraction(n, 64) for n in (0, 1, 5, 17, 31, 32, 33, 47, 60, 63, 64)] + [
    Fraction(1, 2**40),
    1 - Fraction(1, 2**40),
]


def sides(value: Fraction) -> tuple[float, bool]:
    """The small side of a probability, and whether it is the probability itself."""
    return (float(value), True) if value <= Fraction(1, 2) else (float(1 - value), False)
