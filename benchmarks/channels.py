"""Channels: measures, capacity and optimal mechanisms against libqif (``pip install 'optimaldp[peers]'``) and dense solves."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.report import Row, at_least_faster, at_most, best_time
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

_PATIENCE = 30.0  # seconds granted to a peer that is far slower; then the row says "at least"


def _random_channel(size: int, *, seed: int) -> Any:
    generator = np.random.default_rng(seed)
    rows = generator.random((size, size))
    return rows / rows.sum(axis=1, keepdims=True)


def rows() -> Iterator[Row]:
    """Each row is one claim about speed."""
    yield from _dense_solves()
    yield from _many_answers()
    yield from _large_channels()
    yield from _lines()
    try:
        import qif
    except ImportError:
        return
    yield from _measures(qif)
    yield _capacity()
    yield _path()


def _measures(qif: Any) -> Iterator[Row]:
    rows_, size = _random_channel(1000, seed=2), 1000
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
        yield at_most(f"{name}, 1000 × 1000", best_time(ours, repeats=5), "qif", best_time(theirs, repeats=5), 1.5)


def _patiently(code: str) -> tuple[float, bool]:
    """Seconds that a peer's program needs by its own clock, and whether it came to an end within our patience."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=_PATIENCE, check=True
        )
    except subprocess.TimeoutExpired:
        return _PATIENCE, False
    return float(done.stdout), True


_PEER_CAPACITY = """
import time, numpy, qif
rows = numpy.random.default_rng(4).random((200, 200)); rows /= rows.sum(axis=1, keepdims=True)
start = time.perf_counter(); qif.measure.shannon.add_capacity(rows, 1e-6); print(time.perf_counter() - start)
"""

_PEER_PATH = """
import time, numpy, qif
n, step = 64, float(numpy.log(2))
start = time.perf_counter()
qif.mechanism.d_privacy.min_loss_given_d(
    numpy.full(n, 1 / n), n, lambda a, b: step * abs(a - b), lambda a, b: float(a != b))
print(time.perf_counter() - start)
"""


def _capacity() -> Row:
    channel = Channel(_random_channel(200, seed=4))
    ours = best_time(lambda: shannon_capacity(channel, gap=1e-6))
    theirs, ended = _patiently(_PEER_CAPACITY)
    note = "" if ended else f"the peer was stopped after {_PATIENCE:g} s"
    return at_least_faster("Shannon capacity, 200 × 200, gap 1e-6", ours, "qif", theirs, 10, note=note)


def _path() -> Row:
    graph = AnswerGraph.path(64)
    optimal_mechanism(graph, "ln(2)")  # the first call imports scipy
    ours = best_time(lambda: optimal_mechanism(AnswerGraph.path(64), "ln(2)"))
    theirs, ended = _patiently(_PEER_PATH)
    note = "exact rationals, with proof" + ("" if ended else f"; the peer was stopped after {_PATIENCE:g} s")
    return at_least_faster(
        "optimal mechanism, path of 64 answers", ours, "qif LP, default settings", theirs, 5, note=note
    )


def _dense_solves() -> Iterator[Row]:
    solve = {size: _dense_solve(size) for size in (1000, 2000)}
    graph = AnswerGraph.grid(40, 50)
    start = time.perf_counter()
    found = optimal_mechanism(graph, "ln(2)")
    spent = time.perf_counter() - start
    assert found.optimal
    note = f"certified gap {float(found.gap):.0e}"
    yield at_most("closed form, grid of 2000 answers", spent, "one dense solve of 2000", solve[2000], 10, note=note)
    ring = best_time(lambda: ring_profile(10_001, "ln(2)"))
    yield at_most("ring of 10 001 answers by symmetry", ring, "one dense solve of 1000", solve[1000], 1)


