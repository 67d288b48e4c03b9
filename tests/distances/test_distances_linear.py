"""Among, count and mean: truth, whole moves and the signed distance against breadth-first search, both relations."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

import pytest
from universe import (
    Table,
    add_remove_flips,
    added_or_removed,
    disagreements,
    replaced,
    sparse_counts,
    substitution_flips,
    tables,
)

from optimaldp.distances.linear import MeanBound, count_condition, share_condition
from optimaldp.errors import QuestionError
from optimaldp.privacy import Neighbours

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE
COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
BOUNDS = [Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(7, 10), Fraction(1)]


def share_truth(comparison: str, bound: Fraction) -> Callable[[Table], bool]:
    return lambda table: COMPARE[comparison](table[0], bound * (table[0] + table[1]))


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize("bound", BOUNDS)
def test_share_among(comparison: str, bound: Fraction) -> None:
    truth = share_truth(comparison, bound)
    assert all(share_condition(comparison, bound).holds(*t[:2]) == truth(t) for t in tables(3, 6))
    searched = substitution_flips(3, 7, truth)
    assert not disagreements(lambda t: share_condition(comparison, bound).flips(*t, SUBSTITUTION), searched, small=7)
    searched = add_remove_flips(3, 16, truth)
    wrong = disagreements(
        lambda t: share_condition(comparison, bound).flips(*t, ADD_REMOVE),
        searched,
        small=6,
        room=16,
    )
    assert not wrong, wrong[:3]


def test_a_share_of_everybody_is_not_a_share_among() -> None:
    """The wrong twin: people outside who cannot come in."""
    searched = substitution_flips(3, 5, share_truth(">=", Fraction(1, 3)))
    shut_out = disagreements(
        lambda t: share_condition(">=", Fraction(1, 3)).flips(t[0], t[1], 0, SUBSTITUTION), searched, small=5
    )
    assert shut_out


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize("bound", ["-1", "0", "1", "5/2", "4", "9"])
def test_count_among(comparison: str, bound: str) -> None:
    condition = count_condition(comparison, Fraction(bound))

    def truth(table: Table) -> bool:
        return bool(COMPARE[comparison](table[0], Fraction(bound)))

    for neighbours, searched in (
        (SUBSTITUTION, substitution_flips(3, 6, truth)),
        (ADD_REMOVE, add_remove_flips(3, 16, truth)),
    ):
        assert all(condition.holds(*t[:2]) == truth(t) for t in tables(3, 6))
        room = None if neighbours is SUBSTITUTION else 16
        assert not disagreements(lambda t: condition.flips(*t, neighbours), searched, small=6, room=room)  # noqa: B023


GRIDS = [
    ("0", "3", "1", "3/2"),
    ("0", "3", "1", "0"),
    ("0", "3", "1", "3"),
    ("1", "4", "1", "7/3"),
    ("-1", "1/2", "1/2", "1/5"),
]


def mean_bound(comparison: str, grid: tuple[str, str, str, str]) -> MeanBound:
    low, high, step, bound = map(Fraction, grid)
    return MeanBound(comparison, bound, low, high, step)


def mean_truth(question: MeanBound) -> Callable[[Table], bool]:
    """The last cell holds people without a value; the mean is compared after multiplying by the number of values."""

    def truth(table: Table) -> bool:
        total = sum(people * (question.low + i * question.step) for i, people in enumerate(table[:-1]))
        return bool(COMPARE[question.comparison](total, question.bound * sum(table[:-1])))

    return truth


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize("grid", GRIDS)
def test_mean(comparison: str, grid: tuple[str, str, str, str]) -> None:
    question = mean_bound(comparison, grid)
    truth, cells = mean_truth(question), question.values + 1
    assert all(question.holds(sparse_counts(t[:-1])) == truth(t) for t in tables(cells, 4))
    searched = substitution_flips(cells, 4, truth)
    assert not disagreements(lambda t: question.flips(sparse_counts(t[:-1]), t[-1], SUBSTITUTION), searched, small=4)
    searched = add_remove_flips(cells, 7, truth)
    assert not disagreements(
        lambda t: question.flips(sparse_counts(t[:-1]), t[-1], ADD_REMOVE), searched, small=3, room=7
    )


def lipschitz_breaches(
    signed: Callable[[Table], Fraction | float], universe: list[Table], around: Callable[[Table], list[Table]]
) -> list[tuple[Table, Table]]:
    """Neighbours between which the signed distance moves by more than 1."""
    known = {table: signed(table) for table in universe}
    pairs = ((a, b) for a in universe for b in around(a) if b in known)
    return [(a, b) for a, b in pairs if known[a] != known[b] and not abs(known[a] - known[b]) <= 1]


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize("grid", GRIDS)
def test_one_person_moves_the_signed_distance_of_a_mean_by_at_most_one(
    comparison: str, grid: tuple[str, str, str, str]
) -> None:
    question = mean_bound(comparison, grid)
    universe = list(tables(question.values + 1, 4))
    truth = mean_truth(question)
    for neighbours in Neighbours:

        def signed(table: Table, neighbours: Neighbours = neighbours) -> Fraction | float:
            return question.signed(sparse_counts(table[:-1]), table[-1], neighbours)

        around = replaced if neighbours is SUBSTITUTION else lambda t: added_or_removed(t, 4)
        assert not lipschitz_breaches(signed, universe, around)
        assert all((signed(t) > 0) == truth(t) and signed(t) != 0 for t in universe)
        assert lipschitz_breaches(lambda t: signed(t) * Fraction(11, 10), universe, around) or grid[3] in (
            grid[0],
            grid[1],
        )


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize("bound", BOUNDS)
def test_one_person_moves_the_signed_distance_of_a_share_by_at_most_one(comparison: str, bound: Fraction) -> None:
    universe = list(tables(3, 6))
    for neighbours in Neighbours:

        def signed(table: Table, neighbours: Neighbours = neighbours) -> Fraction | float:
            return share_condition(comparison, bound).signed(*table, neighbours)

        around = replaced if neighbours is SUBSTITUTION else lambda t: added_or_removed(t, 6)
        assert not lipschitz_breaches(signed, universe, around)
        for table in universe:
            assert (signed(table) > 0) == share_truth(comparison, bound)(table)
            whole = share_condition(comparison, bound).flips(*table, neighbours)
            assert math.inf == whole or whole == math.ceil(abs(signed(table)))


def test_a_wrong_unit_is_not_private() -> None:
    """The wrong twin: half of the step instead of half of gcd(step, t - lo) puts tables on the wrong side."""
    question = mean_bound(">=", ("0", "3", "1", "7/3"))
    truth = mean_truth(question)
    coarse = [t for t in tables(5, 4) if ((2 * question.excess(sparse_counts(t[:-1])) + 3) > 0) != truth(t)]
    assert coarse  # three units are one step


def test_a_mean_of_ten_million_people_on_a_fine_grid() -> None:
    question = MeanBound(">=", Fraction(50_000), Fraction(0), Fraction(10**6), Fraction(1))
    incomes = {20_000: 4_000_000, 80_000: 5_999_999}
    away = question.signed(incomes, 1, SUBSTITUTION)
    assert away > question.excess(incomes) / 10**6  # fewer people would do only if everybody earned a million
    assert question.flips(incomes, 1, SUBSTITUTION) == math.ceil(away)


@pytest.mark.parametrize(
    ("grid", "field"),
    [
        (("1", "1", "1", "1"), "range"),
        (("5", "1", "1", "3"), "range"),
        (("0", "1", "2/3", "1/2"), "step"),
        (("0", "1", "0", "1/2"), "step"),
        (("0", "1", "1", "2"), "mean"),
        (("0", "1", "1", "-1/10"), "mean"),
    ],
)
def test_a_mean_that_cannot_be_asked(grid: tuple[str, str, str, str], field: str) -> None:
    with pytest.raises(QuestionError) as refused:
        mean_bound(">=", grid)
    assert refused.value.field == field


@pytest.mark.parametrize("make", [count_condition, share_condition])
@pytest.mark.parametrize("comparison", ["=", "!=", "=>", "", ">= "])
def test_what_is_not_a_comparison_is_no_condition(make: Callable[..., object], comparison: str) -> None:
    with pytest.raises(QuestionError, match=r"^comparison: .* is not a comparison; use >=, >, <= or <\.$"):
        make(comparison, Fraction(1, 2))
