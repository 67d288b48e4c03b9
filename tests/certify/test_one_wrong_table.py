"""A referee that says "all tables" looks at all of them: a law that is wrong at a single one, by a hair, is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import pytest
import signed_distances as signed_referee
from searched_distances import examine_distance
from signed_distances import examine_signed_distance, examine_signed_law

from optimaldp.certify import votes as balanced_referee
from optimaldp.certify import votes as weighted_referee
from optimaldp.certify.leaders import examine_top, neighbours_of, tables
from optimaldp.certify.votes import count_of, examine_balanced, examine_weighted, mean_of, share_of
from optimaldp.distances.linear import LinearCondition, count_condition, share_condition
from optimaldp.laws.law import Aim
from optimaldp.laws.options import TopLaw
from optimaldp.laws.personal import threshold_sides
from optimaldp.laws.votes import Sides, sides_at
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, level
from optimaldp.privacy.balls import Ball, ball

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE
THIRD = Fraction(1, 3)
Table = tuple[int, ...]


def small(cells: int, people: int) -> list[Table]:
    return [table for table in product(range(people + 1), repeat=cells) if sum(table) <= people]


def test_tables_and_neighbours_are_all_of_them() -> None:
    for people in range(4):
        assert sorted(tables(3, people)) == [t for t in product(range(people + 1), repeat=3) if sum(t) == people]
    for table in small(3, 3):
        others = [tuple(n + d for n, d in zip(table, move)) for move in product((-1, 0, 1), repeat=3)]
        inside = [other for other in others if min(other) >= 0]
        replaced = {o for o in inside if sum(o) == sum(table) and sum(abs(a - b) for a, b in zip(o, table)) == 2}
        changed = {o for o in inside if sum(abs(a - b) for a, b in zip(o, table)) == 1}
        assert sorted(neighbours_of(table, SUBSTITUTION)) == sorted(replaced)
        assert sorted(neighbours_of(table, ADD_REMOVE)) == sorted(changed)


@pytest.mark.parametrize("relation", [SUBSTITUTION, ADD_REMOVE])
@pytest.mark.parametrize("condition", [count_condition(">=", 2), share_condition(">=", THIRD)], ids=["count", "share"])
def test_moves_that_are_wrong_at_one_table(relation: Neighbours, condition: LinearCondition) -> None:
    meaning = (count_of(">=", Fraction(2)) if condition.need == 2 else share_of(">=", THIRD)).holds

    def passes(truth: Callable[[Table], bool], flips: Callable[[Table], Any]) -> bool:
        return examine_distance(truth, flips, meaning, cells=2, people=3, relation=relation).private

    def truth(table: Table) -> bool:
        return condition.holds(*table[:2])

    def flips(table: Table) -> Any:
        return condition.flips(table[0], table[1], 0, relation)

    assert passes(truth, flips)
    for wrong in small(2, 3):
        assert not passes(lambda table, wrong=wrong: truth(table) is not (table == wrong), flips), wrong  # type: ignore[misc]
        if flips(wrong) == math.inf:
            assert not passes(truth, lambda table, wrong=wrong: 1 if table == wrong else flips(table))  # type: ignore[misc]
            continue
        for more in (1, -1):
            off = lambda table, wrong=wrong, more=more: flips(table) + more * (table == wrong)  # type: ignore[misc]  # noqa: E731
            assert not passes(truth, off), (wrong, more)


@pytest.mark.parametrize("relation", [SUBSTITUTION, ADD_REMOVE])
@pytest.mark.parametrize("comparison", [">=", ">", "<=", "<"])
def test_a_signed_distance_that_is_wrong_at_one_table(relation: Neighbours, comparison: str) -> None:
    condition = share_condition(comparison, THIRD)
    question = share_of(comparison, THIRD, outside=True)

    def signed(table: Table) -> Any:
        return condition.signed(table[0], table[1], table[2], relation)

    def passes(shown: Callable[[Table], Any]) -> bool:
        return examine_signed_distance(shown, question, people=3, relation=relation).private

    assert passes(signed)
    for wrong in small(3, 3):
        if math.isinf(signed(wrong)):
            continue
        for factor in (1 + Fraction(1, 10**9), 1 - Fraction(1, 10**9), -1):
            off = lambda table, wrong=wrong, factor=factor: signed(table) * (factor if table == wrong else 1)  # type: ignore[misc]  # noqa: E731
            assert not passes(off), (wrong, factor)


def test_means_and_counts_of_everybody_pass() -> None:
    values = [Fraction(1), Fraction(2), Fraction(4)]
    assert mean_of(">=", Fraction(2), values).adds == (-1, 0, 2, 0)
    assert count_of(">", Fraction(2), outside=True).adds == (1, 0, 0)
    assert share_of(">", THIRD).adds == (Fraction(2, 3), -THIRD)
    with pytest.raises(ValueError, match="=="):
        count_of("==", Fraction(2)).holds((1, 1))


@pytest.mark.parametrize(("epsilon", "delta"), [("ln(2)", "0"), ("1", "0"), ("1", "1/100"), ("0", "1/100")])
def test_a_signed_law_that_is_wrong_at_one_distance(epsilon: str, delta: str) -> None:
    promise = level(epsilon, delta)
    assert isinstance(promise, ApproximateDP)

    def law(distance: Fraction) -> Sides:
        return sides_at(distance, promise.epsilon, promise.delta)

    assert examine_signed_law(law, promise).private
    seen: list[Fraction] = []
    examine_signed_law(lambda distance: (seen.append(distance), law(distance))[1], promise)
    assert {Fraction(k) for k in range(-6, 7)} <= set(seen)
    assert {Fraction(1, 2), Fraction(-7, 3), Fraction(40)} <= set(seen)
    for wrong in set(seen):
        yes, no = law(wrong)
        if 0 in (yes, no):
            continue

        def off(distance: Fraction, wrong: Fraction = wrong) -> Sides:
            yes, no = map(ball, law(distance))
            hair = (Ball(1) + Ball(2) ** -30) if distance == wrong else Ball(1)
            return (1 - no * hair, no * hair) if distance >= 0 else (yes * hair, 1 - yes * hair)

        assert not examine_signed_law(off, promise).private, wrong
    assert not examine_signed_law(lambda d: law(d)[::-1], promise).private


LEVELS = [Epsilon.read(text) for text in ("0.1", "ln(2)", "1")]
Votes = list[tuple[int, int]]


def by_levels(aim: Aim, least: int, delta: Fraction) -> Callable[[Votes], Sides]:
    condition = count_condition(">=", least)
    return lambda votes: threshold_sides(
        condition, [(e, yes, no, 0) for e, (yes, no) in zip(LEVELS, votes)], aim, among=False, delta=delta
    )


def nudged(sides: Sides) -> Sides:
    """The less likely answer more likely by a hair of itself; a certain answer a hair less certain."""
    yes, no = map(ball, sides)
    hair = Ball(2) ** -20
    more = (yes if yes < no else no) * hair + hair**3
    return (yes + more, no - more) if yes < no else (yes - more, no + more)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000)])
@pytest.mark.parametrize(("sizes", "least"), [([3, 2, 4], 4), ([1, 5, 2], 8), ([2, 1, 3], 1)])
def test_a_balanced_form_that_is_wrong_at_one_probe(sizes: list[int], least: int, delta: Fraction) -> None:
    shown = by_levels(Aim.EVERY_TABLE, least, delta)
    assert examine_balanced(shown, LEVELS, sizes, least, delta=delta).private
    probes = list(balanced_referee.probes(sizes, least))
    assert [(size, 0) for size in sizes] in probes
    assert [(0, size) for size in sizes] in probes
    for votes in probes:
        assert [yes + no for yes, no in votes] == sizes, "every probe has the public sizes"
    for wrong in probes:
        off = lambda votes, wrong=wrong: nudged(shown(votes)) if votes == wrong else shown(votes)  # type: ignore[misc]  # noqa: E731
        assert not examine_balanced(off, LEVELS, sizes, least, delta=delta).private, wrong


def who_decides(votes: Votes, least: int) -> set[tuple[int, int]]:
    """The level, and which person of it in the order of levels, at whom the answer changes."""
    yes = sum(own for own, _ in votes)
    moves = yes - least + 1 if yes >= least else least - yes
    before, deciding = 0, set()
    for place, people in enumerate(own if yes >= least else other for own, other in votes):
        if before < moves <= before + people:
            deciding.add((place, moves - before))
        before += people
    return deciding


@pytest.mark.parametrize(("sizes", "least"), [([3, 2, 4], 4), ([1, 5, 2], 3), ([2, 1, 6], 1), ([4, 4, 4], 7)])
def test_probes_reach_every_person_who_can_decide(sizes: list[int], least: int) -> None:
    """Each level's first, second and last person is the one at whom the answer changes, wherever a table allows it."""
    every = [[(yes, size - yes) for yes, size in zip(row, sizes)] for row in product(*(range(n + 1) for n in sizes))]
    possible = {who for votes in every for who in who_decides(votes, least)}
    wanted = {(place, u) for place, size in enumerate(sizes) for u in (1, 2, size)} & possible
    probes = list(balanced_referee.probes(sizes, least))
    assert wanted <= {who for votes in probes for who in who_decides(votes, least)}
    for answer in (True, False):  # from either side

        def deciding(tables: list[Votes], answer: bool = answer) -> set[tuple[int, int]]:
            sided = [votes for votes in tables if (sum(yes for yes, _ in votes) >= least) is answer]
            return {who for votes in sided for who in who_decides(votes, least)}

        assert wanted & deciding(every) <= deciding(probes), answer
    # Stricter people are all there, or none of them is: both, wherever a table allows it.
    for all_there in (True, False):

        def told(tables: list[Votes], there: bool = all_there) -> set[tuple[int, int]]:
            return {
                who for votes in tables for who in who_decides(votes, least) if stricter(votes, who[0], least) is there
            }

        assert wanted & told(every) <= told(probes)


