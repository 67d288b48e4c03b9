"""Counting: one aggregate query per tally. The only code that sees anything computed from data."""

from __future__ import annotations

import itertools
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.engines import Rows
from optimaldp.tables.opening import open_source
from optimaldp.tables.plans import CountingPlan, plan_counting
from optimaldp.tables.readings import EXACT_SUMS, FEW_STEPS, nested_too_deeply
from optimaldp.tables.reducing import busiest_groups, one_row_each
from optimaldp.tables.source import Source, without_engine_message
from optimaldp.tables.sql import SqlTable, Value
from optimaldp.tables.tally import Counted, KeyTally, People, Tally

MOST_LEVELS = 1000  # a levels column has a few values; a column of names given by mistake must not be fetched
_LARGEST_LIMIT = 2**62


def count_people(source: object, tally: Tally | KeyTally, people: People | None = None) -> Counted:
    """Count the people in each cell of *tally*, by one aggregate query where the data lives.

    *people* says who counts as a person and who is asked; without it each row is a person and all are asked.

    **Guarantee.** Every person is in exactly one cell, whatever the data, so one person changes at most two counts by one each.
    Questions are checked before anything is read; errors after that hold no cell and no count, and no row decides whether
    there is one. (With *groups_per_person* a person is in up to that many cells.)

    >>> import pyarrow
    >>> from optimaldp.tables.tally import Condition
    >>> table = pyarrow.table({"person": [1, 1, 2], "smokes": ["no", "yes", "no"]})
    >>> count_people(table, Tally((Condition("smokes = 'yes'"),)), People(unit="person")).counts
    (1, 1)
    """
    opened = open_source(source)
    return count_checked(opened, plan_counting(opened, tally, people))


def count_checked(opened: Source, plan: CountingPlan) -> Counted:
    """The same for a plan that :func:`plan_counting` has made of this table."""
    try:
        query = _query(opened.table, plan)
    except RecursionError:
        query = None
    if query is None:
        raise nested_too_deeply("question")
    rows = without_engine_message(opened.label, "counted", lambda: opened.engine.run(query))
    if plan.key is not None:
        return Counted({}, (), keys={key: int(people) for key, people in rows})
    grouped = _by_cell(rows, plan)
    total: dict[int, list[int]] = {}
    for cells in grouped.values():
        for cell, numbers in cells.items():
            total[cell] = [a + b for a, b in zip(numbers, total.get(cell, [0] * len(numbers)))]
    if plan.summed is not None:
        return Counted(_of_sums(total, plan.summed.size, opened.label), plan.shape, None, plan.options)
    counts = dict(sorted((cell, numbers[0]) for cell, numbers in total.items()))
    if plan.levels is None:
        return Counted(counts, plan.shape, None, plan.options)
    levels = _named_levels(grouped, plan.levels)
    by_level = tuple((name, {cell: numbers[0] for cell, numbers in cells.items()}) for name, cells in levels)
    return Counted(counts, plan.shape, by_level, plan.options)


def _of_sums(total: dict[int, list[int]], size: int, label: str) -> dict[int, int]:
    """Cells with just as many people and just the same sums of steps: everybody as near to the mean as whole steps are."""
    cells: dict[int, int] = {}
    # Longer grids are summed in 128 bits. By the people, not by how many of them have a value.
    if size <= FEW_STEPS and sum(numbers[0] for numbers in total.values()) * size >= EXACT_SUMS:
        raise TableError("data", label, "has more people than a sum is exact for", "ask with a larger step")
    for cell, (people, known, steps) in sorted(total.items()):
        each, more = divmod(steps, known) if known else (0, 0)
        found = {each: known - more, each + 1: more, size - 1: people - known}
        cells |= {cell * size + place: number for place, number in found.items() if number}
    return cells


