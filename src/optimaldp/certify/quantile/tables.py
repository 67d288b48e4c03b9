"""Made-up tables on which the referee looks at a law: from the heights of cuts to people in bins."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

Heights = tuple[int, ...]


def people_at(heights: Heights, starts: Sequence[int], bins: int, rank: Fraction) -> dict[int, int] | None:
    """People in bins such that the cuts from ``starts[i]`` on have ``heights[i]``; ``None`` where no table has them.

    At rank 1 nobody is above the target, so no height is positive.
    """
    if rank == 1 and heights[-1] > 0:
        return None
    least = max(Fraction(0), -heights[0] / rank, heights[-1] / (1 - rank) if rank < 1 else Fraction(0))
    people = math.ceil(least)
    target = math.ceil(rank * people)
    below = [target + height for height in heights] + [people]
    places = [*starts, bins - 1]
    cells: dict[int, int] = {}
    for place, now, before in zip(places, below, [0, *below]):
        cells[place] = cells.get(place, 0) + now - before
    return {place: count for place, count in cells.items() if count}


def grid(cuts: int, low: int, high: int) -> list[Heights]:
    """All nondecreasing heights from *low* to *high*."""
    return list(combinations_with_replacement(range(low, high + 1), cuts))


def block_shifts(heights: Heights) -> Iterator[Heights]:
    """What one person can do to the cuts: raise one block of them by one, such that they stay in order."""
    for first in range(len(heights)):
        for last in range(first, len(heights)):
            moved = tuple(a + (first <= t <= last) for t, a in enumerate(heights))
            if all(a <= b for a, b in pairwise(moved)):
                yield moved


def mirrored(heights: Heights) -> Heights:
    """The same table read from the other end."""
    return tuple(-1 - a for a in reversed(heights))
