"""Generalised Dijkstra at twice the precision of a float: the bounds that given datasets impose on one event everywhere.

The same search as :mod:`optimaldp.kernels.dijkstra` (a lazy heap with four children a node, keys that are rounded and may
therefore settle a vertex twice), with labels of two floats. Given datasets keep their values; one that a path forbids by more
than rounding is reported.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.kernels.arrays import Floats, Ints
from optimaldp.kernels.compiled import Kernel
from optimaldp.kernels.double_steps import CALLS, SURE, below, double_step
from optimaldp.kernels.heaps import as_heap, heap_key

_ROUNDING = 1e-9  # a given value that a path allows up to this (relative to its small side) is not forbidden


def _propagate_double(
    first: Ints,
    heads: Ints,
    levels: Ints,
    spans: Ints,
    table: npt.NDArray[Any],
    given: npt.NDArray[Any],
    label: Floats,
    label_low: Floats,
    predecessor: Ints,
    keys: Floats,
    heap: Ints,
    size: int,
    conflict: npt.NDArray[Any],
) -> bool:
    """Settle all labels. False if the heap is too small."""
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
        current_low = label_low[u]
        if key > heap_key(current):
            continue  # an old entry: u has been settled with a lower label
        known = -1
        reached = current
        reached_low = current_low
        for arc in range(first[u], first[u + 1]):
            v = heads[arc]
            if not below(current, current_low, label[v], label_low[v]):
                continue
            k = levels[arc]
            if k != known:
                known = k
                reached = SURE
                reached_low = 0.0
                for bound in range(spans[k], spans[k + 1]):
                    value, value_low = double_step(
                        current,
                        current_low,
                        table[bound, 0],
                        table[bound, 1],
                        table[bound, 2],
                        table[bound, 3],
                        table[bound, 4],
                        table[bound, 5],
                        table[bound, 6],
                        table[bound, 7],
                    )
                    if below(value, value_low, reached, reached_low):
                        reached = value
                        reached_low = value_low
            if not below(reached, reached_low, label[v], label_low[v]):
                continue
            if given[v]:
                if conflict[0] < 0:
                    wanted = label[v] if label[v] >= 0.0 else 1.0 + label[v]
                    allowed = reached if reached >= 0.0 else 1.0 + reached
                    gap = label[v] - reached if (label[v] < 0.0) == (reached < 0.0) else wanted - allowed
                    if gap > _ROUNDING * max(min(abs(reached), 1.0 - abs(reached)), 1e-300):
                        conflict[0] = u
                        conflict[1] = v
                continue
            label[v] = reached
            label_low[v] = reached_low
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


_PROPAGATE = Kernel(_propagate_double, *CALLS, heap_key, inline=False)


def propagate_double(
    first: npt.NDArray[np.int64],
    heads: npt.NDArray[np.int32],
    levels: npt.NDArray[np.int32],
    spans: npt.NDArray[np.int64],
    table: Floats,
    given: npt.NDArray[np.bool_],
    label: Floats,
    label_low: Floats,
    predecessor: npt.NDArray[np.int32],
    *,
    searches: int = 1,
) -> tuple[int, int] | None:
    """Lower the labels of free datasets in place; a step that forbids a given value, if there is one.

    Every label that is not ``SURE`` is a source. *searches* says how many of these there will be: many small ones are worth
    compiling too.
    """
    conflict = np.full(2, -1, dtype=np.int64)
    room = len(label) + 1024
    finished = False
    while not finished:
        sources = np.flatnonzero(label != SURE).astype(np.int32)
        room = max(2 * room, 2 * len(sources))
        keys, heap = as_heap(label, sources, room)
        # A heap that overflowed left labels behind that are all true bounds: they are the sources of the next round.
        finished = _PROPAGATE(
            len(heads) * searches, first, heads, levels, spans, table, given, label, label_low, predecessor, keys, heap,
            len(sources), conflict,
        )  # fmt: skip
    return (int(conflict[0]), int(conflict[1])) if conflict[0] >= 0 else None
