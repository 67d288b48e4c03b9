"""With ``answer_after`` an answer, and a failure after data was read, come at a whole multiple of that time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.asking import corridor, releasing
from optimaldp.errors import InputError, QuestionError, ReleaseError, TableError
from optimaldp.tables.frames import DatasetFeed

TABLE = pyarrow.table({"smokes": ["yes", "no"] * 20})


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited, on a clock that shows what it is told."""
    waited: list[float] = []
    clock = iter([100.0, 103.25, *[200.0] * 20])
    # In that module alone: other tests may have left threads that sleep now and then.
    monkeypatch.setattr(corridor, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=waited.append))
    return waited


def test_an_answer_waits_for_the_next_multiple(slept: list[float]) -> None:
    odp.release(TABLE, "majority(smokes = 'yes')", epsilon=1, answer_after=2)
    assert slept == [0.75]


def test_without_it_nothing_waits(slept: list[float]) -> None:
    odp.release(TABLE, "majority(smokes = 'yes')", epsilon=1)
    assert slept == []


@pytest.mark.parametrize("where", ["reading", "certifying"])
def test_a_failure_after_reading_waits_too(where: str, slept: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("Zyzzogeton")

    target = (DatasetFeed, "fill") if where == "reading" else (releasing, "certify")
    monkeypatch.setattr(*target, fails)
    with pytest.raises((ReleaseError, TableError)) as caught:
        odp.release(TABLE, "majority(smokes = 'yes')", epsilon=1, answer_after=2)
    assert "Zyzzogeton" not in str(caught.value)
    assert slept == [0.75]


def test_a_question_that_is_none_is_refused_at_once(slept: list[float]) -> None:
    with pytest.raises(QuestionError):
        odp.release(TABLE, "majority(smoke = 'yes')", epsilon=1, answer_after=2)
    assert slept == []


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 4000, "two", True])
def test_times_that_are_none(seconds: Any) -> None:
    with pytest.raises(InputError, match="answer_after"):
        odp.release(TABLE, "majority(smokes = 'yes')", epsilon=1, answer_after=seconds)
