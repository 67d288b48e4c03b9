"""One row per measurement, one table for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One measurement: ours against a peer in the same run, and the limit that the ratio should keep."""

    task: str
    ours: float
    peer: str
    theirs: float
    limit: str
    holds: bool | None
    unit: str = "s"
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs if self.theirs else float("nan")


def at_most(task: str, ours: float, peer: str, theirs: float, factor: float, *, unit: str = "s", note: str = "") -> Row:
    """A row whose claim is ``ours <= factor * theirs``."""
    return Row(task, ours, peer, theirs, f"≤ {factor:g} ×", ours <= factor * theirs, unit, note)


def at_least_faster(task: str, ours: float, peer: str, theirs: float, factor: float, *, note: str = "") -> Row:
    """A row whose claim is that we are at least *factor* times faster."""
    return Row(task, ours, peer, theirs, f"≥ {factor:g} × faster", ours * factor <= theirs, "s", note)


def best_time(work: Callable[[], Any], *, repeats: int = 3) -> float:
    """The shortest of several runs: the one that was disturbed least."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
