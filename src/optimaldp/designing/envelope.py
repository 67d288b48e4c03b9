"""More than two answers: the least upper bound on every prefix sum (theory 2.3).

If the bounds together are a private mechanism it is the optimum. If they are not, that proves nothing: the
linear program decides.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from optimaldp.designing.binary import conflict_words
from optimaldp.designing.closeness import violated_event
from optimaldp.designing.outcome import Outcome, Route, Status
from optimaldp.designing.propagation import Bounds, Conflict, Propagator
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import BoundTree, Certificate, SharedRows
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


def design_envelope(problem: Problem, propagator: Propagator, bounds: dict[Event, Bounds]) -> Outcome | None:
    """The envelope if it decides: infeasible by a path, or optimal because private; else ``None``."""
    for event, found in bounds.items():
        if found.conflict is not None:
            return Outcome(Status.INFEASIBLE, Route.ENVELOPE, witness=conflict_words(problem, found.conflict, event))
    rows = envelope_rows(problem, bounds)
    arcs = problem.graph.arcs
    private = True
    for u, v, level in zip(arcs.tails().tolist(), arcs.heads.tolist(), arcs.levels.tolist()):
        broken = violated_event(propagator.step, level, rows[u], rows[v])
        if broken is None:
            continue
        if u in problem.fixed and v in problem.fixed:  # the event need not be a prefix of anybody's preference
            conflict = Conflict((u, v), _sum(rows[v], broken), propagator.step(level, _sum(rows[u], broken)))
            return Outcome(Status.INFEASIBLE, Route.ENVELOPE, witness=conflict_words(problem, conflict, broken))
        private = False
    if not private:
        return None
    certificate = tree_certificate(problem, bounds)
    return Outcome(Status.OPTIMAL, Route.ENVELOPE, SharedRows.from_rows(rows), certificate)


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
    trees = tuple(BoundTree(event, found.predecessor) for event, found in bounds.items())
    return Certificate(given, trees, statement=_STATEMENT)
