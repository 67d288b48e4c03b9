"""Bound trees as arrays: which edges they walk, and what their gaps add up to from the roots on.

If each dataset of a tree has (up to a local gap) the very bound that its predecessor's value imposes, then no private mechanism
with the same root values exceeds it by more than the gaps add up to: bounds are monotone, so they carry over from root to leaf.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.graphs.bounds import Walk
from optimaldp.certify.graphs.tree_loop import settle
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.mechanisms import BoundTree, Mechanism
from optimaldp.mechanisms.certificate import ROOT

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
    ahead = np.flatnonzero((predecessor[graph.heads] == graph.tails) & inner[graph.heads])
    back = np.flatnonzero((predecessor[graph.tails] == graph.heads) & inner[graph.tails])
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
class TreeFinding:
    """The gap of each dataset relative to the small side of its probability, or why the tree proves nothing."""

    gaps: Floats
    fault: str = ""
    scale: Floats = field(default_factory=lambda: np.zeros(0))  # what the gaps are relative to


class TreeWords:
    """What can be wrong with a tree, in words."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._names = mechanism.graph.names

    def misfit(self) -> TreeFinding:
        return _fault("a bound tree does not fit the graph")

    def fault(
        self, tree: BoundTree, concerned: npt.NDArray[np.bool_], *, lost: npt.NDArray[np.bool_]
    ) -> TreeFinding | None:
        """A predecessor that is no neighbour, or a root that is not given."""
        if lost.any():
            vertex = int(lost.argmax())
            ends = self._names[int(tree.predecessor[vertex])], self._names[vertex]
            return _fault(f"{ends[0]!r} bounds {ends[1]!r} but is no neighbour of it")
        roots = concerned & (tree.predecessor == ROOT)
        if roots.any():
            return _fault(f"{self._names[int(roots.argmax())]!r} is a root but its distribution is not given")
        return None

    def above(self, vertex: int) -> TreeFinding:
        name = self._names[vertex]
        return _fault(f"the value of {name!r} is above the bound that its predecessor imposes: a contradiction")

    def cycle(self, vertex: int) -> TreeFinding:
        return _fault(f"the bound of {self._names[vertex]!r} runs in a cycle")


def _fault(reason: str) -> TreeFinding:
    return TreeFinding(np.zeros(0), reason)
