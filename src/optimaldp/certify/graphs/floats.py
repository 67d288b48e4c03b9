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

from optimaldp.certify.closeness import enclosure
from optimaldp.certify.graphs.double_double import ABSOLUTE_ERROR, RELATIVE_ERROR, parts_below, two_product, two_sum
from optimaldp.certify.graphs.privacy import EdgeFinding, PrivacyFinding, check_pair, promised_above, violation
from optimaldp.certify.graphs.rounding import UNIT, log_above
from optimaldp.errors import LevelError
from optimaldp.mechanisms import Mechanism, TwoSides
from optimaldp.mechanisms.rows import SURE_SIDE
from optimaldp.privacy import ApproximateDP, Bound, Level

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]

_AT_ONCE = 1 << 16  # edges: what a chunk touches stays in the cache
_FAINT = 2.0**-1000  # below it products may lose precision: such datasets are left to rationals
_HUGE = 2.0**500  # ratios stop here: smaller ones are safe, and nothing overflows
_ENOUGH = 1000  # edges in rationals, once one of them broke its promise
_SUM_UP, _RATIO_UP = 2 * UNIT, 1 + 8 * UNIT  # X and X - delta are rounded; then Y, the quotient and these two products


@dataclass(frozen=True)
class SmallSides:
    """For each dataset the small side, and whether it is that of answer 0."""

    small: Floats
    first_is_small: npt.NDArray[np.bool_]

    @staticmethod
    def of(rows: TwoSides) -> SmallSides:
        small = np.where(rows.sides == SURE_SIDE, 0.0, np.abs(rows.sides))
        return SmallSides(small, (rows.sides >= 0) == (rows.favourites == 0))

    def of_answer(self, answer: int) -> Floats:
        """The probabilities of one answer, each within a relative 2^-53."""
        is_small = self.first_is_small if answer == 0 else ~self.first_is_small
        return np.where(is_small, self.small, 1.0 - self.small)

    def parts(self, answer: int, vertices: Numbers) -> tuple[Floats, Floats]:
        """The same for some datasets, exactly, as a sum of two floats."""
        is_small = self.first_is_small[vertices] == (answer == 0)
        small = self.small[vertices]
        high, low = two_sum(np.ones(len(small)), -small)
        return np.where(is_small, small, high), np.where(is_small, 0.0, low)


class Promises:
    """The bounds of all levels as arrays, rounded down; levels with fewer bounds than others repeat their last."""

    def __init__(self, levels: tuple[Level, ...]) -> None:
        known = [_approximate(level) for level in levels]
        # Forward bounds hold on the head in terms of the tail, backward bounds the other way round.
        self.directions = [_columns([level.forward for level in known]), _columns([level.backward for level in known])]
        self.most = np.array([max(promised_above(b.epsilon) for b in level.bounds) for level in known])

    def __iter__(self) -> Iterator[tuple[bool, tuple[Floats, ...]]]:
        for forward, columns in zip((True, False), self.directions):
            for column in columns:
                yield forward, column


@dataclass(frozen=True)
class OpenEdges:
    """Edges that a stage could not pass, each with an upper bound of its least epsilon.

    *doubts* lists for each of the inequalities (in the order of :func:`_inequalities`) the edges at which it is in doubt.
    """

    edges: Numbers
    used: Floats
    doubts: tuple[Numbers, ...] = ()


def check_sides(mechanism: Mechanism, rows: TwoSides) -> PrivacyFinding:
    """The verdict on privacy of a mechanism in sides; the same as in rationals, much sooner."""
    graph = mechanism.graph
    sides, promises = SmallSides.of(rows), Promises(graph.levels)
    left, largest, edge = _first_stage(mechanism, sides, promises)
    kept = _second_stage(mechanism, sides, promises, left)
    used = np.minimum(left.used, promises.most[graph.level_of_edge[left.edges]])[kept]
    largest, edge = _sharpen(mechanism, OpenEdges(left.edges[kept], used), largest, edge)
    return _third_stage(mechanism, OpenEdges(left.edges[~kept], left.used[~kept]), largest, edge)


def _first_stage(mechanism: Mechanism, sides: SmallSides, promises: Promises) -> tuple[OpenEdges, float, int]:
    """The edges that are not certainly private, and of the others the largest epsilon and the edge that has it."""
    graph = mechanism.graph
    probabilities = sides.of_answer(0), sides.of_answer(1)
    faint = (sides.small > 0) & (sides.small < _FAINT)
    any_faint, one_level = bool(faint.any()), len(graph.levels) == 1
    undecided, ratios, doubts, largest, edge = [], [], [], 1.0, 0
    for start in range(0, graph.edge_count, _AT_ONCE):
        chunk = slice(start, start + _AT_ONCE)
        tails, heads = graph.tails[chunk], graph.heads[chunk]
        kind = 0 if one_level else graph.level_of_edge[chunk]
        ratio, doubtful = _ratios([(p[tails], p[heads]) for p in probabilities], kind, promises)
        if any_faint:
            doubtful = [mask | faint[tails] | faint[heads] for mask in doubtful]
        doubts.append([start + np.flatnonzero(mask) for mask in doubtful])
        unsure = np.flatnonzero(np.logical_or.reduce(doubtful))
        undecided.append(start + unsure)
        ratios.append(ratio[unsure])
        ratio[unsure] = 0.0
        if (most := float(ratio.max())) > largest:
            largest, edge = most, start + int(ratio.argmax())
    used = np.log(np.concatenate(ratios)) * _RATIO_UP + 4 * UNIT
    left = OpenEdges(np.concatenate(undecided), used, tuple(np.concatenate(column) for column in zip(*doubts)))
    return left, log_above(Fraction(largest)), edge


