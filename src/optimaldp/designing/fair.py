"""Two answers: the max-min fair mechanism, by one search that is as cheap as the balanced one.

Each edge between the two true answers enters with the largest chance that both of its ends can have. The least value is settled
first: an edge with two open ends settles both, a dataset takes the least offer of its settled neighbours. Whoever is settled at
x offers ``F(x)`` to open neighbours of the same true answer and ``F(1 - x)`` to those of the other. Values come out in rising
order; the result is private, at least the balanced mechanism everywhere, and nobody's chance can be raised without lowering
somebody's that is no better. No other mechanism has that property.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from optimaldp.designing.boundaries import forbids_sureness, most_touching
from optimaldp.designing.outcome import Outcome, Route, Status
from optimaldp.designing.propagation import Bounds, Propagator
from optimaldp.errors import ProblemError
from optimaldp.graphs import crossing_edges
from optimaldp.graphs.problem import FAIR, Problem
from optimaldp.mechanisms import BoundTree, Certificate, Claimed, How, Settling, SharedRows
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Level

# A chance with what ranks "any number below 1", which an infinite epsilon allows, below 1 itself.
Chance = tuple[Fraction, bool]


def design_fair(problem: Problem) -> Outcome:
    """The fair mechanism where nothing is fixed; exact."""
    search = FairSearch(problem, Propagator(problem.graph))
    search.run()
    return Outcome(Status.OPTIMAL, Route.DIJKSTRA, search.rows(), search.certificate(()))


def fair_beside(problem: Problem, propagator: Propagator, bounds: Sequence[Bounds]) -> tuple[SharedRows, Certificate]:
    """The fair mechanism with the fixed rows, where those exclude an optimum; *bounds* are what they impose on each answer."""
    search = FairSearch(problem, propagator, bounds)
    search.run()
    trees = tuple(BoundTree((answer,), bounds[answer].predecessor) for answer in (0, 1))
    return search.rows(), search.certificate(trees)


def need_two_answers(problem: Problem, rule: str) -> None:
    """Refuse more answers than the rule has a meaning for."""
    if len(problem.answers) != 2:
        remedy = "leave the boundary out, or fix the boundary values instead"
        raise ProblemError("boundary", rule, f"is a rule for two answers, and there are {len(problem.answers)}", remedy)


def no_fair_mechanism(name: str) -> ProblemError:
    """What is said where an infinite epsilon allows every chance below 1 but not 1 itself."""
    return ProblemError(
        "boundary",
        FAIR,
        f"has no answer: no max-min fair mechanism exists, because {name} may have any chance below 1 but not 1 itself",
        "use a finite epsilon, or fix the values on the edges of infinite epsilon",
    )


class FairSearch:
    """One search in exact arithmetic, optionally below the bounds that fixed datasets impose."""

    def __init__(self, problem: Problem, propagator: Propagator, bounds: Sequence[Bounds] = ()) -> None:
        need_two_answers(problem, FAIR)
        self._problem, self._propagator = problem, propagator
        self._favourites: list[int] = problem.preferences.favourites.tolist()
        self._levels = problem.graph.arc_levels
        count = len(problem.graph)
        self._chance: list[Chance] = [(Fraction(1), True)] * count
        self._open = [True] * count
        self._how, self._source = [How.SURE] * count, [-1] * count
        self._order: list[int] = []
        # (value, whether 1 is attained, 0 for an edge and 1 for a dataset, its number): ties do not change the result.
        self._queue: list[tuple[Fraction, bool, int, int]] = []
        for vertex, row in problem.fixed.items():
            self._take(vertex, (row[self._favourites[vertex]], True), How.GIVEN, -1)
        for vertex in range(count) if bounds else ():
            bound = bounds[self._favourites[vertex]]
            if self._open[vertex] and bound.predecessor[vertex] >= 0:
                self._offer(vertex, (bound.values[vertex], True), How.GIVEN, -1)

    def run(self) -> None:
        """Settle every dataset."""
        graph = self._problem.graph
        crossing = np.flatnonzero(crossing_edges(graph, self._problem.preferences)).tolist()
        kinds = graph.level_of_edge.tolist()
        both = {k: _most_for_both(graph.levels[k]) for k in {kinds[edge] for edge in crossing}}
        self._queue += [(*both[kinds[edge]], 0, edge) for edge in crossing]
        heapq.heapify(self._queue)
        while self._queue:
            value, attained, is_dataset, item = heapq.heappop(self._queue)
            if is_dataset:
                if self._open[item] and self._chance[item] == (value, attained):
                    self._settle([item])
                continue
            u, v = int(graph.tails[item]), int(graph.heads[item])
            if self._open[u] and self._open[v]:
                self._chance[u] = self._chance[v] = (value, attained)
                self._how[u] = self._how[v] = How.PAIR
                self._source[u], self._source[v] = v, u
                self._settle([u, v])
        self._order += [v for v, waiting in enumerate(self._open) if waiting]

    def _settle(self, vertices: list[int]) -> None:
        """Close datasets of one chance, then let each make its offers."""
        for vertex in vertices:
            if not self._chance[vertex][1]:
                raise no_fair_mechanism(self._problem.graph.names[vertex])
            self._open[vertex] = False
            self._order.append(vertex)
        for vertex in vertices:
            self._make_offers(vertex)

    def _make_offers(self, u: int) -> None:
        value, step = self._chance[u][0], self._propagator.step
        for v, level in self._propagator.arcs_from(u):
            if not self._open[v]:
                continue
            same = self._favourites[u] == self._favourites[v]
            start = value if same else 1 - value
            # What was rounded never falls below the own value: across, that is at most what both ends can have.
            reached = max(value, step(level, start))
            attained = reached < 1 or not _excludes_one(self._levels[level], start)
            self._offer(v, (reached, attained), How.SAME if same else How.ACROSS, u)

    def _offer(self, vertex: int, chance: Chance, how: How, source: int) -> None:
        if chance < self._chance[vertex]:
            self._chance[vertex], self._how[vertex], self._source[vertex] = chance, how, source
            heapq.heappush(self._queue, (*chance, 1, vertex))

    def _take(self, vertex: int, chance: Chance, how: How, source: int) -> None:
        """Settle a fixed dataset, which offers nothing more than the bounds say already."""
        self._chance[vertex], self._how[vertex], self._source[vertex] = chance, how, source
        self._open[vertex] = False
        self._order.append(vertex)

    def rows(self) -> SharedRows:
        """The distributions, in the answers' fixed order."""
        rows: list[Row] = []
        for (value, _), favourite in zip(self._chance, self._favourites):
            rows.append((value, 1 - value) if favourite == 0 else (1 - value, value))
        return SharedRows.from_rows(rows)

    def certificate(self, trees: tuple[BoundTree, ...]) -> Certificate:
        """Who limits whom, and the order of settling."""
        given = np.zeros(len(self._open), dtype=bool)
        given[list(self._problem.fixed)] = True
        settling = Settling(
            np.array(self._how, dtype=np.int8),
            np.array(self._source, dtype=np.int32),
            np.array(self._order, dtype=np.int32),
        )
        return Certificate(given, trees, statement=Claimed.FAIR.words, claim=Claimed.FAIR, settling=settling)


def _most_for_both(level: Level) -> Chance:
    """The largest chance that both ends of an edge can have for their own answers."""
    value = most_touching(level, 2)
    return value, value < 1 or not forbids_sureness(level)


def _excludes_one(level: Level, start: Fraction) -> bool:
    """Whether a neighbour of *start* may have any probability below 1 but not 1: an infinite epsilon says so."""
    return isinstance(level, ApproximateDP) and any(
        bound.epsilon.infinite and start < 1 - bound.delta for bound in level.backward
    )
