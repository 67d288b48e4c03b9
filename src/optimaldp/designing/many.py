"""More than two answers: the envelope where it decides, the linear program where it does not."""

from __future__ import annotations

import numpy as np

from optimaldp.certify.graphs.privacy import check_privacy
from optimaldp.designing.components import design_by_components, parts_of, refuse_large
from optimaldp.designing.envelope import design_envelope, prefix_events
from optimaldp.designing.outcome import Outcome, Status
from optimaldp.errors import ProblemError
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Mechanism

MOST_EXACT_BOUNDS = 2_000_000  # of prefix sums, in rationals: a minute or two


def design_many(problem: Problem, *, exact: bool) -> Outcome:
    """Solve a problem with given values."""
    if not exact:
        from optimaldp.designing.large_many import design_large_many  # compiled: only where it pays

        outcome = design_large_many(problem)
        if outcome.status is not Status.OPTIMAL or _fits(problem, outcome):
            return outcome
    decided, bounds = design_envelope(problem)
    return decided or design_by_components(problem, bounds)


def _fits(problem: Problem, outcome: Outcome) -> bool:
    """Whether the envelope is private. If not, it decides nothing, and what is too large for a program is refused."""
    assert outcome.rows is not None
    finding = check_privacy(Mechanism(problem.graph, problem.preferences, outcome.rows))
    if finding.private:
        return True
    graph, edge = problem.graph, finding.worst_edge or 0
    ends = int(graph.tails[edge]), int(graph.heads[edge])
    free, part = parts_of(problem)
    refuse_large(problem, np.flatnonzero(free & (part == part[ends[0] if free[ends[0]] else ends[1]])))
    bounds = len(graph) * len(prefix_events(problem))
    if bounds > MOST_EXACT_BOUNDS:
        raise ProblemError(
            "problem",
            f"{bounds} bounds on prefix sums",
            f"would have to be found again in exact arithmetic (at most {MOST_EXACT_BOUNDS}), because they exclude each other "
            f"between {graph.names[ends[0]]} and {graph.names[ends[1]]}",
            "design that part by itself, fix more datasets, or use one level",
        )
    return False
