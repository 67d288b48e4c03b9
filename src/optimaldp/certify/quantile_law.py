"""``e^(-epsilon h)`` for the referee of quantiles: exact at a rational stand-in level, enclosed at the real one."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, combinations_with_replacement, pairwise
from operator import add
from typing import Any, Protocol

from optimaldp.privacy import ApproximateDP
from optimaldp.privacy.balls import Ball, Rational, ball, context, rational
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import first_where
from optimaldp.privacy.trajectory import Number

Height = Any  # people above the target rank: a number, or one for each level


class Powers(Protocol):
    """Numbers of one kind."""

    exact: bool

    def __call__(self, height: Height) -> Number:
        """``e^-height``."""
        ...

    def number(self, value: Fraction | int) -> Number: ...

    def up_to(self, value: Number) -> Number:
        """Some number between 0 and *value*."""
        ...


class ExactPowers:
    """Powers of rational roots: ``e^-epsilon_g = roots[g] ** unit``."""

    exact = True

    def __init__(self, roots: tuple[Fraction, ...], unit: int) -> None:
        self._roots, self._unit = [rational(root) for root in roots], unit
        self._known: dict[Height, Rational] = {}

    def __call__(self, height: Height) -> Rational:
        if height not in self._known:
            self._known[height] = self._power(height)
        return self._known[height]

    def _power(self, height: Height) -> Rational:
        heights = height if isinstance(height, tuple) else (height,)
        product = Rational(1)
        for root, people in zip(self._roots, heights):
            exponent = people * self._unit
            if exponent != int(exponent):
                raise ArithmeticError("the stand-in level has no rational power here")
            product *= root ** int(exponent)
        return product

    def number(self, value: Fraction | int) -> Rational:
        return rational(value)

    def up_to(self, value: Rational) -> Rational:
        raise ArithmeticError("exact sums leave nothing out")


class EnclosedPowers:
    """Balls at the precision in force when this was made."""

    exact = False

    def __init__(self, levels: tuple[Epsilon, ...], share: Fraction) -> None:
        self._epsilons = [level.ball() * ball(share) for level in levels]
        self._known: dict[Height, Ball] = {}

    def __call__(self, height: Height) -> Ball:
        if height not in self._known:
            heights = height if isinstance(height, tuple) else (height,)
            total = sum((ball(people) * epsilon for people, epsilon in zip(heights, self._epsilons)), Ball(0))
            self._known[height] = (-total).exp()
        return self._known[height]

    def number(self, value: Fraction | int) -> Ball:
        return ball(value)

    def up_to(self, value: Ball) -> Ball:
        return Ball(0).union(value)


def clip(value: Number) -> Number:
    if isinstance(value, Ball):
        return value.max(Ball(0)).min(Ball(1))
    return value if 0 <= value <= 1 else Rational(int(value > 0))


def least(a: Number, b: Number) -> Number:
    return a.min(b) if isinstance(a, Ball) else min(a, b)


# The referee's own laws of quantiles: sums written out as in the theorems, without the recursions of the library.
#
# Smoothed rank: ``l_j = m_j s^-a_j``, ``r_j = m_j s^(a_(j-1) + 1)`` and ``rho_t = (l_1 + ... + l_t) / (r_(t+1) + ... + r_K)``.
# FLIP+: the sums ``T_j`` over all cuts. Cuts of equal height are added as a block: that is all that the structure of a table is
# used for.


HALF = Fraction(1, 2)
_MOST_ADDED_TERMS = 64
_ONE_BY_ONE = 5  # bins of a run that are simply added up
_FAR_PER_BIT = 0.7  # a little more than ln 2: what lies farther than the precision can show is enclosed, not added


class ExaminedQuantile(Protocol):
    """What is public about a law, as the referee reads it."""

    @property
    def mode(self) -> str: ...
    @property
    def bins(self) -> int: ...
    @property
    def rank(self) -> Fraction: ...
    @property
    def level(self) -> ApproximateDP: ...
    @property
    def weights(self) -> tuple[Fraction, ...] | None: ...
    @property
    def levels(self) -> tuple[Epsilon, ...] | None: ...
    @property
    def share(self) -> Fraction: ...
    @property
    def version(self) -> int: ...


def epsilons(law: ExaminedQuantile) -> tuple[Epsilon, ...]:
    return (law.level.epsilon,) if law.levels is None else law.levels


class DirectLaw:
    """``P(answer <= t)`` of one table, derived again."""

    def __init__(self, law: ExaminedQuantile, cells: Mapping[int, Any], powers: Powers) -> None:
        self._law, self._power = law, powers
        self._starts, self._heights = read_heights(law, cells)
        self._sizes = [float(epsilon) * float(law.share) for epsilon in epsilons(law)]
        self.growth = max_growth(law, powers)
        self._tau = powers.number(law.level.delta) / ((law.bins - 1) * self.growth + 1)
        self._far = math.inf if powers.exact else _FAR_PER_BIT * context.prec
        self._halves: dict[Height, Number] = {}
        self._ends: dict[int, Number] = {}
        self._runs: dict[tuple[int, int], Number] = {}

    def end(self, cut: int) -> Number:
        """``P(answer <= cut)``, 0 for cut = -1 and 1 for the last bin."""
        if cut not in self._ends:
            self._ends[cut] = self._derived(cut)
        return self._ends[cut]

    def _derived(self, cut: int) -> Number:
        if cut < 0 or cut >= self._law.bins - 1:
            return self._power.number(int(cut >= 0))
        if str(self._law.mode) == "smoothed rank":
            return self._cut_tails(self._noise_below(self.odds(cut)))
        if self._law.bins == 2:
            return self._two_answers()
        return self._flipped(cut)

    def odds(self, cut: int) -> Number:
        """``rho_t``, by direct sums."""
        run = bisect_right(self._starts, cut) - 1
        height = self._heights[run]
        left = self._weight(self._starts[run], cut) + self._sum(run, range(run - 1, -1, -1), 0)
        right = self._weight(cut + 1, self._last(run) + 1) + self._sum(run, range(run + 1, len(self._starts)), 1)
        # L = s^-a_t left, R = s^(a_t + 1) right: together e^(eps (a_t + 1/2)). Personal ranks have no half to add.
        lifted = height if isinstance(height, tuple) else height + HALF
        return self._power(_times(lifted, -1)) * left / right

    def _sum(self, run: int, others: range, shift: int) -> Number:
        """The weights of whole runs, discounted by half of the rank distance; far ones enclosed."""
        total, discount, distance = self._power.number(0), self._power.number(1), 0.0
        for other in others:
            drop = self._drop(other if shift else other + 1)
            discount = discount * self._half_power(drop)
            distance += self._size(drop)
            first, last = self._starts[other] + shift, self._last(other) + shift
            # Discounts are half powers of the distance, so far is twice as far here.
            if distance > 2 * self._far:
                # Heights never fall, so everything from here on is discounted at least as much.
                rest = self._weight(first, self._law.bins - 1) if shift else self._weight(0, last)
                return total + self._power.up_to(discount * rest)
            total = total + discount * self._weight(first, last)
        return total

    def _drop(self, run: int) -> Height:
        return _difference(self._heights[run], self._heights[run - 1])

    def _half_power(self, people: Height) -> Number:
        if people not in self._halves:
            self._halves[people] = self._power(_times(people, HALF))
        return self._halves[people]

    def _noise_below(self, rho: Number) -> Number:
        """F: the distribution function of Laplace noise on the scale of odds."""
        if rho <= 1:
            return rho / 2
        if rho >= 1:
            return 1 - 1 / (2 * rho)
        return (rho / 2).union(1 - 1 / (2 * rho))  # a ball across 1: both are right to within the square of its radius

    def _cut_tails(self, probability: Number) -> Number:
        delta = self._power.number(self._law.level.delta)
        beta = self._tail_cut(delta)
        return clip((probability - beta) / (1 - 2 * beta))

    def _tail_cut(self, delta: Number) -> Number:
        """What delta takes from each tail: by the cut theorem, because every move orders the two distribution functions."""
        if self._law.version == 1:  # as 0.2 drew: less than delta allows, so private too
            return delta / (self.growth * (1 if self._law.levels is None else 2) + 2 * delta)
        # Without epsilon the law is the same for all tables: nothing is cut, and delta is not used.
        return 0 * delta if max(epsilons(self._law)).is_zero else delta / (self.growth - 1 + 2 * delta)

    def _two_answers(self) -> Number:
        height, x, delta = self._heights[0], self._power(1), self._law.level.delta
        plain = 1 - self._power(height + 1) / (1 + x) if height >= 0 else self._power(-height) / (1 + x)
        if delta == 0:
            return plain
        if self._law.level.epsilon.is_zero:
            # The formula below is 0/0 at E = 1; this is its limit (erratum 000-7).
            return clip(self._power.number(HALF + delta * (height + HALF)))
        d = self._power.number(delta)
        # The same as (1 + 2 rho) p - rho with rho = delta/(E - 1): the balanced optimum at E and delta.
        beta = d / (self.growth - 1 + 2 * d)
        return clip((plain - beta) / (1 - 2 * beta))

    def _flipped(self, cut: int) -> Number:
        """The wrong bins on the outer side of the cut, added up."""
        # A wrong bin never has more than x^d, and d only grows outwards: from where it is far on, all are enclosed together.
        run = bisect_right(self._starts, cut) - 1
        if self._heights[run] < 0:  # the truth lies behind the cut: all bins up to it are wrong
            outer: Number = self._wrong(run, self._starts[run], cut, left=True)
            for other in range(run - 1, -1, -1):
                if self._is_far(self._heights[other]):
                    return outer + self._power.up_to(self._power(-self._heights[other]) * self._starts[other + 1])
                outer = outer + self._wrong(other, self._starts[other], self._last(other), left=True)
            return outer
        outer = self._wrong(run, cut + 1, self._last(run) + 1, left=False)
        for other in range(run + 1, len(self._starts)):
            if self._is_far(self._heights[other]):
                bins = self._law.bins - self._starts[other]
                return 1 - outer - self._power.up_to(self._power(self._heights[other] + 1) * bins)
            outer = outer + self._wrong(other, self._starts[other] + 1, self._last(other) + 1, left=False)
        return 1 - outer

    def _is_far(self, people: int) -> bool:
        return self._far < math.inf and self._size(abs(people)) > self._far

    def _wrong(self, run: int, first: int, last: int, *, left: bool) -> Number:
        """The probability of the wrong bins *first .. last*, which lie next to cuts of *run*."""
        if (first, last) not in self._runs:  # no bin is wrong on both sides
            self._runs[first, last] = self._wrong_bins(run, first, last, left=left)
        return self._runs[first, last]

    def _wrong_bins(self, run: int, first: int, last: int, *, left: bool) -> Number:
        height = self._heights[run]
        power = self._power(-height if left else height + 1)
        tau, x = self._tau, self._power(1)
        if self._is_far(height):
            return self._power.up_to(power * (last - first + 1))
        top = power / (1 + x)
        if str(self._law.mode) == "flip":
            return (last - first + 1) * clip(top - tau)
        share = power / (1 + (self._law.bins - 1) * x)
        # T is linear in j along the run: two of its values give all of them.
        ties = self._ties(run, first, left=left)
        step = (x - power) * (-1 if left else 1)

        def line(place: int) -> Number:  # from the end nearest to the truth outwards, so that it falls
            moved = (last - first - place) if left else place
            return power - share * (ties + step * moved)

        return _falling_sum(line, top, tau, last - first + 1)

    def _ties(self, run: int, bin_: int, *, left: bool) -> Number:
        """``T_j`` of the page, term by term over runs: cuts before the bin, cuts from the bin on."""
        height, total = self._heights[run], self._power.number(0)
        for other in range(run, -1, -1):  # both exponents rise with the distance from the bin
            outer = -self._heights[other] if left else height - self._heights[other] + 1
            count = max(0, min(self._last(other), bin_ - 1) - self._starts[other] + 1)
            if self._is_far(outer):
                total = total + self._power.up_to(self._power(outer) * (self._last(other) + 1))
                break
            total = total + count * self._power(outer)
        for other in range(run, len(self._starts)):
            inner = self._heights[other] - height + 1 if left else self._heights[other] + 1
            count = max(0, self._last(other) - max(self._starts[other], bin_) + 1)
            if self._is_far(inner):
                total = total + self._power.up_to(self._power(inner) * (self._law.bins - self._starts[other]))
                break
            total = total + count * self._power(inner)
        return total

    def _last(self, run: int) -> int:
        return self._starts[run + 1] - 1 if run + 1 < len(self._starts) else self._law.bins - 2

    def _weight(self, first: int, last: int) -> Number:
        if self._law.weights is None:
            return self._power.number(last - first + 1)
        sums = _weight_sums(self._law.weights)
        return self._power.number(sums[last + 1] - sums[first])

    def _size(self, height: Height) -> float:
        heights = height if isinstance(height, tuple) else (height,)
        return sum(float(h) * s for h, s in zip(heights, self._sizes))


def max_growth(law: ExaminedQuantile, powers: Powers) -> Number:
    """``e^epsilon`` of whoever is protected least."""
    if law.levels is None:
        return powers(-1)
    place = max(range(len(law.levels)), key=lambda g: law.levels[g])  # type: ignore[index]
    return powers(tuple(-int(g == place) for g in range(len(law.levels))))


def read_heights(law: ExaminedQuantile, cells: Mapping[int, Any]) -> tuple[list[int], list[Height]]:
    """The cuts at which the height changes, and the heights: people up to there less the target rank."""
    places = sorted(cells)
    plus = add if law.levels is None else _plus
    below = list(accumulate(map(cells.__getitem__, places), plus, initial=_nobody(law)))
    whole = below[-1]
    target: Height = math.ceil(law.rank * whole) if law.levels is None else tuple(law.rank * part for part in whole)
    if places and places[-1] == law.bins - 1:  # no cut behind the last bin
        places, below = places[:-1], below[:-1]
    if places and places[0] == 0:  # no cut before the first
        below = below[1:]
    else:
        places = [0, *places]
    return places, [_difference(height, target) for height in below] if law.levels else [a - target for a in below]


def _falling_sum(line: Callable[[int], Number], top: Number, floor: Number, count: int) -> Number:
    """The sum of ``max(0, min(top, line(i)) - floor)`` for i below *count*; the line falls."""

    def value(place: int) -> Number:
        return clip(least(top, line(place)) - floor)

    def terms(first: int, stop: int) -> Number:
        if stop - first > _MOST_ADDED_TERMS:
            return (stop - first) * value(first).union(value(stop - 1))
        return sum(value(place) for place in range(first, stop))

    if count <= _ONE_BY_ONE:
        return terms(0, count)
    # Certainly at the top, perhaps, certainly on the slope, perhaps, gone: closed forms only for what is certain, so that
    # a ball across a bend widens few terms.
    flat = first_where(lambda i: not bool(line(i) >= top), 0, count)
    bent = first_where(lambda i: bool(line(i) <= top), flat, count)
    sloping = first_where(lambda i: not bool(line(i) >= floor), bent, count)
    gone = first_where(lambda i: bool(line(i) <= floor), sloping, count)
    slope = (sloping - bent) * ((line(bent) + line(sloping - 1)) / 2 - floor)
    return flat * clip(top - floor) + terms(flat, bent) + slope + terms(sloping, gone)


class _WeightSums:
    """Sums of the weights read last, recognised by identity: to hash a million fractions takes longer than to add them."""

    def __init__(self) -> None:
        self._read: tuple[tuple[Fraction, ...], list[int]] = ((), [0])

    def __call__(self, weights: tuple[Fraction, ...]) -> list[int]:
        known, sums = self._read
        if known is not weights:
            # Odds are quotients of two such sums, so a common denominator may be dropped.
            common = math.lcm(*(w.denominator for w in weights))
            sums = [0, *accumulate(w.numerator * (common // w.denominator) for w in weights)]
            self._read = (weights, sums)
        return sums


_weight_sums = _WeightSums()


def _nobody(law: ExaminedQuantile) -> Height:
    return 0 if law.levels is None else (0,) * len(law.levels)


def _plus(a: Height, b: Height) -> Height:
    return tuple(x + y for x, y in zip(a, b)) if isinstance(a, tuple) else a + b


def _difference(a: Height, b: Height) -> Height:
    return tuple(x - y for x, y in zip(a, b)) if isinstance(a, tuple) else a - b


def _times(a: Height, factor: Fraction | int) -> Height:
    return tuple(x * factor for x in a) if isinstance(a, tuple) else a * factor


# Where FLIP and FLIP+ are private: the referee's own reading of the conditions of Theorem 2.


_BY_HAND = 24  # cuts up to which every case of the bound is tried


def flip_is_private(bins: int, x: Number) -> bool:
    """Two bins at every level; more where ``(K-1) x <= 1``."""
    return bins == 2 or bool((bins - 1) * x <= 1)


def flip_plus_is_private(bins: int, x: Number) -> bool:
    """``(K-1) x^2 <= 1`` and all wrong bins together never hold more than ``1/(1+x)``.

    Up to 25 bins by trying every number of near and far bins on either side. Beyond: the bound is at most its maximum over real
    numbers of near bins l, r >= 0, l + r <= N. There it is concave (Hessian ``-g x^2 (2, x; x, 2-2x)``, definite below .82),
    symmetric enough that both partial derivatives at l = r = N/2 agree, and if that slope is not negative no point of the
    triangle is higher.
    """
    cuts = bins - 1
    if bins == 2:
        return True
    if not cuts * x * x <= 1:
        return False
    if cuts <= _BY_HAND:
        most = [
            _bound(x, side, cuts - side, k, m)
            for side in range(cuts + 1)
            for k in range(side + 1)
            for m in range(cuts - side + 1)
        ]
        return all(bool(value * (1 + x) <= 1) for value in most)
    y = cuts * x
    slope = (1 - x) * (1 + y) - y * (1 + x / 2)
    highest = y - y * y * (1 + x) / (2 * (1 + y))
    # So many cuts with cuts x^2 <= 1 mean x <= 1/5 already; concavity rests on it, so it is asked.
    return bool(x * 5 <= 4) and bool(slope >= 0) and bool(highest * (1 + x) <= 1)


def _bound(x: Number, left: int, right: int, near_left: int, near_right: int) -> Number:
    """Near bins have at most x (1 - g T), far ones at most x^2 in place of x; T counts the near bins of both sides."""
    g = 1 / (1 + (left + right) * x)
    total: Number = -2 * g * near_left * near_right * x**3
    for size, near in ((left, near_left), (right, near_right)):
        total = total + (near * x + (size - near) * x * x) * (1 - g * near * x)
    return total


def stand_in_ratio(bins: int) -> Fraction:
    """A simple rational ``e^-epsilon`` just inside the region of FLIP+ for few bins."""
    # Private at 1/32, not at 1: the conditions of Theorem 2 get harder with x.
    return Fraction(first_where(lambda x: not flip_plus_is_private(bins, Rational(x, 32)), 2, 32) - 1, 32)


# Made-up tables on which the referee looks at a law: from the heights of cuts to people in bins.


Heights = tuple[int, ...]


def people_at(heights: Heights, starts: Sequence[int], bins: int, rank: Fraction) -> dict[int, int] | None:
    """People in bins such that the cuts from ``starts[i]`` on have ``heights[i]``; ``None`` where no table has them.

    At rank 1 nobody is above the target, so no height is positive.
    """
    if rank == 1 and heights[-1] > 0:
        return None
    least = max(Fraction(0), -heights[0] / rank, heights[-1] / (1 - rank) if rank < 1 else Fraction(0))
    people = math.ceil(least)
    target = math.ceil(rank * people)
    below = [target + height for height in heights] + [people]
    places = [*starts, bins - 1]
    cells: dict[int, int] = {}
    for place, now, before in zip(places, below, [0, *below]):
        cells[place] = cells.get(place, 0) + now - before
    return {place: count for place, count in cells.items() if count}


def grid(cuts: int, low: int, high: int) -> list[Heights]:
    """All nondecreasing heights from *low* to *high*."""
    return list(combinations_with_replacement(range(low, high + 1), cuts))


def block_shifts(heights: Heights) -> Iterator[Heights]:
    """What one person can do to the cuts: raise one block of them by one, such that they stay in order."""
    for first in range(len(heights)):
        for last in range(first, len(heights)):
            moved = tuple(a + (first <= t <= last) for t, a in enumerate(heights))
            if all(a <= b for a, b in pairwise(moved)):
                yield moved


def mirrored(heights: Heights) -> Heights:
    """The same table read from the other end."""
    return tuple(-1 - a for a in reversed(heights))
