"""Local gaps of bound trees on millions of datasets whose rows are floats: vectorised, rounded towards a larger gap.

The bound of a vertex v whose predecessor u has the event with probability y is
``F = min{1, E y + delta, 1 - (1 - y - delta) / E}``. The gap ``F - x`` is taken between small sides: between x and F where x is
small, between ``1 - F`` and ``1 - x`` where that is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from optimaldp.certify.closeness import enclosure
from optimaldp.certify.graphs.bounds import Walk, step_above
from optimaldp.certify.graphs.float_rows import SUM_ERROR, float_table
from optimaldp.certify.graphs.floats import SmallSides
from optimaldp.certify.graphs.rounding import UNIT, float_above
from optimaldp.certify.graphs.tree_gaps import TINY, EventValues
from optimaldp.certify.graphs.trees import Floats, Numbers, TreeEdges
from optimaldp.mechanisms import BoundTree, FloatRows, TwoSides
from optimaldp.mechanisms.certificate import Event
from optimaldp.privacy import ApproximateDP, Bound

_UP, _DOWN = 1 + 8 * UNIT, 1 - 8 * UNIT
_DOUBTFUL = 2.0**-38  # a relative gap from here on may be the referee's own rounding: worth a rational
_AT_ONCE = 1 << 15  # vertices: what a chunk touches stays in the cache
_MOST_DOUBTFUL = 20_000  # beyond, the certificate is wrong and floats say enough


def side_values(rows: TwoSides | FloatRows, event: Event) -> EventValues:
    """The small sides of the probabilities of an event."""
    if isinstance(rows, TwoSides):
        sides = SmallSides.of(rows)
        low = sides.first_is_small if event == (0,) else ~sides.first_is_small
        return EventValues(sides.small, ~low & (sides.small == 0.0), low=low)
    table, inside = float_table(rows), np.isin(np.arange(rows.table.shape[1]), event)
    wanted, rest = table[:, inside].sum(axis=1), table[:, ~inside].sum(axis=1)
    low = wanted <= rest
    error = SUM_ERROR * table.shape[1]
    return EventValues(np.where(low, wanted, rest), ~low & (rest == 0.0), low=low, error=error)


def local_side_gaps(
    rows: TwoSides | FloatRows, values: EventValues, tree: BoundTree, edges: TreeEdges
) -> tuple[Floats, Floats]:
    """An upper bound of each local gap, and of the slope of the bound there; -1 marks a value above its bound."""
    table = _Table(edges.kinds)
    gap, slope = np.empty(len(edges.vertices)), np.empty(len(edges.vertices))
    for start in range(0, len(gap), _AT_ONCE):
        chunk = slice(start, start + _AT_ONCE)
        vertices = edges.vertices[chunk]
        y, x = (_Sides(values, some) for some in (tree.predecessor[vertices], vertices))
        gap[chunk], slope[chunk] = _chunk_gaps(table, edges.kind_of[chunk], y, x)
    _refine(rows, tree, edges, values, gap, slope)
    return gap, slope


class _Sides:
    """Probabilities of an event at some datasets: the small side, which side it is, and its relative error."""

    def __init__(self, values: EventValues, vertices: Numbers) -> None:
        assert values.low is not None
        self.small: Floats = values.small[vertices]
        self.low: npt.NDArray[np.bool_] = values.low[vertices]
        self.error = values.error

    def probability(self) -> Floats:
        return np.where(self.low, self.small, 1.0 - self.small) * (1.0 + self.error)

    def complement(self) -> Floats:
        return np.where(self.low, 1.0 - self.small, self.small) * (1.0 - self.error)


class _Table:
    """The bounds of all kinds of edges as arrays, rounded up; kinds with fewer bounds than others repeat their last.

    An infinite epsilon and a Gaussian level bound nothing here: ``_refine`` looks at them in rationals.
    """

    def __init__(self, kinds: tuple[tuple[Walk, ...], ...]) -> None:
        known = [[walk for walk in kind if isinstance(walk.level, ApproximateDP)] for kind in kinds]
        self.ahead = _columns([[_ratio(b) for walk in kind for b in walk.ahead] for kind in known])
        self.back = _columns([[_ratio(b) for walk in kind for b in walk.back] for kind in known])


def _ratio(bound: Bound) -> tuple[float, float, float]:
    """Ratio from above, delta from above, and one over the ratio from above."""
    if bound.epsilon.infinite:
        return math.inf, 1.0, 0.0
    low, high = enclosure(bound.epsilon)
    return float_above(high), float_above(bound.delta), float_above(1 / low)


def _columns(bounds: list[list[tuple[float, float, float]]]) -> list[tuple[Floats, ...]]:
    longest = max(len(item) for item in bounds)
    padded = [item + [item[-1] if item else (math.inf, 1.0, 0.0)] * (longest - len(item)) for item in bounds]
    return [tuple(np.array(column) for column in zip(*(item[i] for item in padded))) for i in range(longest)]


def _chunk_gaps(table: _Table, kind: Numbers, y: _Sides, x: _Sides) -> tuple[Floats, Floats]:
    """Over all bounds the smallest gap, with its slope."""
    gap = np.where(x.low, (1.0 - x.small) * _UP, x.small) * (1.0 + x.error)  # the bound 1
    slope = np.zeros(len(gap))
    for value, rest, steepness in _pieces(table, kind, y):
        # x small: F - x from above. x large: (1 - x) - (1 - F), with 1 - F from below.
        small_up, small_down = x.small * (1.0 + x.error), x.small * (1.0 - x.error)
        reached, own = np.where(x.low, value, small_up), np.where(x.low, small_down, rest)
        candidate = (reached - own) + reached * (4 * UNIT)
        closer = candidate < gap
        gap, slope = np.where(closer, candidate, gap), np.where(closer, steepness, slope)
    return np.maximum(gap, 0.0), slope


def _pieces(table: _Table, kind: Numbers, y: _Sides) -> Iterator[tuple[Floats, Floats, Floats]]:
    """For each bound: the largest F, the least ``1 - F`` (not below 0), and the slope."""
    p, c = y.probability(), y.complement()
    with np.errstate(invalid="ignore", over="ignore"):
        for ratio, delta, _ in table.ahead:
            value = (p * ratio[kind] + delta[kind]) * _UP  # not a number for 0 times infinity: no bound
            yield value, np.maximum((1.0 - value) - 2 * UNIT, 0.0), ratio[kind]
    error = np.where(y.low, 2 * UNIT, 0.0)  # 1 - y was rounded
    for ratio, delta, decay in table.back:
        rest = np.maximum((c - delta[kind]) - error, 0.0) * _DOWN / ratio[kind]
        yield (1.0 - rest) * _UP, rest, decay[kind]


def _refine(
    rows: TwoSides | FloatRows, tree: BoundTree, edges: TreeEdges, values: EventValues, gap: Floats, slope: Floats
) -> None:
    """Decide in rationals where the floats are in doubt: cancellation, infinite epsilon, a wrong certificate."""
    doubtful = np.flatnonzero(gap > _DOUBTFUL * np.maximum(values.small[edges.vertices], TINY))
    for i in doubtful[:_MOST_DOUBTFUL].tolist():
        vertex = int(edges.vertices[i])
        y, x = (sum((rows.row(v)[a] for a in tree.event), Fraction(0)) for v in (int(tree.predecessor[vertex]), vertex))
        bound, steepness = step_above(edges.kinds[int(edges.kind_of[i])], y)
        gap[i] = -1.0 if bound < x else float_above(bound - x)
        slope[i] = min(float_above(steepness), 1e150)
