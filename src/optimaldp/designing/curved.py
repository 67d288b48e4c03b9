"""Gaussian levels in a linear program: tangents first, and where those never end an interior point method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import exp, inf
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from optimaldp.extras import requiring
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.certificate import Event
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import GaussianDP
from optimaldp.programs.exact import Constraint, Terms

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
