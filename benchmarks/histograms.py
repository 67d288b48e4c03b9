"""Histograms against OpenDP's exact discrete Laplace: the error at the same level and neighbours, and the speed of the noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.report import Row, at_least_faster, at_most, best_time, within
from optimaldp.errors import MissingExtraError
from optimaldp.histograms import (
    finite_optimum,
    histogram_noise,
    many_bins_error,
    optimal_error,
    private_histogram,
    read_prior,
    two_bin_optimum,
)
from optimaldp.histograms.remaps.bayes import bayes_remap
from optimaldp.privacy import Epsilon
from optimaldp.sampling import SystemBits

_EPSILONS = (0.5, 1.0, 2.0)
_SIGMAS = 6  # a correct sampler exceeds its limit with probability 1e-9


@dataclass(frozen=True)
class Sizes:
    """How many bins are compared, by how many draws; how many bins are timed; people in two bins, few and many."""

    bins: tuple[int, ...]
    draws: int
    timed: int
    people: tuple[int, int]


FULL = Sizes(bins=(2, 3, 5, 10, 100), draws=3000, timed=10**6, people=(60, 10_000))
SAMPLE = Sizes(bins=(2, 3), draws=30, timed=1000, people=(6, 50))


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    for epsilon in _EPSILONS:
        for bins in sizes.bins:
            yield _error_row(bins, epsilon, sizes.draws)
    yield _speed_row(sizes.timed)
    yield _release_row()
    yield _bayes_row()
    yield _two_bins_row(*sizes.people)


def _error_row(bins: int, epsilon: float, draws: int) -> Row:
    """Expected L1 error, measured over draws; for a replaced record OpenDP's sensitivity is 2, so its scale is 2/epsilon."""
    noise, bits = histogram_noise(bins, epsilon=epsilon), SystemBits()
    ours = [int(np.abs(noise.sample(bits)).sum()) for _ in range(draws)]
    drawn = np.abs(np.array(_opendp_laplace(2 / epsilon)([0] * (bins * draws))))
    theirs = drawn.reshape(draws, bins).sum(axis=1)
    spread = math.hypot(np.std(ours) / np.mean(ours), np.std(theirs) / np.mean(theirs)) / math.sqrt(draws)
    theory = optimal_error(bins, epsilon=epsilon) / many_bins_error(bins, epsilon=epsilon)
    peer = f"OpenDP discrete Laplace, scale {2 / epsilon:g}"
    task = f"expected L1 error, {bins} bins, epsilon {epsilon:g}"
    note = f"exact ratio {theory:.3f}; record replaced; ours keeps the total"
    limit = round(theory * (1 + _SIGMAS * spread), 3)
    return at_most(task, float(np.mean(ours)), peer, float(np.mean(theirs)), limit, unit="persons", note=note)


def _speed_row(bins: int) -> Row:
    noise, peer = histogram_noise(bins, epsilon=1), _opendp_laplace(2.0)
    zeros = [0] * bins
    theirs = best_time(lambda: peer(zeros), repeats=1)
    ours = best_time(lambda: noise.sample(), repeats=3)
    return at_least_faster(f"exact noise for {bins:,} bins", ours, "OpenDP vector discrete Laplace", theirs, 20)


def _release_row() -> Row:
    counts = [5, 0, 12, 3]
    peer = _opendp_laplace(2.0)
    ours = best_time(lambda: [private_histogram(counts, epsilon=1) for _ in range(100)]) / 100
    theirs = best_time(lambda: [peer(counts) for _ in range(100)]) / 100
    note = "ours also certifies, projects and keeps the total"
    return Row("one release, 4 bins", ours, "OpenDP vector discrete Laplace", theirs, "-", None, "s", note)


def _bayes_row() -> Row:
    level, prior = Epsilon.read(1), read_prior("uniform", 100)
    assert prior is not None
    noisy = np.full(100, 10) + histogram_noise(100, epsilon=1).sample()
    ours = best_time(lambda: bayes_remap(noisy, epsilon=level, prior=prior))
    return within("Bayes remap, 100 bins, 1000 persons", ours, 1)


def _two_bins_row(few: int, many: int) -> Row:
    ours = best_time(lambda: two_bin_optimum(few, epsilon="ln(2)"))
    theirs = best_time(lambda: finite_optimum(2, few, epsilon="ln(2)"), repeats=1)
    large = best_time(lambda: two_bin_optimum(many, epsilon="ln(2)"), repeats=1)
    note = f"{many:,} people without a program: {large:.2g} s"
    return at_least_faster(
        f"least error, 2 bins, {few} persons", ours, "linear program (HiGHS, proven)", theirs, 20, note=note
    )


def _opendp_laplace(scale: float) -> Any:
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError:
        raise MissingExtraError("opendp", "peers") from None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return dp.m.make_laplace(*space, scale=scale)
