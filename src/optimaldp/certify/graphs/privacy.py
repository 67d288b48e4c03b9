"""Is a mechanism private? Every edge, both directions, every event, from the rows and the levels alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.core.closeness import Distribution, least_ratio, ratio_within, within_gaussian
from optimaldp.certify.core.examined import LeastLevel
from optimaldp.certify.graphs.floats import check_float_rows, check_sides, float_row_fault
from optimaldp.certify.graphs.given import Lines, Sides, number_above
from optimaldp.certify.graphs.rounding import (
    EdgeUse,
    Loop,
    Numbers,
    Walk,
    check_pair,
    decimal_above,
    first_of_each,
    group,
    violation,
)
from optimaldp.errors import GraphError, MechanismError
from optimaldp.graphs.dataset_graph import PlainLevels, sample_levels
from optimaldp.mechanisms import FloatRows, Mechanism, SharedRows, TwoSides
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, GaussianDP, Level
from optimaldp.privacy.balls import Ball, ball, precision, rational, upper
from optimaldp.progress import track

_MANY_PAIRS = 2000  # of rows and levels: up to here each is looked at
_FEW_DELTAS = 1000  # different ones that are sorted as rationals
_FLOAT_ERROR = 1e-9  # more than an epsilon as a float is wrong by


def check_privacy(mechanism: Mechanism) -> LeastLevel[int]:
    """Check every promise of the mechanism's graph.

    **Guarantee.** ``private`` is true only if each row is a distribution and for each edge, each of its bounds (epsilon, delta)
    and each event S the inequality ``P(S) <= e^epsilon Q(S) + delta`` holds exactly (for mu likewise). No float decides.
    """
    _check_shapes(mechanism)
    # Rows first: what is no distribution may keep every promise all the same.
    if fault := row_fault(mechanism):
        return LeastLevel(False, math.inf, None, fault)
    if mechanism.graph.edge_count == 0:
        return LeastLevel(True, 0.0, None)
    if all(isinstance(level, ApproximateDP) for level in sample_levels(mechanism.graph.levels)):
        if isinstance(mechanism.rows, TwoSides):
            return check_sides(mechanism, mechanism.rows)
        if isinstance(mechanism.rows, FloatRows):
            return check_float_rows(mechanism, mechanism.rows)
    return check_exactly(mechanism)


def is_private(mechanism: Mechanism) -> bool:
    """The same decision, exactly, but it stops at the first broken promise and measures nothing."""
    if not isinstance(mechanism.rows, SharedRows):
        return check_privacy(mechanism).private  # floats decide nearly every edge, sooner than rationals are made
    _check_shapes(mechanism)
    if row_fault(mechanism):
        return False
    graph, shared = mechanism.graph, as_shared(mechanism)
    if graph.edge_count == 0:
        return True
    tails, heads, levels, _ = _strictest(
        *distinct_pairs(shared.of, graph.tails, graph.heads, graph.level_of_edge), graph.levels
    )
    pairs = zip(tails.tolist(), heads.tolist(), levels.tolist())
    check = _pair_checker(shared.rows, graph.levels, len(tails))
    return all(check(graph.levels[k], t, h).kept for t, h, k in pairs)


def keeps(level: Level, tail: Distribution, head: Distribution) -> bool:
    """Whether one edge keeps its promises: forward bounds from tail to head, backward bounds from head to tail."""
    if isinstance(level, GaussianDP):
        return within_gaussian(head, tail, level.mu) and within_gaussian(tail, head, level.mu)
    assert isinstance(level, ApproximateDP)
    directions = ((level.forward, head, tail), (level.backward, tail, head))
    return all(
        ratio_within(least_ratio(above, below, bound.delta), bound.epsilon)
        for bounds, above, below in directions
        for bound in bounds
    )


def row_fault(mechanism: Mechanism) -> str:
    """What is wrong with the rows, or nothing."""
    if isinstance(mechanism.rows, TwoSides):
        sides = mechanism.rows.sides
        bad = np.flatnonzero(~((sides <= 0.5) & (sides >= -0.5)))
        return f"the row of {mechanism.graph.names[int(bad[0])]!r} is no distribution" if bad.size else ""
    if isinstance(mechanism.rows, FloatRows):
        return float_row_fault(mechanism, mechanism.rows)
    for number, row in enumerate(mechanism.rows.rows):
        if len(row) != len(mechanism.answers) or min(row) < 0 or sum(row) != 1:
            holders = np.flatnonzero(mechanism.rows.of == number)
            if holders.size:
                name = mechanism.graph.names[int(holders[0])]
                return f"the row of {name!r} is no distribution: it sums to {float(sum(row))!r}"
    return ""


def check_exactly(mechanism: Mechanism) -> LeastLevel[int]:
    """Each distinct (row, row, level) once: ten million edges between a hundred rows are a few thousand pairs."""
    graph, shared = mechanism.graph, as_shared(mechanism)
    tails, heads, levels, edges = _strictest(
        *distinct_pairs(shared.of, graph.tails, graph.heads, graph.level_of_edge), graph.levels
    )
    pairs = zip(tails.tolist(), heads.tolist(), levels.tolist(), edges.tolist())
    check = _pair_checker(shared.rows, graph.levels, len(tails))
    checked = [
        (check(graph.levels[k], t, h), edge) for t, h, k, edge in track(pairs, "Checking privacy", total=len(edges))
    ]
    private = all(item.kept for item, _ in checked)
    # A broken promise before a kept one; then what uses the largest epsilon, or breaks its promise by most.
    edge = max(checked, key=lambda one: (not one[0].kept, one[0].used if private else one[0].strain, -one[1]))[1]
    reason = "" if private else violation(mechanism, edge)
    return LeastLevel(private, max(item.used for item, _ in checked), edge, reason)


def _pair_checker(
    rows: tuple[Distribution, ...], levels: tuple[Level, ...], pairs: int
) -> Callable[[Level, int, int], EdgeUse]:
    """How pairs of distinct rows are checked: in rationals, after enclosures where those are long."""
    enclosed = LongRows(rows) if LongRows.pays(rows, levels, pairs=pairs) else None

    def check(level: Level, tail: int, head: int) -> EdgeUse:
        used = enclosed.used(level, tail, head) if enclosed is not None else None
        if used is None:
            return check_pair(level, rows[tail], rows[head])
        return EdgeUse(True, used, used - max(float(bound.epsilon) for bound in level.bounds))  # type: ignore[attr-defined]

    return check


def as_shared(mechanism: Mechanism) -> SharedRows:
    """The rows as exact rationals, each different one once."""
    if isinstance(mechanism.rows, SharedRows):
        return mechanism.rows
    return SharedRows.from_rows([mechanism.rows.row(v) for v in range(len(mechanism.rows))])


def _first_edges(row_of: Any, tails: Any, heads: Any, kind: Any, rows: int, kinds: int, first: Any) -> None:
    """Write for each code of (row of tail, row of head, kind) the first edge that has it."""
    for edge in range(len(tails) - 1, -1, -1):
        first[(row_of[tails[edge]] * rows + row_of[heads[edge]]) * kinds + kind[edge]] = edge


first_edges = Loop(_first_edges)


def distinct_pairs(
    row_of: npt.NDArray[np.int32],
    tails: npt.NDArray[np.int32],
    heads: npt.NDArray[np.int32],
    kind: npt.NDArray[np.int32],
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """The distinct (row of tail, row of head, kind), and for each the first edge that has it; no Python loop over edges."""
    rows, kinds = int(row_of.max()) + 1, int(kind.max()) + 1
    size, count = rows * rows * kinds, len(tails)
    if size <= 4 * count + 10**6:
        # A table of all codes in one pass: linear, where sorting is not.
        first = np.full(size, -1, dtype=np.int64)
        first_edges(count, row_of, tails, heads, kind, rows, kinds, first)
        distinct = np.flatnonzero(first >= 0)
        edges = first[distinct]
    else:
        code = (row_of[tails].astype(np.int64) * rows + row_of[heads]) * kinds + kind
        distinct, place = group(code, size)
        edges = first_of_each(place, len(distinct))
    pair, kind_of = np.divmod(distinct, kinds)
    return pair // rows, pair % rows, kind_of, edges


def _strictest(
    tails: Numbers, heads: Numbers, kinds: Numbers, edges: Numbers, levels: tuple[Level, ...]
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """The same pairs without levels that a stricter one between the same two rows implies: with a level of its own on each edge
    few are left.

    A plain (epsilon, delta) implies another if neither of its numbers is larger. Epsilons are compared as floats, with room for
    what those are wrong by; deltas by their ranks, or by floats on both sides of them where there are thousands.
    """
    if len(kinds) < _MANY_PAIRS:
        return tails, heads, kinds, edges
    rows = int(max(tails.max(), heads.max())) + 1
    epsilons, *deltas = _plain_numbers(levels)
    epsilon, (below, above) = epsilons[kinds], (side[kinds] for side in deltas)
    order = np.lexsort((epsilon, tails * rows + heads))
    pair = (tails * rows + heads)[order]
    starts = np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]])
    kept = np.ones(len(kinds), dtype=bool)
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(pair)]):
        mine = order[start:end]
        mine = mine[~np.isnan(epsilon[mine])]
        least = np.r_[math.inf, np.minimum.accumulate(above[mine])]
        smaller = np.searchsorted(epsilon[mine], epsilon[mine] - _FLOAT_ERROR)
        kept[mine] = below[mine] < least[smaller]
    return tails[kept], heads[kept], kinds[kept], edges[kept]


def _plain_numbers(levels: Sequence[Level]) -> tuple[npt.NDArray[np.float64], ...]:
    """The epsilon of each plain level (of others nothing is known), and numbers on both sides that order like the deltas."""
    if isinstance(levels, PlainLevels):  # whose deltas are the decimals of floats, and order like those
        return levels.epsilon, levels.delta, levels.delta
    plain = [one if isinstance(one, ApproximateDP) and one.is_single else None for one in levels]
    epsilon = np.array([math.nan if one is None else float(one.epsilon) for one in plain])
    return epsilon, *_delta_sides([None if one is None else one.delta for one in plain])


def _delta_sides(deltas: list[Fraction | None]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Numbers that order like the deltas: one not above and one not below each."""
    pairs = [None if delta is None else (delta.numerator, delta.denominator) for delta in deltas]
    different = set(pairs) - {None}
    if len(different) <= _FEW_DELTAS:
        order = sorted(Fraction(*pair) for pair in different if pair is not None)
        rank = {(delta.numerator, delta.denominator): float(place) for place, delta in enumerate(order)}
        ranks = np.array([math.nan if pair is None else rank[pair] for pair in pairs])
        return ranks, ranks
    nearest = np.array([math.nan if delta is None else float(delta) for delta in deltas])
    return np.nextafter(nearest, -math.inf), np.nextafter(nearest, math.inf)


