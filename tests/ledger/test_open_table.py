"""An open table end to end: asked, paid, remembered, refused."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.asking.result import Release
from optimaldp.asking.session import OpenTable
from optimaldp.errors import BudgetError, InputError, LedgerError, QuestionError
from optimaldp.ledger import Budget, verify_ledger
from optimaldp.tables import open_source

SMOKERS = "majority(smokes = 'yes')"


def write(path: Path, *, yes: int = 5, no: int = 95) -> Path:
    rows = ["smokes,region,level", *["yes,north,0.5"] * yes, *["no,south,1"] * no]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    return write(tmp_path / "survey.csv")


@pytest.fixture
def table(survey: Path, file: Path) -> OpenTable:
    return odp.open(survey, budget=Budget(2, 1e-6), ledger=file)


def test_an_answer_is_paid_and_remembered(table: OpenTable) -> None:
    answer = table.ask(SMOKERS, epsilon=0.5)
    assert isinstance(answer, Release)
    (line,) = table.history()
    assert (line.question, line.answer, line.certificate) == (SMOKERS, answer.answer, answer.certificate)
    assert str(table.remaining.epsilon) == "1.5"


@pytest.mark.filterwarnings("ignore::optimaldp.errors.PaidRepeatWarning")
def test_the_same_question_on_the_same_data_is_free(table: OpenTable, survey: Path) -> None:
    first = [
        table.ask(SMOKERS, epsilon="0.001") for _ in range(30)
    ]  # so noisy that 30 fresh answers would not all agree
    assert len(table.history()) == 1
    assert all(again.answer == first[0].answer and again.recorded for again in first[1:])
    write(survey, yes=6, no=94)
    os.utime(survey, (1, 1))
    table.ask(SMOKERS, epsilon="0.001")
    assert len(table.history()) == 2


def test_data_without_a_version_is_asked_anew(file: Path) -> None:
    unknown = replace(open_source(pyarrow.table({"smokes": ["yes", "no", "no"]})), version=lambda: None)
    memory = odp.open(unknown, budget=Budget(1), ledger=file)
    memory.ask(SMOKERS, epsilon=0.5)
    with pytest.warns(odp.errors.PaidRepeatWarning):
        memory.ask(SMOKERS, epsilon=0.5)
    assert str(memory.remaining.epsilon) == "0"


def test_a_refusal_reads_and_samples_nothing(table: OpenTable, monkeypatch: pytest.MonkeyPatch) -> None:
    table.ask(SMOKERS, epsilon=1.8)

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("data was counted for a question that cannot be paid")

    monkeypatch.setattr("optimaldp.tables.counting.without_engine_message", never)
    with pytest.raises(BudgetError, match=r"needs epsilon 0\.5 but 0\.2 remains \(1\.8 of 2 spent in 1 entry\)"):
        table.ask(SMOKERS, epsilon=0.5)
    with pytest.raises(odp.errors.ReleaseError):  # this is where data is counted: one that can be paid comes here
        table.ask(SMOKERS, epsilon=0.1)
    assert len(table.history()) == 1


def test_the_spend_is_durable_before_the_draw(table: OpenTable, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the sampler: the spend is there, the answer is not, and the error says nothing about the data."""
    seen: list[int] = []

    def broken(*_: Any) -> Any:
        seen.append(len(odp.ledger.open_ledger(file).history()))  # by another reader, before any bit was drawn
        raise RuntimeError("5 of 100")

    bits = SimpleNamespace(take=broken)
    monkeypatch.setattr(sys.modules["optimaldp.asking.releasing"], "SystemBits", lambda: bits)
    with pytest.raises(odp.errors.OptimalDPError) as caught:
        table.ask(SMOKERS, epsilon=0.5)
    assert seen == [1]
    assert "5 of 100" not in str(caught.value)
    assert [line.recorded for line in table.history()] == [None]
    assert str(table.remaining.epsilon) == "1.5"


