"""Privacy of rows of floats on every edge: floats settle what is clear, rationals decide the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.core.closeness import enclosure
from optimaldp.certify.core.examined import LeastLevel
from optimaldp.certify.graphs.rounding import (
    ABSOLUTE_ERROR,
    RELATIVE_ERROR,
    SPLIT,
    UNIT,
    EdgeUse,
    Loop,
    check_pair,
    log_above,
    parts_below,
    promised_above,
    two_product,
    two_sum,
    violation,
)
from optimaldp.errors import LevelError
from optimaldp.graphs.dataset_graph import DatasetGraph, PlainLevels
from optimaldp.mechanisms import FloatRows, Mechanism, TwoSides
from optimaldp.mechanisms.rows import SURE_SIDE
from optimaldp.privacy import ApproximateDP, Bound, Level

# All edges of a mechanism with two answers, one after the other: certain in one float, certain in two, or open.
#
# The same inequality ``X <= E Y + delta`` is tried first in plain floats, whose error is bounded, and where that leaves a doubt
# at twice the precision (see :mod:`optimaldp.certify.graphs.rounding`, which has the same operations on arrays).


CERTAIN, CERTAIN_IN_TWO, OPEN = 0, 1, 2
RATIO_UP = 1 + 8 * UNIT  # above and above - delta are rounded; then below, the quotient and two products
_SUM_UP = 2 * UNIT


def _sum_error(a: float, b: float, total: float) -> float:
    """What ``total = a + b`` lost by rounding, exactly (Knuth)."""
    back = total - a
    return (a - (total - back)) + (b - back)


def _product_error(a: float, b: float, product: float) -> float:
    """What ``product = a b`` lost by rounding, exactly away from underflow (Dekker)."""
    scaled = SPLIT * a
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    scaled = SPLIT * b
    b_high = scaled - (scaled - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _holds(
    above: float,
    above_low: float,
    below: float,
    below_low: float,
    growth: float,
    growth_low: float,
    delta: float,
    delta_low: float,
) -> bool:
    """Whether ``above <= E below + delta`` for certain; each number is a sum of two floats, the promise rounded down."""
    # Strictly more than the error bound is asked for below, and 0 <= 0 never has that.
    if above + above_low == 0.0:
        return True
    product = growth * below
    raised = product + delta
    slack = raised - above
    low = (
        _product_error(growth, below, product) + _sum_error(product, delta, raised) + _sum_error(raised, -above, slack)
    )
    low += growth * below_low + growth_low * below + delta_low - above_low
    return slack + low > RELATIVE_ERROR * (product + delta + above) + ABSOLUTE_ERROR


def _examine_edges(
    tails: Numbers,
    heads: Numbers,
    kinds: Numbers,
    small: Numbers,
    first_is_small: Numbers,
    forward: Numbers,
    promises: Numbers,
    least_sure_side: float,
    state: Numbers,
    ratio: Numbers,
) -> tuple[float, int]:
    """Write the state of every edge, and the least ratio of those that one float did not pass.

    Returns the largest ratio among those that it did pass, and the edge that has it. ``promises[i, k]`` are the four numbers
    of the i-th bound of level k, ``forward[i]`` its direction.
    """
    largest = 1.0
    worst = 0
    for edge in range(len(tails)):
        u = tails[edge]
        v = heads[edge]
        k = kinds[edge]
        # Products of such numbers may be subnormal, where errors are absolute: one float proves nothing there.
        doubt = 0.0 < small[u] < least_sure_side or 0.0 < small[v] < least_sure_side
        doubtful = False
        broken = False
        most = 1.0
        for answer in range(2):
            u_small = first_is_small[u] == (answer == 0)
            v_small = first_is_small[v] == (answer == 0)
            tail = small[u] if u_small else 1.0 - small[u]
            head = small[v] if v_small else 1.0 - small[v]
            for i in range(len(forward)):
                above, below = (head, tail) if forward[i] else (tail, head)
                growth = promises[i, k, 0]
                # Above may be rounded (1 - small), and so is the difference: two units of above cover both.
                excess = (above - promises[i, k, 2]) + above * _SUM_UP
                needed = 0.0  # what delta covers
                if excess > 0.0:
                    needed = excess / below * RATIO_UP if below > 0.0 else math.inf
                most = max(most, needed)
                # One inequality that stays open sends the edge to rationals: the others need no second look.
                if not broken and (doubt or needed > growth):
                    doubtful = True
                    tail_low = 0.0 if u_small else _sum_error(1.0, -small[u], tail)
                    head_low = 0.0 if v_small else _sum_error(1.0, -small[v], head)
                    above_low, below_low = (head_low, tail_low) if forward[i] else (tail_low, head_low)
                    broken = not _holds(
                        above,
                        above_low,
                        below,
                        below_low,
                        growth,
                        promises[i, k, 1],
                        promises[i, k, 2],
                        promises[i, k, 3],
                    )
        if doubtful:
            state[edge] = 2 if broken else 1
            ratio[edge] = most
        elif most > largest:
            largest = most
            worst = edge
    return largest, worst


examine_edges = Loop(_examine_edges, _sum_error, _product_error, _holds)


# Privacy of two answers on millions of edges: floats with proven error bounds, twice the precision where that is not
# enough, rationals for what is left.
#
# Each probability is known by its small side ``s = min(p, 1 - p)``, an exact float; ``1 - s`` is rounded once. For
# two answers the events are the single answers, so an edge has four inequalities ``X <= E Y + delta``. Every stage
# passes an edge only if its error bounds prove the inequality, so what passes is private as a statement about the
# exact dyadic numbers.


Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]

_LEAST_SURE_SIDE = 2.0**-1000  # below it one float proves nothing: two are tried, then rationals
_RATIO_CAP = 2.0**500  # ratios stop here: smaller ones are safe, and nothing overflows
_MOST_EXACT_EDGES = 1000  # edges in rationals, once one of them broke its promise


@dataclass(frozen=True)
class SmallSides:
    """For each dataset the small side, and whether it is that of answer 0."""

    small: Floats
    first_is_small: npt.NDArray[np.bool_]

    @staticmethod
    def of(rows: TwoSides) -> SmallSides:
        small = np.where(rows.sides == SURE_SIDE, 0.0, np.abs(rows.sides))
        return SmallSides(small, (rows.sides >= 0) == (rows.favourites == 0))


class Promises:
    """The bounds of all levels as arrays, rounded down; levels with fewer bounds than others repeat their last."""

    def __init__(self, levels: tuple[Level, ...]) -> None:
        if isinstance(levels, PlainLevels):
            nothing = np.zeros(len(levels))
            columns: list[tuple[Floats, ...]] = [(levels.ratios()[0], nothing, levels.deltas()[0], nothing)]
            self.directions, self.most = [columns, columns], np.nextafter(levels.epsilon, np.inf)
            return
        known = [_approximate(level) for level in levels]
        # Forward bounds hold on the head in terms of the tail, backward bounds the other way round.
        self.directions = [_columns([level.forward for level in known]), _columns([level.backward for level in known])]
        self.most = np.array([max(promised_above(b.epsilon) for b in level.bounds) for level in known])

    def __iter__(self) -> Iterator[tuple[bool, tuple[Floats, ...]]]:
        for forward, columns in zip((True, False), self.directions):
            for column in columns:
                yield forward, column


@dataclass(frozen=True)
class DoubtfulEdges:
    """Edges that one float could not pass: each with an upper bound of its least epsilon, and whether two floats passed it."""

    edges: Numbers
    used: Floats
    kept: npt.NDArray[np.bool_]


def check_sides(mechanism: Mechanism, rows: TwoSides) -> LeastLevel[int]:
    """The verdict on privacy of a mechanism in sides; the same as in rationals, much sooner."""
    promises = Promises(mechanism.graph.levels)
    doubtful, largest, edge = float_stages(mechanism, SmallSides.of(rows), promises)
    largest, edge = _sharpen(mechanism, promises, doubtful, largest, edge)
    return _third_stage(mechanism, doubtful, largest, edge)


def float_stages(mechanism: Mechanism, sides: SmallSides, promises: Promises) -> tuple[DoubtfulEdges, float, int]:
    """The edges that one float left in doubt, and of the others the largest epsilon and the edge that has it."""
    graph = mechanism.graph
    count = graph.edge_count
    directions, numbers = zip(*((forward, np.stack(columns, axis=1)) for forward, columns in promises))
    state, ratio = np.zeros(count, dtype=np.int8), np.empty(count)  # of the ratios only those in doubt are written
    largest, edge = examine_edges(
        count,
        graph.tails,
        graph.heads,
        graph.level_of_edge,
        sides.small,
        sides.first_is_small,
        np.array(directions),
        np.stack(numbers),
        _LEAST_SURE_SIDE,
        state,
        ratio,
    )
    edges = np.flatnonzero(state)
    used = np.log(ratio[edges]) * RATIO_UP + 4 * UNIT
    return DoubtfulEdges(edges, used, state[edges] == CERTAIN_IN_TWO), log_above(Fraction(largest)), int(edge)


def holds(above: tuple[Floats, Floats], below: tuple[Floats, Floats], promise: list[Floats]) -> npt.NDArray[np.bool_]:
    """Whether ``above <= E below + delta`` for certain; each number is a sum of two floats, the promise rounded down."""
    growth, growth_low, delta, delta_low = promise
    product, product_low = two_product(growth, below[0])
    raised, raised_low = two_sum(product, delta)
    slack, slack_low = two_sum(raised, -above[0])
    low = product_low + raised_low + slack_low + growth * below[1] + growth_low * below[0] + delta_low - above[1]
    error = RELATIVE_ERROR * (product + delta + above[0]) + ABSOLUTE_ERROR
    certain: npt.NDArray[np.bool_] = (slack + low > error) | (above[0] + above[1] == 0.0)
    return certain


def _sharpen(
    mechanism: Mechanism, promises: Promises, doubtful: DoubtfulEdges, largest: float, edge: int
) -> tuple[float, int]:
    """The largest epsilon among edges that passed in two floats: measured in rationals as long as they are few."""
    edges = doubtful.edges[doubtful.kept]
    bound = np.minimum(doubtful.used[doubtful.kept], promises.most[mechanism.graph.level_of_edge[edges]])
    if not edges.size:
        return largest, edge
    # What is reported may be above the least epsilon, never below it: of many edges their bound stands in, which is
    # no larger than the promise that two floats have proven.
    few = len(edges) <= _MOST_EXACT_EDGES
    order = np.argsort(-bound, kind="stable") if few else np.array([bound.argmax()])
    for i in order.tolist():
        if bound[i] <= largest:
            break
        number = int(edges[i])
        used = _check_edge(mechanism, number, {}).used if few else float(bound[i])
        if used > largest:
            largest, edge = used, number
    return largest, edge


def _third_stage(mechanism: Mechanism, doubtful: DoubtfulEdges, largest: float, edge: int) -> LeastLevel[int]:
    """What is left is decided in rationals, equal cases once, the most suspicious first.

    A mechanism that is broken everywhere is not measured everywhere: then the bounds of the first stage stand in.
    """
    graph = mechanism.graph
    edges, used = doubtful.edges[~doubtful.kept], doubtful.used[~doubtful.kept]
    kinds, place = np.unique(graph.level_of_edge[edges], return_inverse=True)
    strain = used - np.array([_least_epsilon(graph.levels[k]) for k in kinds.tolist()] or [0.0])[place]
    order = np.argsort(-strain, kind="stable")
    worst: tuple[EdgeUse, int] | None = None
    known: dict[Any, EdgeUse] = {}
    for count, number in enumerate(edges[order].tolist()):
        checked = _check_edge(mechanism, number, known)
        if not checked.kept and (worst is None or checked.strain > worst[0].strain):
            worst = (checked, number)
        if checked.used > largest:
            largest, edge = checked.used, number
        if worst is not None and count >= _MOST_EXACT_EDGES:
            largest = max(largest, float(used[order[count + 1 :]].max(initial=0.0)))
            break
    if worst is None:
        return LeastLevel(True, largest, edge)
    return LeastLevel(False, largest, worst[1], violation(mechanism, worst[1]))


def _check_edge(mechanism: Mechanism, number: int, known: dict[Any, EdgeUse]) -> EdgeUse:
    graph = mechanism.graph
    kind = int(graph.level_of_edge[number])
    tail, head = (mechanism.rows.row(int(ends[number])) for ends in (graph.tails, graph.heads))
    if (tail, head, kind) not in known:
        known[tail, head, kind] = check_pair(graph.levels[kind], tail, head)
    return known[tail, head, kind]


def _least_epsilon(level: Level) -> float:
    least = min(float(bound.epsilon) for bound in _approximate(level).bounds)
    return min(least, 1e300)  # a finite stand-in, so that differences are numbers


def _columns(bounds: list[tuple[Bound, ...]]) -> list[tuple[Floats, ...]]:
    """For the first, second, … bound of all levels: ratio and delta in two parts each, rounded down."""
    longest = max(len(item) for item in bounds)
    columns = []
    for i in range(longest):
        rows = [_parts(item[min(i, len(item) - 1)]) for item in bounds]
        columns.append(tuple(np.array(column) for column in zip(*rows)))
    return columns


def _parts(bound: Bound) -> tuple[float, float, float, float]:
    # Rounded down: whoever keeps the stricter promise keeps the real one, and whoever does not is left to rationals.
    ratio = Fraction(_RATIO_CAP) if bound.epsilon.infinite else min(Fraction(_RATIO_CAP), enclosure(bound.epsilon)[0])
    return (*parts_below(ratio), *parts_below(bound.delta))


def _approximate(level: Level) -> ApproximateDP:
    if not isinstance(level, ApproximateDP):
        raise LevelError("level", str(level), "is not made of (epsilon, delta) bounds")
    return level


# Privacy of many answers on millions of edges: floats with proven error bounds, rationals for what they leave open.
#
# An entry of the table is exact, but for the most likely answer, which is what is left to one: computed here with an
# error of a unit or two in the last place. Among all events those that collect answers by falling ratio P/Q are the
# worst, so sorting the answers of each edge by their ratio finds the least ``e^epsilon`` at the given delta. What
# passes is private as a statement about the exact rows.


SUM_ERROR = 4 * UNIT  # relative, for each answer that is added
_CHUNK_NUMBERS = 1 << 18  # numbers: what a chunk of edges touches stays in the cache


def float_table(rows: FloatRows) -> Floats:
    """All probabilities, each within a relative ``4 UNIT`` of the exact one: the most likely ones are computed again."""
    table = np.array(rows.table)
    places = (np.arange(len(table)), rows.likeliest)
    displayed = table[places].copy()
    table[places] = 0.0
    # Where digits cancel: what each subtraction lost is added up beside it, exactly (Knuth), and given back at the end.
    total, error = np.ones(len(table)), np.zeros(len(table))
    for column in table.T:
        total, lost = two_sum(total, -column)
        error += lost
    table[places] = total + error
    has_exact = rows.exact_of >= 0
    table[places] = np.where(has_exact, displayed, table[places])
    if rows.exact:
        exact = np.array([[float(p) for p in row] for row in rows.exact])
        table[has_exact] = exact[rows.exact_of[has_exact]]
    return table


def float_row_fault(mechanism: Mechanism, rows: FloatRows) -> str:
    """What is wrong with the rows, or nothing."""
    table = float_table(rows)
    least = 1.0 / (
        2 * table.shape[1]
    )  # the most likely answer has at least 1/q: then nothing cancels where it is computed
    fine = (table >= 0.0).all(axis=1) & (table[np.arange(len(table)), rows.likeliest] >= least)
    sound = np.array([_is_distribution(row) for row in rows.exact] + [True])  # -1 is the last: no exact row
    has_exact = rows.exact_of >= 0
    wrong = np.flatnonzero(~np.where(has_exact, sound[rows.exact_of], fine))
    return f"the row of {mechanism.graph.names[int(wrong[0])]!r} is no distribution" if wrong.size else ""


def _is_distribution(row: tuple[Fraction, ...]) -> bool:
    return min(row) >= 0 and sum(row) == 1


def check_float_rows(mechanism: Mechanism, rows: FloatRows) -> LeastLevel[int]:
    """The verdict on privacy; the same as in rationals, much sooner."""
    graph, table = mechanism.graph, float_table(rows)
    promises = Promises(graph.levels)
    unit = UNIT if (rows.exact_of >= 0).all() else 4 * UNIT  # the relative error of an entry
    open_edges, used, largest, edge = _first_stage(mechanism, table, promises, unit)
    known: dict[Any, EdgeUse] = {}
    worst: tuple[EdgeUse, int] | None = None
    open_edges, used = _distinct(graph, rows, open_edges, used)
    # Single answers decide about all events without delta, and with it where there are only two of them.
    if table.shape[1] == 2 or not any(bound.delta for level in graph.levels for bound in level.bounds):  # type: ignore[attr-defined]
        kept = _second_stage(graph, rows, promises, open_edges)
        if kept.any():
            place = int(np.argmax(np.where(kept, used, 0.0)))
            top = float(min(math.log(used[place]) + 1e-12, promises.most[graph.level_of_edge[open_edges[place]]]))
            largest, edge = max((largest, edge), (top, int(open_edges[place])))
        open_edges, used = open_edges[~kept], used[~kept]
    order = np.argsort(-used, kind="stable")
    for count, number in enumerate(open_edges[order].tolist()):
        finding = _check_row_edge(mechanism, rows, number, known)
        if not finding.kept and (worst is None or finding.strain > worst[0].strain):
            worst = (finding, number)
        if finding.used > largest:
            largest, edge = finding.used, number
        if worst is not None and count >= _MOST_EXACT_EDGES:
            # A mechanism that is broken everywhere is not measured everywhere: the bounds of the first stage stand in.
            unmeasured = float(used[order[count + 1 :]].max(initial=1.0))
            largest = max(largest, math.log(unmeasured) + 1e-12)
            break
    if worst is None:
        return LeastLevel(True, largest, edge)
    return LeastLevel(False, largest, worst[1], violation(mechanism, worst[1]))


def _distinct(graph: DatasetGraph, rows: FloatRows, edges: Numbers, used: Floats) -> tuple[Any, Floats]:
    """Edges between equal given rows at one level are one case."""
    ends = rows.exact_of[graph.tails[edges]].astype(np.int64), rows.exact_of[graph.heads[edges]].astype(np.int64)
    both_exact = (ends[0] >= 0) & (ends[1] >= 0)
    code = ((ends[0] * len(rows.exact) + ends[1]) * len(graph.levels) + graph.level_of_edge[edges])[both_exact]
    first = np.flatnonzero(both_exact)[np.unique(code, return_index=True)[1]]
    kept = np.concatenate([np.flatnonzero(~both_exact), first])
    return edges[kept], used[kept]


def _second_stage(graph: DatasetGraph, rows: FloatRows, promises: Promises, edges: Numbers) -> npt.NDArray[np.bool_]:
    """Which edges are certainly private at twice the precision, where the events are single answers."""
    kept = np.ones(len(edges), dtype=bool)
    if not len(edges):
        return kept
    vertices, place = np.unique(np.concatenate([graph.tails[edges], graph.heads[edges]]), return_inverse=True)
    high, low = _row_parts(rows, vertices)
    tail, head = place[: len(edges)], place[len(edges) :]
    kind = graph.level_of_edge[edges]
    for forward, columns in promises:
        promise = [column[kind] for column in columns]
        above, below = (head, tail) if forward else (tail, head)
        for answer in range(high.shape[1]):
            a, b = (high[above, answer], low[above, answer]), (high[below, answer], low[below, answer])
            kept &= holds(a, b, promise)
    return kept


def _row_parts(rows: FloatRows, vertices: Numbers) -> tuple[Floats, Floats]:
    """Every probability of some datasets as a sum of two floats, within 2^-105."""
    high, low = np.empty((len(vertices), rows.table.shape[1])), np.zeros((len(vertices), rows.table.shape[1]))
    known: dict[int, list[tuple[float, float]]] = {}
    for i, (vertex, number) in enumerate(zip(vertices.tolist(), rows.exact_of[vertices].tolist())):
        pairs = known.get(number) if number >= 0 else None
        if pairs is None:
            pairs = [(float(p), float(p - Fraction(float(p)))) for p in rows.row(vertex)]
            if number >= 0:
                known[number] = pairs
        for answer, (first, second) in enumerate(pairs):
            high[i, answer], low[i, answer] = first, second
    return high, low


def _first_stage(
    mechanism: Mechanism, table: Floats, promises: Promises, unit: float
) -> tuple[Any, Floats, float, int]:
    """The edges that are not certainly private, an upper bound of the ratio of each, and the largest epsilon of the others."""
    graph, q = mechanism.graph, table.shape[1]
    step = max(1, _CHUNK_NUMBERS // q)
    undecided, ratios, largest, edge = [], [], 1.0, 0
    for start in range(0, graph.edge_count, step):
        chunk = slice(start, start + step)
        ratio, doubtful = _ratios(
            table[graph.tails[chunk]], table[graph.heads[chunk]], graph.level_of_edge[chunk], promises, unit
        )
        unsure = np.flatnonzero(doubtful)
        undecided.append(start + unsure)
        ratios.append(ratio[unsure])
        # These are measured later: here they must not count among those that passed.
        ratio[unsure] = 0.0
        if (most := float(ratio.max())) > largest:
            largest, edge = most, start + int(ratio.argmax())
    return np.concatenate(undecided), np.concatenate(ratios), log_above(Fraction(largest)), edge


def _ratios(
    tail: Floats, head: Floats, kind: Numbers, promises: Promises, unit: float
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """For each edge an upper bound of its least ratio at its deltas, and whether a promise is in doubt."""
    ratio, doubtful = np.ones(len(tail)), np.zeros(len(tail), dtype=bool)
    for forward, (growth, _, delta, _) in promises:
        above, below = (head, tail) if forward else (tail, head)
        needed = _least_ratios(above, below, delta[kind], unit)
        doubtful |= ~(needed <= growth[kind])
        np.maximum(ratio, needed, out=ratio)
    return ratio, doubtful


def _least_ratios(above: Floats, below: Floats, delta: Floats, unit: float) -> Floats:
    """From above: the largest ``(P(S) - delta) / Q(S)`` over the nested events S."""
    error = unit + UNIT * above.shape[1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if not delta.any():
            needed = above / below
            needed[~(above > 0.0)] = 0.0
            return np.asarray(needed.max(axis=1) * (1 + 3 * unit + 3 * UNIT))
        quotient = np.where(above > 0.0, above / below, -1.0)
        # Rounding may swap answers of nearly equal ratio. The event that holds all of them is tried as well, so the largest
        # quotient changes by a few units at most: part of the last factor.
        order = np.argsort(-quotient, axis=1, kind="stable")
        p, q = (np.cumsum(np.take_along_axis(side, order, axis=1), axis=1) for side in (above, below))
        excess = p * (1 + error) - delta[:, None]
        needed = np.where(excess > 0.0, excess / (q * (1 - error)), 0.0)
        return np.asarray(needed.max(axis=1) * (1 + 4 * error))


def _check_row_edge(mechanism: Mechanism, rows: FloatRows, number: int, known: dict[Any, EdgeUse]) -> EdgeUse:
    graph = mechanism.graph
    kind, u, v = int(graph.level_of_edge[number]), int(graph.tails[number]), int(graph.heads[number])
    # A dataset's own row is known by the dataset, in a tuple: its number is no row's number.
    key = (kind, *(int(rows.exact_of[w]) if rows.exact_of[w] >= 0 else (w,) for w in (u, v)))
    if key not in known:
        known[key] = check_pair(graph.levels[kind], rows.row(u), rows.row(v))
    return known[key]
