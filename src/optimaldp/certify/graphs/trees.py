"""Bound trees as arrays: which edges they walk, and what their gaps add up to from the roots on.

If each dataset of a tree has (up to a local gap) the very bound that its predecessor's value imposes, then no private mechanism
with the same root values exceeds it by more than the gaps add up to: bounds are monotone, so they carry over from root to leaf.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.graphs.rounding import UNIT, Loop, Walk
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.mechanisms import BoundTree, Mechanism
from optimaldp.mechanisms.certificate import ROOT

# One bound tree over rows of floats, dataset by dataset: who rests on it, the local gaps, and what they add up to.
#
# The bound of a dataset v whose predecessor u has the event with probability y is ``F = min{1, E y + delta, 1 - (1 -
# y - delta) / E}``. The gap ``F - x`` is taken between small sides: between x and F where x is small, between ``1 -
# F`` and ``1 - x`` where that is. Everything is rounded towards a larger gap.


_UP, _DOWN = 1 + 8 * UNIT, 1 - 8 * UNIT


def _mark_ancestry(predecessor: Numbers, needed: Numbers, settled: Numbers, concerned: Numbers) -> None:
    """The needed datasets and all from which their bounds come, up to those whose value needs no proof."""
    for start in range(len(predecessor)):
        vertex = start
        if not needed[start]:
            continue
        # It stops at what is marked already, so all walks together are linear.
        while not concerned[vertex] and not settled[vertex]:
            concerned[vertex] = True
            if predecessor[vertex] < 0:
                break
            vertex = predecessor[vertex]


def _walk_gap(
    y_small: float,
    y_low: bool,
    x_small: float,
    x_low: bool,
    error: float,
    ahead: Numbers,
    back: Numbers,
    kind: int,
) -> tuple[float, float]:
    """Over the bounds of one kind of walk the smallest gap, from above, and the slope of the bound that has it.

    ``ahead[i, kind]`` and ``back[i, kind]`` are the ratio from above, delta from above, and one over the ratio from above.
    """
    # What bounds is taken from above and what is bounded from below; of complements the other way round.
    p = (y_small if y_low else 1.0 - y_small) * (1.0 + error)
    c = (1.0 - y_small if y_low else y_small) * (1.0 - error)
    up = x_small * (1.0 + error)
    down = x_small * (1.0 - error)
    gap = (1.0 - x_small) * _UP * (1.0 + error) if x_low else up  # the bound 1
    slope = 0.0
    for i in range(ahead.shape[0]):
        ratio = ahead[i, kind, 0]
        if math.isinf(ratio):
            continue  # an infinite epsilon bounds nothing here: rationals look at it
        value = (p * ratio + ahead[i, kind, 1]) * _UP
        reached, own = (value, down) if x_low else (up, max((1.0 - value) - 2 * UNIT, 0.0))
        candidate = (reached - own) + reached * (4 * UNIT)
        if candidate < gap:
            gap = candidate
            slope = ratio
    for i in range(back.shape[0]):
        if math.isinf(back[i, kind, 0]):
            continue
        rest = (c - back[i, kind, 1]) - (2 * UNIT if y_low else 0.0)  # with 1 - y rounded
        rest = max(rest, 0.0) * _DOWN / back[i, kind, 0]
        reached, own = ((1.0 - rest) * _UP, down) if x_low else (up, rest)
        candidate = (reached - own) + reached * (4 * UNIT)
        if candidate < gap:
            gap = candidate
            slope = back[i, kind, 2]
    return max(gap, 0.0), slope


def _local_gaps(
    tails: Numbers,
    heads: Numbers,
    kinds: Numbers,
    predecessor: Numbers,
    concerned: Numbers,
    small: Numbers,
    low: Numbers,
    error: float,
    ahead: Numbers,
    back: Numbers,
    deltas: Numbers,
    gap: Numbers,
    slope: Numbers,
    delta: Numbers,
) -> None:
    """For each concerned dataset the gap to the bound of its predecessor; of parallel edges the one that bounds most.

    A gap that is still -1 afterwards is that of a dataset whose predecessor is no neighbour. Kind 2k is level k walked as it
    is written, kind 2k + 1 the same walked back.
    """
    for edge in range(len(tails)):
        for way in range(2):
            u, v = (tails[edge], heads[edge]) if way == 0 else (heads[edge], tails[edge])
            if predecessor[v] != u or not concerned[v]:
                continue
            kind = 2 * kinds[edge] + way
            candidate, steepness = _walk_gap(small[u], low[u], small[v], low[v], error, ahead, back, kind)
            if gap[v] < 0.0 or candidate < gap[v]:
                gap[v] = candidate
                slope[v] = steepness
            delta[v] = max(delta[v], deltas[kinds[edge]])


def _total_gaps(
    predecessor: Numbers,
    concerned: Numbers,
    given: Numbers,
    given_row: Numbers,
    root_above: Numbers,
    root_rest: Numbers,
    small: Numbers,
    low: Numbers,
    error: float,
    delta: Numbers,
    gap: Numbers,
    slope: Numbers,
    tiny: float,
    endless: float,
    total: Numbers,
    state: Numbers,
    stack: Numbers,
) -> int:
    """For each concerned dataset what the gaps on its path add up to, relative to its own scale; or one on a cycle, else -1.

    ``total[v] = gap[v] + slope[v] total[parent]``, in scales. Walk up from every dataset to one that is settled, then settle the
    walk backwards: each is touched once. A given value that was rounded down when it was printed is a gap from the start.
    """
    for start in range(len(predecessor)):
        depth = 0
        vertex = start
        if not concerned[start]:
            continue
        while state[vertex] == 0 and concerned[vertex] and predecessor[vertex] >= 0:
            state[vertex] = 1
            stack[depth] = vertex
            depth += 1
            vertex = predecessor[vertex]
        # A dataset of this very walk: bounds that rest on each other prove nothing.
        if state[vertex] == 1:
            return vertex
        scale = max(small[vertex], tiny, delta[vertex])
        if state[vertex] == 0:
            state[vertex] = 2
            if concerned[vertex]:  # free (the bound is 1), or not named at all
                total[vertex] = 1.0 / scale if predecessor[vertex] == -2 else endless
            elif given[vertex] and given_row[vertex] >= 0:
                side = small[vertex]
                row = given_row[vertex]
                lost = root_above[row] - side * (1.0 - error) if low[vertex] else side * (1.0 + error) - root_rest[row]
                total[vertex] = max(lost + side * (4 * UNIT), 0.0) / scale
        above = total[vertex]
        while depth > 0:
            depth -= 1
            vertex = stack[depth]
            own = max(small[vertex], tiny, delta[vertex])
            # From the parent's scale to the own one: totals are relative, slopes are not.
            factor = min(slope[vertex] * scale / own, endless)
            above = min(min(gap[vertex] / own, endless) + factor * above, endless)
            total[vertex] = above
            state[vertex] = 2
            scale = own
    return -1


def _settle(parent: Numbers, total: Numbers, product: Numbers, state: Numbers, stack: Numbers, endless: float) -> None:
    """Walk up from every vertex to one that is settled, then settle the walk backwards: each vertex is touched once."""
    for start in range(len(parent)):
        depth = 0
        vertex = start
        while state[vertex] == 0:
            state[vertex] = 1
            stack[depth] = vertex
            depth += 1
            vertex = parent[vertex]
        known = state[vertex] == 2  # otherwise the walk met itself, or one that did
        while depth > 0:
            depth -= 1
            below = stack[depth]
            if known:
                total[below] = min(total[below] + product[below] * total[parent[below]], endless)
                state[below] = 2
            else:
                state[below] = 3


def _own_edges(tails: Numbers, heads: Numbers, predecessor: Numbers, ahead: Numbers, back: Numbers) -> tuple[int, int]:
    """Write the edges that lead from a predecessor to its dataset: *ahead* as they are written, *back* against it."""
    forth, home = 0, 0
    for edge in range(len(tails)):
        tail, head = tails[edge], heads[edge]
        if predecessor[head] == tail:
            ahead[forth] = edge
            forth += 1
        if predecessor[tail] == head:
            back[home] = edge
            home += 1
    return forth, home


own_edges = Loop(_own_edges)
mark_ancestry = Loop(_mark_ancestry)
local_gaps = Loop(_local_gaps, _walk_gap)
total_gaps = Loop(_total_gaps)
settle = Loop(_settle)


Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]

ENDLESS = 1e150  # gaps and factors stop here: hopeless, and the product of two of them is still finite
TINY = 1e-250  # what scales a gap at a smaller side: floats stop near 1e-301, and nobody sees the difference


@dataclass(frozen=True)
class TreeEdges:
    """For each vertex of a tree that has a predecessor: which walk (or parallel walks) leads to it."""

    vertices: Numbers
    kind_of: Numbers  # for each of the vertices, the number of its kind
    kinds: tuple[tuple[Walk, ...], ...]
    lost: Numbers  # vertices whose predecessor is no neighbour


def tree_edges(graph: DatasetGraph, predecessor: npt.NDArray[np.int32], inner: npt.NDArray[np.bool_]) -> TreeEdges:
    """Find the edges from predecessors to the *inner* vertices, parallel ones together."""
    limiting, room = np.where(inner, predecessor, -1), graph.edge_count
    ahead, back = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    ends = own_edges(room, graph.tails, graph.heads, limiting, ahead, back)
    ahead, back = ahead[: ends[0]], back[: ends[1]]
    reached = np.concatenate([graph.heads[ahead], graph.tails[back]])
    # A level that is the same in both directions is one kind, whichever way the edge was written.
    backwards = np.array([2 * k + (level.reversed() != level) for k, level in enumerate(graph.levels)] or [0])
    code = np.concatenate([2 * graph.level_of_edge[ahead], backwards[graph.level_of_edge[back]]])
    counts = np.bincount(reached, minlength=len(graph))
    lost = np.flatnonzero(inner & (counts == 0))
    kinds: list[tuple[Walk, ...]] = [(Walk(level, forward),) for level in graph.levels for forward in (True, False)]
    if counts.max(initial=0) <= 1:
        return TreeEdges(reached, code, tuple(kinds), lost)
    return _with_parallel(reached, code, counts, kinds, lost)


def _with_parallel(
    reached: Numbers, code: Numbers, counts: Numbers, kinds: list[tuple[Walk, ...]], lost: Numbers
) -> TreeEdges:
    """Where several edges join a vertex to its predecessor, their walks become one kind."""
    single = counts[reached] == 1
    together: dict[int, set[int]] = {}
    for vertex, number in zip(reached[~single].tolist(), code[~single].tolist()):
        together.setdefault(vertex, set()).add(number)
    number_of: dict[frozenset[int], int] = {}
    extra = [number_of.setdefault(frozenset(codes), len(kinds) + len(number_of)) for codes in together.values()]
    more = tuple(tuple(kinds[c][0] for c in sorted(codes)) for codes in number_of)
    vertices = np.concatenate([reached[single], np.array(list(together), dtype=reached.dtype)])
    return TreeEdges(
        vertices, np.concatenate([code[single], np.array(extra, dtype=code.dtype)]), tuple(kinds) + more, lost
    )


def above_roundings(vertices: int) -> float:
    """A factor above all roundings of a chain through so many vertices: one product and one sum of nonnegative numbers each."""
    # Two roundings of 2^-53 a step; four times that also covers what they do to each other, up to 10^12 vertices.
    return 1.0 + 2.0**-40 + vertices * 2.0**-50


def add_up(parent: Numbers, gap: Floats, factor: Floats) -> tuple[Floats, Numbers]:
    """Solve ``total[v] = gap[v] + factor[v] total[parent[v]]``; a root is its own parent and has factor 0.

    Returns an upper bound of the totals, and vertices that never reach a root: those on or behind a cycle.
    """
    total, product = np.minimum(gap, ENDLESS), np.minimum(factor, ENDLESS)
    state = np.where(parent == np.arange(len(parent)), _DONE, _NEW).astype(np.int8)
    stack = np.empty(len(parent) + 1, dtype=np.int32)
    settle(len(parent), np.ascontiguousarray(parent, dtype=np.int32), total, product, state, stack, ENDLESS)
    return total * above_roundings(len(parent)), np.flatnonzero(state == _ASTRAY)


_NEW, _WAITING, _DONE, _ASTRAY = 0, 1, 2, 3


@dataclass(frozen=True)
class TreeGaps:
    """The gap of each dataset relative to the small side of its probability, or why the tree proves nothing."""

    gaps: Floats
    fault: str = ""
    scale: Floats = field(default_factory=lambda: np.zeros(0))  # what the gaps are relative to


class TreeWords:
    """What can be wrong with a tree, in words."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._names = mechanism.graph.names

    def misfit(self) -> TreeGaps:
        return _fault("a bound tree does not fit the graph")

    def fault(
        self, tree: BoundTree, concerned: npt.NDArray[np.bool_], *, lost: npt.NDArray[np.bool_]
    ) -> TreeGaps | None:
        """A predecessor that is no neighbour, or a root that is not given."""
        if lost.any():
            vertex = int(lost.argmax())
            ends = self._names[int(tree.predecessor[vertex])], self._names[vertex]
            return _fault(f"{ends[0]!r} bounds {ends[1]!r} but is no neighbour of it")
        roots = concerned & (tree.predecessor == ROOT)
        if roots.any():
            return _fault(f"{self._names[int(roots.argmax())]!r} is a root but its distribution is not given")
        return None

    def above(self, vertex: int) -> TreeGaps:
        name = self._names[vertex]
        return _fault(f"the value of {name!r} is above the bound that its predecessor imposes: a contradiction")

    def cycle(self, vertex: int) -> TreeGaps:
        return _fault(f"the bound of {self._names[vertex]!r} runs in a cycle")


def _fault(reason: str) -> TreeGaps:
    return TreeGaps(np.zeros(0), reason)
