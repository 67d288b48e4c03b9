"""The finite certificate: finitely many shapes prove the lattice version private for every number of people.

Order the options by their gap to the top and split at the first jump larger than ``max(3, reach - gap)``: near
options before it, far ones after. Lifting a near option never lowers the lowest near count and closes a far option's
gap by at most two for each move, so all far options together never hold more than ``(K - j) x^ceil((span + room) / 2)
/ (1 + x)``. Hence it is enough to check the near shapes, with intervals that allow for that mass. If the inequalities
A-upper, B-lower and C hold for all of them, the mechanism is epsilon-DP for every n (induction on the larger sum of
squares of the two ends of a move).

Persons who chose none of the options are a far option that never wins: mass 0, but a vote may come from there or go
there.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from optimaldp.certify.winner.shapes import LARGEST_SHARE, ONE, plain, times_down, times_up
from optimaldp.errors import CertificateError

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
