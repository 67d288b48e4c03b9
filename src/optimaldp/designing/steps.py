"""One step along an edge in exact arithmetic: rational levels, whether two rows are close, bounds along paths."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from optimaldp.certify.core.closeness import enclosure, ratio_within, within_gaussian
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.certificate import FREE, ROOT, Event
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, GaussianDP, Level
from optimaldp.privacy.balls import Rational, precision, rational, upper

# Rational stand-ins for levels, so that a design is exact arithmetic throughout.
#
# Two kinds of numbers are too long to keep: an irrational ``e^epsilon``, and a probability after thousands of steps. Both are
# rounded only against *slack*. A level whose ``e^epsilon`` is irrational is replaced by one that is stricter by a relative
# ``2**-SLACK_BITS``; what is rounded afterwards is rounded by ``2**-WORKING_BITS``, so much less that an answer may be 2**-400
# times less likely than the others and still keep its promise at the nominal level. (Rounding each prefix sum by itself, without
# slack, was the old way: it broke promises by 10**-65 as soon as there were three answers.) The referee has the last word.


SLACK_BITS = 160
WORKING_BITS = 640
GAUSSIAN_BITS = 256  # of a quantile: each bit costs, and 96 below the slack are plenty
LONGEST = 4096  # bits of a numerator or denominator that is kept exactly; longer ones are rounded

_HALF = Fraction(1, 2)
_ONE = Fraction(1)
_LEVEL_FACTOR = 1 - Fraction(1, 2**SLACK_BITS)


def stand_in(level: Level) -> Level:
    """A level with rational ``e^epsilon`` that implies *level*, with slack where it is irrational; Gaussian ones too."""
    if level.is_rational:
        return level
    if isinstance(level, GaussianDP):
        return tightened(level)
    assert isinstance(level, ApproximateDP)
    return ApproximateDP(*(tuple(_rational(b) for b in bounds) for bounds in (level.forward, level.backward)))


def tightened(level: Level) -> Level:
    """A rational level that implies *level* with slack in everything: what is rounded by less keeps the promise."""
    if isinstance(level, GaussianDP):
        return GaussianDP(level.mu * _LEVEL_FACTOR)
    assert isinstance(level, ApproximateDP)
    return ApproximateDP(*(tuple(_tighter(b) for b in bounds) for bounds in (level.forward, level.backward)))


def rational_ratio(bound: Bound) -> Fraction:
    """``e^epsilon`` of a finite bound: itself where it is rational, else smaller by a relative ``2**-SLACK_BITS``."""
    exact = bound.epsilon.exact_ratio
    return exact if exact is not None else _ratio_with_slack(bound.epsilon)


@lru_cache(maxsize=1 << 16)  # a metric has as many levels as edges, and each is asked for a dozen times
def _ratio_with_slack(epsilon: Epsilon) -> Fraction:
    ratio = epsilon.ratio_below(bits=SLACK_BITS + 32) * _LEVEL_FACTOR
    return max(_ONE, round_down(ratio, SLACK_BITS + 32))


def _rational(bound: Bound) -> Bound:
    return bound if bound.epsilon.infinite else Bound(Epsilon(Fraction(0), rational_ratio(bound)), bound.delta)


def _tighter(bound: Bound) -> Bound:
    epsilon = bound.epsilon if bound.epsilon.infinite else Epsilon(Fraction(0), _ratio_with_slack(bound.epsilon))
    return Bound(epsilon, round_down(bound.delta * _LEVEL_FACTOR, WORKING_BITS))


class Stepper:
    """The steps of several levels on rationals, remembered: graphs repeat their few values on many edges.

    With *tight* every step is taken at a tightened level and rounded, whether it is long or not: then the rounded step is
    monotone, so bounds on nested events stay nested. Otherwise what is short is exact, and only what has grown too long
    is rounded.
    """

    def __init__(self, levels: tuple[Level, ...], *, tight: bool = False) -> None:
        self._tight = tight
        self.rounded = tight  # whether a step was rounded that had grown too long
        self._levels = levels
        self._exact = [_Step(stand_in(level)) for level in levels]
        self._rounded: dict[int, _Step] = {}  # made when needed: with as many levels as edges most never are
        self._known: dict[tuple[int, Fraction], Fraction] = {}

    def __call__(self, level: int, s: Fraction) -> Fraction:
        """At most ``F(s)``, and equal to it unless the level is irrational or the number has grown too long."""
        value = self._known.get((level, s))
        if value is None:
            value = self._known[level, s] = max(s, self._taken(level, s))
        return value

    def _taken(self, level: int, s: Fraction) -> Fraction:
        if not self._tight:
            value = self._exact[level](s)
            if value.denominator.bit_length() <= LONGEST:
                return value
            self.rounded = True
        if level not in self._rounded:
            self._rounded[level] = _Step(tightened(self._levels[level]))
        return shorten(self._rounded[level](s))


class _Step:
    """One rational level as a function."""

    def __init__(self, level: Level) -> None:
        self._level = level
        # A plain (epsilon, delta) is one line, and nearly every level is plain.
        self._plain: tuple[Fraction, Fraction] | None = None
        if isinstance(level, ApproximateDP) and level.is_single and not level.epsilon.infinite:
            self._plain = rational_ratio(level.forward[0]), level.delta

    def __call__(self, s: Fraction) -> Fraction:
        if self._plain is None:
            gaussian = isinstance(self._level, GaussianDP)
            return self._level.step_below(s, bits=GAUSSIAN_BITS if gaussian else WORKING_BITS)
        ratio, delta = self._plain
        return min(_ONE, ratio * s + delta, 1 - (1 - s - delta) / ratio)


def shorten(p: Fraction) -> Fraction:
    """A probability just below *p*; the small side keeps its relative precision. Monotone."""
    if p in (0, 1):
        return p
    return round_down(p, WORKING_BITS) if p <= _HALF else 1 + round_down(p - 1, WORKING_BITS)


def round_down(number: Fraction, bits: int) -> Fraction:
    """Round towards minus infinity at a relative precision of about *bits*."""
    size = number.denominator.bit_length() - abs(number.numerator).bit_length()
    scale = 1 << max(0, bits + size)
    return Fraction((number.numerator * scale) // number.denominator, scale)


# Whether two distributions may stand on neighbours: decided at the nominal level, exactly, whatever was rounded before.


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
HAIRS = tuple(Fraction(1, 10**k) for k in (40, 20))  # for rows that are exact, and break only what a 0 forbids


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


def nearest_private(
    problem: Problem, rows: list[Row], interior: Callable[[], list[Row] | None], hairs: Sequence[Fraction] = ()
) -> list[Row] | None:
    """The same, or ``None``. What has room is the average of the given rows; if that is not enough *interior* is asked."""
    calm = [_average(problem)] * len(rows)
    for share in (Fraction(0), *hairs, *_MIXES):
        if is_private(problem, mixed := _mixed(problem, rows, calm, share)):
            return mixed
    roomy = interior()
    for share in (*hairs, *_MIXES) if roomy is not None else ():
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


# Generalised Dijkstra in exact arithmetic: the twin of the compiled search, for graphs that fit a page.


@dataclass(frozen=True)
class Conflict:
    """A given value that another given value forbids: the path from one to the other, and the bound at its end."""

    path: tuple[int, ...]
    given: Fraction
    bound: Fraction


@dataclass(frozen=True)
class Bounds:
    """The least upper bound on one event at every dataset, where it comes from, and a conflict if there is one."""

    values: list[Fraction]
    predecessor: npt.NDArray[np.int32]
    conflict: Conflict | None


class Propagator:
    """Propagates bounds on one graph; the arcs and steps are prepared once for all events."""

    def __init__(self, graph: DatasetGraph, *, tight: bool = False) -> None:
        arcs = graph.arcs
        self._count = len(graph)
        self._first = arcs.first.tolist()
        self._heads = arcs.heads.tolist()
        self._levels = arcs.levels.tolist()
        self._nominal = graph.arc_levels
        self.step = Stepper(graph.arc_levels, tight=tight)

    def arcs_from(self, vertex: int) -> Iterator[tuple[int, int]]:
        """Where the arcs out of a dataset lead, and the number of the level of each."""
        arcs = range(self._first[vertex], self._first[vertex + 1])
        return ((self._heads[arc], self._levels[arc]) for arc in arcs)

    def bounds(self, sources: Mapping[int, Fraction], *, region: list[int] | None = None, rigid: bool = True) -> Bounds:
        """Settle the bounds that *sources* impose; inside regions only if *region* is given.

        Values of *rigid* sources are given and must hold; others are upper bounds that may be lowered themselves.
        """
        values = [Fraction(1)] * self._count
        predecessor = np.full(self._count, FREE, dtype=np.int32)
        conflict = None
        for vertex, value in sources.items():
            values[vertex] = value
            predecessor[vertex] = ROOT
        queue = [(value, vertex) for vertex, value in sources.items()]
        heapq.heapify(queue)
        while queue:
            value, u = heapq.heappop(queue)
            if value > values[u]:
                continue
            for arc in range(self._first[u], self._first[u + 1]):
                v = self._heads[arc]
                if values[v] <= value or (region is not None and region[v] != region[u]):
                    continue
                reached = self.step(self._levels[arc], value)
                if reached >= values[v]:
                    continue
                if rigid and v in sources:
                    # The step was rounded down: a conflict is one only if it is one at the nominal levels.
                    path = (*_path(predecessor, u), v)
                    if conflict is None and self._forbids(path, sources[path[0]], values[v]):
                        conflict = Conflict(path, values[v], reached)
                    continue
                values[v] = reached
                predecessor[v] = u
                heapq.heappush(queue, (reached, v))
        return Bounds(values, predecessor, conflict)

    def _forbids(self, path: Sequence[int], start: Fraction, end: Fraction) -> bool:
        """Whether the nominal levels along *path* certainly forbid *end* after *start*."""
        value = start
        for u, v in pairwise(path[:-1]):
            value = min(step_up(level, value) for level in self._between(u, v))
        return not all(reachable(level, value, end) for level in self._between(path[-2], path[-1]))

    def _between(self, u: int, v: int) -> list[Level]:
        arcs = range(self._first[u], self._first[u + 1])
        return [self._nominal[self._levels[arc]] for arc in arcs if self._heads[arc] == v]


def step_up(level: Level, s: Fraction) -> Fraction:
    """At least ``F(s)``: equal to it where the level is rational, else above it by a hair."""
    if level.is_rational:
        return Fraction(level.step(s))
    with precision(_BITS):
        value = level.step(s)
        return min(Fraction(1), value if isinstance(value, Fraction) else upper(value))


def _path(predecessor: npt.NDArray[np.int32], vertex: int) -> list[int]:
    """From the root of *vertex* to itself."""
    path = [vertex]
    while predecessor[path[-1]] >= 0:
        path.append(int(predecessor[path[-1]]))
    return path[::-1]


def conflict_along(problem: Problem, event: Event, path: Sequence[int]) -> Conflict:
    """What the first dataset of a path, which is given, allows the last one, walked in rationals; next to what that is given."""
    graph, arcs = problem.graph, problem.graph.arcs
    value = sum((problem.fixed[path[0]][a] for a in event), Fraction(0))
    for here, there in pairwise(path):
        between = range(int(arcs.first[here]), int(arcs.first[here + 1]))
        levels = [graph.arc_levels[int(arcs.levels[arc])] for arc in between if arcs.heads[arc] == there]
        value = min(step_up(level, value) for level in levels)
        value = Fraction(value).limit_denominator(10**30) if value.denominator.bit_length() > 4096 else value
    given = sum((problem.fixed[path[-1]][a] for a in event), Fraction(0))
    return Conflict(tuple(path), given, value)
