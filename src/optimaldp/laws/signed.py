"""Yes or no from a signed distance: the further from the bound, the surer the answer.

With W in units in which one person moves it by at most 1, ``P(yes) = 1 - e^(-epsilon W)/2`` where W >= 0 and ``e^(epsilon W)/2``
below: the logarithm of either answer's probability moves by at most epsilon. With delta the law is stretched about one half and
cut off at 0 and 1: ``Q = clip((P - beta)/(1 - 2 beta))``, ``beta = delta/(e^epsilon - 1 + 2 delta)``. *Proof*: with
``rho = delta/(E - 1)``, ``Q = (1 + 2 rho) P - rho``, so ``Q' <= E Q + (E - 1) rho``. At epsilon = 0, ``Q = clip(1/2 + delta W)``.

People with levels of their own enter through W = the exponent itself, which person i moves by at most epsilon_i; delta is then
shared out by the largest epsilon, which is right for the smaller ones too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from optimaldp.laws.log_number import LogNumber
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, ball
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import BitSource, choose_enclosed

Sides = tuple[Number, Number]
"""P(yes) and P(no), each computed without subtracting from 1 where it is small: Fractions where both are rational, else balls."""

SURE: Sides = (Fraction(1), Fraction(0))


def sides_at(distance: Fraction | float, epsilon: Epsilon, delta: Fraction = Fraction(0)) -> Sides:
    """P(yes), P(no) at a signed distance that one person moves by at most 1.

    **Guarantee.** (epsilon, delta)-DP; exact rationals where ``e^(epsilon W)`` is rational.

    >>> sides_at(Fraction(-2), Epsilon.read("ln(3)"))
    (Fraction(1, 18), Fraction(17, 18))
    """
    if math.isinf(distance):
        return SURE if distance > 0 else SURE[::-1]
    distance = Fraction(distance)
    if epsilon.is_zero:
        yes = min(Fraction(1), max(Fraction(0), Fraction(1, 2) + delta * distance))
        return yes, 1 - yes
    return sides_of_exponent(LogNumber.of(epsilon) * distance, epsilon, delta)


def sides_of_exponent(exponent: LogNumber, largest: Epsilon, delta: Fraction = Fraction(0)) -> Sides:
    """P(yes), P(no) from the exponent itself, which nobody moves by more than their own epsilon, at most *largest*."""
    wrong = _less_likely(abs(exponent), largest, delta)
    return (1 - wrong, wrong) if exponent.sign >= 0 else (wrong, 1 - wrong)


def _less_likely(size: LogNumber, largest: Epsilon, delta: Fraction) -> Number:
    decayed: Number = (-size).rational_exp()
    if decayed is None:
        decayed = (-size).exp()
    return stretched(decayed / 2, largest, delta)


def stretched(probability: Number, largest: Epsilon, delta: Fraction) -> Number:
    """The less likely answer's probability after delta was used: the two-answer transform, which keeps 1/2 and cuts off at 0.

    *Any* epsilon-DP law with two answers becomes (epsilon, delta)-DP, for each person at their own epsilon up to *largest*.
    """
    if not delta or largest.is_zero:
        return probability
    ratio = largest.exact_ratio
    if ratio is not None and isinstance(probability, Fraction):
        beta = delta / (ratio - 1 + 2 * delta)
        return max(Fraction(0), (probability - beta) / (1 - 2 * beta))
    enclosed = ball(delta) / (largest.exp() - 1 + 2 * ball(delta))
    return ((ball(probability) - enclosed) / (1 - 2 * enclosed)).max(Ball(0))


def draw_yes(sides: Callable[[], Sides], source: BitSource) -> bool:
    """True with exactly the probability of yes; *sides* is evaluated again at a higher precision until the bits decide."""
    return choose_enclosed(lambda: [ball(side) for side in sides()], 2, source) == 0
