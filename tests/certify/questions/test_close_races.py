"""Close races: an election that is told from one of its neighbours is refused, wherever options are within two votes."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from made_up import ADD_REMOVE, SUBSTITUTION, Cells, MadeUp, Row, in_clear, setting

from optimaldp.certify.races import MOST_OPTIONS, check_close_races, handed_on, treated_alike
from optimaldp.privacy.balls import Ball, precision

Votes = tuple[int, ...]
RACES = {
    2: [(10, 8), (10, 9), (10, 10)],
    4: [(10, 8, 8, 8), (10, 9, 8, 8), (10, 10, 8, 8), (10, 10, 9, 8), (10, 9, 9, 9)],
}


def election(options: int, relation: Any, spoiled: Any = lambda cells: None, step: int = 1, name: str = "m") -> MadeUp:
    people = 10 * options if relation is SUBSTITUTION else None
    spec = {"kind": "winner", "options": options, "among": step == 2}
    answers = tuple(f"option {place}" for place in range(options))
    return MadeUp(answers, step * (options + 1), spec, setting(people, relation), spoiled, name)


def neighbours(votes: Votes, relation: Any) -> set[Votes]:
    """Whatever one person makes of a race, in any order of the options."""
    changed = set()
    for source in range(len(votes)):
        less = tuple(n - (place == source) for place, n in enumerate(votes))
        changed.add(less)
        if relation is SUBSTITUTION:
            changed |= {
                tuple(n + (place == target) for place, n in enumerate(less))
                for target in range(len(votes))
                if target != source
            }
    return changed - {votes}


def told(wanted: Votes, options: int, step: int) -> Any:
    """In clear at every table that has these votes in some order."""
    tables = [{step * place: n for place, n in enumerate(order)} for order in set(permutations(wanted))]

    def spoiled(cells: Cells) -> Row | None:
        return in_clear(0, options) if cells in tables else None

    return spoiled


def looked_at(mechanism: MadeUp) -> tuple[str, list[str]]:
    with precision(192):
        return check_close_races(mechanism)


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("relation", [SUBSTITUTION, ADD_REMOVE])
@pytest.mark.parametrize("options", [2, 4])
def test_an_election_that_tells_one_close_race(options: int, relation: Any, step: int) -> None:
    failure, words = looked_at(election(options, relation, step=step))
    assert (failure, len(words)) == ("", 1)
    for race in RACES[options]:
        for votes in {race, *neighbours(race, relation)}:
            assert "not close" in looked_at(election(options, relation, told(votes, options, step), step))[0]


def test_both_ways_round() -> None:
    """One of equal options gives a vote, another one takes it: the first of them and the last are told apart."""
    for votes in ((9, 8, 8, 9), (10, 7, 8, 9), (10, 9, 7, 9), (9, 10, 9, 8), (9, 11, 8, 8)):
        spoiled = lambda cells, votes=votes: in_clear(0, 4) if cells == dict(enumerate(votes)) else None  # type: ignore[misc]  # noqa: E731
        assert looked_at(election(4, SUBSTITUTION, spoiled))[0], votes


def test_every_option_counts_alike() -> None:
    """Whichever option is likelier by a hair where it has votes; enclosures may be as wide as what is left of a subtraction."""
    assert handed_on(5) == ((0, 1, 2, 0, 1), (1, 2, 0, 1, 0))
    assert handed_on(2) == ((0, 1), (1, 0))
    assert treated_alike([1, 2, 3], [2, 3, 1])
    assert not treated_alike([1, 2, 3], [3, 1, 2])
    likelier = Fraction(1, 4) + Fraction(1, 2**90)
    for option in range(4):
        row = [likelier if place == option else (1 - likelier) / 3 for place in range(4)]
        for votes in handed_on(4):
            told = lambda cells, votes=votes, row=row: row if cells == cells_of(votes) else None  # type: ignore[misc]  # noqa: E731
            assert "alike" in looked_at(election(4, SUBSTITUTION, told))[0], (option, votes)
    with precision(256):
        for bits, alike in ((134, True), (120, False)):
            assert treated_alike([Ball(0, Ball(2) ** -bits), 1], [1, 0]) is alike


def cells_of(votes: Votes) -> dict[int, int]:
    return {option: number for option, number in enumerate(votes) if number}


def test_up_to_sixty_options_are_compared() -> None:
    """Beyond, coins are flipped one by one, and each of them is tried."""
    for options, compared in ((60, True), (61, False)):
        lead = {0: 10, **dict.fromkeys(range(1, options), 8)}
        spoiled = lambda cells, lead=lead, options=options: in_clear(0, options) if cells == lead else None  # type: ignore[misc]  # noqa: E731
        assert bool(looked_at(election(options, SUBSTITUTION, spoiled))[0]) is compared
        assert bool(looked_at(election(options, SUBSTITUTION))[1]) is compared, "what was not tried is not said"
    assert MOST_OPTIONS == 60


def test_divisible_votes_are_proven_for_five_options() -> None:
    assert looked_at(election(5, SUBSTITUTION, name="continuum"))[0] == ""
    assert "five options only" in looked_at(election(6, SUBSTITUTION, name="continuum"))[0]
    assert looked_at(election(6, SUBSTITUTION, name="lattice"))[0] == ""
