"""What is public about a table: the names and types of its columns, and how a cell of text is read.

A CSV has no types, and its rows must not decide any. So a column of text is *open*: the question says how a cell is read, by what
it is compared with; or a type is declared for it. What does not fit is NULL, alone.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from optimaldp.errors import QuestionError
from optimaldp.tables.engines import engine_name, parsed_moment, writer
from optimaldp.tables.tally import Option

Kind = Literal["text", "whole", "real", "truth", "date", "time", "other"]
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
_EXPONENT = "([eE][+-]?[0-9]+)?"
_NUMBER = f"^[+-]?[0-9]+([.][0-9]+)?{_EXPONENT}$"
_WHOLE = "^[+-]?[0-9]+$"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DATE = f"^{_DAY}$"
_TIME = f"^{_DAY}([ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,6}})?)?)?$"
_SURE_NUMBER = "^[+-]?[0-9]{1,90}([.][0-9]{1,90})?([eE][+-]?[0-9]{1,2})?$"
_SURE_WHOLE = "^[+-]?[0-9]{1,18}$"


@dataclass(frozen=True)
class Cell:
    """What the cells of a column of text mean, and how they are written."""

    meaning: Meaning
    form: tuple[str, ...] = ()
    """Numbers: the marks of thousands and of decimals. Dates and times: the format. Truth: the words for true and false."""
    sure: bool = field(default=False, repr=False)
    """Whether only what surely fits is cast: servers have no cast that gives NULL."""

    def value(self, text: Any) -> Any:
        """The cells as values; NULL where a cell does not fit."""
        if self.meaning in ("open", "text"):
            return text
        if self.meaning == "truth":
            yes, no = self.form or ("true", "false")
            lowered = text.lower()
            return writer(text).cases((lowered == yes.lower(), True), (lowered == no.lower(), False))
        if self.meaning in ("date", "time"):
            return self._moment(text)
        if self.form:
            text = _plain_number(text, *self.form)
        whole = self.meaning == "whole"
        dtype = "int64" if whole else "float64"
        if self.sure:
            return writer(text).cases((text.re_search(_SURE_WHOLE if whole else _SURE_NUMBER), text.cast(dtype)))
        # Of a cell in another form nothing is left, and nothing is no number.
        return text.re_extract(_WHOLE if whole else _NUMBER, 0).try_cast(dtype)

    def _moment(self, text: Any) -> Any:
        if self.form:
            return parsed_moment(text, self.form[0]).cast("date" if self.meaning == "date" else "timestamp")
        if self.meaning == "date":
            return text.re_extract(_DATE, 0).try_cast("date")
        return text.re_extract(_TIME, 0).try_cast("timestamp")


def _plain_number(text: Any, thousands: str, decimal: str) -> Any:
    """A number with marks between thousands and its own decimal mark, as one without; NULL where it is neither."""
    write = writer(text)
    group, point = re.escape(thousands), re.escape(decimal)
    grouped = f"[0-9]{{1,3}}({group}[0-9]{{3}})+|" if thousands else ""
    pattern = f"^[+-]?({grouped}[0-9]+)({point}[0-9]+)?{_EXPONENT}$"
    plain = text.replace(thousands, "") if thousands else text
    plain = plain if decimal == "." else plain.replace(decimal, ".")
    return write.cases((text.re_search(pattern), plain))


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

    @property
    def words(self) -> str:
        return WORDS[self.kind]

    def read_as(self, meaning: Meaning) -> ColumnType:
        """An open column as the question reads it; any other column as it is."""
        return _READ[meaning] if self == OPEN else self

    def value(self, table: Any, name: str) -> Any:
        """The column of this type on an Ibis table."""
        if self.cell is not None:
            return self.cell.value(table[name])
        return _in_microseconds(table[name]) if self.kind == "time" else table[name]

    @property
    def largest_whole(self) -> float:
        """What bounds the size of every value of a whole-number type before any is read."""
        if self.kind != "whole":
            return math.inf
        bits = int("".join(letter for letter in self.name if letter.isdigit()) or 64)
        return 2.0**bits if self.name.startswith("u") else 2.0 ** (bits - 1)

    @property
    def zoned(self) -> bool:
        return self.name.startswith("timestamp('")


@dataclass(frozen=True)
class Schema:
    """The columns of a table in their order.

    >>> schema = Schema((("age", ColumnType("whole", "int64")),))
    >>> schema.find("AGE")
    ('age', ColumnType(kind='whole', name='int64', options=None, cell=None, required=False))
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


def _in_microseconds(value: Any) -> Any:
    """Points in time in DuckDB's usual unit; NULL where it cannot hold one, on which a comparison would fail."""
    if engine_name(value) != "duckdb" or value.type().scale not in (0, 3, 9):
        return value
    return value.try_cast("timestamp")


def unique_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, each once (engines do not tell upper from lower case): a second "age" is "age_2"."""
    used: dict[str, str] = {}
    for place, name in enumerate(names):
        own = wanted = name or f"column{place + 1}"
        number = 2
        while own.casefold() in used:
            own, number = f"{wanted}_{number}", number + 1
        used[own.casefold()] = own
    return tuple(used.values())


def of_cell(cell: Cell) -> ColumnType:
    """The type of a column of text whose cells have a meaning; truth values list their options themselves."""
    name = "int64" if cell.meaning == "whole" else "text" if cell.meaning == "open" else cell.meaning
    return ColumnType(KINDS[cell.meaning], name, (False, True) if cell.meaning == "truth" else None, cell)


_READ: dict[Meaning, ColumnType] = {meaning: of_cell(Cell(meaning)) for meaning in KINDS}
OPEN = _READ["open"]
"""The type of a column without one: text, and the question says how a cell is read."""


def column_type(dtype: object, options: tuple[Option, ...] | None = None) -> ColumnType:
    """The column type for a data type of Ibis; booleans list their options themselves."""
    kind = _kind(dtype)
    if kind == "truth":
        options = (False, True)
    return ColumnType(kind, str(dtype).lstrip("!"), options, required=not getattr(dtype, "nullable", True))


def _kind(dtype: object) -> Kind:
    tests: tuple[tuple[str, Kind], ...] = (
        ("is_boolean", "truth"),
        ("is_integer", "whole"),
        ("is_floating", "real"),
        ("is_decimal", "real"),
        ("is_string", "text"),
        ("is_date", "date"),
        ("is_timestamp", "time"),
    )
    return next((kind for test, kind in tests if getattr(dtype, test)()), "other")
