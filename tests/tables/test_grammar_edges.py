"""The ends of the grammar of conditions, by the schema alone: no engine is opened, nothing is read."""

from __future__ import annotations

import pyarrow as pa
import pytest

import optimaldp as odp
from optimaldp.errors import QuestionError
from optimaldp.tables import ColumnType, Condition, Options, Schema, Tally, parse_predicate, plan_counting
from optimaldp.tables.engines import DuckdbEngine
from optimaldp.tables.grammar import Reader, parse
from optimaldp.tables.schema import OPEN
from optimaldp.tables.source import Source
from optimaldp.tables.sql import DUCKDB, SqlTable

SCHEMA = Schema(
    (
        ("age", ColumnType("whole", "int64")),
        ("name", ColumnType("text", "string")),
        ("weight", ColumnType("real", "float64")),
        ("day", ColumnType("date", "date")),
        ("cell", OPEN),
        ("Cell", OPEN),
    )
)


def refused(text: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        parse_predicate(text, SCHEMA)


def test_a_condition_may_be_nested_a_hundred_deep() -> None:
    """A comparison is one of the hundred and the number at the end another, the signs are the others."""
    assert parse_predicate(f"age > {'- ' * 98}3", SCHEMA).columns == ("age",)
    refused(f"age > {'- ' * 99}3", "nested too deeply")


def test_what_stands_beside_something_deep_is_as_deep_as_by_itself() -> None:
    deep = f"age > {'- ' * 60}3"
    assert parse_predicate(f"{deep} and {deep} or not {deep}", SCHEMA).columns == ("age",)
    assert parse_predicate(f"{deep} and age > {'- ' * 97}3", SCHEMA).columns == ("age",)
    refused(f"{deep} and age > {'- ' * 98}3", "nested too deeply")


@pytest.mark.parametrize("digits", ["0", "9"])
def test_numbers_are_rounded_to_as_many_digits(digits: str) -> None:
    assert parse_predicate(f"round(weight, {digits}) = 1", SCHEMA).columns == ("weight",)


@pytest.mark.parametrize("digits", ["10", "-1", "0.5", "'1'"])
def test_and_to_no_others(digits: str) -> None:
    refused(f"round(weight, {digits}) = 1", "rounds to something else than 0 to 9 digits")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("1 = 1", "names no column"),
        ("age > 3; age > 4", "more than one expression"),
        ("age > 3 -- adults", "holds a comment"),
        ("people.age > 3", "names a table or a field"),
        ("age", "is not true or false"),
        ("age > 3 and age", "is not true or false"),
        ("name + 1 > 3", "is not a number"),
        ("age = 1e", "'1e' is not a number"),
        ("age = .5.5", "is not a number"),
        ("age is 3", "tests IS with something else"),
        ("age is true", "tests IS with something else"),
        ("age = null", "is never equal"),
        ("age in (select 1)", "IN with something else than a list"),
        ("age in (weight)", "something else than literals after IN"),
        ("extract(hour from day) = 1", "extracts something else"),
        ("cast(age as text) = '3'", "casts a value"),
        ("cast(name as date) = day", "casts a value"),
        ("cast(3 as date) = day", "casts a value"),
        ("age in ()", "IN with something else than a list"),
        ("(select max(age) from t) > 3", "uses a subquery"),
        ("exists (select 1)", "uses a subquery"),
        ("foo(age) = 1", "uses the function foo"),
        ("sqrt(age) = 1", "uses the function sqrt"),
        ("age = ?", "uses a parameter"),
        ("age = $1", "uses a parameter"),
        ("name || 'a' = 'b'", "uses DPIPE"),
        ("trim(leading 'a' from name) = 'b'", "which is not allowed"),
        ("CELL = 3", "could be several columns"),
        ('"AGE" = 3', "is not a column"),
        ("cell = age", "compares columns"),
        ("cell between 1 and 'b'", "lies between different kinds"),
        ("cell in (1, 'b')", "several kinds of values after IN"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    refused(text, words)


@pytest.mark.parametrize(
    "text",
    [
        "trim(name) = 'b'",
        "cell is true",
        "cell is null",
        "cell between 1 and 2.5",
        "cell in (1, 2.5)",
        "day = date '2024-01-31'",
        "day > '2024-01-31'",
        "extract(year from day) = 2024",
        "AGE = 3",
        '"Cell" = 3',
    ],
)
def test_what_is_not(text: str) -> None:
    assert len(parse_predicate(text, SCHEMA).columns) == 1


def test_a_plan_of_conditions_counts_their_combinations_and_one_of_options_lists_none() -> None:
    """Without a unit: the places of the conditions, smaller sets first."""
    made_up = Source(SqlTable("t", {}, DUCKDB), SCHEMA, "made up", DuckdbEngine())
    three = plan_counting(made_up, Tally((Condition("age > 3"), Condition("*"), Condition("cell = 1"))))
    assert three.filtered
    assert (three.shape, three.size, three.options) == ((2, 2, 2), 8, None)
    mixed = plan_counting(made_up, Tally((Condition("age > 3"), Options("cell", ("a", "b")))))
    assert (mixed.filtered, mixed.shape, mixed.size, mixed.items) == (False, (2, 3), 6, ())


def test_a_condition_shows_its_text_and_its_columns() -> None:
    """Not how it is built, which differs from run to run."""
    assert repr(parse_predicate("age > 3", SCHEMA)) == "Predicate(text='age > 3', columns=('age',))"


@pytest.mark.parametrize(
    "word", ["alter", "drop", "execute", "fetch", "show", "set", "explain", "vacuum", "for", "on", "grant"]
)
def test_a_column_may_be_named_like_the_beginning_of_a_statement(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({word: [64, 65, 66], "x": [1, 1, 2]})
    for condition, people in ((f"{word} >= 65", 2), (f"x = 1 and {word.upper()} >= 65", 1), (f"not {word} in (65)", 2)):
        made = odp.release(table, f"count({condition})", epsilon=500)
        assert made.answer == people, condition
    assert capsys.readouterr() == ("", ""), "the parser says nothing of its own"


@pytest.mark.parametrize(
    "text", ["if >= 65", "else >= 65", "case >= 65", "alter table x", "select 1", "a) or (b", "drop x"]
)
def test_what_is_no_expression_says_how_to_quote_a_name(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(QuestionError, match="into double quotes"):
        parse(text)
    assert capfd.readouterr() == ("", "")


def test_long_arithmetic_is_refused_before_any_part_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        raise AssertionError("each part is written out, so thousands of them take minutes")

    monkeypatch.setattr(Reader, "read", read)
    with pytest.raises(QuestionError, match="nested too deeply"):
        parse_predicate("+".join(["age"] * 150) + " > 1", SCHEMA)
