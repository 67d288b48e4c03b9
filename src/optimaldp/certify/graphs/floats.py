"""Privacy of two answers on millions of edges: floats with proven error bounds, twice the precision where that is not enough,
rationals for what is left.

Each probability is known by its small side ``s = min(p, 1 - p)``, an exact float; ``1 - s`` is rounded once. For two answers
the events are the single answers, so an edge has four inequalities ``X <= E Y + delta``. Every stage passes an edge only if its
error bounds prove the inequality, so what passes is private as a statement about the exact dyadic numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.core.closeness import enclosure
from optimaldp.certify.graphs.edge_loop import CERTAIN_IN_TWO, RATIO_UP, examine_edges
from optimaldp.certify.graphs.pairs import EdgeFinding, PrivacyFinding, check_pair, promised_above, violation
from optimaldp.certify.graphs.rounding import (
    ABSOLUTE_ERROR,
    RELATIVE_ERROR,
    UNIT,
    log_above,
    parts_below,
    two_product,
    two_sum,
)
from optimaldp.errors import LevelError
from optimaldp.graphs.edge_levels import PlainLevels
from optimaldp.mechanisms import Mechanism, TwoSides
from optimaldp.mechanisms.rows import SURE_SIDE
from optimaldp.privacy import ApproximateDP, Bound, Level

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


def check_sides(mechanism: Mechanism, rows: TwoSides) -> PrivacyFinding:
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


def _third_stage(mechanism: Mechanism, doubtful: DoubtfulEdges, largest: float, edge: int) -> PrivacyFinding:
    """What is left is decided in rationals, equal cases once, the most suspicious first.

    A mechanism that is broken everywhere is not measured everywhere: then the bounds of the first stage stand in.
    """
    graph = mechanism.graph
    edges, used = doubtful.edges[~doubtful.kept], doubtful.used[~doubtful.kept]
    kinds, place = np.unique(graph.level_of_edge[edges], return_inverse=True)
    strain = used - np.array([_least_epsilon(graph.levels[k]) for k in kinds.tolist()] or [0.0])[place]
    order = np.argsort(-strain, kind="stable")
    worst: tuple[EdgeFinding, int] | None = None
    known: dict[Any, EdgeFinding] = {}
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
        return PrivacyFinding(True, edge, largest)
    return PrivacyFinding(False, worst[1], largest, violation(mechanism, worst[1]))


def _check_edge(mechanism: Mechanism, number: int, known: dict[Any, EdgeFinding]) -> EdgeFinding:
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
