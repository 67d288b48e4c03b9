"""Laws for people with levels of their own: every pair of neighbours of small tables, each person at their own level."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimaldp.distances.linear import LinearCondition, MeanBound, count_condition, share_condition
from optimaldp.errors import LevelError
from optimaldp.laws.law import Aim, read_aim
from optimaldp.laws.log_number import LogNumber
from optimaldp.laws.personal import (
    LevelCounts,
    balanced_error,
    mean_sides,
    one_level_error,
    threshold_sides,
    yes_probability_from,
)
from optimaldp.laws.votes import Sides, draw_yes, sides_at, stretched, weighted_counts, winner_by_weights
from optimaldp.privacy import Epsilon, level
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.sampling import BitSource

HAIR = Ball(2) ** -90  # enclosures of equal numbers overlap; a breach would be many times larger
LEVELS = [Epsilon.read(text) for text in ("0", "ln(2)", "1", "1/10", "ln(3)+0.2")]
Counts = tuple[int, ...]


def close(first: Sides, second: Sides, epsilon: Epsilon, delta: Fraction = Fraction(0)) -> bool:
    ratio, slack = epsilon.exp(), ball(delta) + HAIR
    pairs = [(ball(p), ball(q)) for p, q in zip(first, second)]
    return all(bool(p <= ratio * q + slack) and bool(q <= ratio * p + slack) for p, q in pairs)


def groups(cells: int, people: int) -> list[Counts]:
    return [c for c in itertools.product(range(people + 1), repeat=cells) if sum(c) == people]


def neighbours(cells: int, sizes: tuple[int, ...]) -> Iterator[tuple[tuple[Counts, ...], tuple[Counts, ...], int]]:
    """Two tables that differ in one person of one group, and the group."""
    for table in itertools.product(*(groups(cells, size) for size in sizes)):
        for g, counts in enumerate(table):
            for i, j in itertools.permutations(range(cells), 2):
                if counts[i]:
                    moved = tuple(c - (k == i) + (k == j) for k, c in enumerate(counts))
                    yield table, (*table[:g], moved, *table[g + 1 :]), g


def breaches(
    law: Callable[[tuple[Counts, ...]], Sides],
    cells: int,
    levels: list[Epsilon],
    sizes: tuple[int, ...],
    delta: Fraction = Fraction(0),
) -> list[tuple[tuple[Counts, ...], tuple[Counts, ...]]]:
    with precision(160):
        known: dict[tuple[Counts, ...], Sides] = {}
        wrong = []
        for table, other, g in neighbours(cells, sizes):
            for t in (table, other):
                if t not in known:
                    known[t] = law(t)
            if not close(known[table], known[other], levels[g], delta):
                wrong.append((table, other))
        return wrong


def rows(levels: list[Epsilon], table: tuple[Counts, ...]) -> list[LevelCounts]:
    return [(epsilon, *(*counts, 0)[:3]) for epsilon, counts in zip(levels, table)]  # type: ignore[misc]


PLAIN = [
    count_condition(">=", 2),
    count_condition("<", 3),
    share_condition(">", Fraction(1, 2)),
    share_condition("<=", Fraction(2, 3)),
    count_condition(">=", 0),
]


@pytest.mark.parametrize("condition", PLAIN)
@pytest.mark.parametrize("aim", Aim)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 20)])
def test_thresholds_keep_everybodys_own_level(condition: LinearCondition, aim: Aim, delta: Fraction) -> None:
    for levels, sizes in ((LEVELS[:3], (1, 2, 2)), (LEVELS[1:], (2, 1, 1, 1))):

        def law(table: tuple[Counts, ...], levels: list[Epsilon] = levels) -> Sides:
            return threshold_sides(condition, rows(levels, table), aim, delta=delta)

        assert not breaches(law, 2, levels, sizes, delta)
        if delta == 0 and condition.need > 0:
            stricter = [Epsilon.read("ln(3/2)") if e == LEVELS[1] else e for e in levels]
            assert breaches(law, 2, stricter, sizes)  # the wrong twin: a promise that was not made


AMONG = [
    share_condition(">=", Fraction(1, 3)),
    share_condition("<", Fraction(3, 4)),
    share_condition(">", Fraction(0)),
    share_condition(">=", Fraction(1)),
]


@pytest.mark.parametrize("condition", AMONG)
@pytest.mark.parametrize("aim", Aim)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 20)])
def test_shares_among_keep_everybodys_own_level(condition: LinearCondition, aim: Aim, delta: Fraction) -> None:
    levels, sizes = LEVELS[:3], (1, 2, 1)

    def law(table: tuple[Counts, ...]) -> Sides:
        return threshold_sides(condition, rows(levels, table), aim, among=True, delta=delta)

    assert not breaches(law, 3, levels, sizes, delta)


@pytest.mark.parametrize("aim", Aim)
@pytest.mark.parametrize("comparison", [">=", ">", "<=", "<"])
def test_means_keep_everybodys_own_level(aim: Aim, comparison: str) -> None:
    question = MeanBound(comparison, Fraction(7, 3), Fraction(1), Fraction(3), Fraction(1))
    levels, sizes = [LEVELS[0], LEVELS[1], LEVELS[3]], (1, 2, 1)

    def law(table: tuple[Counts, ...]) -> Sides:
        listed = [(e, dict(enumerate(counts[:3])), counts[3]) for e, counts in zip(levels, table)]
        return mean_sides(question, listed, aim)

    assert not breaches(law, 4, levels, sizes)
    assert breaches(lambda t: law(t)[::-1] if sum(t[2][:3]) else law(t), 4, levels, sizes)


@pytest.mark.parametrize("options", [3, 6])
def test_the_weighted_winner_keeps_everybodys_own_level(options: int) -> None:
    """The last cell holds people who name no option; a vote may come from there and go there."""
    levels = [LEVELS[1], LEVELS[2]]
    sizes = (2, 2) if options == 3 else (1, 1)
    with precision(160):
        known: dict[tuple[Counts, ...], list[Ball]] = {}
        for table, other, g in neighbours(options + 1, sizes):
            for t in (table, other):
                if t not in known:
                    known[t] = winner_by_weights(weighted_counts([(e, counts[:-1]) for e, counts in zip(levels, t)]))
                    assert sum(known[t], Ball(0)).overlaps(Ball(1))
            ratio = levels[g].exp()
            assert all(bool(p <= ratio * q + HAIR) for p, q in zip(known[table], known[other]))
        used = max(
            float(p / q) for a, b, g in neighbours(options + 1, sizes) if g == 1 for p, q in zip(known[a], known[b])
        )
        assert used > 2  # the person with level 1 does use more than ln(2)


RATIOS = st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5)])


@given(RATIOS.filter(lambda r: r > 1), st.fractions(0, 1, max_denominator=40), st.integers(1, 9))
def test_the_transform_of_one_level_is_the_optimum_of_the_chain(ratio: Fraction, delta: Fraction, flips: int) -> None:
    epsilon = Epsilon(Fraction(0), ratio)
    head = (1 - delta) / (ratio + 1)
    assert one_level_error(epsilon, flips, delta) == level(epsilon, delta).sides(1 - head, flips - 1)[1]


def test_without_epsilon_delta_alone_moves_the_answer() -> None:
    delta = Fraction(1, 10)
    assert [one_level_error(LEVELS[0], k, delta) for k in (1, 2, 5, 9)] == [
        level(0, delta).sides((1 + delta) / 2, k - 1)[1] for k in (1, 2, 5, 9)
    ]
    assert sides_at(Fraction(3, 2), LEVELS[0], delta) == (Fraction(13, 20), Fraction(7, 20))
    assert sides_at(Fraction(-77), LEVELS[0], delta) == (0, 1)


def test_far_enough_with_delta_is_never_wrong() -> None:
    assert sides_at(Fraction(9), Epsilon.read("ln(3)"), Fraction(1, 100)) == (1, 0)
    assert sides_at(math.inf, LEVELS[2]) == (1, 0)
    assert sides_at(-math.inf, LEVELS[2]) == (0, 1)
    with precision(120):
        assert stretched(Ball(1) / 1000, LEVELS[2], Fraction(1, 100)) == 0


@given(st.lists(st.tuples(RATIOS, st.integers(0, 4)), min_size=1, max_size=4), st.integers(1, 8))
def test_the_closed_form_is_the_sum_over_the_cheapest(groups_of: list[tuple[Fraction, int]], flips: int) -> None:
    ordered = sorted(groups_of)
    single = [ratio for ratio, people in ordered for _ in range(people)][:flips]
    expected = Fraction(0)
    if len(single) == flips:
        expected = 1 / (math.prod(single[:-1], start=Fraction(1)) * (1 + single[-1]))
    levels = [Epsilon(Fraction(0), ratio) for ratio, _ in ordered]
    assert balanced_error(levels, [people for _, people in ordered], flips) == expected


def test_golden_numbers_of_the_two_aims() -> None:
    """20 people at 0.1 and 981 at 1: yes has 486 of 1001, and who is strict makes the difference."""
    majority = share_condition(">", Fraction(1, 2))
    table = [("0.1", 20, 0), ("1", 466, 515)]
    fair = math.exp(-15) / (1 + math.exp(-0.1))  # nobody strict says no: fifteen of the others must change
    assert float(yes_probability_from(majority, table, "every table")) == pytest.approx(fair, rel=1e-12)
    swapped = [("0.1", 0, 20), ("1", 486, 495)]
    strict = math.exp(-1.5) / (1 + math.exp(-0.1))
    assert float(yes_probability_from(majority, swapped, "every-table")) == pytest.approx(strict, rel=1e-12)


def test_logarithms_are_compared_exactly() -> None:
    two, three, eight = (LogNumber.of(Epsilon.read(f"ln({k})")) for k in (2, 3, 8))
    assert two * 3 == eight
    assert two * 3 - eight == LogNumber()
    assert two * 8 > three * 5
    assert (two * Fraction(1, 2)).rational_exp() is None
    assert (eight - two).rational_exp() == 4
    assert LogNumber.of(Epsilon.read("0.5+ln(9/4)")) == LogNumber(Fraction(1, 2)) + (three - two) * 2


class _Word:
    """A source whose first word is given; what follows is all ones."""

    def __init__(self, word: int) -> None:
        self.words = [word]

    def take(self, count: int) -> int:
        return self.words.pop() if self.words else (1 << count) - 1


@pytest.mark.parametrize(("distance", "epsilon"), [("-1", "ln(2)"), ("5/3", "1"), ("-7/2", "0.3")])
def test_drawing_compares_the_word_with_the_law(distance: str, epsilon: str) -> None:
    """The words below 2^64 P(yes) say yes, the others no: exactly, on both sides of the threshold."""
    with precision(256):
        threshold = ball(sides_at(Fraction(distance), Epsilon.read(epsilon))[0]) * Ball(2) ** 64
        word = int(str(threshold.floor().unique_fmpz()))

    def drawn(first: int) -> bool:
        source: BitSource = _Word(first)
        return draw_yes(lambda: sides_at(Fraction(distance), Epsilon.read(epsilon)), source)

    assert drawn(0)
    assert drawn(word - 1)
    assert not drawn(word + 1)
    assert not drawn((1 << 64) - 1)


@pytest.mark.parametrize("row", [("inf", 1, 2), ("1", -1, 2), ("1", True, 2), ("1", 1, 2, 3, 4)])
def test_rows_that_cannot_be_read(row: tuple[object, ...]) -> None:
    with pytest.raises(LevelError):
        yes_probability_from(share_condition(">", Fraction(1, 2)), [row])


def test_an_aim_that_is_none() -> None:
    assert read_aim("every table") is read_aim("every-table") is Aim.EVERY_TABLE
    with pytest.raises(LevelError):
        read_aim("best")
