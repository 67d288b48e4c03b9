"""Generalised Dijkstra at twice the precision of a float: the bounds that given datasets impose on one event everywhere.

The same search as :mod:`optimaldp.kernels.dijkstra` (a lazy heap with four children a node, keys that are rounded and may
therefore settle a vertex twice), with labels of two floats. Given datasets keep their values; one that a path forbids by more
than rounding is reported.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.kernels.loops import Floats, Ints, Kernel, as_heap, heap_key, put, take_least

# One privacy step at twice the precision of a float: what three and more answers need.
#
# The probability of a single answer is the difference of two bounds, and a difference loses digits. So a bound is kept as an
# unevaluated sum of two floats, *high* and *low*, about 106 bits; as in :mod:`optimaldp.kernels.dijkstra` it is the side of a
# probability: itself up to 1/2, minus its complement above. Nothing is rounded to a safe side here: the levels are tightened
# by far more (2**-44) than everything that is rounded (2**-98).
#
# Error-free sums and products after Knuth and Dekker. Scalars only, so that the compiler can put them in line.


SURE = -(2.0**-1022)  # stands for probability 1: above every other side
FAINTEST = 2.0**-950  # complements stop here: below, the low parts would lose their digits
_SPLIT = 134217729.0  # 2^27 + 1
_MATCHED = 1.0 - 2.0**-40  # growth times decay of one and the same tightened epsilon


def below(high: float, low: float, other_high: float, other_low: float) -> bool:
    """Whether the first side stands for a smaller probability than the other."""
    if (high < 0.0) == (other_high < 0.0):
        return high < other_high or (high == other_high and low < other_low)
    return other_high < 0.0


def add(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """The sum of two pairs."""
    total = a + b
    back = total - a
    error = (a - (total - back)) + (b - back) + a_low + b_low
    high = total + error
    return high, error - (high - total)


def multiply(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """The product of two pairs."""
    product = a * b
    scaled = _SPLIT * a
    a_top = scaled - (scaled - a)
    a_rest = a - a_top
    scaled = _SPLIT * b
    b_top = scaled - (scaled - b)
    b_rest = b - b_top
    error = ((a_top * b_top - product) + a_top * b_rest + a_rest * b_top) + a_rest * b_rest
    error += a * b_low + a_low * b
    high = product + error
    return high, error - (high - product)


def from_complement(rest: float, rest_low: float) -> tuple[float, float]:
    """The side of one minus a pair."""
    if rest <= 0.0:
        return SURE, 0.0
    if rest < FAINTEST:
        return -FAINTEST, 0.0
    if rest < 0.5:
        return -rest, -rest_low
    return add(1.0, 0.0, -rest, -rest_low)


def double_step(
    high: float,
    low: float,
    growth: float,
    growth_low: float,
    delta: float,
    delta_low: float,
    decay: float,
    decay_low: float,
    back: float,
    back_low: float,
) -> tuple[float, float]:
    """The side of ``F(p)`` for one bound: growth ``e^epsilon``, and of the way back decay ``e^-epsilon``, with their deltas."""
    if high == SURE:
        return high, low
    if high < 0.0:
        rest, rest_low = add(-high, -low, -back, -back_low)
        complement, complement_low = multiply(rest, rest_low, decay, decay_low)
        if not (growth * decay >= _MATCHED and delta >= back):
            # Above 1/2 growth binds on directed edges only: 1 - E (1 - c) - delta = E c - ((E - 1) + delta).
            more, more_low = multiply(growth, growth_low, -high, -low)
            less, less_low = add(growth, growth_low, -1.0, 0.0)
            less, less_low = add(less, less_low, delta, delta_low)
            more, more_low = add(more, more_low, -less, -less_low)
            if more > complement:
                complement, complement_low = more, more_low
        result, result_low = from_complement(complement, complement_low)
    else:
        grown, grown_low = multiply(high, low, growth, growth_low)
        grown, grown_low = add(grown, grown_low, delta, delta_low)
        rest, rest_low = add(1.0, 0.0, -high, -low)
        rest, rest_low = add(rest, rest_low, -back, -back_low)
        complement, complement_low = multiply(rest, rest_low, decay, decay_low)
        total, total_low = add(grown, grown_low, complement, complement_low)
        if total < 1.0 or (total == 1.0 and total_low <= 0.0):
            result, result_low = grown, grown_low
            if grown > 0.5:
                rest, rest_low = add(1.0, 0.0, -grown, -grown_low)
                result, result_low = from_complement(rest, rest_low)
        else:
            result, result_low = from_complement(complement, complement_low)
    if below(result, result_low, high, low):
        return high, low
    return result, result_low


CALLS = (below, add, multiply, from_complement, double_step)


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
        take_least(keys, heap, size)
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
            put(keys, heap, size, heap_key(reached), v)
            size += 1
    return True


_PROPAGATE = Kernel(_propagate_double, *CALLS, heap_key, take_least, put, inline=False)


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
