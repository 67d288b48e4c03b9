"""Curves for people with levels of their own: against the exact laws table by table, and the least average by exact program."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from optimaldp.designing.level_prior import prior_optimum
from optimaldp.distances.linear import count_condition
from optimaldp.errors import ProblemError
from optimaldp.laws.law import Aim
from optimaldp.laws.level_accuracy import LevelSizes, level_sizes
from optimaldp.laws.personal import threshold_sides
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import precision

ASKED = level_sizes(4, [(1.0, 3), (0.1, 2), (0.5, 2)])
CHANCE = 0.4


def exact_error(asked: LevelSizes, yes: tuple[int, ...], aim: Aim) -> float:
    rows = [(Epsilon.read(e), y, n - y, 0) for e, y, n in zip(asked.levels, yes, asked.sizes)]
    with precision(80):
        sides = threshold_sides(count_condition(">=", asked.least), rows, aim)
    return float(sides[1] if sum(yes) >= asked.least else sides[0])


def tables(asked: LevelSizes) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(size + 1) for size in asked.sizes)))


def ways(asked: LevelSizes, yes: tuple[int, ...]) -> int:
    return math.prod(math.comb(size, count) for size, count in zip(asked.sizes, yes))


AIMS: list[tuple[Aim, Callable[[np.ndarray], np.ndarray]]] = [
    (Aim.TYPICAL, ASKED.weighted),  # law 1
    (Aim.EVERY_TABLE, ASKED.balanced),
]


@pytest.mark.parametrize(("aim", "error"), AIMS)
def test_errors_and_averages_are_those_of_the_exact_laws(aim: Aim, error: Callable[[np.ndarray], np.ndarray]) -> None:
    exact = {yes: exact_error(ASKED, yes, aim) for yes in tables(ASKED)}
    assert error(np.array(list(exact))) == pytest.approx(list(exact.values()), rel=1e-12)
    people = ASKED.people
    average = sum(ways(ASKED, y) * CHANCE ** sum(y) * (1 - CHANCE) ** (people - sum(y)) * p for y, p in exact.items())
    assert ASKED.average(error, CHANCE) == pytest.approx(average, rel=1e-9)
    for truth in (True, False):
        for margin in ASKED.margins(truth=truth):
            total = ASKED.least - 1 + margin if truth else ASKED.least - margin
            here = {y: p for y, p in exact.items() if sum(y) == total}
            mean = sum(ways(ASKED, y) * p for y, p in here.items()) / sum(ways(ASKED, y) for y in here)
            assert ASKED.average_at(error, margin, truth=truth) == pytest.approx(mean, rel=1e-9)
            assert ASKED.worst_at(error, margin, truth=truth) == pytest.approx(max(here.values()), rel=1e-9)


def test_strict_people_left_out_and_strictest_for_all_by_hand() -> None:
    asked = level_sizes(2, [(0.1, 1), (1.0, 2)])
    yes = np.array([[1, 1], [0, 2], [1, 0]])
    left_out = asked.strict_left_out(yes)  # of two people at least half of 1.5, rounded up: two
    assert left_out == pytest.approx([1 - 1 / (1 + math.e), 1 / (1 + math.e), math.exp(-1) / (1 + math.e)])
    assert asked.strictest_for_all(yes) == pytest.approx([1 / (1 + math.exp(0.1))] * 3, rel=0.2)


def test_sampling_is_an_average_over_who_is_kept() -> None:
    asked = level_sizes(2, [(0.5, 2), (1.0, 1)])
    keep = math.expm1(0.5) / math.expm1(1.0)
    tau = 0.5
    expected = 0.0
    for first, second in itertools.product(
        (True, False), repeat=2
    ):  # one strict person says yes, one no; the loose one yes
        chance = (keep if first else 1 - keep) * (keep if second else 1 - keep)
        lead = (1 - tau) * (1 + first) - tau * second
        flips = math.ceil(lead) if lead > 0 else math.floor(-lead) + 1
        error = math.exp(-(flips - 1)) / (1 + math.e)
        expected += chance * (error if lead > 0 else 1 - error)
    assert asked.sampled(np.array([[1, 1]])) == pytest.approx([expected], rel=1e-7)


def near_the_middle(asked: LevelSizes, error: Callable[[np.ndarray], np.ndarray], near: int) -> float:
    """The average over votes in which the loose people's count lies within *near* of the middle."""
    middle = asked.sizes[1] // 2
    table = [(s, y) for s in range(asked.sizes[0] + 1) for y in range(middle - near, middle + near + 1)]
    weights = np.array([float(Fraction(ways(asked, yes), 2**asked.people)) for yes in table])
    return float(error(np.array(table)) @ weights / weights.sum())


