"""Loops that run as plain Python while the input is small and compiled when it is large."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from optimaldp.extras import numba_if_installed

# Run a loop as plain Python while the input is small, and compiled when it is large.


# The arrays that compiled loops walk over, by what they hold.


Ints = npt.NDArray[np.integer[Any]]
"""Numbers of datasets, edges and levels, of any width."""

Floats = npt.NDArray[np.float64]

LevelTable = tuple[Ints, Floats, Floats, Floats, Floats]
"""The levels of edges: where the bounds of each begin, and the growth, delta, decay and back delta of each bound."""


# What the searches share: the order of labels on their heap, how a heap begins, and how it is kept.


def heap_key(side: float) -> float:
    """A float that grows with the probability that a side stands for: exact above 1/2, where most of the work is."""
    if side < 0.0:
        return side
    return -1.0 / side if side > 0.0 else -np.inf


def take_least(keys: Floats, heap: Ints, size: int) -> None:
    """Remove the first entry of a heap of four children a node that has *size* entries afterwards."""
    last = keys[size]
    moved = heap[size]
    at = 0
    least = 1
    while least < size:
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
        least = 4 * at + 1
    keys[at] = last
    heap[at] = moved


def put(keys: Floats, heap: Ints, size: int, key: float, entry: int) -> None:
    """Add an entry to a heap of *size* entries."""
    at = size
    while at > 0:
        parent = (at - 1) >> 2
        if keys[parent] <= key:
            break
        keys[at] = keys[parent]
        heap[at] = heap[parent]
        at = parent
    keys[at] = key
    heap[at] = entry


def as_heap(
    label: npt.NDArray[np.float64], sources: npt.NDArray[np.int32], room: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Arrays with *room* for a heap that starts with the *sources*, sorted: a sorted array is a heap."""
    sides = label[sources]
    with np.errstate(divide="ignore"):
        key = np.where(sides < 0.0, sides, -1.0 / np.abs(sides))
    order = np.argsort(key, kind="stable")
    keys = np.empty(room, dtype=np.float64)
    heap = np.empty(room, dtype=np.int32)
    keys[: len(sources)] = key[order]
    heap[: len(sources)] = sources[order]
    return keys, heap


# Below this many elementary steps plain Python takes less time than importing numba and loading compiled code (0.5 s).
COMPILE_FROM = 20_000


class Kernel:
    """A loop in two forms of the same source. Functions that it calls are named in *calls* and compiled with it."""

    def __init__(self, source: Callable[..., Any], *calls: Callable[..., Any], inline: bool = True) -> None:
        self.plain = source
        self._calls = calls
        self._inline = (
            inline  # functions of scalars alone are put in line by LLVM as well, and compile ten times sooner
        )

    def __call__(self, work: int, *arguments: object) -> Any:
        """Run on *arguments*; *work* is roughly the number of elementary steps."""
        return (self.compiled() if work >= COMPILE_FROM else self.plain)(*arguments)

    def compiled(self) -> Callable[..., Any]:
        """The compiled form: numba is imported here, on first use. Without numba, the plain form."""
        return _compile(self.plain, *self._calls, within="always" if self._inline else "never")


def _code(function: Callable[..., Any]) -> bytes:
    """What a function computes: its code, and the constants of its module that it names."""
    code, scope = function.__code__, function.__globals__
    constants = [(name, scope[name]) for name in code.co_names if isinstance(scope.get(name), (int, float))]
    return repr((code.co_code, code.co_consts, code.co_names, constants)).encode()


@cache
def _compile(
    source: Callable[..., Any],
    *calls: Callable[..., Any],
    inline: Literal["never", "always"] = "never",
    within: Literal["never", "always"] = "always",
) -> Callable[..., Any]:
    numba = numba_if_installed()
    if numba is None:
        return source
    assert isinstance(source, FunctionType)
    scope = dict(source.__globals__)
    done: list[Callable[..., Any]] = []
    for inner in calls:
        # Later functions may call earlier ones, so each is compiled with those before it.
        # Inlined, because an array that crosses a call is counted atomically: that was a third of Dijkstra's time.
        scope[inner.__name__] = _compile(inner, *done, inline=within, within=within)
        done.append(inner)
    copy = FunctionType(source.__code__, scope, source.__name__, source.__defaults__)
    # numba's cache looks at this function's own file only: what it calls, and constants, must be part of its name.
    stamp = zlib.crc32(_code(source) + b"".join(_code(inner) for inner in calls))
    copy.__qualname__ = f"{source.__qualname__}_{stamp:08x}"
    copy.__module__ = source.__module__
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy", "inline": inline}
    try:
        result: Callable[..., Any] = numba.njit(copy, cache=True, **settings)
    except RuntimeError:  # nowhere to write: then each process compiles for itself
        result = numba.njit(copy, **settings)
    return result


# Loops over the edges of a graph: arcs sorted by where they start, breadth-first search, triangles.


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
    first: Ints, heads: Ints, region: Ints, waiting: Ints, distance: Ints, parent: Ints, queue: Ints, filled: int
) -> int:
    """Extend *distance* from the *filled* vertices of *queue*, whose distance is 0, inside their regions; how many then.

    *waiting* is the region of who has no distance yet, else -1 (see :func:`_unreached`): one look tells both, and most of the
    time goes into looks at memory.
    """
    start = 0
    while start < filled:
        end, step = filled, distance[queue[start]] + 1
        if start > 0 and end - start > len(region) // 16:  # neighbours of a large layer are read in the order of memory
            place = start
            for u in range(len(region)):
                if distance[u] == step - 1:
                    queue[place] = u
                    place += 1
        while start < end:
            u = queue[start]
            start += 1
            own = region[u]
            for arc in range(first[u], first[u + 1]):
                v = heads[arc]
                if waiting[v] == own:
                    waiting[v] = -1
                    distance[v] = step
                    parent[v] = u
                    queue[filled] = v
                    filled += 1
    return filled


