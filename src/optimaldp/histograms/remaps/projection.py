"""The nearest table of counts: a projection in L1, which never increases the error (erratum E10)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.priors import CountPrior
from optimaldp.histograms.remaps.cell_law import CellLaw, NoisyValues
from optimaldp.privacy.numbers import narrowed, read_number

if TYPE_CHECKING:
    from optimaldp.histograms.parameters import Array


def project(noisy: object) -> Any:
    """The nearest histogram with the same total, as an array: the tops are cut to one common level.

    **Guarantee.** ``0 <= a <= max(g, 0)`` and the same sum, so a is an L1 projection and ``|a - h|_1 <= |g - h|_1`` for
    every histogram h with that sum. Among the L1 projections this one is nearest in L2, too, up to rounding.

    >>> project([5, -2, 1]).tolist(), project([-1, -1, 12]).tolist()
    ([4, 0, 0], [0, 0, 10])
    """
    import numpy as np

    table = np.asarray(noisy)
    total = table.sum()
    if total < 0:
        raise HistogramError(
            "table", int(total), "has a negative total", "only tables of a public total can be projected"
        )
    if (table >= 0).all():
        return table.copy()
    falling = np.sort(table)[::-1]
    # The common cut t is the largest integer that leaves at least the total: sum_k max(g_k - t, 0) >= total.
    excess = np.cumsum(falling) - total
    kept = _kept(falling, excess)
    cut = max(0, int((excess[:kept] // np.arange(1, kept + 1)).max()))
    above = np.maximum(table - cut, 0)
    return _drop_one_each(above, int(above.sum() - total))


def _kept(falling: Array, excess: Array) -> int:
    """How many of the largest entries stay above a cut that spreads the excess evenly over them."""
    import numpy as np

    ranks = np.arange(1, len(falling) + 1)
    return int(np.count_nonzero(falling * ranks > excess)) or 1


def _drop_one_each(above: Array, too_many: int) -> Any:
    """Take one person more from the first bins above the cut: what the integer cut left over.

    Any such bins are equally near in L1 and L2. By position, not by size: a rule by size would favour even or uneven histograms.
    """
    import numpy as np

    if too_many:
        above[np.flatnonzero(above)[:too_many]] -= 1
    return above


# The paper's map V, kept for the record: it loses badly for few people (errata E8, E9).


def round_share(persons: int, shares: Sequence[Fraction]) -> tuple[int, ...]:
    """*persons* divided by *shares* in whole numbers, by largest remainders (erratum E8: ``n p`` is no histogram).

    >>> round_share(8, [Fraction(1, 3)] * 3)
    (3, 3, 2)
    """
    exact = [persons * share for share in shares]
    counts = [int(x) for x in exact]
    order = sorted(range(len(exact)), key=lambda k: (counts[k] - exact[k], k))
    for k in order[: persons - sum(counts)]:
        counts[k] += 1
    return tuple(counts)


def ball_map(noisy: object, *, prior: CountPrior, radius: object = 1) -> Any:
    """The paper's map V: a table within L1 distance ``R n^(2/3)`` of ``n p`` stays, any other becomes ``n p`` (rounded).

    A table inside the ball that is no histogram (possible while ``R n^(2/3) > 2 n min p``, erratum E9) is projected.
    """
    import numpy as np

    table, scale = np.asarray(noisy), read_number(radius, name="radius", error=HistogramError)
    persons = int(table.sum())
    distance = sum(abs(int(x) - persons * share) for x, share in zip(table, prior.means))
    # |g - np|_1 <= R n^(2/3), without a root
    if distance**3 <= scale**3 * persons**2:
        return project(table)
    return np.array(round_share(persons, prior.means), dtype=table.dtype)


# Remaps for tables in which most cells are empty: thresholds, top-fill, and the empirical-Bayes posterior median.
#
# Noise on a million cells adds up to far more than there are people. What undoes it looks at the noisy table alone, so it is
# free. None of these forces people into cells: on a sparse table the median of most cells is 0, and the released counts may add
# up to less than the public total. Whoever is missing has a cell too small to be told from noise.


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


def mapped_values(law: CellLaw, noisy: NoisyValues, *, total: int | None, keep_total: bool) -> Any:
    """A function from the positions of cells among the distinct values to their released counts."""
    counts = law.medians(noisy.values)
    reached = int((counts * noisy.cells).sum())
    if total is None or reached == total or (reached < total and not keep_total):
        return lambda places: counts[places]
    low, high = _around_total(law, noisy, total)
    return lambda places: _exactly(filled_between(low[places], high[places], total), total)


def _exactly(counts: Any, total: int) -> Any:
    """The counts with this total: where no common quantile has it, the tops are cut, or occupied cells raised alike."""
    import numpy as np

    missing = total - int(counts.sum())
    if missing <= 0:
        return project(np.append(counts, missing))[:-1] if missing else counts
    raised = np.flatnonzero(counts) if counts.any() else np.arange(len(counts))
    each, rest = divmod(missing, len(raised))
    counts[raised] += each
    counts[raised[:rest]] += 1
    return counts


def _around_total(law: CellLaw, noisy: NoisyValues, total: int) -> tuple[Any, Any]:
    """The counts at two neighbouring quantiles, between which the total lies."""

    def reached(level: float) -> int:
        return int((law.medians(noisy.values, level=level) * noisy.cells).sum())

    low, high = narrowed(lambda level: reached(level) <= total, 0.0, 1.0, _HALVINGS)
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
