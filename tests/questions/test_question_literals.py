"""The pieces of a question's text, each at the edge where one letter more or less means something else."""

from __future__ import annotations

import datetime
from datetime import date, timedelta
from fractions import Fraction

import pytest

from optimaldp.errors import QuestionError
from optimaldp.questions import literals, parse
from optimaldp.questions.columns import BinNames, read_binning


def test_the_end_of_a_quoted_piece() -> None:
    assert literals.end_of_quoted("'abc' rest", 0) == 5
    assert literals.end_of_quoted("x 'it''s' y", 2) == 9
    assert literals.end_of_quoted("''", 0) == 2
    assert literals.end_of_quoted("''''", 0) == 4
    assert literals.end_of_quoted("\"a'b\"'", 0) == 5
    for broken in ("'abc", "'", "'a''"):
        with pytest.raises(QuestionError, match="never closed"):
            literals.end_of_quoted(broken, 0)


def test_the_end_of_a_group() -> None:
    assert literals.end_of_group("(a)", 0) == 3
    assert literals.end_of_group("f(a[1], ')', \"]\")+1", 1) == 17
    assert literals.end_of_group("((x)) y", 0) == 5
    for broken in ("(a", "(a]", "([)]", "(')'", "("):
        with pytest.raises(QuestionError):
            literals.end_of_group(broken, 0)


def test_words_at_the_top_level() -> None:
    split = literals.top_level_words
    assert split("a, (b, c), [d, e], 'f, g'", ",") == ["a", "(b, c)", "[d, e]", "'f, g'"]
    assert split("a,", ",") == ["a", ""]
    assert split(" ", ",") == []
    assert split("x among y Among z", "among") == ["x", "y", "z"]
    assert split("xamong among amongy", "among") == ["xamong", "amongy"]


def test_a_predicate_stands_between_its_own_brackets() -> None:
    assert literals.check_predicate("  (a) or (b) ") == "(a) or (b)"
    assert literals.check_among(None) is None
    assert literals.check_among("a > 1") == "a > 1"
    for bad in (None, "", "  ", 3, "a) or (b", "a among b", "(a", "a)"):
        with pytest.raises(QuestionError, match=r"predicate|question"):
            literals.check_predicate(bad)


@pytest.mark.parametrize("name", ["age", "_a1", "größe", "my column", 'say "x"', "1st", "among", "Among", '"', "a-b"])
def test_columns_are_quoted_where_they_must_be(name: str) -> None:
    written = literals.write_column(name)
    assert literals.read_column(written) == name
    assert (written == name) == (name in ("age", "_a1", "größe"))


@pytest.mark.parametrize("text", ["", '""', '"', "1a", "a b", '"a" b', '"a', "a-b"])
def test_what_is_no_column(text: str) -> None:
    with pytest.raises(QuestionError):
        literals.read_column(text)
    with pytest.raises(QuestionError):
        literals.check_column("")
    with pytest.raises(QuestionError):
        literals.check_column(5)


@pytest.mark.parametrize("option", ["a", "it's", "", 0, -7, 10**39, True, False, "true", "5"])
def test_options_are_read_as_they_are_written(option: object) -> None:
    again = literals.read_option(literals.write_option(option))  # type: ignore[arg-type]
    assert (again, type(again)) == (option, type(option))


def test_options_are_different_and_at_least_one() -> None:
    assert literals.check_options(None) is None
    assert literals.check_options(["a", 1, True]) == ("a", 1, True)
    assert [literals.answer_text(one) for one in ("A", 12, True, False)] == ["A", "12", "true", "false"]
    assert literals.read_option('"say ""x"""') == 'say "x"'
    assert literals.read_option("+5") == 5
    for bad in ("ab", b"ab", [], ["a", "a"], [1, "1"], [True, "true"], [None], [1.5]):
        with pytest.raises(QuestionError, match="option"):
            literals.check_options(bad)  # type: ignore[arg-type]
    for text in ("", "'", "'a' b", "1.5", "1" * 41, "yes", "''a'"):
        with pytest.raises(QuestionError):
            literals.read_option(text)


def test_lists_in_brackets() -> None:
    assert literals.read_list("['a, b', (c, d)]") == ["'a, b'", "(c, d)"]
    assert literals.read_list("[]") == []
    for bad in ("", "a", "[a", "[a] b", "(a)"):
        with pytest.raises(QuestionError):
            literals.read_list(bad)


def test_edges_are_numbers_or_dates_and_rise() -> None:
    assert literals.check_edges([0, "1/2", 1.5]) == (0, Fraction(1, 2), Fraction(3, 2))
    assert literals.check_edges(["2020-01-01", "'2020-02-01'"]) == (date(2020, 1, 1), date(2020, 2, 1))
    assert literals.read_edge("'2020-01-31 12:30'", "bins") == datetime.datetime(2020, 1, 31, 12, 30)
    assert literals.read_edge(date(2020, 1, 31), "bins") == date(2020, 1, 31)
    for bad in (
        [1],
        [],
        [1, 1],
        [2, 1],
        "12",
        ["2020-01-01", 5],
        ["2020-13-01", "2021-01-01"],
        ["x", "y"],
        ["2020-01-01", "2020-01-01 10:00"],
    ):
        with pytest.raises(QuestionError, match="bins"):
            literals.check_edges(bad)
    assert literals.write_edge(date(2020, 1, 31)) == "'2020-01-31'"
    assert literals.edge_text(date(2020, 1, 31)) == "2020-01-31"
    assert literals.write_edges([Fraction(1), Fraction(1, 3)]) == "[1, 1/3]"


