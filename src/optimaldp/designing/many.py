"""More than two answers: the envelope where it decides, the linear program where it does not."""

from __future__ import annotations

from optimaldp.designing.envelope import design_envelope
from optimaldp.designing.linear_program import design_linear_program
from optimaldp.designing.outcome import Outcome
from optimaldp.graphs.problem import Problem


def design_many(problem: Problem) -> Outcome:
    """Solve a problem with given values."""
    outcome, bounds = design_envelope(problem)
    return outcome or design_linear_program(problem, bounds)
