"""Privacy of many answers on millions of edges: floats with proven error bounds, rationals for what they leave open.

An entry of the table is exact, but for the most likely answer, which is what is left to one: computed here with an error of a
unit or two in the last place. Among all events those that collect answers by falling ratio P/Q are the worst, so sorting
the answers of each edge by their ratio finds the least ``e^epsilon`` at the given delta. What passes is private as a
statement about the exact rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.graphs.floats import Promises, holds
from optimaldp.certify.graphs.pairs import EdgeFinding, PrivacyFinding, check_pair, violation
from optimaldp.certify.graphs.rounding import UNIT, log_above, two_sum
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.mechanisms import FloatRows, Mechanism

Floats = npt.NDArray[np.float64]

SUM_ERROR = 4 * UNIT  # relative, for each answer that is added
_CHUNK_NUMBERS = 1 << 18  # numbers: what a chunk of edges touches stays in the cache
_MOST_EXACT_EDGES = 1000  # edges in rationals, once one of them broke its promise


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


def check_float_rows(mechanism: Mechanism, rows: FloatRows) -> PrivacyFinding:
    """The verdict on privacy; the same as in rationals, much sooner."""
    graph, table = mechanism.graph, float_table(rows)
    promises = Promises(graph.levels)
    unit = UNIT if (rows.exact_of >= 0).all() else 4 * UNIT  # the relative error of an entry
    open_edges, used, largest, edge = _first_stage(mechanism, table, promises, unit)
    known: dict[Any, EdgeFinding] = {}
    worst: tuple[EdgeFinding, int] | None = None
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
        finding = _check_edge(mechanism, rows, number, known)
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
        return PrivacyFinding(True, edge, largest)
    return PrivacyFinding(False, worst[1], largest, violation(mechanism, worst[1]))


def _distinct(graph: DatasetGraph, rows: FloatRows, edges: Any, used: Floats) -> tuple[Any, Floats]:
    """Edges between equal given rows at one level are one case."""
    ends = rows.exact_of[graph.tails[edges]].astype(np.int64), rows.exact_of[graph.heads[edges]].astype(np.int64)
    both_exact = (ends[0] >= 0) & (ends[1] >= 0)
    code = ((ends[0] * len(rows.exact) + ends[1]) * len(graph.levels) + graph.level_of_edge[edges])[both_exact]
    first = np.flatnonzero(both_exact)[np.unique(code, return_index=True)[1]]
    kept = np.concatenate([np.flatnonzero(~both_exact), first])
    return edges[kept], used[kept]


def _second_stage(graph: DatasetGraph, rows: FloatRows, promises: Promises, edges: Any) -> npt.NDArray[np.bool_]:
    """Which edges are certainly private at twice the precision, where the events are single answers."""
    kept = np.ones(len(edges), dtype=bool)
    if not len(edges):
        return kept
    vertices, place = np.unique(np.concatenate([graph.tails[edges], graph.heads[edges]]), return_inverse=True)
    high, low = _parts(rows, vertices)
    tail, head = place[: len(edges)], place[len(edges) :]
    kind = graph.level_of_edge[edges]
    for forward, columns in promises:
        promise = [column[kind] for column in columns]
        above, below = (head, tail) if forward else (tail, head)
        for answer in range(high.shape[1]):
            a, b = (high[above, answer], low[above, answer]), (high[below, answer], low[below, answer])
            kept &= holds(a, b, promise)
    return kept


def _parts(rows: FloatRows, vertices: Any) -> tuple[Floats, Floats]:
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
    tail: Floats, head: Floats, kind: Any, promises: Promises, unit: float
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


def _check_edge(mechanism: Mechanism, rows: FloatRows, number: int, known: dict[Any, EdgeFinding]) -> EdgeFinding:
    graph = mechanism.graph
    kind, u, v = int(graph.level_of_edge[number]), int(graph.tails[number]), int(graph.heads[number])
    # A dataset's own row is known by the dataset, in a tuple: its number is no row's number.
    key = (kind, *(int(rows.exact_of[w]) if rows.exact_of[w] >= 0 else (w,) for w in (u, v)))
    if key not in known:
        known[key] = check_pair(graph.levels[kind], rows.row(u), rows.row(v))
    return known[key]
