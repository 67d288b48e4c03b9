"""A plan is priced before anything is spent: for a person as a table, for a program as JSON."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from command_line import run_cli

PLAN = """
source = "people.csv"
ledger = "people.ledger"
budget = {{ epsilon = "{budget}", delta = "0.01" }}
n = 100

[[question]]
text = "share(smokes = 'yes' among age >= 18) >= 0.3"
epsilon = "0.5"

[[question]]
text = "histogram(smokes, ['yes', 'no'])"
epsilon = "1"

[[question]]
text = "keys(smokes)"
epsilon = "0.25"
delta = "0.001"
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _plan(folder: Path, budget: str = "2") -> str:
    (folder / "people.csv").write_text("smokes,age\n" + "yes,30\nno,40\n" * 50, "utf-8")
    (folder / "plan.toml").write_text(PLAN.format(budget=budget), "utf-8")
    return str(folder / "plan.toml")


def _on_a_terminal(*arguments: str) -> str:
    from optimaldp.cli import main

    screen = Terminal()
    with (
        patch.object(sys, "argv", ["optimaldp", *arguments]),
        patch.object(sys, "stdout", screen),
        patch.dict("os.environ", {"COLUMNS": "120", "NO_COLOR": "1"}),
        pytest.raises(SystemExit) as stop,
    ):
        main()
    assert stop.value.code == 0
    return screen.getvalue()


def test_a_person_sees_each_price_and_the_total(tmp_path: Path) -> None:
    shown = _on_a_terminal("preview", "--plan", _plan(tmp_path))
    rows = [[cell.strip() for cell in line.split("│")] for line in shown.splitlines() if "│" in line]
    assert [(row[2], row[3], row[4]) for row in rows if row[1] in "123" and row[1]] == [
        ("share(smokes = 'yes' among age >= 18) >= 0.3", "0.5", "0"),
        ("histogram(smokes, ['yes', 'no'])", "1", "0"),
        ("keys(smokes)", "0.25", "0.001"),
    ]
    assert [row[2:5] for row in rows if "together" in row] == [["together", "1.75", "0.001"]]
    assert "95 %" in shown
    assert "The plan is covered: its budget is epsilon 2, delta 0.01." in shown
    assert not (tmp_path / "people.ledger").exists()


def test_a_plan_that_the_budget_does_not_cover_is_said_to_be_refused(tmp_path: Path) -> None:
    assert "is not covered, and would be refused as a whole" in _on_a_terminal(
        "preview", "--plan", _plan(tmp_path, "1.5")
    )


def test_what_the_ledger_has_left_counts_once_there_is_one(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    assert run_cli("release", "--plan", plan).code == 0
    priced = json.loads(run_cli("preview", "--plan", plan).stdout)
    assert (priced["epsilon"], priced["covered"], priced["remaining"]["epsilon"]) == ("1.75", False, "0.25")
    assert "the ledger has epsilon 0.25" in _on_a_terminal("preview", "--plan", plan)


def test_a_program_gets_json(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    piped = json.loads(run_cli("preview", "--plan", plan).stdout)
    assert json.loads(_on_a_terminal("preview", "--plan", plan, "--json")) == piped
    assert [one["epsilon"] for one in piped["questions"]] == ["0.5", "1", "0.25"]
