"""Graphs of millions of datasets: the searches compiled, in floats that are rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import zip_longest
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from optimaldp.certify.graphs.privacy import keeps
from optimaldp.designing.impossibility import MOST_STORED, lifted
from optimaldp.designing.many import (
    Numbers,
    UndecidedError,
    design_by_components,
    design_envelope,
    given_clash,
    members,
    moved,
    part_problem,
    parts_of,
    prefix_events,
    refuse_large,
)
from optimaldp.designing.result import NoRoomError, Outcome, Route, Status
from optimaldp.designing.steps import conflict_along
from optimaldp.designing.two_answers import STATEMENT as BALANCED
from optimaldp.designing.two_answers import (
    conflict_words,
    most_touching,
    need_one_level,
    no_fair_mechanism,
    refuse_sure_neighbours,
)
from optimaldp.errors import ProblemError
from optimaldp.extras import requiring
from optimaldp.graphs import DatasetGraph, crossing_edges
from optimaldp.graphs.dataset_graph import PlainLevels
from optimaldp.graphs.problem import Problem
from optimaldp.kernels.dijkstra import (
    FAINTEST,
    SURE,
    first_clash,
    propagate,
    seed_crossing,
    settle_fairly,
)
from optimaldp.kernels.double_dijkstra import FAINTEST as FAINTEST_DOUBLE
from optimaldp.kernels.double_dijkstra import multiply, propagate_double
from optimaldp.mechanisms import BoundTree, Certificate, Claimed, FloatRows, How, Settling, SharedRows, TwoSides
from optimaldp.mechanisms.certificate import FREE, ROOT, Event
from optimaldp.mechanisms.rows import Row, side_to_fraction
from optimaldp.privacy import ApproximateDP, Bound, Level

# Two answers on graphs of millions of datasets: compiled, in floats that are rounded to the safe side.
#
# Every value is an exact dyadic rational that is private as it stands (see :mod:`optimaldp.kernels.dijkstra`); given values are
# rounded down to the nearest float of the dataset's own answer.


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
        row = TwoSides(label, problem.preferences.favourites).row
        refuse_sure_neighbours(problem, label == SURE, row, inside=True)
    except ProblemError:
        sure = int((label == SURE).argmax())
        raise no_fair_mechanism(problem.graph.names[sure]) from None


def design_large_fixed(problem: Problem) -> Outcome:
    """Given values. Where they meet every edge between the regions one search inside the regions is enough."""
    graph, preferences = problem.graph, problem.preferences
    given = problem.fixed_mask()
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
    closed = np.int32(-1)  # an arc that joins two regions
    levels = np.where(region[arcs.tails()] == region[arcs.heads], arcs.levels, closed)
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


# More than two answers on graphs of millions of datasets: the envelope, compiled.
#
# One search for each prefix event, at twice the precision of a float and at levels tightened by a relative 2**-44. The
# probability of a single answer is then a difference with 50 good bits even where it is 2**-50 of the rest, and is kept as a
# float. All that is rounded is far below the slack of the levels, so the rows are private at the nominal ones; the referee
# checks that, edge by edge.


Floats = npt.NDArray[np.float64]
Pair = tuple[Floats, Floats]  # high and low parts

_LEVEL_FACTOR = 1 - Fraction(1, 2**44)
_FLOOR_PROBABILITY = (
    2.0**-885
)  # so far above the faintest float that stopping there is rounding, and below what the referee sees (1e-250)
_RELATIVE_ROUNDING = 2.0**-92  # of what was subtracted: a difference below is the rounding of two equal bounds


def design_large_many(problem: Problem) -> Outcome:
    """The envelope of a problem with given values, in floats; whether it is private is for the referee to say."""
    if (clash := given_clash(problem)) is not None:
        return Outcome(Status.INFEASIBLE, Route.ENVELOPE, witness=clash)
    graph, shared, given = problem.graph, SharedRows.from_rows(list(problem.fixed.values())), problem.fixed_mask()
    spans, table = double_table(graph.arc_levels)
    labels: dict[Event, _Wanted] = {}
    trees = []
    events, arcs = prefix_events(problem), graph.arcs
    for event in events:
        label, label_low = _start(problem, shared, event)
        predecessor = np.where(given, ROOT, FREE).astype(np.int32)
        step = propagate_double(
            arcs.first,
            arcs.heads,
            arcs.levels,
            spans,
            table,
            given,
            label,
            label_low,
            predecessor,
            searches=len(events),
        )
        if step is not None:
            return Outcome(
                Status.INFEASIBLE,
                Route.ENVELOPE,
                witness=_event_conflict(problem, event, predecessor, step),
                exact=False,
            )
        # Of each bound only what the datasets that want the event need is kept: with fifty answers the whole is gigabytes.
        labels[event] = _Wanted(problem, event, label, label_low)
        trees.append(BoundTree(event, predecessor))
    rows = _rows(problem, labels, shared)
    certificate = Certificate(given, tuple(trees), statement=_STATEMENT)
    return Outcome(Status.OPTIMAL, Route.ENVELOPE, rows, certificate, exact=False)


def _start(problem: Problem, shared: SharedRows, event: Event) -> Pair:
    """The sides of the given probabilities of an event; everything else is free."""
    label, low = np.full(len(problem.graph), SURE), np.zeros(len(problem.graph))
    sides = [_side(sum((row[a] for a in event), Fraction(0))) for row in shared.rows]
    vertices = list(problem.fixed)
    if vertices:
        label[vertices] = np.array([high for high, _ in sides])[shared.of]
        low[vertices] = np.array([rest for _, rest in sides])[shared.of]
    return label, low


def _side(probability: Fraction) -> tuple[float, float]:
    if probability == 1:
        return SURE, 0.0
    return parts(probability) if probability <= Fraction(1, 2) else parts(probability - 1)


def parts(number: Fraction) -> tuple[float, float]:
    """A number as the sum of two floats, within about ``2**-106`` of it."""
    high = float(number)
    return high, float(number - Fraction(high))


def double_table(levels: Sequence[Level]) -> tuple[npt.NDArray[np.int64], Floats]:
    """The tightened levels for the kernel: where the bounds of each begin, and growth, delta, decay, delta back in pairs."""
    if isinstance(levels, PlainLevels):
        return np.arange(len(levels) + 1), _plain_table(levels)
    spans, rows = [0], []
    for level in levels:
        if not isinstance(level, ApproximateDP):
            raise ProblemError(
                "privacy", str(level), "has no compiled search for three answers or more", "use exact=True"
            )
        last = level.forward[-1], level.backward[-1]
        for ahead, back in zip_longest(level.forward, level.backward):
            rows.append(_double_row(ahead or last[0], back or last[1]))
        spans.append(len(rows))
    return np.array(spans, dtype=np.int64), np.array(rows, dtype=np.float64).reshape(-1, 8)


def _plain_table(levels: PlainLevels) -> Floats:
    """One row for each pair of floats, whose enclosure from below is tightened; no level is made for that."""
    factor = float(_LEVEL_FACTOR)
    growth = np.maximum(np.minimum(levels.ratios()[0], 2.0**500) * factor, 1.0)
    decay, delta, nothing = 1.0 / growth, levels.deltas()[0] * factor, np.zeros(len(levels))
    product, missed = cast(Any, multiply)(decay, nothing, growth, nothing)  # sums and products, of arrays too
    rest = ((1.0 - product) - missed) / growth
    return np.stack([growth, nothing, delta, nothing, decay, rest, delta, nothing], axis=1)


def _double_row(ahead: Bound, back: Bound) -> tuple[float, ...]:
    if ahead.epsilon.infinite or back.epsilon.infinite:
        raise ProblemError("epsilon", "inf", "needs exact arithmetic with three answers or more", "use exact=True")
    growth, decay = _tight_ratio(ahead), 1 / _tight_ratio(back)
    return (*parts(growth), *parts(ahead.delta * _LEVEL_FACTOR), *parts(decay), *parts(back.delta * _LEVEL_FACTOR))


def _tight_ratio(bound: Bound) -> Fraction:
    # Kernels multiply: a ratio above 2^500 would overflow, and a smaller one is always private.
    return max(Fraction(1), min(Fraction(2**500), bound.epsilon.ratio_below(bits=128) * _LEVEL_FACTOR))


class _Wanted:
    """The bounds on one event, for each preference that has it as a prefix at the datasets of that preference."""

    def __init__(self, problem: Problem, event: Event, high: Floats, low: Floats) -> None:
        preferences, size = problem.preferences, len(event)
        wanting = [k for k, order in enumerate(preferences.orders) if tuple(sorted(order[:size])) == event]
        mine = {k: np.flatnonzero(preferences.of == k) for k in wanting}
        self.at = {k: (high[vertices], low[vertices]) for k, vertices in mine.items()}
        self.is_faint = any(bool((pair[0] == -FAINTEST_DOUBLE).any()) for pair in self.at.values())


def _rows(problem: Problem, labels: dict[Event, _Wanted], shared: SharedRows) -> FloatRows:
    """Differences of the bounds, order by order."""
    preferences, q = problem.preferences, len(problem.answers)
    table = np.empty((len(problem.graph), q))
    for number, order in enumerate(preferences.orders):
        mine = np.flatnonzero(preferences.of == number)
        before: Pair = np.zeros(len(mine)), np.zeros(len(mine))
        for k, answer in enumerate(order, start=1):
            everything: Pair = np.full(len(mine), SURE), np.zeros(len(mine))
            after = labels[tuple(sorted(order[:k]))].at[number] if k < q else everything
            table[mine, answer] = difference(before, after)
            before = after
    if any(label.is_faint for label in labels.values()):
        table += _floor(problem)
    exact_of = np.full(len(problem.graph), -1, dtype=np.int32)
    if problem.fixed:
        exact_of[list(problem.fixed)] = shared.of
        table[list(problem.fixed)] = _float_rows(shared.rows)[shared.of]
    return FloatRows(table, table.argmax(axis=1).astype(np.int32), shared.rows, exact_of)


def _floor(problem: Problem) -> Floats:
    """A hair for every answer that all given datasets of a component may give: it changes only what is fainter itself.

    Complements stop at the faintest float, those of long prefixes first, so that far from everything given an answer would become
    impossible from one dataset to the next. The mean with one row is as private as what it is the mean of.
    """
    with requiring("scipy"):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

    graph, fixed = problem.graph, list(problem.fixed)
    joined = np.ones(graph.edge_count, dtype=np.int8), (graph.tails, graph.heads)
    count, part = connected_components(csr_array(joined, shape=(len(graph), len(graph))), directed=False)
    possible, concerned = np.ones((count, len(problem.answers)), dtype=bool), np.zeros(count, dtype=bool)
    np.logical_and.at(possible, part[fixed], np.array([[p > 0 for p in problem.fixed[v]] for v in fixed]))
    concerned[part[fixed]] = True
    return np.asarray(_FLOOR_PROBABILITY * (possible & concerned[:, None])[part])


def _float_rows(rows: tuple[Row, ...]) -> Floats:
    return np.array([[float(p) for p in row] for row in rows])


def difference(before: Pair, after: Pair) -> Floats:
    """How much larger the probability of the second side is, as floats of full relative precision; rounding is 0."""
    low, high = after[0] >= 0.0, before[0] < 0.0
    rest_before, rest_after = _rest(before), _rest(after)
    one = np.ones(len(low)), np.zeros(len(low))
    both_low = _plus(after, (-before[0], -before[1]))[0]
    both_high = _plus(rest_before, (-rest_after[0], -rest_after[1]))[0]
    mixed = _plus(_plus(one, (-rest_after[0], -rest_after[1])), (-before[0], -before[1]))[0]
    value = np.where(low, both_low, np.where(high, both_high, mixed))
    size = np.where(low, after[0], np.where(high, rest_before[0], 1.0))
    return np.where(value > _RELATIVE_ROUNDING * size, value, 0.0)


def _rest(side: Pair) -> Pair:
    """The complement that a side above 1/2 stands for."""
    sure = side[0] == SURE
    return np.where(sure, 0.0, -side[0]), np.where(sure, 0.0, -side[1])


def _plus(a: Pair, b: Pair) -> Pair:
    total = a[0] + b[0]
    back = total - a[0]
    error = (a[0] - (total - back)) + (b[0] - back) + a[1] + b[1]
    high = total + error
    return high, error - (high - total)


def _event_conflict(
    problem: Problem, event: Event, predecessor: npt.NDArray[np.int32], step: tuple[int, int]
) -> dict[str, object]:
    """The path that forbids a given value, walked again in rationals; if that allows it, floats had no room."""
    u, v = step
    path = [v, u]
    while predecessor[path[-1]] >= 0:
        path.append(int(predecessor[path[-1]]))
    conflict = conflict_along(problem, event, path[::-1])
    if conflict.bound >= conflict.given:
        raise NoRoomError(problem)
    return conflict_words(problem, conflict, event)


# Where the compiled envelope is not private, only the parts that are concerned are designed again, in rationals.
#
# Given datasets separate (:mod:`optimaldp.designing.many`), so the rest of a graph of millions keeps what floats found.


MOST_EXACT_BOUNDS = 2_000_000  # of prefix sums, in rationals: a minute or two
_ROUNDING_FACTOR = 1 + 2.0**-46  # levels were tightened by 2**-44: what is above this is no rounding, or nearly none


def mended(problem: Problem, outcome: Outcome) -> Outcome:
    """The same envelope with its broken parts decided exactly; itself if there are none."""
    assert isinstance(outcome.rows, FloatRows)
    free, label = parts_of(problem)
    broken = _broken_parts(problem, outcome.rows, free, label)
    if not broken:
        return outcome
    small, vertices = part_problem(problem, _within_reach(problem, members(free, label, broken)))
    decided, bounds = design_envelope(small)
    again = decided or design_by_components(small, bounds)
    if again.rows is None:
        proof = again.impossibility
        return again if proof is None else replace(again, impossibility=lifted(proof, vertices.tolist(), []))
    rows = _with_rows(outcome.rows, [again.rows.row(place) for place in range(len(vertices))], vertices)
    if again.status is not Status.OPTIMAL:
        proof = None if again.impossibility is None or len(problem.graph) > MOST_STORED else again.impossibility
        whole = [] if proof is None else [rows.row(v) for v in range(len(problem.graph))]
        moved_proof = None if proof is None else lifted(proof, vertices.tolist(), whole)
        return Outcome(
            again.status, again.route, rows, None, again.witness, exact=again.exact, impossibility=moved_proof
        )
    if again.certificate is None:
        return Outcome(Status.OPTIMAL, again.route, rows, exact=False)
    assert outcome.certificate is not None
    certificate = _with_proof(outcome.certificate, again.certificate, vertices)
    return Outcome(Status.OPTIMAL, again.route, rows, certificate, exact=False)


def _broken_parts(
    problem: Problem, rows: FloatRows, free: npt.NDArray[np.bool_], label: npt.NDArray[np.int32]
) -> list[int]:
    """The parts in which an edge is not private; floats find the suspects, rationals decide about them."""
    graph, broken = problem.graph, set[int]()
    for edge in _suspects(problem, rows.floats()).tolist():
        u, v = int(graph.tails[edge]), int(graph.heads[edge])
        part = int(label[u] if free[u] else label[v])
        level = graph.levels[int(graph.level_of_edge[edge])]
        if part not in broken and (free[u] or free[v]) and not keeps(level, rows.row(u), rows.row(v)):
            broken.add(part)
    return sorted(broken)


def _suspects(problem: Problem, table: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The edges on which ``sum of (P - E Q)_+`` is above delta by more than rounding, in either direction."""
    graph = problem.graph
    spans, bounds = double_table(graph.levels)
    tail, head, first = table[graph.tails], table[graph.heads], spans[graph.level_of_edge]
    suspected = np.zeros(graph.edge_count, dtype=bool)
    for number in range(int(np.diff(spans).max(initial=0))):
        bound = bounds[np.minimum(first + number, spans[graph.level_of_edge + 1] - 1)]
        for above, below, ratio, delta in ((head, tail, bound[:, 0], 2), (tail, head, 1 / bound[:, 4], 6)):
            excess = np.maximum(above - (ratio * _ROUNDING_FACTOR)[:, None] * below, 0.0).sum(axis=1)
            suspected |= excess > bound[:, delta] * _ROUNDING_FACTOR
    return np.flatnonzero(suspected)


