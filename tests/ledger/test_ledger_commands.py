"""``optimaldp ledger``: thin, exact, and with one line per error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ledger.conftest import make, spend
from typer.testing import CliRunner

from optimaldp.cli import app, commands  # noqa: F401
from optimaldp.ledger import Budget, Group, Part, open_ledger
from optimaldp.ledger.entry import BEGINNING, hash_of
from optimaldp.privacy import level


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["ledger", *words])
    return result.exit_code, result.stdout


def document(*words: str) -> dict[str, Any]:
    code, output = run(*words)
    assert code == 0
    found: dict[str, Any] = json.loads(output)
    return found


@pytest.fixture
def filled(file: Path) -> str:
    with make(file, 1, 1e-6) as ledger:
        spend(ledger, 0.25, data_version="v").record("no", {"proof": 1})
        spend(ledger, "ln(3/2)")
    return str(file)


def test_a_ledger_is_created_once(file: Path) -> None:
    made = document(
        "create", str(file), "--dataset", "survey", "--epsilon", "ln(3)", "--delta", "1e-6", "--unit", "person"
    )
    assert (made["epsilon"], made["delta"], made["entries"]) == ("ln(3)", "1e-06", 0)
    assert open_ledger(file).opening.unit == "person"
    assert run("create", str(file), "--dataset", "survey", "--epsilon", "9")[0] != 0
    assert open_ledger(file).opening.budget.to_document() == {"epsilon": "ln(3)", "delta": "1e-06"}


def test_everything_that_a_ledger_remembers_can_be_said_at_its_creation(file: Path) -> None:
    words = ["create", str(file), "--dataset", "visits", "--epsilon", "3", "--delta", "1e-6", "--unit", "person"]
    words += ["--part", "region = 'north'", "--part", "region = 'o''hare'", "--unit-has-one-part"]
    words += ["--level-budget", "trust = 0.1: 0.5", "--level-budget", "trust=ln(3/2):1, 1e-7", "--type", "age=number"]
    document(*words)
    opening = open_ledger(file).opening
    assert opening.parts == (Part("region", "north"), Part("region", "o'hare"))
    assert opening.unit_has_one_part
    assert dict(opening.groups) == {Group("trust", "0.1"): Budget(0.5), Group("trust", "ln(3/2)"): Budget(1, 1e-7)}
    assert opening.settings == {"types": {"age": "number"}}
    shown = document("show", str(file))
    assert shown["parts"] == {"column": "region", "values": ["north", "o'hare"], "unit_has_one_part": True}
    assert shown["level_groups"]["trust = 0.1"]["budget"] == {"epsilon": "0.5", "delta": "0"}


@pytest.mark.parametrize(
    "words",
    [
        ("--part", "age > 30"),
        ("--part", "region = 'north'", "--part", "sex = 'f'"),
        ("--part", "region = 'north'", "--unit", "person"),
        ("--unit-has-one-part",),
        ("--level-budget", "trust"),
        ("--level-budget", "trust = much: 1"),
        ("--level-budget", "trust = 1: -1"),
        ("--level-budget", "trust = 1: 2", "--level-budget", "trust = 1: 3"),
        ("--type", "age"),
    ],
)
def test_what_a_ledger_cannot_remember_is_refused_before_it_is_made(file: Path, words: tuple[str, ...]) -> None:
    assert run("create", str(file), "--dataset", "s", "--epsilon", "1", *words)[0] != 0
    assert not file.exists()


def test_what_people_of_one_level_have_left(file: Path) -> None:
    with make(file, 3, groups={"trust": {0.1: Budget(0.5)}}) as ledger:
        spend(ledger, 1, levels="trust", personal={0.1: level(0.1)})
    assert document("remaining", str(file), "--group", "trust = 0.1")["epsilon"] == "0.4"
    assert run("remaining", str(file), "--group", "trust = 0.2")[0] != 0


def test_the_history_is_written_as_a_sheet_a_document_or_a_picture(filled: str, tmp_path: Path) -> None:
    for name in ("history.csv", "history.json", "history.svg"):
        assert run("history", filled, "--output", str(tmp_path / name)) == (0, "")
        assert (tmp_path / name).stat().st_size > 100
    assert len(json.loads((tmp_path / "history.json").read_text())["history"]) == 2
    assert run("history", filled, "--output", str(tmp_path / "history.doc"))[0] != 0


def test_show_has_everything_that_was_released(filled: str) -> None:
    shown = document("show", filled)
    assert (shown["dataset"], shown["neighbours"]) == ("survey", "substitution")
    assert shown["neighbours_in_words"].startswith("one person's record is replaced")
    first, second = shown["history"]
    assert (first["question"], first["answer"], first["certificate"]) == ("majority(smokes)", "no", {"proof": 1})
    assert (second["epsilon"], second["recorded"]) == ("ln(3/2)", False)


def test_remaining_is_exact(filled: str) -> None:
    left = document("remaining", filled)
    assert left["spent"] == {"epsilon": "0.25+ln(3/2)", "delta": "0"}
    assert left["entries"] == 2


def test_an_export_can_be_checked_by_anybody(filled: str, tmp_path: Path) -> None:
    target = tmp_path / "export.jsonl"
    assert run("export", filled, "--output", str(target)) == (0, "")
    assert target.read_text() == run("export", filled)[1]
    previous = BEGINNING
    for line in map(json.loads, target.read_text().splitlines()):
        assert json.loads(line["entry"])["previous"] == previous
        previous = hash_of(line["entry"])
        assert line["hash"] == previous


def test_an_export_holds_neither_the_key_nor_the_data_version(filled: str) -> None:
    ledger = open_ledger(filled)
    exported = run("export", filled)[1]
    assert ledger._log.secret.hex() not in exported
    assert ledger.code_of("v") in exported


def test_verify_says_yes_or_no_by_its_exit_code(filled: str) -> None:
    assert document("verify", filled)["intact"]
    assert run("verify", filled, "--head", "f" * 64)[0] == 1
    damaged = Path(filled)
    damaged.write_bytes(damaged.read_bytes().replace(b"majority", b"minority"))
    code, output = run("verify", filled)
    assert code == 1
    assert "entry 2" in json.loads(output)["problem"]


@pytest.mark.parametrize(
    "words",
    [
        ("show", "missing.ledger"),
        ("verify", "missing.ledger"),
        ("create", "x.ledger", "--dataset", "s", "--epsilon", "much"),
        ("create", "x.ledger", "--dataset", "s", "--epsilon", "1", "--neighbours", "friends"),
        ("create", "no/such/folder/x.ledger", "--dataset", "s", "--epsilon", "1"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(words: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from optimaldp.cli import main; main()", "ledger", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_part_is_asked_and_charged_alone(file: Path, tmp_path: Path) -> None:
    table = tmp_path / "survey.csv"
    table.write_text("region,smokes\n" + "north,yes\n" * 90 + "south,no\n" * 300)
    parts = ("region = 'north'", "region = 'south'")
    document("create", str(file), "--dataset", "survey", "--epsilon", "1", "--part", parts[0], "--part", parts[1])
    asked = ["release", "--data", str(table), "--question", "count(smokes = 'yes') >= 5", "--epsilon", "1"]
    made = CliRunner().invoke(app, [*asked, "--ledger", str(file), "--part", parts[0]])
    assert (made.exit_code, made.stdout) == (0, "yes\n")  # wrong with probability e^-86
    assert document("remaining", str(file), "--part", parts[0])["epsilon"] == "0"
    assert document("remaining", str(file), "--part", parts[1])["epsilon"] == "1"
    assert CliRunner().invoke(app, [*asked, "--ledger", str(file), "--part", "region = 'west'"]).exit_code != 0
