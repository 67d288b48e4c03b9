"""Bound trees over rows of floats, with millions of datasets or thousands of events; rationals where floats are in doubt."""

from __future__ import annotations

import math
from copy import copy
from fractions import Fraction
from typing import Self

import numpy as np
import numpy.typing as npt

from optimaldp.certify.core.closeness import enclosure
from optimaldp.certify.graphs.bounds import Walk, step_above
from optimaldp.certify.graphs.float_rows import SUM_ERROR, float_table
from optimaldp.certify.graphs.floats import SmallSides
from optimaldp.certify.graphs.given import GivenRows, root_values
from optimaldp.certify.graphs.prefix_sums import Prefix
from optimaldp.certify.graphs.rounding import float_above
from optimaldp.certify.graphs.tree_loop import local_gaps, mark_ancestry, total_gaps
from optimaldp.certify.graphs.trees import ENDLESS, TINY, Floats, TreeFinding, TreeWords, above_roundings, tree_edges
from optimaldp.graphs.edge_levels import PlainLevels
from optimaldp.mechanisms import BoundTree, FloatRows, Mechanism, TwoSides
from optimaldp.privacy import ApproximateDP, Bound, Level

_DOUBTFUL = 2.0**-38  # a relative gap from here on may be the referee's own rounding: worth a rational
_MOST_DOUBTFUL = 20_000  # beyond, the certificate is wrong and floats say enough


class FloatTrees:
    """A mechanism whose rows are floats, and what is given of it."""

    def __init__(self, mechanism: Mechanism, given: npt.NDArray[np.bool_], allowed: GivenRows, events: int) -> None:
        assert isinstance(mechanism.rows, TwoSides | FloatRows)
        self._mechanism, self._rows, self._given, self._allowed = mechanism, mechanism.rows, given, allowed
        self._work = events * (mechanism.graph.edge_count + len(mechanism))
        self._levels = _LevelTable(mechanism.graph.levels)
        self._sums = _Sums(self._rows)

    def given(self, given: npt.NDArray[np.bool_], allowed: GivenRows) -> Self:
        """The same mechanism with something else given; what was worked out about levels and edges is kept."""
        other = copy(self)
        other._given, other._allowed = given, allowed
        return other

    def sure(self, prefix: Prefix) -> npt.NDArray[np.bool_]:
        """Where the event has probability one."""
        small, low = self._sums.sides(prefix)
        impossible_rest: npt.NDArray[np.bool_] = ~low & (small == 0.0)
        return impossible_rest

    def gaps(self, tree: BoundTree, prefix: Prefix, needed: npt.NDArray[np.bool_]) -> TreeFinding:
        """Check a tree as far as the *needed* datasets rest on it, and add up its gaps."""
        words, count = TreeWords(self._mechanism), len(self._mechanism)
        predecessor = np.ascontiguousarray(tree.predecessor, dtype=np.int32)
        if len(predecessor) != count or predecessor.max(initial=0) >= count:
            return words.misfit()
        graph, error = self._mechanism.graph, self._sums.error
        small, low = self._sums.sides(prefix)
        concerned = np.zeros(count, dtype=bool)
        mark_ancestry(self._work, predecessor, needed, self._given | self.sure(prefix), concerned)
        gap, slope, delta = np.full(count, -1.0), np.zeros(count), np.zeros(count)
        local_gaps(
            self._work, graph.tails, graph.heads, graph.level_of_edge, predecessor, concerned, small, low, error,
            self._levels.ahead, self._levels.back, self._levels.delta, gap, slope, delta,
        )  # fmt: skip
        if fault := words.fault(tree, concerned, lost=concerned & (predecessor >= 0) & (gap < 0.0)):
            return fault
        above = self._refine(tree, gap, slope, small)
        if above is not None:
            return words.above(above)
        root_above, root_rest, _ = root_values(self._allowed, tree.event)
        total, state = np.zeros(count), np.zeros(count, dtype=np.int8)
        astray = total_gaps(
            self._work, predecessor, concerned, self._given, self._allowed.of, root_above, root_rest, small, low, error,
            delta, gap, slope, TINY, ENDLESS, total, state, np.empty(count + 1, dtype=np.int32),
        )  # fmt: skip
        if astray >= 0:
            return words.cycle(int(astray))
        scale = np.maximum(np.maximum(small, TINY), delta)
        return TreeFinding(total * above_roundings(len(total)), scale=scale)

    def _refine(self, tree: BoundTree, gap: Floats, slope: Floats, small: Floats) -> int | None:
        """Decide in rationals where floats are in doubt: cancellation, infinite epsilon, a wrong certificate.

        Returns a dataset whose value is above the bound of its predecessor, if there is one.
        """
        doubtful = np.flatnonzero(gap > _DOUBTFUL * np.maximum(small, TINY))[:_MOST_DOUBTFUL]
        if not doubtful.size:
            return None
        inner = np.zeros(len(gap), dtype=bool)
        inner[doubtful] = True
        edges = tree_edges(self._mechanism.graph, tree.predecessor, inner)
        for vertex, kind in zip(edges.vertices.tolist(), edges.kind_of.tolist()):
            y, x = (self._exact(v, tree) for v in (int(tree.predecessor[vertex]), vertex))
            bound, steepness = step_above(edges.kinds[kind], y)
            if bound < x:
                return int(vertex)
            gap[vertex] = float_above(bound - x)
            slope[vertex] = min(float_above(steepness), ENDLESS)
        return None

    def _exact(self, vertex: int, tree: BoundTree) -> Fraction:
        row = self._rows.row(vertex)
        return sum((row[a] for a in tree.event), Fraction(0))


