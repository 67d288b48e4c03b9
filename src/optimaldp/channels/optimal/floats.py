"""Kernels, channels and bounds in floats that hold in spite of rounding.

A sum of products of nonnegative floats has a *relative* error of at most ``(terms + 3) · 2^-53``, so every inequality
below is made true by scaling with that much; and channels are built for an ``e^epsilon`` smaller by 1e-12, so that their
floats as they are keep epsilon itself.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.numbers import FloatArray

UNIT = 2.0**-53
MARGIN = 1e-12  # by which e^epsilon is reduced: more than a sum of some thousand floats can be wrong
_SMALLEST = 1e-280  # a cell that underflows to 0 beside one that does not would mean epsilon = ∞; a floor keeps ratios
_NOISE = 1e-15  # weight of a column below which it is dropped: the solver's noise, not an output

IntArray = NDArray[np.int64]


def powers_not_steeper(ratio: Fraction, count: int) -> FloatArray:
    """``ratio^-d`` for d = 0, 1, …, rounded so that no step is steeper than *ratio*: what a channel may use."""
    t = min(float(1 / ratio) * (1 + MARGIN), 1.0)
    # cumprod rounds by 2^-53 a step, and the margin of each step is nine thousand times that
    return np.asarray(np.maximum(np.cumprod(np.concatenate([[1.0], np.full(count - 1, t)])), _SMALLEST))


def powers_not_larger(ratio: Fraction, count: int) -> FloatArray:
    """``ratio^-d`` for d = 0, 1, …, rounded so that none is too large: what a bound may use."""
    t = float(1 / ratio) * (1 - 1e-15)
    # 1e-15 pays for the roundings of t, and the last line for those of the products, twice over
    table = np.cumprod(np.concatenate([[1.0], np.full(count - 1, min(t, 1.0))]))
    return np.asarray(table * (1 - (np.arange(count) + 2) * 2 * UNIT))


def kernel_of(steps: IntArray, powers: FloatArray) -> FloatArray:
    """``Φ`` from whole distances; −1 stands for "nothing joins them"."""
    if steps.min() >= 0:
        return np.asarray(powers[steps])
    return np.where(steps >= 0, powers[steps], 0.0)


def filled_rows(rows: FloatArray, favourite: int, ratio: float) -> FloatArray:
    """Rows that keep every factor and sum to about one made rows that keep it and sum to one.

    All rows are scaled until none exceeds one, and what each lacks goes to one column, after giving up just so much of
    the channel for that column that the differences of those rests keep the factors too.
    """
    size = rows.shape[1]
    # by a little more than the largest sum: rounding must not leave a row above one, whose rest would be negative
    scaled: FloatArray = rows / (float(rows.sum(axis=1).max()) * (1 + 2 * (size + 4) * UNIT))
    rest = 1 - scaled.sum(axis=1)
    most = float(rest.max()) + 2 * size * UNIT
    # With s <= x s' before, the favourite's cells keep x if (1 − g) rest + g <= x g, whatever the rests are: solved for g
    # at the largest rest.
    given_up = most / (ratio * (1 - MARGIN) - 1 + most)
    scaled *= 1 - given_up
    scaled[:, favourite] += given_up + (1 - given_up) * np.maximum(rest, 0)
    return scaled


def not_vanishing(cells: FloatArray) -> FloatArray:
    """Cells kept off the smallest floats: the greater of a column that keeps every factor and a constant keeps them too."""
    return np.maximum(cells, _SMALLEST)


def without_noise(weights: FloatArray) -> FloatArray:
    """Column weights as a solver gave them: negative and tiny ones are none."""
    return np.where(weights > _NOISE, weights, 0.0)


def covering_bound(kernel: FloatArray, potential: FloatArray, masses: FloatArray) -> float:
    """``Σ λ`` after λ was clipped and stretched until ``Φ λ ≥ π`` certainly holds: a bound on every private channel."""
    size = len(masses)
    kept = np.maximum(potential, 0)
    reached = kernel @ kept * (1 - 2 * (size + 4) * UNIT)
    needed = masses > 0
    if (reached[needed] <= 0).any():
        # no stretch covers an answer that is not reached at all; one bounds every utility
        return 1.0
    stretch = float((masses[needed] * (1 + 4 * UNIT) / reached[needed]).max())
    return min(1.0, float(kept.sum()) * stretch * (1 + 2 * (size + 4) * UNIT))
