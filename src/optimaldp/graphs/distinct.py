"""Which codes occur in a long array, and where first: by a table when the codes are few, by sorting otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

_LARGEST_TABLE = 1 << 24  # codes below this are looked up in a table of 128 MiB at most, without sorting


def first_places(items: Sequence[Any]) -> dict[Any, int]:
    """The different items, in order of appearance, each with the place where it occurs first; no Python loop over the items.

    >>> first_places(["b", "a", "b"])
    {'b': 0, 'a': 1}
    """
    places = dict(zip(reversed(items), range(len(items) - 1, -1, -1)))
    return dict(sorted(places.items(), key=itemgetter(1)))


def first_of_each(codes: Any, bound: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The different codes in order, and the index of the first occurrence of each; codes lie in ``0 : bound``."""
    if bound > min(_LARGEST_TABLE, 64 * len(codes) + 64):
        values, first = np.unique(codes, return_index=True)
        return values, first
    place = np.full(bound, -1, dtype=np.int64)
    # Of several values for one place the last assigned remains, so the array is written from its end.
    place[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    present = np.flatnonzero(place >= 0)
    return present, place[present]
