"""Two answers on graphs of millions of datasets: compiled, in floats that are rounded to the safe side.

Every value is an exact dyadic rational that is private as it stands (see :mod:`optimaldp.kernels.dijkstra`); given values are
rounded down to the nearest float of the dataset's own answer.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.designing.boundaries import STATEMENT as BALANCED
from optimaldp.designing.boundaries import most_touching, need_one_level, refuse_sure_neighbours
from optimaldp.designing.fair import no_fair_mechanism
from optimaldp.designing.outcome import NoRoomError, Outcome, Route, Status
from optimaldp.designing.propagation import conflict_along
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, crossing_edges
from optimaldp.graphs.edge_levels import PlainLevels
from optimaldp.graphs.problem import Problem
from optimaldp.kernels.dijkstra import (
    FAINTEST,
    SURE,
    first_clash,
    inside_regions,
    propagate,
    seed_crossing,
    settle_fairly,
)
from optimaldp.mechanisms import BoundTree, Certificate, Claimed, How, Settling, TwoSides
from optimaldp.mechanisms.certificate import FREE, ROOT
from optimaldp.mechanisms.rows import side_to_fraction
from optimaldp.privacy import ApproximateDP, Bound, Level

_STATEMENT = "greatest among the private mechanisms with the same given values (dominance order), up to rounding"
_ROUNDING = (
    1e-9  # a given value that is lowered by less than this was lowered by rounding; the referee has the last word
)

Sides = npt.NDArray[np.float64]


def design_large_balanced(problem: Problem) -> Outcome:
    """The balanced mechanism, heterogeneous levels."""
    need_one_level(problem)
    graph, preferences = problem.graph, problem.preferences
    label = np.full(len(graph), SURE)
    crossing = crossing_edges(graph, preferences)
    used = np.unique(graph.level_of_edge[crossing])
    start = np.zeros(max(1, len(graph.levels)))
    start[used] = [-float_above(1 - most_touching(graph.levels[k], 2)) for k in used]
    for ends in (graph.tails[crossing], graph.heads[crossing]):
        # All balanced values are at least 1/2, so their sides are negative and order like the probabilities.
        np.minimum.at(label, ends, start[graph.level_of_edge[crossing]])
    predecessor = np.where(label == SURE, FREE, ROOT).astype(np.int32)
    _search(graph, preferences.of, label, predecessor)  # boundary datasets that it lowers are no longer given
    refuse_sure_neighbours(problem, label == SURE, TwoSides(label, preferences.favourites).row)
    return _outcome(problem, label, (predecessor, predecessor), predecessor == ROOT, BALANCED)


def design_large_fair(problem: Problem) -> Outcome:
    """The fair mechanism, heterogeneous levels."""
    nothing = np.zeros(len(problem.graph), dtype=bool)
    label, settling = _settle(problem, np.full(len(problem.graph), SURE), nothing)
    _refuse_unattained(problem, label)
    certificate = Certificate(nothing, (), statement=Claimed.FAIR.words, claim=Claimed.FAIR, settling=settling)
    rows = TwoSides(label, problem.preferences.favourites)
    return Outcome(Status.OPTIMAL, Route.DIJKSTRA, rows, certificate)


def _settle(problem: Problem, label: Sides, given: npt.NDArray[np.bool_]) -> tuple[Sides, Settling]:
    """Settle every dataset that is not given, in place, below the bounds that *label* holds already."""
    graph, region = problem.graph, problem.preferences.of
    table = level_table(graph.arc_levels)
    crossing = np.flatnonzero(crossing_edges(graph, problem.preferences))
    crossing = crossing[~(given[graph.tails[crossing]] | given[graph.heads[crossing]])]
    sides = _sides_for_both(table)[graph.level_of_edge[crossing]]
    crossing, sides = crossing[sides != SURE], sides[sides != SURE]
    how = np.where(label != SURE, How.GIVEN, How.SURE).astype(np.int8)
    how[given] = How.GIVEN
    source = np.full(len(graph), -1, dtype=np.int32)
    arcs, pairs = graph.arcs, (graph.tails[crossing], graph.heads[crossing], sides)
    order = settle_fairly(arcs.first, arcs.heads, arcs.levels, table, region, pairs, label, ~given, how, source)
    return label, Settling(how, source, order)


def _sides_for_both(table: tuple[npt.NDArray[Any], ...]) -> Sides:
    """For each level the side that both ends of an edge between the answers can have: a hair below ``(E+delta)/(E+1)``."""
    spans, growth, delta, decay, back_delta = table
    rest = np.maximum((1.0 - delta) / (1.0 + growth), (1.0 - back_delta) * decay / (1.0 + decay))
    # The hair is larger than all rounding here and in the steps, so that what is offered across is not below it.
    most = np.minimum(np.maximum.reduceat(rest, spans[:-1]) * (1.0 + 2.0**-47), 0.5)
    return np.where(most > 0.0, -np.maximum(most, FAINTEST), SURE)


def _refuse_unattained(problem: Problem, label: Sides) -> None:
    """Refuse where an infinite epsilon allows a sure dataset every chance below 1 but not 1 itself."""
    try:
        refuse_sure_neighbours(problem, label == SURE, TwoSides(label, problem.preferences.favourites).row)
    except ProblemError:
        sure = int((label == SURE).argmax())
        raise no_fair_mechanism(problem.graph.names[sure]) from None


def design_large_fixed(problem: Problem) -> Outcome:
    """Given values. Where they meet every edge between the regions one search inside the regions is enough."""
    graph, preferences = problem.graph, problem.preferences
    given = np.zeros(len(graph), dtype=bool)
    given[list(problem.fixed)] = True
    crossing = crossing_edges(graph, preferences)
    if not (given[graph.tails] | given[graph.heads])[crossing].all():
        return _two_searches(problem, given)
    label = _given_sides(problem, preferences.favourites)
    wanted = label.copy()
    predecessor = np.full(len(graph), FREE, dtype=np.int32)
    arcs, table = graph.arcs, level_table(graph.arc_levels)
    seed_crossing(arcs.first, arcs.heads, arcs.levels, preferences.of, table, label, predecessor, given)
    _search(graph, preferences.of, label, predecessor)
    if (witness := _conflict(problem, given, wanted, label, predecessor, preferences.favourites)) is not None:
        return Outcome(Status.INFEASIBLE, Route.DIJKSTRA, witness=witness)
    predecessor[given] = ROOT
    return _outcome(problem, label, (predecessor, predecessor), given, _STATEMENT)


def _two_searches(problem: Problem, given: npt.NDArray[np.bool_]) -> Outcome:
    """One search for each answer over the whole graph; then look at the edges that nothing given touches."""
    graph, preferences = problem.graph, problem.preferences
    labels, trees = [], []
    everywhere = np.zeros(len(graph), dtype=np.int32)
    for answer in (0, 1):
        wished = np.full(len(graph), answer, dtype=np.int32)
        label = _given_sides(problem, wished)
        wanted = label.copy()
        predecessor = np.full(len(graph), FREE, dtype=np.int32)
        _search(graph, everywhere, label, predecessor)
        if (witness := _conflict(problem, given, wanted, label, predecessor, wished)) is not None:
            return Outcome(Status.INFEASIBLE, Route.DIJKSTRA, witness=witness)
        predecessor[given] = ROOT
        labels.append(label)
        trees.append(predecessor)
    label = np.where(preferences.favourites == 0, labels[0], labels[1])
    clash = first_clash(
        graph.arcs.first, graph.arcs.heads, graph.arcs.levels, preferences.of, level_table(graph.arc_levels), label
    )
    if clash is None:
        return _outcome(problem, label, (trees[0], trees[1]), given, _STATEMENT)
    names = [graph.names[v] for v in clash]
    reason = f"{names[0]} and {names[1]} cannot both have the most that each of them can have for its own answer"
    label, settling = _settle(problem, label, given)
    proofs = tuple(BoundTree((answer,), trees[answer]) for answer in (0, 1))
    certificate = Certificate(given, proofs, statement=Claimed.FAIR.words, claim=Claimed.FAIR, settling=settling)
    rows = TwoSides(label, preferences.favourites)
    return Outcome(Status.NO_OPTIMUM, Route.DIJKSTRA, rows, certificate, {"reason": reason, "conflict": names})


def _given_sides(problem: Problem, answer: npt.NDArray[Any]) -> Sides:
    """The sides of the given probabilities of one answer each; everything else is free."""
    label = np.full(len(problem.graph), SURE)
    for vertex, row in problem.fixed.items():
        label[vertex] = side_below(row[int(answer[vertex])])
    return label


def _search(
    graph: DatasetGraph, region: npt.NDArray[np.int32], label: Sides, predecessor: npt.NDArray[np.int32]
) -> None:
    """Lower all labels inside the regions. Given ones too: where two of them are tight, rounding needs that hair."""
    arcs = graph.arcs
    levels = inside_regions(arcs.first, arcs.heads, arcs.levels, region)
    propagate(arcs.first, arcs.heads, levels, level_table(graph.arc_levels), label, predecessor)


def _outcome(
    problem: Problem,
    label: Sides,
    predecessors: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
    given: npt.NDArray[np.bool_],
    statement: str,
) -> Outcome:
    rows = TwoSides(label, problem.preferences.favourites)
    trees = tuple(BoundTree((answer,), predecessors[answer]) for answer in (0, 1))
    return Outcome(Status.OPTIMAL, Route.DIJKSTRA, rows, Certificate(given, trees, statement=statement))


def _conflict(
    problem: Problem,
    given: npt.NDArray[np.bool_],
    wanted: Sides,
    label: Sides,
    predecessor: npt.NDArray[np.int32],
    wished: npt.NDArray[np.int32],
) -> dict[str, Any] | None:
    """A given value of the *wished* answer that another one forbids by more than rounding; rationals have the last word."""
    for vertex in np.flatnonzero(given & (label != wanted)).tolist():
        asked, allowed = side_to_fraction(float(wanted[vertex])), side_to_fraction(float(label[vertex]))
        if asked - allowed <= _ROUNDING * min(asked, 1 - allowed):
            continue
        path = [vertex]
        while predecessor[path[-1]] >= 0 and len(path) < len(problem.graph):
            path.append(int(predecessor[path[-1]]))
        event = (int(wished[vertex]),)
        conflict = conflict_along(problem, event, path[::-1])
        # Of a sure answer that is tight the smallest rounding is all of its complement.
        if conflict.bound >= conflict.given:
            raise NoRoomError(problem)
        steps = [problem.graph.names[v] for v in conflict.path]
        return {
            "reason": f"given {steps[0]}, the datasets on the path allow {steps[-1]} at most {float(conflict.bound):.12g} for "
            f"{problem.answers[event[0]]}, but {float(conflict.given):.12g} is given",
            "path": steps,
            "bound": float(conflict.bound),
            "given": float(conflict.given),
        }
    return None


def level_table(levels: tuple[Level, ...]) -> tuple[npt.NDArray[Any], ...]:
    """The levels as arrays for the kernels: spans, growth, delta, decay, back_delta, each rounded to the safe side."""
    if isinstance(levels, PlainLevels):
        growth, delta = levels.ratios()[0], levels.deltas()[0]
        return np.arange(len(levels) + 1), growth, delta, np.minimum(np.nextafter(1.0 / growth, 2.0), 1.0), delta
    spans, rows = [0], []
    for level in levels:
        if not isinstance(level, ApproximateDP):
            raise ProblemError(
                "privacy", str(level), "is not supported on a graph of this size", "use (epsilon, delta)"
            )
        last = (level.forward[-1], level.backward[-1])
        for ahead, back in zip_longest(level.forward, level.backward):
            rows.append(_table_row(ahead or last[0], back or last[1]))
        spans.append(len(rows))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return (np.array(spans, dtype=np.int64), *(np.ascontiguousarray(column) for column in columns))


def _table_row(ahead: Bound, back: Bound) -> tuple[float, float, float, float]:
    growth = math.inf if ahead.epsilon.infinite else float_below(ahead.epsilon.ratio_below(bits=64))
    decay = 0.0 if back.epsilon.infinite else float_above(1 / back.epsilon.ratio_below(bits=64))
    return growth, float_below(ahead.delta), decay, float_below(back.delta)


def side_below(probability: Fraction) -> float:
    """The side of the largest float probability that is not above *probability*."""
    if probability == 1:
        return SURE
    return float_below(probability) if probability < Fraction(1, 2) else -float_above(1 - probability)


def float_below(number: Fraction) -> float:
    """The largest float that is not above *number*."""
    value = float(number)
    return value if Fraction(value) <= number else math.nextafter(value, -math.inf)


def float_above(number: Fraction) -> float:
    """The smallest float that is not below *number*."""
    return -float_below(-number)
