"""Every plausible mistake in a quantile mechanism is rejected by name; the true ones pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from optimaldp.certify.quantile import (
    StandIn,
    _draw_problem,
    _grid_problem,
    examine,
    examine_several,
    second_reading,
    stand_in,
)
from optimaldp.certify.quantile_law import block_shifts, grid
from optimaldp.certify.quartiles import examine_quartiles
from optimaldp.errors import NotCertifiedError
from optimaldp.laws.quantile import QuantileLaw, QuantileMode, quantile_law
from optimaldp.laws.several_quantiles import JointQuartiles, several_quantiles
from optimaldp.privacy import level
from optimaldp.privacy.balls import Ball, ball, fraction, precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.sampling import SystemBits

HALF = Fraction(1, 2)
Number = Any


class ListedEnds:
    def __init__(self, ends: list[Number]) -> None:
        self._ends = ends

    def end(self, cut: int) -> Number:
        return self._ends[cut]

    def rest(self, cut: int) -> Number:
        return 1 - self._ends[cut]


class Dense(QuantileLaw):
    """The smoothed rank as the page writes it, bin by bin, with every piece open to a mistake."""

    def law_of(self, cuts: Any, scale: Any, window: Any) -> Any:
        heights = [cuts.heights[cuts.run(cut)] for cut in range(self.bins - 1)]
        beta = self.beta(scale)
        ends = [scale.clipped((end - beta) / (1 - 2 * beta)) for end in self.plain_ends(heights, scale)]
        return ListedEnds(ends)

    def beta(self, scale: Any) -> Number:
        delta = scale.number(self.level.delta)
        return 0 * delta if self.level.epsilon.is_zero else delta / (1 / scale.power(1) - 1 + 2 * delta)

    def plain_ends(self, a: list[int], scale: Any) -> list[Number]:
        return [self.link(rho, scale) for rho in self.odds(a, scale)]

    def odds(self, a: list[int], scale: Any) -> list[Number]:
        left, right = self.lefts(a, scale), self.rights(a, scale)
        return [self.noise(a[t], scale) * left[t] / right[t] for t in range(len(a))]

    def noise(self, height: int, scale: Any) -> Number:
        return scale.power(-(height + HALF))

    def discount(self, people: int, scale: Any) -> Number:
        return scale.power(Fraction(people, 2))

    def lefts(self, a: list[int], scale: Any) -> list[Number]:
        sums = [self.weight(0, scale)]
        for t in range(1, len(a)):
            sums.append(self.weight(t, scale) + self.discount(a[t] - a[t - 1], scale) * sums[-1])
        return sums

    def rights(self, a: list[int], scale: Any) -> list[Number]:
        sums = [self.weight(len(a), scale)]
        for t in range(len(a) - 2, -1, -1):
            sums.append(self.weight(t + 1, scale) + self.discount(a[t + 1] - a[t], scale) * sums[-1])
        return sums[::-1]

    def weight(self, bin_: int, scale: Any) -> Number:
        return scale.number(1 if self.weights is None else self.weights[bin_])

    def link(self, rho: Number, scale: Any) -> Number:
        one = scale.number(1)
        return (scale.smaller(rho, one) + 1 - scale.smaller(1 / rho, one)) / 2


class XForS(Dense):
    def discount(self, people: int, scale: Any) -> Number:
        return scale.power(people)


class LeftWithoutTheOne(Dense):
    def lefts(self, a: list[int], scale: Any) -> list[Number]:
        sums = [scale.number(1)]
        for t in range(1, len(a)):
            sums.append(self.discount(a[t] - a[t - 1], scale) * sums[-1])
        return sums


class NoHalf(Dense):
    def noise(self, height: int, scale: Any) -> Number:
        return scale.power(-height)


class MinusHalf(Dense):
    def noise(self, height: int, scale: Any) -> Number:
        return scale.power(-(height - HALF))


class GeometricLink(Dense):
    def link(self, rho: Number, scale: Any) -> Number:
        x, one = scale.power(1), scale.number(1)
        return (scale.smaller(rho, one) + x * (1 - scale.smaller(1 / rho, one))) / (1 + x)


class ExponentialAtFullEpsilon(Dense):
    def plain_ends(self, a: list[int], scale: Any) -> list[Number]:
        scores = [scale.power(d) for d in moves(a)]
        return [sum(scores[: t + 1]) / sum(scores) for t in range(len(a))]


class RightWithTheCountBefore(Dense):
    def rights(self, a: list[int], scale: Any) -> list[Number]:
        sums = [scale.number(1)]
        for t in range(len(a) - 2, -1, -1):
            before = a[t] - a[t - 1] if t else 0
            sums.append(1 + self.discount(before, scale) * sums[-1])
        return sums[::-1]


class NoRight(Dense):
    def rights(self, a: list[int], scale: Any) -> list[Number]:
        return [scale.number(1)] * len(a)


class PlainRankNoise(NoRight):
    def lefts(self, a: list[int], scale: Any) -> list[Number]:
        return [scale.number(1)] * len(a)


class OddsAtTwiceEpsilon(Dense):
    def noise(self, height: int, scale: Any) -> Number:
        return scale.power(-2 * (height + HALF))


class OddsAtHalfEpsilon(Dense):
    def noise(self, height: int, scale: Any) -> Number:
        return scale.power(-Fraction(height, 2))


class HalfUniform(Dense):
    """Private and wasteful: every second answer says nothing."""

    def plain_ends(self, a: list[int], scale: Any) -> list[Number]:
        ends = super().plain_ends(a, scale)
        return [(end + scale.number(Fraction(t + 1, self.bins))) / 2 for t, end in enumerate(ends)]


class EmptyBinsMerged(Dense):
    def lefts(self, a: list[int], scale: Any) -> list[Number]:
        sums = [scale.number(1)]
        for t in range(1, len(a)):
            people = a[t] - a[t - 1]
            sums.append(1 + self.discount(people, scale) * sums[-1] if people else sums[-1])
        return sums

    def rights(self, a: list[int], scale: Any) -> list[Number]:
        sums = [scale.number(1)]
        for t in range(len(a) - 2, -1, -1):
            people = a[t + 1] - a[t]
            sums.append(1 + self.discount(people, scale) * sums[-1] if people else sums[-1])
        return sums[::-1]


class LogisticLink(Dense):
    def link(self, rho: Number, scale: Any) -> Number:
        return rho / (1 + rho)


class OneSidedLink(Dense):
    def link(self, rho: Number, scale: Any) -> Number:
        return scale.smaller(rho, scale.number(1))


class NobodyAnswersTheFirstBin(Dense):
    def law_of(self, cuts: Any, scale: Any, window: Any) -> Any:
        if cuts.heights == [0]:  # all cuts at the target: with rank 1/2 and fewer than two people, nobody has a value
            return ListedEnds([scale.number(1)] * (self.bins - 1))
        return super().law_of(cuts, scale, window)


class BetaIsDelta(Dense):
    def beta(self, scale: Any) -> Number:
        return scale.number(self.level.delta)


class WeightsForgotten(QuantileLaw):
    def _weights_up_to(self, bin_: int) -> int:
        return bin_ + 1


class ShareForgotten(QuantileLaw):
    def law_of(self, cuts: Any, scale: Any, window: Any) -> Any:
        from optimaldp.laws.rank_scales import BallScale, RationalScale

        kind = RationalScale if scale.exact else BallScale
        return super().law_of(cuts, kind((self.level.epsilon,), Fraction(1)), window)


class TargetRoundedDown(QuantileLaw):
    def cuts(self, cells: Any) -> Any:
        from optimaldp.laws.rank_scales import Cuts

        true = super().cuts(cells)
        people = sum(cells.values())
        late = int(self.rank * people) != self.rank * people
        return Cuts(true.bins, true.starts, [height + late for height in true.heights])


class TailsCutByAllOfDelta(QuantileLaw):
    def law_of(self, cuts: Any, scale: Any, window: Any) -> Any:
        law = super().law_of(cuts, scale, window)
        return replace(law, beta=scale.number(self.level.delta))


def moves(a: list[int]) -> list[int]:
    bins = len(a) + 1
    return [max(0, a[j - 1] + 1 if j else 0, -a[j] if j < bins - 1 else 0) for j in range(bins)]


class DenseFlip(QuantileLaw):
    """FLIP+ as the page writes it, bin by bin."""

    def law_of(self, cuts: Any, scale: Any, window: Any) -> Any:
        a = [cuts.heights[cuts.run(cut)] for cut in range(self.bins - 1)]
        x = scale.power(1)
        truth = next((j for j, height in enumerate(a) if height >= 0), self.bins - 1)
        tau = scale.number(self.level.delta) / ((self.bins - 1) / x + 1)
        row = [scale.number(0)] * self.bins
        for j in range(self.bins):
            if j != truth:
                least = scale.smaller(self.most(x), 1 - self.share_of(x) * self.ties(a, j, truth, scale))
                row[j] = scale.clipped(scale.power(self.distances(a)[j]) * least - tau)
        row[truth] = 1 - sum(row)
        return ListedEnds([sum(row[: t + 1]) for t in range(self.bins - 1)])

    def most(self, x: Number) -> Number:
        return 1 / (1 + x)

    def share_of(self, x: Number) -> Number:
        return 1 / (1 + (self.bins - 1) * x)

    def distances(self, a: list[int]) -> list[int]:
        return moves(a)

    def ties(self, a: list[int], j: int, truth: int, scale: Any) -> Number:
        total = scale.number(0)
        for i in range(len(a)):
            if j < truth:
                total = total + scale.power(-a[i] if i < j else a[i] - a[j] + 1)
            else:
                total = total + scale.power(a[j - 1] - a[i] + 1 if i < j else a[i] + 1)
        return total


class DistanceWithoutTheOne(DenseFlip):
    def distances(self, a: list[int]) -> list[int]:
        bins = len(a) + 1
        return [max(0, a[j - 1] if j else 0, -a[j] if j < bins - 1 else 0) for j in range(bins)]


class MostIsHalf(DenseFlip):
    def most(self, x: Number) -> Number:
        return (0 * x + 1) / 2


class MostWithXSquared(DenseFlip):
    def most(self, x: Number) -> Number:
        return 1 / (1 + x * x)


class MostIsOne(DenseFlip):
    def most(self, x: Number) -> Number:
        return 0 * x + 1


class AllForTies(DenseFlip):
    def ties(self, a: list[int], j: int, truth: int, scale: Any) -> Number:
        d = moves(a)
        return sum(scale.power(d[i]) for i in range(len(d)) if i != truth)


class ShareOfOne(DenseFlip):
    def share_of(self, x: Number) -> Number:
        return 1 / (1 + x)


class Sampler(QuantileLaw):
    """The sampler of the page: a fair coin and a uniform V, revealed bit by bit."""

    none_is = 0  # how many bins before the last one is given where no cut stops V

    def draw(self, cells: Any, source: Any, **options: Any) -> int:
        coin, value, bits = self.toss(source)
        while True:
            with precision(256):
                ends = self.ends(cells)
                odds = [self.rho(ends, t) for t in range(self.bins - 1)]
                index = self.place(odds, coin, ball(Fraction(value, 2**bits)), ball(Fraction(value + 1, 2**bits)))
            if index is not None:
                return index
            value, bits = 2 * value + source.take(1), bits + 1

    def toss(self, source: Any) -> tuple[int, int, int]:
        return source.take(1), source.take(1), 1

    def rho(self, ends: Any, t: int) -> Ball:
        end, rest = ends.end(t), ends.rest(t)
        return 2 * end if end <= rest else 1 / (2 * rest)

    def place(self, odds: list[Ball], coin: int, low: Ball, high: Ball) -> int | None:
        for t, rho in enumerate(odds):
            stops, passes = self.stops(rho, coin, low, high)
            if stops:
                return t
            if not passes:
                return None
        return self.bins - 1 - self.none_is

    def stops(self, rho: Ball, coin: int, low: Ball, high: Ball) -> tuple[bool, bool]:
        if coin == 0:
            return bool(rho >= high), bool(rho <= low)
        return bool(1 / rho <= low), bool(1 / rho >= high)


class StopsBelow(Sampler):
    def stops(self, rho: Ball, coin: int, low: Ball, high: Ball) -> tuple[bool, bool]:
        return (bool(rho <= low), bool(rho >= high)) if coin == 0 else super().stops(rho, coin, low, high)


class WithoutTheCoin(Sampler):
    def toss(self, source: Any) -> tuple[int, int, int]:
        return 0, source.take(1), 1


class CoinIsTheFirstBit(Sampler):
    def toss(self, source: Any) -> tuple[int, int, int]:
        bit = source.take(1)
        return bit, bit, 1


class NoneIsTheLastButOne(Sampler):
    none_is = 1


class OffByOne(QuantileLaw):
    def draw(self, cells: Any, source: Any, **options: Any) -> int:
        return min(self.bins - 1, super().draw(cells, source, **options) + 1)


class OffByOneAmongManyBins(QuantileLaw):
    def draw(self, cells: Any, source: Any, **options: Any) -> int:
        return max(0, super().draw(cells, source, **options) - (self.bins > 6))


class Trusting(StandIn):
    """A referee that takes the law's own word for what it should be: what is left are the checks of privacy itself."""

    def direct(self, cells: Any) -> list[Any]:
        return self.row(cells)


