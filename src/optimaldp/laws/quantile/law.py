"""The law of a quantile: everything public about it, and, given the people in each bin, how its answer is distributed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate
from operator import sub
from typing import Any, Protocol

from optimaldp.errors import InputError, LevelError, QuestionError
from optimaldp.laws.quantile.cuts import Cuts, rank_cuts, weighted_cuts
from optimaldp.laws.quantile.flips import FlipLaw, TwoAnswers
from optimaldp.laws.quantile.modes import QuantileMode, choose_mode
from optimaldp.laws.quantile.scales import BallScale, Height, RationalScale, Scale, rational_root
from optimaldp.laws.quantile.smoothed_rank import SmoothedRank, tail_cut, tail_cut_of_law_1
from optimaldp.laws.quantile.sums import DiscountedSums, Window, near_window, unit_weights, whole_window
from optimaldp.privacy import ApproximateDP, Level
from optimaldp.privacy import level as make_level
from optimaldp.privacy.balls import Ball, context, fraction
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import single_level
from optimaldp.privacy.numbers import fraction_text
from optimaldp.privacy.trajectory import Number
from optimaldp.results import Result
from optimaldp.sampling import BitSource, choose_by_ends

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
        cuts, recorded = self.cuts(cells), _Recorded(source)

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
            return SmoothedRank(
                sums,
                offset=Fraction(1, 2),
                cut_off=self._tail_cut(delta, growth),
                total_weight=self._weights_up_to(self.bins - 1),
            )
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
        yield _sharper(next_end - end, rest - next_rest)
        end, rest = next_end, next_rest
    yield rest


def _sharper(a: Ball, b: Ball) -> Ball:
    return (a if a.rad() <= b.rad() else b).max(Ball(0))


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


class _Recorded:
    """Bits as they are drawn, kept for the second reading."""

    def __init__(self, source: BitSource) -> None:
        self._source = source
        self.value = self.count = 0

    def take(self, count: int) -> int:
        bits = self._source.take(count)
        self.value, self.count = (self.value << count) | bits, self.count + count
        return bits
