"""Exact draws, by enumerating the bit tree: the probabilities are right, not nearly right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate

import pytest
from enumerated import measured
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.errors import MechanismError
from optimaldp.privacy.balls import Ball, ball
from optimaldp.sampling import (
    BitSource,
    SystemBits,
    bernoulli,
    choose,
    choose_by_ends,
    choose_enclosed,
    uniform_below,
)


def check(draw: Callable[[BitSource], int], probabilities: Sequence[Fraction], depth: int = 10) -> None:
    """Each outcome has at most its probability, and the undecided part is all that is missing."""
    weights, undecided = measured(draw, depth)
    assert undecided <= Fraction(len(probabilities), 2**depth) * 2
    for index, probability in enumerate(probabilities):
        assert weights.get(index, Fraction(0)) <= probability <= weights.get(index, Fraction(0)) + undecided


rationals = st.lists(st.integers(0, 12), min_size=1, max_size=5).filter(any)


def normalised(numbers: list[int]) -> list[Fraction]:
    return [Fraction(number, sum(numbers)) for number in numbers]


@settings(max_examples=40, deadline=None)
@given(rationals)
def test_choose_has_exactly_its_probabilities(numbers: list[int]) -> None:
    probabilities = normalised(numbers)
    check(lambda source: choose(probabilities, source, first_bits=1), probabilities)


@settings(max_examples=25, deadline=None)
@given(rationals)
def test_enclosed_choice_has_exactly_its_probabilities(numbers: list[int]) -> None:
    probabilities = normalised(numbers)
    enclosed, size = (lambda: [ball(p) for p in probabilities]), len(probabilities)
    check(lambda source: choose_enclosed(enclosed, size, source, first_bits=1), probabilities)


@settings(max_examples=25, deadline=None)
@given(rationals)
def test_choice_by_ends_has_exactly_its_probabilities(numbers: list[int]) -> None:
    probabilities = normalised(numbers)
    ends = [ball(end) for end in accumulate(probabilities)]
    check(lambda source: choose_by_ends(lambda: ends.__getitem__, len(ends), source, first_bits=1), probabilities)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 1000])
def test_choice_by_ends_looks_at_as_many_ends_whatever_is_drawn(size: int) -> None:
    looks = []
    for drawn in range(size):
        seen: list[int] = []

        def end(index: int, seen: list[int] = seen) -> Ball:
            seen.append(index)
            return ball(Fraction(index + 1, size))

        word = (2**64 * (2 * drawn + 1)) // (2 * size)  # the middle of what belongs to this answer
        assert choose_by_ends(lambda end=end: end, size, Word(word)) == drawn
        looks.append(len(seen))
    assert set(looks) == {(size - 1).bit_length()}


class Word:
    """A source that has one word."""

    def __init__(self, word: int) -> None:
        self._words = [word]

    def take(self, count: int) -> int:
        assert count == 64
        return self._words.pop()


def test_enclosed_choice_of_irrational_numbers() -> None:
    third = Fraction(0.36787944117144233)  # e^-1 to 17 digits: close enough for 2^-10
    check(
        lambda source: choose_enclosed(lambda: [Ball(-1).exp(), 1 - Ball(-1).exp()], 2, source, first_bits=1),
        [third, 1 - third],
    )


def test_enclosed_choice_sharpens_wide_balls() -> None:
    """At first the enclosure says nothing: the draw must wait for a better one instead of guessing."""
    calls = []

    def vague() -> list[Ball]:
        calls.append(1)
        return [Ball(0.5, 0.5)] * 2 if len(calls) == 1 else [ball(Fraction(1, 2))] * 2

    assert choose_enclosed(vague, 2, SystemBits()) in (0, 1)
    assert len(calls) >= 2


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 8, 13])
def test_uniform_below(bound: int) -> None:
    weights, undecided = measured(lambda source: uniform_below(bound, source), 12)
    assert set(weights.values()) == {(1 - undecided) / bound}
    assert set(weights) == set(range(bound))
    assert undecided < Fraction(1, 4)


def test_uniform_below_of_nothing() -> None:
    with pytest.raises(MechanismError, match="leaves nothing"):
        uniform_below(0, SystemBits())


@pytest.mark.parametrize("probability", [Fraction(0), Fraction(1), Fraction(1, 3), Fraction(7, 8)])
def test_bernoulli(probability: Fraction) -> None:
    weights, undecided = measured(lambda source: int(bernoulli(probability, source)), 10)
    assert weights.get(1, Fraction(0)) == probability * (1 - undecided)


def test_floats_are_the_dyadic_numbers_that_they_are() -> None:
    weights, undecided = measured(lambda source: choose([0.25, 0.75], source, first_bits=1), 4)
    assert (weights, undecided) == ({0: Fraction(1, 4), 1: Fraction(3, 4)}, 0)


@pytest.mark.parametrize("wrong", [[Fraction(1, 2)], [Fraction(3, 2), Fraction(-1, 2)], [0.1] * 10])
def test_what_is_no_distribution_is_refused(wrong: list[Fraction | float]) -> None:
    with pytest.raises(MechanismError, match="do not sum to one"):
        choose(wrong, SystemBits())


@pytest.mark.long
def test_statistics_with_a_negative_control() -> None:
    """30,000 draws tell the stated distribution from one that is off by a tenth, so a pass means something."""
    probabilities = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    source = SystemBits()
    seen = Counter(choose(probabilities, source) for _ in range(30_000))

    def distance(claimed: Sequence[Fraction]) -> float:
        return sum(float((seen[i] - 30_000 * p) ** 2 / (30_000 * p)) for i, p in enumerate(claimed))

    # Chi-square with two degrees of freedom: P(> 30) = 3e-7.
    assert distance(probabilities) < 30
    assert distance([Fraction(9, 20), Fraction(11, 30), Fraction(11, 60)]) > 30
