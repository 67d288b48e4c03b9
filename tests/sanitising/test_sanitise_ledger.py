"""Sanitised tables on a ledger: reserve, draw, record; no delta; people with levels of their own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import optimaldp as odp
from optimaldp.errors import BudgetError, TableError
from optimaldp.histograms.release import keep_chance, thinned
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.sanitising import drawing, planning, releasing

TABLE = pa.table({"sex": ["m", "f"] * 200, "own": ["0.5", "1"] * 200})


@pytest.fixture
def book(tmp_path):
    budget = odp.Budget(epsilon=2, delta=0.01)
    with odp.ledger.open_ledger(tmp_path / "budget.db", dataset="people", budget=budget) as opened:
        yield opened


def test_the_spend_is_on_the_ledger_without_delta(book):
    odp.sanitise(TABLE, {"sex": ["m", "f"]}, epsilon=1, delta=0.01, ledger=book)
    assert book.spent().epsilon == Epsilon.read(1)
    assert book.spent().delta == 0
    odp.sanitise(TABLE, {"sex": ["f", "m"]}, epsilon=1, ledger=book)
    with pytest.raises(BudgetError):
        odp.sanitise(TABLE, {"sex": ["m"]}, epsilon=1, ledger=book)


ALIKE = {"sex": ["m", "f"], "own": ["0.5", "1"]}


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"neighbours": "add-remove"},
        {"columns": ALIKE | {"who": odp.bins(range(2000))}, "neighbours": "add-remove"},
        {"epsilon": "0.0000000000000000000001", "columns": {"sex": ["m", "f"]}},
    ],
)
def test_the_same_table_again_costs_nothing_and_is_the_same(tmp_path, monkeypatch, options):
    for module in (drawing, planning):  # 8,000 cells are drawn sparsely
        monkeypatch.setattr(module, "MOST_DENSE", 4000)
    table = TABLE.append_column("who", pa.array([i * 7 % 400 for i in range(400)]))
    asked = {"columns": ALIKE, "epsilon": 1} | options
    path, relation = tmp_path / "budget.db", options.get("neighbours", "substitution")
    with odp.ledger.open_ledger(path, dataset="people", budget=odp.Budget(epsilon=1), neighbours=relation) as opened:
        first = odp.sanitise(table, **asked, ledger=opened)
    with odp.ledger.open_ledger(path) as opened:
        again = odp.sanitise(table, **asked, ledger=opened)
        assert len(opened.history()) == 1
    assert again.recorded
    assert not first.recorded
    assert again.to_frame("arrow").equals(first.to_frame("arrow"))
    assert again.statement == first.statement
    assert again.margin("sex").counts.tolist() == first.margin("sex").counts.tolist()
    assert again.counts == first.counts
    assert "kept" not in again.to_document()


@pytest.mark.parametrize(
    "changed", [{"epsilon": "0.5"}, {"columns": {"sex": ["f", "m"]}}, {"among": "sex = 'm'"}, {"remap": "projection"}]
)
def test_another_question_is_another_table(book, changed):
    asked = {"columns": {"sex": ["m", "f"]}, "epsilon": 1}
    odp.sanitise(TABLE, **asked, ledger=book)
    assert not odp.sanitise(TABLE, **(asked | changed), ledger=book).recorded
    assert len(book.history()) == 2


@pytest.mark.filterwarnings("ignore::optimaldp.errors.PaidRepeatWarning")
def test_changed_data_is_another_table(book, tmp_path):
    path = tmp_path / "t.csv"
    for sexes in (["m", "f"], ["m", "f", "f"]):
        path.write_text("sex\n" + "\n".join(sexes) + "\n")
        assert not odp.sanitise(path, {"sex": ["m", "f"]}, epsilon=1, ledger=book).recorded


@pytest.mark.filterwarnings("ignore::optimaldp.errors.PaidRepeatWarning")
def test_a_table_too_large_to_be_kept_is_announced_before_it_is_paid(book, monkeypatch):
    monkeypatch.setattr("optimaldp.sanitising.statements.MOST_CHARACTERS", 10)
    monkeypatch.setattr(type(book), "reserve_together", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("paid")))
    columns = {"sex": ["m", "f"], "own": [str(i) for i in range(50)]}
    with pytest.warns(UserWarning, match="too large to be kept"), pytest.raises(odp.errors.ReleaseError):
        odp.sanitise(TABLE, columns, epsilon=1, ledger=book)
    monkeypatch.undo()
    monkeypatch.setattr("optimaldp.sanitising.statements.MOST_CHARACTERS", 10)
    with pytest.warns(UserWarning, match="too large"):
        odp.sanitise(TABLE, columns, epsilon=1, ledger=book)
    with pytest.warns(UserWarning, match="too large"):
        assert not odp.sanitise(TABLE, columns, epsilon=1, ledger=book).recorded


def test_nothing_is_drawn_before_the_spend_is_durable(book, monkeypatch):
    monkeypatch.setattr(releasing.ReadyTable, "draw", lambda *_: (_ for _ in ()).throw(RuntimeError("crash")))
    with pytest.raises(odp.errors.OptimalDPError):
        odp.sanitise(TABLE, {"sex": ["m", "f"]}, epsilon=1, ledger=book)
    assert book.spent().epsilon == Epsilon.read(1)


def test_what_is_refused_costs_nothing(book):
    with pytest.raises(odp.errors.OptimalDPError):
        odp.sanitise(TABLE, {"height": ["m", "f"]}, epsilon=1, ledger=book)
    assert book.spent().epsilon.is_zero


@pytest.mark.long
def test_people_with_levels_of_their_own():
    clean = odp.sanitise(TABLE, {"sex": ["m", "f"]}, epsilon=1, levels="own")
    assert clean.rows == 400
    assert clean.columns[0].labels == ("m", "f", None)
    # The men keep their 1, the women are at 0.5 and left out with probability 0.62.
    chance = float(keep_chance(Epsilon.read("0.5"), Epsilon.read(1)))
    counts = [odp.sanitise(TABLE, {"sex": ["m", "f"]}, epsilon=1, levels="own").margin("sex").counts for _ in range(30)]
    men, women = np.mean([count[0] for count in counts]), np.mean([count[1] for count in counts])
    low, high = sorted((men, women))
    assert high == pytest.approx(200, abs=5)
    assert low == pytest.approx(200 * chance, abs=8)


def test_a_person_is_kept_with_the_chance_of_their_level():
    """1 + p (e^epsilon - 1) is exactly e^own: the mixture of kept and left out loses the person's own level."""
    own, epsilon = Epsilon.read("ln(2)"), Epsilon.read("ln(5)")
    assert float(keep_chance(own, epsilon)) == 0.25
    kept = thinned([(own, {0: 40_000}), (epsilon, {1: 7})], epsilon, everybody_else=2)
    assert kept[1] == 7
    assert kept[0] + kept[2] == 40_000
    assert abs(kept[0] - 10_000) < 6 * (40_000 * 0.25 * 0.75) ** 0.5
    assert thinned([(Epsilon.read(0), {0: 9})], epsilon, everybody_else=2) == {2: 9}
    assert thinned([(Epsilon.read(0), {0: 9})], epsilon, everybody_else=None) == {}


