"""How close two distributions are, exactly: the least ratio ``e^epsilon`` at a given delta, and the least mu.

``P(S) <= x Q(S) + delta`` must hold for every event S. Among events of the same Q those that collect the answers with the
largest ratios ``P / Q`` are the worst (Neyman and Pearson), so q nested events decide about all ``2^q``. Never answer by
answer: with ``delta > 0`` that is weaker. Everything here follows from the raw (epsilon, delta) of a level and from two rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, ball, precision

Distribution = Sequence[Fraction]

INFINITE_RATIO = None  # no finite epsilon is enough
_FIRST_BITS = 128
_MOST_BITS = 1 << 14  # two Gaussian quantiles that agree to this many bits count as a violation: the safe side


def least_ratio(upper: Distribution, lower: Distribution, delta: Fraction) -> Fraction | None:
    """The least ``x >= 1`` with ``upper(S) <= x lower(S) + delta`` for every event S; ``None`` if there is none.

    >>> least_ratio((Fraction(9, 10), Fraction(1, 10)), (Fraction(8, 10), Fraction(2, 10)), Fraction(1, 10))
    Fraction(1, 1)
    """
    ratio = Fraction(1)
    for above, below in _worst_events(upper, lower):
        if above > delta:
            if below == 0:
                return INFINITE_RATIO
            ratio = max(ratio, (above - delta) / below)
    return ratio


def ratio_within(ratio: Fraction | None, epsilon: Epsilon) -> bool:
    """Whether ``ratio <= e^epsilon``, decided exactly.

    ``e^epsilon`` is rational only where it is known as a rational; otherwise the two are never equal and some precision tells
    them apart.
    """
    if ratio is INFINITE_RATIO or epsilon.infinite:
        return ratio is not INFINITE_RATIO
    if epsilon.exact_ratio is not None:
        return ratio <= epsilon.exact_ratio
    bits = _FIRST_BITS
    while True:
        low, high = enclosure(epsilon, bits)
        if ratio <= low:
            return True
        if ratio >= high:
            return False
        bits *= 2


@lru_cache(maxsize=4096)
def enclosure(epsilon: Epsilon, bits: int = _FIRST_BITS) -> tuple[Fraction, Fraction]:
    """Two rationals with ``e^epsilon`` between them; equal if it is rational."""
    return epsilon.ratio_below(bits=bits), epsilon.ratio_above(bits=bits)


def within_gaussian(upper: Distribution, lower: Distribution, mu: Fraction) -> bool:
    """Whether ``upper(S) <= Phi(Phi^-1(lower(S)) + mu)`` for every event S.

    The worst events are the same: Phi(Phi^-1(.) + mu) is concave, so it lies above the hull of what the nested events reach.
    """
    return all(_gaussian_pair(above, below, mu) for above, below in _worst_events(upper, lower))


def _gaussian_pair(above: Fraction, below: Fraction, mu: Fraction) -> bool:
    if above <= below:
        return True
    # Phi^-1 is infinite at both ends: no finite mu leads away from 0 or up to 1.
    if below == 0 or above == 1 or mu == 0:
        return False
    bits = _FIRST_BITS
    while bits <= _MOST_BITS:
        with precision(bits):
            needed = normal_quantile(above) - normal_quantile(below) - ball(mu)
            if needed < 0:
                return True
            if needed > 0:
                return False
        bits *= 2
    return False


def normal_quantile(probability: Fraction) -> Ball:
    """``Phi^-1`` at the current precision, from the nearer end: the complement is taken while it is exact."""
    nearer = -Ball(2).sqrt() * ball(2 * min(probability, 1 - probability)).erfcinv()
    return nearer if 2 * probability <= 1 else -nearer


def _worst_events(upper: Distribution, lower: Distribution) -> Iterator[tuple[Fraction, Fraction]]:
    """The probabilities under both of the nested events, largest ratio first; answers that neither gives are left out."""
    pairs = [(a, b) for a, b in zip(upper, lower) if a or b]
    pairs.sort(key=_by_falling_ratio)
    above = below = Fraction(0)
    for a, b in pairs:
        above, below = above + a, below + b
        yield above, below


def _by_falling_ratio(pair: tuple[Fraction, Fraction]) -> tuple[int, Fraction]:
    a, b = pair
    return (0, Fraction(0)) if b == 0 else (1, -a / b)
