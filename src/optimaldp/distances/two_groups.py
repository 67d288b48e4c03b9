"""``share(condition among A) > share(condition among B) + margin``, both groups private: anybody may change group and opinion.

Cells: A yes, A no, B yes, B no, outside. Multiplied out, with margin d, the question is the sign of
``(1-d) Ay Bn - (1+d) An By - d Ay By - d An Bn``; an empty group gives 0 on both sides. The two cells that a direction wants
are *good* (A yes and B no to make it true, A no and B yes to make it false), the other two *bad*:

    h = (1+D) g1 g2 - (1-D) s1 s2 + D (s1 g2 + g1 s2),     D = -d to make it true, d to make it false.

Wherever the aim is reached h does not fall when a bad person becomes a good one of the same group, when a good one is added or a
bad one goes. So the best k moves only take from bad cells (then from outside, then from the other good cell) and only give to
good ones; where they take from, h is convex, so a corner is best; where they give to, it is concave, so its top is a closed form.
More moves never harm, so the least k is found by halving: a table with ten million people takes well below a millisecond.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise

from optimaldp.distances.linear import COMPARISONS
from optimaldp.distances.ranking import Moves, Rung, rounded_up, signed_distance
from optimaldp.errors import QuestionError
from optimaldp.privacy import Neighbours
from optimaldp.privacy.numbers import first_where

Cells = tuple[int, int, int, int, int]
"""(A yes, A no, B yes, B no, outside)."""


def share_difference_holds(comparison: str, margin: Fraction, cells: Cells) -> bool:
    """Whether ``share among A <comparison> share among B + margin``, multiplied out."""
    check_margin(comparison, margin)
    value = _Aim.true(cells, Fraction(margin)).value()
    return {">": value > 0, ">=": value >= 0, "<": value < 0, "<=": value <= 0}[comparison]


def flips_of_share_difference(comparison: str, margin: Fraction, cells: Cells, neighbours: Neighbours) -> Moves:
    """The least number of neighbour moves that change the answer.

    >>> flips_of_share_difference(">", Fraction(0), (6, 4, 5, 5, 0), Neighbours.SUBSTITUTION)
    1
    """
    above = comparison in (">", ">=")
    make_true = share_difference_holds(comparison, margin, cells) is not above
    strict = (comparison in (">", "<")) is (make_true is above)
    aim = (_Aim.true if make_true else _Aim.false)(cells, Fraction(margin))
    return aim.least_moves(strict, neighbours)


def check_margin(comparison: str, margin: Fraction) -> None:
    if comparison not in COMPARISONS:
        raise QuestionError("comparison", comparison, "is not a comparison", "use >=, >, <= or <")
    if not 0 <= margin <= 1:
        raise QuestionError("margin", str(margin), "is not a difference of shares", "write a number from 0 to 1")


@dataclass(frozen=True)
class _Aim:
    """Raise h above 0, or to 0: the good and the bad cell of each group, and those outside. ``plus``, ``minus`` and ``cross``
    are 1 + D, 1 - D and D times the margin's denominator."""

    good: tuple[int, int]
    bad: tuple[int, int]
    outside: int
    plus: int
    minus: int
    cross: int

    @staticmethod
    def true(cells: Cells, margin: Fraction) -> _Aim:
        a, b, c, e, outside = cells
        whole, part = margin.denominator, margin.numerator
        return _Aim((a, e), (b, c), outside, whole - part, whole + part, -part)

    @staticmethod
    def false(cells: Cells, margin: Fraction) -> _Aim:
        a, b, c, e, outside = cells
        whole, part = margin.denominator, margin.numerator
        return _Aim((b, c), (a, e), outside, whole + part, whole - part, part)

    def value(self, taken: tuple[int, int] = (0, 0), come: tuple[int, int] = (0, 0)) -> int:
        g1, g2 = self.good[0] + come[0], self.good[1] + come[1]
        s1, s2 = self.bad[0] - taken[0], self.bad[1] - taken[1]
        return self.plus * g1 * g2 - self.minus * s1 * s2 + self.cross * (s1 * g2 + g1 * s2)

    def least_moves(self, strict: bool, neighbours: Neighbours) -> Moves:
        reach = self._substituted if neighbours is Neighbours.SUBSTITUTION else self._added
        need = 1 if strict else 0
        if strict:
            end = self._always_enough(neighbours)
            if end is None:
                return math.inf
        else:  # an empty group gives 0, and before a group is empty nothing here divides into cases
            end = min(self.good[0] + self.bad[0], self.good[1] + self.bad[1])
        return first_where(lambda moves: reach(moves) >= need, 1, max(end, 1))

    def _always_enough(self, neighbours: Neighbours) -> int | None:
        """A number of moves that certainly lifts h above 0; ``None`` if none does."""
        empty = sum(cell == 0 for cell in self.good)
        if self.plus == 0:
            return None
        if neighbours is Neighbours.ADD_REMOVE:
            return sum(self.bad) + empty
        everybody = sum(self.good) + sum(self.bad) + self.outside
        return max(sum(self.bad), empty) if everybody >= 2 else None

    def _substituted(self, moves: int) -> int:
        """The highest h after *moves* replacements."""
        if moves > sum(self.bad) + self.outside:  # then somebody goes from one good cell to the other as well
            return 1 if self.plus and moves >= sum(cell == 0 for cell in self.good) else 0
        return max(_highest(partial(self._replaced, taken, moves), 0, moves) for taken in self._takings(moves))

    def _replaced(self, taken: tuple[int, int], moves: int, first: int) -> int:
        return self.value(taken, (first, moves - first))

    def _takings(self, moves: int) -> set[tuple[int, int]]:
        """The corners of who leaves the bad cells when *moves* people move and the rest of them come from outside."""
        first, second = self.bad
        corners = set()
        for total in (min(moves, first + second), max(0, moves - self.outside)):
            corners |= {
                (min(first, total), total - min(first, total)),
                (total - min(second, total), min(second, total)),
            }
        return corners

    def _added(self, moves: int) -> int:
        """The highest h after *moves* arrivals and departures: what happens in one group is linear in the other's."""
        cuts = sorted({0, moves, *(cut for cut in (self.bad[0], moves - self.bad[1]) if 0 <= cut <= moves)})
        best = self.value()
        for plan in _PLANS:
            for low, high in pairwise(cuts):
                best = max(best, _highest(partial(self._planned, plan, moves), low, high))
        return best

    def _planned(self, plan: tuple[bool, bool], moves: int, first: int) -> int:
        """In each group either only good people come, or the bad ones go first."""
        budget = (first, moves - first)
        taken = (min(self.bad[0], budget[0]) if plan[0] else 0, min(self.bad[1], budget[1]) if plan[1] else 0)
        return self.value(taken, (budget[0] - taken[0], budget[1] - taken[1]))