def _within_reach(problem: Problem, parts: list[Numbers]) -> Numbers:
    """All broken parts together; what is too large to be decided is refused."""
    for part in parts:
        refuse_large(problem, part)
    together = np.sort(np.concatenate(parts))
    bounds = len(together) * len(prefix_events(problem))
    if bounds > MOST_EXACT_BOUNDS:
        raise UndecidedError(
            "problem",
            f"{bounds} bounds on prefix sums",
            f"would have to be found again in exact arithmetic (at most {MOST_EXACT_BOUNDS}), because they exclude each other "
            f"in {len(parts)} parts, one of them around {problem.graph.names[int(parts[0][0])]}",
            "design such a part by itself, fix more datasets, or use one level",
        )
    return together


def _with_rows(rows: FloatRows, again: list[Row], vertices: Numbers) -> FloatRows:
    """The same rows, those of some datasets replaced by exact ones."""
    table, likeliest, exact_of = rows.table.copy(), rows.likeliest.copy(), rows.exact_of.copy()
    shown = np.array([[float(p) for p in row] for row in again])
    table[vertices], likeliest[vertices] = shown, shown.argmax(axis=1)
    exact_of[vertices] = len(rows.exact) + np.arange(len(vertices))
    return FloatRows(table, likeliest, (*rows.exact, *again), exact_of)


def _with_proof(whole: Certificate, part: Certificate, vertices: Numbers) -> Certificate:
    """Bound trees that lead through the part as the part's own do, and its duals, by the numbers of the whole."""
    own = {tree.event: tree.predecessor for tree in part.trees}
    trees = []
    for tree in whole.trees:
        inside = own[tree.event]
        predecessor = tree.predecessor.copy()
        predecessor[vertices] = np.where(inside >= 0, vertices[inside], inside)
        trees.append(BoundTree(tree.event, predecessor))
    duals = tuple(moved(dual, vertices) for dual in part.duals)
    return Certificate(whole.given, tuple(trees), duals, whole.statement)