def test_a_broken_generator_is_refused_before_anything_is_read_or_spent(
    table: OpenTable, survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("data was counted")

    monkeypatch.setattr("optimaldp.tables.counting.without_engine_message", never)
    monkeypatch.setattr("optimaldp.sampling.bits.os.urandom", bytes)  # nothing but zeros
    with pytest.raises(odp.errors.RandomnessError):
        table.ask(SMOKERS, epsilon=0.5)
    with pytest.raises(odp.errors.RandomnessError):
        odp.release(survey, SMOKERS, epsilon=0.5)
    assert not table.history()


def test_a_bad_question_spends_nothing(table: OpenTable) -> None:
    for question in ("majority(height > 3)", "majority(", "sum(smokes)"):
        with pytest.raises(odp.errors.OptimalDPError):
            table.ask(question, epsilon=0.5)
    assert not table.history()


def test_a_preview_is_free(table: OpenTable) -> None:
    assert table.preview(SMOKERS, epsilon=0.5).neighbours == table.ledger.opening.neighbours
    assert not table.history()


def test_the_ledger_remembers_neighbours_for_every_question(survey: Path, file: Path) -> None:
    table = odp.open(survey, budget=Budget(1), ledger=file, neighbours="add-remove")
    assert table.ask(SMOKERS, epsilon=0.1).neighbours == "add-remove"
    with pytest.raises(LedgerError, match="do not add up"):
        odp.release(survey, SMOKERS, epsilon=0.1, ledger=file, neighbours="substitution")
    assert odp.release(survey, SMOKERS, epsilon=0.2, ledger=file).neighbours == "add-remove"
    with pytest.raises(LedgerError, match="never changes"):
        odp.open(survey, ledger=file, neighbours="substitution")


def test_parts_are_charged_alone(survey: Path, file: Path) -> None:
    table = odp.open(survey, budget=Budget(1), ledger=file, parts={"region": ["north", "south"]})
    table.ask(SMOKERS, epsilon=0.6, part="north")
    assert str(table.remaining_of(part="north").epsilon) == "0.4"
    assert str(table.remaining_of(part="south").epsilon) == "1"
    table.ask(SMOKERS, epsilon=0.6, part="south")
    assert str(table.remaining.epsilon) == "0.4"
    with pytest.raises(BudgetError, match="north"):
        table.ask(SMOKERS, epsilon=0.5, part="north")
    with pytest.raises(LedgerError, match="not one of the declared parts"):
        table.ask(SMOKERS, epsilon=0.1, part="east")


def test_parts_that_cannot_be_charged_alone_are_refused(survey: Path, file: Path, tmp_path: Path) -> None:
    parts = {"region": ["north", "south"]}
    moving = odp.open(survey, budget=Budget(1), ledger=file, parts=parts, neighbours="add-remove")
    with pytest.raises(QuestionError, match="add-remove"):
        moving.ask(SMOKERS, epsilon=0.1, part="north")
    with pytest.raises(InputError, match="several parts"):
        odp.open(survey, budget=Budget(1), ledger=tmp_path / "unit.ledger", parts=parts, unit="level")
    with pytest.raises(QuestionError, match="without a ledger"):
        odp.release(survey, SMOKERS, epsilon=0.1, part="region = 'north'")


@pytest.mark.parametrize("parts", [{}, {"region": []}, {"region": "north"}, {"region": ["a"], "smokes": ["yes"]}])
def test_parts_are_the_values_of_one_column(survey: Path, file: Path, parts: Any) -> None:
    with pytest.raises(InputError, match="parts"):
        odp.open(survey, budget=Budget(1), ledger=file, parts=parts)
    assert not file.exists()


def test_persons_with_their_own_level_lose_less(survey: Path, file: Path) -> None:
    table = odp.open(survey, budget=Budget(3), ledger=file)
    table.ask(SMOKERS, epsilon=0.25)
    table.ask(SMOKERS, epsilon=1, levels="level")
    spent = {str(group): str(remaining.spent.epsilon) for group, remaining in table.ledger.groups().items()}
    assert spent == {"level = 0.5": "0.75", "level = 1": "1.25"}
    assert str(table.ledger.spent().epsilon) == "1.25"


def test_a_group_loses_the_delta_of_a_question_too(survey: Path, file: Path) -> None:
    table = odp.open(survey, budget=Budget(3, 1e-3), ledger=file)
    table.ask(SMOKERS, epsilon=1, delta=1e-4, levels="level")
    assert str(table.remaining_of(group=("level", 0.5)).spent) == "(0.5, 0.0001)"


def test_a_histogram_is_charged_no_delta(table: OpenTable) -> None:
    histogram = "histogram(region, ['north', 'south'])"
    first = table.ask(histogram, epsilon=0.5, delta=1e-7)
    assert str(table.ledger.spent()) == "(0.5, 0)"
    assert table.ask(histogram, epsilon=0.5, delta=1e-7).answer == first.answer
    assert len(table.history()) == 1


def test_who_a_person_is_need_not_be_said_again(tmp_path: Path, file: Path) -> None:
    visits = tmp_path / "visits.csv"
    visits.write_text("person,region,smokes\n" + "".join(f"p{n % 50},north,yes\n" for n in range(200)))
    with odp.open(visits, budget=Budget(30), ledger=file, unit="person") as table:
        first = table.ask(SMOKERS, epsilon=10, reduce="any")
    again = odp.release(visits, SMOKERS, epsilon=10, reduce="any", ledger=file)
    assert again.recorded
    assert again.to_document()["unit"] == first.to_document()["unit"] == "person"
    with pytest.raises(LedgerError, match="do not add up"):
        odp.release(visits, SMOKERS, epsilon=1, reduce="any", ledger=file, unit="region")


def test_a_ledger_of_rows_asks_nobody_to_count_rows_as_people(tmp_path: Path, file: Path) -> None:
    visits = tmp_path / "visits.csv"
    visits.write_text("person,smokes\n" + "".join(f"p{n % 50},yes\n" for n in range(200)))
    table = odp.open(visits, budget=Budget(30), ledger=file)
    with table, pytest.raises(LedgerError, match=r"for rows as people; make another one: .*--unit person") as refused:
        table.ask(SMOKERS, epsilon=1, unit="person", reduce="any")
    assert "unit=None" not in str(refused.value)


def test_a_part_of_units_is_asked_alone_where_it_is_declared(tmp_path: Path, file: Path) -> None:
    visits = tmp_path / "visits.csv"
    visits.write_text(
        "person,region,smokes\n" + "".join(f"p{n % 50},{'north' if n % 2 else 'south'},yes\n" for n in range(200))
    )
    parts = {"region": ["north", "south"]}
    with odp.open(visits, budget=Budget(1), ledger=file, unit="person", parts=parts, unit_has_one_part=True) as table:
        table.ask("count(smokes = 'yes') >= 1", epsilon=1, part="north", reduce="any")
        assert str(table.remaining_of(part="south").epsilon) == "1"
        with pytest.raises(BudgetError):
            table.ask("count(smokes = 'yes') >= 1", epsilon=1, reduce="any")


def test_people_whose_own_budget_is_used_up_do_not_stop_the_others(survey: Path, file: Path) -> None:
    """Nor do levels that nobody in this table has."""
    groups = {"level": {0.5: Budget(1), 0.3: Budget(0)}}
    table = odp.open(survey, budget=Budget(9), ledger=file, groups=groups)
    for number in range(4):
        table.ask(f"count(smokes = 'yes') >= {number + 1}", epsilon=1, levels="level")
    assert str(table.remaining.spent.epsilon) == "4"
    assert [str(table.remaining_of(group=("level", own)).spent.epsilon) for own in (0.5, 0.3)] == ["1", "0"]
    with pytest.raises(BudgetError, match="levels='level'"):
        table.ask("count(smokes = 'yes') >= 9", epsilon=1)


def test_questions_that_are_asked_together_leave_out_whoever_cannot_pay_for_all(survey: Path, file: Path) -> None:
    table = odp.open(survey, budget=Budget(9), ledger=file, groups={"level": {0.5: Budget(0.75)}})
    questions = ["count(smokes = 'yes') >= 3", "count(smokes = 'yes') >= 4"]
    assert len(table.ask(questions, epsilon=1, levels="level")) == 2
    assert str(table.remaining_of(group=("level", 0.5)).spent.epsilon) == "0"
    table.ask("count(smokes = 'yes') >= 5", epsilon=1, levels="level")
    assert str(table.remaining_of(group=("level", 0.5)).spent.epsilon) == "0.5"


def test_a_ledger_is_needed_and_made_only_with_a_budget(survey: Path, file: Path) -> None:
    with pytest.raises(InputError, match="ledger"):
        odp.open(survey, budget=Budget(1))
    with pytest.raises(LedgerError, match="does not exist"):
        odp.open(survey, ledger=file)
    with pytest.raises(LedgerError, match="does not exist"):
        odp.release(survey, SMOKERS, epsilon=1, ledger=file)
    assert not file.exists()


def test_nothing_about_the_data_is_in_the_ledger(table: OpenTable, survey: Path, file: Path) -> None:
    table.ask(SMOKERS, epsilon=0.5)
    stored = file.read_bytes() + Path(f"{file}-wal").read_bytes() + Path(f"{file}-head").read_bytes()
    assert SMOKERS.encode() in stored
    for secret in (str(survey), str(survey.stat().st_size), str(survey.stat().st_mtime_ns)):
        assert secret.encode() not in stored


def test_what_is_written_beside_an_answer_is_the_same_for_every_table_of_that_size(tmp_path: Path) -> None:
    written = []
    for yes in (0, 5, 50, 93):
        survey = write(tmp_path / f"{yes}.csv", yes=yes, no=100 - yes)
        with odp.open(survey, budget=Budget(2), ledger=tmp_path / f"{yes}.ledger", dataset="survey") as table:
            table.ask(SMOKERS, epsilon=0.5)
            (record,) = table.history()
            written.append({k: v for k, v in record.to_document().items() if k not in ("time", "answer")})
    assert all(other == written[0] for other in written)


def test_the_notebook_shows_what_remains_and_what_was_asked(table: OpenTable) -> None:
    table.ask(SMOKERS, epsilon=0.5)
    shown = table._repr_html_()
    assert "1.5" in shown
    assert "majority" in shown
    assert "\n" not in repr(table)


def test_it_works_on_a_server_too(survey: Path, location: str) -> None:
    with odp.open(survey, budget=Budget(1), ledger=location, dataset="survey") as table:
        table.ask(SMOKERS, epsilon=0.75)
        with pytest.raises(BudgetError):
            table.ask(SMOKERS, epsilon=0.5)
    assert verify_ledger(location).intact


def test_questions_are_awaited_together_and_the_loop_goes_on(table: OpenTable) -> None:
    async def asked() -> tuple[list[Release], int]:
        questions = [f"share(smokes = 'yes') >= 0.{digit}" for digit in range(1, 5)]
        waiting = asyncio.gather(*(table.ask_async(one, epsilon="0.4", answer_after=0.3) for one in questions))
        ticks = 0
        while not waiting.done():
            await asyncio.sleep(0.02)
            ticks += 1
        return await waiting, ticks

    made, ticks = asyncio.run(asked())
    assert [one.question[-3:] for one in made] == ["0.1", "0.2", "0.3", "0.4"]
    assert ticks >= 5, "the loop stood still while the questions were answered"
    assert table.remaining.epsilon == odp.open(table.source, ledger=table.ledger.location).remaining.epsilon
    assert str(table.remaining.epsilon) == "0.4"
    with pytest.raises(BudgetError, match=r"0\.4 remains"):
        asyncio.run(table.ask_async(SMOKERS, epsilon=1))


def test_an_answer_says_what_is_left(table: OpenTable) -> None:
    left = "Budget: ε = 1.5 of 2 and δ = 1e-06 left after 1 question."
    for _ in range(2):
        assert table.ask(SMOKERS, epsilon=0.5).sentences()[3] == left
    assert left not in str(table.ask(SMOKERS, epsilon=0.5).to_document())


def test_the_log_says_what_happens_without_data(table: OpenTable, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "optimaldp"):
        table.ask(["count(smokes = 'yes')", SMOKERS], epsilon=0.5)
        table.ask(SMOKERS, epsilon=0.5)
    assert caplog.messages == [
        "2 asked, 0 of them answered from the record",
        "2 charged to 'survey'",
        "2 answered at (0.5, 0)-DP, (0.5, 0)-DP",
        "1 asked, 1 of them answered from the record",
    ]
