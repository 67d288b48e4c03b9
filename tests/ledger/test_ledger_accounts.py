"""Who has lost how much: parts, level groups, and ledgers that compose by a plan."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from ledger.conftest import make, spend

from optimaldp.errors import BudgetError, InputError, LedgerError
from optimaldp.ledger import Budget, Optimal, Planned, Remaining, open_ledger, verify_ledger
from optimaldp.ledger.composition import most_spends
from optimaldp.privacy import Epsilon, level
from optimaldp.privacy.levels import Bound


def test_disjoint_parts_cost_the_most_charged_one(file: Path) -> None:
    ledger = make(file, 1, parts={"region": ["north", "south"]})
    spend(ledger, 0.2)
    spend(ledger, 0.5, part="north")
    spend(ledger, 0.3, part="south")
    assert [str(ledger.spent(part=part).epsilon) for part in (None, "north", "south")] == ["0.7", "0.7", "0.5"]
    with pytest.raises(
        BudgetError,
        match=r"needs epsilon 0\.4 but 0\.3 remains for part region = 'north' \(0\.7 of 1 spent in 2 entries\)",
    ):
        spend(ledger, 0.4, part="north")
    spend(ledger, 0.4, part="south")
    with pytest.raises(BudgetError):
        spend(ledger, 0.4)  # everybody: also those of north
    assert str(open_ledger(file).spent().epsilon) == "0.9"


def test_a_part_must_be_declared(file: Path) -> None:
    ledger = make(file, 1, parts={"region": ["north"]})
    with pytest.raises(LedgerError, match="part 'east' is not one of the declared parts"):
        spend(ledger, 0.1, part="east")
    with pytest.raises(InputError, match="parts"):
        make(file.with_name("other"), 1, parts={"region": ["north", "north"]})


def test_each_level_group_has_its_own_budget(file: Path) -> None:
    ledger = make(file, 5, groups={"trust": {0.4: Budget(1), 2: Budget(5)}})
    for _ in range(2):
        spend(ledger, 2, levels="trust", personal={0.4: level(0.4)})
    assert [str(ledger.spent(group=group).epsilon) for group in (None, 0.4, 2)] == ["4", "0.8", "4"]
    with pytest.raises(BudgetError, match=r"0\.2 remains for the people with trust = 0\.4.*levels='trust'"):
        spend(ledger, 0.5)  # a release without personal levels costs everybody the same
    spend(ledger, 1, levels="trust", personal={0.4: level(0.2)})
    assert str(open_ledger(file).remaining(group=("trust", 0.4)).epsilon) == "0"


def test_a_group_cannot_be_charged_more_than_it_was_promised(file: Path) -> None:
    ledger = make(file, 5)
    for own, promised in ((0.4, level(0.5)), (3, level(2.5)), (0.4, level(0.4, 1e-9))):
        with pytest.raises(LedgerError, match="more than"):
            spend(ledger, 2, levels="trust", personal={own: promised})
    assert not ledger.history()


def test_equal_spends_go_further_under_optimal_composition(file: Path) -> None:
    budget = Budget(1, 1e-6)
    ledger = open_ledger(file, dataset="survey", budget=budget, composition=Optimal(0.05))
    allowed = most_spends(Bound(Epsilon.read(0.05), Fraction(0)), budget.epsilon, budget.delta)
    assert allowed > 20
    for number in range(allowed):
        spend(ledger, 0.05 if number % 2 else 0.04)  # a stricter spend counts as a full one
    with pytest.raises(BudgetError, match="none fits under optimal composition"):
        spend(ledger, 0.04)
    assert ledger.remaining().spent.epsilon <= budget.epsilon
    with pytest.raises(LedgerError, match=r"at most epsilon 0\.05"):
        spend(ledger, 0.06)
    assert verify_ledger(file).intact


def test_a_plan_allows_what_it_names_in_any_order(file: Path) -> None:
    ledger = open_ledger(file, dataset="survey", budget=Budget("1.75", 1e-6), composition=Planned({0.05: 25, 0.5: 1}))
    spend(ledger, 0.05)
    spend(ledger, 0.5)
    with pytest.raises(BudgetError, match="none fits under planned composition"):
        spend(ledger, 0.5)
    with pytest.raises(LedgerError, match=r"the plan of this ledger has no spend of epsilon 0\.3"):
        spend(ledger, 0.3)
    for _ in range(24):
        spend(ledger, 0.05)
    with pytest.raises(BudgetError):
        spend(ledger, 0.05)
    assert ledger.spent().epsilon <= Epsilon.read("1.75")


def test_personal_levels_go_with_a_plan(file: Path) -> None:
    """A group that no budget was declared for is never in the way: it loses less than everybody."""
    ledger = open_ledger(file, dataset="survey", budget=Budget(1, 1e-6), composition=Planned({0.5: 2}))
    for _ in range(2):
        spend(ledger, 0.5, levels="trust", personal={0.1: level(0.1)})
    assert ledger.spent(group=0.1).epsilon == Epsilon.read("0.2") < ledger.spent().epsilon
    assert verify_ledger(file).intact


def test_groups_need_basic_composition(file: Path) -> None:
    with pytest.raises(InputError, match="groups"):
        open_ledger(file, dataset="s", budget=Budget(1), groups={"trust": {0.1: Budget(1)}}, composition=Optimal(0.1))


def test_a_ledger_without_a_limit_keeps_the_record(file: Path) -> None:
    ledger = make(file, "inf", 1)
    spend(ledger, 100)
    assert ledger.remaining().budget.unlimited
    assert repr(ledger.remaining()) == "Remaining(no limit, epsilon 100 spent in 1 entry)"


def test_what_remains_is_exact_or_rounded_down(file: Path) -> None:
    ledger = make(file, 1)
    spend(ledger, "ln(2)")
    left = ledger.remaining().epsilon
    assert left + Epsilon.read("ln(2)") <= Epsilon.read(1)
    assert abs(float(left) - 0.30685) < 1e-4
    spend(ledger, left)


def test_thousands_of_logarithms_can_still_be_shown(file: Path) -> None:
    """(3/2)^20000 has more digits than Python prints; the ledger says its logarithm instead."""
    total = Bound(Epsilon.read("ln(3/2)") * 20_000, Fraction(0))
    left = Remaining(Budget(10_000), total, 20_000, "basic")
    assert "about 8109.3" in repr(left)
    assert float(left.to_document()["spent"]["epsilon"]) >= float(total.epsilon)
    assert left.epsilon + total.epsilon <= Epsilon.read(10_000)
