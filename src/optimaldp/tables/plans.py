"""A count, settled before data is read: every reading, rule and column checked against the schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from optimaldp.errors import QuestionError
from optimaldp.privacy.units import period_of
from optimaldp.tables.canonical import Kind, number_of
from optimaldp.tables.description import Description
from optimaldp.tables.functions import period
from optimaldp.tables.readings import Numbered, Predicate, binned, numbered, parse_predicate
from optimaldp.tables.reducing import Reduced
from optimaldp.tables.schema import OBJECTS, WORDS, Cell, ColumnType, Meaning, Schema
from optimaldp.tables.source import Source
from optimaldp.tables.sql import SqlTable, Value
from optimaldp.tables.tally import (
    EVERY_RECORD,
    NUMBER_RULES,
    ORDER,
    ORDERED_RULES,
    Condition,
    KeyTally,
    Option,
    Options,
    People,
    Reading,
    Rule,
    Tally,
)
from optimaldp.tables.terms import Build, column_term, literal_term

MOST_READINGS = 20
MOST_CELLS = 2**62
_MOST_FILTERED = 3  # conditions: beyond, the filtered counts of all combinations cost more than grouping
_ORDERED: tuple[Kind, ...] = ("text", "whole", "real", "truth", "date", "time")
_SERVING: dict[str, tuple[Kind, ...]] = {
    "unit": _ORDERED,
    "reduce_order": _ORDERED,
    "levels": ("text", "whole", "real"),
    "column": ("text", "whole"),
}
"""Columns of which kinds can serve as what."""
_COMPUTED: tuple[Rule, ...] = ("sum", "mean", "count")
_MEASURED: tuple[Rule, ...] = ("sum", "mean", "median", "min", "max")

Final = Callable[[SqlTable], Value]
"""From the table of people to what they are grouped by in one reading."""


@dataclass(frozen=True)
class CountingPlan:
    """Everything about a count that is settled before data is read."""

    readings: tuple[Numbered, ...] = ()
    shape: tuple[int, ...] = ()
    """How many numbers each reading has."""
    summed: Numbered | None = None
    """The number of which only the people who have one and their sum are counted, behind the readings."""
    filtered: bool = False
    """Whether the filtered counts of all combinations of conditions give the answer quickest."""
    options: tuple[Option, ...] | None = None
    """The options that a column's type listed, of the first reading that left them out."""
    unit: tuple[Build, ...] = ()
    rows: Mapping[str, Build] = field(default_factory=dict)
    """With a unit: what is read of each row, by the name of its item."""
    looked_up: Mapping[str, tuple[str, ...] | tuple[int, ...]] = field(default_factory=dict)
    """Items whose number among many options is joined to the rows."""
    items: tuple[Reduced, ...] = ()
    finals: tuple[Final, ...] = ()
    """What each reading is for a person."""
    order: tuple[Build, ...] = ()
    levels: str | None = None
    level: Build | None = None
    where: Predicate | None = None
    part: Build | None = None
    key: Build | None = None
    """The column of keys, when keys are counted."""
    groups_per_person: int | None = None
    cautions: tuple[str, ...] = ()
    """One for each column that nobody declared: what becomes of cells that are not written as expected. Public."""
    asked: tuple[Tally | KeyTally | None, People | None] = None, None
    """What is counted and who is a person, as it was asked for: the referee compares it with the question."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def unit_names(self) -> tuple[str, ...]:
        return tuple(f"unit{place}" if place else "unit" for place in range(len(self.unit)))

    @property
    def order_names(self) -> tuple[str, ...]:
        return tuple(f"place{place}" for place in range(len(self.order)))

    def cell(self, numbers: list[Value], write: SqlTable) -> Value:
        """The number of a cell from the numbers of its readings: 64 bits, as every number is."""
        if not numbers:
            return write.dialect.literal(0)
        cell = numbers[0]
        for number, size in zip(numbers[1:], self.shape[1:]):
            cell = cell * size + number
        return cell


def plan_counting(source: Source, tally: Tally | KeyTally, people: People | None = None) -> CountingPlan:
    """Check a count against the schema, without reading data; raises whatever makes it impossible."""
    asked = (tally, people)
    people = described_people(people or People(), source.description, tally)
    schema = _reduced_schema(source.schema, people)
    if people.groups_per_person is not None:
        _check_groups(tally, people.groups_per_person)
    rules = people.rules(tally)
    if isinstance(tally, KeyTally):
        if people.levels is not None:
            raise QuestionError("levels", people.levels, "cannot be told apart in keys", "ask without levels")
        plan = _keys_plan(tally, schema, rules)
    else:
        plan = _tally_plan(tally, schema, people, rules)
    units = () if people.unit is None else (people.unit, *people.within)
    ordered = people.reduce_order is not None and any(item.rule in ORDERED_RULES for item in plan.items)
    return replace(
        plan,
        asked=asked,
        unit=tuple(_unit_column(schema, name, place) for place, name in enumerate(units)),
        order=_order(schema, people.reduce_order) if ordered and people.reduce_order is not None else (),
        levels=people.levels,
        level=None if people.levels is None else _column(schema, "levels", people.levels),
        where=None if people.where is None else parse_predicate(people.where, schema),
        part=None if people.part is None else _part(schema, *people.part),
        groups_per_person=people.groups_per_person,
        cautions=reading_cautions(schema, tally, people),
    )


def described_people(people: People, description: Description | None, tally: Tally | KeyTally) -> People:
    """People with the rules of the description, where the question says nothing else about a column."""
    if description is None or people.unit is None:
        return people
    if people.reduce is None or isinstance(people.reduce, Mapping):
        told = {name: rule for name, rule in description.reduce.items() if name != _chosen_group(tally, people)}
        people = replace(people, reduce={**told, **people.by_column} or None)
    if people.reduce_order is None and any(rule in ORDERED_RULES for rule in people.by_column.values()):
        people = replace(people, reduce_order=description.reduce_order)
    return people


def _reduced_schema(schema: Schema, people: People) -> Schema:
    """The schema where totals, means and counts of rows are other values than the description lists."""
    made = {schema.find(name, field="reduce")[0] for name, rule in people.by_column.items() if rule in _COMPUTED}
    return Schema(tuple((name, replace(one, field=None) if name in made else one) for name, one in schema.columns))


def _chosen_group(tally: Tally | KeyTally, people: People) -> str | None:
    """The column of the groups that are chosen for each person: a rule that reduces it says nothing there."""
    if people.groups_per_person is None or isinstance(tally, KeyTally):
        return None
    first = tally.readings[0]
    return None if isinstance(first, Condition) else first.column


def _keys_plan(tally: KeyTally, schema: Schema, rules: tuple[Rule, ...]) -> CountingPlan:
    name, column = schema.find(tally.column)
    if column.name == OBJECTS.name and column.open:
        rule = "holds objects whose texts depend on how they are kept"
        raise QuestionError("column", name, rule, f"declare what it is: types={{'{name}': 'text'}}, or 'whole'")
    key = _column(schema, "column", tally.column)
    if not rules:
        return CountingPlan(key=key)
    return CountingPlan(key=key, rows={"key": key}, items=(Reduced("key", rules[0]),))


def _tally_plan(tally: Tally, schema: Schema, people: People, rules: tuple[Rule, ...]) -> CountingPlan:
    if not 0 < len(tally.readings) <= MOST_READINGS:
        raise QuestionError("tally", len(tally.readings), f"readings are not between 1 and {MOST_READINGS}")
    readings = tuple(numbered(reading, schema) for reading in tally.readings)
    shape = tuple(reading.size for reading in readings)
    if math.prod(shape) > MOST_CELLS:
        raise QuestionError("tally", "it", "has more than 2^62 cells", "choose fewer columns or coarser bins")
    conditions = all(reading.kind == "condition" for reading in readings)
    filtered = len(readings) <= _MOST_FILTERED and conditions
    options = next((reading.options for reading in readings if reading.options is not None), None)
    if tally.summed and people.unit is None and people.levels is None:
        return CountingPlan(readings[:-1], shape, readings[-1], options=options)
    plan = CountingPlan(readings, shape, None, filtered, options)
    return plan if people.unit is None else _by_person(plan, tally, schema, people, rules)


def _by_person(
    plan: CountingPlan, tally: Tally, schema: Schema, people: People, rules: tuple[Rule, ...]
) -> CountingPlan:
    """The plan with what is read of each row, how it is reduced, and what each reading is for a person."""
    maker = _Maker(schema, {schema.find(name, field="reduce")[0]: rule for name, rule in people.by_column.items()})
    asked = zip(tally.readings, plan.readings, rules)
    finals = tuple(maker.final(place, *one) for place, one in enumerate(asked))
    # A condition about a reduced column has its rule from the column, which the rules of readings do not show.
    if people.reduce_order is None and any(one.rule in ORDERED_RULES for one in maker.items):
        raise QuestionError("reduce_order", None, "is needed by the rules first and last", ORDER)
    truths = plan.filtered and all(maker.truths)
    return replace(
        plan, rows=maker.rows, looked_up=maker.looked_up, items=tuple(maker.items), finals=finals, filtered=truths
    )


@dataclass
class _Maker:
    """Gathers what is read of rows for all readings of a plan, and how it is reduced."""

    schema: Schema
    by_column: Mapping[str, str]
    rows: dict[str, Build] = field(default_factory=dict)
    looked_up: dict[str, tuple[str, ...] | tuple[int, ...]] = field(default_factory=dict)
    items: list[Reduced] = field(default_factory=list)
    truths: list[bool] = field(default_factory=list)
    """For each reading, whether a person's value is true or false: a condition by any or all, or about reduced values."""

    def final(self, place: int, reading: Reading, made: Numbered, rule: Rule) -> Final:
        if isinstance(reading, Condition):
            return self._condition(place, reading, made, rule)
        self.truths.append(False)
        if isinstance(reading, Options) and rule not in NUMBER_RULES[:-2]:
            return self._category(place, made, rule)
        return self._number(place, reading, made, rule)

    def _condition(self, place: int, reading: Condition, made: Numbered, rule: Rule) -> Final:
        ruled = [column for column in made.columns if column in self.by_column]
        if ruled and len(ruled) < len(made.columns):
            other = next(column for column in made.columns if column not in ruled)
            rule_ = (
                f"is about {ruled[0]}, which is reduced to one value for each person, and about {other}, which is not"
            )
            raise QuestionError("predicate", reading.text, rule_, f"give a rule for {other} too, or for neither")
        if ruled:
            self.truths.append(True)
            return self._about_people(reading, ruled)
        name = f"key{place}"
        by_truth = rule in ("any", "all")
        self.truths.append(by_truth)
        value, number = made.value, made.number
        # Where any or all rows decide, a condition that is not known is not true.
        self.rows[name] = (made.alone or value) if by_truth else lambda table: number(value(table))
        self.items.append(Reduced(name, rule))
        return lambda people: people[name] if by_truth else _decided(people[name])

    def _about_people(self, reading: Condition, ruled: list[str]) -> Final:
        """A condition about reduced values, evaluated once for each person."""
        columns = dict(self.schema.columns)
        names = {}
        for column in ruled:
            rule: Rule = self.by_column[column]  # type: ignore[assignment]  # checked by reduced_type
            typed = _measured(columns[column], column, rule)
            columns[column] = reduced_type(typed, column, rule)
            names[column] = self._column_item(column, typed, rule)
        holds = parse_predicate(reading.text, Schema(tuple(columns.items()))).build
        return lambda people: holds(replace(people, columns={own: people[name] for own, name in names.items()}))

    def _column_item(self, column: str, typed: ColumnType, rule: Rule) -> str:
        name = f"column_{self.schema.names.index(column)}_{rule.replace('-', '_')}"
        if name not in self.rows:
            self.rows[name] = lambda table: typed.value(table, column)
            self.items.append(Reduced(name, rule))
        return name

    def _category(self, place: int, made: Numbered, rule: Rule) -> Final:
        name, last = f"key{place}", made.last
        value, number = made.value, made.number
        if made.listed is not None:
            self.looked_up[name] = made.listed
            self.rows[name] = value
        elif rule == "most-frequent":
            # Everybody else and no value are not answers, so they do not compete.
            self.rows[name] = lambda table: number(value(table)).nullif(last)
        else:
            self.rows[name] = lambda table: number(value(table))
        self.items.append(Reduced(name, rule))
        return lambda people: people[name].fill_null(last)

    def _number(self, place: int, reading: Reading, made: Numbered, rule: Rule) -> Final:
        assert not isinstance(reading, Condition)
        name, stored = self.schema.find(reading.column)
        if isinstance(reading, Options):
            typed = _measured(stored, name, rule)
            item = self._column_item(name, typed, rule)
            columns = {**dict(self.schema.columns), name: reduced_type(typed, name, rule)}
            again = numbered(reading, Schema(tuple(columns.items())))
            if again.listed is not None:
                raise QuestionError(
                    "reduce", rule, f"does not go with {len(again.listed)} options", "use most-frequent"
                )
            return lambda people: again.number(people[item])
        typed = stored if rule == "count" else binned(reading, name, stored)[1]
        item = self._column_item(name, typed, rule)
        size, _, key = binned(reading, name, reduced_type(typed, name, rule))
        return lambda people: key(people[item]).fill_null(size - 1)


