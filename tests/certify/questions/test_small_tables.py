"""All small tables: a mechanism that is wrong at one of them alone is refused, for its law, its truth or its moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from made_up import (
    ADD_REMOVE,
    SUBSTITUTION,
    Cells,
    MadeUp,
    MadeUpByLevel,
    at_state,
    at_table,
    in_clear,
    level_of,
    setting,
)
from refusals import refusal

from optimaldp.certify import leaders
from optimaldp.certify.core import referee
from optimaldp.certify.core.examined import Finding
from optimaldp.certify.core.meanings import KINDS, watched_cells
from optimaldp.certify.core.referee import _public_size, _small_tables, examine_release
from optimaldp.certify.personal_tables import _rational, _resized, _Tables, examine_personal
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import precision

COUNT = {"kind": "count", "comparison": ">=", "bound": 2, "among": False}
UNKNOWN = {"kind": "nobody knows", "among": False}
LIKELY = Fraction(49, 100)


def small(cells: int, people: int) -> list[Cells]:
    rows = [row for row in product(range(people + 1), repeat=cells) if sum(row) <= people]
    return [{cell: n for cell, n in enumerate(row) if n} for row in rows]


def moves_of_count(relation: Neighbours) -> Callable[[Cells], Any]:
    """At least two of all people: how many must change."""

    def moves(cells: Cells) -> Any:
        yes, people = sum(n for cell, n in cells.items() if cell % 2 == 0), sum(cells.values())
        if relation is SUBSTITUTION and people < 2:
            return float("inf")
        return yes - 1 if yes >= 2 else 2 - yes

    return moves


def made(relation: Neighbours = SUBSTITUTION, spoiled: Any = lambda cells: None, **more: Any) -> MadeUp:
    people = 4 if relation is SUBSTITUTION else None
    return MadeUp(
        more.pop("answers", ("yes", "no")),
        more.pop("cells", 2),
        more.pop("asked", COUNT),
        setting(people, relation),
        spoiled,
        moves_=more.pop("moves_", moves_of_count(relation)),
        **more,
    )


def looked_at(mechanism: MadeUp, look: Any = _small_tables) -> Any:
    with precision(192):
        return look(mechanism)


def failure(mechanism: MadeUp) -> tuple[str, int]:
    """What is wrong, or how many people the tables have that were tried."""
    text, words = looked_at(mechanism)
    assert bool(text) is not bool(words), "what was tried is said where nothing is wrong"
    return text, 0 if text else int(words[0].split(" people")[0].split()[-1])


@pytest.mark.parametrize("relation", [SUBSTITUTION, ADD_REMOVE])
def test_a_law_that_tells_one_small_table(relation: Neighbours) -> None:
    """Up to four people, and the fifth who comes."""
    assert failure(made(relation)) == ("", 4)
    meaning = partial(KINDS["count"].truth, COUNT)
    for table in small(2, 4 if relation is SUBSTITUTION else 5):
        if relation is SUBSTITUTION and not table:
            continue  # nobody can be replaced
        twin = made(relation, at_table(table, in_clear(meaning(table))))
        assert "not close" in failure(twin)[0], table
    far = made(relation, at_table({0: 6}, in_clear()))
    assert failure(far) == ("", 4)


@pytest.mark.parametrize("relation", [SUBSTITUTION, ADD_REMOVE])
def test_a_truth_that_is_less_likely_at_one_small_table(relation: Neighbours) -> None:
    meaning = partial(KINDS["count"].truth, COUNT)
    for table in small(2, 4 if relation is SUBSTITUTION else 5):
        row = [LIKELY, 1 - LIKELY] if meaning(table) == 0 else [1 - LIKELY, LIKELY]
        twin = made(relation, at_table(table, row))
        assert "likeliest" in failure(twin)[0], table
        assert failure(replace(twin, name="smoothed rank"))[0] == "", "whose law is derived again"
        assert failure(replace(twin, asked=UNKNOWN, moves_=lambda cells: float("inf")))[0] == "", (
            "nobody knows the truth"
        )


@pytest.mark.parametrize("relation", [SUBSTITUTION, ADD_REMOVE])
def test_moves_that_are_wrong_at_one_small_table(relation: Neighbours) -> None:
    true = moves_of_count(relation)
    for table in small(2, 4):
        if relation is ADD_REMOVE and sum(table.values()) + true(table) > 5:
            continue  # a shorter way might lead through larger tables
        for more in (1, -1):

            def wrong(cells: Cells, table: Cells = table, more: int = more) -> Any:
                if cells != table:
                    return true(cells)
                return 7 if true(table) == float("inf") else true(table) + more

            assert "search finds" in failure(made(relation, moves_=wrong))[0], (table, more)


def test_moves_are_searched_where_all_cells_are_watched() -> None:
    """Of six cells five are watched: a way through the sixth could be shorter."""
    assert failure(made(cells=5, moves_=lambda cells: 9))[0]
    assert failure(made(cells=6, moves_=lambda cells: 9))[0] == ""


@pytest.mark.parametrize(("cells", "people"), [(2, 4), (3, 4), (4, 4), (5, 2), (6, 2), (9, 2)])
def test_how_many_people_the_tables_have(cells: int, people: int) -> None:
    """As many as eight hundred pairs allow; all of them are tried over the watched cells."""
    fine = made(cells=cells, moves_=moves_of_count(SUBSTITUTION))
    assert failure(fine) == ("", people)
    words = looked_at(fine)[1]
    assert f"up to {people} people" in words[0]
    assert ("all its cells" in words[0]) is (cells <= 5)
    watched = watched_cells(cells, 5)
    for table in ({watched[0]: people}, {watched[-1]: people}, {watched[1]: people - 1, watched[-2]: 1}):
        assert failure(replace(fine, spoiled=at_table(table, in_clear(1))))[0], table


def test_from_one_cell_nobody_can_go() -> None:
    assert failure(made(cells=1, asked=UNKNOWN, moves_=lambda cells: float("inf"))) == ("", 4)


def test_of_five_cells_tables_of_two_are_searched() -> None:
    """Tables of three would be too many: nothing is said of their truth, and of those of two it is."""
    for people, told in ((2, True), (3, False)):
        twin = made(cells=5, spoiled=at_table({3: people}, [1 - LIKELY, LIKELY]))  # who say no
        assert ("likeliest" in failure(twin)[0]) is told, people


def test_nobody_is_no_table_that_can_be_replaced() -> None:
    """Tables of six people under add-remove are beyond what is searched; of five they are not."""
    for people, told in ((5, True), (6, False)):
        wrong = [1 - LIKELY, LIKELY]  # nobody says yes
        twin = made(ADD_REMOVE, at_table({1: people}, wrong))
        assert ("likeliest" in failure(twin)[0]) is told, people


def test_a_row_that_is_too_short_or_no_distribution_is_an_error() -> None:
    for row in ([Fraction(2), Fraction(-1)], [Fraction(1, 3), Fraction(1, 3)]):

        class Row(MadeUp):
            def law(self, table: Any, row: Any = row) -> Any:
                return SimpleNamespace(probabilities=lambda: row)

        fine = made()
        twin = Row(fine.answers, fine.cells, fine.asked, fine.setting)
        with pytest.raises(ArithmeticError, match="no distribution"):
            failure(twin)


def test_public_groups_are_never_left() -> None:
    """A mechanism that tells in which group people are is private where this is public, and only there."""
    asked = {"kind": "mean-difference", "low": 0, "high": 1, "step": 1, "comparison": ">", "margin": 0, "among": False}

    def by_group(cells: Cells) -> list[Fraction] | None:
        return in_clear(1) if any(cell % 4 == 1 for cell in cells) else None  # type: ignore[return-value]

    for public in (True, False):
        twin = MadeUp(("yes", "no"), 12, asked, setting(4, public_groups=public), by_group)
        text = failure(twin)[0]
        assert ("not close" in text) is not public


def test_laws_of_many_answers_are_not_looked_at_on_lines() -> None:
    """Twelve answers of a kind that the referee knows, sixty of another."""
    for asked, most in (({"kind": "winner", "options": 12, "among": False}, 12), (UNKNOWN, 60)):
        for answers, looked in ((most, True), (most + 1, False)):
            names = tuple(map(str, range(answers)))
            twin = MadeUp(names, answers + 1, asked, setting(20), at_table({0: 20}, in_clear(0, answers)))
            assert bool(looked_at(twin, _public_size)[0]) is looked
    assert "tables of 4 people" in looked_at(made(), _public_size)[1][0]


def test_an_election_is_looked_at_in_close_races_as_well() -> None:
    asked = {"kind": "winner", "options": 2, "among": False}
    race = {0: 10, 1: 9}
    for kind, moves in ((asked, election_moves), (UNKNOWN, lambda cells: float("inf"))):
        twin = MadeUp(("a", "b"), 3, kind, setting(4), at_table(race, in_clear(0)), moves_=moves)
        finding = examine_release(twin)
        assert finding.private is (kind is UNKNOWN), finding.failure


def election_moves(cells: Cells) -> Any:
    """Options 0 and 1 and nobody's votes: a tie is won by option 0."""
    a, b, outside = (cells.get(cell, 0) for cell in range(3))
    best = float("inf")
    for own, other, rest in product(range(a + b + outside + 1), repeat=3):
        if own + other + rest == a + b + outside and (own >= other) != (a >= b):
            best = min(best, (abs(own - a) + abs(other - b) + abs(rest - outside)) // 2)
    return best


# --- people with levels of their own ----------------------------------------------------------------------------------

STRICT, LOOSE = Epsilon.read("ln(5/4)"), Epsilon.read("ln(2)")
THIRDS = [Fraction(2, 3), Fraction(1, 3)]  # next to a fair coin: within ln(2), not within ln(5/4)


def by_level(levels: Any = ((STRICT, 2), (LOOSE, 1)), spoiled: Any = lambda state: None, **more: Any) -> MadeUpByLevel:
    people = sum(n for _, n in levels)
    made_for = setting(people, levels=tuple(levels), level=more.pop("level", level_of("ln(2)")))
    return MadeUpByLevel(
        ("yes", "no"), more.pop("cells", 2), more.pop("spec", UNKNOWN), made_for, spoiled_state=spoiled, **more
    )


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1)])
def test_a_law_that_tells_one_small_table_of_two_levels(sizes: tuple[int, int]) -> None:
    pair = (STRICT, LOOSE)
    states = [
        (a, b) for a in small(3, sizes[0]) if sum(a.values()) == sizes[0] for b in small(3, 1) if sum(b.values()) == 1
    ]
    fine = _resized(by_level(cells=3), pair, sizes)
    assert fine.setting.people == sum(sizes)
    assert fine.setting.level.epsilon == LOOSE
    assert fine.setting.levels == tuple(zip(pair, sizes))
    assert _Tables(fine, pair, range(3)).failure() == ""
    for state in states:
        twin = replace(fine, spoiled_state=at_state(state, in_clear(0)))
        assert "own level" in _Tables(twin, pair, range(3)).failure(), state
        # From a table that a strict person leaves: what the loose one may show is too much.
        assert _Tables(replace(fine, spoiled_state=at_state(state, THIRDS)), pair, range(3)).failure(), state
        both = (LOOSE, LOOSE)
        assert _Tables(replace(fine, spoiled_state=at_state(state, THIRDS)), both, range(3)).failure() == "", state