def _by_cell(rows: Rows, plan: CountingPlan) -> dict[Any, dict[int, list[int]]]:
    """By level and cell: how many people there are; of a number then how many have one, and the sum of its steps."""
    grouped: dict[Any, dict[int, list[int]]] = {}
    for row in rows:
        level, values = (row[0], row[1:]) if plan.level is not None else ("", row)
        numbers = [int(value or 0) for value in values]
        cells = grouped.setdefault(level, {})
        for cell, found in _exactly(numbers, len(plan.readings)) if plan.filtered else [(numbers[0], numbers[1:])]:
            if found[0]:
                cells[cell] = [a + b for a, b in zip(found, cells.get(cell, [0] * len(found)))]
    return grouped


def _exactly(counts: list[int], conditions: int) -> list[tuple[int, list[int]]]:
    """From "at least these conditions hold" to "exactly these hold": one condition after the other, whoever it holds for is
    taken out of the cell that does not ask for it."""
    for place in range(conditions):
        for cell in range(len(counts)):
            if cell & 2**place:
                counts[cell] -= counts[cell - 2**place]
    return [(cell, [people]) for cell, people in enumerate(counts)]


def _query(table: SqlTable, plan: CountingPlan) -> SqlTable:
    """The one aggregate query: rows of (level?, counts…) for conditions, of (level?, cell, count, …) for other readings,
    and of (key, count) for keys."""
    rows = _people(table, plan) if plan.unit else _rows(table, plan)
    if plan.key is not None:
        keyed = rows.filter(rows["key"].notnull())
        return keyed.group_by("key").aggregate(people=keyed.count())
    if not plan.filtered:
        return _grouped(rows, plan)
    # How many people each combination of conditions holds for, in the order of the cells; for the last, everybody. As quick as
    # the bare aggregate, where grouping by a truth value is twice as slow.
    counts: dict[str, Value] = {}
    for answers in itertools.product((True, False), repeat=len(plan.readings)):
        holds = [rows[f"key{place}"] for place, yes in enumerate(answers) if yes]
        counts[f"cell{len(counts)}"] = rows.count(where=reduce(and_, holds) if holds else None)
    if plan.level is None:
        return rows.aggregate(**counts)
    return rows.group_by("level").aggregate(**counts).limit(MOST_LEVELS + 1)


def _selected(table: SqlTable, columns: dict[str, Value], plan: CountingPlan) -> SqlTable:
    """What is read of each row of the part, under names of ours alone: the table's own names cannot get in the way."""
    if plan.part is None:
        return table.select(**columns)
    rows = table.select(**columns, inside=plan.part(table))
    return rows.filter(rows["inside"]).drop("inside")


def _rows(table: SqlTable, plan: CountingPlan) -> SqlTable:
    """Where each row is a person: a row that does not speak has no value, so its person is among the rest."""
    columns = {f"key{place}": one.key((one.alone or one.value)(table)) for place, one in enumerate(plan.readings)}
    if plan.summed is not None:
        columns["number"] = plan.summed.value(table)
    if plan.key is not None:
        columns["key"] = plan.key(table)
    if plan.where is not None:
        speaks = plan.where.on(table)
        columns = {
            name: value & speaks if plan.filtered else table.dialect.cases((speaks, value))
            for name, value in columns.items()
        }
    if plan.level is not None:
        columns["level"] = plan.level(table)
    return _selected(table, columns, plan)


def _people(table: SqlTable, plan: CountingPlan) -> SqlTable:
    """One row for each person: their level, and their key, or what they are grouped by in each reading."""
    columns = {name: build(table) for name, build in plan.rows.items()}
    columns |= {name: _told_apart(build(table)) for name, build in zip(plan.unit_names, plan.unit)}
    columns |= {name: build(table) for name, build in zip(plan.order_names, plan.order)}
    columns["speaks"] = table.dialect.literal(True) if plan.where is None else plan.where.on(table)
    if plan.level is not None:
        columns["level"] = plan.level(table)
    rows = _selected(table, columns, plan)
    rows = rows.filter(rows["unit"].notnull())  # a date that cannot be read is a month of its own
    for name, values in plan.looked_up.items():
        rows = _numbered(rows, name, values, plan)
    keys, items = plan.unit_names, plan.items
    if plan.groups_per_person is not None:
        rows = busiest_groups(rows, keys, "key0", plan.readings[0].last, plan.groups_per_person)
        keys, items = (*keys, "key0"), tuple(item for item in items if item.name != "key0")
    people = one_row_each(rows, items, keys, plan.order_names)
    if plan.key is not None:
        return people
    finals = {f"key{place}": final(people) for place, final in enumerate(plan.finals)}
    if plan.level is not None:
        # No level, which is refused later, where the rows of a person disagree.
        finals["level"] = people.dialect.cases((people["low"] == people["high"], people["low"]))
    return people.select(**finals)


