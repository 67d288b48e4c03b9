"""How long one release takes after counting, and how long an import."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.peers import libraries
from benchmarks.peers.record import Comparison, Estimate
from benchmarks.report import best_time
from optimaldp.asking.request import read_release_level
from optimaldp.certify.core.referee import certify, draw
from optimaldp.histograms import private_histogram
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import Neighbours
from optimaldp.questions import parse
from optimaldp.sampling import SystemBits

LATENCY = "Time of one release after counting"
IMPORT = "Time of an import"
_ALONE = "OpenDP without its extras"


@dataclass(frozen=True)
class Sizes:
    """How many releases are timed together, and how many starts of Python."""

    times: int
    starts: int


FULL = Sizes(times=100, starts=5)
SAMPLE = Sizes(times=2, starts=1)

_OURS = """
import optimaldp
from optimaldp.questions import parse
from optimaldp.asking.request import read_release_level
from optimaldp.certify.core.referee import certify, draw
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import Neighbours
from optimaldp.sampling import SystemBits
mechanism = parse("majority(x)").mechanism(Setting(read_release_level(1), Neighbours.SUBSTITUTION, 1001))
draw(certify(mechanism), Table({0: 600, 1: 401}), SystemBits())
"""
# OpenDP loads numpy, polars and scikit-learn where it finds them. Here it must not: a user of its counts needs none of them.
_OPENDP_ALONE = """
import sys
sys.modules |= dict.fromkeys(["numpy", "polars", "randomgen", "scipy", "sklearn"])
import opendp.prelude as dp
"""
_OPENDP = f"""{_OPENDP_ALONE}
dp.enable_features("contrib")
dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)(600) >= 501
"""
_DIFFPRIVLIB = """
from diffprivlib.mechanisms import Geometric
Geometric(epsilon=1.0, sensitivity=1).randomise(600) >= 501
"""


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    yield from _latency(sizes.times)
    yield from _imports(sizes.starts)


def _latency(times: int) -> Iterator[Comparison]:
    votes, bins = [303, 298, 134, 133, 133], [500, 200, 150, 100, 51]
    noisy, geometric = libraries.opendp_count(1.0), libraries.diffprivlib_count(1.0, 1)
    choose, several = libraries.opendp_noisy_max(1.0), libraries.opendp_counts(2.0)
    tasks: list[tuple[str, Callable[[], Any], dict[str, Callable[[], Any]]]] = [
        (
            "majority of 1001",
            _draw("majority(x)", (600, 401)),
            {"OpenDP": lambda: noisy(600) >= 501, "diffprivlib": lambda: geometric(600) >= 501},
        ),
        (
            "winner of 5",
            _draw("winner(x, ['a', 'b', 'c', 'd', 'e'])", (*votes, 0)),
            {"OpenDP": lambda: choose(votes), "diffprivlib": lambda: libraries.diffprivlib_flip(1.0, votes)()},
        ),
        ("histogram of 5 bins", lambda: private_histogram(bins, epsilon=1), {"OpenDP": lambda: several(bins)}),
    ]
    for task, ours, peers in tasks:
        ours()  # the mechanism is certified once, whatever the counts
        spent = _each(ours, times)
        for peer, theirs in peers.items():
            yield Comparison(LATENCY, task, peer, Estimate(spent), Estimate(_each(theirs, times)), timed=True)


def _draw(question: str, counts: tuple[int, ...]) -> Callable[[], Any]:
    table, source = Table(dict(enumerate(counts))), SystemBits()
    passed = certify(parse(question).mechanism(Setting(read_release_level(1), Neighbours.SUBSTITUTION, table.people)))
    return lambda: draw(passed, replace(table), source)  # counts are drawn from once


def _each(work: Callable[[], Any], times: int) -> float:
    return best_time(lambda: [work() for _ in range(times)], repeats=5) / times


def _imports(starts: int) -> Iterator[Comparison]:
    """A new interpreter, less the time of one that does nothing; the shortest of several starts."""
    nothing = _start("pass", starts)
    ours, first = _start("import optimaldp", starts) - nothing, _start(_OURS, starts) - nothing
    for peer, code in (
        (_ALONE, _OPENDP_ALONE),
        ("diffprivlib", "import diffprivlib"),
        ("qif", "import qif"),
        ("dp-accounting", "import dp_accounting"),
    ):
        theirs = _start(code, starts) - nothing
        yield Comparison(IMPORT, "the import alone", peer, Estimate(ours), Estimate(theirs), timed=True)
    for peer, code in ((_ALONE, _OPENDP), ("diffprivlib", _DIFFPRIVLIB)):
        theirs = _start(code, starts) - nothing
        task = "import and first private yes or no from counts"
        yield Comparison(IMPORT, task, peer, Estimate(first), Estimate(theirs), timed=True)


def _start(code: str, starts: int) -> float:
    times = []
    for _ in range(starts):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True)
        times.append(time.perf_counter() - begun)
    return min(times)
