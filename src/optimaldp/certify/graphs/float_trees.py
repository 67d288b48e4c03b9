"""Bound trees of large mechanisms: walked in floats, or once for all datasets that share a row."""

from __future__ import annotations

import math
from copy import copy
from fractions import Fraction
from typing import Self

import numpy as np
import numpy.typing as npt

from optimaldp.certify.core.closeness import enclosure
from optimaldp.certify.graphs.floats import SUM_ERROR, SmallSides, float_table
from optimaldp.certify.graphs.given import GivenRows, Lines, Prefix, PrefixSums, ShortGaps, number_below, root_values
from optimaldp.certify.graphs.privacy import LongRows
from optimaldp.certify.graphs.rounding import Walk, float_above, group, step_above
from optimaldp.certify.graphs.trees import (
    ENDLESS,
    TINY,
    Floats,
    Numbers,
    TreeGaps,
    TreeWords,
    above_roundings,
    add_up,
    local_gaps,
    mark_ancestry,
    total_gaps,
    tree_edges,
)
from optimaldp.graphs.dataset_graph import PlainLevels
from optimaldp.mechanisms import BoundTree, FloatRows, Mechanism, SharedRows, TwoSides
from optimaldp.mechanisms.certificate import FREE, Event
from optimaldp.privacy import ApproximateDP, Bound, Level
from optimaldp.privacy.balls import precision

# Bound trees over rows of floats, with millions of datasets or thousands of events; rationals where floats are in doubt.


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

    def gaps(self, tree: BoundTree, prefix: Prefix, needed: npt.NDArray[np.bool_]) -> TreeGaps:
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
        return TreeGaps(total * above_roundings(len(total)), scale=scale)

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


# Bound trees over shared rows: each distinct pair of rows once, exactly, and only the pairs that a tree needs.


