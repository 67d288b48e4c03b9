"""Yes/no questions about how many persons satisfy a condition: count, share, majority, any, all, and two of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.privacy import Neighbours, read_number
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.base import YES_NO, Question
from optimaldp.questions.conditions import (
    Condition,
    Moves,
    both_hold,
    count_condition,
    flips_of_both,
    share_condition,
)
from optimaldp.questions.literals import check_predicate
from optimaldp.tables import tally as tables

_NULL_NOTE = 'a person for whom the condition is NULL counts as "no" and is protected'


@dataclass(frozen=True, repr=False)
class Threshold(Question):
    """``count(predicate) >= bound`` and its relatives: answer "yes" or "no".

    >>> question = share("smokes = 'yes'") >= 0.3
    >>> str(question), question.flips((30, 70), Neighbours.SUBSTITUTION)
    ("share(smokes = 'yes') >= 0.3", 1)
    """

    quantity: str
    predicate: str
    comparison: str
    bound: Fraction
    name: str = ""
    """``majority``, ``any`` or ``all`` when it was asked in that word."""

    @property
    def tally(self) -> tables.Tally:
        return tables.Tally((tables.Condition(self.predicate),))

    @property
    def answers(self) -> tuple[str, ...]:
        return YES_NO

    def size(self) -> int:
        return 2

    @cached_property
    def condition(self) -> Condition:
        make = count_condition if self.quantity == "count" else share_condition
        return make(self.comparison, self.bound)

    def truth(self, counts: Sequence[int]) -> int:
        yes, no = self.cells(counts)
        return 0 if self.condition.holds(yes, no) else 1

    def flips(self, counts: Sequence[int], neighbours: Neighbours) -> Moves:
        yes, no = self.cells(counts)
        return self.condition.flips(yes, no, neighbours)

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return (_NULL_NOTE,)

    def __and__(self, other: Threshold) -> Both:
        return Both(self, other)

    def __bool__(self) -> bool:
        raise QuestionError(
            "question", str(self), "has no answer before it is released", "combine two questions with &, not with 'and'"
        )

    def __str__(self) -> str:
        if self.name:
            return f"{self.name}({self.predicate})"
        return f"{self.quantity}({self.predicate}) {self.comparison} {fraction_text(self.bound)}"


@dataclass(frozen=True, repr=False)
class Both(Question):
    """Two thresholds at once: "yes" if both hold."""

    first: Threshold
    second: Threshold

    def __post_init__(self) -> None:
        for part in (self.first, self.second):
            if not isinstance(part, Threshold):
                raise QuestionError(
                    "question", part, "is not a yes/no threshold", "only two thresholds can be joined by &"
                )

    @property
    def tally(self) -> tables.Tally:
        return tables.Tally((tables.Condition(self.first.predicate), tables.Condition(self.second.predicate)))

    @property
    def answers(self) -> tuple[str, ...]:
        return YES_NO

    def size(self) -> int:
        return 4

    def truth(self, counts: Sequence[int]) -> int:
        a, b, c, d = self.cells(counts)
        return 0 if both_hold(self.first.condition, self.second.condition, (a, b, c, d)) else 1

    def flips(self, counts: Sequence[int], neighbours: Neighbours) -> Moves:
        a, b, c, d = self.cells(counts)
        return flips_of_both(self.first.condition, self.second.condition, (a, b, c, d), neighbours)

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return (
            _NULL_NOTE,
            "every combination of the two conditions is treated as possible, which can only protect more",
        )

    def __and__(self, other: Any) -> Both:
        raise QuestionError("question", str(self), "already joins two thresholds", "ask the third one by itself")

    def __bool__(self) -> bool:
        return bool(self.first)

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


@dataclass(frozen=True)
class Quantity:
    """A number that is only ever compared: ``count(predicate)`` or ``share(predicate)``."""

    quantity: str
    predicate: str

    def __ge__(self, bound: Any) -> Threshold:
        return threshold(self.quantity, self.predicate, ">=", bound)

    def __gt__(self, bound: Any) -> Threshold:
        return threshold(self.quantity, self.predicate, ">", bound)

    def __le__(self, bound: Any) -> Threshold:
        return threshold(self.quantity, self.predicate, "<=", bound)

    def __lt__(self, bound: Any) -> Threshold:
        return threshold(self.quantity, self.predicate, "<", bound)

    def __repr__(self) -> str:
        return f"{self.quantity}({self.predicate})"


def threshold(quantity: str, predicate: str, comparison: str, bound: Any) -> Threshold:
    """A checked threshold."""
    number = read_number(bound, name=f"bound of {quantity}", error=QuestionError)
    if quantity == "share" and not 0 <= number <= 1:
        raise QuestionError("share", bound, "is not a share", "a share lies between 0 and 1: write 0.3 for 30 percent")
    return Threshold(quantity, check_predicate(predicate), comparison, number)


def count(predicate: str) -> Quantity:
    """The number of persons who satisfy *predicate*: compare it, ``count("age > 3") >= 100``."""
    return Quantity("count", check_predicate(predicate))


def share(predicate: str) -> Quantity:
    """The share of persons who satisfy *predicate*: compare it, ``share("smokes = 'yes'") >= 0.3``."""
    return Quantity("share", check_predicate(predicate))


def majority(predicate: str) -> Threshold:
    """Do more persons satisfy *predicate* than not? A tie is "no"."""
    return Threshold("share", check_predicate(predicate), ">", Fraction(1, 2), "majority")


def any_(predicate: str) -> Threshold:
    """Does anybody satisfy *predicate*?"""
    return Threshold("count", check_predicate(predicate), ">=", Fraction(1), "any")


def all_(predicate: str) -> Threshold:
    """Does everybody satisfy *predicate*? A table without persons says "yes"."""
    return Threshold("share", check_predicate(predicate), ">=", Fraction(1), "all")
