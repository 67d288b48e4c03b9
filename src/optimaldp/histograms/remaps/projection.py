"""The nearest table of counts: a projection in L1, which never increases the error (erratum E10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optimaldp.errors import HistogramError

if TYPE_CHECKING:
    from optimaldp.histograms.arrays import Array


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
