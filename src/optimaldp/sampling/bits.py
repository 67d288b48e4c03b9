"""Where random bits come from: the operating system, and nothing else. Tests inject bits instead."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Protocol, TypeVar

Outcome = TypeVar("Outcome")

_BUFFER = 512  # bytes fetched at once: one system call serves dozens of draws, and little unused randomness lies around


class BitSource(Protocol):
    """Independent fair bits."""

    def take(self, count: int) -> int:
        """Return *count* fresh bits as an integer in ``[0, 2**count)``."""
        ...


class SystemBits:
    """Bits from the operating system's generator. Not shared between threads or processes: make one for each use."""

    def __init__(self) -> None:
        self._pool = 0
        self._left = 0

    def take(self, count: int) -> int:
        while self._left < count:
            fetched = max(_BUFFER, (count - self._left + 7) // 8)
            self._pool = (self._pool << (8 * fetched)) | int.from_bytes(os.urandom(fetched), "big")
            self._left += 8 * fetched
        self._left -= count
        value = self._pool >> self._left
        self._pool &= (1 << self._left) - 1
        return value


class _OutOfBitsError(Exception):
    pass


class _ScriptedBits:
    """Bits that were written down beforehand; asks for more by an exception."""

    def __init__(self, bits: tuple[int, ...]) -> None:
        self._bits = bits
        self.used = 0

    def take(self, count: int) -> int:
        if self.used + count > len(self._bits):
            raise _OutOfBitsError
        value = 0
        for bit in self._bits[self.used : self.used + count]:
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
        except _OutOfBitsError:
            if len(prefix) >= depth:
                yield None, Fraction(1, 2 ** len(prefix))
            else:
                open_prefixes += [(*prefix, 0), (*prefix, 1)]
            continue
        yield outcome, Fraction(1, 2 ** len(prefix))
