"""One level, one boundary distribution for each preference: the closed form (000 Thms 3-5, 001 Thms 2-4, corrected).

At distance t from its own boundary a dataset has the prefix sums ``F^t(s_k)``, where ``s_k`` are those of the
boundary. It is the greatest private mechanism with that boundary, and no graph search beyond a breadth-first one is needed.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from optimaldp.designing.closeness import violated_event
from optimaldp.designing.outcome import Outcome, Route, Status
from optimaldp.designing.rational import Stepper
from optimaldp.graphs import DatasetGraph, Preferences, crossing_edges
from optimaldp.graphs.problem import Problem
from optimaldp.kernels.search import breadth_first_tree
from optimaldp.mechanisms import BoundTree, Certificate, SharedRows
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Level

_FAINTEST = Fraction(1, 2**4000)

_STATEMENT = "greatest among the private mechanisms with the same boundary values (dominance order)"


def is_plain(graph: DatasetGraph) -> bool:
    """Whether every edge has one and the same undirected (epsilon, delta), or one Gaussian level."""
    if len(set(graph.levels)) > 1:
        return False
    return all(not isinstance(level, ApproximateDP) or level.is_single for level in graph.levels)


def broken_boundary(problem: Problem, rows: dict[int, Row]) -> Outcome | None:
    """Infeasible if the boundary rows of two touching regions are not close (compared answer by answer, not by rank)."""
    graph, of = problem.graph, problem.preferences.of
    for edge in np.flatnonzero(crossing_edges(graph, problem.preferences)).tolist():
        u, v = int(graph.tails[edge]), int(graph.heads[edge])
        event = _close(graph.levels[0], rows[int(of[u])], rows[int(of[v])])
        if event is not None:
            names = [graph.names[u], graph.names[v]]
            answers = [problem.answers[a] for a in event]
            reason = f"the values given to the neighbours {names[0]} and {names[1]} are too far apart on {answers}"
            witness = {"reason": reason, "fixed": names, "path": names, "answers": answers}
            return Outcome(Status.INFEASIBLE, Route.CLOSED_FORM, witness=witness)
    return None


@lru_cache(maxsize=1024)  # bounded, and by value: regions touch along many edges, but their rows are few
def _close(level: Level, start: Row, end: Row) -> tuple[int, ...] | None:
    return violated_event(level, start, end)


def design_homogeneous(problem: Problem, boundary: npt.NDArray[np.bool_], boundary_rows: dict[int, Row]) -> Outcome:
    """Fill the regions from a boundary that is known to be private."""
    graph, preferences = problem.graph, problem.preferences
    # The tree's -1 and -2 are ROOT and FREE: sources are given, the rest of a component without boundary is free.
    distance, tree = breadth_first_tree(graph.arcs.first, graph.arcs.heads, preferences.of, boundary)
    rows: list[Row] = []
    start, last = np.zeros((2, len(preferences.orders)), dtype=np.int32)
    for number, order in enumerate(preferences.orders):
        reached = distance[preferences.of == number]
        farthest = int(reached.max()) if reached.size else -1
        start[number] = len(rows) + 1
        rows.append(_certain(order))
        chain = _chain(boundary_rows.get(number), order, farthest, graph.levels[:1])
        last[number] = max(0, len(chain) - 1)
        rows += chain
    # A chain ends where nothing moves any more: all datasets beyond have its last row.
    place = np.minimum(distance, last[preferences.of])
    of = np.where(distance >= 0, start[preferences.of] + place, start[preferences.of] - 1).astype(np.int32)
    certificate = _certificate(preferences, tree, boundary)
    return Outcome(Status.OPTIMAL, Route.CLOSED_FORM, SharedRows(tuple(rows), of), certificate)


def _certain(order: tuple[int, ...]) -> Row:
    """The favourite answer always: a component without a boundary has nothing to hide."""
    return tuple(Fraction(int(answer == order[0])) for answer in range(len(order)))


def _chain(row: Row | None, order: tuple[int, ...], farthest: int, level: tuple[Level, ...]) -> list[Row]:
    """The rows at distances 0, 1, ..., *farthest* from a boundary with distribution *row*, up to where nothing moves any more.

    An error below 10^-1200 stands still, which is private: a hundred thousand rows of a hundred thousand bits would not fit.
    """
    if row is None:
        return []
    step = exact = Stepper(level)
    sums = list(accumulate(row[answer] for answer in order))
    chain = [row]
    for _ in range(farthest):
        following = [step(0, s) for s in sums[:-1]] + [Fraction(1)]
        if step is exact and exact.rounded:
            # From here on steps at a tightened level, rounded: the slack of each step covers its own rounding, and all
            # prefix sums are rounded from the same step on, so that they stay in order.
            step = Stepper(level, tight=True)
            following = [step(0, s) for s in sums[:-1]] + [Fraction(1)]
        if following == sums or 0 < 1 - following[0] < _FAINTEST:
            break
        sums = following
        chain.append(_row_of(sums, order))
    return chain[: farthest + 1]


def _row_of(sums: list[Fraction], order: tuple[int, ...]) -> Row:
    """Prefix sums along a preference, turned back into a row in the answers' own order."""
    row = [Fraction(0)] * len(order)
    before = Fraction(0)
    for answer, total in zip(order, sums):
        row[answer] = total - before
        before = total
    return tuple(row)


def _certificate(preferences: Preferences, tree: npt.NDArray[np.int32], boundary: npt.NDArray[np.bool_]) -> Certificate:
    """The predecessor of a dataset is a neighbour one step nearer to the boundary, whatever the event."""
    events = {tuple(sorted(order[:k])) for order in preferences.orders for k in range(1, len(order))}
    return Certificate(boundary, tuple(BoundTree(event, tree) for event in sorted(events)), statement=_STATEMENT)
