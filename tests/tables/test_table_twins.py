"""Wrong twins of reading and counting: one mistake at a time in the code that sees data, and the counts no longer agree.

The referee examines mechanisms; it sees no table. What it cannot notice is noticed here, by counting a table of odd people
once by the engine and once by plain Python: each mistake must change at least one of these counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import plain
import pyarrow as pa
import pytest

from optimaldp.tables import (
    Bins,
    Condition,
    Counted,
    Grid,
    Options,
    People,
    Tally,
    count_people,
    counting,
    csv_files,
    readings,
    reducing,
    sql,
)
from optimaldp.tables import readings as binning
from optimaldp.tables.csv_files import CsvFiles
from optimaldp.tables.plans import CountingPlan
from optimaldp.tables.readings import Numbered, Predicate
from optimaldp.tables.reducing import Reduced
from optimaldp.tables.schema import Cell
from optimaldp.tables.tally import KeyTally, Steps

Patch = pytest.MonkeyPatch
ROWS: list[dict[str, Any]] = [
    {"who": who, "day": day, "smokes": smokes, "vote": vote, "age": age, "ward": ward}
    for who, day, smokes, vote, age, ward in [
        ("p1", 1, "yes", "a", 17, "north"),
        ("p1", 2, "no", "b", 18, "north"),
        ("p1", 3, "no", "b", 64, "north"),
        ("p2", 2, None, None, None, "north"),
        ("p2", 1, "no", "a", 65, "north"),
        ("p3", None, "yes", "b", 40, "south"),
        ("p4", 1, "no", "z", 0, "south"),
        ("p4", 1, "yes", "b", 120, "south"),
        ("p5", 5, "yes", "a", 30, None),
        (None, 1, "yes", "a", 30, "north"),
        ("p6", 2, "no", "c", 200, "south"),
        ("p6", 1, "yes", None, -5, "south"),
        ("p7", 4, None, "a", 18, "north"),
        ("p8", 1, "yes", "a", 10, "north"),
        ("p9", 1, "no", "b", 10, "south"),
        ("p9", 2, "no", "b", 20, "south"),
        ("p9", 3, None, "z", None, "south"),
        ("p9", 3, None, "z", None, "south"),
        ("p9", 3, None, "z", None, "south"),
    ]
]
SMOKES, ADULT, NORTH = "smokes = 'yes'", "age >= 18", "ward = 'north'"


def _known(value: Any, test: Callable[[Any], bool]) -> bool | None:
    return None if value is None else test(value)


TRUTHS: plain.Truths = {
    SMOKES: lambda row: _known(row["smokes"], lambda value: value == "yes"),
    ADULT: lambda row: _known(row["age"], lambda value: value >= 18),
    NORTH: lambda row: _known(row["ward"], lambda value: value == "north"),
}
VOTE = Options("vote", ("a", "b", "c"))
AGES = Bins("age", tuple(map(Fraction, (0, 18, 65, 120))))
STEPS = Steps("age", Fraction(0), Fraction(120), Fraction(10))
GRID = Grid("age", Fraction(0), Fraction(120), Fraction(10))
WHO = {"unit": "who"}
ASKED: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((Condition(SMOKES),), {}),
    ((Condition(SMOKES), Condition(ADULT)), {}),
    ((Condition(SMOKES), Condition(ADULT)), WHO),
    ((Condition(SMOKES),), WHO | {"where": ADULT}),
    ((Condition(SMOKES),), WHO | {"reduce": "all"}),
    ((Condition(SMOKES),), WHO | {"reduce": "most-frequent"}),
    ((Condition(SMOKES),), WHO | {"reduce": "first", "reduce_order": "day"}),
    ((Condition(SMOKES), Condition(NORTH)), {"where": ADULT}),
    ((VOTE,), {}),
    ((VOTE,), {"where": ADULT}),
    ((VOTE,), WHO),
    ((VOTE,), WHO | {"where": ADULT}),
    ((VOTE, Condition(SMOKES)), WHO | {"reduce": "first", "reduce_order": "day", "where": ADULT}),
    ((VOTE,), {"part": ("ward", "north")}),
    ((VOTE,), WHO | {"part": ("ward", "south"), "where": ADULT}),
    ((AGES,), {}),
    ((AGES, Condition(SMOKES)), {"where": NORTH}),
    ((AGES,), WHO | {"reduce": "max"}),
    ((AGES, Condition(SMOKES)), WHO | {"reduce": "sum", "where": NORTH}),
    ((VOTE, AGES), WHO | {"reduce": {"age": "median"}}),
    ((STEPS,), {}),
    ((GRID,), {}),
    *(((GRID,), WHO | {"reduce": rule}) for rule in ("sum", "mean", "median", "max", "min", "count")),
    *(((GRID, VOTE, Condition(SMOKES)), WHO | {"reduce": rule, "reduce_order": "day"}) for rule in ("first", "last")),
]


def columns() -> dict[str, list[Any]]:
    return {name: [row[name] for row in ROWS] for name in ROWS[0]}


def agrees(path: Any) -> bool:
    """Whether the engine counts what plain Python counts, of a table in memory and of a CSV."""
    table = pa.table(columns())
    for tally, options in ASKED:
        people = People(**options)
        expected = plain.counted(Tally(tally), ROWS, people, TRUTHS)
        if (
            count_people(table, Tally(tally), people).cells != expected
            or count_people(path, Tally(tally), people).cells != expected
        ):
            return False
    for options in ({}, WHO, WHO | {"reduce": "first", "reduce_order": "day"}):
        people = People(**options)
        if count_people(table, KeyTally("vote"), people).keys != plain.keys(KeyTally("vote"), ROWS, people, TRUTHS):
            return False
    return True


@pytest.fixture
def path(tmp_path: Any) -> Any:
    lines = [",".join(ROWS[0]), *(",".join("" if v is None else str(v) for v in row.values()) for row in ROWS)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "people.csv"


def test_without_a_mistake_they_agree(path: Any) -> None:
    assert agrees(path)


def changed(owner: Any, name: str, wrong: Callable[..., Any]) -> Callable[[Patch], None]:
    """The same function with *wrong* applied to its result and arguments."""
    true = getattr(owner, name)
    if isinstance(true, property):
        getter: Any = true.fget
        return lambda patch: patch.setattr(owner, name, property(lambda self: wrong(getter(self), self)))
    return lambda patch: patch.setattr(owner, name, lambda *rest, **more: wrong(true(*rest, **more), *rest))


def replaced(owner: Any, name: str, wrong: Callable[..., Any]) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(owner, name, wrong)


TRUE_ROWS, TRUE_EACH = counting._rows, counting.one_row_each


def where_wrong(wrong: Callable[[Any, Any], Any]) -> Callable[[Patch], None]:
    """Rows that are people with a condition of theirs in place of where."""

    def rows(table: Any, plan: CountingPlan) -> Any:
        if plan.where is None:
            return TRUE_ROWS(table, plan)
        on = plan.where.on(table)
        plain_rows = replace(plan, where=None)
        columns = {
            f"key{place}": wrong(one.key(one.value(table)), on) if plan.filtered else one.key(one.value(table))
            for place, one in enumerate(plan.readings)
        }
        return counting._selected(table, columns, plain_rows)

    return replaced(counting, "_rows", rows)


def aggregated(rule: str, wrong: Callable[[Reduced, Any, Any], Any]) -> Callable[[Patch], None]:
    """Another aggregate for one rule."""
    true = Reduced.gathered

    def gathered(self: Reduced, rows: Any, order: Any) -> Any:
        return wrong(self, rows, order) if self.rule == rule else true(self, rows, order)

    return replaced(Reduced, "gathered", gathered)


TWINS: dict[str, Callable[[Patch], None]] = {
    "every row is a person though a unit is named": replaced(
        counting,
        "one_row_each",
        lambda rows, items, keys, order: TRUE_EACH(_by_line(rows), items, (*keys, "line"), order),
    ),
    "somebody without a name is a person": changed(counting, "plan_counting", lambda plan, *_: _unnamed(plan)),
    "NULL counts as yes": replaced(Predicate, "on", lambda self, table: self.build(table).fill_null(True)),
    "NULL of a reduced condition counts as yes": aggregated(
        "any", lambda one, rows, _: (rows["speaks"] & rows[one.name].fill_null(True)).any()
    ),
    "the last row instead of the first": aggregated(
        "first", lambda one, rows, order: rows.dialect.first_by(rows[one.name], order, last=True)
    ),
    "first among rows that do not speak": aggregated(
        "first", lambda one, rows, order: rows.dialect.first_by(rows[one.name], order)
    ),
    "where joined by or": where_wrong(lambda value, on: value | on),
    "where ignored": where_wrong(lambda value, on: value),
    "where leaves people out": replaced(
        counting,
        "one_row_each",
        lambda rows, *rest: TRUE_EACH(rows.filter(rows["speaks"]), *rest),
    ),
    "part ignored": changed(counting, "plan_counting", lambda plan, *_: replace(plan, part=None)),
    "the second condition ignored": changed(counting, "plan_counting", lambda plan, *_: _first_only(plan)),
    "cells transposed": changed(CountingPlan, "cell", lambda cell, plan, numbers, _: plan.size - 1 - cell),
    "yes and no swapped": changed(
        counting, "count_checked", lambda counted, _, plan: _turned(counted) if plan.filtered else counted
    ),
    "bins off by one": changed(binning, "_edges", lambda edges, *_: tuple(edge + 1 for edge in edges)),
    "an edge belongs to the bin below": replaced(binning, "_is_below", lambda value, edge: value <= edge),
    "steps off by one": changed(binning._Lattice, "of", lambda made, *_: replace(made, first=made.first + 10)),
    "the grid rounds down": changed(binning._Lattice, "of", lambda made, *_: _rounding_down(made)),
    "everybody else is the first option": changed(
        readings, "_options", lambda numbered, *_: _first_for_others(numbered)
    ),
    "everybody else competes": replaced(sql.Value, "nullif", lambda self, other: self),
    "the mean of all rows": aggregated("mean", lambda one, rows, _: _of_all_rows(one, rows)),
    "the greatest is the least": aggregated("max", lambda one, rows, _: one.heard(rows).min()),
    "a sum of those that do not speak": aggregated("sum", lambda one, rows, _: rows[one.name].sum().cast_to("int64")),
    "all is any": aggregated("all", lambda one, rows, _: (rows["speaks"] & rows[one.name].fill_null(False)).any()),
    "fewest rows": changed(reducing, "_with_votes", lambda rows, *_, **__: _turned_votes(rows)),
    "numbers of a CSV by how long they are": changed(Cell, "value", lambda value, cell, text: _length(value, cell, text)),
    "the last line of a CSV is lost": changed(CsvFiles, "few", lambda columns, *_: [cells[:-1] for cells in columns]),
    "the last line of a long CSV is lost": lambda patch: _lost(patch),
}  # fmt: skip


def _by_line(rows: Any) -> Any:
    return rows.mutate(line=sql.Value("ROW_NUMBER() OVER ()", "int64", rows.dialect))


def _turned(counted: Counted) -> Counted:
    return replace(counted, cells={counted.size - 1 - cell: people for cell, people in counted.cells.items()})


def _turned_votes(rows: Any) -> Any:
    votes = {name: -value for name, value in rows.columns.items() if name.startswith("votes_")}
    return rows.mutate(**votes)


def _of_all_rows(one: Reduced, rows: Any) -> Any:
    return one.heard(rows).sum().cast_to("float64") / rows.count().cast("float64").nullif(0.0)


def _unnamed(plan: CountingPlan) -> CountingPlan:
    if not plan.unit:
        return plan
    named = plan.unit[0]
    return replace(plan, unit=(lambda table: named(table).cast("string").fill_null("nobody"),))


def _first_only(plan: CountingPlan) -> CountingPlan:
    if not plan.filtered or plan.unit:
        return plan
    always = [replace(one, value=lambda table: table.dialect.literal(True), alone=None) for one in plan.readings[1:]]
    return replace(plan, readings=(plan.readings[0], *always))


def _rounding_down(made: Any) -> Any:
    return replace(made, first=made.first + made.width // 2) if made.first < 0 else made


def _first_for_others(numbered: Numbered) -> Numbered:
    true = numbered.number
    return replace(numbered, number=lambda key: true(key) % numbered.last)


def _length(value: Any, cell: Cell, text: Any) -> Any:
    return text.length().cast("float64") if cell.meaning == "number" else value


def _lost(patch: Patch) -> None:
    patch.setattr(csv_files, "_SMALL", 0)
    changed(CsvFiles, "_batches", lambda batches, *_: _without_last(batches))(patch)


def _without_last(batches: Any) -> Any:
    for batch in batches:
        yield batch[:-1]


@pytest.mark.parametrize("name", TWINS)
def test_no_mistake_in_the_tables_goes_unnoticed(name: str, path: Any, monkeypatch: Patch) -> None:
    TWINS[name](monkeypatch)
    assert not agrees(path)
