"""Budgets of askers within a data set's: against a plain sum, month by month, in several processes; and who is named."""

from __future__ import annotations

import multiprocessing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.errors import BudgetError
from optimaldp.ledger import Budget, Ledger, open_ledger, verify_ledger
from optimaldp.ledger.askers import AskersLedger, Behalf
from optimaldp.ledger.chain import now
from optimaldp.ledger.entry import Spend, read_entry
from optimaldp.ledger.ledger import Charge
from optimaldp.privacy import Epsilon, level

TOTAL = Fraction(2)
OWN = {"ann": Fraction(1), "ben": Fraction(3, 2), "cleo": None}


def opened(path: Path) -> Ledger:
    return open_ledger(path, dataset="d", budget=Budget(TOTAL))


def view(ledger: Ledger, asker: str, per: Any = None, **more: Any) -> AskersLedger:
    own = OWN[asker]
    return AskersLedger(ledger, Behalf(asker, None if own is None else Budget(own), per, **more))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(OWN)), st.integers(1, 6), st.sampled_from(["2026-01", "2026-02"])), max_size=14
    ),
    st.sampled_from([None, "month"]),
)
def test_a_spend_is_allowed_exactly_if_it_fits_into_her_budget_and_the_total(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[str, int, str]], per: Any
) -> None:
    with pytest.MonkeyPatch.context() as patch, opened(tmp_path_factory.mktemp("l") / "l.ledger") as ledger:
        done: list[tuple[str, Fraction, str]] = []
        for asker, quarters, month in asked:
            patch.setattr("optimaldp.ledger.askers.now", lambda month=month: f"{month}-03T00:00:00.000+00:00")
            cost, book = Fraction(quarters, 4), view(ledger, asker, per)
            hers = sum((c for who, c, when in done if who == asker and (per is None or when == month)), Fraction(0))
            limit = OWN[asker]
            fits = sum(c for _, c, _ in done) + cost <= TOTAL and (limit is None or hers + cost <= limit)
            try:
                book.reserve(question=f"q{len(done)}", level=level(cost))
                assert fits
                done.append((asker, cost, month))
            except BudgetError:
                assert not fits
            if limit is not None and fits:
                assert book.remaining().spent.epsilon == Epsilon.read(hers + cost)
        assert verify_ledger(ledger.location).intact
        for asker in OWN:
            assert [one.spend.asker for one in view(ledger, asker).history()] == [a for a, _, _ in done if a == asker]


def test_an_entry_names_who_asked_and_who_approved_and_is_read_back(tmp_path: Path) -> None:
    with opened(tmp_path / "l.ledger") as ledger:
        book = view(ledger, "ann", approver="dora", request="r1")
        spend = book.reserve(question="q", level=level(1)).spend
        assert read_entry(spend.text()) == spend
        assert (spend.version, spend.asker, spend.approver, spend.request) == (4, "ann", "dora", "r1")
        assert ledger.reserve(question="q", level=level(1)).spend.version == 2  # nobody in particular asked


def test_whose_answers_are_given_again(tmp_path: Path) -> None:
    with opened(tmp_path / "l.ledger") as ledger:
        asked = {"question": "q", "level": level("1/8"), "data_version": "v1"}
        view(ledger, "ann").reserve(**asked).record("of ann")  # type: ignore[arg-type]

        def given_to(asker: str, version: str = "v1", **more: Any) -> Any:
            found = view(ledger, asker, **more).answered("q", level("1/8"), version)
            return None if found is None else found.answer

        assert given_to("ann") == "of ann"
        assert given_to("ben") is None
        assert given_to("ben", shares=True) == "of ann"
        assert given_to("ben", "v2", shares=True) is None
        assert view(ledger, "ben", shares=True).answered("q", level("1/8"), None) is None
        view(ledger, "ben", approver="dora").reserve(**asked).record("of ben, approved")  # type: ignore[arg-type]
        assert given_to("ben") == "of ben, approved"
        assert given_to("cleo", shares=True) == "of ann"
        view(ledger, "ann").reserve(**asked).record("of ann, paid again")  # type: ignore[arg-type]
        assert given_to("ann") == "of ann, paid again"
        assert given_to("cleo", shares=True) == "of ann"
        assert view(ledger, "ben").times_paid("q", level("1/8")) == 0 < ledger.times_paid("q", level("1/8"))


