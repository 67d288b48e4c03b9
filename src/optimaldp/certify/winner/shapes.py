"""The finite certificate's arithmetic: intervals of integers over 2^60, loops that run compiled or as plain Python.

A *shape* is the sorted list of gaps to the top of the options near it; everybody else is far and enters only as a
total mass. Nothing here knows about the mechanism's own code: the recursion is written down a second time, for
intervals.

Every function keeps to integers and indexing, so that :func:`compiled` can hand the same source to numba. All numbers
stay below 2^62.
"""

from __future__ import annotations

from types import FunctionType, SimpleNamespace
from typing import Any

from optimaldp.extras import numba_if_installed

HALF = 30
ONE = 1 << 60  # the number one; it must be representable itself, and fifteen times it
LARGEST_SHARE = 16  # more options than the table of shares has rows for

Interval = tuple[int, int]


def blank(length: int) -> Any:
    return [0] * length


def times_down(a: int, b: int) -> int:
    """``a b``, rounded down: the product has 120 bits, so it is put together from halves."""
    high_a, low_a = a >> HALF, a & ((1 << HALF) - 1)
    high_b, low_b = b >> HALF, b & ((1 << HALF) - 1)
    middle = high_a * low_b + low_a * high_b + ((low_a * low_b) >> HALF)
    return high_a * high_b + (middle >> HALF)


def times_up(a: int, b: int) -> int:
    # Exact products are raised as well: an interval that is a little too wide is still an interval.
    return times_down(a, b) + 1


def encode(gaps: Any, near: int, width: int) -> int:
    key = 0
    for i in range(1, near):
        key = (key << width) | gaps[i]
    return key


