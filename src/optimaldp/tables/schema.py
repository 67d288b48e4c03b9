"""What is public about a table: the names and types of its columns, and how a cell of text is read.

A CSV has no types, and its rows must not decide any. So a column of text is *open*: the question says how a cell is read, by what
it is compared with; or a type is declared for it. What does not fit is NULL, alone.
"""

from __future__ import annotations

import dataclasses
import datetime
import difflib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from optimaldp.errors import QuestionError, printable
from optimaldp.tables.canonical import Kind, day_of, moment_of, number_of
from optimaldp.tables.sql import SqlTable, Value
from optimaldp.tables.tally import Edge, Option

if TYPE_CHECKING:
    from optimaldp.tables.description import Field

Meaning = Literal["open", "text", "number", "whole", "date", "time", "truth"]

WORDS: dict[Kind, str] = {
    "text": "text",
    "whole": "whole numbers",
    "real": "numbers",
    "truth": "true or false",
    "date": "dates",
    "time": "points in time",
    "other": "values of another kind",
}
KINDS: dict[Meaning, Kind] = {
    "open": "text",
    "text": "text",
    "number": "real",
    "whole": "whole",
    "date": "date",
    "time": "time",
    "truth": "truth",
}


@dataclass(frozen=True)
class Cell:
    """What the cells of a column of text mean, and how they are written."""

    meaning: Meaning
    form: tuple[str, ...] = ()
    """Numbers: the marks of thousands and of decimals. Dates and times: the format. Truth: the words for true and false."""
    words: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """Truth: the texts for true and for false, exactly."""
    missing: tuple[str, ...] = ()
    """Texts that stand for no value."""
    only: tuple[Option, ...] | None = None
    """The values that there are, where any other cell is read as *otherwise*."""
    otherwise: Option | Edge | None = None
    """What a cell without a value is read as."""

    def value(self, text: Value) -> Value:
        """The cells as values; no value where a cell does not fit, unless *otherwise* says what it is read as."""
        write = text.dialect
        if self.missing:
            text = write.cases((~text.isin(self.missing), text))
        value = self._value(text)
        only = None if self.meaning == "truth" else self.only
        return known(value, only, self.otherwise, exact=self.meaning != "number")

    def _value(self, text: Value) -> Value:
        if self.meaning in ("open", "text"):
            return text
        form = self.form[0] if self.form else None
        if self.meaning == "date":
            return day_of(text, form)
        if self.meaning == "time":
            return moment_of(text, form)
        if self.meaning != "truth":
            marks = (self.form[0], self.form[1]) if self.form else None
            return number_of(text, marks, whole=self.meaning == "whole")
        if self.words is not None:
            yes, no = (text.isin(words) for words in self.words)
        else:
            lowered = text.lower()
            yes, no = (lowered == word.lower() for word in self.form or ("true", "false"))
        return text.dialect.cases((yes, True), (no, False))


def known(value: Value, only: tuple[Option, ...] | None, otherwise: Option | Edge | None, *, exact: bool) -> Value:
    """A value that is never missing where *otherwise* says what it is read as, nor another one than *only* these."""
    if otherwise is None:
        return value
    if only is not None:
        return value.dialect.cases((value.isin(only), value), else_=otherwise)
    return value.fill_null(as_number(otherwise, exact=exact))


def as_number(value: Option | Edge, *, exact: bool = True) -> Any:
    """A public value as the engine compares it: days for dates, microseconds for times, else itself or a double."""
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    if isinstance(value, Fraction):
        return int(value) if exact else float(value)
    return value


