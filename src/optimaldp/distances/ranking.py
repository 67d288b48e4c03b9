"""How many votes must move before a given list of options is the true list of leaders, in order.

The wanted list s_1, ..., s_k holds when its counts fall along it and nobody else is above s_k; ties go to the option that was
named first. Let A be the votes that options gain and R the votes that options lose on the way to such counts. One replaced record
moves a vote from one option to another (or to none, or from none), so it takes max(A, R) of them; added and removed people A + R.

The least max(A, R) over *real* counts is ``max over w in [0, 1] of min (w A + (1 - w) R)``. For a fixed w the inner minimum is an
isotonic regression, solved by pooling neighbours that stand in the wrong order; the outer one is concave and piecewise linear,
and each solution gives a line that bounds it. Rounded up the result is never above the number of moves, 0 exactly for the true
list, and one move changes it by at most 1: which is what a private mechanism needs. Under add/remove it is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter

from optimaldp.privacy import Neighbours

Ranking = tuple[int, ...]
"""Positions of options, the leader first."""


def true_ranking(counts: Sequence[int], size: int) -> Ranking:
    """The *size* options with the highest counts, in order; ties go to the earlier option.

    >>> true_ranking([3, 7, 3, 1], 3)
    (1, 0, 2)
    """
    return tuple(sorted(range(len(counts)), key=lambda option: (-counts[option], option))[:size])


def moves_to(counts: Sequence[int], ranking: Ranking, neighbours: Neighbours) -> int:
    """A number never above the least number of moves after which *ranking* is true, and that one move changes by at most 1.

    >>> moves_to([10, 4, 3], (1, 0), Neighbours.SUBSTITUTION), moves_to([10, 4, 3], (1, 0), Neighbours.ADD_REMOVE)
    (4, 7)
    """
    problem = _order(counts, ranking)
    if neighbours is Neighbours.ADD_REMOVE:
        gained, lost = problem.solve(1, 1)
        return gained + lost
    return _balanced(problem)


@dataclass(frozen=True)
class _Order:
    """Heights that must fall from the first to the last; others may not stand above the last; nothing below *floor*."""

    heights: tuple[int, ...]
    others: tuple[int, ...]
    floor: int

    def solve(self, gain_price: int, loss_price: int) -> tuple[int, int]:
        """Votes gained and lost by the cheapest counts in the right order."""
        blocks: list[tuple[int, list[int], tuple[int, ...]]] = []  # (value, heights, others)
        last = len(self.heights) - 1
        for place, height in enumerate(self.heights):
            heights, others = [height], self.others if place == last else ()
            value = _cheapest(heights, others, gain_price, loss_price)
            while blocks and blocks[-1][0] < value:
                _, above, more = blocks.pop()
                heights, others = above + heights, more + others
                value = _cheapest(heights, others, gain_price, loss_price)
            blocks.append((value, heights, others))
        gained = lost = 0
        for value, heights, others in blocks:
            level = max(value, self.floor)
            gained += sum(max(0, level - height) for height in heights)
            lost += sum(max(0, height - level) for height in (*heights, *others))
        return gained, lost


def _cheapest(heights: Sequence[int], others: Sequence[int], gain_price: int, loss_price: int) -> int:
    """The lowest value at which raising a little more costs no less than it saves."""
    if len(heights) == 1 and not others:
        return heights[0]
    below = 0  # heights at or below the value
    above = len(heights) + len(others)
    points = sorted([(height, True) for height in heights] + [(height, False) for height in others])
    for place, (point, own) in enumerate(points):
        below += own
        above -= 1
        last_of_its_height = place + 1 == len(points) or points[place + 1][0] > point
        if last_of_its_height and gain_price * below >= loss_price * above:
            return point
    raise AssertionError("nothing stands above the highest point, so it is never dearer")


def _order(counts: Sequence[int], ranking: Ranking) -> _Order:
    """Shift heights so that "at least" stands everywhere: an earlier option wins a tie, a later one needs one vote more."""
    heights, shift = [counts[ranking[-1]]], 0
    for first, second in zip(ranking[-2::-1], ranking[::-1]):
        shift += first > second
        heights.insert(0, counts[first] - shift)
    last, listed = ranking[-1], set(ranking)
    others = [(option, counts[option] + (last > option)) for option in range(len(counts)) if option not in listed]
    floor = max((int(last > option) for option, _ in others), default=0)
    return _Order(tuple(heights), tuple(height for _, height in others), floor)


def _balanced(problem: _Order) -> int:
    """``ceil(max over w of min (w A + (1 - w) R))``."""
    gained, lost = problem.solve(1, 1)
    if gained == lost:
        return gained
    # Two lines between which the maximum lies: one rises with w (A > R), the other falls.
    rising, falling = ((gained, lost), problem.solve(1, 0)) if gained > lost else (problem.solve(0, 1), (gained, lost))
    while True:
        (a, r), (b, s) = rising, falling
        if a <= r or b >= s:  # an end of [0, 1]: the other line alone bounds it
            return min(max(a, r), max(b, s))
        gain_price, loss_price = s - r, a - b  # where the two lines meet, w : 1 - w
        top = gain_price * a + loss_price * r
        gained, lost = problem.solve(gain_price, loss_price)
        if gain_price * gained + loss_price * lost >= top:
            return -(-top // (gain_price + loss_price))
        if gained > lost:
            rising = (gained, lost)
        else:
            falling = (gained, lost)


# Moves of several sizes, the largest first: the arithmetic behind every question that compares a sum with a bound.
#
# A *rung* is a kind of move: what one such move gains, and how many of them there are. With the largest gains first the total
# after k moves is a concave function of k, so the least number of moves to close a gap is found by walking down the ladder
# once. Read at real k (the last move made in part) it is the fractional distance; rounded up it is the number of whole moves.


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
