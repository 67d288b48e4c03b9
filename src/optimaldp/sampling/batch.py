"""Many draws at once, for simulation: 64-bit words against integer thresholds, and the rare undecided word by the scalar path.

A word w stands for the uniform reals in ``[w, w + 1) / 2**64``. Where no threshold lies inside that interval the word
decides the draw; otherwise more bits are drawn behind it. So the result has exactly the stated distribution, as a
single draw has.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from optimaldp.errors import MechanismError, RandomnessError
from optimaldp.privacy.balls import Ball, integer_above, integer_below, precision
from optimaldp.privacy.numbers import is_whole
from optimaldp.sampling.bits import BitSource, SystemBits
from optimaldp.sampling.exact import choose, choose_enclosed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]

Probabilities = Sequence[Fraction] | Callable[[], Sequence[Ball]]

_WORD = 64
_CHUNK = 1 << 17  # words at once: one megabyte, so that memory stays flat for any number of draws


def draw_many(
    probabilities: Probabilities,
    size: int,
    *,
    words: Callable[[int], Words] | None = None,
    source: BitSource | None = None,
) -> NDArray[np.intp]:
    """*size* independent indices with exactly the given probabilities: rationals, or a function that encloses them in balls.

    **Guarantee.** The same distribution as :func:`choose` and :func:`choose_enclosed`, index by index. For
    simulation: a release is one draw, and many draws from one dataset are many releases.

    >>> draw_many([Fraction(1), Fraction(0)], 3).tolist()
    [0, 0, 0]
    """
    import numpy as np

    if not is_whole(size, 0):
        raise MechanismError("size", size, "is not a number of draws", "it must be 0 or more")
    certain, possible = _thresholds(probabilities)
    fetch = words or (system_words if source is None else partial(words_of, source))
    rest = source or SystemBits()
    drawn = np.empty(size, dtype=np.intp)
    for start, count in _chunks(size):
        chunk = fetch(count)
        index = np.searchsorted(certain, chunk, side="right")
        open_words = np.flatnonzero(index != np.searchsorted(possible, chunk, side="right"))
        for position in open_words:
            index[position] = _finish(probabilities, int(chunk[position]), rest)
        drawn[start : start + count] = index
    return drawn


def draw_listed(probabilities: Probabilities, size: int, source: BitSource) -> list[int]:
    """The same as :func:`draw_many` from the same bits, word by word and without arrays."""
    fetched = source.take(_WORD * size)
    words = [(fetched >> (_WORD * place)) & (2**_WORD - 1) for place in reversed(range(size))]
    return [_finish(probabilities, word, source) for word in words]


def system_words(count: int) -> Words:
    """*count* random 64-bit words from the operating system."""
    import numpy as np

    wanted = _WORD // 8 * count
    fetched = os.urandom(wanted)
    if len(fetched) != wanted:
        raise RandomnessError
    return np.frombuffer(fetched, dtype=np.uint64)


def words_of(source: BitSource, count: int) -> Words:
    """*count* random 64-bit words from another source of bits."""
    import numpy as np

    fetched = source.take(_WORD * count).to_bytes(_WORD // 8 * count, "big")
    return np.frombuffer(fetched, dtype=">u8").astype(np.uint64)


def _chunks(size: int) -> Iterator[tuple[int, int]]:
    for start in range(0, size, _CHUNK):
        yield start, min(_CHUNK, size - start)


def _thresholds(probabilities: Probabilities) -> tuple[Words, Words]:
    """For every inner threshold: from which word on a draw is certainly above it, and from which word on possibly."""
    if callable(probabilities):
        with precision(2 * _WORD):
            scaled = [end * Ball(2) ** _WORD for end in accumulate(probabilities()[:-1])]
            # Word w is certainly above an end from its ceiling on, and possibly from its floor on: rounded apart, ball and all,
            # so that a word with an end inside stays open. A ball around 0 may reach below it, a word cannot.
            certain, possible = [*map(integer_above, scaled)], [max(0, integer_below(end)) for end in scaled]
    else:
        choose(probabilities, SystemBits())  # refuses what is no distribution
        exact = [end * 2**_WORD for end in accumulate(probabilities[:-1])]
        certain, possible = [*map(math.ceil, exact)], [*map(math.floor, exact)]
    return _sorted_words(certain), _sorted_words(possible)


def _sorted_words(values: list[int]) -> Words:
    """A threshold of 2**64 lies above every word; balls may overlap by their radius, and a search needs order."""
    import numpy as np

    return np.array([value for value in accumulate(values, max) if value < 2**_WORD], dtype=np.uint64)


def _finish(probabilities: Probabilities, word: int, source: BitSource) -> int:
    # With this word, not with a fresh one: the draw goes on inside the interval that the word stands for.
    begun = _Begun(word, source)
    if callable(probabilities):
        return choose_enclosed(probabilities, len(probabilities()), begun)
    return choose(probabilities, begun)


class _Begun:
    """Bits of which the first word is known already."""

    def __init__(self, word: int, source: BitSource) -> None:
        self._word: int | None = word
        self._source = source

    def take(self, count: int) -> int:
        if self._word is None:
            return self._source.take(count)
        word, self._word = self._word, None
        assert count == _WORD, "the scalar samplers begin with one word"
        return word
