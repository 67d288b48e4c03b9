"""The referee's grids of small tables: a law that is wrong at one of them alone is refused, and each check sees its own fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from refusals import refusal

from optimaldp.certify import quantile as stand_ins
from optimaldp.certify.quantile import (
    StandIn,
    _delta_problem,
    _draw_problem,
    _grid_problem,
    _people_problem,
    _personal_problem,
    _template,
    examine,
    examine_several,
    problem_at_stand_ins,
    stand_in,
)
from optimaldp.certify.quantile_law import ExactPowers, grid, people_at
from optimaldp.laws.quantile import QuantileLaw, QuantileMode
from optimaldp.privacy import level
from optimaldp.privacy.epsilon import Epsilon

HALF = Fraction(1, 2)
HAIR = Fraction(1, 10**30)
SMOOTHED, FLIP, FLIP_PLUS = QuantileMode.SMOOTHED_RANK, QuantileMode.FLIP, QuantileMode.FLIP_PLUS


class Nudged(QuantileLaw):
    """Right everywhere but where *wrong* says so: there the first bin is likelier by a hair."""

    def probabilities(self, cells: Any, *, exact: bool = False) -> Any:
        row = list(super().probabilities(cells, exact=exact))
        return [row[0] + HAIR, *row[1:-1], row[-1] - HAIR] if WRONG[0](self, cells) else row


WRONG: list[Callable[[Any, Any], bool]] = [lambda law, cells: False]


@pytest.fixture(autouse=True)
def nowhere() -> Any:
    yield
    WRONG[0] = lambda law, cells: False


def law_at(mode: QuantileMode, **more: Any) -> Nudged:
    return Nudged(mode, 4, HALF, level(1), **more)


def wrong_table(bins: int, heights: tuple[int, ...], *, delta: bool = False, weighted: bool = False) -> None:
    cells = people_at(heights, range(bins - 1), bins, HALF)

    def wrong(law: Any, shown: Any) -> bool:
        same = law.bins == bins and dict(shown) == cells
        return same and bool(law.level.delta) is delta and bool(law.weights) is weighted

    WRONG[0] = wrong


# Of each grid its two ends and one in the middle.
SMOOTHED_TABLES = [
    *[(2, (height,), False, False) for height in (-3, 0, 2)],
    *[(3, heights, False, False) for heights in ((-2, -2), (-1, 1), (2, 2), (-2, 2))],
    *[(4, heights, False, False) for heights in ((-2, -2, -2), (-2, 0, 2), (2, 2, 2))],
    *[(6, heights, False, False) for heights in ((-1,) * 5, (-1, -1, 0, 0, 0), (0,) * 5)],
    *[(4, heights, False, True) for heights in ((-1, -1, -1), (-1, 0, 1), (1, 1, 1))],
    *[(3, heights, True, False) for heights in ((-2, -2), (0, 1), (2, 2))],
]


@pytest.mark.parametrize(("bins", "heights", "delta", "weighted"), SMOOTHED_TABLES)
def test_a_smoothed_rank_that_is_wrong_at_one_small_table(
    bins: int, heights: tuple[int, ...], delta: bool, weighted: bool
) -> None:
    wrong_table(bins, heights, delta=delta, weighted=weighted)
    assert problem_at_stand_ins(law_at(SMOOTHED)).startswith(("C1", "C3", "C5", "C6"))


FLIP_TABLES = [
    *[(2, (height,), False) for height in (-3, 2)],
    *[(3, heights, False) for heights in ((-2, -2), (2, 2), (-2, 2))],
    *[(4, heights, False) for heights in ((-2, -2, -2), (2, 2, 2), (-1, 0, 2))],
    *[(2, (height,), True) for height in (-2, 1)],
    *[(3, heights, True) for heights in ((-2, -2), (1, 1))],
    *[(4, heights, True) for heights in ((-1, -1, -1), (1, 1, 1))],
]


@pytest.mark.parametrize("mode", [FLIP, FLIP_PLUS])
@pytest.mark.parametrize(("bins", "heights", "delta"), FLIP_TABLES)
def test_a_flip_that_is_wrong_at_one_small_table(
    mode: QuantileMode, bins: int, heights: tuple[int, ...], delta: bool
) -> None:
    wrong_table(bins, heights, delta=delta)
    assert problem_at_stand_ins(law_at(mode)).startswith(("C1", "C3", "C5", "C6"))


def test_without_a_mistake_nothing_is_wrong() -> None:
    for mode in (SMOOTHED, FLIP, FLIP_PLUS):
        assert problem_at_stand_ins(law_at(mode)) == ""
        assert problem_at_stand_ins(law_at(mode, share=Fraction(2, 3))) == ""
    own = (Epsilon.read(1), Epsilon.read(2))
    assert problem_at_stand_ins(law_at(SMOOTHED, levels=own, share=Fraction(1, 2))) == ""
    assert problem_at_stand_ins(law_at(SMOOTHED, levels=own[:1])) == ""


@pytest.mark.parametrize("x", [Fraction(9, 10), Fraction(1, 2)])
def test_two_bins_are_tried_at_a_small_and_at_a_large_epsilon(x: Fraction) -> None:
    WRONG[0] = lambda law, cells: law.bins == 2 and law.level.epsilon.exact_ratio == 1 / x
    assert problem_at_stand_ins(law_at(FLIP)).startswith("C1")


@pytest.mark.parametrize(("bins", "ratio"), [(3, 2), (4, 3)])
def test_flips_are_tried_right_at_the_end_of_their_region(bins: int, ratio: int) -> None:
    WRONG[0] = lambda law, cells: law.bins == bins and law.level.epsilon.exact_ratio == ratio
    assert problem_at_stand_ins(law_at(FLIP)).startswith("C1")


@pytest.mark.parametrize(("bins", "cells"), [(4, {}), (4, {0: 1}), (4, {2: 1}), (4, {3: 1})])
def test_nobody_and_the_first_person(bins: int, cells: dict[int, int]) -> None:
    fine = stand_in(law_at(SMOOTHED), bins, Fraction(3, 5), 2)
    assert _people_problem(fine) == ""
    WRONG[0] = lambda law, shown: dict(shown) == cells
    assert _people_problem(fine).startswith("C1")
    assert problem_at_stand_ins(law_at(SMOOTHED))


class Trusting(StandIn):
    """Takes the law's own word for what it should be: what is left are the checks of privacy itself."""

    def direct(self, cells: Any) -> Any:
        return self.row(cells)


