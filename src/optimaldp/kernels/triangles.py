"""The triangle inequality over all triples of points, in floats: which triples need exact numbers?"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from optimaldp.kernels.arrays import Ints
from optimaldp.kernels.compiled import Kernel


def _doubtful(
    table: npt.NDArray[Any], ways: npt.NDArray[Any], first: int, doubt: float, doubtful: Ints
) -> tuple[int, int]:
    """Write to *doubtful* the triples (u, v, w), u < v, u from *first* on, that are not clearly within the inequality.

    Returns how many there are and the next u: the number of points when all were looked at. *doubtful* has room for all triples
    of one u, which are never split.
    """
    filled = 0
    count = len(table)
    for u in range(first, count):
        before = filled
        for w in ways:
            if w == u:
                continue
            near = table[u, w]
            for v in range(u + 1, count):
                around = near + table[w, v]
                if not table[u, v] <= around - doubt * max(1.0, around) and v != w:
                    if filled == len(doubtful):
                        return before, u
                    doubtful[filled, 0] = u
                    doubtful[filled, 1] = v
                    doubtful[filled, 2] = w
                    filled += 1
    return filled, count


TRIANGLES = Kernel(_doubtful)
