"""A release makes its statement when somebody looks at it, and holds on to nothing that was counted."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pyarrow as pa
import pytest

import optimaldp as odp
from optimaldp.asking import statements
from optimaldp.laws.law import Table
from optimaldp.tables import Counted, open_source

TABLE = pa.table(
    {
        "smokes": ["yes"] * 301 + ["no"] * 700,
        "vote": ["a", "b", "b", "c"] * 250 + [None],
        "age": list(range(91)) * 11,
        "level": ["0.5"] * 401 + ["1"] * 600,
        "ward": ["n", "s"] * 500 + ["n"],
    }
)
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("share(smokes = 'yes') >= 0.3", {}),
    ("share(smokes = 'yes') >= 0.3", {"levels": "level"}),
    ("majority(smokes = 'yes')", {"by": "ward", "groups": ["n", "s"]}),
    ("winner(vote, ['a', 'b', 'c'])", {"neighbours": "add-remove"}),
    ("median(age, bins=[0, 30, 60, 90])", {}),
    ("histogram(vote, ['a', 'b', 'c'])", {}),
]


def _reachable(start: object) -> list[object]:
    """Everything that can be reached from an object, not looking into modules, classes and what functions see globally."""
    seen: dict[int, object] = {}
    waiting = [start]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, ModuleType | type):
            continue
        seen[id(one)] = one
        if isinstance(one, FunctionType):
            waiting += [cell.cell_contents for cell in one.__closure__ or ()]
        else:
            waiting += gc.get_referents(one)
    return list(seen.values())


@pytest.mark.parametrize(("question", "options"), ASKED, ids=str)
def test_nothing_that_was_counted_can_be_reached_from_a_release(question: str, options: dict[str, Any]) -> None:
    release = odp.release(TABLE, question, epsilon=1, **options)
    for _ in range(2):  # before and after the statement is made
        things = _reachable(release)
        assert [one for one in things if isinstance(one, Counted)] == []
        assert [one for one in things if isinstance(one, Table) and (one.cells or one.by_level)] == []
        assert release.statement["protected"] == "each row counts as one person"


def test_the_search_would_find_it() -> None:
    counted = Counted.of((301, 700))
    assert counted in _reachable({"somewhere": [lambda: counted]})


def test_a_statement_is_made_once_and_only_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    true = statements.statement
    monkeypatch.setattr(statements, "statement", lambda prepared: (made.append(prepared), true(prepared))[1])
    release = odp.release(TABLE, ASKED[0][0], epsilon=1)
    assert str(release.answer) in repr(release)
    assert made == []
    assert release.statement is release.certificate
    assert len(made) == 1


def test_warnings_are_made_once_and_only_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    true = statements.cautions
    monkeypatch.setattr(statements, "cautions", lambda *public: (made.append(public), true(*public))[1])
    release = odp.release(TABLE, ASKED[0][0], epsilon=11, delta=0.01)
    assert made == []
    assert [text.split(" is ")[0] for text in release.warnings] == ["epsilon 11", "delta 0.01"]
    assert release.warnings is release.warnings
    assert len(made) == 1


@pytest.mark.parametrize(("question", "options"), ASKED, ids=str)
def test_a_release_can_be_sent_elsewhere(question: str, options: dict[str, Any]) -> None:
    release = odp.release(TABLE, question, epsilon=11, **options)
    again = pickle.loads(pickle.dumps(release))
    assert again.to_json() == release.to_json()
    assert again.sentences() == release.sentences()
    assert again.warnings == release.warnings
    assert again.warnings


def test_a_file_that_changes_after_it_was_opened_is_another_version(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("smokes\nyes\nno\n")
    source = open_source(path)
    before = source.version()
    path.write_text("smokes\nyes\nno\nyes\n")
    assert before != source.version()
    path.unlink()
    with pytest.raises(odp.errors.TableError, match="could not be read"):
        source.version()
