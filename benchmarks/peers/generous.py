"""A total whose range is generous: the mean error per person, beside noise on the range and beside two-step experts.

Ours follows from its laws (docs/numbers.md): the edge from the public ladder at 0.3 epsilon, then the staircase on the
clipped sum at 0.7 epsilon. The formula is compared with releases of the product, as a peer's formula is with its own draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt

import optimaldp as odp
from benchmarks.peers import data
from benchmarks.peers.clipping import below, least_loss
from benchmarks.peers.noise import shifted_laplace_size, staircase_beyond
from benchmarks.peers.record import Comparison, Estimate, checked

STUDY = "A total with a generous range: mean error per person"
LAPLACE = "Laplace noise on the given range"
PLAIN = "0.99 quantile, then Laplace, ε/2 each"
EXPONENTIAL = "exponential quantile, then Laplace, best of 168 settings on this table"
THRESHOLD = "AboveThreshold, then Laplace, best of 168 settings on this table"

_EDGE_SHARE, _START = 0.3, 2.5

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """How many releases check our formula, and how many draws of AboveThreshold stand for each setting."""

    releases: int
    draws: int
    tables: int


FULL = Sizes(releases=8, draws=500, tables=6)
SAMPLE = Sizes(releases=2, draws=10, tables=1)


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    for name, values, top in list(_tables())[: sizes.tables]:
        for epsilon in (0.5, 1.0):
            yield from _compared(f"{name}, ε = {epsilon:g}", values, top, epsilon, sizes)


def _tables() -> Iterator[tuple[str, data.Integers, int]]:
    yield "ages in [0, 1000], n = 944", data.ages(), 1000
    yield "visits to a doctor in [0, 1000], n = 20190", data.visits(), 1000
    yield "lognormal incomes in [0, 10⁶], n = 1000", data.lognormal(1000), 10**6
    yield "lognormal incomes in [0, 10⁶], n = 10⁵", data.lognormal(100_000), 10**6
    yield "Pareto in [0, 10⁶], n = 10⁴", data.pareto(10_000), 10**6
    yield "20 of 10,000 at 1000, the rest at 1", data.held_by_few(), 1000


def _compared(task: str, values: data.Integers, top: int, epsilon: float, sizes: Sizes) -> Iterator[Comparison]:
    values = np.minimum(values, top)
    people, total = len(values), int(values.sum())
    ours = _checked(values, top, epsilon, sizes.releases)

    @cache
    def lost(edge: float) -> float:
        return total - float(np.minimum(values, edge).sum())

    def loss(edge: float, left: float) -> float:
        return shifted_laplace_size(edge / left, lost(edge))

    found = least_loss(values, float(top), epsilon, loss, draws=sizes.draws)
    for peer, value in (
        (LAPLACE, loss(float(top), epsilon)),
        (PLAIN, found["plain"]),
        (EXPONENTIAL, found["exponential"]),
        (THRESHOLD, found["AboveThreshold"]),
    ):
        yield Comparison(STUDY, task, peer, ours, Estimate(value / people))


def _checked(values: data.Integers, top: int, epsilon: float, releases: int) -> Estimate:
    import pyarrow

    people, total = len(values), int(values.sum())
    table, question = pyarrow.table({"v": values}), f"sum(v, range='generous', top={top}, step=1)"
    answer = partial(odp.release, table, question, epsilon=epsilon)
    errors = [abs(float(answer().unbiased) - total) / people for _ in range(releases)]
    return checked(expected_error(values, top, epsilon) / people, errors, "optimaldp")


def edges_of(top: int) -> Floats:
    """The public ladder: top over powers of the root of two, rounded up."""
    steps = range(2 * math.ceil(math.log2(top)) + 1)
    return np.unique([math.ceil(top / math.sqrt(2) ** step - 1e-9) for step in steps]).astype(float)


def edge_law(values: data.Integers, edges: Floats, epsilon: float) -> Floats:
    """The smoothed crossing over the ladder: the height of a cut is 2.5/(0.3 ε) less how many people lie above it."""
    level = _EDGE_SHARE * epsilon
    heights = _START / level - (len(values) - below(values, edges[:-1]))
    left, right = [1.0], [1.0]
    for rise in level / 2 * np.diff(heights):
        left.append(1 + left[-1] * math.exp(-rise))
    for rise in level / 2 * np.diff(heights)[::-1]:
        right.append(1 + right[-1] * math.exp(-rise))
    logarithm = level * heights + np.log(left) - np.log(right[::-1])
    tail = np.exp(-np.abs(logarithm)) / 2
    ends = np.append(np.where(logarithm <= 0, tail, 1 - tail), 1.0)
    made: Floats = np.diff(ends, prepend=0.0)
    return made


def expected_error(values: data.Integers, top: int, epsilon: float) -> float:
    edges = edges_of(top)
    losses = [
        staircase_beyond((1 - _EDGE_SHARE) * epsilon, int(edge), int(np.maximum(values - edge, 0).sum()))
        for edge in edges
    ]
    return float(edge_law(values, edges, epsilon) @ losses)
