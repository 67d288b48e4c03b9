"""From a reading to a number for each row, as Ibis expressions checked against the schema before anything is read."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.tables import engines, stepping, terms
from optimaldp.tables.celltext import Meaning
from optimaldp.tables.comparing import moment, moment_literal
from optimaldp.tables.engines import writer
from optimaldp.tables.predicates import parse_predicate
from optimaldp.tables.schema import ColumnType, Schema
from optimaldp.tables.tally import EVERY_RECORD, Bins, Condition, Edge, Grid, Option, Options, Reading, Steps
from optimaldp.tables.terms import Build, Term

_MANY_LISTED = 500  # options: from here on writing them into a query takes longer than the query


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
        return _condition(reading, schema)
    if isinstance(reading, Options):
        return _options(reading, schema)
    if isinstance(reading, Bins):
        return _bins(reading, schema)
    return _steps(reading, schema)


def _always(table: object) -> Any:
    return writer(table).literal(True)


def _condition(reading: Condition, schema: Schema) -> Numbered:
    def number(key: object) -> Any:
        return writer(key).cases((key, 0), else_=1)

    if reading.text == EVERY_RECORD:
        return Numbered(2, _always, number)
    # Not Predicate.on: a filtered count passes over NULL by itself, and turning it into FALSE costs a quarter of the query.
    return Numbered(2, parse_predicate(reading.text, schema).build, number)


def _options(reading: Options, schema: Schema) -> Numbered:
    name, column = schema.find(reading.column)
    options = _values(reading, name, column)
    column = column.read_as(_meaning(options))
    last = len(options)
    many = last > terms.MANY and terms.can_list(column.kind, column.largest_whole)
    _check_listed(options, name, column)
    literals = [] if many else [_option_literal(option, name, column) for option in options]

    def number(key: Any) -> Any:
        if many:
            return _place_in_list(key, options, column).fill_null(last)
        return key.cases(*((literal.build(key), place) for place, literal in enumerate(literals)), else_=last)

    listed = options if reading.values is None else None
    return Numbered(last + 1, terms.column_term(name, column, name).build, number, listed)


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


def _meaning(options: tuple[Option, ...]) -> Meaning:
    """How the cells of an open column are read beside these options."""
    kinds: set[Meaning] = {_OPTION_MEANINGS[type(option)] for option in options}
    if len(kinds) > 1:
        raise QuestionError(
            "options", options, "are of several kinds", "write all as text in quotes, or all as numbers"
        )
    return kinds.pop()


_OPTION_MEANINGS: dict[type, Meaning] = {str: "text", int: "number", bool: "truth"}


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
        return moment(terms.literal_term("text", option, "string", option), "date")
    if column.kind in ("whole", "real") and isinstance(option, int) and not isinstance(option, bool):
        if not -(2**63) <= option < 2**63:
            raise QuestionError("options", option, "does not fit into 64 bits")
        whole = column.kind == "whole"
        if not whole and int(float(option)) != option:
            rule = f"is too large to be told from its neighbours in column {name}, which holds {column.words}"
            raise QuestionError("options", option, rule, "in a CSV, write it as text in quotes")
        return terms.literal_term(column.kind, option if whole else float(option), "int64" if whole else "float64", "")
    rule = f"is not an option of column {name}, which holds {column.words}"
    raise QuestionError("options", option, rule, "text goes into quotes, numbers do not")


def _truth(option: Option) -> bool | None:
    if isinstance(option, bool):
        return option
    return {"true": True, "false": False}.get(option.lower()) if isinstance(option, str) else None


def _bins(reading: Bins, schema: Schema) -> Numbered:
    name, stored = schema.find(reading.column)
    column = stored.read_as(_edge_meaning(reading.edges))
    edges = _edges(reading, name, column)
    last = len(edges) - 1

    def key(table: object) -> Any:
        write = writer(table)
        value = stepping.exact_value(table, name, column)
        missing = value.isnull() | value.isnan() if value.type().is_floating() else value.isnull()
        below = [(_is_below(value, edge, column), place) for place, edge in enumerate(edges[1:-1])]
        return write.cases((missing, last), *below, else_=last - 1)

    return Numbered(last + 1, key, lambda key: key.fill_null(last))


def _edge_meaning(edges: tuple[Edge, ...]) -> Meaning:
    """How the cells of an open column are read beside these edges."""
    if any(isinstance(edge, datetime.datetime) for edge in edges):
        return "time"
    return "date" if any(isinstance(edge, datetime.date) for edge in edges) else "number"


def _edges(reading: Bins, name: str, column: ColumnType) -> tuple[Edge, ...]:
    edges = tuple(_edge(edge, name, column) for edge in reading.edges)
    if len(edges) < 2 or any(low >= high for low, high in itertools.pairwise(edges)):  # type: ignore[operator]
        shown = [str(edge) for edge in edges]
        raise QuestionError("bins", shown, "are not at least two increasing edges", "for example 0, 18, 65, 120")
    return edges


def _edge(edge: Edge, name: str, column: ColumnType) -> Edge:
    """An edge of the column's kind; a date beside points in time is its midnight."""
    if isinstance(edge, datetime.datetime):
        fits = column.kind == "time"
        if edge.tzinfo is not None:
            raise QuestionError("bins", str(edge), "names a time zone", "leave it out: times are compared as UTC")
    elif isinstance(edge, datetime.date):
        fits = column.kind in ("date", "time")
        if column.kind == "time":
            edge = datetime.datetime(edge.year, edge.month, edge.day)
    else:
        fits = column.kind in ("whole", "real")
    if not fits:
        remedy = "bins are numbers beside numbers, dates beside dates, points in time beside points in time"
        raise QuestionError("bins", str(edge), f"does not fit column {name}, which holds {column.words}", remedy)
    return edge


