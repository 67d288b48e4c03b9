"""Rules for people, plans and counts at their edges: what is refused before data is read, and how counts are put together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from operator import ge
from typing import Any

import pyarrow as pa
import pytest

from optimaldp.errors import QuestionError, TableError
from optimaldp.tables.counting import MOST_LEVELS, _level_text, count_checked, count_people
from optimaldp.tables.opening import open_source
from optimaldp.tables.plans import MOST_READINGS, plan_counting
from optimaldp.tables.tally import Bins, Condition, Grid, KeyTally, Options, People, Reading, Steps, Tally

YES, CHOICE, NUMBER = Condition("x = 1"), Options("v", ("a", "b")), Grid("n", Fraction(0), Fraction(4), Fraction(1))
BINS, STEPS = Bins("n", (Fraction(0), Fraction(1))), Steps("n", Fraction(0), Fraction(4), Fraction(1))


@pytest.mark.parametrize(
    ("readings", "reduce", "rules"),
    [
        ((YES,), None, ("any",)),
        ((YES,), "all", ("all",)),
        ((YES,), "most-frequent", ("most",)),
        ((CHOICE,), None, ("most-frequent",)),
        ((BINS,), "sum", ("sum",)),
        ((STEPS,), "median", ("median",)),
        ((CHOICE, NUMBER), "mean", ("most-frequent", "mean")),
        ((CHOICE, NUMBER), {"n": "sum"}, ("most-frequent", "sum")),
        ((CHOICE, YES), {"v": "first", "n": "sum"}, ("first", "any")),
        ((NUMBER,), "mean", ("mean",)),
        ((NUMBER,), "max", ("max",)),
        ((YES, YES), "all", ("all", "all")),
        ((YES, CHOICE), "all", ("all", "most-frequent")),
        ((CHOICE, YES), None, ("most-frequent", "any")),
        ((NUMBER, YES), "min", ("min", "any")),
    ],
)
def test_how_several_rows_become_one(readings: tuple[Reading, ...], reduce: Any, rules: tuple[str, ...]) -> None:
    order = "t" if "first" in rules else None
    assert People(unit="id", reduce=reduce, reduce_order=order).rules(Tally(readings)) == rules
    assert People().rules(Tally(readings)) == ()
    first = People(unit="id", reduce="first", reduce_order="t").rules(Tally(readings))
    assert first == ("first",) * len(readings)


def test_rules_that_do_not_fit_are_refused() -> None:
    refused: list[tuple[People, tuple[Reading, ...], str]] = [
        (People(unit="id", reduce="mean"), (YES,), "reduce"), (People(unit="id", reduce="any"), (CHOICE,), "reduce"),
        (People(unit="id", reduce="most-frequent"), (NUMBER,), "reduce"), (People(unit="id"), (NUMBER,), "reduce"),
        (People(unit="id"), (YES, NUMBER), "reduce"), (People(unit="id", reduce="nonsense"), (YES,), "reduce"),
        (People(unit="id", reduce="first"), (YES,), "reduce_order"),
        (People(unit="id", reduce_order="t"), (YES,), "reduce_order"),
        (People(unit="id", reduce="any", reduce_order="t"), (YES,), "reduce_order"),
        (People(reduce="any"), (YES,), "reduce"), (People(reduce_order="t"), (YES,), "reduce_order"),
    ]  # fmt: skip
    for people, readings, field in refused:
        with pytest.raises(QuestionError) as caught:
            people.rules(Tally(readings))
        assert caught.value.field == field
    assert People(unit="id").rules(KeyTally("v")) == ("most-frequent",)
    with pytest.raises(QuestionError):
        People(unit="id", reduce="any").rules(KeyTally("v"))


@pytest.fixture(scope="module")
def table() -> Any:
    columns = {
        "x": [1, 1, 0, None],
        "y": [1, 0, 1, 0],
        "z": [0, 0, 1, 1],
        "v": ["a", "b", "c", None],
        "b": [True, False, None, True],
    }
    return open_source(pa.table(columns))


def test_how_much_a_tally_may_hold(table: Any) -> None:
    most = Tally((Condition("x = 1"),) * MOST_READINGS)
    assert len(plan_counting(table, most).readings) == MOST_READINGS == 20
    for wrong in (Tally(()), Tally((Condition("x = 1"),) * (MOST_READINGS + 1))):
        with pytest.raises(QuestionError, match="tally"):
            plan_counting(table, wrong)
    wide = Options("x", tuple(range(2**10 - 1)))
    assert plan_counting(table, Tally((wide,) * 6 + (Options("x", (1, 2, 3)),))).size == 2**62
    with pytest.raises(QuestionError, match="2\\^62 cells"):
        plan_counting(table, Tally((wide,) * 6 + (Options("x", (1, 2, 3, 4)),)))


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_conditions_are_counted_alike_filtered_or_grouped(table: Any, number: int) -> None:
    conditions = [("x", 1), ("y", 1), ("z", 1), ("v", "'a'")][:number]
    tally = Tally(tuple(Condition(f"{name} = {value}") for name, value in conditions))
    plan = plan_counting(table, tally)
    assert plan.filtered == (number <= 3)
    rows = [(1, 1, 0, "a"), (1, 0, 0, "b"), (0, 1, 1, "c"), (None, 0, 1, None)]
    wanted = [1, 1, 1, "a"][:number]
    expected = [
        sum([cell == want for cell, want in zip(row, wanted)] == list(holds) for row in rows)
        for holds in product((True, False), repeat=number)
    ]
    assert list(count_people(table, tally).counts) == expected


class _Numbers:
    """Instead of records: what the engine would say."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers

    def run(self, query: Any) -> list[tuple[Any, ...]]:
        return [tuple(self.numbers)]


