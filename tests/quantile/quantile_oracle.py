"""The laws of quantiles as the definitions read, on dense lists of bins: slow, short, and apart from the library's code."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, product

Counts = tuple[int, ...]


def cut_heights(counts: Sequence[int], rank: Fraction) -> list[int]:
    target = math.ceil(rank * sum(counts))
    return [below - target for below in accumulate(counts)][:-1]


def smoothed_rank(heights: Sequence[Fraction | int], s: Fraction, weights: Sequence[Fraction | int]) -> list[Fraction]:
    """By the sums of Theorem 1: ``l_j = m_j s^-a_j``, ``r_j = m_j s^(a_(j-1) + 1)``, rho = L / R."""
    odds = []
    for t in range(len(heights)):
        left = sum(weights[j] * s ** -heights[j] for j in range(t + 1))
        right = sum(weights[j] * s ** (heights[j - 1] + 1) for j in range(t + 1, len(heights) + 1))
        odds.append(Fraction(left) / right)
    ends = [rho / 2 if rho <= 1 else 1 - 1 / (2 * rho) for rho in odds]
    return differences(ends)


def clipped(probabilities: Sequence[Fraction], beta: Fraction) -> list[Fraction]:
    ends = list(accumulate(probabilities))[:-1]
    return differences([min(Fraction(1), max(Fraction(0), (end - beta) / (1 - 2 * beta))) for end in ends])


def differences(ends: Sequence[Fraction]) -> list[Fraction]:
    return [b - a for a, b in zip([Fraction(0), *ends], [*ends, Fraction(1)])]


def distances(heights: Sequence[int]) -> list[int]:
    """How many moves make each bin the true one."""
    bins = len(heights) + 1
    return [max(0, heights[j - 1] + 1 if j > 0 else 0, -heights[j] if j < bins - 1 else 0) for j in range(bins)]


def true_bin(heights: Sequence[int]) -> int:
    return next((j for j, a in enumerate(heights) if a >= 0), len(heights))


def flip(heights: Sequence[int], x: Fraction, *, plus: bool) -> list[Fraction]:
    bins, truth = len(heights) + 1, true_bin(heights)
    d = distances(heights)
    row = [Fraction(0)] * bins
    for j in range(bins):
        if j != truth:
            factor = 1 / (1 + x)
            if plus:
                factor = min(factor, 1 - _ties(heights, x, j, left=j < truth) / (1 + (bins - 1) * x))
            row[j] = x ** d[j] * factor
    row[truth] = 1 - sum(row)
    return row


def _ties(a: Sequence[int], x: Fraction, j: int, *, left: bool) -> Fraction:
    """T_j, with bins counted from 0: the cut left of bin j is j - 1, the one right of it is j."""
    if left:
        return sum((x ** -a[i] for i in range(j)), Fraction(0)) + sum(x ** (a[i] - a[j] + 1) for i in range(j, len(a)))
    return sum((x ** (a[j - 1] - a[i] + 1) for i in range(j)), Fraction(0)) + sum(
        x ** (a[i] + 1) for i in range(j, len(a))
    )


def without_small_parts(row: Sequence[Fraction], truth: int, tau: Fraction) -> list[Fraction]:
    kept = [p if j == truth else max(Fraction(0), p - tau) for j, p in enumerate(row)]
    kept[truth] += 1 - sum(kept)
    return kept


def tables(bins: int, most: int) -> Iterator[Counts]:
    """Every table with at most *most* people, the last entry those without a value."""
    for counts in product(range(most + 1), repeat=bins + 1):
        if sum(counts) <= most:
            yield counts


def neighbours(counts: Counts) -> Iterator[Counts]:
    """Every table that one person's change makes: to another bin, to no value, added, removed."""
    for place in range(len(counts)):
        added = tuple(c + (i == place) for i, c in enumerate(counts))
        yield added
        for source in range(len(counts)):
            if added[source] > (source == place):
                yield tuple(c - (i == source) for i, c in enumerate(added))
        if counts[place]:
            yield tuple(c - (i == place) for i, c in enumerate(counts))


def cells(counts: Sequence[int]) -> dict[int, int]:
    return {bin_: count for bin_, count in enumerate(counts) if count}


def excess(p: Sequence[Fraction], q: Sequence[Fraction], growth: Fraction) -> Fraction:
    """The least delta for which p is covered by ``growth * q``."""
    return sum((max(Fraction(0), a - growth * b) for a, b in zip(p, q)), Fraction(0))
