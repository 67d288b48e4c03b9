"""Generalised Dijkstra: the least upper bound that all fixed datasets together impose on every other one.

Labels are sides (see below). It is sound because every step is monotone and never lowers a label.
The heap has four children a node and is lazy: a vertex enters it whenever its label falls, and old entries are passed
over when they come up. That costs a little memory and saves the bookkeeping of positions, which is most of the time of an indexed
heap. A key is a float that orders sides (see ``heap_key``); below 1/2 it is rounded, so labels may tie in the wrong order: a
vertex may then be settled twice, and the result is exact all the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.kernels.loops import Floats, Ints, Kernel, LevelTable, as_heap, heap_key, put, take_least

# One privacy step in floating point, rounded to the safe side.
#
# A probability p is kept as one float, its *side*: ``p`` itself up to 1/2, and ``-(1 - p)`` above. So both ends keep their
# relative precision, and the value that a side stands for is an exact dyadic rational. ``SURE`` stands for p = 1.
#
# Every step is rounded *down*: the result never exceeds the true ``F(p)``, and never falls below p itself (which is
# always allowed). A mechanism made of these values is therefore private as it stands, whatever was rounded.


SURE = -(2.0**-1022)  # above every other side; a normal number, because comparing subnormal ones is slow
FAINTEST = 2.0**-1000  # complements stop here instead of vanishing: with delta = 0 a zero would break every promise

SMALLEST = 2.0**-1020  # below this floats lose their relative precision

# The rounding of a few operations, relative to their result; the referee's own rounding error is below half of it.
DOWN = 1.0 - 2.0**-50
UP = 1.0 + 2.0**-50
SLACK = 2.0**-50  # the same for sums of numbers of order 1
INFINITE = float("inf")
MATCHED = 1.0 - SLACK  # growth times decay, each rounded, of one and the same epsilon


def below(a: float, b: float) -> bool:
    """Whether side *a* stands for a smaller probability than side *b*."""
    if (a < 0.0) == (b < 0.0):
        return a < b
    return b < 0.0


def step(side: float, growth: float, delta: float, decay: float, back_delta: float) -> float:
    """The side of (at most) ``F(p)`` for one bound.

    *growth* is ``e^epsilon`` rounded down, *decay* is ``e^-epsilon`` of the other direction rounded up, both deltas are
    rounded down. Scalars only: an array that crosses a call costs more than the arithmetic.
    """
    if side == SURE:
        return SURE
    if side < 0.0:
        result = _step_high(-side, growth, delta, decay, back_delta)
    else:
        result = _step_low(side, growth, delta, decay, back_delta)
    return side if below(result, side) else result


def _step_low(p: float, growth: float, delta: float, decay: float, back_delta: float) -> float:
    """From p <= 1/2: the growth ``E p + delta``, or the decay of the complement."""
    grown = (growth * p + delta) * DOWN if p > 0.0 else delta
    if grown < SMALLEST:
        return p  # subnormal numbers have no relative precision to round down by; standing still is always private
    rest = ((1.0 - p) - back_delta + SLACK) * decay * UP
    if grown <= 0.5:
        other = (1.0 - rest) - SLACK
        return grown if grown < other else max(other, 0.0)
    return _from_complement(max(1.0 - grown + SLACK, rest))


def _step_high(rest: float, growth: float, delta: float, decay: float, back_delta: float) -> float:
    """From a complement below 1/2."""
    decayed = (rest - back_delta) * decay * UP if rest > back_delta else 0.0
    if growth == INFINITE or (growth * decay >= MATCHED and delta >= back_delta):
        # Above 1/2 the growth never binds when it is at least as generous as the decay: any undirected edge.
        return _from_complement(decayed)
    # 1 - E(1 - c) - delta in an order that subtracts nearly equal numbers only where the result is of order 1.
    return _from_complement(max(decayed, growth * rest - ((growth - 1.0) + delta) + SLACK * growth))


def _from_complement(rest: float) -> float:
    """The side of ``1 - rest``, where *rest* is an upper bound of the true complement."""
    if rest <= 0.0:
        return SURE
    if rest < FAINTEST:
        return -FAINTEST
    if rest < 0.5:
        return -rest
    return max((1.0 - rest) * DOWN, 0.0)


# Edges between the two answers' regions: what given values impose across them, and whether bounds clash on them.


def _other(side: float) -> float:
    """The side of the other answer."""
    if side == SURE:
        return 0.0
    if side == 0.0:
        return SURE
    return -side


def _probability(side: float) -> float:
    """What a side stands for, near enough to tell rounding from a clash."""
    return side if side >= 0.0 else 1.0 + side


def _level_step(
    side: float, k: int, spans: Ints, growth: Floats, delta: Floats, decay: Floats, back_delta: Floats
) -> float:
    reached = SURE
    for bound in range(spans[k], spans[k + 1]):
        candidate = step(side, growth[bound], delta[bound], decay[bound], back_delta[bound])
        if below(candidate, reached):
            reached = candidate
    return reached


def _seed(
    first: Ints,
    heads: Ints,
    levels: Ints,
    region: Ints,
    table: LevelTable,
    label: Floats,
    predecessor: Ints,
    given: npt.NDArray[Any],
) -> None:
    spans, growth, delta, decay, back_delta = table
    for u in range(len(region)):
        if not given[u]:
            continue
        for arc in range(first[u], first[u + 1]):
            v = heads[arc]
            if region[v] == region[u]:
                continue
            reached = _level_step(_other(label[u]), levels[arc], spans, growth, delta, decay, back_delta)
            if below(reached, label[v]):
                label[v] = reached
                predecessor[v] = u


def _clash(first: Ints, heads: Ints, levels: Ints, region: Ints, table: LevelTable, label: Floats) -> tuple[int, int]:
    spans, growth, delta, decay, back_delta = table
    for u in range(len(region)):
        for arc in range(first[u], first[u + 1]):
            v = heads[arc]
            if region[v] == region[u]:
                continue
            # v's own answer, bounded from u; the same bound on u's answer comes with the arc back.
            reached = _level_step(_other(label[u]), levels[arc], spans, growth, delta, decay, back_delta)
            if below(reached, label[v]) and _probability(label[v]) - _probability(reached) > 1e-9:
                return u, v
    return -1, -1


_CALLS = (below, _from_complement, _step_low, _step_high, step, _other, _probability, _level_step)
_SEED = Kernel(_seed, *_CALLS)
_CLASH = Kernel(_clash, *_CALLS)


def seed_crossing(
    first: npt.NDArray[np.int64],
    heads: npt.NDArray[np.int32],
    levels: npt.NDArray[np.int32],
    region: npt.NDArray[np.int32],
    table: tuple[npt.NDArray[Any], ...],
    label: npt.NDArray[np.float64],
    predecessor: npt.NDArray[np.int32],
    given: npt.NDArray[np.bool_],
) -> None:
    """Lower *label* next to given datasets of the other answer to what those allow; *predecessor* says who did."""
    _SEED(len(heads), first, heads, levels, region, table, label, predecessor, given)


def first_clash(
    first: npt.NDArray[np.int64],
    heads: npt.NDArray[np.int32],
    levels: npt.NDArray[np.int32],
    region: npt.NDArray[np.int32],
    table: tuple[npt.NDArray[Any], ...],
    label: npt.NDArray[np.float64],
) -> tuple[int, int] | None:
    """An edge between the regions on which the labels of both ends cannot be had together, by more than rounding."""
    u, v = _CLASH(len(heads), first, heads, levels, region, table, label)
    return (int(u), int(v)) if u >= 0 else None


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
    """Settle all labels. False if the heap is too small."""
    spans, growth, delta, decay, back_delta = table
    while size > 0:
        u = heap[0]
        key = keys[0]
        size -= 1
        take_least(keys, heap, size)
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
            put(keys, heap, size, heap_key(reached), v)
            size += 1
    return True


_PROPAGATE = Kernel(_propagate, below, _from_complement, _step_low, _step_high, step, heap_key, take_least, put)


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
    delta, decay, back_delta (see :func:`optimaldp.kernels.dijkstra.step`).
    """
    room = len(label) + 1024
    finished = False
    while not finished:
        sources = np.flatnonzero(label != SURE).astype(np.int32)
        room = max(2 * room, 2 * len(sources))
        keys, heap = as_heap(label, sources, room)
        # A heap that overflowed left labels behind that are all true bounds: they are the sources of the next round.
        finished = _PROPAGATE(len(heads), first, heads, levels, table, label, predecessor, keys, heap, len(sources))


