"""Independent geometric numbers, ``P(g) = (1-theta) theta^g``, exactly and many at once.

A word of fair bits stands for an interval of uniform numbers; where no threshold ``1 - theta^(j+1)`` lies inside, it decides,
and otherwise more bits are drawn behind it. Beyond the last threshold the number starts again from there (a geometric
number forgets). For a small epsilon the thresholds would be many, so the number is drawn digit by digit: its digits to any
base are independent, and what is above the lowest digit is geometric with ``theta^base``.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import Any

from optimaldp.histograms.parameters import theta
from optimaldp.privacy.balls import Ball, integer_above, integer_below, precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.sampling import BitSource

_WORD_BITS = 64
_DIGIT_BASE = 1024  # values of one digit, for an epsilon so small that a word reaches further
_MOST_BITS_MORE = 16


def geometric_numbers(
    size: int, epsilon: Epsilon, source: BitSource, *, word_bits: int = _WORD_BITS, base: int = _DIGIT_BASE
) -> Any:
    """*size* independent geometric numbers with ratio ``e^-epsilon``, as an array.

    **Guarantee.** Exactly this law, for fair bits.
    """
    import numpy as np

    reach = int(word_bits / float(epsilon)) + 2  # beyond it less than one word in e^word_bits
    if reach <= base:
        return _open_numbers(size, epsilon, reach, source, word_bits)
    digits = _digits(size, epsilon, base, source, word_bits, last=False)
    higher = geometric_numbers(size, epsilon * base, source, word_bits=word_bits, base=base)
    if higher.dtype == object or int(higher.max(initial=0)) >= 2**62 // base:
        return higher.astype(object) * base + digits
    return np.asarray(higher * base + digits)


def _open_numbers(size: int, epsilon: Epsilon, reach: int, source: BitSource, word_bits: int) -> Any:
    import numpy as np

    numbers = _digits(size, epsilon, reach, source, word_bits, last=True)
    beyond = np.flatnonzero(numbers == reach)
    while len(beyond):
        more = _digits(len(beyond), epsilon, reach, source, word_bits, last=True)
        numbers[beyond] += more
        beyond = beyond[more == reach]
    return numbers


def _digits(size: int, epsilon: Epsilon, base: int, source: BitSource, word_bits: int, *, last: bool) -> Any:
    """Numbers below *base* with weights ``theta^j``; with *last* also *base* itself, for all that lies beyond."""
    import numpy as np

    certain, possible = _ends(epsilon, base, word_bits, last)
    kind = np.uint64 if word_bits > 32 else np.int64
    words = _words(size, source, word_bits)
    index = np.searchsorted(np.array(certain, dtype=kind), words, side="right")
    unclear = np.flatnonzero(index != np.searchsorted(np.array(possible, dtype=kind), words, side="right"))
    for position in unclear.tolist():
        index[position] = _decide(int(words[position]), word_bits, epsilon, base, last, source)
    return index.astype(np.int64)


def _words(size: int, source: BitSource, word_bits: int) -> Any:
    """Words of fair bits; whole bytes are fetched at once."""
    import numpy as np

    if word_bits != _WORD_BITS:
        return np.array([source.take(word_bits) for _ in range(size)], dtype=np.int64)
    fetched = source.take(_WORD_BITS * size).to_bytes(_WORD_BITS // 8 * size, "big")
    return np.frombuffer(fetched, dtype=">u8").astype(np.uint64)


def _decide(word: int, bits: int, epsilon: Epsilon, base: int, last: bool, source: BitSource) -> int:
    """What a word that a threshold splits becomes, with more bits behind it."""
    while True:
        more = min(_MOST_BITS_MORE, bits)
        word, bits = (word << more) | source.take(more), bits + more
        certain, possible = _ends(epsilon, base, bits, last)
        index = bisect_right(certain, word)
        if index == bisect_right(possible, word):
            return index


@lru_cache(maxsize=64)
def _ends(epsilon: Epsilon, base: int, bits: int, last: bool) -> tuple[list[int], list[int]]:
    """For each threshold: from which word on a number is certainly above it, and from which word on possibly."""
    with precision(2 * bits + 64 + 2 * epsilon.leading_zeros):
        ratio = theta(epsilon)
        whole = 1 if last else 1 - ratio**base
        steps = range(1, base + 1 if last else base)
        scaled = [(1 - power) * 2**bits / whole for power in accumulate((ratio for _ in steps), lambda a, b: a * b)]
        if isinstance(ratio, Ball):
            certain, possible = [integer_above(end) for end in scaled], [max(0, integer_below(end)) for end in scaled]
        else:
            certain, possible = [end.__ceil__() for end in scaled], [end.__floor__() for end in scaled]
    return _ordered(certain, bits), _ordered(possible, bits)


def _ordered(ends: list[int], bits: int) -> list[int]:
    """Balls may overlap by their radius, and a search needs order; a threshold above every word is none."""
    return [end for end in accumulate(ends, max) if end < 2**bits]
