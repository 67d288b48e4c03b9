"""What can be asked of a law from outside: whether it is one, whether it is close to another, whether its sampler follows it.

Two laws are close if they are so in every event: decided exactly where their numbers are rational, and rigorously where they are
balls. A sampler follows its law if it gives each answer on just its stretch of [0, 1): the bits of the number are written down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from optimaldp.certify.questions.examined import Examined
from optimaldp.laws.setting import Table
from optimaldp.privacy import ApproximateDP, Bound, Epsilon
from optimaldp.privacy.balls import Ball, Rational, ball, dyadic, precision
from optimaldp.privacy.trajectory import Number

_BITS = 192
_SLACK = 80  # bits: an inequality that is met with equality is confirmed to this many of them
_GRID = 60  # denominators of the stand-in's e^(-epsilon/2), in units of its distance from 1
_FINEST = 10**9  # the denominator where a float does not tell e^(-epsilon/2) from 1
_ENDS_BITS = 256  # of the ends of an answer's stretch: far more than the sampler's first word
_NARROWEST = Fraction(1, 2**40)  # the stretch of an answer that is less likely is not aimed at


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
    larger = (Bound(Epsilon(Fraction(0), 1 / rational**2), level.delta),)
    return ApproximateDP(larger, larger)


def bits_for(level: ApproximateDP) -> int:
    """A working precision at which ``e^epsilon`` is told from 1, and delta from 0, with room to spare."""
    tiny = 0 if level.epsilon.is_zero else level.epsilon.leading_zeros
    delta = level.delta
    below = max(0, delta.denominator.bit_length() - delta.numerator.bit_length()) if delta else 0
    return _BITS + 3 * (tiny + below) + 3 * level.epsilon.ceiling


def close(first: Sequence[Number], second: Sequence[Number], ratio: Number, delta: Number) -> bool:
    """``P(S) <= ratio Q(S) + delta`` for every event S, both ways; *ratio* is a fraction where ``e^epsilon`` is one, else a ball.

    The worst event holds just the answers with ``p > ratio q``, so the sum of their excesses decides about all events. Answer by
    answer, each excess against delta, would be weaker.
    """
    exact = exact_row([ratio, delta, *first, *second])
    if exact is None:
        balls = [[ball(p) for p in row] for row in (first, second)]
        return all(_close_balls(rows[0], rows[1], ball(ratio), delta) for rows in (balls, balls[::-1]))
    growth, most, rows = exact[0], exact[1], (exact[2 : 2 + len(first)], exact[2 + len(first) :])
    for here, there in (rows, rows[::-1]):
        excess = Rational(0)
        for p, q in zip(here, there):
            if (over := p - growth * q) > 0:
                excess += over
        if excess > most:
            return False
    return True


def _close_balls(first: Sequence[Ball], second: Sequence[Ball], ratio: Ball, delta: Number) -> bool:
    # A mechanism that is optimal meets its bounds with equality, and no enclosure shows an equality: 80 bits of it are enough.
    slack = Ball(2) ** -_SLACK
    excess = Ball(0)
    for p, q in zip(first, second):
        over = p - ratio * q
        if over <= 0 or over.abs_upper() <= slack * p.abs_upper():
            continue  # the bound is kept, or met with equality to 80 bits of its own size
        excess = excess + over.max(Ball(0))
    return bool(excess <= ball(delta) + (slack * ball(delta) if delta else Ball(0)))


def exact_row(row: Sequence[Number]) -> list[Rational] | None:
    """The numbers as quick rationals where all of them are rational, else ``None``."""
    made = []
    for number in row:
        if isinstance(number, Rational):
            made.append(number)
        elif isinstance(number, (Fraction, int)):
            made.append(Rational(number.numerator, number.denominator))
        else:
            return None
    return made


def is_distribution(row: Sequence[Number]) -> bool:
    """Whether no probability is negative and their sum is one."""
    if (exact := exact_row(row)) is not None:
        return min(exact) >= 0 and sum(exact, Rational(0)) == 1
    total = sum((ball(p) for p in row), Ball(0))
    return bool(total.overlaps(Ball(1))) and all(bool(ball(p).upper() >= 0) for p in row)


@dataclass
class ScriptedBits:
    """The bits of one number in [0, 1), then zeros."""

    rest: Fraction

    def take(self, count: int) -> int:
        scaled = self.rest * 2**count
        whole = int(scaled)
        self.rest = scaled - whole
        return whole


def draws_follow(mechanism: Examined, table: Table, *, near_ends: bool = True) -> bool:
    """Draw at the middle of every answer's stretch of [0, 1), and just inside of both of its ends."""
    law = mechanism.law(table)
    with precision(_ENDS_BITS):
        # From the probabilities that were examined: the sums that the sampler uses are what is on trial.
        row = [ball(p) for p in law.probabilities()]
        sums = list(accumulate(row[answer] for answer in law.order))[:-1]
        ends = [*((dyadic(end.lower()), dyadic(end.upper())) for end in sums), (Fraction(1), Fraction(1))]
    low = Fraction(0)
    for answer, (inside, beyond) in zip(law.order, ends):
        if inside - low > _NARROWEST:
            step = (inside - low) / 1000
            middle = (low + inside) / 2
            for number in (low + step, middle, inside - step) if near_ends else (middle,):
                if mechanism.draw(table, ScriptedBits(number)) != mechanism.answers[answer]:
                    return False
        low = max(low, beyond)
    return True
