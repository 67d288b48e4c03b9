"""Accounts against a model that adds up every class of people by itself; chains against every row that could be wrong."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.errors import BudgetError, InputError, LedgerError, LevelError
from optimaldp.ledger.account import Account, Cost, find_group, find_part, remaining_words, require_askable
from optimaldp.ledger.budget import Budget, budget_words, difference, exact_text, readable, single_bound, text_at_least
from optimaldp.ledger.chain import EntryChain, read_whole, same_question
from optimaldp.ledger.composition.rules import NOTHING, Optimal, Spending, add
from optimaldp.ledger.entry import BEGINNING, Answer, Opening, Spend, hash_of
from optimaldp.ledger.history import Remaining
from optimaldp.ledger.ledger import AS_STORED, Charge, require_agreement, require_same
from optimaldp.ledger.people import Group, Part, askable_parts, disjoint_parts, read_groups, read_part, read_parts
from optimaldp.ledger.store import StoredEntry
from optimaldp.privacy import Epsilon, Neighbours, all_of, directed, level
from optimaldp.privacy.levels import Bound

NORTH, SOUTH = Part("region", "north"), Part("region", "south")
LOW, HIGH = Group("trust", "0.1"), Group("trust", "2")
TIME = "2024-01-01T00:00:00Z"


def bound(epsilon: Any, delta: Any = 0) -> Bound:
    return Bound(Epsilon.read(epsilon), Fraction(delta))


def opening(epsilon: Any = 1, delta: Any = 0, **options: Any) -> Opening:
    described: dict[str, Any] = {
        "dataset": "survey", "budget": Budget(epsilon, delta), "neighbours": Neighbours.SUBSTITUTION, "unit": None,
        "composition": {"rule": "basic"}, "parts": (), "groups": (), **options,
    }  # fmt: skip
    return Opening(1, BEGINNING, TIME, **described)


costs = st.builds(
    lambda part, epsilon, personal: Cost(part, bound(epsilon, "0.01"), "trust" if personal else None, personal),
    st.sampled_from([None, NORTH, SOUTH]),
    st.sampled_from(["0.1", "0.5", "3"]),
    st.sampled_from([(), (("0.1", bound("0.05")),), (("0.1", NOTHING), ("2", bound("0.1", "0.01")))]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(costs, max_size=6), st.booleans())
def test_every_class_of_people_loses_what_the_model_says(spent: list[Cost], declared: bool) -> None:
    groups = ((LOW, Budget(50, 1)),) if declared else ()
    account = Account(opening(100, 1, parts=(NORTH, SOUTH), groups=groups))
    for cost in spent:
        account.charge(cost)
    assert account.spends == account.entries() == len(spent)
    for part in (NORTH, SOUTH):
        concerned = [cost for cost in spent if cost.part in (None, part)]
        everybody = NOTHING
        for cost in concerned:
            everybody = add(everybody, cost.bound)
        assert account.spent(part=part) == everybody
        assert account.entries(part=part) == len(concerned)
        for group in account.groups():
            own = NOTHING
            for cost in concerned:
                own = add(own, cost.of(group))
            smaller = own.epsilon <= everybody.epsilon and own.delta <= everybody.delta
            assert account.spent(part=part, group=group) == (own if smaller else everybody)
            assert account.entries(part=part, group=group) == sum(cost.of(group) != NOTHING for cost in concerned)
    most = max(account.spent(part=part).epsilon for part in (NORTH, SOUTH))
    assert account.spent().epsilon == most
    twin = account.copy()
    twin.charge(Cost(None, bound(1)))
    assert account.spends == len(spent), "a copy is charged alone"
    assert twin.spent().epsilon == most + Epsilon.read(1)


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [("0.4", "0.6", True), ("0.4", "0.601", False), ("1", "0", True), ("1.001", "0", False)],
)
def test_a_budget_is_used_up_to_its_last_bit_and_no_further(first: str, second: str, fits: bool) -> None:
    account = Account(opening(1))
    both = [Cost(None, bound(first)), Cost(None, bound(second))]
    if fits:
        account.require(both)
    else:
        with pytest.raises(BudgetError):
            account.require(both)
    assert account.spends == 0
    deltas = Account(opening(9, "0.5"))
    deltas.require([Cost(None, bound(0, "0.25")), Cost(None, bound(0, "0.25"))])
    with pytest.raises(BudgetError, match=r"delta 0\.26 but 0\.25 remains \(0\.25 of 0\.5 spent in 1 entry"):
        deltas.require([Cost(None, bound(0, "0.25")), Cost(None, bound(0, "0.26"))])


def test_refusals_count_what_was_asked_together() -> None:
    account = Account(opening(1))
    with pytest.raises(
        BudgetError, match=r"spent in 1 entry, counting the question before it that was asked together\)\. Nothing"
    ):
        account.require([Cost(None, bound("0.9")), Cost(None, bound("0.2"))])
    with pytest.raises(
        BudgetError,
        match=r"spent in 2 entries, counting the 2 questions before it that were asked together\)\. Nothing",
    ):
        account.require([Cost(None, bound("0.4")), Cost(None, bound("0.5")), Cost(None, bound("0.2"))])
    with pytest.raises(BudgetError, match=r"epsilon 2 but 1 remains \(0 of 1 spent in 0 entries\)\. Nothing"):
        account.require([Cost(None, bound(2))])


def test_a_refusal_names_the_part_that_is_used_up() -> None:
    account = Account(opening(1, parts=(NORTH, SOUTH)))
    account.charge(Cost(SOUTH, bound(1)))
    account.require([Cost(NORTH, bound(1))])
    with pytest.raises(BudgetError, match="for part region = 'south'"):
        account.require([Cost(SOUTH, bound("0.1"))])
    with pytest.raises(BudgetError, match="for part region = 'south'"):
        account.require([Cost(None, bound("0.1"))])


def test_a_group_that_loses_the_same_epsilon_and_less_delta() -> None:
    account = Account(opening(1, 1))
    account.charge(Cost(None, bound("0.1", "0.01"), "trust", (("0.1", bound("0.1")),)))
    assert account.spent(group=LOW) == bound("0.1")
    assert account.spent() == bound("0.1", "0.01")


def test_what_a_cost_takes_from_a_group() -> None:
    cost = Cost(None, bound(1, "0.01"), "trust", (("0.1", bound("0.05")),))
    assert cost.of(None) == cost.of(Group("other", "0.1")) == cost.of(Group(None, "0.1")) == bound(1, "0.01")
    assert cost.of(LOW) == bound("0.05")
    assert cost.of(Group("trust", "0.3")) == bound("0.3", "0.01"), "a level that is not named is honoured too"
    assert cost.of(HIGH) == bound(1, "0.01"), "and nobody loses more than the question takes"
    old = Cost(None, bound(1), None, (("low", bound("0.05")),))
    assert old.of(Group(None, "low")) == bound("0.05")
    assert old.of(Group(None, "high")) == old.of(LOW) == bound(1)


def test_a_group_with_a_budget_of_its_own() -> None:
    account = Account(opening(9, groups=((LOW, Budget("0.2")),)))
    honoured = Cost(None, bound(1), "trust", (("0.1", bound("0.1")),))
    account.require([honoured, honoured])
    assert account.admits(LOW, [honoured, honoured])
    assert not account.admits(LOW, [honoured] * 3)
    assert account.admits(HIGH, [honoured] * 99), "a group without a budget is never in the way"
    left_out = Cost(None, bound(1), "trust", (("0.1", NOTHING),))
    account.charge(honoured)
    account.charge(honoured)
    account.require([left_out])
    with pytest.raises(BudgetError, match=r"for the people with trust = 0\.1.*levels='trust'"):
        account.require([honoured])
    with pytest.raises(BudgetError):
        account.require([Cost(None, bound("0.1"))])  # without levels everybody loses the same
    assert account.budget_of(LOW) == Budget("0.2")
    assert account.budget_of(HIGH) == account.budget_of(None) == Budget(9)
    assert account.budgeted_levels("trust") == ("0.1",)
    assert account.budgeted_levels("other") == ()
    with pytest.raises(LedgerError, match="no level group"):
        account.spent(group=Group("trust", "7"))


def test_nobody_is_promised_less_than_they_lose() -> None:
    account = Account(opening(9, "0.5"))
    for own in (bound("0.11"), bound("0.1", "0.02")):
        with pytest.raises(LedgerError, match="more than"):
            account.require([Cost(None, bound(1, "0.01"), "trust", (("0.1", own),))])
    account.require([Cost(None, bound(1, "0.01"), "trust", (("0.1", bound("0.1", "0.01")),))])
    account.require([Cost(None, bound("0.05", "0.01"), "trust", (("0.1", bound("0.05")),))])
    with pytest.raises(LedgerError, match="more than"):
        account.require([Cost(None, bound("0.05"), "trust", (("0.1", bound("0.06")),))])


def test_parts_of_a_unit_with_rows_in_several_are_charged_to_everybody_in_old_entries() -> None:
    for unit, one_part in ((None, False), ("id", True), ("id", False)):
        account = Account(opening(9, parts=(NORTH, SOUTH), unit=unit, unit_has_one_part=one_part))
        account.enter(Spend(2, "", TIME, "q", bound(1), NORTH, (), None, version=1))
        expected = "0" if unit is None or one_part else "1"
        assert str(account.spent(part=SOUTH).epsilon) == expected
    with pytest.raises(LedgerError, match="no part"):
        account.enter(Spend(2, "", TIME, "q", bound(1), Part("region", "east"), (), None))


def rows(*entries: Any) -> list[StoredEntry]:
    """Entries as they are stored, each following the one before."""
    stored: list[StoredEntry] = []
    for sequence, entry in enumerate(entries, start=1):
        previous = stored[-1].hash if stored else BEGINNING
        text = replace(entry, sequence=sequence, previous=previous).text()
        stored.append(StoredEntry(sequence, text, hash_of(text)))
    return stored


SPEND = Spend(2, "", TIME, "majority(x)", bound("0.1"), None, (), "code", asked=bound("0.2"))
ANSWER = Answer(3, "", TIME, 2, "yes", {"proven": True})


def test_a_chain_follows_what_is_right() -> None:
    stored = rows(opening(), SPEND, ANSWER, replace(SPEND, data=None))
    chain = EntryChain("here")
    assert (chain.last, chain.head) == (0, BEGINNING)
    chain.follow(stored)
    assert (chain.last, chain.head) == (4, stored[-1].hash)
    assert str(chain.account.spent().epsilon) == "0.2"
    assert chain.answers[2].answer == "yes"
    key = ("majority(x)", bound("0.2"), None, "code", 1, "{}")
    assert same_question(SPEND) == key
    assert same_question(replace(SPEND, data=None)) is None
    assert chain.answered[key][-1].spend == 2
    assert chain.paid[key[:3]] == 2
    twin = EntryChain("there")
    twin.extend(chain.entries, stored)
    assert twin.hashes == chain.hashes
    with pytest.raises(ValueError, match="zip"):
        EntryChain("there").extend(chain.entries, stored[:1])


def wrong_rows() -> list[tuple[str, list[StoredEntry]]]:
    good = rows(opening(), SPEND, ANSWER)
    moved = rows(replace(SPEND, question="other"), opening())
    renumbered = replace(SPEND, sequence=3, previous=good[0].hash).text()
    detached = replace(SPEND, sequence=2, previous=BEGINNING).text()
    return [
        ("missing", [good[0], good[2]]),
        ("missing", good[1:]),
        ("missing", [good[0], good[0]]),
        ("hash", [good[0], replace(good[1], text=good[1].text.replace("majority", "minority"))]),
        ("hash", [good[0], replace(good[1], hash=good[0].hash)]),
        ("hash", [good[0], replace(good[1], text="é")]),
        ("hash", [good[0], replace(good[1], text=None)]),  # type: ignore[arg-type]
        ("says that it is entry 3", [good[0], StoredEntry(2, renumbered, hash_of(renumbered))]),
        ("does not follow", [good[0], StoredEntry(2, detached, hash_of(detached))]),
        ("one opening", moved[:1]),
        ("one opening", rows(opening(), opening())),
        ("does not wait", rows(opening(), replace(ANSWER, spend=1))),
        ("does not wait", rows(opening(), SPEND, replace(ANSWER, spend=0))),
        ("does not wait", rows(opening(), SPEND, replace(ANSWER, spend=3))),
        ("does not wait", rows(opening(), SPEND, replace(ANSWER, spend=-1))),
        ("does not wait", rows(opening(), SPEND, ANSWER, ANSWER)),
        ("damaged", [good[0], StoredEntry(2, "{}", hash_of("{}"))]),
    ]


@pytest.mark.parametrize("case", range(17))
def test_a_chain_refuses_what_is_wrong_and_stays_as_it_was(case: int) -> None:
    said, stored = wrong_rows()[case]
    chain = EntryChain("here")
    with pytest.raises(LedgerError, match=said):
        chain.follow(stored)
    assert len(chain.entries) == len(chain.hashes) == chain.last < len(stored) + 1


class Kept:
    """A store in memory."""

    location = "here"

    def __init__(
        self, stored: list[StoredEntry], noted: tuple[int, str] | None = None, damage: tuple[str, ...] = ()
    ) -> None:
        self._stored, self._noted, self._damage = stored, noted, damage

    def damage(self) -> tuple[str, ...]:
        return self._damage

    def remembered_head(self) -> tuple[int, str] | None:
        return self._noted

    def rows(self, after: int) -> list[StoredEntry]:
        return self._stored[after:]


def test_the_note_beside_a_ledger_shows_what_was_lost() -> None:
    stored = rows(opening(), SPEND, ANSWER)
    for noted in (None, (1, stored[0].hash), (2, stored[1].hash), (3, stored[2].hash)):
        assert read_whole(Kept(stored, noted)).last == 3  # type: ignore[arg-type]
    for noted in ((4, "x"), (3, stored[1].hash), (2, stored[2].hash)):
        with pytest.raises(LedgerError, match=f"ends at entry 3, but it had reached entry {noted[0]}"):
            read_whole(Kept(stored, noted))  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="no entries at all"):
        read_whole(Kept([]))  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="damaged"):
        read_whole(Kept(stored, None, ("page 3 is torn",)))  # type: ignore[arg-type]


def test_budgets_are_compared_and_shown_exactly() -> None:
    assert Budget(1, "0.1").covers(bound(1, "0.1"))
    assert not Budget(1, "0.1").covers(bound("1.0001", "0.1"))
    assert not Budget(1, "0.1").covers(bound(1, "0.1001"))
    assert Budget("inf", 0).covers(bound(10, 1))
    assert (Budget("inf").unlimited, Budget(5).unlimited) == (True, False)
    assert repr(Budget("inf")) == "Budget(no limit)"
    assert budget_words(Epsilon.read(1), Fraction(0)) == "epsilon 1"
    assert Budget.from_document(Budget("ln(2)", "1e-6").to_document()) == Budget("ln(2)", "1e-6")
    assert readable(Epsilon.read("0.12345678901234")) == "0.12345678901234"  # sixteen letters
    assert readable(Epsilon.read("0.123456789012345")) == "about 0.123457"
    assert exact_text(Epsilon(Fraction(0), Fraction(2**2999))) is not None
    assert exact_text(Epsilon(Fraction(0), Fraction(2**3000))) is None
    assert exact_text(Epsilon(Fraction(0), 1 + Fraction(1, 2**3000))) is None
    assert float(text_at_least(Epsilon(Fraction(0), Fraction(2**3000)))) > float(
        Epsilon(Fraction(0), Fraction(2**3000))
    )


def test_differences_of_budgets() -> None:
    read = Epsilon.read
    assert difference(read("inf"), read(3)) == read("inf")
    assert difference(read("1+ln(6)"), read("0.5+ln(2)")) == read("0.5+ln(3)")
    assert difference(read(1), read(1)) == read(0)
    assert difference(read(1), read("ln(2)")) is None
    assert difference(read("ln(3)"), read("0.5")) is None
    assert remaining_words(read(1), read("ln(2)")) == "about 0.306853"
    assert remaining_words(read("0.5"), read("ln(2)")) == "0"
    assert remaining_words(read(1), read("0.75")) == "0.25"
    left = Remaining(Budget(1, "0.5"), bound("0.75", "0.75"), 1, "basic")
    assert (str(left.epsilon), left.delta) == ("0.25", 0)
    assert repr(left) == "Remaining(epsilon 0.25, delta 0; 0.75 of 1 spent in 1 entry)"
    gone = Remaining(Budget("0.5"), bound("ln(2)"), 2, "basic")
    assert gone.epsilon == read(0)
    assert "2 entries" in repr(gone)
    close = Remaining(Budget(1), bound("ln(2)"), 1, "basic").epsilon
    assert close + read("ln(2)") < read(1)
    assert float(close) == pytest.approx(1 - 0.693147180559945, abs=3e-9)


def test_what_can_be_added_up() -> None:
    assert single_bound(level(1, "0.1")) == bound(1, "0.1")
    for bad in (
        level("inf"),
        level(mu=1),
        all_of(level(1), level("0.5", "0.1")),
        directed(forward=level(1), backward=level(2)),
    ):
        with pytest.raises(LevelError):
            single_bound(bad)
    assert Charge("q", level(1, "0.1"), used=level(1)).used_bound() == bound(1)
    assert Charge("q", level(1, "0.1")).used_bound() == bound(1, "0.1")
    for more in (level("1.1"), level(1, "0.2")):
        with pytest.raises(LevelError, match="more than the level"):
            Charge("q", level(1, "0.1"), used=more).used_bound()
    with pytest.raises(InputError, match="levels"):
        Charge("q", level(1), personal={1: level(1)}).personal_bounds()
    assert Charge("q", level(1)).personal_bounds() == ()
    assert [
        name
        for name, _ in Charge("q", level(1), levels="t", personal={"1/2": level(0), 0.1: level(0)}).personal_bounds()
    ] == ["0.1", "0.5"]


def test_parts_are_values_of_one_column() -> None:
    assert read_parts({"region": ["north", "south"]}) == (NORTH, SOUTH)
    assert read_parts(["region = 'north'", NORTH.__class__("region", "o'hare")]) == (NORTH, Part("region", "o'hare"))
    assert read_part("\"my col\" = 'it''s'") == Part("my col", "it's")
    assert read_part("n = -3") == Part("n", -3)
    assert (read_part("age > 30").column, str(read_part("age > 30"))) == (None, "age > 30")
    assert str(Part("my col", 5)) == '"my col" = 5'
    bad_parts: list[Any] = [
        {"region": []}, {"region": "north"}, {}, {"a": [1], "b": [2]}, {"": ["x"]}, {5: ["x"]}, {"region": [True]},
        {"region": [1.5]}, {"region": ["north", "north"]}, {"region": ["1", 1]}, ["age > 30"], ["a = 1", "b = 2"], "region", 5,
    ]  # fmt: skip
    for bad in bad_parts:
        with pytest.raises(InputError, match="parts"):
            read_parts(bad)


def test_old_parts_that_a_database_might_confuse() -> None:
    old = [
        read_part(text)
        for text in (
            "r = 'north'",
            "r = 'North '",
            "r = 'süd'",
            "r = 'sud'",
            "r = 'east'",
            "age > 3",
            "s = 'west'",
            "r = 5",
        )
    ]
    assert [str(part.value) for part in askable_parts(old)] == ["north", "North ", "süd", "sud", "east"]
    assert {part.value for part in disjoint_parts(old)} == {"east"}
    assert disjoint_parts([NORTH, Part("region", "North")]) == {NORTH, Part("region", "North")}, (
        "new parts are compared exactly"
    )
    assert askable_parts([read_part("age > 3")]) == ()


def test_finding_parts_and_groups_by_name() -> None:
    declared = opening(parts=(NORTH, SOUTH))
    assert (
        find_part(declared, "north") == find_part(declared, "region = 'north'") == find_part(declared, NORTH) == NORTH
    )
    assert find_part(declared, "north", "region") == NORTH
    for wrong, column in (("east", None), ("north", "other"), (True, None), (Part("x", "north"), None)):
        with pytest.raises(LedgerError, match="declared parts"):
            find_part(declared, wrong, column)
    twice = opening(parts=(Part("a", "x"), Part("b", "x")))
    with pytest.raises(LedgerError, match="can be any of"):
        find_part(twice, "x")
    groups = (LOW, HIGH, Group("other", "2"))
    assert find_group(groups, 0.1) == find_group(groups, "trust = 0.1") == find_group(groups, ("trust", "1/10")) == LOW
    assert find_group(groups, ("other", 2)) == find_group(groups, Group("other", "2")) == groups[2]
    with pytest.raises(LedgerError, match="several columns"):
        find_group(groups, 2)
    for wrong in (5, "nonsense", ("third", 2), Group("x", "2")):
        with pytest.raises(LedgerError, match="no level group"):
            find_group(groups, wrong)
    require_askable(declared, NORTH)
    require_askable(opening(parts=(NORTH,), unit="id", unit_has_one_part=True), NORTH)
    with pytest.raises(LedgerError, match="cannot be charged alone"):
        require_askable(opening(parts=(NORTH,), unit="id"), NORTH)
    with pytest.raises(LedgerError, match="no longer asked"):
        require_askable(opening(parts=(NORTH, read_part("age > 3"))), read_part("age > 3"))


def test_groups_are_declared_by_column_and_level() -> None:
    read = read_groups({"trust": {"1/2": 1, 0.1: 2}, "age": {3: 3}})
    assert [(str(group), budget) for group, budget in read] == [("age = 3", 3), ("trust = 0.1", 2), ("trust = 0.5", 1)]
    for bad in ({"trust": {0.5: 1, "1/2": 2}}, {"trust": 5}, 5, {"": {1: 1}}, {3: {1: 1}}):
        with pytest.raises(InputError, match="groups"):
            read_groups(bad)  # type: ignore[arg-type]


def test_a_request_speaks_of_the_same_people_as_its_ledger() -> None:
    kept = opening(unit="id", settings={"types": "x"})
    require_same(kept, "here", None, AS_STORED, None)
    require_same(kept, "here", "substitution", "id", "survey")
    for wrong in (
        ("add-remove", "id", "survey"),
        (None, None, None),
        (None, "other", None),
        (None, AS_STORED, "census"),
    ):
        with pytest.raises(LedgerError, match="here"):
            require_same(kept, "here", *wrong)
    require_agreement(kept, "here", {"unit": "id", "settings": {"types": "x"}})
    require_agreement(replace(kept, version=1), "here", {"settings": {"types": "y"}})
    for described in ({"unit": None}, {"settings": {"types": "y"}}, {"settings": {"more": 1}}, {"parts": (NORTH,)}):
        with pytest.raises(LedgerError, match="never changes"):
            require_agreement(kept, "here", described)


def test_equal_levels_composed_optimally() -> None:
    rule, budget, spending = Optimal(epsilon="0.1"), Budget(1, "0.001"), Spending()
    assert rule.spent(spending, budget) == NOTHING
    assert rule.admits(spending, bound("0.1"), budget)
    assert rule.admits(spending, bound("0.05"), budget)
    for more in (bound("0.11"), bound("0.1", "0.001")):
        with pytest.raises(LedgerError, match=r"at most epsilon 0\.1"):
            rule.admits(spending, more, budget)
    spending.add(bound("0.1"))
    assert rule.spent(spending, budget).delta == Fraction(1, 1000)
    assert rule.spent(spending, budget).epsilon <= Epsilon.read("0.1")
    assert not rule.admits(spending, bound("0.1"), Budget("0.1"))
