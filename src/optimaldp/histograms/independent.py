"""Bins that are believed to be independent: the priors that fit a table whose total is private.

**Theorem.** For independent bins under a public prior and any cost that adds up over the bins, no epsilon-DP mechanism for
one person more or less has a smaller expected cost than the sum of the one-bin optima (each bin's output is private in its own
count when the others are fixed), and the product of one-bin optima attains it, because neighbours differ in one bin. For the
L1 cost the one-bin optimum is geometric noise followed by the posterior median.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.parameters import read_positive_epsilon
from optimaldp.histograms.remaps.cell_law import CellLaw
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import read_number

_TAIL_DEVIATIONS = 40.0  # how many standard deviations above its mean a Poisson law is cut off


@dataclass(frozen=True)
class IndependentPrior:
    """One law of counts for each bin, as weights of the counts 0, 1, ... (they need not add up to 1)."""

    laws: tuple[tuple[float, ...], ...]
    poisson_means: tuple[Fraction, ...] = ()
    """The means, where the laws are Poisson: so that the prior can be written down."""

    @property
    def bins(self) -> int:
        return len(self.laws)

    def __str__(self) -> str:
        return f"independent({self.bins} bins)"


def independent(laws: Sequence[Sequence[Any]]) -> IndependentPrior:
    """Independent bins: for each one, how likely the counts 0, 1, 2, ... are.

    >>> independent([[0.5, 0.25, 0.25], [1, 1, 1, 1]])
    IndependentPrior(laws=((0.5, 0.25, 0.25), (1.0, 1.0, 1.0, 1.0)), poisson_means=())
    """
    return IndependentPrior(tuple(_weights(law) for law in laws))


def _weights(law: Sequence[Any]) -> tuple[float, ...]:
    numbers = [read_number(weight, name="prior", error=HistogramError) for weight in law]
    if not numbers or min(numbers) < 0 or not any(numbers):
        raise HistogramError("prior", list(law), "is no law of a count", "give weights of 0, 1, 2, ..., not all 0")
    return tuple(float(number) for number in numbers)


def poisson(means: Sequence[Any]) -> IndependentPrior:
    """Independent bins with Poisson counts of the given means: people who come by themselves.

    >>> poisson([3, 0.5]).bins
    2
    """
    numbers = [read_number(mean, name="prior", error=HistogramError) for mean in means]
    if any(mean <= 0 for mean in numbers):
        raise HistogramError("prior", list(means), "holds a zero or negative mean", "give every bin a positive mean")
    return IndependentPrior(tuple(_poisson_law(float(mean)) for mean in numbers), tuple(numbers))


def _poisson_law(mean: float) -> tuple[float, ...]:
    top = math.ceil(mean + _TAIL_DEVIATIONS * math.sqrt(mean) + _TAIL_DEVIATIONS)
    return tuple(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(top + 1))


def read_independent_prior(value: object, bins: int) -> IndependentPrior:
    """Read a prior for a table with a private total."""
    if not isinstance(value, IndependentPrior):
        remedy = "use histograms.poisson([...]) or histograms.independent([...]), or neighbours='substitution'"
        raise HistogramError("prior", str(value), "needs a public total", remedy)
    if value.bins != bins:
        rule = f"does not match the {bins} bins of the histogram"
        raise HistogramError("prior", f"{value.bins} bins", rule, "give one law for each bin")
    return value


def posterior_medians(noisy: object, *, epsilon: Epsilon, prior: IndependentPrior) -> Any:
    """The posterior median of each bin: with geometric noise, the least expected L1 error of all (theorem above)."""
    import numpy as np

    ratio = math.exp(-float(epsilon))
    table = np.asarray(noisy)
    medians = [
        CellLaw(np.array(law), ratio).medians(np.array([_within(value, law)]))[0]
        for value, law in zip(table, prior.laws)
    ]
    return np.array(medians, dtype=table.dtype)


def _within(value: Any, law: Sequence[float]) -> int:
    """Above every possible count, all noisy values have one posterior."""
    return min(int(value), len(law) - 1)


def least_error(prior: IndependentPrior, *, epsilon: object) -> float:
    """The least expected L1 error of any epsilon-DP mechanism for one person more or less, under *prior*.

    >>> round(least_error(independent([[1, 1]]), epsilon="ln(3)"), 6)
    0.25
    """
    ratio = math.exp(-float(read_positive_epsilon(epsilon)))
    return math.fsum(_least_bin_error(law, ratio) for law in prior.laws)


def _least_bin_error(law: Sequence[float], ratio: float) -> float:
    import numpy as np

    total = math.fsum(law)
    weights = np.array(law) / total
    top = len(law) - 1
    cells, shown = CellLaw(weights, ratio), np.arange(top + 1)
    counts = np.arange(top + 1)
    # Noisy values beyond the ends tell what the ends tell: the truncated geometric mechanism.
    inner = (1 - ratio) / (1 + ratio)
    chances = np.array([float((weights * ratio ** np.abs(counts - value)).sum()) for value in shown])
    chances *= np.where((shown == 0) | (shown == top), 1 / (1 + ratio), inner) if top else 1.0
    return float((chances * cells.mean_distances(shown, cells.medians(shown))).sum())


__all__ = ["IndependentPrior", "independent", "least_error", "poisson", "posterior_medians", "read_independent_prior"]