@pytest.mark.parametrize(
    ("strict", "near", "reported"),
    [
        (10, None, (0.1084, 0.0404, 0.0391)),
        (20, None, (0.1567, 0.0518, 0.0489)),
        (10, 40, (0.1095, 0.0408, 0.0395)),
        (20, 40, (0.1582, 0.0523, 0.0494)),
        (100, None, (0.1982, 0.1058, 0.0962)),
    ],
)
def test_the_table_of_average_errors(strict: int, near: int | None, reported: tuple[float, ...]) -> None:
    """Of 1001 people, over all votes and over those near the middle (docs/decisions/0007-average-errors.md)."""
    asked = level_sizes(501, [(0.1, strict), (1.0, 1001 - strict)])
    for error, expected in zip((asked.balanced, asked.strict_left_out, asked.weighted), reported):
        average = asked.average(error, 0.5) if near is None else near_the_middle(asked, error, near)
        assert round(average, 4) == expected


def test_the_table_of_average_errors_of_a_share() -> None:
    asked = level_sizes(300, [(0.1, 300), (1.0, 700)])
    weightless = level_sizes(300, [(0.0, 300), (1.0, 700)])
    kinds = (asked.balanced, weightless.weighted, asked.weighted)
    assert [round(asked.average(error, 0.3), 4) for error in kinds] == [0.21, 0.1876, 0.1672]


def test_at_margin_fifteen_the_balanced_law_errs_three_thousand_times_as_often() -> None:
    """21 strict people of 1001 who vote as fair coins, whatever the others say."""
    asked = level_sizes(501, [(0.1, 21), (1.0, 980)])
    table = np.array([(s, 515 - s) for s in range(22)])
    coins = np.array([math.comb(21, s) / 2**21 for s in range(22)])
    times = (asked.balanced(table) @ coins) / (asked.strict_left_out(table) @ coins)
    assert times == pytest.approx(2963.757, abs=1e-3)


def test_very_many_people_take_no_longer() -> None:
    large = level_sizes(500_001, [(0.1, 100_000), (1.0, 900_001)])
    typical, strictest = large.average(large.weighted, 0.5), large.average(large.strictest_for_all, 0.5)
    assert strictest < typical  # strict people are hardly heard
    cap, capped = large.best_cap(0.5)
    assert capped <= strictest * 1.01 < typical / 5
    assert 0.1 <= cap < 0.2


def test_a_cap_is_between_the_two_extremes() -> None:
    asked = level_sizes(300, [(0.1, 300), (1.0, 700)])
    cap, capped = asked.best_cap(0.3)
    assert 0.3 < cap < 0.6
    assert capped == pytest.approx(0.156, abs=5e-4)
    assert asked.average(asked.weighted, 0.3) == pytest.approx(0.1672, abs=5e-5)
    assert asked.capped(0.1).average_weighted(0.3) == pytest.approx(asked.average(asked.strictest_for_all, 0.3))


def test_the_least_average_error_is_below_both_aims_and_private() -> None:
    levels, sizes, least = ["ln(11/10)", "ln(3)"], [3, 4], 4
    best = prior_optimum(least, levels, sizes)
    asked = level_sizes(least, [(math.log(1.1), 3), (math.log(3), 4)])
    typical, balanced = (asked.average(error, 0.5) for error in (asked.weighted, asked.balanced))
    assert float(best.average_error) < min(typical, balanced)
    errors = {point: chance if sum(point) < least else 1 - chance for point, chance in best.yes}
    assert set(errors) == set(itertools.product(range(4), range(5)))
    again = sum((Fraction(math.comb(3, a) * math.comb(4, b), 2**7) * p for (a, b), p in errors.items()), Fraction(0))
    assert again == best.average_error
    assert best.multipliers


def test_one_level_is_the_balanced_optimum_for_an_even_prior() -> None:
    best = prior_optimum(2, ["ln(2)"], [3])
    assert [best.at((k,)) for k in range(4)] == [
        Fraction(1, 6),
        Fraction(1, 3),
        Fraction(2, 3),
        Fraction(5, 6),
    ]


def test_a_grid_that_is_too_large_is_refused() -> None:
    with pytest.raises(ProblemError):
        prior_optimum(500, [0.1, 1], [100, 901])


def test_averages_where_most_people_are_strict() -> None:
    """All choices of who says yes count, also those with more yes among the strict than there are others."""
    asked = LevelSizes(4, (0.1, 1.0), (5, 2))
    for margin in asked.margins():
        here = [yes for yes in tables(asked) if sum(yes) == asked.least - 1 + margin]
        mean = sum(ways(asked, yes) * yes[0] for yes in here) / sum(ways(asked, yes) for yes in here)
        assert asked.average_at(lambda yes: yes[:, 0].astype(float), margin) == pytest.approx(mean, rel=1e-9)
