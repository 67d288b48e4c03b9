"""One level, one boundary distribution for each preference: the closed form (000 Thms 3-5, 001 Thms 2-4, corrected).

At distance t from its own boundary a dataset has the prefix sums ``F^t(s_k)``, where ``s_k`` are those of the
boundary. It is the greatest private mechanism with that boundary, and no graph search beyond a breadth-first one is needed.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from optimaldp.designing.result import Outcome, Route, Status
from optimaldp.designing.steps import Stepper, violated_event
from optimaldp.designing.two_answers import balanced_row
from optimaldp.graphs import DatasetGraph, Preferences, crossing_edges
from optimaldp.graphs.dataset_graph import first_of_each
from optimaldp.graphs.problem import Problem
from optimaldp.kernels.loops import breadth_first_tree, settle_one_level
from optimaldp.mechanisms import BoundTree, Certificate, Claimed, How, Settling, SharedRows
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Level

_FAINTEST = Fraction(1, 2**4000)  # about 10^-1200
_FAINTEST_OF_MANY = Fraction(1, 2**1000)  # about 10^-300, where floats end
_MANY_NUMBERS = 20_000  # probabilities along all chains, from which on the second one holds

_STATEMENT = "greatest among the private mechanisms with the same boundary values (dominance order)"


def is_plain(graph: DatasetGraph) -> bool:
    """Whether every edge has one and the same undirected (epsilon, delta), or one Gaussian level."""
    if any(level != graph.levels[0] for level in graph.levels):
        return False
    return all(not isinstance(level, ApproximateDP) or level.is_single for level in graph.levels)


def broken_boundary(problem: Problem, rows: dict[int, Row]) -> Outcome | None:
    """Infeasible if the boundary rows of two touching regions are not close (compared answer by answer, not by rank)."""
    graph, of = problem.graph, problem.preferences.of
    crossing = np.flatnonzero(crossing_edges(graph, problem.preferences))
    code = of[graph.tails[crossing]].astype(np.int64) * len(problem.preferences.orders) + of[graph.heads[crossing]]
    _, first = first_of_each(code, len(problem.preferences.orders) ** 2)  # regions touch along many edges
    for edge in crossing[np.sort(first)].tolist():
        u, v = int(graph.tails[edge]), int(graph.heads[edge])
        event = violated_event(graph.levels[0], rows[int(of[u])], rows[int(of[v])])
        if event is not None:
            names = [graph.names[u], graph.names[v]]
            answers = [problem.answers[a] for a in event]
            reason = f"the values given to the neighbours {names[0]} and {names[1]} are too far apart on {answers}"
            witness = {"reason": reason, "fixed": names, "path": names, "answers": answers}
            return Outcome(Status.INFEASIBLE, Route.CLOSED_FORM, witness=witness)
    return None


def design_homogeneous(problem: Problem, boundary: npt.NDArray[np.bool_], boundary_rows: dict[int, Row]) -> Outcome:
    """Fill the regions from a boundary that is known to be private."""
    graph, preferences = problem.graph, problem.preferences
    # The tree's -1 and -2 are ROOT and FREE: sources are given, the rest of a component without boundary is free.
    distance, tree = breadth_first_tree(graph.arcs.first, graph.arcs.heads, preferences.of, boundary)
    rows = _rows_at(problem, boundary_rows, distance)
    return Outcome(Status.OPTIMAL, Route.CLOSED_FORM, rows, _certificate(preferences, tree, boundary))


def design_fair_closed(problem: Problem) -> Outcome:
    """Two answers at one finite level: the fair mechanism is the balanced one, and the search goes layer by layer."""
    graph, of = problem.graph, problem.preferences.of
    distance, alone, source, order = settle_one_level(graph.arcs.first, graph.arcs.heads, of)
    how = np.where(alone == 0, How.PAIR, np.where(alone == 1, How.ACROSS, np.where(distance > 0, How.SAME, How.SURE)))
    orders = enumerate(problem.preferences.orders) if (alone >= 0).any() else ()
    rows = _rows_at(problem, {k: balanced_row(graph.levels[0], order[0], 2) for k, order in orders}, distance)
    settling = Settling(how.astype(np.int8), source, order)
    nothing = np.zeros(len(graph), dtype=bool)
    certificate = Certificate(nothing, (), statement=Claimed.FAIR.words, claim=Claimed.FAIR, settling=settling)
    return Outcome(Status.OPTIMAL, Route.CLOSED_FORM, rows, certificate)


def _rows_at(problem: Problem, boundary_rows: dict[int, Row], distance: npt.NDArray[np.int32]) -> SharedRows:
    """The row of each dataset at its distance from the own boundary."""
    graph, preferences = problem.graph, problem.preferences
    rows: list[Row] = []
    start, last = np.zeros((2, len(preferences.orders)), dtype=np.int32)
    farthest = np.full(len(preferences.orders), -1, dtype=np.int64)
    for number in range(len(farthest)):
        farthest[number] = distance.max(where=preferences.of == number, initial=-1)
    # Below this error a chain stands still, which is private: a million rows of a thousand digits would not fit.
    numbers = int(farthest.sum()) * len(problem.answers) ** 2
    chains = _Chains(graph.levels[:1], _FAINTEST if numbers < _MANY_NUMBERS else _FAINTEST_OF_MANY)
    for number, order in enumerate(preferences.orders):
        start[number] = len(rows) + 1
        # The favourite answer always: a component without a boundary has nothing to hide.
        rows.append(tuple(Fraction(int(answer == order[0])) for answer in range(len(order))))
        chain = chains.rows(boundary_rows.get(number), order, int(farthest[number]))
        last[number] = max(0, len(chain) - 1)
        rows += chain
    # A chain ends where nothing moves any more: all datasets beyond have its last row.
    place = np.minimum(distance, last[preferences.of])
    of = np.where(distance >= 0, start[preferences.of] + place, start[preferences.of] - 1).astype(np.int32)
    return SharedRows(tuple(rows), of)


class _Chains:
    """The rows at distances 0, 1, … from boundaries, up to where nothing moves any more.

    Preferences that have the same prefix sums on their boundary share them all along: a balanced boundary is walked once,
    however many answers there are.
    """

    def __init__(self, level: tuple[Level, ...], faintest: Fraction) -> None:
        self._level, self._faintest = level, faintest
        self._walked: dict[Row, list[list[Fraction]]] = {}

    def rows(self, row: Row | None, order: tuple[int, ...], farthest: int) -> list[Row]:
        """The rows of one preference at distances 0, 1, ..., *farthest*."""
        if row is None or farthest < 0:
            return []
        wanted = tuple(row[answer] for answer in order)
        walked = self._walked.get(wanted)
        if walked is None or len(walked) <= farthest:
            walked = self._walked[wanted] = self._walk(wanted, farthest)
        return [row, *(_row_of(sums, order) for sums in walked[1 : farthest + 1])]

    def _walk(self, wanted: Row, farthest: int) -> list[list[Fraction]]:
        """Prefix sums at each distance."""
        step = exact = Stepper(self._level)
        sums = list(accumulate(wanted))
        walked = [sums]
        for _ in range(farthest):
            following = [step(0, s) for s in sums[:-1]] + [Fraction(1)]
            if step is exact and exact.rounded:
                # From here on steps at a tightened level, rounded: the slack of each step covers its own rounding, and all
                # prefix sums are rounded from the same step on, so that they stay in order.
                step = Stepper(self._level, tight=True)
                following = [step(0, s) for s in sums[:-1]] + [Fraction(1)]
            if following == sums or 0 < 1 - following[0] < self._faintest:
                break
            sums = following
            walked.append(sums)
        return walked


def _row_of(sums: list[Fraction], order: tuple[int, ...]) -> Row:
    """Prefix sums along a preference, turned back into a row in the answers' own order."""
    row = [Fraction(0)] * len(order)
    before = Fraction(0)
    for answer, total in zip(order, sums):
        row[answer] = total - before
        before = total
    return tuple(row)


def _certificate(preferences: Preferences, tree: npt.NDArray[np.int32], boundary: npt.NDArray[np.bool_]) -> Certificate:
    """The predecessor of a dataset is a neighbour one step nearer to the boundary, whatever the event."""
    events = {tuple(sorted(order[:k])) for order in preferences.orders for k in range(1, len(order))}
    return Certificate(boundary, tuple(BoundTree(event, tree) for event in sorted(events)), statement=_STATEMENT)
