"""Bins of a column: between edges that are written out, or equal ones (see :mod:`optimaldp.tables.stepping`)."""

from __future__ import annotations

import datetime
import itertools
import math
from decimal import Decimal
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.tables import stepping
from optimaldp.tables.engines import writer
from optimaldp.tables.schema import ColumnType, Meaning, Schema
from optimaldp.tables.tally import Bins, Edge, Grid, Steps
from optimaldp.tables.terms import Build, moment_literal


def bins(reading: Bins, schema: Schema) -> tuple[int, Build]:
    """How many bins there are, with the last one for no value, and the bin of each row."""
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

    return last + 1, key


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


def steps(reading: Steps | Grid, schema: Schema) -> tuple[int, Build]:
    """The same for equal bins, and for the points of a grid."""
    name, stored = schema.find(reading.column)
    column = stored.read_as(_edge_meaning((reading.low, reading.high)))
    low, high = _edge(reading.low, name, column), _edge(reading.high, name, column)
    stepping.check(low, high, reading.step, name)
    if isinstance(reading, Grid):
        # Rounding half up to low + k·step is the bin [low + (k - ½)·step, low + (k + ½)·step).
        number, low = reading.points, reading.low - reading.step / 2
    else:
        number = Steps(name, low, high, reading.step).bins
    return number + 1, stepping.bin_number(name, column, low, reading.step, number)
