"""Generated tables of all shapes: the automatic remap beside the best named one, and whether the rows' stated interval holds.

The study has 500 tables of up to a million cells, ten draws each, and takes more than an hour: ``OPTIMALDP_HELD_TABLES=500`` runs
it with its own goals. A run of all benchmarks takes a tenth of the tables, where the worst one is mostly chance and only shown.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.report import Row, at_most
from optimaldp.certify.noise import certify_noise
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.questions.columns import read_columns
from optimaldp.sampling import SystemBits
from optimaldp.sanitising.drawing import draw_table, map_back, noise_for
from optimaldp.sanitising.noisy import NoisyTable
from optimaldp.sanitising.rows import cells_of, generator, placed_codes, rows_error

_SEED = 29
# 172 tables with five draws each had 6.4 % beyond 1.05, not the study's goal of 5 %; of fifty such tables more than eight are
# beyond it once in two hundred runs.
_BY_CHANCE = 0.16
_NAMED = ("projection", "threshold", "empirical-bayes")


@dataclass(frozen=True)
class Sizes:
    """How many tables, how often the noise of each is drawn, and the most cells of one."""

    tables: int
    draws: int
    cells: int


_STUDY = Sizes(tables=500, draws=10, cells=10**6)
_SHORT = Sizes(tables=50, draws=4, cells=10**5)
FULL = _STUDY if os.environ.get("OPTIMALDP_HELD_TABLES") == str(_STUDY.tables) else _SHORT
SAMPLE = Sizes(tables=3, draws=2, cells=100)


@dataclass(frozen=True)
class _Measured:
    """Errors of the rows of one table, on average over draws: by the automatic remap, by the best named one, and of the noise.

    The best named remap is the one that is best on average: whichever was luckiest in a single draw, nobody could have chosen.
    """

    ours: float
    best: float
    raw: float
    missed: float
    """The share of draws whose error is outside of the stated interval."""
    words: str

    @property
    def ratio(self) -> float:
        return (self.ours + 1) / (self.best + 1)  # one person more: an error of 0 is possible


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    random = np.random.default_rng(_SEED)
    measured = [_measure(random, sizes) for _ in range(sizes.tables)]
    worst = max(measured, key=lambda one: one.ratio)
    what = f"rows of {len(measured)} generated tables, {sizes.draws} draws each"
    far = float(np.mean([one.ratio > 1.05 for one in measured]))
    whole = sizes.tables == _STUDY.tables
    most = 0.05 if whole else _BY_CHANCE
    yield at_most(f"{what}: not within 1.05 of the best remap", far, "goal", most, 1, unit="of tables")
    name = f"{what}: the worst beside the best remap"
    if whole:
        yield at_most(name, worst.ours, worst.words, worst.best, 1.15, unit="people")
    else:
        yield Row(name, worst.ours, worst.words, worst.best, "shown", None, "people")
    above = float(np.mean([one.ours > one.raw for one in measured]))
    yield at_most(f"{what}: off by more than raw noise", above, "goal", 0, 1, unit="of tables")
    missed = float(np.mean([one.missed for one in measured]))
    yield at_most(f"{what}: error outside of the stated interval", missed, "goal", 0.07, 1, unit="of draws")


def _measure(random: Any, sizes: Sizes) -> _Measured:
    ways, cells = int(random.integers(1, 6)), 10 ** random.uniform(1, math.log10(sizes.cells))
    values = max(1, round(cells ** (1 / ways)) - 1)
    columns = read_columns({f"c{way}": [str(value) for value in range(values)] for way in range(ways)})
    shape = tuple(column.size for column in columns)
    size = math.prod(shape)
    kind = ("dense", "zipf", "concentrated", "stairs")[random.integers(4)]
    truth = random.multinomial(int(10 ** random.uniform(2, 4.3)), _chances(kind, shape, random))
    epsilon = Epsilon.read(f"{10 ** random.uniform(-0.7, 0.5):.2f}")
    relation = (Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE)[random.integers(2)]
    noise = certify_noise(noise_for(size, epsilon, relation), cells=size, epsilon=epsilon, neighbours=relation)
    occupied = {int(cell): int(truth[cell]) for cell in np.flatnonzero(truth)}

    def off_by(noisy: NoisyTable, remap: str) -> tuple[float, bool]:
        drawn = map_back(noisy, noise.mechanism, remap=remap)
        codes = placed_codes(noisy, drawn.counts, drawn.unplaced, generator(1))
        error = float(np.abs(cells_of(codes, shape) - truth).sum())
        if remap != "automatic":
            return error, True
        assert drawn.judge is not None
        low, high = rows_error(drawn.judge, noisy, drawn.counts, codes)[1]
        return error, low <= error <= high

    def draw() -> tuple[float, ...]:
        noisy = draw_table(occupied, columns, noise, SystemBits())
        ours, covered = off_by(noisy, "automatic")
        named = (off_by(noisy, remap)[0] for remap in _NAMED)
        return (float(np.abs(noisy.dense - truth).sum()), not covered, ours, *named)

    raw, missed, ours, *named = np.mean([draw() for _ in range(sizes.draws)], axis=0)
    words = f"{kind}, {ways} columns, {size:,} cells, {relation.value}, epsilon {epsilon}"
    return _Measured(ours, min(named), raw, missed, words)


def _chances(kind: str, shape: tuple[int, ...], random: Any) -> Any:
    """Shares of cells: of independent columns, or of cells in any order."""
    if random.random() < 0.5:
        return random.permutation(_shares(kind, math.prod(shape)))
    chances = np.ones(())
    for size in shape:
        chances = np.multiply.outer(chances, random.permutation(_shares(kind, size)))
    return chances.reshape(-1)


def _shares(kind: str, size: int) -> Any:
    ranks = np.arange(1, size + 1)
    shares = {
        "dense": np.ones(size),
        "zipf": ranks**-1.2,
        "concentrated": np.where(ranks <= max(1, size // 10), 1.0, 1e-4),
        "stairs": np.where(ranks <= size / 4, 4.0, np.where(ranks <= size / 2, 2.0, 1.0)),
    }[kind]
    return shares / shares.sum()