def lift(gaps: Any, near: int, level: int, chosen: int, lifted: Any) -> int:
    """Write the shape in which option *chosen* has been lifted to the top into *lifted*; return the number of moves.

    The first *level* options are at gap 0 or 1. Votes go from tops to the chosen option; options that the sinking top
    reaches join, in descending count. Whole votes: the flattened options end at the new top or one below.
    """
    total, members, reached = -gaps[chosen], 1, 0
    while reached < near:
        if reached != chosen:
            top = -((-total) // members)
            if reached >= level and -gaps[reached] < top - 1:
                break
            total, members = total - gaps[reached], members + 1
        reached += 1
    top = -((-total) // members)
    full = total - (top - 1) * members
    for i in range(members):
        lifted[i] = 0 if i < full else 1
    position = members
    for i in range(reached, near):
        if i != chosen:
            lifted[position] = gaps[i] + top
            position += 1
    return int(top + gaps[chosen])


def enclose(gaps: Any, near: int, far: int, numbers: Any, known: Any) -> Interval:
    """An interval for the probability of a top in this shape, whatever the far options do; *far* indexes their mass."""
    lows, highs, share_low, share_high, mass, width = numbers
    key = encode(gaps, near, width)
    if key in known:
        return known[key]  # type: ignore[no-any-return]
    tops = ones = 0
    for i in range(near):
        if gaps[i] == 0:
            tops += 1
        elif gaps[i] == 1:
            ones += 1
    low = high = part_low = part_high = 0
    lifted = blank(near)
    for i in range(tops + ones, near):
        # Equal gaps have equal probabilities: lifted once, added once for each option.
        if i == tops + ones or gaps[i] != gaps[i - 1]:
            moves = lift(gaps, near, tops + ones, i, lifted)
            z_low, z_high = enclose(lifted, near, far, numbers, known)
            part_low, part_high = times_down(lows[moves], z_low), times_up(highs[moves], z_high)
        low, high = low + part_low, high + part_high
    # What far options hold is missing at the tops. It may be anything from 0 to their mass, so only this end knows of it.
    rest = ONE - mass[far + gaps[near - 1]] - high
    share = LARGEST_SHARE * tops + ones
    bottom = times_down(rest, share_low[share]) if rest > 0 else 0
    known[key] = (bottom, min(ONE, times_up(ONE - low, share_high[share])))
    return known[key]  # type: ignore[no-any-return]


def move(gaps: Any, near: int, giver: int, taker: int, moved: Any) -> None:
    """Write the shape after one vote went from *giver* to *taker* into *moved*; an index of *near* is a far option."""
    least = 1 << 40
    for i in range(near):
        moved[i] = gaps[i] + (1 if i == giver else 0) - (1 if i == taker else 0)
        least = min(least, moved[i])
    for i in range(near):
        value, place = moved[i] - least, i
        while place > 0 and moved[place - 1] > value:
            moved[place] = moved[place - 1]
            place -= 1
        moved[place] = value


def pair_holds(gaps: Any, near: int, giver: int, taker: int, z: Interval, y: Interval, x_high: int) -> bool:
    """The inequality that one move needs: A-upper, B-lower or C."""
    giver_top = giver < near and gaps[giver] == 0
    if taker < near and gaps[taker] == 0:
        return giver_top or z[0] >= times_up(x_high, y[1])
    if taker < near and gaps[taker] == 1:
        # The Lemma asks C only of takers that are two or more below the top.
        return True
    if giver_top:
        # A lone top that gives a vote: read from its other end the move is of kind A.
        return gaps[1] != 0 or y[0] >= z[1] if near > 1 else True
    return z[0] >= times_up(x_high, y[1]) and y[0] >= times_up(x_high, z[1])


def shape_holds(gaps: Any, near: int, options: int, far: int, numbers: Any, known: Any) -> bool:
    """Check every kind of move from one shape.

    There is always somebody far: at least the people who chose none of the options.
    """
    z = enclose(gaps, near, far, numbers, known)
    if z[0] <= 0:
        return False
    moved = blank(near)
    x_high = numbers[1][1]
    for giver in range(near + 1):
        if 0 < giver < near and gaps[giver] == gaps[giver - 1]:
            continue
        for taker in range(near + 1):
            # Within a class of equal gaps the giver is the first and the taker the last.
            if taker < near - 1 and gaps[taker] == gaps[taker + 1]:
                continue
            # A vote between two far options leaves the shape as it is, but not what they hold: then C asks that the interval
            # itself is narrow enough.
            if giver == taker and (giver < near or near == options):
                continue
            move(gaps, near, giver, taker, moved)
            y = enclose(moved, near, far, numbers, known)
            if not pair_holds(gaps, near, giver, taker, z, y, x_high):
                return False
    return True


def next_shape(gaps: Any, near: int, last: int, reach: int) -> bool:
    """Advance the gaps between the first and the last option; False when all were seen.

    Jumps stay within ``max(3, reach - gap)``.
    """
    for i in range(near - 2, 0, -1):
        if gaps[i] < min(last, max(gaps[i - 1] + 3, reach)):
            value = gaps[i] + 1
            for k in range(i, near - 1):
                gaps[k] = value
            return True
    return False


def shapes_hold(near: int, options: int, reach: int, far_row: int, numbers: Any, known: Any) -> bool:
    """Check every shape of *near* near options; ``far_row`` is the length of a row of masses."""
    previous_room = -1
    for last in range(max(reach, 0) + 3 * near if near > 1 else 1):
        room = max(3, reach - last) - 1
        if near < options and room != previous_room:
            # A key holds the near gaps alone, and what is known holds for one table of the far options' mass.
            known.clear()
            previous_room = room
        far = room * far_row if near < options else 0
        gaps = blank(near)
        gaps[near - 1] = last
        while True:
            legal = near == 1 or last <= max(gaps[near - 2] + 3, reach)
            if legal and not shape_holds(gaps, near, options, far, numbers, known):
                return False
            if not next_shape(gaps, near, last, reach):
                break
    return True


_LOOPS = (
    "times_down",
    "times_up",
    "encode",
    "lift",
    "enclose",
    "move",
    "pair_holds",
    "shape_holds",
    "next_shape",
    "shapes_hold",
)


def plain() -> SimpleNamespace:
    """The loops as they stand, for small cases: lists and a dictionary."""
    return SimpleNamespace(shapes_hold=shapes_hold, array=list, memory=dict)


def compiled() -> SimpleNamespace:
    """The same loops compiled. It takes seconds, once: worth it from some ten thousand shapes on."""
    import numpy as np

    numba = numba_if_installed()
    if numba is None:
        return plain()
    space: dict[str, Any] = dict(globals())
    space["blank"] = numba.njit(lambda length: np.zeros(length, np.int64))
    for name in _LOOPS:
        space[name] = numba.njit(FunctionType(globals()[name].__code__, space, name))

    integer = numba.types.int64

    def memory() -> Any:
        return numba.typed.Dict.empty(integer, numba.types.UniTuple(integer, 2))

    return SimpleNamespace(
        shapes_hold=space["shapes_hold"], array=lambda values: np.array(values, np.int64), memory=memory
    )
