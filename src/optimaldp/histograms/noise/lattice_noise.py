"""Noise for a histogram with a public total: ``P(z) ~ theta^(|z|_1/2)`` on the integer vectors with sum 0 (002 section
IV, U).

Before anything is released, everything about the error is known and public: its distribution, variance, quantiles. Exact
rationals come out where ``e^epsilon`` is rational, else balls at the current precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.error import error_ball, exact_error, normaliser, optimal_error
from optimaldp.histograms.lattice import sphere_size
from optimaldp.histograms.noise.quantiles import bin_quantile, error_quantile, read_confidence
from optimaldp.histograms.noise.recipes import NoiseRecipe, follow, lattice_recipe
from optimaldp.histograms.parameters import (
    exact_theta,
    read_bins,
    read_positive_epsilon,
    with_precision_for_epsilon,
)
from optimaldp.privacy.balls import context
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.trajectory import Number
from optimaldp.results import Result
from optimaldp.sampling import BitSource


@dataclass(frozen=True, repr=False)
class HistogramNoise(Result):
    """The noise of one release, before it is drawn. Make it with :func:`histogram_noise`."""

    bins: int
    epsilon: Epsilon

    @property
    def recipe(self) -> NoiseRecipe:
        return lattice_recipe(self.bins, self.epsilon)

    @property
    def recipe_document(self) -> dict[str, Any]:
        """The recipe as the referee reads it."""
        return self.recipe.to_document()

    def sample(self, source: BitSource | None = None) -> Any:
        """One noise vector: an integer array with sum 0.

        **Guarantee.** Exactly this law, from the operating system's bits (or *source*), certified at epsilon for a
        replaced record.
        """
        return follow(self.recipe, source)

    @with_precision_for_epsilon
    def probability(self, vector: Sequence[int]) -> Number:
        """The probability of one noise vector.

        >>> histogram_noise(3, epsilon="ln(4)").probability([1, 0, -1])
        Fraction(3, 44)
        """
        if len(vector) != self.bins:
            raise HistogramError("vector", list(vector), f"does not have {self.bins} entries")
        if sum(vector):
            return Fraction(0)
        return exact_theta(self.bins, self.epsilon) ** (sum(abs(x) for x in vector) // 2) / self.normaliser()

    @with_precision_for_epsilon
    def error_probability(self, error: int) -> Number:
        """The probability that the L1 error is exactly *error* (an even number): ``N_d theta^d / P_{K-1}(y)``."""
        if error < 0 or error % 2:
            return Fraction(0)
        distance = error // 2
        return sphere_size(self.bins, distance) * exact_theta(self.bins, self.epsilon) ** distance / self.normaliser()

    @with_precision_for_epsilon
    def total_probability(self, total: int) -> Number:
        """The probability of the total T that the two halves of the noise share (how it is drawn, see ``totals``)."""
        ratio = exact_theta(self.bins, self.epsilon)
        weight = comb(self.bins - 1 + total, total) ** 2 * ratio**total
        return weight * (1 - ratio) ** self.bins / self.normaliser()

    @with_precision_for_epsilon
    def expected_error(self) -> Number:
        """The expected L1 error of the noise, ``D*_K``: the least there is for many people."""
        if isinstance(exact_theta(self.bins, self.epsilon), Fraction):
            return exact_error(self.bins, epsilon=self.epsilon)
        return error_ball(self.bins, epsilon=self.epsilon, bits=context.prec)

    @with_precision_for_epsilon
    def variance(self) -> Number:
        """The variance of the noise in one bin, ``2(K-1) E[T(T+K)] / (K^2 (K+1))``.

        >>> histogram_noise(2, epsilon="ln(2)").variance()
        Fraction(4, 1)
        """
        ratio, bins = exact_theta(self.bins, self.epsilon), self.bins
        mean_total = self.expected_error() / 2 + bins * ratio / (1 - ratio)
        # The hypergeometric equation gives E[T(T+K)] = K (K theta + (1+theta) E[T]) / (1-theta): no second sum is needed.
        return 2 * (bins - 1) * (bins * ratio + (1 + ratio) * mean_total) / (bins * (bins + 1) * (1 - ratio))

    @with_precision_for_epsilon
    def covariance(self) -> Number:
        """The covariance of two bins: negative, because the noise adds up to 0."""
        return -self.variance() / (self.bins - 1)

    @with_precision_for_epsilon
    def error_variance(self) -> Number:
        """The variance of the L1 error; Legendre's equation gives ``E[|z|_1^2] = 4 K (K-1) theta / (1-theta)^2``."""
        ratio, mean = exact_theta(self.bins, self.epsilon), self.expected_error()
        return 4 * self.bins * (self.bins - 1) * ratio / (1 - ratio) ** 2 - mean * mean

    def error_quantile(self, level: object = "0.95") -> int:
        """An L1 error that is not exceeded with probability *level* at least, after an L1 projection too."""
        return error_quantile(self.bins, self.epsilon, level)

    def bin_quantile(self, level: object = "0.95") -> int:
        """A number of people by which one noisy bin is off at most, with probability *level* at least."""
        return bin_quantile(self.bins, self.epsilon, level)

    def statement(self, level: object = "0.95") -> str:
        """What can be said about the error before anything is released."""
        worst, single = self.error_quantile(level), self.bin_quantile(level)
        mean = optimal_error(self.bins, epsilon=self.epsilon)
        return (
            f"With probability at least {float(read_confidence(level)):.6g} the noise is at most {worst} in sum "
            f"(at most {worst // 2} people in a wrong bin), and with that probability at most {single} in a single bin. "
            f"Expected sum of errors: {mean:.6g}. Neighbours: {Neighbours.SUBSTITUTION.words}."
        )

    @with_precision_for_epsilon
    def normaliser(self) -> Number:
        """The sum of ``theta^(|z|_1/2)`` over all noise vectors."""
        return normaliser(self.bins, epsilon=self.epsilon)

    def summary(self) -> str:
        return f"HistogramNoise({self.bins} bins, epsilon {self.epsilon}, {Neighbours.SUBSTITUTION.value}, sum 0)"

    def details(self) -> list[tuple[str, str]]:
        return [
            ("expected L1 error", f"{optimal_error(self.bins, epsilon=self.epsilon):.6g}"),
            ("statement", self.statement()),
        ]

    def to_document(self) -> dict[str, Any]:
        return {
            "bins": self.bins,
            "epsilon": str(self.epsilon),
            "neighbours": Neighbours.SUBSTITUTION.value,
            "expected_error": optimal_error(self.bins, epsilon=self.epsilon),
            "certificate": self.recipe.to_document(),
        }


def histogram_noise(bins: int, *, epsilon: object) -> HistogramNoise:
    """The noise with the least expected L1 error for many people, at *epsilon*, for a histogram with a public total.

    >>> noise = histogram_noise(4, epsilon=0.5)
    >>> int(noise.sample().sum()), noise.error_quantile()
    (0, 26)
    """
    return HistogramNoise(read_bins(bins), read_positive_epsilon(epsilon))