def _settle_fairly(
    first: Ints,
    heads: Ints,
    levels: Ints,
    table: LevelTable,
    region: Ints,
    pairs: tuple[Ints, Ints, Floats],
    label: Floats,
    waiting: npt.NDArray[Any],
    how: Ints,
    source: Ints,
    order: Ints,
    filled: int,
    keys: Floats,
    heap: Ints,
    size: int,
) -> int:
    """Settle datasets in rising order: an edge between the regions settles both of its ends, a dataset takes its least offer.

    *pairs* are those edges, sorted by the side that both ends can have. Codes of *how*: 0 same, 1 across, 2 pair. Returns how
    many datasets are in *order*; the rest is sure.
    """
    spans, growth, delta, decay, back_delta = table
    pair_tails, pair_heads, pair_sides = pairs
    edge = 0
    while edge < len(pair_sides) or size > 0:
        if edge < len(pair_sides) and (size == 0 or heap_key(pair_sides[edge]) <= keys[0]):
            one = pair_tails[edge]
            two = pair_heads[edge]
            edge += 1
            if not (waiting[one] and waiting[two]):
                continue
            label[one] = label[two] = pair_sides[edge - 1]
            how[one] = how[two] = 2
            source[one] = two
            source[two] = one
        else:
            one = two = heap[0]
            key = keys[0]
            size -= 1
            take_least(keys, heap, size)
            if not waiting[one] or key > heap_key(label[one]):
                continue  # settled in a pair, or an old entry
        waiting[one] = waiting[two] = False
        order[filled] = one
        filled += 1
        if two != one:
            order[filled] = two
            filled += 1
        u = one
        while True:
            current = label[u]
            known = -1
            reached = current
            for arc in range(first[u], first[u + 1]):
                v = heads[arc]
                if not waiting[v]:
                    continue
                across = region[v] != region[u]
                k = 2 * levels[arc] + (1 if across else 0)
                if k != known:
                    known = k
                    start = _other(current) if across else current
                    reached = SURE
                    for bound in range(spans[levels[arc]], spans[levels[arc] + 1]):
                        candidate = step(start, growth[bound], delta[bound], decay[bound], back_delta[bound])
                        if below(candidate, reached):
                            reached = candidate
                    # Across, the own value is at most what both ends can have, so rounding need not go below it.
                    if below(reached, current):
                        reached = current
                if not below(reached, label[v]):
                    continue
                label[v] = reached
                how[v] = 1 if across else 0
                source[v] = u
                put(keys, heap, size, heap_key(reached), v)
                size += 1
            if u == two:
                break
            u = two
    return filled


