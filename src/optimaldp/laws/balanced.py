"""People with levels of their own, right at every table: the balanced boundary, and its fractional form for unequal steps.

To change the answer takes k people. Of those who could, the k with the smallest levels ``a_1 <= ... <= a_k`` matter:
``error = e^-(a_1 + ... + a_(k-1)) / (1 + e^(a_k))``. *Proof.* When a person a_i leaves those who could, and k falls by one,
the error rises by ``e^(a_i)`` (i < k) or by ``e^(a_(k-1)) (1 + e^(a_k)) / (1 + e^(a_(k-1))) <= e^(a_k) <= e^(a_i)``; it is at
most 1/2, which bounds the other answer; and across the boundary ``e^a (1 + e^b) / (1 + e^a) <= e^(a_i)``: all because
``e^p/(1 + e^p)`` rises with p.

Where people differ in how far they can move the sum (among, compare, mean) the exponent is the least ``sum of epsilon_i w_i``
over shares w_i of people who bring the sum to the bound: best gain for its level first. The argument of the fractional distance
holds with epsilon_i in place of 1, so the signed law of :mod:`optimaldp.laws.signed` is private for each person at their own
level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key

from optimaldp.laws.log_number import ZERO, LogNumber
from optimaldp.laws.signed import stretched
from optimaldp.privacy import Epsilon
from optimaldp.privacy.trajectory import Number


def balanced_error(
    levels: Sequence[Epsilon], available: Sequence[int], flips: int, delta: Fraction = Fraction(0)
) -> Number:
    """The probability of a wrong answer when *flips* people must change and *available* could, by level in rising order.

    0 where fewer people could: then no table with these public sizes has another answer.

    >>> balanced_error([Epsilon.read("ln(2)"), Epsilon.read("ln(3)")], [1, 5], 2)
    Fraction(1, 8)
    """
    missing, total, last = flips, ZERO, None
    for epsilon, people in zip(levels, available):
        used = min(missing, people)
        if used:
            last = epsilon
            total = total + LogNumber.of(epsilon) * used
        missing -= used
    if missing or last is None:
        return Fraction(0)
    others = -(total - LogNumber.of(last))
    decayed, ratio = others.rational_exp(), last.exact_ratio
    error: Number = others.exp() / (1 + last.exp()) if decayed is None or ratio is None else decayed / (1 + ratio)
    return stretched(error, max(levels), delta)


def one_level_error(epsilon: Epsilon, flips: int, delta: Fraction = Fraction(0)) -> Number:
    """Everybody has the same level: the exact optimum with a balanced boundary, delta included (papers 000, 001)."""
    steps = flips - 1
    if epsilon.is_zero:
        return max(Fraction(0), (1 - delta) / 2 - steps * delta)
    return balanced_error([epsilon], [flips], flips, delta)  # on a chain the transform is the chain's own optimum


@dataclass(frozen=True)
class Step:
    """A kind of person: what moving one of them gains, how many there are, and their level."""

    gain: int
    people: int
    epsilon: Epsilon


def least_exponent(steps: Sequence[Step], gap: int) -> LogNumber | None:
    """The least sum of levels, the last person counted in part, that gains *gap*; ``None`` if all together gain less."""
    useful = [(step, LogNumber.of(step.epsilon)) for step in steps if step.gain > 0 and step.people]

    def cheaper(first: tuple[Step, LogNumber], second: tuple[Step, LogNumber]) -> int:
        return (first[1] * second[0].gain - second[1] * first[0].gain).sign

    total, missing = ZERO, gap
    for step, epsilon in sorted(useful, key=cmp_to_key(cheaper)):
        if step.gain * step.people >= missing:
            return total + epsilon * Fraction(missing, step.gain)
        total, missing = total + epsilon * step.people, missing - step.gain * step.people
    return total if missing <= 0 else None


def signed_exponent(double_excess: int, down: Sequence[Step], up: Sequence[Step]) -> LogNumber | float:
    """The signed exponent of a sum: *double_excess* is twice (sum minus bound) plus or minus one, the steps gain whole units."""
    rungs, sign = (down, 1) if double_excess > 0 else (up, -1)
    doubled = [Step(2 * step.gain, step.people, step.epsilon) for step in rungs]
    exponent = least_exponent(doubled, abs(double_excess))
    return sign * math.inf if exponent is None else exponent * sign
