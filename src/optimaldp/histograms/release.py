"""People with levels of their own in a table of counts: each is kept with a probability, exactly.

A person with level ``e_i`` below the table's epsilon is kept with probability ``p = (e^(e_i) - 1) / (e^epsilon - 1)``. Whoever is
not kept is counted with everybody else (under add-remove: not at all). What the table then says about one person is a mixture,
and the ratio of its probabilities is at most ``1 + p (e^epsilon - 1) = e^(e_i)``.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from optimaldp.certify.noise import Stream, certify_noise, require_sampler, require_table_draw
from optimaldp.errors import HistogramError, NotCertifiedError
from optimaldp.extras import numpy_if_installed
from optimaldp.histograms.independent import IndependentPrior, read_independent_prior
from optimaldp.histograms.margins import TwoWayTable, two_way_table
from optimaldp.histograms.noise import HistogramNoise
from optimaldp.histograms.noise.laplace import LaplaceNoise
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.histograms.parameters import read_bins, read_positive_epsilon
from optimaldp.histograms.priors import CountPrior, read_prior
from optimaldp.histograms.public_error import attained, least_at_least, least_possible
from optimaldp.histograms.remaps.bayes import check_bayes_size
from optimaldp.histograms.remaps.choosing import apply_remap, read_remap
from optimaldp.privacy.balls import Ball
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.results import Result, html_bars
from optimaldp.sampling import BitSource, SystemBits
from optimaldp.sampling.batch import draw_listed, draw_many

Kept = Callable[..., dict[int, int]]


def keep_chance(own: Epsilon, epsilon: Epsilon) -> Ball:
    """The probability of being kept, at the current precision."""
    return (own.exp() - 1) / (epsilon.exp() - 1)


def thinned(
    by_level: Sequence[tuple[Epsilon, Mapping[int, int]]],
    epsilon: Epsilon,
    *,
    everybody_else: int | None,
    source: BitSource | None = None,
) -> dict[int, int]:
    """The cells of the people who are kept; the others in the cell *everybody_else*, or nowhere if that is ``None``."""
    cells: dict[int, int] = {}
    for own, counts in by_level:
        kept = counts if own >= epsilon else _kept(counts, own, epsilon, source)
        for cell, people in kept.items():
            cells[cell] = cells.get(cell, 0) + people
        left_out = sum(counts.values()) - sum(kept.values())
        if everybody_else is not None and left_out:
            cells[everybody_else] = cells.get(everybody_else, 0) + left_out
    return cells


def _kept(counts: Mapping[int, int], own: Epsilon, epsilon: Epsilon, source: BitSource | None) -> dict[int, int]:
    if own.is_zero:
        return {}

    def chances() -> list[Ball]:
        chance = keep_chance(own, epsilon)
        return [chance, 1 - chance]

    # A cell without people would be given a neighbour's sum below.
    counts = {cell: people for cell, people in counts.items() if people}
    np = numpy_if_installed()
    if np is None:
        drawn = iter(draw_listed(chances, sum(counts.values()), source or SystemBits()))
        kept = {cell: sum(next(drawn) == 0 for _ in range(size)) for cell, size in counts.items()}
        return {cell: number for cell, number in kept.items() if number}
    people = np.fromiter(counts.values(), dtype=np.int64, count=len(counts))
    stays = draw_many(chances, int(people.sum()), source=source) == 0
    sums = np.add.reduceat(stays, np.concatenate(([0], np.cumsum(people)[:-1]))) if len(people) else people
    return {cell: int(number) for cell, number in zip(counts, sums.tolist()) if number}


# One private histogram: counts in, one sampled histogram out, and nothing else that was computed from the counts.


_SHOWN = 8  # counts in a one-line repr
_REMAP_WORDS = {
    "projection": "The projection that followed never increases the sum of errors.",
    "top-fill": "The top-fill that followed, a projection, never increases the sum of errors.",
    "empirical-bayes": "Each count is the posterior median under the law of cells that the noisy table itself teaches.",
    "threshold": "Counts that noise alone reaches became 0.",
    "bayes": "The Bayes remap that followed lowers the expected sum of errors under its prior, not always the sum itself.",
    "ball": "The ball map that followed may increase the sum of errors.",
    "none": "Nothing followed: counts may be negative.",
}
_REMEDY = "pass a list of nonnegative integers, one for each public bin"


@dataclass(frozen=True, repr=False)
class HistogramRelease(Result):
    """A private histogram that was drawn. Everything in it may be published."""

    counts: tuple[int, ...]
    noisy: tuple[int, ...]
    """The table before the remap: equally private, and what the intervals are made of."""
    labels: tuple[str, ...]
    epsilon: Epsilon
    neighbours: Neighbours
    remap: str
    noise: HistogramNoise | LaplaceNoise
    reason: str = "as asked"
    """Why this remap was taken: by public numbers and the noisy table alone."""
    learned_error: float | None = None
    """The sum of errors to expect, learned from the noisy table; ``None`` where nothing was learned."""
    error_interval: tuple[float, float] | None = None
    """Where the real sum of errors lies for about 19 tables in 20, by the noisy table; ``None`` where that cannot be told.

    It is wide where few people are hidden in many cells: a noisy table without a public total does not tell how many.
    """
    least_possible: float | None = None
    """The least expected sum of errors of any mechanism at this number of people under the prior; ``None`` where not known."""
    least_at_least: float | None = None
    """Where it is not known: what it is not below."""

    @property
    def bins(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int | None:
        """The public number of people; ``None`` where it is private."""
        return sum(self.noisy) if self.neighbours is Neighbours.SUBSTITUTION else None

    @property
    def unplaced(self) -> int:
        """People whose cell is too small to be told from noise: the public total less what the counts add up to."""
        return 0 if self.total is None else max(0, self.total - sum(self.counts))

    @property
    def certificate(self) -> dict[str, Any]:
        """The recipe that was followed, which :mod:`optimaldp.certify` checks."""
        return self.noise.recipe.to_document()

    def expected_error(self) -> float:
        """The sum of errors to expect of what was released: learned from the noisy table, or else a bound.

        The bound is the expected error of the noise, which a projection never makes larger (nor a Bayes remap under its
        prior); and two tables of n people are never more than 2n apart.
        """
        if self.learned_error is not None:
            return self.learned_error
        noise = float(self.noise.expected_error())
        return noise if self.total is None or self.remap == "none" else min(noise, 2.0 * self.total)

    def error_quantile(self, level: object = "0.95") -> int:
        """An L1 error that the noise exceeds with probability at most ``1 - level``."""
        return self.noise.error_quantile(level)

    def intervals(self, level: object = "0.95") -> tuple[tuple[int, int], ...]:
        """For each bin, an interval that covers the true count with probability *level* at least (each bin by itself).

        It comes from the noisy table, whose error is known exactly, so it holds whatever the remap did.
        """
        reach = self.noise.bin_quantile(level)
        return tuple(_clipped(value - reach, value + reach, self.total) for value in self.noisy)

    def query_error(self, bins: int) -> QueryError:
        """How far off a sum over this many bins of the noisy table is."""
        return QueryError(self.bins, bins, self.epsilon, self.neighbours)

    def two_way(self, rows: Sequence[Any], columns: Sequence[Any]) -> TwoWayTable:
        """The counts as a two-way table. Its margins are sums of the noisy cells: unbiased, and with intervals.

        Sums of projected cells would be pulled towards each other: the largest row would come out too small.
        """
        return two_way_table(self.counts, rows, columns, noisy=self.noisy, error=self.query_error)

    def statement(self) -> str:
        """The guarantee and the error, in words."""
        told = _REMAP_WORDS[self.remap.partition(",")[0]]
        why = "" if self.reason == "as asked" else f" It was chosen by itself: {self.reason}."
        missing = f" {self.unplaced} people have cells too small to be told from noise." if self.unplaced else ""
        return f"epsilon {self.epsilon} differential privacy. {self.noise.statement()} {told}{why}{missing}{self._beside_least()}"

    def _beside_least(self) -> str:
        """What is expected to be off before any table is drawn, beside the least possible under the prior."""
        if self.gap is None:
            return ""
        least = self.least_possible or self.least_at_least
        known = "the least possible is" if self.least_possible else "no mechanism is below"
        if self.gap == 0:
            return (
                f" Under the prior the counts are expected to be off by {least:.4g} people in all, the least possible."
            )
        return f" Under the prior they are expected to be off by at most {self._at_most:.4g} people in all; {known} {least:.4g}."

    @property
    def _at_most(self) -> float:
        """The expected error over all tables that the prior allows: the least, where it is attained, or what the noise has."""
        attained = self.least_possible is not None and self.learned_error == self.least_possible
        noise = float(self.noise.expected_error())
        return self.expected_error() if attained else noise if self.total is None else min(noise, 2.0 * self.total)

    @property
    def gap(self) -> float | None:
        """How far the expected error under the prior is at most above the least possible one, as a share of that."""
        least = self.least_possible or self.least_at_least
        return None if least is None or self.remap != "bayes" else self._at_most / least - 1

    def summary(self) -> str:
        shown = str(list(self.counts)) if self.bins <= _SHOWN else f"{self.bins} bins"
        return f"HistogramRelease({shown}, epsilon {self.epsilon}, {self.neighbours.value}, certified)"

    def details(self) -> list[tuple[str, str]]:
        return [("guarantee", self.statement())]

    def _bars(self) -> str:
        return html_bars(self.labels, self.counts, [f"{low} to {high}" for low, high in self.intervals()])

    def to_document(self) -> dict[str, Any]:
        return {
            "answer": list(self.counts),
            "labels": list(self.labels),
            "noisy": list(self.noisy),
            "epsilon": str(self.epsilon),
            "delta": 0,
            "neighbours": self.neighbours.value,
            "remap": self.remap,
            "reason": self.reason,
            "expected_error": self.expected_error(),
            "least_possible": self.least_possible,
            "least_at_least": self.least_at_least,
            "gap": self.gap,
            "expected_error_interval": None if self.error_interval is None else list(self.error_interval),
            "unplaced": self.unplaced,
            "certificate": self.certificate,
        }

    def plot(self, level: object = "0.95") -> Any:
        """A bar chart with the intervals as error bars."""
        from optimaldp.plots.histograms import draw_release

        return draw_release(self, level=level)


def _clipped(low: int, high: int, top: int | None) -> tuple[int, int]:
    """An interval of counts: cut to what a count can be."""
    bound = max(high, 0) if top is None else min(max(high, 0), top)
    return min(max(low, 0), bound), bound


def private_histogram(
    counts: Sequence[int] | Mapping[Any, int],
    *,
    epsilon: object,
    neighbours: str | Neighbours = "substitution",
    prior: object = None,
    remap: str | None = None,
    keep_total: bool | None = None,
    labels: Sequence[Any] | None = None,
    source: BitSource | None = None,
) -> HistogramRelease:
    """Release a histogram with epsilon-differential privacy.

    *neighbours* "substitution" (one record replaced, the total is public): lattice noise that keeps the total; its
    expected L1 error is the least of all mechanisms for many people with independent records. "add-remove" (the total is
    private): independent discrete Laplace numbers; with a public *prior* of independent bins the posterior median that
    follows has the least expected error of all mechanisms. A *prior* must be public, not taken from these counts.
    *remap* is chosen by itself if not given ("bayes" with a prior), or "projection", "top-fill", "empirical-bayes",
    "threshold", "bayes", "ball", "none". *keep_total* insists on counts that add up to the public total, which on a table
    of mostly empty cells forces people into wrong ones; if not given it is kept where that costs little. *labels* name the
    bins, and *source* gives the random bits (the operating system's, if not given).

    **Guarantee.** The result is epsilon-differentially private; unless *remap* is "none" no count is negative; with
    "substitution" the noisy table and every projection add up to the total of *counts*. No count appears in an error.

    >>> release = private_histogram([5, 0, 12, 3], epsilon=1)
    >>> sum(release.counts) + release.unplaced, min(release.counts) >= 0
    (20, True)
    """
    level, relation = read_positive_epsilon(epsilon), Neighbours(neighbours)
    if isinstance(counts, Mapping):
        labels = list(counts) if labels is None else labels
        counts = list(counts.values())
    public_total = relation is Neighbours.SUBSTITUTION
    table = _read_counts(counts, public_total)
    belief = _read_belief(prior, len(table), public_total)
    name = read_remap(remap, belief, public_total=public_total)
    names = _read_labels(labels, len(table))
    if public_total:
        _check_total(table, belief, name)
    noise = certify_noise(
        _noise(len(table), level, relation), cells=len(table), epsilon=level, neighbours=relation
    ).mechanism
    require_sampler(noise)
    _require_drawn(relation)
    noisy = _drawn(table, noise, source)
    return after_noise(noisy, noise, relation, prior=belief, remap=name, keep_total=keep_total, labels=names)


def after_noise(
    noisy: Any,
    noise: HistogramNoise | LaplaceNoise,
    relation: Neighbours,
    *,
    prior: object,
    remap: str | None,
    keep_total: bool | None,
    labels: tuple[str, ...],
) -> HistogramRelease:
    """Everything that follows the noise, by public rules alone: no true count comes here. It can be computed again."""
    level, public_total = noise.epsilon, relation is Neighbours.SUBSTITUTION
    belief = _read_belief(prior, len(noisy), public_total)
    name = read_remap(remap, belief, public_total=public_total)
    mapped = apply_remap(name, noisy, epsilon=level, prior=belief, public_total=public_total, keep_total=keep_total)
    people = sum(map(int, noisy)) if public_total else None
    least = least_possible(len(noisy), epsilon=level, neighbours=relation, people=people, prior=belief)
    bound = None if least is not None else least_at_least(len(noisy), epsilon=level, people=people, prior=belief)
    error = mapped.expected_error
    if least is not None and name == "bayes" and attained(len(noisy), relation, belief):
        error = least
    return HistogramRelease(
        _plain(mapped.counts),
        _plain(noisy),
        labels,
        level,
        relation,
        mapped.remap,
        noise,
        mapped.reason,
        error,
        mapped.error_interval,
        least,
        bound,
    )


def _noise(bins: int, epsilon: Epsilon, neighbours: Neighbours) -> HistogramNoise | LaplaceNoise:
    return (HistogramNoise if neighbours is Neighbours.SUBSTITUTION else LaplaceNoise)(bins, epsilon)


def _drawn(table: list[int], noise: HistogramNoise | LaplaceNoise, source: BitSource | None) -> Any:
    return _add(table, noise.sample(source))


_TRIED = Epsilon.read(1), Epsilon.read("0.1")  # at the lower one noise is large


@lru_cache(maxsize=2)
def _require_drawn(neighbours: Neighbours) -> None:
    """Have the code that adds the noise examined, once in a process: on made-up tables, with bits that are written down."""
    bins = 3
    for epsilon in _TRIED:
        noise = _noise(bins, epsilon, neighbours)

        def draw(
            people: Mapping[str, Mapping[int, int]], _: bool, bits: BitSource, noise: Any = noise
        ) -> list[list[int]]:
            table = [sum(cells.get(place, 0) for cells in people.values()) for place in range(bins)]
            return [list(_plain(_drawn(table, noise, bits)))]

        require_table_draw(draw, [noise.recipe], epsilon, neighbours, levels=False)
    _require_nothing_else(_noise(bins, _TRIED[-1], neighbours), neighbours)


def _require_nothing_else(noise: HistogramNoise | LaplaceNoise, neighbours: Neighbours) -> None:
    """Refuse counts that are not made of the noisy table alone: whatever was drawn since, they are the same."""
    remap = "none" if numpy_if_installed() is None else "projection"

    def shown(table: list[int]) -> tuple[int, ...]:
        _drawn(table, noise, Stream("another table"))
        made = after_noise(noisy, noise, neighbours, prior=None, remap=remap, keep_total=None, labels=("", "", ""))
        return made.counts

    noisy = _drawn([70, 20, 10], noise, Stream("a table"))
    if shown([70, 20, 10]) != shown([10, 0, 90]):
        raise NotCertifiedError("The counts are not made of the noisy table alone. Nothing was sampled.")


def check_mapping(bins: int, prior: object, remap: str | None, neighbours: Neighbours) -> None:
    """Refuse a prior or a remap that does not fit this many bins, before any count is known."""
    public_total = neighbours is Neighbours.SUBSTITUTION
    read_remap(remap, _read_belief(prior, bins, public_total), public_total=public_total)


def _read_belief(prior: object, bins: int, public_total: bool) -> CountPrior | IndependentPrior | None:
    if prior is None or public_total:
        return read_prior(prior, bins)
    return read_independent_prior(prior, bins)


def _check_total(table: list[int], prior: object, remap: str) -> None:
    """What the total must allow. It is public under this relation, so this says nothing that was private."""
    people = sum(table)
    if not people:
        remedy = "release histograms of at least one person"
        raise HistogramError("counts", "the total 0", "leaves nobody to protect", remedy)
    if remap == "bayes":
        check_bayes_size(people)
        if len(table) > people and prior is not None:
            warnings.warn(
                f"A prior on a table with more bins ({len(table)}) than people ({people}) decides most counts by itself. "
                "Leave it out unless you know it to be true: the noisy table teaches more.",
                stacklevel=3,
            )


def _add(table: list[int], noise: Any) -> Any:
    if isinstance(noise, list):  # without arrays, for the referee
        return [count + more for count, more in zip(table, noise)]
    import numpy as np

    wide = noise.dtype == object or sum(table) > 2**61  # sums of tables must fit, too
    return np.array(table, dtype=object if wide else np.int64) + noise


def _plain(table: Any) -> tuple[int, ...]:
    return tuple(table if isinstance(table, list) else table.tolist())


def _read_counts(counts: Any, public_total: bool) -> list[int]:
    """Read the counts. They are private: an error names a position and a rule, never a value."""
    if isinstance(counts, (str, bytes)) or not hasattr(counts, "__len__"):
        raise HistogramError("counts", type(counts).__name__, "is not a list of counts", _REMEDY)
    values = counts.tolist() if hasattr(counts, "tolist") else list(counts)
    read_bins(len(values), public_total=public_total)
    if set(map(type, values)) != {int}:
        values = [_whole(position, value) for position, value in enumerate(values)]
    if min(values) < 0:
        position = next(position for position, value in enumerate(values) if value < 0)
        raise HistogramError("counts", f"entry {position}", "is negative", _REMEDY)
    return values


def _whole(position: int, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise HistogramError("counts", f"entry {position}", "is not an integer", _REMEDY)
    return int(value)


def _read_labels(labels: Sequence[Any] | None, bins: int) -> tuple[str, ...]:
    if labels is None:
        return tuple(map(str, range(bins)))
    if isinstance(labels, str) or len(labels) != bins:
        raise HistogramError("labels", len(labels), f"do not match the {bins} counts", "give one label for each bin")
    return tuple(map(str, labels))