@pytest.mark.parametrize(
    ("text", "length", "written"),
    [
        ("'1 day'", timedelta(days=1), "'1 day'"),
        ("2 weeks", timedelta(days=14), "'14 days'"),
        ("36 HOURS", timedelta(hours=36), "'36 hours'"),
        ("'90 minutes'", timedelta(minutes=90), "'90 minutes'"),
        ("61 seconds", timedelta(seconds=61), "'61 seconds'"),
        ("1 second", timedelta(seconds=1), "'1 second'"),
        ("24 hours", timedelta(days=1), "'1 day'"),
        ("60 minute", timedelta(hours=1), "'1 hour'"),
        ("120 seconds", timedelta(minutes=2), "'2 minutes'"),
        (timedelta(days=2), timedelta(days=2), "'2 days'"),
        ("1/2", Fraction(1, 2), "0.5"),
        (5, Fraction(5), "5"),
    ],
)
def test_steps_are_numbers_or_lengths_of_time(text: object, length: object, written: str) -> None:
    step = literals.read_step(text)
    assert step == length
    assert literals.write_step(step) == written
    assert literals.read_step(written) == step


@pytest.mark.parametrize("bad", [0, -1, "0 days", timedelta(0), timedelta(days=-1), "1 month", "day", "-1 day"])
def test_steps_are_positive(bad: object) -> None:
    with pytest.raises(QuestionError, match="step"):
        literals.read_step(bad)


def test_a_range_has_two_ends_that_rise() -> None:
    assert literals.read_range([0, 10]) == (0, 10)
    assert literals.read_range("['2020-01-01', '2020-01-02']") == (date(2020, 1, 1), date(2020, 1, 2))
    assert literals.read_number_range("[-1, 1/2]") == (-1, Fraction(1, 2))
    for bad in ([1, 1], [2, 1], [1], [1, 2, 3], [0, "2020-01-01"]):
        with pytest.raises(QuestionError, match="range"):
            literals.read_range(bad)
    for bad in ([1, 1], [2, 1], [1], [1, 2, 3]):
        with pytest.raises(QuestionError, match="range"):
            literals.read_number_range(bad)


def test_equal_bins_and_their_names() -> None:
    equal = read_binning(None, [0, 7], 2)
    assert equal.bins == 4
    assert [equal.edge(k) for k in range(5)] == [0, 2, 4, 6, 7]
    assert [str(equal.name(k)) for k in range(4)] == ["0", "2", "4", "6"]
    assert (equal.name(3).low, equal.name(3).high) == (6, 7)
    assert [equal.named(str(equal.name(k))).low for k in range(4)] == [0, 2, 4, 6]
    listed = read_binning([0, 1, "2.5", 9], None, None)
    assert [str(listed.name(k)) for k in range(3)] == ["[0, 1)", "[1, 2.5)", "[2.5, 9]"]
    assert (listed.named("[1, 2.5)").low, listed.named("[1, 2.5)").high) == (1, Fraction(5, 2))
    assert str(equal) == "range=[0, 7], step=2"
    assert str(listed) == "bins=[0, 1, 2.5, 9]"


@pytest.mark.parametrize(
    ("bins", "ends", "step"),
    [
        (None, None, None),
        ([0, 1], [0, 1], 1),
        ([0, 1], None, 1),
        (None, [0, 1], None),
        (None, [0, 1], "1 day"),
        (None, [0, 10], "1e-40"),
    ],
)
def test_bins_are_named_in_one_way(bins: object, ends: object, step: object) -> None:
    with pytest.raises(QuestionError):
        read_binning(bins, ends, step)  # type: ignore[arg-type]


def test_the_names_of_bins_are_a_sequence() -> None:
    names = BinNames(read_binning(None, [0, 3], 1))
    assert list(names) == ["0", "1", "2"] == [*names[:]]
    assert (names[0], names[2], names[-1], names[-3], names[1:]) == ("0", "2", "2", "0", ["1", "2"])
    assert names == ["0", "1", "2"]
    assert names != ["0", "1"]
    assert names != ["0", "1", "3"]
    assert names != 5
    for place in (3, -4):
        with pytest.raises(IndexError):
            names[place]


def test_the_text_of_a_question_is_a_text_of_reasonable_length() -> None:
    for bad in (5, None, b"any(x)", "any(x) " + " " * 4 * 10**6):
        with pytest.raises(QuestionError, match="not the text of a question"):
            parse(bad)  # type: ignore[arg-type]


def test_a_step_divides_its_range() -> None:
    assert str(parse("mean(x, range=[1, 4], step=3) >= 2")) == "mean(x, range=[1, 4], step=3) >= 2"
    for bad in (
        "mean(x, range=[1, 5], step=3) >= 2",
        "mean(x, range=[1, 5], step=0) >= 2",
        "mean(x, range=[1, 5], step=-1) >= 2",
    ):
        with pytest.raises(QuestionError):
            parse(bad)


def test_what_is_wrong_with_bins_is_named() -> None:
    for bins, ends, shown in (([0, 1], [0, 2], [0, 1]), (None, [0, 2], [0, 2])):
        with pytest.raises(QuestionError) as caught:
            read_binning(bins, ends, None)
        assert caught.value.value == shown
