"""Made-up tables for previews: bins in groups that every mechanism treats alike. Floats throughout: nothing here is released."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from optimaldp.laws.quantile import QuantileLaw
from optimaldp.laws.rank_scales import BallScale
from optimaldp.privacy.balls import precision

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


# Other mechanisms for quantiles on made-up tables, in floats: what previews and benchmarks compare with.


_FLOAT_BITS = 96
_NODES = 24
_BELOW_ONE = 1 - 2.0**-53


def our_groups(law: QuantileLaw, cells: Mapping[int, int], spread: Spread) -> Floats:
    """The probability of each group under the law that a release draws from."""
    import numpy as np

    cuts, epsilon = law.cuts(cells), law.level.epsilon
    # e^epsilon - 1 is a number of that size: a small epsilon needs the bits that it begins behind.
    with precision(_FLOAT_BITS + (0 if epsilon.is_zero else max(0, epsilon.leading_zeros))):
        scale = BallScale((law.level.epsilon,), law.share)
        ends = law.law_of(cuts, scale, law.near(cuts, _FLOAT_BITS))
        last = (spread.first + spread.size - 1).astype(object)
        sums = [float(ends.end(int(cut))) for cut in last[:-1]] + [1.0]
        rests = [float(ends.rest(int(cut))) for cut in last[:-1]] + [0.0]
    rising, falling = np.diff([0.0, *sums]), -np.diff([1.0, *rests])
    return np.maximum(0.0, np.where(np.array(sums) < 0.5, rising, falling))


def exponential_groups(spread: Spread, epsilon: float) -> Floats:
    """The exponential mechanism with score -distance: ``e^(-epsilon d / 2)``."""
    import numpy as np

    weights = spread.size * np.exp(-epsilon * spread.distance / 2)
    return np.asarray(weights / weights.sum())


def permute_and_flip_groups(spread: Spread, epsilon: float) -> Floats:
    """Permute-and-flip with the same score."""
    return _flipped(spread.size, epsilon * spread.distance / 2)


def candidate_groups(spread: Spread, epsilon: float, rank: Fraction) -> Floats:
    """OpenDP's private quantile with one candidate for each bin: score ``|(1-q) #below - q #above|``, exponential noise.

    Its neighbours are replaced records (the size is known to it). The score ignores the people in the candidate's own bin, so
    that with heavy ties another bin may score best.
    """
    import numpy as np

    q = float(rank)
    scores = np.abs((1 - q) * spread.below - q * spread.above)
    return _flipped(spread.size, epsilon * (scores - scores.min()) / 2)


def rank_noise_groups(spread: Spread, epsilon: float, target: int) -> Floats:
    """Geometric noise on the exact rank. *Not private* (an empty bin is never drawn): a floor to compare with."""
    import numpy as np

    x = float(np.exp(-epsilon))
    heights = spread.persons - spread.above[:-1] - target  # of the cut behind each group but the last
    tail = np.where(heights >= 0, x ** np.maximum(heights + 1, 0), x ** np.maximum(-heights, 0)) / (1 + x)
    ends = np.where(heights >= 0, 1 - tail, tail)
    return np.diff([0.0, *ends, 1.0])


def _flipped(size: Floats, gaps: Floats) -> Floats:
    """The first success of coins ``e^-gap`` in random order.

    Coin j wins with ``p_j`` times the integral over v in [0, 1] of the product of the others' ``1 - p v``. The product falls like
    ``e^(-v S)`` with S the sum of all coins, so the intervals double from 1/S on.
    """
    import numpy as np

    coins = np.exp(-gaps)
    total = max(1.0, float((size * coins).sum()))
    marks = [0.0]
    while marks[-1] < 1:
        marks.append(min(1.0, max(0.25 / total, 2 * marks[-1])))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    result = np.zeros_like(coins)
    for low, high in pairwise(marks):
        for node, weight in zip((high - low) / 2 * nodes + (high + low) / 2, (high - low) / 2 * weights):
            # Below 1: the last interval can be so short that a node rounds to 1, and -inf minus itself is no number.
            logs = np.log1p(-np.minimum(coins * node, _BELOW_ONE))
            whole = float((size * logs).sum())
            result += weight * np.exp(whole - logs)
    return np.asarray(size * coins * result)
