"""Where FLIP and FLIP+ are private: the referee's own reading of the conditions of Theorem 2."""

from __future__ import annotations

from fractions import Fraction

from optimaldp.privacy.balls import Rational
from optimaldp.privacy.trajectory import Number

_BY_HAND = 24  # cuts up to which every case of the bound is tried


def flip_is_private(bins: int, x: Number) -> bool:
    """Two bins at every level; more where ``(K-1) x <= 1``."""
    return bins == 2 or bool((bins - 1) * x <= 1)


def flip_plus_is_private(bins: int, x: Number) -> bool:
    """``(K-1) x^2 <= 1`` and all wrong bins together never hold more than ``1/(1+x)``.

    Up to 25 bins by trying every number of near and far bins on either side. Beyond: the bound is at most its maximum over real
    numbers of near bins l, r >= 0, l + r <= N. There it is concave (Hessian ``-g x^2 (2, x; x, 2-2x)``, definite below .82),
    symmetric enough that both partial derivatives at l = r = N/2 agree, and if that slope is not negative no point of the
    triangle is higher.
    """
    cuts = bins - 1
    if bins == 2:
        return True
    if not cuts * x * x <= 1:
        return False
    if cuts <= _BY_HAND:
        most = [
            _bound(x, side, cuts - side, k, m)
            for side in range(cuts + 1)
            for k in range(side + 1)
            for m in range(cuts - side + 1)
        ]
        return all(bool(value * (1 + x) <= 1) for value in most)
    y = cuts * x
    slope = (1 - x) * (1 + y) - y * (1 + x / 2)
    highest = y - y * y * (1 + x) / (2 * (1 + y))
    # So many cuts with cuts x^2 <= 1 mean x <= 1/5 already; concavity rests on it, so it is asked.
    return bool(x * 5 <= 4) and bool(slope >= 0) and bool(highest * (1 + x) <= 1)


def _bound(x: Number, left: int, right: int, near_left: int, near_right: int) -> Number:
    """Near bins have at most x (1 - g T), far ones at most x^2 in place of x; T counts the near bins of both sides."""
    g = 1 / (1 + (left + right) * x)
    total: Number = -2 * g * near_left * near_right * x**3
    for size, near in ((left, near_left), (right, near_right)):
        total = total + (near * x + (size - near) * x * x) * (1 - g * near * x)
    return total


def stand_in_ratio(bins: int) -> Fraction:
    """A simple rational ``e^-epsilon`` just inside the region of FLIP+ for few bins."""
    low, high = 1, 32  # private at the first, not at the second: the conditions of Theorem 2 get harder with x
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if flip_plus_is_private(bins, Rational(middle, 32)) else (low, middle)
    return Fraction(low, 32)
