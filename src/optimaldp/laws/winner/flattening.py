"""The recursion behind both versions of the flip envelope: options that are flattened together by moving votes.

To make an option k win, votes are moved one by one from a top option to k. After enough moves k is level with the
tops, and the options that were overtaken on the way down are level with them too. A state is therefore a set of
options that are level, the others as they were; its tops share what the others leave. Options with equal counts are
alike, so a set is kept as *how many* of each distinct count it holds: never more than ``2**(options - 1)`` states,
far fewer with ties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Protocol

from optimaldp.privacy.trajectory import Number

Height = int | Fraction
Taken = tuple[int, ...]
Level = tuple[Taken, int, int]  # how many of each count, their votes, their number


class Water(Protocol):
    """What distinguishes the versions: where the surface lies when votes are spread over some options."""

    def surface(self, total: int, members: int) -> Height:
        """The highest count among *members* options that share *total* votes as evenly as possible."""
        ...

    def floods(self, count: int, total: int, members: int) -> bool:
        """Whether an option with this count is level with *members* options that share *total* votes."""
        ...

    def shares(self, total: int, members: int) -> Number:
        """How many times the probability of a top the *members* options get together."""
        ...

    def decay(self, moves: Height) -> Number:
        """``e^(-epsilon moves)``."""
        ...


def flatten(counts: Sequence[int], water: Water) -> list[Number]:
    """The probability of each option, in the order of *counts*."""
    by_count = _Flattening(counts, water).probabilities()
    return [by_count[count] for count in counts]


class _Flattening:
    def __init__(self, counts: Sequence[int], water: Water) -> None:
        sizes = Counter(counts)
        self._heights = sorted(sizes, reverse=True)
        self._sizes = [sizes[height] for height in self._heights]
        self._water = water
        self._known: dict[Taken, Number] = {}
        self._decay = cache(water.decay)  # many sets need the same power, and an exponential is the costliest step

    def probabilities(self) -> dict[int, Number]:
        """Every distinct count with the probability of one option that has it."""
        start = self._close(((0,) * len(self._heights), 0, 0), 0)
        top = self._top(start)
        surface = self._heights[0]
        result: dict[int, Number] = {}
        for position, height in enumerate(self._heights):
            if start[0][position]:
                moves = surface - height  # 0 for a top; 1 for the lattice's "one below"
                result[height] = top if moves == 0 else self._decay(moves) * top
            else:
                result[height] = self._lifted(start, position)
        return result

    def _top(self, level: Level) -> Number:
        """The probability of a top once the options in *level* are level: what the others leave, shared."""
        taken, total, members = level
        if taken in self._known:
            return self._known[taken]
        rest = self._decay(0)  # one, as the kind of number in use: a bare 1 divided by an integer would be a float
        for position, size in enumerate(self._sizes):
            outside = size - taken[position]
            if outside:
                rest = rest - outside * self._lifted(level, position)
        value = rest / self._water.shares(total, members)
        self._known[taken] = value
        return value

    def _lifted(self, level: Level, position: int) -> Number:
        """The probability of an option outside: it wins after being lifted to the surface, one factor for each move."""
        lifted = self._close(level, position)
        moves = self._water.surface(lifted[1], lifted[2]) - self._heights[position]
        return self._decay(moves) * self._top(lifted)

    def _close(self, level: Level, position: int) -> Level:
        """Add one option at *position*, then in descending count every option that the sinking surface reaches."""
        taken, total, members = [*level[0]], level[1] + self._heights[position], level[2] + 1
        taken[position] += 1
        for index, height in enumerate(self._heights):
            while taken[index] < self._sizes[index]:
                if not self._water.floods(height, total, members):
                    return tuple(taken), total, members
                taken[index] += 1
                total, members = total + height, members + 1
        return tuple(taken), total, members
