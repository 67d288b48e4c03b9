"""A count, settled before data is read: every reading, rule and column checked against the schema."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.tables.celltext import Cell
from optimaldp.tables.engines import equal_bytes, writer
from optimaldp.tables.people import People
from optimaldp.tables.predicates import Predicate, parse_predicate
from optimaldp.tables.readings import Numbered, numbered
from optimaldp.tables.reducing import Reduced
from optimaldp.tables.schema import Kind, Schema
from optimaldp.tables.source import Source
from optimaldp.tables.tally import Condition, Keys, Option, Tally, strides
from optimaldp.tables.terms import Build, literal_term

MOST_READINGS = 20
MOST_CELLS = 2**62
_MOST_FILTERED = 3  # conditions: beyond, the filtered counts of all combinations cost more than grouping
_NESTED = ("struct", "array", "map", "interval", "json")  # some values of them make engines fail, which would show
_ORDERED: tuple[Kind, ...] = ("text", "whole", "real", "truth", "date", "time")


@dataclass(frozen=True)
class Plan:
    """Everything about a count that is settled before data is read."""

    readings: tuple[Numbered, ...]
    reduced: tuple[Reduced, ...]
    """The readings with their rules; empty without a unit, and when a whole first row is taken."""
    filtered: bool
    """Whether the counts are those of conditions, which filtered counts give quickest."""
    unit: Build | None
    order: Build | None
    levels: str | None
    level: Build | None
    where: Predicate | None
    part: Build | None
    key: Build | None = None
    """The column of keys, when keys are counted."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(reading.size for reading in self.readings)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def options(self) -> tuple[Option, ...] | None:
        """The options that a column's type listed, of the first reading that left them out."""
        return next((reading.options for reading in self.readings if reading.options is not None), None)

    def cell(self, numbers: list[Any]) -> Any:
        """The number of a cell from the numbers of its readings."""
        steps = zip(numbers, strides(self.shape), strict=True)
        total, *rest = (number if stride == 1 else number.cast("int64") * stride for number, stride in steps)
        for number in rest:
            total = total + number
        return total


def check(source: Source, tally: Tally | Keys, people: People | None = None) -> Plan:
    """Check a count against the schema, without reading data; raises whatever makes it impossible."""
    schema, people = source.schema, people or People()
    rules = people.rules(tally)
    readings = () if isinstance(tally, Keys) else _readings(tally, schema)
    by_first = "first" in rules
    conditions = [isinstance(reading, Condition) for reading in getattr(tally, "readings", ())]
    reduced = (
        ()
        if by_first or isinstance(tally, Keys)
        else tuple(map(Reduced, range(len(rules)), readings, rules, conditions))
    )
    for one in reduced:
        one.check()
    quick = 0 < len(readings) <= _MOST_FILTERED and all(conditions) and not by_first
    if isinstance(tally, Keys) and people.levels is not None:
        raise QuestionError("levels", people.levels, "cannot be told apart in keys", "ask without levels")
    return Plan(
        readings,
        reduced,
        quick and all(one.rule in ("any", "all") for one in reduced),
        unit=_column(schema, people.unit, "unit", (*_ORDERED, "other")),
        order=_column(schema, people.reduce_order, "reduce_order", _ORDERED),
        levels=people.levels,
        level=_column(schema, people.levels, "levels", ("text", "whole", "real")),
        where=None if people.where is None else parse_predicate(people.where, schema),
        part=None if people.part is None else _part(schema, *people.part),
        key=_column(schema, tally.column, "column", ("text", "whole")) if isinstance(tally, Keys) else None,
    )


def _readings(tally: Tally, schema: Schema) -> tuple[Numbered, ...]:
    if not 0 < len(tally.readings) <= MOST_READINGS:
        raise QuestionError("tally", len(tally.readings), f"readings are not between 1 and {MOST_READINGS}")
    readings = tuple(numbered(reading, schema) for reading in tally.readings)
    if math.prod(reading.size for reading in readings) > MOST_CELLS:
        raise QuestionError("tally", "it", "has more than 2^62 cells", "choose fewer columns or coarser bins")
    return readings


def _column(schema: Schema, name: str | None, field: str, kinds: tuple[Kind, ...]) -> Build | None:
    if name is None:
        return None
    own, column = schema.find(name, field=field)
    if column.kind not in kinds or column.name.startswith(_NESTED):
        raise QuestionError(field, own, f"holds {column.words}", f"it cannot serve as {field}")
    if field == "reduce_order" and column.open:
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
    if column.open and not isinstance(value, bool):
        value = str(value)
    if column.kind == "text" and isinstance(value, str):
        return lambda table: equal_bytes(column.value(table, own), value)
    whole = column.kind == "whole" and type(value) is int and -(2**63) <= value < 2**63
    if whole or (column.kind == "truth" and isinstance(value, bool)):
        literal = literal_term(column.kind, value, "int64" if whole else "boolean", "")
        return lambda table: column.value(table, own) == literal.build(table)
    rule = f"is not a value of column {own}, which holds {column.words}"
    raise QuestionError("part", value, rule, "a part is one value of a column of text, whole numbers or truth values")
