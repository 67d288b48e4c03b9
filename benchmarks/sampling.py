"""Exact draws in batches, against a million a second and against numpy's own generator."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from benchmarks.report import Row, at_most, best_time
from optimaldp.privacy.balls import Ball
from optimaldp.sampling import SystemBits, choose, draw_many

_DRAWS = 2_000_000


def rows() -> Iterator[Row]:
    import numpy as np

    five = [Fraction(n, 15) for n in (1, 2, 3, 4, 5)]
    floats = [float(p) for p in five]
    exact = best_time(lambda: draw_many(five, _DRAWS))
    balls = best_time(lambda: draw_many(lambda: [Ball(-1).exp(), 1 - Ball(-1).exp()], _DRAWS))
    numpy = best_time(lambda: np.random.default_rng().choice(5, size=_DRAWS, p=floats))
    yield at_most("2·10⁶ exact draws, rationals", exact, "10⁶ draws a second", _DRAWS / 1e6, 1)
    yield at_most("2·10⁶ exact draws, balls", balls, "10⁶ draws a second", _DRAWS / 1e6, 1)
    yield at_most("2·10⁶ exact draws, rationals", exact, "numpy's choice (inexact)", numpy, 10)
    source = SystemBits()
    single = best_time(lambda: [choose(five, source) for _ in range(1000)]) / 1000
    yield at_most("one exact draw, rationals", single, "target", 1e-3, 1)
