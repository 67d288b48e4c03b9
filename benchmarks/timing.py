"""What the time of a draw tells: two tables that should not be told apart, and how often their times are put in order.

AUC is the probability that a draw of the second table takes longer than one of the first (a half for ties): 0.5 tells nothing.
The draws of both alternate, so that the machine's moods meet both alike. With ``answer_after`` the whole release is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.report import Row
from optimaldp.asking.corridor import Clock
from optimaldp.asking.request import read_release_level
from optimaldp.certify.core.referee import certify, draw
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import Neighbours
from optimaldp.questions import parse
from optimaldp.sampling import SystemBits


@dataclass(frozen=True)
class Sizes:
    """How many draws of each table are timed, how many of them wait, and for how long."""

    draws: int
    waited: int
    after: float


FULL = Sizes(draws=300, waited=50, after=0.02)
SAMPLE = Sizes(draws=5, waited=2, after=0.001)

_MANY = 10**6
_MOST_SECONDS = 15.0  # for one row: a histogram with everybody in one bin takes seconds
_PAIRS: dict[str, tuple[str, dict[int, int], dict[int, int]]] = {
    "count, margin 1 and 10^6": ("count(x) >= 1000", {0: 1000, 1: 2 * _MANY}, {0: 1000 + _MANY, 1: _MANY}),
    "winner of 5, tie and far": (
        "winner(c, ['a', 'b', 'c', 'd', 'e'])",
        dict.fromkeys(range(5), 400_000),
        {0: 1_600_000, 1: 100_000, 2: 101_000, 3: 102_000, 4: 97_000},
    ),
    "median of 4 bins, margin 1 and 10^6": (
        "median(v, bins=[0, 18, 40, 65, 120])",
        {0: _MANY, 2: _MANY},
        {1: 2 * _MANY},
    ),
    "median of 78 bins, spread and in one bin": (
        "median(v, range=[0, 78], step=1)",
        dict.fromkeys(range(78), 20_000),
        {40: 78 * 20_000},
    ),
    "mean, margin 1 and 10^6": ("mean(v, range=[1, 5]) >= 3", {2: 2 * _MANY}, {4: 2 * _MANY}),
    "histogram of 3, even and in one": (
        "histogram(c, ['a', 'b', 'c'])",
        dict.fromkeys(range(4), 500_000),
        {0: 2 * _MANY},
    ),
}


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    for name, (text, first, second) in _PAIRS.items():
        level = read_release_level("1")
        tables = [Table(first), Table(second)]
        drawn = certify(parse(text).mechanism(Setting(level, Neighbours.SUBSTITUTION, tables[0].people)))
        source = SystemBits()
        plain = auc(*_times(lambda table: draw(drawn, replace(table), source), tables, sizes.draws))  # noqa: B023
        waited = auc(*_times(lambda table: _waited(drawn, table, source, sizes.after), tables, sizes.waited))  # noqa: B023
        yield Row(f"time of a draw, AUC: {name}", plain, "nothing told", 0.5, "shown", None, "")
        yield Row(f"with answer_after, AUC: {name}", waited, "nothing told", 0.5, "shown", None, "")


def _waited(drawn: Any, table: Table, source: SystemBits, after: float) -> Any:
    clock = Clock(after)
    answer = draw(drawn, replace(table), source)
    clock.wait()
    return answer


def _times(work: Callable[[Table], Any], tables: list[Table], draws: int) -> tuple[list[float], list[float]]:
    taken: tuple[list[float], list[float]] = ([], [])
    draws = max(2, min(draws, int(_MOST_SECONDS / _once(work, tables))))
    for number in range(2 * draws):
        which = number % 2
        start = time.perf_counter()
        work(tables[which])
        taken[which].append(time.perf_counter() - start)
    return taken


def _once(work: Callable[[Table], Any], tables: list[Table]) -> float:
    """Seconds of one draw of each table, after one that warms up."""
    for table in tables:
        work(table)
    start = time.perf_counter()
    for table in tables:
        work(table)
    return time.perf_counter() - start


def auc(first: list[float], second: list[float]) -> float:
    """How often a time of *second* is longer than one of *first*."""
    import numpy as np

    ordered = np.sort(first)
    below = np.searchsorted(ordered, second, side="left")
    upto = np.searchsorted(ordered, second, side="right")
    return float((below + upto).mean() / 2 / len(first))
