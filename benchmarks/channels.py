"""Channels: measures, capacity and optimal mechanisms against libqif (``pip install 'optimaldp[peers]'``) and dense solves."""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from benchmarks.report import Row, at_least_faster, at_most, best_time, within
from optimaldp.channels import (
    AnswerGraph,
    Channel,
    Databases,
    count,
    induced_graph,
    leakage_report,
    min_capacity,
    mutual_information,
    optimal_mechanism,
    posterior_guessing_entropy,
    posterior_vulnerability,
    ring_profile,
    shannon_capacity,
)


@dataclass(frozen=True)
class Sizes:
    """How many answers, how large the channels are, and the seconds granted to a peer that is far slower."""

    answers: int
    ring: int
    channel: int
    capacity: int
    path: int
    people: int
    lines: tuple[tuple[int, float], ...]
    """The lengths of lines, each with the seconds granted to it."""
    patience: float
    """After so many seconds a peer is stopped, and the row says so."""


FULL = Sizes(
    answers=1000,
    ring=10_001,
    channel=1000,
    capacity=200,
    path=64,
    people=10_000,
    lines=((1000, 5.0), (4000, 30.0)),
    patience=15.0,
)
SAMPLE = Sizes(answers=9, ring=101, channel=20, capacity=10, path=8, people=20, lines=((20, 5.0),), patience=2.0)


_SHORT = 3.0  # seconds
# Limits in dense solves, both sides on one thread: about one and a half times what was measured on an idle machine and under load
# (closed form 10 to 11, path 9.5, clique 19 to 23, smooth priors 13 to 25).
_CLOSED_FORM, _PATH, _CLIQUE, _SMOOTH = 16, 15, 35, 40


def _random_channel(size: int, *, seed: int) -> Any:
    generator = np.random.default_rng(seed)
    rows = generator.random((size, size))
    return rows / rows.sum(axis=1, keepdims=True)


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    """Each row is one claim about speed."""
    yield from _closed_forms(sizes)
    yield from _many_answers(sizes.answers)
    yield from _large_channels(sizes)
    yield from _lines(sizes.lines)
    try:
        import qif
    except ImportError:
        return
    yield from _measures(qif, sizes.channel)
    yield _capacity(sizes)
    yield _path(sizes)


def _measures(qif: Any, size: int) -> Iterator[Row]:
    rows_ = _random_channel(size, seed=2)
    prior = np.random.default_rng(3).random(size)
    prior /= prior.sum()
    channel, peer = Channel(rows_), qif.measure
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "Bayes vulnerability": (
            lambda: posterior_vulnerability(channel, prior),
            lambda: peer.bayes_vuln.posterior(prior, rows_),
        ),
        "min-capacity": (lambda: min_capacity(channel), lambda: peer.bayes_vuln.mult_capacity(rows_)),
        "mutual information": (
            lambda: mutual_information(channel, prior),
            lambda: peer.shannon.add_leakage(prior, rows_),
        ),
        "guessing entropy": (
            lambda: posterior_guessing_entropy(channel, prior),
            lambda: peer.guessing.posterior(prior, rows_),
        ),
    }
    for name, (ours, theirs) in pairs.items():
        yield at_most(f"{name}, {size} × {size}", best_time(ours, repeats=5), "qif", best_time(theirs, repeats=5), 1.5)


def _patiently(code: str, patience: float) -> tuple[float, bool]:
    """Processor time that a peer's program needs by its own clock, and whether it came to an end within our patience."""
    before = _of_children()
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=patience, check=True
        )
    except subprocess.TimeoutExpired:
        return _of_children() - before, False
    return float(done.stdout), True


def _of_children() -> float:
    """Processor time of all processes that were started and have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


_PEER_CAPACITY = """
import time, numpy, qif
rows = numpy.random.default_rng(4).random((SIZE, SIZE)); rows /= rows.sum(axis=1, keepdims=True)
start = time.process_time(); qif.measure.shannon.add_capacity(rows, 1e-6); print(time.process_time() - start)
"""

_PEER_PATH = """
import time, numpy, qif
n, step = SIZE, float(numpy.log(2))
start = time.process_time()
qif.mechanism.d_privacy.min_loss_given_d(
    numpy.full(n, 1 / n), n, lambda a, b: step * abs(a - b), lambda a, b: float(a != b))
