"""Which codes occur in a long array, and where first: by a table when the codes are few, by sorting otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_LARGEST_TABLE = 1 << 24  # codes below this are looked up in a table of 128 MiB at most, without sorting


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
