"""From a reading to a number for each row, as expressions that are checked against the schema before anything is read.

A condition is SQL: its text is parsed by sqlglot, typed against the table's public schema and rebuilt as an expression;
everything that is not on a short list is refused by name. No part of it ever reaches an engine as text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.tables import binning, engines, terms
from optimaldp.tables.engines import writer
from optimaldp.tables.schema import ColumnType, Meaning, Schema
from optimaldp.tables.tally import EVERY_RECORD, Bins, Condition, Option, Options, Reading
from optimaldp.tables.terms import Build, Term

_MANY_LISTED = 500  # options: from here on writing them into a query takes longer than the query
# How the cells of an open column are read beside options of that type.
_MEANINGS: dict[type, Meaning] = {str: "text", int: "number", bool: "truth"}


@dataclass(frozen=True)
class Numbered:
    """How a reading is computed: *key* is read of each row, *number* turns keys into 0 … size - 1."""

    size: int
    key: Build
    number: Callable[[Any], Any]
    """NULL, which a row that does not speak has, is the last number."""
    options: tuple[Option, ...] | None = None
    """The options that the column's type listed, when the question left them out."""

    @property
    def last(self) -> int:
        return self.size - 1


def numbered(reading: Reading, schema: Schema) -> Numbered:
    """A reading checked against the schema."""
    if isinstance(reading, Condition):
        # Not Predicate.on: a filtered count passes over NULL by itself, and turning it into FALSE costs a quarter of the query.
        holds = _always if reading.text == EVERY_RECORD else parse_predicate(reading.text, schema).build
        return Numbered(2, holds, lambda key: writer(key).cases((key, 0), else_=1))
    if isinstance(reading, Options):
        return _options(reading, schema)
    size, key = binning.bins(reading, schema) if isinstance(reading, Bins) else binning.steps(reading, schema)
    return Numbered(size, key, lambda key: key.fill_null(size - 1))


def _always(table: object) -> Any:
    return writer(table).literal(True)


@dataclass(frozen=True)
class Predicate:
    """A checked predicate: its text, the columns that it names, and how to build it on an Ibis table."""

    text: str
    columns: tuple[str, ...]
    build: Build = field(repr=False, compare=False)

    def on(self, table: object) -> Any:
        """The predicate as an Ibis expression that is never NULL: where it is unknown it does not hold."""
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
    column = column.read_as(meanings.pop())
    key = terms.column_term(name, column, name).build
    listed = options if reading.values is None else None
    last = len(options)
    if last > terms.MANY and terms.can_list(column.kind, column.largest_whole):
        _check_listed(options, name, column)
        return Numbered(last + 1, key, lambda key: _place_in_list(key, options, column).fill_null(last), listed)
    literals = [(_option_literal(option, name, column).build, place) for place, option in enumerate(options)]
    return Numbered(
        last + 1, key, lambda key: key.cases(*((build(key), place) for build, place in literals), else_=last), listed
    )


def _check_listed(options: tuple[Option, ...], name: str, column: ColumnType) -> None:
    """Refuse an option that does not fit the column: one look at each where there may be 100,000."""
    fitting = {"text": str, "whole": int}.get(column.kind)
    for option in options:
        if type(option) is not fitting or (fitting is int and not -(2**63) <= int(option) < 2**63):
            _option_literal(option, name, column)


def _place_in_list(key: object, options: tuple[Option, ...], column: ColumnType) -> Any:
    """The place of a key among many options; NULL for none of them."""
    wide = _wide(key)
    if len(options) > _MANY_LISTED and engines.can_look_up(key):
        return engines.look_up(column.kind, options, wide)
    if len(options) > _MANY_LISTED and (place := engines.place_by_name(key, options)) is not None:
        return place
    # Found at -1 means not found; one list is one node, where ten thousand cases take Ibis many seconds.
    return terms.listing(column.kind, list(options), wide).index(wide).nullif(-1)


def _wide(value: Any) -> Any:
    """Whole numbers with 64 bits, as in a list of literals."""
    return value.cast("int64") if value.type().is_integer() else value


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
        return terms.literal_term("truth", _truth(option), "boolean", "")
    if column.kind == "text" and isinstance(option, str):
        return terms.literal_term("text", option, "string", "")
    if column.kind == "date" and isinstance(option, str):
        return terms.moment(terms.literal_term("text", option, "string", option), "date")
    if column.kind in ("whole", "real") and isinstance(option, int) and not isinstance(option, bool):
        if not -(2**63) <= option < 2**63:
            raise QuestionError("options", option, "does not fit into 64 bits")
        if column.kind == "whole":
            return terms.literal_term("whole", option, "int64", "")
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