def _decided(number: Value) -> Value:
    """Whether a condition holds for a person, from the number that was voted for; without any, it does not."""
    return number.fill_null(1) == 0


def _measured(column: ColumnType, name: str, rule: Rule) -> ColumnType:
    """A column as a rule reads it: what is measured is a number where nothing else is declared."""
    return column.read_as("number") if rule in _MEASURED else column


def reduced_type(column: ColumnType, name: str, rule: Rule) -> ColumnType:
    """The type of a column whose rows were reduced to one value for each person."""
    if rule == "count":
        return ColumnType("whole", "int64")
    numeric = column.kind in ("whole", "real", "date", "time")
    if (rule in _MEASURED and not numeric) or (rule in ("sum", "mean") and column.kind in ("date", "time")):
        raise QuestionError("reduce", rule, f"is not a rule for column {name}, which holds {column.words}", _OTHERS)
    if rule == "mean":
        return ColumnType("real", "float64")
    # Canonical already: the cell was read before it was reduced. Open text stays open.
    cell = Cell("open") if column.open else None
    wide = "int64" if column.kind == "whole" else column.name
    return replace(column, cell=cell, name=wide, required=False)


_OTHERS = (
    "count, first and last go with every column; min, max and median with numbers and dates; sum and mean with numbers"
)