@pytest.mark.parametrize("own", [(), (0,), (1, 1), (0, 2, 2, 2)])
def test_everybody_who_could_change_does(own: tuple[int, ...]) -> None:
    """One person goes to any other cell, in either of the levels; people of one cell are alike."""
    found = list(_Tables(by_level(), (STRICT, LOOSE), range(4))._neighbours((own, (3, 3))))
    for place, people in ((0, own), (1, (3, 3))):
        moved = {
            tuple(sorted((*people[:who], cell, *people[who + 1 :])))
            for who, cell in product(range(len(people)), range(4))
        }
        states = [state for level, state in found if level == place]
        assert all(state[1 - place] == (own, (3, 3))[1 - place] for state in states)
        assert sorted(state[place] for state in states) == sorted(moved - {people})


def test_nothing_is_no_level_and_delta_is_for_the_others() -> None:
    zero, nearly = Epsilon.read(0), [Fraction(11, 20), Fraction(9, 20)]
    for strictest, told in ((zero, True), (Epsilon.read("ln(1.01)"), False)):
        pair = (strictest, LOOSE)
        fine = by_level(((strictest, 1), (LOOSE, 1)), level=level_of("ln(2)", "1/20"))
        assert _Tables(fine, pair, range(2)).failure() == ""
        twin = replace(fine, spoiled_state=at_state(({0: 1}, {0: 1}), nearly))
        assert bool(_Tables(twin, pair, range(2)).failure()) is told


