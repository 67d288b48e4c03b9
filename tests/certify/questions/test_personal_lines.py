"""Levels of one's own at the public numbers: whoever is told from the next table by more than their own level is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from made_up import MadeUpByLevel, State, at_state, in_clear, level_of, setting

from optimaldp.certify.personal_tables import check_personal_lines
from optimaldp.privacy import Epsilon

STRICT, LOOSE = Epsilon.read("ln(5/4)"), Epsilon.read("ln(2)")
SIZES = ((STRICT, 20), (LOOSE, 280))
AWAY = (-15, -2, -1, 0, 1, 2, 3, 14)
THIRDS = [Fraction(2, 3), Fraction(1, 3)]  # next to a fair coin: within ln(2), not within ln(5/4)


def count_spec(bound: int) -> dict[str, Any]:
    return {"kind": "count", "comparison": ">=", "bound": bound, "among": False}


def made(levels: Any = SIZES, bound: int = 150, spoiled: Any = lambda state: None, **more: Any) -> MadeUpByLevel:
    people = sum(n for _, n in levels)
    answers, cells = more.pop("answers", ("yes", "no")), more.pop("cells", 2)
    made_for = setting(people, levels=tuple(levels), level=more.pop("level", level_of("ln(2)")))
    return MadeUpByLevel(answers, cells, more.pop("spec", count_spec(bound)), made_for, spoiled_state=spoiled, **more)


def pair(gone: int, size: int, first: int = 0, second: int = 1) -> dict[int, int]:
    return {cell: n for cell, n in ((first, size - gone), (second, gone)) if n}


def state(moved: int, sizes: list[int], *, strict_first: bool, first: int = 0, second: int = 1) -> State:
    """So many have gone from the first cell to the second, those of one end of the levels before the others."""
    gone = [0] * len(sizes)
    for place in range(len(sizes)) if strict_first else reversed(range(len(sizes))):
        gone[place] = min(sizes[place], moved - sum(gone))
    return tuple(pair(g, n, first, second) for g, n in zip(gone, sizes))


def moved_one(at: State, place: int, by: int) -> State:
    """One person of a level more or less in the second cell."""
    size, gone = sum(at[place].values()), at[place].get(1, 0) + by
    return (*at[:place], pair(gone, size), *at[place + 1 :])


def possible(at: State, place: int, by: int) -> bool:
    return bool(at[place].get(0 if by > 0 else 1))


@pytest.mark.parametrize("bound", [143, 150, 300])
@pytest.mark.parametrize("strict_first", [True, False])
def test_one_table_that_is_told(strict_first: bool, bound: int) -> None:
    """Of 300 people at least *bound* say yes as long as no more than the others have gone."""
    assert check_personal_lines(made(bound=bound)) == ""
    for away in AWAY:
        if 300 - bound + away < 0:
            continue
        here = state(300 - bound + away, [20, 280], strict_first=strict_first)
        assert check_personal_lines(made(bound=bound, spoiled=at_state(here, in_clear(0)))), away
        for place, by in product((0, 1), (1, -1)):
            if possible(here, place, by):
                twin = made(bound=bound, spoiled=at_state(moved_one(here, place, by), in_clear(0)))
                assert "own level" in check_personal_lines(twin), (away, place)


def test_everybody_is_compared_at_their_own_level() -> None:
    """What the loosest people may show of themselves, the strictest may not."""
    here = state(150 + 3, [20, 280], strict_first=False)
    for place, told in ((0, True), (1, False)):
        there = moved_one(here, place, 1)  # a table whose own neighbours are not tried
        assert bool(check_personal_lines(made(spoiled=at_state(there, THIRDS)))) is told, place


def test_whoever_weighs_nothing_loses_nothing_with_delta_either() -> None:
    nearly = [Fraction(11, 20), Fraction(9, 20)]
    for strictest, told in (("0", True), ("ln(1.01)", False)):
        levels = ((Epsilon.read(strictest), 20), (LOOSE, 280))
        assert check_personal_lines(made(levels, level=level_of("ln(2)", "1/20"))) == ""
        there = moved_one(state(150, [20, 280], strict_first=False), 0, 1)
        twin = made(levels, spoiled=at_state(there, nearly), level=level_of("ln(2)", "1/20"))
        assert bool(check_personal_lines(twin)) is told, strictest


def test_levels_without_a_rational_ratio() -> None:
    levels = ((Epsilon.read("0.1"), 20), (Epsilon.read("0.5"), 280))
    here, more = state(150 + 3, [20, 280], strict_first=False), [Fraction(28, 50), Fraction(22, 50)]
    for place, told in ((0, True), (1, False)):
        twin = made(levels, spoiled=at_state(moved_one(here, place, 1), more), level=level_of("0.5"))
        assert bool(check_personal_lines(twin)) is told, place


def test_the_truth_of_balanced_levels_is_the_likeliest() -> None:
    assert check_personal_lines(made(name="balanced levels")) == "", "or as likely as the other one"
    for away in AWAY:
        here = state(150 + away, [20, 280], strict_first=True)
        truth = 0 if away <= 0 else 1
        less = [Fraction(49, 100), Fraction(51, 100)] if truth == 0 else [Fraction(51, 100), Fraction(49, 100)]
        for name, told in (("balanced levels", True), ("weighted votes", False)):
            twin = made(spoiled=at_state(here, less), name=name)
            assert ("likeliest" in check_personal_lines(twin)) is told, away


def test_with_many_answers_fewer_tables() -> None:
    winner = {"kind": "winner", "options": 3, "among": False}
    for away in (-1, 0, 3):
        here = state(150 + away, [20, 280], strict_first=True)
        for place, by in product((0, 1), (1, -1)):
            if possible(here, place, by):
                there = moved_one(here, place, by)
                twin = made(answers=("a", "b", "c"), cells=4, spec=winner, spoiled=at_state(there, in_clear(0, 3)))
                assert check_personal_lines(twin), (away, place, by)


def test_strictest_middle_and_loosest_people_are_moved() -> None:
    levels = tuple((Epsilon.read(f"ln({number}/4)"), 60) for number in (5, 6, 7, 8, 9))
    here = state(150, [60] * 5, strict_first=True)
    for place in (0, 2, 4):
        by = 1 if possible(here, place, 1) else -1
        twin = made(levels, spoiled=at_state(moved_one(here, place, by), in_clear(0)), level=level_of("ln(9/4)"))
        assert check_personal_lines(twin), place


def test_the_first_two_cells_between_which_the_answer_changes() -> None:
    """From cell 0 to cell 1 nothing changes where cell 2 decides, so people go from cell 0 to cell 2."""
    third = {"kind": "unknown", "among": False}
    here = state(100, [20, 280], strict_first=True, second=2)
    for spoiled, told in ((lambda state: None, False), (at_state(here, in_clear(0)), True)):
        twin = made(cells=3, spec=third, spoiled=spoiled, truth_=lambda cells: int(cells.get(2, 0) > 100))
        assert bool(check_personal_lines(twin)) is told
    never = made(bound=0, spoiled=at_state(state(150, [20, 280], strict_first=True), in_clear(0)))
    assert check_personal_lines(never) == "", "an answer that is the same everywhere has no such place"
