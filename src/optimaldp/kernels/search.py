"""Breadth-first search from many sources, inside regions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optimaldp.kernels.arrays import Ints
from optimaldp.kernels.compiled import Kernel


def _breadth_first(
    first: Ints, heads: Ints, region: Ints, distance: Ints, parent: Ints, queue: Ints, filled: int
) -> None:
    """Extend *distance* from the *filled* vertices of *queue*, whose distance is 0, inside their regions."""
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


_BREADTH_FIRST = Kernel(_breadth_first)


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