print(time.process_time() - start)
"""


def _capacity(sizes: Sizes) -> Row:
    size, patience = sizes.capacity, sizes.patience
    channel = Channel(_random_channel(size, seed=4))
    ours = best_time(lambda: shannon_capacity(channel, gap=1e-6))
    theirs, ended = _patiently(_PEER_CAPACITY.replace("SIZE", str(size)), patience)
    note = "" if ended else f"the peer was stopped after {patience:g} s"
    return at_least_faster(f"Shannon capacity, {size} × {size}, gap 1e-6", ours, "qif", theirs, 10, note=note)


def _path(sizes: Sizes) -> Row:
    size, patience = sizes.path, sizes.patience
    optimal_mechanism(AnswerGraph.path(size), "ln(2)")  # the first call imports scipy
    ours = best_time(lambda: optimal_mechanism(AnswerGraph.path(size), "ln(2)"))
    theirs, ended = _patiently(_PEER_PATH.replace("SIZE", str(size)), patience)
    note = "exact rationals, with proof" + ("" if ended else f"; the peer was stopped after {patience:g} s")
    task = f"optimal mechanism, path of {size} answers"
    return at_least_faster(task, ours, "qif LP, default settings", theirs, 5, note=note)


def _closed_forms(sizes: Sizes) -> Iterator[Row]:
    rows_, columns = _sides(2 * sizes.answers)
    graph, size = AnswerGraph.grid(rows_, columns), rows_ * columns
    _found(AnswerGraph.grid(3, 3))  # the first call imports scipy
    spent, solve, found = _beside_solves(graph, size)
    assert found.optimal
    note = f"certified gap {float(found.gap):.0e}"
    yield at_most(
        f"closed form, grid of {size} answers", spent, f"one dense solve of {size}", solve, _CLOSED_FORM, note=note
    )
    ring, solve = best_time(lambda: ring_profile(sizes.ring, "ln(2)")), _dense_solve(sizes.answers)
    peer = f"one dense solve of {sizes.answers}"
    yield at_most(f"ring of {sizes.ring:,} answers by symmetry", ring, peer, solve, 1)


def _sides(size: int) -> tuple[int, int]:
    """The sides of a grid of about *size* answers, nearly square."""
    side = math.isqrt(size)
    return side, -(-size // side)


def _found(graph: AnswerGraph, prior: Any = None) -> tuple[float, Any]:
    start = time.process_time()
    found = optimal_mechanism(graph, "ln(2)", prior=prior)
    return time.process_time() - start, found


def _beside_solves(graph: AnswerGraph, size: int, prior: Any = None) -> tuple[float, float, Any]:
    """Seconds of a search, of a dense solve just before and after it, and what was found. Short searches are run twice."""
    solves = [_dense_solve(size)]
    spent, found = _found(graph, prior)
    solves.append(_dense_solve(size))
    if spent < _SHORT:
        spent = min(spent, _found(graph, prior)[0])
        solves.append(_dense_solve(size))
    return spent, median(solves), found


def _many_answers(size: int) -> Iterator[Row]:
    """Many answers with a prior: the known optimum where there is one, in the time of some dense solves."""
    peer, prior, sides = f"one dense solve of {size}", _random_prior(size), _sides(size)
    _found(AnswerGraph.grid(10, 10), np.arange(1, 101) % 7 / 297)  # compiles the steps
    for name, graph, known, limit in (
        ("path", AnswerGraph.path(size), _geometric_with_guesses(AnswerGraph.path(size), prior), _PATH),
        ("clique", AnswerGraph.clique(size), _best_of_clique(prior), _CLIQUE),
    ):
        spent, solve, found = _beside_solves(graph, size, prior)
        note = f"{float(found.utility) / known:.9f} of the known optimum"
        yield at_most(f"{name} of {size} answers with a prior", spent, peer, solve, limit, note=note)
    random_priors = [
        ("ring", AnswerGraph.ring(size), 60),
        ("tree", AnswerGraph.tree(3, round(math.log(2 * size, 3)) - 1), 100),
        ("grid", AnswerGraph.grid(*sides), 1000),
        ("cube", AnswerGraph.hypercube(size.bit_length() - 1), 1000),
        ("torus", _torus(*sides), 1000),
        ("king's grid", _king(*sides), 1500),
        ("random graph", _random_graph(size, 2 * size), 1500),
    ]
    for name, graph, limit in random_priors:
        yield _searched(name, graph, "random prior", _random_prior(len(graph.vertices)), limit, size)
    for name, graph in (("ring", AnswerGraph.ring(size)), ("grid", AnswerGraph.grid(*sides))):
        places = len(graph.vertices)
        centre = np.exp(-(((np.arange(places) - places / 2) / (places / 4)) ** 2) / 2)
        yield _searched(name, graph, "smooth prior", centre / centre.sum(), _SMOOTH, size)


def _searched(name: str, graph: AnswerGraph, words: str, prior: Any, limit: float, size: int) -> Row:
    spent, solve, found = _beside_solves(graph, size, prior)
    note = f"{float(found.utility) / float(found.upper_bound):.9f} of the bound"
    title = f"{name} of {len(graph.vertices)} answers, {words}"
    return at_most(title, spent, f"one dense solve of {size}", solve, limit, note=note)


def _random_prior(size: int) -> Any:
    return np.random.default_rng(5).dirichlet(np.ones(size))


def _best_of_clique(prior: Any) -> float:
    """Among answers that are all neighbours: the best number of answers that are kept apart."""
    kept = np.arange(1, len(prior) + 1)
    return float((np.sort(prior)[::-1].cumsum() / (1 + (kept - 1) / 2)).max())


def _torus(rows: int, columns: int) -> AnswerGraph:
    places = [(r, c) for r in range(rows) for c in range(columns)]
    edges = [(p, q) for p in places for q in (((p[0] + 1) % rows, p[1]), (p[0], (p[1] + 1) % columns))]
    return AnswerGraph(places, edges)


def _king(rows: int, columns: int) -> AnswerGraph:
    """A grid on which neighbours are those that a king of chess reaches."""
    places = {(r, c) for r in range(rows) for c in range(columns)}
    moves = [((r, c), (r + a, c + b)) for r, c in sorted(places) for a, b in ((0, 1), (1, 0), (1, 1), (1, -1))]
    return AnswerGraph(sorted(places), [move for move in moves if move[1] in places])


def _random_graph(size: int, edges: int) -> AnswerGraph:
    generator = np.random.default_rng(7)
    pairs = {(int(generator.integers(0, k)), k) for k in range(1, size)}
    while len(pairs) < edges:
        a, b = sorted(generator.integers(0, size, 2).tolist())
        pairs |= {(a, b)} if a < b else set()
    return AnswerGraph(range(size), sorted(pairs))


def _geometric_with_guesses(graph: AnswerGraph, prior: Any) -> float:
    kernel = 0.5**graph.distances
    rows = kernel * np.linalg.solve(kernel, np.ones(len(prior)))
    return float((rows * prior[:, None]).max(axis=0).sum())


def _large_channels(sizes: Sizes) -> Iterator[Row]:
    size = sizes.channel
    channel, solve = Channel(_random_channel(size, seed=6)), _dense_solve(size)
    ours = best_time(lambda: leakage_report(channel))
    yield at_most(f"leakage report, {size} × {size}", ours, f"one dense solve of {size}", solve, 40)
    people = Databases.of_values(("yes", "no"), sizes.people)
    ours = best_time(lambda: induced_graph(count(lambda value: value == "yes"), people))
    limit = best_time(lambda: sum(i for i in range(10**6)))
    task = f"answer graph of counting {sizes.people:,} people"
    yield at_most(task, ours, "adding a million numbers in Python", limit, 20)


def _lines(lines: tuple[tuple[int, float], ...]) -> Iterator[Row]:
    """Lines whose analyst loses the distance: the optimum with its proof."""
    for size, limit in lines:
        start = time.process_time()
        found = optimal_mechanism(AnswerGraph.path(size), 1, gain="negdist")
        seconds = time.process_time() - start
        task = f"line of {size:,} answers, minus the distance"
        yield within(task, seconds, limit, note=f"gap {float(found.gap):.1g}")


def _dense_solve(size: int) -> float:
    matrix = _random_channel(size, seed=size) + np.eye(size)
    return best_time(lambda: np.linalg.solve(matrix, np.ones(size)))