def _check_shapes(mechanism: Mechanism) -> None:
    graph = mechanism.graph
    if not graph.has_levels:
        raise GraphError("graph", graph, "has no privacy levels", "set them by with_level: nothing else can be checked")
    if not len(graph) == len(mechanism.rows) == len(mechanism.preferences):
        sizes = (len(graph), len(mechanism.rows), len(mechanism.preferences))
        raise MechanismError("mechanism", sizes, "are the numbers of datasets, rows and preferences: they differ")


# Rows whose rationals have thousands of digits: enclosures decide nearly everything, rationals what they leave open.
#
# A chain of 100,000 datasets has probabilities like ``e^-50000``; dividing such rationals takes milliseconds, and
# enclosing them a microsecond. Each probability is enclosed with a relative error of ``2**-500``, and so is the rest
# to one: as the sum of the other answers, never as a difference.


_MANY_PROBABILITIES = 4000  # probabilities in pairs of rows: beyond, Python's fractions take seconds
_LONG_BITS = 1024  # bits of a denominator from which on enclosing is quicker
_ZERO = Ball(0)
_UP = 1 + 1e-12  # far more than the rounding of a few floats; it only matters for the epsilon that is shown


class LongRows:
    """Distinct rows, enclosed once each."""

    bits = 512

    def __init__(self, rows: Sequence[Distribution]) -> None:
        self._rows = rows
        self._known: dict[int, list[Ball]] = {}
        self._most = 0.0  # the largest epsilon measured so far

    @staticmethod
    def pays(rows: Sequence[Distribution], levels: Sequence[Level], *, pairs: int = 0) -> bool:
        """Whether numbers are long, or *pairs* of rows have very many numbers; and all levels are made of finite bounds."""
        plain = all(
            isinstance(level, ApproximateDP) and not any(bound.epsilon.infinite for bound in level.bounds)
            for level in sample_levels(levels)
        )
        many = bool(rows) and pairs * len(rows[0]) > _MANY_PROBABILITIES
        return plain and (many or any(max(p.denominator for p in row).bit_length() > _LONG_BITS for row in rows))

    def row(self, number: int) -> list[Ball]:
        """A row in this arithmetic, to be called at its precision."""
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = [ball(p) for p in self._rows[number]]
        return known

    def used(self, level: Level, tail: int, head: int) -> float | None:
        """If the edge certainly keeps its promises: an upper bound of the epsilon that it uses. Else ``None``.

        A promise that is no larger than what another edge was measured to use is not measured: 0 stands for it, because
        only the largest is reported.
        """
        assert isinstance(level, ApproximateDP)
        with precision(self.bits):
            most = 0.0
            for bounds, above, below in ((level.forward, head, tail), (level.backward, tail, head)):
                for bound in bounds:
                    certain = _certainly_kept(bound, self.row(above), self.row(below))
                    if not certain and not _exactly_kept(bound, self._rows[above], self._rows[below]):
                        return None
                    if float(bound.epsilon) * _UP > self._most and _promised(bound.epsilon) > self._most:
                        most = max(most, _epsilon(bound, self.row(above), self.row(below)))
            self._most = max(self._most, most)
            return most

    def lines(self, walks: Sequence[Walk]) -> Lines:
        """The bounds of parallel walks in this arithmetic, ahead and back, each with its slope."""
        with precision(self.bits):
            ahead = [(b.epsilon.exp(), ball(b.delta), number_above(b.epsilon.exp())) for w in walks for b in w.ahead]
            inverse = [(1 / b.epsilon.exp(), ball(b.delta)) for w in walks for b in w.back]
            return ahead, [(factor, delta, number_above(factor)) for factor, delta in inverse]

    def gap(self, lines: Lines, tail: Sides, head: Sides) -> tuple[float, float] | None:
        """From above: the bound that the tail imposes on the head minus what the head has, and the slope; ``None`` if unclear.

        To be called at this class's precision.
        """
        p, c = tail
        x, rest = head
        low = bool(x <= rest)
        best = (rest, 0.0)
        for ratio, delta, slope in lines[0]:
            value = ratio * p + delta
            best = _least(best, (value - x if low else rest - (1 - value).max(_ZERO), slope))
        for inverse, delta, slope in lines[1]:
            least = ((c - delta) * inverse).max(_ZERO)
            best = _least(best, ((1 - least) - x if low else rest - least, slope))
        # A gap of exactly 0 is enclosed with a radius of 2^-500 of the small side: zero for every purpose.
        return (max(0.0, number_above(best[0])), best[1]) if not best[0] < 0 else None


