"""Several questions charged together: all or nothing, in one transaction, in every store."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from ledger.conftest import make, spend
from ledger.test_ledger_crashes import in_child

from optimaldp.errors import BudgetError, InputError, LedgerError, LevelError
from optimaldp.ledger import Charge, open_ledger, verify_ledger
from optimaldp.privacy import Epsilon, level


def charges(*epsilons: float, **options: object) -> list[Charge]:
    return [Charge(f"q{n}", level(e), data_version="v1", **options) for n, e in enumerate(epsilons)]  # type: ignore[arg-type]


def test_all_are_spent_and_answered(location: str) -> None:
    ledger = make(location, 1)
    spend(ledger, 0.1)
    reservations = ledger.reserve_together(charges(0.2, 0.3, 0.4))
    assert [reservation.sequence for reservation in reservations] == [3, 4, 5]
    assert str(ledger.remaining().epsilon) == "0"
    ledger.record_together([(one, f"answer {n}", {"n": n}) for n, one in enumerate(reservations)])
    again = open_ledger(location)
    assert [record.answer for record in again.history()] == [None, "answer 0", "answer 1", "answer 2"]
    assert [record.spend.together for record in again.history()] == [None, 3, 3, 3]
    found = again.answered("q1", level(0.3), "v1")
    assert found is not None
    assert (found.answer, found.statement) == ("answer 1", {"n": 1})
    assert verify_ledger(location).intact


def test_one_that_does_not_fit_refuses_all(location: str) -> None:
    ledger = make(location, 1)
    spend(ledger, 0.1)
    before = ledger.head
    with pytest.raises(BudgetError) as caught:
        ledger.reserve_together(charges(0.4, 0.4, 0.2))
    assert "needs epsilon 0.2 but 0.1 remains (0.9 of 1 spent in 3 entries" in str(caught.value)
    assert "counting the 2 questions before it that were asked together" in str(caught.value)
    assert "nothing was spent" in str(caught.value)
    with pytest.raises(BudgetError):
        ledger.require_together(charges(0.4, 0.4, 0.2))
    assert (ledger.head, open_ledger(location).head) == (before, before)
    assert str(ledger.spent().epsilon) == "0.1"
    ledger.require_together(charges(0.4, 0.4, 0.1))
    ledger.reserve_together(charges(0.4, 0.4, 0.1))


def test_a_refusal_after_one_question_says_so(file: Path) -> None:
    with pytest.raises(BudgetError, match="counting the question before it that was asked together"):
        make(file, 1).reserve_together(charges(0.6, 0.6))


def test_parts_that_are_asked_together_cost_the_most_charged_one(file: Path) -> None:
    ledger = make(file, 1, parts={"region": ["north", "south"]})
    both = [Charge("q", level(1), part=part) for part in ("north", "south")]
    ledger.reserve_together(both)
    assert str(ledger.spent().epsilon) == "1"
    with pytest.raises(BudgetError, match="north"):
        ledger.reserve_together(both)


def test_bad_charges_spend_nothing(file: Path) -> None:
    ledger = make(file, 1, 1e-6)
    for bad, error in (
        ([], LedgerError),
        ([*charges(0.1), Charge("q", level("inf"))], LevelError),
        ([*charges(0.1), Charge("q", level(0.1), part="east")], LedgerError),
        ([*charges(0.1), Charge("q", level(0.1), personal={0.1: level(0.1)})], InputError),
        ([*charges(0.1), Charge("q", level(0.1), used=level(0.2))], LevelError),
        ([*charges(0.1), Charge("q", level(0.1), used=level(0.1, 1e-9))], LevelError),
    ):
        with pytest.raises(error):
            ledger.reserve_together(bad)  # type: ignore[arg-type]
    assert not ledger.history()


def test_answers_that_cannot_all_be_recorded_are_not(file: Path) -> None:
    ledger = make(file, 1)
    first, second = ledger.reserve_together(charges(0.1, 0.1))
    for answers in ([(first, "a", None), (first, "b", None)], [(first, "a", None), (second, object(), None)]):
        with pytest.raises(LedgerError):
            ledger.record_together(answers)
    assert [record.recorded for record in ledger.history()] == [None, None]
    second.record("b")
    with pytest.raises(LedgerError, match=r"#3 already has its answer.*The spends #2 to #3 stay"):
        ledger.record_together([(first, "a", None), (second, "b", None)])
    first.record("a")
    assert [record.answer for record in ledger.history()] == ["a", "b"]


def test_a_crash_in_between_leaves_all_or_none(file: Path) -> None:
    """Killed while the rows are being inserted: nothing is there. Killed after: everything is spent."""
    make(file, 10).close()

    def die_half_way() -> None:
        ledger = open_ledger(file)
        store = ledger._log._store
        connection = store._connection  # type: ignore[attr-defined]
        connection.create_function("die", 0, lambda: os.kill(os.getpid(), signal.SIGKILL))
        connection.execute(
            "CREATE TEMP TRIGGER crash AFTER INSERT ON main.entries WHEN new.sequence = 3 BEGIN SELECT die(); END"
        )
        ledger.reserve_together(charges(1, 1, 1))

    def die_afterwards() -> None:
        open_ledger(file).reserve_together(charges(1, 1, 1))
        os.kill(os.getpid(), signal.SIGKILL)

    for work, spent in ((die_half_way, 0), (die_afterwards, 3)):
        assert os.WTERMSIG(os.waitpid(in_child(work), 0)[1]) == signal.SIGKILL
        with open_ledger(file) as ledger:
            assert ledger.spent().epsilon == Epsilon.read(spent)
        assert verify_ledger(file).intact


def test_only_what_is_used_is_charged_and_the_answer_is_found_by_what_was_asked(location: str) -> None:
    ledger = make(location, 1, 1e-6)
    spend(ledger, 0.5, 1e-6, used=level(0.5), data_version="v1", question="histogram(x, ['a'])").record({"a": 3})
    assert str(ledger.remaining().delta) == "1/1000000"
    again = open_ledger(location)
    assert again.answered("histogram(x, ['a'])", level(0.5, 1e-6), "v1") is not None
    assert again.answered("histogram(x, ['a'])", level(0.5), "v1") is None
    document = again.history()[0].to_document()
    assert (document["delta"], document["asked"]) == ("0", {"epsilon": "0.5", "delta": "1e-06"})
    with pytest.raises(LevelError, match="more than the level"):
        spend(ledger, 0.1, used=level(0.2))


def test_eight_pairs_at_once_keep_the_budget(location: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    make(location, 1).close()
    handles = [open_ledger(location) for _ in range(3)]

    def ask(number: int) -> int:
        try:
            return len(handles[number % 3].reserve_together(charges(0.1, 0.2)))
        except BudgetError:
            return 0

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(ask, range(8))) == 6
    assert str(open_ledger(location).spent().epsilon) == "0.9"
    assert verify_ledger(location).intact
