"""What is public about a table: the names and types of its columns."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from optimaldp.errors import QuestionError
from optimaldp.tables.celltext import KINDS, Cell, Meaning
from optimaldp.tables.engines import engine_name
from optimaldp.tables.tally import Option

Kind = Literal["text", "whole", "real", "truth", "date", "time", "other"]

_WORDS: dict[Kind, str] = {
    "text": "text",
    "whole": "whole numbers",
    "real": "numbers",
    "truth": "true or false",
    "date": "dates",
    "time": "points in time",
    "other": "values of another kind",
}


def kind_words(kind: Kind) -> str:
    """A kind of value in words."""
    return _WORDS[kind]


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
        return _WORDS[self.kind]

    @property
    def open(self) -> bool:
        """Whether the question says how a cell is read."""
        return self.cell is not None and self.cell.meaning == "open"

    def read_as(self, meaning: Meaning) -> ColumnType:
        """An open column as the question reads it; any other column as it is."""
        return of_cell(Cell(meaning)) if self.open else self

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
