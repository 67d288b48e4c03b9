"""One row per measurement, one table for all of them.

Times are processor times of one thread each, ours and theirs: other people's work on the machine hardly changes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_IDLE = 0.025  # seconds that an idle core of the smallest machine we aim at takes to add a million numbers in Python


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


def within(task: str, ours: float, seconds: float, *, note: str = "") -> Row:
    """A row whose claim is that *ours* takes at most *seconds* of the smallest machine we aim at.

    A slower machine, or one whose cores share their caches with other work, needs longer, so the limit grows with the time of
    a fixed work that is measured at the same moment.
    """
    pace = max(1.0, best_time(lambda: sum(number for number in range(10**6))) / _IDLE)
    return at_most(task, ours, f"{seconds:g} s, busy × {pace:.2g}", seconds * pace, 1, note=note)


def best_time(work: Callable[[], Any], *, repeats: int = 3) -> float:
    """Processor time of the shortest of several runs: the one that was disturbed least."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)
