"""Tables of mostly empty cells: the sum of errors beside thresholds, empirical Bayes and OpenDP with delta; the time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.report import Row, at_most, best_time, within
from optimaldp.errors import MissingExtraError
from optimaldp.histograms import private_histogram, sparse_noise
from optimaldp.histograms.remaps.choosing import learned_judge
from optimaldp.histograms.remaps.projection import threshold

_PEOPLE = 10_000
_DELTA = 1e-6
_LIMIT = 1.3


@dataclass(frozen=True)
class Sizes:
    """How many cells of a table, and how many occupied ones of a table that is never listed."""

    cells: tuple[int, ...]
    occupied: int


FULL = Sizes(cells=(10**4, 10**5, 10**6), occupied=10_000)
SAMPLE = Sizes(cells=(1000,), occupied=20)


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    random = np.random.default_rng(20)
    for cells in sizes.cells:
        for name, shape in (("zipf", _zipf), ("concentrated", _concentrated)):
            truth = shape(cells, random)
            for neighbours in ("substitution", "add-remove"):
                yield _error_row(cells, name, truth, neighbours)
            yield _opendp_row(cells, name, truth)
    yield _table_time(sizes.cells[-1])
    yield _sparse_time(sizes.occupied)


def _zipf(cells: int, random: Any) -> Any:
    shares = 1 / np.arange(1, cells + 1) ** 1.2
    return random.permutation(random.multinomial(_PEOPLE, shares / shares.sum()))


def _concentrated(cells: int, random: Any) -> Any:
    table = np.zeros(cells, dtype=np.int64)
    table[random.choice(cells, 100, replace=False)] = random.multinomial(_PEOPLE, np.full(100, 0.01))
    return table


def _error_row(cells: int, name: str, truth: Any, neighbours: str) -> Row:
    release = private_histogram(truth, epsilon=1, neighbours=neighbours)
    shared = neighbours == "substitution"
    noisy, ratio = np.array(release.noisy), math.exp(-0.5 if shared else -1.0)
    rivals = {
        "threshold": threshold(noisy, ratio=ratio),
        "empirical Bayes": _empirical_bayes(noisy, ratio, _PEOPLE if shared else None),
    }
    errors = {rival: float(np.abs(counts - truth).sum()) for rival, counts in rivals.items()}
    best = min(errors, key=errors.__getitem__)
    ours = float(np.abs(np.array(release.counts) - truth).sum())
    note = f"remap: {release.remap}; expected {release.expected_error():.0f}"
    task = f"sum of errors, {name}, {cells:,} cells, {neighbours}, epsilon 1"
    return at_most(
        task, ours, f"better of threshold and empirical Bayes: {best}", errors[best], _LIMIT, unit="people", note=note
    )


def _empirical_bayes(noisy: Any, ratio: float, total: int | None) -> Any:
    judge = learned_judge(noisy, ratio=ratio, total=total)
    assert judge is not None
    return judge.medians()


def _opendp_row(cells: int, name: str, truth: Any) -> Row:
    """OpenDP keeps cells above a threshold and spends delta for it; ours has pure epsilon. No limit: the promises differ."""
    ours = private_histogram(truth, epsilon=1, neighbours="add-remove")
    occupied = {int(cell): int(truth[cell]) for cell in np.flatnonzero(truth)}
    kept = _opendp_threshold()(occupied)
    shown = np.zeros(cells, dtype=np.int64)
    for cell, people in kept.items():
        shown[cell] = people
    error = float(np.abs(np.array(ours.counts) - truth).sum())
    task = f"sum of errors, {name}, {cells:,} cells, add-remove, pure epsilon 1"
    peer = f"OpenDP, Laplace threshold, epsilon 1 and delta {_DELTA:g}"
    return Row(task, error, peer, float(np.abs(shown - truth).sum()), "-", None, "people", "theirs spends delta")


def _opendp_threshold() -> Callable[[dict[int, int]], dict[int, int]]:
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError:
        raise MissingExtraError("opendp", "peers") from None
    dp.enable_features("contrib")
    space = (
        dp.map_domain(dp.atom_domain(T=int), dp.atom_domain(T=int)),
        dp.l01inf_distance(dp.absolute_distance(T=int)),
    )
    # The least threshold that keeps delta for one person more or less.
    limit = next(t for t in range(2, 100) if _delta(dp, space, t) <= _DELTA)
    measurement: Callable[[dict[int, int]], dict[int, int]] = dp.m.make_laplace_threshold(
        *space, scale=1.0, threshold=limit
    )
    return measurement


def _delta(dp: Any, space: Any, limit: int) -> float:
    return float(dp.m.make_laplace_threshold(*space, scale=1.0, threshold=limit).map((1, 1, 1))[1])


def _table_time(cells: int) -> Row:
    truth = _zipf(cells, np.random.default_rng(21)).tolist()
    ours = best_time(lambda: private_histogram(truth, epsilon=1), repeats=1)
    return within(f"release of {cells:,} cells, noise, remap and all", ours, 10)


def _sparse_time(cells: int) -> Row:
    occupied = {cell * 10**8: 20 for cell in range(cells)}
    noise = sparse_noise(10**12, epsilon=1)
    noise.sample({})  # plans and certifies once
    ours = best_time(lambda: noise.sample(occupied), repeats=2)
    return within(f"exact noise on 10^12 cells, {cells:,} of them occupied", ours, 2)
