"""A law at its real level: wrong by a hair at one cut of one made-up table, or for one person more, or at one word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from refusals import refusal

from optimaldp.certify import quantile as real_level
from optimaldp.certify import quartiles
from optimaldp.certify.quantile import _people, _with_one_more, _Written, problem_at_real_level
from optimaldp.certify.quantile_law import (
    EnclosedPowers,
    _bound,
    flip_is_private,
    flip_plus_is_private,
    people_at,
    stand_in_ratio,
)
from optimaldp.certify.quartiles import (
    _harmless,
    _moves,
    _moves_problem,
    _ranks,
    _spend_problem,
    _wanted,
    examine_quartiles,
)
from optimaldp.laws.quantile import QuantileLaw, QuantileMode
from optimaldp.laws.several_quantiles import JointQuartiles
from optimaldp.privacy import level
from optimaldp.privacy.balls import Ball, Rational, precision
from optimaldp.privacy.epsilon import Epsilon

HALF = Fraction(1, 2)
BINS = 20
STARTS = (0, 5, 10, 15, 18)
PATTERNS = ((-3, -1, 0, 2, 4), (0, 0, 0, 0, 0), (-60, -7, -6, 1, 30), (-5, -4, -3, -2, -1))
WRONG: list[Callable[[Any, int], bool]] = [lambda cells, cut: False]


@pytest.fixture(autouse=True)
def nowhere() -> Any:
    yield
    WRONG[0] = lambda cells, cut: False


class NudgedEnds:
    def __init__(self, true: Any, cells: Any, hair: Any, side: str) -> None:
        self._true, self._cells, self._hair, self._side = true, cells, hair, side

    def end(self, cut: int) -> Any:
        true = self._true.end(cut)
        return true * self._hair if self._side != "rest" and WRONG[0](self._cells, cut) else true

    def rest(self, cut: int) -> Any:
        true = self._true.rest(cut)
        return true * self._hair if self._side != "end" and WRONG[0](self._cells, cut) else true


class Nudged(QuantileLaw):
    side = "end"
    bits = 80

    def ends(self, cells: Any, *, exact: bool = False) -> Any:
        return NudgedEnds(super().ends(cells, exact=exact), dict(cells), 1 - Ball(2) ** -self.bits, self.side)


class NudgedRest(Nudged):
    side = "rest"


class Far(Nudged):
    side = "both"
    bits = 1


def law_at(kind: type[QuantileLaw] = Nudged, **more: Any) -> QuantileLaw:
    return kind(QuantileMode.SMOOTHED_RANK, BINS, more.pop("rank", HALF), level("0.5"), **more)


CUTS = sorted({cut for start in STARTS for cut in (start - 1, start, start + 1) if 0 <= cut < BINS - 1})


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_law_that_is_wrong_at_one_cut_of_one_table(pattern: tuple[int, ...]) -> None:
    cells = people_at(pattern, STARTS, BINS, HALF)
    assert problem_at_real_level(law_at()) == ""
    for kind in (Nudged, NudgedRest):
        for cut in CUTS[:: 1 if pattern is PATTERNS[0] else 4]:
            WRONG[0] = lambda shown, at, cut=cut: shown == cells and at == cut  # type: ignore[misc]
            assert problem_at_real_level(law_at(kind)).startswith("C1"), (kind, cut)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("place", [0, 10, 19])
def test_one_person_more_is_protected(place: int, pattern: tuple[int, ...]) -> None:
    """Wrong only where one more stands in the first, a middle or the last bin: nothing but the comparison sees it."""
    cells = dict(people_at(pattern, STARTS, BINS, HALF) or {})
    more = {**cells, place: cells.get(place, 0) + 1}
    for start in STARTS[:: 2 if place else 1]:
        # Half of what it was up to the cut: some bin next to it is far from what it was.
        WRONG[0] = lambda shown, at, start=start: shown == more and at == start  # type: ignore[misc]
        assert problem_at_real_level(law_at(Far)).startswith("C3"), start


def test_how_near_one_person_more_may_be() -> None:
    """Within e^epsilon and delta, both ways."""

    for delta in ("0", "1/100"):
        for factor, told in (
            (Fraction(199, 100), False),
            (Fraction(2), False),
            (Fraction(201, 100) + 4 * Fraction(delta), True),
        ):
            for up in (True, False):

                class Pair(QuantileLaw):
                    def ends(self, cells: Any, *, exact: bool = False, factor: Fraction = factor, up: bool = up) -> Any:
                        larger = bool(cells) == up
                        value = Ball(factor.numerator) / factor.denominator / 4 if larger else Ball(1) / 4
                        return type("Ends", (), {"end": lambda self, cut: value})()

                law = Pair(QuantileMode.SMOOTHED_RANK, 2, HALF, level("ln(2)", delta))
                with precision(320):
                    powers = EnclosedPowers((law.level.epsilon,), law.share)
                    found = real_level._neighbour_problem(law, powers, [{}], [0])
                assert bool(found) is told, (delta, factor, up)


class Misdrawing(QuantileLaw):
    """Gives the next bin for one word next to the end of one bin."""

    at: tuple[Any, int, bool] = ({}, 0, True)

    def draw(self, cells: Any, source: Any, **options: Any) -> int:
        word = source.take(64)
        index = super().draw(cells, _Written(word), **options)
        wanted, cut, below = self.at
        off = dict(cells) == wanted and index == (cut if below else cut + 1)
        return index + 1 if off else index


@pytest.mark.parametrize(
    ("pattern", "cut"), [(PATTERNS[0], 0), (PATTERNS[0], 10), (PATTERNS[0], 18), (PATTERNS[1], 10)]
)
@pytest.mark.parametrize("below", [True, False])
def test_a_sampler_that_errs_next_to_one_end(pattern: tuple[int, ...], cut: int, below: bool) -> None:
    cells = people_at(pattern, STARTS, BINS, HALF)
    twin = type("Twin", (Misdrawing,), {"at": (dict(cells or {}), cut, below)})
    assert problem_at_real_level(law_at(twin)).startswith("C8")
    assert problem_at_real_level(law_at(Misdrawing)) == ""


def test_a_word_in_bins_that_are_narrower_than_words() -> None:
    """At a large epsilon neither of the bins at a cut holds the word next to it: the one that does is searched for."""
    law = QuantileLaw(QuantileMode.SMOOTHED_RANK, BINS, HALF, level(40))
    assert problem_at_real_level(law) == ""

    class Elsewhere(QuantileLaw):
        def draw(self, cells: Any, source: Any, **options: Any) -> int:
            return min(self.bins - 1, super().draw(cells, source, **options) + 1)

    assert problem_at_real_level(Elsewhere(law.mode, law.bins, law.rank, law.level)).startswith("C8")


def test_a_word_that_is_written_down() -> None:
    bits = _Written((0b101 << 61) + 9)
    assert [bits.take(1), bits.take(2), bits.take(61), bits.take(4)] == [1, 0b01, 9, 0]
    assert _Written(5).take(66) == 20


def test_people_of_every_level_are_in_the_tables() -> None:
    own = law_at(levels=(Epsilon.read("0.1"), Epsilon.read("0.5"), Epsilon.read("0.3")))
    plain = people_at((-1, 0), (0, 5), BINS, HALF)
    assert plain is not None
    assert _people(law_at(), (-1, 0), (0, 5)) == plain
    assert _people(own, (-1, 0), (0, 5)) == {place: (n, n + 1, n + 2) for place, n in plain.items()}
    assert _with_one_more(own, {3: (1, 1, 1)}, 3) == {3: (1, 2, 1)}
    assert _with_one_more(own, {3: (1, 1, 1)}, 4) == {3: (1, 1, 1), 4: (0, 1, 0)}
    assert _with_one_more(law_at(), {3: 2}, 3) == {3: 3}
    assert _with_one_more(law_at(), {3: 2}, 5) == {3: 2, 5: 1}


def test_flips_know_neither_weights_nor_levels_nor_more_bins_than_are_proven() -> None:
    fine = QuantileLaw(QuantileMode.FLIP, 5, HALF, level("ln(4)"))
    assert problem_at_real_level(fine) == ""
    assert problem_at_real_level(replace(fine, weights=(Fraction(1),) * 5)).startswith("C7")
    assert problem_at_real_level(replace(fine, levels=(Epsilon.read("ln(4)"),))).startswith("C7")
    assert problem_at_real_level(replace(fine, bins=6)).startswith("C7")
    assert problem_at_real_level(replace(fine, share=Fraction(99, 100))).startswith("C7"), "x at the share of epsilon"
    assert problem_at_real_level(replace(fine, level=level("ln(16)"), share=Fraction(51, 100))) == ""
    three = replace(fine, bins=3, level=level("0.66"))
    assert problem_at_real_level(three).startswith("C7")
    assert problem_at_real_level(replace(three, mode=QuantileMode.FLIP_PLUS)) == ""


# --- the rule of flips ----------------------------------------------------------------------------------------------------


def test_the_bound_of_near_and_far_bins() -> None:
    """Left 2 bins, right 1, near 1 and 1: x (1 - g x) + x^2 (1 - g x) + x (1 - g x) - 2 g x^3, g = 1/(1 + 3 x)."""
    x = Rational(1, 4)
    g = 1 / (1 + 3 * x)
    assert _bound(x, 2, 1, 1, 1) == (x + x * x) * (1 - g * x) + x * (1 - g * x) - 2 * g * x**3
    assert _bound(x, 2, 1, 2, 1) == 2 * x * (1 - 2 * g * x) + x * (1 - g * x) - 4 * g * x**3
    assert _bound(x, 0, 3, 0, 0) == 3 * x * x
    assert _bound(x, 3, 0, 2, 0) == (2 * x + x * x) * (1 - 2 * g * x)


def test_where_flips_end() -> None:
    assert flip_is_private(5, Rational(1, 4))
    assert not flip_is_private(5, Rational(1001, 4000))
    assert not flip_plus_is_private(5, Rational(1, 2) + Rational(1, 1000)), "(K-1) x^2 is above 1"
    for bins in (3, 4):
        chosen = stand_in_ratio(bins)
        assert flip_plus_is_private(bins, Rational(chosen.numerator, chosen.denominator))
        more = chosen + Fraction(1, 32)
        assert not flip_plus_is_private(bins, Rational(more.numerator, more.denominator))


# --- quartiles jointly ----------------------------------------------------------------------------------------------------


def test_shifts_that_the_theorem_covers() -> None:
    f = [Fraction(k, 4) for k in range(5)]
    for shift in (
        [],
        [f[1]],
        [f[0], f[1], f[2]],
        [f[2], f[1], -f[1]],
        [f[0], f[2], f[1]],
        [-f[1], -f[2], f[0]],
        [f[1], f[1]],
    ):
        assert _harmless(shift), shift
    for shift in (
        [f[1], f[0], f[1]],
        [f[1], -f[1], f[1]],
        [f[2], f[1], f[2]],
        [-f[1], f[1], -f[1]],
        [f[0], f[2], -f[1]],
    ):
        assert not _harmless(shift), shift


def test_heights_of_the_halves() -> None:
    """Of 2, 0, 3, 1 people with the median in the third bin: half of its three people on either side."""
    lower, upper = _wanted((2, 0, 3, 1), 2)
    assert lower == [2 - Fraction(7, 4), 2 - Fraction(7, 4)]
    assert upper == [Fraction(3, 2) - Fraction(5, 4)]
    lower, upper = _wanted((1, 1, 1, 1), 0)
    assert lower == []
    assert upper == [HALF - Fraction(7, 4), Fraction(3, 2) - Fraction(7, 4), Fraction(5, 2) - Fraction(7, 4)]
    assert _ranks({0: (Fraction(1),), 2: (Fraction(3, 2),)}, 3) == [1 - Fraction(5, 4), 1 - Fraction(5, 4)]


def test_every_replacement_addition_and_removal() -> None:
    moved = list(_moves((2, 0, 1)))
    added = [(3, 0, 1), (2, 1, 1), (2, 0, 2)]
    removed = [(1, 0, 1), (2, 0, 0)]
    replaced = [(1, 1, 1), (1, 0, 2), (3, 0, 0), (2, 1, 0)]
    assert set(added + removed + replaced) <= set(moved)
    assert set(moved) - {(2, 0, 1)} == set(added + removed + replaced)


COUNTS = ((0, 0, 0, 0), (1, 1, 1, 1), (2, 0, 3, 1))


@pytest.mark.parametrize("side", ["lower_cells", "upper_cells"])
@pytest.mark.parametrize("median", [0, 1, 2, 3])
@pytest.mark.parametrize("counts", COUNTS[1:])
def test_halves_that_are_wrong_at_one_table_and_one_median(counts: Any, median: int, side: str) -> None:
    cells = {bin_: count for bin_, count in enumerate(counts) if count}
    if (side, median) in {("lower_cells", 0), ("upper_cells", 3)}:
        return  # a half without a cut

    true = getattr(JointQuartiles, side)

    def wrong(self: Any, shown: Any, at: int) -> Any:
        made = dict(true(self, shown, at))
        if dict(shown) == cells and at == median:
            made[0] = (made.get(0, (Fraction(0),))[0] + 1,)
        return made

    twin = type("Twin", (JointQuartiles,), {side: wrong})
    _moves_problem.cache_clear()
    assert "not those of the theorem" in _moves_problem(twin(4, level(1)))
    _moves_problem.cache_clear()


def test_shifts_of_more_than_one_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    own = JointQuartiles(4, level(1))
    _moves_problem.cache_clear()
    assert _moves_problem(own) == ""
    true = quartiles._wanted
    for factor, words in ((Fraction(11, 10), "more than 1"), (Fraction(1), "")):
        _moves_problem.cache_clear()
        monkeypatch.setattr(
            quartiles,
            "_wanted",
            lambda counts, m, factor=factor: tuple([factor * h for h in side] for side in true(counts, m)),
        )
        monkeypatch.setattr(quartiles, "_heights", lambda joint, counts, m: quartiles._wanted(counts, m))
        assert words in _moves_problem(own)
    _moves_problem.cache_clear()
    monkeypatch.setattr(quartiles, "_harmless", lambda shift: False)
    assert "does not cover" in _moves_problem(own)
    _moves_problem.cache_clear()


def test_what_the_quartiles_spend() -> None:
    joint = JointQuartiles(9, level(1, "3/100"))
    half = joint.middle
    assert _spend_problem(joint, [half]) == ""
    assert "epsilon" in _spend_problem(joint, [half, replace(half, share=Fraction(51, 100))])
    assert "epsilon" in _spend_problem(joint, [half, replace(half, level=level("1.01"))])
    assert "delta" in _spend_problem(joint, [half, replace(half, level=level(1, "101/10000"))])
    assert _spend_problem(joint, [half, replace(half, level=level(1, "1/100"))]) == ""
    for wrong in (replace(half, rank=Fraction(1, 3)), replace(half, levels=(Epsilon.read(1),))):
        other = type("J", (), {"middle": wrong, "level": joint.level})()
        assert "median" in _spend_problem(other, [half])


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("place", [1, 6, 11])
def test_halves_are_examined_at_both_ends_and_in_the_middle(side: str, place: int) -> None:
    true = getattr(JointQuartiles, side)

    def wrong(self: Any, median: int) -> Any:
        law = true(self, median)
        return replace(law, rank=Fraction(0)) if law is not None and median == place else law

    twin = type("Twin", (JointQuartiles,), {side: wrong})
    assert "C10" in refusal(examine_quartiles(twin(13, level(1))))
