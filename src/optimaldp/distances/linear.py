"""One inequality about three kinds of people: those who say yes, those who say no, and those outside whom it does not count.

Every count and share is ``yes_weight * yes + no_weight * no >= need`` in integers. A negation has the same form, so one function
measures both directions. Who is outside is as private as the rest: a neighbour may move anybody anywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.distances.ladder import Moves, Rung, signed_distance, whole_moves
from optimaldp.errors import QuestionError
from optimaldp.privacy import Neighbours

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
