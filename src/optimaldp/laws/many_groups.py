"""One answer for each of several groups, in one spend: at which level every single one is answered.

Groups declared public: a person's record is replaced inside their group, and one group only sees it: epsilon and delta for each,
for one epsilon and delta in all. Groups private: inside a group people come and go, so every group is answered under add/remove.
One person more or less touches one group: again epsilon and delta. One person *replaced* leaves one group and enters another (or
both in one): epsilon/2 each, and ``delta' = delta/(1 + e^(epsilon/2))``, because the two steps add up to
``delta' + e^(epsilon/2) delta'``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import ball, lower, precision

_BITS = 128  # to which a half that is no level of this form is rounded, towards more privacy


@dataclass(frozen=True)
class GroupLevel:
    """How each group is answered: its level, and the neighbours that its mechanism must be private for."""

    epsilon: Epsilon
    delta: Fraction
    neighbours: Neighbours


def level_of_each_group(
    epsilon: Epsilon, delta: Fraction, neighbours: Neighbours, *, public_groups: bool = False
) -> GroupLevel:
    """The level of each group's answer so that all of them together keep (epsilon, delta).

    >>> level_of_each_group(Epsilon.read("ln(4)"), Fraction(3, 100), Neighbours.SUBSTITUTION)
    GroupLevel(epsilon=Epsilon(ln(2)), delta=Fraction(1, 100), neighbours=<Neighbours.ADD_REMOVE: 'add-remove'>)
    """
    if public_groups or neighbours is Neighbours.ADD_REMOVE:
        return GroupLevel(epsilon, delta, neighbours)
    half = half_of(epsilon)
    return GroupLevel(half, _shared_delta(half, delta), Neighbours.ADD_REMOVE)


def level_of_each_key(epsilon: Epsilon, delta: Fraction, neighbours: Neighbours) -> GroupLevel:
    """The level of "does this category occur" for each category: a replaced person touches two of them."""
    if neighbours is Neighbours.ADD_REMOVE:
        return GroupLevel(epsilon, delta, neighbours)
    return GroupLevel(half_of(epsilon), delta / 2, Neighbours.ADD_REMOVE)


def half_of(epsilon: Epsilon) -> Epsilon:
    """Half of epsilon: exact for numbers and for logarithms of squares, else smaller by less than 2^-128 of it.

    >>> half_of(Epsilon.read("0.3+ln(9/4)")), half_of(Epsilon.read("ln(2)")) * 2 < Epsilon.read("ln(2)")
    (Epsilon(0.15+ln(3/2)), True)
    """
    if epsilon.infinite:
        return epsilon
    plain, ratio = epsilon.finite_parts
    above, below = math.isqrt(ratio.numerator), math.isqrt(ratio.denominator)
    if above**2 == ratio.numerator and below**2 == ratio.denominator:
        return Epsilon(plain / 2, Fraction(above, below))
    # ln(r) >= (r - 1)/r: the smaller the logarithm, the more bits its square root needs.
    bits = _BITS + (ratio.denominator * 2 // (ratio.numerator - ratio.denominator)).bit_length()
    shifted = ratio.numerator * ratio.denominator << (2 * bits)
    return Epsilon(plain / 2, max(Fraction(1), Fraction(math.isqrt(shifted), ratio.denominator << bits)))


def _shared_delta(half: Epsilon, delta: Fraction) -> Fraction:
    """``delta/(1 + e^(epsilon/2))``, rounded down where it is not rational."""
    if not delta or half.infinite:
        return Fraction(0)
    if half.exact_ratio is not None:
        return delta / (1 + half.exact_ratio)
    with precision(2 * _BITS + math.ceil(2 * float(half))):
        return lower(ball(delta) / (1 + half.exp()))