def test_at_least_becomes_exactly() -> None:
    """Inclusion and exclusion against people who are written out."""
    people = [(1, 1, 0), (1, 1, 1), (0, 1, 0), (0, 0, 0), (0, 0, 0), (1, 0, 1)]
    table = open_source(pa.table({"x": [1], "y": [1], "z": [1]}))
    plan = plan_counting(table, Tally((Condition("x = 1"), Condition("y = 1"), Condition("z = 1"))))
    cells = list(product((1, 0), repeat=3))
    at_least = [sum(all(map(ge, person, asked)) for person in people) for asked in cells]
    counted = count_checked(replace(table, engine=_Numbers(at_least)), plan)
    assert counted.counts == tuple(people.count(answers) for answers in cells)


@pytest.mark.parametrize(
    ("level", "text"),
    [
        (1, "1"),
        (0.5, "0.5"),
        (1.0, "1"),
        (10, "10"),
        (100.0, "100"),
        (1e-7, "0.0000001"),
        (" 0.5 ", "0.5"),
        ("ln(2)", "ln(2)"),
    ],
)
def test_levels_as_texts(level: object, text: str) -> None:
    assert _level_text(level) == text


def test_levels_are_few_and_everybody_has_one() -> None:
    few = pa.table({"x": [1] * MOST_LEVELS, "e": list(range(MOST_LEVELS))})
    counted = count_people(few, Tally((YES,)), People(levels="e"))
    assert counted.by_level is not None
    assert len(counted.by_level) == MOST_LEVELS
    many = pa.table({"x": [1] * (MOST_LEVELS + 1), "e": list(range(MOST_LEVELS + 1))})
    with pytest.raises(TableError, match="more than 1000 levels"):
        count_people(many, Tally((YES,)), People(levels="e"))
    with pytest.raises(TableError, match="exactly one level"):
        count_people(pa.table({"x": [1, 1], "e": [1, None]}), Tally((YES,)), People(levels="e"))
    two = pa.table({"id": [7, 7, 8], "x": [1, 0, 0], "e": [1, 1, 2]})
    assert dict(count_people(two, Tally((YES,)), People(unit="id", levels="e")).by_level or ()) == {
        "1": {0: 1},
        "2": {1: 1},
    }
    with pytest.raises(TableError, match="exactly one level"):
        count_people(pa.table({"id": [7, 7], "x": [1, 0], "e": [1, 2]}), Tally((YES,)), People(unit="id", levels="e"))
    with pytest.raises(QuestionError, match="levels"):
        plan_counting(open_source(few), KeyTally("x"), People(levels="e"))


