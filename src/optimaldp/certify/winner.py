"""The finite certificate's arithmetic: intervals of integers over 2^60, loops that run compiled or as plain Python.

A *shape* is the sorted list of gaps to the top of the options near it; everybody else is far and enters only as a
total mass. Nothing here knows about the mechanism's own code: the recursion is written down a second time, for
intervals.

Every function keeps to integers and indexing, so that :func:`compiled` can hand the same source to numba. All numbers
stay below 2^62.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

from optimaldp.errors import CertificateError
from optimaldp.extras import numba_if_installed
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.trajectory import Number

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


# The finite certificate: finitely many shapes prove the lattice version private for every number of people.
#
# Order the options by their gap to the top and split at the first jump larger than ``max(3, reach - gap)``: near
# options before it, far ones after. Lifting a near option never lowers the lowest near count and closes a far option's
# gap by at most two for each move, so all far options together never hold more than ``(K - j) x^ceil((span + room) / 2)
# / (1 + x)``. Hence it is enough to check the near shapes, with intervals that allow for that mass. If the inequalities
# A-upper, B-lower and C hold for all of them, the mechanism is epsilon-DP for every n (induction on the larger sum of
# squares of the two ends of a move).
#
# Persons who chose none of the options are a far option that never wins: mass 0, but a vote may come from there or go there.


MOST_OPTIONS = 9


def certify(
    options: int, x_low: Fraction, x_high: Fraction, reach: int, *, loops: SimpleNamespace | None = None
) -> bool:
    """Whether the lattice version is proven epsilon-DP for every n and every ``e^-epsilon`` between *x_low* and *x_high*.

    **Guarantee.** True is a proof: integers over 2^60, lower ends rounded down and upper ends up. False says nothing:
    a larger *reach* or a narrower bracket may still succeed.

    >>> certify(4, Fraction(1, 2), Fraction(1, 2), 12), certify(7, Fraction(9, 10), Fraction(9, 10), 1)
    (True, False)
    """
    if not (2 <= options <= MOST_OPTIONS and 0 < x_low <= x_high < 1 and reach >= 1):
        raise CertificateError("bracket", (options, x_low, x_high, reach), "is not one that can be certified")
    loops = loops or plain()
    numbers = _Numbers(options, x_low, x_high, reach, loops)
    # A certain violation shows among the close shapes without far options, and these are few.
    if not loops.shapes_hold(options, options, 0, numbers.row, numbers.without_far(), loops.memory()):
        return False
    return all(
        loops.shapes_hold(near, options, reach, numbers.row, numbers.with_far(options - near), loops.memory())
        for near in range(1, options + 1)
    )


class _Numbers:
    """The tables that the loops read: powers, shares and far masses, each rounded in its own direction."""

    def __init__(self, options: int, x_low: Fraction, x_high: Fraction, reach: int, loops: SimpleNamespace) -> None:
        self.row = reach + 3 * options + 8  # no gap of a shape or of its moves reaches this
        self._low, self._high = int(x_low * ONE), -int(-x_high * ONE // 1)
        self._rooms = max(3, reach) + 1
        self._array = loops.array
        size = 2 * self.row
        self._lows, self._highs = [ONE], [ONE]
        for _ in range(size):
            self._lows.append(times_down(self._lows[-1], self._low))
            self._highs.append(min(ONE, times_up(self._highs[-1], self._high)))
        # A gap takes this many bits of a shape's key; the key must stay below 2^62.
        self._width = 62 // max(1, options - 1)
        if self.row >= 1 << self._width:
            raise CertificateError("reach", reach, f"is too far for {options} options")

    def without_far(self) -> tuple[Any, ...]:
        return self.with_far(0)

    def with_far(self, far: int) -> tuple[Any, ...]:
        array = self._array
        shares_low = [self._share(r, s, self._high) for r in range(LARGEST_SHARE) for s in range(LARGEST_SHARE)]
        shares_high = [self._share(r, s, self._low) + 1 for r in range(LARGEST_SHARE) for s in range(LARGEST_SHARE)]
        tables = (self._lows, self._highs, shares_low, shares_high, self._masses(far))
        return (*(array(table) for table in tables), self._width)

    def _share(self, tops: int, ones: int, x: int) -> int:
        """``1 / (tops + ones x)``, rounded down."""
        return min(ONE, ONE * ONE // (tops * ONE + ones * x)) if tops else ONE

    def _masses(self, far: int) -> list[int]:
        """``far x^ceil((span + room) / 2) / (1 + x)``, rounded up, for every room (slow) and span (fast)."""
        rooms = self._rooms if far else 1
        return [
            # The power from above, 1 + x from below: a larger mass only widens intervals.
            min(ONE, -(-far * self._highs[-(-(span + room) // 2)] * ONE // (ONE + self._low)))
            for room in range(rooms)
            for span in range(self.row)
        ]


# The table of certified brackets that lets a release be instant: ``python -m optimaldp.certify.winner [options ...]``.
#
# Each bracket ``[x_low, x_high]`` with its reach was accepted by the finite certificate, so the lattice version is
# epsilon-DP for every n and every epsilon with ``e^-epsilon`` inside. The brackets of one number of options join
# without a gap, from below the place where H1 and H2 take over down to the epsilon where checking becomes slow.


TABLE = Path(__file__).with_suffix(".json")

# number of options -> (epsilon above which H1 and H2 hold, with a little overlap; smallest epsilon that is worth the time)
RANGES = {4: (1.11, 0.084), 5: (1.55, 0.2), 6: (1.9, 0.35), 7: (2.16, 0.5), 8: (2.36, 0.67), 9: (2.54, 1.4)}

_REACHES = (8, 10, 12, 16)  # in units of 1/epsilon: the far options' mass falls like e^-(reach epsilon / 2)
_DIGITS = 6  # of a bracket's ends
_WIDEST = 0.1

Bracket = tuple[Fraction, Fraction, int]


def _short_decay(epsilon: float) -> Fraction:
    """A short decimal near ``e^-epsilon``: only where brackets are cut, so a float may choose it."""
    return Fraction(f"{math.exp(-epsilon):.{_DIGITS}f}")


def find_brackets(options: int, loops: SimpleNamespace) -> Iterator[Bracket]:
    """Certified brackets for one number of options, from large epsilon to small ones."""
    epsilon, end = RANGES[options]
    width = _WIDEST
    while epsilon > end:
        target = max(end, epsilon - width)
        bracket = _certified(options, _short_decay(epsilon), _short_decay(target), target, loops)
        if bracket is None:
            # A bracket may fail by its width alone: the intervals cover every x in it at once.
            width *= 0.6
            if width < 10 ** (1 - _DIGITS):
                return
            continue
        yield bracket
        epsilon, width = target, min(_WIDEST, 1.3 * width)


def _certified(options: int, low: Fraction, high: Fraction, epsilon: float, loops: SimpleNamespace) -> Bracket | None:
    for units in _REACHES:
        reach = math.ceil(units / epsilon)
        if certify(options, low, high, reach, loops=loops):
            return low, high, reach
    return None


def read_table() -> dict[int, list[Bracket]]:
    """The shipped table: number of options -> brackets, by rising x."""
    rows = json.loads(TABLE.read_text("utf-8"))["brackets"]
    return {
        int(options): [(Fraction(low), Fraction(high), reach) for low, high, reach in brackets]
        for options, brackets in rows.items()
    }


def write_table(table: dict[int, list[Bracket]]) -> None:
    rows: dict[str, list[Any]] = {}
    for options, brackets in sorted(table.items()):
        rows[str(options)] = [[_text(low), _text(high), reach] for low, high, reach in brackets]
    lines = ",\n".join(f'  "{options}": [\n{_listed(brackets)}\n  ]' for options, brackets in rows.items())
    title = '"format": "optimaldp-winner-brackets/1",\n "columns": ["x_low", "x_high", "reach"]'
    TABLE.write_text(f'{{{title},\n "brackets": {{\n{lines}\n }}}}\n', "utf-8")


def _listed(brackets: list[Any]) -> str:
    return ",\n".join(f"    {json.dumps(bracket)}" for bracket in brackets)


def _text(number: Fraction) -> str:
    return f"{float(number):.{_DIGITS}f}"


def main(arguments: list[str]) -> int:
    """Certify the brackets anew for the named numbers of options, or for all."""
    table = read_table() if TABLE.exists() and arguments else {}
    loops = compiled()
    for options in map(int, arguments) if arguments else RANGES:
        table[options] = []
        start = time.perf_counter()
        for bracket in find_brackets(options, loops):
            table[options].append(bracket)
            seconds = time.perf_counter() - start
            print(f"{options} options: x up to {_text(bracket[1])}, {seconds:.0f} s", file=sys.stderr)
        write_table(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))


# The referee of "who wins?": for which numbers of options and which epsilon the flip envelope is proven private.
#
# Every statement here holds for every number of people under substitution, also when some people chose none of the
# options: a vote may then leave the election or enter it. The proofs are outlined in the documentation of ``winner``.


_CONTINUUM_OPTIONS = 5  # proven up to five; from eleven on it is false
_BITS = 192


def lattice_proof(options: int, epsilon: Epsilon) -> str | None:
    """Why the lattice version is epsilon-DP for every n with this many options, or ``None`` where no proof is known.

    >>> lattice_proof(5, Epsilon.read("1")), lattice_proof(8, Epsilon.read("0.3"))
    ('proven for every n: finite certificate', None)
    """
    if epsilon.infinite:
        return None
    if options <= 3:
        return "proven for every n and every epsilon: at most three options"
    if hypotheses_hold(options, epsilon):
        return "proven for every n: H1 and H2 hold"
    if inside_bracket(options, epsilon):
        return "proven for every n: finite certificate"
    return None


def continuum_proof(options: int) -> str | None:
    """Why the continuum version is epsilon-DP for every n and every epsilon, or ``None``."""
    return "proven for every n and every epsilon: at most five options" if options <= _CONTINUUM_OPTIONS else None


def hypotheses_hold(options: int, epsilon: Epsilon) -> bool:
    """Whether H1 and H2 certainly hold at the ``x = e^-epsilon`` that is used: rationals exactly, everything else in balls."""
    with precision(_BITS):
        return _hypotheses(options, _decay(epsilon))


def inside_bracket(options: int, epsilon: Epsilon) -> bool:
    """Whether ``e^-epsilon`` certainly lies in a bracket that the finite certificate accepted."""
    with precision(_BITS):
        x = _decay(epsilon)
        return any(_between(low, x, high) for low, high, _ in _brackets().get(options, ()))


@cache
def _brackets() -> dict[int, list[Bracket]]:
    return read_table()


def _decay(epsilon: Epsilon) -> Number:
    ratio = epsilon.exact_ratio
    return 1 / ratio if ratio is not None else 1 / epsilon.exp()


def _between(low: Fraction, x: Number, high: Fraction) -> bool:
    if isinstance(x, Fraction):
        return low <= x <= high
    return bool(ball(low) <= x) and bool(x <= ball(high))


def _hypotheses(options: int, x: Number) -> bool:
    """H1: ``x <= 1/(K-1)``. H2: ``(K-r-s) x (r+(s+1)x) <= r-1+(s+2)x`` for all r >= 2, s >= 0, r + s <= K-1."""
    one = Fraction(1) if isinstance(x, Fraction) else ball(1)
    # A ball that leaves it open counts as not proven: the next proof is tried, or another mechanism is used.
    if not x * (options - 1) <= one:
        return False
    return all(
        (options - r - s) * x * (r + (s + 1) * x) <= r - 1 + (s + 2) * x
        for r in range(2, options)
        for s in range(options - r)
    )