def _is_below(value: Any, edge: Edge, column: ColumnType) -> Any:
    """Whether a column is below an edge: exact for whole numbers and decimals, beside the nearest double for doubles."""
    write = writer(value)
    if isinstance(edge, datetime.date):
        return value < moment_literal(edge, value, zoned=column.zoned)
    dtype = value.type()
    if dtype.is_floating():
        return value < write.literal(float(edge), type="float64")
    if dtype.is_decimal():
        # For x with s digits: x < edge exactly when x < edge rounded up to s digits.
        units, limit = math.ceil(edge * 10**dtype.scale), 10**38 - 1
        least = Decimal(max(units, -limit)).scaleb(-dtype.scale, stepping.WIDE)
        # By way of a text: a negative literal of more than 28 digits would be rounded on its way into the query.
        exact = write.literal(format(least, "f")).cast(f"decimal(38, {dtype.scale})")
        return value < exact if units <= limit else write.literal(True)
    # For whole x: x < edge exactly when x < ceil(edge); beyond the largest number every x is.
    kind, low, high = ("uint64", 0, 2**64 - 1) if dtype.is_uint64() else ("int64", -(2**63), 2**63 - 1)
    above = math.ceil(edge)
    return value < write.literal(max(above, low), type=kind) if above <= high else write.literal(True)


def _steps(reading: Steps | Grid, schema: Schema) -> Numbered:
    name, stored = schema.find(reading.column)
    column = stored.read_as(_edge_meaning((reading.low, reading.high)))
    low, high = _edge(reading.low, name, column), _edge(reading.high, name, column)
    stepping.check(low, high, reading.step, name)
    if isinstance(reading, Grid):
        # Rounding half up to low + k·step is the bin [low + (k - ½)·step, low + (k + ½)·step).
        bins, low = reading.points, reading.low - reading.step / 2
    else:
        bins = Steps(name, low, high, reading.step).bins
    build = stepping.bin_number(name, column, low, reading.step, bins)
    return Numbered(bins + 1, build, lambda key: key.fill_null(bins))
