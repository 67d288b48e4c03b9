"""Many threads, one table, one budget: every question is examined and answered as if it were alone, and every answer is paid."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.certify.questions import certify
from optimaldp.errors import BudgetError

TABLE = pyarrow.table({"vote": ["yes"] * 30 + ["no"] * 30, "age": list(range(60))})
QUESTIONS = [
    "majority(vote = 'yes')",
    "histogram(vote, ['yes', 'no'])",
    "mean(age, range=[0, 60]) >= 20",
    "winner(vote, ['yes', 'no', 'maybe'])",
    "median(age, bins=[0, 20, 40, 60])",
    "median(age, range=[0, 60], step=1)",
    "share(vote = 'yes' among age > 20) >= 0.3",
    "top(vote, 2, ['yes', 'no', 'maybe'])",
]


@pytest.fixture(autouse=True)
def eager_switches() -> Iterator[None]:
    """Threads that take turns as often as possible, and a referee that has seen nothing yet."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    certify.cache_clear()
    yield
    sys.setswitchinterval(before)


def test_questions_asked_at_once_are_all_examined_and_answered(tmp_path: Path) -> None:
    barrier = threading.Barrier(len(QUESTIONS))
    with odp.open(TABLE, ledger=tmp_path / "t.ledger", budget=odp.Budget(9)) as opened:

        def ask(question: str) -> str:
            barrier.wait()
            return str(opened.ask(question, epsilon="0.5").answer)

        with ThreadPoolExecutor(len(QUESTIONS)) as workers:
            answers = list(workers.map(ask, QUESTIONS))
        assert len(answers) == len(QUESTIONS)
        assert str(opened.remaining.spent.epsilon) == "4"


def test_threads_never_get_more_answers_than_the_budget_pays_for(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)
    with odp.open(TABLE, ledger=tmp_path / "t.ledger", budget=odp.Budget("0.5")) as opened:

        def ask(number: int) -> str:
            barrier.wait()
            try:
                return str(opened.ask(f"count(vote = 'yes') >= {number + 3}", epsilon="0.1").answer)
            except BudgetError:
                return "refused"

        with ThreadPoolExecutor(8) as workers:
            answers = list(workers.map(ask, range(8)))
        assert answers.count("refused") == 3
        assert str(opened.remaining.spent.epsilon) == "0.5"
