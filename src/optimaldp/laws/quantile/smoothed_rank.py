"""The smoothed rank: Laplace noise of the full epsilon on a rank that gives empty bins their share.

``rho_t = e^(eps (a_t + 1/2)) L_t / R_t`` with the discounted sums of the bins left and right of cut t, and
``P(answer <= t) = F(rho_t)`` with ``F(rho) = rho / 2`` up to 1 and ``1 - 1 / (2 rho)`` above.
"""

from __future__ import annotations

from fractions import Fraction

from optimaldp.laws.quantile.scales import Height, Scale
from optimaldp.laws.quantile.sums import DiscountedSums
from optimaldp.privacy.trajectory import Number


class SmoothedRank:
    """The law of one table: ends of the sums ``p_0 + ... + p_t``, and what is left behind them."""

    def __init__(self, sums: DiscountedSums, *, offset: Fraction, cut_off: Number, total_weight: int) -> None:
        """*offset* is added to every height (1/2 for whole ranks); *cut_off* is beta, the mass cut from either tail."""
        self._sums, self._offset, self._total = sums, offset, total_weight
        self._cut_off = cut_off

    def end(self, cut: int) -> Number:
        """``P(answer <= cut)``."""
        below, above = self._tails(cut)
        return self._kept((below + (1 - above)) / 2)

    def rest(self, cut: int) -> Number:
        """``P(answer > cut)``, without cancellation."""
        below, above = self._tails(cut)
        return self._kept((above + (1 - below)) / 2)

    def _kept(self, probability: Number) -> Number:
        beta = self._cut_off
        return self._scale.clipped((probability - beta) / (1 - 2 * beta))

    @property
    def _scale(self) -> Scale:
        return self._sums.scale

    def _tails(self, cut: int) -> tuple[Number, Number]:
        """``min(rho, 1)`` and ``min(1/rho, 1)``: one of the two is 1."""
        run = self._sums.cuts.run(cut)
        height = self._height(run)
        if run not in self._sums.window:
            return self._far(height, left=run < self._sums.window.low)
        left, right = self._sums.left(run, cut), self._sums.right(run, cut)
        one = self._scale.number(1)
        below = self._scale.power(self._negative(height)) * left / right
        above = self._scale.power(height) * right / left
        return self._scale.smaller(below, one), self._scale.smaller(above, one)

    def _far(self, height: Height, *, left: bool) -> tuple[Number, Number]:
        """Outside of the window: the sums lie between one weight and all of them, and that is all that is used."""
        zero, one = self._scale.number(0), self._scale.number(1)
        bound = self._scale.power(self._negative(height) if left else height) * self._total
        if not bound <= one:
            anything = self._scale.between(zero, one)
            return anything, anything
        tail = self._scale.between(zero, bound)
        return (tail, one) if left else (one, tail)

    def _height(self, run: int) -> Height:
        height = self._sums.cuts.heights[run]
        return height if isinstance(height, tuple) else height + self._offset

    @staticmethod
    def _negative(height: Height) -> Height:
        return tuple(-h for h in height) if isinstance(height, tuple) else -height


def tail_cut(delta: Number, growth: Number) -> Number:
    """beta: how much of either tail of the noise delta buys, ``growth`` being e^epsilon of the largest level.

    A move orders the two distribution functions, and a law that is epsilon-DP and ordered may lose exactly this much of each
    tail (the cut theorem). At epsilon = 0 the smoothed rank does not depend on the table, so there is nothing to buy.
    """
    return delta / (growth - 1 + 2 * delta)


def tail_cut_of_law_1(delta: Number, growth: Number, *, personal: bool) -> Number:
    """beta as version 0.2 used it: private as well, with less of the tails cut. Only old documents are examined with it."""
    return delta / ((2 * growth if personal else growth) + 2 * delta)
