"""Means of two public groups against the search over all tables of the same sizes, and sums that never change."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import pytest

from optimaldp.distances.linear import LinearCondition
from optimaldp.distances.ranking import real_moves, whole_moves
from optimaldp.distances.several import Clause, flips_of_all
from optimaldp.distances.two_groups import heights, public_mean_difference
from optimaldp.errors import QuestionError
from optimaldp.laws.law import Setting
from optimaldp.privacy import Neighbours, level
from optimaldp.questions import parse

SUBSTITUTION = Neighbours.SUBSTITUTION
VALUES: tuple[Fraction | None, ...] = (Fraction(1), Fraction(3, 2), Fraction(2), None)
"""The grid from 1 to 2 in steps of one half, and no value, which counts as the middle."""

Group = tuple[int, ...]
"""Places in VALUES, in rising order."""


def mean(group: Group) -> Fraction:
    values = [VALUES[place] for place in group]
    return sum((Fraction(3, 2) if value is None else value for value in values), Fraction(0)) / len(group)


def replaced(first: Group, second: Group) -> int:
    """How many records differ between two groups of one size."""
    remaining = list(second)
    for place in first:
        if place in remaining:
            remaining.remove(place)
    return len(remaining)


def holds(comparison: str, difference: Fraction, margin: Fraction) -> bool:
    return {
        ">": difference > margin,
        ">=": difference >= margin,
        "<": difference < margin,
        "<=": difference <= margin,
    }[comparison]


@pytest.mark.parametrize("comparison", [">", ">=", "<", "<="])
@pytest.mark.parametrize("margin", ["0", "1/4", "1"])
@pytest.mark.parametrize("sizes", [(1, 2), (2, 2), (3, 1)])
def test_flips_by_trying_all_tables(comparison: str, margin: str, sizes: tuple[int, int]) -> None:
    one = "mean(x, range=[1, 2], step=0.5 among"
    question: Any = parse(f"{one} a) {comparison} {one} b) + {margin}")
    tables = [
        (first, second)
        for first in combinations_with_replacement(range(4), sizes[0])
        for second in combinations_with_replacement(range(4), sizes[1])
    ]
    truth = {table: holds(comparison, mean(table[0]) - mean(table[1]), Fraction(margin)) for table in tables}
    setting = Setting(level(1), SUBSTITUTION, public_groups=True)
    for table in tables:
        counts = question.read_counts([group.count(place) for group in table for place in range(4)])
        assert question.truth(counts) == (0 if truth[table] else 1)
        moves = [
            replaced(table[0], other[0]) + replaced(table[1], other[1])
            for other in tables
            if truth[other] is not truth[table]
        ]
        least = min(moves, default=math.inf)
        assert question.flips(counts, SUBSTITUTION) == least
        signed = question.signed(counts, setting)
        assert (signed > 0) is truth[table]
        assert least - 1 < abs(signed) <= least or signed in (math.inf, -math.inf)


def test_heights_of_a_grid() -> None:
    assert heights({0: 2, 2: 1}, 3, positions=3) == {0: 2, 4: 1, 2: 3}
    assert public_mean_difference(">", Fraction(1), positions=5, step=Fraction(1, 4)).highest == 8


def test_moves_of_several_sizes() -> None:
    assert real_moves([(5, 2), (2, None)], 10) == 2
    assert real_moves([(5, 2), (2, None)], 11) == Fraction(5, 2)
    assert real_moves([(5, 2)], 11) == math.inf
    assert real_moves([(5, 2), (0, None)], 11) == math.inf
    assert real_moves([(2, 1), (5, 1), (-3, 9)], 6) == Fraction(3, 2)
    assert real_moves([(5, 2)], 0) == 0
    assert [whole_moves([(5, 2), (2, None)], gap) for gap in (1, 5, 6, 10, 11, 12, 13)] == [1, 1, 2, 2, 3, 3, 4]


def test_a_sum_that_is_always_nothing() -> None:
    for need, sign in ((1, -1), (0, 1), (2, -1), (-1, 1)):
        condition = LinearCondition(0, 0, need)
        assert condition.signed(3, 4, 5, SUBSTITUTION) == sign * math.inf
        assert condition.flips(3, 4, 5, SUBSTITUTION) == math.inf


@pytest.mark.parametrize("parts", [0, 4])
def test_how_many_thresholds_can_be_joined(parts: int) -> None:
    joined = [Clause(LinearCondition(1, 0, 1))] * parts
    with pytest.raises(QuestionError):
        flips_of_all(joined, (1,) * 2**parts, SUBSTITUTION)
