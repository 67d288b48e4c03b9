"""What a question needs to know about a table: who counts as a person, and how many people are in each cell.

All of it is described before anything is read. A *reading* maps one person's record to a whole number; a *tally* crosses several
readings into cells. A question names a tally; only :mod:`optimaldp.tables` reads data and counts. So a question never sees a row,
and a table never sees a mechanism.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

from optimaldp.errors import QuestionError
from optimaldp.privacy.units import unit_text

Option = str | int | bool
Edge = Fraction | datetime.date | datetime.datetime
Step = Fraction | datetime.timedelta


MEANING = 2
"""The version of what a question means, for documents, ledgers and plans; files of 0.2 have none and mean 1.

2: numbers of a person with several rows need a rule; values outside of bins of histograms are "(everyone else)".
"""

EVERY_RECORD = "*"
"""The condition that every record satisfies: it tells who has a record at all."""


@dataclass(frozen=True)
class Condition:
    """Whether a SQL condition holds: yes is 0, no is 1. Where it is NULL it does not hold. ``*`` holds for every record."""

    text: str
    size = 2


@dataclass(frozen=True)
class Options:
    """Which of the public *values* a column holds, in their order; last, everybody else (other values and NULL).

    ``None`` takes the values from the column's type, where it lists them.
    """

    column: str
    values: tuple[Option, ...] | None

    @property
    def size(self) -> int:
        if self.values is None:
            remedy = "write the options out: they are public"
            raise QuestionError("options", None, f"are not known before the type of {self.column} is", remedy)
        return len(self.values) + 1


@dataclass(frozen=True)
class Bins:
    """Which bin ``[edge, next edge)`` a value is in; the last bin includes its upper edge. Last, no value.

    *clipped*: values below the first edge are in the first bin, values above the last edge in the last. Else in none.
    """

    column: str
    edges: tuple[Edge, ...]
    clipped: bool = True

    @property
    def size(self) -> int:
        return len(self.edges)


@dataclass(frozen=True)
class Steps:
    """Which of the equal bins ``[low + k·step, low + (k+1)·step)`` a value is in; ends as in :class:`Bins`. Last, no value."""

    column: str
    low: Edge
    high: Edge
    step: Step
    clipped: bool = True

    @cached_property
    def bins(self) -> int:
        return math.ceil(steps_between(self.low, self.high, self.step))

    @property
    def size(self) -> int:
        return self.bins + 1


@dataclass(frozen=True)
class Grid:
    """A number clipped to [low, high] and rounded half up to ``low + k·step``. Last, no value."""

    column: str
    low: Fraction
    high: Fraction
    step: Fraction

    @cached_property
    def points(self) -> int:
        return math.floor(steps_between(self.low, self.high, self.step)) + 1

    @property
    def size(self) -> int:
        return self.points + 1


Reading = Condition | Options | Bins | Steps | Grid


def steps_between(low: Edge, high: Edge, step: Step) -> Fraction:
    """How many steps lie between two edges, exactly."""
    if isinstance(step, datetime.timedelta):
        distance: datetime.timedelta = high - low  # type: ignore[operator, assignment]  # two dates or two points in time
        return Fraction(_microseconds(distance), _microseconds(step))
    return Fraction(high - low) / step  # type: ignore[operator, arg-type]  # two numbers


def _microseconds(length: datetime.timedelta) -> int:
    return length // datetime.timedelta(microseconds=1)


@dataclass(frozen=True)
class Tally:
    """How many people are in each cell of the crossed *readings*. Cells are numbered row by row, the first reading slowest.

    >>> Tally((Condition("smokes"), Options("sex", ("m", "f")))).shape
    (2, 3)
    """

    readings: tuple[Reading, ...]
    summed: bool = False
    """Whether of the last reading, which is a :class:`Grid`, only the number of people with a value and their sum matter: then
    people may be counted as if all had nearly the same value."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(reading.size for reading in self.readings)

    @property
    def size(self) -> int:
        return math.prod(reading.size for reading in self.readings)


