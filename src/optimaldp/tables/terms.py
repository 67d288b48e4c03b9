"""Typed terms: what a predicate is made of, checked before anything is read and built as expressions afterwards.

A term must not fail on some rows and succeed on others, because the failure itself would tell something about those rows. Both
sides of a comparison must be of one kind, and that is checked by type alone.
"""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.tables.canonical import LONGEST_CELL, Kind
from optimaldp.tables.schema import KINDS, WORDS, Cell, ColumnType, Meaning, as_number
from optimaldp.tables.sql import SqlTable, Value
from optimaldp.tables.tally import Option

Build = Callable[[SqlTable], Value]
"""From a table to a value of it."""

MEANINGS: dict[Kind, Meaning] = {
    "whole": "number",
    "real": "number",
    "text": "text",
    "truth": "truth",
    "date": "date",
    "time": "time",
}
"""How open text is read beside a value of that kind."""
_LATER: tuple[tuple[Kind, Kind], ...] = (("text", "date"), ("text", "time"), ("date", "time"))
"""Literals of the first kind that are of the second one beside it."""
_DECLARED = "--type age=number, or types={'age': 'number'}"


@dataclass(frozen=True)
class Term:
    """A typed part of a predicate. *largest* and *smallest* bound the size of its nonzero values, by type alone."""

    kind: Kind
    build: Build
    text: str
    largest: float = math.inf
    smallest: float = 0.0
    literal: Any = None
    zoned: bool = False
    open: bool = False
    """Whether it is text whose reading what it meets decides."""
    constant: bool = False
    """Whether no column is in it."""
    noted: Callable[[Meaning], None] | None = None
    """For open text: remembers how it is read."""
    listed: tuple[Option, ...] | None = None
    """Of a column: the values that its description lists."""
    holds: Build | None = None
    """Of a truth: what is true in just the same rows, where that is quicker; elsewhere it may be false instead of NULL."""

    @property
    def where_true(self) -> Build:
        return self.holds or self.build


def column_term(name: str, column: ColumnType, text: str) -> Term:
    """A column with a type."""
    bounds = (column.largest_whole, 1.0) if column.kind == "whole" else (math.inf, 0.0)
    zoned = column.kind == "time" and column.zoned
    listed = column.described_options
    return Term(column.kind, lambda table: column.value(table, name), text, *bounds, zoned=zoned, listed=listed)


def check_listed(column: Term, literal: Term) -> None:
    """Refuse a value that the description of the column does not list: nobody has it, so nobody would be counted."""
    if column.listed and type(literal.literal) is type(column.listed[0]) and literal.literal not in column.listed:
        shown = f"{', '.join(map(str, column.listed[:10]))}{' …' if len(column.listed) > 10 else ''}"
        rule = f"is not among the values that the description lists for {column.text}"
        raise QuestionError("predicate", literal.literal, rule, f"they are {shown}")


def read_as(term: Term, kind: Kind) -> Term:
    """The same term beside one of *kind*: open text as what it means there, whole numbers as doubles beside doubles."""
    if term.open:
        cell = Cell(MEANINGS[kind])
        if term.noted is not None:
            term.noted(cell.meaning)
        return Term(KINDS[cell.meaning], lambda table: cell.value(term.build(table)), term.text)
    if kind != "real" or term.kind != "whole":
        return term
    if term.literal is not None:
        return number_term(float(term.literal), term.text)
    return replace(term, kind="real", build=lambda table: term.build(table).cast("float64"))


def number_term(value: int | float | str, text: str) -> Term:
    """A number that the caller wrote, or its digits."""
    try:
        value = (int(value) if value.isdecimal() else float(value)) if isinstance(value, str) else value
    except ValueError:
        raise QuestionError("predicate", text, "is not a number") from None
    if value and not 1e-90 <= abs(value) <= 1e90:
        raise QuestionError("predicate", text, "is a number out of range", "numbers lie between 1e-90 and 1e90")
    size = float(abs(value))
    bounds = size, size or 1.0
    kind: Kind = "whole" if isinstance(value, int) and abs(value) < 2**63 else "real"
    written = value if kind == "whole" else float(value)
    return Term(kind, lambda table: table.dialect.literal(written), text, *bounds, written, constant=True)


