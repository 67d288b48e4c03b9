"""The cuts between public bins, in runs of equal height: what the laws of quantiles read from a table.

Cut t (0, 1, ..., K - 2) lies between bin t and bin t + 1. Its height is the number of people up to bin t less the target rank,
so a cut next to an empty bin has the height of its neighbour: a table with m occupied bins has at most m + 1 runs, however
many bins there are.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from optimaldp.errors import QuestionError
from optimaldp.laws.quantile.scales import Height, Persons

Cells = Mapping[int, Persons]  # people in each occupied bin; bins are counted from 0
LevelCells = Mapping[int, Sequence[Persons]]  # the same for each level of a person


@dataclass(frozen=True)
class Cuts:
    """Runs of cuts: run i covers the cuts ``starts[i] .. last(i)``, all at ``heights[i]``; heights never fall."""

    bins: int
    starts: list[int]
    heights: list[Height]

    def run(self, cut: int) -> int:
        """The run that holds *cut*."""
        return bisect_right(self.starts, cut) - 1

    def last(self, run: int) -> int:
        """The last cut of *run*."""
        return self.starts[run + 1] - 1 if run + 1 < len(self.starts) else self.bins - 2

    def drop(self, run: int) -> Height:
        """How much higher *run* lies than the run before it: the people in the bin that parts them."""
        high, low = self.heights[run], self.heights[run - 1]
        return tuple(a - b for a, b in zip(high, low)) if isinstance(high, tuple) else high - low


def rank_cuts(cells: Cells, bins: int, rank: Fraction) -> Cuts:
    """Heights ``a_t = c_0 + ... + c_t - ceil(q n)``: whole numbers. No branch on n: an empty table has all heights 0."""
    named = _named_bins(cells, bins)
    sums = list(accumulate((cells[bin_] for bin_ in named), initial=0))
    target = math.ceil(rank * sums[-1])
    return _runs(bins, named, [below - target for below in sums])


def weighted_cuts(cells: LevelCells, bins: int, rank: Fraction, levels: int) -> Cuts:
    """Heights ``C_0 + ... + C_t - q C`` for each level apart: people count by their own epsilon."""
    named = _named_bins(cells, bins)
    if any(len(counts) != levels for counts in cells.values()):
        raise QuestionError("cells", "(not shown)", "do not have one count for each level") from None
    zero: tuple[Persons, ...] = (0,) * levels
    sums = list(accumulate((tuple(cells[bin_]) for bin_ in named), _added, initial=zero))
    targets = tuple(rank * whole for whole in sums[-1])
    return _runs(bins, named, [tuple(below - target for below, target in zip(row, targets)) for row in sums])


def _runs(bins: int, named: list[int], heights: list[Height]) -> Cuts:
    """Runs from the height before all bins and behind each one that is named."""
    if named and named[-1] == bins - 1:  # the last bin has no cut behind it
        named, heights = named[:-1], heights[:-1]
    if named and named[0] == 0:
        return Cuts(bins, named, heights[1:])
    return Cuts(bins, [0, *named], heights)


def _added(a: tuple[Persons, ...], b: tuple[Persons, ...]) -> tuple[Persons, ...]:
    return tuple(x + y for x, y in zip(a, b))


def _named_bins(cells: Mapping[int, Height], bins: int) -> list[int]:
    """The bins that are listed, in order. No message quotes one: they may have been read from a table."""
    named = sorted(cells)
    if named and not (named[0] >= 0 and named[-1] < bins):
        raise QuestionError("cells", "(not shown)", "name a bin that the question does not have") from None
    return named
