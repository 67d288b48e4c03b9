"""What people with levels of their own have lost: right after any order of questions, and never past their own budget."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger.conftest import make, spend

from optimaldp.errors import BudgetError, InputError, LedgerError, LevelError
from optimaldp.ledger import Budget, Group, Optimal, Part, open_ledger
from optimaldp.ledger.account import Account, Cost
from optimaldp.ledger.composition.rules import Basic
from optimaldp.ledger.entry import Opening
from optimaldp.privacy import Epsilon, Neighbours, level
from optimaldp.privacy.levels import Bound

ZERO = level(0)


def bound(epsilon: Any, delta: Any = 0) -> Bound:
    return Bound(Epsilon.read(epsilon), Fraction(str(delta)))


def test_delta_is_charged_to_a_group_too(file: Path) -> None:
    ledger = make(file, 5, "0.01")
    spend(ledger, 1, "0.001", levels="trust", personal={0.5: level(0.5, "0.0005")})
    spend(ledger, 1, "0.001", levels="trust")  # not named: no more than their level, and all of delta
    spend(ledger, 1, "0.001")
    assert ledger.spent(group=0.5) == bound("2", "0.0025")
    assert ledger.spent() == bound("3", "0.003")


def test_a_group_is_refused_for_its_delta(file: Path) -> None:
    ledger = make(file, 5, "0.01", groups={"trust": {0.5: Budget(2, "0.001")}})
    spend(ledger, 1, "0.002", levels="trust", personal={0.5: level(0.5, "0.001")})
    with pytest.raises(BudgetError, match=r"needs delta 0\.001 but 0 remains for the people with trust = 0\.5"):
        spend(ledger, 1, "0.001", levels="trust", personal={0.5: level(0.5, "0.001")})
    spend(ledger, 1, "0.001", levels="trust", personal={0.5: level(0.5)})


def test_two_columns_of_levels_are_two_groups(file: Path) -> None:
    ledger = make(file, 5)
    spend(ledger, 1, levels="trust", personal={0.5: level(0.5)})
    spend(ledger, 1, levels="caution", personal={0.5: level(0.5)})
    spend(ledger, 1, levels="caution", personal={0.5: level(0.25), 0.25: level(0.25)})
    lost = {str(group): str(remaining.spent.epsilon) for group, remaining in ledger.groups().items()}
    assert lost == {"trust = 0.5": "2.5", "caution = 0.5": "1.75", "caution = 0.25": "1.5"}
    for name in (("trust", 0.5), ("trust", "1/2"), Group("trust", "0.5"), "trust = 0.5"):
        assert ledger.spent(group=name) == bound("2.5")
    assert ledger.spent(group=Epsilon.read(0.25)) == bound("1.5")
    with pytest.raises(LedgerError, match="several columns"):
        ledger.spent(group=0.5)
    for unknown in (0.75, ("trust", 0.25), Group("trust", "0.25"), "nobody"):
        with pytest.raises(LedgerError, match="no level group"):
            ledger.spent(group=unknown)


def test_personal_levels_name_their_column(file: Path) -> None:
    ledger = make(file, 5)
    with pytest.raises(InputError, match="column"):
        spend(ledger, 1, personal={0.5: level(0.5)})
    with pytest.raises(LevelError):
        spend(ledger, 1, levels="trust", personal={"careful": level(0.5)})
    assert not ledger.history()


@pytest.mark.parametrize(
    "groups",
    [
        {"0.5": Budget(1)},
        {"trust": {"much": Budget(1)}},
        {"trust": {0.5: 1}},
        {"": {0.5: Budget(1)}},
        {"trust": {0.5: Budget(1), "1/2": Budget(2)}},
    ],
)
def test_budgets_of_groups_say_column_level_and_budget(file: Path, groups: Any) -> None:
    with pytest.raises(InputError):
        make(file, 5, groups=groups)
    assert not file.exists()


def test_people_with_a_budget_of_their_own_are_left_out_and_the_others_are_asked(file: Path) -> None:
    """Nobody with level 0.1 loses more than 0.25 in all: then they weigh nothing, and everybody else goes on."""
    ledger = make(file, 10, groups={"trust": {0.1: Budget(0.25)}})
    own, asked = Epsilon.read(0.1), level(1)
    for _ in range(2):
        assert ledger.askable("trust", [0.1, 1], level=asked) == {own: True, Epsilon.read(1): True}
        spend(ledger, 1, levels="trust", personal={0.1: level(0.1), 1: asked})
    assert ledger.askable("trust", [1], level=asked) == {own: False, Epsilon.read(1): True}
    assert ledger.askable("trust", [0.1], level=level(0.05))[own]
    assert not ledger.askable("trust", [0.1], level=[level(0.05), level("0.0001")])[own]
    assert ledger.askable("caution", [0.1], level=asked) == {own: True}
    assert ledger.askable("caution", [1], level=asked) == {Epsilon.read(1): True}
    with pytest.raises(
        BudgetError, match=r"trust = 0\.1.*Ask with levels='trust': then these people are left out and lose nothing"
    ):
        spend(ledger, 1, levels="trust", personal={0.1: level(0.1)})
    with pytest.raises(BudgetError):
        spend(ledger, 1, levels="trust")
    with pytest.raises(BudgetError):
        spend(ledger, 0.1)
    for _ in range(5):
        spend(ledger, 1, levels="trust", personal={0.1: ZERO})
    assert ledger.spent(group=0.1) == bound("0.2")
    assert ledger.remaining(group=0.1).entries == 2
    assert ledger.spent() == bound("7")


def test_everybody_is_checked_before_the_levels_are_known(file: Path) -> None:
    ledger = make(file, 2, groups={"trust": {0.1: Budget(0.1)}})
    spend(ledger, 1, levels="trust", personal={0.1: level(0.1)})
    ledger.require(question="q", level=level(1), levels="trust")
    for options in ({"levels": "caution"}, {}, {"levels": "trust", "personal": {0.1: level(0.1)}}):
        with pytest.raises(BudgetError, match=r"trust = 0\.1"):
            ledger.require(question="q", level=level(1), **options)  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match="needs epsilon 2 but 1 remains "):
        ledger.require(question="q", level=level(2), levels="trust")


def test_a_part_of_a_group_has_its_own_count(file: Path) -> None:
    parts = {"region": ["north", "south"]}
    ledger = make(file, 10, parts=parts, groups={"trust": {0.5: Budget(1)}})
    spend(ledger, 1, part="north", levels="trust", personal={0.5: level(0.5)})
    spend(ledger, 1, part="north", levels="trust", personal={0.5: level(0.5)})
    assert [str(ledger.spent(part=p, group=0.5).epsilon) for p in (None, "north", "south")] == ["1", "1", "0"]
    assert [ledger.remaining(part=p, group=0.5).entries for p in (None, "north", "south")] == [2, 2, 0]
    assert [ledger.remaining(part=p).entries for p in (None, "north", "south")] == [2, 2, 0]
    asked = level(1)
    assert not ledger.askable("trust", [0.5], level=asked)[Epsilon.read(0.5)]
    assert not ledger.askable("trust", [0.5], level=asked, part="north")[Epsilon.read(0.5)]
    assert ledger.askable("trust", [0.5], level=asked, part="south")[Epsilon.read(0.5)]
    spend(ledger, 1, part="south", levels="trust", personal={0.5: level(0.5)})
    assert [ledger.remaining(part=p).entries for p in (None, "north", "south")] == [3, 2, 1]


def test_a_level_without_a_bound_is_everybodys(file: Path) -> None:
    ledger = make(file, 3, groups={"trust": {"inf": Budget(2)}})
    spend(ledger, 1, levels="trust")
    assert ledger.askable("trust", [], level=level(1)) == {Epsilon.read("inf"): True}
    spend(ledger, 1, levels="trust", personal={"inf": level(1)})
    assert ledger.askable("trust", [], level=level(1)) == {Epsilon.read("inf"): False}


def test_under_optimal_composition_a_group_counts_the_plain_sum_where_that_is_less(file: Path) -> None:
    ledger = open_ledger(file, dataset="s", budget=Budget(3, 1e-6), composition=Optimal("ln(11/10)"))
    for _ in range(20):
        spend(ledger, "ln(11/10)", levels="trust", personal={"0.01": level("0.01"), "ln(11/10)": level("ln(11/10)")})
    assert ledger.spent(group=0.01) == bound("0.2")
    assert ledger.spent(group="ln(11/10)") == ledger.spent()
    assert ledger.spent().epsilon < Epsilon.read("ln(11/10)") * 20
    spend(ledger, "ln(11/10)", levels="trust", personal={"0.01": ZERO})
    assert ledger.spent(group=0.01) == bound("0.2")


# --- the law: whatever is asked in whatever order, a group lost the sum of what its people lost ------------------------------

PARTS = (Part("region", "north"), Part("region", "south"))
COLUMNS = ("trust", "caution")
LEVELS = ("0.1", "0.5", "2")
EPSILONS = st.sampled_from(["0.25", "1", "ln(2)"])
DELTAS = st.sampled_from([Fraction(0), Fraction(1, 1000)])


@st.composite
def costs(draw: st.DrawFn) -> Cost:
    whole = Bound(Epsilon.read(draw(EPSILONS)), draw(DELTAS))
    part, column = draw(st.sampled_from([None, *PARTS])), draw(st.sampled_from([None, *COLUMNS]))
    plain = Cost(part, whole, column)
    personal = []
    for text in LEVELS if column else ():
        own = plain.at_most(Epsilon.read(text))
        choice = draw(st.sampled_from(["own", "no delta", "left out", "not named"]))
        if choice != "not named":
            shares = {"own": own, "no delta": Bound(own.epsilon, Fraction(0)), "left out": bound(0)}
            personal.append((text, shares[choice]))
    return Cost(part, whole, column, tuple(personal))


def opened(budgets: dict[Group, Budget]) -> Opening:
    place = (1, "0" * 64, "now", "survey", Budget("inf", 1), Neighbours.SUBSTITUTION, None)
    return Opening(*place, Basic().to_document(), PARTS, tuple(budgets.items()))


def lost_by(person: tuple[Part | None, str, str], asked: list[Cost]) -> tuple[Epsilon, Fraction]:
    """The sum, written out for one person: a part, a column and the level there."""
    part, column, own = person
    epsilon, delta = Epsilon.read(0), Fraction(0)
    for cost in asked:
        if cost.part not in (None, part):
            continue
        share = cost.bound
        if cost.levels == column:
            share = dict(cost.personal).get(own, Bound(min(Epsilon.read(own), cost.bound.epsilon), cost.bound.delta))
        epsilon, delta = epsilon + share.epsilon, delta + share.delta
    return epsilon, delta


def test_people_who_lost_more_than_their_budget_can_still_be_left_out() -> None:
    """As in a ledger of version 0.1.0 that is read on the safe side: what takes nothing from them is not refused for them."""
    group = Group("trust", "0.5")
    account = Account(opened({group: Budget(1)}))
    account.charge(Cost(None, bound(2)))
    account.require([Cost(None, bound(1), "trust", (("0.5", bound(0)),))] * 2)
    for own in (bound("0.1"), bound(0, "0.1")):
        with pytest.raises(BudgetError):
            account.require([Cost(None, bound(1, "0.1"), "trust", (("0.5", own),))])


@pytest.mark.long
@settings(deadline=None, max_examples=150)
@given(st.lists(costs(), max_size=7), st.randoms(use_true_random=False), st.booleans())
def test_a_group_has_lost_the_sum_in_every_order(asked: list[Cost], chance: Any, declared: bool) -> None:
    budgets = {Group(column, own): Budget("inf", 1) for column in COLUMNS for own in LEVELS} if declared else {}
    forwards, shuffled = Account(opened(budgets)), Account(opened(budgets))
    another = list(asked)
    chance.shuffle(another)
    for cost in asked:
        forwards.charge(cost)
    for cost in another:
        shuffled.charge(cost)
    assert set(forwards.groups()) == set(shuffled.groups())
    for group in forwards.groups():
        totals = {part: lost_by((part, str(group.column), group.level), asked) for part in (None, *PARTS)}
        for part in PARTS:
            found = forwards.spent(part=part, group=group)
            assert (found.epsilon, found.delta) == totals[part]
        worst = forwards.spent(group=group)
        assert (worst.epsilon, worst.delta) == (max(e for e, _ in totals.values()), max(d for _, d in totals.values()))
        assert shuffled.spent(group=group) == worst
        assert worst.epsilon <= forwards.spent().epsilon


@pytest.mark.long
@settings(deadline=None, max_examples=100)
@given(st.lists(costs(), max_size=8), st.sampled_from(COLUMNS), st.sampled_from(LEVELS), EPSILONS, DELTAS)
def test_no_group_ever_passes_its_budget(asked: list[Cost], column: str, own: str, limit: str, delta: Fraction) -> None:
    """What is refused would have been too much, what is granted is not: for everybody and for the group."""
    group, budget = Group(column, own), Budget(limit, delta)
    account = Account(opened({group: budget}))
    granted: list[Cost] = []
    for cost in asked:
        totals = [lost_by((part, column, own), [*granted, cost]) for part in (None, *PARTS)]
        concerned = [t for t, part in zip(totals, (None, *PARTS)) if cost.part in (None, part)]
        fits = all(epsilon <= budget.epsilon and delta <= budget.delta for epsilon, delta in concerned)
        takes_nothing = cost.of(group) == bound(0)
        assert fits or not takes_nothing
        assert account.admits(group, [cost]) == fits
        try:
            account.require([cost])
        except BudgetError:
            assert not fits
            continue
        assert fits
        account.charge(cost)
        granted.append(cost)