def literal_term(kind: Kind, value: object, text: str) -> Term:
    """Text, true, false, a whole number, a date or a point in time that the caller wrote."""
    if isinstance(value, str) and "\0" in value:
        raise QuestionError("predicate", text, "holds a zero byte, which no text of a table has", "leave it out")
    written: Any = as_number(value) if isinstance(value, datetime.date) else value
    return Term(kind, lambda table: table.dialect.literal(written), text, literal=value, constant=True)


def sides(left: Term, right: Term, text: str) -> tuple[Term, Term]:
    """Two terms made comparable, by type alone.

    Open text is read as what is written beside it; a text literal beside dates or times, or a date beside times, is one; whole
    numbers stay exact beside whole ones. All else must agree.
    """
    made = []
    for term, other in ((left, right), (right, left)):
        if term.open:
            if other.open or not other.constant:
                rule = "compares columns, and nothing says how the cells of a column without a type are read"
                raise QuestionError("predicate", text, rule, f"declare types, for example {_DECLARED}")
            term = read_as(term, other.kind)
        elif term.literal is not None and (term.kind, other.kind) in _LATER:
            term = moment(term, other.kind)
        made.append(term)
    left, right = made
    if {left.kind, right.kind} == {"whole", "real"}:
        return read_as(left, "real"), read_as(right, "real")
    if left.kind != right.kind:
        raise _mixed(left, right, text)
    return left, right


def _mixed(left: Term, right: Term, text: str) -> QuestionError:
    remedy = f"text goes into single quotes, numbers do not; text that holds numbers is declared: {_DECLARED}"
    if {left.kind, right.kind} == {"text", "truth"}:
        remedy = (
            "a column of true and false is a condition by itself (smokes, NOT smokes); text goes into single quotes"
        )
    return QuestionError("predicate", text, f"compares {WORDS[left.kind]} with {WORDS[right.kind]}", remedy)


def moment(term: Term, kind: Kind) -> Term:
    """A literal as a date or a point in time; beside a column with a time zone it is UTC."""
    text = str(term.literal)
    try:
        value = datetime.datetime.fromisoformat(text)
        day = datetime.date.fromisoformat(text) if kind == "date" else None
    except ValueError:
        remedy = "write dates as 2024-01-31 and times as 2024-01-31 12:00:00"
        raise QuestionError("predicate", text, "is not a date or a point in time", remedy) from None
    if value.tzinfo is not None:
        raise QuestionError("predicate", text, "names a time zone", "leave it out: times are compared as UTC")
    return literal_term(kind, value if day is None else day, term.text)


def joined(word: str, parts: list[Term], text: str) -> Term:
    """And or or of many parts, as a balanced tree: a list of a thousand must not nest a thousand deep."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    left, right = joined(word, parts[:middle], text), joined(word, parts[middle:], text)
    combine = operator.and_ if word == "and" else operator.or_
    return Term(
        "truth",
        lambda table: combine(left.build(table), right.build(table)),
        text,
        holds=lambda table: combine(left.where_true(table), right.where_true(table)),
    )


def equal(left: Term, right: Term, text: str) -> Term:
    """Whether two terms are equal. A text that is longer than a cell may be is missing, and equals no literal anyway."""
    literal = next((term.literal for term in (left, right) if isinstance(term.literal, str)), None)
    short = left.kind == "text" and literal is not None and len(literal.encode(errors="surrogatepass")) <= LONGEST_CELL

    def holds(table: SqlTable) -> Value:
        first, second = (
            replace(value, text=value.stored or value.text) for value in (left.build(table), right.build(table))
        )
        return first == second  # writes a comparison

    build = lambda table: left.build(table) == right.build(table)  # noqa: E731
    return Term("truth", build, text, holds=holds if short else None)


MANY = 30  # literals: from here on they go to the engine as one list
# Not doubles: Spark's lists tell 0.0 from -0.0.
LISTED: tuple[Kind, ...] = ("text", "whole")


def can_list(kind: Kind, largest: float) -> bool:
    """Whether a value can be looked up in a list: numbers beyond 64 bits with a sign would fail to fit."""
    return kind in LISTED and (kind != "whole" or largest <= 2.0**63)
