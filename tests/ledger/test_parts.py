"""Parts are values of one column: disjoint by construction, compared exactly, and anything else is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger.conftest import make, spend

from optimaldp.errors import InputError, LedgerError
from optimaldp.ledger import Part, open_ledger
from optimaldp.ledger.entry import Spend
from optimaldp.ledger.people import askable_parts, disjoint_parts, read_part, read_parts


@pytest.mark.parametrize(
    ("parts", "rule"),
    [
        (["age > 30", "age > 25"], "not one value of one column"),
        (["region = 'north' OR 1 = 1"], "not one value of one column"),
        (["region = 'north'", "smokes = 'yes'"], "values of several columns"),
        (["north"], "not one value of one column"),
        ({"region": ["north"], "smokes": ["yes"]}, "exactly one column"),
        ({}, "exactly one column"),
        ({"region": []}, "not a list of values"),
        ({"region": "north"}, "not a list of values"),
        ({"region": ["north", "north"]}, "twice"),
        ({"year": [1, "1"]}, "mix texts and numbers"),
        ({"year": [1.5]}, "neither a text nor a whole number"),
        ({"smokes": [True, False]}, "neither a text nor a whole number"),
        ({"smokes": [None]}, "neither a text nor a whole number"),
        ({"": ["north"]}, "not the name of a column"),
        ("region = 'north'", "not a column with its values"),
    ],
)
def test_whatever_is_not_values_of_one_column_is_refused(file: Path, parts: Any, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        make(file, 1, parts=parts)
    assert not file.exists()


names = st.text(min_size=1, max_size=8)


@given(names, st.lists(st.text(max_size=8) | st.just("o'hare"), min_size=1, max_size=4, unique=True))
def test_a_condition_is_read_back_as_the_same_part(column: str, values: list[str]) -> None:
    parts = read_parts({column: values})
    assert [(part.column, part.value) for part in parts] == [(column, value) for value in values]
    assert tuple(read_part(str(part)) for part in parts) == parts
    assert read_parts([str(part) for part in parts]) == parts
    assert disjoint_parts(parts) == set(askable_parts(parts)) == set(parts)


def test_numbers_are_values_too(file: Path) -> None:
    ledger = make(file, 1, parts={"year": [2020, 2021, -1]})
    spend(ledger, 0.5, part=2020)
    assert [str(ledger.spent(part=year).epsilon) for year in (2020, 2021, "year = -1")] == ["0.5", "0", "0"]
    with pytest.raises(LedgerError, match="not one of the declared parts"):
        ledger.part("2020")  # a text is another value
    with pytest.raises(LedgerError, match="not one of the declared parts"):
        ledger.part(True)
    assert str(open_ledger(file).part(2021)) == "year = 2021"


def test_values_are_compared_exactly(file: Path) -> None:
    """'north', 'North' and 'north ' are three parts: whoever asks compares exactly, in every engine."""
    ledger = make(file, 1, parts={"region": ["north", "North", "north "]})
    spend(ledger, 0.5, part="North")
    assert [str(ledger.spent(part=part).epsilon) for part in ("north", "North", "north ")] == ["0", "0.5", "0"]


def test_old_parts_that_a_database_may_have_mixed_up_were_not_disjoint() -> None:
    texts = [
        "r = 'north'",
        "r = 'NORTH'",
        "r = 'south '",
        "r = 'south'",
        "r = 'café'",
        "r = 'CAFE'",
        "r = 'west'",
        "x = 3",
        "r = 3",
    ]
    parts = [read_part(text) for text in texts]
    assert disjoint_parts(parts) == {Part("r", "west")}
    assert Part("r", 3) not in askable_parts(parts)
    assert Part("r", "NORTH") in askable_parts(parts)
    assert askable_parts([read_part("age > 3")]) == ()


def test_a_part_is_found_by_value_condition_or_itself(file: Path) -> None:
    ledger = make(file, 1, parts={"home region": ["north", "o'hare"]})
    part = Part("home region", "o'hare")
    for name in ("o'hare", "\"home region\" = 'o''hare'", "  \"home region\"='o''hare' ", part):
        assert ledger.part(name) == part
    assert ledger.part("north", column="home region") == Part("home region", "north")
    for wrong in ("O'Hare", "region = 'north'", Part("region", "north"), "home region = 'north'"):
        with pytest.raises(LedgerError, match="not one of the declared parts"):
            ledger.part(wrong)
    with pytest.raises(LedgerError, match="not one of the declared parts"):
        ledger.part("north", column="region")


def test_a_part_is_stored_as_column_and_value(file: Path) -> None:
    ledger = make(file, 1, parts={"region": ["north"]})
    spend(ledger, 0.5, part="region = 'north'")
    entry = ledger.entries()[-1]
    assert isinstance(entry, Spend)
    assert entry.to_document()["part"] == {"column": "region", "value": "north"}
    assert ledger.history()[0].part == "region = 'north'"


def test_parts_of_units_must_be_declared_public(file: Path) -> None:
    parts = {"region": ["north", "south"]}
    with pytest.raises(InputError, match="rows in several parts") as caught:
        make(file, 1, unit="person", parts=parts)
    assert "unit_has_one_part=True" in str(caught.value)
    for needless in ({"unit": "person"}, {"parts": parts}):
        with pytest.raises(InputError, match="without a unit and parts"):
            make(file, 1, unit_has_one_part=True, **needless)
    assert not file.exists()
    ledger = make(file, 1, unit="person", parts=parts, unit_has_one_part=True)
    spend(ledger, 1, part="north")
    spend(ledger, 1, part="south")
    assert open_ledger(file, unit_has_one_part=True).opening.unit_has_one_part
    with pytest.raises(LedgerError, match="never changes"):
        open_ledger(file, unit_has_one_part=False)


def test_an_ambiguous_value_asks_for_the_condition() -> None:
    from optimaldp.ledger.account import find_part

    class Declared:
        parts = (Part("a", "north"), Part("b", "north"))

    with pytest.raises(LedgerError, match="Write the whole condition"):
        find_part(Declared(), "north")  # type: ignore[arg-type]
    assert find_part(Declared(), "b = 'north'") == Part("b", "north")  # type: ignore[arg-type]
    assert find_part(Declared(), "north", "a") == Part("a", "north")  # type: ignore[arg-type]
