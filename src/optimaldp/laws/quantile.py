"""The smoothed rank: Laplace noise of the full epsilon on a rank that gives empty bins their share.

``rho_t = e^(eps (a_t + 1/2)) L_t / R_t`` with the discounted sums of the bins left and right of cut t, and
``P(answer <= t) = F(rho_t)`` with ``F(rho) = rho / 2`` up to 1 and ``1 - 1 / (2 rho)`` above.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from operator import sub
from typing import Any, NamedTuple, Protocol

from optimaldp.errors import InputError, LevelError, QuestionError
from optimaldp.laws.rank_scales import (
    BallScale,
    CrossingEnds,
    Cuts,
    DiscountedSums,
    Height,
    Persons,
    RationalScale,
    RecordedBits,
    Scale,
    Window,
    near_window,
    rank_cuts,
    rational_root,
    sharper,
    unit_weights,
    weighted_cuts,
    whole_window,
)
from optimaldp.privacy import ApproximateDP, Level
from optimaldp.privacy import level as make_level
from optimaldp.privacy.balls import Ball, ball, context, fraction, precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import single_level
from optimaldp.privacy.numbers import fraction_text
from optimaldp.privacy.trajectory import Number
from optimaldp.results import Result
from optimaldp.sampling import BitSource, choose_by_ends


class RankTails:
    """``min(rho, 1)`` and ``min(1/rho, 1)`` of the smoothed rank at each cut of one table: one of the two is 1. Private."""

    def __init__(self, sums: DiscountedSums, *, offset: Fraction, total_weight: int) -> None:
        """*offset* is added to every height: 1/2 for whole ranks."""
        self._sums, self._offset, self._total, self._scale = sums, offset, total_weight, sums.scale

    def at(self, cut: int) -> tuple[Number, Number]:
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


# FLIP and FLIP+: every wrong bin gets ``x^d`` times a factor, d moves away from being true; the true bin gets the rest.
#
# ``FLIP``: the factor is ``c = 1/(1 + x)``. ``FLIP+``: ``min(c, 1 - T_j / (1 + (K - 1) x))`` where ``T_j`` sums powers of x
# over the cuts. Along a run of empty bins ``T_j`` is linear, so a run is summed in closed form.


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
        beta = tail_cut(delta, self._growth)
        return self._scale.clipped((probability - beta) / (1 - 2 * beta))


# Which mechanism answers "which bin holds the quantile?": decided by public numbers alone, before data is read.


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


# The law of a quantile: everything public about it, and, given the people in each bin, how its answer is distributed.


# A second reading of a draw, made for a law and its cells: it is shown the bits that were drawn (an integer below 2**count and
# the count) and the index, and raises if it comes to another one.
SecondReading = Callable[["QuantileLaw", Mapping[int, Any]], Callable[[int, int, int], None]]

_FIRST_BITS = 64
LATEST = 2


def read_version(document: Mapping[str, Any]) -> int:
    """The version of the law that a document names; documents of version 0.2 name none and mean 1."""
    version = document.get("law", 1)
    if isinstance(version, bool) or version not in (1, LATEST):
        raise InputError("law", version, "is not a version of the smoothed rank", f"write 1 or {LATEST}")
    return int(version)


class Ends(Protocol):
    """The law of one table."""

    def end(self, cut: int) -> Number:
        """``P(answer <= cut)`` for cut = 0 .. K - 2."""
        ...

    def rest(self, cut: int) -> Number:
        """``P(answer > cut)``, accurate where it is small."""
        ...


@dataclass(frozen=True, repr=False)
class QuantileLaw(Result):
    """Which bin holds the quantile? Made from public things alone, before data is read; see :func:`quantile_law`.

    *cells* is always a mapping from the occupied bins (counted from 0) to the people in them; with *levels*, to a tuple with the
    people of each level. The law spends ``share * epsilon``.
    """

    mode: QuantileMode
    bins: int
    rank: Fraction
    level: ApproximateDP
    weights: tuple[Fraction, ...] | None = None
    levels: tuple[Epsilon, ...] | None = None
    share: Fraction = Fraction(1)
    version: int = LATEST
    """Which tail cut delta buys: 2 is what is drawn, 1 is what documents of version 0.2 say."""

    @property
    def exact(self) -> bool:
        """Whether every probability is rational: ``e^-epsilon`` for FLIP and FLIP+, ``e^(-epsilon/2)`` for the smoothed rank."""
        # Ranks are whole; with levels they are multiples of the rank's own denominator, and halves of bins may occur.
        halves = 2 if self.levels is None else 4 * self.rank.denominator
        parts = halves if self.mode is QuantileMode.SMOOTHED_RANK else 1
        return all(rational_root(level, self.share / parts) is not None for level in self._epsilons)

    def ends(self, cells: Mapping[int, Any], *, exact: bool = False) -> Ends:
        """The law of one table: fractions if *exact*, else balls at the current precision, all bins visited."""
        cuts = self.cuts(cells)
        law = self.law_of(cuts, self._scale(exact=exact), whole_window(cuts))
        return _InFractions(law) if exact else law

    def end(self, cells: Mapping[int, Any], cut: int, *, exact: bool = False) -> Number:
        """``P(answer <= cut)``."""
        return self.ends(cells, exact=exact).end(cut)

    def probabilities(self, cells: Mapping[int, Any], *, exact: bool = False) -> list[Number]:
        """The probability of every bin; for few bins."""
        cuts = self.cuts(cells)
        law = self.law_of(cuts, self._scale(exact=exact), whole_window(cuts))
        return [fraction(p) if exact else p for p in differences(law, self.bins)]

    def draw(
        self,
        cells: Mapping[int, Any],
        source: BitSource,
        *,
        reread: SecondReading | None = None,
        first_bits: int = _FIRST_BITS,
    ) -> int:
        """Draw the index of a bin.

        **Guarantee.** Each bin has exactly its probability; nothing else about the cells is returned, raised or kept. The same
        number of ends is evaluated wherever the answer lies. *reread* sees the bits and the index before the answer is given.
        """
        cuts, recorded = self.cuts(cells), RecordedBits(source)

        def ends() -> Callable[[int], Ball]:
            return self.law_of(cuts, self._scale(exact=False), self.near(cuts, context.prec)).end

        index = choose_by_ends(ends, self.bins, recorded, first_bits=first_bits)
        if reread is not None:
            reread(self, cells)(recorded.value, recorded.count, index)
        return index

    def cuts(self, cells: Mapping[int, Any]) -> Cuts:
        """The cuts of a table, for all modes: the only thing about it that is used."""
        if self.levels is None:
            return rank_cuts(cells, self.bins, self.rank)
        return weighted_cuts(cells, self.bins, self.rank, len(self.levels))

    def law_of(self, cuts: Cuts, scale: Scale, window: Window) -> Ends:
        """The law in the numbers of *scale*: one code for fractions and balls."""
        delta, growth = scale.number(self.level.delta), self._growth(scale)
        if self.mode is QuantileMode.SMOOTHED_RANK:
            sums = DiscountedSums(cuts, scale, _half_powers(scale), self._weights_up_to, window)
            tails = RankTails(sums, offset=Fraction(1, 2), total_weight=self._weights_up_to(self.bins - 1))
            return CrossingEnds(self._tail_cut(delta, growth), scale, tails.at)
        sums = DiscountedSums(cuts, scale, scale.power, unit_weights, window)
        plus = self.mode is QuantileMode.FLIP_PLUS
        if self.bins == 2:
            law = FlipLaw(sums, plus=plus, loss=scale.number(0))
            rising = None if self.level.epsilon.is_zero else growth
            return TwoAnswers(law, scale, cuts.heights[0], self.level.delta, growth=rising)
        return FlipLaw(sums, plus=plus, loss=delta / ((self.bins - 1) * growth + 1))

    def _tail_cut(self, delta: Number, growth: Number) -> Number:
        if self.version == 1:
            return tail_cut_of_law_1(delta, growth, personal=self.levels is not None)
        return 0 * delta if max(self._epsilons).is_zero else tail_cut(delta, growth)

    def summary(self) -> str:
        level = f"{self.level}" if self.level.delta else f"{self.level.epsilon}-DP"
        part = "" if self.share == 1 else f", {fraction_text(self.share)} of it"
        extras = (", weighted" if self.weights else "") + (", personal levels" if self.levels else "")
        return f"QuantileLaw({self.mode}, {self.bins} bins, rank {fraction_text(self.rank)}, {level}{part}{extras})"

    def to_document(self) -> dict[str, Any]:
        """Every public parameter that is needed to compute the law again."""
        return {
            "name": str(self.mode),
            "bins": self.bins,
            "rank": fraction_text(self.rank),
            "epsilon": str(self.level.epsilon),
            "delta": fraction_text(self.level.delta),
            "share": fraction_text(self.share),
            "weights": None if self.weights is None else [fraction_text(w) for w in self.weights],
            "levels": None if self.levels is None else [str(level) for level in self.levels],
            **({} if self.version == 1 else {"law": self.version}),
        }

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> QuantileLaw:
        """The law that :meth:`to_document` wrote; its mode is not trusted but left to the referee."""
        promise = single_level(make_level(document["epsilon"], document["delta"]), "a quantile")
        weights, levels = document.get("weights"), document.get("levels")
        return QuantileLaw(
            QuantileMode(document["name"]),
            int(document["bins"]),
            Fraction(document["rank"]),
            promise,
            None if weights is None else tuple(map(Fraction, weights)),
            None if levels is None else tuple(map(Epsilon.read, levels)),
            Fraction(document.get("share", "1")),
            read_version(document),
        )

    @property
    def _epsilons(self) -> tuple[Epsilon, ...]:
        return (self.level.epsilon,) if self.levels is None else self.levels

    def _scale(self, *, exact: bool) -> Scale:
        return self._exact_scale if exact else BallScale(self._epsilons, self.share)

    @cached_property
    def _exact_scale(self) -> RationalScale:
        """One for all tables: exact laws are read, never drawn from, so what it has kept tells nobody about a table."""
        return RationalScale(self._epsilons, self.share)

    def _growth(self, scale: Scale) -> Number:
        """``e^epsilon`` of whoever is protected least."""
        if self.levels is None:
            return 1 / scale.power(1)
        place = self.levels.index(max(self.levels))
        return 1 / scale.power(tuple(int(i == place) for i in range(len(self.levels))))

    def near(self, cuts: Cuts, bits: int) -> Window:
        """The runs that can matter to *bits* bits. Floats choose how far to look, never what is answered."""
        sizes = [float(level) * float(self.share) for level in self._epsilons]
        wanted = bits / 2 * math.log(2) + 2 * math.log(self._weights_up_to(self.bins - 1)) + 8

        def size(height: Height) -> float:
            heights = height if isinstance(height, tuple) else (height,)
            return sum(float(h) * s for h, s in zip(heights, sizes))

        return near_window(cuts, 3 * wanted, size)

    def _weights_up_to(self, bin_: int) -> int:
        return bin_ + 1 if self.weights is None else self._weight_sums[bin_ + 1]

    @cached_property
    def _weight_sums(self) -> list[int]:
        """Only ratios of weights matter, so they are made whole."""
        assert self.weights is not None
        common = math.lcm(*(weight.denominator for weight in self.weights))
        return list(accumulate((w.numerator * (common // w.denominator) for w in self.weights), initial=0))


def quantile_law(
    bins: int,
    rank: Fraction,
    level: Level,
    *,
    weights: tuple[Fraction, ...] | None = None,
    levels: tuple[Epsilon, ...] | None = None,
    share: Fraction = Fraction(1),
) -> QuantileLaw:
    """The law that a release with these public numbers draws from.

    *weights*: a positive number for each bin (its width, a guess); *levels*: the public levels that people have, with *level*
    the loosest of them and its delta.

    >>> from optimaldp.privacy import level
    >>> quantile_law(82, Fraction(1, 2), level(0.1))
    QuantileLaw(smoothed rank, 82 bins, rank 0.5, 0.1-DP)
    """
    if bins < 2:
        raise QuestionError("bins", bins, "leave one answer, which is known without data", "name at least two bins")
    if not 0 < rank <= 1:
        raise QuestionError(
            "rank", fraction_text(rank), "is not a rank above 0 and up to 1", "rank 0 is the first bin, without data"
        )
    if weights is not None and (len(weights) != bins or any(weight <= 0 for weight in weights)):
        raise QuestionError("weights", len(weights), f"are not {bins} positive numbers", "give one for each bin")
    single = single_level(level, "a quantile")
    if levels is not None and (not levels or max(levels) != single.epsilon):
        raise LevelError("levels", [*map(str, levels)], f"do not have {single.epsilon} as their largest epsilon")
    mode = choose_mode(bins, single.epsilon, share=share, weights=weights is not None, personal=levels is not None)
    return QuantileLaw(mode, bins, rank, single, weights, levels, share)


def differences(law: Ends, bins: int) -> Iterator[Number]:
    """The probabilities of single bins: differences of ends, or of rests where those are known more sharply."""
    first = law.end(0)
    zero = 0 * first
    if not isinstance(zero, Ball):
        ends = [first, *map(law.end, range(1, bins - 1))]
        yield from map(sub, [*ends, 1 + zero], [zero, *ends])
        return
    end, rest = zero, 1 + zero
    for cut in range(bins - 1):
        next_end, next_rest = law.end(cut), law.rest(cut)
        yield sharper(next_end - end, rest - next_rest)
        end, rest = next_end, next_rest
    yield rest


def _half_powers(scale: Scale) -> Callable[[Height], Number]:
    """``e^(-height/2)``, kept by height: most bins hold one of a few numbers of people."""

    @cache
    def power(height: Height) -> Number:
        return scale.power(
            tuple(Fraction(h) / 2 for h in height) if isinstance(height, tuple) else Fraction(height) / 2
        )

    return power


class _InFractions:
    """An exact law as the rest of the project reads rationals."""

    def __init__(self, law: Ends) -> None:
        self._law = law

    def end(self, cut: int) -> Fraction:
        return fraction(self._law.end(cut))

    def rest(self, cut: int) -> Fraction:
        return fraction(self._law.rest(cut))
