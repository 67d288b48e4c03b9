"""The smoothed crossing: a number from a family of questions "does it lie below this cut?", at the full epsilon.

Answers ``y_1 < ... < y_K`` on a public grid, a cut between each two of them, and for each cut a real ``A_t`` that says how far
the table is from lying below it. ``P(answer <= y_t) = F(rho_t)`` with ``rho_t = e^(eps A_t) L_t / R_t``, where L and R add up the
answers to the left and right of the cut, discounted by ``e^(-eps |A_t - A_i| / 2)``, and ``F(rho) = rho/2`` up to 1, then
``1 - 1/(2 rho)``.

**Theorem.** If every move changes A by h with ``|h| <= 1``, and h is monotone in t, or of one sign and rising then falling in
``|h|``, the answer is epsilon-DP (the shift lemma and the centre lemma of the smoothed rank, which is the case of ranks).

For means and ratios ``A_t = (tau_t X - Y)/D(tau_t)`` with two sums over people, X and Y, and a public D: nothing is split between
a sum and a count. Where D is constant and cuts have equal steps the sums L and R have a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from optimaldp.laws.rank_scales import (
    BallScale,
    CrossingEnds,
    RationalScale,
    RecordedBits,
    Scale,
    Tails,
    sharper,
)
from optimaldp.privacy import ApproximateDP, Epsilon
from optimaldp.privacy.balls import Ball, ball, context, fraction, precision
from optimaldp.privacy.numbers import fraction_text
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import BitSource, choose_by_ends

SecondReading = Callable[[int, int, int], None]
"""Shown the bits of a draw (a whole number and how many bits it has) and the answer's place; raises if it disagrees."""

_FIRST_BITS = 64
_ONE = Fraction(1)
_START = Fraction(
    5, 2
)  # the exponent at which the ladder of a generous range begins: A = 2.5/(share eps) - how many lie above


@dataclass(frozen=True)
class Sums:
    """The two sums over people that decide a mean or ratio: private. With levels of people's own, one pair for each level.

    Of a mean: how many people have a value, and the sum of their values; of a ratio: the sums of its lower and upper number.
    """

    below: tuple[Fraction, ...]
    above: tuple[Fraction, ...]

    def __repr__(self) -> str:
        return "Sums(private)"


@dataclass(frozen=True)
class Family:
    """The public part: answers ``first + k gap``, cuts in the middle between two of them, and what one person can move.

    ``D(tau) = max(a + b tau)`` over the pairs (a, b) of *reach*. *cuts*, for study, replaces the cuts in the middle.
    """

    first: Fraction
    gap: Fraction
    answers: int
    reach: tuple[tuple[Fraction, Fraction], ...]
    both_tails: bool = False
    """Whether one person may move some cuts up and others down by a whole person: then delta is cut off twice (ratios)."""
    cuts: tuple[Fraction, ...] | None = None

    def answer(self, place: int) -> Fraction:
        return self.first + place * self.gap

    def cut(self, place: int) -> Fraction:
        """The cut behind the answer at *place*, counted from 0."""
        return self.first + (2 * place + 1) * self.gap / 2 if self.cuts is None else self.cuts[place]

    def most(self, cut: Fraction) -> Fraction:
        """D at a cut: by how much one person moves ``cut X - Y`` at most."""
        return max(a + b * cut for a, b in self.reach)

    @property
    def linear(self) -> bool:
        """Whether A is linear in equal steps, so that its sums have a closed form."""
        return self.cuts is None and len(self.reach) == 1 and not self.reach[0][1]

    def to_document(self) -> dict[str, Any]:
        return {
            "first": fraction_text(self.first),
            "gap": fraction_text(self.gap),
            "answers": self.answers,
            "reach": [[fraction_text(a), fraction_text(b)] for a, b in self.reach],
            "both_tails": self.both_tails,
        }


def mean_family(low: Fraction, high: Fraction, gap: Fraction, *, replaced: bool) -> Family:
    """The mean of those with a value in [low, high]: replaced records, or people who come and go."""
    reach = ((high - low, Fraction(0)),) if replaced else ((high, -_ONE), (-low, _ONE))
    return Family(low, gap, int((high - low) / gap) + 1, reach)


