"""The arithmetic of flips: how many neighbour moves make one linear condition, or two at once, come true.

Every threshold is one inequality ``add * good - remove * bad >= need`` in integers, where *good* persons help it: adding a
good one gains ``add``, removing a bad one gains ``remove``, and replacing a bad one by a good one gains both. The negation of
a condition has the same form, so "flips" is one function used in both directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.privacy import Neighbours

Moves = int | float  # math.inf: no number of moves is enough


@dataclass(frozen=True)
class Condition:
    """``add * good - remove * bad >= need``; the good persons are those who say yes, or those who say no."""

    add: int
    remove: int
    need: int
    yes_is_good: bool = True

    def negated(self) -> Condition:
        """The opposite condition: integers, so "not >= need" is ">= 1 - need" seen from the other side."""
        return Condition(self.remove, self.add, 1 - self.need, not self.yes_is_good)

    def split(self, yes: int, no: int) -> tuple[int, int]:
        """(good, bad)."""
        return (yes, no) if self.yes_is_good else (no, yes)

    def gap(self, yes: int, no: int) -> int:
        """How much is missing; 0 or less when the condition holds."""
        good, bad = self.split(yes, no)
        return self.need - (self.add * good - self.remove * bad)

    def holds(self, yes: int, no: int) -> bool:
        return self.gap(yes, no) <= 0

    def moves(self, yes: int, no: int, neighbours: Neighbours) -> Moves:
        """The least number of neighbour moves after which the condition holds."""
        gap, bad = self.gap(yes, no), self.split(yes, no)[1]
        if gap <= 0:
            return 0
        if neighbours is Neighbours.SUBSTITUTION:
            swaps = _ceil(gap, self.add + self.remove)
            return swaps if swaps <= bad else math.inf
        # Larger gain first: then k moves reach the most that k moves can reach.
        if self.add >= self.remove:
            return _ceil(gap, self.add)
        removed = min(bad, int(_ceil(gap, self.remove)))
        return removed + _ceil(max(0, gap - removed * self.remove), self.add)

    def flips(self, yes: int, no: int, neighbours: Neighbours) -> Moves:
        """The least number of neighbour moves that change whether the condition holds."""
        target = self.negated() if self.holds(yes, no) else self
        return target.moves(yes, no, neighbours)


def _ceil(amount: int, step: int) -> Moves:
    if amount == 0:
        return 0
    return -(-amount // step) if step else math.inf


def count_condition(comparison: str, bound: Fraction) -> Condition:
    """``count <comparison> bound`` as a condition on yes."""
    if comparison in (">=", ">"):
        return Condition(1, 0, math.ceil(bound) if comparison == ">=" else math.floor(bound) + 1)
    most = math.floor(bound) if comparison == "<=" else math.ceil(bound) - 1
    return Condition(0, 1, -most, yes_is_good=False)


def share_condition(comparison: str, bound: Fraction) -> Condition:
    """``share <comparison> p/q``: ``(q - p) yes - p no >= 0``, or ``> 0``; a table without persons has ``0 >= 0``."""
    part, whole = bound.numerator, bound.denominator
    strict = int(comparison in (">", "<"))
    if comparison in (">=", ">"):
        return Condition(whole - part, part, strict)
    return Condition(part, whole - part, strict, yes_is_good=False)


Cells = tuple[int, int, int, int]  # persons by two predicates: (yes yes, yes no, no yes, no no)


def both_hold(first: Condition, second: Condition, cells: Cells) -> bool:
    return first.holds(*_first(cells)) and second.holds(*_second(cells))


def flips_of_both(first: Condition, second: Condition, cells: Cells, neighbours: Neighbours) -> Moves:
    """The least number of moves that change "both hold": breaking one is enough, mending may need both."""
    if both_hold(first, second, cells):
        return min(first.flips(*_first(cells), neighbours), second.flips(*_second(cells), neighbours))
    alone = (first.moves(*_first(cells), neighbours), second.moves(*_second(cells), neighbours))
    if math.inf in alone:
        return math.inf
    most = max(int(alone[0]), int(alone[1]))
    if neighbours is Neighbours.SUBSTITUTION:
        return _swaps_for_both(int(alone[0]), int(alone[1]), _by_goodness(first, second, cells)[3])
    plan = _Removals(first, second, cells)
    return _least(plan.enough, most, most + sum(cells) + max(0, first.need, second.need) + 1)


def _first(cells: Cells) -> tuple[int, int]:
    return cells[0] + cells[1], cells[2] + cells[3]


def _second(cells: Cells) -> tuple[int, int]:
    return cells[0] + cells[2], cells[1] + cells[3]


def _by_goodness(first: Condition, second: Condition, cells: Cells) -> Cells:
    """The cells as (good good, good bad, bad good, bad bad)."""
    yy, yn, ny, nn = cells
    if not first.yes_is_good:
        yy, yn, ny, nn = ny, nn, yy, yn
    return (yy, yn, ny, nn) if second.yes_is_good else (yn, yy, nn, ny)


def _swaps_for_both(first: int, second: int, bad_bad: int) -> int:
    """Replace persons by one who is good for both: those who are bad for both count twice, so they go first."""
    shared = min(bad_bad, max(first, second))
    return shared + max(0, first - shared) + max(0, second - shared)


def _least(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The least k in [low, high] that is enough; more moves are never worse."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


class _Removals:
    """Whether k moves of add/remove can make two conditions hold.

    Whoever is added is good for both. Compared with that, removing somebody who is bad for both changes the two sums by
    ``remove - add``; removing one who is bad for the first only changes the second by ``-2 add``, and the other way round.
    """

    def __init__(self, first: Condition, second: Condition, cells: Cells) -> None:
        self.missing = (first.gap(*_first(cells)), second.gap(*_second(cells)))
        self.add = (first.add, second.add)
        self.extra = (first.remove - first.add, second.remove - second.add)
        _, self.second_bad, self.first_bad, self.both_bad = _by_goodness(first, second, cells)

    def enough(self, moves: int) -> bool:
        missing = [gap - moves * add for gap, add in zip(self.missing, self.add)]
        if self.extra[0] <= 0 and self.extra[1] <= 0:
            return max(missing) <= 0
        if self.extra[0] > 0 and self.extra[1] > 0:
            return self._remove_for_both(moves, missing)
        side = 0 if self.extra[0] > 0 else 1
        return self._remove_for_one(moves, missing, side)

    def _remove_for_one(self, moves: int, missing: list[int], side: int) -> bool:
        """Removing helps one condition and harms the other: remove no more than needed, bad for both first."""
        other = 1 - side
        removed = int(_ceil(max(0, missing[side]), self.extra[side]))
        shared = min(removed, self.both_bad)
        single = removed - shared
        available = self.first_bad if side == 0 else self.second_bad
        left = missing[other] - shared * self.extra[other] + single * 2 * self.add[other]
        return removed <= moves and single <= available and left <= 0

    def _remove_for_both(self, moves: int, missing: list[int]) -> bool:
        """Remove as many as possible of those bad for both; then x more who are bad for the first and y for the second, with
        ``extra_0 x >= left_0 + 2 add_0 y`` and ``extra_1 y >= left_1 + 2 add_1 x``: monotone, so a least pair exists."""
        shared = min(moves, self.both_bad)
        left = [gap - shared * extra for gap, extra in zip(missing, self.extra)]
        start = self._start(left)
        if start is None:
            return False
        x, y = start
        while x <= self.first_bad and y <= self.second_bad and x + y <= moves - shared:
            next_x = max(x, int(_ceil(max(0, left[0] + 2 * self.add[0] * y), self.extra[0])))
            next_y = max(y, int(_ceil(max(0, left[1] + 2 * self.add[1] * next_x), self.extra[1])))
            if (next_x, next_y) == (x, y):
                return True
            x, y = next_x, next_y
        return False

    def _start(self, left: list[int]) -> tuple[int, int] | None:
        """A pair not above the least one, so that few rounds remain; ``None`` if the two requirements chase each other for ever.

        Eliminating y leaves ``determinant * x >= pull_x``, and likewise for y.
        """
        (add_x, add_y), (gain_x, gain_y) = self.add, self.extra
        determinant = gain_x * gain_y - 4 * add_x * add_y
        pulls = (left[0] * gain_y + 2 * add_x * left[1], left[1] * gain_x + 2 * add_y * left[0])
        x, y = max(0, -(-left[0] // gain_x)), max(0, -(-left[1] // gain_y))
        if determinant > 0:
            return max(x, -(-pulls[0] // determinant)), max(y, -(-pulls[1] // determinant))
        return None if max(pulls) > 0 else (x, y)
