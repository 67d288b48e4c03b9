"""What a remapped table is off, estimated without bias from the noisy table alone, and how well that is known.

The error of a cell with true count t under a map c is on average ``e(t) = E|c(t + noise) - t|``. For two-sided geometric noise
there is a function of the noisy value whose mean is e(t) whatever t is,

    g(y) = e(y) + ratio/(1 - ratio)^2 * (2 e(y) - e(y+1) - e(y-1)),

since the generating function of the noise is ``(1 - ratio)^2 / (1 - ratio s)(1 - ratio/s)``. So the sum of g over all cells has
no bias, and its spread says what cannot be known: where the number of people is private, a noisy table tells how many of them are
hidden in cells released as 0 only up to about the square root of the number of cells. (A most likely value without a spread was
.05 to 7 times the truth on tables of 10^5 cells with few hidden people; the interval held for 95 % of 336 tables.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack

from optimaldp.errors import HistogramError
from optimaldp.extras import numpy_if_installed
from optimaldp.histograms.error import optimal_error
from optimaldp.histograms.finite.optimum import finite_optimum
from optimaldp.histograms.finite.two_bins import two_bin_optimum
from optimaldp.histograms.independent import IndependentPrior, posterior_medians
from optimaldp.histograms.lattice import histogram_count, histograms
from optimaldp.histograms.noise import HistogramNoise
from optimaldp.histograms.parameters import read_bins, read_positive_epsilon
from optimaldp.histograms.priors import CountPrior, read_prior
from optimaldp.histograms.remaps.bayes import bayes_remap
from optimaldp.histograms.remaps.cell_law import CellLaw, Learned, NoisyValues, learn_cell_law
from optimaldp.histograms.remaps.projection import (
    ball_map,
    mapped_values,
    project,
    threshold,
    top_fill,
)
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import is_whole
from optimaldp.progress import track
from optimaldp.results import Result
from optimaldp.sampling import BitSource, SystemBits

if TYPE_CHECKING:
    from optimaldp.histograms.parameters import Array

_NOISE_REACH_NATS = 36.0  # noise beyond e^-36 does not occur
_MOST_PAIRS = 20_000_000  # pairs of a true count and a noise that are looked at
_COUNTS_AT_A_TIME = 512  # true counts at a time
_MOST_OUTSIDE_SHARE = 0.01  # of the cells: where more have larger counts than are looked at, nothing is said
_MAP_DEVIATIONS = 2.2  # 95 % of tables, with a little for what the map has learned from the very same table


@dataclass(frozen=True)
class Risk:
    """The sum of errors to expect, and the standard deviation of its difference from the real one."""

    mean: float
    spread: float

    @property
    def interval(self) -> tuple[float, float]:
        """Where the real sum of errors lies for about 19 tables in 20."""
        return max(0.0, self.mean - _MAP_DEVIATIONS * self.spread), max(0.0, self.mean + _MAP_DEVIATIONS * self.spread)


@dataclass(frozen=True, eq=False)
class _Window:
    """The map as a function of the noisy value, on a window of values; beyond it the difference stays the same."""

    low: int
    map: Any
    noise: Any
    chances: Any

    @property
    def high(self) -> int:
        return self.low + len(self.map) - 1

    def mapped(self, values: Array) -> Any:
        import numpy as np

        inside = np.clip(values, self.low, self.high)
        return self.map[inside - self.low] + np.maximum(values - self.high, 0)

    def averages(self, counts: Array, of: Callable[[Array, Array], Any]) -> Any:
        """For each true count the mean of ``of(noisy values, true counts)``, a few rows at a time."""
        import numpy as np

        parts = [counts[start : start + _COUNTS_AT_A_TIME, None] for start in range(0, len(counts), _COUNTS_AT_A_TIME)]
        return np.concatenate([of(part + self.noise, part) @ self.chances for part in parts])


def estimated_risk(values: Array, cells: Array, released: Array, *, ratio: float) -> Risk | None:
    """The risk of releasing *released* (on average) for each of the distinct noisy *values*, which so many *cells* show.

    ``None`` where the counts reach further than can be looked at.
    """
    import numpy as np

    window = _window(values, released, ratio)
    last = window.high - len(window.noise) // 2
    if last < 2 or cells[values > last].sum() > _MOST_OUTSIDE_SHARE * cells.sum():
        return None
    off = window.averages(np.arange(last + 1), lambda seen, true: np.abs(window.mapped(seen) - true))
    unbiased = _without_noise(off, ratio)

    def guess(seen: Array) -> Any:
        return unbiased[np.clip(seen, -1, last) + 1]

    mean = float(guess(values) @ cells)
    # The spread at the released counts, which are the best guess of the true ones.
    likely, places = np.unique(np.clip(np.round(released).astype(np.int64), 0, last), return_inverse=True)

    def difference(seen: Array, true: Array) -> Any:
        return guess(seen) - np.abs(window.mapped(seen) - true)

    centre = window.averages(likely, difference)
    square = window.averages(likely, lambda seen, true: difference(seen, true) ** 2) - centre**2
    weights = np.bincount(places.reshape(-1), weights=cells, minlength=len(likely))
    variance = float(square @ weights)
    return Risk(mean, math.sqrt(max(variance, 0.0)))


def _window(values: Array, released: Array, ratio: float) -> _Window:
    import numpy as np

    reach = math.ceil(min(_NOISE_REACH_NATS / -math.log(ratio), 4000))
    noise = np.arange(-reach, reach + 1)
    chances = ratio ** np.abs(noise)
    low = min(int(values[0]), 0) - reach
    high = min(int(values[-1]), _MOST_PAIRS // len(noise)) + reach
    noisy_values = np.arange(low, high + 1)
    # Between the values that occur the map is a straight line; above them it keeps its distance.
    shown = np.interp(noisy_values, values, released) + np.maximum(noisy_values - int(values[-1]), 0)
    return _Window(low, shown, noise, chances / chances.sum())


def _without_noise(off: Array, ratio: float) -> Any:
    """``g`` of the values -1 (and all below), 0, 1, ...: no true count is negative, so e may stay what it is at 0 below it."""
    import numpy as np

    longer = np.concatenate((off[:1], off[:1], off, off[-1:]))
    middle = longer[1:-1]
    return middle + ratio / (1 - ratio) ** 2 * (2 * middle - longer[2:] - longer[:-2])


# Which remap, by itself: chosen from public numbers and the noisy table alone, both of which are free to look at.


_GUARANTEED = "what the noisy table teaches is not worth leaving the projection's guarantee"
_LEARNED = "of the remaps offered the least error is expected, given the noisy table"
# Of remaps that are as good as this the first is taken: the projection, which never makes an error larger, then what keeps the
# total.
_WORTH = 0.985
_WIDEST_NOISE = 1 << 24  # of a count below 0, in people: the law of a cell is an array as long as the noise is wide
_DEVIATIONS = 2.3  # 95 % of tables, with a little for what the laws have learned from the very same table
_LEAST_VARIANCE = 1e-9
_MANY_CELLS = 30  # from which on an estimate without any law has something to say about how well an error is known

Published = Callable[["Judge", Any], float]


@dataclass(frozen=True, eq=False)
class Remapped:
    """A table mapped back, with the name of the remap, why it was chosen, and what it is expected to be off."""

    counts: Any
    remap: str
    reason: str
    expected_error: float | None
    """Estimated from the noisy table; ``None`` where nothing can be learned from it."""
    error_interval: tuple[float, float] | None = None
    """Where the real sum of errors lies for about 19 tables in 20; ``None`` where that cannot be told."""
    judge: Judge | None = None
    """Who says so, and may be asked about other tables that are made of the same noisy one."""


@dataclass(frozen=True, eq=False)
class Judge:
    """What a remapped table is expected to be off, learned from the noisy table: which is private already, so it is free."""

    learned: Learned
    known: NoisyValues
    places: Any
    total: int | None
    """The public number of people, if it is."""

    def medians(self, *, keep_total: bool = False) -> Any:
        """The posterior median of every cell; a public total is never exceeded, and with *keep_total* it is reached."""
        return mapped_values(self.learned.law, self.known, total=self.total, keep_total=keep_total)(self.places)

    def error(self, counts: Array) -> float:
        """The expected sum of errors."""
        values, released, cells = self._pairs(counts)
        return float(self.learned.law.mean_distances(values, released) @ cells)

    def _pairs(self, counts: Array) -> tuple[Any, Any, Any]:
        """A cell is known by its noisy value and its released count: few different pairs, whatever the number of cells."""
        import numpy as np

        width = int(counts.max(initial=0)) + 1
        pairs, cells = np.unique(self.places * width + counts, return_counts=True)
        position, released = np.divmod(pairs, width)
        return self.known.values[position], released, cells

    def judged(self, counts: Array, remap: str, reason: str) -> Remapped:
        """The counts with what they are expected to be off, and where the real error lies for about 19 tables in 20."""
        error, interval = self.stated(counts)
        return Remapped(counts, remap, reason, error, interval, self)

    def stated(self, counts: Array) -> tuple[float, tuple[float, float]]:
        """The expected sum of errors of a table, and an interval for the real one.

        Three things are not known: where in its posterior each count lies, which of the laws is right, and, on a table of many
        cells, how many people hide in cells that all look empty (see :mod:`~optimaldp.histograms.remaps.choosing`). There the
        estimate without a law takes part, as much as the laws differ: laws with few hidden people are believed too readily
        (10^6 cells, a third of 10,000 people hidden: all laws together were too low in each of 14 draws).
        """
        values, released, cells = self._pairs(counts)
        law = self.learned.law
        error = float(law.mean_distances(values, released) @ cells)
        variance = _posterior_variance(law, values, released, cells)
        if self.total is not None:
            variance *= self.known.size / (self.known.size - 1)  # errors that add up to 0 are large together
        opinions = [
            (share, float(one.mean_distances(values, released) @ cells)) for share, one in self.learned.opinions
        ]
        whole = math.fsum(share for share, _ in opinions)
        middle = math.fsum(share * off for share, off in opinions) / whole
        differing = math.fsum(share * (off - middle) ** 2 for share, off in opinions) / whole
        reach = _DEVIATIONS * math.sqrt(variance + differing) + 1
        low, high = error - reach, error + reach
        risk = self._without_a_law(counts)
        if risk is not None:
            low, high = min(low, risk.interval[0]), max(high, risk.interval[1])
            error += (max(0.0, risk.mean) - error) * differing / max(differing + risk.spread**2, _LEAST_VARIANCE)
        most = math.inf if self.total is None else 2.0 * self.total
        return min(error, most), (max(0.0, low), min(high, most))

    def _without_a_law(self, counts: Array) -> Risk | None:
        import numpy as np

        if self.known.size < _MANY_CELLS or self.total is not None:
            return None
        values = self.known.values
        released = np.bincount(self.places, weights=counts, minlength=len(values)) / self.known.cells
        return estimated_risk(values, self.known.cells, released, ratio=self.learned.law.ratio)


def _posterior_variance(law: CellLaw, values: Array, released: Array, cells: Array) -> float:
    off = law.mean_distances(values, released)
    square = law.variances(values) + (law.means(values) - released) ** 2
    return max(0.0, float((square - off**2) @ cells))


def learned_judge(table: Array, *, ratio: float, total: int | None) -> Judge | None:
    """A judge of remaps of this noisy table; ``None`` where its noise is too wide to learn from, or it is a single count."""
    import numpy as np

    if table.dtype == object or table.size < 2 or (-int(table.min()) > _WIDEST_NOISE):
        return None
    values, places, cells = np.unique(table, return_inverse=True, return_counts=True)
    known = NoisyValues(values, cells)
    people = total if total is not None else int(max(1, table.sum()))
    return Judge(learn_cell_law(known, ratio, people=people, total=total), known, places.reshape(-1), total)


def choose_remap(
    noisy: object,
    *,
    ratio: float,
    total: int | None,
    keep_total: bool | None = None,
    published: Published | None = None,
) -> Remapped:
    """Map a noisy table back by the remap whose estimated error is least.

    *total* is the public number of people, or ``None`` where it is private. *keep_total*: the released counts must add up
    to it; ``None`` keeps it where that costs little; ``False`` says that others place whoever is left out. *published* says
    what the table is off that is published in place of the counts (the rows of a sanitised table): then the choice is by that.
    """
    import numpy as np

    table = np.asarray(noisy)
    plain = plain_remap(table, total)
    judge = learned_judge(table, ratio=ratio, total=total)
    if judge is None:
        return Remapped(plain, "projection", "a single count, or noise that is too wide, teaches nothing", None)
    offered = [("projection", plain), *_candidates(table, judge, ratio, keep_total)]
    errors = [judge.error(counts) for _, counts in offered]
    shown = errors if published is None else [published(judge, counts) for _, counts in offered]
    # Of those whose published table is as good as the best, the one whose counts are.
    close = [place for place, error in enumerate(shown) if error * _WORTH <= min(shown)]
    least = min(errors[place] for place in close)
    best = next(place for place in close if errors[place] * _WORTH <= least)
    name, counts = offered[best]
    return judge.judged(counts, name, _LEARNED if best else _GUARANTEED)


def plain_remap(table: Array, total: int | None) -> Any:
    """The projection. Under a private total the nearest table is the one with the negative counts raised to 0."""
    import numpy as np

    return project(table) if total is not None else np.maximum(table, 0)


def _candidates(table: Array, judge: Judge, ratio: float, keep_total: bool | None) -> list[tuple[str, Any]]:
    """Every other remap of the table, those first that keep the public total."""
    total = judge.total
    made = []
    if total is not None:
        # Where few cells hold almost everybody: the largest counts whole, which is a projection, too.
        made.append(("top-fill", top_fill(table)))
    if total is not None and keep_total is not False:
        made.append(("empirical-bayes, total kept", judge.medians(keep_total=True)))
    if total is None or not keep_total:
        made.append(("empirical-bayes", judge.medians()))
        made.append(("threshold", threshold(table, ratio=ratio, total=total)))
    return made


# Remaps by name.
#
# *automatic*: the one with the least error expected, by public numbers and the noisy table alone. *projection*: the
# nearest histogram in L1; it never increases the error, whatever the true histogram is (erratum E10). *top-fill*: another
# projection, which keeps the largest counts whole. *empirical-bayes*: the posterior median of each cell under the law of cells
# that is learned from the noisy table. *threshold*: counts that noise alone reaches become 0. *bayes*: the histogram with the
# least expected error given a public prior. *ball*: the paper's map V, kept for the record; it loses badly for few people and
# leaves the histograms unless rounded (errata E8, E9). *none*: the noisy table itself, with negative counts.


REMAPS = ("automatic", "projection", "top-fill", "empirical-bayes", "threshold", "bayes", "ball", "none")
_NEED_TOTAL = ("top-fill", "ball")
_NAMED = "as asked"
_NOISELESS = 300.0
_FEW_CELLS = 100  # from which on what the public total takes off the noise is below a hundredth


def read_remap(value: str | None, prior: object, *, public_total: bool = True) -> str:
    """The remap by its name; without one, Bayes where there is a prior and the automatic choice where there is none."""
    if value is None:
        return "automatic" if prior is None else "bayes"
    if value not in REMAPS:
        raise HistogramError("remap", value, "is not a remap", f"use one of {', '.join(REMAPS)}")
    if value in ("bayes", "ball") and prior is None:
        raise HistogramError("remap", value, "needs a prior", "name one (it must be public), or use the projection")
    if value in _NEED_TOTAL and not public_total:
        raise HistogramError("remap", value, "needs a public total", "use 'automatic', 'projection' or 'none'")
    return value


def apply_remap(
    name: str,
    noisy: object,
    *,
    epsilon: Epsilon,
    prior: CountPrior | IndependentPrior | None,
    public_total: bool = True,
    keep_total: bool | None = None,
    published: Published | None = None,
) -> Remapped:
    """Map a noisy table back, by the name of the remap. *published* judges what is published in their place."""
    if name == "none" and numpy_if_installed() is None:
        return Remapped(noisy, name, _NAMED, None)
    import numpy as np

    table = np.asarray(noisy)
    total = int(table.sum()) if public_total else None
    ratio = ratio_of_noise(len(table), epsilon, public_total=public_total)
    if name == "automatic":
        return choose_remap(table, ratio=ratio, total=total, keep_total=keep_total, published=published)
    judge = None if name == "none" else learned_judge(table, ratio=ratio, total=total)
    if name == "empirical-bayes" and judge is not None:
        counts = judge.medians(keep_total=bool(keep_total))
    elif name == "threshold":
        counts = threshold(table, ratio=ratio, total=total)
    elif name == "top-fill":
        counts = top_fill(table)
    elif name == "bayes":
        counts = _with_prior(table, epsilon, prior)
    elif name == "ball" and isinstance(prior, CountPrior):
        counts = ball_map(table, prior=prior)
    else:
        counts = table if name == "none" else plain_remap(table, total)
    return Remapped(counts, name, _NAMED, None) if judge is None else judge.judged(counts, name, _NAMED)


def ratio_of_noise(cells: int, epsilon: Epsilon, *, public_total: bool) -> float:
    """The two-sided geometric noise of one cell: the same as under add-remove, and as wide on average where the total is public.

    There few cells have less noise than many, because it adds up to 0: half as much for two cells (said to be off by 3.84 people
    at epsilon 1 where 1.70 were measured).
    """
    least = float(epsilon) / (2 if public_total else 1)
    if public_total and cells <= _FEW_CELLS and least <= _NOISELESS:
        mean = optimal_error(cells, epsilon=epsilon) / cells  # 2 ratio / (1 - ratio^2)
        return mean / (1 + math.sqrt(1 + mean * mean))
    # Not 0: its logarithm is needed, and at e^-300 there is no noise to speak of.
    return math.exp(-min(_NOISELESS, least))


def _with_prior(table: object, epsilon: Epsilon, prior: CountPrior | IndependentPrior | None) -> Any:
    if isinstance(prior, IndependentPrior):
        return posterior_medians(table, epsilon=epsilon, prior=prior)
    assert prior is not None, "read_remap refuses bayes without a prior"
    return bayes_remap(table, epsilon=epsilon, prior=prior)


# How good each remap is: its expected L1 error under a prior, computed where the histograms are few and simulated where
# they are many.


_MOST_CELLS = 4_000_000  # noisy tables times histograms, for an error that is computed
_MOST_OPTIMUM = 2_500  # pairs of histograms for which the linear program is solved without being asked twice
_MISSED_PROBABILITY = Fraction(1, 10**9)  # probability of the noise that a computed error leaves out
_Z99 = 2.5758293035489004
_COMPARED = ("projection", "bayes", "ball", "none")
_ENOUGH_CELLS = (
    20_000  # simulated cells after which more draws add nothing: the error of one draw averages over its bins
)
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
    if not is_whole(persons, 1):
        raise HistogramError("persons", persons, "is not a number of persons", "write an integer from 1 on")
    noise = HistogramNoise(size, level)
    if name == "none":
        value = optimal_error(size, epsilon=level)
        return RemapError(name, value, value, value, None)
    reach = noise.error_quantile(1 - _MISSED_PROBABILITY) // 2
    if histogram_count(size, persons + size * reach) * histogram_count(size, persons) <= _MOST_CELLS:
        value = _computed(name, noise, persons, belief, reach)
        return RemapError(name, value, value, value, None)
    enough = max(_FEWEST_DRAWS, _ENOUGH_CELLS // size)
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
