"""The law of a crossing by direct sums instead of recursion or closed form: a second routine, at the draw as well."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from optimaldp.certify.numbers.parts import cut_off, kept
from optimaldp.errors import NotCertifiedError
from optimaldp.privacy.balls import Ball, ComplexBall, ball, context, precision

_ONE_BY_ONE = 64  # terms that are added up one by one
_START = Fraction(5, 2)


def confirm_crossing(law: Any, sums: Any) -> Callable[[int, int, int], None]:
    """Whether the bits of a draw belong to the answer that was drawn: by direct sums instead of recursion or closed form."""

    levels, times = law.levels or (law.level.epsilon,), 2 if law.family.both_tails else 1

    def beta() -> Ball:
        return Ball(cut_off((max(levels).ball() * ball(law.share)).exp(), ball(law.level.delta), times))

    even = law.family.cuts is None and len(law.family.reach) == 1 and not law.family.reach[0][1]
    return _confirm_place(law.family.answers, lambda: exponents(law, sums), beta, even=even)


@dataclass(frozen=True, repr=False)  # its numbers are private
class Exponents:
    """``share * sum of epsilon (cut X - Y) / D(cut)`` at a cut, in balls: a line over the largest of a few lines."""

    rise: tuple[Ball, Ball]
    reach: tuple[tuple[Fraction, Fraction], ...]
    cuts: tuple[Fraction, ...] | None

    def __call__(self, place: int) -> Ball:
        at = place if self.cuts is None else ball(self.cuts[place])
        where = Fraction(place) if self.cuts is None else self.cuts[place]
        return Ball((self.rise[0] + self.rise[1] * at) / ball(max(a + b * where for a, b in self.reach)))

    def stretch(self, first: int, last: int) -> tuple[Fraction, Fraction] | None:
        """The line of D from *first* to *last* if it is one and the same there; ``None`` where cuts have their own places."""
        if self.cuts is not None:
            return None
        highest = [max(range(len(self.reach)), key=lambda k: self._line(k, end)) for end in (first, last)]
        same = all(self._line(highest[0], end) == self._line(highest[1], end) for end in (first, last))
        return self.reach[highest[0]] if same else None

    def _line(self, k: int, place: int) -> Fraction:
        return self.reach[k][0] + self.reach[k][1] * place


def exponents(law: Any, sums: Any) -> Exponents:
    family, share = law.family, ball(law.share)
    weights = [own.ball() * share for own in law.levels or (law.level.epsilon,)]
    below = sum((w * ball(x) for w, x in zip(weights, sums.below)), Ball(0))
    above = sum((w * ball(y) for w, y in zip(weights, sums.above)), Ball(0))
    if family.cuts is not None:
        return Exponents((-above, below), tuple(family.reach), tuple(family.cuts))
    start = family.first + family.gap / 2
    reach = tuple((a + b * start, b * family.gap) for a, b in family.reach)
    return Exponents((ball(start) * below - above, ball(family.gap) * below), reach, None)


def confirm_ladder(law: Any, above: Sequence[int]) -> Callable[[int, int, int], None]:
    """The same for the clipping edge of a generous range."""

    return _confirm_place(len(law.edges), lambda: ladder_exponents(law, above), lambda: Ball(0))


def ladder_exponents(law: Any, above: Sequence[int]) -> Callable[[int], Ball]:
    start, size = ball(_START), law.epsilon.ball() * ball(law.share)
    return lambda place: Ball(start - size * above[place])


def _confirm_place(
    answers: int, exponent_of: Callable[[], Callable[[int], Ball]], beta: Callable[[], Ball], *, even: bool = False
) -> Callable[[int, int, int], None]:
    def confirm(value: int, bits: int, place: int) -> None:
        with precision(3 * bits + 128):
            scale, off, exponent = Ball(2) ** bits, beta(), exponent_of()

            def up_to(cut: int) -> Ball:
                if cut < 0 or cut >= answers - 1:
                    return Ball(int(cut >= 0))
                return Ball(kept(by_direct_sums(cut, answers, exponent, even=even), off))

            inside = up_to(place - 1) <= Ball(value) / scale and Ball(value + 1) / scale <= up_to(place)
        if not inside:
            raise NotCertifiedError("A second calculation does not confirm the answer. Nothing was released.")

    return confirm


def by_direct_sums(cut: int, answers: int, exponent: Callable[[int], Ball], *, even: bool = False) -> Ball:
    """F(rho) with rho = sum of e^(A_i/2) over the cuts up to this one, over the sum of e^(-A_i/2) from it on.

    Both sums are divided by their largest term, the one at the cut.
    """
    here = exponent(cut)
    if even and answers > 2:  # exponents in equal steps: terms are doubled instead of added one by one
        fall = (-(exponent(1) - exponent(0)) / 2).exp()
        left, right = _doubled(fall, cut + 1), _doubled(fall, answers - 1 - cut)
    else:
        left = _discounted(0, cut, exponent, here, 1)
        right = _discounted(cut, answers - 2, exponent, here, -1)
    rho = here.exp() * left / right
    one = Ball(1)
    return (rho.min(one) + (1 - (1 / rho).min(one))) / 2


def _doubled(fall: Ball, terms: int) -> Ball:
    """1 + fall + ... + fall^(terms - 1), by doubling: no division, so nothing is lost where the terms hardly fall."""
    total, power = Ball(0), Ball(1)
    for bit in bin(terms)[2:]:
        total, power = total * (1 + power), power * power
        if bit == "1":
            total, power = 1 + fall * total, power * fall
    return total


def _discounted(first: int, last: int, exponent: Callable[[int], Ball], here: Ball, sign: int) -> Ball:
    """The sum of ``e^(sign (A_i - here) / 2)`` from *first* to *last*, where the exponents are at most 0 and monotone.

    Far terms are enclosed by how many they are, long smooth stretches become integrals, the rest is added up one by one.
    """

    def term(place: int) -> Ball:
        return Ball((sign * (exponent(place) - here) / 2).exp())

    most = (last - first + 1) * term(last if sign > 0 else first)
    if most < Ball(2) ** -(context.prec // 2):
        return Ball(0).union(most)
    if last - first < _ONE_BY_ONE:
        return sum((term(place) for place in range(first, last + 1)), Ball(0))
    if isinstance(exponent, Exponents):
        smooth = as_integral(first, last, exponent, here, sign, context.prec // 12)
        if smooth is not None:
            return smooth
    middle = (first + last) // 2
    return _discounted(first, middle, exponent, here, sign) + _discounted(middle + 1, last, exponent, here, sign)


def as_integral(first: int, last: int, exponent: Exponents, here: Ball, sign: int, terms: int) -> Ball | None:
    """The same sum as an integral (Euler and Maclaurin), or ``None`` where the exponent bends or falls too quickly for it,
    or where the arithmetic has no complex numbers.

    What the formula leaves out behind 2m derivatives is at most ``|B_2m|`` times the integral of the 2m-th derivative over (2m)!,
    which by Cauchy is at most the largest value in a circle of some radius around each place, over radius^2m.
    """
    line = exponent.stretch(first, last)
    if line is None or ComplexBall is None:
        return None
    (n0, n1), d0, d1 = exponent.rise, ball(line[0]), ball(line[1])
    change = sign * (n1 * d0 - n0 * d1) / 2
    starts = [ball(line[0] + line[1] * place) for place in (first, last)]
    least = starts[0].min(starts[1])
    slope = abs(change) / least**2
    # In this circle D keeps half of its size and the exponent moves by 2 * radius * slope at most.
    radius = (terms / slope if slope > 0 else Ball(last)).min(least / (2 * abs(d1)) if line[1] else Ball(last))
    if not radius > terms:
        return None
    sizes = [Ball((sign * (exponent(place) - here) / 2).exp()) for place in (first, last)]
    worst = sizes[0].max(sizes[1]) * (2 * radius * slope).exp() / radius ** (2 * terms)
    left_out = abs(ball(_bernoulli(2 * terms))) * (last - first) * worst
    total = (sizes[0] + sizes[1]) / 2 + (-left_out).union(left_out)
    for size, start, side in zip(sizes, starts, (-1, 1)):
        series = _series(change / start**2, d1 / start, 2 * terms)
        bends = sum((ball(_bernoulli(2 * k)) * series[2 * k - 1] / (2 * k) for k in range(1, terms + 1)), Ball(0))
        total = total + side * size * bends
    near = int(sign > 0)  # from the end with the largest term: the integrand never exceeds 1
    return total + sizes[near] * _integral(last - first, -sign * change / starts[near] ** 2, -sign * d1 / starts[near])


def _integral(length: int, slope: Ball, bend: Ball) -> Ball:
    """The integral of ``e^(slope x / (1 + bend x))`` from 0 to *length*."""
    tolerance = Ball(2) ** -(context.prec // 2)
    whole = ComplexBall.integral(
        lambda x, _: (slope * x / (1 + bend * x)).exp(),
        ComplexBall(0),
        ComplexBall(length),
        abs_tol=tolerance,
        rel_tol=tolerance,
    )
    return Ball(whole.real)


def _series(slope: Ball, bend: Ball, terms: int) -> list[Ball]:
    """The coefficients of ``e^(slope z / (1 + bend z))``, by the exponential of a power series."""
    inner, power = [Ball(0)], slope
    for _ in range(terms):
        inner.append(power)
        power = -power * bend
    outer = [Ball(1)]
    for k in range(1, terms):
        outer.append(sum((j * inner[j] * outer[k - j] for j in range(1, k + 1)), Ball(0)) / k)
    return outer


@lru_cache(maxsize=256)
def _bernoulli(index: int) -> Fraction:
    """The Bernoulli number, by its recursion.

    >>> [str(_bernoulli(k)) for k in (0, 1, 2, 4)]
    ['1', '-1/2', '1/6', '-1/30']
    """
    if index > 1 and index % 2:
        return Fraction(0)
    return (1 if not index else 0) - sum(
        (Fraction(math.comb(index, k), index - k + 1) * _bernoulli(k) for k in range(index)), Fraction(0)
    )