def stricter(votes: Votes, place: int, least: int) -> bool | None:
    """Whether all of the people with a stricter level could change (True), or none (False)."""
    side = 0 if sum(own for own, _ in votes) >= least else 1
    could = [(pair[side], sum(pair)) for pair in votes[:place]]
    if not could:
        return None
    return True if all(c == n for c, n in could) else False if not any(c for c, _ in could) else None


def test_at_most_one() -> None:
    for pair, near in (((1, 0), True), ((0, 1), True), ((math.inf, math.inf), True), ((math.inf, 3), False)):
        assert signed_referee._at_most_one(*pair) is near
    for off in (Fraction(11, 10), Fraction(-11, 10), 2):
        assert not signed_referee._at_most_one(Fraction(0), Fraction(off))


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000)])
def test_weighted_votes_that_are_wrong_at_one_probe(delta: Fraction) -> None:
    sizes, least = [3, 2, 4], 4
    question = count_of(">=", Fraction(least))
    two = by_levels(Aim.TYPICAL, least, delta)

    def shown(table: Sequence[Sequence[int]]) -> Sides:
        return two([(row[0], row[1]) for row in table])

    def passes(law: Callable[[Any], Sides]) -> bool:
        return examine_weighted(law, question, LEVELS, sizes, centred=True, delta=delta).private

    assert passes(shown)
    probes = list(weighted_referee.weighted_probes(question, sizes))
    moved = {tuple(row[0] for row in table) for table in probes}
    for place, size in enumerate(sizes):
        assert {0, 1, size - 1, size} <= {row[place] for row in moved}
    for wrong in probes:
        assert [sum(row) for row in wrong] == sizes
        off = lambda table, wrong=wrong: nudged(shown(table)) if table == wrong else shown(table)  # type: ignore[misc]  # noqa: E731
        assert not passes(off), wrong


