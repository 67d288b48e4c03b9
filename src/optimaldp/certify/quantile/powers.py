"""``e^(-epsilon h)`` for the referee of quantiles: exact at a rational stand-in level, enclosed at the real one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

from optimaldp.privacy.balls import Ball, Rational, ball, rational
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.trajectory import Number

Height = Any  # people above the target rank: a number, or one for each level


class Powers(Protocol):
    """Numbers of one kind."""

    exact: bool

    def __call__(self, height: Height) -> Number:
        """``e^-height``."""
        ...

    def number(self, value: Fraction | int) -> Number: ...

    def up_to(self, value: Number) -> Number:
        """Some number between 0 and *value*."""
        ...


class ExactPowers:
    """Powers of rational roots: ``e^-epsilon_g = roots[g] ** unit``."""

    exact = True

    def __init__(self, roots: tuple[Fraction, ...], unit: int) -> None:
        self._roots, self._unit = [rational(root) for root in roots], unit
        self._known: dict[Height, Rational] = {}

    def __call__(self, height: Height) -> Rational:
        if height not in self._known:
            self._known[height] = self._power(height)
        return self._known[height]

    def _power(self, height: Height) -> Rational:
        heights = height if isinstance(height, tuple) else (height,)
        product = Rational(1)
        for root, people in zip(self._roots, heights):
            exponent = people * self._unit
            if exponent != int(exponent):
                raise ArithmeticError("the stand-in level has no rational power here")
            product *= root ** int(exponent)
        return product

    def number(self, value: Fraction | int) -> Rational:
        return rational(value)

    def up_to(self, value: Rational) -> Rational:
        raise ArithmeticError("exact sums leave nothing out")


class EnclosedPowers:
    """Balls at the precision in force when this was made."""

    exact = False

    def __init__(self, levels: tuple[Epsilon, ...], share: Fraction) -> None:
        self._epsilons = [level.ball() * ball(share) for level in levels]
        self._known: dict[Height, Ball] = {}

    def __call__(self, height: Height) -> Ball:
        if height not in self._known:
            heights = height if isinstance(height, tuple) else (height,)
            total = sum((ball(people) * epsilon for people, epsilon in zip(heights, self._epsilons)), Ball(0))
            self._known[height] = (-total).exp()
        return self._known[height]

    def number(self, value: Fraction | int) -> Ball:
        return ball(value)

    def up_to(self, value: Ball) -> Ball:
        return Ball(0).union(value)


def clip(value: Number) -> Number:
    if isinstance(value, Ball):
        return value.max(Ball(0)).min(Ball(1))
    return value if 0 <= value <= 1 else Rational(int(value > 0))


def least(a: Number, b: Number) -> Number:
    return a.min(b) if isinstance(a, Ball) else min(a, b)


def first_where(holds: Callable[[int], bool], first: int, stop: int) -> int:
    """The first index from *first* on at which *holds* turns true, or *stop*."""
    while first < stop:
        middle = (first + stop) // 2
        first, stop = (first, middle) if holds(middle) else (middle + 1, stop)
    return first
