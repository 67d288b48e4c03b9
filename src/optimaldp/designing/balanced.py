"""Balanced and heterogeneous, two answers (theory 2.2, in no paper): exact.

Each end of each edge between the regions starts at most at the balanced value of that edge; the search inside the regions does
the rest. The result is private, balanced on every such edge, and dominates what the strictest level everywhere would give.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from optimaldp.designing.boundaries import forbids_sureness, most_touching, no_largest_value
from optimaldp.designing.closeness import violated_event
from optimaldp.designing.outcome import Outcome, Route, Status
from optimaldp.designing.propagation import Propagator
from optimaldp.errors import ProblemError
from optimaldp.graphs import crossing_edges
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import BoundTree, Certificate, SharedRows
from optimaldp.mechanisms.certificate import ROOT
from optimaldp.mechanisms.rows import Row

STATEMENT = "greatest among the private mechanisms with the same boundary values (dominance order); balanced boundary"


def need_two_answers(problem: Problem) -> None:
    """Refuse what the theory does not cover."""
    if len(problem.answers) != 2:
        raise ProblemError(
            "boundary",
            "balanced",
            f"with {len(problem.answers)} answers needs one level on all edges",
            "fix the boundary values instead",
        )


def refuse_sure_neighbours(problem: Problem, sure: npt.NDArray[np.bool_], row: Callable[[int], Row]) -> None:
    """An edge of infinite epsilon between the regions starts at 1; where nothing else lowers that, it excludes just 1."""
    graph = problem.graph
    suspected = np.array([forbids_sureness(level) for level in graph.levels] or [False])[graph.level_of_edge]
    suspected &= crossing_edges(graph, problem.preferences) & (sure[graph.tails] | sure[graph.heads])
    for edge in np.flatnonzero(suspected).tolist():
        level = graph.levels[int(graph.level_of_edge[edge])]
        if violated_event(level, row(int(graph.tails[edge])), row(int(graph.heads[edge]))) is not None:
            raise no_largest_value([level])


def design_balanced(problem: Problem) -> Outcome:
    """Choose balanced boundary values edge by edge and fill the regions."""
    need_two_answers(problem)
    graph, preferences = problem.graph, problem.preferences
    seeds: dict[int, Fraction] = {}
    crossing = np.flatnonzero(crossing_edges(graph, preferences))
    values = {k: most_touching(graph.levels[k], 2) for k in set(graph.level_of_edge[crossing].tolist())}
    for edge in crossing.tolist():
        value = values[int(graph.level_of_edge[edge])]
        for end in (int(graph.tails[edge]), int(graph.heads[edge])):
            seeds[end] = min(value, seeds.get(end, value))
    bounds = Propagator(graph).bounds(seeds, region=preferences.of.tolist(), rigid=False)
    favourites = preferences.favourites.tolist()
    rows: list[Row] = [(p, 1 - p) if favourite == 0 else (1 - p, p) for p, favourite in zip(bounds.values, favourites)]
    refuse_sure_neighbours(problem, np.array([p == 1 for p in bounds.values]), rows.__getitem__)
    # Given are the datasets that kept the value of their own edge; the others were lowered by one that did.
    given = bounds.predecessor == ROOT
    trees = tuple(BoundTree((answer,), bounds.predecessor) for answer in (0, 1))
    certificate = Certificate(given, trees, statement=STATEMENT)
    return Outcome(Status.OPTIMAL, Route.DIJKSTRA, SharedRows.from_rows(rows), certificate)
