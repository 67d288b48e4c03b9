"""Graphs with hundreds or thousands of answers: the closed forms in floats, with bounds that hold in spite of rounding.

Sums of products of nonnegative floats have a *relative* error of at most ``(terms + 3) · 2^-53``, so every inequality
below is made true by scaling with that much; and the channel is built for an epsilon smaller by 1e-12, so that its
floats as they are keep epsilon itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.channel import Channel
from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.numbers import Number
from optimaldp.channels.optimal.proofs import Proof, UniformPotentialProof
from optimaldp.errors import ChannelError
from optimaldp.privacy.epsilon import Epsilon

FloatArray = NDArray[np.float64]
_UNIT = 2.0**-53
_SMALLEST = (
    1e-280  # a cell that underflows to 0 next to one that does not would mean epsilon = ∞; a floor keeps every ratio
)


@dataclass(frozen=True)
class LargeForm:
    """Rows in floats, utility and bound rounded outwards, and the proof where it is a short one."""

    rows: FloatArray
    utility: float
    upper_bound: Number
    route: str
    proof: Proof | None


@dataclass(frozen=True)
class RingProfile:
    """An optimal mechanism on a ring, as the one row that all rows are rotations of."""

    size: int
    epsilon: Epsilon
    utility: Fraction
    upper_bound: Fraction
    cells: FloatArray
    """The probability of each answer by its distance around the ring."""

    def row(self, answer: int) -> FloatArray:
        """The distribution of one answer (floats)."""
        return np.roll(self.cells, answer)

    def channel(self) -> Channel:
        """The whole matrix; for thousands of answers it is large."""
        return Channel(np.stack([self.row(y) for y in range(self.size)]))


def ring_profile(size: int, epsilon: Any) -> RingProfile:
    """The optimal mechanism on a ring of *size* answers, uniform prior, binary gain: by symmetry one row says it all.

    Odd and even rings alike (erratum F17): ``e^(−epsilon d)/s`` with s the sum over the ring.

    >>> ring_profile(6, "ln(2)").utility
    Fraction(8, 21)
    """
    read = Epsilon.read(epsilon)
    if size < 3 or read.infinite:
        raise ChannelError("ring", (size, str(read)), "needs 3 or more answers and a finite epsilon")
    low, high = read.ratio_below(bits=64), read.ratio_above(bits=64)
    around = np.minimum(np.arange(size), size - np.arange(size))
    weights = _powers(low, size // 2 + 1, round_up=True)[around]
    return RingProfile(size, read, 1 / _ring_sum(size, 1 / low), 1 / _ring_sum(size, 1 / high), weights / weights.sum())


def _ring_sum(size: int, t: Fraction) -> Fraction:
    half = (size - 1) // 2
    if t == 1:
        return Fraction(size)
    # 1 + 2 (t + … + t^half), and once more t^(n/2) for the answer opposite on an even ring
    total = 1 + 2 * t * (1 - t**half) / (1 - t)
    return total if size % 2 else total + t ** (size // 2)


def _powers(ratio: Fraction, count: int, *, round_up: bool) -> FloatArray:
    """``ratio^-d`` for d = 0, 1, …: rounded so that no step is steeper than *ratio* (up),
    or that none is too large (down).
    """
    t = float(1 / ratio) * (1 + 1e-12 if round_up else 1 - 1e-15)
    table: FloatArray = np.cumprod(np.concatenate([[1.0], np.full(count - 1, min(t, 1.0))]))
    if round_up:
        return np.asarray(np.maximum(table, _SMALLEST))
    return np.asarray(table * (1 - (np.arange(count) + 2) * 2 * _UNIT))


def large_form(graph: AnswerGraph, epsilon: Epsilon, prior: tuple[Fraction, ...]) -> LargeForm:
    """The closed form on a large plain graph:
    constant sums exactly, anything else by two dense solves and rigorous bounds.
    """
    if not graph.plain:
        raise ChannelError(
            "graph",
            f"{len(graph.vertices)} vertices",
            "has edge lengths and is too large for exact arithmetic",
            "use fewer vertices",
        )
    distances = graph.distances
    finite = np.where(np.isfinite(distances), distances, -1).astype(np.int64)
    longest = int(finite.max())
    if len(set(prior)) == 1 and (borders := _common_borders(finite, longest)) is not None:
        return _constant_sum(finite, longest, borders, epsilon)
    kernel = _kernel(finite, _powers(epsilon.ratio_below(bits=64), longest + 1, round_up=True))
    masses = np.array([float(p) for p in prior])
    solved = np.linalg.solve(kernel, np.column_stack([np.ones(len(masses)), masses]))
    below = _kernel(finite, _powers(epsilon.ratio_above(bits=64), longest + 1, round_up=False))
    rows = _private_rows(kernel, solved[:, 0], masses, float(epsilon.ratio_below(bits=64)))
    utility = float(masses @ np.diag(rows)) * (1 - 2 * len(masses) * _UNIT)
    return LargeForm(rows, utility, min(1.0, _dual_bound(below, solved[:, 1], masses)), "closed-form", None)


def _kernel(finite: NDArray[np.int64], table: FloatArray) -> FloatArray:
    if finite.min() >= 0:
        return table[finite]
    kernel: FloatArray = np.where(finite >= 0, table[finite], 0.0)
    return kernel


def _common_borders(finite: NDArray[np.int64], longest: int) -> list[int] | None:
    """The numbers of answers at each distance, if every answer has the same."""
    size = len(finite)
    keys = np.where(finite >= 0, finite, longest + 1) + np.arange(size)[:, None] * (longest + 2)
    counts = np.bincount(keys.ravel(), minlength=size * (longest + 2)).reshape(size, -1)
    return counts[0, : longest + 1].tolist() if (counts == counts[0]).all() else None


def _constant_sum(finite: NDArray[np.int64], longest: int, borders: list[int], epsilon: Epsilon) -> LargeForm:
    kernel = _kernel(finite, _powers(epsilon.ratio_below(bits=64), longest + 1, round_up=True))
    rows = kernel / kernel[0].sum()
    proof = UniformPotentialProof(tuple(borders), 1 / epsilon.ratio_above(bits=64))
    return LargeForm(rows, float(rows[0, 0]) * (1 - 2 * len(rows) * _UNIT), proof.bound(), "constant-sum", proof)


def _private_rows(kernel: FloatArray, diagonal: FloatArray, masses: FloatArray, ratio: float) -> FloatArray:
    """``Φ·diag(D)`` with D clipped and scaled so that no row exceeds one,
    and the rest spread without hurting privacy.
    """
    size = len(kernel)
    kept = np.where(diagonal > 1e-15, diagonal, 0.0)
    sums = kernel @ kept
    scaled = kept / (float(sums.max()) * (1 + 2 * (size + 4) * _UNIT))
    rows = kernel * scaled
    rest = 1 - rows.sum(axis=1)
    most = float(rest.max()) + 2 * size * _UNIT
    given_up = most / (ratio * (1 - 1e-12) - 1 + most)
    rows *= 1 - given_up
    rows[:, int(masses.argmax())] += given_up + (1 - given_up) * np.maximum(rest, 0)
    return rows


def _dual_bound(kernel: FloatArray, potential: FloatArray, masses: FloatArray) -> float:
    """``Σ λ`` after λ was clipped and stretched until ``Φ λ ≥ π`` certainly holds."""
    size = len(masses)
    kept = np.maximum(potential, 0)
    reached = kernel @ kept * (1 - 2 * (size + 4) * _UNIT)
    short = masses > 0
    if (reached[short] <= 0).any():
        return 1.0
    stretch = float((masses[short] * (1 + 4 * _UNIT) / reached[short]).max())
    return float(kept.sum()) * stretch * (1 + 2 * (size + 4) * _UNIT)
