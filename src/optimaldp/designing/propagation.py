"""Generalised Dijkstra in exact arithmetic: the twin of the compiled search, for graphs that fit a page."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from optimaldp.designing.closeness import reachable
from optimaldp.designing.rational import Stepper
from optimaldp.graphs import DatasetGraph
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.certificate import FREE, ROOT, Event
from optimaldp.privacy import Level
from optimaldp.privacy.balls import precision, upper


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


_BITS = 256


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
