"""Two answers, anything heterogeneous, in exact arithmetic (paper 003, generalised: theory 2.2).

Maximise the probability of the true answer at every dataset at once, subject to the given values and to privacy on every edge.
One search for each answer gives the least upper bounds; they are attained together exactly when the result is private
on the edges whose two ends are both free and differ in their true answer. Otherwise no optimum exists.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from optimaldp.designing.closeness import violated_event
from optimaldp.designing.fair import fair_beside
from optimaldp.designing.outcome import Outcome, Route, Status
from optimaldp.designing.propagation import Bounds, Conflict, Propagator
from optimaldp.graphs import crossing_edges
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import BoundTree, Certificate, SharedRows
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy.numbers import shown_text

_STATEMENT = "greatest among the private mechanisms with the same given values (dominance order)"


def design_binary(problem: Problem) -> Outcome:
    """Solve a two-answer problem with given values; exact."""
    propagator = Propagator(problem.graph)
    bounds = tuple(propagator.bounds({v: row[a] for v, row in problem.fixed.items()}) for a in (0, 1))
    for answer in (0, 1):
        if (conflict := bounds[answer].conflict) is not None:
            return Outcome(Status.INFEASIBLE, Route.DIJKSTRA, witness=conflict_words(problem, conflict, (answer,)))
    rows = _attained(problem, bounds)
    certificate = binary_certificate(problem, bounds)
    clash = _clashing_edge(problem, rows)
    if clash is None:
        return Outcome(Status.OPTIMAL, Route.DIJKSTRA, SharedRows.from_rows(rows), certificate)
    fair, proof = fair_beside(problem, propagator, bounds)
    return Outcome(Status.NO_OPTIMUM, Route.DIJKSTRA, fair, proof, _clash_words(problem, rows, clash))


def _attained(problem: Problem, bounds: tuple[Bounds, ...]) -> list[Row]:
    """Every dataset at the bound of its own true answer."""
    rows: list[Row] = []
    for vertex, favourite in enumerate(problem.preferences.favourites.tolist()):
        value = bounds[favourite].values[vertex]
        rows.append((value, 1 - value) if favourite == 0 else (1 - value, value))
    return rows


def binary_certificate(problem: Problem, bounds: tuple[Bounds, ...]) -> Certificate:
    """One bound tree for each answer; the given datasets are the roots."""
    given = np.zeros(len(problem.graph), dtype=bool)
    given[list(problem.fixed)] = True
    return Certificate(given, tuple(BoundTree((a,), bounds[a].predecessor) for a in (0, 1)), statement=_STATEMENT)


def _clashing_edge(problem: Problem, rows: list[Row]) -> tuple[int, int] | None:
    """An edge between two free datasets of different true answers on which the bounds cannot both be had."""
    graph = problem.graph
    for edge in np.flatnonzero(crossing_edges(graph, problem.preferences)).tolist():
        u, v = int(graph.tails[edge]), int(graph.heads[edge])
        if violated_event(graph.levels[int(graph.level_of_edge[edge])], rows[u], rows[v]) is not None:
            return u, v
    return None


def conflict_words(problem: Problem, conflict: Conflict, event: tuple[int, ...]) -> dict[str, Any]:
    """Why nothing private has the given values."""
    names = [problem.graph.names[v] for v in conflict.path]
    answers = [problem.answers[a] for a in event]
    bound, given = shown_text(conflict.bound), shown_text(conflict.given)
    return {
        "reason": f"given {names[0]}, the datasets on the path allow {names[-1]} at most {bound} for "
        f"{' or '.join(answers)}, but {given} is given",
        "fixed": [names[0], names[-1]],
        "path": names,
        "answers": answers,
        "given": given,
        "bound": bound,
    }


def _clash_words(problem: Problem, rows: list[Row], clash: tuple[int, int]) -> dict[str, Any]:
    """Why no mechanism is best at both ends of an edge."""

    def end(vertex: int) -> dict[str, Any]:
        favourite = int(problem.preferences.favourites[vertex])
        most: Fraction = rows[vertex][favourite]
        return {
            "dataset": problem.graph.names[vertex],
            "answers": [problem.answers[favourite]],
            "most": shown_text(most),
        }

    ends = [end(vertex) for vertex in clash]
    return {
        "reason": f"{ends[0]['dataset']} can have {ends[0]['most']} and {ends[1]['dataset']} can have {ends[1]['most']} "
        "for the answer that it prefers, but not both",
        "conflict": ends,
    }
