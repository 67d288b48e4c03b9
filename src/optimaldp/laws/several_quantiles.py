"""Several quantiles of one column in one spend.

*One after the other*: r laws at ``epsilon / r`` each. The rank error of a smoothed rank is bounded by the same convex function of
its epsilon for every rank, so by Jensen's inequality no other split has a smaller bound on the sum. The answers are put in
order afterwards, which never makes the sum of the errors larger.

*Quartiles jointly*: the median at ``epsilon / 2``, then both halves at ``epsilon / 2`` together. A replacement shifts the ranks
of the two halves by amounts that add up to at most 1 (1/2 + 1/2 if it passes the median's bin, 3/4 + 1/4 if it enters or leaves
that bin, 1 + 0 if it stays on one side), and each half's shift is monotone or one block, so the halves cost ``epsilon / 2`` in
all. The error of a quartile is its own plus half of the median's: at most ``2/e1 + 2/e2`` for all three, hence the equal split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.laws.quantile import LATEST, QuantileLaw, QuantileMode, SecondReading, quantile_law
from optimaldp.laws.rank_scales import Cells, Persons
from optimaldp.privacy import ApproximateDP, Level, level
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import single_level
from optimaldp.privacy.numbers import fraction_text
from optimaldp.results import Result
from optimaldp.sampling import BitSource

_OF_JOINT = 1  # the larger tail cut of law 2 is proven for one law alone, not for halves that share a move
_QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
_HALF = Fraction(1, 2)
# Measured (even and bell-shaped tables, 10 to 200 bins, 100 to 10,000 people): while epsilon times the people per bin is at most
# 8 the joint law has .44 to .79 of the rank error of three separate ones; above 8 it may have a multiple of it.
_JOINT_UP_TO = 8
# Where the number of people is not public: from 50 bins on and below epsilon 1 it had .57 to .72 of it on real ages.
_JOINT_FROM_BINS = 50
_JOINT_BELOW = Epsilon.read(1)


@dataclass(frozen=True, repr=False)
class RepeatedQuantiles(Result):
    """One law for each rank, each with an equal part of epsilon and delta."""

    laws: tuple[QuantileLaw, ...]

    @property
    def ranks(self) -> tuple[Fraction, ...]:
        return tuple(law.rank for law in self.laws)

    def draw(
        self, cells: Mapping[int, Any], source: BitSource, *, reread: SecondReading | None = None
    ) -> tuple[int, ...]:
        """A bin for each rank, in order."""
        return tuple(sorted(law.draw(cells, source, reread=reread) for law in self.laws))

    def summary(self) -> str:
        return f"RepeatedQuantiles({len(self.laws)} ranks, each {self.laws[0]})"

    def to_document(self) -> dict[str, Any]:
        return {"name": "repeated", "laws": [law.to_document() for law in self.laws]}


@dataclass(frozen=True, repr=False)
class JointQuartiles(Result):
    """The three quartiles: the median first, then both halves in one spend."""

    bins: int
    level: ApproximateDP
    weights: tuple[Fraction, ...] | None = None
    ranks = _QUARTILES

    @property
    def middle(self) -> QuantileLaw:
        law = quantile_law(self.bins, _HALF, self._part, weights=self.weights, share=_HALF)
        return replace(law, version=_OF_JOINT)

    def lower(self, median: int) -> QuantileLaw | None:
        """The law of the lower quartile, or ``None`` where only one bin is left."""
        return self._half(median + 1, slice(None, median + 1))

    def upper(self, median: int) -> QuantileLaw | None:
        return self._half(self.bins - median, slice(median, None))

    def lower_cells(self, cells: Cells, median: int) -> dict[int, tuple[Persons]]:
        """Everybody below the median's bin and half of those in it."""
        return {b: (_part_of(count, b == median),) for b, count in cells.items() if b <= median}

    def upper_cells(self, cells: Cells, median: int) -> dict[int, tuple[Persons]]:
        return {b - median: (_part_of(count, b == median),) for b, count in cells.items() if b >= median}

    def draw(self, cells: Cells, source: BitSource, *, reread: SecondReading | None = None) -> tuple[int, int, int]:
        """The bins of the three quartiles; they are in order by themselves."""
        median = self.middle.draw(cells, source, reread=reread)
        low, high = self.lower(median), self.upper(median)
        first = low.draw(self.lower_cells(cells, median), source, reread=reread) if low else median
        third = high.draw(self.upper_cells(cells, median), source, reread=reread) if high else 0
        return first, median, median + third

    def summary(self) -> str:
        return f"JointQuartiles({self.bins} bins, {self.level}{', weighted' if self.weights else ''})"

    def to_document(self) -> dict[str, Any]:
        return {
            "name": "quartiles jointly",
            "bins": self.bins,
            "epsilon": str(self.level.epsilon),
            "delta": fraction_text(self.level.delta),
            "weights": None if self.weights is None else [fraction_text(w) for w in self.weights],
        }

    @property
    def _part(self) -> ApproximateDP:
        """The median and the two halves use a third of delta each."""
        return _with_delta(self.level, self.level.delta / 3)

    def _half(self, bins: int, kept: slice) -> QuantileLaw | None:
        if bins == 1:
            return None
        weights = None if self.weights is None else self.weights[kept]
        # The ranks of a half are not whole numbers: the law of personal levels, with one level.
        own = (self.level.epsilon,)
        return QuantileLaw(QuantileMode.SMOOTHED_RANK, bins, _HALF, self._part, weights, own, _HALF, _OF_JOINT)


