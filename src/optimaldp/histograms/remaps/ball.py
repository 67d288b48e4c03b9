"""The paper's map V, kept for the record: it loses badly for few people (errata E8, E9)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.priors import CountPrior
from optimaldp.histograms.remaps.projection import project
from optimaldp.privacy.numbers import read_number


def round_share(persons: int, shares: Sequence[Fraction]) -> tuple[int, ...]:
    """*persons* divided by *shares* in whole numbers, by largest remainders (erratum E8: ``n p`` is no histogram).

    >>> round_share(8, [Fraction(1, 3)] * 3)
    (3, 3, 2)
    """
    exact = [persons * share for share in shares]
    counts = [int(x) for x in exact]
    order = sorted(range(len(exact)), key=lambda k: (counts[k] - exact[k], k))
    for k in order[: persons - sum(counts)]:
        counts[k] += 1
    return tuple(counts)


def ball_map(noisy: object, *, prior: CountPrior, radius: object = 1) -> Any:
    """The paper's map V: a table within L1 distance ``R n^(2/3)`` of ``n p`` stays, any other becomes ``n p`` (rounded).

    A table inside the ball that is no histogram (possible while ``R n^(2/3) > 2 n min p``, erratum E9) is projected.
    """
    import numpy as np

    table, scale = np.asarray(noisy), read_number(radius, name="radius", error=HistogramError)
    persons = int(table.sum())
    distance = sum(abs(int(x) - persons * share) for x, share in zip(table, prior.means))
    # |g - np|_1 <= R n^(2/3), without a root
    if distance**3 <= scale**3 * persons**2:
        return project(table)
    return np.array(round_share(persons, prior.means), dtype=table.dtype)


def distance_to_edge(persons: int, shares: Sequence[Fraction]) -> Fraction:
    """The L1 distance from ``n p`` to the relative boundary of the histograms, ``2 n min p`` (erratum E9; the paper has
    half).

    >>> distance_to_edge(12, [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)])
    Fraction(4, 1)
    """
    return 2 * persons * min(shares)
