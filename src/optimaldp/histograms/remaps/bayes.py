"""The Bayes remap for many bins: bins with the same prior and the same noisy count share one posterior.

The other bins' sum is close to normal (their number is at least a hundred), so a bin's posterior is its own factor times a
normal weight of what the others leave: an error of order 1/K, far below what moves a released count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.priors import CountPrior
from optimaldp.histograms.remaps.projection import filled_between
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import narrowed

if TYPE_CHECKING:
    from optimaldp.histograms.parameters import Array

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
        return [
            _factor_of_many(first[int(kind)], int(noisy), tilt, persons, float(epsilon), prior)
            for kind, noisy in pairs.T
        ]

    laws = _posteriors(factors, cells, persons)
    low, high = _around_total(laws, cells, persons)
    places = places.reshape(-1)
    return filled_between(low[places], high[places], persons)


def _factor_of_many(
    position: int, noisy: int, tilt: float, persons: int, epsilon: float, prior: CountPrior
) -> tuple[Any, Any]:
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

    low, high = narrowed(lambda level: int(at(level) @ cells) <= persons, 0.0, 1.0, _HALVINGS)
    return at(low), at(high)


# The Bayes remap: the histogram with the least expected L1 error, given the noisy table and a public prior.
#
# The posterior ``P(h | g) ~ prod_k w_k(h_k) theta^(|g_k - h_k|/2)`` on sum n is a product with one constraint, so each bin's
# posterior is its own factor times a convolution of all others. The expected error of a histogram a is a sum of convex
# functions of the a_k, with increments ``2 F_k(a_k) - 1``: the best a has one common posterior quantile in all bins. Equal to
# the optimum of the linear program for two bins, within a few per cent above it for three (errata E11, E12).
#
# This is post-processing: floats decide nothing about privacy here, only how close to best the remapped table is.


_NEGLIGIBLE_WEIGHT = 1e-25  # relative weight below which a tail is cut off: far below what moves a quantile
_FOURIER_NOISE = 1e-14
_FOURIER_LENGTH = 600  # entries from which on a Fourier transform is faster
_MOST_ROUNDS = 60
_MOST_PERSONS = 5_000_000  # one array of this length for each step


@dataclass(frozen=True)
class _Window:
    """Weights of the consecutive integers from *start* on, with sum 1."""

    start: int
    weights: Any

    @property
    def end(self) -> int:
        return self.start + len(self.weights)


def bayes_remap(noisy: object, *, epsilon: Epsilon, prior: CountPrior) -> Any:
    """The histogram with the least posterior expected L1 error, as an array.

    **Guarantee.** Among the histograms with the same total (up to floating-point ties): the least expected L1 error under
    the prior.
    """
    import numpy as np

    table = np.asarray(noisy)
    persons = int(table.sum())
    if persons < 0:
        raise HistogramError("table", persons, "has a negative total", "only tables of a public total can be remapped")
    check_bayes_size(persons)
    if persons == 0:
        return np.zeros_like(table)
    if len(table) >= MANY_BINS:
        return bayes_remap_many(table, persons, epsilon=epsilon, prior=prior)
    return _common_quantile(posterior_marginals(table, epsilon=epsilon, prior=prior), persons)


def check_bayes_size(persons: int) -> None:
    """Refuse a total for which the posterior would not fit into memory. The total is public here."""
    if persons > _MOST_PERSONS:
        rule = f"cannot be computed for a total above {_MOST_PERSONS:,}"
        raise HistogramError("remap", "bayes", rule, "use the projection, or a coarser unit")


def posterior_marginals(noisy: object, *, epsilon: Epsilon, prior: CountPrior) -> list[_Window]:
    """The posterior of each single bin, given the whole noisy table."""
    import numpy as np

    table = np.asarray(noisy)
    persons = int(table.sum())
    windows = _tilted(table, persons, float(epsilon), prior)
    before = _running(windows)
    after = _running(windows[::-1])[::-1]
    return [_marginal(windows[k], before[k], after[k], persons) for k in range(len(windows))]


def _tilted(table: Array, persons: int, epsilon: float, prior: CountPrior) -> list[_Window]:
    """The factors of the posterior, each multiplied by t^x with t such that their means add up to about n, tails cut off.

    A common tilt changes no posterior. Without it the sum n can lie so far out in the convolution that it underflows.
    """
    tilt, low, high = 0.0, -math.inf, math.inf
    for _ in range(_MOST_ROUNDS):
        windows = [_factor(k, int(noisy), tilt, persons, epsilon, prior) for k, noisy in enumerate(table)]
        mean, variance = _moments(windows)
        if abs(mean - persons) <= 0.2 * math.sqrt(variance) + 0.2:
            break
        low, high = (tilt, high) if mean < persons else (low, tilt)
        step = (persons - mean) / max(variance, 1e-3)
        tilt += max(-2.0, min(2.0, step))
        if not low < tilt < high:  # Newton overshot a bend: halve the bracket instead
            tilt = (low + high) / 2
    return windows


def _factor(position: int, noisy: int, tilt: float, persons: int, epsilon: float, prior: CountPrior) -> _Window:
    """``w_k(x) theta^(|g_k - x|/2) t^x`` on x = 0..n."""
    import numpy as np

    sizes = np.arange(persons + 1)
    logarithms = prior.log_weights(position, persons) - np.abs(sizes - noisy) * (epsilon / 2) + tilt * sizes
    kept = np.flatnonzero(logarithms > logarithms.max() + math.log(_NEGLIGIBLE_WEIGHT))
    weights = np.exp(logarithms[kept[0] : kept[-1] + 1] - logarithms.max())
    return _Window(int(kept[0]), weights / weights.sum())


def _moments(windows: list[_Window]) -> tuple[float, float]:
    """Mean and variance of the sum of independent numbers with these laws."""
    import numpy as np

    mean = variance = 0.0
    for window in windows:
        sizes = np.arange(len(window.weights))
        own = float(sizes @ window.weights)
        mean, variance = mean + window.start + own, variance + float((sizes - own) ** 2 @ window.weights)
    return mean, variance


def _convolve(left: Array, right: Array) -> Any:
    """Directly for short rows, by Fourier transform for long ones: its rounding is far below what moves a quantile."""
    import numpy as np

    if min(len(left), len(right)) < _FOURIER_LENGTH:
        return np.convolve(left, right)
    length = len(left) + len(right) - 1
    padded = 1 << (length - 1).bit_length()
    product = np.fft.irfft(np.fft.rfft(left, padded) * np.fft.rfft(right, padded), padded)[:length]
    return np.where(product > _FOURIER_NOISE * product.max(), product, 0.0)


def _trim(start: int, weights: Array) -> _Window:
    import numpy as np

    kept = np.flatnonzero(weights > _NEGLIGIBLE_WEIGHT * weights.max())
    weights = weights[kept[0] : kept[-1] + 1]
    return _Window(start + int(kept[0]), weights / weights.sum())


def _running(windows: list[_Window]) -> list[_Window]:
    """The sums of the windows before each one: entry k holds the law of the sum of windows 0..k-1."""
    import numpy as np

    sums = [_Window(0, np.ones(1))]
    for window in windows[:-1]:
        last = sums[-1]
        sums.append(_trim(last.start + window.start, _convolve(last.weights, window.weights)))
    return sums


def _marginal(own: _Window, before: _Window, after: _Window, persons: int) -> _Window:
    """The law of one bin given that all add up to n: its own factor times what the others leave."""
    import numpy as np

    others = _convolve(before.weights, after.weights)
    others_start = before.start + after.start
    sizes = np.arange(own.start, own.end)
    needed = persons - sizes - others_start
    inside = (needed >= 0) & (needed < len(others))
    weights = own.weights * np.where(inside, others[np.clip(needed, 0, len(others) - 1)], 0.0)
    return _trim(own.start, weights)


def _common_quantile(marginals: list[_Window], persons: int) -> Any:
    """Raise counts one by one, each time where the posterior probability of being there already is least: n in total."""
    import numpy as np

    base = np.array([m.start for m in marginals], dtype=np.int64)
    lengths = [len(m.weights) for m in marginals]
    heights = np.concatenate([np.cumsum(m.weights)[:-1] for m in marginals])
    owners = np.repeat(np.arange(len(marginals)), [length - 1 for length in lengths])
    missing = persons - int(base.sum())
    chosen = np.argsort(heights, kind="stable")[:missing]
    return base + np.bincount(owners[chosen], minlength=len(marginals))
