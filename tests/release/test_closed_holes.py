"""Holes that once revealed a person, each tried again through the doors that everybody uses: release, open, the command line."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from command_line import run_cli

import optimaldp as odp
from optimaldp.errors import LedgerError, OptimalDPError, QuestionError
from optimaldp.tables.engines import forgives_bad_text

DRAWS = 40


def people(**columns: list[Any]) -> pyarrow.Table:
    return pyarrow.table(columns)


# 1. Nobody with a value is a table like any other: at epsilon 0 the answer knows nothing.

NOBODY = [
    "median(age, bins=[0, 30, 60])",
    "quantile(age, 0.9, bins=[0, 30, 60])",
    "winner(vote, ['a', 'b'])",
    "compare(vote, 'a', 'b')",
    "mean(age, range=[0, 60], step=30) >= 30",
    "share(hiv = 'pos' among age > 500) >= 0.5",
    "share(hiv = 'pos' among age > 500) > 0.5",
    "count(age > 500) >= 1",
]


def secrets(number: int) -> pyarrow.Table:
    return people(
        name=[f"p{i}" for i in range(number)],
        hiv=["pos" if i % 2 else "neg" for i in range(number)],
        age=[None] * number,
        vote=[None] * number,
    ).cast(pyarrow.schema([("name", "string"), ("hiv", "string"), ("age", "int64"), ("vote", "string")]))


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
@pytest.mark.parametrize("question", NOBODY)
def test_at_level_zero_nothing_is_given_in_clear(question: str, neighbours: str) -> None:
    """A fair coin shows its other side within 60 throws, a certain answer never does."""
    table = secrets(9)
    draws = (str(odp.release(table, question, epsilon=0, neighbours=neighbours).answer) for _ in range(60))
    first = next(draws)
    assert any(answer != first for answer in draws)


@pytest.mark.long
def test_forty_secrets_are_not_read_for_nothing(tmp_path: Path) -> None:
    """The attack itself: one question at epsilon 0 about each person, through a ledger."""
    ages = [40 + i for i in range(DRAWS)]
    table = secrets(DRAWS).set_column(2, "age", [ages])
    read = []
    with odp.open(table, ledger=tmp_path / "s.ledger", budget=odp.Budget(epsilon=1)) as opened:
        for i in range(DRAWS):
            where = f"name = 'p{i}' AND hiv = 'pos'"
            read.append(str(opened.ask("median(age, bins=[0, 30, 90])", epsilon=0, where=where).answer))
        assert opened.remaining.spent.epsilon == odp.Epsilon.read(0)
    told = [answer == "[30, 90]" for answer in read]
    wrong = sum(guess is not bool(i % 2) for i, guess in enumerate(told))
    assert 2 < wrong < DRAWS - 2  # fair coins: outside of it once in 10^8


# 2 and 3. The first line names the columns, and no other line decides how its neighbours are read.

ODD_LINES = {
    "a comment sign": ["# yes,1"],
    "one quote": ['"yes,1'],
    "two quotes with people between them": ['"no', *["yes,1"] * 3, 'no"'],
    "too many cells": ["SECRET,HIV+,51,Paris"],
    "nothing": [""],
    "one cell": ["maybe"],
    "other delimiters": ["yes;1;2;3;4;5", "a\tb\tc\td|e|f|g"],
    "more of another delimiter than all lines have": ["yes" + ";" * 500],
    "another date": ["no,13/01/2020"],
    "the header again": ["vote,number"],
    "no text": ["\ufffd\u0000,1"],
    "spaces": ["   "],
}


@pytest.mark.parametrize("size", [30, 100_000], ids=["short", "long"])
@pytest.mark.parametrize("name", ODD_LINES)
def test_a_line_of_a_csv_speaks_for_itself_alone(name: str, size: int, tmp_path: Path) -> None:
    """Every line is one person, and all the others are counted as they were: at this level the answers are certain."""
    odd = ODD_LINES[name]
    lines = ["vote,number", *["yes,1"] * size, *odd, *["no,2"] * size]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", "utf-8")
    questions = [f"count(vote = 'yes' and number = 1) >= {size + odd.count('yes,1') + more}" for more in (0, 1)]
    made = odp.release(str(tmp_path / "t.csv"), questions, epsilon=99)
    assert [one.answer for one in made] == ["yes", "no"]
    assert made[0].to_document()["mechanism"]["people"]["n"] == 2 * size + len(odd)
    with pytest.raises(QuestionError) as caught:
        odp.release(str(tmp_path / "t.csv"), "majority(nothing = 1)", epsilon=1)
    assert str(caught.value).endswith("the columns are vote, number.")


# 4. A condition is one condition: nothing in it reaches beyond it.

VOTES = people(vote=["yes"] * 30 + ["no"] * 30, region=["north"] * 30 + ["south"] * 30)
ESCAPES = [
    "vote = 'zzz') OR (vote = 'yes'",
    "vote = 'zzz' -- ",
    "vote = 'zzz'; drop table t",
    "vote = 'zzz' UNION SELECT 1",
    "vote = 'zzz') FILTER (WHERE TRUE",
    "1 = 1) OR EXISTS (SELECT 1",
]


@pytest.mark.parametrize("text", ESCAPES)
def test_a_condition_cannot_be_broken_out_of(text: str, tmp_path: Path) -> None:
    with odp.open(
        VOTES, ledger=tmp_path / "v.ledger", budget=odp.Budget(9), parts={"region": ["north", "south"]}
    ) as opened:
        for asked in (
            {"question": "count(vote = 'yes') >= 10", "where": text},
            {"question": f"count({text}) >= 10"},
            {"question": f"share(vote = 'yes' among {text}) >= 0.1"},
        ):
            with pytest.raises(QuestionError):
                opened.ask(**asked, epsilon=1, part="south")
        assert opened.remaining.spent.epsilon == odp.Epsilon.read(0)


def test_or_in_a_condition_stays_inside_of_its_part(tmp_path: Path) -> None:
    """In the north all say yes, in the south none: at this level the answer of the south is certain to all practical ends."""
    with odp.open(
        VOTES, ledger=tmp_path / "v.ledger", budget=odp.Budget(200), parts={"region": ["north", "south"]}
    ) as opened:
        where = "vote = 'zzz' OR vote = 'yes'"
        assert opened.ask("count(vote = 'yes') >= 10", epsilon=50, part="south", where=where).answer == "no"
        assert opened.ask("count(vote = 'yes') >= 10", epsilon=50, part="north", where=where).answer == "yes"
        assert opened.remaining_of(part="south").spent.epsilon == odp.Epsilon.read(50)


# 5. What cannot be read decides nothing but its own record.


def test_broken_text_in_a_parquet_file_is_one_records_own_affair(tmp_path: Path) -> None:
    """No query fails, nobody else is read differently. The engine writes `?` for a broken byte, as docs/not-protected.md says."""
    raw = pyarrow.array([b"ok"] * 40 + [b"\xff", b"caf\xe9"] + [b"no"] * 40, pyarrow.binary())
    broken = pyarrow.Array.from_buffers(pyarrow.string(), len(raw), raw.buffers())
    pyarrow.parquet.write_table(pyarrow.table({"name": broken}), tmp_path / "t.parquet")
    questions = [
        "count(name = 'ok') >= 40",
        "count(name = 'ok') >= 41",
        "count(name = 'no') >= 40",
        "count(name = 'no') >= 41",
    ]
    made = odp.release(str(tmp_path / "t.parquet"), questions, epsilon=99)
    assert [one.answer for one in made] == ["yes", "no", "yes", "no"]
    assert made[0].to_document()["mechanism"]["people"]["n"] == 82
    question_marks = odp.release(str(tmp_path / "t.parquet"), "count(name = '?') >= 1", epsilon=99).answer
    assert (question_marks == "yes") is forgives_bad_text()


# 6. Parts are values of one column, compared exactly.


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (["age > 30", "age > 25"], "is not one value of one column, so that parts could overlap"),
        (["region = 'north' OR vote = 'yes'"], "is not one value of one column, so that parts could overlap"),
        ({"region": ["north"], "vote": ["yes"]}, "do not name exactly one column"),
        (["region = 'north'", "vote = 'yes'"], "one person can be in a part of each"),
        ({"region OR vote": ["north"]}, "is not a column of the table"),
        ({"region = 'north' OR region": ["south"]}, "is not a column of the table"),
        ({"region": ["north", "north"]}, "name a value twice"),
    ],
)
def test_parts_that_could_overlap_are_refused(parts: Any, words: str, tmp_path: Path) -> None:
    """By the rule that each of them breaks: another check that happens to fail later would not do."""
    with pytest.raises(OptimalDPError, match=words):
        odp.open(VOTES, ledger=tmp_path / "v.ledger", budget=odp.Budget(1), parts=parts)
    assert not (tmp_path / "v.ledger").exists()


def test_parts_are_compared_letter_by_letter(tmp_path: Path) -> None:
    spelled = ["north"] * 40 + ["North"] * 30 + ["north "] * 20 + ["NORTH"] * 10
    table = people(vote=["yes"] * 40 + ["no"] * 60, region=spelled)
    parts = {"region": ["north", "North", "north ", "NORTH"]}
    with odp.open(table, ledger=tmp_path / "v.ledger", budget=odp.Budget(1000), parts=parts) as opened:
        answers = {part: opened.ask("majority(vote = 'yes')", epsilon=99, part=part).answer for part in parts["region"]}
        assert answers == {"north": "yes", "North": "no", "north ": "no", "NORTH": "no"}


def test_a_part_of_several_rows_must_be_declared(tmp_path: Path) -> None:
    table = people(who=[1, 1, 2, 2], vote=["yes", "no", "no", "no"], region=["north", "south", "south", "south"])
    budget, parts = odp.Budget(9), {"region": ["north", "south"]}
    with pytest.raises(OptimalDPError):
        odp.open(table, ledger=tmp_path / "a.ledger", budget=budget, parts=parts, unit="who")
    with odp.open(
        table, ledger=tmp_path / "b.ledger", budget=budget, parts=parts, unit="who", unit_has_one_part=True
    ) as opened:
        assert opened.ask("count(vote = 'yes') >= 1", epsilon=1, part="south").meaning["part"] == {
            "column": "region",
            "value": "south",
        }


# 7. Level groups: delta is charged, columns are told apart, and the check before the release is the right one.

LEVELS = people(vote=["yes"] * 30 + ["no"] * 30, trust=["0.1"] * 20 + ["1"] * 40, caution=["0.1"] * 30 + ["1"] * 30)


def test_delta_is_charged_to_every_level_group(tmp_path: Path) -> None:
    with odp.open(LEVELS, ledger=tmp_path / "l.ledger", budget=odp.Budget(9, "0.1")) as opened:
        opened.ask("share(vote = 'yes') >= 0.4", epsilon=1, delta="0.001", levels="trust")
        lost = opened.remaining_of(group=("trust", "0.1")).spent
        assert (str(lost.epsilon), lost.delta) == ("0.1", pytest.approx(0.001))


def test_two_columns_of_levels_are_two_groups(tmp_path: Path) -> None:
    with odp.open(LEVELS, ledger=tmp_path / "l.ledger", budget=odp.Budget(9)) as opened:
        opened.ask("share(vote = 'yes') >= 0.4", epsilon=1, levels="trust")
        opened.ask("share(vote = 'yes') >= 0.4", epsilon=1, levels="caution")
        lost = {str(group): str(left.spent.epsilon) for group, left in opened.ledger.groups().items()}
        # In a question that honours another column a person may lose all of its epsilon.
        assert lost == {"trust = 0.1": "1.1", "trust = 1": "2", "caution = 0.1": "1.1", "caution = 1": "2"}


def test_a_group_is_asked_as_long_as_its_own_level_fits(tmp_path: Path) -> None:
    """Their budget is .25 and they lose .1 each time, though the question's epsilon is 1: two questions, and then weight 0."""
    groups = {"trust": {"0.1": odp.Budget("0.25")}}
    with odp.open(LEVELS, ledger=tmp_path / "l.ledger", budget=odp.Budget(9), groups=groups) as opened:
        for bound in ("0.4", "0.5", "0.6"):
            opened.ask(f"share(vote = 'yes') >= {bound}", epsilon=1, levels="trust")
        assert str(opened.remaining_of(group=("trust", "0.1")).spent.epsilon) == "0.2"
        assert str(opened.remaining.spent.epsilon) == "3"


