"""The referee of the leading options: accepts both mechanisms, rejects wrong twins by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import pytest

from optimaldp.certify.core.examined import Finding
from optimaldp.certify.leaders import examine_top
from optimaldp.distances.ranking import true_ranking
from optimaldp.laws import options as top
from optimaldp.laws.options import TopLaw
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import Ball

EPSILON = Epsilon.read("1")
Row = Mapping[tuple[int, ...], Ball]


def examined(shown: Callable[[Sequence[int]], Row], relation: Neighbours = Neighbours.SUBSTITUTION) -> Finding:
    return examine_top(shown, options=3, size=2, epsilon=EPSILON, relation=relation, people=7)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("most", [0, 60_000])
def test_both_mechanisms_pass(relation: Neighbours, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top, "MOST_COMPARED", most)
    finding = examined(TopLaw(3, 2, EPSILON, relation).probabilities, relation)
    assert finding.private, finding.failure


def law(epsilon: str = "1", relation: Neighbours = Neighbours.SUBSTITUTION) -> TopLaw:
    return TopLaw(3, 2, Epsilon.read(epsilon), relation)


def the_truth(counts: Sequence[int]) -> Row:
    row = law().probabilities(counts)
    return {r: Ball(int(r == true_ranking(counts, 2))) for r in row}


def turned(counts: Sequence[int]) -> Row:
    row = law().probabilities(counts)
    return {r[::-1]: p for r, p in row.items()}


def not_summing(counts: Sequence[int]) -> Row:
    return {r: p * Fraction(99, 100).numerator / 100 for r, p in law().probabilities(counts).items()}


WRONG: dict[str, Callable[[Sequence[int]], Row]] = {
    "epsilon 1.05": law("1.05").probabilities,
    "distances of the other relation": law(relation=Neighbours.ADD_REMOVE).probabilities,
    "the true list for sure": the_truth,
    "the leaders turned round": turned,
    "a hundredth missing": not_summing,
    "a list forgotten": lambda counts: dict(list(law().probabilities(counts).items())[1:]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_laws_are_rejected(name: str) -> None:
    assert not examined(WRONG[name]).private


def test_rounds_that_share_epsilon_as_if_nobody_else_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top, "MOST_COMPARED", 0)
    monkeypatch.setattr(TopLaw, "rate", Fraction(1, 2))
    assert not examined(law().probabilities).private