def test_small_tables_of_two_levels_in_balls() -> None:
    pair = (Epsilon.read("0.1"), Epsilon.read("0.5"))
    fine = by_level(((pair[0], 1), (pair[1], 1)), level=level_of("0.5"))
    with precision(192):
        assert _Tables(fine, pair, range(2)).failure() == ""
        more = [Fraction(28, 50), Fraction(22, 50)]
        assert _Tables(replace(fine, spoiled_state=at_state(({0: 1}, {1: 1}), more)), pair, range(2)).failure()
        assert not _Tables(
            replace(fine, spoiled_state=at_state(({0: 1}, {1: 1}), more)), (pair[1],) * 2, range(2)
        ).failure()


def test_rational_levels_next_to_the_real_ones() -> None:
    read = Epsilon.read
    made_of = _rational((read("ln(2)"), read("ln(2.001)")))
    assert [one.exact_ratio for one in made_of] == [2 + Fraction(1, 60), 2 + Fraction(2, 60)], (
        "different where they are"
    )
    assert [one.exact_ratio for one in _rational((read(0), read("0.001")))] == [1, 1 + Fraction(1, 60)]
    assert [one.exact_ratio for one in _rational((read(9), read(9)))] == [3600, 3600]
    assert [one.exact_ratio for one in _rational((read("ln(5/4)"), read(40)))] == [1 + Fraction(16, 60), 3600]


