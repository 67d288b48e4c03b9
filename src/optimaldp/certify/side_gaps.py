"""Local gaps of bound trees for two answers on millions of datasets: vectorised, rounded towards a larger gap.

The bound of a vertex v whose predecessor u has the event with probability y is
``F = min{1, E y + delta, 1 - (1 - y - delta) / E}``. The gap ``F - x`` is taken between small sides: between x and F where x is
small, between ``1 - F`` and ``1 - x`` where that is.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.bounds import Walk, step_above
from optimaldp.certify.closeness import enclosure
from optimaldp.certify.floats import SmallSides
from optimaldp.certify.rounding import UNIT, float_above
from optimaldp.certify.tree_gaps import EventValues
from optimaldp.certify.trees import Floats, Numbers, TreeEdges
from optimaldp.mechanisms import BoundTree, TwoSides
from optimaldp.mechanisms.certificate import Event
from optimaldp.privacy import ApproximateDP

_UP, _DOWN = 1 + 8 * UNIT, 1 - 8 * UNIT
_DOUBTFUL = 2.0**-38  # a relative gap from here on may be the referee's own rounding: worth a rational
_MOST_DOUBTFUL = 20_000  # beyond, the certificate is wrong and floats say enough


def side_values(rows: TwoSides, event: Event) -> EventValues:
    """The small sides of the probabilities of a single answer."""
    sides = SmallSides.of(rows)
    is_small = sides.first_is_small if event == (0,) else ~sides.first_is_small
    return EventValues(sides.small, ~is_small & (sides.small == 0.0))


def local_side_gaps(rows: TwoSides, tree: BoundTree, edges: TreeEdges) -> tuple[Floats, Floats]:
    """An upper bound of each local gap, and of the slope of the bound there; -1 marks a value above its bound."""
    sides = SmallSides.of(rows)
    tails = tree.predecessor[edges.vertices]
    gap, slope = np.full(len(tails), np.inf), np.zeros(len(tails))
    for number, kind in enumerate(edges.kinds):
        here = np.flatnonzero(edges.kind_of == number) if len(edges.kinds) > 1 else np.arange(len(tails))
        if here.size and all(isinstance(walk.level, ApproximateDP) for walk in kind):
            y, x = (_Sides(sides, tree.event, some[here]) for some in (tails, edges.vertices))
            gap[here], slope[here] = _kind_gaps(kind, y, x)
    _refine(rows, tree, edges, sides.small, gap, slope)
    return gap, slope


class _Sides:
    """Probabilities of an event at some datasets: the small side, and which side it is."""

    def __init__(self, sides: SmallSides, event: Event, vertices: Numbers) -> None:
        self.small: Floats = sides.small[vertices]
        self.low: npt.NDArray[np.bool_] = sides.first_is_small[vertices] == (event == (0,))

    def probability(self) -> Floats:
        return np.where(self.low, self.small, 1.0 - self.small)

    def complement(self) -> Floats:
        return np.where(self.low, 1.0 - self.small, self.small)


def _kind_gaps(kind: tuple[Walk, ...], y: _Sides, x: _Sides) -> tuple[Floats, Floats]:
    """Over all bounds of parallel walks the smallest gap, with its slope."""
    gap = np.where(x.low, (1.0 - x.small) * _UP, x.small)  # the bound 1
    slope = np.zeros(len(gap))
    for value, rest, steepness in _pieces(kind, y):
        # x small: F - x from above. x large: (1 - x) - (1 - F), with 1 - F from below.
        candidate = np.where(x.low, value - x.small, x.small - rest)
        candidate = candidate + np.where(x.low, value, x.small) * (4 * UNIT)
        closer = candidate < gap
        gap, slope = np.where(closer, candidate, gap), np.where(closer, steepness, slope)
    return np.maximum(gap, 0.0), slope


def _pieces(kind: tuple[Walk, ...], y: _Sides) -> Any:
    """For each bound: the largest F, the least ``1 - F`` (not below 0), and the slope."""
    p, c = y.probability(), y.complement()
    for walk in kind:
        for bound in walk.ahead:
            if bound.epsilon.infinite:
                continue  # it bounds nothing unless y is 0: left to rationals where that matters
            ratio, delta = float_above(enclosure(bound.epsilon)[1]), float_above(bound.delta)
            value = (p * ratio + delta) * _UP
            yield value, np.maximum((1.0 - value) - 2 * UNIT, 0.0), ratio
        for bound in walk.back:
            if bound.epsilon.infinite:
                continue
            low, high = enclosure(bound.epsilon)
            delta = float_above(bound.delta)
            error = np.where(y.low, 2 * UNIT, 0.0)  # 1 - y was rounded
            rest = np.maximum((c - delta) - error, 0.0) * _DOWN / float_above(high)
            yield (1.0 - rest) * _UP, rest, float_above(1 / low)


def _refine(rows: TwoSides, tree: BoundTree, edges: TreeEdges, small: Floats, gap: Floats, slope: Floats) -> None:
    """Decide in rationals where the floats are in doubt: cancellation, infinite epsilon, a wrong certificate."""
    doubtful = np.flatnonzero(gap > _DOUBTFUL * np.maximum(small[edges.vertices], 1e-300))
    for i in doubtful[:_MOST_DOUBTFUL].tolist():
        vertex = int(edges.vertices[i])
        y, x = (sum((rows.row(v)[a] for a in tree.event), Fraction(0)) for v in (int(tree.predecessor[vertex]), vertex))
        bound, steepness = step_above(edges.kinds[int(edges.kind_of[i])], y)
        gap[i] = -1.0 if bound < x else float_above(bound - x)
        slope[i] = min(float_above(steepness), 1e150)
