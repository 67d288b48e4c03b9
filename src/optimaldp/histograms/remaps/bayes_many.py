"""The Bayes remap for many bins: bins with the same prior and the same noisy count share one posterior.

The other bins' sum is close to normal (their number is at least a hundred), so a bin's posterior is its own factor times a
normal weight of what the others leave: an error of order 1/K, far below what moves a released count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from optimaldp.histograms.priors import CountPrior
from optimaldp.histograms.remaps.sparse import filled_between
from optimaldp.privacy.epsilon import Epsilon

MANY_BINS = 100
_NEGLIGIBLE_NATS = 60.0  # a weight e^-60 below the largest moves no quantile
_ROUNDS = 60
_HALVINGS = 40


def bayes_remap_many(table: Any, persons: int, *, epsilon: Epsilon, prior: CountPrior) -> Any:
    """The histogram with the least posterior expected L1 error, for a hundred bins or more."""
    import numpy as np

    _, kind_of = np.unique([str(parameter) for parameter in prior.parameters], return_inverse=True)
    first = {int(kind): position for position, kind in reversed(list(enumerate(kind_of.tolist())))}
    pairs, places, cells = np.unique(np.stack((kind_of, table)), axis=1, return_inverse=True, return_counts=True)

    def factors(tilt: float) -> list[tuple[Any, Any]]:
        return [_factor(first[int(kind)], int(noisy), tilt, persons, float(epsilon), prior) for kind, noisy in pairs.T]

    laws = _posteriors(factors, cells, persons)
    low, high = _around_total(laws, cells, persons)
    places = places.reshape(-1)
    return filled_between(low[places], high[places], persons)


def _factor(position: int, noisy: int, tilt: float, persons: int, epsilon: float, prior: CountPrior) -> tuple[Any, Any]:
    """The counts that matter for one bin, with their shares of ``w_k(x) theta^(|g_k - x|/2) t^x``."""
    import numpy as np

    sizes = np.arange(persons + 1)
    logarithms = prior.log_weights(position, persons) - np.abs(sizes - noisy) * (epsilon / 2) + tilt * sizes
    kept = np.flatnonzero(logarithms > logarithms.max() - _NEGLIGIBLE_NATS)
    window = slice(int(kept[0]), int(kept[-1]) + 1)
    return sizes[window].astype(float), _normalised(logarithms[window])


def _posteriors(
    factors: Callable[[float], list[tuple[Any, Any]]], cells: object, persons: int
) -> list[tuple[Any, Any]]:
    """Tilted until the means add up to n, then weighted by what the others leave."""
    import numpy as np

    tilt, low, high = 0.0, -math.inf, math.inf
    for _ in range(_ROUNDS):
        laws = factors(tilt)
        means = np.array([float(sizes @ weights) for sizes, weights in laws])
        variances = np.array([float((sizes - mean) ** 2 @ weights) for (sizes, weights), mean in zip(laws, means)])
        mean, variance = float(means @ cells), float(variances @ cells)
        if abs(mean - persons) <= 0.01 * math.sqrt(variance) + 0.01:
            break
        low, high = (tilt, high) if mean < persons else (low, tilt)
        tilt += max(-2.0, min(2.0, (persons - mean) / max(variance, 1e-3)))
        if not low < tilt < high:  # Newton overshot a bend: halve the bracket instead
            tilt = (low + high) / 2
    conditioned = []
    for (sizes, weights), own_mean, own_variance in zip(laws, means, variances):
        remaining_people = persons - (mean - own_mean)
        spread = max(variance - own_variance, 1e-9)
        with np.errstate(divide="ignore"):
            conditioned.append((sizes, _normalised(np.log(weights) - (sizes - remaining_people) ** 2 / (2 * spread))))
    return conditioned


def _normalised(logarithms: Any) -> Any:
    import numpy as np

    weights = np.exp(logarithms - logarithms.max())
    return weights / weights.sum()


def _around_total(laws: list[tuple[Any, Any]], cells: object, persons: int) -> tuple[Any, Any]:
    """The counts at two neighbouring posterior quantiles, between which the total lies."""
    import numpy as np

    sums = [np.cumsum(weights) for _, weights in laws]

    def at(level: float) -> Any:
        estimates = [
            int(sizes[min(int(np.searchsorted(sum_, level)), len(sizes) - 1)]) for (sizes, _), sum_ in zip(laws, sums)
        ]
        return np.array(estimates, dtype=np.int64)

    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if int(at(middle) @ cells) <= persons else (low, middle)
    return at(low), at(high)
