"""Making an almost private mechanism exactly private.

A linear program in floating point is private only up to its tolerance, and a probability that was rounded to 0 means no
privacy at all. Mixing in a little of a mechanism with slack repairs both.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from optimaldp.designing.closeness import violated_event
from optimaldp.errors import ProblemError
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.rows import Row

_MIXES = tuple(Fraction(1, 10**k) for k in (11, 10, 9, 8, 7, 6, 5))


def repaired(problem: Problem, rows: list[Row], interior: Callable[[], list[Row] | None]) -> list[Row]:
    """The nearest exactly private rows, among mixtures with rows that have room to spare; given rows stay as they are.

    Raises an error rather than hand out a mechanism that is not private.
    """
    mended = nearest_private(problem, rows, interior)
    if mended is not None:
        return mended
    raise ProblemError(
        "problem",
        f"{len(rows)} datasets",
        "was solved in floating point only, and its solution could not be made exactly private: the given values leave no "
        "room for rounding",
        "loosen them a little, or write the levels as ln(p/q)",
    )


def nearest_private(problem: Problem, rows: list[Row], interior: Callable[[], list[Row] | None]) -> list[Row] | None:
    """The same, or ``None``. What has room is the average of the given rows; if that is not enough *interior* is asked."""
    calm = [_average(problem)] * len(rows)
    for share in (Fraction(0), *_MIXES):
        if is_private(problem, mixed := _mixed(problem, rows, calm, share)):
            return mixed
    roomy = interior()
    for share in _MIXES if roomy is not None else ():
        if is_private(problem, mixed := _mixed(problem, rows, roomy or [], share)):
            return mixed
    return None


def _mixed(problem: Problem, rows: list[Row], calm: list[Row], share: Fraction) -> list[Row]:
    return [problem.fixed[v] if v in problem.fixed else _normalised(row, calm[v], share) for v, row in enumerate(rows)]


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
    positive, room = ([max(p, Fraction(0)) for p in each] for each in (row, calm))
    total, whole = sum(positive), sum(room)
    return tuple((1 - share) * p / total + share * c / whole for p, c in zip(positive, room))
