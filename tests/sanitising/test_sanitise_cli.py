"""``optimaldp sanitise`` and the bars of a terminal."""

from __future__ import annotations

import csv
import json

import pytest
from command_line import run_cli

from optimaldp.cli.options import bar_lines

VOTE, AGE = "expected_vote: ['Clinton', 'Dole']", "age: bins=[18, 30, 45, 65, 100]"
DATA = "examples/data/anes1996.csv"


@pytest.fixture(autouse=True)
def root(request, monkeypatch):
    monkeypatch.chdir(request.config.rootpath)


def run(*more):
    return run_cli("sanitise", "--column", VOTE, "--column", AGE, "--epsilon", "1", *more)


def test_rows_and_statement(tmp_path):
    target = tmp_path / "clean.csv"
    ran = run("--data", DATA, "--output", str(target))
    assert (ran.code, ran.stderr) == (0, "")
    with target.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 944
    assert set(rows[0]) == {"expected_vote", "age"}
    assert {row["expected_vote"] for row in rows} <= {"Clinton", "Dole", ""}
    assert all(row["age"] == "" or 18 <= int(row["age"]) <= 100 for row in rows)
    said = json.loads((tmp_path / "clean.csv.json").read_text())
    assert (said["cells"], said["epsilon"], said["delta"], said["method"]) == (15, "1", 0, "joint")


def test_labels_and_parquet(tmp_path):
    import pyarrow.parquet

    target = tmp_path / "clean.parquet"
    assert run("--data", DATA, "--output", str(target), "--labels", "--neighbours", "add-remove").code == 0
    ages = set(pyarrow.parquet.read_table(target)["age"].to_pylist())
    assert ages <= {"[18, 30)", "[30, 45)", "[45, 65)", "[65, 100]", None}


def test_an_estimate_reads_nothing():
    ran = run("--estimate", "--n", "5000", "--marginals", "expected_vote; age")
    document = json.loads(ran.stdout)
    assert document["n"] == 5000
    assert document["joint"]["one_way_error"] > 0
    assert [one["columns"] for one in document["marginals"]["tables"]] == [["expected_vote"], ["age"]]
    assert {row["better"] for row in document["queries"]} <= {"joint", "marginals"}
    assert document["readable"].startswith("with 5,000 people and epsilon 1 tables of up to ")
    assert [len(shape["columns"]) for shape in document["shapes"]] == [1, 1, 2]
    # Pairs that are still to be chosen: all of them are shown.
    ran = run("--estimate", "--marginals", "choose")
    assert ["expected_vote", "age"] in [one["columns"] for one in json.loads(ran.stdout)["marginals"]["tables"]]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--output", "clean.csv"), "data"),
        (("--data", DATA), "output"),
        (("--data", DATA, "--output", "/nowhere/clean.csv"), "cannot be written"),
        (("--data", DATA, "--output", "clean.xlsx"), "cannot be written"),
        (("--data", DATA, "--output", "clean.csv", "--n", "5"), "--estimate"),
        (("--estimate", "--n", "many"), "whole number"),
        (("--data", DATA, "--output", "clean.csv", "--column", "height: ['a']"), "height"),
        (("--data", DATA, "--output", "clean.csv", "--column", "age: bins=[1]"), "age|rising"),
    ],
)
def test_bad_words_are_one_line(more, words, tmp_path, monkeypatch):
    ran = run(*more)
    assert ran.code == 2
    assert len(ran.stderr.strip().splitlines()) == 1
    assert any(word in ran.stderr for word in words.split("|"))
    assert not (tmp_path / "clean.csv").exists()


def test_bars():
    lines = bar_lines(["a", "bb"], [8, -3])
    assert lines[0].startswith("a   █")
    assert lines[1] == "bb  -3"
    assert len(bar_lines([str(i) for i in range(100)], [1] * 100)) == 41