def _told_apart(unit: Value) -> Value:
    """A column of the unit is only compared with itself: narrow numbers are grouped in two thirds of the time of wide ones."""
    return replace(unit, text=unit.stored) if unit.dtype == "int64" and unit.stored else unit


def _numbered(rows: SqlTable, name: str, values: tuple[str, ...] | tuple[int, ...], plan: CountingPlan) -> SqlTable:
    """The rows with the number of their option among many, instead of the option itself."""
    found = rows.looked_up(name, values, "found")
    voted = next(item.voted for item in plan.items if item.name == name)
    number = found["found"] if voted else found["found"].fill_null(len(values))
    return found.mutate(**{name: number}).drop("found")


def _grouped(rows: SqlTable, plan: CountingPlan) -> SqlTable:
    """Rows of (level?, cell, count, known?, sum?): never many more than the question can use."""
    sums: dict[str, Value] = {}
    if plan.summed is not None:
        number = rows["number"]
        sums = {"known": number.count(), "steps": plan.summed.steps(number).sum()}
    number_of_people = rows.count()
    keys = [f"key{place}" for place in range(len(plan.readings))]
    if not plan.unit:
        # Group by the keys themselves, then number the few groups: numbering every row first is twice as slow.
        if keys or plan.level is not None:
            rows = rows.group_by(*_levels(plan), *keys).aggregate(people=number_of_people, **sums)
        else:
            rows = rows.aggregate(people=number_of_people, **sums)
        number_of_people = rows["people"].sum()
        sums = {name: rows[name].sum() for name in sums}
        for place, one in enumerate(plan.readings):
            if one.listed is not None:
                found = rows.looked_up(f"key{place}", one.listed, "found")
                rows = found.mutate(**{f"key{place}": found["found"].fill_null(one.last)}).drop("found")
    numbers = [_number(rows, place, plan) for place in range(len(plan.readings))]
    rows = rows.mutate(cell=plan.cell(numbers, rows))
    groups = rows.group_by(*_levels(plan), "cell").aggregate(people=number_of_people, **sums)
    return groups if plan.level is None else groups.limit(min((MOST_LEVELS + 1) * plan.size, _LARGEST_LIMIT))


def _levels(plan: CountingPlan) -> tuple[str, ...]:
    return () if plan.level is None else ("level",)


def _number(rows: SqlTable, place: int, plan: CountingPlan) -> Value:
    """The number of a reading: of its key, or, for people, of a condition; other readings of people are numbered already."""
    key, one = rows[f"key{place}"], plan.readings[place]
    if one.kind != "condition" and (plan.unit or one.listed is not None):
        return key
    return one.number(key)


def _named_levels(
    grouped: dict[Any, dict[int, list[int]]], column: str
) -> tuple[tuple[str, dict[int, list[int]]], ...]:
    if None in grouped:
        remedy = "the levels are public: give one to every person, the same in all rows of a person"
        raise TableError("levels", column, "does not hold exactly one level for every person", remedy)
    if len(grouped) > MOST_LEVELS:
        raise TableError("levels", column, f"holds more than {MOST_LEVELS} levels", "is it the right column?")
    return tuple(sorted(((_level_text(level), cells) for level, cells in grouped.items()), key=lambda pair: pair[0]))


def _level_text(level: Any) -> str:
    """A level as text: numbers by their shortest decimal, without a trailing .0."""
    if isinstance(level, str):
        return level.strip()
    text = format(Decimal(repr(level)) if isinstance(level, float) else Decimal(level), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
