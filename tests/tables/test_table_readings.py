"""Readings on every engine: steps and grids as by bisection in exact arithmetic, several readings crossed, people reduced."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import plain
import pytest
from conformance_cases import ROWS

from optimaldp.errors import QuestionError
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
    plan_counting,
)

F = Fraction
DAY = datetime.timedelta(days=1)
ODD = 'od"d näme'
TRUTHS: plain.Truths = {
    "*": lambda row: True,
    "ok": lambda row: row["ok"],
    "age >= 30": lambda row: row["age"] is not None and row["age"] >= 30,
    "order = 'yes'": lambda row: row["order"] == "yes",
    "paid > 5": lambda row: row["paid"] is not None and row["paid"] > 5,
}
BORN = Steps("born", datetime.date(1960, 1, 1), datetime.date(1960, 1, 1) + 7000 * DAY, 7 * DAY)
WORDS = Options("order", ("yes", "no", "it's"))
STEPS = [
    Steps("age", F(0), F(120), F(1)),
    Steps("age", F(17), F(65), F(3, 2)),
    Steps("age", F(-10), F(-10 + 7 * 10**11), F(7)),
    Steps(ODD, F(-(10**9)), F(10**9), F(1, 3)),
    Steps(ODD, F(-5), F(-5 + 10**15), F(10**6)),
    Steps("weight", F(-3), F(3), F(1, 10)),
    Steps("weight", F(-3), F(3), F(1, 1000)),
    Steps("weight", F(0), F(10**12), F(1)),
    Steps("paid", F(-5), F(25), F(1, 100)),
    Steps("paid", F(-5), F(25), F(1, 3)),
    Steps("paid", F(-5), F(25), F(1, 200)),
    Steps("born", datetime.date(1960, 1, 1), datetime.date(1960, 1, 1) + 7000 * DAY, DAY),
    Steps("born", datetime.date(1960, 1, 1), datetime.date(1960, 1, 1) + 7000 * DAY, 7 * DAY),
    Steps("seen", datetime.datetime(1960, 1, 1), datetime.datetime(1960, 1, 1) + 7000 * DAY, DAY / 24),
    Grid("age", F(0), F(100), F(10)),
    Grid("age", F(18), F(65), F(1)),
    Grid("weight", F(-2), F(2), F(1, 2)),
    Grid("weight", F(-5), F(5), F(1, 20)),
    Grid("paid", F(0), F(20), F(1, 10)),
    Bins("paid", (F(-5), F(4, 10), F("11.69"), F("11.695"), F(20))),
    Bins("born", (datetime.date(1950, 1, 1), datetime.date(1972, 2, 23), datetime.date(2000, 1, 1))),
    Bins("seen", (datetime.date(1950, 1, 1), datetime.datetime(1972, 1, 1, 12), datetime.date(2000, 1, 1))),
]
CROSSED = [
    (Tally((Condition("ok"), Condition("age >= 30"), Condition("order = 'yes'"))), People()),
    (Tally((Condition("ok"), Condition("age >= 30"), Condition("order = 'yes'"))), People(where="paid > 5")),
    (Tally((Condition("ok"), Condition("age >= 30"), Condition("order = 'yes'"))), People(unit="person")),
    (Tally((Condition("ok"), Condition("age >= 30"))), People(unit="person", reduce="all", where="paid > 5")),
    (Tally((WORDS, Condition("ok"), Steps("age", F(0), F(100), F(10)))), People()),
    (Tally((WORDS, Condition("ok"), Steps("age", F(0), F(100), F(10)))), People(where="paid > 5")),
    (Tally((WORDS, Condition("ok"))), People(unit="person")),
    (Tally((WORDS, Steps("age", F(0), F(100), F(10)))), People(unit="person", reduce="median", where="paid > 5")),
    (Tally((WORDS, Grid("paid", F(0), F(20), F(1, 10)))), People(unit="person", reduce="sum")),
    (
        Tally((Grid("age", F(0), F(100), F(5)), Condition("ok"))),
        People(unit="person", reduce="last", reduce_order="seen"),
    ),
    (Tally((BORN,)), People(unit="person", reduce="max")),
    (Tally((Grid("age", F(0), F(3), F(1)), Condition("ok"))), People(unit="person", reduce="count", where="ok")),
    (Tally((WORDS, Options("age", (17, 18)), Condition("ok"))), People(unit="person")),
    (Tally((WORDS, Condition("ok"))), People(unit="person", reduce="first", reduce_order="seen")),
    (Tally((Grid("paid", F(0), F(20), F(1, 10)), Condition("ok"))), People(unit="person", reduce="mean")),
    (Tally((Grid("paid", F(0), F(20), F(1)), WORDS)), People(unit="person", reduce="mean", where="ok")),
    (Tally((Grid("paid", F(0), F(20), F(1, 10)), Condition("ok"))), People(unit="person", reduce="max")),
    (Tally((Grid("age", F(0), F(100), F(5)), WORDS)), People(unit="person", reduce="min", where="paid > 5")),
    (Tally((Grid("age", F(0), F(100), F(5)),)), People(unit="person", reduce="first", reduce_order="born")),
    (Tally((Steps("age", F(0), F(10**12), F(1)), WORDS)), People(unit="person", reduce="mean")),
    (Tally((Steps("age", F(0), F(10**12), F(1)),)), People(unit="person", reduce="min", where="ok")),
    (Tally((Condition("*"), WORDS)), People(unit="person", where="paid > 5")),
    (Tally((Condition("*"),)), People(where="paid > 5")),
    (Tally((WORDS, Condition("ok"))), People(part=("tier", "1"))),
    (Tally((Condition("ok"),)), People(part=("tier", "1"), unit="person", where="paid > 5")),
]


@pytest.mark.parametrize("reading", STEPS, ids=str)
def test_steps_are_those_of_exact_arithmetic(engine: Source, reading: Any) -> None:
    tally = Tally((reading,))
    assert count_people(engine, tally).cells == plain.counted(tally, ROWS, People(), TRUTHS)


@pytest.mark.parametrize(("tally", "people"), CROSSED, ids=str)
def test_crossed_readings_are_those_of_plain_python(engine: Source, tally: Tally, people: People) -> None:
    assert count_people(engine, tally, people).cells == plain.counted(tally, ROWS, people, TRUTHS)


@pytest.mark.parametrize(("tally", "people"), [CROSSED[0], CROSSED[4], CROSSED[7], CROSSED[10]], ids=str)
def test_crossed_readings_by_level(engine: Source, tally: Tally, people: People) -> None:
    counted = count_people(engine, tally, People(**(vars(people) | {"levels": "tier"})))
    for tier in ("0.5", "1", "ln(2)"):
        own = [row for row in ROWS if row["tier"] == tier]
        assert dict(counted.by_level or ())[tier] == plain.counted(tally, own, people, TRUTHS)


@pytest.mark.parametrize("column", ["tier", "age"])
@pytest.mark.parametrize(
    "people",
    [
        People(),
        People(where="ok"),
        People(unit="person"),
        People(unit="person", where="ok"),
        People(unit="person", reduce="first", reduce_order="seen"),
        People(part=("tier", "1")),
    ],
    ids=str,
)
def test_keys_are_those_of_plain_python(engine: Source, column: str, people: People) -> None:
    keys = KeyTally(column)
    assert count_people(engine, keys, people).keys == plain.keys(keys, ROWS, people, TRUTHS)


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        (Steps("age", F(5), F(5), F(1)), "does not rise"),
        (Steps("age", F(0), F(5), F(0)), "does not rise"),
        (Steps("age", F(0), F(5), F(2)), "does not divide"),
        (Steps("age", F(0), F(2**60), F(1)), "more than 2^50 bins"),
        (Steps("age", F(1, 2**61), F(10) + F(1, 2**61), F(1)), "too large for the engine"),
        (Steps("weight", F(0), F(2**52), F(2**10)), "too large for the engine"),
        (Steps("age", F(0), F(5), DAY), "does not fit"),
        (Steps("born", datetime.date(2000, 1, 1), datetime.date(2001, 1, 1), F(1)), "does not fit"),
        (Steps("born", datetime.date(2000, 1, 1), datetime.date(2000, 1, 2), DAY / 24), "whole days"),
        (Steps("order", F(0), F(5), F(1)), "holds text"),
        (Steps("born", F(0), F(5), F(1)), "holds dates"),
        (Bins("age", (datetime.date(2000, 1, 1), datetime.date(2001, 1, 1))), "holds whole numbers"),
        (Bins("born", (datetime.datetime(2000, 1, 1), datetime.datetime(2001, 1, 1))), "holds dates"),
        (Grid("age", F(0), F(10), F(3)), "does not divide"),
        (Grid("order", F(0), F(10), F(1)), "holds text"),
    ],
    ids=str,
)
def test_steps_that_are_none_are_refused_before_anything_is_read(engine: Source, reading: Any, words: str) -> None:
    with pytest.raises(QuestionError) as caught:
        plan_counting(engine, Tally((reading,)))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("tally", "people", "words"),
    [
        (Tally((Grid("age", F(0), F(10), F(1)),)), People(unit="person"), "does not say how"),
        (Tally((WORDS, Grid("age", F(0), F(10), F(1)))), People(unit="person"), "does not say how"),
        (Tally((WORDS,)), People(unit="person", reduce="any"), "not a rule"),
        (Tally((WORDS,)), People(unit="person", reduce="mean"), "not a rule"),
        (Tally((Condition("ok"),)), People(unit="person", reduce="max"), "not a rule"),
        (Tally((Condition("ok"),)), People(unit="person", reduce="first"), "is needed by the rules"),
        (Tally((Condition("ok"),)), People(unit="person", reduce_order="seen"), "first and last only"),
        (Tally((Condition("ok"),)), People(reduce="any"), "needs unit"),
        (Tally((Condition("ok"),)), People(reduce_order="seen"), "needs unit"),
        (Tally((Condition("ok"),)), People(part=("weight", 1)), "is not a value of column weight"),
        (Tally((Condition("ok"),)), People(part=("order", 1)), "is not a value of column order"),
        (Tally((Condition("ok"),)), People(part=("age", True)), "is not a value of column age"),
        (Tally((Condition("ok"),)), People(part=("age", 2**63)), "is not a value of column age"),
        (Tally((Condition("ok"),)), People(part=("age", -(2**63) - 1)), "is not a value of column age"),
        (Tally(()), People(), "not between 1 and"),
        (Tally((Steps("age", F(0), F(10**12), F(1)),) * 6), People(), "2^62 cells"),
        (Tally((Condition("ok and age > 5"),)), People(unit="person", reduce={"age": "sum"}), "give a rule for ok too"),
        (Tally((Condition("order = 'x'"),)), People(unit="person", reduce={"order": "sum"}), "holds text"),
        (Tally((Condition("born > '2000-01-01'"),)), People(unit="person", reduce={"born": "sum"}), "holds dates"),
        (KeyTally("weight"), People(), "cannot serve as column"),
        (KeyTally("order"), People(levels="tier"), "cannot be told apart"),
    ],
    ids=str,
)
def test_people_and_readings_that_do_not_fit_are_refused(
    engine: Source, tally: Any, people: People, words: str
) -> None:
    with pytest.raises(QuestionError) as caught:
        plan_counting(engine, tally, people)
    assert words in str(caught.value)
