"""How far off a release can be: quantiles of the error, never understated.

Every function returns an integer that is not exceeded with at least the wanted probability; comparisons are made with
balls, or with a bound that is proven, so rounding can only make the statement more careful.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.error import error_ball
from optimaldp.histograms.lattice import sphere_size
from optimaldp.histograms.parameters import theta_ball
from optimaldp.privacy.balls import Ball, ball, precision, upper
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import first_where, read_number

_FEW_BINS = 100  # up to here the tail of the error has a closed form with K-1 terms of exact integers
_MOST_STEPS = 2_000_000  # a longer sum of probabilities would take seconds: Cantelli's inequality serves instead
_SLACK = 1e-9  # what rounding may have added to a sum of at most _MOST_STEPS floats


def read_confidence(level: object) -> Fraction:
    """Read a confidence level strictly between 0 and 1."""
    number = read_number(level, name="level", error=HistogramError)
    if not 0 < number < 1:
        raise HistogramError(
            "level", level, "is not a confidence level", "write a number between 0 and 1, such as 0.95"
        )
    return number


def error_quantile(bins: int, epsilon: Epsilon, level: object = "0.95") -> int:
    """The least even number that the L1 error of the noise exceeds with probability at most ``1 - level``.

    More than 100 bins with so small an epsilon that millions of distances matter: an upper bound (Cantelli's inequality).
    """
    risk = 1 - read_confidence(level)
    if bins <= _FEW_BINS:
        bits = 256 + 3 * epsilon.leading_zeros
        return 2 * least_size(lambda distance: _distance_tail(bins, epsilon, distance) <= ball(risk), bits=bits)
    mean, spread = _moments(bins, epsilon)
    if mean + 12 * spread > _MOST_STEPS:
        return 2 * math.ceil(mean + spread * math.sqrt(float((1 - risk) / risk)) + 1)
    masses = list(_distance_masses(bins, epsilon, math.ceil(mean + 12 * spread) + 64))
    wanted = sum(masses) * (1 - float(risk) + _SLACK)
    return 2 * next(d for d, mass in enumerate(accumulate(masses)) if mass >= wanted)


def bin_quantile(bins: int, epsilon: Epsilon, level: object = "0.95") -> int:
    """The least number that the noise in one bin exceeds in size with probability at most ``1 - level``."""
    risk = 1 - read_confidence(level)
    if bins <= _FEW_BINS:
        # The terms of the exact tail alternate beyond K and cancel down to about epsilon^K.
        bits = 256 + 3 * bins * (1 + epsilon.leading_zeros)
        return least_size(lambda size: 2 * _bin_tail(bins, epsilon, size + 1) <= ball(risk), bits=bits)
    bits = 256 + 4 * epsilon.leading_zeros
    with precision(bits):
        factor = _bin_tail_factor(bins, epsilon)
    return least_size(lambda size: 2 * factor * (-epsilon.ball() * (size + 1) / 2).exp() <= ball(risk), bits=bits)


def least_size(holds: Callable[[int], Any], *, bits: int) -> int:
    """The least size from which on the tail is small enough, at a precision where balls are narrow."""

    def certain(size: int) -> bool:
        with precision(bits):
            return bool(holds(size))

    return 0 if certain(0) else first_where(certain, 1)


def _distance_tail(bins: int, epsilon: Epsilon, distance: int) -> Ball:
    """``P(d_G > distance)``: N_d is a polynomial in d, so the rest of the series is a sum over its finite differences."""
    ratio = theta_ball(epsilon)
    values = [sphere_size(bins, distance + 1), sphere_size(bins, distance + 2)]
    for d in range(distance + 2, distance + bins - 1):
        values.append(((2 * d * d + bins * (bins - 1)) * values[-1] - (d - 1) ** 2 * values[-2]) // (d + 1) ** 2)
    values = values[: bins - 1]
    total, factor = Ball(0), 1 / (1 - ratio)
    while values:
        total, factor = total + values[0] * factor, factor * ratio / (1 - ratio)
        values = [right - left for left, right in pairwise(values)]
    return total * ratio ** (distance + 1) / ((1 + ratio) / (1 - ratio)).legendre_p(bins - 1)


def _distance_masses(bins: int, epsilon: Epsilon, steps: int) -> Iterator[float]:
    """``N_d theta^d`` up to a factor, in floats, from the quotients of the recurrence of N_d."""
    decay = float(epsilon)
    pairs, quotient = bins * (bins - 1), float(bins * (bins - 1))
    logarithms = [0.0]
    for d in range(1, steps):
        logarithms.append(logarithms[-1] + math.log(quotient) - decay)
        quotient = (2 * d * d + pairs - (d - 1) ** 2 / quotient) / (d + 1) ** 2
    top = max(logarithms)
    return (math.exp(value - top) for value in logarithms)


def _moments(bins: int, epsilon: Epsilon) -> tuple[float, float]:
    """Mean and standard deviation of d_G, both rounded up a little."""
    with precision(160 + 4 * epsilon.leading_zeros):
        ratio = theta_ball(epsilon)
        mean = error_ball(bins, epsilon=epsilon, bits=128 + 2 * epsilon.leading_zeros) / 2
        variance = bins * (bins - 1) * ratio / (1 - ratio) ** 2 - mean * mean
    return float(upper(mean)) * (1 + 1e-12), math.sqrt(max(0.0, float(upper(variance)))) * (1 + 1e-12)


def _bin_tail(bins: int, epsilon: Epsilon, size: int) -> Ball:
    """``P(z_1 >= size) = theta^k C(K-2+k, k) 2F1(k+1-K, 2-K; k+1; theta) / S``."""
    ratio, steps = theta_ball(epsilon), bins - 1
    term = total = Ball(1)
    for j in range(bins - 2):
        term = term * (size + 1 - bins + j) * (2 - bins + j) * ratio / ((size + 1 + j) * (j + 1))
        total = total + term
    weight = ((1 + ratio) / (1 - ratio)).legendre_p(steps) * (1 - ratio) ** steps
    return ratio**size * Ball(math.comb(bins - 2 + size, bins - 2)) * total / weight


def _bin_tail_factor(bins: int, epsilon: Epsilon) -> Ball:
    """A c with ``P(z_1 >= k) <= c q^k``, ``q = sqrt(theta)``, too large by a factor of about ``1 + 1/(2K)``.

    The noise is K independent two-sided geometric numbers with ratio q, given that their sum is 0; the other K-1 add up
    to any one value with at most the probability of 0.
    """
    root, ratio = (-epsilon.ball() / 2).exp(), theta_ball(epsilon)
    y = (1 + ratio) / (1 - ratio)
    return y.legendre_p(bins - 2) / y.legendre_p(bins - 1) / (1 - root)