def _least(one: tuple[Ball, float], other: tuple[Ball, float]) -> tuple[Ball, float]:
    # By midpoints: each is a bound by itself, so the wrong choice of two that overlap costs sharpness alone.
    return other if other[0].mid() < one[0].mid() else one


def _certainly_kept(bound: Bound, above: list[Ball], below: list[Ball]) -> bool:
    """``sum of (P - E Q)_+ <= delta``, for certain."""
    ratio, total = _exp(bound.epsilon), Ball(0)
    for p, q in zip(above, below):
        excess = p - ratio * q
        if not excess <= 0:
            if bound.delta == 0:
                return False
            total = total + excess.max(Ball(0))
    return bool(total <= ball(bound.delta))


def _exactly_kept(bound: Bound, above: Distribution, below: Distribution) -> bool:
    """The same in rationals, where the promise is one: what is tight to the last digit no enclosure decides."""
    if bound.epsilon.exact_ratio is None:
        return False
    ratio, total = rational(bound.epsilon.exact_ratio), rational(0)
    for p, q in zip(above, below):
        if p and (excess := rational(p) - ratio * rational(q)) > 0:
            total += excess
    return bool(total <= rational(bound.delta))


def _epsilon(bound: Bound, above: list[Ball], below: list[Ball]) -> float:
    """From above: the least epsilon at the bound's delta, never more than is promised (the promise is kept)."""
    pairs = sorted(((p, q) for p, q in zip(above, below) if p != 0), key=lambda pair: -_rough(pair[0], pair[1]))
    p = q = Ball(0)
    most = 1.0
    for a, b in pairs:
        p, q = p + a, q + b
        excess = p - ball(bound.delta)
        if not excess <= 0:
            most = max(most, _rough(excess, q) * _UP)
    return min(_promised(bound.epsilon), math.log(most))


def _rough(p: Ball, q: Ball) -> float:
    return math.inf if q == 0 else float((p / q).mid())


@lru_cache(maxsize=1 << 16)
def _promised(epsilon: Epsilon) -> float:
    return decimal_above(upper(epsilon.ball()))


@lru_cache(maxsize=1 << 16)
def _exp(epsilon: Epsilon) -> Ball:
    return epsilon.exp()
