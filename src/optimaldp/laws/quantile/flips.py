"""FLIP and FLIP+: every wrong bin gets ``x^d`` times a factor, d moves away from being true; the true bin gets the rest.

``FLIP``: the factor is ``c = 1/(1 + x)``. ``FLIP+``: ``min(c, 1 - T_j / (1 + (K - 1) x))`` where ``T_j`` sums powers of x over
the cuts. Along a run of empty bins ``T_j`` is linear, so a run is summed in closed form.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from optimaldp.laws.quantile.scales import Persons, Scale
from optimaldp.laws.quantile.sums import DiscountedSums
from optimaldp.privacy.trajectory import Number

_FEW_TERMS = 16  # terms that are added one by one where it is not certain on which side of a bend they lie


class _Run(NamedTuple):
    """The wrong bins of one run, counted from the end that faces the truth: 0 is nearest."""

    distance: int
    size: int
    near: Number  # discounted cuts towards the truth and beyond, up to this run
    far: Number  # discounted cuts away from the truth


class FlipLaw:
    """The law of one table, as ends of the sums ``p_0 + ... + p_t``."""

    def __init__(self, sums: DiscountedSums, *, plus: bool, loss: Number) -> None:
        """*loss* is tau: what delta takes from each wrong bin, as far as it has that much."""
        self._sums, self._plus, self._loss = sums, plus, loss
        self._scale: Scale = sums.scale
        self._x = self._scale.power(1)
        self._most = 1 / (1 + self._x)
        self._share = 1 / (1 + (sums.cuts.bins - 1) * self._x)
        # All runs left of the truth have a negative height; the first other one begins at the true bin.
        self._turn = bisect_left(sums.cuts.heights, 0)
        self._left_sums, self._right_sums = self._accumulated(left=True), self._accumulated(left=False)

    def end(self, cut: int) -> Number:
        """``P(answer <= cut)``."""
        run = self._sums.cuts.run(cut)
        return self._left_end(run, cut) if run < self._turn else 1 - self._right_end(run, cut)

    def rest(self, cut: int) -> Number:
        """``P(answer > cut)``."""
        run = self._sums.cuts.run(cut)
        return 1 - self._left_end(run, cut) if run < self._turn else self._right_end(run, cut)

    def _left_end(self, run: int, cut: int) -> Number:
        if run not in self._sums.window:
            return self._beyond(run)
        last = self._sums.cuts.last(run)
        return self._left_sums[run] + self._total(self._run(run), last - cut, last - self._sums.cuts.starts[run] + 1)

    def _right_end(self, run: int, cut: int) -> Number:
        if run not in self._sums.window:
            return self._beyond(run)
        start, last = self._sums.cuts.starts[run], self._sums.cuts.last(run)
        return self._right_sums[run] + self._total(self._run(run), cut - start, last - start + 1)

    def _beyond(self, run: int) -> Number:
        """All wrong bins from an unvisited run outwards: each has at most x^d."""
        most = self._scale.power(self._distance(run)) * self._sums.cuts.bins
        return self._scale.between(self._scale.number(0), most)

    def _accumulated(self, *, left: bool) -> dict[int, Number]:
        """For each visited run of one side: the probability of all bins farther out."""
        window, count = self._sums.window, len(self._sums.cuts.heights)
        first, last = (0, self._turn - 1) if left else (self._turn, count - 1)
        low, high = max(first, window.low), min(last, window.high)
        edge = low - 1 if left else high + 1
        outer = self._beyond(edge) if first <= edge <= last else self._scale.number(0)
        sums: dict[int, Number] = {}
        for run in range(low, high + 1) if left else range(high, low - 1, -1):
            sums[run] = outer
            inside = self._run(run)
            outer = outer + self._total(inside, 0, inside.size)
        return sums

    def _distance(self, run: int) -> int:
        height: int = self._sums.cuts.heights[run]
        return -height if run < self._turn else height + 1

    def _run(self, run: int) -> _Run:
        place = run - self._sums.window.low
        before, after = self._sums.before[place], self._sums.after[place]
        near, far = (after, before) if run < self._turn else (before, after)
        size = self._sums.cuts.last(run) - self._sums.cuts.starts[run] + 1
        return _Run(self._distance(run), size, near, far)

    def _total(self, run: _Run, first: int, stop: int) -> Number:
        """The probability of the bins ``first .. stop - 1`` of a run."""
        power = self._scale.power(run.distance)
        if not self._plus:
            return (stop - first) * self._kept(power * self._most)
        # T rises by x - x^d from bin to bin away from the truth: by nothing at distance 1.
        step = self._x - power if run.distance > 1 else None
        start = power * (run.far + (run.size - 1)) + self._x * (run.near + 1)

        def probability(bin_: int) -> Number:
            ties = start if step is None else start + step * bin_
            return self._kept(power * self._scale.smaller(self._most, 1 - self._share * ties))

        if step is None or stop - first <= _FEW_TERMS:
            return (stop - first) * probability(first) if step is None else _one_by_one(probability, first, stop)
        # The line passes c where T = (1 - c) / g, and the loss where x^d (1 - g T) = tau.
        bends = [((1 - self._most) / self._share - start) / step]
        bends.append(((1 - self._loss / power) / self._share - start) / step)
        return self._piecewise(probability, first, stop, bends)

    def _kept(self, probability: Number) -> Number:
        return self._scale.clipped(probability - self._loss)

    def _piecewise(self, value: Callable[[int], Number], first: int, stop: int, bends: list[Number]) -> Number:
        """The sum of *value*, which is linear between the *bends* and falls."""
        total, here = self._scale.number(0), first
        for bend in bends:
            low, high = self._scale.places_around(bend, here, stop)
            total = total + _straight(value, here, low) + self._uncertain(value, low, high)
            here = high
        return total + _straight(value, here, stop)

    def _uncertain(self, value: Callable[[int], Number], low: int, high: int) -> Number:
        if high - low <= _FEW_TERMS:
            return _one_by_one(value, low, high)
        return (high - low) * self._scale.between(value(high - 1), value(low))


def _straight(value: Callable[[int], Number], first: int, stop: int) -> Number:
    return (stop - first) * (value(first) + value(stop - 1)) / 2 if stop > first else 0


def _one_by_one(value: Callable[[int], Number], first: int, stop: int) -> Number:
    return sum(value(bin_) for bin_ in range(first, stop))


class TwoAnswers:
    """Two bins: the optimum of the two-answer chain, with its own use of delta."""

    def __init__(self, law: FlipLaw, scale: Scale, height: int, delta: Fraction, *, growth: Number | None) -> None:
        """*growth* is ``e^epsilon``, or ``None`` at epsilon = 0, where ``1/2 + delta (a + 1/2)`` is the limit."""
        self._law, self._scale, self._height = law, scale, height
        self._delta, self._growth = delta, growth

    def end(self, cut: int) -> Number:
        return self._moved(self._law.end(cut), self._height + Fraction(1, 2))

    def rest(self, cut: int) -> Number:
        return self._moved(self._law.rest(cut), -self._height - Fraction(1, 2))

    def _moved(self, probability: Number, height: Persons) -> Number:
        if not self._delta:
            return probability
        if self._growth is None:
            return self._scale.clipped(self._scale.number(Fraction(1, 2) + self._delta * height))
        delta = self._scale.number(self._delta)
        beta = delta / (self._growth - 1 + 2 * delta)
        return self._scale.clipped((probability - beta) / (1 - 2 * beta))
