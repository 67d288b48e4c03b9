"""A mean above a bound: the probability of the wrong side, beside noise on the clipped sum and beside two-step experts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from benchmarks.peers import libraries
from benchmarks.peers.clipping import least_loss
from benchmarks.peers.noise import laplace_tail
from benchmarks.peers.record import Comparison, Estimate, checked
from optimaldp.distances.linear import MeanBound
from optimaldp.laws.votes import sides_at
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import precision

MEAN = "Mean above a bound"
CLIPPED = "best of 336 private clips on this table, then integer Laplace"


@dataclass(frozen=True)
class Sizes:
    """Draws of a peer's own code, and of AboveThreshold for each setting."""

    draws: int
    clips: int


FULL = Sizes(draws=2000, clips=4000)
SAMPLE = Sizes(draws=50, clips=20)
# name, range, bound, {value: people}
_TABLES = (
    ("scores from 1 to 5, 1,000 people, bound 3.99", (1, 5), "3.99", {3: 250, 4: 500, 5: 250}),
    ("incomes in [0, 10⁶], 1,000 people, bound 49,000", (0, 10**6), "49000", {20_000: 450, 60_000: 450, 140_000: 100}),
    (
        "incomes in [0, 2·10⁵], 1,000 people, bound 49,000",
        (0, 200_000),
        "49000",
        {20_000: 450, 60_000: 450, 140_000: 100},
    ),
)


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    for epsilon in (0.5, 1.0):
        for name, ends, bound, values in _TABLES:
            yield from _compared(f"{name}, ε = {epsilon:g}", ends, Fraction(bound), values, epsilon, sizes)


def _compared(
    task: str, ends: tuple[int, int], bound: Fraction, values: dict[int, int], epsilon: float, sizes: Sizes
) -> Iterator[Comparison]:
    """The peer clips to the range, adds integer Laplace noise of scale (high - low)/ε to the sum and compares."""
    low, high = ends
    question = MeanBound(">=", bound, Fraction(low), Fraction(high), Fraction(1))
    counts = {value - low: people for value, people in values.items()}
    with precision(64):
        distance = question.signed(counts, 0, Neighbours.SUBSTITUTION)
        ours = Estimate(float(sides_at(distance, Epsilon.read(epsilon))[1]))
    people = sum(values.values())
    total, needed = sum(value * number for value, number in values.items()), int(-(-bound * people // 1))
    noisy = libraries.opendp_count((high - low) / epsilon)
    peer = "OpenDP integer Laplace on the clipped sum"
    value = laplace_tail((high - low) / epsilon, total - needed + 1)
    draws = [float(noisy(total) < needed) for _ in range(sizes.draws)]
    yield Comparison(MEAN, task, peer, ours, checked(value, draws, peer), "signed distance")
    if low == 0:
        listed = np.repeat(list(values), list(values.values()))

        @cache
        def clipped(edge: float) -> int:
            return int(np.minimum(listed, edge).sum())

        def wrong(edge: float, left: float) -> float:
            return laplace_tail(edge / left, clipped(edge) - needed + 1)

        found = least_loss(listed, float(high), epsilon, wrong, draws=sizes.clips)
        least = min(found["exponential"], found["AboveThreshold"])
        yield Comparison(MEAN, task, CLIPPED, ours, Estimate(least), "signed distance")