def _inequalities(promises: Promises) -> Iterator[tuple[bool, tuple[Floats, ...], int]]:
    """Each bound with each answer, in a fixed order: its direction, its numbers, the answer."""
    for forward, columns in promises:
        for answer in (0, 1):
            yield forward, columns, answer


def _ratios(
    ends: list[tuple[Floats, Floats]], kind: Any, promises: Promises
) -> tuple[Floats, list[npt.NDArray[np.bool_]]]:
    """For each edge an upper bound of its least ratio at its deltas, and where each inequality is in doubt."""
    ratio, doubtful = np.ones(len(ends[0][0])), []
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for forward, (growth, _, delta, _), answer in _inequalities(promises):
            tail, head = ends[answer]
            above, below = (head, tail) if forward else (tail, head)
            needed = ((above - delta[kind]) + above * _SUM_UP) / below * _RATIO_UP
            needed[~(needed > 0)] = 0.0  # 0/0 and what delta covers
            doubtful.append(needed > growth[kind])
            np.maximum(ratio, needed, out=ratio)
    return ratio, doubtful


def _second_stage(
    mechanism: Mechanism, sides: SmallSides, promises: Promises, left: OpenEdges
) -> npt.NDArray[np.bool_]:
    """Which of the open edges are certainly private at twice the precision."""
    graph, broken = mechanism.graph, [np.zeros(0, dtype=np.int64)]
    for (forward, columns, answer), edges in zip(_inequalities(promises), left.doubts):
        for start in range(0, len(edges), _AT_ONCE):
            chunk = edges[start : start + _AT_ONCE]
            tail, head = sides.parts(answer, graph.tails[chunk]), sides.parts(answer, graph.heads[chunk])
            above, below = (head, tail) if forward else (tail, head)
            kind = graph.level_of_edge[chunk]
            broken.append(chunk[~holds(above, below, [column[kind] for column in columns])])
    kept: npt.NDArray[np.bool_] = ~np.isin(left.edges, np.concatenate(broken))
    return kept


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


def _sharpen(mechanism: Mechanism, passed: OpenEdges, largest: float, edge: int) -> tuple[float, int]:
    """The largest epsilon among edges that passed at twice the precision: measured in rationals as long as they are few."""
    if not passed.edges.size:
        return largest, edge
    few = len(passed.edges) <= _ENOUGH
    order = np.argsort(-passed.used, kind="stable") if few else np.array([passed.used.argmax()])
    for i in order.tolist():
        if passed.used[i] <= largest:
            break
        number = int(passed.edges[i])
        used = _check_edge(mechanism, number, {}).used if few else float(passed.used[i])
        if used > largest:
            largest, edge = used, number
    return largest, edge


def _third_stage(mechanism: Mechanism, left: OpenEdges, largest: float, edge: int) -> PrivacyFinding:
    """What is left is decided in rationals, equal cases once, the most suspicious first.

    A mechanism that is broken everywhere is not measured everywhere: then the bounds of the first stage stand in.
    """
    graph = mechanism.graph
    strain = left.used - np.array([_least_epsilon(level) for level in graph.levels])[graph.level_of_edge[left.edges]]
    order = np.argsort(-strain, kind="stable")
    worst: tuple[EdgeFinding, int] | None = None
    known: dict[Any, EdgeFinding] = {}
    for count, number in enumerate(left.edges[order].tolist()):
        found = _check_edge(mechanism, number, known)
        if not found.kept and (worst is None or found.strain > worst[0].strain):
            worst = (found, number)
        if found.used > largest:
            largest, edge = found.used, number
        if worst is not None and count >= _ENOUGH:
            largest = max(largest, float(left.used[order[count + 1 :]].max(initial=0.0)))
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
    ratio = Fraction(_HUGE) if bound.epsilon.infinite else min(Fraction(_HUGE), enclosure(bound.epsilon)[0])
    return (*parts_below(ratio), *parts_below(bound.delta))


def _approximate(level: Level) -> ApproximateDP:
    if not isinstance(level, ApproximateDP):
        raise LevelError("level", str(level), "is not made of (epsilon, delta) bounds")
    return level
