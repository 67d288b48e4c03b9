"""More than two answers: the envelope where it decides, the linear program where it does not."""

from __future__ import annotations

from optimaldp.designing.components import design_by_components
from optimaldp.designing.envelope import design_envelope
from optimaldp.designing.outcome import Outcome, Status
from optimaldp.graphs.problem import Problem


def design_many(problem: Problem, *, exact: bool) -> Outcome:
    """Solve a problem with given values."""
    if exact:
        decided, bounds = design_envelope(problem)
        return decided or design_by_components(problem, bounds)
    from optimaldp.designing.large_many import design_large_many  # compiled: only where it pays
    from optimaldp.designing.mending import mended

    outcome = design_large_many(problem)
    return mended(problem, outcome) if outcome.status is Status.OPTIMAL else outcome