@dataclass(frozen=True)
class KeyTally:
    """How many people have each text or whole number that occurs in a column. NULL is no key."""

    column: str


@dataclass(frozen=True, repr=False)
class Counted:
    """The counts of one tally. Private: it must never be shown, logged or put into an error."""

    cells: dict[int, int]
    """People by the number of their cell; cells without anybody may be left out."""
    shape: tuple[int, ...]
    by_level: tuple[tuple[str, dict[int, int]], ...] | None = None
    """The same within each privacy level (its text, for example ``"0.5"``), when a levels column was named."""
    options: tuple[Option, ...] | None = None
    """The options that the column's type listed, when the first reading that needs them left them out. Public."""
    keys: dict[str | int, int] = field(default_factory=dict)
    """People by key, for :class:`KeyTally`."""

    @classmethod
    def of(cls, counts: Iterable[int]) -> Counted:
        """Counts that were made up, one for each cell of one reading."""
        dense = tuple(counts)
        return cls({cell: people for cell, people in enumerate(dense) if people}, (len(dense),))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def counts(self) -> tuple[int, ...]:
        """One count for each cell: only where there are few."""
        return self.dense(self.cells)

    def dense(self, cells: dict[int, int]) -> tuple[int, ...]:
        """Sparse cells of this tally, for example those of one level, as one count for each cell."""
        return tuple(cells.get(cell, 0) for cell in range(self.size))

    def __repr__(self) -> str:
        return "Counted(private)"


Rule = Literal["any", "all", "most", "most-frequent", "first", "last", "sum", "mean", "median", "min", "max", "count"]

CONDITION_RULES: tuple[Rule, ...] = ("any", "all", "most", "first", "last")
CATEGORY_RULES: tuple[Rule, ...] = ("most-frequent", "first", "last")
NUMBER_RULES: tuple[Rule, ...] = ("sum", "mean", "median", "min", "max", "count", "first", "last")
ORDERED_RULES: tuple[Rule, ...] = ("first", "last")
# The first rule is the default; a number has none, because each choice changes what is asked.
_RULES: Mapping[type, tuple[Rule, ...]] = {
    Condition: CONDITION_RULES,
    Options: CATEGORY_RULES,
    KeyTally: CATEGORY_RULES,
    Bins: NUMBER_RULES,
    Steps: NUMBER_RULES,
    Grid: NUMBER_RULES,
}
_ALIASES: Mapping[str, Rule] = {"most-frequent": "most"}  # of conditions