def several_quantiles(
    bins: int,
    ranks: Sequence[Fraction],
    level: Level,
    *,
    weights: tuple[Fraction, ...] | None = None,
    levels: tuple[Epsilon, ...] | None = None,
    persons: int | None = None,
    joint: bool = True,
    version: int = LATEST,
) -> RepeatedQuantiles | JointQuartiles:
    """The law of several quantiles at *level* in all, chosen by public numbers; *persons* only where their number is public.

    Both bear a replaced, an added and a removed record; *joint* = False keeps to separate laws.

    >>> from optimaldp.privacy import level
    >>> several_quantiles(100, [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)], level(0.5))
    JointQuartiles(100 bins, (0.5, 0)-DP)
    """
    named = tuple(ranks)
    if not named or any(a >= b for a, b in pairwise(named)):
        texts = [fraction_text(Fraction(rank)) for rank in named]
        raise QuestionError("ranks", texts, "are not different ranks in rising order", "write [0.25, 0.5, 0.75]")
    promise = single_level(level, "a quantile")
    if joint and named == _QUARTILES and levels is None and _joint_is_better(bins, promise.epsilon, persons):
        middle = quantile_law(bins, _HALF, promise, weights=weights)  # refuses what is wrong with the rest
        return JointQuartiles(bins, promise, middle.weights)
    part, share = _with_delta(promise, promise.delta / len(named)), Fraction(1, len(named))
    laws = [quantile_law(bins, rank, part, weights=weights, levels=levels, share=share) for rank in named]
    return RepeatedQuantiles(tuple(replace(law, version=version) for law in laws))


def _joint_is_better(bins: int, epsilon: Epsilon, persons: int | None) -> bool:
    if persons is None:
        return bins >= _JOINT_FROM_BINS and epsilon < _JOINT_BELOW
    return persons == 0 or epsilon <= Epsilon(Fraction(_JOINT_UP_TO * bins, persons), Fraction(1))


def _part_of(count: Persons, is_median: bool) -> Persons:
    return Fraction(count) / 2 if is_median else count


def _with_delta(promise: ApproximateDP, delta: Fraction) -> ApproximateDP:
    made = level(promise.epsilon, delta)
    assert isinstance(made, ApproximateDP)
    return made
