"""Making an almost private mechanism exactly private.

A linear program in floating point is private only up to its tolerance, and a probability that was rounded to 0 means no
privacy at all. Mixing in a little of a mechanism with slack repairs both.
"""

from __future__ import annotations

from fractions import Fraction

from optimaldp.designing.closeness import violated_event
from optimaldp.errors import ProblemError
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.rows import Row

_MIXES = tuple(Fraction(1, 10**k) for k in (11, 10, 9, 8, 7, 6, 5))


def repaired(problem: Problem, rows: list[Row]) -> list[Row]:
    """The nearest exactly private rows, among mixtures with the average of the given rows; given rows stay as they are.

    Raises an error rather than hand out a mechanism that is not private.
    """
    calm = _average(problem)
    for share in (Fraction(0), *_MIXES):
        mixed = [
            problem.fixed[v] if v in problem.fixed else _normalised(row, calm, share) for v, row in enumerate(rows)
        ]
        if is_private(problem, mixed):
            return mixed
    raise ProblemError(
        "problem",
        f"{len(rows)} datasets",
        "was solved in floating point only, and its solution could not be made exactly private",
        "loosen the given values a little, or write the levels as ln(p/q)",
    )


def is_private(problem: Problem, rows: list[Row]) -> bool:
    """Whether every edge holds, exactly."""
    graph = problem.graph
    return all(
        violated_event(graph.levels[k], rows[u], rows[v]) is None
        for u, v, k in zip(graph.tails.tolist(), graph.heads.tolist(), graph.level_of_edge.tolist())
    )


def _average(problem: Problem) -> Row:
    """The mean of the given rows and the uniform one: nothing in it is 0."""
    q = len(problem.answers)
    rows = [*problem.fixed.values(), (Fraction(1, q),) * q]
    return tuple(sum((row[a] for row in rows), Fraction(0)) / len(rows) for a in range(q))


def _normalised(row: Row, calm: Row, share: Fraction) -> Row:
    positive = [max(p, Fraction(0)) for p in row]
    total = sum(positive)
    return tuple((1 - share) * p / total + share * c for p, c in zip(positive, calm))
