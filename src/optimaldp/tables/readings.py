"""Bins of a column, between edges that are written out or equal ones; and the points of a grid.

Equal bins are computed by arithmetic in the engine: a million of them cost as much as two, and no rounding decides an edge. Edges
are integers over one denominator, ``(first + k·width) / denominator``. Whole numbers (and dates and times, which are days and
microseconds) are compared with them in integers. A double is compared with the double nearest to each edge, which is what a list
of edges would do: the quotient of two integers below 2^53 is rounded once, so it *is* the nearest double.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Literal

from optimaldp.errors import QuestionError
from optimaldp.tables import terms
from optimaldp.tables.schema import ColumnType, Meaning, Schema, as_number
from optimaldp.tables.sql import SqlTable, Value
from optimaldp.tables.tally import (
    EVERY_RECORD,
    Bins,
    Condition,
    Edge,
    Grid,
    Option,
    Options,
    Reading,
    Step,
    Steps,
    steps_between,
)
from optimaldp.tables.terms import Build, Term

Place = Callable[[Value], Value]
"""From a canonical value to the number of its bin; no value where there is none, or where it is outside."""

MOST_BINS = 2**50
_FITS = 2**62  # integers below stay exact in the engine's 64 bits
EXACT_SUMS = 2**53  # sums of whole numbers below are exact in doubles
FEW_STEPS = 2**20  # steps of a number whose sums are exact for 2^33 people
_DOUBLE_FITS = 2**51  # below, the guess of a bin from doubles is off by one at most


def binned(reading: Bins | Steps | Grid, name: str, stored: ColumnType) -> tuple[int, ColumnType, Place]:
    """How many bins there are, with the last one for no value; the column as it is read; and the bin of a value of it."""
    if isinstance(reading, Bins):
        column = stored.read_as(_edge_meaning(reading.edges))
        edges = _edges(reading, name, column)
        numbers = [_comparable(edge, column) for edge in edges]
        ends = None if reading.clipped else (numbers[0], numbers[-1])
        return len(edges), column, lambda value: _within(value, ends, _between(value, numbers[1:-1]))
    column = stored.read_as(_edge_meaning((reading.low, reading.high)))
    low, high = _edge(reading.low, name, column), _edge(reading.high, name, column)
    check(low, high, reading.step, name)
    if isinstance(reading, Grid):
        # Rounding half up to low + k·step is the bin [low + (k - ½)·step, low + (k + ½)·step).
        low = reading.low - reading.step / 2
        return reading.points + 1, column, _stepped(column, low, reading.step, reading.points)
    bins = Steps(name, low, high, reading.step).bins
    place = _stepped(column, low, reading.step, bins)
    outside = None if reading.clipped else (_comparable(low, column), _comparable(high, column))
    return bins + 1, column, lambda value: _within(value, outside, place(value))


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


def _comparable(edge: Edge, column: ColumnType) -> int | float:
    """An edge as a column is compared with it: its ceiling for whole numbers, the nearest double for doubles."""
    if isinstance(edge, Fraction):
        return float(edge) if column.kind == "real" else math.ceil(edge)
    number: int = as_number(edge)
    return number


def _between(value: Value, inner: list[int | float]) -> Value:
    """The bin of a value between edges: the first edge that it is below."""
    write = value.dialect
    below = [(_is_below(value, edge), place) for place, edge in enumerate(inner)]
    # No value is asked for last: that is a tenth of the time of a long query.
    return write.cases(*below, (value.notnull(), len(inner)))


def _is_below(value: Value, edge: int | float) -> Value:
    """Whole numbers beyond 64 bits are above or below every value."""
    if isinstance(edge, int) and not -(2**63) <= edge < 2**63:
        return value.notnull() if edge > 0 else value.dialect.literal(False)
    return value < value.dialect.literal(edge)


def _within(value: Value, ends: tuple[int | float, int | float] | None, place: Value) -> Value:
    """The bin of a value; none outside of the ends, where values there are not clipped."""
    if ends is None:
        return place
    low, high = (max(-(2**63), min(2**63 - 1, end)) if isinstance(end, int) else end for end in ends)
    return value.dialect.cases((value.between(low, high), place))


def check(low: Edge, high: Edge, step: Step, name: str) -> None:
    """Reject invalid steps, before anything is read."""
    timed = isinstance(low, datetime.date)
    if timed != isinstance(step, datetime.timedelta):
        remedy = "a step between dates is a length of time, a step between numbers is a number"
        raise QuestionError("step", str(step), f"does not fit column {name}", remedy)
    if low >= high or step <= (datetime.timedelta(0) if timed else 0):  # type: ignore[operator]
        raise QuestionError("range", f"{low} to {high} by {step}", "does not rise", "write range=[0, 120], step=1")
    number = steps_between(low, high, step)
    if number.denominator != 1:
        rule = f"does not divide the range from {low} to {high}"
        raise QuestionError("step", str(step), rule, "choose a step that fits a whole number of times")
    if number > MOST_BINS:
        raise QuestionError("step", str(step), "makes more than 2^50 bins", "choose a larger step")


@dataclass(frozen=True)
class _Lattice:
    """The edges ``(first + k·width) / denominator`` for k = 0 … bins - 1: below the first counts into bin 0."""

    first: int
    width: int
    denominator: int
    bins: int

    @classmethod
    def of(cls, low: Fraction, step: Fraction, bins: int) -> _Lattice:
        denominator = math.lcm(low.denominator, step.denominator)
        return cls(int(low * denominator), int(step * denominator), denominator, bins)

    @property
    def top(self) -> int:
        """The numerator of the last bin's lower edge."""
        return self.first + (self.bins - 1) * self.width

    @property
    def bounds(self) -> tuple[int, int]:
        """The least whole number that is not below the first edge, and the least in the last bin."""
        return -(-self.first // self.denominator), -(-self.top // self.denominator)

    def need(self, limit: int, *, whole: bool) -> None:
        """Refuse edges whose integers the engine could not hold; *whole* if values are compared with them in integers."""
        largest = max(abs(self.first), abs(self.top) + self.width, self.denominator)
        product = max(map(abs, self.bounds)) * self.denominator + abs(self.first) if whole else 0
        if max(largest, product) >= limit:
            rule = "needs integers that are too large for the engine"
            raise QuestionError("step", f"{self.width}/{self.denominator}", rule, "choose a rounder range and step")


def _stepped(column: ColumnType, low: Edge, step: Step, bins: int) -> Place:
    """The number of the equal bin that a value is in, values outside clipped into the end bins."""
    if isinstance(low, datetime.date):
        unit = datetime.timedelta(days=1) if column.kind == "date" else datetime.timedelta(microseconds=1)
        assert isinstance(step, datetime.timedelta)
        if step % unit:
            raise QuestionError("step", str(step), "is not a number of whole days", "choose a longer step")
        low, step = Fraction(as_number(low)), Fraction(step // unit)
    assert isinstance(step, Fraction)
    lattice = _Lattice.of(Fraction(low), step, bins)
    doubles = column.kind == "real"
    lattice.need(_DOUBLE_FITS if doubles else _FITS, whole=not doubles)
    return lambda value: _in_doubles(value, lattice) if doubles else _in_integers(value, lattice)


def _in_integers(value: Value, lattice: _Lattice) -> Value:
    write = value.dialect
    low, high = lattice.bounds
    # Moved to the nearest number that is in the same bin and fits.
    clipped = write.cases((value < low, low), (value > high, high), (value.notnull(), value))
    above = clipped if lattice.denominator == 1 else clipped * lattice.denominator
    above = above - lattice.first if lattice.first else above
    number = above if lattice.width == 1 else above // lattice.width
    if (lattice.bounds[1] * lattice.denominator - lattice.first) // lattice.width < lattice.bins:
        return number
    # Where steps are narrower than the column's unit, the least value of the last bin may lie beyond it.
    return write.cases((number > lattice.bins - 1, lattice.bins - 1), (number.notnull(), number))


def _in_doubles(value: Value, lattice: _Lattice) -> Value:
    write = value.dialect
    denominator = float(lattice.denominator)
    low, high = lattice.first / lattice.denominator, lattice.top / lattice.denominator
    clipped = write.cases((value < low, low), (value > high, high), (value.notnull(), value))
    guess = (clipped * denominator - float(lattice.first)).in_steps(float(lattice.width)).floor().cast("int64")

    def edge(number: Value) -> Value:
        return (number * lattice.width + lattice.first).cast("float64") / denominator

    number = write.cases(
        (clipped < edge(guess), guess - 1), (clipped >= edge(guess + 1), guess + 1), (clipped.notnull(), guess)
    )
    return write.cases((number < 0, 0), (number > lattice.bins - 1, lattice.bins - 1), (number.notnull(), number))


# From a reading to a number for each row, as expressions that are checked against the schema before anything is read.
#
# A condition is SQL: its text is parsed by sqlglot, typed against the table's public schema and rebuilt as an expression;
# everything that is not on a short list is refused by name. No part of it ever reaches an engine as text.


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
    alone: Build | None = None
    """Of a condition: what is true in just the same rows, where nothing tells false from not known."""
    steps: Callable[[Value], Value] = _itself
    """Of a number that is summed: its steps, where no value adds nothing."""

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
        return Numbered("condition", 2, holds.build, _yes_no, columns=holds.columns, alone=holds.where_true)
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
        steps=partial(_steps, reading, column, place),
    )


def _steps(reading: Bins | Steps | Grid, column: ColumnType, place: Place, value: Value) -> Value:
    """The steps of a number, so that they add up exactly and quickly."""
    if not isinstance(reading, Grid) or reading.points >= FEW_STEPS:
        return place(value).cast("wide")
    if not _is_plain(reading):
        return place(value)
    if column.kind == "whole" and reading.step == reading.low.denominator == 1:
        return value.clipped(int(reading.low), int(reading.high)) - int(reading.low)
    return _half_up(value.cast("float64"), reading)


def _is_plain(grid: Grid) -> bool:
    """Whether the ends, the step and all borders between two steps are doubles."""
    numbers = (grid.low, grid.high, grid.step)
    halves = [2 * number / grid.step for number in (grid.low, grid.high)]
    return all(Fraction(float(number)) == number for number in numbers) and all(
        half.denominator == 1 and abs(half) < _DOUBLE_FITS for half in halves
    )


def _half_up(value: Value, grid: Grid) -> Value:
    """Rounding half up by one division, which is exact enough: a double below a border that is a double, divided by the step,
    stays below the whole number of half steps that the border is. No value is taken for the lowest, which adds no step."""
    clipped = value.clipped(float(grid.low), float(grid.high))
    halves = (clipped * 2.0).in_steps(float(grid.step)).floor()
    return ((halves + float(1 - 2 * grid.low / grid.step)) * 0.5).floor()


def _yes_no(key: Value) -> Value:
    return key.dialect.cases((key, 0), else_=1)


@dataclass(frozen=True)
class Predicate:
    """A checked predicate: its text, the columns that it names, and how to build it on a table."""

    text: str
    columns: tuple[str, ...]
    build: Build = field(repr=False, compare=False)
    where_true: Build | None = field(repr=False, compare=False, default=None)
    """What is true in just the same rows, and false or NULL elsewhere."""

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
    return Predicate(text, tuple(reader.named), term.build, term.where_true)


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
    known = column.described_options
    if known is None:
        return
    for option in options:
        if option not in known:
            listed = f"{', '.join(map(str, known[:10]))}{' …' if len(known) > 10 else ''}"
            rule = f"is not among the values that the description lists for {name}"
            raise QuestionError("options", option, rule, f"they are {listed}")


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
        raise QuestionError("column", name, rule, column.way_out)
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
