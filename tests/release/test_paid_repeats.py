"""A cell that is run again costs nothing while the data stays; where a repeat is paid, that is said before it is."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import ibis
import pyarrow
import pytest
from command_line import run_cli

import optimaldp as odp
from optimaldp.errors import BudgetError, PaidRepeatWarning
from optimaldp.tables import open_source

PEOPLE = pyarrow.table({"smokes": ["yes"] * 40 + ["no"] * 60})
OTHERS = pyarrow.table({"smokes": ["yes"] * 41 + ["no"] * 59})
ASKED = "majority(smokes = 'yes')"


def _connection(table: pyarrow.Table, *path: Path) -> Any:
    connection = ibis.duckdb.connect(*path)
    connection.con.execute("CREATE TABLE people AS SELECT unnest(?) AS smokes", [table["smokes"].to_pylist()])
    return connection


def _view(table: pyarrow.Table) -> Any:
    connection = _connection(table)
    connection.con.execute("CREATE VIEW seen AS SELECT * FROM people")
    return connection.table("seen")


SOURCES = {
    "arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "Ibis in memory": ibis.memtable,
    "DuckDB in memory": lambda table: _connection(table).table("people"),
    "a view": _view,
    "an expression": lambda table: _connection(table).table("people").filter(ibis._.smokes != "maybe"),
    "connection and name": lambda table: (_connection(table), "people"),
}


@pytest.mark.long
@pytest.mark.parametrize("make", SOURCES.values(), ids=list(SOURCES))
def test_a_cell_that_is_run_again_costs_nothing(make: Any, tmp_path: Path) -> None:
    ledger = tmp_path / "people.ledger"
    with warnings.catch_warnings():
        warnings.simplefilter("error", PaidRepeatWarning)
        for _ in range(2):
            with odp.open(make(PEOPLE), ledger=ledger, budget=odp.Budget(1)) as table:
                release = table.ask(ASKED, epsilon="0.25")
    assert release.recorded
    with odp.open(make(OTHERS), ledger=ledger) as table:
        assert str(table.remaining.epsilon) == "0.75"
        with pytest.warns(PaidRepeatWarning, match="was paid for once before"):
            assert not table.ask(ASKED, epsilon="0.25").recorded
        assert str(table.remaining.epsilon) == "0.5"


def test_a_database_file_has_the_version_of_what_was_committed(tmp_path: Path) -> None:
    connection = _connection(PEOPLE, tmp_path / "people.db")
    before = open_source(connection.table("people")).version()
    assert before is not None
    assert open_source(connection.table("people")).version() == before
    connection.con.execute("INSERT INTO people VALUES ('yes')")
    assert open_source(connection.table("people")).version() not in (None, before)


def test_a_paid_repeat_can_be_stopped_before_it_is_paid(tmp_path: Path) -> None:
    with odp.open(PEOPLE, ledger=tmp_path / "people.ledger", budget=odp.Budget(1)) as table:
        table.ask(ASKED, epsilon="0.25")
    with odp.open(OTHERS, ledger=tmp_path / "people.ledger") as table, warnings.catch_warnings():
        warnings.simplefilter("error", PaidRepeatWarning)
        with pytest.raises(PaidRepeatWarning):
            table.ask(ASKED, epsilon="0.25")
        assert str(table.remaining.epsilon) == "0.75"
        table.ask(ASKED, epsilon="0.125")  # another level is another question
        table.ask("majority(smokes = 'no')", epsilon="0.25")


def test_every_paid_repeat_is_said_and_counted(tmp_path: Path) -> None:
    with odp.open(PEOPLE, ledger=tmp_path / "people.ledger", budget=odp.Budget(1)) as table:
        with pytest.warns(PaidRepeatWarning, match="once") as heard:
            table.ask([ASKED, ASKED], epsilon="0.25")
        assert [one.filename for one in heard if one.category is PaidRepeatWarning] == [
            __file__
        ]  # the line of the caller, not one of ours
    with (
        odp.open(OTHERS, ledger=tmp_path / "people.ledger") as table,
        pytest.warns(PaidRepeatWarning, match="2 times"),
    ):
        table.ask(ASKED, epsilon="0.25")


def test_what_the_budget_refuses_is_not_called_a_repeat(tmp_path: Path) -> None:
    with odp.open(PEOPLE, ledger=tmp_path / "people.ledger", budget=odp.Budget("0.25")) as table:
        table.ask(ASKED, epsilon="0.25")
    with odp.open(OTHERS, ledger=tmp_path / "people.ledger") as table, warnings.catch_warnings():
        warnings.simplefilter("error", PaidRepeatWarning)
        with pytest.raises(BudgetError):
            table.ask(ASKED, epsilon="0.25")


def test_the_warning_is_the_same_whatever_the_data_is(tmp_path: Path) -> None:
    said = []
    for name, changed in (("a", OTHERS), ("b", pyarrow.table({"smokes": ["no"] * 3}))):
        with odp.open(PEOPLE, ledger=tmp_path / f"{name}.ledger", budget=odp.Budget(1)) as table:
            table.ask(ASKED, epsilon="0.25")
        with odp.open(changed, ledger=tmp_path / f"{name}.ledger") as table, pytest.warns(PaidRepeatWarning) as heard:
            table.ask(ASKED, epsilon="0.25")
        said.append([str(one.message) for one in heard])
    assert said[0] == said[1]


def test_the_command_line_says_it_on_standard_error(tmp_path: Path) -> None:
    data, ledger = tmp_path / "people.csv", str(tmp_path / "people.ledger")
    data.write_text("smokes\nyes\nno\nno\n", "utf-8")
    assert run_cli("ledger", "create", ledger, "--dataset", "people", "--epsilon", "1").code == 0
    asked = ("release", "--data", str(data), "--question", ASKED, "--epsilon", "0.25", "--ledger", ledger)
    assert "paid for" not in run_cli(*asked).stderr
    assert "paid for" not in run_cli(*asked).stderr
    data.write_text("smokes\nyes\nno\nno\nno\n", "utf-8")
    again = run_cli(*asked)
    assert again.code == 0
    assert "optimaldp: note: majority(smokes = 'yes') was paid for once before" in again.stderr
    assert again.stdout in ("yes\n", "no\n")


def test_another_reading_of_the_same_cells_is_another_table(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    data.write_text("cost\n1.234\n2.000\n", "utf-8")
    versions = [
        open_source(data, **options).version()
        for options in (
            {},
            {"types": {"cost": "number 1.234,5"}},
            {"types": {"cost": "number 1,234.5"}},
            {"encoding": "latin-1"},
        )
    ]
    assert len(set(versions)) == 4
    assert open_source(data, types={"cost": "number 1,234.5"}).version() == versions[2]
