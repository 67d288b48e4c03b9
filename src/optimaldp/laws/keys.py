"""Which categories occur, where no list is public: needs delta, because a category that one person alone has must stay unlikely.

A category with t people is kept with probability ``F^t(0)``, F being the step function of (epsilon, delta): nobody has it with
probability 0, and every further person may raise it by one step of F. By induction no (epsilon, delta) mechanism keeps it more
often. Categories are kept independently, and one person touches one of them under add/remove, two under substitution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from optimaldp.errors import LevelError
from optimaldp.laws.many_groups import level_of_each_key
from optimaldp.laws.signed import Sides, draw_yes
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, level
from optimaldp.sampling import BitSource

Key = TypeVar("Key")


@dataclass(frozen=True)
class KeysLaw:
    """How often a category is kept, by the number of its people; *single* is the level of each category."""

    single: ApproximateDP

    @staticmethod
    def at(epsilon: Epsilon, delta: Fraction, neighbours: Neighbours) -> KeysLaw:
        """The law for all categories together at (epsilon, delta).

        >>> law = KeysLaw.at(Epsilon.read("ln(2)"), Fraction(1, 10), Neighbours.ADD_REMOVE)
        >>> [str(law.kept(people)[0]) for people in range(6)]
        ['0', '1/10', '3/10', '7/10', '9/10', '1']
        """
        if not delta:
            raise LevelError("delta", "0", "keeps every category secret", "name a delta above 0, far below 1/n")
        if epsilon.infinite:
            raise LevelError("epsilon", "inf", "promises nothing", "name a finite epsilon")
        each = level_of_each_key(epsilon, delta, neighbours)
        made = level(each.epsilon, each.delta)
        assert isinstance(made, ApproximateDP)
        return KeysLaw(made)

    def kept(self, people: int) -> Sides:
        """The probability that a category with so many people is kept, and that it is not."""
        return self.single.sides(Fraction(0), people)

    def draw(self, counts: Mapping[Key, int], source: BitSource) -> list[Key]:
        """The categories that are kept, in the order of *counts*; one without people is never kept."""
        return [key for key, people in counts.items() if draw_yes(lambda people=people: self.kept(people), source)]  # type: ignore[misc]

    def surely_kept(self) -> int:
        """The least number of people from which on a category is always kept: public, from the level alone."""
        high = 1
        while not self._sure(high):
            high *= 2
        low = 0
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._sure(middle) else (middle + 1, high)
        return low

    def _sure(self, people: int) -> bool:
        return bool(self.kept(people)[1] == 0)
