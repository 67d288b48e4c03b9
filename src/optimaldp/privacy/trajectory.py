"""Iterating a concave, piecewise linear step function in closed form.

``F(s) = min(1, min_j a_j s + b_j)``. Starting at s the iterates rise, so they pass the pieces in order of falling slope, and
inside one piece ``s -> a s + b`` has the closed form ``f + a^t (s - f)`` around its fixed point ``f = b / (1 - a)``. A
billion steps therefore cost as much as ten. For one (epsilon, delta) there are two pieces and this is the closed form
of papers 000 and 001 with the corrected transition tau.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.errors import LevelError
from optimaldp.privacy.balls import Ball, ball, context, integer_above, integer_below, precision
from optimaldp.privacy.numbers import first_where

# A Fraction or a Ball. The two share their arithmetic but no type, and never meet in one expression (see Line.enclosed):
# a union would make every operator an error, so the checker is told nothing here and the tests watch instead.
Number = Any
Steps = int | float | Fraction

# Exact powers beyond this many bits are enclosed by balls instead: 2**20 bits are a quarter million digits.
_EXACT_BITS = 1 << 20


@dataclass(frozen=True)
class Line:
    """One piece ``a s + b``, kept as what is needed on either side: see :meth:`rising` and :meth:`falling`.

    ``complement`` is ``1 - a - b``: the piece seen from the top is ``1 - F = a (1 - s) + complement``.
    """

    slope: Number
    intercept: Number
    complement: Number

    @staticmethod
    def rising(ratio: Number, delta: Number) -> Line:
        """``E s + delta``."""
        return Line(ratio, delta, 1 - ratio - delta)

    @staticmethod
    def falling(ratio: Number, delta: Number) -> Line:
        """``1 - (1 - s - delta) / E``: seen from the top ``(c - delta) / E``."""
        return Line(1 / ratio, 1 - (1 - delta) / ratio, -delta / ratio)

    def at(self, s: Number) -> Number:
        return self.slope * s + self.intercept

    def enclosed(self) -> Line:
        """The same line in balls: the two kinds of numbers do not mix."""
        return Line(ball(self.slope), ball(self.intercept), ball(self.complement))


def check(s: Any, t: Any) -> None:
    """Refuse what is no probability or no number of steps."""
    if isinstance(s, float) or not isinstance(s, (Fraction, int, Ball)):
        raise LevelError("probability", s, "is not exact", "pass a Fraction or a ball")
    if isinstance(s, (Fraction, int)) and not 0 <= s <= 1:
        raise LevelError("probability", s, "does not lie between 0 and 1")
    if not isinstance(t, (int, float, Fraction)) or not t >= 0:  # not a number is not >= 0 either
        raise LevelError("steps", t, "is not a number of steps", "it must be 0 or more")


def lower_hull(lines: list[Line]) -> tuple[Line, ...]:
    """The lines that are smallest somewhere on [0, 1], by falling slope."""
    ordered = sorted(lines, key=_slope_order)
    hull: list[Line] = []
    for line in ordered:
        if hull and hull[-1].slope - line.slope == 0:
            if line.intercept >= hull[-1].intercept:
                continue
            hull.pop()
        while len(hull) >= 2 and _crossing(hull[-2], hull[-1]) >= _crossing(hull[-1], line):
            hull.pop()
        hull.append(line)
    while len(hull) >= 2 and _crossing(hull[0], hull[1]) <= 0:
        hull.pop(0)
    # Lines that meet at 1 itself have equal complements, exactly; where they cross is a ball that nothing decides.
    while len(hull) >= 2 and hull[-2].complement >= hull[-1].complement:
        hull.pop()
    return tuple(hull)


def _slope_order(line: Line) -> tuple[Number, Number]:
    if isinstance(line.slope, Ball):
        return -float(line.slope), float(line.intercept)
    return -line.slope, line.intercept  # exact: a ratio may be above every float


def _crossing(left: Line, right: Line) -> Number:
    """Where the flatter line *right* takes over from *left*."""
    return (right.intercept - left.intercept) / (left.slope - right.slope)


def first_from_zero(lines: tuple[Line, ...], most: Fraction) -> Number:
    """One step from 0 where it may not lead above *most*."""
    if not lines:
        return most
    start = lines[0].intercept
    return start.min(ball(most)) if isinstance(start, Ball) else min(start, most)


def follow(lines: tuple[Line, ...], s: Number, t: Steps) -> tuple[Number, Number]:
    """Return ``F^t(s)`` and ``1 - F^t(s)``. Without a line everything that has any probability may have all of it."""
    s = Fraction(s) if isinstance(s, int) else s
    if not lines:
        return Fraction(1), Fraction(0)
    rest = 1 - s  # while s is exact: afterwards a complement far below the precision would be lost
    if t != math.inf and t != int(t):
        s, rest = ball(s), ball(rest)
    for position in range(len(lines)):
        if isinstance(s, Ball) != isinstance(lines[0].slope, Ball):  # the two kinds of numbers do not mix
            s, rest, lines = ball(s), ball(rest), tuple(line.enclosed() for line in lines)
        line, last = lines[position], position == len(lines) - 1
        stay = math.inf if last else _steps_inside(line, _crossing(line, lines[position + 1]), s, most=t)
        steps = min(t, stay)
        if steps == 0:
            continue
        s, rest = _walk(line, s, rest, steps)
        t = t - steps if steps != math.inf else 0
    return s, rest


def steps_until_switch(lines: tuple[Line, ...], s: Number) -> int | float:
    """How many steps the first of two lines is used, starting at *s*."""
    if isinstance(lines[0].slope, Ball):
        s = ball(s)
    elif isinstance(s, Ball):
        lines = tuple(line.enclosed() for line in lines)
    return _steps_inside(lines[0], _crossing(lines[0], lines[1]), s)


def _walk(line: Line, s: Number, rest: Number, t: Steps) -> tuple[Number, Number]:
    """Follow one line for *t* steps and clip at 1."""
    if t == math.inf:
        return _limit(line, s, rest)
    if line.slope - 1 == 0:
        moved = line.intercept * (ball(Fraction(t)) if isinstance(s, Ball) else Fraction(t))
        return _clip(s + moved, rest - moved)
    if isinstance(s, Fraction) and _bits(line.slope) * t > _EXACT_BITS:  # the power may have a billion digits
        if _reaches_one(line, rest, t):
            return Fraction(1), Fraction(0)
        line, s, rest = line.enclosed(), ball(s), ball(rest)
    power = _power(line.slope, t)
    if line.slope > 1:
        shift = line.intercept / (line.slope - 1)
        value = power * (s + shift) - shift
        return _clip(value, 1 - value)
    # From the top: 1 - F = a c + complement with fixed point complement / (1 - a) <= 0.
    shift = -line.complement / (1 - line.slope)
    remaining = power * (rest + shift) - shift
    return _clip(1 - remaining, remaining)


def _reaches_one(line: Line, rest: Number, t: Steps) -> bool:
    """Whether *t* steps certainly end at 1: those along a line that falls below 0, seen from the top, do after a while."""
    return bool(line.slope < 1 and line.complement < 0 and t >= _steps_to_one(line, rest))


def _steps_to_one(line: Line, rest: Number) -> int:
    """At least the number of steps until ``1 - F`` is 0, starting from *rest*."""
    shift = -line.complement / (1 - line.slope)
    with precision(max(128, context.prec)):
        return integer_above((ball(shift) / ball(rest + shift)).log() / ball(line.slope).log())


def _limit(line: Line, s: Number, rest: Number) -> tuple[Number, Number]:
    """Where infinitely many steps lead: to 1, unless nothing moves."""
    identity = line.slope - 1 == 0 and line.intercept == 0
    return (s, rest) if identity or line.at(s) - s == 0 else (Fraction(1), Fraction(0))


def _clip(value: Number, rest: Number) -> tuple[Number, Number]:
    if isinstance(rest, Ball):
        return value.min(Ball(1)) if isinstance(value, Ball) else value, rest.max(Ball(0))
    return (Fraction(1), Fraction(0)) if rest <= 0 else (value, rest)


def _bits(slope: Number) -> int:
    assert isinstance(slope, Fraction)
    return max(slope.numerator.bit_length(), slope.denominator.bit_length()) - 1


def _power(slope: Number, t: Steps) -> Number:
    return slope ** (int(t) if t == int(t) else ball(Fraction(t)))


def _steps_inside(line: Line, end: Number, s: Number, *, most: Steps = math.inf) -> int | float:
    """The least i >= 0 for which i steps along *line* from *s* reach *end*; if it is above *most*, some number that is too."""
    if s >= end:
        return 0
    if line.slope - 1 == 0:
        return _least_integer((end - s) / line.intercept) if line.intercept != 0 else math.inf
    if line.at(s) - s == 0:
        return math.inf
    fixed = line.intercept / (1 - line.slope)
    target, start = end - fixed, s - fixed
    with precision(max(128, context.prec)):  # a slope that hardly differs from 1 needs all of them
        guess = (ball(target) / ball(start)).log() / ball(line.slope).log()
        low, high = max(0, integer_below(guess)), integer_above(guess)
    if low >= most:
        return low
    if isinstance(line.slope, Fraction) and _bits(line.slope) * high > _EXACT_BITS:
        line, start, target = line.enclosed(), ball(start), ball(target)

    def reached(steps: int) -> bool:
        # An undecided ball holds both the meeting point and s; the steeper line's image then holds the true value
        # too, the flatter line's may not: so leave the piece only when it is certain.
        beyond = _power(line.slope, steps) * abs(start) - abs(target)
        return bool(beyond >= 0 if line.slope > 1 else beyond <= 0)

    # Usually two or three candidates; where the balls are wide there may be 10^30 of them, so not one after the other.
    return first_where(reached, low, high)


def _least_integer(number: Number) -> int:
    return integer_above(number) if isinstance(number, Ball) else math.ceil(number)
