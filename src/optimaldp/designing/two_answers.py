"""Two answers in exact arithmetic: boundary values, given values, and the fair design."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.designing.result import Outcome, Route, Status
from optimaldp.designing.steps import (
    GAUSSIAN_BITS,
    WORKING_BITS,
    Bounds,
    Conflict,
    Propagator,
    stand_in,
    tightened,
    violated_event,
)
from optimaldp.errors import LevelError, ProblemError
from optimaldp.graphs import crossing_edges
from optimaldp.graphs.dataset_graph import PlainLevels
from optimaldp.graphs.problem import BALANCED, FAIR, RAISED, UNDOMINATED, Problem
from optimaldp.mechanisms import BoundTree, Certificate, Claimed, How, Settling, SharedRows
from optimaldp.mechanisms.certificate import ROOT, DualProof, Event
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, GaussianDP, Level, read_probability
from optimaldp.privacy.balls import ball, lower, precision
from optimaldp.privacy.numbers import narrowed, shown_text

# Rules that choose the values on the boundary (theory 2.4).


RULES = (FAIR, RAISED, BALANCED, UNDOMINATED)


def balanced_value(level: Level) -> Fraction:
    """The value m = F(1 - m) that both ends of an edge between two answers can give to their own: ``(E+delta)/(E+1)``.

    Rounded down where it is irrational.

    >>> from optimaldp import level
    >>> balanced_value(level("ln(2)", 0.1))
    Fraction(7, 10)
    """
    return touching_value(level, 2)


def touching_value(level: Level, answers: int) -> Fraction:
    """Randomised response over q answers: the favourite has ``(E + (q-1) delta) / (E + q - 1)``, the rest is shared."""
    top = most_touching(level, answers)
    if top == 1 and forbids_sureness(level):
        raise no_largest_value([level])
    return top


def most_touching(level: Level, answers: int) -> Fraction:
    """The same, as a supremum: an infinite epsilon limits nothing as long as every answer is possible."""
    if isinstance(level, GaussianDP):
        stricter = tightened(level)
        assert isinstance(stricter, GaussianDP)
        if answers != 2:
            return _largest_gaussian(stricter, answers)
        with precision(WORKING_BITS):
            half = ball(stricter.mu / 2)
            return lower((-half / ball(Fraction(2)).sqrt()).erfc() / 2)
    strict = stand_in(level)
    assert isinstance(strict, ApproximateDP)
    others, finite = answers - 1, [bound for bound in strict.bounds if not bound.epsilon.infinite]
    ratios = [(bound.epsilon.finite_parts[1], bound.delta) for bound in finite]
    return min(((ratio + others * delta) / (ratio + others) for ratio, delta in ratios), default=Fraction(1))


def forbids_sureness(level: Level) -> bool:
    """Whether two neighbours may not both be sure of different answers although anything less is allowed."""
    return isinstance(level, ApproximateDP) and any(b.epsilon.infinite and b.delta < 1 for b in level.bounds)


def no_largest_value(levels: Iterable[Level]) -> ProblemError:
    """What to say where a balanced value would be 1 and an infinite epsilon excludes just that."""
    return ProblemError(
        "boundary",
        BALANCED,
        f"has no largest value at {', '.join(map(str, levels))}: any probability below 1 is allowed",
        "fix the values on that edge instead",
    )


def _largest_gaussian(level: GaussianDP, answers: int) -> Fraction:
    """Randomised response over three answers and more, by bisection: every smaller favourite is a mixture, so private too.

    The favourite with j of the others has ``t + j r`` where the neighbour has ``(j + 1) r``; complements pair these events.
    """

    def fits(top: Fraction) -> bool:
        rest = (1 - top) / (answers - 1)
        return all(top + j * rest <= level.step_below((j + 1) * rest, bits=GAUSSIAN_BITS) for j in range(answers // 2))

    return narrowed(fits, Fraction(1, answers), Fraction(1), GAUSSIAN_BITS)[0]


def balanced_row(level: Level, favourite: int, answers: int) -> Row:
    """The distribution on the boundary of a region whose favourite answer is *favourite*."""
    return _row_with(touching_value(level, answers), favourite, answers)


def _row_with(top: Fraction, favourite: int, answers: int) -> Row:
    rest = (1 - top) / (answers - 1)
    return tuple(top if answer == favourite else rest for answer in range(answers))


def balanced_boundary(problem: Problem) -> dict[int, Row]:
    """A boundary row for each preference: the least value of all edges between regions, for everybody.

    A smaller value is a mixture with the uniform row, so it is private at every level that allows a larger one.
    """
    graph, q = problem.graph, len(problem.answers)
    crossing = crossing_edges(graph, problem.preferences)
    used = [graph.levels[k] for k in np.unique(graph.level_of_edge[crossing]).tolist()]
    if not used:
        return {}
    top = min(most_touching(level, q) for level in used)
    if top == 1 and (unattained := [level for level in used if forbids_sureness(level)]):
        raise no_largest_value(unattained)
    return {number: _row_with(top, order[0], q) for number, order in enumerate(problem.preferences.orders)}


def given_boundary(problem: Problem, boundary: npt.NDArray[np.bool_]) -> dict[int, Row] | None:
    """The row of each preference on the boundary, if the rule or the fixed values say one for each."""
    if problem.boundary == BALANCED:
        return balanced_boundary(problem)
    if isinstance(problem.boundary, str):
        raise ProblemError("boundary", problem.boundary, f"is not a rule: {', '.join(RULES)}")
    if problem.boundary is not None:
        missing = np.setdiff1d(np.unique(problem.preferences.of[boundary]), list(problem.boundary))
        if missing.size:
            preference = ">".join(problem.answers[a] for a in problem.preferences.orders[int(missing[0])])
            raise ProblemError("boundary", preference, "has no row", "give one for each preference on the boundary")
        return dict(problem.boundary)
    return constant_boundary(problem, boundary)


def constant_boundary(problem: Problem, boundary: npt.NDArray[np.bool_]) -> dict[int, Row] | None:
    """The boundary row of each preference, if exactly the boundary is given and is constant on each region."""
    if len(problem.fixed) != int(boundary.sum()):
        return None
    rows: dict[int, Row] = {}
    for vertex, row in problem.fixed.items():
        if not boundary[vertex] or rows.setdefault(int(problem.preferences.of[vertex]), row) != row:
            return None
    return rows


def frontier(level: Level, value: object) -> tuple[Fraction, Fraction]:
    """Two answers: the best pair of boundary values if one side has *value*: ``(m, F(1 - m))`` (000 Thm 3).

    >>> from optimaldp.privacy import level
    >>> frontier(level("ln(2)", "0.1"), "0.6")
    (Fraction(3, 5), Fraction(3, 4))
    """
    own = read_probability(value, name="value", error=LevelError)
    return own, level.step_below(1 - own, bits=WORKING_BITS)


# Balanced and heterogeneous, two answers (theory 2.2, in no paper): exact.
#
# Each end of each edge between the regions starts at most at the balanced value of that edge; the search inside the regions does
# the rest. The result is private, balanced on every such edge, and dominates what the strictest level everywhere would give.


STATEMENT = "greatest among the private mechanisms with the same boundary values (dominance order); balanced boundary"


def need_one_level(problem: Problem) -> None:
    """Refuse what the theory does not cover."""
    if len(problem.answers) != 2:
        raise ProblemError(
            "boundary",
            "balanced",
            f"with {len(problem.answers)} answers needs one level on all edges",
            "fix the boundary values instead",
        )


def refuse_sure_neighbours(
    problem: Problem, sure: npt.NDArray[np.bool_], row: Callable[[int], Row], *, inside: bool = False
) -> None:
    """An edge of infinite epsilon between the regions starts at 1; where nothing else lowers that, it excludes just 1.

    With *inside* edges within a region are looked at, too.
    """
    graph = problem.graph
    if isinstance(graph.levels, PlainLevels):  # which are all finite
        return
    suspected = np.array([forbids_sureness(level) for level in graph.levels] or [False])[graph.level_of_edge]
    suspected &= sure[graph.tails] | sure[graph.heads]
    if not inside:
        suspected &= crossing_edges(graph, problem.preferences)
    for edge in np.flatnonzero(suspected).tolist():
        level = graph.levels[int(graph.level_of_edge[edge])]
        if violated_event(level, row(int(graph.tails[edge])), row(int(graph.heads[edge]))) is not None:
            raise no_largest_value([level])


def design_balanced(problem: Problem) -> Outcome:
    """Choose balanced boundary values edge by edge and fill the regions."""
    need_one_level(problem)
    graph, preferences = problem.graph, problem.preferences
    seeds: dict[int, Fraction] = {}
    crossing = np.flatnonzero(crossing_edges(graph, preferences))
    values = {k: most_touching(graph.levels[k], 2) for k in set(graph.level_of_edge[crossing].tolist())}
    for edge in crossing.tolist():
        value = values[int(graph.level_of_edge[edge])]
        for end in (int(graph.tails[edge]), int(graph.heads[edge])):
            seeds[end] = min(value, seeds.get(end, value))
    bounds = Propagator(graph).bounds(seeds, region=preferences.of.tolist(), rigid=False)
    favourites = preferences.favourites.tolist()
    rows: list[Row] = [(p, 1 - p) if favourite == 0 else (1 - p, p) for p, favourite in zip(bounds.values, favourites)]
    refuse_sure_neighbours(problem, np.array([p == 1 for p in bounds.values]), rows.__getitem__)
    # Given are the datasets that kept the value of their own edge; the others were lowered by one that did.
    given = bounds.predecessor == ROOT
    trees = tuple(BoundTree((answer,), bounds.predecessor) for answer in (0, 1))
    certificate = Certificate(given, trees, statement=STATEMENT)
    return Outcome(Status.OPTIMAL, Route.DIJKSTRA, SharedRows.from_rows(rows), certificate)


# Two answers: the max-min fair mechanism, by one search that is as cheap as the balanced one.
#
# Each edge between the two true answers enters with the largest chance that both of its ends can have. The least value is settled
# first: an edge with two open ends settles both, a dataset takes the least offer of its settled neighbours. Whoever is settled at
# x offers ``F(x)`` to open neighbours of the same true answer and ``F(1 - x)`` to those of the other. Values come out in rising
# order; the result is private, at least the balanced mechanism everywhere, and nobody's chance can be raised without lowering
# somebody's that is no better. No other mechanism has that property.


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
        settling = Settling(
            np.array(self._how, dtype=np.int8),
            np.array(self._source, dtype=np.int32),
            np.array(self._order, dtype=np.int32),
        )
        given = self._problem.fixed_mask()
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


# Two answers, anything heterogeneous, in exact arithmetic (paper 003, generalised: theory 2.2).
#
# Maximise the probability of the true answer at every dataset at once, subject to the given values and to privacy on every edge.
# One search for each answer gives the least upper bounds; they are attained together exactly when the result is private
# on the edges whose two ends are both free and differ in their true answer. Otherwise no optimum exists.


_STATEMENT = "greatest among the private mechanisms with the same given values (dominance order)"


def design_binary(problem: Problem) -> Outcome:
    """Solve a two-answer problem with given values; exact."""
    propagator = Propagator(problem.graph)
    bounds = tuple(propagator.bounds({v: row[a] for v, row in problem.fixed.items()}) for a in (0, 1))
    for answer in (0, 1):
        if (conflict := bounds[answer].conflict) is not None:
            return Outcome(Status.INFEASIBLE, Route.DIJKSTRA, witness=conflict_words(problem, conflict, (answer,)))
    rows = _attained(problem, bounds)
    certificate = tree_certificate(problem, {(0,): bounds[0], (1,): bounds[1]})
    clash = _clashing_edge(problem, rows)
    if clash is None:
        return Outcome(Status.OPTIMAL, Route.DIJKSTRA, SharedRows.from_rows(rows), certificate)
    words = _clash_words(problem, rows, clash)
    try:
        fair, proof = fair_beside(problem, propagator, bounds)
    except ProblemError:  # an infinite epsilon allows somebody every chance below 1: nothing is fair either
        return Outcome(Status.NO_OPTIMUM, Route.DIJKSTRA, witness=words)
    return Outcome(Status.NO_OPTIMUM, Route.DIJKSTRA, fair, proof, words)


def _attained(problem: Problem, bounds: tuple[Bounds, ...]) -> list[Row]:
    """Every dataset at the bound of its own true answer."""
    rows: list[Row] = []
    for vertex, favourite in enumerate(problem.preferences.favourites.tolist()):
        value = bounds[favourite].values[vertex]
        rows.append((value, 1 - value) if favourite == 0 else (1 - value, value))
    return rows


def tree_certificate(
    problem: Problem, bounds: Mapping[Event, Bounds], duals: tuple[DualProof, ...] = ()
) -> Certificate:
    """One bound tree for each event; the given datasets are the roots. Prefix sums that no path bounds have *duals*."""
    trees = tuple(BoundTree(event, of_event.predecessor) for event, of_event in bounds.items())
    return Certificate(problem.fixed_mask(), trees, duals, statement=_STATEMENT)


def _clashing_edge(problem: Problem, rows: list[Row]) -> tuple[int, int] | None:
    """An edge between two free datasets of different true answers on which the bounds cannot both be had."""
    graph = problem.graph
    for edge in np.flatnonzero(crossing_edges(graph, problem.preferences)).tolist():
        u, v = int(graph.tails[edge]), int(graph.heads[edge])
        if violated_event(graph.levels[int(graph.level_of_edge[edge])], rows[u], rows[v]) is not None:
            return u, v
    return None


def conflict_words(problem: Problem, conflict: Conflict, event: tuple[int, ...]) -> dict[str, Any]:
    """Why nothing private has the given values."""
    names = [problem.graph.names[v] for v in conflict.path]
    answers = [problem.answers[a] for a in event]
    bound, given = shown_text(conflict.bound), shown_text(conflict.given)
    return {
        "reason": f"given {names[0]}, the datasets on the path allow {names[-1]} at most {bound} for "
        f"{' or '.join(answers)}, but {given} is given",
        "fixed": [names[0], names[-1]],
        "path": names,
        "answers": answers,
        "given": given,
        "bound": bound,
    }


def _clash_words(problem: Problem, rows: list[Row], clash: tuple[int, int]) -> dict[str, Any]:
    """Why no mechanism is best at both ends of an edge."""

    def end(vertex: int) -> dict[str, Any]:
        favourite = int(problem.preferences.favourites[vertex])
        most: Fraction = rows[vertex][favourite]
        return {
            "dataset": problem.graph.names[vertex],
            "answers": [problem.answers[favourite]],
            "most": shown_text(most),
        }

    ends = [end(vertex) for vertex in clash]
    return {
        "reason": f"{ends[0]['dataset']} can have {ends[0]['most']} and {ends[1]['dataset']} can have {ends[1]['most']} "
        "for the answer that it prefers, but not both",
        "conflict": ends,
    }
