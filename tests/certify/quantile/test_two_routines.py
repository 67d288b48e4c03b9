"""The laws of quantiles by the library's recursions and by the referee's direct sums: the same number, exactly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from optimaldp.certify.quantile_law import (
    DirectLaw,
    EnclosedPowers,
    ExactPowers,
    block_shifts,
    first_where,
    flip_is_private,
    flip_plus_is_private,
    grid,
    mirrored,
    people_at,
    read_heights,
    stand_in_ratio,
)
from optimaldp.laws.quantile import QuantileMode, flip_plus_rule, quantile_law
from optimaldp.laws.rank_scales import rank_cuts
from optimaldp.privacy import Epsilon, level
from optimaldp.privacy.balls import Rational, fraction, precision

HALF = Fraction(1, 2)


def exact(number: Any) -> Fraction:
    return Fraction(number) if isinstance(number, (int, Fraction)) else fraction(number)


def small(bins: int, people: int) -> list[dict[int, int]]:
    rows = [row for row in product(range(people + 1), repeat=bins) if sum(row) <= people]
    return [{place: number for place, number in enumerate(row) if number} for row in rows]


@pytest.mark.parametrize("delta", ["0", "1/100", "1/5"])
@pytest.mark.parametrize("rank", [HALF, Fraction(1, 5), Fraction(1)])
@pytest.mark.parametrize(("bins", "ratio"), [(2, 4), (3, 4), (4, 4), (3, 16), (4, 16), (3, Fraction(9, 4))])
def test_all_small_tables(bins: int, ratio: int | Fraction, rank: Fraction, delta: str) -> None:
    law = quantile_law(bins, rank, level(f"ln({ratio})", delta))
    root = {4: HALF, 16: Fraction(1, 4), Fraction(9, 4): Fraction(2, 3)}[ratio]
    powers = ExactPowers((root,), 2)
    for cells in small(bins, 3):
        direct = DirectLaw(law, cells, powers)
        row = law.probabilities(cells, exact=True)
        assert sum(map(exact, row), Fraction(0)) == 1
        ends = Fraction(0)
        for cut in range(-1, bins):
            ends += exact(row[cut]) if cut >= 0 else 0
            assert exact(direct.end(cut)) == ends, (cells, cut)


def test_each_mechanism_was_among_them() -> None:
    modes = {quantile_law(bins, HALF, level(f"ln({ratio})")).mode for bins, ratio in ((2, 4), (3, 4), (4, 4), (3, 16))}
    assert modes >= {QuantileMode.FLIP, QuantileMode.FLIP_PLUS}
    assert quantile_law(3, HALF, level("ln(1.5)")).mode is QuantileMode.SMOOTHED_RANK


@pytest.mark.parametrize("delta", ["0", "1/100"])
def test_weights_and_levels_on_small_tables(delta: str) -> None:
    weights = (Fraction(1), Fraction(3), Fraction(1, 2))
    weighted = quantile_law(3, HALF, level("ln(4)", delta), weights=weights)
    own = (Epsilon.read("ln(4)"), Epsilon.read("ln(16)"))
    personal = quantile_law(3, HALF, level("ln(16)", delta), levels=own)
    for cells in small(3, 3):
        direct = DirectLaw(weighted, cells, ExactPowers((HALF,), 2))
        row = weighted.probabilities(cells, exact=True)
        assert [exact(direct.end(cut)) for cut in range(2)] == [exact(row[0]), exact(row[0] + row[1])]
        for loose in small(3, 2):
            by_level: dict[int, Any] = {place: (cells.get(place, 0), loose.get(place, 0)) for place in cells | loose}
            with precision(128):
                enclosed = DirectLaw(personal, by_level, EnclosedPowers(own, Fraction(1)))
                shown = personal.probabilities(by_level)
                assert enclosed.end(0).overlaps(shown[0] + 0)
                assert enclosed.end(1).overlaps(shown[0] + shown[1])


@pytest.mark.parametrize("epsilon", ["0.05", "1", "3", "8"])
@pytest.mark.parametrize("delta", ["0", "1/1000"])
@pytest.mark.parametrize("cells", [{}, {0: 3}, {99: 3}, {40: 1}, {3: 5, 50: 4, 97: 6}, {0: 40, 1: 1, 98: 40, 99: 2}])
def test_long_runs_of_empty_bins(cells: dict[int, int], epsilon: str, delta: str) -> None:
    law = quantile_law(100, HALF, level(epsilon, delta))
    with precision(192):
        direct = DirectLaw(law, cells, EnclosedPowers((law.level.epsilon,), Fraction(1)))
        for cut in (0, 1, 3, 39, 40, 49, 50, 97, 98):
            mine, theirs = law.end(cells, cut, exact=False), direct.end(cut)
            assert mine.overlaps(theirs), cut
            assert float((mine - theirs).abs_upper()) < 1e-40


def test_heights_are_those_of_the_cuts() -> None:
    for rank in (HALF, Fraction(1, 3), Fraction(1)):
        law = quantile_law(4, rank, level(1))
        for cells in small(4, 3):
            cuts = rank_cuts(cells, 4, rank)
            starts, heights = read_heights(law, cells)
            dense = [heights[sum(start <= cut for start in starts) - 1] for cut in range(3)]
            assert dense == [cuts.heights[cuts.run(cut)] for cut in range(3)]
            people = sum(cells.values())
            target = -(-rank.numerator * people // rank.denominator)
            assert dense == [sum(n for b, n in cells.items() if b <= cut) - target for cut in range(3)]


def heights_of(table: tuple[int, ...], rank: Fraction) -> tuple[int, ...]:
    target = -(-rank.numerator * sum(table) // rank.denominator)
    return tuple(sum(table[: cut + 1]) - target for cut in range(len(table) - 1))


@pytest.mark.parametrize("rank", [HALF, Fraction(1, 3), Fraction(9, 10)])
def test_one_person_shifts_one_block(rank: Fraction) -> None:
    """All tables, all neighbours of both relations, a person without a value included."""
    tables = [row for row in product(range(5), repeat=3) if sum(row) <= 4]
    for table, other in product(tables, repeat=2):
        up = sum(max(0, b - a) for a, b in zip(table, other))
        down = sum(max(0, a - b) for a, b in zip(table, other))
        if max(up, down) != 1:
            continue
        first, second = heights_of(table, rank), heights_of(other, rank)
        assert first == second or second in block_shifts(first) or first in block_shifts(second), (table, other)
    assert set(block_shifts((0, 0))) == {(0, 1), (1, 1)}
    assert set(block_shifts((0, 1))) == {(1, 1), (0, 2), (1, 2)}


def test_made_up_tables_have_the_heights_that_were_asked_for() -> None:
    for rank in (HALF, Fraction(1, 3), Fraction(1)):
        for heights in grid(2, -3, 3):
            cells = people_at(heights, [0, 3], 6, rank)
            if cells is None:
                assert rank == 1
                assert heights[-1] > 0
                continue
            table = tuple(cells.get(place, 0) for place in range(6))
            assert min(cells.values(), default=0) >= 0
            dense = heights_of(table, rank)
            assert (dense[0], dense[2], dense[3], dense[4]) == (heights[0], heights[0], heights[1], heights[1])
    assert grid(2, 0, 1) == [(0, 0), (0, 1), (1, 1)]
    assert mirrored((-2, 0, 3)) == (-4, -1, 1)


@pytest.mark.parametrize("bins", [3, 4, 5, 9, 12])
def test_both_rules_say_where_flips_are_private(bins: int) -> None:
    for numerator in range(1, 32):
        x = Rational(numerator, 32)
        assert flip_plus_is_private(bins, x) is flip_plus_rule(bins, x), numerator
        assert flip_is_private(bins, x) is bool((bins - 1) * x <= 1)
    chosen = stand_in_ratio(bins)
    assert flip_plus_rule(bins, Rational(chosen.numerator, chosen.denominator))
    assert flip_is_private(2, Rational(31, 32))
    assert flip_plus_is_private(2, Rational(31, 32))


@pytest.mark.parametrize("bins", [26, 30, 100, 1000])
def test_the_rule_for_many_bins_is_no_looser(bins: int) -> None:
    for parts in range(1, 400):
        x = Rational(parts, 200 * bins)
        if flip_plus_is_private(bins, x):
            assert flip_plus_rule(bins, x), parts
    assert flip_plus_is_private(bins, Rational(1, 10 * bins))
    assert not flip_plus_is_private(bins, Rational(2, bins))


@pytest.mark.parametrize("bins", [26, 101, 1001])
def test_the_rule_for_many_bins_ends_where_the_other_one_does(bins: int) -> None:
    """The referee's bound over real numbers of near bins is hardly above the largest over whole ones."""

    def last(rule: Callable[[int, Any], bool]) -> int:
        return first_where(lambda parts: not rule(bins, Rational(parts, 1000 * (bins - 1))), 1, 4000) - 1

    ours, theirs = last(flip_plus_rule), last(flip_plus_is_private)
    assert 0.99 * ours < theirs <= ours


def test_the_first_place_where_something_holds() -> None:
    for start in range(6):
        assert first_where(lambda i, start=start: i >= start, 1, 5) == min(5, max(1, start))  # type: ignore[misc]
