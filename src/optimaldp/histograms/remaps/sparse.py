"""Remaps for tables in which most cells are empty: thresholds, top-fill, and the empirical-Bayes posterior median.

Noise on a million cells adds up to far more than there are people. What undoes it looks at the noisy table alone, so it is
free. None of these forces people into cells: on a sparse table the median of most cells is 0, and the released counts may
add up to less than the public total. Whoever is missing has a cell too small to be told from noise.
"""

from __future__ import annotations

import math
from typing import Any

from optimaldp.histograms.remaps.cell_law import CellLaw, NoisyValues, learn_cell_law

_HALVINGS = 40  # of the interval in which the common quantile is searched


def threshold(noisy: object, *, ratio: float, total: int | None = None) -> Any:
    """Counts below ``ln(K) / ln(1/ratio)`` become 0: about one empty cell of the whole table survives.

    A public *total* is never exceeded: the largest counts stay whole.

    >>> threshold([9, 1, -2, 0], ratio=0.5).tolist()
    [9, 0, 0, 0]
    """
    import numpy as np

    table = np.asarray(noisy)
    kept = np.where(table >= threshold_for(len(table), ratio), table, 0)
    return kept if total is None or kept.sum() <= total else top_fill(kept, total)


def threshold_for(cells: int, ratio: float) -> int:
    """The threshold of a table with this many cells."""
    return max(1, math.ceil(math.log(cells) / -math.log(ratio)))


def top_fill(noisy: object, total: int | None = None) -> Any:
    """The largest counts whole, from the top down, until the total is used up: an L1 projection, too (erratum E10).

    **Guarantee.** ``0 <= a <= max(g, 0)`` and the same total, so the error never grows.

    >>> top_fill([5, -2, 1]).tolist()
    [4, 0, 0]
    """
    import numpy as np

    table = np.asarray(noisy)
    order = np.argsort(-table, kind="stable")
    used = np.minimum(np.cumsum(np.maximum(table[order], 0)), table.sum() if total is None else total)
    filled = np.empty_like(table)
    filled[order] = np.diff(used, prepend=0)
    return filled


def empirical_bayes(noisy: object, *, ratio: float, total: int | None = None, keep_total: bool = False) -> Any:
    """The posterior median of every cell, under the law of cells that is learned from the noisy table itself.

    *total* (public) is never exceeded; with *keep_total* it is reached, by one common posterior quantile for all cells.
    """
    import numpy as np

    values, places, cells = np.unique(np.asarray(noisy), return_inverse=True, return_counts=True)
    known = NoisyValues(values, cells)
    people = int(max(1, (values * cells).sum())) if total is None else total
    law = learn_cell_law(known, ratio, people=people, total=total).law
    return mapped_values(law, known, total=total, keep_total=keep_total)(places.reshape(-1))


def mapped_values(law: CellLaw, noisy: NoisyValues, *, total: int | None, keep_total: bool) -> Any:
    """A function from the positions of cells among the distinct values to their released counts."""
    counts = law.medians(noisy.values)
    reached = int((counts * noisy.cells).sum())
    if total is None or reached == total or (reached < total and not keep_total):
        return lambda places: counts[places]
    low, high = _around_total(law, noisy, total)
    return lambda places: filled_between(low[places], high[places], total)


def _around_total(law: CellLaw, noisy: NoisyValues, total: int) -> tuple[Any, Any]:
    """The counts at two neighbouring quantiles, between which the total lies."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = int((law.medians(noisy.values, level=middle) * noisy.cells).sum())
        low, high = (middle, high) if reached <= total else (low, middle)
    return law.medians(noisy.values, level=low), law.medians(noisy.values, level=high)


def filled_between(low: Any, high: Any, total: int) -> Any:
    """*low*, raised towards *high* in cells spread evenly over the table, until the total is reached.

    Cells with the same noisy value are equally likely to deserve it. The first ones by position would be neighbours in the
    table and pull its margins.
    """
    import numpy as np

    room = high - low
    candidates = np.flatnonzero(room > 0)
    # Steps by the golden section visit positions evenly, whatever their number.
    order = candidates[np.argsort((np.arange(len(candidates)) * 0.6180339887498949) % 1.0, kind="stable")]
    missing = total - int(low.sum())
    given = np.diff(np.minimum(np.cumsum(room[order]), max(missing, 0)), prepend=0)
    filled = low.copy()
    filled[order] += given
    return filled
