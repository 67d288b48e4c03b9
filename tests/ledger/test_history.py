"""The history to hand over: a frame, a sheet, a document, a picture."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest
from ledger.conftest import make, spend

from optimaldp.errors import InputError, LedgerError, MissingExtraError
from optimaldp.ledger import Budget, Charge, Group, History
from optimaldp.privacy import level


@pytest.fixture
def history(file: Path) -> History:
    ledger = make(file, 2, 1e-6, parts={"region": ["north", "south"]}, groups={"trust": {0.1: Budget(0.5, 1e-6)}})
    spend(ledger, 0.25, 1e-7, question="majority(smokes)").record("no", {"proof": 1})
    spend(ledger, "ln(3/2)", part="north", question="=1+1", levels="trust", personal={0.1: level(0.1)})
    first, second = ledger.reserve_together(
        [Charge("h", level(0.5, 1e-7), used=level(0.5), levels="trust"), Charge("z", level(0))]
    )
    ledger.record_together([(first, {"a": 3}, None), (second, "-x", None)])
    return ledger.history()


def test_what_was_lost_after_each_question(history: History) -> None:
    assert [str(bound.epsilon) for bound in history.spent_so_far()] == [
        "0.25",
        "0.25+ln(3/2)",
        "0.75+ln(3/2)",
        "0.75+ln(3/2)",
    ]
    assert [str(bound.epsilon) for bound in history.spent_so_far(Group("trust", "0.1"))] == [
        "0.25",
        "0.35",
        "0.45",
        "0.45",
    ]


def test_of_a_group_without_a_budget_nothing_is_known_from_the_start(history: History) -> None:
    with pytest.raises(LedgerError, match=r"no level group 'trust = 0\.2'"):
        history.spent_so_far(Group("trust", "0.2"))


def test_a_frame_has_a_row_for_each_question(history: History) -> None:
    frame = history.to_frame()
    assert list(frame["question"]) == ["majority(smokes)", "=1+1", "h", "z"]
    assert list(frame["epsilon"]) == ["0.25", "ln(3/2)", "0.5", "0"]
    assert list(frame["recorded"]) == [True, False, True, True]
    assert frame["answer"][2] == {"a": 3}
    assert frame["certificate"][0] == {"proof": 1}
    assert frame["spent_so_far"].is_monotonic_increasing
    assert abs(frame["epsilon_value"][1] - 0.405465) < 1e-6
    assert str(frame["time"].dtype).startswith("datetime64")
    assert list(frame["part"].fillna(""))[:2] == ["", "region = 'north'"]
    assert list(frame["together"])[2:] == [5, 5]


def test_an_empty_history_is_a_frame_too(file: Path) -> None:
    history = make(file, 1).history()
    assert len(history.to_frame()) == 0
    assert "question" in history.to_frame()
    assert str(history.to_frame()["time"].dtype).endswith("UTC]")
    assert history.plot().axes


def test_without_pandas_the_error_names_the_extra(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"optimaldp\[interop\]"):
        history.to_frame()


def test_a_sheet_can_be_read_by_anybody(history: History, tmp_path: Path) -> None:
    path = history.save(tmp_path / "history.csv")
    assert b"\r" not in path.read_bytes()
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    assert [row["question"] for row in rows] == ["majority(smokes)", "'=1+1", "h", "z"]  # no formula for a spreadsheet
    assert [row["answer"] for row in rows] == ["no", "", '{"a":3}', "'-x"]
    assert [row["recorded"] for row in rows] == ["true", "false", "true", "true"]
    assert (rows[2]["delta"], json.loads(rows[2]["asked"])) == ("0", {"epsilon": "0.5", "delta": "1e-07"})


def test_a_document_has_everything(history: History, tmp_path: Path) -> None:
    saved = json.loads(history.save(tmp_path / "history.JSON").read_text("utf-8"))
    assert saved == history.to_document()
    first, second, third, _ = saved["history"]
    assert first["certificate"] == {"proof": 1}
    assert (second["levels"], second["personal"]) == ("trust", {"0.1": {"epsilon": "0.1", "delta": "0"}})
    assert third["together"] == 5
    assert repr(history[1]).startswith("Record(#4, '=1+1', (ln(3/2), 0), no answer recorded)")


@pytest.mark.parametrize("name", ["history.txt", "history", "missing/history.csv"])
def test_a_file_that_cannot_be_written_is_one_sentence(history: History, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="path"):
        history.save(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_the_picture_shows_the_budget_used(history: History, tmp_path: Path) -> None:
    picture = history.plot(tmp_path / "used.svg")
    assert (tmp_path / "used.svg").stat().st_size > 1000
    (axes,) = picture.axes
    labels = axes.get_legend_handles_labels()[1]
    assert labels == [
        "everybody",
        "budget of everybody",
        "people with trust = 0.1",
        "budget of people with trust = 0.1",
    ]
    steps = list(axes.lines[0].get_ydata())
    assert steps == pytest.approx([0, 0.25, 0.655465, 1.155465, 1.155465], abs=1e-6)
    assert axes.lines[1].get_ydata()[0] == 2
    assert axes.lines[3].get_ydata()[0] == 0.5


def test_a_ledger_without_a_limit_has_no_line_for_it(file: Path) -> None:
    ledger = make(file, "inf", 1)
    spend(ledger, 1)
    assert len(ledger.history().plot().axes[0].lines) == 1
