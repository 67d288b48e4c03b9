"""Bound trees as arrays: which edges they walk, and what their gaps add up to from the roots on.

If each dataset of a tree has (up to a local gap) the very bound that its predecessor's value imposes, then no private mechanism
with the same root values exceeds it by more than the gaps add up to: bounds are monotone, so they carry over from root to leaf.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.graphs.bounds import Walk
from optimaldp.extras import numba_if_installed
from optimaldp.graphs.dataset_graph import DatasetGraph

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]

ENDLESS = 1e150  # gaps and factors stop here: hopeless, and the product of two of them is still finite
_UP = 1.0 + 2.0**-40  # more than all roundings of a chain of sums of nonnegative numbers


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


def add_up(parent: Numbers, gap: Floats, factor: Floats) -> tuple[Floats, Numbers]:
    """Solve ``total[v] = gap[v] + factor[v] total[parent[v]]``; a root is its own parent and has factor 0.

    Returns an upper bound of the totals, and vertices that never reach a root: those on or behind a cycle.
    """
    total, product = np.minimum(gap, ENDLESS), np.minimum(factor, ENDLESS)
    state = np.where(parent == np.arange(len(parent)), _DONE, _NEW).astype(np.int8)
    stack = np.empty(len(parent) + 1, dtype=np.int32)
    settle = _settle if len(parent) < _COMPILE_FROM else _compiled_settle()
    settle(np.ascontiguousarray(parent, dtype=np.int32), total, product, state, stack, ENDLESS)
    return total * _UP, np.flatnonzero(state == _ASTRAY)


_NEW, _WAITING, _DONE, _ASTRAY = 0, 1, 2, 3
_COMPILE_FROM = 20_000  # below this plain Python is done before numba has been imported


def _settle(parent: Any, total: Any, product: Any, state: Any, stack: Any, endless: float) -> None:
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


@cache
def _compiled_settle() -> Any:
    numba = numba_if_installed()
    if numba is None:
        return _settle
    try:
        return numba.njit(cache=True)(_settle)
    except RuntimeError:  # nowhere to write: then each process compiles for itself
        return numba.njit(_settle)
