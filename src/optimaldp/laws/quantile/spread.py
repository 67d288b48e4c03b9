"""Made-up tables for previews: bins in groups that every mechanism treats alike. Floats throughout: nothing here is released."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MOST_LISTED = 4096  # bins up to which each one is a group of its own
_REACH_NATS = 60.0  # e^-60: people farther than this many nats from the quantile change no figure of a preview


@dataclass(frozen=True)
class Spread:
    """Groups of bins: one that holds people, or, where bins are many, a run of empty ones between two such."""

    bins: int
    truth: int
    persons: int
    first: Floats  # first bin of the group
    size: Floats  # number of its bins
    distance: Floats  # people who must move to make one of its bins the true one
    below: Floats  # people in lower bins
    above: Floats  # people in higher bins


def spread_of(cells: Mapping[int, int], bins: int, rank: Fraction) -> Spread:
    """The groups of a table that the caller made up."""
    import numpy as np

    persons = sum(cells.values())
    target = math.ceil(rank * persons)
    rows = [
        (first, size, _distance(first, size, below, upto, target, bins), below, persons - upto)
        for first, size, below, upto in _groups(cells, bins)
    ]
    truth = next(first for first, _, distance, _, _ in rows if distance == 0)
    return Spread(bins, truth, persons, *(np.array(column, dtype=float) for column in zip(*rows)))


def _distance(first: int, size: int, below: int, upto: int, target: int, bins: int) -> int:
    before = below - target + 1 if first > 0 else 0
    behind = target - upto if first + size < bins else 0
    return max(0, before, behind)


def _groups(cells: Mapping[int, int], bins: int) -> Iterator[tuple[int, int, int, int]]:
    """First bin, number of bins, people below them, people up to them. The outermost bins have a cut on one side only."""
    free = below = 0
    for bin_ in sorted(place for place, count in cells.items() if count):
        yield from ((first, size, below, below) for first, size in _empty(free, bin_, bins))
        yield bin_, 1, below, below + cells[bin_]
        free, below = bin_ + 1, below + cells[bin_]
    yield from ((first, size, below, below) for first, size in _empty(free, bins, bins))


def _empty(first: int, stop: int, bins: int) -> Iterator[tuple[int, int]]:
    if bins <= _MOST_LISTED:
        yield from ((bin_, 1) for bin_ in range(first, stop))
        return
    marks = sorted({first, stop, *(mark for mark in (1, bins - 1) if first < mark < stop)})
    yield from ((low, high - low) for low, high in pairwise(marks) if high > low)


def even_cells(bins: int, persons: int, rank: Fraction, epsilon: float, *, shift: int = 0) -> dict[int, int]:
    """*persons* people spread evenly over the bins; those too far from the quantile to matter stand in a heap on either side.

    *shift* people, fewer than a bin holds, stand in the first of these bins instead of the last: the quantile lies elsewhere in
    its own.
    """
    reach = persons if epsilon <= 0 else math.ceil(_REACH_NATS / epsilon) + 2
    target = math.ceil(rank * persons)
    low, high = max(0, target - reach), min(persons, target + reach)
    cells: dict[int, int] = {}
    per_bin = persons / bins
    if per_bin > 1:
        first, last = int(low / per_bin), min(bins - 1, int(high / per_bin))
        for bin_ in range(first, last + 1):
            cells[bin_] = round((bin_ + 1) * per_bin) - round(bin_ * per_bin)
        low, high = round(first * per_bin), round((last + 1) * per_bin)
    else:
        for person in range(low, high):
            bin_ = int((person + 0.5) / per_bin)
            cells[bin_] = cells.get(bin_, 0) + 1
    if cells:
        cells[min(cells)] += low + shift
        cells[max(cells)] += persons - high - shift
    return cells
