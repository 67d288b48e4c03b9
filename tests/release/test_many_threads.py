"""Many threads, one table, one budget: every question is examined and answered as if it were alone, and every answer is paid."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.certify.core.referee import certify
from optimaldp.errors import BudgetError
from optimaldp.privacy import balls
from optimaldp.privacy.balls import precision

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


class Disturber:
    """A thread that tries to compute with two bits whenever it is told to, and says first whether it has to wait."""

    def __init__(self) -> None:
        self._turns: Queue[bool] = Queue()
        self._told: Queue[str] = Queue()
        self._lock = threading.RLock()
        self._thread = threading.Thread(target=self._disturb, daemon=True)
        self._thread.start()

    def _disturb(self) -> None:
        while self._turns.get():
            with precision(2):
                self._told.put("inside")

    def try_now(self) -> str:
        self._turns.put(True)
        return self.next_word()

    def next_word(self) -> str:
        return self._told.get(timeout=20)

    def stop(self) -> None:
        self._turns.put(False)
        self._thread.join(20)

    # In place of the lock around precision:

    def acquire(self) -> None:
        if threading.current_thread() is self._thread:
            self._told.put("waits")
        self._lock.acquire()

    def release(self) -> None:
        self._lock.release()


@pytest.mark.parametrize("question", QUESTIONS[:3])
def test_nobody_changes_the_precision_in_the_middle_of_a_question(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turns are handed over by messages, not by luck: in each block another thread tries to come in, and has to wait."""
    disturber, depth, words = Disturber(), [0], list[str]()
    enter, leave, asking = precision.__enter__, precision.__exit__, threading.current_thread()

    def entered(block: precision) -> None:
        enter(block)
        if threading.current_thread() is asking:
            depth[0] += 1
            if depth[0] == 1:
                words.append(disturber.try_now())

    def left(block: precision, *error: object) -> None:
        leave(block, *error)
        if threading.current_thread() is asking:
            depth[0] -= 1
            if depth[0] == 0 and words[-1] == "waits":
                assert disturber.next_word() == "inside"

    monkeypatch.setattr(balls, "_one_thread", disturber)
    monkeypatch.setattr(precision, "__enter__", entered)
    monkeypatch.setattr(precision, "__exit__", left)
    assert odp.release(TABLE, question, epsilon="0.5").answer is not None
    monkeypatch.undo()
    disturber.stop()
    assert len(words) >= 3, "the examination, the draw and what is calculated a second time"
    assert set(words) == {"waits"}