def ratio_family(
    tops: tuple[Fraction, Fraction], grid: tuple[Fraction, Fraction, Fraction], *, replaced: bool
) -> Family:
    """The ratio of two sums of numbers in [0, top]: ``grid`` is (low, high, gap) of its answers."""
    (top, bottom), (low, high, gap) = tops, grid
    reach = ((top, bottom),) if replaced else ((top, Fraction(0)), (Fraction(0), bottom))
    return Family(low, gap, int((high - low) / gap) + 1, reach, both_tails=True)


@dataclass(frozen=True)
class CrossingLaw:
    """The law of a crossing, made from public numbers before data is read. It spends ``share * epsilon``.

    With *levels* (each in units of its own epsilon) person i is weighed by epsilon_i, and delta is cut off by the loosest.
    """

    family: Family
    level: ApproximateDP
    share: Fraction = _ONE
    levels: tuple[Epsilon, ...] | None = None

    def probabilities(self, sums: Sums, *, exact: bool = False) -> list[Number]:
        """The probability of every answer: for few answers. Fractions if *exact*, which the level must allow."""
        ends = self.ends(sums, exact=exact)
        places = range(self.family.answers - 1)
        along, left = [ends.end(place) for place in places], [ends.rest(place) for place in places]
        if exact:
            return [fraction(b - a) for a, b in zip([0 * along[0], *along], [*along, 0 * along[0] + 1])]
        pairs = zip([Ball(0), *along], [*along, Ball(1)], [Ball(1), *left], [*left, Ball(0)])
        return [sharper(b - a, c - d) for a, b, c, d in pairs]

    def draw(
        self, sums: Sums, source: BitSource, *, reread: SecondReading | None = None, first_bits: int = _FIRST_BITS
    ) -> int:
        """The place of one answer.

        **Guarantee.** Each answer has exactly its probability, and nothing else about the sums is returned, raised or kept.
        """
        recorded = RecordedBits(source)
        place = choose_by_ends(
            lambda: self.ends(sums, near=True).end, self.family.answers, recorded, first_bits=first_bits
        )
        if reread is not None:
            reread(recorded.value, recorded.count, place)
        return place

    def ends(self, sums: Sums, *, exact: bool = False, near: bool = False) -> CrossingEnds:
        """The law of one table; *near* is quick where a few cuts of very many are looked at, as in a draw."""
        scale: Scale = (RationalScale if exact else BallScale)(self._epsilons, self.share)
        growth = 1 / scale.power(self._loosest)
        delta = scale.number(self.level.delta)
        tails = 2 * (growth - 1) if self.family.both_tails else growth - 1
        beta = delta / (tails + 2 * delta) if self.level.delta else scale.number(0)
        if self.family.linear:
            return CrossingEnds(beta, scale, _linear_tails(self.family, sums, scale))
        if exact:
            return CrossingEnds(beta, scale, _recursive_tails(self.family.answers, self._exact_height(sums), scale))
        with precision(context.prec + _GUARD):
            halves = [own.ball() * ball(self.share) / 2 for own in self._epsilons]
        if self.family.cuts is not None:
            half = _half_exponents(self.family, sums, halves)
            return CrossingEnds(beta, scale, _ball_tails(self.family.answers, half))
        tree = _TreeOfSums(self.family, sums, halves)
        return CrossingEnds(beta, scale, tree.tails if near else _ball_tails(self.family.answers, tree.half))

    def _exact_height(self, sums: Sums) -> Callable[[int], tuple[Fraction, ...]]:
        """A at a cut, apart for each level."""

        def height(place: int) -> tuple[Fraction, ...]:
            cut = self.family.cut(place)
            return tuple((cut * x - y) / self.family.most(cut) for x, y in zip(sums.below, sums.above))

        return height

    @property
    def _epsilons(self) -> tuple[Epsilon, ...]:
        return (self.level.epsilon,) if self.levels is None else self.levels

    @property
    def _loosest(self) -> tuple[int, ...]:
        place = self._epsilons.index(max(self._epsilons))
        return tuple(int(i == place) for i in range(len(self._epsilons)))