def _check_groups(tally: Tally | KeyTally, most: int) -> None:
    if isinstance(tally, KeyTally) or not tally.readings or not isinstance(tally.readings[0], Options):
        raise QuestionError("groups_per_person", most, "needs groups", "ask with by= and groups=")
    if type(most) is not int or most < 1:
        raise QuestionError("groups_per_person", most, "is not a whole number from 1 on")


def _column(schema: Schema, field: str, name: str) -> Build:
    own, column = schema.find(name, field=field)
    if column.kind not in _SERVING[field]:
        kinds = " or ".join(WORDS[kind] for kind in _SERVING[field])
        raise QuestionError(
            field, own, f"holds {column.words}, which cannot serve as {field}", f"name one with {kinds}"
        )
    return lambda table: column.value(table, own)


def _unit_column(schema: Schema, written: str, place: int) -> Build:
    """A column of the unit: the person, then what limits them, which may be a part of time."""
    name, column = period_of(written) if place else (None, written)
    if name is None:
        return _column(schema, "unit", column)
    own, typed = schema.find(column, field="unit")
    return period(name, column_term(own, typed.read_as("date"), written), written)


def _order(schema: Schema, name: str) -> tuple[Build, ...]:
    """What orders the rows of a person. Cells without a type: numbers by size, then all other texts."""
    build, column = _column(schema, "reduce_order", name), schema.find(name)[1]
    if not column.open:
        return (build,)

    def number(table: SqlTable) -> Value:
        text = build(table)
        return table.dialect.cases((text.notnull(), number_of(text).fill_null(math.inf)))

    return number, build


