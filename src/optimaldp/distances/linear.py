"""One inequality about three kinds of people: those who say yes, those who say no, and those outside whom it does not count.

Every count and share is ``yes_weight * yes + no_weight * no >= need`` in integers. A negation has the same form, so one function
measures both directions. Who is outside is as private as the rest: a neighbour may move anybody anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from optimaldp.distances.ranking import Moves, Rung, rounded_up, signed_distance, whole_moves
from optimaldp.errors import QuestionError
from optimaldp.privacy import Neighbours
from optimaldp.privacy.numbers import fraction_text

COMPARISONS = (">=", ">", "<=", "<")


@dataclass(frozen=True)
class LinearCondition:
    """``yes_weight * yes + no_weight * no >= need``; people outside weigh nothing."""

    yes_weight: int
    no_weight: int
    need: int

    def negated(self) -> LinearCondition:
        """The opposite: a whole number that is not at least *need* is at most ``need - 1``."""
        return LinearCondition(-self.yes_weight, -self.no_weight, 1 - self.need)

    def holds(self, yes: int, no: int) -> bool:
        return self.yes_weight * yes + self.no_weight * no >= self.need

    def moves(self, yes: int, no: int, outside: int, neighbours: Neighbours) -> Moves:
        """The least number of neighbour moves after which the condition holds."""
        return 0 if self.holds(yes, no) else self.flips(yes, no, outside, neighbours)

    def flips(self, yes: int, no: int, outside: int, neighbours: Neighbours) -> Moves:
        """The least number of neighbour moves that change whether the condition holds."""
        missing = self.need - self.yes_weight * yes - self.no_weight * no
        if missing > 0:
            return whole_moves(self.rungs(yes, no, outside, neighbours), missing)
        # It holds: the sum, a whole number, must fall to ``need - 1``.
        return whole_moves(self.rungs(yes, no, outside, neighbours, lower=True), 1 - missing)

    def rungs(self, yes: int, no: int, outside: int, neighbours: Neighbours, *, lower: bool = False) -> list[Rung]:
        """The moves that raise the sum, or *lower* it: they raise that of the negation. Substitution: everybody goes to the best
        place. Add/remove: a person of the best kind comes, as often as you like, or one who lowers the sum goes."""
        yes_weight, no_weight = (-self.yes_weight, -self.no_weight) if lower else (self.yes_weight, self.no_weight)
        people = ((yes_weight, yes), (no_weight, no), (0, outside))
        best = max(yes_weight, no_weight, 0)  # the most that one person can add to the sum
        if neighbours is Neighbours.SUBSTITUTION:
            return [(best - weight, number) for weight, number in people]
        return [(best, None), *((-weight, number) for weight, number in people)]

    def signed(self, yes: int, no: int, outside: int, neighbours: Neighbours) -> Fraction | float:
        """The signed fractional distance: positive where the condition holds, never 0; one person moves it by at most 1."""
        unit = math.gcd(self.yes_weight, self.no_weight)
        if unit == 0:  # the sum is 0 at every table
            return math.inf if self.need <= 0 else -math.inf
        least = -(-self.need // unit)  # the least multiple of the unit that is enough
        excess = (self.yes_weight * yes + self.no_weight * no) // unit - least
        down = [(gain // unit, people) for gain, people in self.rungs(yes, no, outside, neighbours, lower=True)]
        up = [(gain // unit, people) for gain, people in self.rungs(yes, no, outside, neighbours)]
        return signed_distance(2 * excess + 1, down, up)


def count_condition(comparison: str, bound: Fraction | int) -> LinearCondition:
    """``count <comparison> bound``. A count among some people is the count of those who are among them and say yes."""
    if comparison not in COMPARISONS:
        raise QuestionError("comparison", comparison, "is not a comparison", "use >=, >, <= or <")
    if comparison in (">=", ">"):
        return LinearCondition(1, 0, math.ceil(bound) if comparison == ">=" else math.floor(bound) + 1)
    return LinearCondition(-1, 0, -(math.floor(bound) if comparison == "<=" else math.ceil(bound) - 1))


def share_condition(comparison: str, bound: Fraction | int) -> LinearCondition:
    """``share <comparison> p/q``, compared after multiplying out: ``(q - p) yes - p no >= 0``, or ``> 0``.

    Where nobody is among those who are asked both sides are 0: ">=" and "<=" hold, ">" and "<" do not.
    """
    if comparison not in COMPARISONS:
        raise QuestionError("comparison", comparison, "is not a comparison", "use >=, >, <= or <")
    bound = Fraction(bound)
    if not 0 <= bound <= 1:
        raise QuestionError("share", bound, "is not a share", "a share lies between 0 and 1: write 0.3 for 30 percent")
    part, whole = bound.numerator, bound.denominator
    strict = int(comparison in (">", "<"))
    if comparison in (">=", ">"):
        return LinearCondition(whole - part, -part, strict)
    return LinearCondition(part - whole, part, strict)


# ``mean(column, range=[lo, hi], step) >= t``: truth, whole moves and the signed fractional distance from counts per grid value.
#
# Everything is counted in units of ``gcd(step, t - lo)``, in which every value, both ends and t are whole: the sum ``S = sum of
# (value - t)`` is a whole number, and half a unit on the right side of 0 makes its sign the truth. A person without a value
# counts as t: nothing for the sum, and free to go anywhere.
#
# One person moves the fractional distance by at most 1: take the old selection of people without that person, and the changed
# person wholly; it moves S far enough. Where S changes its sign, ``S/(v - lo) + (v - v' - S)/(hi - v') <= 1``.


@dataclass(frozen=True)
class MeanBound:
    """``mean <comparison> bound`` of values on the grid ``low, low + step, ..., high``: public numbers only."""

    comparison: str
    bound: Fraction
    low: Fraction
    high: Fraction
    step: Fraction

    def __post_init__(self) -> None:
        if self.comparison not in COMPARISONS:
            raise QuestionError("comparison", self.comparison, "is not a comparison", "use >=, >, <= or <")
        if not self.low < self.high:
            raise QuestionError("range", self._range, "is empty", "write range=[low, high] with low below high")
        if self.step <= 0 or (self.high - self.low) % self.step:
            text = fraction_text(self.step)
            raise QuestionError("step", text, f"does not divide the range {self._range}", "choose a step that does")
        if not self.low <= self.bound <= self.high:
            # Outside, whether anybody has a value at all would decide the answer in clear.
            text = fraction_text(self.bound)
            raise QuestionError("mean", text, f"lies outside of the range {self._range}", "compare with a bound inside")

    @property
    def _range(self) -> str:
        return f"[{fraction_text(self.low)}, {fraction_text(self.high)}]"

    @property
    def values(self) -> int:
        """How many values the grid has."""
        return int((self.high - self.low) / self.step) + 1

    @cached_property
    def unit(self) -> Fraction:
        """The largest number of which the step and ``bound - low`` are both multiples."""
        above = self.bound - self.low
        below = math.lcm(self.step.denominator, above.denominator)
        return Fraction(math.gcd(int(self.step * below), int(above * below)), below)

    @cached_property
    def _whole(self) -> tuple[int, int, int]:
        """The step, the bound and the upper end in units above the lower end."""
        return (
            int(self.step / self.unit),
            int((self.bound - self.low) / self.unit),
            int((self.high - self.low) / self.unit),
        )

    @property
    def _asks_for_more(self) -> bool:
        return self.comparison in (">=", ">")

    def excess(self, counts: Mapping[int, int]) -> int:
        """The sum of (value - bound) in units, from {position on the grid: people}."""
        step, bound, _ = self._whole
        return sum((position * step - bound) * people for position, people in counts.items())

    def holds(self, counts: Mapping[int, int]) -> bool:
        """The true answer. Where nobody has a value both sides are 0: ">=" and "<=" hold, ">" and "<" do not."""
        return (self.double_excess(counts) > 0) is self._asks_for_more

    def signed(self, counts: Mapping[int, int], without_value: int, neighbours: Neighbours) -> Fraction | float:
        """The signed fractional distance W: positive where the answer is yes, never 0; one person moves it by at most 1.

        >>> question = MeanBound(">=", Fraction(3), Fraction(1), Fraction(5), Fraction(1))
        >>> question.signed({0: 1, 4: 3}, 0, Neighbours.SUBSTITUTION)  # 1, 5, 5, 5: S is 4; half a unit more is reached by 9/8
        Fraction(9, 8)
        """
        down, up = self.rungs(counts, without_value, neighbours)
        above = signed_distance(self.double_excess(counts), down, up)
        return above if self._asks_for_more else -above

    def flips(self, counts: Mapping[int, int], without_value: int, neighbours: Neighbours) -> Moves:
        """The least number of neighbour moves that change the answer: W without its sign, rounded up."""
        return rounded_up(self.signed(counts, without_value, neighbours))

    def double_excess(self, counts: Mapping[int, int]) -> int:
        """Twice the excess and half a unit more or less: odd, and positive exactly where the mean is on the upper side."""
        return 2 * self.excess(counts) + (1 if self.comparison in (">=", "<") else -1)

    def rungs(
        self, counts: Mapping[int, int], without_value: int, neighbours: Neighbours
    ) -> tuple[list[Rung], list[Rung]]:
        """The moves that lower the sum, and those that raise it."""
        step, bound, top = self._whole
        heights: list[Rung] = [(position * step, people) for position, people in counts.items() if people]
        heights.append((bound, without_value))
        if neighbours is Neighbours.SUBSTITUTION:
            return heights, [(top - height, people) for height, people in heights]
        down: list[Rung] = [(bound, None), *((height - bound, people) for height, people in heights)]
        up: list[Rung] = [(top - bound, None), *((bound - height, people) for height, people in heights)]
        return down, up
