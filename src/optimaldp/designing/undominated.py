"""A boundary that nothing dominates: the default for three answers and more (theory 2.4).

One row for each preference, private where regions touch: first the least favourite among all preferences becomes as likely
as possible, then the sum of all favourites, then the sum of all prefix sums. Whatever dominated the result would be larger in
one of the three, so nothing does. (The last sum alone would do for that, but it may leave somebody's favourite with
probability 0. Randomised response, which treats all answers but the favourite alike, is dominated in simple cases: for the
orders a>b>c and b>a>c it wastes probability on c.) The mean over all relabellings of the answers that leave the problem as
it is has the same values, so what is symmetric is treated alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import permutations

import numpy as np

from optimaldp.designing.boundaries import UNDOMINATED
from optimaldp.designing.closeness import repaired
from optimaldp.designing.event_program import EventProgram
from optimaldp.designing.impossible import is_unattained
from optimaldp.errors import CertificateError, ProblemError
from optimaldp.graphs import DatasetGraph, Preferences, boundary, crossing_edges
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import Level
from optimaldp.programs.exact import Solution

_MOST_RELABELLED = 6  # answers: 720 relabellings are looked at, more would take longer than the program itself
_ROUNDING_MARGIN = Fraction(1, 10**9)
_SAME_ROW_GAP = Fraction(
    1, 10**6
)  # rows that a rule chose in floating point may differ by less from one machine to another

Touching = dict[
    tuple[int, int], frozenset[Level]
]  # (preference, preference) -> what holds from the first to the second


def with_chosen_boundary(problem: Problem) -> Problem:
    """The same problem with the rows that the rule ``undominated`` chooses; other rules choose as they are solved."""
    if problem.boundary != UNDOMINATED:
        return problem
    return Problem(problem.graph, problem.preferences, {}, undominated_boundary(problem), rule=UNDOMINATED)


def with_confirmed_rule(problem: Problem) -> Problem:
    """The same problem; a rule that a file names for the rows of its boundary must choose them when asked again."""
    if problem.rule is None:
        return problem
    asked = Problem(problem.graph, problem.preferences, {}, problem.rule)
    again = with_chosen_boundary(asked).boundary if problem.rule == UNDOMINATED else None
    rows = problem.boundary
    same = (
        isinstance(rows, Mapping)
        and isinstance(again, Mapping)
        and again.keys() == rows.keys()
        and all(abs(p - q) <= _SAME_ROW_GAP for number, row in again.items() for p, q in zip(row, rows[number]))
    )
    if not same:
        raise CertificateError(
            "rule", problem.rule, "did not choose the rows of this boundary", "leave the rule out, or the rows"
        )
    return problem


def undominated_boundary(problem: Problem) -> dict[int, Row]:
    """A row for each preference that has a boundary."""
    graph, preferences = problem.graph, problem.preferences
    heads = np.unique(preferences.of[boundary(graph, preferences)]).tolist()
    if not heads:
        return {}
    touching = _touching(problem)
    program = EventProgram(_head_problem(preferences, heads, touching))
    q = len(problem.answers)
    orders = [preferences.orders[number] for number in heads]
    favourites = [(place, order[:1]) for place, order in enumerate(orders)]
    events = [(place, tuple(sorted(order[:k]))) for place, order in enumerate(orders) for k in range(1, q)]
    best: Solution | None = None
    for objective in (program.add_least(favourites)[0], program.sum_of(favourites), program.sum_of(events)):
        best = program.maximise(objective)
        assert best is not None, "the uniform row is always private"
        # What floats found is not to be asked for to the last digit.
        program.require_terms(objective, best.value if best.exact else best.value - _ROUNDING_MARGIN)
    assert best is not None
    rows = (
        program.rows(best.point)
        if best.exact
        else repaired(program.problem, program.rows(best.point), program.interior)
    )
    _refuse_unattained(program.problem, rows)
    return _symmetric(preferences, dict(zip(heads, rows)), touching)


def _refuse_unattained(heads: Problem, rows: list[Row]) -> None:
    if is_unattained(heads, rows, exact=False):
        levels = ", ".join(str(level) for level in heads.graph.levels if "inf" in str(level))
        raise ProblemError(
            "boundary",
            UNDOMINATED,
            f"has no largest value at {levels}: any probability below 1 is allowed",
            "give the rows of the boundary, or fix the values on that edge",
        )


def _touching(problem: Problem) -> Touching:
    graph, of = problem.graph, problem.preferences.of
    crossing = np.flatnonzero(crossing_edges(graph, problem.preferences))
    codes = np.unique(
        np.stack([of[graph.tails[crossing]], of[graph.heads[crossing]], graph.level_of_edge[crossing]], axis=1), axis=0
    )
    levels_between: dict[tuple[int, int], set[Level]] = {}
    for a, b, k in codes.tolist():
        levels_between.setdefault((a, b), set()).add(graph.levels[k])
        levels_between.setdefault((b, a), set()).add(graph.levels[k].reversed())
    return {pair: frozenset(levels) for pair, levels in levels_between.items()}


def _head_problem(preferences: Preferences, heads: list[int], touching: Touching) -> Problem:
    """One dataset for each preference, joined where regions touch."""
    names = [str(number) for number in heads]
    edges = [(str(a), str(b), level) for (a, b), levels in touching.items() if a < b for level in levels]
    of = np.array(heads, dtype=np.int32)
    graph = DatasetGraph.from_edges(names, edges)
    return Problem(graph, Preferences(preferences.answers, preferences.orders, of))


def _symmetric(preferences: Preferences, rows: dict[int, Row], touching: Touching) -> dict[int, Row]:
    """The mean over the relabellings of the answers that carry preferences and their contacts to themselves."""
    q = len(preferences.answers)
    total = {number: [Fraction(0)] * q for number in rows}
    count = 0
    for relabelled, onto in _relabellings(preferences, list(rows), touching):
        count += 1
        for number, row in rows.items():
            for answer, p in enumerate(row):
                total[onto[number]][relabelled[answer]] += p
    return {number: tuple(p / count for p in row) for number, row in total.items()}


def _relabellings(
    preferences: Preferences, heads: list[int], touching: Touching
) -> Iterator[tuple[tuple[int, ...], dict[int, int]]]:
    q, number_of = len(preferences.answers), {preferences.orders[k]: k for k in heads}
    candidates = permutations(range(q)) if q <= _MOST_RELABELLED else iter([tuple(range(q))])
    for relabelled in candidates:
        images = {k: number_of.get(tuple(relabelled[a] for a in preferences.orders[k])) for k in heads}
        onto = {k: image for k, image in images.items() if image is not None}
        if len(onto) == len(heads) and all(
            touching.get((onto[a], onto[b])) == levels for (a, b), levels in touching.items()
        ):
            yield relabelled, onto