_SETTLE_FAIRLY = Kernel(
    _settle_fairly, below, _from_complement, _step_low, _step_high, step, _other, heap_key, take_least, put
)


def settle_fairly(
    first: npt.NDArray[np.int64],
    heads: npt.NDArray[np.int32],
    levels: npt.NDArray[np.int32],
    table: tuple[npt.NDArray[Any], ...],
    region: npt.NDArray[np.int32],
    pairs: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]],
    label: npt.NDArray[np.float64],
    waiting: npt.NDArray[np.bool_],
    how: npt.NDArray[np.int8],
    source: npt.NDArray[np.int32],
) -> npt.NDArray[np.int32]:
    """Settle all datasets that are *waiting*, in place; returns the order, those that were settled before first.

    Labels that are not ``SURE`` are bounds to start with. *pairs*: tails, heads and sides of edges between regions.
    """
    order = np.empty(len(label), dtype=np.int32)
    before, bounded = np.flatnonzero(~waiting), np.flatnonzero(waiting & (label != SURE)).astype(np.int32)
    order[: len(before)] = before
    rank = np.argsort(pairs[2], kind="stable")
    # Every offer may enter the heap; memory that no offer reaches is never touched.
    keys, heap = as_heap(label, bounded, len(heads) + len(label) + 1)
    filled = _SETTLE_FAIRLY(
        len(heads), first, heads, levels, table, region, tuple(part[rank] for part in pairs), label, waiting, how, source,
        order, len(before), keys, heap, len(bounded),
    )  # fmt: skip
    order[filled:] = np.flatnonzero(waiting)
    return order
