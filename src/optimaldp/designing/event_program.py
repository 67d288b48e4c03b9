"""The linear program of private extensions: the probabilities of the free datasets, one constraint for each event.

Privacy of an arc u -> v is ``P_v(S) - e^epsilon P_u(S) <= delta`` for every event S. There are exponentially many, so
they are added as they are violated; with delta = 0 the single answers are enough. A Gaussian level is the family of its
tangents, which are added in the same way: what is decided then is decided in floating point. An infinite epsilon limits only
what the tail never answers (see :mod:`optimaldp.designing.impossibility`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, count
from math import exp, inf
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from optimaldp.designing.steps import rational_ratio
from optimaldp.errors import ProblemError
from optimaldp.extras import requiring
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.certificate import Event, EventConstraint
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, GaussianDP, Level
from optimaldp.programs.linear import (
    EXACT_COLUMNS,
    Constraint,
    FloatVertex,
    SharedBasis,
    Solution,
    Terms,
    inexact,
    maximise,
    solve_floats,
)

_NOTHING_DIFFERS = Bound(Epsilon.read(0), Fraction(0))
_LARGEST_RATIO = Fraction(10**300)  # of a ratio as a float
_CUT = 1e-9  # a violation by a point in floating point that is worth a new constraint
_PATIENCE = 30  # rounds of tangents before a curved face is suspected
_MOST_ROUNDS = 300
_SETTLED_GAP = Fraction(3, 10**9)  # what tangents may leave above a point that is taken for the maximum


@dataclass(frozen=True)
class ArcBound:
    """``P_head(S) <= ratio P_tail(S) + delta``."""

    tail: int
    head: int
    ratio: Fraction
    delta: Fraction
    promise: Bound | None  # None for a tangent of a Gaussian level, and for what an infinite epsilon still forbids
    alone: bool  # whether it is the only promise from tail to head


class EventProgram:
    """All private extensions of the given values, as a linear program that grows by violated events."""

    def __init__(self, problem: Problem, *, exact_columns: int = EXACT_COLUMNS) -> None:
        """With more than *exact_columns* free probabilities floats decide."""
        self.problem, self._exact_columns = problem, exact_columns
        self._q = len(problem.answers)
        self._free = [v for v in range(len(problem.graph)) if v not in problem.fixed]
        self._column = {v: k * self._q for k, v in enumerate(self._free)}
        self.columns = len(self._free) * self._q
        self._bounds = _arc_bounds(problem)
        self._tails = np.array([bound.tail for bound in self._bounds], dtype=np.int64)
        self._heads = np.array([bound.head for bound in self._bounds], dtype=np.int64)
        self._ratios = np.array([float(min(bound.ratio, _LARGEST_RATIO)) for bound in self._bounds])
        self._deltas = np.array([float(bound.delta) for bound in self._bounds])
        self._row_sums = [c for v in self._free for c in self._row_sum(v)]
        self._cuts: dict[tuple[ArcBound, Event], Constraint] = {}
        self._forbidden: set[tuple[int, Event, Fraction]] = set()
        self._impossible: set[int] = set()  # columns that are known to be 0 everywhere
        singles = [(answer,) for answer in range(self._q)]
        every = (
            [event for k in range(1, self._q) for event in combinations(range(self._q), k)] if self._q <= 3 else singles
        )
        for bound in self._bounds:
            for event in every if bound.delta > 0 else singles:
                self._add(bound, event)
        self._gaussian = gaussian_arcs(problem)
        for arc in self._gaussian:
            for slope, intercept in tangents_at_start(arc.mu):
                for answer in range(self._q):
                    self._add_line(arc.tail, arc.head, slope, intercept, (answer,))
                    self._add_line(arc.head, arc.tail, slope, intercept, (answer,))

    def maximise(self, objective: Terms) -> Solution | None:
        """The largest value of *objective* over private extensions; ``None`` if there is none.

        **Guarantee.** Where the solution says that it is exact, its rows are private exactly: events are added until none is
        violated by any amount.
        """
        for rounds in count(1):
            solved = solve_floats(objective, self.constraints(), self.columns)
            if solved is None:
                return None
            if self._separate(self.rows(list(map(Fraction, solved.point.tolist()))), slack=_CUT):
                if self._gaussian and rounds % _PATIENCE == 0:
                    if (settled := self._settled(objective)) is not None:
                        return settled
                    self._refuse_endless(rounds)
                continue  # no need to be exact about a point that is not private
            if self._gaussian:
                return inexact(objective, solved)
            solution = maximise(objective, self.constraints(), self.columns, solved, exact_columns=self._exact_columns)
            if solution is None or not self._separate(self.rows(solution.point), slack=0 if solution.exact else _CUT):
                return solution
        raise AssertionError("counting never ends")

    def _settled(self, objective: Terms) -> Solution | None:
        """The maximum on a curved face: a point inside, and tangents there that leave no more than a hair above it."""
        curved = CurvedProgram(self.problem, self._column, self.columns, self._impossible)
        start = self._roomy_point(all_rows=True) if curved.fits else None
        if start is None:
            return None
        linear = [cut for (bound, _), cut in self._cuts.items() if bound.promise is not None]
        asked = self._row_sums[2 * len(self._free) :]
        point = curved.maximise(objective, [*linear, *asked], self._gaussian, start)
        if point is None:
            return None
        rows = self.rows(list(map(Fraction, point.tolist())))
        if self._separate(rows, slack=_CUT):
            return None  # an event of a finite epsilon that was not asked for yet
        for arc in self._gaussian:
            for tail, head in ((arc.tail, arc.head), (arc.head, arc.tail)):
                for tangent in touching_tangents(arc.mu, rows[tail], rows[head]):
                    self._add_line(tail, head, *tangent)
        above = solve_floats(objective, self.constraints(), self.columns)
        below = inexact(objective, FloatVertex(point, np.zeros(0), np.zeros(0)))
        if above is None or inexact(objective, above).value - below.value > _SETTLED_GAP:
            return None
        return below

    def _refuse_endless(self, rounds: int) -> None:
        if rounds >= _MOST_ROUNDS:
            raise ProblemError(
                "privacy",
                f"{len(self._gaussian)} edges with a Gaussian level",
                f"bound {self.columns} free probabilities by a curved surface, and {rounds} rounds of tangents did not "
                "settle where its maximum is",
                "fix more datasets, or use (epsilon, delta)",
            )

    @property
    def tangential(self) -> bool:
        """Whether there are Gaussian levels: then floats decide."""
        return bool(self._gaussian)

    @property
    def forbids(self) -> bool:
        """Whether something was forbidden beyond the events, which multipliers of events cannot prove."""
        return bool(self._forbidden)

    def constraints(self) -> list[Constraint]:
        """Row sums first, then the events so far."""
        return self._row_sums + list(self._cuts.values())

    def event_multipliers(self, solution: Solution) -> tuple[tuple[EventConstraint, Fraction], ...]:
        """The multipliers of the event constraints in a solution."""
        return self._named_multipliers(solution.multipliers)

    def shared_basis(
        self, solution: Solution
    ) -> Callable[[Terms], tuple[tuple[EventConstraint, Fraction], ...] | None]:
        """A function that proves other objectives at the point of an exact *solution*, as far as its basis does."""
        basis = SharedBasis(self.constraints(), self.columns, solution)

        def prove(objective: Terms) -> tuple[tuple[EventConstraint, Fraction], ...] | None:
            multipliers = basis.multipliers(objective)
            return None if multipliers is None else self._named_multipliers(multipliers)

        return prove

    def promise_multipliers(self, solution: Solution) -> tuple[tuple[EventConstraint, Fraction], ...]:
        """The same, every promise with its own (epsilon, delta)."""
        cuts, shift = list(self._cuts), len(self._row_sums)
        chosen = [(*cuts[i - shift], w) for i, w in solution.multipliers.items() if i >= shift]
        return tuple((EventConstraint(b.tail, b.head, event, b.promise), w) for b, event, w in chosen)

    def _named_multipliers(self, multipliers: Mapping[int, Fraction]) -> tuple[tuple[EventConstraint, Fraction], ...]:
        cuts = list(self._cuts)
        shift = len(self._row_sums)
        return tuple((_named(*cuts[i - shift]), w) for i, w in multipliers.items() if i >= shift)

    def prefix(self, vertex: int, event: Event) -> tuple[Terms, Fraction]:
        """The probability of *event* at *vertex* as terms and a constant."""
        if vertex not in self._column:
            return {}, sum((self.problem.fixed[vertex][a] for a in event), Fraction(0))
        return {self._column[vertex] + a: Fraction(1) for a in event}, Fraction(0)

    def require_terms(self, terms: Terms, value: Fraction) -> int:
        """From now on *terms* are at least *value* together; the number of that constraint."""
        self._row_sums.append(Constraint({j: -c for j, c in terms.items()}, -value))
        return len(self._row_sums) - 1

    def add_least(self, prefixes: Iterable[tuple[int, Event]]) -> tuple[Terms, range]:
        """A new variable that is at most each of these prefix sums, as an objective (the least of them), and its constraints."""
        least, first = self.columns, len(self._row_sums)
        self.columns += 1
        for vertex, event in prefixes:
            terms, constant = self.prefix(vertex, event)
            self._row_sums.append(Constraint({least: Fraction(1)} | {j: -c for j, c in terms.items()}, constant))
        return {least: Fraction(1)}, range(first, len(self._row_sums))

    def sum_of(self, prefixes: Iterable[tuple[int, Event]]) -> Terms:
        """The sum of several prefix sums, as an objective."""
        total: Terms = {}
        for vertex, event in prefixes:
            for j, c in self.prefix(vertex, event)[0].items():
                total[j] = total.get(j, Fraction(0)) + c
        return total

    def rows(self, point: list[Fraction]) -> list[Row]:
        """The mechanism at a point of the program."""
        q = self._q
        return [
            tuple(point[self._column[v] : self._column[v] + q]) if v in self._column else self.problem.fixed[v]
            for v in range(len(self.problem.graph))
        ]

    def least_violation(self) -> tuple[Fraction, list[tuple[EventConstraint, float]]]:
        """By how much the constraints must give way together, and which of them prove it, with their multipliers."""
        while True:
            extra = self.columns
            relaxed = self._row_sums + [
                Constraint({**c.terms, extra: Fraction(-1)}, c.bound) for c in self._cuts.values()
            ]
            relaxed.append(Constraint({extra: Fraction(1)}, Fraction(1)))
            solved = solve_floats({extra: Fraction(-1)}, relaxed, extra + 1)
            if solved is None:
                return Fraction(0), []
            floats = [Fraction(float(x)) for x in solved.point[:-1]]
            if not self._separate(self.rows(floats), slack=float(solved.point[-1]) + _CUT):
                break
        cuts = list(self._cuts)
        shift = len(self._row_sums)
        binding = [
            (EventConstraint(bound.tail, bound.head, event, bound.promise), float(solved.multipliers[i + shift]))
            for i, (bound, event) in enumerate(cuts)
            if _CUT < solved.multipliers[i + shift] < inf
        ]
        return Fraction(float(solved.point[-1])), binding

    def interior(self) -> list[Row] | None:
        """Rows that keep every constraint with room to spare, as far as there is any; ``None`` if nothing is feasible."""
        point = self._roomy_point(all_rows=False)
        return None if point is None else self.rows(list(map(Fraction, point.tolist())))

    def _roomy_point(self, *, all_rows: bool) -> np.ndarray | None:
        """A point with at least half of the most room that every event and probability can have.

        With *all_rows* what was asked for beside them (:meth:`require_terms`, :meth:`forbid`) has that room too.
        """
        room, sums = self.columns, 2 * len(self._free)
        while True:
            giving = [*(self._row_sums[sums:] if all_rows else ()), *self._cuts.values()]
            roomier = self._row_sums[: sums if all_rows else None] + [
                Constraint({**c.terms, room: Fraction(1)}, c.bound) if set(c.terms) - self._impossible else c
                for c in giving
            ]
            roomier += [
                Constraint({j: Fraction(-1), room: Fraction(1)}, Fraction(0))
                for j in range(self.columns)
                if j not in self._impossible
            ]
            solved = solve_floats({room: Fraction(1)}, roomier, room + 1)
            if solved is None:
                return None
            rows = self.rows([Fraction(float(x)) for x in solved.point[:-1]])
            if not self._separate(rows, slack=_CUT - float(solved.point[-1]) / 2):
                return np.asarray(solved.point[:-1])

    def forbid(self, vertex: int, event: Event, most: Fraction) -> bool:
        """From now on *event* at a free *vertex* has at most the probability *most*; whether that is new."""
        terms = self.prefix(vertex, event)[0]
        if (vertex, event, most) in self._forbidden:
            return False
        self._forbidden.add((vertex, event, most))
        self._row_sums.append(Constraint(terms, most))
        self._impossible |= set(terms) if most == 0 else set()
        return True

    def _row_sum(self, vertex: int) -> tuple[Constraint, Constraint]:
        start = self._column[vertex]
        ones = {start + a: Fraction(1) for a in range(self._q)}
        return Constraint(ones, Fraction(1)), Constraint({j: -c for j, c in ones.items()}, Fraction(-1))

    def _separate(self, rows: list[Row], *, slack: float) -> bool:
        """Add the event of every arc bound that is violated most, if by more than *slack*; whether any was new."""
        added = False
        for bound in self._suspects(rows):
            start, end = rows[bound.tail], rows[bound.head]
            gains = [end[a] - bound.ratio * start[a] for a in range(self._q)]
            event = tuple(a for a in range(self._q) if gains[a] > 0)
            if event and sum(gains[a] for a in event) - bound.delta > slack:
                added |= self._add(bound, event)
        for arc in self._gaussian:
            for tail, head in ((arc.tail, arc.head), (arc.head, arc.tail)):
                tangent = violated_tangent(arc.mu, rows[tail], rows[head], slack)
                if tangent is not None and (tail in self._column or head in self._column):
                    added |= self._add_line(tail, head, *tangent)
        return added

    def _add_line(self, tail: int, head: int, slope: Fraction, intercept: Fraction, event: Event) -> bool:
        return self._add(ArcBound(tail, head, slope, intercept, None, alone=True), event)

    def _suspects(self, rows: list[Row]) -> list[ArcBound]:
        """The bounds that floats cannot tell to be kept: all others need no rationals."""
        table = np.array([[float(p) for p in row] for row in rows])
        gains = table[self._heads] - self._ratios[:, None] * table[self._tails]
        excess = np.maximum(gains, 0.0).sum(axis=1) - self._deltas
        # Relative to the numbers that were subtracted: a ratio may be large.
        near = excess > -1e-12 * (1.0 + self._ratios)
        return [self._bounds[i] for i in np.flatnonzero(near).tolist()]

    def _add(self, bound: ArcBound, event: Event) -> bool:
        if (bound, event) in self._cuts:
            return False
        head, head_constant = self.prefix(bound.head, event)
        tail, tail_constant = self.prefix(bound.tail, event)
        terms = dict(head)
        for j, c in tail.items():
            terms[j] = terms.get(j, Fraction(0)) - bound.ratio * c
        self._cuts[bound, event] = Constraint(terms, bound.delta - head_constant + bound.ratio * tail_constant)
        return True


def _named(bound: ArcBound, event: Event) -> EventConstraint:
    return EventConstraint(bound.tail, bound.head, event, None if bound.alone else bound.promise)


def _arc_bounds(problem: Problem) -> list[ArcBound]:
    arcs = problem.graph.arcs
    levels = problem.graph.arc_levels
    promises: dict[tuple[int, int], list[Bound]] = {}
    for u, v, k in zip(arcs.tails().tolist(), arcs.heads.tolist(), arcs.levels.tolist()):
        promises.setdefault((u, v), []).extend(_finite_bounds(levels[k]))
    return [
        ArcBound(u, v, rational_ratio(bound), bound.delta, bound, alone=len(set(bounds)) == 1)
        for (u, v), bounds in promises.items()
        for bound in dict.fromkeys(bounds)
    ]


def _finite_bounds(level: Level) -> tuple[Bound, ...]:
    if not isinstance(level, ApproximateDP):
        # Nothing may differ at mu = 0, which is epsilon 0 and no curve.
        return (_NOTHING_DIFFERS,) if level.is_rational else ()
    return tuple(bound for bound in level.forward if not bound.epsilon.infinite)


# Gaussian levels in a linear program: tangents first, and where those never end an interior point method.


# A Gaussian level as lines: its step ``F(s) = Phi(Phi^-1(s) + mu)`` is concave, so it is the least of its tangents.
#
# The linear program starts with a few and is given more where its solution breaks the step itself (Kelley's cutting planes).
# Tangents lie above the step, so what they exclude is excluded; they are floats, a hair too high, so that rounding excludes
# nothing that is allowed.


_NORMAL = NormalDist()
_FIRST_QUANTILES = (-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0)  # quantiles at which the program starts with tangents
_FARTHEST_QUANTILE = 7.5  # quantiles beyond this are taken as this: a probability of 3e-14
_ROUNDING_MARGIN = 1e-14

Line = tuple[Fraction, Fraction]  # slope and intercept


@dataclass(frozen=True)
class GaussianArc:
    """Two neighbours with a Gaussian level; it promises the same in both directions."""

    tail: int
    head: int
    mu: float


def gaussian_arcs(problem: Problem) -> list[GaussianArc]:
    """The strictest Gaussian level between each two neighbours, one of them free; there is no curve at mu = 0."""
    graph, strictest = problem.graph, dict[tuple[int, int], float]()
    for u, v, k in zip(graph.tails.tolist(), graph.heads.tolist(), graph.level_of_edge.tolist()):
        level = graph.levels[k]
        if isinstance(level, GaussianDP) and level.mu > 0 and not (u in problem.fixed and v in problem.fixed):
            pair = (min(u, v), max(u, v))
            strictest[pair] = min(float(level.mu), strictest.get(pair, float("inf")))
    return [GaussianArc(u, v, mu) for (u, v), mu in strictest.items()]


def tangents_at_start(mu: float) -> list[Line]:
    """The tangents that a program starts with."""
    return [_tangent(mu, quantile) for quantile in _FIRST_QUANTILES]


def violated_tangent(mu: float, start: Row, end: Row, slack: float) -> tuple[Fraction, Fraction, Event] | None:
    """The tangent and event that exclude these rows most clearly, if by more than *slack*."""
    worst, line = slack, None
    for event, before, after in _nested_events(start, end):
        quantile = _quantile(before)
        slope, intercept = _tangent(mu, quantile)
        excess = after - float(slope) * before - float(intercept)
        if excess > worst:
            worst, line = excess, (slope, intercept, event)
    return line


def touching_tangents(mu: float, start: Row, end: Row) -> Iterator[tuple[Fraction, Fraction, Event]]:
    """The tangents of every event at these rows."""
    for size in range(1, len(start)):
        for event in combinations(range(len(start)), size):
            yield *_tangent(mu, _quantile(float(sum(start[a] for a in event)))), event


def _nested_events(start: Row, end: Row) -> Iterator[tuple[Event, float, float]]:
    """Answers collected by falling ratio end/start: for a concave step one of these events fails first."""
    before = [max(float(p), 0.0) for p in start]
    after = [max(float(p), 0.0) for p in end]
    order = sorted(range(len(after)), key=lambda a: after[a] / max(before[a], 1e-300), reverse=True)
    for k in range(1, len(order)):
        event = tuple(sorted(order[:k]))
        yield event, min(1.0, sum(before[a] for a in event)), min(1.0, sum(after[a] for a in event))


def _quantile(probability: float) -> float:
    if not 1e-14 < probability < 1 - 1e-14:
        return -_FARTHEST_QUANTILE if probability < 0.5 else _FARTHEST_QUANTILE
    # Rounded, so that the cuts end: a tangent this near lies within 1e-11 of the best one.
    return round(min(_FARTHEST_QUANTILE, max(-_FARTHEST_QUANTILE, _NORMAL.inv_cdf(probability))), 5)


def _tangent(mu: float, quantile: float) -> Line:
    slope = exp(-mu * quantile - mu * mu / 2)
    intercept = _NORMAL.cdf(quantile + mu) - slope * _NORMAL.cdf(quantile)
    return Fraction(slope), Fraction(max(0.0, intercept) + _ROUNDING_MARGIN)


# A linear objective over linear and Gaussian constraints, by an interior point method in floats.
#
# Tangents find a vertex within a few rounds, but where a maximum lies on a curved face they need thousands: there Newton's method
# with a logarithmic barrier finds a point that is private with room to spare and a hair below the maximum. How much below is not
# believed: tangents at that point bound the maximum, and the linear program with them says so.


FloatArray = npt.NDArray[np.float64]

_GROWTH = 8.0  # of the weight of the objective from one centre to the next
_GAP = 2e-10  # how far below the maximum the last centre is, in theory
_MOST_STEPS = 60  # of Newton's method for one centre; a handful is usual
_CENTRED_DECREMENT = 1e-9  # half the squared Newton decrement at which a centre is good enough
_SHORTEST_STEP = 1e-12


@dataclass(frozen=True)
class GaussianRows:
    """``head · x + head_constant <= F_mu(tail · x + tail_constant)``, one for each row."""

    mu: FloatArray
    tail: FloatArray
    tail_constant: FloatArray
    head: FloatArray
    head_constant: FloatArray


@dataclass(frozen=True)
class SmoothProgram:
    """Maximise ``cost · x`` subject to ``rows · x <= bounds``, ``equal · x`` as at the start, and Gaussian rows."""

    cost: FloatArray
    rows: FloatArray
    bounds: FloatArray
    equal: FloatArray
    gaussian: GaussianRows

    def maximise(self, start: FloatArray) -> FloatArray | None:
        """A point just inside that is nearly maximal; *start* is strictly inside, otherwise there is no answer."""
        if self._barrier(start)[0] == inf:
            return None
        count = len(self.bounds) + len(self.gaussian.mu)
        basis = _null_space(self.equal)
        point, weight = start, 1.0
        while True:
            point = self._centre(point, basis, weight)
            if count / weight <= _GAP:
                return point
            weight *= _GROWTH

    def _centre(self, point: FloatArray, basis: FloatArray, weight: float) -> FloatArray:
        """Newton's method from *point* to the maximum of ``weight cost · x`` and the logarithms of all room."""
        for _ in range(_MOST_STEPS):
            value, gradient, curvature = self._barrier(point)
            gradient = basis.T @ (gradient - weight * self.cost)
            step = -np.linalg.lstsq(basis.T @ curvature @ basis, gradient, rcond=None)[0]
            decrement = float(-gradient @ step)
            if not decrement > 2 * _CENTRED_DECREMENT:
                return point
            length, direction = 1.0, basis @ step
            here = value - weight * float(self.cost @ point)
            while length > _SHORTEST_STEP:
                there = point + length * direction
                if self._room(there) - weight * float(self.cost @ there) <= here - 0.1 * length * decrement:
                    break
                length /= 2
            else:
                return point  # rounding decides from here on
            point = there
        return point

    def _room(self, point: FloatArray) -> float:
        slacks, steps, _ = self._slacks(point)
        if (slacks.size and slacks.min() <= 0) or not np.all(np.isfinite(steps)) or (steps.size and steps.min() <= 0):
            return inf
        return float(-np.log(slacks).sum() - np.log(steps).sum())

    def _barrier(self, point: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Minus the logarithms of all room, with gradient and curvature; infinite outside."""
        room = self._room(point)
        size = len(point)
        if room == inf:
            return inf, np.zeros(size), np.zeros((size, size))
        slacks, steps, quantile = self._slacks(point)
        rows, gaussian = self.rows, self.gaussian
        slope = np.exp(-gaussian.mu * quantile - gaussian.mu**2 / 2)
        density = np.exp(-(quantile**2) / 2) / np.sqrt(2 * np.pi)
        rise = slope[:, None] * gaussian.tail - gaussian.head
        gradient = rows.T @ (1 / slacks) - rise.T @ (1 / steps)
        bend = gaussian.mu * slope / density / steps
        curvature = (rows.T / slacks**2) @ rows + (rise.T / steps**2) @ rise + (gaussian.tail.T * bend) @ gaussian.tail
        return room, gradient, curvature

    def _slacks(self, point: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        with requiring("scipy"):
            from scipy.special import ndtr, ndtri

        gaussian = self.gaussian
        with np.errstate(invalid="ignore"):
            quantile = ndtri(gaussian.tail @ point + gaussian.tail_constant)
            steps = ndtr(quantile + gaussian.mu) - gaussian.head @ point - gaussian.head_constant
        return self.bounds - self.rows @ point, steps, quantile


def _null_space(equal: FloatArray) -> FloatArray:
    """An orthonormal basis of the directions that keep every equality."""
    _, sizes, directions = np.linalg.svd(equal)
    return np.asarray(directions[int((sizes > 1e-10).sum()) :].T, dtype=np.float64)


_MOST_ANSWERS = 6  # up to here every event of an arc is a row; with more there would be too many
_MOST_COLUMNS = 600  # of a dense program: some seconds

Affine = tuple[Terms, Fraction]


class CurvedProgram:
    """Probabilities of the free datasets, without the columns that are 0 everywhere."""

    def __init__(self, problem: Problem, column: dict[int, int], columns: int, impossible: set[int]) -> None:
        self._problem, self._column, self._q = problem, column, len(problem.answers)
        self.live = [j for j in range(columns) if j not in impossible]
        self._place = {j: k for k, j in enumerate(self.live)}
        self._columns = columns

    @property
    def fits(self) -> bool:
        """Whether it is small enough to be solved with dense matrices and all events."""
        return self._q <= _MOST_ANSWERS and len(self.live) <= _MOST_COLUMNS

    def maximise(
        self, objective: Terms, constraints: Iterable[Constraint], arcs: Sequence[GaussianArc], start: FloatArray
    ) -> FloatArray | None:
        """A point inside, a hair below the maximum; *constraints* are the linear ones beside the row sums."""
        rows, bounds = [], []
        for constraint in constraints:
            if any(j in self._place for j in constraint.terms):
                rows.append(self._vector(constraint.terms))
                bounds.append(float(constraint.bound))
        size = len(self.live)
        program = SmoothProgram(
            self._vector(objective),
            np.vstack([*rows, -np.eye(size)]),
            np.array([*bounds, *[0.0] * size]),
            np.array(
                [self._vector({first + a: Fraction(1) for a in range(self._q)}) for first in self._column.values()]
            ),
            self._gaussian_rows(arcs),
        )
        best = program.maximise(start[self.live])
        if best is None:
            return None
        point = np.zeros(self._columns)
        point[self.live] = best
        return point

    def _gaussian_rows(self, arcs: Sequence[GaussianArc]) -> GaussianRows:
        constraints = [
            (arc.mu, tail, head)
            for arc in arcs
            for event in self._events()
            for tail, head in [(self._probability(arc.tail, event), self._probability(arc.head, event))]
            if not (tail == head and not tail[0])  # never, or always, at both ends
        ]
        size = len(self.live)
        return GaussianRows(
            np.array([mu for mu, _, _ in constraints]),
            np.array([self._vector(tail[0]) for _, tail, _ in constraints]).reshape(-1, size),
            np.array([float(tail[1]) for _, tail, _ in constraints]),
            np.array([self._vector(head[0]) for _, _, head in constraints]).reshape(-1, size),
            np.array([float(head[1]) for _, _, head in constraints]),
        )

    def _events(self) -> Iterator[Event]:
        """All events in one direction of an arc are the complements of all events in the other."""
        return (event for k in range(1, self._q) for event in combinations(range(self._q), k))

    def _probability(self, vertex: int, event: Event) -> Affine:
        if vertex not in self._column:
            return {}, sum((self._problem.fixed[vertex][a] for a in event), Fraction(0))
        first = self._column[vertex]
        live = [a for a in range(self._q) if first + a in self._place]
        if all(a in event for a in live):
            return {}, Fraction(1)
        return {first + a: Fraction(1) for a in event if first + a in self._place}, Fraction(0)

    def _vector(self, terms: Terms) -> FloatArray:
        vector = np.zeros(len(self.live))
        for j, c in terms.items():
            if j in self._place:
                vector[self._place[j]] += float(c)
        return vector