def _many_answers() -> Iterator[Row]:
    """1000 answers with a prior: the known optimum where there is one, in the time of some dense solves."""
    size, solve = 1000, _dense_solve(1000)
    prior = np.random.default_rng(5).dirichlet(np.ones(size))
    ordered = np.sort(prior)[::-1]
    kept = np.arange(1, size + 1)
    known = {
        "path": _geometric_with_guesses(AnswerGraph.path(size), prior),
        "clique": float((ordered.cumsum() / (1 + (kept - 1) / 2)).max()),
    }
    for name, graph in (("path", AnswerGraph.path(size)), ("clique", AnswerGraph.clique(size))):
        start = time.perf_counter()
        found = optimal_mechanism(graph, "ln(2)", prior=prior)
        spent = time.perf_counter() - start
        note = f"{float(found.utility) / known[name]:.9f} of the known optimum"
        yield at_most(f"{name} of 1000 answers with a prior", spent, "one dense solve of 1000", solve, 20, note=note)
    start = time.perf_counter()
    found = optimal_mechanism(AnswerGraph.ring(size), "ln(2)", prior=prior)
    spent = time.perf_counter() - start
    note = f"{float(found.utility) / float(found.upper_bound):.6f} of the bound"
    yield at_most("ring of 1000 answers, random prior", spent, "one dense solve of 1000", solve, 60, note=note)
    searched = [
        ("tree", AnswerGraph.tree(3, 6), 100),
        ("grid", AnswerGraph.grid(25, 40), 1000),
        ("cube", AnswerGraph.hypercube(9), 1000),
        ("torus", _torus(30, 30), 1000),
        ("king's grid", _king(25, 40), 1500),
        ("random graph", _random_graph(1000, 2000), 1500),
    ]
    optimal_mechanism(AnswerGraph.grid(10, 10), "ln(2)", prior=np.arange(1, 101) % 7 / 297)  # compiles the steps
    for name, graph, limit in searched:
        drawn = np.random.default_rng(5).dirichlet(np.ones(len(graph.vertices)))
        start = time.perf_counter()
        found = optimal_mechanism(graph, "ln(2)", prior=drawn)
        spent = time.perf_counter() - start
        note = f"{float(found.utility) / float(found.upper_bound):.6f} of the bound"
        title = f"{name} of {len(graph.vertices)} answers, random prior"
        yield at_most(title, spent, "one dense solve of 1000", solve, limit, note=note)
    for name, graph in (("ring", AnswerGraph.ring(size)), ("grid", AnswerGraph.grid(25, 40))):
        centre = np.exp(-(((np.arange(size) - size / 2) / (size / 4)) ** 2) / 2)
        start = time.perf_counter()
        found = optimal_mechanism(graph, "ln(2)", prior=centre / centre.sum())
        spent = time.perf_counter() - start
        note = f"{float(found.utility) / float(found.upper_bound):.9f} of the bound"
        yield at_most(f"{name} of 1000 answers, smooth prior", spent, "one dense solve of 1000", solve, 40, note=note)


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


def _large_channels() -> Iterator[Row]:
    channel, solve = Channel(_random_channel(1000, seed=6)), _dense_solve(1000)
    ours = best_time(lambda: leakage_report(channel))
    yield at_most("leakage report, 1000 × 1000", ours, "one dense solve of 1000", solve, 40)
    people = Databases.of_values(("yes", "no"), 10_000)
    ours = best_time(lambda: induced_graph(count(lambda value: value == "yes"), people))
    limit = best_time(lambda: sum(i for i in range(10**6)))
    yield at_most("answer graph of counting 10 000 people", ours, "adding a million numbers in Python", limit, 20)


def _lines() -> Iterator[Row]:
    """Lines whose analyst loses the distance: the optimum with its proof."""
    for size, limit in ((1000, 5.0), (4000, 30.0)):
        line, found = AnswerGraph.path(size), []
        seconds = best_time(
            lambda line=line, found=found: found.append(optimal_mechanism(line, 1, gain="negdist")), repeats=1
        )
        task, note = f"line of {size:,} answers, minus the distance", f"gap {float(found[0].gap):.1g}"
        yield Row(task, seconds, "limit", limit, f"≤ {limit:.0f} s", seconds <= limit, note=note)


def _dense_solve(size: int) -> float:
    matrix = _random_channel(size, seed=size) + np.eye(size)
    return best_time(lambda: np.linalg.solve(matrix, np.ones(size)))
