"""Noise for a histogram whose total is private: independent discrete Laplace numbers, ``P(z) ~ theta^(|z|_1)``.

One person more or less changes one count by one, so scale ``1/epsilon`` protects it. Under replaced records that same
noise keeps only ``2 epsilon``: two counts change. The released counts do not add up to anything known, which is the price
of hiding the total.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.noise.quantiles import least_size, read_confidence
from optimaldp.histograms.noise.recipes import NoiseRecipe, follow, laplace_recipe
from optimaldp.histograms.parameters import (
    read_bins,
    read_positive_epsilon,
    theta,
    theta_ball,
    with_precision_for_epsilon,
)
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.trajectory import Number
from optimaldp.results import Result
from optimaldp.sampling import BitSource

_MOST_STEPS = 2_000_000
_SLACK = 1e-9


@dataclass(frozen=True, repr=False)
class LaplaceNoise(Result):
    """Independent discrete Laplace noise in every bin. Make it with :func:`laplace_noise`."""

    bins: int
    epsilon: Epsilon

    @property
    def recipe(self) -> NoiseRecipe:
        return laplace_recipe(self.bins, self.epsilon)

    @property
    def recipe_document(self) -> dict[str, Any]:
        """The recipe as the referee reads it."""
        return self.recipe.to_document()

    def sample(self, source: BitSource | None = None) -> Any:
        """One noise vector, an integer array; exact, certified at epsilon for one person more or less."""
        return follow(self.recipe, source)

    @with_precision_for_epsilon
    def probability(self, vector: list[int] | tuple[int, ...]) -> Number:
        """The probability of one noise vector.

        >>> laplace_noise(2, epsilon="ln(2)").probability([1, 0])
        Fraction(1, 18)
        """
        if len(vector) != self.bins:
            raise HistogramError("vector", list(vector), f"does not have {self.bins} entries")
        ratio = theta(self.epsilon)
        return ((1 - ratio) / (1 + ratio)) ** self.bins * ratio ** sum(abs(x) for x in vector)

    @with_precision_for_epsilon
    def expected_error(self) -> Number:
        """The expected L1 error, ``2 K theta / (1 - theta^2)``."""
        ratio = theta(self.epsilon)
        return 2 * self.bins * ratio / (1 - ratio * ratio)

    @with_precision_for_epsilon
    def variance(self) -> Number:
        """The variance in one bin, ``2 theta / (1 - theta)^2``; different bins are independent."""
        ratio = theta(self.epsilon)
        return 2 * ratio / (1 - ratio) ** 2

    def bin_quantile(self, level: object = "0.95") -> int:
        """A number of people by which one noisy count is off at most, with probability *level* at least."""
        risk = 1 - read_confidence(level)

        def small_enough(size: int) -> Any:
            ratio = theta_ball(self.epsilon)
            return 2 * ratio ** (size + 1) / (1 + ratio) <= ball(risk)

        return least_size(small_enough, bits=256 + 2 * self.epsilon.leading_zeros)

    def error_quantile(self, level: object = "0.95") -> int:
        """An L1 error that is not exceeded with probability *level* at least (Cantelli's bound if millions of values
        matter)."""
        wanted = float(read_confidence(level))
        with precision(128 + 4 * self.epsilon.leading_zeros):
            ratio = theta_ball(self.epsilon)
            mean = float(2 * self.bins * ratio / (1 - ratio * ratio))
            # Var|z| = E z^2 - (E|z|)^2 in each of K independent bins
            spread = math.sqrt(
                float(self.bins * (2 * ratio / (1 - ratio) ** 2 - (2 * ratio / (1 - ratio * ratio)) ** 2))
            )
        if mean + 12 * spread > _MOST_STEPS:
            return math.ceil(mean + spread * math.sqrt(wanted / (1 - wanted)) + 1)
        return self._summed_quantile(wanted, math.ceil(mean + 12 * spread) + 64)

    def _summed_quantile(self, wanted: float, steps: int) -> int:
        """By the coefficients of ``((1+u)/(1-u))^K``: ``(m+1) c_{m+1} = 2K c_m + (m-1) c_{m-1}``, kept as quotients."""
        decay, quotient, logarithms = float(self.epsilon), 2.0 * self.bins, [0.0]
        for m in range(1, steps):
            logarithms.append(logarithms[-1] + math.log(quotient) - decay)
            quotient = (2 * self.bins + (m - 1) / quotient) / (m + 1)
        top = max(logarithms)
        masses = [math.exp(value - top) for value in logarithms]
        target, reached = sum(masses) * min(1 - 1e-12, wanted + _SLACK), 0.0
        for size, mass in enumerate(masses):
            reached += mass
            if reached >= target:
                return size
        return steps

    def statement(self, level: object = "0.95") -> str:
        """What can be said about the error before anything is released."""
        worst, single = self.error_quantile(level), self.bin_quantile(level)
        return (
            f"With probability at least {float(read_confidence(level)):.6g} the noise is at most {worst} in sum, "
            f"and with that probability at most {single} in a single bin. "
            f"Neighbours: {Neighbours.ADD_REMOVE.words}."
        )

    def summary(self) -> str:
        return f"LaplaceNoise({self.bins} bins, epsilon {self.epsilon}, {Neighbours.ADD_REMOVE.value})"

    def to_document(self) -> dict[str, Any]:
        return {
            "bins": self.bins,
            "epsilon": str(self.epsilon),
            "neighbours": Neighbours.ADD_REMOVE.value,
            "certificate": self.recipe.to_document(),
        }


def laplace_noise(bins: int, *, epsilon: object) -> LaplaceNoise:
    """Independent discrete Laplace noise at *epsilon*, for one person more or less.

    >>> laplace_noise(3, epsilon="ln(2)").expected_error()
    Fraction(4, 1)
    """
    return LaplaceNoise(read_bins(bins, public_total=False), read_positive_epsilon(epsilon))
