"""Two groups, private and public: against breadth-first search over all small tables, both relations."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from fractions import Fraction

import pytest
from universe import Table, add_remove_flips, disagreements, replaced, search, substitution_flips, tables

from optimaldp.distances.two_groups import (
    GroupDifference,
    flips_of_share_difference,
    heights,
    public_mean_difference,
    public_share_difference,
    share_difference_holds,
)
from optimaldp.errors import QuestionError
from optimaldp.privacy import Neighbours

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE
COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
MARGINS = [Fraction(0), Fraction(1, 50), Fraction(1, 3), Fraction(3, 4), Fraction(1)]


def truth_of(comparison: str, margin: Fraction) -> Callable[[Table], bool]:
    """share A against share B + margin, times the two sizes."""

    def truth(table: Table) -> bool:
        a, b, c, e = table[:4]
        return bool(COMPARE[comparison](a * (c + e), c * (a + b) + margin * (a + b) * (c + e)))

    return truth


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize("margin", MARGINS)
def test_private_groups_under_substitution(comparison: str, margin: Fraction) -> None:
    truth = truth_of(comparison, margin)
    assert all(share_difference_holds(comparison, margin, t) == truth(t) for t in tables(5, 5))  # type: ignore[arg-type]
    searched = substitution_flips(5, 7, truth)
    wrong = disagreements(
        lambda t: flips_of_share_difference(comparison, margin, t, SUBSTITUTION),  # type: ignore[arg-type]
        searched,
        small=7,
    )
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize("margin", MARGINS)
def test_private_groups_under_add_remove(comparison: str, margin: Fraction) -> None:
    searched = add_remove_flips(4, 14, truth_of(comparison, margin))
    wrong = disagreements(
        lambda t: flips_of_share_difference(comparison, margin, (*t, 3), ADD_REMOVE),  # type: ignore[arg-type]
        searched,
        small=8,
        room=14,
    )
    assert not wrong, wrong[:3]


def least_by_trying(margin: Fraction, cells: Table, strict: bool) -> int:
    """Every table at the distance, one distance after the other: slow, and nothing but the definition."""
    truth = truth_of(">" if strict else ">=", margin)
    layer, before, steps = {cells}, {cells}, 0
    answer = truth(cells)
    while all(truth(t) == answer for t in layer):
        layer = {t for s in layer for t in replaced(s)} - before
        before |= layer
        steps += 1
    return steps


@pytest.mark.parametrize(
    "cells", [(9, 2, 3, 7, 1), (2, 9, 8, 2, 0), (1, 1, 9, 9, 2), (12, 0, 0, 1, 0), (0, 5, 6, 0, 4)]
)
@pytest.mark.parametrize("margin", [Fraction(0), Fraction(1, 7), Fraction(2, 5)])
def test_larger_private_groups(cells: Table, margin: Fraction) -> None:
    for comparison in (">", ">="):
        ours = flips_of_share_difference(comparison, margin, cells, SUBSTITUTION)  # type: ignore[arg-type]
        assert ours == least_by_trying(margin, cells, comparison == ">")


def test_fixed_group_sizes_are_not_enough() -> None:
    """The wrong twin: people who may change their opinion but not their group need more moves."""
    kept = public_share_difference(">", Fraction(0))
    table = (1, 9, 9, 1, 0)
    public = kept.flips({1: 1, 0: 9}, {1: 9, 0: 1})
    assert flips_of_share_difference(">", Fraction(0), table, SUBSTITUTION) < public


def test_ten_million_people_in_private_groups() -> None:
    cells = (3_000_000, 2_000_000, 1_000_000, 4_000_000, 10**6)
    far = flips_of_share_difference(">", Fraction(1, 50), cells, SUBSTITUTION)
    assert 500_000 < far < 2_000_000
    nearer = flips_of_share_difference(">", Fraction(1, 50), (*cells[:4], 0), SUBSTITUTION)
    assert nearer == far  # those outside are never needed while others are there


def public_truth(question: GroupDifference) -> Callable[[Table], bool]:
    """Cells are the heights of A, then those of B; the sizes never change."""
    size = question.highest + 1

    def truth(table: Table) -> bool:
        first, second = table[:size], table[size:]
        sums = [sum(i * people for i, people in enumerate(group)) for group in (first, second)]
        n, m = sum(first), sum(second)
        return bool(COMPARE[question.comparison](sums[0] * m, sums[1] * n + question.margin * n * m))

    return truth


def within_groups(table: Table) -> list[Table]:
    half = len(table) // 2
    return [(*t, *table[half:]) for t in replaced(table[:half])] + [(*table[:half], *t) for t in replaced(table[half:])]


def as_heights(table: Table) -> tuple[dict[int, int], dict[int, int]]:
    half = len(table) // 2
    return dict(enumerate(table[:half])), dict(enumerate(table[half:]))


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize(("highest", "margin"), [(1, "0"), (1, "1/5"), (1, "1"), (2, "0"), (2, "1/3"), (3, "1/2")])
def test_public_groups(comparison: str, highest: int, margin: str) -> None:
    question = GroupDifference(comparison, Fraction(margin), highest)
    truth, cells = public_truth(question), highest + 1
    for n, m in itertools.product(range(5 if highest == 1 else 4), repeat=2):
        groups = ([t for t in tables(cells, size) if sum(t) == size] for size in (n, m))
        universe = [(*a, *b) for a, b in itertools.product(*groups)]
        searched = search(universe, within_groups, truth)
        signed = {t: question.signed(*as_heights(t)) for t in universe}
        for table in universe:
            assert question.holds(*as_heights(table)) == truth(table) == (signed[table] > 0)
            assert question.flips(*as_heights(table)) == searched[table], table
            for other in within_groups(table):
                assert signed[table] == signed[other] or abs(signed[table] - signed[other]) <= 1


def test_the_unit_must_not_depend_on_who_occurs() -> None:
    """The wrong twin: heights divided by their common factor, which the data decide, move W by more than 1."""
    question = GroupDifference(">=", Fraction(0), 4)
    before, after = ({0: 1, 4: 1}, {0: 1, 4: 1}), ({0: 1, 4: 1}, {1: 1, 4: 1})
    assert abs(question.signed(*before) - question.signed(*after)) <= 1
    halved = GroupDifference(">=", Fraction(0), 1).signed({0: 1, 1: 1}, {0: 1, 1: 1})  # the same table in units of 4
    assert halved != question.signed(*before)


def test_people_without_a_value_stand_in_the_middle() -> None:
    assert heights({0: 1, 2: 4}, 5, positions=3) == {0: 1, 4: 4, 2: 5}
    question = public_mean_difference(">", Fraction(1, 2), positions=3, step=Fraction(1))
    lifted = heights({1: 2}, 0, positions=3), heights({}, 2, positions=3)
    assert not question.holds(*lifted)
    assert question.flips(*lifted) == 2  # one person at the top makes the difference 1/2, which is not more than 1/2


@pytest.mark.parametrize("margin", ["-1/10", "11/10"])
def test_a_margin_that_cannot_be_asked(margin: str) -> None:
    with pytest.raises(QuestionError):
        flips_of_share_difference(">", Fraction(margin), (1, 1, 1, 1, 1), SUBSTITUTION)


def test_what_cannot_change() -> None:
    assert flips_of_share_difference(">", Fraction(1), (3, 1, 0, 4, 2), ADD_REMOVE) == math.inf
    assert flips_of_share_difference(">", Fraction(0), (1, 0, 0, 0, 0), SUBSTITUTION) == math.inf
    assert public_share_difference(">", Fraction(0)).flips({1: 3, 0: 2}, {}) == math.inf
