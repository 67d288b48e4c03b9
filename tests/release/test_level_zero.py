"""Nobody at level 0 moves an answer, and nobody there is charged a delta: for every kind of question."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

import optimaldp as odp
from optimaldp.certify.core.referee import certify
from optimaldp.laws.law import Aim, Setting, Table
from optimaldp.privacy import Neighbours, approximate
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.questions import parse

KINDS = [
    "count(a) >= 2",
    "share(a) >= 0.5",
    "majority(a)",
    "share(a among b) >= 0.5",
    "mean(x, range=[0, 2]) >= 1",
    "compare(x, 'p', 'q')",
    "median(x, bins=[0, 1, 2])",
    "median(x, bins=[0, 1, 2, 3])",
    "quantile(x, 0.9, bins=[0, 1, 2])",
    "winner(x, ['p', 'q', 'r'])",
]
LEVEL = approximate(Epsilon.read("ln(2)"), Fraction(1, 10))
PEOPLE = 3


def tables(cells: int) -> list[dict[int, int]]:
    chosen = combinations_with_replacement(range(cells), PEOPLE)
    return [{cell: people.count(cell) for cell in set(people)} for people in chosen]


@pytest.mark.parametrize("aim", list(Aim))
@pytest.mark.parametrize("text", KINDS)
def test_with_everybody_at_level_zero_all_tables_have_one_law(text: str, aim: Aim) -> None:
    question = parse(text)
    setting = Setting(LEVEL, Neighbours.SUBSTITUTION, PEOPLE, ((ZERO, PEOPLE),), aim)
    mechanism = question.mechanism(setting)
    certify(mechanism)  # raises where the referee does not pass it
    assert not mechanism.spends_delta
    laws = [mechanism.law(Table(cells, ((ZERO, cells),))).probabilities() for cells in tables(question.cells)]
    for law in laws:
        assert [float(p) for p in law] == pytest.approx([float(p) for p in laws[0]], abs=1e-12)


@pytest.mark.parametrize("text", ["count(x = 1)", "share(x = 1)", "sum(x, range=[0, 2], step=1)"])
@pytest.mark.parametrize("used_up", [False, True])
def test_a_number_moves_for_nobody_at_level_zero(text: str, used_up: bool, tmp_path: Path) -> None:
    """Noise of the strictest level: with epsilon 0 it would be delta alone, which people of level 0 are not charged."""
    path, strict = tmp_path / "people.csv", "0.5" if used_up else "0"
    path.write_text("x,trust\n" + f"1,{strict}\n2,2\n" * 5)
    groups = {"trust": {"0.5": odp.Budget("0.1")}}
    with (
        odp.open(path, ledger=tmp_path / "l", budget=odp.Budget(30, "0.9"), groups=groups) as table,
        pytest.raises(odp.errors.LevelError, match="nobody's own level may be 0"),
    ):
        table.ask(text, epsilon=1, delta="0.1", levels="trust")


def test_a_group_whose_budget_is_used_up_loses_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,trust\n" + "".join(f"{age},0.5\n" for age in (10, 20, 60, 70, 80)))
    budget, groups = odp.Budget(30, "0.9"), {"trust": {"0.5": odp.Budget("0.5", "0.1")}}
    with odp.open(path, ledger=tmp_path / "a.ledger", budget=budget, groups=groups) as table:
        for rank in ("0.4", "0.5", "0.6"):
            question = f"quantile(age, {rank}, bins=[0, 50, 100])"
            release = table.ask(question, epsilon=1, delta="0.1", levels="trust")
        spent = table.remaining_of(group=("trust", "0.5"))
        assert release.spent is not None
        assert not release.spent.delta
        assert float(spent.delta) == pytest.approx(0)
        assert odp.verify(release).holds
