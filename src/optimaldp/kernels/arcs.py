"""Edges as arcs in both directions, sorted by where they start: a counting sort in two passes over the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.kernels.arrays import Ints
from optimaldp.kernels.compiled import Kernel


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
