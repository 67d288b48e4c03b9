"""Optimal composition of k equal levels, in closed form (Kairouz, Oh, Viswanath 2015, Theorem 3.3).

Any (epsilon, delta)-DP mechanism is a post-processing of one randomised response: with probability delta it gives everything
away, else it tells the truth with probability ``E/(1+E)``, ``E = e^epsilon``. So k of them are no worse than k randomised
responses, which attain it. Among these, l lies of k have probability ``C(k,l) E^(k-l) / (1+E)^k`` on one dataset and
``C(k,l) E^l / (1+E)^k`` on the other. With ``a_i`` and ``b_i`` the sums of both over ``l < i``, the k mechanisms are
(ln x, total delta)-DP together if and only if

    1 - (1 - delta)^k (1 - t) = total delta   and   a_i - x b_i <= t   for every i,

that is ``x = max(1, max_i (a_i - t) / b_i)``. The paper lists the corners of this curve; here any total delta is solved.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from optimaldp.errors import InputError
from optimaldp.privacy.balls import Ball, ball, precision, upper
from optimaldp.privacy.epsilon import INFINITE, ZERO, Epsilon
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.numbers import first_where

_EXACT_BITS = 4096  # rationals up to this size are exact; beyond, balls are much faster and lose nothing that matters
_BITS = 192


@lru_cache(maxsize=4096)
def compose_optimal(level: Bound, count: int, delta: Fraction) -> Epsilon:
    """The least epsilon that *count* mechanisms of one *level* keep together at a total *delta*.

    **Guarantee.** Never below the true value; equal to it when ``e^epsilon`` is rational and the numbers are small, else above
    it by a relative ``2**-100`` or less in ``e^epsilon``. The mechanisms, and how many of the *count* are used, may be chosen
    adaptively; the level may not. Infinite when *delta* is too small for any epsilon.

    >>> compose_optimal(Bound(Epsilon.read("ln(2)"), Fraction(0)), 2, Fraction(1, 5))
    Epsilon(ln(11/5))
    """
    if count < 0:
        raise InputError("count", count, "is negative", "count the mechanisms: 0, 1, 2, ...")
    if count == 0:
        return ZERO
    if level.epsilon.infinite:
        return INFINITE if delta < 1 else ZERO
    survive = (1 - level.delta) ** count
    if 1 - survive > delta:
        return INFINITE
    target = Fraction(1) if survive == 0 else 1 - (1 - delta) / survive
    ratio = level.epsilon.exact_ratio
    if ratio is not None and count * max(ratio.numerator.bit_length(), ratio.denominator.bit_length()) <= _EXACT_BITS:
        return Epsilon(Fraction(0), max([Fraction(1), *_least_ratios(ratio, count, target)]))
    return _rounded_up(level.epsilon, count, target)


def _least_ratios(ratio: Fraction, count: int, target: Fraction) -> Iterator[Fraction]:
    normaliser = (1 + ratio) ** count
    here = there = Fraction(0)
    for lies, ways in _binomials(count):
        here += ways * ratio ** (count - lies)
        there += ways * ratio**lies
        yield (here - target * normaliser) / there


def _rounded_up(epsilon: Epsilon, count: int, target: Fraction) -> Epsilon:
    with precision(_BITS + 2 * count.bit_length()):
        base = epsilon.exp()
        goal = ball(target)
        # Both sums are divided by (1+E)^k term by term, so that no number leaves the range of what is compared.
        truth, lie = base / (1 + base), 1 / (1 + base)
        best = Fraction(1)
        here, there = Ball(0), Ball(0)
        for lies, ways in _binomials(count):
            here += ways * truth ** (count - lies) * lie**lies
            there += ways * truth**lies * lie ** (count - lies)
            best = max(best, upper((here - goal) / there))
        return min(Epsilon(Fraction(0), best), epsilon * count)


def _binomials(count: int) -> Iterator[tuple[int, int]]:
    """(l, C(count, l)) for l up to count // 2: more lies than truths speak for the other dataset and never decide."""
    ways = 1
    for lies in range(count // 2 + 1):
        yield lies, ways
        ways = ways * (count - lies) // (lies + 1)


def most_spends(level: Bound, epsilon: Epsilon, delta: Fraction, *, limit: int = 1 << 20) -> int:
    """How many mechanisms of one *level* fit into a total (*epsilon*, *delta*); *limit* if there is no end before it."""
    return first_where(lambda count: count > limit or compose_optimal(level, count, delta) > epsilon, 1) - 1
