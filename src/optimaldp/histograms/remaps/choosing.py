"""Which remap, by itself: chosen from public numbers and the noisy table alone, both of which are free to look at."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optimaldp.histograms.remaps.cell_law import CellLaw, Learned, NoisyValues, learn_cell_law
from optimaldp.histograms.remaps.projection import project
from optimaldp.histograms.remaps.risk import estimated_risk
from optimaldp.histograms.remaps.sparse import mapped_values, threshold, top_fill

if TYPE_CHECKING:
    from optimaldp.histograms.arrays import Array

_GUARANTEED = "what the noisy table teaches is not worth leaving the projection's guarantee"
_LEARNED = "the least error expected, given the noisy table"
# Of remaps that are as good as this the first is taken: the projection, which never makes an error larger, then what keeps the
# total.
_WORTH = 0.96
_WIDEST_NOISE = 1 << 24  # of a count below 0, in people: the law of a cell is an array as long as the noise is wide
_DEVIATIONS = 2.3  # 95 % of tables, with a little for what the laws have learned from the very same table
_MANY_CELLS = 1000  # from which on an estimate without any law has something to say about how well an error is known

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
        cells, how many people hide in cells that all look empty (see :mod:`~optimaldp.histograms.remaps.risk`).
        """
        values, released, cells = self._pairs(counts)
        law = self.learned.law
        error = float(law.mean_distances(values, released) @ cells)
        variance = _posterior_variance(law, values, released, cells)
        opinions = [
            (share, float(one.mean_distances(values, released) @ cells)) for share, one in self.learned.opinions
        ]
        whole = math.fsum(share for share, _ in opinions)
        middle = math.fsum(share * off for share, off in opinions) / whole
        variance += math.fsum(share * (off - middle) ** 2 for share, off in opinions) / whole
        low, high = self._without_a_law(counts, error)
        reach = _DEVIATIONS * math.sqrt(variance) + 1
        low, high = min(low, error - reach), max(high, error + reach)
        most = math.inf if self.total is None else 2.0 * self.total
        return min(error, most), (max(0.0, low), min(high, most))

    def _without_a_law(self, counts: Array, error: float) -> tuple[float, float]:
        import numpy as np

        if self.known.size < _MANY_CELLS or self.total is not None:
            return error, error
        values = self.known.values
        released = np.bincount(self.places, weights=counts, minlength=len(values)) / self.known.cells
        risk = estimated_risk(values, self.known.cells, released, ratio=self.learned.law.ratio)
        return (error, error) if risk is None else risk.interval


def _posterior_variance(law: CellLaw, values: Array, released: Array, cells: Array) -> float:
    off = law.mean_distances(values, released)
    square = law.variances(values) + (law.means(values) - released) ** 2
    return max(0.0, float((square - off**2) @ cells))


def learned_judge(table: Array, *, ratio: float, total: int | None) -> Judge | None:
    """A judge of remaps of this noisy table; ``None`` where its noise is too wide to learn from, or beyond 64 bits."""
    import numpy as np

    if table.dtype == object or (table.size and -int(table.min()) > _WIDEST_NOISE):
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
    plain = project(table) if total is not None else np.maximum(table, 0)
    judge = learned_judge(table, ratio=ratio, total=total)
    if judge is None:
        return Remapped(plain, "projection", "the noise is too wide: nothing is learned from the table", None)
    offered = [("projection", plain), *_candidates(table, judge, ratio, keep_total)]
    errors = [judge.error(counts) for _, counts in offered]
    shown = errors if published is None else [published(judge, counts) for _, counts in offered]
    # Of those whose published table is as good as the best, the one whose counts are.
    close = [place for place, error in enumerate(shown) if error * _WORTH <= min(shown)]
    least = min(errors[place] for place in close)
    best = next(place for place in close if errors[place] * _WORTH <= least)
    name, counts = offered[best]
    return judge.judged(counts, name, _LEARNED if best else _GUARANTEED)


def _candidates(table: Array, judge: Judge, ratio: float, keep_total: bool | None) -> list[tuple[str, Any]]:
    """Every other remap of the table, those first that keep the public total."""
    law, known, total = judge.learned.law, judge.known, judge.total
    made = []
    if total is not None:
        # Where few cells hold almost everybody: the largest counts whole, which is a projection, too.
        made.append(("top-fill", top_fill(table)))
    if total is not None and keep_total is not False:
        kept = mapped_values(law, known, total=total, keep_total=True)(judge.places)
        made.append(("empirical-bayes, total kept", kept))
    if total is None or not keep_total:
        made.append(("empirical-bayes", mapped_values(law, known, total=total, keep_total=False)(judge.places)))
        made.append(("threshold", threshold(table, ratio=ratio, total=total)))
    return made
