"""What goes wrong most often is said in a whole sentence with the way out; exit code 2, one line, nothing read."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from command_line import run_cli

ASKED = "share(smokes = 'yes') >= 0.3"
COLUMNS = "the columns are person, smokes, age."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "people.csv").write_text("person,smokes,age\n1,yes,40\n2,no,50\n", "utf-8")
    (tmp_path / "latin.csv").write_text("größe,smokes\n3,yes\n", "latin-1")
    pyarrow.parquet.write_table(pyarrow.table({"age": ["40", "50"]}), tmp_path / "text.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--question", "share(smokes = yes) >= 0.3"), f"put it into single quotes: 'yes'; {COLUMNS}"),
        (("--question", 'share(smokes = "yes") >= 0.3'), "put it into single quotes: 'yes'"),
        (("--question", "share(smoke = 'yes') >= 0.3"), "did you mean smokes?"),
        (("--question", ASKED, "--unit", "persson"), "'persson' is not a column of the table; did you mean person?\n"),
        (("--question", ASKED, "--unit", "zzz"), f"'zzz' is not a column of the table; {COLUMNS}\n"),
        (("--question", "shares(smokes = 'yes') >= 0.3"), "did you mean share? Write for example share("),
        (("--question", "percentage(smokes = 'yes') >= 0.3"), "did you mean share? Write for example share("),
        (("--question", "average(age) >= 30"), "did you mean mean? Write for example mean("),
        (("--question", "share(smokes = 'yes') >= 30%"), "write a percentage as a part of 1: 0.3.\n"),
        (
            ("--question", "median(age)"),
            "'median(age)' does not name the public range of its values; write for example median(age, bins=[18, 30, 45, 100])",
        ),
        (("--question", ASKED, "--data", "latin.csv"), "for example --encoding latin-1"),
        (("--question", "share(age >= 45) >= 0.3", "--data", "text.parquet"), "--type age=number"),
        (("--question", ASKED, "--by", "smokes"), "--by ward --groups a,b"),
        ((), "question: '--question' is missing; ask something"),
    ],
)
def test_the_way_out_is_named(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    data = () if "--data" in arguments else ("--data", "people.csv")
    ran = run_cli("release", *data, *arguments, "--epsilon", "1")
    assert (ran.code, ran.stdout) == (2, "")
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_what_was_declared_is_read(folder: Path) -> None:
    numbers = ("--data", "text.parquet", "--question", "any(age >= 45)", "--type", "age=number")
    assert run_cli("release", *numbers, "--epsilon", "20").code == 0
    latin = ("--data", "latin.csv", "--question", ASKED, "--encoding", "latin-1")
    assert run_cli("release", *latin, "--epsilon", "1").code == 0


def test_without_an_epsilon_there_is_no_default(folder: Path) -> None:
    ran = run_cli("release", "--data", "people.csv", "--question", ASKED)
    assert "there is no default: --epsilon 0.5 for example" in ran.stderr


def test_a_pipe_gets_the_bare_answer_and_on_request_the_proof(folder: Path) -> None:
    asked = ("release", "--data", "people.csv", "--question", ASKED, "--epsilon", "20")
    assert run_cli(*asked).stdout == "yes\n"
    proven = run_cli(*asked, "--proof").stdout
    assert "Protected: each row counts as one person" in proven
    assert "for all other tables, by theorem" in " ".join(proven.split())


def test_the_terminal_says_who_was_counted_and_what_is_left(folder: Path) -> None:
    made = run_cli("ledger", "create", "budget.ledger", "--dataset", "people", "--epsilon", "3", "--unit", "person")
    assert made.code == 0, made.stderr
    asked = ("--data", "people.csv", "--ledger", "budget.ledger", "--unit", "person", "--reduce", "sum", "--proof")
    said = run_cli("release", *asked, "--question", "sum(age, range=[0, 90])", "--epsilon", "1").stdout
    found = [
        " ".join(said.split()).find(text)
        for text in (
            "What is the sum of age?",
            "(± ",
            "Protected: ",
            "can be right at most 73.2 %",
            "Budget: ε = 2 of 3 left after 1 question.",
            "The true number is in this range 95 % of the time.",
            "Values are clipped to [0, 90] and rounded to multiples of 1. People without a value add 0 and are protected.",
            "The rows of a person become one value by: sum.",
        )
    ]
    assert found == sorted(found)
    assert min(found) >= 0, said


def test_a_cross_table_fits_into_a_narrow_terminal(folder: Path) -> None:
    """Small counts carry a star that is explained below: the words beside each count broke every line in two."""
    table = "histogram(smokes: ['yes', 'no'], age: bins=[0, 18, 30, 50, 120])"
    said = run_cli("release", "--data", "people.csv", "--question", table, "--epsilon", "1", "--proof").stdout
    lines = [line.split() for line in said.splitlines()]
    body = [words for words in lines if words[:1] in (["yes"], ["no"])]
    assert [words.count("*") for words in body] == [5, 5]  # nobody could tell two people from none
    assert any("unreliable:" in words for words in lines)
