"""Privacy levels behind one small interface: ``step``, its power, and its inverse.

If a dataset gives an event probability ``s``, a neighbour may give it at most ``F(s)``. ``F`` is monotone, concave and
never below ``s``; ``1 - F`` is the trade-off function of the guarantee. Everything that this project optimises
follows from ``F`` alone, so one algorithm serves (epsilon, delta), several of them at once, a directed edge, and Gaussian DP.

Numbers: a ``Fraction`` in and a rational level (``ln(p/q)``) give a ``Fraction`` out, exactly; otherwise the result is a
rigorous ball at the current precision (:func:`optimaldp.privacy.balls.precision`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from optimaldp.errors import LevelError
from optimaldp.privacy import trajectory
from optimaldp.privacy.balls import WORKING_BITS, Ball, ball, lower, precision, working_bits
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import TOO_SMALL, fraction_text, read_number, read_probability
from optimaldp.privacy.trajectory import Line, Number, Steps

_MOST_MU = 10**6
_KEPT = 8  # precisions for which a level keeps its lines: one or two are in use


@dataclass(frozen=True)
class Bound:
    """One promise in one direction: ``P(S) <= e^epsilon Q(S) + delta`` for every event S."""

    epsilon: Epsilon
    delta: Fraction

    def __post_init__(self) -> None:
        if 0 < self.delta < TOO_SMALL:
            raise LevelError("delta", "below 1e-1000", "is too small to mean anything", "write 0, or more")

    def __str__(self) -> str:
        return f"({self.epsilon}, {fraction_text(self.delta)})"


class Level(ABC):
    """What one edge of a dataset graph promises, as the step function ``F``."""

    @abstractmethod
    def sides(self, s: Number, t: Steps) -> tuple[Number, Number]:
        """Return ``F^t(s)`` and ``1 - F^t(s)``, each computed without cancellation.

        The second is the number to keep when the first is close to 1: it decays like ``e^(-epsilon t)`` and
        would be lost by subtracting.
        """

    @abstractmethod
    def reversed(self) -> Level:
        """The level of the same edge walked in the other direction."""

    @property
    @abstractmethod
    def is_rational(self) -> bool:
        """Whether ``F`` maps rationals to rationals."""

    @abstractmethod
    def implies(self, other: Level) -> bool:
        """Whether this promise is certainly at least as strict as *other* (``F <= F_other`` everywhere)."""

    def step(self, s: Number) -> Number:
        """The largest probability that a neighbour may give to an event of probability *s*."""
        return self.sides(s, 1)[0]

    def power(self, s: Number, t: Steps) -> Number:
        """``F`` applied *t* times, in closed form; *t* may be 10**9, ``math.inf`` or, interpolated, any real >= 0."""
        return self.sides(s, t)[0]

    def inverse(self, probability: Number) -> Number:
        """The least *s* with ``F(s) >= probability``, by the duality ``x <= F(y)  <=>  1 - y <= F'(1 - x)``."""
        return 1 - self.reversed().step(1 - probability)

    def step_below(self, s: Fraction, *, bits: int) -> Fraction:
        """A rational in ``[s, F(s)]``, within a relative ``2**-bits`` of ``F(s)`` and of ``1 - F(s)``; exact if rational.

        **Guarantee.** A mechanism built with these values is private at the level itself, whatever was rounded.
        """
        if self.is_rational:
            value = self.step(s)
            assert isinstance(value, Fraction)
            return value
        with precision(bits + 32):
            value, rest = self.sides(s, 1)
            below = 1 - _above(rest) if s > Fraction(1, 4) else _below(value)
        return max(s, below)


def _below(number: Number) -> Fraction:
    return number if isinstance(number, Fraction) else lower(number)


def _above(number: Number) -> Fraction:
    return -_below(-number)


