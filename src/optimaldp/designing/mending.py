"""Where the compiled envelope is not private, only the parts that are concerned are designed again, in rationals.

Given datasets separate (:mod:`optimaldp.designing.components`), so the rest of a graph of millions keeps what floats found.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optimaldp.certify.graphs.privacy import keeps
from optimaldp.designing.components import (
    Numbers,
    design_by_components,
    members,
    moved,
    part_problem,
    parts_of,
    refuse_large,
)
from optimaldp.designing.envelope import design_envelope, prefix_events
from optimaldp.designing.large_many import double_table
from optimaldp.designing.outcome import Outcome, Status
from optimaldp.errors import ProblemError
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import BoundTree, Certificate, FloatRows
from optimaldp.mechanisms.rows import Row

MOST_EXACT_BOUNDS = 2_000_000  # of prefix sums, in rationals: a minute or two
_ROUNDING_FACTOR = 1 + 2.0**-46  # levels were tightened by 2**-44: what is above this is no rounding, or nearly none


def mended(problem: Problem, outcome: Outcome) -> Outcome:
    """The same envelope with its broken parts decided exactly; itself if there are none."""
    assert isinstance(outcome.rows, FloatRows)
    free, label = parts_of(problem)
    broken = _broken_parts(problem, outcome.rows, free, label)
    if not broken:
        return outcome
    small, vertices = part_problem(problem, _within_reach(problem, members(free, label, broken)))
    decided, bounds = design_envelope(small)
    again = decided or design_by_components(small, bounds)
    if again.rows is None:
        return again
    rows = _with_rows(outcome.rows, [again.rows.row(place) for place in range(len(vertices))], vertices)
    if again.status is not Status.OPTIMAL:
        return Outcome(again.status, again.route, rows, None, again.witness, exact=again.exact)
    if again.certificate is None:
        return Outcome(Status.OPTIMAL, again.route, rows, exact=False)
    assert outcome.certificate is not None
    certificate = _with_proof(outcome.certificate, again.certificate, vertices)
    return Outcome(Status.OPTIMAL, again.route, rows, certificate, exact=False)


def _broken_parts(
    problem: Problem, rows: FloatRows, free: npt.NDArray[np.bool_], label: npt.NDArray[np.int32]
) -> list[int]:
    """The parts in which an edge is not private; floats find the suspects, rationals decide about them."""
    graph, broken = problem.graph, set[int]()
    for edge in _suspects(problem, rows.floats()).tolist():
        u, v = int(graph.tails[edge]), int(graph.heads[edge])
        part = int(label[u] if free[u] else label[v])
        level = graph.levels[int(graph.level_of_edge[edge])]
        if part not in broken and (free[u] or free[v]) and not keeps(level, rows.row(u), rows.row(v)):
            broken.add(part)
    return sorted(broken)


def _suspects(problem: Problem, table: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The edges on which ``sum of (P - E Q)_+`` is above delta by more than rounding, in either direction."""
    graph = problem.graph
    spans, bounds = double_table(graph.levels)
    tail, head, first = table[graph.tails], table[graph.heads], spans[graph.level_of_edge]
    suspected = np.zeros(graph.edge_count, dtype=bool)
    for number in range(int(np.diff(spans).max(initial=0))):
        bound = bounds[np.minimum(first + number, spans[graph.level_of_edge + 1] - 1)]
        for above, below, ratio, delta in ((head, tail, bound[:, 0], 2), (tail, head, 1 / bound[:, 4], 6)):
            excess = np.maximum(above - (ratio * _ROUNDING_FACTOR)[:, None] * below, 0.0).sum(axis=1)
            suspected |= excess > bound[:, delta] * _ROUNDING_FACTOR
    return np.flatnonzero(suspected)


def _within_reach(problem: Problem, parts: list[Numbers]) -> Numbers:
    """All broken parts together; what is too large to be decided is refused."""
    for part in parts:
        refuse_large(problem, part)
    together = np.sort(np.concatenate(parts))
    bounds = len(together) * len(prefix_events(problem))
    if bounds > MOST_EXACT_BOUNDS:
        raise ProblemError(
            "problem",
            f"{bounds} bounds on prefix sums",
            f"would have to be found again in exact arithmetic (at most {MOST_EXACT_BOUNDS}), because they exclude each other "
            f"in {len(parts)} parts, one of them around {problem.graph.names[int(parts[0][0])]}",
            "design such a part by itself, fix more datasets, or use one level",
        )
    return together


def _with_rows(rows: FloatRows, again: list[Row], vertices: Numbers) -> FloatRows:
    """The same rows, those of some datasets replaced by exact ones."""
    table, likeliest, exact_of = rows.table.copy(), rows.likeliest.copy(), rows.exact_of.copy()
    shown = np.array([[float(p) for p in row] for row in again])
    table[vertices], likeliest[vertices] = shown, shown.argmax(axis=1)
    exact_of[vertices] = len(rows.exact) + np.arange(len(vertices))
    return FloatRows(table, likeliest, (*rows.exact, *again), exact_of)


def _with_proof(whole: Certificate, part: Certificate, vertices: Numbers) -> Certificate:
    """Bound trees that lead through the part as the part's own do, and its duals, by the numbers of the whole."""
    own = {tree.event: tree.predecessor for tree in part.trees}
    trees = []
    for tree in whole.trees:
        inside = own[tree.event]
        predecessor = tree.predecessor.copy()
        predecessor[vertices] = np.where(inside >= 0, vertices[inside], inside)
        trees.append(BoundTree(tree.event, predecessor))
    duals = tuple(moved(dual, vertices) for dual in part.duals)
    return Certificate(whole.given, tuple(trees), duals, whole.statement)
