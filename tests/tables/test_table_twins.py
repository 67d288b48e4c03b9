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
    binning,
    count_people,
    counting,
    csv_files,
    readings,
    stepping,
)
from optimaldp.tables.csv_files import CsvFiles
from optimaldp.tables.engines import writer
from optimaldp.tables.plans import CountingPlan
from optimaldp.tables.readings import Numbered, Predicate
from optimaldp.tables.reducing import Reduced, one_row_each
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
    ((AGES,), WHO),
    ((STEPS,), {}),
    ((GRID,), {}),
    *(((GRID,), WHO | {"reduce": rule}) for rule in ("mean", "max", "min")),
    ((GRID,), WHO | {"reduce": "first", "reduce_order": "day"}),
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


def last_row_each(rows: Any, cell: Any, size: int) -> Any:
    placed = rows.mutate(cell=cell)
    people = placed.group_by("unit").aggregate(cell=placed.cell.argmax(placed.place))
    return people.mutate(cell=people.cell.fill_null(size - 1))


def or_where(columns: dict[str, Any], speaks: Any, plan: CountingPlan) -> dict[str, Any]:
    return {name: value | speaks if plan.filtered else value for name, value in columns.items()}


TWINS: dict[str, Callable[[Patch], None]] = {
    "every row is a person though a unit is named": replaced(
        counting, "one_row_each", lambda rows, reduced: rows.mutate(**_each_by_itself(rows, reduced))
    ),
    "a person counted twice": changed(
        counting, "one_row_each", lambda people, *_: people.union(people, distinct=False)
    ),
    "somebody without a name is a person": changed(counting, "plan_counting", lambda plan, *_: _unnamed(plan)),
    "NULL counts as yes": replaced(Predicate, "on", lambda self, table: self.build(table).fill_null(True)),
    "NULL of a reduced condition counts as yes": changed(
        Reduced, "partial", lambda parts, one, rows: _null_is_yes(parts, one, rows)
    ),
    "the last row instead of the first": replaced(counting, "first_row_each", last_row_each),
    "where joined by or": replaced(counting, "_silenced", or_where),
    "where ignored": replaced(counting, "_silenced", lambda columns, speaks, plan: columns),
    "where leaves people out": changed(
        counting, "one_row_each", lambda people, rows, reduced: one_row_each(rows.filter(rows.speaks), reduced)
    ),
    "part ignored": changed(counting, "plan_counting", lambda plan, *_: replace(plan, part=None)),
    "the second condition ignored": changed(counting, "plan_counting", lambda plan, *_: _first_only(plan)),
    "cells transposed": changed(CountingPlan, "cell", lambda cell, plan, numbers: plan.size - 1 - cell),
    "yes and no swapped": changed(
        counting, "count_checked", lambda counted, _, plan: _turned(counted) if plan.filtered else counted
    ),
    "bins off by one": changed(binning, "_edges", lambda edges, *_: tuple(edge + 1 for edge in edges)),
    "an edge belongs to the bin below": replaced(binning, "_is_below", lambda value, edge, column: value <= float(edge)),
    "steps off by one": changed(
        stepping, "bin_number", lambda build, *_: lambda table: (build(table) + 1).clip(upper=11)
    ),
    "the grid rounds down": changed(
        stepping, "bin_number", lambda build, *rest: stepping_below(*rest) if isinstance(rest[2], Fraction) else build
    ),
    "everybody else is the first option": changed(
        readings, "_options", lambda numbered, *_: _first_for_others(numbered)
    ),
    "the mean rounds down": replaced(Reduced, "_mean", lambda self, people: _floor_mean(self, people)),
    "the greatest is the least": changed(Reduced, "partial", lambda parts, one, rows: _swapped(parts, one, rows)),
    "all is any": changed(Reduced, "final", lambda final, one, people: _any_for_all(final, one, people)),
    "the key of the fewest rows": replaced(counting, "_voted_keys", lambda rows: _fewest(rows)),
    "numbers of a CSV by how long they are": changed(Cell, "value", lambda value, cell, text: _length(value, cell, text)),
    "the last line of a CSV is lost": changed(CsvFiles, "few", lambda columns, *_: [cells[:-1] for cells in columns]),
    "the last line of a long CSV is lost": lambda patch: _lost(patch),
}  # fmt: skip


def _turned(counted: Counted) -> Counted:
    return replace(counted, cells={counted.size - 1 - cell: people for cell, people in counted.cells.items()})


def _each_by_itself(rows: Any, reduced: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for one in reduced:
        for name, value in one.partial(rows).items():
            columns[name] = value.over(rows=(0, 0)) if hasattr(value, "over") else value
        if one.votes:
            columns[f"score{one.place}"] = one.number(rows)
    return columns


def _unnamed(plan: CountingPlan) -> CountingPlan:
    named = plan.unit
    if named is None:
        return plan
    return replace(plan, unit=lambda table: writer(table).coalesce(named(table).cast("string"), "nobody"))


def _null_is_yes(parts: dict[str, Any], one: Reduced, rows: Any) -> dict[str, Any]:
    if one.rule not in ("any", "all"):
        return parts
    holds = rows[f"key{one.place}"].fill_null(True)
    return {f"some{one.place}": (holds & rows.speaks).any(), f"every{one.place}": (holds | ~rows.speaks).all()}


def _first_only(plan: CountingPlan) -> CountingPlan:
    if not plan.filtered or plan.unit is not None:
        return plan
    return replace(plan, readings=(plan.readings[0], *(replace(r, key=readings._always) for r in plan.readings[1:])))


def stepping_below(name: Any, column: Any, low: Any, step: Any, bins: Any) -> Any:
    true = stepping._of_numbers
    return true(name, column, Fraction(low) + step / 2, step, bins)


def _first_for_others(numbered: Numbered) -> Numbered:
    true = numbered.number
    return replace(numbered, number=lambda key: true(key) % numbered.last)


def _floor_mean(self: Reduced, people: Any) -> Any:
    total, values = (people[f"{word}{self.place}"].cast("int64") for word in ("total", "values"))
    return (total.cast("float64") / values.nullif(0).cast("float64")).floor().cast("int64")


def _swapped(parts: dict[str, Any], one: Reduced, rows: Any) -> dict[str, Any]:
    if one.rule not in ("max", "min"):
        return parts
    value = one.heard(rows)
    return {f"number{one.place}": value.min() if one.rule == "max" else value.max()}


def _any_for_all(final: Any, one: Reduced, people: Any) -> Any:
    return people[f"some{one.place}"] if one.rule == "all" else final


def _fewest(rows: Any) -> Any:
    spoken = rows.filter(rows.key.notnull())
    votes = spoken.group_by("unit", "key").aggregate(votes=spoken.count())
    return votes.group_by("unit").aggregate(key=votes.key.argmin(votes.votes))


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
