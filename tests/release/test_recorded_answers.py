"""An answer that the ledger holds comes back as it was drawn, costs nothing and says so."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.asking.published import release_of

PEOPLE = pyarrow.table({"age": [20] * 10 + [35] * 70 + [70] * 15, "vote": ["a"] * 60 + ["b"] * 35})


@pytest.mark.parametrize(
    "question",
    [
        "median(age, bins=[18, 30, 60, 100])",
        "median(age, range=[0, 100], step=0.5)",
        "quantiles(age, [0.25, 0.75], range=[0, 100], step=1)",
        "majority(vote = 'a')",
        "histogram(vote, ['a', 'b'])",
    ],
)
def test_a_repeat_is_free_and_equal(question: str, tmp_path: Path) -> None:
    with odp.open(PEOPLE, budget=odp.Budget(epsilon=1), ledger=tmp_path / "people.ledger") as table:
        first = table.ask(question, epsilon="0.4")
        again = table.ask(question, epsilon="0.4")
        assert (first.recorded, again.recorded) == (False, True)
        assert again.answer == first.answer
        assert again.to_document()["spent"] == {"epsilon": "0", "delta": "0"}
        assert str(table.remaining.epsilon) == "0.6"
        if question.startswith("median"):
            assert (again.low, again.high) == (first.low, first.high)


def test_answers_by_group_are_a_table_in_every_form() -> None:
    made = odp.release(PEOPLE, "count(*) >= 11", epsilon=8, delta="0.01", by="vote", groups=["a", "b", "c"])
    assert made.answer == {"a": "yes", "b": "yes", "c": "no"}
    assert made.to_csv() == "name,value\na,yes\nb,yes\nc,no\n"
    assert "<tr><th>a</th><td>yes</td></tr>" in made._repr_html_()
    assert list(made.to_frame()["value"]) == ["yes", "yes", "no"]


def test_bins_by_group_come_back_with_their_edges(tmp_path: Path) -> None:
    question = odp.median("age", bins=[18, 30, 60, 100])
    with odp.open(PEOPLE, budget=odp.Budget(epsilon=1), ledger=tmp_path / "people.ledger") as table:
        first = table.ask(question, epsilon="0.4", by="vote", groups=["a", "b"])
        again = table.ask(question, epsilon="0.4", by="vote", groups=["a", "b"])
    assert again.recorded
    for made in (again, release_of(first.to_document())):
        assert {name: one.low for name, one in made.answer.items()} == {n: one.low for n, one in first.answer.items()}
