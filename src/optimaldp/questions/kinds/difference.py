"""How much larger is one number than another? Never two releases where one sum does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.laws.law import Cells, Setting
from optimaldp.privacy import Neighbours
from optimaldp.questions.base import NULL_NOTE, Question, Valued, counts_for
from optimaldp.questions.forms import Form
from optimaldp.questions.kinds.mean import Average
from optimaldp.questions.kinds.threshold import PeopleWho
from optimaldp.questions.numbers import PLAIN, Linear, NumberOptions, Paired, Quantity, Summed
from optimaldp.questions.words import column_words, people_who
from optimaldp.results import Given
from optimaldp.tables.tally import EVERY_RECORD, Condition, Grid, Reading

BOTH = "someone in both groups counts as in neither"
FiveCounts = tuple[int, int, int, int, int]
"""(A yes, A no, B yes, B no, outside)."""


class OfTwoGroups(Question[Given]):
    """Conditions about two groups of people: how many are in each, with and without them."""

    first: PeopleWho
    second: PeopleWho

    @cached_property
    def _conditions(self) -> tuple[str, ...]:
        texts = (self.first.predicate, self.first.among, self.second.predicate, self.second.among)
        return tuple(dict.fromkeys(text for text in texts if text is not None))

    @property
    def readings(self) -> tuple[Reading, ...]:
        return tuple(map(Condition, self._conditions))

    def _holds(self, cell: int) -> dict[str, bool]:
        last = len(self._conditions) - 1
        return {text: (cell >> (last - place)) & 1 == 0 for place, text in enumerate(self._conditions)}

    def _place(self, cell: int) -> int:
        holds = self._holds(cell)
        in_first, in_second = holds[str(self.first.among)], holds[str(self.second.among)]
        if in_first == in_second:
            return 4
        return (0 if holds[self.first.predicate] else 1) if in_first else (2 if holds[self.second.predicate] else 3)

    def fold(self, cells: Cells) -> Any:
        folded = [0] * 5
        for cell, people in cells.items():
            folded[self._place(cell)] += people
        a, b, c, d, outside = folded
        return a, b, c, d, outside

    def read_counts(self, counts: Sequence[int]) -> Any:
        a, b, c, d, outside = counts_for(self, counts, wanted=5, least=4)
        return a, b, c, d, outside


class OfTwoMeans(Question[Given]):
    """The values of two groups of people, on one grid."""

    first: Average
    second: Average

    @property
    def _grid(self) -> Grid:
        return self.first.readings[0]

    @property
    def readings(self) -> tuple[Reading, ...]:
        return self._grid, Condition(str(self.first.among)), Condition(str(self.second.among))

    def fold(self, cells: Cells) -> tuple[Valued, Valued]:
        groups: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for cell, people in cells.items():
            place, membership = divmod(cell, 4)
            if membership in (1, 2):  # in A alone, in B alone
                group = groups[membership - 1]
                group[place] = group.get(place, 0) + people
        last = self._grid.size - 1
        return Valued.of(groups[0], last), Valued.of(groups[1], last)

    def read_counts(self, counts: Sequence[int]) -> tuple[Valued, Valued]:
        size = self._grid.size
        known = counts_for(self, counts, wanted=2 * size)
        return Valued.of(dict(enumerate(known[:size])), size - 1), Valued.of(dict(enumerate(known[size:])), size - 1)


@dataclass(frozen=True, repr=False)
class CountDifference(OfTwoGroups[Given], Paired[Given], Summed[Given]):
    """``count(a) - count(b)``: one sum in which each person is +1, -1 or 0."""

    first: PeopleWho
    second: PeopleWho
    said: NumberOptions = PLAIN
    whole = True
    unit_words = "people"
    compared_instead = "share(… among A) > share(… among B) + 0.02"

    def _place(self, cell: int) -> int:
        holds = self._holds(cell)
        first, second = (
            holds[one.predicate] and (one.among is None or holds[one.among]) for one in (self.first, self.second)
        )
        return 4 if first == second else 0 if first else 2

    def total(self, counts: FiveCounts) -> int:
        return counts[0] - counts[2]

    def linear(self, setting: Setting, sizes: tuple[int, ...] = ()) -> Linear | None:
        people = None if setting.people is None else Fraction(setting.people)
        most = 2 if setting.neighbours is Neighbours.SUBSTITUTION else 1
        return Linear(most, low=None if people is None else -people, high=people)

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return NULL_NOTE, "someone who counts on both sides changes nothing"

    def words(self) -> str:
        first, second = (_counted(one) for one in (self.first, self.second))
        return f"How many more are there of {first} than of {second}?"


@dataclass(frozen=True, repr=False)
class ShareGap(CountDifference[float]):
    """``share(condition among A) - share(condition among B)``: with public groups one sum on the grid of both."""

    whole = False
    unit_words = ""
    in_percent = (" points", " points")

    _place = OfTwoGroups._place

    def fold(self, cells: Cells) -> Any:
        return _Halves(super().fold(cells))

    def read_counts(self, counts: Sequence[int]) -> Any:
        return _Halves(super().read_counts(counts))

    def sizes(self, counts: Any) -> tuple[int, ...]:
        a, b, c, d, _ = counts.whole
        return a + b, c + d

    def total(self, counts: Any) -> int:
        first, second = self.sizes(counts)
        common = math.lcm(first, second)
        yes, _, others, _, _ = counts.whole
        return int(common // first * yes - common // second * others)

    def linear(self, setting: Setting, sizes: tuple[int, ...] = ()) -> Linear | None:
        if not setting.public_groups or not sizes or setting.neighbours is not Neighbours.SUBSTITUTION:
            return None
        if not all(sizes):
            raise QuestionError(
                "among", str(self), "has a group of nobody, and its size is public", "ask another group"
            )
        common = math.lcm(*sizes)
        return Linear(common // min(sizes), Fraction(1, common), low=Fraction(-1), high=Fraction(1), every_shift=False)

    def words(self) -> str:
        first, second = self.first, self.second
        other = f"among {people_who(str(second.among), 'those')}"
        if second.predicate != first.predicate:
            other = f"the share of {people_who(second.predicate)} {other}"
        among = f"among {people_who(str(first.among), 'those')}"
        return f"By how much is the share of {people_who(first.predicate)} larger {among} than {other}?"

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return NULL_NOTE, BOTH


class _Halves(tuple[tuple[int, int, int], tuple[int, int, int]]):
    """The counts of two groups, each as (yes, no, 0): private."""

    whole: FiveCounts

    def __new__(cls, counts: FiveCounts) -> _Halves:
        a, b, c, d, _ = counts
        made = super().__new__(cls, ((a, b, 0), (c, d, 0)))
        made.whole = counts
        return made

    def __repr__(self) -> str:
        return "Halves(private)"


@dataclass(frozen=True, repr=False)
class MeanGap(OfTwoMeans[float], Paired[float]):
    """``mean(x among A) - mean(x among B)``: two crossings, because a mean of some people is no sum."""

    first: Average
    second: Average
    said: NumberOptions = PLAIN
    compared_instead = "mean(x, range=[0, 5] among A) > mean(x, range=[0, 5] among B)"

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return *self.first.notes(neighbours), BOTH

    def words(self) -> str:
        groups = f"among {people_who(str(self.first.among))} than among {people_who(str(self.second.among))}"
        return f"By how much is the mean of {column_words(self.first.column)} larger {groups}?"


def _counted(one: PeopleWho) -> str:
    people = "people" if one.predicate == EVERY_RECORD else people_who(one.predicate)
    return people if one.among is None else f"{people} among {people_who(one.among, 'those')}"


def difference(first: Quantity, second: object) -> Quantity[Any]:
    """The difference of two counts, two shares or two means of one column."""
    if not isinstance(second, Quantity):
        raise QuestionError("question", str(second), "is not a number to subtract", "write count(a) - count(b)")
    said = first.said
    if second.said != PLAIN:
        remedy = "say it in the first number"
        raise QuestionError("question", str(second), "says something about its own answer", remedy)
    if isinstance(first, PeopleWho) and isinstance(second, PeopleWho) and first.quantity == second.quantity:
        plain = replace(first, said=PLAIN)
        if first.whole:
            return CountDifference(plain, second, said)
        need_groups(first, "-", second)
        return ShareGap(plain, second, said)
    if isinstance(first, Average) and isinstance(second, Average):
        need_groups(first, "-", second)
        return MeanGap(replace(first, said=PLAIN), second, said)
    remedy = "subtract two counts, or two shares or two means, each among a group"
    raise QuestionError("question", f"{first} - {second}", "subtracts two unlike numbers", remedy)


def need_groups(first: Quantity, sign: str, second: Quantity) -> None:
    """Refuse two shares or means of which one has no group, and means of values that are not the same."""
    if None in (first.among, second.among):
        remedy = f"write share(smokes = 'yes' among sex = 'm') {sign} share(smokes = 'yes' among sex = 'f')"
        raise QuestionError("question", f"{first} {sign} {second}", "does not say among whom each number is", remedy)
    if isinstance(first, Average) and replace(first, among=None, said=PLAIN) != replace(second, among=None, said=PLAIN):  # type: ignore[type-var]
        raise QuestionError("question", str(second), "does not have the column, range and step of the first mean")
    if isinstance(first, Average) and first.generous:
        raise QuestionError("range", "generous", "does not go with two groups", "name the range: range=[0, 100]")


FORMS: list[Form] = []
