"""Moves of several sizes, the largest first: the arithmetic behind every question that compares a sum with a bound.

A *rung* is a kind of move: what one such move gains, and how many of them there are. With the largest gains first the total
after k moves is a concave function of k, so the least number of moves to close a gap is found by walking down the ladder once.
Read at real k (the last move made in part) it is the fractional distance; rounded up it is the number of whole moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from operator import itemgetter

Moves = int | float
"""A number of people; ``math.inf`` where no number is enough."""

Rung = tuple[int, int | None]
"""(gain of one move, how many such moves there are); ``None``: as many as you like."""


def real_moves(rungs: Iterable[Rung], gap: int) -> Fraction | float:
    """The least real number of moves that gain *gap*, the last one made in part; ``math.inf`` if all moves together gain less.

    >>> real_moves([(5, 2), (2, None)], 13)
    Fraction(7, 2)
    """
    moves, missing = 0, gap
    for gain, people in sorted(rungs, key=itemgetter(0), reverse=True):
        if missing <= 0 or gain <= 0:
            break
        if people is None or gain * people >= missing:
            return moves + Fraction(missing, gain)
        moves, missing = moves + people, missing - gain * people
    return Fraction(moves) if missing <= 0 else math.inf


def whole_moves(rungs: Iterable[Rung], gap: int) -> Moves:
    """The least whole number of moves that gain at least *gap*: :func:`real_moves` rounded up, in whole numbers throughout.

    >>> whole_moves([(5, 2), (2, None)], 13)
    4
    """
    moves, missing = 0, gap
    for gain, people in sorted(rungs, key=itemgetter(0), reverse=True):
        if missing <= 0 or gain <= 0:
            break
        enough = -(-missing // gain)
        used = enough if people is None else min(enough, people)
        moves, missing = moves + used, missing - gain * used
    return moves if missing <= 0 else math.inf


def rounded_up(distance: Fraction | float) -> Moves:
    """The whole number of people behind a signed or unsigned fractional distance."""
    return math.inf if math.isinf(distance) else math.ceil(distance if distance >= 0 else -distance)


def signed_distance(double_excess: int, down: Iterable[Rung], up: Iterable[Rung]) -> Fraction | float:
    """The signed real number of people between a table and the bound, above it positive.

    *double_excess* is twice (the sum minus the bound) plus or minus one: odd, so never 0, and its sign is the truth. The rungs
    gain whole units.
    """
    if double_excess > 0:
        return real_moves(_doubled(down), double_excess)
    return -real_moves(_doubled(up), -double_excess)


def _doubled(rungs: Iterable[Rung]) -> list[Rung]:
    return [(2 * gain, people) for gain, people in rungs]
