"""Rules that choose the values on the boundary (theory 2.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from optimaldp.designing.closeness import violated_event
from optimaldp.designing.outcome import Outcome, Route, Status
from optimaldp.designing.propagation import Propagator
from optimaldp.designing.rational import GAUSSIAN_BITS, WORKING_BITS, stand_in, tightened
from optimaldp.errors import LevelError, ProblemError
from optimaldp.graphs import crossing_edges
from optimaldp.graphs.edge_levels import PlainLevels
from optimaldp.graphs.problem import FAIR, RAISED, Problem
from optimaldp.mechanisms import BoundTree, Certificate, SharedRows
from optimaldp.mechanisms.certificate import ROOT
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, GaussianDP, Level, read_probability
from optimaldp.privacy.balls import ball, lower, precision

BALANCED, UNDOMINATED = "balanced", "undominated"
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
    low, high = Fraction(1, answers), Fraction(1)
    for _ in range(GAUSSIAN_BITS):
        top = (low + high) / 2
        rest = (1 - top) / (answers - 1)
        fits = all(top + j * rest <= level.step_below((j + 1) * rest, bits=GAUSSIAN_BITS) for j in range(answers // 2))
        low, high = (top, high) if fits else (low, top)
    return low


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


def refuse_sure_neighbours(problem: Problem, sure: npt.NDArray[np.bool_], row: Callable[[int], Row]) -> None:
    """An edge of infinite epsilon between the regions starts at 1; where nothing else lowers that, it excludes just 1."""
    graph = problem.graph
    if isinstance(graph.levels, PlainLevels):  # which are all finite
        return
    suspected = np.array([forbids_sureness(level) for level in graph.levels] or [False])[graph.level_of_edge]
    suspected &= crossing_edges(graph, problem.preferences) & (sure[graph.tails] | sure[graph.heads])
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