SMOOTHED = [
    (XForS, "C1"),
    (LeftWithoutTheOne, "C2|C1"),
    (NoHalf, "C1|C5"),
    (MinusHalf, "C1|C5"),
    (GeometricLink, "C1"),
    (ExponentialAtFullEpsilon, "C1"),
    (RightWithTheCountBefore, "C1|C2"),
    (NoRight, "C1"),
    (PlainRankNoise, "C1|C2"),
    (OddsAtTwiceEpsilon, "C1"),
    (OddsAtHalfEpsilon, "C1"),
    (HalfUniform, "C1"),
    (EmptyBinsMerged, "C1|C2"),
    (LogisticLink, "C1"),
    (OneSidedLink, "C1|C2"),
    (NobodyAnswersTheFirstBin, "C10|C1|C2|C5"),
    (BetaIsDelta, "C6"),
    (StopsBelow, "C8"),
    (WithoutTheCoin, "C8"),
    (CoinIsTheFirstBit, "C8"),
    (NoneIsTheLastButOne, "C8"),
    (OffByOne, "C8"),
]


@pytest.mark.parametrize(("twin", "check"), SMOOTHED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_wrong_smoothed_rank_is_rejected(twin: type[QuantileLaw], check: str) -> None:
    finding = examine(twin(QuantileMode.SMOOTHED_RANK, 5, HALF, level("1.02")))
    assert not finding.private
    assert finding.failure.split(":")[0] in check.split("|"), finding.failure


@pytest.mark.parametrize(
    ("twin", "failure"),
    [(Dense, ""), (XForS, "C3"), (ExponentialAtFullEpsilon, "C3"), (OddsAtTwiceEpsilon, "C3"), (HalfUniform, "C4")],
)
def test_privacy_itself_is_checked_as_well(twin: type[QuantileLaw], failure: str) -> None:
    made = stand_in(twin(QuantileMode.SMOOTHED_RANK, 5, HALF, level(1)), 4, Fraction(3, 5), 2)
    assert _grid_problem(Trusting(made.law, made.powers), grid(3, -3, 2)).startswith(failure)
    assert _grid_problem(Trusting(made.law, made.powers), grid(3, -3, 2)) != "" or not failure


@pytest.mark.parametrize(
    ("twin", "times"),
    [(Dense, 1.0), (XForS, 1.14), (ExponentialAtFullEpsilon, 1.39), (NoRight, 2.04), (PlainRankNoise, math.inf)],
)
def test_what_epsilon_a_mistake_really_has(twin: type[QuantileLaw], times: float) -> None:
    """In units of the epsilon that it claims."""
    largest = 1.0
    for bins, heights in ((3, grid(2, -3, 2)), (4, grid(3, -3, 2)), (6, grid(5, -1, 1))):
        made = stand_in(twin(QuantileMode.SMOOTHED_RANK, 5, HALF, level(1)), bins, Fraction(3, 5), 2)
        rows = {a: [float(fraction(p)) for p in made.row(made.table(a) or {})] for a in heights}
        for a, row in rows.items():
            for other in (rows[moved] for moved in block_shifts(a) if moved in rows):
                for p, q in zip(row, other):
                    if p or q:
                        largest = max(largest, p / q if q else math.inf, q / p if p else math.inf)
    assert math.log(largest) / math.log(25 / 9) == pytest.approx(times, abs=0.005)


def test_a_sampler_that_errs_among_many_bins_alone_is_rejected() -> None:
    finding = examine(OffByOneAmongManyBins(QuantileMode.SMOOTHED_RANK, 50, HALF, level(1)))
    assert finding.failure == "C8: at its real level the sampler does not draw from the law"


@pytest.mark.parametrize(
    "twin", [DistanceWithoutTheOne, MostIsHalf, MostWithXSquared, MostIsOne, AllForTies, ShareOfOne, OffByOne]
)
def test_a_wrong_flip_is_rejected(twin: type[QuantileLaw]) -> None:
    finding = examine(twin(QuantileMode.FLIP_PLUS, 4, HALF, level("1.02")))
    assert not finding.private
    assert finding.failure.startswith("C")


@pytest.mark.parametrize(
    ("mode", "bins", "epsilon"),
    [("flip", 5, "1.02"), ("flip+", 5, "1.21"), ("flip+", 40, "3"), ("flip+", 10**9, "20"), ("flip+", 3, "ln(3/2)")],
)
def test_a_flip_outside_of_its_region_is_rejected(mode: str, bins: int, epsilon: str) -> None:
    finding = examine(QuantileLaw(QuantileMode(mode), bins, HALF, level(epsilon)))
    assert finding.failure.startswith("C7")


def _law(twin: type[QuantileLaw], like: QuantileLaw) -> QuantileLaw:
    return twin(like.mode, like.bins, like.rank, like.level, like.weights, like.levels, like.share)


def test_mistakes_in_weights_share_target_and_levels_are_rejected() -> None:
    weighted = quantile_law(5, HALF, level(1), weights=tuple(map(Fraction, (1, 2, 3, 4, 5))))
    third = quantile_law(5, HALF, level(1), share=Fraction(1, 3))
    levels = (Epsilon.read("0.1"), Epsilon.read(1))
    own = quantile_law(5, HALF, level(1, "0.01"), levels=levels)
    late = quantile_law(9, Fraction(2, 7), level(1))
    for twin, like in [
        (WeightsForgotten, weighted),
        (ShareForgotten, third),
        (TargetRoundedDown, late),
        (TailsCutByAllOfDelta, own),
    ]:
        assert examine(like).private, like
        assert not examine(_law(twin, like)).private, twin


def test_what_is_not_fixed_or_makes_no_sense_is_rejected() -> None:
    levels = (Epsilon.read(2),)
    for law in (
        QuantileLaw(QuantileMode.SMOOTHED_RANK, 1, HALF, level(1)),
        QuantileLaw(QuantileMode.SMOOTHED_RANK, 5, Fraction(0), level(1)),
        QuantileLaw(QuantileMode.SMOOTHED_RANK, 5, HALF, level("inf")),
        QuantileLaw(QuantileMode.SMOOTHED_RANK, 5, HALF, level(1), weights=(Fraction(1),) * 4),
        QuantileLaw(QuantileMode.SMOOTHED_RANK, 5, HALF, level(1), levels=levels),
        QuantileLaw(QuantileMode.SMOOTHED_RANK, 5, HALF, level(1), share=Fraction(2)),
        QuantileLaw(QuantileMode.FLIP_PLUS, 5, HALF, level(9), weights=(Fraction(1),) * 5),
    ):
        finding = examine(law)
        assert not finding.private
        assert finding.failure.startswith(("C10", "C7"))


@pytest.mark.parametrize("twin", [QuantileLaw, Dense])
@pytest.mark.parametrize(("epsilon", "delta"), [("1.02", 0), ("0.1", "1e-6"), ("0", 0), ("ln(2)", "1/10")])
def test_the_true_smoothed_rank_passes(twin: type[QuantileLaw], epsilon: str, delta: object) -> None:
    finding = examine(twin(QuantileMode.SMOOTHED_RANK, 7, Fraction(3, 10), level(epsilon, delta)))
    assert finding.private, finding.failure


@pytest.mark.parametrize(
    ("bins", "epsilon", "delta"),
    [
        (3, "0.66", 0),
        (10, "1.94", "1e-6"),
        (20, "2.65", 0),
        (10**6, "20", "1e-3"),
        (2, "0.2", 0),
        (2, "0", "1/7"),
        (2, 1, "1/7"),
    ],
)
def test_true_flips_pass(bins: int, epsilon: object, delta: object) -> None:
    law = quantile_law(bins, HALF, level(epsilon, delta))
    assert law.mode is not QuantileMode.SMOOTHED_RANK
    finding = examine(law)
    assert finding.private, finding.failure


def test_a_dense_flip_passes_as_well() -> None:
    """The twins fail for their mistake and not for being written bin by bin. Two bins use delta in their own way."""
    finding = examine(DenseFlip(QuantileMode.FLIP_PLUS, 4, HALF, level("1.02")))
    assert finding.failure in ("", "C6: with delta it is not the law that direct sums give")


def test_the_sampler_of_the_page_draws_from_the_law() -> None:
    """A control for the sampler's twins: with coin and V the law is the same, though the bits are used in another way."""
    law = Sampler(QuantileMode.SMOOTHED_RANK, 5, HALF, level("1.02"))
    assert _draw_problem(stand_in(law, 4, Fraction(3, 5), 2), (-1, 0, 1)) == ""


@pytest.mark.parametrize("bins", [7, 10**6])
@pytest.mark.parametrize("make", [lambda k: level("0.3"), lambda k: level(25, "1e-4")])
def test_the_second_reading_confirms_true_draws_and_no_others(bins: int, make: Callable[[int], Any]) -> None:
    law = quantile_law(bins, Fraction(2, 5), make(bins))
    cells = {0: 3, bins // 3: 10, bins // 2: 9, bins - 1: 6}
    shown: list[tuple[int, int, int]] = []
    for _ in range(4):
        law.draw(cells, SystemBits(), reread=second_reading)
        law.draw(cells, SystemBits(), reread=lambda law, cells: lambda *draw: shown.append(draw))
    check = second_reading(law, cells)
    for value, count, index in shown:
        check(value, count, index)
        for wrong in (index - 1, index + 1):
            with pytest.raises(NotCertifiedError, match="second reading"):
                check(value, count, wrong)


@pytest.mark.parametrize("epsilon", ["0.5", "12"])
def test_the_second_reading_leaves_out_what_is_far(epsilon: str) -> None:
    law = quantile_law(20_000, HALF, level(epsilon))
    cells = {bin_: 1 + bin_ % 4 for bin_ in range(0, 20_000, 3)}
    for _ in range(5):
        law.draw(cells, SystemBits(), reread=second_reading)


def test_the_second_reading_knows_levels_and_weights() -> None:
    levels = (Epsilon.read("0.1"), Epsilon.read(1))
    own = quantile_law(50, HALF, level(1, "1e-6"), levels=levels)
    weighted = quantile_law(50, HALF, level(1), weights=tuple(Fraction(1 + b % 5, 3) for b in range(50)))
    for _ in range(10):
        own.draw({3: (4, 9), 20: (0, 3), 49: (30, 1)}, SystemBits(), reread=second_reading)
        weighted.draw({3: 4, 20: 3, 49: 30}, SystemBits(), reread=second_reading)


def test_several_laws_add_up() -> None:
    promise = level("0.5", "1e-6")
    laws = several_quantiles(20, [Fraction(1, 4), HALF], promise).laws
    assert examine_several(laws, promise).private
    assert "epsilon" in examine_several([*laws, laws[0]], promise).failure
    assert "delta" in examine_several(laws, level("0.5", "9e-7")).failure


class MedianBinInBothHalves(JointQuartiles):
    def lower_cells(self, cells: Any, median: int) -> Any:
        return {b: (count,) for b, count in cells.items() if b <= median}


class HalvesSpendAll(JointQuartiles):
    def lower(self, median: int) -> QuantileLaw | None:
        law = super().lower(median)
        return law and replace(law, share=Fraction(1))


class DeltaInEveryDraw(JointQuartiles):
    @property
    def _part(self) -> Any:
        return self.level


def test_quartiles_jointly_pass_and_their_twins_do_not() -> None:
    promise = level("0.5", "1e-6")
    assert examine_quartiles(JointQuartiles(60, promise)).private
    weights = tuple(Fraction(1 + b % 3) for b in range(60))
    assert examine_quartiles(JointQuartiles(60, promise, weights)).private
    for twin, words in [
        (MedianBinInBothHalves, "not those of the theorem"),
        (HalvesSpendAll, "more than epsilon"),
        (DeltaInEveryDraw, "more than delta"),
    ]:
        assert words in examine_quartiles(twin(60, promise)).failure
