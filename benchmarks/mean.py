"""A mean above a bound: the signed distance beside Laplace noise on the clipped sum, same epsilon and neighbours.

Laplace noise of scale (hi - lo)/epsilon on the sum of (value - bound), as OpenDP's clamped sum adds it, errs with probability
``e^(-epsilon |S|/(hi - lo))/2``. The signed distance counts the people who would have to change: a generous range costs little.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from benchmarks.report import Row, at_most, best_time, within
from optimaldp.distances.linear import MeanBound
from optimaldp.laws.votes import sides_at
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import precision

_EPSILON = Epsilon.read(1)


@dataclass(frozen=True)
class Sizes:
    """How many different values the distance is timed on."""

    values: int


FULL = Sizes(values=100_000)
SAMPLE = Sizes(values=500)


# name, range, bound, {value: people}
_STUDIES = (
    ("score from 1 to 5, 1,000 people", (1, 5), "3.99", {3: 250, 4: 500, 5: 250}),
    ("income in [0, 10⁶], 1,000 people", (0, 10**6), "49000", {20_000: 450, 60_000: 450, 140_000: 100}),
    ("income in [0, 10⁷], 1,000 people", (0, 10**7), "49000", {20_000: 450, 60_000: 450, 140_000: 100}),
)


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    for name, (low, high), bound, values in _STUDIES:
        question = MeanBound(">=", Fraction(bound), Fraction(low), Fraction(high), Fraction(1))
        counts = {value - low: people for value, people in values.items()}
        distance = question.signed(counts, 0, Neighbours.SUBSTITUTION)
        excess = float(question.excess(counts) * question.unit)
        with precision(64):
            ours = float(sides_at(distance, _EPSILON)[1])
        theirs = math.exp(-abs(excess) / (high - low)) / 2
        yield at_most(f"wrong side, {name}", ours, "Laplace noise on the clipped sum", theirs, 1, unit="", note="ε = 1")
    yield from _latency(sizes.values)


def _latency(values: int) -> Iterator[Row]:
    question = MeanBound(">=", Fraction(500), Fraction(0), Fraction(10**6), Fraction(1))
    counts = {(7919 * k) % 10**6: 1 + k % 3 for k in range(values)}
    taken = best_time(lambda: question.signed(counts, 5, Neighbours.SUBSTITUTION))
    yield within(f"distance of a mean, {values:,} different values", taken, 1)
