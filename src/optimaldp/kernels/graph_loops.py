"""Loops over the edges of a graph: arcs sorted by where they start, breadth-first search, triangles."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.kernels.compiled import Ints, Kernel


def _place_arcs(
    tails: Ints, heads: Ints, level: Ints, backward: npt.NDArray[Any], free: Ints, arc_heads: Ints, arc_levels: Ints
) -> None:
    """Write every edge forward, then every edge backward, at the next free place of its start."""
    for edge in range(len(tails)):
        place = free[tails[edge]]
        free[tails[edge]] = place + 1
        arc_heads[place] = heads[edge]
        arc_levels[place] = level[edge]
    for edge in range(len(tails)):
        place = free[heads[edge]]
        free[heads[edge]] = place + 1
        arc_heads[place] = tails[edge]
        arc_levels[place] = backward[level[edge]]


_PLACE_ARCS = Kernel(_place_arcs)


def both_directions(
    tails: npt.NDArray[np.int32],
    heads: npt.NDArray[np.int32],
    level: npt.NDArray[np.int32],
    backward: npt.NDArray[np.int32],
    count: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Where each vertex' arcs begin, where they lead, and their levels; *backward* maps a level to its reverse."""
    first = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(tails, minlength=count) + np.bincount(heads, minlength=count), out=first[1:])
    arc_heads, arc_levels = np.empty(2 * len(tails), dtype=np.int32), np.empty(2 * len(tails), dtype=np.int32)
    _PLACE_ARCS(2 * len(tails), tails, heads, level, backward, first[:-1].copy(), arc_heads, arc_levels)
    return first, arc_heads, arc_levels


# Breadth-first search from many sources, inside regions.


def _breadth_first(
    first: Ints, heads: Ints, region: Ints, distance: Ints, parent: Ints, queue: Ints, filled: int
) -> int:
    """Extend *distance* from the *filled* vertices of *queue*, whose distance is 0, inside their regions; how many then."""
    start = 0
    while start < filled:
        u = queue[start]
        start += 1
        step = distance[u] + 1
        own = region[u]
        for arc in range(first[u], first[u + 1]):
            v = heads[arc]
            if distance[v] < 0 and region[v] == own:
                distance[v] = step
                parent[v] = u
                queue[filled] = v
                filled += 1
    return filled


_BREADTH_FIRST = Kernel(_breadth_first)


def _pair_up(first: Ints, heads: Ints, region: Ints, alone: Ints, partner: Ints, queue: Ints) -> int:
    """Join open datasets of different regions in pairs; a dataset whose such neighbours are all taken names one of them.

    Writes ``alone`` 0 for those in pairs, 1 for those that came too late, and the *queue* in that order; returns its length.
    """
    filled = 0
    for u in range(len(region)):
        if alone[u] >= 0:
            continue
        own = region[u]
        taken = -1
        for arc in range(first[u], first[u + 1]):
            v = heads[arc]
            if region[v] != own:
                taken = v
                if alone[v] < 0:
                    alone[v] = 0
                    partner[v] = u
                    queue[filled] = v
                    filled += 1
                    alone[u] = 0
                    break
        if taken >= 0:
            if alone[u] < 0:
                alone[u] = 1
            partner[u] = taken
            queue[filled] = u
            filled += 1
    return filled


_PAIR_UP = Kernel(_pair_up)


def settle_one_level(
    first: npt.NDArray[np.int64], heads: npt.NDArray[np.int32], region: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The order in which one level settles two regions: the boundary first, in pairs, then layer by layer.

    Returns the distances to the boundary (-1: none), whether a boundary dataset is in a pair (0), came too late for one (1) or is
    not on the boundary (-1), from whom each was reached (its partner, for the boundary), and the order.
    """
    count = len(region)
    alone, parent = np.full(count, -1, dtype=np.int8), np.full(count, -1, dtype=np.int32)
    queue, distance = np.empty(count, dtype=np.int32), np.full(count, -1, dtype=np.int32)
    filled = _PAIR_UP(len(heads), first, heads, region, alone, parent, queue)
    distance[queue[:filled]] = 0
    filled = _BREADTH_FIRST(len(heads), first, heads, region, distance, parent, queue, filled)
    queue[filled:] = np.flatnonzero(distance < 0)
    return distance, alone, parent, queue


def breadth_first(
    first: npt.NDArray[np.int64],
    heads: npt.NDArray[np.int32],
    region: npt.NDArray[np.int32],
    sources: npt.NDArray[np.bool_],
) -> npt.NDArray[np.int32]:
    """Steps from the nearest source inside the own region; -1 where there is none."""
    return breadth_first_tree(first, heads, region, sources)[0]


def breadth_first_tree(
    first: npt.NDArray[np.int64],
    heads: npt.NDArray[np.int32],
    region: npt.NDArray[np.int32],
    sources: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The same distances, and for each vertex the one it was reached from (-1 at sources, -2 where there is none)."""
    starts = np.flatnonzero(sources).astype(np.int32)
    distance = np.full(len(region), -1, dtype=np.int32)
    parent = np.full(len(region), -2, dtype=np.int32)
    distance[starts] = 0
    parent[starts] = -1
    queue = np.empty(len(region), dtype=np.int32)
    queue[: len(starts)] = starts
    _BREADTH_FIRST(len(heads), first, heads, region, distance, parent, queue, len(starts))
    return distance, parent


# The triangle inequality over all triples of points, in floats: which triples need exact numbers?


def _doubtful(
    table: npt.NDArray[Any], ways: npt.NDArray[Any], first: int, doubt: float, doubtful: Ints
) -> tuple[int, int]:
    """Write to *doubtful* the triples (u, v, w), u < v, u from *first* on, that are not clearly within the inequality.

    Returns how many there are and the next u: the number of points when all were looked at. *doubtful* has room for all triples
    of one u, which are never split.
    """
    filled = 0
    count = len(table)
    for u in range(first, count):
        before = filled
        for w in ways:
            if w == u:
                continue
            near = table[u, w]
            # Count first: a loop without a branch is four times as fast, and nearly all of them find nothing but v = w itself.
            found = 0
            for v in range(u + 1, count):
                found += not table[u, v] <= (near + table[w, v]) * (1.0 - doubt) - doubt
            if found <= (1 if w > u else 0):
                continue
            for v in range(u + 1, count):
                if not table[u, v] <= (near + table[w, v]) * (1.0 - doubt) - doubt and v != w:
                    if filled == len(doubtful):
                        return before, u
                    doubtful[filled, 0] = u
                    doubtful[filled, 1] = v
                    doubtful[filled, 2] = w
                    filled += 1
    return filled, count


TRIANGLES = Kernel(_doubtful)
