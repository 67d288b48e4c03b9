"""What a tally says of itself before anything is read: how many numbers a reading has, how many cells, who is in them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest

from optimaldp.errors import QuestionError
from optimaldp.tables.tally import (
    Bins,
    Condition,
    Counted,
    Grid,
    KeyTally,
    Options,
    People,
    Steps,
    Tally,
    steps_between,
)

F = Fraction
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("reading", "size"),
    [
        (Condition("x"), 2),
        (Options("x", ("a",)), 2),
        (Options("x", ("a", "b", "c")), 4),
        (Bins("x", (F(0), F(1))), 2),
        (Bins("x", (F(0), F(1), F(5))), 3),
        (Steps("x", F(0), F(10), F(1)), 11),
        (Steps("x", F(0), F(1), F(1, 3)), 4),
        (Steps("x", F(0), F(10), F(3)), 5),  # the last bin is narrower
        (Steps("x", date(2024, 1, 1), date(2024, 1, 31), 10 * DAY), 4),
        (Grid("x", F(0), F(10), F(1)), 12),
        (Grid("x", F(0), F(10), F(3)), 5),  # 0, 3, 6, 9 and no value
    ],
)
def test_each_reading_has_one_number_more_than_values(reading: Any, size: int) -> None:
    assert reading.size == size
    assert Tally((reading, Condition("y"))).shape == (size, 2)
    assert Tally((reading, Condition("y"))).size == 2 * size


def test_options_that_a_type_lists_are_not_known_before_it_is() -> None:
    with pytest.raises(QuestionError, match="are not known before the type of vote is"):
        _ = Options("vote", None).size


@pytest.mark.parametrize(
    ("low", "high", "step", "number"),
    [
        (F(0), F(1), F(1, 3), F(3)),
        (F(-1), F(2), F(2), F(3, 2)),
        (date(2024, 2, 28), date(2024, 3, 1), DAY, F(2)),
        (datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 1), timedelta(microseconds=5), F(200_000)),
    ],
)
def test_steps_are_counted_exactly(low: Any, high: Any, step: Any, number: Fraction) -> None:
    assert steps_between(low, high, step) == number


def test_counts_that_were_made_up() -> None:
    counted = Counted.of([3, 0, 2])
    assert (counted.cells, counted.shape, counted.size) == ({0: 3, 2: 2}, (3,), 3)
    assert counted.counts == (3, 0, 2)
    assert Counted({5: 1}, (2, 3)).counts == (0, 0, 0, 0, 0, 1)
    assert Counted({5: 1}, (2, 3)).dense({1: 4}) == (0, 4, 0, 0, 0, 0)
    assert repr(counted) == "Counted(private)"


def test_a_rule_goes_to_the_readings_of_its_kind_and_first_to_all() -> None:
    people = People(unit="id", reduce="all")
    both = Tally((Condition("x"), Options("y", ("a",)), Condition("z")))
    assert people.rules(both) == ("all", "most-frequent", "all")
    first = People(unit="id", reduce="first", reduce_order="day")
    assert first.rules(both) == ("first",) * 3
    assert first.rules(KeyTally("y")) == ("first",)
    assert People(unit="id").rules(KeyTally("y")) == ("most-frequent",)
    assert People(unit="id").rules(both) == ("any", "most-frequent", "any")
    assert People().rules(both) == ()
    ends = Tally((Condition("x"), Options("y", ("a",))))  # the first reading decides, not the last
    assert people.rules(ends) == ("all", "most-frequent")
    assert People(unit="id").rules(ends) == ("any", "most-frequent")


@pytest.mark.parametrize(
    ("people", "words"),
    [
        (People(reduce="any"), "reduce: 'any' needs unit="),
        (People(reduce_order="day"), "reduce_order: 'day' needs unit="),
        (People(unit="id", reduce="mean"), "is not a rule for this question"),
        (People(unit="id", reduce="first"), "is needed by the rules first and last"),
        (People(unit="id", reduce="any", reduce_order="day"), "goes with the rules first and last only"),
    ],
)
def test_rules_that_are_none(people: People, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        people.rules(Tally((Condition("x"),)))


def test_a_mean_needs_a_rule() -> None:
    grid = Tally((Grid("x", F(0), F(1), F(1)),))
    with pytest.raises(QuestionError, match="does not say how several values of x become one"):
        People(unit="id").rules(grid)
    assert People(unit="id", reduce="mean").rules(grid) == ("mean",)
