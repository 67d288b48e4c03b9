"""From a reading to a number for each row, as expressions that are checked against the schema before anything is read.

A condition is SQL: its text is parsed by sqlglot, typed against the table's public schema and rebuilt as an expression;
everything that is not on a short list is refused by name. No part of it ever reaches an engine as text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from optimaldp.errors import QuestionError
from optimaldp.tables import terms
from optimaldp.tables.binning import binned
from optimaldp.tables.schema import ColumnType, Meaning, Schema, as_number
from optimaldp.tables.sql import SqlTable, Value
from optimaldp.tables.tally import EVERY_RECORD, Condition, Option, Options, Reading
from optimaldp.tables.terms import Build, Term

_MANY_LISTED = 500  # options: from here on they are joined as a table
# How the cells of an open column are read beside options of that type.
_MEANINGS: dict[type, Meaning] = {str: "text", int: "number", bool: "truth"}


def _itself(value: Value) -> Value:
    return value


@dataclass(frozen=True)
class Numbered:
    """How a reading is computed: *value* is read of each row, *key* is what rows are grouped by, *number* numbers keys from 0."""

    kind: Literal["condition", "category", "number"]
    size: int
    value: Build
    number: Callable[[Value], Value]
    """No value, which a row that does not speak has, is the last number."""
    key: Callable[[Value], Value] = _itself
    columns: tuple[str, ...] = ()
    options: tuple[Option, ...] | None = None
    """The options that the column's type listed, when the question left them out."""
    listed: tuple[str, ...] | tuple[int, ...] | None = None
    """Options that are so many that they are joined: the number of a key is its place among them."""

    @property
    def last(self) -> int:
        return self.size - 1


def numbered(reading: Reading, schema: Schema) -> Numbered:
    """A reading checked against the schema."""
    if isinstance(reading, Condition):
        if reading.text == EVERY_RECORD:
            return Numbered("condition", 2, lambda table: table.dialect.literal(True), _yes_no)
        # Not Predicate.on: a filtered count passes over NULL by itself, and turning it into FALSE costs a quarter of the query.
        holds = parse_predicate(reading.text, schema)
        return Numbered("condition", 2, holds.build, _yes_no, columns=holds.columns)
    if isinstance(reading, Options):
        return _options(reading, schema)
    name, stored = schema.find(reading.column)
    size, column, place = binned(reading, name, stored)
    return Numbered(
        "number",
        size,
        lambda table: column.value(table, name),
        lambda key: key.fill_null(size - 1),
        place,
        (name,),
    )


def _yes_no(key: Value) -> Value:
    return key.dialect.cases((key, 0), else_=1)


@dataclass(frozen=True)
class Predicate:
    """A checked predicate: its text, the columns that it names, and how to build it on a table."""

    text: str
    columns: tuple[str, ...]
    build: Build = field(repr=False, compare=False)

    def on(self, table: SqlTable) -> Value:
        """The predicate as an expression that is never NULL: where it is unknown it does not hold."""
        return self.build(table).fill_null(False)


def parse_predicate(text: str, schema: Schema) -> Predicate:
    """Check a SQL predicate against a schema, before anything is read.

    **Guarantee.** The expression consists of the schema's columns, literals, comparisons, ``and or not in between like is``,
    arithmetic and a short list of functions; it is typed; and it does not raise errors on some rows but not on others.

    >>> from optimaldp.tables.schema import ColumnType
    >>> schema = Schema((("age", ColumnType("whole", "int64")), ("order", ColumnType("text", "string"))))
    >>> parse_predicate("age between 18 and 65 and order = 'it''s'", schema).columns
    ('age', 'order')
    """
    from optimaldp.tables.grammar import Reader, no_condition, parse  # with sqlglot

    reader = Reader(schema)
    try:
        term = reader.read(parse(text))
    except RecursionError:
        term = None
    if term is None:
        raise nested_too_deeply(text)
    if term.kind != "truth":
        raise no_condition(term)
    if not reader.named:
        raise QuestionError("predicate", text, "names no column", "a predicate says something about each person")
    return Predicate(text, tuple(reader.named), term.build)


def nested_too_deeply(text: str) -> QuestionError:
    """What an expression that is nested too deeply for Python is refused with, like any other."""
    return QuestionError("predicate", text, "is nested too deeply", "write a list with IN, or ask a simpler question")


