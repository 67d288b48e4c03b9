"""Uniform weak compositions: T people into K bins, every way equally likely, by integers alone.

A composition is a row of T stars and K-1 bars; whichever are fewer are placed. Positions are drawn uniformly until enough
different ones are found: the first m different values of independent uniform draws are a uniform set of m. Large rows are
bitmaps filled by numpy from the system's bits, and every comparison is one of integers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from optimaldp.extras import numpy_if_installed
from optimaldp.sampling import BitSource, uniform_below

_FEW_POSITIONS = 48  # below this many positions plain Python is faster than arrays
_LARGEST_WORD_BITS = 63  # positions in signed 64-bit arrays
_MOST_PLACES_PER_POSITION = 64  # a bitmap is worth its memory while it has at most this many places per position


def weak_composition(total: int, parts: int, source: BitSource) -> Any:
    """A uniform one of the ``C(total+parts-1, total)`` ways to write *total* as *parts* ordered numbers, as an array."""
    places, np = total + parts - 1, numpy_if_installed()
    if np is None:
        return _plain_composition(total, parts, source)
    if parts - 1 <= total:
        bars = uniform_subset(parts - 1, places, source)
        ends = np.concatenate((np.array([-1], bars.dtype), bars, np.array([places], bars.dtype)))
        return np.diff(ends) - 1
    stars = uniform_subset(total, places, source)
    return np.bincount(stars - np.arange(total), minlength=parts)


def _plain_composition(total: int, parts: int, source: BitSource) -> list[int]:
    """The same as a list, where there are no arrays."""
    places = total + parts - 1
    if parts - 1 <= total:
        bars = [-1, *_plain_subset(parts - 1, places, source), places]
        return [end - start - 1 for start, end in pairwise(bars)]
    composed = [0] * parts
    for before, star in enumerate(_plain_subset(total, places, source)):
        composed[star - before] += 1
    return composed


def uniform_subset(size: int, bound: int, source: BitSource) -> Any:
    """A uniform set of *size* different integers below *bound*, sorted, as an array."""
    import numpy as np

    if bound.bit_length() >= _LARGEST_WORD_BITS:
        return np.array(_plain_subset(size, bound, source), dtype=object)
    if size <= _FEW_POSITIONS:
        return np.array(_plain_subset(size, bound, source), dtype=np.int64)
    word_bits = 32 if bound < 1 << 28 else 64
    if bound <= _MOST_PLACES_PER_POSITION * size:
        return bitmap_subset(size, bound, source, word_bits=word_bits)
    return sorted_subset(size, bound, source, word_bits=word_bits)


def _plain_subset(size: int, bound: int, source: BitSource) -> list[int]:
    chosen: set[int] = set()
    while len(chosen) < size:
        chosen.add(uniform_below(bound, source))
    return sorted(chosen)


def bitmap_subset(size: int, bound: int, source: BitSource, *, word_bits: int) -> Any:
    """:func:`uniform_subset` for dense sets, as marks in a bitmap."""
    import numpy as np

    marks = np.zeros(bound, dtype=np.bool_)
    marked = 0
    while marked < size:
        # Never more draws than are missing: so the set never overshoots and nothing has to be thrown away.
        marks[uniform_words(size - marked, bound, source, word_bits=word_bits)] = True
        marked = int(np.count_nonzero(marks))
    return np.flatnonzero(marks)


def sorted_subset(size: int, bound: int, source: BitSource, *, word_bits: int) -> Any:
    """:func:`uniform_subset` for sparse sets, as a sorted array without repetitions."""
    import numpy as np

    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < size:
        more = uniform_words(size - len(chosen), bound, source, word_bits=word_bits)
        both = np.sort(np.concatenate((chosen, more)))
        chosen = both[np.diff(both, prepend=-1) > 0]  # np.unique hashes, and takes ten times as long
    return chosen


def uniform_words(count: int, bound: int, source: BitSource, *, word_bits: int) -> Any:
    """At most *count* independent integers, uniform below *bound*: words of *word_bits* bits, the uneven rest dropped."""
    import numpy as np

    size = word_bits // 8
    fetched = source.take(word_bits * count).to_bytes(size * count, "big")
    words = np.frombuffer(fetched, dtype=f">u{size}").astype(f"u{size}", copy=False)
    even = (
        (1 << word_bits) // bound * bound
    )  # the largest multiple of bound: below it every remainder is equally likely
    if even < 1 << word_bits:
        words = words[words < even]
    return (words % np.asarray(bound, words.dtype)).astype(np.int64)