def test_the_strictest_and_the_loosest_level_are_compared() -> None:
    """Of three levels those at the ends: whoever gives the loosest the strictest's place is refused."""
    three = ((STRICT, 50), (Epsilon.read("ln(3/2)"), 50), (LOOSE, 50))

    def spoiled_of(wanted: Epsilon) -> Any:
        def law(self: Any, table: Any) -> Any:
            held = [own for own, _ in table.by_level]
            told = len(held) == 2 and held[1] == wanted and table.by_level[0][1] == {0: 2}
            return MadeUp.law(replace(self, spoiled=lambda cells: in_clear(0) if told else None), table)

        return law

    fine = by_level(three)
    assert examine_personal(fine).private
    for wanted, told in ((LOOSE, True), (Epsilon.read("ln(3/2)"), False)):
        twin = type("Told", (MadeUpByLevel,), {"law": spoiled_of(wanted)})
        made_of = twin(fine.answers, fine.cells, fine.asked, fine.setting)
        assert examine_personal(made_of).private is not told, wanted


def test_the_sampler_of_two_levels_is_tried_at_both_ends() -> None:
    """Everybody's answer in clear at one of the two tables, by the sampler alone."""
    cells = 3
    for state in (({0: 2}, {2: 1}), ({2: 2}, {0: 1})):

        class InClear(MadeUpByLevel):
            def draw(self, table: Any, source: Any, state: Any = state) -> Any:
                return "yes" if tuple(own for _, own in table.by_level) == state else super().draw(table, source)

        fine = by_level(cells=cells)
        assert examine_personal(fine).private
        twin = InClear(fine.answers, fine.cells, fine.asked, fine.setting)
        assert "sampler" in refusal(examine_personal(twin)), state


def test_real_levels_are_tried_with_two_strict_people_and_one_loose_one() -> None:
    """Right at every rational level, in clear at the real one."""
    levels = ((Epsilon.read("0.1"), 5), (Epsilon.read("0.5"), 5))

    class AtReal(MadeUpByLevel):
        def law(self, table: Any) -> Any:
            real = table.by_level[0][0] == Epsilon.read("0.1") and table.people == 3
            told = real and table.by_level[0][1] == {0: 1, 1: 1}
            return MadeUp.law(replace(self, spoiled=lambda cells: in_clear(0) if told else None), table)

    fine = by_level(levels, level=level_of("0.5"))
    assert examine_personal(fine).private
    assert not examine_personal(AtReal(fine.answers, fine.cells, fine.asked, fine.setting)).private


