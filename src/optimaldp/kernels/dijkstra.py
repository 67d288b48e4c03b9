"""Generalised Dijkstra: the least upper bound that all fixed datasets together impose on every other one.

Labels are sides (see :mod:`optimaldp.kernels.steps`). It is sound because every step is monotone and never lowers a label.
The heap has four children a node and is lazy: a vertex enters it whenever its label falls, and old entries are passed
over when they come up. That costs a little memory and saves the bookkeeping of positions, which is most of the time of an indexed
heap. A key is a float that orders sides (see ``heap_key``); below 1/2 it is rounded, so labels may tie in the wrong order: a
vertex may then be settled twice, and the result is exact all the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.kernels.arrays import Floats, Ints, LevelTable
from optimaldp.kernels.compiled import Kernel
from optimaldp.kernels.heaps import as_heap, heap_key
from optimaldp.kernels.steps import SURE, _from_complement, _step_high, _step_low, below, step


def _propagate(
    first: Ints,
    heads: Ints,
    levels: Ints,
    table: LevelTable,
    label: Floats,
    predecessor: Ints,
    keys: Floats,
    heap: Ints,
    size: int,
) -> bool:
    """Settle all labels. False if the heap is too small.

    The heap's two operations stand here in full: as functions of arrays they made the whole search half as fast.
    """
    spans, growth, delta, decay, back_delta = table
    while size > 0:
        u = heap[0]
        key = keys[0]
        size -= 1
        last = keys[size]
        moved = heap[size]
        at = 0
        while True:
            least = 4 * at + 1
            if least >= size:
                break
            smallest = keys[least]
            for child in range(least + 1, min(least + 4, size)):
                if keys[child] < smallest:
                    least = child
                    smallest = keys[child]
            if smallest >= last:
                break
            keys[at] = smallest
            heap[at] = heap[least]
            at = least
        keys[at] = last
        heap[at] = moved
        current = label[u]
        if key > heap_key(current):
            continue  # an old entry: u has been settled with a lower label
        known = -1
        reached = current
        for arc in range(first[u], first[u + 1]):
            v = heads[arc]
            old = label[v]
            # No step lowers a probability, so a label that is not above ours cannot fall: half of all arcs end here.
            if not below(current, old):
                continue
            k = levels[arc]
            if k < 0:
                continue
            if k != known:  # neighbouring arcs often share their level, and the step from u is then the same
                known = k
                reached = SURE
                for bound in range(spans[k], spans[k + 1]):
                    candidate = step(current, growth[bound], delta[bound], decay[bound], back_delta[bound])
                    if below(candidate, reached):
                        reached = candidate
            if not below(reached, old):
                continue
            label[v] = reached
            predecessor[v] = u
            if size == len(keys):
                return False
            key = heap_key(reached)
            at = size
            size += 1
            while at > 0:
                parent = (at - 1) >> 2
                if keys[parent] <= key:
                    break
                keys[at] = keys[parent]
                heap[at] = heap[parent]
                at = parent
            keys[at] = key
            heap[at] = v
    return True


_PROPAGATE = Kernel(_propagate, below, _from_complement, _step_low, _step_high, step, heap_key)


def _keep_inside(first: Ints, heads: Ints, levels: Ints, region: Ints, kept: Ints) -> None:
    """Copy *levels* to *kept*, with -1 for every arc that leaves its region."""
    for u in range(len(region)):
        own = region[u]
        for arc in range(first[u], first[u + 1]):
            kept[arc] = levels[arc] if region[heads[arc]] == own else -1


_KEEP_INSIDE = Kernel(_keep_inside)


def inside_regions(
    first: npt.NDArray[np.int64],
    heads: npt.NDArray[np.int32],
    levels: npt.NDArray[np.int32],
    region: npt.NDArray[np.int32],
) -> npt.NDArray[np.int32]:
    """The arcs' levels with -1 (closed) wherever an arc joins two regions."""
    kept = np.empty_like(levels)
    _KEEP_INSIDE(len(heads), first, heads, levels, region, kept)
    return kept


def propagate(
    first: npt.NDArray[np.int64],
    heads: npt.NDArray[np.int32],
    levels: npt.NDArray[np.int32],
    table: tuple[npt.NDArray[Any], ...],
    label: npt.NDArray[np.float64],
    predecessor: npt.NDArray[np.int32],
) -> None:
    """Lower *label* to what the sources impose, and set *predecessor* where it fell; both in place.

    Every label that is not ``SURE`` is a source. Arcs of level -1 are closed. *table* describes the levels: spans, growth,
    delta, decay, back_delta (see :func:`optimaldp.kernels.steps.step`).
    """
    room = len(label) + 1024
    finished = False
    while not finished:
        sources = np.flatnonzero(label != SURE).astype(np.int32)
        room = max(2 * room, 2 * len(sources))
        keys, heap = as_heap(label, sources, room)
        # A heap that overflowed left labels behind that are all true bounds: they are the sources of the next round.
        finished = _PROPAGATE(len(heads), first, heads, levels, table, label, predecessor, keys, heap, len(sources))