@dataclass(frozen=True)
class ColumnType:
    """The type of a column: its kind, the engine's name for it, and the options that it lists, if it lists any."""

    kind: Kind
    name: str
    options: tuple[Option, ...] | None = None
    cell: Cell | None = None
    """For columns that are stored as text: what a cell means."""
    required: bool = False
    """Whether the schema rules out that a value is missing."""
    field: Field | None = None
    """What the description says about it: its options, range and step, and how its cells are written."""

    @property
    def words(self) -> str:
        return WORDS[self.kind]

    def read_as(self, meaning: Meaning) -> ColumnType:
        """An open column as the question reads it; any other column as it is."""
        if self.cell is None or not self.open:
            return self
        return dataclasses.replace(of_cell(dataclasses.replace(self.cell, meaning=meaning)), field=self.field)

    @property
    def open(self) -> bool:
        """Whether nothing says how a cell is read but the question."""
        return self.cell is not None and self.cell.meaning == "open"

    def value(self, table: SqlTable, name: str) -> Value:
        """The canonical value of the column of this type in a table."""
        if self.cell is not None:
            return self.cell.value(table[name])
        if self.field is None or not self.required:
            return table[name]
        only = None if self.kind == "truth" else self.field.options
        return known(table[name], only, self.field.otherwise, exact=self.kind != "real")

    @property
    def largest_whole(self) -> float:
        """What bounds the size of every value of a whole-number type before any is read."""
        if self.kind != "whole":
            return math.inf
        bits = int("".join(letter for letter in self.name if letter.isdigit()) or 64)
        return 2.0**bits if self.name.startswith("u") else 2.0 ** (bits - 1)

    @property
    def steps(self) -> tuple[Fraction, Fraction, Fraction] | None:
        """The range and the step that the description of a number names."""
        return None if self.field is None or self.options is not None else self.field.steps

    @property
    def described_options(self) -> tuple[Option, ...] | None:
        """The values that the description lists, beside which nobody has any."""
        return None if self.field is None or self.kind == "truth" else self.field.options

    @property
    def way_out(self) -> str:
        """What to write where the values of a column are not known."""
        if self.kind in ("text", "truth"):
            return "write the options out: they are never taken from the data"
        return "write its options or bins out, or describe its least and greatest value and a step"

    @property
    def zoned(self) -> bool:
        return self.name.startswith("timestamp('")


@dataclass(frozen=True)
class Schema:
    """The columns of a table in their order.

    >>> schema = Schema((("age", ColumnType("whole", "int64")),))
    >>> schema.find("AGE")
    ('age', ColumnType(kind='whole', name='int64', options=None, cell=None, required=False, field=None))
    """

    columns: tuple[tuple[str, ColumnType], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> ColumnType:
        return self.find(name)[1]

    def find(self, name: str, *, field: str = "column", exactly: bool = False) -> tuple[str, ColumnType]:
        """A column in the table's own spelling, with its type: its exact name, or the only one that differs in case alone."""
        columns = dict(self.columns)
        if name in columns:
            return name, columns[name]
        similar = [] if exactly else [own for own in columns if own.casefold() == name.casefold()]
        if len(similar) == 1:
            return similar[0], columns[similar[0]]
        rule = "could be several columns" if similar else "is not a column of the table"
        raise QuestionError(field, name, rule, self._way_out(name, similar, in_a_condition=field == "predicate"))

    def _way_out(self, name: str, similar: list[str], *, in_a_condition: bool) -> str:
        if similar:
            return f"write it exactly and in double quotes: {', '.join(similar)}"
        close = difflib.get_close_matches(name, self.names, n=1)
        if close:
            return f"did you mean {close[0]}?{' (text goes into single quotes)' if in_a_condition else ''}"
        listed = f"the columns are {', '.join(self.names[:20])}{' …' if len(self) > 20 else ''}"
        return f"if it is text, put it into single quotes: '{name}'; {listed}" if in_a_condition else listed


_BLANKS = "\u00a0\u202f\u2009"  # that people type, or paste


def unique_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, each once (engines do not tell upper from lower case): a second "age" is "age_2".

    What would steer a terminal is written out: names come from files, and questions, warnings and documents repeat them.
    """
    used: dict[str, str] = {}
    for place, name in enumerate(names):
        own = wanted = (
            "".join(one if one in _BLANKS else printable(one).replace("\n", "\\n") for one in name)
            or f"column{place + 1}"
        )
        number = 2
        while own.casefold() in used:
            own, number = f"{wanted}_{number}", number + 1
        used[own.casefold()] = own
    return tuple(used.values())


def of_cell(cell: Cell) -> ColumnType:
    """The type of a column of text whose cells have a meaning; truth values list their options themselves."""
    name = "int64" if cell.meaning == "whole" else "text" if cell.meaning == "open" else cell.meaning
    return ColumnType(KINDS[cell.meaning], name, (False, True) if cell.meaning == "truth" else None, cell)


OPEN = of_cell(Cell("open"))
"""The type of a column without one: text, and the question says how a cell is read."""
OBJECTS = dataclasses.replace(OPEN, name="objects")
"""The same for columns of objects, whose texts depend on how they are kept: what they are is asked for where it shows."""
