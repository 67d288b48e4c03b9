"""Where random bits come from: the operating system, and nothing else. Tests inject bits instead."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Protocol, TypeVar

from optimaldp.errors import RandomnessError

Outcome = TypeVar("Outcome")

_BUFFER_BYTES = 512  # fetched at once: one system call serves dozens of draws, and little unused randomness lies around
_PIECE_BYTES = 8  # two of the 64 pieces are equal once in 10^16 blocks
_MOST_IMBALANCE = 256  # 4096 fair coins are that far from half heads once in 10^15 blocks: eight standard deviations
_last_start = b""


class BitSource(Protocol):
    """Independent fair bits."""

    def take(self, count: int) -> int:
        """Return *count* fresh bits as an integer in ``[0, 2**count)``."""
        ...


class SystemBits(threading.local):
    """Bits from the operating system's generator, which is examined first.

    Every thread that takes bits has a pool of its own, and a forked process begins with an empty one: no bit is used twice.
    """

    _pool: int
    _remaining: int
    _process: int

    def __init__(self) -> None:
        """Begin with an empty pool; refuse a generator that is visibly broken.

        Nobody can see that bits are random; that they are not is sometimes plain: a block that repeats, a word that comes twice
        in a block, far more ones than zeros. A good generator is refused less than once in 10^13 times. The block that is
        examined is thrown away: if the bits of a draw had to look random, an answer of probability 2^-200 could never be drawn,
        which tells its table from a neighbour's.
        """
        global _last_start
        self._pool, self._remaining, self._process = 0, 0, os.getpid()
        bits = self.take(8 * _BUFFER_BYTES)
        block = bits.to_bytes(_BUFFER_BYTES, "big")
        before, _last_start = _last_start, block[:_PIECE_BYTES]
        pieces = {block[place : place + _PIECE_BYTES] for place in range(0, _BUFFER_BYTES, _PIECE_BYTES)}
        imbalance = abs(bits.bit_count() - 4 * _BUFFER_BYTES)
        if before == _last_start or len(pieces) < _BUFFER_BYTES // _PIECE_BYTES or imbalance > _MOST_IMBALANCE:
            raise RandomnessError

    def take(self, count: int) -> int:
        if self._process != os.getpid():
            vars(self).update(vars(SystemBits()))  # a forked process begins like a new source, or not at all
        while self._remaining < count:
            wanted = max(_BUFFER_BYTES, (count - self._remaining + 7) // 8)
            fetched = os.urandom(wanted)  # every sequence of bytes is equally likely
            if len(fetched) != wanted:
                raise RandomnessError
            # fresh bytes go behind what remains, and bits are taken from the front: none is skipped, none comes twice
            self._pool = (self._pool << (8 * wanted)) | int.from_bytes(fetched, "big")
            self._remaining += 8 * wanted
        self._remaining -= count
        value = self._pool >> self._remaining
        self._pool &= (1 << self._remaining) - 1
        return value


@dataclass
class _OutOfBitsError(Exception):
    """More bits are asked for than are written down."""

    needed: int


@dataclass
class _ScriptedBits:
    """Bits that were written down beforehand; asks for more by an exception."""

    bits: tuple[int, ...]
    used: int = 0

    def take(self, count: int) -> int:
        if self.used + count > len(self.bits):
            raise _OutOfBitsError(self.used + count)
        value = 0
        for bit in self.bits[self.used : self.used + count]:
            value = 2 * value + bit
        self.used += count
        return value


def enumerate_bits(draw: Callable[[BitSource], Outcome], *, depth: int) -> Iterator[tuple[Outcome | None, Fraction]]:
    """Run *draw* on every bit sequence of at most *depth* bits: yields each outcome with its exact probability.

    What is still undecided after *depth* bits is yielded as ``None``. This is how a sampler is tested without statistics.
    """
    open_prefixes: list[tuple[int, ...]] = [()]
    while open_prefixes:
        prefix = open_prefixes.pop()
        source = _ScriptedBits(prefix)
        try:
            outcome = draw(source)
        except _OutOfBitsError as more:
            if more.needed > depth:
                yield None, Fraction(1, 2 ** len(prefix))
            else:  # all bits of the request at once: a draw that gets some of them only asks again
                open_prefixes += [(*prefix, *rest) for rest in product((0, 1), repeat=more.needed - len(prefix))]
            continue
        yield outcome, Fraction(1, 2 ** len(prefix))
