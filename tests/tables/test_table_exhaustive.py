"""All small tables: NULLs, values outside of every list, several rows for a person; each option; through CSV and DuckDB.

All tables are counted by one query: each table is a level of its own, and its people have names of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import plain
import pyarrow as pa
import pytest

from optimaldp.tables import (
    Bins,
    Condition,
    Grid,
    KeyTally,
    Options,
    People,
    Source,
    Steps,
    Tally,
    count_people,
    counting,
    open_source,
)

F = Fraction
Row = dict[str, Any]
COLUMNS = ("person", "vote", "day", "ok")
TRUTHS: plain.Truths = {
    "*": lambda row: True,
    "ok = 'yes'": lambda row: row["ok"] == "yes",
    "vote = 'a'": lambda row: row["vote"] == "a",
    "day >= 2": lambda row: row["day"] is not None and row["day"] >= 2,
    "vote <> 'b'": lambda row: row["vote"] is not None and row["vote"] != "b",
}
WIDE = [(1, 2), ("a", "b", "x", None), (1, 2, None), ("yes", None)]
DEEP = [(1, 2), ("a", "b", None), (1, 3), ("yes", None)]


def _tables() -> Iterator[list[tuple[Any, ...]]]:
    """Every table of one or two rows with all values, and of three rows with fewer."""
    for size, values in ((1, WIDE), (2, WIDE), (3, DEEP)):
        yield from map(list, itertools.combinations_with_replacement(itertools.product(*values), size))
    yield from ([(None, "a", 1, "yes"), (1, "b", 2, "yes")], [(None, None, None, None)])


TABLES = [[dict(zip(COLUMNS, row)) for row in rows] for rows in _tables()]


def _named(world: int, rows: list[Row]) -> Iterator[Row]:
    for row in rows:
        person = None if row["person"] is None else f"{world}-{row['person']}"
        yield row | {"person": person, "world": f"w{world}"}


def _write_csv(path: Path, rows: list[Row]) -> Path:
    lines = [",".join("" if row[name] is None else str(row[name]) for name in rows[0]) for row in rows]
    path.write_text("\n".join([",".join(rows[0]), *lines]) + "\n")
    return path


@pytest.fixture(scope="module", params=["csv", "memory"])
def worlds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    rows = [row for world, table in enumerate(TABLES) for row in _named(world, table)]
    path = tmp_path_factory.mktemp("worlds") / "all.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "MOST_LEVELS", len(TABLES))
        yield open_source(_write_csv(path, rows) if request.param == "csv" else pa.Table.from_pylist(rows))


VOTE, OK = Options("vote", ("a", "b")), Condition("ok = 'yes'")
DAYS, GRID = Steps("day", F(1), F(3), F(1)), Grid("day", F(1), F(2), F(1, 2))
PERSON, FIRST = {"unit": "person"}, {"unit": "person", "reduce": "first", "reduce_order": "day"}
CASES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((OK,), {}),
    ((OK, Condition("vote = 'a'")), {}),
    ((OK, Condition("vote = 'a'"), Condition("day >= 2")), {}),
    ((VOTE,), {}),
    ((VOTE, OK), {}),
    ((Bins("day", (F(1), F(2), F(3))),), {}),
    ((DAYS, VOTE), {}),
    ((GRID, OK), {}),
    ((OK,), PERSON),
    ((OK,), PERSON | {"reduce": "all"}),
    ((OK,), PERSON | {"reduce": "most-frequent"}),
    ((OK,), FIRST),
    ((OK, Condition("vote = 'a'")), PERSON | {"reduce": "all"}),
    ((VOTE,), PERSON),
    ((VOTE,), FIRST),
    ((VOTE, OK), PERSON),
    ((VOTE, OK), FIRST),
    ((Condition("*"), VOTE), PERSON),
    ((VOTE, DAYS), PERSON | {"reduce": "median"}),
    ((VOTE, DAYS, OK), PERSON | {"reduce": {"day": "sum"}}),
    ((VOTE, GRID, OK), PERSON | {"reduce": "last", "reduce_order": "day"}),
    ((OK, VOTE), PERSON | {"reduce": "all"}),
    ((GRID,), FIRST),
    ((GRID, VOTE), PERSON | {"reduce": "mean"}),
    ((GRID, OK), PERSON | {"reduce": "max"}),
    ((GRID,), PERSON | {"reduce": "min"}),
]
WHERE = [None, "day >= 2", pytest.param("vote <> 'b'", marks=pytest.mark.slow)]


@pytest.mark.long
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(("readings", "people"), CASES, ids=str)
def test_all_small_tables(worlds: Source, readings: Any, people: Any, where: str | None) -> None:
    tally, asked = Tally(readings), People(**people, where=where)
    counted = count_people(worlds, tally, People(**people, where=where, levels="world"))
    by_world = dict(counted.by_level or ())
    for world, rows in enumerate(TABLES):
        assert by_world.get(f"w{world}", {}) == plain.counted(tally, rows, asked, TRUTHS), rows


@pytest.mark.parametrize(("readings", "people"), CASES, ids=str)
def test_small_tables_by_themselves(tmp_path: Path, readings: Any, people: Any) -> None:
    """Without levels, and with a part: a few tables, each alone."""
    tally = Tally(readings)
    for place, rows in enumerate((TABLES[601], TABLES[2003])):
        rows = [row | {"region": "north" if row["person"] == 1 else "south"} for row in rows]
        path = _write_csv(tmp_path / f"{place}.csv", rows)
        for part in (None, ("region", "north")):
            asked = People(**people, where="vote <> 'b'", part=part)
            assert count_people(path, tally, asked).cells == plain.counted(tally, rows, asked, TRUTHS), rows


@pytest.mark.parametrize("people", [{}, PERSON, FIRST], ids=str)
@pytest.mark.parametrize("where", WHERE)
def test_keys_of_small_tables(tmp_path: Path, people: Any, where: str | None) -> None:
    for place, rows in enumerate(TABLES[3 :: len(TABLES) // 5]):
        path = _write_csv(tmp_path / f"{place}.csv", rows)
        asked = People(**people, where=where)
        expected = plain.keys(KeyTally("vote"), rows, asked, TRUTHS)
        assert count_people(path, KeyTally("vote"), asked).keys == expected, rows


def test_an_empty_table_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",".join(COLUMNS) + "\n")
    for readings, people in CASES:
        assert count_people(path, Tally(readings), People(**people)).cells == {}
    assert count_people(path, KeyTally("vote")).keys == {}


@pytest.mark.parametrize(("readings", "people"), CASES, ids=str)
def test_one_person_moves_between_two_cells(readings: Any, people: Any) -> None:
    """What every mechanism rests on, by plain Python on all pairs of small tables that differ in one person's rows."""
    tally, asked = Tally(readings), People(**people)
    own: dict[Any, list[list[Row]]] = {}
    for rows in TABLES:
        rest = repr([row for row in rows if row["person"] != 1])
        if sum(row["person"] == 1 for row in rows) == 1:
            own.setdefault(rest, []).append(rows)
    for tables in own.values():
        counts = [plain.counted(tally, rows, asked, TRUTHS) for rows in tables[:40]]
        for before, after in itertools.combinations(counts, 2):
            moved = [after.get(cell, 0) - before.get(cell, 0) for cell in before.keys() | after.keys()]
            assert sum(moved) == 0
            assert sum(map(abs, moved)) <= 2
