"""Batches: words against thresholds give what single draws give, word by word."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.errors import MechanismError, RandomnessError
from optimaldp.privacy.balls import Ball, ball
from optimaldp.sampling import choose
from optimaldp.sampling.batch import draw_listed, draw_many, system_words

TOP = 2**64
THIRD = Fraction(1, 3)


class Script:
    """A bit source that starts with the given words and goes on with zeros or ones."""

    def __init__(self, *words: int, after: int = 0) -> None:
        self._words = list(words)
        self._after = after
        self.taken = 0

    def take(self, count: int) -> int:
        self.taken += 1
        if self._words:
            return self._words.pop(0)
        return (2**count - 1) * self._after


def fixed(values: Sequence[int]):  # type: ignore[no-untyped-def]
    return lambda count: np.array(values[:count], dtype=np.uint64)


def words_near(probabilities: list[Fraction]) -> list[int]:
    """All words at and beside a threshold, and the two ends."""
    ends = [sum(probabilities[: i + 1], Fraction(0)) for i in range(len(probabilities))]
    near = {int(end * TOP) + shift for end in ends for shift in (-2, -1, 0, 1)}
    return sorted(word for word in near | {0, TOP - 1} if 0 <= word < TOP)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(any), st.integers(0, 1))
def test_every_word_near_a_threshold_is_decided_as_in_a_single_draw(numbers: list[int], after: int) -> None:
    probabilities = [Fraction(n, sum(numbers)) for n in numbers]
    words = words_near(probabilities)
    drawn = draw_many(probabilities, len(words), words=fixed(words), source=Script(after=after))
    assert drawn.tolist() == [choose(probabilities, Script(word, after=after)) for word in words]


def test_undecided_words_draw_more_bits_and_only_they() -> None:
    third = TOP // 3
    source = Script(after=1)
    assert draw_many([Fraction(1, 3), Fraction(2, 3)], 1, words=fixed([third]), source=source).tolist() == [1]
    assert source.taken > 0
    source = Script(after=0)
    assert draw_many([Fraction(1, 3), Fraction(2, 3)], 1, words=fixed([third]), source=source).tolist() == [0]
    source = Script()
    draw_many([Fraction(1, 3), Fraction(2, 3)], 2, words=fixed([third - 1, third + 1]), source=source)
    assert source.taken == 0


def test_balls_give_what_rationals_give() -> None:
    probabilities = [Fraction(1, 7), Fraction(0), Fraction(2, 7), Fraction(4, 7)]
    words = words_near(probabilities)
    for after in (0, 1):
        enclosed = draw_many(
            lambda: [ball(p) for p in probabilities], len(words), words=fixed(words), source=Script(after=after)
        )
        exact = draw_many(probabilities, len(words), words=fixed(words), source=Script(after=after))
        assert enclosed.tolist() == exact.tolist()


def test_an_answer_that_is_too_rare_for_a_word() -> None:
    """2^-70 lies inside the first word: the word alone cannot decide, more bits can."""
    rare = Fraction(1, 2**70)
    for after, expected in ((0, 0), (1, 1)):
        drawn = draw_many([rare, 1 - rare], 1, words=fixed([0]), source=Script(after=after))
        assert drawn.tolist() == [expected]
        enclosed = draw_many(lambda: [ball(rare), 1 - ball(rare)], 1, words=fixed([0]), source=Script(after=after))
        assert enclosed.tolist() == [expected]


def test_a_probability_of_zero_whose_ball_reaches_below_zero() -> None:
    """1/3 + 1/3 + 1/3 - 1 is nothing, and no precision shows it; a word of zeros is decided by the first bit that is one."""
    enclosed = draw_many(
        lambda: [3 * ball(Fraction(1, 3)) - 1, Ball(1)], 2, words=fixed([0, 1]), source=Script(after=1)
    )
    assert enclosed.tolist() == [1, 1]


def test_counts_are_binomial() -> None:
    drawn = draw_many(lambda: [Ball(-1).exp(), 1 - Ball(-1).exp()], 400_000)
    hits = int((drawn == 0).sum())
    deviation = (400_000 * 0.367879 * 0.632121) ** 0.5
    assert abs(hits - 400_000 * 0.367879) < 5.5 * deviation
    # The control: a probability that is off by two per cent would have been seen.
    assert abs(hits - 400_000 * 0.375) > 5.5 * deviation


def test_sizes() -> None:
    assert draw_many([Fraction(1)], 0).tolist() == []
    assert len(draw_many([Fraction(1, 2), Fraction(1, 2)], 300_001)) == 300_001
    assert len(system_words(3)) == 3


@pytest.mark.parametrize("bytes_more", [-24, -8, -1, 8])
def test_words_are_as_many_as_were_asked_for(bytes_more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda count: bytes(count + bytes_more))
    with pytest.raises(RandomnessError):
        system_words(3)


@pytest.mark.parametrize("size", [-1, 1.5, True])
def test_bad_sizes(size: int) -> None:
    with pytest.raises(MechanismError, match="number of draws"):
        draw_many([Fraction(1)], size)


def test_what_is_no_distribution_is_refused() -> None:
    with pytest.raises(MechanismError, match="sum to one"):
        draw_many([Fraction(1, 2), Fraction(1, 3)], 5)


def test_a_source_of_bits_gives_the_words_in_order() -> None:
    """Half and half: a draw is the first bit of its word."""
    words = [0, 2**63, 2**63 - 1, 2**64 - 1, 5]

    class Written:
        def take(self, count: int) -> int:
            assert count == 64 * len(words)
            return int("".join(f"{word:064b}" for word in words), 2)

    drawn = draw_many([Fraction(1, 2), Fraction(1, 2)], len(words), source=Written())
    assert drawn.tolist() == [0, 1, 0, 1, 0]


class Digest:
    """The same bits, whichever words they are taken in."""

    def __init__(self) -> None:
        self._bits = int.from_bytes(hashlib.shake_128(b"digest").digest(1 << 12), "big")

    def take(self, count: int) -> int:
        self._bits, taken = self._bits >> count, self._bits & (2**count - 1)
        return taken


@pytest.mark.parametrize("chances", [(THIRD, THIRD, THIRD), lambda: [ball(THIRD), ball(2 * THIRD)]])
def test_word_by_word_is_the_same_draw_without_arrays(chances: Any) -> None:
    listed = draw_listed(chances, 100, Digest())
    assert listed == draw_many(chances, 100, source=Digest()).tolist()
    assert len(set(listed)) > 1
