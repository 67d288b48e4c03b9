"""Sums that fade: the one filter behind every posterior of geometric noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optimaldp.histograms.arrays import Array

_NEGLIGIBLE_WEIGHT = 1e-200  # what has faded this far is dropped: arithmetic near the end of the float range is slow


def fading_sums(weights: object, ratio: float) -> Any:
    """``s_x = sum_{y <= x} w_y ratio^(x-y)`` for every x. Sums of nonnegative terms only, so small ones stay accurate.

    By doubling: sums over windows of 1, 2, 4, ... entries, each made of two of the last.

    >>> fading_sums([4.0, 0.0, 1.0], 0.5).tolist()
    [4.0, 2.0, 2.0]
    """
    import numpy as np

    sums = np.array(weights, dtype=float)
    width, faded = 1, ratio
    while width < len(sums) and faded > _NEGLIGIBLE_WEIGHT:
        # The right side is computed before it is added, so that the shifted sums are those of the last width.
        sums[width:] += faded * sums[:-width]
        width, faded = 2 * width, faded * faded
    return sums


def fading_sums_above(weights: Array, ratio: float) -> Any:
    """``s_x = sum_{y >= x} w_y ratio^(y-x)`` for every x."""
    return fading_sums(weights[::-1], ratio)[::-1]