@pytest.mark.parametrize("relation", [SUBSTITUTION, ADD_REMOVE])
def test_a_list_of_leaders_that_is_wrong_at_one_table(relation: Neighbours) -> None:
    law = TopLaw(2, 1, Epsilon.read("ln(2)"), relation)

    def passes(shown: Callable[[Sequence[int]], Any]) -> bool:
        return examine_top(shown, options=2, size=1, epsilon=law.epsilon, relation=relation, people=3).private

    assert passes(law.probabilities)
    known = {tuple(table): law.probabilities(table) for table in small(2, 3)}
    lists = list(permutations(range(2), 1))
    for wrong, row in known.items():
        swapped = dict(zip(lists, reversed([row[one] for one in lists])))
        short = {one: chance * ball(Fraction(999, 1000)) for one, chance in row.items()}
        sure = {one: Ball(1) if chance > Ball(1) / 2 else Ball(0) for one, chance in row.items()}
        tie = not (row[lists[0]] > row[lists[1]] or row[lists[0]] < row[lists[1]])
        for twin in (short, sure) if tie else (swapped, short, sure):
            off = {**known, wrong: twin}
            assert not passes(lambda table, off=off: off[tuple(table)]), (wrong, twin)  # type: ignore[misc]
    assert not passes(lambda table: {lists[0]: Ball(1)})
