"""Discounted sums over the bins to either side of a cut, run by run.

``left(t) = sum over cuts i <= t of m_i e^-(height_t - height_i)/2`` and the mirror image to the right. A run of empty bins
adds its weights, so a pass costs one multiplication for each run. Runs that are too far away to matter are not visited: what
they could add is enclosed by what they weigh.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from operator import sub

from optimaldp.laws.quantile.cuts import Cuts
from optimaldp.laws.quantile.scales import Height, Scale
from optimaldp.privacy.trajectory import Number

Weights = Callable[[int], int]  # the sum of the weights of bins 0 .. j (0 for j = -1)


def unit_weights(bin_: int) -> int:
    return bin_ + 1


@dataclass(frozen=True)
class Window:
    """The runs ``low .. high`` that are visited; all of them where exactness is wanted."""

    low: int
    high: int

    def __contains__(self, run: int) -> bool:
        return self.low <= run <= self.high


def whole_window(cuts: Cuts) -> Window:
    return Window(0, len(cuts.starts) - 1)


def near_window(cuts: Cuts, reach: float, size: Callable[[Height], float]) -> Window:
    """The runs at most *reach* from the target rank, and at least one. Any window is right; a good one is sharp as well."""
    low = bisect_left(cuts.heights, -reach, key=size)
    high = bisect_right(cuts.heights, reach, key=size) - 1
    return Window(max(0, min(low, high)), min(len(cuts.starts) - 1, max(low, high, 0)))


class DiscountedSums:
    """What lies left and right of a run, discounted up to it: ``before[run]`` and ``after[run]`` for the runs of the window."""

    def __init__(
        self, cuts: Cuts, scale: Scale, discount: Callable[[Height], Number], weights: Weights, window: Window
    ) -> None:
        self.cuts, self.scale, self.window = cuts, scale, window
        self._discount, self._weights = discount, weights
        self._powers = [discount(cuts.drop(run)) for run in range(window.low + 1, window.high + 1)]
        self.before = self._passing_right()
        self.after = self._passing_left()

    def left(self, run: int, cut: int) -> Number:
        """The bins up to *cut*, which lies in *run*."""
        return self.before[run - self.window.low] + self._between(self.cuts.starts[run] - 1, cut)

    def right(self, run: int, cut: int) -> Number:
        """The bins behind *cut*, which lies in *run*."""
        return self.after[run - self.window.low] + self._between(cut, self.cuts.last(run) + 1)

    def _between(self, bin_: int, later: int) -> int:
        return self._weights(later) - self._weights(bin_)

    def _passing_right(self) -> list[Number]:
        low, starts = self.window.low, self.cuts.starts
        before = self._unvisited(low, self._weights(starts[low] - 1)) if low else self.scale.number(0)
        marks = [self._weights(start - 1) for start in starts[low : self.window.high + 1]]
        passed = [before]
        for power, weight in zip(self._powers, map(sub, marks[1:], marks)):
            before = power * (before + weight)
            passed.append(before)
        return passed

    def _passing_left(self) -> list[Number]:
        high, cuts = self.window.high, self.cuts
        last = cuts.last(high)
        beyond = high + 1 < len(cuts.starts)
        after = self._unvisited(high + 1, self._between(last + 1, cuts.bins - 1)) if beyond else self.scale.number(0)
        marks = [self._weights(start) for start in cuts.starts[self.window.low : high + 1]] + [self._weights(last + 1)]
        passed = [after]
        for power, weight in zip(reversed(self._powers), map(sub, marks[:1:-1], marks[-2:0:-1])):
            after = power * (after + weight)
            passed.append(after)
        return passed[::-1]

    def _unvisited(self, run: int, weight: int) -> Number:
        """The discounted sum behind the edge of the window, between nothing and the whole weight there."""
        whole = self._discount(self.cuts.drop(run)) * self.scale.number(weight)
        return self.scale.between(self.scale.number(0), whole)
