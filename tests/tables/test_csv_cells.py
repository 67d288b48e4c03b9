"""Cells of a CSV: the question says how they are read, declared types say it once for all, and no cell decides for another."""

from __future__ import annotations

import datetime
import gzip
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from optimaldp.errors import QuestionError, TableError
from optimaldp.tables import (
    Bins,
    Condition,
    Grid,
    KeyTally,
    Options,
    People,
    Steps,
    Tally,
    count_people,
    open_source,
    plan_counting,
)
from optimaldp.tables.versions import version_of

F = Fraction
HEADER = "person,age,smokes,seen,cost,day,ok"
LINES = [
    '1,17,yes,2020-01-31,"1,883",05/06/2020,true',
    "2,+65,no,2020-02-30,950.5,13/01/2020,FALSE",
    "3, 66,yes ,2020-03-01 12:30,2,31/02/2020,yes",
    '4,6.5e1,"yes",2021-01-01,"12,34",1/2/2021,',
    "5,.5,YES,,1e3,,True",
    "6,unknown,,yesterday,nan,01/01/99999,1",
    "7,,no",
    "",
    "9,1e999,no,2020-01-01,inf,05/06/2020,false,extra,more",
    '10,0x41,"n""o",2020-1-1,"1,000,000.25",06/05/2020,true',
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("\n".join([HEADER, *LINES]) + "\n")
    return path


def holding(source: Any, text: str) -> int:
    return count_people(source, Tally((Condition(text),))).counts[0]


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("age >= 65", 3),
        ("age < 65", 1),
        ("age = 65", 2),
        ("age between 17 and 65", 3),
        ("age in (17, 65)", 3),
        ("age in ('17', '+65')", 2),
        ("age = '65'", 0),
        ("age + 1 > 18", 2),  # 1e999 is too large for arithmetic
        ("age > 60 + 5", 1),
        ("abs(age) % 2 = 1", 3),
        ("coalesce(age, 0) = 0", 6),
        ("age is null", 2),
        ("not age >= 65", 1),
        ("smokes = 'yes'", 2),
        ("lower(smokes) = 'yes'", 3),
        ("smokes like 'yes%'", 3),
        ("smokes = 'n\"o'", 1),
        ("smokes is null", 2),
        ("seen = date '2020-01-31'", 1),
        ("seen >= date '2020-01-01'", 3),
        ("seen between date '2020-01-01' and date '2020-12-31'", 2),
        ("seen in (date '2020-01-01', date '2021-01-01')", 2),
        ("seen >= timestamp '2020-03-01 12:00:00'", 2),
        ("year(seen) = 2020", 3),
        ("seen >= '2020'", 7),
        ("ok = true", 3),
        ("ok = false", 2),
        ("ok is true", 3),
        ("ok = 'true'", 2),
    ],
)
def test_the_question_says_how_a_cell_is_read(path: Path, text: str, people: int) -> None:
    source = open_source(path)
    assert count_people(source, Tally((Condition(text),))).counts == (people, len(LINES) - people)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age > cost", "--type"),
        ("age * 2 > cost", "--type"),
        ("coalesce(age, cost) = cost", "--type"),
        ("ok", "not true or false"),
        ("age in (1, 'a')", "several kinds"),
        ("age between 1 and 'a'", "different kinds"),
        ("coalesce(age, 'x') = 3", "compares text with whole numbers"),
        ("lower(age) = 3", "compares text with whole numbers"),
    ],
)
def test_what_no_literal_decides_is_refused(path: Path, text: str, words: str) -> None:
    with pytest.raises(QuestionError) as caught:
        plan_counting(open_source(path), Tally((Condition(text),)))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("reading", "counts"),
    [
        (Options("smokes", ("yes", "no")), (2, 3, 5)),
        (Options("age", (17, 65)), (1, 2, 7)),
        (Options("age", ("17", "65")), (1, 0, 9)),
        (Options("ok", (True, False)), (3, 2, 5)),
        (Bins("age", (F(0), F(18), F(65), F(100))), (1, 0, 3, 6)),
        (Bins("seen", (datetime.date(2020, 1, 1), datetime.date(2020, 6, 1), datetime.date(2022, 1, 1))), (2, 1, 7)),
        (
            Bins("seen", (datetime.datetime(2020, 1, 1), datetime.datetime(2020, 3, 1, 12), datetime.date(2022, 1, 1))),
            (2, 2, 6),
        ),
        (Steps("age", F(15), F(75), F(20)), (1, 0, 3, 6)),
        (
            Steps("seen", datetime.date(2020, 1, 1), datetime.date(2020, 1, 31), datetime.timedelta(days=10)),
            (1, 0, 2, 7),
        ),
        (Grid("age", F(0), F(70), F(10)), (0, 0, 1, 0, 0, 0, 0, 3, 6)),
    ],
    ids=str,
)
def test_options_bins_and_ranges_say_how_a_cell_is_read(path: Path, reading: Any, counts: tuple[int, ...]) -> None:
    assert count_people(path, Tally((reading,))).counts == counts


