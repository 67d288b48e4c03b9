"""Which mechanism answers "which bin holds the quantile?": decided by public numbers alone, before data is read."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from optimaldp.laws.quantile.scales import rational_root
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.trajectory import Number

_BITS = 192


class QuantileMode(StrEnum):
    """The mechanisms for a quantile."""

    SMOOTHED_RANK = "smoothed rank"
    FLIP = "flip"
    FLIP_PLUS = "flip+"


def choose_mode(
    bins: int, epsilon: Epsilon, *, share: Fraction = Fraction(1), weights: bool = False, personal: bool = False
) -> QuantileMode:
    """The mechanism for *bins* bins at ``share * epsilon``.

    **Guarantee.** It depends on its arguments alone, and the mode is proven private for every table: FLIP+ only where its rule
    certainly holds (equality counts where ``e^-epsilon`` is rational).

    >>> str(choose_mode(3, Epsilon.read("0.6"))), str(choose_mode(3, Epsilon.read("0.7")))
    ('smoothed rank', 'flip+')
    """
    if weights or personal:
        return QuantileMode.SMOOTHED_RANK
    if bins == 2:
        return QuantileMode.FLIP
    return QuantileMode.FLIP_PLUS if _rule_at(bins, epsilon, share) else QuantileMode.SMOOTHED_RANK


@lru_cache(maxsize=1024)
def _rule_at(bins: int, epsilon: Epsilon, share: Fraction) -> bool:
    root = rational_root(epsilon, share)
    if root is not None:
        return flip_plus_rule(bins, 1 / root)
    with precision(_BITS):
        return flip_plus_rule(bins, (-epsilon.ball() * ball(share)).exp())


def flip_plus_rule(bins: int, x: Number) -> bool:
    """Whether ``(K-1) x^2 <= 1`` and ``B(K, x) <= 1/(1+x)`` certainly hold.

    With N = K - 1 and y = N x, the best split of the far bins gives the side with more near bins nothing but them, and B is the
    largest ``y - (N - k) x (1 - x) - g x^2 Q`` with ``Q = l^2 + (1-x) r^2 + x l r + N x r``, k = l + r <= N: a concave function.
    Where ``x (3/2 + 3y/2) <= 1`` its gradient at l = r = N/2 points out of the triangle and the next whole point is the maximum;
    elsewhere the rule can hold only for a handful of bins, which are tried one by one.
    """
    cuts = bins - 1
    y = cuts * x
    if not (y * x <= 1 and _least_loss(cuts, x, -(-cuts // 2), cuts // 2) * (1 + x) <= 1):
        return False
    if 3 * x * (1 + y) <= 2:
        return True
    return cuts <= _FEW_CUTS and all(
        _least_loss(cuts, x, many, few) * (1 + x) <= 1
        for many in range(cuts + 1)
        for few in range(min(many, cuts - many) + 1)
    )


_FEW_CUTS = 64


def _least_loss(cuts: int, x: Number, many: int, few: int) -> Number:
    """The bound on the probability of all wrong bins with *many* and *few* of them at distance 1 on the two sides."""
    shape = many**2 + (1 - x) * few**2 + x * many * few + x * cuts * few
    return cuts * x**2 + x * (1 - x) * (many + few) - x**2 * shape / (1 + cuts * x)
