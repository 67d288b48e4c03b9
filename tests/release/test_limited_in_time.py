"""A person limited in time: what is counted, what is promised, and that both are the same everywhere."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from command_line import run_cli
from hypothesis import given
from hypothesis import strategies as st

import optimaldp as odp
from optimaldp.asking import releasing
from optimaldp.asking.ask import Ask
from optimaldp.errors import InputError, LedgerError, OptimalDPError, QuestionError
from optimaldp.privacy import ApproximateDP, level
from optimaldp.privacy.units import canonical_unit, level_of_several, limited_unit, unit_columns, unit_text
from optimaldp.tables import open_source
from optimaldp.tables.sql import Value

UNIT = '["patient_id", "month(admitted)"]'
ROWS = [
    ("1", "a", "01.01.2024"),
    ("1", "b", "31.01.2024"),
    ("1", "a", "01.01.2025"),
    ("2", "a", "soon"),
    ("2", "b", ""),
    ("2", "b", "29.02.2024"),
    ("", "b", "29.02.2024"),
    ("3", "a", "29.02.2024"),
]
MONTHS = {("1", "01.2024"), ("1", "01.2025"), ("2", ""), ("2", "02.2024"), ("3", "02.2024")}


def _described(folder: Path, rows: list[tuple[str, str, str]] = ROWS, **own: Any) -> Path:
    """A file with its description."""
    (folder / "p.csv").write_text("patient_id,ward,admitted\n" + "".join(",".join(row) + "\n" for row in rows))
    fields = [
        {"name": "patient_id", "type": "string"},
        {"name": "ward", "type": "string", "constraints": {"enum": ["a", "b"]}},
        {"name": "admitted", "type": "date", "format": "%d.%m.%Y"},
    ]
    said = {"person": ["patient_id", "month(admitted)"], "neighbours": "add-remove", "reviewed": True, **own}
    document = {"resources": [{"path": "p.csv", "schema": {"fields": fields}}], "optimaldp": said}
    path = folder / "p.datapackage.json"
    path.write_text(json.dumps(document))
    return path


def _counted(path: Path, question: str = "histogram(ward)") -> dict[int, int]:
    opened = open_source(path)
    return releasing.order_of(Ask(question, 1), opened).count(opened).cells


def _month(row: tuple[str, str, str]) -> tuple[str, str]:
    return row[0], row[2][3:] if row[2][:2].isdecimal() else ""


def test_each_month_of_a_person_counts_once(tmp_path: Path) -> None:
    assert {_month(row) for row in ROWS if row[0]} == MONTHS
    assert sum(_counted(_described(tmp_path)).values()) == len(MONTHS)


def test_a_month_more_or_less_moves_one_count_by_one(tmp_path: Path) -> None:
    whole = Counter(_counted(_described(tmp_path)))
    for month in sorted(MONTHS):
        less = Counter(_counted(_described(tmp_path, [row for row in ROWS if _month(row) != month])))
        assert sum((whole - less).values()) == 1
        assert not less - whole
    for day, ward in itertools.product(("02.03.2024", "never"), "ab"):
        more = Counter(_counted(_described(tmp_path, [*ROWS, ("3", ward, day), ("3", "a", day)])))
        assert (sum((more - whole).values()), whole - more) == (1, Counter())


def test_twin_whose_months_have_no_year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _described(tmp_path)
    true = Value.date_part
    monkeypatch.setattr(Value, "date_part", lambda days, part: true(days, "month"))
    assert sum(_counted(path).values()) == len(MONTHS) - 1


def test_the_promise_speaks_of_one_month(tmp_path: Path) -> None:
    made = odp.release(_described(tmp_path), "count(*)", epsilon="0.5")
    said = made.statement
    assert said["protected"] == (
        "one person's month (patient_id, month(admitted)): each month of a person is protected at (0.5, 0)-DP, "
        "someone with 12 months at (6, 0)-DP"
    )
    assert said["neighbours"] == "one person's month appears or disappears (how many there are is private)"
    assert "one month of yours" in said["epsilon_means"]
    document = made.to_document()
    assert document["unit"] == UNIT
    assert odp.verify(document)
    alone = {**document, "unit": "patient_id"}
    assert "not read as its description says: unit" in odp.verify(alone).failure
    assert "protected" in odp.verify({name: value for name, value in alone.items() if name != "described"}).failure
    swapped = {**document, "neighbours": "substitution"}
    assert "needs add-remove" in odp.verify(swapped).failure


def test_a_ledger_keeps_the_unit_as_it_is_written(tmp_path: Path) -> None:
    path, book = _described(tmp_path), tmp_path / "p.ledger"
    with odp.open(path, ledger=book, budget=odp.Budget(epsilon=5)) as table:
        first = table.ask("count(*)", epsilon=1)
        assert table.ledger.opening.unit == UNIT
        assert table.history().neighbours_words == first.statement["neighbours"]
    assert odp.release(path, "count(*)", epsilon=1, ledger=book).recorded


def test_a_ledger_of_months_is_not_one_of_people(tmp_path: Path) -> None:
    alone, book = _described(tmp_path).with_name("p.csv"), tmp_path / "p.ledger"
    own = {"neighbours": "add-remove", "types": {"admitted": "date %d.%m.%Y"}}
    unit = UNIT.replace(" ", "")
    with odp.open(alone, ledger=book, budget=odp.Budget(epsilon=5), unit=unit, **own) as table:
        assert table.ask("count(*)", epsilon=1).to_document()["unit"] == UNIT
        assert table.ask("count(*)", epsilon=1, unit=unit).recorded
        with pytest.raises(LedgerError, match="protects one person's month"):
            table.ask("count(*)", epsilon=1, unit="patient_id")


def test_the_command_line_says_it(tmp_path: Path) -> None:
    path = str(_described(tmp_path))
    done = run_cli("release", "--data", path, "--question", "count(*)", "--epsilon", "1", "--json")
    document = json.loads(done.stdout)
    assert document["unit"] == UNIT
    (tmp_path / "made.json").write_text(done.stdout)
    assert json.loads(run_cli("verify", str(tmp_path / "made.json")).stdout)["holds"]


REFUSED: dict[str, dict[str, Any]] = {
    "needs add-remove": {"neighbours": "substitution"},
    "is not the person of the description": {"unit": "patient_id"},
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_the_description_rules_out_is_refused(words: str, tmp_path: Path) -> None:
    path = _described(tmp_path)
    with pytest.raises(QuestionError, match=words):
        odp.release(path, "count(*)", epsilon=1, **REFUSED[words])
    with pytest.raises(QuestionError, match=words):
        odp.open(path, ledger=tmp_path / "p.ledger", budget=odp.Budget(epsilon=1), **REFUSED[words])
    assert not (tmp_path / "p.ledger").exists()


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"neighbours": None}, "add-remove"),
        ({"neighbours": "substitution"}, "add-remove"),
        ({"person": ["patient_id", "month(left)"]}, "left"),
        ({"person": ["month(admitted)", "patient_id"]}, "month"),
        ({"person": ["patient_id", "month(ward)"]}, "needs a column of dates"),
    ],
)
def test_descriptions_that_limit_nobody_in_time_are_refused(own: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises((InputError, QuestionError), match=words):
        odp.release(_described(tmp_path, **own), "count(*)", epsilon=1)


def test_a_ledger_of_months_needs_add_remove(tmp_path: Path) -> None:
    for neighbours in (None, "substitution"):
        with pytest.raises(OptimalDPError, match="needs add-remove"):
            odp.open(
                _described(tmp_path).with_name("p.csv"),
                ledger=tmp_path / "q.ledger",
                budget=odp.Budget(epsilon=1),
                unit=UNIT,
                neighbours=neighbours,
            )
    assert not (tmp_path / "q.ledger").exists()


@given(st.lists(st.text(min_size=1), min_size=2, max_size=4))
def test_a_unit_survives_its_text(columns: list[str]) -> None:
    assert unit_columns(unit_text(columns)) == tuple(columns)
    assert canonical_unit(json.dumps(columns)) == unit_text(columns)


@given(st.text(min_size=1).filter(lambda text: not text.startswith("[")))
def test_a_column_is_a_unit_by_itself(name: str) -> None:
    assert (unit_columns(name), limited_unit(name), canonical_unit(name)) == ((name,), None, name)
    assert unit_columns(f"[{name}") == (f"[{name}",)


@given(st.integers(1, 40), st.fractions(0, Fraction(1, 100), max_denominator=10**6), st.integers(2, 6))
def test_several_months_lose_what_their_steps_add_up_to(records: int, delta: Fraction, ratio: int) -> None:
    whole = level_of_several(_level(f"ln({ratio})", delta), records)
    exact = delta * sum(ratio**step for step in range(records))
    if whole is None:
        assert exact > Fraction(98, 100)
        return
    assert whole.epsilon == level(f"ln({ratio**records})").epsilon
    assert exact <= whole.delta <= exact * Fraction(11, 10)


def _level(epsilon: str, delta: Fraction) -> ApproximateDP:
    made = level(epsilon, delta)
    assert isinstance(made, ApproximateDP)
    return made