@dataclass(frozen=True)
class LadderLaw:
    """The first step of a generous range: the edge below which all but a few people lie, from a public ladder of edges.

    ``A_t = 2.5/(share eps) - how many lie above edge t``: every move is a block of one sign, so the crossing theorem holds.
    """

    edges: tuple[Fraction, ...]
    epsilon: Epsilon
    share: Fraction

    def draw(
        self,
        above: Sequence[int],
        source: BitSource,
        *,
        reread: SecondReading | None = None,
        first_bits: int = _FIRST_BITS,
    ) -> int:
        """The place of the edge; *above* is how many people lie above each edge but the last. Private."""
        recorded = RecordedBits(source)
        place = choose_by_ends(lambda: self.ends(above).end, len(self.edges), recorded, first_bits=first_bits)
        if reread is not None:
            reread(recorded.value, recorded.count, place)
        return place

    def ends(self, above: Sequence[int]) -> CrossingEnds:
        half = self.epsilon.ball() * ball(self.share) / 2
        start = ball(_START / 2)
        size = len(self.edges)
        tails = _ball_tails(size, lambda place: start - half * above[place])
        return CrossingEnds(Ball(0), BallScale((self.epsilon,), self.share), tails)


def ladder(top: Fraction, step: Fraction) -> tuple[Fraction, ...]:
    """The public ladder ``top / sqrt(2)^j``, rounded up to the grid, without repeats, rising.

    >>> [int(edge) for edge in ladder(Fraction(10), Fraction(1))]
    [1, 2, 3, 4, 5, 8, 10]
    """
    steps, edges, j = int(top / step), set[int](), 0
    while not edges or min(edges) > 1:
        # The least k with k^2 2^j >= steps^2.
        edges.add(math.isqrt(((steps * steps) - 1) >> j) + 1)
        j += 1
    return tuple(step * k for k in sorted(edges))


def _linear_tails(family: Family, sums: Sums, scale: Scale) -> Tails:
    """``rho_t = e^(eps A_t) (1 - lambda^t)/(1 - lambda^(K-t))``, lambda = e^(-eps slope/2); without a slope t/(K-t)."""
    most, one = family.reach[0][0], scale.number(1)
    slopes = tuple(family.gap * x / most for x in sums.below)

    def tails(place: int) -> tuple[Number, Number]:
        cut, before, behind = family.cut(place), place + 1, family.answers - 1 - place
        heights = tuple((cut * x - y) / most for x, y in zip(sums.below, sums.above))
        left, right = scale.number(before), scale.number(behind)
        if any(slopes):
            left = 1 - scale.power(tuple(before * slope / 2 for slope in slopes))
            right = 1 - scale.power(tuple(behind * slope / 2 for slope in slopes))
        below = scale.power(tuple(-height for height in heights)) * left / right
        above = scale.power(heights) * right / left
        return scale.smaller(below, one), scale.smaller(above, one)

    return tails


def _recursive_tails(answers: int, height: Callable[[int], tuple[Fraction, ...]], scale: Scale) -> Tails:
    """The same by ``L_t = 1 + L_(t-1) e^(-eps (A_t - A_(t-1))/2)`` and its mirror image: exact, for few answers."""
    heights = [height(place) for place in range(answers - 1)]
    falls = [scale.power(tuple((y - x) / 2 for x, y in zip(a, b))) for a, b in pairwise(heights)]
    left, right, one = *_passed(scale.number(1), falls), scale.number(1)

    def tails(place: int) -> tuple[Number, Number]:
        below = scale.power(tuple(-h for h in heights[place])) * left[place] / right[place]
        above = scale.power(heights[place]) * right[place] / left[place]
        return scale.smaller(below, one), scale.smaller(above, one)

    return tails


