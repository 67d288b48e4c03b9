"""Whether two laws are close in every event, exactly where their numbers are rational and rigorously where they are balls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from optimaldp.privacy import ApproximateDP, Epsilon, approximate
from optimaldp.privacy.balls import Ball, Rational, ball, rational
from optimaldp.privacy.trajectory import Number

_BITS = 192
_SLACK = 80  # bits: an inequality that is met with equality is confirmed to this many of them
_GRID = 60  # denominators of the stand-in's e^(-epsilon/2), in units of its distance from 1
_FINEST = 10**9  # the denominator where a float does not tell e^(-epsilon/2) from 1


def stand_in(level: ApproximateDP) -> ApproximateDP:
    """A level next to the real one at which ``e^(-epsilon/2)`` is rational, so that every sum is exact; never a stricter one.

    A larger epsilon is chosen because a mechanism whose proof needs epsilon to be large enough keeps its proof there.
    """
    if level.epsilon.is_zero:
        return level
    root = Fraction(float((-level.epsilon.ball() / 2).exp()))
    if root * _GRID < 1:  # a large epsilon: 1/60 is small enough to be told from 0
        rational = Fraction(1, _GRID)
    else:
        parts = math.ceil(_GRID / (1 - root)) if root < 1 else _FINEST
        rational = Fraction(math.floor(root * parts) if root < 1 else parts - 1, parts)
    return approximate(Epsilon(Fraction(0), 1 / rational**2), level.delta)


def bits_for(level: ApproximateDP) -> int:
    """A working precision at which ``e^epsilon`` is told from 1, and delta from 0, with room to spare."""
    tiny = 0 if level.epsilon.is_zero else level.epsilon.leading_zeros
    delta = level.delta
    below = max(0, delta.denominator.bit_length() - delta.numerator.bit_length()) if delta else 0
    return _BITS + 3 * (tiny + below) + math.ceil(3 * float(level.epsilon))


def ratio_of(level: ApproximateDP) -> Number:
    """``e^epsilon``: a fraction where it is one, else a ball at the current precision."""
    exact = level.epsilon.exact_ratio
    return exact if exact is not None else level.epsilon.exp()


def close(first: Sequence[Number], second: Sequence[Number], ratio: Number, delta: Number) -> bool:
    """``P(S) <= ratio Q(S) + delta`` for every event S, both ways: the sum of the positive parts decides about all events."""
    exact = exact_row([ratio, delta, *first, *second])
    if exact is not None:
        growth, most, rest = exact[0], exact[1], exact[2:]
        rows = rest[: len(first)], rest[len(first) :]
        return _excess(*rows, growth) <= most and _excess(*rows[::-1], growth) <= most
    balls = [[ball(p) for p in row] for row in (first, second)]
    return all(_close_balls(rows[0], rows[1], ball(ratio), delta) for rows in (balls, balls[::-1]))


def exact_row(row: Sequence[Number]) -> list[Rational] | None:
    """The numbers as quick rationals where all of them are rational, else ``None``."""
    made = []
    for number in row:
        if isinstance(number, Rational):
            made.append(number)
        elif isinstance(number, (Fraction, int)):
            made.append(rational(number))
        else:
            return None
    return made


def _excess(first: Sequence[Rational], second: Sequence[Rational], ratio: Rational) -> Rational:
    """By how much the likeliest event of *first* exceeds *ratio* times its probability in *second*."""
    total = Rational(0)
    for p, q in zip(first, second):
        over = p - ratio * q
        if over > 0:
            total += over
    return total


def _close_balls(first: Sequence[Ball], second: Sequence[Ball], ratio: Ball, delta: Number) -> bool:
    slack = Ball(2) ** -_SLACK
    excess = Ball(0)
    for p, q in zip(first, second):
        over = p - ratio * q
        if over <= 0 or over.abs_upper() <= slack * p.abs_upper():
            continue  # the bound is kept, or met with equality to 80 bits of its own size
        excess = excess + over.max(Ball(0))
    return bool(excess <= ball(delta) + (slack * ball(delta) if delta else Ball(0)))


def is_distribution(row: Sequence[Number]) -> bool:
    """Whether no probability is negative and their sum is one."""
    if (exact := exact_row(row)) is not None:
        return min(exact) >= 0 and sum(exact, Rational(0)) == 1
    total = sum((ball(p) for p in row), Ball(0))
    return bool(total.overlaps(Ball(1))) and all(bool(ball(p).upper() >= 0) for p in row)
