"""The least expected L1 error of a private histogram with a public total, for many people (002 Theorem 1).

    D*_K(theta) = 2 theta [ (K-1)/(1-theta) + S'/S ],   S(theta) = sum_j C(K-1, j)^2 theta^j,   theta = e^-epsilon

No epsilon-DP mechanism (neighbours: one record replaced) has a smaller limit of the expected L1 error as the number of
people grows, when records are independent and every bin has positive probability. The Legendre form printed in the
paper's Corollary 1 is wrong (erratum E1); the two forms here are equal, and tests compare them with each other and with the
sum itself.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from optimaldp.errors import HistogramError
from optimaldp.histograms.parameters import (
    MOST_EXACT_BINS,
    exact_theta,
    read_bins,
    read_positive_epsilon,
    theta,
    theta_ball,
)
from optimaldp.privacy.balls import Ball, precision, upper
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import read_number
from optimaldp.privacy.trajectory import Number

_DIGITS_OF_INVERSE = 12


def optimal_error(bins: int, *, epsilon: object) -> float:
    """The least expected L1 error for many people, as the nearest float or one next to it.

    >>> optimal_error(2, epsilon="ln(2)"), round(optimal_error(10, epsilon=0.1), 6)
    (2.6666666666666665, 179.911789)
    """
    return float(error_ball(bins, epsilon=epsilon, bits=64).mid())


def exact_error(bins: int, *, epsilon: object) -> Fraction:
    """The least expected L1 error as an exact rational; epsilon must be the logarithm of one.

    >>> exact_error(3, epsilon="ln(2)")
    Fraction(72, 13)
    """
    bins, level = read_bins(bins), read_positive_epsilon(epsilon)
    ratio = theta(level)
    if not isinstance(ratio, Fraction):
        raise HistogramError("epsilon", str(level), "has no rational e^epsilon", "write 'ln(3)', or ask for a ball")
    if bins > MOST_EXACT_BINS:
        raise HistogramError("bins", bins, f"is too many for an exact number (at most {MOST_EXACT_BINS})", "use a ball")
    return Fraction(hypergeometric_form(bins, ratio))


def error_ball(bins: int, *, epsilon: object, bits: int = 128) -> Ball:
    """The least expected L1 error as a ball with at least *bits* correct bits, for any number of bins and any epsilon.

    **Guarantee.** The true value lies in the ball.
    """
    bins, level = read_bins(bins), read_positive_epsilon(epsilon)
    working = bits + 32 + 2 * bins.bit_length() + level.leading_zeros
    while True:
        with precision(working):
            ratio = theta_ball(level)
            # Where theta < 1/K^2 the Legendre quotient and y agree in all leading bits, and S needs a few terms only.
            small = bool(ratio * bins * bins < 1)
            value: Ball = hypergeometric_form(bins, ratio) if small else legendre_form(bins, ratio)
            if value.is_finite() and value.rel_accuracy_bits() >= bits:
                return value
        working *= 2


def hypergeometric_form(bins: int, ratio: Number) -> Number:
    """``2 theta [(K-1)/(1-theta) + S'/S]`` (002 (7)): exact for a rational theta, a ball for a ball."""
    steps = bins - 1
    value, slope = _weighted_sums(steps, ratio)
    return 2 * ratio * (steps / (1 - ratio) + slope / value)


def legendre_form(bins: int, ratio: Number) -> Number:
    """``K (P_K(y)/P_{K-1}(y) - y)`` with ``y = (1+theta)/(1-theta)``: the corrected Corollary 1 (erratum E1)."""
    y = (1 + ratio) / (1 - ratio)
    if isinstance(ratio, Ball):
        return bins * (y.legendre_p(bins) / y.legendre_p(bins - 1) - y)
    before, current = Fraction(1), y
    for k in range(1, bins):
        before, current = current, ((2 * k + 1) * y * current - k * before) / (k + 1)
    return bins * (current / before - y)


def normaliser(bins: int, *, epsilon: object) -> Number:
    """``sum_z theta^(|z|_1/2)`` over the integer vectors with sum 0: ``S/(1-theta)^(K-1) = P_{K-1}(y)`` (002 (8)).

    >>> normaliser(5, epsilon="ln(3)")
    Fraction(443, 8)
    """
    bins, level = read_bins(bins), read_positive_epsilon(epsilon)
    ratio = exact_theta(bins, level)
    if isinstance(ratio, Fraction):
        return _exact_normaliser(bins, ratio)
    return ((1 + ratio) / (1 - ratio)).legendre_p(bins - 1)


@lru_cache(maxsize=64)
def _exact_normaliser(bins: int, ratio: Fraction) -> Fraction:
    return Fraction(_weighted_sums(bins - 1, ratio)[0] / (1 - ratio) ** (bins - 1))


def epsilon_for_error(bins: int, error: object) -> Epsilon:
    """The epsilon that buys an expected L1 error of at most *error*: the inverse of :func:`optimal_error`.

    **Guarantee.** The error at the epsilon returned is at most *error*; a relative ``10**-10`` less epsilon would not do.

    >>> epsilon_for_error(2, "8/3")
    Epsilon(0.69314718056)
    """
    bins = read_bins(bins)
    wanted = read_number(error, name="error", error=HistogramError)
    if wanted <= 0:
        raise HistogramError("error", error, "cannot be reached by any finite epsilon", "name a positive error")
    guess = _secant(bins, float(wanted))
    exponent = _DIGITS_OF_INVERSE - 1 - math.floor(math.log10(guess))
    unit = Fraction(1, 10) ** exponent
    steps = math.floor(Fraction(guess) / unit) - 2
    while not _certainly_at_most(bins, steps * unit, wanted):
        steps += 1
    return Epsilon.read(steps * unit)


def many_bins_error(bins: int, *, epsilon: object) -> float:
    """What the least error tends to for many bins: ``K / sinh(epsilon/2)``.

    That is exactly the error of independent discrete Laplace numbers that keep epsilon for a replaced record (scale
    ``2/epsilon``): for many bins there is nothing to gain but the total, the integers and the remap.
    """
    level = float(read_positive_epsilon(epsilon))
    return 2 * bins * math.exp(-level / 2) / -math.expm1(-level)  # sinh itself overflows from epsilon 1421 on


def small_epsilon_error(bins: int, *, epsilon: object) -> float:
    """What the least error tends to for small epsilon: ``2 (K-1) / epsilon``."""
    return 2 * (bins - 1) / float(read_positive_epsilon(epsilon))


def large_epsilon_error(bins: int, *, epsilon: object) -> float:
    """What the least error tends to for large epsilon: one person misplaced, ``2 K (K-1) e^-epsilon``."""
    return 2 * bins * (bins - 1) * math.exp(-float(read_positive_epsilon(epsilon)))


def _weighted_sums(steps: int, ratio: Number) -> tuple[Number, Number]:
    """``S`` and its derivative."""
    if isinstance(ratio, Ball):
        value, slope = ratio.hypgeom_2f1(-steps, -steps, 1), ratio.hypgeom_2f1(1 - steps, 1 - steps, 2) * steps * steps
        if value.is_finite() and slope.is_finite():
            return value, slope
        ratio_or_ball: Number = ratio
    else:
        ratio_or_ball = Fraction(ratio)
    term = ratio_or_ball**0
    value = slope = 0 * ratio_or_ball
    for j in range(steps + 1):
        value, slope = value + term, slope + j * term
        term = term * (steps - j) ** 2 * ratio_or_ball / (j + 1) ** 2
    return value, slope / ratio_or_ball


def _secant(bins: int, wanted: float) -> float:
    """The epsilon of a wanted error to float precision: a secant in logarithms, where the curve is almost straight."""
    left = 2 * math.asinh(bins / wanted)
    right = left * 1.01
    value_left, value_right = (math.log(optimal_error(bins, epsilon=x) / wanted) for x in (left, right))
    for _ in range(60):
        if value_right == value_left or abs(value_right) < 1e-15:
            break
        step = -value_right * (right - left) / (value_right - value_left)
        moved = min(max(right + step, right / 4), right * 4)
        left, value_left, right = right, value_right, moved
        value_right = math.log(optimal_error(bins, epsilon=right) / wanted)
    return right


def _certainly_at_most(bins: int, epsilon: Fraction, wanted: Fraction) -> bool:
    if epsilon <= 0:
        return False
    return upper(error_ball(bins, epsilon=epsilon, bits=96)) <= wanted