@dataclass(frozen=True)
class People:
    """Who counts as a person and who is asked: part, then where, then one record for each person.

    *part* is a (column, value) pair: only its people are the table. *where* filters rows, not people: a
    person without such a row still counts, as "no", as everybody else or as without a value. *unit* names the column that
    identifies a person (rows without a value there are nobody's); without it each row is a person. *within* names more
    columns where a person is limited, for example in time: ``month(admitted)``; there no value is a value of its own. *reduce*
    says how the rows of a person become one value: a word for all readings that it fits, or a rule for each column; ``first``
    and ``last`` follow the column *reduce_order*. *levels* names the column of privacy levels. *groups_per_person* lets a person
    be in that many groups of the first reading: those with most of their rows, then in the reading's own order. The other
    readings are reduced in each group.
    """

    unit: str | None = None
    reduce: str | Mapping[str, str] | None = None
    reduce_order: str | None = None
    where: str | None = None
    part: tuple[str, Option] | None = None
    levels: str | None = None
    groups_per_person: int | None = None
    within: tuple[str, ...] = ()

    @property
    def unit_text(self) -> str | None:
        """Who is one person, as ledgers and documents keep it."""
        return None if self.unit is None else unit_text((self.unit, *self.within))

    @property
    def by_column(self) -> Mapping[str, str]:
        """The rules for single columns."""
        return self.reduce if isinstance(self.reduce, Mapping) else {}

    def rules(self, tally: Tally | KeyTally) -> tuple[Rule, ...]:
        """How each reading is reduced to one value for each person, checked; empty without a unit.

        A condition about columns that have rules has none of its own: see
        :func:`optimaldp.tables.plans.plan_counting`.
        """
        if self.unit is None:
            given = (
                ("reduce", self.reduce),
                ("reduce_order", self.reduce_order),
                ("groups_per_person", self.groups_per_person),
            )
            for name, value in given:
                if value is not None:
                    raise QuestionError(name, value, "needs unit=", "name the column that identifies a person")
            return ()
        readings = (tally,) if isinstance(tally, KeyTally) else tally.readings
        chosen: tuple[Rule, ...] = ()
        if self.groups_per_person is not None:  # the groups are chosen, not reduced
            readings, chosen = readings[1:], ("most-frequent",)
        word = self.reduce if isinstance(self.reduce, str) else None
        if word is not None and not any(_fitting(word, one) for one in readings):
            remedy = f"the rules are {', '.join(rules_for(tally))}"
            if word in NUMBER_RULES:
                remedy += f"; for the number in a condition write reduce={{column: '{word}'}}"
            raise QuestionError("reduce", word, "is not a rule for this question", remedy)
        made = tuple(self._rule(one, word) for one in readings)
        ordered = any(rule in ORDERED_RULES for rule in made) or isinstance(self.reduce, Mapping)
        if any(rule in ORDERED_RULES for rule in made) and self.reduce_order is None:
            raise QuestionError("reduce_order", None, "is needed by the rules first and last", ORDER)
        if self.reduce_order is not None and not ordered:
            raise QuestionError("reduce_order", self.reduce_order, "goes with the rules first and last only", ORDER)
        return (*chosen, *made)

    def _rule(self, reading: Reading | KeyTally, word: str | None) -> Rule:
        column = None if isinstance(reading, Condition) else reading.column
        own = self.by_column.get(column) if column is not None else None
        if own is not None:
            # A category that a number stands for may be reduced as a number first.
            known = (*_RULES[type(reading)], *(NUMBER_RULES if isinstance(reading, Options | KeyTally) else ()))
            if own not in known:
                remedy = f"the rules are {', '.join(_RULES[type(reading)])}"
                raise QuestionError("reduce", own, f"is not a rule for column {column} in this question", remedy)
            return own
        if word is not None and (fitting := _fitting(word, reading)) is not None:
            return fitting
        if _RULES[type(reading)] is NUMBER_RULES:
            rule = f"does not say how several values of {column} become one for each person"
            dated = isinstance(reading, Bins) and isinstance(reading.edges[0], datetime.date)
            dated |= isinstance(reading, Steps) and isinstance(reading.low, datetime.date)
            rules = (one for one in NUMBER_RULES if not dated or one not in ("sum", "mean"))
            raise QuestionError("reduce", None, rule, f"choose one of {', '.join(rules)}")
        return _RULES[type(reading)][0]


def rules_for(tally: Tally | KeyTally) -> tuple[Rule, ...]:
    """The rules that fit a reading of a tally: what can be said about people with several rows.

    >>> rules_for(Tally((Options("ward", ("a", "b")),)))
    ('most-frequent', 'first', 'last')
    """
    readings = (tally,) if isinstance(tally, KeyTally) else tally.readings
    return tuple(dict.fromkeys(rule for one in readings for rule in _RULES[type(one)]))


ORDER = "name the column that orders a person's rows: reduce_order="


def _fitting(word: str, reading: Reading | KeyTally) -> Rule | None:
    """The rule that a word is for a reading, if it is one."""
    known = _RULES[type(reading)]
    meant = _ALIASES.get(word, word) if known is CONDITION_RULES else word
    return next((rule for rule in known if rule == meant), None)