def test_options_of_several_kinds_are_refused(path: Path) -> None:
    with pytest.raises(QuestionError, match="several kinds"):
        count_people(path, Tally((Options("age", (17, "65")),)))


@pytest.mark.parametrize(
    ("column", "declared", "text", "people"),
    [
        ("cost", "number 1,234.5", "cost > 0", 5),
        ("cost", "number 1,234.5", "cost = 1883 or cost = 1000000.25", 2),
        ("cost", "number 1,234.5", "cost = 1000", 1),
        ("cost", "number", "cost > 0", 3),
        ("cost", "number 1.234,5", "cost = 12.34", 1),
        ("day", "date %d/%m/%Y", "day = date '2020-06-05'", 2),
        ("day", "date %d/%m/%Y", "day = '2020-01-13'", 1),
        ("day", "date %d/%m/%Y", "day is null", 5),
        ("day", "date %m/%d/%Y", "day = '2020-05-06'", 2),
        ("seen", "date", "seen >= '2020-01-01'", 3),
        ("seen", "time", "seen > '2020-03-01 12:00:00'", 2),
        ("seen", "time %Y-%m-%d %H:%M", "seen > '2000-01-01'", 1),
        ("ok", "true/false", "ok", 3),
        ("ok", "true/false", "ok is null", 5),
        ("smokes", "yes/no", "smokes", 3),
        ("smokes", "yes/no", "not smokes", 3),
        ("age", "whole", "age = 65", 1),
        ("age", "int64", "age % 2 = 1", 2),
        ("age", "text", "age = '17'", 1),
    ],
)
def test_declared_types_hold_for_all_questions(path: Path, column: str, declared: str, text: str, people: int) -> None:
    source = open_source(path, types={column: declared})
    assert count_people(source, Tally((Condition(text),))).counts == (people, len(LINES) - people)


def test_declared_types_let_columns_be_compared_and_leave_others_as_they_are(path: Path) -> None:
    source = open_source(path, types={"age": "number", "cost": "number 1,234.5"})
    assert holding(source, "age < cost") == 2
    assert holding(source, "person >= 9") == 2
    with pytest.raises(QuestionError, match="compares numbers with text"):
        holding(source, "age = 'x'")


@pytest.mark.parametrize(
    "declared",
    [
        "",
        "numbers",
        "number 12",
        "number 1.234.5",
        "number 1-234.5",
        "date %",
        "date %d",
        "date %q/%m/%Y",
        "yes/yes",
        "date %d/%m/%z",
    ],
)
def test_types_that_are_none_are_refused(path: Path, declared: str) -> None:
    with pytest.raises(TableError) as caught:
        open_source(path, types={"cost": declared})
    assert "cost" in str(caught.value)


@pytest.mark.parametrize(
    ("example", "written", "value"),
    [
        ("1,234.5", "-1,234,567.25", "-1234567.25"),
        ("1.234,5", "1.234,5e2", "123450"),
        ("1 234,5", "1 234,5", "1234.5"),
        ("1'234.5", "1'234.5", "1234.5"),
        ("1234,5", "1234,5", "1234.5"),
        ("1,234", "1,234", "1234"),
    ],
)
def test_numbers_are_written_as_the_example_shows(tmp_path: Path, example: str, written: str, value: str) -> None:
    path = tmp_path / "n.csv"
    path.write_text(f"n;x\n{written};1\n1,23;1\n12.34.5;1\n")
    assert holding(open_source(path, types={"n": f"number {example}"}), f"n = {value}") == 1