@dataclass(frozen=True)
class ApproximateDP(Level):
    """(epsilon, delta)-DP: one or several bounds, the same or different ones in the two directions of an edge.

    ``F(s) = min{1, e^a s + delta_a, 1 - e^-b (1 - s - delta_b)}`` over the forward bounds a and the backward bounds b.
    """

    forward: tuple[Bound, ...]
    backward: tuple[Bound, ...]

    @property
    def symmetric(self) -> bool:
        return set(self.forward) == set(self.backward)

    @property
    def epsilon(self) -> Epsilon:
        """The epsilon of a level that is a single (epsilon, delta)."""
        return self._single.epsilon

    @property
    def delta(self) -> Fraction:
        """The delta of a level that is a single (epsilon, delta)."""
        return self._single.delta

    @property
    def is_single(self) -> bool:
        """Whether this is plain (epsilon, delta)-DP: one bound, the same in both directions."""
        return len(self.forward) == 1 and self.forward == self.backward

    @property
    def is_rational(self) -> bool:
        return all(bound.epsilon.infinite or bound.epsilon.exact_ratio is not None for bound in self.bounds)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return self.forward + self.backward

    def reversed(self) -> ApproximateDP:
        return self if self.forward == self.backward else ApproximateDP(self.backward, self.forward)

    def sides(self, s: Number, t: Steps) -> tuple[Number, Number]:
        trajectory.check(s, t)
        if t == 0:
            return s, 1 - s
        with precision(working_bits() + self._slope_bits):
            if s == 0 and self._least_at_zero is not None:
                first = trajectory.first_from_zero(self._lines(), self._least_at_zero)
                # From 0 nothing moves; from anything above it the bounds of infinite epsilon say no more.
                return (first, 1 - first) if t <= 1 or first == 0 else trajectory.follow(self._lines(), first, t - 1)
            return trajectory.follow(self._lines(), s, t)

    def transition(self, s: Number) -> int | float:
        """tau(s): after how many steps the growth ``e^epsilon s + delta`` gives way to the decay of ``1 - s``.

        Papers 000 (Def. 8) and 001 (5.1), (5.4), corrected: clamped at 0, infinite for s = delta = 0.

        >>> level("ln(2)").transition(Fraction(1, 10))
        2
        """
        single = self._single
        if single.epsilon.infinite:
            return 0 if s != 0 or single.delta > 0 else math.inf
        with precision(max(working_bits() + self._slope_bits, WORKING_BITS)):
            lines = self._lines()
            return trajectory.steps_until_switch(lines, s) if len(lines) == 2 else 0

    def implies(self, other: Level) -> bool:
        if not isinstance(other, ApproximateDP):
            return False
        return _each_covered(self.forward, other.forward) and _each_covered(self.backward, other.backward)

    def __str__(self) -> str:
        if self.is_single:
            return f"{self.forward[0]}-DP"
        ahead = " and ".join(map(str, self.forward))
        if self.forward == self.backward:
            return f"{ahead}-DP"
        return f"{ahead}-DP forward, {' and '.join(map(str, self.backward))}-DP backward"

    def __repr__(self) -> str:
        return f"ApproximateDP({self})"

    def __getstate__(self) -> dict[str, Any]:
        """Without what is kept for speed: balls cannot be sent elsewhere."""
        return {"forward": self.forward, "backward": self.backward}

    @cached_property
    def _single(self) -> Bound:
        if not self.is_single:
            raise LevelError("level", str(self), "is not a single (epsilon, delta)")
        return self.forward[0]

    @cached_property
    def _least_at_zero(self) -> Fraction | None:
        """With an infinite epsilon forward, ``F(0)`` is at most its delta, below the limit of F at 0."""
        return min((bound.delta for bound in self.forward if bound.epsilon.infinite), default=None)

    @cached_property
    def _slope_bits(self) -> int:
        """More bits, which tell the slopes ``e^epsilon`` and ``e^-epsilon`` from 1 even when epsilon is tiny."""
        finite = [bound.epsilon for bound in self.bounds if not (bound.epsilon.infinite or bound.epsilon.is_zero)]
        return 32 + 4 * max((epsilon.leading_zeros() for epsilon in finite), default=0)

    @cached_property
    def _kept_lines(self) -> dict[int, tuple[Line, ...]]:
        return {}

    def _lines(self) -> tuple[Line, ...]:
        """The pieces of ``F``: exact at a rational level, else enclosed at the precision of the moment."""
        bits = working_bits()
        if bits not in self._kept_lines:
            if len(self._kept_lines) >= _KEPT:
                self._kept_lines.clear()
            self._kept_lines[bits] = self._make_lines(exact=self.is_rational)
        return self._kept_lines[bits]

    def _make_lines(self, *, exact: bool) -> tuple[Line, ...]:
        lines = []
        for make, bounds in ((Line.rising, self.forward), (Line.falling, self.backward)):
            for bound in bounds:
                if bound.epsilon.infinite:
                    continue
                ratio = bound.epsilon.exact_ratio if exact else bound.epsilon.exp()
                lines.append(make(ratio, bound.delta if exact else ball(bound.delta)))
        return trajectory.lower_hull(lines)


def _each_covered(strict: tuple[Bound, ...], loose: tuple[Bound, ...]) -> bool:
    return all(any(a.epsilon <= b.epsilon and a.delta <= b.delta for a in strict) for b in loose)


