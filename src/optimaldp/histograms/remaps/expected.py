"""How good each remap is: its expected L1 error under a prior, computed where the histograms are few and simulated where
they are many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Required, TypedDict, Unpack

from optimaldp.errors import HistogramError
from optimaldp.histograms.error import optimal_error
from optimaldp.histograms.finite.optimum import finite_optimum
from optimaldp.histograms.finite.two_bins import two_bin_optimum
from optimaldp.histograms.lattice import histogram_count, histograms
from optimaldp.histograms.noise import HistogramNoise
from optimaldp.histograms.parameters import read_bins, read_positive_epsilon
from optimaldp.histograms.priors import CountPrior, read_prior
from optimaldp.histograms.remaps.ball import ball_map
from optimaldp.histograms.remaps.naming import apply_remap, read_remap
from optimaldp.histograms.remaps.projection import project
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.progress import track
from optimaldp.results import Result
from optimaldp.sampling import BitSource, SystemBits

_MOST_CELLS = 4_000_000  # noisy tables times histograms, for an error that is computed
_MOST_OPTIMUM = 2_500  # pairs of histograms for which the linear program is solved without being asked twice
_MISSED_PROBABILITY = Fraction(1, 10**9)  # probability of the noise that a computed error leaves out
_Z99 = 2.5758293035489004
_COMPARED = ("projection", "bayes", "ball", "none")
_MANY_CELLS = 20_000  # simulated cells after which more draws add nothing: the error of one draw averages over its bins
_FEWEST_DRAWS = 12


@dataclass(frozen=True, repr=False)
class RemapError(Result):
    """The expected L1 error of one remap: a value and an interval (a point where it was computed)."""

    remap: str
    value: float
    low: float
    high: float
    draws: int | None
    """How many draws were simulated; ``None`` if the error was computed."""

    def summary(self) -> str:
        how = (
            "computed" if self.draws is None else f"99 % interval {self.low:.6g} to {self.high:.6g}, {self.draws} draws"
        )
        return f"RemapError({self.remap}: {self.value:.6g}, {how})"

    def to_document(self) -> dict[str, Any]:
        return {"remap": self.remap, "value": self.value, "low": self.low, "high": self.high, "draws": self.draws}


@dataclass(frozen=True, repr=False)
class RemapComparison(Result):
    """The expected errors of all remaps, beside the least error at this number of people and for many people."""

    bins: int
    persons: int
    epsilon: Epsilon
    errors: tuple[RemapError, ...]
    least: float | None
    """The least expected error of any mechanism at this number of people, where it is known."""

    @property
    def least_for_many_persons(self) -> float:
        return optimal_error(self.bins, epsilon=self.epsilon)

    def gap(self, remap: str) -> float | None:
        """How far a remap is above the least error, as a share of it: 0.04 is four per cent; ``None`` where that is not
        known."""
        error = next((e for e in self.errors if e.remap == remap), None)
        if error is None:
            raise HistogramError("remap", remap, "was not compared")
        return None if self.least is None else error.value / self.least - 1

    def summary(self) -> str:
        best = min(self.errors, key=lambda error: error.value)
        shape = f"{self.bins} bins, {self.persons} people, epsilon {self.epsilon}"
        return f"RemapComparison({shape}, best {best.remap}: {best.value:.6g})"

    def details(self) -> list[tuple[str, str]]:
        least = "unknown" if self.least is None else f"{self.least:.6g}"
        return [
            *((e.remap, f"{e.value:.6g}") for e in self.errors),
            ("least at this number of persons", least),
            ("least for many people", f"{self.least_for_many_persons:.6g}"),
        ]

    def to_document(self) -> dict[str, Any]:
        return {
            "bins": self.bins,
            "persons": self.persons,
            "epsilon": str(self.epsilon),
            "errors": [error.to_document() for error in self.errors],
            "least": self.least,
            "least_for_many_persons": self.least_for_many_persons,
        }

    def plot(self) -> Any:
        """Bars of the errors and a line at the least."""
        from optimaldp.plots.histograms import draw_remap_errors

        title = f"Expected L1 error, {self.bins} bins, {self.persons} people, epsilon {self.epsilon}"
        return draw_remap_errors({e.remap: e.value for e in self.errors}, least=self.least, title=title)


class ErrorOptions(TypedDict, total=False):
    """The options of :func:`remap_error`, for readers of types."""

    epsilon: Required[object]
    prior: object
    draws: int
    source: BitSource | None


def compare_remaps(bins: int, persons: int, **options: Unpack[ErrorOptions]) -> RemapComparison:
    """The expected L1 error of every remap under a prior, and its gap to the least possible one where that is known.

    The options are those of :func:`remap_error`: *epsilon*, *prior*, *draws*, *source*.

    >>> comparison = compare_remaps(2, 6, epsilon="ln(2)")
    >>> abs(comparison.gap("bayes")) < 1e-6, comparison.gap("projection") > 0
    (True, True)
    """
    errors = tuple(remap_error(name, bins, persons, **options) for name in _COMPARED)
    least = _least(bins, persons, options["epsilon"], options.get("prior", "uniform"))
    return RemapComparison(bins, persons, read_positive_epsilon(options["epsilon"]), errors, least)


def _least(bins: int, persons: int, epsilon: object, prior: object) -> float | None:
    if bins == 2:
        return float(two_bin_optimum(persons, epsilon=epsilon, prior=prior))
    if histogram_count(bins, persons) ** 2 > _MOST_OPTIMUM:
        return None
    return float(finite_optimum(bins, persons, epsilon=epsilon, prior=prior))


def remap_error(
    remap: str,
    bins: int,
    persons: int,
    *,
    epsilon: object,
    prior: object = "uniform",
    draws: int = 1000,
    source: BitSource | None = None,
) -> RemapError:
    """The expected L1 error of one remap under a prior: computed if that is quick, else simulated with *draws* releases."""
    level, size, belief = read_positive_epsilon(epsilon), read_bins(bins), read_prior(prior, bins)
    if belief is None:
        raise HistogramError("prior", prior, "is missing", "the expected error depends on it; try 'uniform'")
    name = read_remap(remap, belief)
    if isinstance(persons, bool) or not isinstance(persons, int) or persons < 1:
        raise HistogramError("persons", persons, "is not a number of persons", "write an integer from 1 on")
    noise = HistogramNoise(size, level)
    if name == "none":
        value = optimal_error(size, epsilon=level)
        return RemapError(name, value, value, value, None)
    reach = noise.error_quantile(1 - _MISSED_PROBABILITY) // 2
    if histogram_count(size, persons + size * reach) * histogram_count(size, persons) <= _MOST_CELLS:
        value = _computed(name, noise, persons, belief, reach)
        return RemapError(name, value, value, value, None)
    enough = max(_FEWEST_DRAWS, _MANY_CELLS // size)
    return _simulated(name, noise, persons, belief, min(draws, enough), source)


def _computed(name: str, noise: HistogramNoise, persons: int, prior: CountPrior, reach: int) -> float:
    """Over every histogram and every noisy table whose negative part the noise reaches with probability 1 - 10^-9."""
    import numpy as np

    truths = np.array(list(histograms(noise.bins, persons)))
    weights = np.array([float(prior.probability(h)) for h in truths.tolist()])
    tables = np.array(list(histograms(noise.bins, persons + noise.bins * reach))) - reach
    distances = np.abs(tables[:, None, :] - truths[None]).sum(2)
    joint = weights * np.exp(-float(noise.epsilon) * distances / 2)
    joint /= float(noise.normaliser())
    if name == "bayes":
        # The best histogram for each table, by trying all of them: what the remap finds by convolution.
        costs = np.abs(truths[:, None, :] - truths[None]).sum(2)
        return float((joint @ costs).min(axis=1).sum())
    remap = project if name == "projection" else (lambda table: ball_map(table, prior=prior))
    mapped = np.array([remap(table) for table in tables])
    return float((joint * np.abs(mapped[:, None, :] - truths[None]).sum(2)).sum())


def _simulated(
    name: str, noise: HistogramNoise, persons: int, prior: CountPrior, draws: int, source: BitSource | None
) -> RemapError:
    import numpy as np

    bits = SystemBits() if source is None else source
    # The truths of a simulation are nobody's data: a generator seeded with system bits is enough for them.
    generator = np.random.default_rng(bits.take(128))
    errors = []
    for _ in track(range(draws), f"simulating the {name} remap"):
        truth = prior.draw(persons, generator)
        mapped = apply_remap(name, truth + noise.sample(bits), epsilon=noise.epsilon, prior=prior).counts
        errors.append(int(np.abs(mapped - truth).sum()))
    mean, reach = float(np.mean(errors)), _Z99 * float(np.std(errors)) / math.sqrt(draws)
    return RemapError(name, mean, mean - reach, mean + reach, draws)
