"""The normalised geometric mechanism (002 (14)), shown to fail.

``W(g | h) = theta^(d(g,h)) / E_h`` on the histograms themselves. Near the edge of the histograms there are fewer
neighbours, so ``E_h`` depends on h and the mechanism is not theta-private for any finite number of people, as the paper
says. This module computes how much privacy it really keeps; nothing here is ever sampled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.lattice import Histogram, constraint_graph, distances_from
from optimaldp.histograms.parameters import read_positive_epsilon, theta
from optimaldp.histograms.priors import CountPrior, read_prior
from optimaldp.privacy.numbers import is_whole, read_number
from optimaldp.privacy.trajectory import Number
from optimaldp.results import Result


@dataclass(frozen=True, repr=False)
class NormalisedGeometric(Result):
    """What the normalised geometric mechanism promises and what it keeps."""

    bins: int
    persons: int
    promised_theta: Number
    actual_theta: Number
    worst_pair: tuple[Histogram, Histogram]

    @property
    def private(self) -> bool:
        """Whether it keeps its promise: never, for two bins or more and at least two people."""
        return bool(self.actual_theta >= self.promised_theta)

    def summary(self) -> str:
        word = "private" if self.private else "NOT private"
        kept, promised = float(self.actual_theta), float(self.promised_theta)
        return f"NormalisedGeometric({self.bins} bins, {self.persons} people, {word}: theta {kept:.4g}, not {promised:.4g})"

    def to_document(self) -> dict[str, Any]:
        return {
            "bins": self.bins,
            "persons": self.persons,
            "promised_theta": str(self.promised_theta),
            "actual_theta": str(self.actual_theta),
            "private": self.private,
            "worst_pair": [list(histogram) for histogram in self.worst_pair],
        }


def normalised_geometric(bins: int, persons: int, *, epsilon: object) -> NormalisedGeometric:
    """How private the mechanism (14) really is: the least ratio of probabilities between neighbours.

    For neighbours h, h' the output g = h' has ``W(g|h)/W(g|h') = theta E_h' / E_h``, and no output has less: so the true
    theta is ``theta`` times the least quotient of normalisers.

    >>> normalised_geometric(2, 5, epsilon="ln(2)").actual_theta
    Fraction(21, 52)
    """
    ratio, graph = theta(read_positive_epsilon(epsilon)), constraint_graph(bins, persons)
    sizes = [sum(n * ratio**d for d, n in enumerate(distances_from(h))) for h in graph.vertices]
    pairs = [pair for i, j in graph.edges for pair in ((i, j), (j, i))]
    first, second = min(pairs, key=lambda pair: sizes[pair[1]] / sizes[pair[0]])
    return NormalisedGeometric(
        graph.bins,
        graph.persons,
        ratio,
        ratio * sizes[second] / sizes[first],
        (graph.vertices[first], graph.vertices[second]),
    )


# The least error for two bins and any number of people, without a linear program.
#
# For two bins the truncated geometric mechanism followed by the posterior median is the optimum of the linear program
# (3)-(6), for every number of people and every prior (erratum E11); discounted sums give its error in O(n) operations.


_MOST_PERSONS = 1_000_000
_MOST_EXACT = 400  # beyond this the rational has more digits than anybody reads


def two_bin_optimum(persons: int, *, epsilon: object, prior: object = "uniform") -> Fraction | float:
    """The least expected L1 error of any epsilon-DP mechanism for two bins and *persons* people.

    *prior* is as for a release, or a list of ``persons + 1`` weights: how likely each count of the first bin is. The
    result is an exact rational for at most 400 people when ``e^epsilon`` and the prior are rational, else a float.

    >>> two_bin_optimum(10, epsilon="ln(2)")
    Fraction(58599, 32768)
    """
    if not is_whole(persons, 1, _MOST_PERSONS):
        raise HistogramError("persons", persons, f"is not a number of people from 1 to {_MOST_PERSONS}")
    level, weights = read_positive_epsilon(epsilon), _weights(prior, persons)
    ratio = theta(level)
    if persons <= _MOST_EXACT and isinstance(ratio, Fraction):
        return Fraction(_least_error(_exact_weights(weights, persons), ratio))
    return float(_least_error(_float_weights(weights, persons), math.exp(-float(level))))


def _weights(prior: object, persons: int) -> CountPrior | list[Fraction]:
    if isinstance(prior, Sequence) and not isinstance(prior, str) and len(prior) == persons + 1 and len(prior) != 2:
        numbers = [read_number(x, name="prior", error=HistogramError) for x in prior]
        if min(numbers) < 0 or not any(numbers):
            raise HistogramError("prior", list(prior), "does not hold weights", "give nonnegative numbers, not all 0")
        return numbers
    belief = read_prior(prior, 2)
    if belief is None:
        raise HistogramError("prior", prior, "is missing", "the least expected error depends on it; try 'uniform'")
    return belief


def _exact_weights(weights: CountPrior | list[Fraction], persons: int) -> list[Fraction]:
    if isinstance(weights, CountPrior):
        return [weights.probability((count, persons - count)) for count in range(persons + 1)]
    return [weight / sum(weights) for weight in weights]


def _float_weights(weights: CountPrior | list[Fraction], persons: int) -> list[float]:
    import numpy as np

    if isinstance(weights, CountPrior):
        logarithms = weights.log_weights(0, persons) + weights.log_weights(1, persons)[::-1]
        masses = np.exp(logarithms - logarithms.max())
    else:
        masses = np.array([float(weight) for weight in weights])
    shares: list[float] = (masses / masses.sum()).tolist()
    return shares


def _least_error(weights: Sequence[Number], ratio: Number) -> Number:
    """The expected error of the truncated geometric mechanism followed by the posterior median, in O(n) operations."""
    persons = len(weights) - 1
    sums, total, median = _DiscountedSums(weights, ratio), 0 * ratio, 0
    for shown in range(persons + 1):
        half = sums.up_to(shown, persons) / 2
        while median < persons and sums.up_to(shown, median) < half:  # medians never fall when the shown count rises
            median += 1
        edge = shown in (0, persons)
        total += (1 if edge else 1 - ratio) * sums.spread(shown, median)
    return 2 * total / (1 + ratio)


class _DiscountedSums:
    """Sums of ``w_h theta^|g-h|`` and ``w_h theta^|g-h| |h-m|`` over ranges of h, from sums that end or start at each
    count."""

    def __init__(self, weights: Sequence[Number], ratio: Number) -> None:
        self.ratio = ratio
        self.below, self.below_moment = _discounted(weights, ratio)
        above, above_moment = _discounted(weights[::-1], ratio)
        self.above, self.above_moment = above[::-1], above_moment[::-1]
        self.powers = [ratio**0]
        for _ in weights:
            self.powers.append(self.powers[-1] * ratio)

    def up_to(self, shown: int, last: int) -> Number:
        """The weight of the true counts 0..last when *shown* is seen."""
        if last <= shown:
            return self.powers[shown - last] * self.below[last]
        beyond = self.powers[last + 1 - shown] * self.above[last + 1] if last + 1 < len(self.above) else 0
        return self.below[shown] + self.ratio * self.above[shown + 1] - beyond

    def spread(self, shown: int, middle: int) -> Number:
        """``sum_h w_h theta^|shown-h| |h - middle|``."""
        if middle > shown:
            return self._spread(shown, middle, self.above, self.above_moment, self.below, self.below_moment, step=-1)
        return self._spread(shown, middle, self.below, self.below_moment, self.above, self.above_moment, step=1)

    def _spread(
        self, shown: int, middle: int, near: Any, near_moment: Any, far: Any, far_moment: Any, *, step: int
    ) -> Number:
        """In three parts: beyond the middle, between it and the shown count, and on the other side of the shown count."""
        gap = abs(shown - middle)
        beyond = self.powers[gap] * near_moment[middle]
        between = gap * near[shown] - near_moment[shown] + beyond
        other = shown + step
        if not 0 <= other < len(far):
            return beyond + between
        return beyond + between + self.ratio * (far_moment[other] + (gap + 1) * far[other])


def _discounted(weights: Sequence[Number], ratio: Number) -> tuple[list[Number], list[Number]]:
    """``sum_{h<=m} w_h theta^(m-h)`` and ``sum_{h<=m} w_h theta^(m-h) (m-h)`` for every m."""
    sums, moments = [], []
    running = moment = 0 * ratio
    for weight in weights:
        moment = ratio * (moment + running)
        running = ratio * running + weight
        sums.append(running)
        moments.append(moment)
    return sums, moments
