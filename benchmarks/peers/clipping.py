"""Two-step experts: a private upper end first, then integer Laplace noise on the clipped sum. One record is replaced.

Two ways to the upper end, each with 168 settings (a quantile, a share of epsilon, a coarse or a fine ladder of edges), of
which the best one *on the very table* counts, which no expert could know:

* the exponential mechanism over a public ladder of edges, scored by the distance in rank from the wanted quantile;
* AboveThreshold with exponential noise (Durfee, "Unbounded differentially private quantile and maximum estimation", NeurIPS
  2023): the first edge below which a noisy part of the people lies. A replaced record moves all of its counts in one
  direction, so that the costs of its two noises are the whole cost.

The least of many losses that are known from draws is a little too small: that, too, is to the peers' favour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Loss = Callable[[float, float], float]
"""(upper end, epsilon that is left): the expected loss of the second step."""

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)
LEFT_OUT = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.003, 0.002, 0.001, 0.0005, 0.0002, 0.0)


@dataclass(frozen=True)
class Setting:
    """Which part of the people may lie above the end, and which share of epsilon finds it."""

    left_out: float
    share: float


PLAIN = Setting(0.01, 0.5)
"""What an expert takes who has not seen the table: the 0.99 quantile, and half of epsilon each."""


def settings() -> Iterator[Setting]:
    for left_out in LEFT_OUT:
        for share in SHARES:
            yield Setting(left_out, share)


def ladder(top: float, factor: float) -> Floats:
    """Rising edges from 1 to *top*."""
    steps = math.ceil(math.log(top) / math.log(factor))
    return np.unique(np.minimum(np.ceil(factor ** np.arange(steps + 1)), top))


def below(values: npt.NDArray[np.int64], edges: Floats) -> Floats:
    """How many people have at most each edge."""
    return np.searchsorted(np.sort(values), edges, side="right").astype(float)


def exponential_edge(counts: Floats, people: int, setting: Setting, epsilon: float) -> Floats:
    """The probability of each edge by the exponential mechanism."""
    scores = -np.abs(counts - (1 - setting.left_out) * people)
    weights = np.exp(setting.share * epsilon * (scores - scores.max()) / 2)
    made: Floats = weights / weights.sum()
    return made


def threshold_edge(
    counts: Floats, people: int, setting: Setting, epsilon: float, noise: tuple[Floats, Floats]
) -> Floats:
    """The same by AboveThreshold, from unit exponential noise: of the threshold, and of each edge in each draw."""
    scale = 2 / (setting.share * epsilon)
    limit = (1 - setting.left_out) * people + scale * noise[0]
    passed = counts + scale * noise[1] >= limit[:, None]
    passed[:, -1] = True
    first = passed.argmax(axis=1)
    made: Floats = np.bincount(first, minlength=len(counts)) / len(first)
    return made


def least_loss(
    values: npt.NDArray[np.int64], top: float, epsilon: float, loss: Loss, *, draws: int
) -> dict[str, float]:
    """For each way to the upper end: the least expected loss of all settings; and the loss of the plain expert."""
    exponential = [loss_by_setting(values, top, factor, epsilon, loss) for factor in (math.sqrt(2), 1.2)]
    threshold = [loss_by_setting(values, top, factor, epsilon, loss, draws=draws) for factor in (1.2, 1.05)]
    return {
        "plain": exponential[0][PLAIN],
        "exponential": min(min(found.values()) for found in exponential),
        "AboveThreshold": min(min(found.values()) for found in threshold),
    }


def loss_by_setting(
    values: npt.NDArray[np.int64], top: float, factor: float, epsilon: float, loss: Loss, *, draws: int = 0
) -> dict[Setting, float]:
    """The expected loss of every setting on one ladder: by the exponential mechanism, or by *draws* of AboveThreshold."""
    edges, people, random = ladder(top, factor), len(values), np.random.default_rng(3)
    counts = below(values, edges)
    noise = random.exponential(size=draws), random.exponential(size=(draws, len(edges)))
    found = {}
    for setting in settings():
        law = (
            threshold_edge(counts, people, setting, epsilon, noise)
            if draws
            else exponential_edge(counts, people, setting, epsilon)
        )
        left = (1 - setting.share) * epsilon
        found[setting] = float(
            sum(chance * loss(float(edge), left) for chance, edge in zip(law, edges) if chance > 1e-12)
        )
    return found
