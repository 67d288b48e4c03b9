"""Bits: the operating system's come through unchanged, and the enumeration of bit trees loses nothing."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.errors import RandomnessError
from optimaldp.sampling import BitSource, SystemBits, enumerate_bits
from optimaldp.sampling.batch import draw_many


def test_system_bits_hand_on_every_bit_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[bytes] = []

    def recorded(count: int) -> bytes:
        fetched.append(hashlib.shake_256(bytes([len(fetched)])).digest(count))
        return fetched[-1]

    monkeypatch.setattr(os, "urandom", recorded)
    source = SystemBits()
    del fetched[:]  # what was examined is thrown away
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


# Twins of a broken generator: what can be seen of it is refused, and nothing is answered.

_TRUE = os.urandom


def biased(count: int) -> bytes:
    """Three ones in five."""
    return bytes(sum((byte % 5 < 3) << place for place, byte in enumerate(_TRUE(8))) for _ in range(count))


BROKEN: dict[str, Callable[[int], bytes]] = {
    "zeros": bytes,
    "ones": lambda count: b"\xff" * count,
    "one byte again and again": lambda count: b"\x5a" * count,
    "the same block every time": lambda count: hashlib.shake_256(b"block").digest(count),
    "one word again and again": lambda count: (b"\x13\x57\x9b\xdf\x02\x46\x8a\xce" * (count // 8 + 1))[:count],
    "a block of half the size twice": lambda count: 2 * _TRUE(count // 2),
    "biased": biased,
    "too few bytes": lambda count: _TRUE(count - 1),
    "none": lambda count: b"",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_generator_that_is_visibly_broken_decides_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", BROKEN[name])
    with pytest.raises(RandomnessError):
        [SystemBits().take(64) for _ in range(2)]
    with pytest.raises(RandomnessError):
        [draw_many([Fraction(1, 2), Fraction(1, 2)], 100) for _ in range(2)]


def test_bits_that_do_not_look_random_are_drawn_like_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 4096 zeros is as likely as any other run; without it an unlikely answer would be impossible, not unlikely."""
    source = SystemBits()
    monkeypatch.setattr(os, "urandom", bytes)
    assert source.take(4096) == 0


@pytest.mark.parametrize("question", ["majority(vote = 'yes')", "histogram(vote, ['yes', 'no'])"])
def test_no_answer_comes_from_a_broken_generator(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pyarrow.table({"vote": ["yes"] * 7 + ["no"] * 4})
    odp.release(table, question, epsilon=1)
    monkeypatch.setattr(os, "urandom", BROKEN["zeros"])
    with pytest.raises(RandomnessError) as caught:
        odp.release(table, question, epsilon=1)
    assert str(caught.value) == str(RandomnessError())


@pytest.mark.long
def test_every_answer_asks_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each answer fresh bits, at least as many as it uses: nothing is left over from the answer before."""
    asked: list[int] = []

    def counted(count: int) -> bytes:
        asked.append(count)
        return _TRUE(count)

    monkeypatch.setattr(os, "urandom", counted)
    table = pyarrow.table({"vote": ["yes"] * 7 + ["no"] * 4})
    for question in ("majority(vote = 'yes')", "winner(vote, ['yes', 'no'])", "histogram(vote, ['yes', 'no'])"):
        for _ in range(3):
            before = sum(asked)
            odp.release(table, question, epsilon=1)
            assert sum(asked) - before >= 8


def _child(source: SystemBits, sender: Any) -> None:
    sender.send(source.take(256))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_does_not_repeat_its_parents_bits() -> None:
    """The pool holds unused bits at the time of the fork: parent and children must not hand out the same ones."""
    source = SystemBits()
    source.take(1)
    taken = []
    context = multiprocessing.get_context("fork")
    for _ in range(2):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_child, args=(source, sender))
        process.start()
        taken.append(receiver.recv())
        process.join()
    taken.append(source.take(256))
    assert len(set(taken)) == 3


def test_a_forked_process_examines_the_generator_until_it_is_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal leaves nothing behind that would let the next bits pass, nor any of the parent's."""
    source = SystemBits()
    source.take(1)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    for name in ("zeros", "too few bytes", "zeros"):
        monkeypatch.setattr(os, "urandom", BROKEN[name])
        with pytest.raises(RandomnessError):
            source.take(8)
    monkeypatch.setattr(os, "urandom", _TRUE)
    source.take(8)
    assert source.__dict__["_remaining"] == 8 * 512 - 8


def test_threads_do_not_share_bits() -> None:
    """One source in many threads: no word comes twice, and the pool of one thread is not that of another."""
    source = SystemBits()
    barrier = threading.Barrier(8)

    def take(_: int) -> list[int]:
        barrier.wait()
        return [source.take(64) for _ in range(2000)]

    with ThreadPoolExecutor(8) as workers:
        words = [word for taken in workers.map(take, range(8)) for word in taken]
    assert len(set(words)) == len(words)


def test_a_second_thread_begins_with_an_empty_pool() -> None:
    source = SystemBits()
    source.take(8)
    left = [source.__dict__["_remaining"]]
    thread = threading.Thread(target=lambda: left.append(source.__dict__["_remaining"]))
    thread.start()
    thread.join()
    assert left == [8 * 512 - 8, 0]


@pytest.mark.parametrize(("ones", "passes"), [(2304, True), (2305, False), (1792, True), (1791, False)])
def test_how_odd_a_block_may_be(ones: int, passes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of 4096 bits are ones, give or take 256."""
    block = _block_with(ones)
    monkeypatch.setattr(os, "urandom", lambda count: block[:count])
    monkeypatch.setattr("optimaldp.sampling.bits._last_start", b"")
    if passes:
        SystemBits()
    else:
        with pytest.raises(RandomnessError):
            SystemBits()


def _block_with(ones: int) -> bytes:
    """512 bytes that look random but for their number of ones: one bit of a byte is changed, byte after byte."""
    block = bytearray(hashlib.shake_256(b"a block").digest(512))
    for place in range(512):
        missing = ones - int.from_bytes(block, "big").bit_count()
        changeable = (~block[place] if missing > 0 else block[place] if missing < 0 else 0) & 255
        block[place] ^= changeable & -changeable
    assert int.from_bytes(block, "big").bit_count() == ones
    return bytes(block)


def test_a_piece_that_comes_twice_in_its_place_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two equal pieces of eight bytes at multiples of eight: shifted by one byte, no two pieces are equal."""
    block = bytearray(hashlib.shake_256(b"block").digest(512))
    monkeypatch.setattr(os, "urandom", lambda count: bytes(block)[:count])
    SystemBits()
    block[:8] = block[3:11]  # a new beginning: the same one again is refused for itself
    SystemBits()
    block[:8], block[8:16] = block[5:13], block[480:488]
    with pytest.raises(RandomnessError):
        SystemBits()