def test_refusals_say_whose_budget_it_is_and_no_number_of_others(tmp_path: Path) -> None:
    with opened(tmp_path / "l.ledger") as ledger:
        with pytest.raises(
            BudgetError, match=r"the budget of ann does not cover it: release needs epsilon 1\.25 but 1 "
        ):
            view(ledger, "ann").reserve(question="q", level=level("1.25"))
        view(ledger, "ben").reserve(question="q", level=level("1.5"))
        with pytest.raises(BudgetError) as refused:
            view(ledger, "ann").reserve(question="q", level=level(1))
        assert "the budget of the data set 'd' does not cover epsilon 1 any more" in str(refused.value)
        assert "1.5" not in str(refused.value)
        together = [Charge("small", level("1/4")), Charge("large", level("3/4"))]
        with pytest.raises(BudgetError, match=r"does not cover epsilon 1 any more"):
            view(ledger, "ann").reserve_together(together)


def test_a_question_looks_at_the_ledger_once_and_again_when_it_pays(tmp_path: Path) -> None:
    with opened(tmp_path / "l.ledger") as ledger, opened(tmp_path / "l.ledger") as elsewhere:
        book, spend = view(ledger, "ann"), {"question": "q", "level": level("1/2")}
        view(elsewhere, "ann").reserve(**spend)  # type: ignore[arg-type]
        assert book.remaining().entries == 1
        view(elsewhere, "ann").reserve(**spend)  # type: ignore[arg-type]
        assert book.remaining().entries == 1
        assert (book.pays_first, book.reserved) == (True, False)
        with pytest.raises(BudgetError, match="ann"):
            book.reserve(**spend)  # type: ignore[arg-type]
        assert book.reserved is False
        other = view(ledger, "ben")
        other.reserve(**spend)  # type: ignore[arg-type]
        assert other.reserved is True


def test_what_remains_is_hers_and_what_is_usable_keeps_the_total_too(tmp_path: Path) -> None:
    parts = {"region": ["north", "south"]}
    with open_ledger(tmp_path / "l.ledger", dataset="d", budget=Budget(TOTAL), parts=parts) as ledger:
        view(ledger, "ben").reserve(question="q", level=level("3/2"), part="north")
        shown = {who: view(ledger, who, per="month").remaining_document() for who in ("ann", "cleo")}
        assert {who: (one["remaining"]["epsilon"], one["usable"]["epsilon"]) for who, one in shown.items()} == {
            "ann": ("1", "0.5"),
            "cleo": ("0.5", "0.5"),
        }
        assert [one["shared"] for one in shown.values()] == [False, True]
        assert shown["ann"]["period"] == now()[:7]
        spent = {part: view(ledger, "ann").remaining(part=part).spent.epsilon for part in ("north", "south")}
        assert spent == {"north": Epsilon.read("3/2"), "south": Epsilon.read(0)}


def _spend_all(path: str, asker: str, gate: Any, done: Any) -> None:
    with open_ledger(path) as ledger:
        book, made = view(ledger, asker), 0
        gate.wait()
        for number in range(20):
            try:
                book.reserve(question=f"{asker}{number}", level=level("1/8"))
                made += 1
            except BudgetError:
                break
        done.put(made)


@pytest.mark.long
@pytest.mark.parametrize("server", [False, True], ids=["SQLite", "PostgreSQL"])
def test_several_processes_of_one_asker_keep_her_budget(tmp_path: Path, server: bool) -> None:
    if server:
        postgres = pytest.importorskip("postgres_server")
        if postgres.why_missing():
            pytest.skip(postgres.why_missing())
        with postgres.postgres_server() as database:
            _race(database.new_database("race") + "?ledger=d")
    else:
        _race(str(tmp_path / "l.ledger"))


def _race(location: str) -> None:
    open_ledger(location, dataset="d", budget=Budget(TOTAL)).close()
    context = multiprocessing.get_context("spawn")
    gate, done = context.Barrier(3), context.Queue()
    processes = [context.Process(target=_spend_all, args=(location, who, gate, done)) for who in ("ann", "ann", "ben")]
    for process in processes:
        process.start()
    made = [done.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(60)
    with open_ledger(location) as ledger:
        spends = [entry for entry in ledger.entries() if isinstance(entry, Spend)]
    assert len(spends) == sum(made) == 16  # the whole total, and not one more
    assert sum(spend.asker == "ann" for spend in spends) <= 8
