"""Back to a histogram: what may be done with a noisy table at no cost in privacy (post-processing).

*projection*: the nearest histogram in L1. It never increases the error, whatever the true histogram is (erratum E10), so
the least error for many persons is kept for every number of persons, with no knowledge of the data. *bayes*: the
histogram with the least expected error given a prior. *ball*: the paper's map V, kept for the record; it loses badly for
few persons and leaves the histograms unless rounded (errata E8, E9). *none*: the noisy table itself, with negative
counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.bayes import bayes_remap
from optimaldp.histograms.priors import Prior
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import read_number

REMAPS = ("projection", "bayes", "ball", "none")


def read_remap(value: str | None, prior: Prior | None) -> str:
    """The remap by its name; without one, Bayes where there is a prior and the projection where there is none."""
    if value is None:
        return "projection" if prior is None else "bayes"
    if value not in REMAPS:
        raise HistogramError("remap", value, "is not a remap", f"use one of {', '.join(REMAPS)}")
    if value in ("bayes", "ball") and prior is None:
        raise HistogramError("remap", value, "needs a prior", "name one (it must be public), or use the projection")
    return value


def apply_remap(name: str, noisy: Any, *, epsilon: Epsilon, prior: Prior | None) -> Any:
    """Map a noisy table back, by the name of the remap."""
    if name == "bayes" and prior is not None:
        return bayes_remap(noisy, epsilon=epsilon, prior=prior)
    if name == "ball" and prior is not None:
        return ball_map(noisy, prior=prior)
    return project(noisy) if name == "projection" else noisy


def project(noisy: Any) -> Any:
    """The nearest histogram with the same total, as an array: the tops are cut to one common level.

    **Guarantee.** ``0 <= a <= max(g, 0)`` and the same sum, so a is an L1 projection and ``|a - h|_1 <= |g - h|_1`` for
    every histogram h with that sum. Among the L1 projections this one is nearest in L2, too, up to rounding.

    >>> project([5, -2, 1]).tolist(), project([-1, -1, 12]).tolist()
    ([4, 0, 0], [0, 0, 10])
    """
    import numpy as np

    table = np.asarray(noisy)
    total = table.sum()
    if total < 0:
        raise HistogramError(
            "table", int(total), "has a negative total", "only tables of a public total can be projected"
        )
    if (table >= 0).all():
        return table.copy()
    falling = np.sort(table)[::-1]
    # The common cut t is the largest integer that leaves at least the total: sum_k max(g_k - t, 0) >= total.
    excess = np.cumsum(falling) - total
    cuts = [int(extra) // (rank + 1) for rank, extra in enumerate(excess[: _kept(falling, excess)])]
    cut = max(0, max(cuts))
    above = np.maximum(table - cut, 0)
    return _drop_one_each(above, int(above.sum() - total))


def _kept(falling: Any, excess: Any) -> int:
    """How many of the largest entries stay above a cut that spreads the excess evenly over them."""
    import numpy as np

    ranks = np.arange(1, len(falling) + 1)
    return int(np.count_nonzero(falling * ranks > excess)) or 1


def _drop_one_each(above: Any, too_many: int) -> Any:
    """Take one person more from the first bins above the cut: what the integer cut left over.

    Any such bins are equally near in L1 and L2. By position, not by size: a rule by size would favour even or uneven histograms.
    """
    import numpy as np

    if too_many:
        above[np.flatnonzero(above)[:too_many]] -= 1
    return above


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


def ball_map(noisy: Any, *, prior: Prior, radius: Any = 1) -> Any:
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


def ball_fits(persons: int, shares: Sequence[Fraction], *, radius: Any = 1) -> bool:
    """Whether the ball of the map V lies inside the histograms: ``R n^(2/3) <= 2 n min p``."""
    scale = read_number(radius, name="radius", error=HistogramError)
    return scale**3 * persons**2 <= distance_to_edge(persons, shares) ** 3
