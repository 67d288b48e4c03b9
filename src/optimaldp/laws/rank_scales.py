"""The numbers that a quantile's law is made of: exact or enclosed scales, cuts between bins, and discounted sums."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import sub
from typing import Any

from optimaldp.errors import LevelError, QuestionError
from optimaldp.privacy.balls import Ball, Rational, ball, fraction, integer_above, integer_below, rational
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import fraction_root
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import BitSource

# ``e^-h`` for a height h counted in epsilons: exact rationals, or balls at the current precision.
#
# The laws of quantiles are written once, over a scale. A height is a number of people, or, where people have levels of their
# own, one number of people for each level.


Persons = int | Fraction
Height = Any  # Persons, or a tuple of them: one for each level


class Scale(ABC):
    """Powers of ``e^-epsilon`` in one kind of number, and what of its arithmetic has no common operator."""

    exact: bool

    @abstractmethod
    def power(self, height: Height) -> Number:
        """``e^-height``; the height may be negative."""

    @abstractmethod
    def number(self, value: Persons) -> Number:
        """The rational *value* as a number of this scale."""

    @abstractmethod
    def between(self, low: Number, high: Number) -> Number:
        """Some number of which it is only known that it lies between the two."""

    @abstractmethod
    def smaller(self, a: Number, b: Number) -> Number:
        """The smaller of two."""

    @abstractmethod
    def clipped(self, value: Number) -> Number:
        """*value*, moved into [0, 1]."""

    @abstractmethod
    def places_around(self, value: Number, first: int, stop: int) -> tuple[int, int]:
        """Whole numbers in ``first .. stop`` between which *value* certainly lies, if it lies there at all."""


class RationalScale(Scale):
    """Exact rationals: every power that is asked for must be one."""

    exact = True

    def __init__(self, levels: tuple[Epsilon, ...], share: Fraction) -> None:
        self._levels, self._share = levels, share
        self._roots: dict[tuple[int, int], Rational] = {}
        self._known: dict[Height, Rational] = {}

    def power(self, height: Height) -> Rational:
        value = self._known.get(height)
        if value is None:
            value = self._known[height] = self._power(height)
        return value

    def _power(self, height: Height) -> Rational:
        heights = height if isinstance(height, tuple) else (height,)
        product = Rational(1)
        for place, persons in enumerate(heights):
            exponent = -persons * self._share
            product *= self._root(place, exponent.denominator) ** exponent.numerator
        return product

    def number(self, value: Persons) -> Rational:
        return rational(value)

    def between(self, low: Rational, high: Rational) -> Rational:
        raise ArithmeticError("an exact number is never only enclosed")

    def smaller(self, a: Rational, b: Rational) -> Rational:
        return a if a <= b else b

    def clipped(self, value: Rational) -> Rational:
        return value if 0 <= value <= 1 else Rational(int(value > 0))

    def places_around(self, value: Rational, first: int, stop: int) -> tuple[int, int]:
        inside = max(Fraction(first), min(Fraction(stop), fraction(value)))
        return math.floor(inside), math.ceil(inside)

    def _root(self, place: int, degree: int) -> Rational:
        if (place, degree) not in self._roots:
            root = rational_root(self._levels[place], Fraction(1, degree))
            if root is None:
                raise LevelError("epsilon", str(self._levels[place]), "has no rational power here", "write ln(p/q)")
            self._roots[place, degree] = rational(root)
        return self._roots[place, degree]


class BallScale(Scale):
    """Rigorous enclosures at the precision that was in force when the scale was made."""

    exact = False

    def __init__(self, levels: tuple[Epsilon, ...], share: Fraction) -> None:
        self._logarithms = [level.ball() * ball(share) for level in levels]
        self._known: dict[Height, Ball] = {}

    def power(self, height: Height) -> Ball:
        value = self._known.get(height)
        if value is None:
            heights = height if isinstance(height, tuple) else (height,)
            exponent = sum((self.number(h) * log for h, log in zip(heights, self._logarithms)), start=Ball(0))
            value = self._known[height] = (-exponent).exp()
        return value

    def number(self, value: Persons) -> Ball:
        return Ball(value) if isinstance(value, int) else ball(value)

    def between(self, low: Ball, high: Ball) -> Ball:
        return Ball(low).union(high)

    def smaller(self, a: Ball, b: Ball) -> Ball:
        return a.min(b)

    def clipped(self, value: Ball) -> Ball:
        return value.max(Ball(0)).min(Ball(1))

    def places_around(self, value: Ball, first: int, stop: int) -> tuple[int, int]:
        if not value.is_finite():  # a division by a ball that touches 0 tells nothing
            return first, stop
        inside = value.max(Ball(first)).min(Ball(stop))  # before it is made whole: e^(10^6) is a long integer
        return max(first, integer_below(inside)), min(stop, integer_above(inside))


def rational_root(epsilon: Epsilon, exponent: Fraction) -> Fraction | None:
    """``e^(epsilon * exponent)`` where that is rational, else ``None``.

    >>> rational_root(Epsilon.read("ln(25/9)"), Fraction(1, 2)), rational_root(Epsilon.read(1), Fraction(1, 2))
    (Fraction(5, 3), None)
    """
    ratio = epsilon.exact_ratio
    if ratio is None:
        return None
    whole, degree = ratio**exponent.numerator, exponent.denominator
    return fraction_root(whole, degree)


# The cuts between public bins, in runs of equal height: what the laws of quantiles read from a table.
#
# Cut t (0, 1, ..., K - 2) lies between bin t and bin t + 1. Its height is the number of people up to bin t less the target
# rank, so a cut next to an empty bin has the height of its neighbour: a table with m occupied bins has at most m + 1 runs,
# however many bins there are.


Cells = Mapping[int, Persons]  # people in each occupied bin; bins are counted from 0
LevelCells = Mapping[int, Sequence[Persons]]  # the same for each level of a person


@dataclass(frozen=True)
class Cuts:
    """Runs of cuts: run i covers the cuts ``starts[i] .. last(i)``, all at ``heights[i]``; heights never fall."""

    bins: int
    starts: list[int]
    heights: list[Height]

    def run(self, cut: int) -> int:
        """The run that holds *cut*."""
        return bisect_right(self.starts, cut) - 1

    def last(self, run: int) -> int:
        """The last cut of *run*."""
        return self.starts[run + 1] - 1 if run + 1 < len(self.starts) else self.bins - 2

    def drop(self, run: int) -> Height:
        """How much higher *run* lies than the run before it: the people in the bin that parts them."""
        high, low = self.heights[run], self.heights[run - 1]
        return tuple(a - b for a, b in zip(high, low)) if isinstance(high, tuple) else high - low


def rank_cuts(cells: Cells, bins: int, rank: Fraction) -> Cuts:
    """Heights ``a_t = c_0 + ... + c_t - ceil(q n)``: whole numbers. No branch on n: an empty table has all heights 0."""
    named = _named_bins(cells, bins)
    sums = list(accumulate((cells[bin_] for bin_ in named), initial=0))
    target = math.ceil(rank * sums[-1])
    return _runs(bins, named, [below - target for below in sums])


def weighted_cuts(cells: LevelCells, bins: int, rank: Fraction, levels: int) -> Cuts:
    """Heights ``C_0 + ... + C_t - q C`` for each level apart: people count by their own epsilon."""
    named = _named_bins(cells, bins)
    if any(len(counts) != levels for counts in cells.values()):
        raise QuestionError("cells", "(not shown)", "do not have one count for each level") from None
    zero: tuple[Persons, ...] = (0,) * levels
    sums = list(accumulate((tuple(cells[bin_]) for bin_ in named), _added, initial=zero))
    targets = tuple(rank * whole for whole in sums[-1])
    return _runs(bins, named, [tuple(below - target for below, target in zip(row, targets)) for row in sums])


def _runs(bins: int, named: list[int], heights: list[Height]) -> Cuts:
    """Runs from the height before all bins and behind each one that is named."""
    if named and named[-1] == bins - 1:  # the last bin has no cut behind it
        named, heights = named[:-1], heights[:-1]
    if named and named[0] == 0:
        return Cuts(bins, named, heights[1:])
    return Cuts(bins, [0, *named], heights)


def _added(a: tuple[Persons, ...], b: tuple[Persons, ...]) -> tuple[Persons, ...]:
    return tuple(x + y for x, y in zip(a, b))


def _named_bins(cells: Mapping[int, Height], bins: int) -> list[int]:
    """The bins that are listed, in order. No message quotes one: they may have been read from a table."""
    named = sorted(cells)
    if named and not (named[0] >= 0 and named[-1] < bins):
        raise QuestionError("cells", "(not shown)", "name a bin that the question does not have") from None
    return named


# Discounted sums over the bins to either side of a cut, run by run.
#
# ``left(t) = sum over cuts i <= t of m_i e^-(height_t - height_i)/2`` and the mirror image to the right. A run of empty bins
# adds its weights, so a pass costs one multiplication for each run. Runs that are too far away to matter are not visited: what
# they could add is enclosed by what they weigh.


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


# What the laws of ranks and of other crossings share.


Tails = Callable[[int], tuple[Number, Number]]
"""``min(rho, 1)`` and ``min(1/rho, 1)`` at a cut: one of them is 1."""


@dataclass(frozen=True)
class CrossingEnds:
    """The law of one table: sums of probabilities up to a cut, and what is left behind it. Private."""

    beta: Number
    """What is cut off either tail."""
    scale: Scale
    tails: Tails

    def end(self, place: int) -> Number:
        """P(answer <= place)."""
        below, above = self.tails(place)
        return self._kept((below + (1 - above)) / 2)

    def rest(self, place: int) -> Number:
        """P(answer > place), accurate where it is small."""
        below, above = self.tails(place)
        return self._kept((above + (1 - below)) / 2)

    def _kept(self, chance: Number) -> Number:
        return self.scale.clipped((chance - self.beta) / (1 - 2 * self.beta))

    def __repr__(self) -> str:
        return "CrossingEnds(private)"


def sharper(a: Ball, b: Ball) -> Ball:
    """Of two enclosures of one probability the shorter."""
    return (a if a.rad() <= b.rad() else b).max(Ball(0))


class RecordedBits:
    """Bits as they are drawn, kept for a second reading of the draw."""

    def __init__(self, source: BitSource) -> None:
        self._source = source
        self.value = self.count = 0

    def take(self, count: int) -> int:
        bits = self._source.take(count)
        self.value, self.count = (self.value << count) | bits, self.count + count
        return bits
