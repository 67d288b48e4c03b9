"""``e^-h`` for a height h counted in epsilons: exact rationals, or balls at the current precision.

The laws of quantiles are written once, over a scale. A height is a number of people, or, where people have levels of their
own, one number of people for each level.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

from optimaldp.errors import LevelError
from optimaldp.privacy.balls import Ball, Rational, ball, fraction, integer_above, integer_below, rational
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.trajectory import Number

Persons = int | Fraction
Height = Any  # Persons, or a tuple of them: one for each level


class Scale(ABC):
    """Powers of ``e^-epsilon`` in one kind of number, and what of its arithmetic has no common operator."""

    exact: bool

    @abstractmethod
    def power(self, height: Height) -> Number:
        """``e^-height``; the height may be negative."""

    @abstractmethod
    def number(self, value: Persons) -> Number:
        """The rational *value* as a number of this scale."""

    @abstractmethod
    def between(self, low: Number, high: Number) -> Number:
        """Some number of which it is only known that it lies between the two."""

    @abstractmethod
    def smaller(self, a: Number, b: Number) -> Number:
        """The smaller of two."""

    @abstractmethod
    def clipped(self, value: Number) -> Number:
        """*value*, moved into [0, 1]."""

    @abstractmethod
    def places_around(self, value: Number, first: int, stop: int) -> tuple[int, int]:
        """Whole numbers in ``first .. stop`` between which *value* certainly lies, if it lies there at all."""


class RationalScale(Scale):
    """Exact rationals: every power that is asked for must be one."""

    exact = True

    def __init__(self, levels: tuple[Epsilon, ...], share: Fraction) -> None:
        self._levels, self._share = levels, share
        self._roots: dict[tuple[int, int], Rational] = {}
        self._known: dict[Height, Rational] = {}

    def power(self, height: Height) -> Rational:
        value = self._known.get(height)
        if value is None:
            value = self._known[height] = self._power(height)
        return value

    def _power(self, height: Height) -> Rational:
        heights = height if isinstance(height, tuple) else (height,)
        product = Rational(1)
        for place, persons in enumerate(heights):
            exponent = -persons * self._share
            product *= self._root(place, exponent.denominator) ** exponent.numerator
        return product

    def number(self, value: Persons) -> Rational:
        return rational(value)

    def between(self, low: Rational, high: Rational) -> Rational:
        raise ArithmeticError("an exact number is never only enclosed")

    def smaller(self, a: Rational, b: Rational) -> Rational:
        return a if a <= b else b

    def clipped(self, value: Rational) -> Rational:
        return value if 0 <= value <= 1 else Rational(int(value > 0))

    def places_around(self, value: Rational, first: int, stop: int) -> tuple[int, int]:
        inside = max(Fraction(first), min(Fraction(stop), fraction(value)))
        return math.floor(inside), math.ceil(inside)

    def _root(self, place: int, degree: int) -> Rational:
        if (place, degree) not in self._roots:
            root = rational_root(self._levels[place], Fraction(1, degree))
            if root is None:
                raise LevelError("epsilon", str(self._levels[place]), "has no rational power here", "write ln(p/q)")
            self._roots[place, degree] = rational(root)
        return self._roots[place, degree]


class BallScale(Scale):
    """Rigorous enclosures at the precision that was in force when the scale was made."""

    exact = False

    def __init__(self, levels: tuple[Epsilon, ...], share: Fraction) -> None:
        self._logarithms = [level.ball() * ball(share) for level in levels]
        self._known: dict[Height, Ball] = {}

    def power(self, height: Height) -> Ball:
        value = self._known.get(height)
        if value is None:
            heights = height if isinstance(height, tuple) else (height,)
            exponent = sum((self.number(h) * log for h, log in zip(heights, self._logarithms)), start=Ball(0))
            value = self._known[height] = (-exponent).exp()
        return value

    def number(self, value: Persons) -> Ball:
        return Ball(value) if isinstance(value, int) else ball(value)

    def between(self, low: Ball, high: Ball) -> Ball:
        return Ball(low).union(high)

    def smaller(self, a: Ball, b: Ball) -> Ball:
        return a.min(b)

    def clipped(self, value: Ball) -> Ball:
        return value.max(Ball(0)).min(Ball(1))

    def places_around(self, value: Ball, first: int, stop: int) -> tuple[int, int]:
        if not value.is_finite():  # a division by a ball that touches 0 tells nothing
            return first, stop
        inside = value.max(Ball(first)).min(Ball(stop))  # before it is made whole: e^(10^6) is a long integer
        return max(first, integer_below(inside)), min(stop, integer_above(inside))


def rational_root(epsilon: Epsilon, exponent: Fraction) -> Fraction | None:
    """``e^(epsilon * exponent)`` where that is rational, else ``None``.

    >>> rational_root(Epsilon.read("ln(25/9)"), Fraction(1, 2)), rational_root(Epsilon.read(1), Fraction(1, 2))
    (Fraction(5, 3), None)
    """
    ratio = epsilon.exact_ratio
    if ratio is None:
        return None
    whole, degree = ratio**exponent.numerator, exponent.denominator
    above, under = _whole_root(whole.numerator, degree), _whole_root(whole.denominator, degree)
    return Fraction(above, under) if above and under else None


def _whole_root(number: int, degree: int) -> int | None:
    """The whole root of a positive number, or ``None``: halving between the powers of two around it."""
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle)
    return low if low**degree == number else None
