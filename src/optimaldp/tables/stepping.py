"""Equal bins by arithmetic in the engine: a million of them cost as much as two, and no rounding decides an edge.

Edges are integers over one denominator, ``(first + k·width) / denominator``. Whole numbers and decimals are compared with them in
integers. A double is compared with the double nearest to each edge, which is what a list of edges would do: the quotient of
two integers below 2^53 is rounded once, so it *is* the nearest double.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.tables import terms
from optimaldp.tables.engines import writer
from optimaldp.tables.schema import ColumnType
from optimaldp.tables.tally import Edge, Step, steps_between
from optimaldp.tables.terms import Build, moment_literal

MOST_BINS = 2**50
WIDE = Context(prec=60)
_FITS = 2**62  # integers below stay exact in the engine's 64 bits
_DOUBLE_FITS = 2**51  # below, the guess of a bin from doubles is off by one at most
_MOST_DIGITS = 18  # decimals with more become doubles: their integers would not fit into 64 bits
_SECOND = datetime.timedelta(seconds=1)


def check(low: Edge, high: Edge, step: Step, name: str) -> None:
    """Refuse steps that are none, before anything is read."""
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
    def of(cls, low: Fraction, step: Fraction, bins: int, *, scale: int = 1) -> _Lattice:
        low, step = low * scale, step * scale
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


def exact_value(table: object, name: str, column: ColumnType) -> Any:
    """A column as it is compared with edges: whole numbers, decimals and moments as they are, other numbers as doubles."""
    value = terms.column_term(name, column, name).build(table) if column.kind != "real" else column.value(table, name)
    if column.kind != "real" or _is_exact(value.type()):
        return value
    return terms.as_double(value)


def _is_exact(dtype: Any) -> bool:
    # Ibis takes DuckDB's whole numbers of 128 bits for decimals of 38 digits, which cannot hold all of them.
    huge = dtype.is_decimal() and (dtype.precision, dtype.scale) == (38, 0)
    return dtype.is_decimal() and not huge and dtype.precision is not None and 0 <= (dtype.scale or 0) <= _MOST_DIGITS


def bin_number(name: str, column: ColumnType, low: Edge, step: Step, bins: int) -> Build:
    """The number of the bin that a row is in; NULL without a value."""
    if isinstance(low, datetime.date):
        assert isinstance(step, datetime.timedelta)
        return _of_moments(name, column, low, step, bins)
    assert isinstance(step, Fraction)
    return _of_numbers(name, column, Fraction(low), step, bins)


def _of_numbers(name: str, column: ColumnType, low: Fraction, step: Fraction, bins: int) -> Build:
    plain = _Lattice.of(low, step, bins)
    whole = column.kind == "whole"
    plain.need(_FITS if whole else _DOUBLE_FITS, whole=whole)

    def build(table: object) -> Any:
        value = exact_value(table, name, column)
        dtype = value.type()
        if dtype.is_decimal():
            scaled = _Lattice.of(low, step, bins, scale=10**dtype.scale)
            scaled.need(_FITS, whole=True)
            return _in_integers(_units(value, dtype.scale, scaled), scaled)
        if dtype.is_floating():
            return _in_doubles(value, plain)
        return _in_integers(_clipped_whole(value, plain), plain)

    return build


def _clipped_whole(value: Any, lattice: _Lattice) -> Any:
    """A whole number as 64 bits, moved to the nearest number that is in the same bin and fits."""
    write = writer(value)
    low, high = lattice.bounds
    first, last = write.literal(low, type="int64"), write.literal(high, type="int64")
    return write.cases((value < first, first), (value > last, last), (value.notnull(), value)).cast("int64")


def _units(value: Any, digits: int, lattice: _Lattice) -> Any:
    """A decimal as a whole number of its last digit; clipped first, so that the product fits."""
    write = writer(value)
    low, high = (
        write.literal(Decimal(bound).scaleb(-digits, WIDE), type=f"decimal(38, {digits})") for bound in lattice.bounds
    )
    clipped = write.cases((value < low, low), (value > high, high), (value.notnull(), value))
    return (clipped * write.literal(10**digits, type="int64")).cast("int64")


def _in_integers(clipped: Any, lattice: _Lattice) -> Any:
    write = writer(clipped)
    above = clipped * lattice.denominator - lattice.first
    number = above if lattice.width == 1 else _exact_quotient(above, lattice.width)
    if (lattice.bounds[1] * lattice.denominator - lattice.first) // lattice.width < lattice.bins:
        return number
    # Where steps are narrower than the column's unit, the least value of the last bin may lie beyond it.
    return write.cases((number > lattice.bins - 1, lattice.bins - 1), (number.notnull(), number))


def _exact_quotient(number: Any, divisor: int) -> Any:
    """Whole division. Engines divide as doubles: without the remainder that is off by less than a half below 2^50."""
    return ((number - number % divisor).cast("float64") / float(divisor)).round().cast("int64")


def _in_doubles(value: Any, lattice: _Lattice) -> Any:
    write = writer(value)
    denominator = float(lattice.denominator)
    low, high = lattice.first / lattice.denominator, lattice.top / lattice.denominator
    clipped = write.cases((value.isnan(), None), (value < low, low), (value > high, high), else_=value).cast("float64")
    guess = ((clipped * denominator - float(lattice.first)) / float(lattice.width)).floor().cast("int64")

    def edge(number: Any) -> Any:
        return (number * lattice.width + lattice.first).cast("float64") / denominator

    number = write.cases(
        (clipped < edge(guess), guess - 1), (clipped >= edge(guess + 1), guess + 1), (clipped.notnull(), guess)
    )
    return write.cases((number < 0, 0), (number > lattice.bins - 1, lattice.bins - 1), (number.notnull(), number))


def _of_moments(name: str, column: ColumnType, low: datetime.date, step: datetime.timedelta, bins: int) -> Build:
    """Bins of whole days for dates, of whole seconds for points in time."""
    unit = datetime.timedelta(days=1) if column.kind == "date" else _SECOND
    if step % unit or (isinstance(low, datetime.datetime) and low.microsecond):
        whole = "days" if column.kind == "date" else "seconds"
        raise QuestionError("step", str(step), f"is not a number of whole {whole}", "choose a longer step")
    width = step // unit

    def build(table: object) -> Any:
        write = writer(table)
        value = exact_value(table, name, column)
        first, last = (moment_literal(edge, table, zoned=column.zoned) for edge in (low, low + (bins - 1) * step))
        clipped = write.cases((value < first, first), (value > last, last), (value.notnull(), value))
        if column.kind == "date":
            above = clipped.cast("date").delta(first, unit="day")
        else:
            above = clipped.truncate("s").epoch_seconds() - first.epoch_seconds()
        return above.cast("int64") if width == 1 else _exact_quotient(above.cast("int64"), width)

    return build