@dataclass(frozen=True)
class GaussianDP(Level):
    """mu-Gaussian DP: ``F(s) = Phi(Phi^-1(s) + mu)``, so that t steps are one step with ``t mu``."""

    mu: Fraction

    def __post_init__(self) -> None:
        if 0 < self.mu < TOO_SMALL:
            raise LevelError("mu", "below 1e-1000", "is too small to mean anything", "write 0, or more")

    @property
    def is_rational(self) -> bool:
        return self.mu == 0

    def reversed(self) -> GaussianDP:
        return self

    def sides(self, s: Number, t: Steps) -> tuple[Number, Number]:
        trajectory.check(s, t)
        if s == 0 or s == 1 or t == 0 or self.mu == 0:
            return s, 1 - s
        if t == math.inf:
            return Fraction(1), Fraction(0)
        shift = ball(self.mu * Fraction(t))
        root = Ball(2).sqrt()
        quantile = _normal_quantile(trajectory.to_ball(s), trajectory.to_ball(1 - s))  # 1 - s while s is exact
        return (-(quantile + shift) / root).erfc() / 2, ((quantile + shift) / root).erfc() / 2

    def implies(self, other: Level) -> bool:
        return isinstance(other, GaussianDP) and self.mu <= other.mu

    def __str__(self) -> str:
        return f"{fraction_text(self.mu)}-Gaussian DP"


def _normal_quantile(s: Ball, rest: Ball) -> Ball:
    """``Phi^-1``; from the nearer end, because erfinv of a number next to 1 loses what a small s or *rest* knows."""
    root = Ball(2).sqrt()
    return -root * (2 * s).erfcinv() if s < 0.5 else root * (2 * rest).erfcinv()


def read_delta(value: object, *, name: str) -> Fraction:
    """Read a delta exactly; errors name the field and the value."""
    number = read_probability(value, name=name, error=LevelError)
    _refuse_tiny(number, value, name)
    return number


def read_gaussian(mu: object, *, name: str) -> GaussianDP:
    """Read the mu of Gaussian DP exactly; errors name the field and the value."""
    number = read_number(mu, name=name, error=LevelError)
    if number < 0:
        raise LevelError(name, mu, "is negative", "a privacy parameter is 0 or more")
    if number > _MOST_MU:
        raise LevelError(name, mu, "is too large to mean privacy", "with more than 10 hardly anything is promised")
    _refuse_tiny(number, mu, name)
    return GaussianDP(number)


def _refuse_tiny(number: Fraction, value: object, name: str) -> None:
    if 0 < number < TOO_SMALL:
        raise LevelError(name, value, "is too small to mean anything", "write 0, or a number from 1e-1000 on")


def level(epsilon: object = None, delta: object = 0, *, mu: object = None) -> Level:
    """Make a privacy level: ``level(1)``, ``level("ln(2)", 0.1)`` or ``level(mu=1)`` (Gaussian DP).

    There is no default epsilon.

    >>> level("ln(2)", 0.1).step(Fraction(4, 5))
    Fraction(19, 20)
    """
    if isinstance(epsilon, Level):
        return epsilon
    if mu is not None:
        if epsilon is not None:
            raise LevelError("mu", mu, "was given together with epsilon", "give one of them")
        return read_gaussian(mu, name="mu")
    bound = (Bound(Epsilon.read(epsilon), read_delta(delta, name="delta")),)
    return ApproximateDP(bound, bound)


def approximate(epsilon: Epsilon, delta: Fraction = Fraction(0)) -> ApproximateDP:
    """The plain (epsilon, delta)-DP of numbers that are read already."""
    bound = (Bound(epsilon, delta),)
    return ApproximateDP(bound, bound)


def single_level(level: Level, user: str) -> ApproximateDP:
    """The level itself where it is one finite (epsilon, delta); otherwise an error that says who needs that: "a quantile"."""
    if not isinstance(level, ApproximateDP) or not level.is_single:
        remedy = f"{user} needs one epsilon and one delta"
        raise LevelError("level", str(level), "is not a single (epsilon, delta)", remedy)
    if level.epsilon.infinite:
        raise LevelError("epsilon", "inf", f"promises nothing that {user} could use", "name a finite epsilon")
    return level


def all_of(*levels: Level) -> ApproximateDP:
    """Several (epsilon, delta) promises at once: the smallest of their step functions."""
    if not levels:
        raise LevelError("levels", (), "is empty", "name at least one level")
    given = [_approximate(item) for item in levels]
    return ApproximateDP(
        _without_implied([b for item in given for b in item.forward]),
        _without_implied([b for item in given for b in item.backward]),
    )


def directed(*, forward: Level, backward: Level) -> ApproximateDP:
    """An edge whose two directions promise different things.

    Walking the edge forward, ``P_head(S) <= e^epsilon P_tail(S) + delta`` with *forward*; *backward* bounds the tail by the head.
    """
    return ApproximateDP(_approximate(forward).forward, _approximate(backward).forward)


def _approximate(item: Level) -> ApproximateDP:
    if not isinstance(item, ApproximateDP):
        raise LevelError("level", str(item), "cannot be combined on one edge", "use parallel edges instead")
    return item


def _without_implied(bounds: list[Bound]) -> tuple[Bound, ...]:
    unique = list(dict.fromkeys(bounds))
    kept = [b for b in unique if not any(a != b and a.epsilon <= b.epsilon and a.delta <= b.delta for a in unique)]
    return tuple(kept)