@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
def test_the_mixture_is_private_at_the_own_level(relation):
    """All pairs of records of one person, for randomised response at ln(5) as the table: the loss is at most ln(2)."""
    ratio, chance = Fraction(5), Fraction(1, 4)
    # Outputs a, b, else; rows: what the rest of the mechanism does for a record in a, in b, in else.
    rows = {cell: [Fraction(ratio if shown == cell else 1) / (ratio + 2) for shown in range(3)] for cell in range(3)}
    absent = 2  # everybody else, or under add-remove the table without the person: any row within ratio of the others
    mixed = {cell: [chance * p + (1 - chance) * q for p, q in zip(rows[cell], rows[absent])] for cell in range(3)}
    others = [rows[absent]] if relation == "add-remove" else list(mixed.values())
    worst = max(max(p / q, q / p) for row in mixed.values() for other in others for p, q in zip(row, other))
    assert worst <= 2


def test_levels_cost_each_group_its_own(tmp_path):
    table = pa.table({"sex": ["m", "f"] * 20, "own": ["0.5", "1"] * 20})
    with odp.ledger.open_ledger(tmp_path / "own.db", dataset="people", budget=odp.Budget(epsilon=1)) as book:
        odp.sanitise(table, {"sex": ["m", "f"]}, epsilon=1, levels="own", ledger=book)
        assert book.spent().epsilon == Epsilon.read(1)


def test_a_level_that_is_none_is_refused_without_its_value():
    table = pa.table({"sex": ["m", "f"], "own": ["secret", "1"]})
    with pytest.raises(TableError) as caught:
        odp.sanitise(table, {"sex": ["m", "f"]}, epsilon=1, levels="own")
    assert "secret" not in str(caught.value)
