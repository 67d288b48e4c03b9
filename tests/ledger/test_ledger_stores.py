"""What every store keeps: one suite, run on SQLite and on a real PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from ledger.conftest import make, spend

from optimaldp.errors import BudgetError, InputError, LedgerError, LevelError
from optimaldp.ledger import Budget, Part, ledger_exists, open_ledger
from optimaldp.ledger.opening import is_server
from optimaldp.ledger.postgres_store import PostgresStore
from optimaldp.ledger.sqlite_store import SQLiteStore
from optimaldp.ledger.store import StoredEntry
from optimaldp.privacy import Epsilon, all_of, level
from optimaldp.privacy.levels import Bound

REGIONS = {"region": ["north", "south"]}


def test_a_ledger_remembers_everything_it_was_opened_with(location: str) -> None:
    make(location, 3, 1e-6, neighbours="add-remove", unit="person", parts=REGIONS, unit_has_one_part=True).close()
    opening = open_ledger(location).opening
    assert (opening.dataset, opening.budget, opening.neighbours.value) == ("survey", Budget(3, 1e-6), "add-remove")
    assert (opening.unit, opening.unit_has_one_part) == ("person", True)
    assert opening.parts == (Part("region", "north"), Part("region", "south"))


def test_spends_add_up_exactly(location: str) -> None:
    ledger = make(location, 1)
    for _ in range(10):
        spend(ledger, 0.1)  # ten floats 0.1 sum to less than 1 in binary; here they are exactly 1
    assert ledger.spent() == Bound(Epsilon.read(1), Fraction(0))
    assert str(ledger.remaining().epsilon) == "0"
    with pytest.raises(BudgetError):
        spend(ledger, 1e-9)


def test_a_refusal_has_numbers_and_spends_nothing(location: str) -> None:
    ledger = make(location, 1)
    for epsilon in (0.1, 0.2, 0.3, 0.1):
        spend(ledger, epsilon).record("no")
    before = ledger.head
    with pytest.raises(BudgetError) as caught:
        spend(ledger, 0.5)
    assert str(caught.value) == (
        "release needs epsilon 0.5 but 0.3 remains (0.7 of 1 spent in 4 entries). Nothing was sampled and nothing was spent."
    )
    assert (caught.value.needs, caught.value.entries) == (Bound(Epsilon.read(0.5), Fraction(0)), 4)
    assert ledger.head == before
    spend(ledger, 0.3)


def test_delta_is_refused_by_itself(location: str) -> None:
    ledger = make(location, 1, 1e-6)
    spend(ledger, 0.1, 1e-6)
    with pytest.raises(BudgetError, match=r"needs delta 1e-09 but 0 remains \(1e-06 of 1e-06 spent in 1 entry\)"):
        spend(ledger, 0.1, 1e-9)


def test_another_handle_sees_every_spend(location: str) -> None:
    first, second = make(location, 1), open_ledger(location)
    spend(first, 0.6)
    with pytest.raises(BudgetError):
        spend(second, 0.6)
    spend(second, 0.4)
    assert first.spent() == second.spent() == Bound(Epsilon.read(1), Fraction(0))


def test_threads_share_a_ledger_without_overspending(location: str) -> None:
    ledger = make(location, 1)

    def ask(_: int) -> bool:
        try:
            return bool(spend(ledger, 0.1).record("yes"))
        except BudgetError:
            return False

    with ThreadPoolExecutor(8) as pool:
        granted = sum(pool.map(ask, range(24)))
    assert granted == 10
    assert len(ledger.history()) == 10


def test_answers_come_back_at_no_cost(location: str) -> None:
    ledger = make(location, 1)
    spend(ledger, 0.5, data_version="v1").record("no", {"status": "certified"})
    again = open_ledger(location)
    found = again.answered("majority(smokes)", level(0.5), "v1")
    assert found is not None
    assert (found.answer, found.certificate) == ("no", {"status": "certified"})
    assert again.spent().epsilon == Epsilon.read(0.5)


@pytest.mark.parametrize(
    ("question", "epsilon", "version", "part"),
    [
        ("majority(drinks)", 0.5, "v1", None),
        ("majority(smokes)", 0.4, "v1", None),
        ("majority(smokes)", 0.5, "v2", None),
        ("majority(smokes)", 0.5, None, None),
        ("majority(smokes)", 0.5, "v1", "north"),
    ],
)
def test_another_question_is_not_answered_from_the_record(
    location: str, question: str, epsilon: float, version: str | None, part: str | None
) -> None:
    ledger = make(location, 1, parts=REGIONS)
    spend(ledger, 0.5, data_version="v1").record("no")
    assert ledger.answered(question, level(epsilon), version, part=part) is None


def test_a_reservation_without_an_answer_stays_spent(location: str) -> None:
    ledger = make(location, 1)
    with pytest.raises(RuntimeError), spend(ledger, 0.7, data_version="v1"):
        raise RuntimeError("the sampler broke")
    again = open_ledger(location)
    assert again.spent().epsilon == Epsilon.read(0.7)
    assert again.answered("majority(smokes)", level(0.7), "v1") is None
    assert [line.recorded for line in again.history()] == [None]


def test_an_answer_is_recorded_once(location: str) -> None:
    reservation = spend(make(location, 1), 0.5)
    reservation.record("no")
    with pytest.raises(LedgerError, match="already has its answer"):
        reservation.record("yes")


def test_other_neighbours_units_and_data_sets_are_refused(location: str) -> None:
    ledger = make(location, 1, unit="person")
    refused = [
        ({"neighbours": "add-remove", "unit": "person"}, "one person appears or disappears"),
        ({"unit": None}, "single rows"),
        ({"unit": "household"}, "household"),
        ({"unit": "person", "dataset": "census"}, "census"),
    ]
    for options, words in refused:
        with pytest.raises(LedgerError, match=words) as caught:
            spend(ledger, 0.1, **options)
        assert "nothing was spent" in str(caught.value)
    assert ledger.spent().epsilon.is_zero
    spend(ledger, 0.1, unit="person", dataset="survey")


def test_what_a_ledger_remembers_cannot_be_changed_by_opening_it(location: str) -> None:
    make(location, 1).close()
    for other in (
        {"budget": Budget(2)},
        {"neighbours": "add-remove"},
        {"dataset": "census"},
        {"unit": "person"},
        {"parts": REGIONS},
    ):
        with pytest.raises(LedgerError, match="never changes"):
            open_ledger(location, **other)  # type: ignore[arg-type]
    assert open_ledger(location, budget=Budget(1), unit=None).opening.budget == Budget(1)


def test_neighbours_and_unit_need_not_be_said_again(location: str) -> None:
    make(location, 1, unit="person", neighbours="add-remove").close()
    ledger = open_ledger(location)
    ledger.require(question="q", level=level(0.5))
    ledger.reserve(question="q", level=level(0.5))
    ledger.reserve(question="q", level=level(0.25), unit="person", neighbours="add-remove")
    with pytest.raises(LedgerError, match="single rows"):
        ledger.reserve(question="q", level=level(0.25), unit=None)
    assert len(ledger.history()) == 2


def test_settings_are_remembered_and_must_agree(location: str) -> None:
    settings = {"types": {"age": "number", "day": "date %d/%m/%Y"}, "delimiter": ";"}
    make(location, 1, settings=settings).close()
    assert open_ledger(location).opening.settings == settings
    assert open_ledger(location, settings={"delimiter": ";"}).opening.settings == settings
    for other in ({"delimiter": ","}, {"types": {"age": "number"}}, {"encoding": "latin-1"}):
        with pytest.raises(LedgerError, match="never changes"):
            open_ledger(location, settings=other)


def test_settings_are_plain(location: str) -> None:
    with pytest.raises(InputError, match="plain JSON"):
        make(location, 1, settings={"types": object()})
    assert not ledger_exists(location)


def test_a_new_ledger_needs_a_name_and_a_budget(location: str) -> None:
    with pytest.raises(InputError, match="dataset"):
        open_ledger(location, budget=Budget(1))
    with pytest.raises(InputError, match="budget"):
        open_ledger(location, dataset="survey")
    assert not ledger_exists(location)


def test_only_single_finite_levels_can_be_spent(location: str) -> None:
    ledger = make(location, 1)
    for bad in (level(mu=1), level("inf"), all_of(level(0.1, 0.1), level(0.2, 0))):
        with pytest.raises(LevelError):
            ledger.reserve(question="q", level=bad, neighbours="substitution")
    assert not ledger.history()


def test_what_would_be_refused_can_be_asked_without_spending(location: str) -> None:
    ledger = make(location, 1)
    ledger.require(question="q", level=level(1), neighbours="substitution")
    with pytest.raises(BudgetError):
        ledger.require(question="q", level=level(1.1), neighbours="substitution")
    assert ledger.spent().epsilon.is_zero


def test_the_data_version_is_stored_as_a_code(location: str) -> None:
    ledger = make(location, 1)
    spend(ledger, 0.1, data_version="sha256-of-the-data")
    assert all("sha256-of-the-data" not in entry.text() for entry in ledger.entries())


def test_a_missing_ledger_cannot_be_read(location: str) -> None:
    with pytest.raises(LedgerError, match="does not exist"):
        open_ledger(location, readonly=True)


def test_of_two_that_make_a_ledger_the_first_one_is_told_so(location: str) -> None:
    make_store = PostgresStore.create if is_server(location) else SQLiteStore.create
    store = PostgresStore if is_server(location) else SQLiteStore
    assert make_store(location, StoredEntry(1, "first", "a")) is True
    assert make_store(location, StoredEntry(1, "second", "b")) is False
    assert [row.text for row in store(location).rows(0)] == ["first"]


def test_the_description_by_which_a_table_was_last_read_is_kept(location: str) -> None:
    with open_ledger(location, dataset="survey", budget=Budget(1)) as ledger:
        ledger.note_description("first")
        ledger.note_description("second")
        ledger.note_description("second")
    with open_ledger(location) as again:
        assert (again.description, len(again.entries())) == ("second", 3)
        with pytest.raises(LedgerError, match=r"Open the description \(NAME"):
            again.note_description(None)
        for other in ({"neighbours": "add-remove"}, {"unit": "patient"}):
            with pytest.raises(LedgerError, match="was changed to say otherwise"):
                again.note_description("third", **other)  # type: ignore[arg-type]
        assert len(again.entries()) == 3
        again.note_description("third", neighbours="substitution", unit=None)
        assert again.description == "third"


def test_the_key_of_a_ledgers_codes_has_256_bits(location: str) -> None:
    make(location, 1).close()
    store = PostgresStore(location) if is_server(location) else SQLiteStore(location)
    assert len(store.secret()) == 32
    store.close()
