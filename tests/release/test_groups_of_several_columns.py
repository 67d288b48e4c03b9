"""Groups of several columns: one answer for each combination of public values, read, recorded and verified like any group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import optimaldp as odp
from optimaldp.errors import QuestionError

BY: dict[str, Any] = {"by": ["ward", "sex"], "groups": [["a", "b"], ["m", "f"]]}
PEOPLE = ["a,m,yes,3", "a,f,no,5", "b,m,yes,7", "b,m,no,9", "c,m,yes,1", "a,,yes,1", ",f,yes,1"] * 20


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("\n".join(["ward,sex,smokes,cost", *PEOPLE]) + "\n")
    return tmp_path / "people.csv"


def test_each_combination_has_its_own_answer(people: Path) -> None:
    """Whoever has a value in no list, or none, is in no group; "(other)" takes them where it is listed."""
    counts = odp.release(people, "count(smokes = 'yes')", epsilon=60, **BY)
    assert counts.answer == {"a, m": 20, "a, f": 0, "b, m": 20, "b, f": 0}
    assert list(counts.to_frame()["sex"]) == ["m", "f", "m", "f"]
    assert counts.words() == "For each ward and sex: how many people smoke?"
    means = odp.release(people, "mean(cost, range=[0, 10], step=1, grid=1)", epsilon=60, **BY).answer
    assert (means["a, m"], means["a, f"], means["b, m"]) == (3, 5, 8)
    others = BY | {"groups": [["a", "(other)"], ["m", "(other)"]]}
    told = odp.release(people, "count(smokes = 'yes')", epsilon=60, **others).answer
    assert told == {"a, m": 20, "a, (other)": 20, "(other), m": 40, "(other), (other)": 20}


@pytest.mark.parametrize("more", [{}, {"neighbours": "add-remove"}, {"public_groups": True}])
def test_a_document_holds_and_a_swapped_list_does_not(people: Path, more: dict[str, Any]) -> None:
    made = odp.release(people, "share(smokes = 'yes') >= 0.5", epsilon=2, **BY, **more)
    document = made.to_document()
    assert (document["by"], document["groups"]) == ('["ward", "sex"]', [["a", "b"], ["m", "f"]])
    assert odp.verify(document).holds
    assert not odp.verify(document | {"groups": [["a", "b"], ["f", "m"]]}).holds
    assert "by another of the same group; who is in which group is public (ward, sex)" in str(made.sentences()) or (
        "public_groups" not in more
    )


def test_a_ledger_tells_lists_apart(people: Path, tmp_path: Path) -> None:
    with odp.open(people, budget=odp.Budget(epsilon=9), ledger=tmp_path / "people.ledger") as table:
        first = table.ask("count(smokes = 'yes')", epsilon=2, **BY)
        again = table.ask("count(smokes = 'yes')", epsilon=2, **BY)
        other = table.ask("count(smokes = 'yes')", epsilon=2, **BY | {"groups": [["a", "b"], ["f", "m"]]})
    assert (again.recorded, again.answer, other.recorded) == (True, first.answer, False)


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({"groups": ["a", "b"]}, "is not a list of values for each of ward, sex"),
        ({"groups": [["a, b", "a"], ["c", "b, c"]]}, "have two groups of one name"),
        ({"by": ["ward", "ward"]}, "names a column twice"),
        ({"by": ["ward", 3]}, "is not the name of a column"),
        ({"groups": [["a"], []]}, "is empty"),
        ({"unit": "cost", "groups_per_person": 2}, "needs groups of one column"),
    ],
)
def test_what_is_no_group_is_refused(people: Path, said: dict[str, Any], rule: str) -> None:
    with pytest.raises(QuestionError, match=rule):
        odp.release(people, "count(smokes = 'yes')", epsilon=2, **BY | said)