def trusting(make: Callable[[Any, Any], Any], bins: int = 3, delta: Fraction = Fraction(0), **more: Any) -> Trusting:
    class Made(QuantileLaw):
        def probabilities(self, cells: Any, *, exact: bool = False) -> Any:
            return make(super().probabilities(cells, exact=exact), dict(cells))

    made = stand_in(Made(SMOOTHED, 4, HALF, level(1), **more), bins, Fraction(3, 5), 2, delta)
    return Trusting(made.law, made.powers)


GROWTH = Fraction(25, 9)  # (3/5)^-2


def test_the_first_person_is_protected() -> None:
    """Nobody: a fair die. One person in a bin: that bin as likely as e^epsilon allows, or a hair more, or less."""

    def with_ratio(ratio: Fraction) -> Callable[[Any, Any], Any]:
        def make(row: Any, cells: Any) -> Any:
            if not cells:
                return [Fraction(1, 3)] * 3
            (place,) = cells
            told = ratio / 3 if ratio < 2 else Fraction(1, 3) / ratio
            other = (1 - told) / 2
            return [told if bin_ == place else other for bin_ in range(3)]

        return make

    for ratio, fine in (
        (Fraction(3, 2), True),
        (GROWTH, True),  # a third, divided by it
        (GROWTH + HAIR, False),
        (Fraction(7), False),
    ):
        assert (_people_problem(trusting(with_ratio(ratio))) == "") is fine, ratio


def test_events_stay_within_epsilon_and_delta() -> None:
    """A law that is moved by too much between two tables that differ in one shift, in the sum of two bins."""

    def moved(by: Fraction) -> Callable[[Any, Any], Any]:
        def make(row: Any, cells: Any) -> Any:
            more = [Fraction(1, 3) + by, Fraction(1, 3) + by, Fraction(1, 3) - 2 * by]
            # All people in the first bin, or, its mirror image, two more of them in the last.
            if cells.keys() == {0} and cells[0] >= 2:
                return more
            return more[::-1] if cells.keys() == {2} and cells[2] >= 4 else [Fraction(1, 3)] * 3

        return make

    heights = grid(2, -2, 2)
    delta = Fraction(1, 20)
    # 1/3 - (25/9)(1/3 - 2 by) = 1/20 at by = (1/20 - 1/3 + 25/27) / (50/9)
    edge = (delta - Fraction(1, 3) + Fraction(25, 27)) / Fraction(50, 9)
    for by, fine in ((Fraction(0), True), (edge, True), (edge + HAIR, False)):
        assert (_delta_problem(trusting(moved(by), delta=delta), heights) == "") is fine, by


