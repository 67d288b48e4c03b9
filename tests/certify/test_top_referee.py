"""The referee of the leading options: accepts every mechanism, rejects wrong twins by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import optimaldp as odp
from optimaldp.certify.core.drawing import Words
from optimaldp.certify.core.examined import Finding
from optimaldp.certify.leaders import _follows, examine_top, leaders_are_drawn
from optimaldp.distances.ranking import true_ranking
from optimaldp.laws.law import Setting
from optimaldp.laws.options import Shortfalls, TopLaw, TopMode, first_heads
from optimaldp.privacy import Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball

EPSILON = Epsilon.read("1")
Row = Mapping[tuple[int, ...], Ball]


def examined(shown: Callable[[Sequence[int]], Row], relation: Neighbours = Neighbours.SUBSTITUTION) -> Finding:
    return examine_top(shown, options=3, size=2, epsilon=EPSILON, relation=relation, people=7)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("mode", TopMode)
def test_every_mechanism_passes(relation: Neighbours, mode: TopMode) -> None:
    finding = examined(TopLaw(3, 2, EPSILON, relation, forced=mode).probabilities, relation)
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
    monkeypatch.setattr(TopLaw, "rate", Fraction(1, 2))
    assert not examined(TopLaw(3, 2, EPSILON, Neighbours.SUBSTITUTION, forced=TopMode.PEELING).probabilities).private


MANY = odp.top("vote", 3, [f"option {number}" for number in range(60)])


def by_shortfall(relation: Neighbours) -> Any:
    return MANY.mechanism(Setting(approximate(EPSILON), relation, 100 if relation is Neighbours.SUBSTITUTION else None))


def as_if_one_list(classes: Any, source: Any, first_bits: int = 64) -> int:
    return first_heads([(coin, 1) for coin, _ in classes], source, first_bits)


def with_twice_the_chance(classes: Any, source: Any, first_bits: int = 64) -> int:
    doubled = [((lambda coin=coin: (2 * coin()).min(Ball(1))), number) for coin, number in classes]
    return first_heads(doubled, source, first_bits)


def best_of_two(classes: Any, source: Any, first_bits: int = 64) -> int:
    return min(first_heads(classes, source, first_bits) for _ in range(2))


def as_replaced(self: Shortfalls, which: int, source: Any) -> tuple[int, ...]:
    return self.options[: self.size]


SHORT_TWINS = {
    "classes counted as one list": ("first_heads", as_if_one_list),
    "twice the chance of heads": ("first_heads", with_twice_the_chance),
    "the best of two draws": ("first_heads", best_of_two),
    "always the nearest": ("first_heads", lambda classes, source, first_bits=64: 0),
    "the truth whatever the class": ("Shortfalls.uniform_list", as_replaced),
    "one list of each class": ("Shortfalls.uniform_list", lambda self, which, source: one_of(self, which, Words([]))),
}
one_of = Shortfalls.uniform_list


@pytest.mark.long
@pytest.mark.parametrize("relation", Neighbours)
def test_very_many_lists_are_drawn_as_their_law_says(relation: Neighbours) -> None:
    assert leaders_are_drawn(by_shortfall(relation))


@pytest.mark.long
@pytest.mark.parametrize("name", SHORT_TWINS)
def test_wrong_draws_of_very_many_lists(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, twin = SHORT_TWINS[name]
    monkeypatch.setattr(f"optimaldp.laws.options.{where}", twin)
    _follows.cache_clear()
    try:
        assert not leaders_are_drawn(by_shortfall(Neighbours.ADD_REMOVE))
    finally:
        _follows.cache_clear()


def test_documents_of_the_first_law_still_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1 drew one leader after the other; a document that names no law means it."""
    frame = pd.DataFrame({"vote": [f"option {k % 7}" for k in range(100)]})
    with monkeypatch.context() as earlier:
        one_by_one = TopLaw(60, 3, EPSILON, Neighbours.SUBSTITUTION, forced=TopMode.PEELING)
        earlier.setattr(type(MANY), "law", lambda self, setting: one_by_one)
        old = odp.release(frame, MANY, epsilon=1).to_document()
    assert "law" not in old["mechanism"]
    assert odp.verify(old)
    new = odp.release(frame, MANY, epsilon=1).to_document()
    assert odp.verify(new)
    for law in (1, 3, True):
        assert not odp.verify({**new, "mechanism": {**new["mechanism"], "law": law}})
