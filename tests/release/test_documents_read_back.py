"""Documents are read back into the objects that wrote them: what a client of a service shows is what the library showed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.asking.published import release_of
from optimaldp.errors import InputError
from optimaldp.ledger.history import History, Remaining

TABLE = pyarrow.table(
    {
        "smokes": ["yes", "no", "no"] * 60,
        "age": [20 + n % 60 for n in range(180)],
        "ward": ["north", "south"] * 90,
        "trust": ["0.5", "1", "1"] * 60,
    }
)
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("share(smokes = 'yes') >= 0.3", {"delta": 1e-6}),
    ("majority(smokes = 'yes')", {"levels": "trust"}),
    ("winner(smokes, ['yes', 'no'])", {"where": "age > 30"}),
    ("histogram(smokes, ['yes', 'no'])", {}),
    ("histogram(smokes: ['yes', 'no'], age: bins=[0, 40, 100])", {}),
    ("median(age, bins=[0, 30, 60, 90])", {}),
    ("quantiles(age, [0.25, 0.75], bins=[0, 30, 60, 90])", {}),
    ("top(smokes, 1, ['yes', 'no'])", {}),
    ("count(smokes = 'yes')", {}),
    ("mean(age, range=[0, 100], step=1)", {"neighbours": "add-remove"}),
    ("count(smokes = 'yes')", {"by": "ward", "groups": ["north", "south"]}),
    ("majority(smokes = 'yes')", {"by": "ward", "groups": ["north", "south"], "public_groups": True}),
]


@pytest.mark.long
@pytest.mark.parametrize(("question", "options"), ASKED, ids=[f"{n} {q[0].split('(')[0]}" for n, q in enumerate(ASKED)])
def test_a_release_is_read_back(question: str, options: dict[str, Any]) -> None:
    made = odp.release(TABLE, question, epsilon=1, **options)
    written = json.loads(made.to_json())
    read = release_of(written)
    assert json.loads(read.to_json()) == written
    assert read.answer == made.answer
    assert read.sentences() == made.sentences()
    assert read.summary() == made.summary()
    assert bool(odp.verify(read)) == bool(odp.verify(made))


def test_what_a_service_adds_is_not_part_of_the_number() -> None:
    written = odp.release(TABLE, "count(smokes = 'yes')", epsilon=1).to_document()
    read = release_of(written | {"replayed": True, "request": 7, "remaining": {"epsilon": "1"}})
    assert read.recorded
    assert read.to_document() == written


def test_what_is_no_release_is_refused() -> None:
    with pytest.raises(InputError, match="is not the document of a release"):
        release_of({"answer": "yes"})


@pytest.mark.parametrize("question", [question for question, _ in ASKED if "quantiles" not in question])
def test_a_preview_is_read_back(question: str) -> None:
    made = odp.preview(question, epsilon=1, n=180)
    written = json.loads(made.to_json())
    assert json.loads(odp.Preview.from_document(written).to_json()) == written


def test_what_remains_is_read_back(tmp_path: Path) -> None:
    with odp.open(TABLE, budget=odp.Budget(3, 1e-6), ledger=tmp_path / "x.ledger") as table:
        table.ask("majority(smokes = 'yes')", epsilon="ln(2)")
        assert Remaining.from_document(table.remaining.to_document()) == table.remaining


def test_a_history_is_read_back(tmp_path: Path) -> None:
    parts = {"ward": ["north", "south"]}
    with odp.open(TABLE, budget=odp.Budget(9, 1e-3), ledger=tmp_path / "x.ledger", parts=parts) as table:
        table.ask("majority(smokes = 'yes')", epsilon="ln(2)")
        table.ask("majority(smokes = 'yes')", epsilon=1, part="north")
        table.ask("majority(smokes = 'yes')", epsilon=1, levels="trust")
        table.ask("histogram(smokes, ['yes', 'no'])", epsilon=1, delta=1e-6)
        table.ledger.reserve(question="lost", level=odp.level(0.5))
        history, remaining = table.history(), table.remaining
    read = History.from_document(json.loads(history.to_json()), remaining)
    assert json.loads(read.to_json()) == json.loads(history.to_json())
    assert read.spent_so_far() == history.spent_so_far()
    assert read.to_csv() == history.to_csv()
    assert str(read) == str(history)
