"""Whether two distributions may stand on neighbours: decided at the nominal level, exactly, whatever was rounded before."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from optimaldp.certify.core.closeness import enclosure, ratio_within, within_gaussian
from optimaldp.errors import ProblemError
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Bound, GaussianDP, Level
from optimaldp.privacy.balls import Rational, rational

_BITS = 256  # of e^epsilon from below: finer than the slack that boundaries are designed with


def violated_event(level: Level, start: Row, end: Row) -> tuple[int, ...] | None:
    """An event to which *end* gives more than one step from *start* allows; ``None`` if there is none.

    F is concave, so only events that collect answers by falling ratio end/start can be the first to fail; and upper
    bounds on all events in one direction of an edge are the bounds of the other direction on the complements.
    """
    if _certainly_close(level, start, end):
        return None
    answers = sorted(range(len(end)), key=lambda a: _ratio(end[a], start[a]), reverse=True)
    before = after = Fraction(0)
    event: list[int] = []
    for answer in answers[:-1]:
        before += start[answer]
        after += end[answer]
        event.append(answer)
        if not reachable(level, before, after):
            return tuple(sorted(event))
    return None


def _certainly_close(level: Level, start: Row, end: Row) -> bool:
    """Whether ``sum of (P - E Q)_+ <= delta`` holds both ways with E from below: quick, and nearly always it does."""
    if not isinstance(level, ApproximateDP) or any(bound.epsilon.infinite for bound in level.bounds):
        return False
    p, q = [rational(number) for number in start], [rational(number) for number in end]
    return all(_within(bound, q, p) for bound in level.forward) and all(
        _within(bound, p, q) for bound in level.backward
    )


def _within(bound: Bound, above: list[Rational], below: list[Rational]) -> bool:
    ratio = rational(enclosure(bound.epsilon, _BITS)[0])
    excess = (a - ratio * b for a, b in zip(above, below))
    return bool(sum((one for one in excess if one > 0), rational(0)) <= rational(bound.delta))


def reachable(level: Level, before: Fraction, after: Fraction) -> bool:
    """Whether ``after <= F(before)`` for the step F of *level*, decided exactly."""
    if after <= before:
        return True
    if isinstance(level, GaussianDP):
        return within_gaussian((after, 1 - after), (before, 1 - before), level.mu)
    assert isinstance(level, ApproximateDP)
    return all(_covers(bound, after, before) for bound in level.forward) and all(
        _covers(bound, 1 - before, 1 - after) for bound in level.backward
    )


def _covers(bound: Bound, above: Fraction, below: Fraction) -> bool:
    """Whether ``above <= e^epsilon below + delta``."""
    if above <= bound.delta:
        return True
    return below > 0 and ratio_within((above - bound.delta) / below, bound.epsilon)


def _ratio(end: Fraction, start: Fraction) -> tuple[int, Fraction]:
    """end/start, with anything over 0 above every finite ratio (and 0/0 lowest: it does not matter)."""
    if start == 0:
        return (1, Fraction(0)) if end > 0 else (0, Fraction(-1))
    return 0, end / start


# Making an almost private mechanism exactly private.
#
# A linear program in floating point is private only up to its tolerance, and a probability that was rounded to 0 means no
# privacy at all. Mixing in a little of a mechanism with slack repairs both.


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
