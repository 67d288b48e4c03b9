"""Bound trees as arrays: which edges they walk, and what their gaps add up to from the roots on.

If each dataset of a tree has (up to a local gap) the very bound that its predecessor's value imposes, then no private mechanism
with the same root values exceeds it by more than the gaps add up to: bounds are monotone, so they carry over from root to leaf.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.bounds import Walk
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

    Leaves are set aside, layer by layer, as long as that pays; the chains that remain are halved in each round (pointer
    jumping), so a path of a million needs twenty. Returns an upper bound of the totals, and the vertices that never reach a
    root: those on or behind a cycle.
    """
    total, product = np.minimum(gap, ENDLESS), np.minimum(factor, ENDLESS)
    root = parent == np.arange(len(parent))
    inner, layers = _without_leaves(parent, np.flatnonzero(~root))
    astray = _jump(parent, total, product, root, inner)
    for leaves in reversed(layers):
        total[leaves] = np.minimum(total[leaves] + product[leaves] * total[parent[leaves]], ENDLESS)
    return total * _UP, astray


def _without_leaves(parent: Numbers, inner: Numbers) -> tuple[Numbers, list[Numbers]]:
    """Take off vertices that are nobody's parent, again and again while at least a tenth of them goes."""
    layers: list[Numbers] = []
    while inner.size:
        is_parent = np.zeros(len(parent), dtype=bool)
        is_parent[parent[inner]] = True
        stays = is_parent[inner]
        if 10 * np.count_nonzero(stays) > 9 * inner.size:
            break
        layers.append(inner[~stays])
        inner = inner[stays]
    return inner, layers


def _jump(parent: Numbers, total: Floats, product: Floats, root: npt.NDArray[np.bool_], inner: Numbers) -> Numbers:
    """Finish *total* of the inner vertices, whose parents are inner or roots; returns those that reach no root."""
    place = np.zeros(len(parent), dtype=np.int32)
    place[inner] = np.arange(len(inner), dtype=np.int32)
    above = parent[inner]
    # From here on by places among the inner vertices, which fit the cache: those below a root become the roots.
    found, factor, up, finished = total[inner], product[inner], place[above], root[above]
    found[finished] += factor[finished] * total[above[finished]]
    factor[finished], up[finished] = 0.0, np.flatnonzero(finished)
    active = np.flatnonzero(~finished).astype(np.int32)
    for _ in range(len(parent).bit_length() + 1):
        if not active.size:
            break
        over = up[active]
        # All reads before all writes: a round must see the state of the round before.
        new_found = np.minimum(found[active] + factor[active] * found[over], ENDLESS)
        new_factor = np.minimum(factor[active] * factor[over], ENDLESS)
        new_up = up[over]
        found[active], factor[active], up[active] = new_found, new_factor, new_up
        active = active[~finished[over]]
    total[inner] = found
    return inner[active]
