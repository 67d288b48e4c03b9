"""The numbers of paper 002 by a second way, for tests: spheres by their recurrence, levels by their theta."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from optimaldp.privacy import Epsilon


def epsilon_of(theta: Fraction) -> Epsilon:
    return Epsilon(Fraction(0), 1 / theta)


def sphere_sizes(bins: int) -> Iterator[int]:
    """``N_0, N_1, ...`` without end, by ``(d+1)^2 N_{d+1} = (2 d^2 + K(K-1)) N_d - (d-1)^2 N_{d-1}``.

    The recurrence is Legendre's equation in ``x``: ``(1-x)^2 (x f')' = K(K-1) f`` for ``f = sum N_d x^d``.
    """
    before, current, distance = 0, 1, 0
    while True:
        yield current
        following = (2 * distance**2 + bins * (bins - 1)) * current - (distance - 1) ** 2 * before
        before, current = current, following // (distance + 1) ** 2
        distance += 1