def test_probabilities_are_positive_and_add_up() -> None:
    third = Fraction(1, 3)
    for row, fine in (
        ([third] * 3, "C4"),
        ([third, third, third + HAIR], "C2"),
        ([Fraction(0), HALF, HALF], "C2"),
        ([-third, 1, third], "C2"),
    ):
        assert _grid_problem(trusting(lambda _, __, row=row: row), grid(2, -2, 2)).startswith(fine)  # type: ignore[misc]


def test_the_law_read_from_the_other_end() -> None:
    """A private law that likes the first bin: only its mirror image tells."""

    def first(row: Any, cells: Any) -> Any:
        return [HALF, Fraction(1, 4), Fraction(1, 4)]

    assert _grid_problem(trusting(first), grid(2, -2, 1)).startswith("C5")
    assert _grid_problem(trusting(first), grid(2, -2, 1), symmetric=False).startswith("C4")


def test_one_shift_of_a_block_is_compared_both_ways() -> None:
    """From one table to the next one, and back: a hair more than e^epsilon is seen wherever it is."""
    for told in ((-2, -2), (-2, 1), (0, 0), (1, 1)):
        cells = people_at(told, range(2), 3, HALF)
        for low in (True, False):

            def make(row: Any, shown: Any, cells: Any = cells, low: bool = low) -> Any:
                # Next to a third: just above e^epsilon times less, or just what is allowed.
                less = Fraction(1, 3) / (GROWTH + HAIR if low else GROWTH)
                rest = (1 - less) / 2
                return [less, rest, rest] if shown == cells else [Fraction(1, 3)] * 3

            problem = _grid_problem(trusting(make), grid(2, -2, 1), symmetric=False)
            assert problem.startswith("C3") is low, (told, low)


# --- levels of one's own ----------------------------------------------------------------------------------------------

OWN = (Epsilon.read(1), Epsilon.read(2))


@pytest.mark.parametrize(
    "cells",
    [{}, {0: (1, 0)}, {2: (0, 1)}, {1: (1, 1)}, {0: (1, 0), 2: (0, 1)}, {0: (2, 2), 1: (HALF, HALF), 2: (1, 1)}],
)
@pytest.mark.parametrize("delta", [False, True])
def test_levels_of_ones_own_at_one_small_table(cells: Any, delta: bool) -> None:
    if delta and cells and len(cells) < 3:
        return  # with delta nobody and a crowd are tried
    WRONG[0] = lambda law, shown: dict(shown) == cells and bool(law.level.delta) is delta
    assert problem_at_stand_ins(law_at(SMOOTHED, levels=OWN)).startswith(("C1", "C6"))


def test_everybody_is_compared_at_their_own_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """e^(-epsilon/16) is 4/5 and 2/3: one person who comes or goes moves 3/4 of their level, one who is replaced all of it."""
    monkeypatch.setattr(stand_ins, "StandIn", Trusting)
    ratios = (Fraction(5, 4), Fraction(3, 2))
    for person in (0, 1):
        for units, replaced in ((16, True), (12, False)):
            for more, fine in ((Fraction(0), True), (HAIR, False)):
                ratio = ratios[person] ** units * (1 + more)

                class Told(QuantileLaw):
                    def probabilities(
                        self,
                        cells: Any,
                        *,
                        exact: bool = False,
                        ratio: Any = ratio,
                        person: int = person,
                        replaced: bool = replaced,
                    ) -> Any:
                        there = [place for place, who in dict(cells).items() if who[person]]
                        told = there == [0] if replaced else bool(there)
                        nobody = not there
                        less = Fraction(1, 3) / ratio
                        # Where the person is replaced, nobody is in between: the square root would not be rational.
                        if replaced and nobody:
                            middle = ratios[person] ** 4 / 3 / ratios[person] ** 12
                            return [middle, (1 - middle) / 2, (1 - middle) / 2]
                        return [less, (1 - less) / 2, (1 - less) / 2] if told else [Fraction(1, 3)] * 3

                law = Told(SMOOTHED, 4, HALF, level(1), levels=OWN)
                problem = _personal_problem(law)
                assert problem.startswith("C3") is not fine, (person, units, more, problem)


# --- the sampler --------------------------------------------------------------------------------------------------------


