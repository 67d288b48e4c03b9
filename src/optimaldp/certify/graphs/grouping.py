"""Many equal things once, by arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def group(code: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """The distinct codes (all below *size*), and for each entry the place of its code among them."""
    if size > 4 * len(code) + 10**6:
        distinct, place = np.unique(code, return_inverse=True)
        return distinct, place.astype(np.int64)
    # A table of all codes: linear, where sorting is not.
    present = np.zeros(size, dtype=bool)
    present[code] = True
    distinct = np.flatnonzero(present)
    places = np.empty(size, dtype=np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[code]


def first_of_each(place: Numbers, count: int) -> Numbers:
    """For each of *count* places the first entry that has it."""
    first = np.empty(count, dtype=np.int64)
    first[place[::-1]] = np.arange(len(place) - 1, -1, -1)  # the last assignment wins
    return first
