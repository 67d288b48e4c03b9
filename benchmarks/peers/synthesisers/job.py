"""What every program here is told and writes: a file of codes in, files of codes out. Plain Python, no library of ours."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Job:
    """A table of codes with its public domain, a level, and how many synthetic tables to make of it."""

    data: str
    domain: dict[str, int]
    """The number of values of each column: the codes 0, 1, ..."""
    rows: int
    algorithm: str
    epsilon: float
    delta: float
    draws: int
    output: str


def run(make: Callable[[Job], Any]) -> None:
    """Read the job, make the tables, and write each as a CSV. *make* gives a pandas or polars table of codes."""
    job = Job(**json.loads(Path(sys.argv[1]).read_text("utf-8")))
    for draw in range(job.draws):
        made, path = make(job), Path(f"{job.output}-{draw}.csv")
        unfinished = path.with_suffix(".part")  # whoever stops this program finds whole files only
        made.write_csv(unfinished) if hasattr(made, "write_csv") else made.to_csv(unfinished, index=False)
        unfinished.replace(path)


def concentrated(epsilon: float, delta: float) -> float:
    """The largest rho whose zero-concentrated privacy is (epsilon, delta): Canonne, Kamath and Steinke 2020, Proposition 12."""
    low, high = 0.0, epsilon + 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(middle, epsilon) <= delta else (low, middle)
    return low


def _delta(rho: float, epsilon: float) -> float:
    orders = (1 + 1.02**step * 1e-3 for step in range(700))
    logarithms = ((a - 1) * (a * rho - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1) for a in orders)
    return math.exp(min(0.0, *logarithms))