class MinusOne(QuantileLaw):
    """Counts the last bin from the end, as lists do."""

    def draw(self, cells: Any, source: Any, **options: Any) -> int:
        index = super().draw(cells, source, **options)
        return -1 if index == self.bins - 1 else index


class OneTooMany(QuantileLaw):
    def draw(self, cells: Any, source: Any, **options: Any) -> int:
        index = super().draw(cells, source, **options)
        return self.bins if index == self.bins - 1 else index


class Endless(QuantileLaw):
    """Throws away every second number: the law is right, the end is far."""

    def draw(self, cells: Any, source: Any, **options: Any) -> int:
        while source.take(1):
            pass
        return super().draw(cells, source, **options)


@pytest.mark.parametrize(
    ("twin", "words"), [(MinusOne, "does not exist"), (OneTooMany, "does not exist"), (Endless, "come to an end")]
)
def test_samplers_of_bins_that_do_not_exist_or_that_do_not_end(twin: type[QuantileLaw], words: str) -> None:
    made = stand_in(twin(SMOOTHED, 4, HALF, level(1)), 3, Fraction(3, 5), 2)
    assert words in _draw_problem(made, (-1, 1))
    assert _draw_problem(stand_in(QuantileLaw(SMOOTHED, 4, HALF, level(1)), 3, Fraction(3, 5), 2), (-1, 1)) == ""


# --- public numbers -----------------------------------------------------------------------------------------------------


def test_each_public_number_makes_sense() -> None:
    fine = QuantileLaw(SMOOTHED, 3, HALF, level(1))
    assert examine(fine).private
    assert examine(replace(fine, rank=Fraction(1))).private
    assert examine(replace(fine, bins=2)).private
    for wrong in (
        {"bins": 1},
        {"bins": 5.0},
        {"rank": Fraction(0)},
        {"rank": Fraction(-1, 2)},
        {"rank": Fraction(11, 10)},
        {"share": Fraction(0)},
        {"share": Fraction(-1, 2)},
        {"share": Fraction(11, 10)},
        {"level": level("inf")},
        {"level": 1},
        {"weights": (Fraction(1),) * 2},
        {"weights": (Fraction(1), Fraction(0), Fraction(1))},
        {"weights": (Fraction(1), Fraction(-1), Fraction(1))},
        {"levels": ()},
        {"levels": (Epsilon.read(1), Epsilon.read("1.01"))},
    ):
        finding = examine(replace(fine, **wrong))  # type: ignore[arg-type]
        assert not finding.private, wrong
        assert finding.failure.startswith("C10"), (wrong, finding.failure)

    class Loose:
        """Not frozen: it could change."""

        mode, bins, rank, level, weights, levels, share = SMOOTHED, 3, HALF, level(1), None, None, Fraction(1)

    assert "could change" in refusal(examine(Loose()))


def test_what_the_code_is_examined_at() -> None:
    own = QuantileLaw(FLIP, 9, Fraction(1, 3), level(5), levels=(Epsilon.read("0.1"),) * 3, share=Fraction(1, 3))
    made = _template(own)
    assert (made.bins, made.rank, made.share, made.mode) == (4, HALF, Fraction(1, 3), FLIP)
    assert made.levels == OWN
    assert made.level == level(2)
    assert _template(replace(own, levels=own.levels[:1])).levels == OWN[:1]  # type: ignore[index]
    assert _template(replace(own, levels=None, weights=(Fraction(1),) * 9)) == QuantileLaw(
        FLIP, 4, HALF, level(1), share=Fraction(1, 3)
    )


def test_laws_together_spend_no_more_than_the_whole() -> None:
    half = QuantileLaw(SMOOTHED, 3, HALF, level(1, "1/100"), share=HALF)
    promise = level(1, "2/100")
    assert examine_several([half, half], promise).private
    assert "epsilon" in refusal(examine_several([half, replace(half, share=Fraction(4, 7))], promise))
    assert "epsilon" in refusal(examine_several([half, half], level("0.99", "2/100")))
    assert "delta" in refusal(examine_several([half, half], level(1, "199/10000")))
    assert not examine_several([half, replace(half, bins=1)], promise).private


def test_powers_of_a_share() -> None:
    made = stand_in(QuantileLaw(SMOOTHED, 4, HALF, level(1), share=Fraction(2, 3)), 3, Fraction(3, 5), 2)
    assert made.law.level.epsilon.exact_ratio == Fraction(5, 3) ** 6
    assert made.powers(1) == ExactPowers((Fraction(3, 5),), 4)(1)
    assert made.law.bins == 3
