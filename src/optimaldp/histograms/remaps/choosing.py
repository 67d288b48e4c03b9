"""Which remap, by itself: chosen from public numbers and the noisy table alone, both of which are free to look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from optimaldp.histograms.remaps.cell_law import CellLaw, NoisyValues, learn_cell_law
from optimaldp.histograms.remaps.hidden import hidden_people
from optimaldp.histograms.remaps.projection import project
from optimaldp.histograms.remaps.risk import estimated_risk
from optimaldp.histograms.remaps.sparse import mapped_values, threshold_for, top_fill

if TYPE_CHECKING:
    from optimaldp.histograms.arrays import Array

FEW_CELLS = 50  # below this a law of cells cannot be learned from the table: the projection has a guarantee without one
_DENSE = "a dense table: what could be learned from it is not worth leaving the projection's guarantee"
_LEARNED = "the least error expected, given the noisy table"
_LEFT_OUT_PAYS = 0.9
# What is learned from a table flatters itself a little on dense ones (measured from 100 cells on).
_WORTH = 0.93
_MANY_NEAR = 50.0  # cells near a value from which on the learned law is believed about it


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


@dataclass(frozen=True, eq=False)
class Judge:
    """What a remapped table is expected to be off, learned from the noisy table: which is private already, so it is free."""

    law: CellLaw
    known: NoisyValues
    places: Any
    total: int | None
    """The public number of people, if it is."""

    def error(self, counts: Array) -> float:
        """The expected sum of errors: of the counts that are shown, and the people whom the zeros hide."""
        import numpy as np

        # A cell is known by its noisy value and its released count: few different pairs, whatever the number of cells.
        pairs, cells = np.unique(self.places * (int(counts.max(initial=0)) + 1) + counts, return_counts=True)
        position, released = np.divmod(pairs, int(counts.max(initial=0)) + 1)
        values, shown = self.known.values[position], released > 0
        off = self._distances(position[shown], released[shown]) * cells[shown]
        return float(off.sum()) + self._hidden(values, cells, shown)

    def judged(self, counts: Array, remap: str, reason: str) -> Remapped:
        """The counts with what they are expected to be off: never outside of what the unbiased estimate allows."""
        import numpy as np

        error, values = self.error(counts), self.known.values
        released = np.bincount(self.places, weights=counts, minlength=len(values)) / self.known.cells
        risk = estimated_risk(
            values, self.known.cells, released, ratio=self.law.ratio, fixed_total=self.total is not None
        )
        if risk is None:
            return Remapped(counts, remap, reason, error)
        low, high = risk.interval
        if self.total is not None:  # what the public total teaches is not in the interval
            return Remapped(counts, remap, reason, error, (min(low, error), max(high, error)))
        return Remapped(counts, remap, reason, min(max(error, low), high), (low, high))

    def _distances(self, position: Array, released: Array) -> Any:
        """How far off a shown count is: by the law where many cells taught it, by the noise alone where hardly any did.

        Of a value that stands alone the law believes that it is the truth (100 occupied cells of 10,000: 78 instead of 90).
        """
        import numpy as np

        values, ratio = self.known.values[position], self.law.ratio
        learned = self.law.mean_distances(values, released)
        away = np.abs(values - released).astype(float)
        alone = away + 2 * ratio ** (away + 1) / (1 - ratio**2)  # the mean of |noise - away|
        trust = self._near[position] / (self._near[position] + _MANY_NEAR)
        # A count far from its value was pulled there by what the law knows of other cells.
        kept = (away <= 2 / (1 - ratio)) & (learned < alone)
        return np.where(kept, trust * learned + (1 - trust) * alone, learned)

    @cached_property
    def _near(self) -> Any:
        """How many cells lie near each distinct value, as far as the noise reaches."""
        import numpy as np

        cells, gaps = self.known.cells.tolist(), np.diff(self.known.values).tolist()
        fades = [self.law.ratio**gap for gap in gaps]
        below, above = [float(cells[0])], [float(cells[-1])]
        for number, fade in zip(cells[1:], fades):
            below.append(number + fade * below[-1])
        for number, fade in zip(cells[-2::-1], fades[::-1]):
            above.append(number + fade * above[-1])
        return np.array(below) + np.array(above[::-1]) - self.known.cells

    def _hidden(self, values: Array, cells: Array, shown: Array) -> float:
        means = self.law.means(values) * cells
        if self.total is None:
            top = threshold_for(self.known.size, self.law.ratio)
            return hidden_people(values, cells, ~shown, ratio=self.law.ratio, top=top)
        # What the learned law puts into cells shown as 0 is known better from the public total.
        return max(0.0, self.total - float(means[shown].sum()))


def learned_judge(table: Array, *, ratio: float, total: int | None) -> Judge | None:
    """A judge of remaps of this noisy table; ``None`` where it is too small to teach anything."""
    import numpy as np

    if len(table) < FEW_CELLS or table.dtype == object:
        return None
    values, places, cells = np.unique(table, return_inverse=True, return_counts=True)
    known = NoisyValues(values, cells)
    people = total if total is not None else int(max(1, table.sum()))
    return Judge(learn_cell_law(known, ratio, people=people), known, places.reshape(-1), total)


def choose_remap(noisy: object, *, ratio: float, total: int | None, keep_total: bool | None = None) -> Remapped:
    """Map a noisy table back by the remap whose estimated error is least.

    *total* is the public number of people, or ``None`` where it is private. *keep_total*: the released counts must add up
    to it; ``None`` keeps it where that costs little; ``False`` says that others place whoever is left out.
    """
    import numpy as np

    table = np.asarray(noisy)
    plain = project(table) if total is not None else np.maximum(table, 0)
    judge = learned_judge(table, ratio=ratio, total=total)
    if judge is None:
        reason = f"fewer than {FEW_CELLS} cells" if len(table) < FEW_CELLS else "counts beyond 64 bits"
        return Remapped(plain, "projection", f"{reason}: nothing is learned from the table", None)
    law, known, places = judge.law, judge.known, judge.places
    if keep_total is False:
        counts = mapped_values(law, known, total=total, keep_total=False)(places)
        return judge.judged(counts, "empirical-bayes", _LEARNED)
    best, least, factor = (plain, "projection", _DENSE), judge.error(plain), _WORTH
    for name, keep in (("empirical-bayes, total kept", True), ("empirical-bayes", False)):
        # First the one that keeps the total: leaving people out must pay.
        if total is None if keep else keep_total:
            continue
        counts = mapped_values(law, known, total=total, keep_total=keep)(places)
        error = judge.error(counts)
        if error < factor * least:
            best, least, factor = (counts, name, _LEARNED), error, _LEFT_OUT_PAYS
    if total is not None:
        # Where few cells hold almost everybody: the largest counts whole, which is a projection too.
        counts = top_fill(table)
        if judge.error(counts) < factor * least:
            best = (counts, "top-fill", _LEARNED)
    return judge.judged(*best)
