"""Ledgers that optimaldp 0.1.0 wrote: they open, they mean what they meant, and where it said too little they are read safely."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from ledger.conftest import spend
from postgres_server import PostgresServer

import optimaldp as odp
from optimaldp.errors import BudgetError, LedgerError
from optimaldp.ledger import Budget, Group, Ledger, Part, open_ledger, verify_ledger
from optimaldp.ledger.account import cost_of
from optimaldp.ledger.entry import Spend
from optimaldp.ledger.postgres_store import PostgresStore
from optimaldp.ledger.store import StoredEntry
from optimaldp.privacy import Epsilon, level
from optimaldp.privacy.levels import Bound

FIXTURES = Path(__file__).parent / "fixtures"
NAMES = sorted(path.stem for path in FIXTURES.glob("*.ledger"))

OpenOld = Callable[[str], Ledger]


@pytest.fixture
def old(tmp_path: Path) -> OpenOld:
    """Open a copy of a fixture: reading a ledger with SQLite touches its folder."""

    def open_old(name: str) -> Ledger:
        for suffix in ("", "-head"):
            shutil.copy(FIXTURES / f"{name}.ledger{suffix}", tmp_path / f"{name}.ledger{suffix}")
        return open_ledger(tmp_path / f"{name}.ledger")

    return open_old


def bound(epsilon: str, delta: str = "0") -> Bound:
    return Bound(Epsilon.read(epsilon), Fraction(delta))


def test_there_are_old_ledgers_to_read() -> None:
    assert NAMES == ["conditions", "groups", "levels", "optimal", "parts", "plain", "unit"]


@pytest.mark.parametrize("name", NAMES)
def test_an_old_ledger_opens_whole_and_every_text_is_as_it_was(old: OpenOld, name: str) -> None:
    with old(name) as ledger:
        assert verify_ledger(ledger.location, head=ledger.head).intact
        assert {entry.written_version() for entry in ledger.entries()} == {1}
        assert len(ledger.history()) == sum(isinstance(entry, Spend) for entry in ledger.entries())
        assert str(ledger.history())
        assert ledger.history().to_document()


@pytest.mark.parametrize("name", NAMES)
def test_an_old_ledger_goes_on(old: OpenOld, name: str) -> None:
    with old(name) as ledger:
        before = ledger.spent().epsilon
        spend(ledger, "ln(11/10)" if name == "optimal" else 0.0625, neighbours=None).record("yes")
        assert ledger.spent().epsilon > before
        assert ledger.entries()[-2].written_version() == 2
        assert verify_ledger(ledger.location).intact


def test_what_was_asked_is_answered_again_for_nothing(old: OpenOld) -> None:
    with old("plain") as ledger:
        answer = ledger.answered("majority(smokes)", level(0.25), "v1")
        assert answer is not None
        assert (answer.answer, answer.statement, answer.certificate) == ("no", {"proof": 1}, {"proof": 1})


def test_an_old_ledger_remembers_neighbours_and_unit(old: OpenOld) -> None:
    with old("unit") as ledger:
        assert (ledger.opening.neighbours.value, ledger.opening.unit) == ("add-remove", "person")
        spend(ledger, 0.5, neighbours=None)
        with pytest.raises(LedgerError, match="people named by the column 'person'"):
            spend(ledger, 0.1, neighbours=None, unit="household")


@pytest.mark.parametrize("name", ["levels", "conditions"])
def test_old_entries_on_a_server_are_read_alike(old: OpenOld, server: PostgresServer, name: str) -> None:
    location = f"{server.new_database('old')}?ledger=survey"
    with old(name) as ledger:
        first, *others = (
            StoredEntry(entry.sequence, entry.text(), digest)
            for entry, digest in zip(ledger.entries(), ledger.hashes())
        )
        PostgresStore.create(location, first)
        PostgresStore(location).append(1, lambda _: others)
        with open_ledger(location) as moved:
            assert moved.head == ledger.head
            assert moved.spent() == ledger.spent()
            assert moved.groups() == ledger.groups()
            spend(moved, 0.0625)
        assert verify_ledger(location).intact


def test_settings_that_an_old_ledger_did_not_remember_do_not_contradict_it(old: OpenOld, tmp_path: Path) -> None:
    old("plain").close()
    assert open_ledger(tmp_path / "plain.ledger", settings={"types": {"age": "number"}}).opening.settings == {}


def test_old_parts_of_one_column_are_asked_as_before(old: OpenOld, tmp_path: Path) -> None:
    with old("parts") as ledger:
        assert ledger.part("o'hare") == Part("region", "o'hare")
        assert [str(ledger.spent(part=p).epsilon) for p in ("north", "south", "o'hare")] == ["0.625", "0.375", "0.125"]
        spend(ledger, 0.375, part="north")
        spend(ledger, 0.375, part="region = 'south'")
        with pytest.raises(BudgetError, match="north"):
            spend(ledger, 0.0625, part="north")
    same = open_ledger(tmp_path / "parts.ledger", parts={"region": ["north", "south", "o'hare"]})
    assert str(same.spent(part="south").epsilon) == "0.75"
    with pytest.raises(LedgerError, match="never changes"):
        open_ledger(tmp_path / "parts.ledger", parts={"region": ["north", "south"]})


@pytest.mark.parametrize("part", ["age > 30", "age > 25", "smokes = 'yes'"])
def test_an_old_part_that_may_overlap_can_be_read_and_not_asked(old: OpenOld, part: str) -> None:
    with old("conditions") as ledger:
        assert part in [record.part for record in ledger.history()]
        assert ledger.spent(part=part).epsilon > Epsilon.read(0)
        before = ledger.head
        for ask in (lambda: spend(ledger, 0.01, part=part), lambda: ledger.part(part)):
            with pytest.raises(LedgerError, match="can be read but no longer asked"):
                ask()
        assert ledger.head == before


def test_what_was_spent_on_parts_that_overlap_is_charged_to_everybody(old: OpenOld) -> None:
    """0.1.0 took the largest of the parts, 0.375; somebody in the north, over 30, who smokes, lost all of it."""
    with old("conditions") as ledger:
        assert ledger.spent().epsilon == Epsilon.read("0.6875")
        assert ledger.spent(part="region = 'north'").epsilon == Epsilon.read("0.6875")
        assert ledger.spent(part="region = 'south'").epsilon == Epsilon.read("0.4375")
        spend(ledger, 0.3125, part="north")
        with pytest.raises(BudgetError):
            spend(ledger, 0.3126, part=None)


def test_levels_of_two_columns_are_two_groups_and_keep_their_delta(old: OpenOld) -> None:
    """0.1.0 put both into one group '0.5' that had lost (1.75, 0)."""
    with old("levels") as ledger:
        lost = {str(group): remaining.spent for group, remaining in ledger.groups().items()}
        assert lost == {
            "trust = 0.5": bound("2.25", "0.0001"),
            "caution = 0.25": bound("2.5", "0.0001"),
            "caution = 0.5": bound("2.75", "0.0001"),
        }
        assert ledger.remaining(group=("trust", 0.5)).budget == Budget(4, 1e-3)
        assert ledger.remaining(group=("caution", 0.5)).budget == Budget(4, 1e-3)
        with pytest.raises(LedgerError, match="several columns"):
            ledger.remaining(group=0.5)
        with pytest.raises(BudgetError, match=r"1\.25 remains for the people with caution = 0\.5"):
            spend(ledger, 1.5, levels="trust", personal={0.5: level(0.5)})


def test_a_budget_without_a_column_holds_for_every_column(old: OpenOld) -> None:
    """0.1.0 said only "0.5": people with level 0.5 in a column that was never asked before have that budget as well."""
    with old("levels") as ledger:
        half = Epsilon.read(0.5)
        assert ledger.askable("third", [0.5], level=level(1))[half]
        spend(ledger, 0.75)
        assert not ledger.askable("third", [0.5], level=level(1))[half]
        with pytest.raises(BudgetError, match=r"0 remains for the people with third = 0\.5"):
            spend(ledger, 0.5, levels="third", personal={0.5: level(0.5)})
        spend(ledger, 0.5, levels="third", personal={0.5: level(0)})
        assert ledger.askable("trust", [0.5], level=level(0.5))[half]
        assert str(ledger.spent(group=("third", 0.5)).epsilon) == "4"


def test_groups_that_were_named_freely_keep_what_they_lost(old: OpenOld) -> None:
    with old("groups") as ledger:
        assert ledger.spent(group="careful") == bound("0.75")
        assert ledger.askable("trust", [1], level=level(1)) == {
            Epsilon.read(1): True
        }  # "careful" is no level of a column
        assert ledger.remaining(group=Group(None, "careful")).budget == Budget(1)
        with pytest.raises(BudgetError, match="the people with careful"):
            spend(ledger, 0.5)
        spend(ledger, 0.25)
        assert str(ledger.remaining(group="careful").epsilon) == "0"


def test_an_old_question_that_only_looks_like_levels_is_charged_in_full() -> None:
    def old_spend(question: str, name: str) -> Spend:
        return Spend(2, "", "", question, bound("1", "0.1"), None, ((name, bound("0.5")),), None, version=1)

    known = cost_of(old_spend("majority(x) | where: a | levels: trust", "0.5"), ())
    assert known.of(Group("trust", "0.5")) == bound("0.5", "0.1")
    assert known.of(Group("trust", "0.25")) == bound("0.25", "0.1")
    assert known.of(Group("caution", "0.5")) == bound("1", "0.1")
    for question, name in (("majority(x) | levels: a b", "0.5"), ("majority(x)", "0.5"), ("q | levels: trust", "high")):
        unknown = cost_of(old_spend(question, name), ())
        assert unknown.of(Group("trust", "0.5")) == bound("1", "0.1"), question
        assert unknown.of(Group(None, name)) == bound("0.5", "0.1"), question


def test_an_old_table_is_asked_through_the_front_door(old: OpenOld, tmp_path: Path) -> None:
    old("parts").close()
    table = tmp_path / "survey.csv"
    table.write_text("region,smokes\n" + "north,yes\n" * 90 + "south,no\n" * 30)
    with odp.open(table, ledger=tmp_path / "parts.ledger") as asked:
        asked.ask("count(smokes = 'yes') >= 5", epsilon=0.25, part="north")
        assert str(asked.remaining_of(part="north").epsilon) == "0.125"
