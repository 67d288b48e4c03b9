"""The error of a query: the law of the noise in a sum of some of the cells, known before anything is spent.

Lattice noise is K independent two-sided geometric numbers with ratio ``sqrt(theta)``, given that they add up to 0. So the sum
S over m of the K cells has ``P(s) ~ f_m(s) f_{K-m}(s)``, with f_m the law of a sum of m such numbers, and variance
``sigma^2 m (K-m) / (K-1)``. Under add-remove the cells are independent with ratio theta, and the law is f_m itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.noise.laplace import LaplaceNoise
from optimaldp.histograms.noise.lattice_noise import HistogramNoise
from optimaldp.histograms.noise.quantiles import read_confidence
from optimaldp.histograms.parameters import read_positive_epsilon
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import first_where, is_whole
from optimaldp.results import Result

_MOST_POINTS = 1 << 21  # points on which a law is computed; beyond, Chebyshev's inequality serves for quantiles
_SLACK = 1e-9  # what rounding may have added to a sum of floats
_REACH_DEVIATIONS = 12  # standard deviations


@dataclass(frozen=True, repr=False)
class QueryError(Result):
    """How far off a sum of *chosen* of the *cells* noisy cells is: unbiased, with this standard deviation and law."""

    cells: int
    chosen: int
    epsilon: Epsilon
    neighbours: Neighbours

    @cached_property
    def standard_deviation(self) -> float:
        if self._exact:
            return 0.0
        if self.neighbours is Neighbours.ADD_REMOVE:
            return math.sqrt(self.chosen * float(LaplaceNoise(self.cells, self.epsilon).variance()))
        single = float(HistogramNoise(self.cells, self.epsilon).variance())
        return math.sqrt(single * self.chosen * (self.cells - self.chosen) / (self.cells - 1))

    @property
    def _exact(self) -> bool:
        """Nothing is summed, or everything under a public total: then there is no noise."""
        everything = self.neighbours is Neighbours.SUBSTITUTION and self.chosen == self.cells
        return self.chosen == 0 or everything

    @cached_property
    def mean(self) -> float:
        """The expected size of the error."""
        if self._exact:
            return 0.0
        law = self._law
        if law is None:
            return self.standard_deviation * math.sqrt(2 / math.pi)
        import numpy as np

        return float(2 * (law * np.arange(len(law))).sum())

    def quantile(self, level: object = "0.95") -> int:
        """A number that the error exceeds with probability at most ``1 - level``."""
        risk = 1 - float(read_confidence(level))
        if self._exact:
            return 0
        law = self._law
        if law is None:
            return math.ceil(self.standard_deviation / math.sqrt(risk))
        import numpy as np

        beyond = 2 * (law[::-1].cumsum()[::-1])[1:]  # P(|S| > s) for s = 0, 1, ...
        return int(np.flatnonzero(np.append(beyond, 0.0) <= max(risk - _SLACK, risk / 2))[0])

    @property
    def _law(self) -> Any:
        """``P(S = s)`` for s = 0, 1, ...; the law is symmetric."""
        return _sum_law(self.cells, self.chosen, self.epsilon, self.neighbours)

    def summary(self) -> str:
        shape = f"{self.chosen} of {self.cells} cells, epsilon {self.epsilon}"
        return f"QueryError({shape}: ±{self.quantile()} with probability 0.95, {self.mean:.6g} on average)"

    def to_document(self) -> dict[str, Any]:
        return {
            "cells": self.cells,
            "chosen": self.chosen,
            "epsilon": str(self.epsilon),
            "neighbours": self.neighbours.value,
            "mean_error": self.mean,
            "standard_deviation": self.standard_deviation,
            "quantile_95": self.quantile(),
        }


@lru_cache(maxsize=128)
def _sum_law(cells: int, chosen: int, epsilon: Epsilon, neighbours: Neighbours) -> Any:
    import numpy as np

    shared = neighbours is Neighbours.SUBSTITUTION
    decay = float(epsilon) / (2 if shared else 1)
    spread = math.sqrt(chosen) / math.sinh(min(decay / 2, 300.0))  # of the larger part, before any condition
    length = 1 << math.ceil(math.log2(4 * (_REACH_DEVIATIONS * spread + 45 / decay) + 64))
    if length > _MOST_POINTS:
        return None
    law = _plain_law(chosen, decay, length)
    if shared:
        law = law * _plain_law(cells - chosen, decay, length)
        law = law / (law[0] + 2 * law[1:].sum())
    return np.asarray(law)


def _plain_law(number: int, decay: float, length: int) -> Any:
    """``P(s)``, s >= 0, of a sum of independent two-sided geometric numbers, from its characteristic function.

    ``phi(w) = ((1-q)^2 / ((1-q)^2 + 2q(1 - cos w)))^number``; the points are so many that what wraps round is negligible.
    """
    import numpy as np

    ratio = math.exp(-decay)
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    # 2 (1 - cos w) = 4 sin^2(w/2), without cancellation near 0.
    logarithm = -np.log1p(4 * ratio * np.sin(angles / 2) ** 2 / (-math.expm1(-decay)) ** 2)
    law = np.fft.irfft(np.exp(number * logarithm), length)[: length // 2]
    return np.maximum(law, 0.0)


def query_error(
    cells: int, chosen: int, *, epsilon: object, neighbours: str | Neighbours = "substitution"
) -> QueryError:
    """The error of a sum over *chosen* of *cells* noisy cells, before anything is spent.

    >>> query_error(98, 14, epsilon=1)
    QueryError(14 of 98 cells, epsilon 1: ±19 with probability 0.95, 7.61543 on average)
    """
    for name, value, least in (("cells", cells, 2), ("chosen", chosen, 0)):
        if not is_whole(value, least):
            raise HistogramError(name, value, "is not a number of cells", f"write an integer from {least} on")
    if chosen > cells:
        raise HistogramError("chosen", chosen, f"is more than the {cells} cells of the table")
    return QueryError(cells, chosen, read_positive_epsilon(epsilon), Neighbours(neighbours))


def epsilon_for_query(
    cells: int, chosen: int, *, error: Any, level: Any = "0.95", neighbours: str | Neighbours = "substitution"
) -> Epsilon:
    """Which epsilon makes a sum over *chosen* of *cells* cells at most *error* off, with probability *level*.

    To three digits, rounded up.

    >>> epsilon_for_query(98, 14, error=20)
    Epsilon(0.927)
    """
    wanted = float(error)
    if not wanted > 0:
        raise HistogramError("error", error, "cannot be reached by a finite epsilon", "name a positive error")
    relation = Neighbours(neighbours)

    def holds(thousandths: int) -> bool:
        return query_error(cells, chosen, epsilon=thousandths / 1000, neighbours=relation).quantile(level) <= wanted

    return read_positive_epsilon(first_where(holds, 1) / 1000)