class _Sums:
    """The small sides ``min(p, 1 - p)`` of prefix events, added up along one order at a time."""

    def __init__(self, rows: TwoSides | FloatRows) -> None:
        self._two = SmallSides.of(rows) if isinstance(rows, TwoSides) else None
        # Answers in lines: a prefix event is then one line of sums.
        self._table = None if isinstance(rows, TwoSides) else np.ascontiguousarray(float_table(rows).T)
        self.error = 0.0 if self._table is None else SUM_ERROR * len(self._table)
        self._order: tuple[int, ...] | None = None

    def sides(self, prefix: Prefix) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The small side of each probability, within a relative ``error``, and where it is that of the event itself."""
        if self._two is not None:
            first = prefix.order[0] == 0
            return self._two.small, self._two.first_is_small if first else ~self._two.first_is_small
        assert self._table is not None
        if self._order != prefix.order:
            self._order, wanted = prefix.order, self._table[list(prefix.order)]
            self._inside = np.cumsum(wanted, axis=0)
            self._outside = np.cumsum(wanted[::-1], axis=0)[::-1]  # a sum, never a difference
        inside, outside = self._inside[prefix.length - 1], self._outside[prefix.length]
        low = inside <= outside
        return np.where(low, inside, outside), low


class _LevelTable:
    """The bounds of all levels as arrays, rounded up: line 2k is level k walked as written, line 2k + 1 walked back.

    Levels with fewer bounds than others repeat their last; an infinite epsilon and a Gaussian level bound nothing here.
    """

    def __init__(self, levels: tuple[Level, ...]) -> None:
        if isinstance(levels, PlainLevels):
            (low, high), (_, delta) = levels.ratios(), levels.deltas()
            lines = np.stack([high, delta, np.minimum(np.nextafter(1.0 / low, 2.0), 1.0)], axis=1)
            self.ahead = self.back = np.repeat(lines, 2, axis=0)[None]
            self.delta = delta
            return
        walks = [Walk(level, forward) for level in levels for forward in (True, False)]
        plain = [isinstance(walk.level, ApproximateDP) for walk in walks]
        self.ahead = _padded([[_ratio(b) for b in walk.ahead] if fine else [] for walk, fine in zip(walks, plain)])
        self.back = _padded([[_ratio(b) for b in walk.back] if fine else [] for walk, fine in zip(walks, plain)])
        self.delta = np.array([float_above(walk.largest_delta) for walk in walks[::2]] or [0.0])


def _ratio(bound: Bound) -> tuple[float, float, float]:
    """Ratio from above, delta from above, and one over the ratio from above."""
    if bound.epsilon.infinite:
        return _NO_BOUND
    low, high = enclosure(bound.epsilon)
    return float_above(high), float_above(bound.delta), float_above(1 / low)


_NO_BOUND = math.inf, 1.0, 0.0


def _padded(bounds: list[list[tuple[float, float, float]]]) -> Floats:
    longest = max((len(item) for item in bounds), default=0)
    padded = [item + [item[-1] if item else _NO_BOUND] * (longest - len(item)) for item in bounds]
    return np.array(padded).reshape(len(bounds), longest, 3).transpose(1, 0, 2).copy()