def test_the_order_of_cells_without_a_type_is_that_of_numbers_then_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "person,day,vote\n1,10,b\n1,9,a\n2,x,b\n2,10,a\n3,2020-02-01,b\n3,2020-01-31,a\n4,,a\n5,1.0,b\n5,1,a\n"
    )
    first = People(unit="person", reduce="first", reduce_order="day")
    assert count_people(path, Tally((Options("vote", ("a", "b")),)), first).counts == (4, 0, 1)


def test_parts_and_keys_of_a_csv_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("ward,vote\n1,a\n01,a\n1 ,b\n1,b\n,b\n")
    votes = Tally((Options("vote", ("a", "b")),))
    assert count_people(path, votes, People(part=("ward", "1"))).counts == (1, 1, 0)
    assert count_people(path, votes, People(part=("ward", 1))).counts == (1, 1, 0)
    assert count_people(path, votes, People(part=("ward", "01"))).counts == (1, 0, 0)
    assert count_people(path, KeyTally("ward")).keys == {"1": 2, "01": 1, "1 ": 1}


def test_levels_of_a_csv_are_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("tier,vote\n0.5,a\nln(2),a\n0.5,b\n")
    counted = count_people(path, Tally((Options("vote", ("a", "b")),)), People(levels="tier"))
    assert counted.by_level == (("0.5", {0: 1, 1: 1}), ("ln(2)", {0: 1}))


def test_packed_files_and_folders_are_read_alike(tmp_path: Path) -> None:
    plain = tmp_path / "all" / "1.csv"
    plain.parent.mkdir()
    plain.write_text("age\n1\n70\n")
    with gzip.open(tmp_path / "all" / "2.csv.gz", "wt") as file:
        file.write("age\n80\n")
    assert count_people(tmp_path / "all", Tally((Condition("age > 60"),))).counts == (2, 1)
    assert count_people(tmp_path / "all" / "2.csv.gz", Tally((Condition("age > 60"),))).counts == (1, 0)


def test_every_question_reads_the_file_anew(path: Path) -> None:
    source = open_source(path)
    version = source.version()
    first = count_people(source, Tally((Condition("age >= 65"),))).counts
    assert count_people(source, Tally((Condition("age >= 65"),))).counts == first
    path.write_text(f"{HEADER}\n1,70\n")
    assert count_people(source, Tally((Condition("age >= 65"),))).counts == (1, 0)
    assert version != source.version() == open_source(path).version()


def test_what_is_declared_about_a_file_makes_another_version(path: Path) -> None:
    """The same bytes read otherwise are another table; what is not declared is no part of the token."""
    plain = open_source(path).version()
    assert plain == version_of([str(path)])
    declared = [open_source(path, **options).version() for options in ({"encoding": "latin-1"}, {"delimiter": ";"})]
    assert len({plain, *declared}) == 3


def test_objects_in_pandas_are_cells_too() -> None:
    """The type of a column of objects would depend on its rows: each value is a text by itself."""
    day = datetime.date(2020, 1, 31)
    values = [17, "65", 66.5, None, float("nan"), True, day, datetime.datetime(2020, 1, 31, 12), object(), b"x", 10**30]
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    assert count_people(frame, Tally((Condition("x >= 65"),))).counts == (3, 8)
    assert count_people(frame, Tally((Condition("x = true"),))).counts == (1, 10)
    assert count_people(frame, Tally((Condition("x = date '2020-01-31'"),))).counts == (1, 10)
    assert count_people(frame, Tally((Condition("x is null"),))).counts == (4, 7)


def test_everybody_in_a_file_of_one_column(tmp_path: Path) -> None:
    """The question names no column, and there is no second one to count by."""
    alone = tmp_path / "alone.csv"
    alone.write_text("age\n1\n\n70\n")
    assert count_people(alone, Tally((Condition("*"),))).counts == (3, 0)
