"""Who wins? The flip envelope against the linear program's optimum, permute-and-flip and the exponential mechanism.

The data are *n* votes that fall on *K* options independently and uniformly, the hardest public case; the figure is the average
probability that a loser is announced. The optimum is over all epsilon-DP mechanisms for that average, by HiGHS on elections up to
relabelling.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from benchmarks.report import Row, at_most, best_time, within
from optimaldp.laws.winner import (
    ball_power,
    draw_winner,
    enclosed_probabilities,
    permute_and_flip_probabilities,
    winner_claim,
)
from optimaldp.privacy import Neighbours, level
from optimaldp.privacy.balls import precision
from optimaldp.sampling import SystemBits

Election = tuple[int, ...]


@dataclass(frozen=True)
class Sizes:
    """Options, people and epsilon of each study, and how many options a winner is drawn from."""

    studies: tuple[tuple[int, int, float], ...]
    options: int


FULL = Sizes(((3, 30, 1), (3, 30, 2), (5, 20, 0.5), (5, 30, 1), (5, 20, 2)), options=10_000)
SAMPLE = Sizes(((3, 6, 1),), options=100)

_SLACK = 1.001  # the linear program is solved to about seven digits; four of them are compared


@lru_cache(maxsize=32)
def elections(options: int, persons: int) -> tuple[Election, ...]:
    """Every election up to the names of the options, in descending order."""

    def below(places: int, left: int, most: int) -> Iterator[Election]:
        if places == 0:
            if left == 0:
                yield ()
            return
        for first in range(min(left, most), -1, -1):
            for rest in below(places - 1, left - first, first):
                yield (first, *rest)

    return tuple(below(options, persons, persons))


def weight(counts: Election) -> float:
    """How likely an election like this one is when every vote is uniform."""
    ways = math.factorial(sum(counts)) * math.factorial(len(counts))
    for count, times in Counter(counts).items():
        ways //= math.factorial(times) * math.factorial(count) ** times
    return ways / float(len(counts)) ** sum(counts)


def average_error(options: int, persons: int, row: Callable[[Election], Sequence[Any]]) -> float:
    """The probability that a loser is announced, averaged over elections."""
    return sum(
        weight(c) * sum(float(p) for p, count in zip(row(c), c) if count < c[0]) for c in elections(options, persons)
    )


def exponential(counts: Election, epsilon: float) -> list[float]:
    scores = [math.exp(epsilon * (count - counts[0]) / 2) for count in counts]
    return [score / sum(scores) for score in scores]


def least_error(options: int, persons: int, epsilon: float) -> float:
    """The least average error of any epsilon-DP mechanism (substitution), by linear programming."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    states = elections(options, persons)
    columns = {(c, height): i for i, (c, height) in enumerate((c, h) for c in states for h in dict.fromkeys(c))}
    sums = [(row, columns[c, h], times) for row, c in enumerate(states) for h, times in Counter(c).items()]
    ratios = sorted({pair for c in states for pair in _constraints(c, columns)})
    cost = [weight(c) * Counter(c)[h] if h < c[0] else 0.0 for c, h in columns]
    upper = csr_matrix(
        (
            [1.0, -math.exp(epsilon)] * len(ratios),
            ([i for i in range(len(ratios)) for _ in "pq"], [index for pair in ratios for index in pair]),
        ),
        shape=(len(ratios), len(columns)),
    )
    rows, indices, times = zip(*sums)
    equal = csr_matrix((times, (rows, indices)), shape=(len(states), len(columns)))
    solved = linprog(cost, A_ub=upper, b_ub=[0] * len(ratios), A_eq=equal, b_eq=[1] * len(states), method="highs-ipm")
    return float(solved.fun)


def _constraints(counts: Election, columns: dict[tuple[Election, int], int]) -> Iterator[tuple[int, int]]:
    """Pairs (p, q) with ``p <= e^epsilon q``: one option before and after one vote was changed."""
    for giver, held in enumerate(counts):
        for taker in range(len(counts)):
            if held and giver != taker:
                after = [c - (i == giver) + (i == taker) for i, c in enumerate(counts)]
                there = tuple(sorted(after, reverse=True))
                for before, now in zip(counts, after):
                    p, q = columns[counts, before], columns[there, now]
                    yield from ((p, q), (q, p))


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    for options, persons, epsilon in sizes.studies:
        yield from _accuracy(options, persons, epsilon)
    yield from _latency(sizes.options)


def _accuracy(options: int, persons: int, epsilon: float) -> Iterator[Row]:
    claim = winner_claim(options, level(epsilon))
    with precision(64):
        power = ball_power(claim.epsilon)
        ours = average_error(options, persons, lambda c: enclosed_probabilities(c, claim))
        flip = average_error(
            options, persons, lambda c: permute_and_flip_probabilities(c, power, Neighbours.SUBSTITUTION)
        )
    task = f"wrong winner, {options} options, n = {persons}, ε = {epsilon:g}"
    best = least_error(options, persons, epsilon)
    yield at_most(task, ours, "LP optimum (HiGHS)", best, _SLACK, unit="", note=str(claim.mode))
    yield at_most(task, ours, "permute-and-flip", flip, 1, unit="")
    worse = average_error(options, persons, lambda c: exponential(c, epsilon))
    yield at_most(task, ours, "exponential mechanism", worse, 1, unit="")


def _latency(options: int) -> Iterator[Row]:
    source = SystemBits()
    billion = [500_000_000, 499_999_990, 100, 5, 3]
    many = [(7919 * i) % 1000 for i in range(options)]

    def drawn(counts: Sequence[int], epsilon: float, times: int) -> float:
        promise = level(epsilon)

        def work() -> list[int]:
            return [draw_winner(counts, promise, "substitution", source) for _ in range(times)]

        work()
        return best_time(work, repeats=5) / times

    yield within("draw a winner, 5 options, n = 10⁹", drawn(billion, 0.1, 20), 1e-3)
    yield within("draw a winner, 3 options, n = 735", drawn([303, 298, 134], 1, 20), 1e-3)
    yield within(f"draw a winner, {options:,} options", drawn(many, 0.1, 1), 0.1, note="permute-and-flip")
