"""What previews are made of, by hand and by brute force: made-up tables, their groups, bounds with 95 %, curves of levels."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from optimaldp.laws import level_accuracy
from optimaldp.laws import quantile_rivals as rivals
from optimaldp.laws.level_accuracy import LevelSizes, hypergeometric_axis
from optimaldp.laws.quantile import quantile_law
from optimaldp.laws.quantile_accuracy import QuantileAccuracy, accuracy_with_rivals, even_accuracy, summarise
from optimaldp.laws.quantile_rivals import Spread, even_cells, spread_of
from optimaldp.privacy import level

HALF = Fraction(1, 2)

# Made-up tables.


@pytest.mark.parametrize(
    ("asked", "cells"),
    [
        ((5, 20, HALF, 0.0), {0: 4, 1: 4, 2: 4, 3: 4, 4: 4}),
        ((3, 10, HALF, 0.0), {0: 3, 1: 4, 2: 3}),
        ((10, 4, HALF, 0.0), {1: 1, 3: 1, 6: 1, 8: 1}),
        ((6, 6, HALF, 0.0), dict.fromkeys(range(6), 1)),
        ((2, 3, Fraction(1), 0.0), {0: 2, 1: 1}),
        # Four people on either side of the quantile matter at this epsilon: 60/30 and two.
        ((10, 100, HALF, 30.0), {4: 50, 5: 50}),
        ((100, 1000, HALF, 30.0), {49: 500, 50: 500}),
        ((10, 100, Fraction(1), 30.0), {9: 100}),
        ((40, 20, HALF, 30.0), {13: 7, 15: 1, 17: 1, 19: 1, 21: 1, 23: 1, 25: 1, 27: 7}),
        ((4, 8, Fraction(1, 8), 60.0), {0: 2, 1: 2, 2: 4}),
    ],
)
def test_people_spread_evenly(asked: tuple[int, int, Fraction, float], cells: dict[int, int]) -> None:
    assert even_cells(*asked) == cells


def test_a_shift_moves_people_from_the_last_bin_to_the_first() -> None:
    assert even_cells(5, 20, HALF, 0.0, shift=3) == {0: 7, 1: 4, 2: 4, 3: 4, 4: 1}
    assert even_cells(10, 100, HALF, 30.0, shift=4) == {4: 54, 5: 46}


def test_groups_of_many_bins() -> None:
    spread = spread_of({3: 5, 700: 4, 9000: 6, 5: 0}, 10_000, HALF)
    assert (spread.bins, spread.persons, spread.truth) == (10_000, 15, 700)
    assert spread.first.tolist() == [0, 1, 3, 4, 700, 701, 9000, 9001, 9999]
    assert spread.size.tolist() == [1, 2, 1, 696, 1, 8299, 1, 998, 1]
    assert spread.below.tolist() == [0, 0, 0, 5, 5, 9, 9, 15, 15]
    assert spread.above.tolist() == [15, 15, 10, 10, 6, 6, 0, 0, 0]
    # The eighth of fifteen people is wanted: from below the missing ones must come, from above those too many must go.
    assert spread.distance.tolist() == [8, 8, 3, 3, 0, 2, 2, 8, 8]


@pytest.mark.parametrize(("bins", "groups"), [(4096, 4096), (4097, 5)])
def test_bins_are_listed_one_by_one_while_there_are_few(bins: int, groups: int) -> None:
    spread = spread_of({2000: 3}, bins, HALF)
    assert len(spread.size) == groups
    assert spread.size.sum() == bins


def test_people_in_the_outermost_bins_leave_no_empty_group_there() -> None:
    spread = spread_of({0: 1, 4999: 2}, 5000, HALF)
    assert spread.first.tolist() == [0, 1, 4999]
    assert spread.size.tolist() == [1, 4998, 1]
    assert spread.distance.tolist() == [1, 1, 0]


# Figures.


def spread(truth: int, first: list[int], size: list[int], distance: list[int]) -> Spread:
    columns = (np.array(column, dtype=float) for column in (first, size, distance, distance, distance))
    return Spread(sum(size), truth, 9, *columns)


@pytest.mark.parametrize(
    ("probabilities", "rank_bound", "bins_bound"),
    [
        ([0.5, 0.5], 3, 14),  # nine tenths of the second group: five bins off, and nine of its ten steps
        ([0.94, 0.06], 3, 7),  # a sixth of it
        ([0.96, 0.04], 0, 0),
        ([0.0, 1.0], 3, 15),
        ([0.5, 0.3], 3, 15),  # less than 95 % altogether: all of it
    ],
)
def test_bounds_with_95_per_cent(probabilities: list[float], rank_bound: int, bins_bound: int) -> None:
    figures = summarise("ours", spread(0, [0, 5], [5, 11], [0, 3]), np.array(probabilities))
    # The truth's own group is five bins wide: inside of it the answer is off by two bins on average.
    inside = [0 + 4 / 2, 5 + 10 / 2]
    assert figures.bins_off == pytest.approx(sum(p * off for p, off in zip(probabilities, inside)))
    assert figures.rank_bound == rank_bound
    if probabilities[0] < 0.95:
        assert figures.bins_bound == bins_bound
    else:
        assert figures.bins_bound == math.ceil(0.95 / 0.96 * 4)


def test_groups_on_both_sides_of_the_truth() -> None:
    made = spread(10, [0, 10, 11], [10, 1, 9], [2, 0, 5])
    figures = summarise("ours", made, np.array([0.3, 0.5, 0.2]))
    assert figures.wrong == pytest.approx(0.5)
    assert figures.rank_error == pytest.approx(0.3 * 2 + 0.2 * 5)
    assert figures.bins_off == pytest.approx(0.3 * (1 + 4.5) + 0.2 * (1 + 4))
    assert figures.rank_bound == 5


def test_the_words_of_a_figure() -> None:
    one = QuantileAccuracy("ours", 0.25, 1.5, 1, 2.5, 1)
    assert one.sentence() == (
        "ours: right with probability 0.75; off by 1.5 people on average, and with 95 % by at most 1 person or 1 bin"
    )
    many = QuantileAccuracy("ours", 0.12345, 12.3456, 20, 2.5, 3)
    assert many.sentence() == (
        "ours: right with probability 0.877; off by 12.3 people on average, and with 95 % by at most 20 people or 3 bins"
    )
    assert str(many) == (
        "QuantileAccuracy(ours: wrong 0.123, off by 12.3 people on average, with 95 % by at most 20 people and 3 bins)"
    )
    assert many.to_document() == {
        "mechanism": "ours", "wrong": 0.12345, "rank_error": 12.3456, "rank_bound_95": 20, "bins_off": 2.5,
        "bins_bound_95": 3,
    }  # fmt: skip


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 2)])
def test_figures_of_even_tables_are_averages_over_eight_places(share: Fraction) -> None:
    law = quantile_law(4, HALF, level("0.4"), share=share)
    shifts = [0, 2, 5, 7, 10, 12, 15, 17]
    tables = [accuracy_with_rivals(law, even_cells(4, 80, HALF, 0.4 * float(share), shift=shift)) for shift in shifts]
    for figures, *by_shift in zip(even_accuracy(law, 80), *tables):
        assert figures.wrong == pytest.approx(sum(one.wrong for one in by_shift) / 8)
        assert figures.rank_error == pytest.approx(sum(one.rank_error for one in by_shift) / 8)
        assert figures.bins_off == pytest.approx(sum(one.bins_off for one in by_shift) / 8)
        bounds = [one.rank_bound for one in by_shift]
        assert min(bounds) <= figures.rank_bound <= max(bounds)
    ours, flip, exponential, opendp = even_accuracy(law, 80)
    assert ours.mechanism == str(law.mode)
    assert [flip.mechanism, exponential.mechanism, opendp.mechanism] == [
        "permute-and-flip", "exponential mechanism", "OpenDP quantile",
    ]  # fmt: skip


def test_noise_on_the_rank_is_two_sided_and_geometric() -> None:
    x, target = math.exp(-0.7), 4
    made = spread_of({0: 2, 1: 1, 2: 4, 3: 3}, 5, Fraction(4, 10))
    noise = {k: (1 - x) / (1 + x) * x ** abs(k) for k in range(-200, 201)}
    upto = [2, 3, 7, 10]
    ends = [sum(p for k, p in noise.items() if target + k <= people) for people in upto]
    assert rivals.rank_noise_groups(made, 0.7, target) == pytest.approx(np.diff([0, *ends, 1]), abs=1e-12)


def test_permute_and_flip_over_groups_of_many_bins() -> None:
    """A group of thousand bins wins as often as thousand bins one by one, also next to a single likely one."""
    size, gaps = np.array([1.0, 1000.0, 3.0]), np.array([0.0, 6.0, 40.0])
    listed = rivals._flipped(np.ones(1004), np.repeat(gaps, [1, 1000, 3]))
    assert rivals._flipped(size, gaps) == pytest.approx(
        [listed[0], listed[1:1001].sum(), listed[1001:].sum()], rel=1e-9
    )
    assert listed.sum() == pytest.approx(1, rel=1e-9)
    # By hand: the sure coin wins where no other coin before it in a random order does.
    coin = math.exp(-6.0)
    assert listed[0] == pytest.approx((1 - (1 - coin) ** 1001) / (1001 * coin), rel=1e-9)


# Curves of people with levels of their own.


def test_windows_reach_nine_deviations_and_one_person_more() -> None:
    assert level_accuracy._window(50.0, 1.0, 0, 100).tolist() == [*range(40, 62)]
    assert level_accuracy._window(5.0, 1.0, 0, 100).tolist() == [*range(17)]
    assert level_accuracy._window(98.5, 1.0, 0, 100).tolist() == [*range(88, 101)]
    assert level_accuracy._window(5.0, 0.0, 5, 5).tolist() == [5]


def test_axes_of_very_many_people_leave_out_far_tails_alone() -> None:
    values, weights = hypergeometric_axis(500_000, 100_000, 900_000)
    deviation = math.sqrt(100_000 * 0.5 * 0.5 * 900_000 / 999_999)
    assert values[0] == int(50_000 - 9 * deviation - 1)
    assert values[-1] == int(50_000 + 9 * deviation + 1) + 1
    assert (weights * values).sum() == pytest.approx(50_000, rel=1e-12)
    assert (weights * (values - 50_000.0) ** 2).sum() == pytest.approx(deviation**2, rel=1e-9)
    values, weights = level_accuracy._binomial_axis(10**6, 0.2)
    assert (values[0], values[-1]) == (200_000 - 3601, 200_000 + 3602)
    assert (weights * (values - 200_000.0) ** 2).sum() == pytest.approx(160_000, rel=1e-9)


@pytest.mark.parametrize("name", ["weighted", "balanced", "fair", "typical"])
def test_sampled_votes_give_nearly_the_average_over_all_of_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = LevelSizes(31, (0.05, 0.3, 1.0), (20, 20, 20))
    error = getattr(asked, name)
    full = [asked.average_at(error, margin, truth=truth) for margin in (1, 5) for truth in (True, False)]
    averaged = asked.average(error, 0.5)
    monkeypatch.setattr(level_accuracy, "_POINTS", 4000)
    assert asked.average(error, 0.5) != averaged
    assert asked.average(error, 0.5) == pytest.approx(averaged, rel=0.03)
    level_accuracy._choices.cache_clear()
    monkeypatch.setattr(level_accuracy, "_POINTS_AT_MARGIN", 9261)
    exact = [asked.average_at(error, margin, truth=truth) for margin in (1, 5) for truth in (True, False)]
    level_accuracy._choices.cache_clear()
    assert full == pytest.approx(exact, rel=0.05)
    assert full != exact


def test_sampling_by_who_is_kept() -> None:
    """Every set of strict people who may be kept, one by one."""
    asked = LevelSizes(3, (0.3, 0.6, 1.0), (2, 1, 2))
    tau = 2.5 / 5
    keep = [math.expm1(epsilon) / math.expm1(1.0) for epsilon in asked.levels]
    for yes in product(range(3), range(2), range(3)):
        votes = [int(place < count) for count, size in zip(yes, asked.sizes) for place in range(size)]
        chances = [chance for chance, size in zip(keep, asked.sizes) for _ in range(size)]
        expected = 0.0
        for kept in product((0, 1), repeat=3):
            asked_ones = [*kept, 1, 1]
            weight = math.prod(c if k else 1 - c for c, k in zip(chances[:3], kept))
            lead = sum(k * (v - tau) for k, v in zip(asked_ones, votes))
            flips = math.ceil(lead) if lead > 0 else math.floor(-lead) + 1
            error = math.exp(1 - flips) / (1 + math.e)
            expected += weight * (error if (lead > 0) == (sum(yes) >= 3) else 1 - error)
        assert asked.sampled(np.array([yes])) == pytest.approx([expected], rel=1e-9), yes


def test_strict_people_left_out_table_by_table() -> None:
    """Of the three loosest people at least half are asked for, as of all seven: two."""
    asked = LevelSizes(4, (0.2, 0.7), (4, 3))
    for yes in product(range(5), range(4)):
        said = yes[1] >= 2
        flips = yes[1] - 1 if said else 2 - yes[1]
        error = math.exp(-0.7 * (flips - 1)) / (1 + math.exp(0.7))
        expected = error if said == (sum(yes) >= 4) else 1 - error
        assert asked.strict_left_out(np.array([yes])) == pytest.approx([expected])
        flips = sum(yes) - 3 if sum(yes) >= 4 else 4 - sum(yes)
        everybody = math.exp(-0.2 * (flips - 1)) / (1 + math.exp(0.2))
        assert asked.strictest_for_all(np.array([yes])) == pytest.approx([everybody])


def test_the_hardest_tables_are_the_two_in_which_strict_people_stand_together() -> None:
    asked = LevelSizes(4, (0.2, 0.5, 0.7), (2, 3, 2))
    assert asked._filled(4, range(3)) == [2, 2, 0]
    assert asked._filled(4, [2, 1, 0]) == [0, 2, 2]
    assert asked._filled(7, range(3)) == [2, 3, 2]
    assert asked.total_at(1, truth=True) == 4
    assert asked.total_at(1, truth=False) == 3
    assert asked.total_at(3, truth=False) == 1


def test_the_average_is_over_all_votes_even_where_everybody_agrees() -> None:
    asked = LevelSizes(2, (0.4, 0.9), (1, 2))
    for chance, table in ((0.0, [0, 0]), (1.0, [1, 2])):
        assert asked.average(asked.weighted, chance) == pytest.approx(asked.weighted(np.array([table]))[0])
    pmf = stats.binom.pmf
    expected = sum(
        pmf(a, 1, 0.25) * pmf(b, 2, 0.25) * asked.weighted(np.array([[a, b]]))[0] for a in range(2) for b in range(3)
    )
    assert asked.average(asked.weighted, 0.25) == pytest.approx(expected, rel=1e-12)
    assert asked.average_weighted(0.25) == pytest.approx(expected, rel=1e-12)
    assert asked.capped(0.4).average_weighted(0.25) == pytest.approx(asked.average(asked.strictest_for_all, 0.25))