def _part(schema: Schema, name: str, value: Option) -> Build:
    """Whether a row belongs to a part. Text is compared byte by byte: no collation or padding makes two parts overlap."""
    own, column = schema.find(name, field="part")
    if column.open and not isinstance(value, bool):
        value = str(value)
    fits = {"text": str, "truth": bool, "whole": int}.get(column.kind)
    if type(value) is fits and (fits is not int or -(2**63) <= int(value) < 2**63):
        literal = literal_term(column.kind, value, str(value))
        return lambda table: column.value(table, own) == literal.build(table)
    rule = f"is not a value of column {own}, which holds {column.words}"
    raise QuestionError("part", value, rule, "a part is one value of a column of text, whole numbers or truth values")


_WRITTEN: dict[Meaning, str] = {
    "number": "1234.5",
    "whole": "1234",
    "date": "2024-01-31",
    "time": "2024-01-31 12:00:00",
    "truth": "true or false",
}


def reading_cautions(schema: Schema, tally: Tally | KeyTally, people: People) -> tuple[str, ...]:
    """One sentence for each column that nobody declared and that the question reads as something else than text."""
    from optimaldp.tables.grammar import meanings_of  # with sqlglot

    found: dict[str, Meaning] = {}
    schema = _reduced_schema(schema, people)
    readings = () if isinstance(tally, KeyTally) else tally.readings
    for reading in readings:
        if isinstance(reading, Condition):
            texts = [] if reading.text == EVERY_RECORD else [reading.text]
            for text in texts:
                found.update(meanings_of(text, schema))
            continue
        name, column = schema.find(reading.column)
        if not column.open:
            continue
        if isinstance(reading, Options):
            kinds = {type(option) for option in reading.values or ()}
            meaning: Meaning = "text" if kinds <= {str} else "truth" if kinds == {bool} else "number"
        else:
            meaning = _typed_meaning(binned(reading, name, column)[1])
        found[name] = meaning
    if people.where is not None:
        found.update(meanings_of(people.where, schema))
    for written in people.within:
        part, dates = period_of(written)
        name, typed = schema.find(dates, field="unit")
        if part is not None and typed.open:
            found[name] = "date"
    return tuple(
        f"{name} was not declared: cells not written like {_WRITTEN[meaning]} count as missing."
        for name, meaning in found.items()
        if meaning in _WRITTEN
    )


def filled_columns(schema: Schema, tally: Tally | KeyTally, people: People) -> tuple[str, ...]:
    """One sentence for each column of which the description says that nobody is without a value: what is counted instead."""
    filled = {name: column.field.otherwise for name, column in schema.columns if column.field and column.required}
    if not filled:
        return ()
    schema = _reduced_schema(schema, people)
    readings = () if isinstance(tally, KeyTally) else tally.readings
    named = [tally.column] if isinstance(tally, KeyTally) else []
    named += [column for reading in readings for column in numbered(reading, schema).columns]
    return tuple(
        f"{name}: what is missing or cannot be read counts as {filled[name]}"
        for name in dict.fromkeys(named)
        if filled.get(name) is not None
    )


def _typed_meaning(column: ColumnType) -> Meaning:
    return "text" if column.cell is None else column.cell.meaning