def test_rational_levels_are_tried_with_one_and_with_two_strict_people() -> None:
    """Right at the real level, in clear at the rational ones next to it, for one of the two sizes."""
    levels = ((Epsilon.read("0.1"), 5), (Epsilon.read("0.5"), 5))

    class AtRational(MadeUpByLevel):
        strict = 1

        def law(self, table: Any) -> Any:
            rational = table.by_level[0][0] != Epsilon.read("0.1")
            told = rational and [own for _, own in table.by_level] == [{0: self.strict}, {1: 1}]
            return MadeUp.law(replace(self, spoiled=lambda cells: in_clear(0) if told else None), table)

    fine = by_level(levels, level=level_of("0.5"))
    for strict in (1, 2):
        twin = type("Twin", (AtRational,), {"strict": strict})(fine.answers, fine.cells, fine.asked, fine.setting)
        assert "two small tables" in refusal(examine_personal(twin))


# --- which referee looks ------------------------------------------------------------------------------------------------


def test_a_small_twin_is_named() -> None:
    """Where few of the answers are tried, the finding says so."""
    whole = made()
    few = replace(whole, answers=("yes", "no"), proof="of few")
    object.__setattr__(whole, "small_twin", lambda: few)
    assert "of the same mechanism with 2 answers" in looked_at(whole)[1][0]
    assert "of the same mechanism" not in looked_at(made())[1][0]


def test_what_is_promised_counts_and_not_what_a_twin_says_of_itself() -> None:
    """Private at twice the level, or for other neighbours: the twin with few answers, or the copy at another level."""

    class Looser(MadeUp):
        def at(self, level: Any) -> MadeUp:
            return super().at(level_of("ln(1000)"))

        def law(self, table: Any) -> Any:
            yes = Fraction(19, 20) if table.cells.get(0, 0) >= 2 else Fraction(1, 20)
            return SimpleNamespace(probabilities=lambda: [yes, 1 - yes], order=(0, 1))

    fine = made()
    assert "not close" in failure(Looser(fine.answers, fine.cells, fine.asked, fine.setting, moves_=fine.moves_))[0]
    for other in (setting(4, level=level_of("ln(1000)")), setting(None, ADD_REMOVE, level=level_of("ln(1000)"))):
        whole = made(spoiled=lambda cells: in_clear())
        few = Looser(fine.answers, fine.cells, fine.asked, other, moves_=fine.moves_)
        object.__setattr__(whole, "small_twin", lambda few=few: few)
        assert "not close" in failure(whole)[0]


class Misdrawn(MadeUp):
    def draw(self, table: Any, source: Any) -> Any:
        return self.answers[0]


def test_the_sampler_itself_is_tried() -> None:
    fine = made(asked=UNKNOWN, moves_=lambda cells: float("inf"))
    assert examine_release(fine).private
    twin = Misdrawn(fine.answers, fine.cells, fine.asked, fine.setting, moves_=fine.moves_)
    assert "sampler" in refusal(examine_release(twin))


def test_what_a_law_that_is_none_says_stays_inside() -> None:
    """An error of the law's own may hold anything; only what the referee itself says is repeated."""
    for error, shown in (
        (ArithmeticError("no distribution"), "no distribution"),
        (ZeroDivisionError("17 people"), "ZeroDivisionError"),
    ):

        def law(table: Any, error: Exception = error) -> Any:
            raise error

        twin = made()
        object.__setattr__(twin, "law", law)
        finding = examine_release(twin)
        assert not finding.private
        assert finding.failure.endswith(shown)
        assert "17" not in finding.failure


def test_each_kind_has_its_own_referee(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that has one is examined by it, and from outside as well where its law can be read."""
    asked: list[str] = []

    def special(mechanism: Any) -> Finding:
        asked.append("special")
        return Finding(mechanism.proof != "refused", ("special",), "" if mechanism.proof != "refused" else "by its own")

    monkeypatch.setitem(referee._REFEREES, "special", "leaders.special")
    monkeypatch.setattr(leaders, "special", special, raising=False)
    own = made(asked=UNKNOWN, moves_=lambda cells: float("inf"), name="special")
    both = examine_release(own)
    assert both.private
    assert both.checks[0] == "special"
    assert len(both.checks) > 3, "and from outside"
    assert refusal(examine_release(replace(own, proof="refused"))) == "by its own"
    assert not examine_release(replace(own, spoiled=at_table({0: 1}, in_clear()))).private
    assert examine_release(replace(own, listed=False)).checks == ("special",)
    levels = ((STRICT, 2), (LOOSE, 1))
    personal = replace(by_level(levels), name="special", listed=False)
    asked.clear()
    assert examine_release(personal).private
    assert asked == ["special"], "levels or not"
    assert "own level" in " ".join(examine_release(by_level(levels)).checks)
