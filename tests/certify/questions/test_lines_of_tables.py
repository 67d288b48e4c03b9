"""Tables of the public size: a mechanism that tells one single table of a line is refused, wherever the referee looks."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from made_up import ADD_REMOVE, SUBSTITUTION, MadeUp, at_table, in_clear, level_of, setting

from optimaldp.certify.core.meanings import lines_of
from optimaldp.certify.core.referee import _public_size
from optimaldp.privacy.balls import precision
from optimaldp.questions import parse

LIKELY = Fraction(49, 100)
FAR = (7, 14, 15, 101, 127, 1024, 2**19)


def count_spec(bound: int) -> dict[str, Any]:
    return {"kind": "count", "comparison": ">=", "bound": bound, "among": False}


def yes_if(bound: int, cell: int = 0) -> Any:
    return lambda table: 0 if table.get(cell, 0) >= bound else 1


def line(people: int, moved: int, first: int = 0, second: int = 1) -> dict[int, int]:
    return {cell: n for cell, n in ((first, people - moved), (second, moved)) if n}


def looked_at(mechanism: Any) -> tuple[str, list[str]]:
    with precision(192):
        return _public_size(mechanism)


def refused(mechanism: Any) -> str:
    return looked_at(mechanism)[0]


def places(people: int, change: int, steps: tuple[int, ...] = FAR) -> list[int]:
    """Near the change, far from it, and at both ends."""
    wanted = {0, people - 1, *range(change - 3, change + 4)}
    wanted |= {change + sign * step for step in steps for sign in (1, -1)}
    return sorted(place for place in wanted if 0 <= place < people)


@pytest.mark.parametrize(("people", "bound"), [(300, 150), (2**20 + 5, 2**19 + 3), (2, 1)])
def test_a_mechanism_that_tells_one_table_of_the_line(people: int, bound: int) -> None:
    """The answer is yes as long as at most people - bound have gone."""
    meaning, asked = yes_if(bound), count_spec(bound)
    fine = MadeUp(("yes", "no"), 2, asked, setting(people))
    failure, words = looked_at(fine)
    assert failure == ""
    assert words[0].startswith(f"tables of {people:,} people near")
    for place in places(people, people - bound):
        for moved in (place, place + 1):  # the table, and its neighbour
            table = line(people, moved)
            clear = MadeUp(("yes", "no"), 2, asked, setting(people), at_table(table, in_clear(meaning(table))))
            assert "not close" in refused(clear), moved
        truth = meaning(line(people, place))
        row = [LIKELY, 1 - LIKELY] if truth == 0 else [1 - LIKELY, LIKELY]
        unlikely = MadeUp(("yes", "no"), 2, asked, setting(people), at_table(line(people, place), row))
        assert "likeliest" in refused(unlikely), place


def test_one_person_more_in_the_cell_that_people_go_to() -> None:
    meaning, asked = yes_if(500), count_spec(500)
    fine = MadeUp(("yes", "no"), 2, asked, setting(relation=ADD_REMOVE))
    failure, words = looked_at(fine)
    assert failure == ""
    assert "of 1,000 people" in words[0], "where the number of people is private"
    for place in places(1000, 500, FAR[:5]):
        larger = {0: 1000 - place, 1: place + 1}
        clear = MadeUp(
            ("yes", "no"), 2, asked, setting(relation=ADD_REMOVE), at_table(larger, in_clear(meaning(larger)))
        )
        assert "not close" in refused(clear), place


def test_very_far_tables_are_tried_on_the_first_line_on_which_the_answer_changes() -> None:
    """Between cells 0 and 1 it never does; between 0 and 2 it does, so 1 and 2 are tried less far."""
    people, meaning, asked = 300, yes_if(150, cell=2), {"kind": "nobody knows", "among": False}
    for first, second, place, steps in ((0, 2, 149, FAR), (1, 2, 149, FAR[:3]), (0, 1, 300, FAR)):
        for moved in places(people, place, steps):
            table = line(people, moved, first, second)
            told = at_table(table, in_clear(meaning(table)))
            clear = MadeUp(("yes", "no"), 3, asked, setting(people), told, truth_=meaning)
            assert "not close" in refused(clear), (first, second, moved)
    never = line(people, 150 - 1 + 101, 1, 2)
    told = at_table(never, in_clear())
    assert not refused(MadeUp(("yes", "no"), 3, asked, setting(people), told, truth_=meaning))


@pytest.mark.parametrize(
    ("relation", "epsilon", "delta", "grown", "given"),
    [
        (SUBSTITUTION, "ln(2)", "1/100", 16, Fraction(15, 100)),
        (SUBSTITUTION, "ln(3)", "1/1000", 81, Fraction(40, 1000)),
        (SUBSTITUTION, "ln(3)", "0", 81, Fraction(0)),
        (SUBSTITUTION, "0", "1/100", 1, Fraction(4, 100)),
        (ADD_REMOVE, "ln(2)", "1/1000", 256, Fraction(255, 1000)),
        (ADD_REMOVE, "0", "1/100", 1, Fraction(8, 100)),
    ],
)
def test_what_changes_between_two_tables_shows_at_them(
    relation: Any, epsilon: str, delta: str, grown: int, given: Fraction
) -> None:
    """Three people behind the change and seven: four moves, or eight, lie between them, and none of these is looked at."""
    asked = setting(1000 if relation is SUBSTITUTION else None, relation, level=level_of(epsilon, delta))
    least = (Fraction(1, 2) - given) / grown
    for seldom, refused_for in ((least * Fraction(99, 100), "several people"), (least * Fraction(101, 100), "")):

        def spoiled(cells: dict[int, int], seldom: Fraction = seldom) -> list[Fraction] | None:
            return [seldom, 1 - seldom] if cells.get(0, 0) < 495 else None

        made_up = MadeUp(("yes", "no"), 2, count_spec(500), asked, spoiled)
        assert refused_for in refused(made_up), seldom
        assert bool(refused(made_up)) is bool(refused_for)


@pytest.mark.parametrize("name", ["smoothed rank", "flip", "flip+"])
def test_laws_that_are_derived_again_are_tried_far_away_as_well(name: str) -> None:
    meaning = yes_if(150)
    for moved in (150 + 7, 150 - 7, 150 + 127, 150 - 127):
        clear = at_table(line(300, moved), in_clear(meaning(line(300, moved))))
        assert refused(MadeUp(("yes", "no"), 2, count_spec(150), setting(300), clear, name)), moved


def test_six_pairs_of_cells_where_answers_are_few_or_their_meaning_is_unknown() -> None:
    pairs = [(0, 1), (0, 8), (0, 9), (1, 8), (1, 9), (8, 9)]
    three = {"kind": "winner", "options": 3, "among": False}
    for answers, spec, tried in (
        (("yes", "no"), count_spec(5), pairs),
        (("a", "b", "c"), {"kind": "nobody knows", "among": False}, pairs),
        (("a", "b", "c"), three, pairs[:2]),
    ):
        lines = list(lines_of(MadeUp(answers, 10, spec, setting(20)), 20))
        assert [(one.first, one.second) for one in lines] == tried
        assert all(one.moving == 20 and not one.others for one in lines)
    assert not list(lines_of(MadeUp(("yes", "no"), 1, count_spec(5), setting(20)), 20)), "from one cell nobody can go"


@pytest.mark.parametrize("bound", [150, 1, 2, 300])
def test_where_the_answer_changes_and_which_tables_are_looked_at(bound: int) -> None:
    """The last table before the change; near it, at the ends, and as far away as is asked, on later lines less far."""
    people, meaning, unknown = 300, yes_if(bound, cell=2), {"kind": "nobody knows", "among": False}
    lines = list(lines_of(MadeUp(("yes", "no"), 3, unknown, setting(people), truth_=meaning), people, FAR))
    change = bound - 1
    assert [(one.first, one.second, one.change) for one in lines] == [(0, 1, people), (0, 2, change), (1, 2, change)]
    assert [list(one.places) for one in lines] == [
        places(people, people),
        places(people, change),
        places(people, change, FAR[:3] if change else FAR),  # one person alone makes no line on which it shows
    ]
    assert [one.meaning({one.first: people - change, one.second: change}) for one in lines] == [1, 1, 1]
    assert [one.meaning({one.first: people - bound, one.second: bound}) for one in lines] == [1, 0, 0]


SEVERAL = "share(a) >= 0.4 and share(b) >= 0.6"
GROUPS = "share(a among g) > share(a among h)"


def made(text: str, people: int, **more: Any) -> Any:
    return parse(text).mechanism(setting(people, **more))


def test_lines_with_people_in_all_cells() -> None:
    """Questions about two numbers: three quarters of the people stand still in the other cells."""
    lines = list(lines_of(made(SEVERAL, 100), 100))
    mixed = [one for one in lines if one.others]
    assert [(one.first, one.second) for one in mixed] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    for one in mixed:
        staying = {0, 1, 2, 3} - {one.first, one.second}
        assert dict(one.others) == dict.fromkeys(staying, 37)
        assert one.moving == 100 - 2 * 37
    assert len(lines) == 6 + 6


@pytest.mark.parametrize(("cells", "lines"), [(32, 5), (17, 5), (16, 4), (3, 3)])
def test_of_many_cells_a_few_lines_are_mixed(cells: int, lines: int) -> None:
    """Up to sixteen cells are all occupied; of the pairs of cells every so many-th is tried."""
    part = {"kind": "count", "comparison": ">=", "bound": 50, "reads": 0, "asks": None}
    asked = {"kind": "several", "thresholds": [part], "word": "and", "among": False}
    mechanism = MadeUp(("yes", "no"), cells, asked, setting(100))
    mixed = [one for one in lines_of(mechanism, 100) if one.others]
    occupied = [0, 1, cells // 3, cells // 2, 2 * cells // 3, cells - 2, cells - 1] if cells > 16 else [*range(cells)]
    assert all(sorted({one.first, one.second, *one.others}) == occupied for one in mixed)
    pairs = list(combinations(occupied, 2))
    assert [(one.first, one.second) for one in mixed] == [
        pairs[k * (len(pairs) // min(4, lines))] for k in range(lines)
    ]


def test_nobody_leaves_a_public_group() -> None:
    mechanism = made(GROUPS, 100, public_groups=True)
    lines = list(lines_of(mechanism, 100))
    assert lines
    for one in lines:
        assert one.others, "no line is about empty groups"
        bits = {(cell >> 1 & 1, cell & 1) for cell in (one.first, one.second)}
        assert len(bits) == 1
    assert not [one for one in lines_of(made("count(a) >= 4", 100), 100) if one.others]


def test_a_law_that_a_second_calculation_does_not_confirm() -> None:
    """A coin that nobody asked is private, and its answers are as likely as each other; but it is not the balanced chain."""
    own = parse("count(x) >= 150").mechanism(setting(300))
    assert not refused(own)
    coin = MadeUp(("yes", "no"), 2, own.question.spec(), setting(300), name="balanced chain")
    assert "second calculation" in refused(coin)
