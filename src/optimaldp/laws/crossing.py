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
from itertools import pairwise
from typing import Any

from optimaldp.errors import LevelError
from optimaldp.laws.rank_scales import BallScale, RationalScale, Scale
from optimaldp.privacy import ApproximateDP, Epsilon
from optimaldp.privacy.balls import Ball, ball, context, fraction
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
        return [_sharper(b - a, c - d) for a, b, c, d in pairs]

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
        """The law of one table; *near* looks only at cuts that can matter at the precision of the moment."""
        scale: Scale = (RationalScale if exact else BallScale)(self._epsilons, self.share)
        growth = 1 / scale.power(self._loosest)
        delta = scale.number(self.level.delta)
        tails = 2 * (growth - 1) if self.family.both_tails else growth - 1
        beta = delta / (tails + 2 * delta) if self.level.delta else scale.number(0)
        if self.family.linear:
            return CrossingEnds(beta, scale, _linear_tails(self.family, sums, scale))
        family, (below,), (above,) = self.family, sums.below, sums.above

        def height(place: int) -> Fraction:
            cut = family.cut(place)
            return (cut * below - above) / family.most(cut)

        if exact:
            return CrossingEnds(beta, scale, _recursive_tails(family.answers, height, scale))
        window = _window(family.answers, lambda place: float(height(place)) * self._size, near=near)
        halves = _half_exponents(family, below, above, self.level.epsilon.ball() * ball(self.share) / 2)
        return CrossingEnds(beta, scale, _ball_tails(family.answers, halves, window))

    @property
    def _size(self) -> float:
        return float(self.level.epsilon) * float(self.share)

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
        tails = _ball_tails(size, lambda place: start - half * above[place], (0, size - 2))
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


Tails = Callable[[int], tuple[Number, Number]]
"""``min(rho, 1)`` and ``min(1/rho, 1)`` at a cut: one of them is 1."""


@dataclass(frozen=True)
class CrossingEnds:
    """The law of one table: sums of probabilities up to a cut, and what is left behind it. Private."""

    beta: Number
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


def _recursive_tails(answers: int, height: Callable[[int], Fraction], scale: Scale) -> Tails:
    """The same by ``L_t = 1 + L_(t-1) e^(-eps (A_t - A_(t-1))/2)`` and its mirror image: exact, for few answers."""
    heights = [height(place) for place in range(answers - 1)]
    falls = [scale.power((b - a) / 2) for a, b in pairwise(heights)]
    left, right, one = [scale.number(1)], [scale.number(1)], scale.number(1)
    for fall in falls:
        left.append(1 + left[-1] * fall)
    for fall in reversed(falls):
        right.append(1 + right[-1] * fall)
    right.reverse()

    def tails(place: int) -> tuple[Number, Number]:
        below = scale.power(-heights[place]) * left[place] / right[place]
        above = scale.power(heights[place]) * right[place] / left[place]
        return scale.smaller(below, one), scale.smaller(above, one)

    return tails


def _ball_tails(answers: int, half: Callable[[int], Ball], window: tuple[int, int]) -> Tails:
    """The same in balls for the cuts of a window; what lies outside of it is enclosed by what it weighs at most.

    *half* encloses ``eps A_t / 2``, which does not fall with t.
    """
    low, high = window
    halves = [half(place) for place in range(low, high + 1)]
    falls = [(a - b).exp() for a, b in pairwise(halves)]
    # Outside of the window heights go on in the same direction: each answer there weighs at most what the nearest one does.
    before = Ball(low) * (half(low - 1) - halves[0]).exp() if low else Ball(0)
    behind = Ball(answers - 2 - high) * (halves[-1] - half(high + 1)).exp() if high < answers - 2 else Ball(0)
    left, right = [1 + Ball(0).union(before)], [1 + Ball(0).union(behind)]
    for fall in falls:
        left.append(1 + left[-1] * fall)
    for fall in reversed(falls):
        right.append(1 + right[-1] * fall)
    right.reverse()
    one, all_of_them = Ball(1), Ball(answers)

    def tails(place: int) -> tuple[Ball, Ball]:
        if low <= place <= high:
            here = place - low
            rho = (2 * halves[here]).exp() * left[here] / right[here]
            return rho.min(one), (1 / rho).min(one)
        edge = half(low - 1) if place < low else -half(high + 1)
        small = Ball(0).union((2 * edge).exp() * all_of_them).min(one)
        large = one if small < one else Ball(0).union(one)
        return (small, large) if place < low else (large, small)

    return tails


def _half_exponents(family: Family, below: Fraction, above: Fraction, half: Ball) -> Callable[[int], Ball]:
    """``eps A_t / 2`` by whole numbers: a million cuts are too many for fractions."""
    if family.cuts is not None:
        return lambda place: half * ball((family.cut(place) * below - above) / family.most(family.cut(place)))
    start, gap = family.cut(0), family.gap
    rise = (start * below - above, gap * below)
    reach = [(a + b * start, b * gap) for a, b in family.reach]
    common = math.lcm(*(part.denominator for pair in (rise, *reach) for part in pair))
    (n0, n1), *most = ((int(a * common), int(b * common)) for a, b in (rise, *reach))
    if len(most) == 1:
        ((d0, d1),) = most
        return lambda place: half * (n0 + n1 * place) / (d0 + d1 * place)
    return lambda place: half * (n0 + n1 * place) / max(d0 + d1 * place for d0, d1 in most)


def _window(answers: int, size: Callable[[int], float], *, near: bool) -> tuple[int, int]:
    """The cuts that can matter at the precision of the moment. Floats choose how far to look, never what is answered."""
    last = answers - 2
    if not near:
        return 0, last
    reach = 3 * (context.prec / 2 * math.log(2) + 2 * math.log(answers) + 8)
    low = _bisect(lambda place: size(place) >= -reach, last)
    high = _bisect(lambda place: size(place) > reach, last)
    low = min(low, last)
    return low, max(low, min(last, high))


def _bisect(holds: Callable[[int], bool], last: int) -> int:
    """The first place from which *holds* is true, ``last + 1`` if it never is."""
    low, high = 0, last + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _sharper(a: Ball, b: Ball) -> Ball:
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


def require_positive(epsilon: Epsilon) -> None:
    if epsilon.is_zero:
        raise LevelError("epsilon", "0", "needs noise without bound", "name a positive epsilon")


def sums_of(values: Mapping[int, int], low: Fraction, step: Fraction) -> tuple[Fraction, Fraction]:
    """How many people have a value, and the sum of their values, from people per grid value. Private."""
    people = sum(values.values())
    return Fraction(people), people * low + step * sum(place * number for place, number in values.items())