def test_parts_are_values_of_the_column(table: Any) -> None:
    for part, counts in (
        (("v", "a"), (1, 0)),
        (("x", 1), (2, 0)),
        (("b", True), (1, 1)),
        (("y", 2**63 - 1), (0, 0)),
        (("y", -(2**63)), (0, 0)),
    ):
        assert count_people(table, Tally((YES,)), People(part=part)).counts == counts, part
    for wrong in (("v", 5), ("x", "1"), ("x", True), ("b", 1), ("y", 2**63), ("y", -(2**63) - 1), ("x", 1.5)):
        with pytest.raises(QuestionError, match="part"):
            plan_counting(table, Tally((YES,)), People(part=wrong))  # type: ignore[arg-type]


def test_keys_of_people_with_several_rows() -> None:
    rows = pa.table({
        "id": [1, 1, 1, 2, 2, 3, 3, None], "k": ["a", "b", "b", "d", "c", None, "e", "a"], "t": [1, 2, 3, 5, 4, 1, 2, 1],
        "s": [1, 1, 0, 1, 1, 1, 1, 1],
    })  # fmt: skip
    assert count_people(rows, KeyTally("k"), People(unit="id")).keys == {"b": 1, "c": 1, "e": 1}
    assert count_people(rows, KeyTally("k"), People(unit="id", reduce="first", reduce_order="t")).keys == {
        "a": 1,
        "c": 1,
    }
    assert count_people(rows, KeyTally("k"), People(unit="id", where="s = 1")).keys == {"a": 1, "c": 1, "e": 1}
    assert count_people(rows, KeyTally("k")).keys == {"a": 2, "b": 2, "c": 1, "d": 1, "e": 1}


def test_truth_values_may_be_written_as_words(table: Any) -> None:
    assert count_people(table, Tally((Options("b", ("false", "TRUE")),))).counts == (1, 2, 1)
    assert count_people(table, Tally((Options("b", ("True",)),))).counts == (2, 2)
    with pytest.raises(QuestionError, match="'yes' is not an option of column b, which holds true or false"):
        plan_counting(table, Tally((Options("b", ("yes", "no")),)))


def test_a_plan_names_the_options_that_a_type_listed_and_no_others(table: Any) -> None:
    assert plan_counting(table, Tally((Options("v", ("a",)), Options("b", None)))).options == (False, True)
    assert plan_counting(table, Tally((Options("v", ("a",)), Options("b", (True,))))).options is None


def test_a_long_list_is_of_the_kind_of_its_column(table: Any) -> None:
    numbers = tuple(range(31))
    assert plan_counting(table, Tally((Options("x", numbers), Options("v", tuple(map(str, numbers)))))).shape == (
        32,
        32,
    )
    for column, options in (("x", tuple(map(str, numbers))), ("v", numbers)):
        with pytest.raises(QuestionError, match=f"is not an option of column {column}"):
            plan_counting(table, Tally((Options(column, options),)))


@pytest.mark.parametrize("rule", ["first", "last"])
def test_the_rule_of_a_column_in_a_condition_needs_an_order_too(rule: str) -> None:
    rows = pa.table({"id": [1, 1, 2], "x": [1, 0, 1], "t": [2, 1, 1]})
    with pytest.raises(QuestionError, match=r"reduce_order is needed by the rules first and last"):
        plan_counting(open_source(rows), Tally((YES,)), People(unit="id", reduce={"x": rule}))
    people = People(unit="id", reduce={"x": rule}, reduce_order="t")
    assert count_people(rows, Tally((YES,)), people).counts[0] == (1 if rule == "first" else 2)