def _options(reading: Options, schema: Schema) -> Numbered:
    name, column = schema.find(reading.column)
    options = _values(reading, name, column)
    meanings: set[Meaning] = {_MEANINGS[type(option)] for option in options}
    if len(meanings) > 1:
        remedy = "write all as text in quotes, or all as numbers"
        raise QuestionError("options", options, "are of several kinds", remedy)
    _check_described(options, name, column)
    column = column.read_as(meanings.pop())
    listed = options if reading.values is None else None
    last = len(options)

    def value(table: SqlTable) -> Value:
        return column.value(table, name)

    if last > terms.MANY and terms.can_list(column.kind, column.largest_whole):
        _check_listed(options, name, column)
        if last > _MANY_LISTED:
            return Numbered("category", last + 1, value, _itself, _itself, (name,), listed, options)  # type: ignore[arg-type]
        return Numbered("category", last + 1, value, lambda key: _place_in(key, options), _itself, (name,), listed)
    literals = [(_option_literal(option, name, column), place) for place, option in enumerate(options)]

    def number(key: Value) -> Value:
        written = [(key == key.dialect.literal(as_number(one.literal)), place) for one, place in literals]
        return key.dialect.cases(*written, else_=last)

    return Numbered("category", last + 1, value, number, _itself, (name,), listed)


def _place_in(key: Value, options: tuple[Option, ...]) -> Value:
    written = [(key == key.dialect.literal(option), place) for place, option in enumerate(options)]
    return key.dialect.cases(*written, else_=len(options))


def _check_described(options: tuple[Option, ...], name: str, column: ColumnType) -> None:
    """Refuse an option that the description does not list: nobody has it, so the answer would be a coin toss."""
    known = None if column.field is None or column.kind == "truth" else column.field.options
    if known is None:
        return
    for option in options:
        if option not in known:
            listed = f"{', '.join(map(str, known[:10]))}{' …' if len(known) > 10 else ''}"
            raise QuestionError(
                "options", option, f"is not among the values that the description lists for {name}", listed
            )


def _check_listed(options: tuple[Option, ...], name: str, column: ColumnType) -> None:
    """Refuse an option that does not fit the column: one look at each where there may be 100,000."""
    fitting = {"text": str, "whole": int}.get(column.kind)
    for option in options:
        if type(option) is not fitting or (fitting is int and not -(2**63) <= int(option) < 2**63):
            _option_literal(option, name, column)


def _values(reading: Options, name: str, column: ColumnType) -> tuple[Option, ...]:
    """The public options: written out, or listed by the column's type. Never taken from the data."""
    options = column.options if reading.values is None else reading.values
    if options is None:
        rule = f"is a column of type {column.name}, which does not list its options"
        raise QuestionError("column", name, rule, "write the options out: they are never taken from the data")
    if not options:
        raise QuestionError("options", options, "are empty", "write out at least one option")
    known: set[tuple[type, Option]] = set()
    for option in options:
        if (type(option), option) in known:
            raise QuestionError("options", option, "is listed twice", "list every option once")
        known.add((type(option), option))
    return tuple(options)


def _option_literal(option: Option, name: str, column: ColumnType) -> Term:
    """An option as a literal of the column's kind, or a refusal before anything is read."""
    if column.kind == "truth" and _truth(option) is not None:
        return terms.literal_term("truth", _truth(option), "")
    if column.kind == "text" and isinstance(option, str):
        return terms.literal_term("text", option, str(option))
    if column.kind == "date" and isinstance(option, str):
        return terms.moment(terms.literal_term("text", option, option), "date")
    if column.kind in ("whole", "real") and isinstance(option, int) and not isinstance(option, bool):
        if not -(2**63) <= option < 2**63:
            raise QuestionError("options", option, "does not fit into 64 bits")
        if column.kind == "whole":
            return terms.literal_term("whole", option, "")
        if int(float(option)) != option:
            rule = f"is too large to be told from its neighbours in column {name}, which holds {column.words}"
            raise QuestionError("options", option, rule, "in a CSV, write it as text in quotes")
        return terms.number_term(float(option), "")
    rule = f"is not an option of column {name}, which holds {column.words}"
    raise QuestionError("options", option, rule, "text goes into quotes, numbers do not")


def _truth(option: Option) -> bool | None:
    if isinstance(option, bool):
        return option
    return {"true": True, "false": False}.get(option.lower()) if isinstance(option, str) else None
