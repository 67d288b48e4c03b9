"""More than two answers: the least upper bound on every prefix sum (theory 2.3).

If the bounds together are a private mechanism it is the optimum. If they are not, that proves nothing: the
linear program decides.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from optimaldp.certify.graphs.privacy import is_private as referee_finds_private
from optimaldp.designing.binary import conflict_words
from optimaldp.designing.closeness import violated_event
from optimaldp.designing.outcome import Outcome, Route, Status
from optimaldp.designing.propagation import Bounds, Conflict, Propagator, step_up
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import BoundTree, Certificate, Mechanism, SharedRows
from optimaldp.mechanisms.certificate import Event
from optimaldp.mechanisms.rows import Row

_STATEMENT = "greatest among the private mechanisms with the same given values (dominance order)"


def prefix_events(problem: Problem) -> list[Event]:
    """Every set of k most wanted answers that occurs, k below the number of answers."""
    return sorted({tuple(sorted(order[:k])) for order in problem.preferences.orders for k in range(1, len(order))})


def event_bounds(problem: Problem, propagator: Propagator) -> dict[Event, Bounds]:
    """The bounds that the given values impose on every prefix event."""
    return {
        event: propagator.bounds({v: _sum(row, event) for v, row in problem.fixed.items()})
        for event in prefix_events(problem)
    }


def design_envelope(problem: Problem) -> tuple[Outcome | None, dict[Event, Bounds]]:
    """The envelope if it decides (infeasible by a path, or optimal because private), and the bounds themselves.

    Two attempts: exact as long as numbers are short; if that is not private, once more at tightened levels, where what is
    rounded is covered by slack. With more than rounding at stake both fail, and the linear program decides.
    """
    propagator = Propagator(problem.graph)
    bounds = event_bounds(problem, propagator)
    outcome = _envelope_outcome(problem, bounds)
    if outcome is None and propagator.step.rounded:
        tightened = event_bounds(problem, Propagator(problem.graph, tight=True))
        if (again := _envelope_outcome(problem, tightened)) is not None:
            return again, tightened
    return outcome, bounds


def _envelope_outcome(problem: Problem, bounds: dict[Event, Bounds]) -> Outcome | None:
    for event, of_event in bounds.items():
        if of_event.conflict is not None:
            return Outcome(Status.INFEASIBLE, Route.ENVELOPE, witness=conflict_words(problem, of_event.conflict, event))
    if (clash := given_clash(problem)) is not None:
        return Outcome(Status.INFEASIBLE, Route.ENVELOPE, witness=clash)
    rows = SharedRows.from_rows(envelope_rows(problem, bounds))
    if not referee_finds_private(Mechanism(problem.graph, problem.preferences, rows)):
        return None
    return Outcome(Status.OPTIMAL, Route.ENVELOPE, rows, tree_certificate(problem, bounds))


def given_clash(problem: Problem) -> dict[str, Any] | None:
    """Two neighbours whose given values are too far apart on an event, which need not be a prefix of any preference."""
    graph, fixed = problem.graph, problem.fixed
    given = np.zeros(len(graph), dtype=bool)
    given[list(fixed)] = True
    shared = SharedRows.from_rows(list(fixed.values()))
    number = np.zeros(len(graph), dtype=np.int64)
    number[list(fixed)] = shared.of
    edges = np.flatnonzero(given[graph.tails] & given[graph.heads])
    kinds, count = max(1, len(graph.levels)), len(shared.rows)
    code = (number[graph.tails[edges]] * count + number[graph.heads[edges]]) * kinds + graph.level_of_edge[edges]
    for edge in edges[np.unique(code, return_index=True)[1]].tolist():  # equal pairs of rows once
        u, v = int(graph.tails[edge]), int(graph.heads[edge])
        level = graph.levels[int(graph.level_of_edge[edge])]
        broken = violated_event(level, fixed[u], fixed[v])
        if broken is not None:
            conflict = Conflict((u, v), _sum(fixed[v], broken), step_up(level, _sum(fixed[u], broken)))
            return conflict_words(problem, conflict, broken)
    return None


def envelope_rows(problem: Problem, bounds: dict[Event, Bounds]) -> list[Row]:
    """Every prefix sum at its bound."""
    rows = []
    for vertex in range(len(problem.graph)):
        order = problem.preferences.order(vertex)
        row, before = [Fraction(0)] * len(order), Fraction(0)
        for k, answer in enumerate(order, start=1):
            total = bounds[tuple(sorted(order[:k]))].values[vertex] if k < len(order) else Fraction(1)
            row[answer], before = total - before, total
        rows.append(tuple(row))
    return rows


def _sum(row: Row, event: Event) -> Fraction:
    return sum((row[a] for a in event), Fraction(0))


def tree_certificate(problem: Problem, bounds: dict[Event, Bounds]) -> Certificate:
    """One bound tree for each prefix event."""
    given = np.zeros(len(problem.graph), dtype=bool)
    given[list(problem.fixed)] = True
    trees = tuple(BoundTree(event, of_event.predecessor) for event, of_event in bounds.items())
    return Certificate(given, trees, statement=_STATEMENT)
