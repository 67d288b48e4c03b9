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
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.errors import QuestionError
from optimaldp.tables.schema import ColumnType, Meaning, as_number
from optimaldp.tables.sql import Value
from optimaldp.tables.tally import Bins, Edge, Grid, Step, Steps, steps_between

Place = Callable[[Value], Value]
"""From a canonical value to the number of its bin; no value where there is none, or where it is outside."""

MOST_BINS = 2**50
_FITS = 2**62  # integers below stay exact in the engine's 64 bits
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
    return write.cases((value.isnull(), None), *below, else_=len(inner))


def _is_below(value: Value, edge: int | float) -> Value:
    """Whole numbers beyond 64 bits are above or below every value."""
    if isinstance(edge, int) and not -(2**63) <= edge < 2**63:
        return value.dialect.literal(edge > 0)
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
    guess = ((clipped * denominator - float(lattice.first)) / float(lattice.width)).floor().cast("int64")

    def edge(number: Value) -> Value:
        return (number * lattice.width + lattice.first).cast("float64") / denominator

    number = write.cases(
        (clipped < edge(guess), guess - 1), (clipped >= edge(guess + 1), guess + 1), (clipped.notnull(), guess)
    )
    return write.cases((number < 0, 0), (number > lattice.bins - 1, lattice.bins - 1), (number.notnull(), number))
