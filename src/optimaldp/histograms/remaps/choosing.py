"""Which remap, by itself: chosen from public numbers and the noisy table alone, both of which are free to look at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from optimaldp.histograms.remaps.cell_law import CellLaw, NoisyValues, learn_cell_law
from optimaldp.histograms.remaps.projection import project
from optimaldp.histograms.remaps.sparse import mapped_values

FEW_CELLS = 50  # below this a law of cells cannot be learned from the table: the projection has a guarantee without one
_DENSE = "a dense table: what could be learned from it is not worth leaving the projection's guarantee"
_LEARNED = "the least error expected, given the noisy table"
_LEFT_OUT_PAYS = 0.9
# What is learned from a table flatters itself a little on dense ones (measured from 100 cells on).
_WORTH = 0.93


@dataclass(frozen=True, eq=False)
class Remapped:
    """A table mapped back, with the name of the remap, why it was chosen, and what it is expected to be off."""

    counts: Any
    remap: str
    reason: str
    expected_error: float | None
    """Estimated from the noisy table; ``None`` where nothing can be learned from it."""


@dataclass(frozen=True, eq=False)
class _Judge:
    """Expected errors under the learned law, with the total as a check: what zeros hide is what the others do not show."""

    law: CellLaw
    known: NoisyValues
    places: Any
    people: int
    total_deviation: float
    """How well the number of people is known: 0 where it is public."""

    def error(self, counts: Any) -> float:
        import numpy as np

        # A cell is known by its noisy value and its released count: few different pairs, whatever the number of cells.
        pairs, cells = np.unique(self.places * (int(counts.max(initial=0)) + 1) + counts, return_counts=True)
        position, released = np.divmod(pairs, int(counts.max(initial=0)) + 1)
        values, shown = self.known.values[position], released > 0
        off = self.law.mean_distances(values[shown], released[shown]) * cells[shown]
        means = self.law.means(values) * cells
        missing = self.people - float(means[shown].sum())
        # What the learned law puts into cells shown as 0, as far as the total allows.
        low, high = missing - 2 * self.total_deviation, missing + 2 * self.total_deviation
        hidden = max(0.0, min(max(float(means[~shown].sum()), low), high))
        return float(off.sum()) + hidden


def choose_remap(noisy: Any, *, ratio: float, total: int | None, keep_total: bool | None = None) -> Remapped:
    """Map a noisy table back by the remap whose estimated error is least.

    *total* is the public number of people, or ``None`` where it is private. *keep_total*: the released counts must add up
    to it; ``None`` keeps it where that costs little; ``False`` says that others place whoever is left out.
    """
    import numpy as np

    table = np.asarray(noisy)
    plain = project(table) if total is not None else np.maximum(table, 0)
    if len(table) < FEW_CELLS or table.dtype == object:
        reason = f"fewer than {FEW_CELLS} cells" if len(table) < FEW_CELLS else "counts beyond 64 bits"
        return Remapped(plain, "projection", f"{reason}: nothing is learned from the table", None)
    values, places, cells = np.unique(table, return_inverse=True, return_counts=True)
    places, known = places.reshape(-1), NoisyValues(values, cells)
    people = total if total is not None else int(max(1, table.sum()))
    law = learn_cell_law(known, ratio, people=people)
    deviation = 0.0 if total is not None else math.sqrt(2 * ratio * len(table)) / (1 - ratio)
    judge = _Judge(law, known, places, people, deviation)
    if keep_total is False:
        counts = mapped_values(law, known, total=total, keep_total=False)(places)
        return Remapped(counts, "empirical-bayes", _LEARNED, judge.error(counts))
    best, factor = Remapped(plain, "projection", _DENSE, judge.error(plain)), _WORTH
    for name, keep in (("empirical-bayes, total kept", True), ("empirical-bayes", False)):
        # First the one that keeps the total: leaving people out must pay.
        if total is None if keep else keep_total:
            continue
        counts = mapped_values(law, known, total=total, keep_total=keep)(places)
        error = judge.error(counts)
        if error < factor * (best.expected_error or 0.0):
            best, factor = Remapped(counts, name, _LEARNED, error), _LEFT_OUT_PAYS
    return best