_PLANS = ((False, False), (False, True), (True, False), (True, True))


def _highest(quadratic: Callable[[int], int], low: int, high: int) -> int:
    """The highest value of a quadratic polynomial at the whole numbers from *low* to *high*, exactly."""
    first = quadratic(low)
    steps = high - low
    if steps < 2:
        return max(first, quadratic(high))
    slope = quadratic(low + 1) - first
    bend = quadratic(low + 2) - first - 2 * slope  # twice the leading coefficient
    points = [0, steps]
    if bend < 0:  # concave: the top lies where the slope at low, which is slope - bend/2, has been used up
        top = (2 * slope - bend) // (-2 * bend)
        points += [min(steps, max(0, top)), min(steps, max(0, top + 1))]
    return max(first + point * slope + bend * (point * (point - 1) // 2) for point in points)


# Two groups whose members are public, such as the arms of a trial: the difference of shares or means is a plain sum.
#
# A person of A moves it by at most ``1/n_A``, one of B by ``1/n_B``: larger steps first. The sizes are public, so neighbours
# replace a record inside a group. Multiplied out with both sizes, an empty group gives 0 on both sides.


Heights = Mapping[int, int]
"""{height: people} of one group; heights are whole numbers from 0 to the highest."""


@dataclass(frozen=True)
class GroupDifference:
    """``average height in A <comparison> average height in B + margin``, heights from 0 to *highest*.

    >>> trial = GroupDifference(">", Fraction(0), 1)  # a share: 1 for yes, 0 for no
    >>> trial.holds({1: 60, 0: 40}, {1: 30, 0: 20}), trial.flips({1: 60, 0: 40}, {1: 30, 0: 20})
    (False, 1)
    """

    comparison: str
    margin: Fraction
    highest: int

    def __post_init__(self) -> None:
        check_margin(self.comparison, Fraction(self.margin) / self.highest)

    def holds(self, first: Heights, second: Heights) -> bool:
        """The true answer."""
        return (self._double_excess(first, second) > 0) is self._asks_for_more

    def signed(self, first: Heights, second: Heights) -> Fraction | float:
        """The signed fractional distance: positive for yes, never 0; replacing one person moves it by at most 1."""
        down, up = self._rungs(first, second)
        above = signed_distance(self._double_excess(first, second), down, up)
        return above if self._asks_for_more else -above

    def flips(self, first: Heights, second: Heights) -> Moves:
        """The least number of replacements that change the answer."""
        return rounded_up(self.signed(first, second))

    @property
    def _asks_for_more(self) -> bool:
        return self.comparison in (">=", ">")

    def _weights(self, first: Heights, second: Heights) -> tuple[int, int, int]:
        """What one unit of height weighs in A and in B, and the margin, in the largest unit that makes all three whole.

        Only public numbers: which heights occur must not decide the unit, because half of it decides how W is shifted.
        """
        margin = Fraction(self.margin)
        n_first, n_second = sum(first.values()), sum(second.values())
        numbers = (
            margin.denominator * n_second,
            margin.denominator * n_first,
            margin.numerator * n_first * n_second,
        )
        unit = math.gcd(*numbers) or 1
        return numbers[0] // unit, numbers[1] // unit, numbers[2] // unit

    def _double_excess(self, first: Heights, second: Heights) -> int:
        weight_first, weight_second, margin = self._weights(first, second)
        excess = weight_first * _total(first) - weight_second * _total(second) - margin
        return 2 * excess + (1 if self.comparison in (">=", "<") else -1)

    def _rungs(self, first: Heights, second: Heights) -> tuple[list[Rung], list[Rung]]:
        weight_first, weight_second, _ = self._weights(first, second)

        def fall(group: Heights, weight: int) -> list[Rung]:
            return [(weight * height, people) for height, people in group.items()]

        def rise(group: Heights, weight: int) -> list[Rung]:
            return [(weight * (self.highest - height), people) for height, people in group.items()]

        down = fall(first, weight_first) + rise(second, weight_second)
        return down, rise(first, weight_first) + fall(second, weight_second)


def _total(group: Heights) -> int:
    return sum(height * people for height, people in group.items())


def public_share_difference(comparison: str, margin: Fraction) -> GroupDifference:
    """``share among A <comparison> share among B + margin``: heights are 1 for yes and 0 for no."""
    return GroupDifference(comparison, Fraction(margin), 1)


def public_mean_difference(comparison: str, margin: Fraction, *, positions: int, step: Fraction) -> GroupDifference:
    """``mean among A <comparison> mean among B + margin`` on a grid of *positions* values that are *step* apart.

    Heights are twice the position on the grid, so that :func:`heights` has room for people without a value in the middle.
    """
    return GroupDifference(comparison, 2 * Fraction(margin) / Fraction(step), 2 * (positions - 1))


def heights(counts: Mapping[int, int], without_value: int, *, positions: int) -> dict[int, int]:
    """{position: people} of one group as the heights of :func:`public_mean_difference`.

    There is no bound to compare with, so a person without a value counts as the middle of the range: a public choice that
    favours neither group, and every group keeps its public size.
    """
    raised = {2 * position: people for position, people in counts.items() if people}
    if without_value:
        raised[positions - 1] = raised.get(positions - 1, 0) + without_value
    return raised
