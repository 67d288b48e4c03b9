"""Bits: the operating system's come through unchanged, and the enumeration of bit trees loses nothing."""

from __future__ import annotations

import os
from fractions import Fraction

import pytest

from optimaldp.sampling import BitSource, SystemBits, enumerate_bits


def test_system_bits_hand_on_every_bit_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[bytes] = []

    def recorded(count: int) -> bytes:
        fetched.append(bytes((7 * len(fetched) + 13 * i) % 256 for i in range(count)))
        return fetched[-1]

    monkeypatch.setattr(os, "urandom", recorded)
    source = SystemBits()
    sizes = [1, 3, 64, 0, 5, 4096, 1, 700, 9000]
    taken = "".join(format(source.take(size), f"0{size}b") if size else "" for size in sizes)
    original = "".join(format(byte, "08b") for block in fetched for byte in block)
    assert original.startswith(taken)
    assert len(taken) == sum(sizes)


def test_system_bits_stay_in_range() -> None:
    source = SystemBits()
    assert all(0 <= source.take(size) < 2**size for size in (1, 2, 7, 8, 63, 64, 65, 5000))
    assert source.take(0) == 0


def test_system_bits_are_fair() -> None:
    ones = sum(SystemBits().take(64).bit_count() for _ in range(1000))
    # 64,000 bits: standard deviation 126; five of them are passed with probability 6e-7.
    assert abs(ones - 32_000) < 5 * 127


def test_two_sources_differ() -> None:
    assert SystemBits().take(256) != SystemBits().take(256)


def test_enumeration_is_a_probability_distribution() -> None:
    def draw(source: BitSource) -> int:
        length = 0
        while source.take(1) == 0:
            length += 1
        return length

    outcomes = list(enumerate_bits(draw, depth=6))
    assert sum(weight for _, weight in outcomes) == 1
    assert {outcome: weight for outcome, weight in outcomes if outcome is not None} == {
        length: Fraction(1, 2 ** (length + 1)) for length in range(6)
    }
    assert [weight for outcome, weight in outcomes if outcome is None] == [Fraction(1, 64)]


def test_enumeration_of_a_draw_without_bits() -> None:
    assert list(enumerate_bits(lambda source: "fixed", depth=3)) == [("fixed", Fraction(1))]
