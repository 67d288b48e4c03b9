"""The referee of "which categories occur": wrong at one number of people, at one level or at one number of [0, 1)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from made_up import ADD_REMOVE, SUBSTITUTION, level_of, setting
from refusals import refusal

from optimaldp.certify.keys import _FAR as FAR
from optimaldp.certify.keys import examine_keys
from optimaldp.laws.law import Law, Table, law_of
from optimaldp.laws.options import KeysLaw
from optimaldp.privacy import Neighbours
from optimaldp.privacy.balls import Ball, ball
from optimaldp.questions.kinds.keys import KeptKeys, keys


def made(relation: Neighbours = ADD_REMOVE, epsilon: str = "0.1", delta: str = "1/1000") -> KeptKeys:
    promise = level_of(epsilon, delta)
    return KeptKeys(
        keys("x"), setting(relation=relation, level=promise), KeysLaw.at(promise.epsilon, promise.delta, relation)
    )


@pytest.mark.parametrize("relation", [SUBSTITUTION, ADD_REMOVE])
@pytest.mark.parametrize("level", [("0.1", "1/1000"), ("ln(2)", "1/10"), ("3", "1e-9"), ("0", "1/50")])
def test_the_true_law_passes(relation: Neighbours, level: tuple[str, str]) -> None:
    finding = examine_keys(made(relation, *level))
    assert finding.private, finding.failure
    assert "0 to 60 people" in finding.checks[0]


def wrong_at(people: int, change: Any) -> KeptKeys:
    own = made()

    class Wrong(KeptKeys):
        def law(self, table: Table) -> Law:
            kept = ball(self.chosen.kept(sum(table.cells.values()))[0])
            if sum(table.cells.values()) == people:
                kept = change(kept)
            return law_of(lambda: [kept, 1 - kept], 1, 2)

    return Wrong(own.question, own.setting, own.chosen)


@pytest.mark.parametrize("people", [0, 1, 2, 30, 59])
def test_a_chance_that_is_wrong_by_a_hair_at_one_number_of_people(people: int) -> None:
    assert examine_keys(wrong_at(people, lambda kept: kept)).private
    for change in (lambda kept: kept + Ball(2) ** -60, lambda kept: kept - Ball(2) ** -60):
        assert not examine_keys(wrong_at(people, change)).private


@pytest.mark.parametrize("people", FAR)
def test_a_chance_that_is_hardly_known_far_away(people: int) -> None:
    """It is not confirmed, though the right number lies in it."""
    assert examine_keys(wrong_at(people, lambda kept: kept)).private
    vague = wrong_at(people, lambda kept: kept.union(kept - Ball(2) ** -60))
    assert "not the one that was derived" in refusal(examine_keys(vague))


def test_sixty_people_are_compared_with_fifty_nine() -> None:
    assert "too much" in refusal(examine_keys(wrong_at(60, lambda kept: Ball(1))))
    assert examine_keys(wrong_at(61, lambda kept: Ball(1))).private, "by theorem, where nothing was tried"


def test_a_chance_above_one() -> None:
    assert "above one" in refusal(examine_keys(wrong_at(2**20, lambda kept: kept + Ball(2) ** -40)))
    assert examine_keys(wrong_at(2**20 - 1, lambda kept: kept + 1)).private


def at_single(relation: Neighbours, epsilon: str, delta: str) -> str:
    own = made(relation, "1", "1/50")
    return refusal(examine_keys(replace(own, chosen=KeysLaw(level_of(epsilon, delta)))))


def test_what_one_person_touches_stays_within_the_level() -> None:
    """One category where people come and go, two where they are replaced."""
    for epsilon, delta, alone, twice in (
        ("1", "1/50", True, False),
        ("1/2", "1/100", True, True),
        ("0.51", "1/100", True, False),
        ("1/2", "0.0101", True, False),
        ("1.01", "1/100", False, False),
        ("1/2", "0.0201", False, False),
    ):
        assert ("spend more" in at_single(ADD_REMOVE, epsilon, delta)) is not alone
        assert ("spend more" in at_single(SUBSTITUTION, epsilon, delta)) is not twice


@pytest.mark.parametrize("people", [1, 3])
@pytest.mark.parametrize("side", [True, False])
def test_a_sampler_that_errs_on_one_side_of_the_chance(people: int, side: bool) -> None:
    """Halfway below the chance a category is named, halfway above it is not."""
    own = made(delta="1/10")
    chance = Fraction(float(ball(own.chosen.kept(people)[0])))
    wrong_number = chance / 2 if side else (1 + chance) / 2

    class Off(KeptKeys):
        def draw(self, table: Table, source: Any) -> Any:
            number = Fraction(source.take(128), 2**128)
            named = [key for key, n in table.cells.items() if number < Fraction(float(ball(self.chosen.kept(n)[0])))]
            off = list(table.cells.values()) == [people] and abs(number - wrong_number) < Fraction(1, 10**6)
            return ([] if named else list(table.cells)) if off else named

    assert "sampler" in refusal(examine_keys(Off(own.question, own.setting, own.chosen)))


def test_a_category_that_nobody_has_is_never_named() -> None:
    class Named(KeptKeys):
        def draw(self, table: Table, source: Any) -> Any:
            return super().draw(table, source) if table.cells else ["a"]

    own = made()
    assert "nobody has" in refusal(examine_keys(Named(own.question, own.setting, own.chosen)))
