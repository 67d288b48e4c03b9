"""The least average error of a private median over all tables of a few people, by linear programming."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

Counts = tuple[int, ...]


@lru_cache(maxsize=8)
def tables(bins: int, persons: int) -> tuple[Counts, ...]:
    """Every way to put *persons* people into *bins* bins."""

    def below(places: int, rest: int) -> Iterator[Counts]:
        if places == 1:
            yield (rest,)
            return
        for first in range(rest + 1):
            for others in below(places - 1, rest - first):
                yield (first, *others)

    return tuple(below(bins, persons))


def median_bin(counts: Counts) -> int:
    target, below = -(-sum(counts) // 2), 0
    for bin_, count in enumerate(counts):
        below += count
        if below >= target:
            return bin_
    return len(counts) - 1


def average_over_tables(bins: int, persons: int, error: Callable[[Counts], float]) -> float:
    """Every table counts the same: no sharp prior, under which a linear program could do far better than any general law."""
    listed = tables(bins, persons)
    return sum(map(error, listed)) / len(listed)


def least_error(bins: int, persons: int, epsilon: float) -> float:
    """The least average probability of a wrong bin of any epsilon-DP mechanism (a record is replaced), by HiGHS."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    states = tables(bins, persons)
    column = {counts: bins * i for i, counts in enumerate(states)}
    pairs = [
        (column[counts] + answer, column[other] + answer)
        for counts in states
        for other in _replaced(counts)
        for answer in range(bins)
    ]
    index = np.array(pairs)
    data = np.tile([1.0, -math.exp(epsilon)], len(pairs))
    upper = csr_matrix(
        (data, (np.repeat(np.arange(len(pairs)), 2), index.ravel())), shape=(len(pairs), bins * len(states))
    )
    equal = csr_matrix(
        (np.ones(bins * len(states)), (np.repeat(np.arange(len(states)), bins), np.arange(bins * len(states))))
    )
    cost = [(answer != median_bin(c)) / len(states) for c in states for answer in range(bins)]
    solved = linprog(
        cost, A_ub=upper, b_ub=np.zeros(len(pairs)), A_eq=equal, b_eq=np.ones(len(states)), method="highs-ipm"
    )
    return float(solved.fun)


def _replaced(counts: Counts) -> Iterator[Counts]:
    for source, held in enumerate(counts):
        for place in range(len(counts)):
            if held and place != source:
                yield tuple(c - (i == source) + (i == place) for i, c in enumerate(counts))
