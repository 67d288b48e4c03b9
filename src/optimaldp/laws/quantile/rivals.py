"""Other mechanisms for quantiles on made-up tables, in floats: what previews and benchmarks compare with."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from optimaldp.laws.quantile.law import QuantileLaw
from optimaldp.laws.quantile.scales import BallScale
from optimaldp.laws.quantile.spread import Spread
from optimaldp.privacy.balls import precision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from optimaldp.laws.quantile.spread import Floats

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