_BREADTH_FIRST = Kernel(_breadth_first)


def _unreached(region: npt.NDArray[np.int32], reached: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """The regions of vertices that are not *reached* yet, -1 for the others; in bytes, which stay in a cache, where they fit."""
    waiting = np.array(region, dtype=np.int8 if region.max(initial=0) < 127 else np.int32)
    waiting[reached] = -1
    return waiting


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
    waiting = _unreached(region, queue[:filled])
    filled = _BREADTH_FIRST(len(heads), first, heads, region, waiting, distance, parent, queue, filled)
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
    waiting = _unreached(region, starts)
    _BREADTH_FIRST(len(heads), first, heads, region, waiting, distance, parent, queue, len(starts))
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


# Primal-dual steps for the program of a channel, on blocks of columns that stay in the cache.
#
# A block holds ``WIDTH`` columns; the innermost loop runs over them, so that it is done by vector instructions.
# Everything is in short floats: what comes out is made exact elsewhere.


WIDTH = 64
ShortFloats = npt.NDArray[np.float32]
State = tuple[ShortFloats, ShortFloats, ShortFloats]
"""Cells, and the prices of the constraints along every edge in its two directions: by block, then place, then column."""


def _column_steps(
    ends: Ints,
    state: State,
    anchor: State,
    factors: ShortFloats,
    forth_steps: ShortFloats,
    back_steps: ShortFloats,
    kernel: ShortFloats,
    cell_sizes: ShortFloats,
    wanted: ShortFloats,
    levels: ShortFloats,
    numbers: ShortFloats,
    sums: ShortFloats,
    pull: ShortFloats,
    ahead: ShortFloats,
    moved: ShortFloats,
) -> None:
    """One reflected step towards the saddle point, drawn back to the anchor; *sums* are the rows of the cells ahead.

    *numbers*: one, the squared ratio, the cells' step, the prices' step, the weight of the new point.
    """
    cells, forth, back = state
    cells_then, forth_then, back_then = anchor
    one, square, cell_step, price_step, kept = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    rest = one - kept
    for block in range(len(cells)):
        for x in range(kernel.shape[1]):
            for j in range(WIDTH):
                pull[x, j] = wanted[block, x, j] - kernel[block, x, j] * levels[x]
        for edge in range(len(ends)):
            x, y = ends[edge, 0], ends[edge, 1]
            for j in range(WIDTH):
                factor = factors[block, edge, j]
                pull[x, j] += square / factor * back[block, edge, j] - forth[block, edge, j]
                pull[y, j] += factor * forth[block, edge, j] - back[block, edge, j]
        for x in range(kernel.shape[1]):
            for j in range(WIDTH):
                old = cells[block, x, j]
                new = max(old + cell_step * pull[x, j] / cell_sizes[block, x, j], one - one)
                further = new + new - old
                ahead[x, j] = further
                sums[x, j] += kernel[block, x, j] * further
                moved[0, j] += (new - old) * (new - old) * cell_sizes[block, x, j]
                cells[block, x, j] = kept * further + rest * cells_then[block, x, j]
        for edge in range(len(ends)):
            x, y = ends[edge, 0], ends[edge, 1]
            for j in range(WIDTH):
                factor = factors[block, edge, j]
                step = forth_steps[block, edge, j]
                old = forth[block, edge, j]
                new = max(old + price_step * step * (ahead[x, j] - factor * ahead[y, j]), one - one)
                moved[1, j] += (new - old) * (new - old) / step
                forth[block, edge, j] = kept * (new + new - old) + rest * forth_then[block, edge, j]
                step = back_steps[block, edge, j]
                old = back[block, edge, j]
                new = max(old + price_step * step * (ahead[y, j] - square / factor * ahead[x, j]), one - one)
                moved[1, j] += (new - old) * (new - old) / step
                back[block, edge, j] = kept * (new + new - old) + rest * back_then[block, edge, j]


def _shortest_way_prices(ends: Ints, distances: Ints, loads: Floats, ways: Floats, forth: Floats, back: Floats) -> None:
    """Prices that carry what every answer holds to the guess, evenly along all shortest ways; *loads* end up carried.

    *ways* are the numbers of an answer's neighbours that are nearer to the guess.
    """
    for level in range(distances.max(), 0, -1):
        for edge in range(len(ends)):
            x, y = ends[edge, 0], ends[edge, 1]
            for j in range(distances.shape[1]):
                if distances[y, j] == level and distances[x, j] == level - 1:
                    forth[edge, j] = loads[y, j] / ways[y, j]
                    loads[x, j] += forth[edge, j]
                elif distances[x, j] == level and distances[y, j] == level - 1:
                    back[edge, j] = loads[x, j] / ways[x, j]
                    loads[y, j] += back[edge, j]


COLUMN_STEPS = Kernel(_column_steps)
SHORTEST_WAY_PRICES = Kernel(_shortest_way_prices)