def _passed(one: Number, falls: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    """The discounted sums to the left and to the right of each cut; *falls* are the discounts from cut to cut."""
    left, right = [one], [one]
    for fall in falls:
        left.append(1 + left[-1] * fall)
    for fall in reversed(falls):
        right.append(1 + right[-1] * fall)
    return left, right[::-1]


def _ball_tails(answers: int, half: Callable[[int], Ball]) -> Tails:
    """The same in balls, for all cuts; *half* encloses ``eps A_t / 2``."""
    halves = [half(place) for place in range(answers - 1)]
    left, right = _passed(Ball(1), [(a - b).exp() for a, b in pairwise(halves)])
    return lambda place: _both_tails(halves[place], left[place], right[place])


def _both_tails(half: Ball, left: Ball, right: Ball) -> tuple[Ball, Ball]:
    rho = (2 * half).exp() * left / right
    return rho.min(Ball(1)), (1 / rho).min(Ball(1))


def _half_exponents(family: Family, sums: Sums, halves: Sequence[Ball]) -> Callable[[int], Ball]:
    """``eps A_t / 2`` where the cuts have places of their own."""

    def half(place: int) -> Ball:
        cut = family.cut(place)
        rise = sum((h * ball(cut * x - y) for h, x, y in zip(halves, sums.below, sums.above)), Ball(0))
        return rise / ball(family.most(cut))

    return half


# A few cuts of very many.
#
# Where D is not constant the sums over the cuts have no closed form, and a million exponentials take seconds. But between two
# kinks of D the exponent is ``N(i)/d(i)`` with two linear functions, so over a block of cuts in which it changes little its
# exponential is a short power series, and the powers of the places in a block add up to whole numbers that are known before.
# Cuts are put into blocks of 1, 2, 4, ... like the branches of a tree: each sum is made of a few hundred blocks, most of which
# serve the next sum too. Everything is enclosed: what a series leaves out by Cauchy's estimate, what lies too far away to matter
# by what it weighs at most (A never falls along the cuts).

_LEAF = 4  # blocks of 2^4 cuts are added up one by one
_LEAST_RADIUS = 3  # a block is smooth if its series converges in a circle of at least 2^3 times its own radius
_MOST_RADIUS = 40
_MOST_GROWTH = 16  # how far the exponent may move inside of that circle, roughly: it costs as many digits
_GUARD = 96  # bits more than asked for: exponents are differences of numbers as large as the table


class _TreeOfSums:
    """Discounted sums to both sides of any cut. Private."""

    def __init__(self, family: Family, sums: Sums, halves: Sequence[Ball]) -> None:
        self._last = family.answers - 2
        self._bits = context.prec
        self._known: dict[tuple[int, int, int], tuple[Ball, Ball] | None] = {}
        start, gap = family.cut(0), family.gap
        rises = [(start * x - y, gap * x) for x, y in zip(sums.below, sums.above)]
        reach = [(a + b * start, b * gap) for a, b in family.reach]
        common = math.lcm(*(part.denominator for pair in (*rises, *reach) for part in pair))
        self._reach = [(int(a * common), int(b * common)) for a, b in reach]
        self._rises = [(int(a * common), int(b * common)) for a, b in rises]
        self._halves = halves

    def tails(self, place: int) -> tuple[Ball, Ball]:
        with precision(self._bits + _GUARD):
            here, one = self.half(place), Ball(1)
            # Far from the crossing both sums lie between 1 and the number of answers: nothing else about them matters.
            far = (-2 * abs(here)).exp() * (self._last + 2)
            if far < Ball(2) ** -self._bits:
                small = Ball(0).union(far)
                return (small, one) if here < 0 else (one, small)
            height = self._last.bit_length()
            left = self._sum(height, 0, (0, place), here, 1)
            right = self._sum(height, 0, (place, self._last), here, -1)
            return _both_tails(here, left, right)

    def half(self, place: int) -> Ball:
        """``eps A_t / 2`` at a cut, by whole numbers: a million cuts are too many for fractions."""
        rise = sum((half * (a + b * place) for half, (a, b) in zip(self._halves, self._rises)), Ball(0))
        return rise / max(a + b * place for a, b in self._reach)

    def _sum(self, height: int, first: int, ends: tuple[int, int], here: Ball, sign: int) -> Ball:
        """``e^(sign (eps A_i / 2 - here))`` over the cuts i of a block that lie between two ends, one of which is *here*."""
        low, high = max(first, ends[0]), min(first + (1 << height) - 1, ends[1])
        if low > high:
            return Ball(0)
        most = (high - low + 1) * (sign * (self.half(high if sign > 0 else low) - here)).exp()
        if most < Ball(2) ** -self._bits:
            return Ball(0).union(most)
        if high - low + 1 == 1 << height and (block := self._block(height, first, sign)) is not None:
            middle, total = block
            return (sign * (middle - here)).exp() * total
        if height <= _LEAF:
            return sum(((sign * (self.half(place) - here)).exp() for place in range(low, high + 1)), Ball(0))
        half = 1 << (height - 1)
        return self._sum(height - 1, first, ends, here, sign) + self._sum(height - 1, first + half, ends, here, sign)

    def _block(self, height: int, first: int, sign: int) -> tuple[Ball, Ball] | None:
        key = (height, first, sign)
        if key not in self._known:
            self._known[key] = self._summed(height, first, sign)
        return self._known[key]

    def _summed(self, height: int, first: int, sign: int) -> tuple[Ball, Ball] | None:
        """The exponent in the middle of a block, and the sum discounted from there; ``None`` if the block has to be halved."""
        size = 1 << height
        if height <= _LEAF:
            halves = [self.half(place) for place in range(first, first + size)]
            return halves[0], sum(((sign * (half - halves[0])).exp() for half in halves), Ball(0))
        pair = self._one_reach(first, first + size - 1)
        if pair is None:
            return None
        d0, d1 = pair
        # In s = (i - middle) / (size/2) the exponent moves by slope s / (1 + bend s) from the middle on.
        twice = 2 * d0 + d1 * (2 * first + size - 1)
        change = sum((half * (b * d0 - a * d1) for half, (a, b) in zip(self._halves, self._rises)), Ball(0))
        slope, bend = sign * change * (2 * size) / twice**2, Ball(d1 * size) / twice
        radius = _radius(slope, bend)
        if radius < _LEAST_RADIUS:
            return None
        rise = sum(
            (half * (2 * a + b * (2 * first + size - 1)) for half, (a, b) in zip(self._halves, self._rises)), Ball(0)
        )
        return rise / twice, _sum_of_series(slope, bend, radius, height, _degree(radius))

    def _one_reach(self, first: int, last: int) -> tuple[int, int] | None:
        """The line that is the largest at both ends of a block, and so all along it: there D has no kink."""
        return next(
            (
                (a, b)
                for a, b in self._reach
                if all(a + b * i == max(c + d * i for c, d in self._reach) for i in (first, last))
            ),
            None,
        )

    def __repr__(self) -> str:
        return "sums(private)"


def _radius(slope: Ball, bend: Ball) -> int:
    """The largest r with ``2^r |bend| <= 1/2`` and ``2^r |slope| <= 16``, at most 40; negative if there is none."""
    for radius in range(_MOST_RADIUS, _LEAST_RADIUS - 1, -1):
        if abs(bend) * 2 ** (radius + 1) <= 1 and abs(slope) * 2**radius <= _MOST_GROWTH:
            return radius
    return -1


def _degree(radius: int) -> int:
    """An even degree behind which the terms of a series do not matter at the precision of the moment."""
    return 2 * ((context.prec + 2 * _MOST_GROWTH) // (2 * radius) + 1)


def _sum_of_series(slope: Ball, bend: Ball, radius: int, height: int, degree: int) -> Ball:
    """``g(s) = e^(slope s / (1 + bend s))`` summed over the 2^height places s of a block, spread evenly over (-1, 1).

    Coefficients by ``(1 + bend s)^2 g' = slope g``. In the circle of 2^radius the exponent is at most *growth*, so the k-th
    coefficient is at most ``e^growth / 2^(radius k)``: what is left out behind the last one is a geometric series of these.
    """
    sums = _powers_summed(height, -(-degree // 64) * 64)
    total, before, here = Ball(0), Ball(0), Ball(1)
    for k in range(degree + 1):
        if k % 2 == 0:  # odd powers cancel
            total += here * Ball(sums[k // 2]) * Ball(2) ** (-height * k)
        before, here = here, ((slope - 2 * k * bend) * here - (k - 1) * bend * bend * before) / (k + 1)
    growth = abs(slope) * 2**radius / (1 - abs(bend) * 2**radius)
    rest = 2**height * growth.exp() * Ball(2) ** (-radius * degree) / (2**radius - 1)
    return Ball(total + (-rest).union(rest))


@lru_cache(maxsize=128)
def _powers_summed(height: int, most: int) -> list[int]:
    """The sums of even powers 0, 2, ..., most of ``-(n-1), -(n-3), ..., n-1`` with n = 2^height: each half is one of n/2, moved.

    >>> _powers_summed(2, 4)
    [4, 20, 164]
    """
    if not height:
        return [1] + [0] * (most // 2)
    half, moved = _powers_summed(height - 1, most), 1 << (2 * (height - 1))
    return [
        2 * sum(math.comb(2 * k, 2 * j) * moved**j * half[k - j] for j in range(k + 1)) for k in range(most // 2 + 1)
    ]


def sums_of(values: Mapping[int, int], low: Fraction, step: Fraction) -> tuple[Fraction, Fraction]:
    """How many people have a value, and the sum of their values, from people per grid value. Private."""
    people = sum(values.values())
    return Fraction(people), people * low + step * sum(place * number for place, number in values.items())
