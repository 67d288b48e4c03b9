"""The referee's time for a question that it has not seen: processor time, against the limit of 50 milliseconds.

Every kind is asked twice in a process of its own. The first time pays for what is examined once in each process (the code that
draws noise, quantiles and lists of leaders); the second question differs in its level and number of people.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.report import Row, within

_LIMIT = 0.05
_LIMIT_OF_DRAWS = 0.08
"""Once for each process: a histogram is drawn 48 times of made-up tables, every cell added up anew, and a list 404 times."""
_OPTIONS = [f"o{place}" for place in range(40)]
_BINS = "bins=[0, 18, 40, 65, 120]"
_QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "majority": ("majority(x)", {}),
    "share among": ("share(x among y) >= 0.3", {"people": None}),
    "two thresholds": ("count(x) >= 100 and share(y) >= 0.3", {}),
    "three thresholds": ("count(x) >= 100 or share(y) >= 0.3 or share(z among w) > 0.1", {}),
    "two groups": ("share(x among a) > share(x among b) + 0.02", {}),
    "mean": ("mean(v, range=[1, 5]) >= 3.5", {}),
    "winner of 3": (f"winner(c, {_OPTIONS[:3]})", {}),
    "winner of 7, delta": (f"winner(c, {_OPTIONS[:7]})", {"delta": "1e-6"}),
    "winner of 40": (f"winner(c, {_OPTIONS})", {}),
    "winner of 3, levels": (f"winner(c, {_OPTIONS[:3]})", {"levels": True}),
    "winner of 7, levels": (f"winner(c, {_OPTIONS[:7]})", {"levels": True}),
    "share, levels": ("share(x) >= 0.3", {"levels": True}),
    "mean, levels": ("mean(v, range=[1, 5]) >= 3.5", {"levels": True}),
    "median of 4 bins": (f"median(v, {_BINS})", {}),
    "median of 78 bins": ("median(v, range=[0, 78], step=1)", {}),
    "median, add/remove": (f"median(v, {_BINS})", {"people": None}),
    "quartiles": (f"quantiles(v, [0.25, 0.5, 0.75], {_BINS})", {}),
    "histogram of 3": (f"histogram(c, {_OPTIONS[:3]})", {}),
    "histogram, add/remove": (f"histogram(c, {_OPTIONS[:3]})", {"people": None}),
    "histogram, levels": (f"histogram(c, {_OPTIONS[:3]})", {"levels": True}),
    "keys": ("keys(c)", {"delta": "1e-6"}),
    "top 2 of 4": (f"top(c, 2, {_OPTIONS[:4]})", {}),
}


@dataclass(frozen=True)
class Sizes:
    """Which kinds of questions, and how often each is asked in a process of its own."""

    kinds: tuple[str, ...]
    runs: int


FULL = Sizes(kinds=tuple(_QUESTIONS), runs=3)
SAMPLE = Sizes(kinds=("majority", "winner of 3"), runs=1)


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    for name in sizes.kinds:
        measured = [_measured(name) for _ in range(sizes.runs)]
        first, second = (min(one[place] for one in measured) for place in (0, 1))
        limit = _LIMIT_OF_DRAWS if name.startswith(("histogram", "top")) else _LIMIT
        yield within(f"referee, first of its kind: {name}", first, limit, note="processor time")
        yield within(f"referee, another one: {name}", second, _LIMIT, note="processor time")


def _measured(name: str) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.referee", name], capture_output=True, text=True, check=True
    )
    first, second = map(float, done.stdout.split())
    return first, second


def _examine(name: str) -> None:
    import time

    import numpy  # noqa: F401  # imports are not what is measured

    import optimaldp.certify.noise
    import optimaldp.certify.quantile
    import optimaldp.histograms.release
    import optimaldp.laws.quantile  # noqa: F401
    from optimaldp.asking.request import read_release_level
    from optimaldp.certify.core.referee import examine_release
    from optimaldp.laws.law import Setting
    from optimaldp.privacy import Epsilon, Neighbours
    from optimaldp.questions import parse

    text, options = _QUESTIONS[name]
    for epsilon, people in (("1", 944), ("1.25", 951)):
        known = options.get("people", people)
        relation = Neighbours.ADD_REMOVE if known is None else Neighbours.SUBSTITUTION
        levels = ((Epsilon.read("0.1"), 20), (Epsilon.read(epsilon), people - 20)) if "levels" in options else ()
        setting = Setting(read_release_level(epsilon, options.get("delta", 0)), relation, known, levels)
        mechanism = parse(text).mechanism(setting)
        start = time.process_time()
        if not examine_release(mechanism).private:
            raise AssertionError(name)
        print(time.process_time() - start)


if __name__ == "__main__":
    _examine(sys.argv[1])