class SharedTrees:
    """A mechanism of shared rows, and what is given of it."""

    def __init__(self, mechanism: Mechanism, given: npt.NDArray[np.bool_], allowed: GivenRows, events: int) -> None:
        assert isinstance(mechanism.rows, SharedRows)
        self._mechanism, self._rows, self._given, self._allowed = mechanism, mechanism.rows, given, allowed
        self._work = events * len(mechanism)
        levels = mechanism.graph.levels
        long = LongRows.pays(self._rows.rows, levels)
        self._gaps: LongRows | ShortGaps = LongRows(self._rows.rows) if long else ShortGaps(self._rows.rows)
        self._sums = PrefixSums(self._rows.rows, self._gaps.row)
        self._kinds = _Kinds(mechanism, self._gaps)

    def given(self, given: npt.NDArray[np.bool_], allowed: GivenRows) -> Self:
        """The same mechanism with something else given; what was worked out about levels and edges is kept."""
        other = copy(self)
        other._given, other._allowed = given, allowed
        return other

    def sure(self, prefix: Prefix) -> npt.NDArray[np.bool_]:
        """Where the event has probability one."""
        return self._sums.sure(prefix)[self._rows.of]

    def gaps(self, tree: BoundTree, prefix: Prefix, needed: npt.NDArray[np.bool_]) -> TreeGaps:
        """Check a tree as far as the *needed* datasets rest on it, and add up its gaps."""
        words, count, predecessor = TreeWords(self._mechanism), len(self._mechanism), tree.predecessor
        if len(predecessor) != count or predecessor.max(initial=0) >= count:
            return words.misfit()
        concerned = np.zeros(count, dtype=bool)
        mark_ancestry(self._work, predecessor, needed, self._given | self.sure(prefix), concerned)
        kind_of = self._kinds.of(predecessor)
        if fault := words.fault(tree, concerned, lost=concerned & (predecessor >= 0) & (kind_of < 0)):
            return fault
        inner = np.flatnonzero(concerned & (predecessor >= 0))
        tails, kinds = predecessor[inner], kind_of[inner]
        with precision(self._gaps.bits):
            local, slope = self._local(prefix, self._rows.of[tails], self._rows.of[inner], kinds)
            if (local < 0).any():
                return words.above(int(inner[int((local < 0).argmax())]))
            scale = np.full(count, TINY)
            reached = concerned.copy()
            reached[tails] = True
            ends = np.flatnonzero(reached)
            scale[ends] = np.maximum(self._small(prefix, self._rows.of[ends]), TINY)
        scale[inner] = np.maximum(scale[inner], self._kinds.largest_delta[kinds])
        return self._total(words, tree, prefix, concerned, inner, ends, scale, (local, slope))

    def _local(self, prefix: Prefix, tails: Numbers, heads: Numbers, kinds: Numbers) -> tuple[Floats, Floats]:
        """For each edge of the tree the gap and the slope; -1 marks a value above its bound."""
        count, number_of_kinds = len(self._rows.rows), len(self._kinds.walks)
        code = (tails.astype(np.int64) * count + heads) * number_of_kinds + kinds
        distinct, place = group(code, count * count * number_of_kinds)
        local, slope = np.empty(len(distinct)), np.empty(len(distinct))
        for i, number in enumerate(distinct.tolist()):
            pair, kind = divmod(number, number_of_kinds)
            tail, head = divmod(pair, count)
            known, lines = None, self._kinds.lines[kind]
            if lines is not None:
                known = self._gaps.gap(lines, self._sums.sides(tail, prefix), self._sums.sides(head, prefix))
            # What an enclosure leaves open, and levels that are no straight lines.
            if known is None:
                known = self._in_fractions(self._kinds.walks[kind], prefix.event, tail, head)
            local[i], slope[i] = known
        return local[place], slope[place]

    def _in_fractions(self, walks: tuple[Walk, ...], event: Event, tail: int, head: int) -> tuple[float, float]:
        y, x = (self._exact(number, event) for number in (tail, head))
        bound, steepness = step_above(walks, y)
        return -1.0 if bound < x else float_above(bound - x), float_above(steepness)

    def _exact(self, number: int, event: Event) -> Fraction:
        return sum((self._rows.rows[number][a] for a in event), Fraction(0))

    def _small(self, prefix: Prefix, numbers: Numbers) -> Floats:
        """The small sides of rows, from below, each different one once."""
        distinct, place = group(numbers.astype(np.int64), len(self._rows.rows))
        sides = (self._sums.sides(number, prefix) for number in distinct.tolist())
        return np.array([max(0.0, min(number_below(p), number_below(c))) for p, c in sides])[place]

    def _total(
        self,
        words: TreeWords,
        tree: BoundTree,
        prefix: Prefix,
        concerned: npt.NDArray[np.bool_],
        inner: Numbers,
        ends: Numbers,
        scale: Floats,
        local: tuple[Floats, Floats],
    ) -> TreeGaps:
        """Add up along the tree; only the datasets that it concerns, and their roots, take part."""
        place = np.zeros(len(scale), dtype=np.int64)
        place[ends] = np.arange(len(ends))
        parent, gap, factor = np.arange(len(ends)), np.zeros(len(ends)), np.zeros(len(ends))
        tails = tree.predecessor[inner]
        parent[place[inner]] = place[tails]
        gap[place[inner]] = local[0] / scale[inner]
        # What is infinite here is cut in add_up: times a gap of 0 it would be no number.
        with np.errstate(over="ignore"):
            factor[place[inner]] = local[1] * scale[tails] / scale[inner]
        unproven = ends[concerned[ends] & (tree.predecessor[ends] < 0)]  # free (the bound is 1), or not named at all
        gap[place[unproven]] = np.where(tree.predecessor[unproven] == FREE, 1.0 / scale[unproven], ENDLESS)
        roots = ends[self._given[ends] & (self._allowed.of[ends] >= 0)]
        gap[place[roots]] = self._root_gaps(roots, prefix) / scale[roots]
        total, astray = add_up(parent, gap, factor)
        if astray.size:
            return words.cycle(int(ends[astray[0]]))
        gaps = np.zeros(len(scale))
        gaps[ends] = total
        return TreeGaps(gaps, scale=scale)

    def _root_gaps(self, roots: Numbers, prefix: Prefix) -> Floats:
        """A given value that was rounded down when it was printed: the difference is a gap from the start."""
        if not roots.size:
            return np.zeros(0)
        mine, theirs = self._rows.of[roots].astype(np.int64), self._allowed.of[roots]
        distinct, place = group(mine * len(self._allowed.rows) + theirs, len(self._rows.rows) * len(self._allowed.rows))
        lost = []
        for number in distinct.tolist():
            a, b = divmod(number, len(self._allowed.rows))
            row = self._allowed.rows[b]
            if row == self._rows.rows[a]:
                lost.append(0.0)
                continue
            given = sum((row[answer] for answer in prefix.event), Fraction(0))
            lost.append(float_above(max(Fraction(0), given - self._exact(a, prefix.event))))
        return np.array(lost)[place]


class _Kinds:
    """By which edges, parallel ones together, each dataset is reached from its predecessor; trees often share them."""

    def __init__(self, mechanism: Mechanism, gaps: LongRows | ShortGaps) -> None:
        self._graph, self._gaps = mechanism.graph, gaps
        self._last: npt.NDArray[np.int32] | None = None
        self._kind_of: Numbers = np.zeros(0, dtype=np.int64)
        self.walks: tuple[tuple[Walk, ...], ...] = ()
        self.lines: list[
            Lines | None
        ] = []  # none where an infinite epsilon or a Gaussian level needs Python's fractions
        self.largest_delta: Floats = np.zeros(0)

    def of(self, predecessor: npt.NDArray[np.int32]) -> Numbers:
        """The number of the kind of each dataset, -1 where its predecessor is no neighbour."""
        if self._last is not predecessor:
            edges = tree_edges(self._graph, predecessor, predecessor >= 0)
            self._last, self.walks = predecessor, edges.kinds
            self._kind_of = np.full(len(predecessor), -1, dtype=np.int64)
            self._kind_of[edges.vertices] = edges.kind_of
            self.lines = [self._gaps.lines(walks) if all(map(_is_finite, walks)) else None for walks in self.walks]
            self.largest_delta = np.array([float(max(w.largest_delta for w in walks)) for walks in self.walks] or [0.0])
        return self._kind_of


def _is_finite(walk: Walk) -> bool:
    level = walk.level
    return isinstance(level, ApproximateDP) and not any(bound.epsilon.infinite for bound in level.bounds)