# 8. A path that exists is that file.


def votes_file(path: Path, vote: str) -> str:
    path.write_text("vote\n" + f"{vote}\n" * 60, "utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["a[1].csv", "b*.csv", "c?.csv", "d{x,y}.csv", "[!e].csv"])
def test_a_name_with_signs_is_that_file_and_no_other(name: str, tmp_path: Path) -> None:
    own = votes_file(tmp_path / name, "yes")
    for other in ("a1.csv", "b1.csv", "bb.csv", "c1.csv", "dx.csv", "dy.csv", "f.csv"):
        votes_file(tmp_path / other, "no")
    assert odp.release(own, "majority(vote = 'yes')", epsilon=50).answer == "yes"
    ran = run_cli("release", "--data", own, "--question", "majority(vote = 'yes')", "--epsilon", "50")
    assert (ran.code, ran.stdout.split()[0]) == (0, "yes")


@pytest.mark.parametrize("name", ["a[1].csv", "b*.csv"])
def test_a_name_that_does_not_exist_reads_nothing_else(name: str, tmp_path: Path) -> None:
    for other in ("a1.csv", "b1.csv"):
        votes_file(tmp_path / other, "no")
    ran = run_cli("release", "--data", str(tmp_path / name), "--question", "majority(vote = 'yes')", "--epsilon", "50")
    assert (ran.code, ran.stdout) == (2, "")


# 10. What is not used is not charged, what was declared is remembered, and one ledger is one file.


def test_a_histogram_charges_no_delta(tmp_path: Path) -> None:
    with odp.open(VOTES, ledger=tmp_path / "h.ledger", budget=odp.Budget(9, "0.1")) as opened:
        made = opened.ask("histogram(vote, ['yes', 'no'])", epsilon=1, delta="0.01")
        assert made.spent.delta == 0
        assert opened.remaining.spent.delta == 0
        opened.ask("majority(vote = 'yes')", epsilon=1, delta="0.01")
        assert float(opened.remaining.spent.delta) == 0.01


def test_the_unit_is_remembered_from_the_ledger(tmp_path: Path) -> None:
    table = people(who=[i // 3 for i in range(90)], vote=["yes"] * 90)
    with odp.open(table, ledger=tmp_path / "u.ledger", budget=odp.Budget(900), unit="who") as opened:
        made = opened.ask("count(vote = 'yes') >= 31", epsilon=99)
        assert (made.answer, made.meaning["unit"]) == ("no", "who")
    with odp.open(table, ledger=tmp_path / "u.ledger") as again:
        assert again.ask("count(vote = 'yes') >= 32", epsilon=99).answer == "no"
    assert odp.release(table, "count(vote = 'yes') >= 33", epsilon=99, ledger=tmp_path / "u.ledger").answer == "no"


def test_the_command_line_remembers_the_unit_too(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("who,vote\n" + "".join(f"{i // 3},yes\n" for i in range(90)), "utf-8")
    ledger = str(tmp_path / "u.ledger")
    with odp.open(str(path), ledger=ledger, budget=odp.Budget(900), unit="who"):
        pass
    ran = run_cli(
        "release", "--data", str(path), "--question", "count(vote = 'yes') >= 31", "--epsilon", "99", "--ledger", ledger
    )
    assert (ran.code, ran.stdout.split()[0]) == (0, "no")


def test_a_ledger_with_a_second_name_is_refused(tmp_path: Path) -> None:
    first = tmp_path / "one.ledger"
    with odp.open(VOTES, ledger=first, budget=odp.Budget(1)) as opened:
        os.link(first, tmp_path / "two.ledger")
        with pytest.raises(LedgerError):
            opened.ask("majority(vote = 'yes')", epsilon=1)
    with odp.open(VOTES, ledger=tmp_path / "two.ledger") as opened, pytest.raises(LedgerError):
        opened.ask("majority(vote = 'yes')", epsilon=1)


def test_a_ledger_that_was_replaced_is_refused(tmp_path: Path) -> None:
    first, copy = tmp_path / "one.ledger", tmp_path / "copy.ledger"
    with odp.open(VOTES, ledger=first, budget=odp.Budget(1)) as opened:
        shutil.copy(first, copy)
        opened.ask("majority(vote = 'yes')", epsilon="0.5")
        os.replace(copy, first)
        with pytest.raises(LedgerError):
            opened.ask("count(vote = 'yes') >= 7", epsilon="0.5")
