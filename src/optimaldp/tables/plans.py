"""A count, settled before data is read: every reading, rule and column checked against the schema."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.tables.engines import equal_bytes, writer
from optimaldp.tables.readings import Numbered, Predicate, numbered, parse_predicate
from optimaldp.tables.reducing import Reduced
from optimaldp.tables.schema import OPEN, Cell, Kind, Schema
from optimaldp.tables.source import Source
from optimaldp.tables.tally import Condition, KeyTally, Option, People, Tally
from optimaldp.tables.terms import Build, literal_term

MOST_READINGS = 20
MOST_CELLS = 2**62
_MOST_FILTERED = 3  # conditions: beyond, the filtered counts of all combinations cost more than grouping
_NESTED = ("struct", "array", "map", "interval", "json")  # some values of them make engines fail, which would show
_ORDERED: tuple[Kind, ...] = ("text", "whole", "real", "truth", "date", "time")
_SERVING: dict[str, tuple[Kind, ...]] = {
    "unit": (*_ORDERED, "other"),
    "reduce_order": _ORDERED,
    "levels": ("text", "whole", "real"),
    "column": ("text", "whole"),
}
"""Columns of which kinds can serve as what."""


@dataclass(frozen=True)
class CountingPlan:
    """Everything about a count that is settled before data is read."""

    readings: tuple[Numbered, ...] = ()
    shape: tuple[int, ...] = ()
    """How many numbers each reading has."""
    reduced: tuple[Reduced, ...] = ()
    """The readings with their rules; empty without a unit, and when a whole first row is taken."""
    filtered: bool = False
    """Whether the filtered counts of all combinations of conditions give the answer quickest."""
    options: tuple[Option, ...] | None = None
    """The options that a column's type listed, of the first reading that left them out."""
    unit: Build | None = None
    order: Build | None = None
    levels: str | None = None
    level: Build | None = None
    where: Predicate | None = None
    part: Build | None = None
    key: Build | None = None
    """The column of keys, when keys are counted."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def cell(self, numbers: list[Any]) -> Any:
        """The number of a cell from the numbers of its readings."""
        cell = numbers[0]
        for number, size in zip(numbers[1:], self.shape[1:], strict=True):
            cell = cell.cast("int64") * size + number
        return cell


def plan_counting(source: Source, tally: Tally | KeyTally, people: People | None = None) -> CountingPlan:
    """Check a count against the schema, without reading data; raises whatever makes it impossible."""
    schema, people = source.schema, people or People()
    # Where nothing is said about persons each row is one, and there is nothing to reduce.
    own_rows = (people.unit, people.reduce, people.reduce_order) == (None, None, None)
    rules = () if own_rows else people.rules(tally)
    if isinstance(tally, KeyTally):
        if people.levels is not None:
            raise QuestionError("levels", people.levels, "cannot be told apart in keys", "ask without levels")
        plan = CountingPlan(key=_column(schema, "column", tally.column))
    else:
        if not 0 < len(tally.readings) <= MOST_READINGS:
            raise QuestionError("tally", len(tally.readings), f"readings are not between 1 and {MOST_READINGS}")
        readings = tuple(numbered(reading, schema) for reading in tally.readings)
        shape = tuple(reading.size for reading in readings)
        if math.prod(shape) > MOST_CELLS:
            raise QuestionError("tally", "it", "has more than 2^62 cells", "choose fewer columns or coarser bins")
        conditions = [isinstance(reading, Condition) for reading in tally.readings]
        reduced = () if "first" in rules else tuple(map(Reduced, range(len(rules)), readings, rules, conditions))
        for one in reduced:
            one.check()
        filtered = len(readings) <= _MOST_FILTERED and all(conditions) and set(rules) <= {"any", "all"}
        options = next((reading.options for reading in readings if reading.options is not None), None)
        plan = CountingPlan(readings, shape, reduced, filtered, options)
    return replace(
        plan,
        unit=None if people.unit is None else _column(schema, "unit", people.unit),
        order=None if people.reduce_order is None else _column(schema, "reduce_order", people.reduce_order),
        levels=people.levels,
        level=None if people.levels is None else _column(schema, "levels", people.levels),
        where=None if people.where is None else parse_predicate(people.where, schema),
        part=None if people.part is None else _part(schema, *people.part),
    )


def _column(schema: Schema, field: str, name: str) -> Build:
    own, column = schema.find(name, field=field)
    if column.kind not in _SERVING[field] or column.name.startswith(_NESTED):
        raise QuestionError(field, own, f"holds {column.words}", f"it cannot serve as {field}")
    if field == "reduce_order" and column == OPEN:
        return lambda table: _ordered_text(table[own])
    return lambda table: column.value(table, own)


def _ordered_text(text: Any) -> Any:
    """Cells without a type in their order: numbers by size, then all other texts. Only DuckDB reads such cells."""
    write = writer(text)
    number = Cell("number").value(text)
    key = {"number": number.fill_null(float("inf")), "text": write.cases((number.isnull(), text), else_="")}
    return write.cases((text.notnull(), write.struct(key)))


def _part(schema: Schema, name: str, value: Option) -> Build:
    """Whether a row belongs to a part. Text is compared byte by byte: no collation or padding makes two parts overlap."""
    own, column = schema.find(name, field="part")
    if column == OPEN and not isinstance(value, bool):
        value = str(value)
    if column.kind == "text" and isinstance(value, str):
        return lambda table: equal_bytes(column.value(table, own), value)
    whole = column.kind == "whole" and type(value) is int and -(2**63) <= value < 2**63
    if whole or (column.kind == "truth" and isinstance(value, bool)):
        literal = literal_term(column.kind, value, "int64" if whole else "boolean", "")
        return lambda table: column.value(table, own) == literal.build(table)
    rule = f"is not a value of column {own}, which holds {column.words}"
    raise QuestionError("part", value, rule, "a part is one value of a column of text, whole numbers or truth values")
