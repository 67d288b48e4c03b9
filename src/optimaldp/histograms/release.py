"""One private histogram: counts in, one sampled histogram out, and nothing else that was computed from the counts."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.margins import TwoWayTable, two_way_table
from optimaldp.histograms.noise import HistogramNoise
from optimaldp.histograms.noise.laplace import LaplaceNoise
from optimaldp.histograms.parameters import read_bins, read_level
from optimaldp.histograms.priors import Prior, read_prior
from optimaldp.histograms.remaps.bayes import check_bayes_size
from optimaldp.histograms.remaps.naming import apply_remap, read_remap
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours, read_neighbours
from optimaldp.results import Result
from optimaldp.sampling import BitSource

_SHOWN = 8  # counts in a one-line repr
_REMAP_WORDS = {
    "projection": "The projection that followed never increases the sum of errors.",
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

    @property
    def bins(self) -> int:
        return len(self.counts)

    @property
    def certificate(self) -> dict[str, Any]:
        """The recipe that was followed, which :mod:`optimaldp.certify` checks."""
        return self.noise.recipe.to_document()

    def expected_error(self) -> float:
        """The expected L1 error of the noise; a projection never makes it larger, and a Bayes remap not under its prior."""
        return float(self.noise.expected_error())

    def error_quantile(self, level: Any = "0.95") -> int:
        """An L1 error that the noise exceeds with probability at most ``1 - level``."""
        return self.noise.error_quantile(level)

    def intervals(self, level: Any = "0.95") -> tuple[tuple[int, int], ...]:
        """For each bin, an interval that covers the true count with probability *level* at least (each bin by itself).

        It comes from the noisy table, whose error is known exactly, so it holds whatever the remap did.
        """
        reach = self.noise.bin_quantile(level)
        top = sum(self.noisy) if self.neighbours is Neighbours.SUBSTITUTION else None
        return tuple(_clipped(value - reach, value + reach, top) for value in self.noisy)

    def two_way(self, rows: Sequence[Any], columns: Sequence[Any]) -> TwoWayTable:
        """The counts as a two-way table with margins that add up, because they are sums of what was released."""
        return two_way_table(self.counts, rows, columns)

    def statement(self) -> str:
        """The guarantee and the error, in words."""
        return f"epsilon {self.epsilon} differential privacy. {self.noise.statement()} {_REMAP_WORDS[self.remap]}"

    def summary(self) -> str:
        shown = str(list(self.counts)) if self.bins <= _SHOWN else f"{self.bins} bins"
        return f"HistogramRelease({shown}, epsilon {self.epsilon}, {self.neighbours.value}, certified)"

    def details(self) -> list[tuple[str, str]]:
        rows = [(label, f"{count}  [{low}, {high}]") for label, count, (low, high) in self._rows()]
        return [*rows[:50], ("guarantee", self.statement())]

    def _rows(self) -> list[tuple[str, int, tuple[int, int]]]:
        return list(zip(self.labels, self.counts, self.intervals()))

    def to_document(self) -> dict[str, Any]:
        return {
            "answer": list(self.counts),
            "labels": list(self.labels),
            "noisy": list(self.noisy),
            "epsilon": str(self.epsilon),
            "delta": 0,
            "neighbours": self.neighbours.value,
            "remap": self.remap,
            "certificate": self.certificate,
        }

    def plot(self, level: Any = "0.95") -> Any:
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
    epsilon: Any,
    neighbours: str | Neighbours = "substitution",
    prior: Any = None,
    remap: str | None = None,
    labels: Sequence[Any] | None = None,
    source: BitSource | None = None,
) -> HistogramRelease:
    """Release a histogram with epsilon-differential privacy.

    *neighbours* "substitution" (one record replaced, the total is public): lattice noise that keeps the total; its
    expected L1 error is the least of all mechanisms for many persons with independent records. "add-remove" (the total is
    private): independent discrete Laplace numbers, cut at 0; no optimality is claimed. *prior* must be public, not taken
    from these counts. *remap* is "projection" (default without a prior), "bayes" (default with one), "ball" or "none".

    **Guarantee.** The result is epsilon-differentially private; with "substitution" it adds up to the total of *counts*,
    and unless *remap* is "none" no count is negative. No count appears in an error.

    >>> release = private_histogram([5, 0, 12, 3], epsilon=1)
    >>> sum(release.counts), min(release.counts) >= 0
    (20, True)
    """
    level, relation = read_level(epsilon), read_neighbours(neighbours)
    if isinstance(counts, Mapping):
        labels = list(counts) if labels is None else labels
        counts = list(counts.values())
    table = _read_counts(counts)
    belief = read_prior(prior, len(table))
    names = _read_labels(labels, len(table))
    if relation is Neighbours.SUBSTITUTION:
        return _with_public_total(table, level, belief, read_remap(remap, belief), names, source)
    return _with_private_total(table, level, belief, remap, names, source)


def _with_public_total(
    table: list[int], level: Epsilon, prior: Prior | None, remap: str, labels: tuple[str, ...], source: BitSource | None
) -> HistogramRelease:
    if not any(table):
        # The total is public under this relation, so this says nothing that was private.
        raise HistogramError(
            "counts", "the total 0", "leaves nobody to protect", "release histograms of at least one person"
        )
    if remap == "bayes":
        check_bayes_size(sum(table))
    noise = HistogramNoise(len(table), level)
    noisy = _add(table, noise.sample(source))
    mapped = apply_remap(remap, noisy, epsilon=level, prior=prior)
    return HistogramRelease(_plain(mapped), _plain(noisy), labels, level, Neighbours.SUBSTITUTION, remap, noise)


def _with_private_total(
    table: list[int],
    level: Epsilon,
    prior: Prior | None,
    remap: str | None,
    labels: tuple[str, ...],
    source: BitSource | None,
) -> HistogramRelease:
    if prior is not None:
        raise HistogramError(
            "prior", str(prior), "needs a public total", "leave it out, or use neighbours='substitution'"
        )
    if remap not in (None, "projection", "none"):
        raise HistogramError(
            "remap", remap, "needs a public total", "use 'projection' (negative counts become 0) or 'none'"
        )
    import numpy as np

    noise = LaplaceNoise(len(table), level)
    noisy = _add(table, noise.sample(source))
    # The nearest nonnegative table: no error grows, because no true count is negative.
    mapped = noisy if remap == "none" else np.maximum(noisy, 0)
    return HistogramRelease(
        _plain(mapped), _plain(noisy), labels, level, Neighbours.ADD_REMOVE, remap or "projection", noise
    )


def _add(table: list[int], noise: Any) -> Any:
    import numpy as np

    wide = noise.dtype == object or sum(table) > 2**61  # sums of tables must fit, too
    return np.array(table, dtype=object if wide else np.int64) + noise


def _plain(table: Any) -> tuple[int, ...]:
    return tuple(int(x) for x in table.tolist())


def _read_counts(counts: Any) -> list[int]:
    """Read the counts. They are private: an error names a position and a rule, never a value."""
    if isinstance(counts, (str, bytes)) or not hasattr(counts, "__len__"):
        raise HistogramError("counts", type(counts).__name__, "is not a list of counts", _REMEDY)
    values = counts.tolist() if hasattr(counts, "tolist") else list(counts)
    read_bins(len(values))
    for position, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise HistogramError("counts", f"entry {position}", "is not an integer", _REMEDY)
        if value < 0:
            raise HistogramError("counts", f"entry {position}", "is negative", _REMEDY)
    return [int(value) for value in values]


def _read_labels(labels: Sequence[Any] | None, bins: int) -> tuple[str, ...]:
    if labels is None:
        return tuple(str(k) for k in range(bins))
    if isinstance(labels, str) or len(labels) != bins:
        raise HistogramError("labels", len(labels), f"do not match the {bins} counts", "give one label for each bin")
    return tuple(str(label) for label in labels)
