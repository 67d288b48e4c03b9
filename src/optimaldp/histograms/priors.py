"""What is believed about a histogram before it is released: public knowledge, never taken from the data.

Every prior here has product form, ``P(h) ~ prod_k w_k(h_k)`` on the histograms with the public total: that is what makes
the Bayes remap exact and quick. The multinomial prior of paper 002 is one of them; it is not "the most generic" one
(erratum E5), and the finite linear program takes any.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.extras import requiring
from optimaldp.privacy.numbers import read_number

_WAY_OUT = "write 'flat', 'uniform', or one positive probability for each bin"
_ROUNDING = Fraction(1, 10**9)  # how far typed decimals such as 0.3333333333 may miss a sum of 1


class CountPrior(ABC):
    """A prior of product form on the histograms of a public total."""

    @property
    @abstractmethod
    def bins(self) -> int: ...

    @abstractmethod
    def log_weights(self, position: int, persons: int) -> Any:
        """``ln w_k(0..n)`` as an array, for the bin at *position*."""

    @abstractmethod
    def probability(self, histogram: Sequence[int]) -> Fraction:
        """The exact probability of one histogram."""

    @abstractmethod
    def draw(self, persons: int, generator: object) -> Any:
        """One histogram from the prior, for simulations only: never part of a release."""

    @property
    @abstractmethod
    def means(self) -> tuple[Fraction, ...]:
        """The expected share of each bin."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[Fraction, ...]:
        """One number for each bin: bins with equal numbers are exchangeable."""

    @abstractmethod
    def beside_all_others(self, own: Fraction) -> CountPrior:
        """The prior of two bins: one with this parameter, and all others together."""


@dataclass(frozen=True)
class MultinomialPrior(CountPrior):
    """Independent records with known probabilities of the bins (002 (2))."""

    probabilities: tuple[Fraction, ...]

    @property
    def bins(self) -> int:
        return len(self.probabilities)

    @property
    def means(self) -> tuple[Fraction, ...]:
        return self.probabilities

    @property
    def parameters(self) -> tuple[Fraction, ...]:
        return self.probabilities

    def beside_all_others(self, own: Fraction) -> CountPrior:
        return MultinomialPrior((own, 1 - own))

    def log_weights(self, position: int, persons: int) -> Any:
        import numpy as np

        return np.arange(persons + 1) * math.log(self.probabilities[position]) - _log_factorials(persons)

    def probability(self, histogram: Sequence[int]) -> Fraction:
        ways, chance = math.factorial(sum(histogram)), Fraction(1)
        for count, p in zip(histogram, self.probabilities):
            ways, chance = ways // math.factorial(count), chance * p**count
        return ways * chance

    def draw(self, persons: int, generator: Any) -> Any:
        return generator.multinomial(persons, [float(p) for p in self.probabilities])

    def __str__(self) -> str:
        return f"multinomial({self.bins} bins)"


@dataclass(frozen=True)
class DirichletPrior(CountPrior):
    """Independent records with unknown probabilities of the bins, themselves Dirichlet: all ones make every histogram
    equally likely."""

    concentrations: tuple[Fraction, ...]

    @property
    def bins(self) -> int:
        return len(self.concentrations)

    @property
    def means(self) -> tuple[Fraction, ...]:
        total = sum(self.concentrations, Fraction(0))
        return tuple(a / total for a in self.concentrations)

    @property
    def parameters(self) -> tuple[Fraction, ...]:
        return self.concentrations

    def beside_all_others(self, own: Fraction) -> CountPrior:
        return DirichletPrior((own, sum(self.concentrations, -own)))

    def log_weights(self, position: int, persons: int) -> Any:
        import numpy as np

        with requiring("scipy"):
            from scipy.special import gammaln

        sizes, concentration = np.arange(persons + 1), float(self.concentrations[position])
        if concentration == 1:
            return np.zeros(persons + 1)
        return gammaln(sizes + concentration) - _log_factorials(persons) - math.lgamma(concentration)

    def probability(self, histogram: Sequence[int]) -> Fraction:
        persons = sum(histogram)
        chance = math.factorial(persons) / _rising(Fraction(sum(self.concentrations)), persons)
        for count, a in zip(histogram, self.concentrations):
            chance *= _rising(a, count) / math.factorial(count)
        return chance

    def draw(self, persons: int, generator: Any) -> Any:
        shares = generator.gamma([float(a) for a in self.concentrations])
        return generator.multinomial(persons, shares / shares.sum())

    def __str__(self) -> str:
        flat = all(a == 1 for a in self.concentrations)
        return f"flat({self.bins} bins)" if flat else f"dirichlet({self.bins} bins)"


@lru_cache(maxsize=2)
def _log_factorials(persons: int) -> Any:
    import numpy as np

    with requiring("scipy"):
        from scipy.special import gammaln

    return gammaln(np.arange(1, persons + 2))


def _rising(start: Fraction, steps: int) -> Fraction:
    product = Fraction(1)
    for step in range(steps):
        product *= start + step
    return product


def multinomial(probabilities: Sequence[Any]) -> MultinomialPrior:
    """Independent records with the given probabilities of the bins; each positive, together 1.

    >>> multinomial(["1/3", "2/3"]).probability((1, 1))
    Fraction(4, 9)
    """
    numbers = _positive(probabilities)
    if abs(sum(numbers, Fraction(0)) - 1) > _ROUNDING:
        total = float(sum(numbers))
        raise HistogramError(
            "prior", list(probabilities), f"adds up to {total:.9g}, not to 1", "probabilities add up to 1"
        )
    exact = sum(numbers, Fraction(0))
    return MultinomialPrior(tuple(number / exact for number in numbers))


def dirichlet(concentrations: Sequence[Any]) -> DirichletPrior:
    """Unknown probabilities with a Dirichlet law: one positive concentration for each bin.

    >>> dirichlet([1, 1, 1]).probability((2, 0, 0))
    Fraction(1, 6)
    """
    return DirichletPrior(_positive(concentrations))


def _positive(values: Sequence[Any]) -> tuple[Fraction, ...]:
    numbers = tuple(read_number(value, name="prior", error=HistogramError) for value in values)
    if len(numbers) < 2:
        raise HistogramError("prior", list(values), "has fewer than two bins", _WAY_OUT)
    if any(number <= 0 for number in numbers):
        raise HistogramError(
            "prior",
            list(values),
            "holds a zero or negative entry",
            "leave out bins that cannot occur, or give them a little",
        )
    return numbers


def read_prior(value: Any, bins: int) -> CountPrior | None:
    """Read a prior: ``None``, ``"flat"`` (every histogram), ``"uniform"`` (every record), probabilities, or a prior
    object."""
    if value is None:
        return None
    if value == "flat":
        return DirichletPrior((Fraction(1),) * bins)
    if value == "uniform":
        return MultinomialPrior((Fraction(1, bins),) * bins)
    if isinstance(value, str) or not (isinstance(value, CountPrior) or hasattr(value, "__len__")):
        raise HistogramError("prior", value, "is not a prior", _WAY_OUT)
    prior = value if isinstance(value, CountPrior) else multinomial(list(value))
    if prior.bins != bins:
        raise HistogramError(
            "prior", f"{prior.bins} bins", f"does not match the {bins} bins of the histogram", _WAY_OUT
        )
    return prior
