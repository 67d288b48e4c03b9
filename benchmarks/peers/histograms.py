"""A whole histogram whose total is public: the expected sum of absolute errors, one record replaced."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers import libraries
from benchmarks.peers.noise import laplace_size
from benchmarks.peers.record import Comparison, Estimate, checked, drawn
from optimaldp.histograms import optimal_error, private_histogram

Integers = npt.NDArray[Any]


@dataclass(frozen=True)
class Sizes:
    """Draws of a peer's own code, and of ours where no formula is known."""

    draws: int


FULL = Sizes(draws=1500)
SAMPLE = Sizes(draws=60)
_LARGE = 1000  # people in each bin: no noise reaches 0
# In no order: which bin comes first decides how a left-over person is rounded, and must not tell which bins are large.
_SPARSE = (1, 40, 0, 3, 0, 10, 1, 6, 0, 20, 2, 1, 0, 8, 1, 4, 0, 2, 1, 0)
STUDY = "Histogram with a public total"


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    for bins in (2, 5, 20):
        for epsilon in (0.5, 1.0, 2.0):
            yield from _large(bins, epsilon, sizes.draws)
    yield _sparse(1.0, sizes.draws)


def _large(bins: int, epsilon: float, draws: int) -> Iterator[Comparison]:
    task = f"K = {bins}, ε = {epsilon:g}"
    ours, counts = Estimate(optimal_error(bins, epsilon=epsilon)), [_LARGE] * bins
    if bins == 2:
        yield from _one_count(task, ours, epsilon, draws)
        return
    noisy = libraries.opendp_counts(2 / epsilon)
    fitted = [_size(fit_to_total(np.array(noisy(counts)), sum(counts)) - counts) for _ in range(draws)]
    yield Comparison(STUDY, task, "OpenDP, noisy counts fitted to the total", ours, drawn(fitted))
    value = bins * laplace_size(2 / epsilon)
    for peer, draw in (("OpenDP, noisy counts", noisy), ("diffprivlib, noisy counts", _diffprivlib(epsilon))):
        sizes = [_size(np.array(draw(counts)) - counts) for _ in range(draws // 3)]
        yield Comparison(STUDY, task, peer, ours, checked(value, sizes, peer))


def _one_count(task: str, ours: Estimate, epsilon: float, draws: int) -> Iterator[Comparison]:
    """A replaced record moves one count of two by 1 at most, and the other one follows from the total."""
    value = 2 * laplace_size(1 / epsilon)
    for library, noisy in (
        ("OpenDP", libraries.opendp_count(1 / epsilon)),
        ("diffprivlib", libraries.diffprivlib_count(epsilon, 1)),
    ):
        peer = f"{library}, one noisy count, the other is the rest"
        sizes = [2.0 * abs(noisy(_LARGE) - _LARGE) for _ in range(draws)]
        yield Comparison(STUDY, task, peer, ours, checked(value, sizes, peer))


def _diffprivlib(epsilon: float) -> Callable[[list[int]], list[int]]:
    noisy = libraries.diffprivlib_count(epsilon, 2)
    return lambda counts: [noisy(count) for count in counts]


def _sparse(epsilon: float, draws: int) -> Comparison:
    noisy, counts = libraries.opendp_counts(2 / epsilon), np.array(_SPARSE)
    total = int(counts.sum())
    theirs = [_size(fit_to_total(np.array(noisy(list(_SPARSE))), total) - counts) for _ in range(draws)]
    ours = [_size(np.array(private_histogram(_SPARSE, epsilon=epsilon).counts) - counts) for _ in range(draws)]
    task = f"K = 20, ε = {epsilon:g}, only {total} people, six bins empty"
    return Comparison(STUDY, task, "OpenDP, noisy counts fitted to the total", drawn(ours), drawn(theirs))


def _size(difference: Integers) -> float:
    return float(np.abs(difference).sum())


def fit_to_total(noisy: Integers, total: int) -> Integers:
    """The nearest non-negative numbers (least squares) with this total, rounded to integers by largest remainders.

    >>> fit_to_total(np.array([5, -2, 3]), 6).tolist()
    [4, 0, 2]
    """
    ordered = np.sort(noisy)[::-1].astype(float)
    shifts = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    kept = int(np.flatnonzero(ordered > shifts)[-1])
    real = np.maximum(noisy - shifts[kept], 0.0)
    whole: Integers = np.floor(real + 1e-9).astype(int)
    missing = total - int(whole.sum())
    whole[np.argsort(whole - real, kind="stable")[:missing]] += 1
    assert math.isclose(whole.sum(), total)
    return whole
