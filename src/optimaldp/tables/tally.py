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

Option = str | int | bool
Edge = Fraction | datetime.date | datetime.datetime
Step = Fraction | datetime.timedelta


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

    Values below the first edge are in the first bin, values above the last edge in the last.
    """

    column: str
    edges: tuple[Edge, ...]

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


Rule = Literal["any", "all", "most-frequent", "first", "mean", "max", "min"]

_YES_NO: tuple[Rule, ...] = ("any", "all", "most-frequent", "first")
_CHOICE: tuple[Rule, ...] = ("most-frequent", "first")
_NUMBER: tuple[Rule, ...] = ("first", "mean", "max", "min")
# The first rule is the default; a number has none, because each choice changes what "the mean" means.
_RULES: Mapping[type, tuple[Rule, ...]] = {
    Condition: _YES_NO,
    Options: _CHOICE,
    Bins: _CHOICE,
    Steps: _CHOICE,
    KeyTally: _CHOICE,
    Grid: _NUMBER,
}


@dataclass(frozen=True)
class People:
    """Who counts as a person and who is asked: part, then where, then one record for each person.

    *part* is a (column, value) pair: only its people are the table. *where* chooses which rows speak, never people: whoever has
    no such row is counted all the same, as "no", as everybody else or as without a value. *unit* names the column that
    identifies a person (rows without a value there are nobody's); without it each row is a person. *reduce* says how the rows of
    a person become one value; ``first`` follows the column *reduce_order*. *levels* names the column of privacy levels.
    """

    unit: str | None = None
    reduce: str | None = None
    reduce_order: str | None = None
    where: str | None = None
    part: tuple[str, Option] | None = None
    levels: str | None = None

    def rules(self, tally: Tally | KeyTally) -> tuple[Rule, ...]:
        """How each reading is reduced to one value for each person, checked; empty without a unit.

        *reduce* is for the first reading and those of its kind; the others follow their default. ``first`` takes a whole row.
        """
        if self.unit is None:
            for field, value in (("reduce", self.reduce), ("reduce_order", self.reduce_order)):
                if value is not None:
                    raise QuestionError(field, value, "needs unit=", "name the column that identifies a person")
            return ()
        readings: tuple[Reading | KeyTally, ...] = (tally,) if isinstance(tally, KeyTally) else tally.readings
        chosen = self.reduce or _default(readings[0])
        known = _RULES[type(readings[0])]
        if chosen not in known:
            way_out = f"the rules are {', '.join(known)}"
            raise QuestionError("reduce", self.reduce, "is not a rule for this question", way_out)
        if (chosen == "first") != (self.reduce_order is not None):
            remedy = "name the column that orders a person's rows, with reduce='first'"
            raise QuestionError("reduce_order", self.reduce_order, "goes with reduce='first' and only with it", remedy)
        if chosen == "first":
            return (chosen,) * len(readings)
        return tuple(chosen if _RULES[type(one)] is known else _default(one) for one in readings)


def _default(reading: Reading | KeyTally) -> Rule:
    if isinstance(reading, Grid):
        rule = f"does not say how several values of {reading.column} become one for each person"
        raise QuestionError("reduce", None, rule, f"choose one of {', '.join(_NUMBER)}")
    return _RULES[type(reading)][0]
