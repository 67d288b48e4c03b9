"""More than two answers: the envelope where it decides, the linear program where it does not."""

from __future__ import annotations

from optimaldp.certify.graphs.privacy import check_privacy
from optimaldp.designing.components import design_by_components
from optimaldp.designing.envelope import design_envelope
from optimaldp.designing.outcome import Outcome, Status
from optimaldp.errors import ProblemError
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Mechanism

MOST_COLUMNS = 20_000  # free probabilities of a linear program that is tried at all


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
    columns = (len(problem.graph) - len(problem.fixed)) * len(problem.answers)
    if columns > MOST_COLUMNS:
        graph, edge = problem.graph, finding.worst_edge or 0
        ends = f"{graph.names[int(graph.tails[edge])]} and {graph.names[int(graph.heads[edge])]}"
        raise ProblemError(
            "problem",
            f"{columns} free probabilities",
            f"cannot be decided: the bounds on prefix sums exclude each other between {ends}, so only a linear program "
            f"could tell, and it would be too large (at most {MOST_COLUMNS})",
            "fix more datasets, or use one level",
        )
    return False
