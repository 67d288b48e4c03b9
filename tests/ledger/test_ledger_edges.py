"""Numbers, words and times at the edge where one step further is wrong."""

from __future__ import annotations

import math
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledger.conftest import make, spend

from optimaldp.errors import InputError, LedgerError
from optimaldp.ledger import Budget, open_ledger, verify_ledger
from optimaldp.ledger.account import find_group, refusal
from optimaldp.ledger.budget import exact_text, text_at_least
from optimaldp.ledger.composition import (
    Basic,
    Optimal,
    Planned,
    Rule,
    Spending,
    compose_losses,
    compose_optimal,
    most_spends,
)
from optimaldp.ledger.entry import Spend, hash_of
from optimaldp.ledger.people import Group
from optimaldp.ledger.sqlite_store import FileIdentity, SQLiteStore, _only_a_draft
from optimaldp.ledger.store import StoredEntry
from optimaldp.privacy import Epsilon
from optimaldp.privacy.levels import Bound

FIXTURES = Path(__file__).parent / "fixtures"


def bound(epsilon: Any, delta: Any = 0) -> Bound:
    return Bound(Epsilon.read(epsilon), Fraction(str(delta)))


@pytest.mark.parametrize(
    ("level", "budget", "delta", "most"),
    [
        ("ln(2)", "ln(16)", 0, 4),
        ("ln(2)", "ln(8)", 0, 3),
        ("ln(2)", "ln(31)", 0, 4),
        ("0.5", "4", 0, 8),
        ("1", "0.5", 0, 0),
    ],
)
def test_as_many_spends_fit_as_the_sum_says_where_delta_is_nothing(
    level: str, budget: str, delta: int, most: int
) -> None:
    assert most_spends(bound(level), Epsilon.read(budget), Fraction(delta)) == most


@pytest.mark.parametrize("limit", [1, 7, 8, 9, 100])
def test_where_there_is_no_end_the_limit_is_the_answer(limit: int) -> None:
    assert most_spends(bound(0), Epsilon.read(1), Fraction(0), limit=limit) == limit
    assert most_spends(bound("0.1"), Epsilon.read(1), Fraction(0), limit=limit) == min(limit, 10)


def test_fewer_than_no_mechanisms_are_refused() -> None:
    with pytest.raises(InputError, match="-1 is negative"):
        compose_optimal(bound(1), -1, Fraction(0))


def test_levels_that_were_never_spent_cost_nothing() -> None:
    half, total = bound("0.5"), Fraction(1, 10**6)
    assert compose_losses({bound(1): 0}, total).is_zero
    assert compose_losses({bound(1): 0, half: 3}, total) == compose_losses({half: 3}, total)


def test_a_delta_below_the_rounding_of_the_transform_buys_nothing() -> None:
    """1000 spends of 0.1 on 2002 cells: sqrt(N) log N rounding units for each make 4e-10."""
    spends = {bound("0.1"): 1000}
    assert compose_losses(spends, Fraction(1, 10**10)) == Epsilon.read(100)
    assert compose_losses(spends, Fraction(1, 10**9)) < Epsilon.read(30)


def test_a_history_shows_its_times_to_the_minute(file: Path) -> None:
    ledger = make(file)
    spend(ledger, "0.1")
    (record,) = ledger.history()
    time = record.cells()[1]
    assert time == f"{record.time[:10]} {record.time[11:16]}"
    assert len(time) == len("2026-01-31 23:59")


def test_a_file_that_is_gone_is_no_draft(tmp_path: Path) -> None:
    assert _only_a_draft(tmp_path / "gone.ledger", FileIdentity(1, 2)) is False


def test_why_a_file_cannot_be_created_is_said(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"cannot be created \(No such file or directory\)\. Check the folder"):
        make(tmp_path / "none" / "survey.ledger")


