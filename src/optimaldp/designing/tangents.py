"""A Gaussian level as lines: its step ``F(s) = Phi(Phi^-1(s) + mu)`` is concave, so it is the least of its tangents.

The linear program starts with a few and is given more where its solution breaks the step itself (Kelley's cutting planes).
Tangents lie above the step, so what they exclude is excluded; they are floats, a hair too high, so that rounding excludes
nothing that is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import exp
from statistics import NormalDist

from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.certificate import Event
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import GaussianDP

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
