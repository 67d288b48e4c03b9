"""Personal levels: the closed form against Dijkstra on the grid of counts, and the referee against wrong twins."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.certify.personal import examine_personal
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, lower, precision, upper
from optimaldp.questions import majority, share
from optimaldp.questions.personal import PersonalLevels, state

ratios = st.lists(
    st.sampled_from([Fraction(1), Fraction(6, 5), Fraction(2), Fraction(3), Fraction(10)]),
    min_size=1,
    max_size=3,
    unique=True,
)


def epsilon(ratio: Fraction) -> Epsilon:
    return Epsilon(Fraction(0), ratio)


def on_the_grid(levels: Sequence[Fraction], sizes: Sequence[int], threshold: int) -> dict[tuple[int, ...], Fraction]:
    """The balanced optimum by the theory's section 2.2: seed the boundary, relax inside the regions until nothing changes."""
    grid = list(itertools.product(*(range(n + 1) for n in sizes)))
    right = dict.fromkeys(grid, Fraction(1))

    def edges() -> list[tuple[tuple[int, ...], tuple[int, ...], Fraction]]:
        ups = [(v, (*v[:g], v[g] + 1, *v[g + 1 :]), levels[g]) for v in grid for g in range(len(sizes))]
        both = [(a, b, e) for a, b, e in ups if b in right]
        return both + [(b, a, e) for a, b, e in both]

    for a, b, ratio in edges():
        if (sum(a) >= threshold) != (sum(b) >= threshold):
            right[a] = min(right[a], ratio / (ratio + 1))
    for _ in range(len(grid)):
        for a, b, ratio in edges():
            if (sum(a) >= threshold) == (sum(b) >= threshold):
                right[b] = min(right[b], ratio * right[a], 1 - (1 - right[a]) / ratio)
    return {v: 1 - p for v, p in right.items()}


@settings(max_examples=40, deadline=None)
@given(ratios, st.data())
def test_closed_form_is_the_optimum_on_the_grid(levels: list[Fraction], data: st.DataObject) -> None:
    levels = sorted(levels)
    sizes = [data.draw(st.integers(0, 3)) for _ in levels]
    bound = data.draw(st.fractions(0, 1, max_denominator=12))
    question = share("p") >= bound
    total = sum(sizes)
    threshold = -(-bound.numerator * total // bound.denominator)
    expected = on_the_grid(levels, sizes, threshold)
    mechanism = PersonalLevels(tuple(map(epsilon, levels)))
    for grid, error in expected.items():
        where = state(question, [(epsilon(r), (y, n - y)) for r, y, n in zip(levels, grid, sizes)])
        with precision(128):
            shown = mechanism.error(where.flips, where.available)
            assert lower(shown) <= error + Fraction(1, 2**100)
            assert upper(shown) >= error - Fraction(1, 2**100)
            assert upper(shown) - lower(shown) < Fraction(1, 2**90)


def test_one_level_is_the_plain_closed_form() -> None:
    from optimaldp.laws.chain import Chain
    from optimaldp.privacy import ApproximateDP, level

    bound = level(1)
    assert isinstance(bound, ApproximateDP)
    with precision(128):
        ours = PersonalLevels((bound.epsilon,)).error(7, (10**9,))
        assert ours.overlaps(Chain(bound, 2).error(6))
    assert repr(state(majority("x"), [(bound.epsilon, (3, 4))])) == "PersonalState(private)"


@dataclass(frozen=True)
class Twin:
    levels: tuple[Epsilon, ...]
    kind: str

    def error(self, flips: int, available: Sequence[int]) -> Ball:
        right = PersonalLevels(self.levels)
        if self.kind == "nudged":
            return right.error(flips, available) * (1 - Ball(2) ** -30)
        if self.kind == "loosest first":
            return PersonalLevels(self.levels[::-1]).error(flips, available[::-1])
        if self.kind == "loosest level for all":
            return PersonalLevels((self.levels[-1],)).error(flips, (sum(available),))
        if self.kind == "one flip too far":
            return right.error(flips + 1, [n + 1 for n in available])
        return right.error(flips, available)


@pytest.mark.parametrize("levels", [("1",), ("0.5", "1"), ("0", "ln(2)", "3"), ("0.1", "0.2", "0.3", "1", "2")])
def test_referee_passes_the_closed_form(levels: tuple[str, ...]) -> None:
    assert examine_personal(PersonalLevels(tuple(map(Epsilon.read, levels)))).private


@pytest.mark.parametrize("kind", ["nudged", "loosest first", "loosest level for all", "one flip too far"])
def test_referee_rejects_wrong_twins(kind: str) -> None:
    levels = (Epsilon.read("0.5"), Epsilon.read("ln(2)"))
    assert examine_personal(Twin(levels, "right")).private
    assert not examine_personal(Twin(levels, kind)).private
    assert not examine_personal(Twin(levels[::-1], "right")).private


@pytest.mark.parametrize("sizes", [(2, 3), (0, 4), (3,)])
def test_the_designed_grid_is_the_closed_form_at_delta_zero(sizes: tuple[int, ...]) -> None:
    from optimaldp.questions.personal_grid import grid_mechanism, point

    levels = (epsilon(Fraction(2)), epsilon(Fraction(5)))[: len(sizes)]
    question = majority("x")
    mechanism = grid_mechanism(question, levels, sizes, Fraction(0)).mechanism
    closed = PersonalLevels(levels)
    for grid in itertools.product(*(range(n + 1) for n in sizes)):
        where = state(question, [(e, (y, n - y)) for e, y, n in zip(levels, grid, sizes)])
        row = mechanism[point(grid)]
        wrong = row["no" if where.truth == 0 else "yes"]
        with precision(128):
            shown = closed.error(where.flips, where.available)
            assert lower(shown) <= wrong <= upper(shown) + Fraction(1, 2**100)


def test_the_designed_grid_keeps_each_level_with_delta() -> None:
    from optimaldp.questions.personal_grid import grid_mechanism, point

    ratios_of_levels, sizes, delta = (Fraction(3, 2), Fraction(3)), (3, 3), Fraction(1, 20)
    mechanism = grid_mechanism(
        share("x") >= Fraction(2, 5), tuple(map(epsilon, ratios_of_levels)), sizes, delta
    ).mechanism
    for at in itertools.product(range(4), repeat=2):
        for g, ratio in enumerate(ratios_of_levels):
            if at[g] == 3:
                continue
            there = (*at[:g], at[g] + 1, *at[g + 1 :])
            first, second = mechanism[point(at)], mechanism[point(there)]
            for answer in ("yes", "no"):
                assert first[answer] <= ratio * second[answer] + delta
                assert second[answer] <= ratio * first[answer] + delta
