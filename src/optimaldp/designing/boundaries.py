"""Rules that choose the values on the boundary (theory 2.4)."""

from __future__ import annotations

from fractions import Fraction

from optimaldp.designing.rational import LEVEL_BITS, stand_in
from optimaldp.errors import ProblemError
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, GaussianDP, Level
from optimaldp.privacy.balls import ball, lower, precision

RULES = ("balanced",)


def balanced_value(level: Level) -> Fraction:
    """The value m = F(1 - m) that both ends of an edge between two answers can give to their own: ``(E+delta)/(E+1)``.

    Rounded down where it is irrational.

    >>> from optimaldp import level
    >>> balanced_value(level("ln(2)", 0.1))
    Fraction(7, 10)
    """
    return touching_value(level, 2)


def touching_value(level: Level, answers: int) -> Fraction:
    """Randomised response over q answers: the favourite has ``(E + (q-1) delta) / (E + q - 1)``, the rest is shared."""
    if isinstance(level, GaussianDP):
        if answers != 2:
            raise ProblemError("boundary", "balanced", "is known for two answers only at a Gaussian level")
        with precision(LEVEL_BITS):
            half = ball(level.mu / 2)
            return lower((-half / ball(Fraction(2)).sqrt()).erfc() / 2)
    stricter = stand_in(level)
    assert isinstance(stricter, ApproximateDP)
    if any(bound.epsilon.infinite and bound.delta < 1 for bound in stricter.bounds):
        raise ProblemError(
            "boundary",
            "balanced",
            f"has no largest value at {level}: any probability below 1 is allowed",
            "fix the values on that edge instead",
        )
    others = answers - 1
    return min(
        Fraction(1)
        if bound.epsilon.infinite
        else (bound.epsilon.finite_parts()[1] + others * bound.delta) / (bound.epsilon.finite_parts()[1] + others)
        for bound in stricter.bounds
    )


def balanced_row(level: Level, favourite: int, answers: int) -> Row:
    """The distribution on the boundary of a region whose favourite answer is *favourite*."""
    top = touching_value(level, answers)
    rest = (1 - top) / (answers - 1)
    return tuple(top if answer == favourite else rest for answer in range(answers))


def balanced_boundary(problem: Problem) -> dict[int, Row]:
    """A boundary row for each preference, for one level on all edges."""
    if not problem.graph.levels:
        return {}
    level = problem.graph.levels[0]
    q = len(problem.answers)
    return {number: balanced_row(level, order[0], q) for number, order in enumerate(problem.preferences.orders)}


def frontier(level: Level, value: Fraction) -> tuple[Fraction, Fraction]:
    """Two answers: the best pair of boundary values if one side has *value*: ``(m, F(1 - m))`` (000 Thm 3)."""
    return value, level.step_below(1 - value, bits=LEVEL_BITS)
