"""Exact draws in batches, against a million a second and against numpy's own generator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from benchmarks.report import Row, at_most, best_time, within
from optimaldp.privacy.balls import Ball
from optimaldp.sampling import SystemBits, choose
from optimaldp.sampling.batch import draw_many


@dataclass(frozen=True)
class Sizes:
    """How many draws at once."""

    draws: int


FULL = Sizes(draws=2_000_000)
SAMPLE = Sizes(draws=2_000)


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    draws = sizes.draws
    import numpy as np

    five = [Fraction(n, 15) for n in (1, 2, 3, 4, 5)]
    floats = [float(p) for p in five]
    exact = best_time(lambda: draw_many(five, draws))
    balls = best_time(lambda: draw_many(lambda: [Ball(-1).exp(), 1 - Ball(-1).exp()], draws))
    numpy = best_time(lambda: np.random.default_rng().choice(5, size=draws, p=floats))
    yield within(f"{draws:,} exact draws, rationals", exact, draws / 1e6)
    yield within(f"{draws:,} exact draws, balls", balls, draws / 1e6)
    yield at_most(f"{draws:,} exact draws, rationals", exact, "numpy's choice (inexact)", numpy, 10)
    source = SystemBits()
    single = best_time(lambda: [choose(five, source) for _ in range(1000)]) / 1000
    yield within("one exact draw, rationals", single, 1e-3)