def test_levels_of_epsilon_nothing_add_their_delta_and_no_loss() -> None:
    """Two of (0, 1/1000) beside one of 0.5: 1 - (1 - 1/1000)^2 (1 - d) is the total, and d = p - e^x q leaves x."""
    total, each = Fraction(1, 100), Fraction(1, 1000)
    rest = 1 - (1 - total) / (1 - each) ** 2
    truth, lie = math.exp(0.5) / (1 + math.exp(0.5)), 1 / (1 + math.exp(0.5))
    exact = math.log((truth - float(rest)) / lie)
    composed = float(compose_losses({bound(0, each): 2, bound("0.5"): 1}, total))
    assert exact <= composed <= exact + 1e-6


def test_of_a_delta_that_is_overdrawn_nothing_remains() -> None:
    spent = Spending()
    spent.add(bound("0.1", "1/1000"))
    error = refusal(Basic(), spent, bound("0.1", "1/10"), Budget(1, "1/2000"), part=None, group=None, together=0)
    assert "delta 0.1 but 0 remains (0.001 of 0.0005 spent in 1 entry)" in str(error)


def test_a_spend_is_judged_by_the_rules_of_the_version_that_made_it(tmp_path: Path) -> None:
    """0.1.0 counted 0.375 where parts overlap; people may have lost 0.6875 of 1, so 0.5 more is too much from now on."""
    location = tmp_path / "conditions.ledger"
    for suffix in ("", "-head"):
        shutil.copy(FIXTURES / f"conditions.ledger{suffix}", f"{location}{suffix}")
    with open_ledger(location) as ledger:
        last, head = len(ledger.entries()), ledger.head
    for number, epsilon in ((1, "0.25"), (2, "0.25")):
        entry = Spend(last + number, head, "2026-01-01", "q", bound(epsilon), None, (), None)
        head = hash_of(entry.text())
        row = StoredEntry(entry.sequence, entry.text(), head)
        SQLiteStore(location).append(last + number - 1, lambda _, row=row: [row])
        verdict = verify_ledger(location)
        assert verdict.intact == (number == 1)
    assert verdict.problem == f"entry {last + 2} spends more than the budget allowed"


def test_a_text_that_is_too_long_to_be_exact_is_rounded_up_by_a_hair() -> None:
    long = Epsilon.read("ln(3/2)") * 3000
    assert exact_text(long) is None
    assert 0 < float(text_at_least(long)) - float(long) < 1e-8
    assert text_at_least(Epsilon.read("ln(3/2)")) == "ln(3/2)"


@pytest.mark.parametrize("rule", [Optimal("0.1"), Planned({"0.1": 3})])
def test_delta_is_spent_with_the_first_question_and_not_before(rule: Rule) -> None:
    budget, spending = Budget(1, "1/1000"), Spending()
    assert rule.spent(spending, budget) == bound(0)
    spending.add(bound("0.1"))
    spent = rule.spent(spending, budget)
    assert spent.delta == Fraction(1, 1000)
    assert spent.epsilon <= Epsilon.read("0.1")


def test_verifying_opens_the_file_to_read_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(file).close()
    addresses: list[str] = []
    connect = sqlite3.connect

    def watched(address: object, **options: Any) -> sqlite3.Connection:
        addresses.append(str(address))
        return connect(str(address), **options)

    monkeypatch.setattr(sqlite3, "connect", watched)
    assert verify_ledger(file).intact
    assert addresses
    assert all("mode=ro" in address for address in addresses)


def test_a_history_says_which_answers_have_a_proof(file: Path) -> None:
    ledger = make(file)
    spend(ledger, "0.1").record("yes", {"proof": 1})
    spend(ledger, "0.1").record("no")
    spend(ledger, "0.1")
    assert [record.cells()[-2:] for record in ledger.history()] == [
        ("yes", "yes"),
        ("no", ""),
        ("(spent, not recorded)", ""),
    ]


def test_a_group_that_is_not_found_is_told_which_there_are() -> None:
    groups = [Group("trust", "0.1"), Group("age", "0.1"), Group("age", "0.5")]
    with pytest.raises(LedgerError, match=r"several columns: \['trust = 0\.1', 'age = 0\.1'\]"):
        find_group(groups, "0.1")
    with pytest.raises(LedgerError, match=r"the groups \['trust = 0\.1', 'age = 0\.1', 'age = 0\.5'\]"):
        find_group(groups, "0.9")
