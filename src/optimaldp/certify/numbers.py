"""The referee of numbers: noise on sums, smoothed crossings, two steps. It shares no arithmetic with what it examines.

What a person can move is found from outside: each cell of the tally is a possible record, so a table with one person in it tells
what that record adds. The laws are compared with their definitions, exactly at a level where all numbers are rational and in
balls at the real one; the sampler with words of bits next to its thresholds; what people see with the recorded number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced_fields
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise
from typing import Any, Protocol

from optimaldp.certify.core.examined import Finding
from optimaldp.errors import NotCertifiedError, OptimalDPError
from optimaldp.privacy import Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball, ComplexBall, ball, context, precision

_BITS = 192
_SLACK = 80  # bits to which an equality is confirmed in balls
_ALL_CELLS = 4000  # cells that are all looked at; of more the ends, the middle and some between
_FEW_STEPS = 12  # sensitivities whose shifts are all tried at all places
_TWO = Epsilon.read("ln(2)")
_WORD = 64
_MOST_DIRECT = 5_000  # answers whose direct sums are computed at the level itself
_FEW_CELLS = 64  # cells of a table that is made up for a draw
_SOME_WORDS = (2**40 + 1, 2**62 + 1, 2**64 - 2**40)  # far below, a little below and far above the number itself
_WIDER = Fraction(1, 10**9)  # of the range: what an interval may be rounded by
_ONE_BY_ONE = 64  # terms that are added up one by one
_START = Fraction(5, 2)
_MOST_PARTS = 400  # of a person into which heights are divided, where small tables are compared exactly


class NoiseOfNumber(Protocol):
    """A law of noise, as the referee sees it."""

    @property
    def epsilon(self) -> Any: ...

    @property
    def delta(self) -> Any: ...

    @property
    def sensitivity(self) -> Any: ...

    @property
    def width(self) -> Any: ...

    @property
    def share(self) -> Any: ...

    @property
    def largest(self) -> Any: ...

    @property
    def probability(self) -> Any: ...

    @property
    def tail(self) -> Any: ...

    @property
    def place(self) -> Any: ...


class Crossing(Protocol):
    """A law of a crossing, or of a clipping edge."""

    @property
    def family(self) -> Any: ...

    @property
    def level(self) -> Any: ...

    @property
    def share(self) -> Any: ...

    @property
    def levels(self) -> Any: ...

    @property
    def ends(self) -> Any: ...

    @property
    def probabilities(self) -> Any: ...


class Ladder(Protocol):
    """The law of a clipping edge."""

    @property
    def edges(self) -> Any: ...

    @property
    def epsilon(self) -> Any: ...

    @property
    def share(self) -> Any: ...

    @property
    def ends(self) -> Any: ...


class Answers(Protocol):
    """The public answers and cuts of a crossing."""

    @property
    def answers(self) -> Any: ...

    @property
    def reach(self) -> Any: ...

    @property
    def both_tails(self) -> Any: ...

    @property
    def cut(self) -> Any: ...

    @property
    def answer(self) -> Any: ...

    @property
    def gap(self) -> Any: ...


class TwoSums(Protocol):
    """What decides a crossing."""

    @property
    def below(self) -> Any: ...

    @property
    def above(self) -> Any: ...


class Answering(Protocol):
    """A mechanism that answers with a number: what it has beside these depends on its kind."""

    @property
    def question(self) -> Any: ...

    @property
    def setting(self) -> Any: ...

    @property
    def proof(self) -> Any: ...

    @property
    def name(self) -> Any: ...

    def __getattr__(self, member: str) -> Any: ...


class Counting(Protocol):
    """A question with a number as its answer."""

    @property
    def cells(self) -> Any: ...

    @property
    def fold(self) -> Any: ...

    @property
    def total(self) -> Any: ...

    sums: TwoSums

    @property
    def said(self) -> Any: ...

    @property
    def read_counts(self) -> Any: ...

    @property
    def sizes(self) -> Any: ...


def _with(law: object, **changed: object) -> Any:
    """The same law with other public numbers."""
    return replaced_fields(law, **changed)  # type: ignore[type-var]


class RefusedError(Exception):
    """Something that the referee does not pass, in words."""


def _need(holds: object, failure: str) -> None:
    if not holds:
        raise RefusedError(failure)


def _passed(look: Callable[[], list[str]]) -> Finding:
    try:
        return Finding(True, tuple(look()))
    except RefusedError as refused:
        return Finding(False, (), str(refused))


# A second routine at the draw.


def confirm_noise(
    *, epsilon: Epsilon, delta: Fraction, sensitivity: int, width: int, share: Fraction
) -> Callable[[int, int, int], None]:
    """Whether the bits of a draw really belong to the noise that was drawn: by the distribution function, counted anew."""

    def confirm(value: int, bits: int, place: int) -> None:
        with precision(3 * bits + 8 * (epsilon.leading_zeros + sensitivity.bit_length()) + 4 * epsilon.ceiling + 128):
            decay, scale = _ball_decay(epsilon, share), Ball(2) ** bits
            beta = _beta(1 / decay(1), ball(delta)) if not epsilon.is_zero else Ball(0)

            def up_to(k: int) -> Ball:
                if epsilon.is_zero:
                    plain = ball(Fraction(1, 2) + delta * (k + Fraction(1, 2)))
                else:
                    far = _tail_by_counting(abs(k + 1) if k < 0 else k + 1, decay, sensitivity, width)
                    # P(X <= k): for k >= 0 one minus the tail from k + 1 on, else the mirrored tail from -k on.
                    plain = 1 - far if k >= 0 else _tail_by_counting(-k, decay, sensitivity, width)
                return ((plain - beta) / (1 - 2 * beta)).max(Ball(0)).min(Ball(1))

            inside = up_to(place - 1) <= Ball(value) / scale and Ball(value + 1) / scale <= up_to(place)
        if not inside:
            raise NotCertifiedError("A second calculation does not confirm the noise. Nothing was released.")

    return confirm


def _ball_decay(epsilon: Epsilon, share: Fraction) -> Callable[[int], Ball]:
    size = epsilon.ball() * ball(share)
    return lambda power: (-size * power).exp()


def _beta(growth: Any, delta: Any, times: int = 1) -> Any:
    return delta / (times * (growth - 1) + 2 * delta) if delta else 0 * growth


def _tail_by_counting(first: int, decay: Callable[[int], Any], steps: int, width: int) -> Any:
    """P(X >= first), first >= 0: how many numbers of each level are left in the period of *first*, then whole periods."""
    period, rest = divmod(first, steps)
    upper = max(0, width - rest)  # numbers from first on that lie before the jump of their period
    lower = steps - rest - upper
    b = decay(1)
    whole = (width + b * (steps - width)) / (1 - b)  # the weight of all numbers from 0 on
    weight = decay(period) * upper + decay(period + 1) * lower + decay(period + 1) * whole
    return weight / (2 * whole - 1)


def confirm_crossing(law: Crossing, sums: TwoSums) -> Callable[[int, int, int], None]:
    """Whether the bits of a draw belong to the answer that was drawn: by direct sums instead of recursion or closed form."""

    levels, times = law.levels or (law.level.epsilon,), 2 if law.family.both_tails else 1

    def beta() -> Ball:
        return Ball(_beta((max(levels).ball() * ball(law.share)).exp(), ball(law.level.delta), times))

    even = law.family.cuts is None and len(law.family.reach) == 1 and not law.family.reach[0][1]
    return _confirm_place(law.family.answers, lambda: _exponents(law, sums), beta, even=even)


@dataclass(frozen=True, repr=False)  # its numbers are private
class _Exponents:
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


def _exponents(law: Crossing, sums: TwoSums) -> _Exponents:
    family, share = law.family, ball(law.share)
    weights = [own.ball() * share for own in law.levels or (law.level.epsilon,)]
    below = sum((w * ball(x) for w, x in zip(weights, sums.below)), Ball(0))
    above = sum((w * ball(y) for w, y in zip(weights, sums.above)), Ball(0))
    if family.cuts is not None:
        return _Exponents((-above, below), tuple(family.reach), tuple(family.cuts))
    start = family.first + family.gap / 2
    reach = tuple((a + b * start, b * family.gap) for a, b in family.reach)
    return _Exponents((ball(start) * below - above, ball(family.gap) * below), reach, None)


def confirm_ladder(law: Ladder, above: Sequence[int]) -> Callable[[int, int, int], None]:
    """The same for the clipping edge of a generous range."""

    return _confirm_place(len(law.edges), lambda: _ladder_exponents(law, above), lambda: Ball(0))


def _ladder_exponents(law: Ladder, above: Sequence[int]) -> Callable[[int], Ball]:
    start, size = ball(_START), law.epsilon.ball() * ball(law.share)
    return lambda place: Ball(start - size * above[place])


def _confirm_place(
    answers: int, exponents: Callable[[], Callable[[int], Ball]], beta: Callable[[], Ball], *, even: bool = False
) -> Callable[[int, int, int], None]:
    def confirm(value: int, bits: int, place: int) -> None:
        with precision(3 * bits + 128):
            scale, cut_off, exponent = Ball(2) ** bits, beta(), exponents()

            def up_to(cut: int) -> Ball:
                if cut < 0 or cut >= answers - 1:
                    return Ball(int(cut >= 0))
                return Ball(_kept(_by_direct_sums(cut, answers, exponent, even=even), cut_off))

            inside = up_to(place - 1) <= Ball(value) / scale and Ball(value + 1) / scale <= up_to(place)
        if not inside:
            raise NotCertifiedError("A second calculation does not confirm the answer. Nothing was released.")

    return confirm


def _kept(plain: Any, beta: Any) -> Any:
    value = (plain - beta) / (1 - 2 * beta)
    return value.max(Ball(0)).min(Ball(1)) if isinstance(value, Ball) else min(max(value, 0 * value), 0 * value + 1)


def _by_direct_sums(cut: int, answers: int, exponent: Callable[[int], Ball], *, even: bool = False) -> Ball:
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
    if isinstance(exponent, _Exponents):
        smooth = _as_integral(first, last, exponent, here, sign, context.prec // 12)
        if smooth is not None:
            return smooth
    middle = (first + last) // 2
    return _discounted(first, middle, exponent, here, sign) + _discounted(middle + 1, last, exponent, here, sign)


def _as_integral(first: int, last: int, exponent: _Exponents, here: Ball, sign: int, terms: int) -> Ball | None:
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


# NoiseOfNumber on a number that adds up over people.


def examine_noise_number(mechanism: Answering) -> Finding:
    """N1, N2, N3, N6, N7, N8: the sensitivity from outside, the law against its definition, the sampler, what people see."""
    return _passed(lambda: _look_at_noise(mechanism))


def _look_at_noise(mechanism: Answering) -> list[str]:
    setting = mechanism.setting
    sizes = (2, 3) if setting.public_groups else ()
    moved = _moved_by_one(mechanism, mechanism.question.total, sizes)
    noise = mechanism.noise(sizes)
    _need(moved <= noise.sensitivity, "one person moves the number further than the noise covers")
    _need(moved == noise.sensitivity, "the noise covers more than one person can move: the claim would be false")
    _need_level(noise, setting)
    own = mechanism.noise()
    check_noise_law(own, str(mechanism.question.said.loss))
    _look_at_shown(mechanism)
    _look_at_noisy_draws(mechanism)
    return [
        "what one person can move, from every cell of the table, a missing value and a person outside included",
        "the law of the noise against its definition, its tails, and every shift that one person can cause",
        "the sampler gives each noise on just the bits that belong to it, next to every threshold that was tried, and the "
        "recorded number is the sum of a table and one noise",
        "the answer and its interval follow from the recorded number by public arithmetic",
        f"for all tables, by theorem: {mechanism.proof}",
    ]


def _moved_by_one(mechanism: Answering, total: Callable[[Any], int], sizes: tuple[int, ...]) -> int:
    """The furthest that one person moves the whole number, by trying every record."""
    question, setting = mechanism.question, mechanism.setting
    if sizes:
        return _moved_in_public_groups(question, sizes)
    added = {cell: _added(question, total, cell) for cell in _watched(question.cells)}
    mixed = {cell: 1 + cell % 3 for cell in list(added)[:50]}
    _need(
        total(question.fold(mixed)) == sum(people * added[cell] for cell, people in mixed.items()),
        "the number does not add up over people",
    )
    if setting.neighbours is Neighbours.ADD_REMOVE:
        return max(map(abs, added.values()))
    return max(added.values()) - min(added.values())


def _added(question: Counting, total: Callable[[Any], int], cell: int) -> int:
    return total(question.fold({cell: 1})) - total(question.fold({}))


def _moved_in_public_groups(question: Counting, sizes: tuple[int, ...]) -> int:
    """Two shares of public groups: every table of these sizes, every person who changes inside their group."""
    first, second = sizes
    common = math.lcm(first, second)
    furthest = 0
    for a in range(first + 1):
        for b in range(second + 1):
            here = question.total(question.read_counts([a, first - a, b, second - b, 1]))
            _need(
                Fraction(here, common) == Fraction(a, first) - Fraction(b, second), "the number is not the difference"
            )
            for c, d in ((a + 1, b), (a, b + 1)):
                if c <= first and d <= second:
                    there = question.total(question.read_counts([c, first - c, d, second - d, 0]))
                    furthest = max(furthest, abs(here - there))
    # Nobody who is in one group alone is taken for a member of the other.
    for cell in _watched(question.cells):
        _need(sum(question.sizes(question.fold({cell: 1}))) <= 1, "somebody is counted in both groups")
    return furthest


def _watched(cells: int) -> list[int]:
    if cells <= _ALL_CELLS:
        return list(range(cells))
    spread = {cells * i // 97 for i in range(97)}
    return sorted(spread | {0, 1, 2, 3, cells - 4, cells - 3, cells - 2, cells - 1})


def _need_level(noise: NoiseOfNumber, setting: Any, share: Fraction = Fraction(1)) -> None:
    strictest = min([setting.level.epsilon, *(own for own, _ in setting.levels)])
    _need(noise.epsilon == strictest and 0 < noise.share <= share, "the noise is not at the level that is promised")
    _need(0 <= noise.delta <= setting.level.delta, "the noise spends more delta than is promised")


@lru_cache(maxsize=256)
def check_noise_law(noise: NoiseOfNumber, loss: str = "absolute") -> None:
    """N1, N2 and N8 for a law of noise: raises :class:`RefusedError` where it is not what its numbers say."""
    steps, width = noise.sensitivity, noise.width
    _need(1 <= width <= steps, "the staircase has no such width")
    if noise.epsilon.is_zero:
        _look_at_flat_noise(noise)
    else:
        _look_at_width(noise, loss)
        exact = _with(noise, epsilon=_TWO, share=Fraction(1), delta=min(noise.delta, Fraction(1, 5)))
        _look_at_exact_noise(exact)
        _look_at_exact_noise(_with(exact, delta=Fraction(1, 30)))
        _look_at_real_noise(noise)
    _look_at_words(noise)


def _look_at_flat_noise(noise: NoiseOfNumber) -> None:
    _need(noise.sensitivity == 1 and noise.delta > 0, "at epsilon = 0 delta alone hides one person")
    last = noise.largest
    for k in [0, 1, last // 2, last - 1, last, last + 1]:
        tail = max(Fraction(0), Fraction(1, 2) - noise.delta * (k + Fraction(1, 2)))
        _need(k < 0 or noise.tail(k) == tail, "a tail of the noise is not what its definition says")


def _look_at_width(noise: NoiseOfNumber, loss: str) -> None:
    """The width must come from public numbers by the rule that is claimed; any width is private."""
    steps, width = noise.sensitivity, noise.width
    if loss == "exact":
        _need(width == 1, "the width is not the best for being exact")
    if loss != "absolute":
        return
    with precision(_BITS + 4 * (noise.epsilon.leading_zeros + steps.bit_length())):
        growth = (noise.epsilon.ball() * ball(noise.share)).exp()
        # r is no worse than r + 1 exactly if E r^2 >= (D - r)^2.
        better_below = growth * (width - 1) ** 2 - (steps - width + 1) ** 2
        better_above = growth * width**2 - (steps - width) ** 2
        _need(width == 1 or not better_below > 0, "a narrower staircase has a smaller expected error")
        _need(not better_above < 0, "a wider staircase has a smaller expected error")


def _points(steps: int, width: int) -> list[int]:
    if steps <= _FEW_STEPS:
        return list(range(-3 * steps - 1, 3 * steps + 2))
    marks = {q * steps + u for q in range(4) for u in (0, 1, width - 1, width, width + 1, steps - 1)}
    return sorted({sign * mark for mark in marks for sign in (-1, 1)})


def _look_at_exact_noise(noise: NoiseOfNumber) -> None:
    """At e^epsilon = 2: the law against its definition, and every shift of one person against 2 and delta."""
    steps, width, delta = noise.sensitivity, noise.width, noise.delta
    beta = _beta(Fraction(2), delta)

    def level(i: int) -> int:
        return int(abs(i) // steps + (abs(i) % steps >= width))

    whole = 2 * (width + Fraction(steps - width, 2)) / Fraction(1, 2) - 1

    def tail(k: int) -> Fraction:
        plain = _tail_by_counting(k + 1, lambda q: Fraction(1, 2) ** q, steps, width)
        return max(Fraction(0), Fraction((plain - beta) / (1 - 2 * beta)))

    for i in _points(steps, width):
        known = tail(abs(i) - 1) - tail(abs(i)) if i else 1 - 2 * tail(0)
        if not delta:
            _need(known == Fraction(1, 2) ** level(i) / whole, "the referee disagrees with itself")
        _need(noise.probability(i) == known, "a probability of the noise is not what its definition says")
        _need(i < 0 or noise.tail(i) == tail(i), "a tail of the noise is not what its definition says")
    _look_at_shifts(noise, tail)


def _look_at_shifts(noise: NoiseOfNumber, tail: Callable[[int], Fraction]) -> None:
    steps, delta = noise.sensitivity, noise.delta
    if steps > _FEW_STEPS:  # the largest shift alone, by distribution functions: the worst event is a tail of it
        last = noise.largest if delta else 40 * steps
        for k in sorted({0, steps, noise.width, steps + noise.width, last - 1, last}):
            _need(tail(k) <= 2 * tail(k + steps) + delta, "a shift by one person costs more than is promised")
        return
    reach = noise.largest + steps if delta else 4 * steps
    chances = {k: noise.probability(k) for k in range(-reach - steps, reach + steps + 1)}
    worst, largest = Fraction(0), Fraction(0)
    for shift in range(1, steps + 1):
        for sign in (1, -1):
            pairs = [(chances[k], chances[k + sign * shift]) for k in range(-reach, reach + 1)]
            worst = max(worst, sum((max(Fraction(0), p - 2 * q) for p, q in pairs), Fraction(0)))
            largest = max(largest, *(p / q for p, q in pairs if q), Fraction(0))
    _need(worst <= delta, "a shift by one person costs more than is promised")
    _need(bool(delta) or largest == 2, "the noise is larger than its level needs")
    _need(not delta or noise.largest < steps or worst == delta, "delta is charged and not used")


def _look_at_real_noise(noise: NoiseOfNumber) -> None:
    steps, width = noise.sensitivity, noise.width
    with precision(_BITS + 4 * (noise.epsilon.leading_zeros + steps.bit_length())):
        decay = _ball_decay(noise.epsilon, noise.share)
        beta = _beta(1 / decay(1), ball(noise.delta))
        for k in sorted({0, 1, width, steps - 1, steps, 2 * steps + width, 7 * steps}):
            known = ((_tail_by_counting(k + 1, decay, steps, width) - beta) / (1 - 2 * beta)).max(Ball(0))
            said = ball(Fraction(noise.tail(k)))
            _need(
                abs(said - known) <= Ball(10) ** -28 * (1 + known), "a tail of the noise is not right at its own level"
            )


def _look_at_words(noise: NoiseOfNumber) -> None:
    """Words of bits next to the thresholds: each must be given to the noise on whose side it lies."""
    confirm = confirm_noise(
        epsilon=noise.epsilon,
        delta=noise.delta,
        sensitivity=noise.sensitivity,
        width=noise.width,
        share=noise.share,
    )
    words = {0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1}
    for k in {0, 1, noise.width, noise.sensitivity, 2 * noise.sensitivity}:
        near = int(Fraction(noise.tail(k)) * 2**_WORD)
        words |= {word for at in (near, 2**_WORD - near) for word in (at - 1, at, at + 1) if 0 <= word < 2**_WORD}
    for word in sorted(words):
        place = noise.place(word, _WORD)
        if place is None:
            continue  # a threshold lies inside: more bits are drawn
        _need_confirmed(confirm, word, place)


class _Words:
    """Scripted bits: one word after the other, and how many were taken."""

    def __init__(self, *words: int) -> None:
        self._words = words
        self.taken = 0

    def take(self, count: int) -> int:
        word = self._words[self.taken // _WORD % len(self._words)]
        self.taken += count
        return word >> (_WORD - count) if count < _WORD else word << (count - _WORD)


class _MadeUp:
    """A table that is made up: as many people in each cell that is watched, of each level.

    Of *answers* of a crossing there are so many people that neighbouring cuts differ by about one unit of the exponent: then few
    cuts matter, and a sum over them is quick in any arithmetic.
    """

    def __init__(self, mechanism: Answering, answers: int = 0) -> None:
        levels = [own for own, _ in mechanism.setting.levels]
        cells = _watched(mechanism.question.cells)[:_FEW_CELLS]
        each = 1 + (answers << mechanism.setting.level.epsilon.leading_zeros) // len(cells)
        self.by_level = tuple((own, dict.fromkeys(cells, each)) for own in levels)
        self.cells = dict.fromkeys(cells, each * max(1, len(levels)))


def _drawn(mechanism: Answering, table: _MadeUp, *words: int) -> Mapping[str, Any]:
    """What a mechanism records for scripted words, of which it must take each once."""
    bits = _Words(*words)
    details: Mapping[str, Any] = mechanism.draw(table, bits).details
    _need(bits.taken == _WORD * len(words), "the answer does not take the bits of its draws once each")
    return details


def _look_at_noisy_draws(mechanism: Answering) -> None:
    """What is recorded is the number and one noise, also where that is no possible number: nothing is drawn again."""
    table, question = _MadeUp(mechanism), mechanism.question
    counts = question.fold(table.cells)
    sizes = tuple(question.sizes(counts)) if mechanism.setting.public_groups else ()
    noise, linear = mechanism.noise(sizes), mechanism.linear(sizes)
    for word in _SOME_WORDS:
        away = noise.place(word, _WORD)
        if away is not None:
            known = linear.offset + linear.unit * (question.total(counts) + away)
            recorded = Fraction(_drawn(mechanism, table, word)["recorded"])
            _need(recorded == known, "what is recorded is not the number of the table and one noise")


def _look_at_shown(mechanism: Answering) -> None:
    """N6 and N7: the clamp, the interval and the Bayes step, recomputed from a recorded number."""
    options, sizes = mechanism.question.said, (2, 3) if mechanism.setting.public_groups else ()
    linear, noise = mechanism.linear(sizes), mechanism.noise(sizes)
    written = {"group_sizes": list(sizes)} if sizes else {}
    width = _half_width(noise, options.confidence)
    for recorded in (-7, 0, 3, mechanism.setting.people or 1000, 10**9):
        value = linear.offset + linear.unit * recorded
        shown = mechanism.details_of(value, written)
        if options.prior is not None:
            continue
        known = _clamp(value, linear)
        wanted = value if options.output == "unbiased" else known
        _need(Fraction(shown["exact"]) == wanted, "the answer is not the recorded number moved into what is possible")
        ends = [float(_clamp(value + sign * width * linear.unit, linear)) for sign in (-1, 1)]
        _need([*map(float, shown["interval"])] == ends, "the interval does not follow from the recorded number")
    if options.prior is not None:
        _look_at_remap(mechanism, noise)


def _clamp(value: Fraction, linear: Any) -> Fraction:
    value = value if linear.low is None else max(value, linear.low)
    return value if linear.high is None else min(value, linear.high)


def _half_width(noise: NoiseOfNumber, confidence: Fraction) -> int:
    """The least w with P(|X| > w) <= risk, from the tails as they were examined."""
    risk, low, high = (1 - confidence) / 2, -1, 1
    while Fraction(noise.tail(high)) > risk:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle >= 0 and Fraction(noise.tail(middle)) <= risk else (middle, high)
    return high


def _look_at_remap(mechanism: Answering, noise: NoiseOfNumber) -> None:
    """The Bayes step on few people, by the expected loss of every count: no formula for medians or means."""
    options, unit = mechanism.question.said, mechanism.linear().unit
    costs: dict[str, Callable[[int], int]] = {
        "absolute": abs,
        "squared": lambda e: e * e,
        "exact": lambda e: int(e != 0),
    }
    if mechanism.setting.people > 40 or options.prior.startswith("["):
        return
    people = mechanism.setting.people
    weights = _prior_weights(options.prior, people)
    for noisy in range(-2, people + 3):
        chance = [weights[y] * Fraction(noise.probability(noisy - y)) for y in range(people + 1)]
        if not any(chance):
            continue
        expected = [sum(w * costs[str(options.loss)](c - y) for y, w in enumerate(chance)) for c in range(people + 1)]
        shown = Fraction(mechanism.details_of(noisy * unit, {})["exact"])
        least = min(expected)
        at = shown / unit if options.output != "unbiased" else None
        if at is not None:
            slack = least * Fraction(1, 10**20)
            _need(expected[int(at)] <= least + slack, "the answer is not the best one under the named prior")


def _prior_weights(text: str, people: int) -> list[Fraction]:
    if text == "uniform":
        return [Fraction(1)] * (people + 1)
    chance = Fraction(text.removeprefix("binomial(").removesuffix(")"))
    return [math.comb(people, k) * chance**k * (1 - chance) ** (people - k) for k in range(people + 1)]


# Smoothed crossings.


def examine_crossing(mechanism: Answering) -> Finding:
    """N4, N5: the moves of one person along the cuts, the law against direct sums, exact small tables, the level."""
    return _passed(lambda: _look_at_crossing(mechanism))


def _look_at_crossing(mechanism: Answering) -> list[str]:
    law, setting = mechanism.crossing(), mechanism.setting
    _need_crossing_level(mechanism, law)
    records = _records(mechanism)
    check_family(law.family, records, replaced=setting.neighbours is Neighbours.SUBSTITUTION)
    _look_at_small_tables(law, records, replaced=setting.neighbours is Neighbours.SUBSTITUTION)
    _look_at_direct_sums(law, records, setting.people or 1000)
    if mechanism.question.said.interval:
        check_noise_law(mechanism.counting())
        _need_level(mechanism.counting(), setting)
        _need(
            mechanism.counting().share + law.share <= 1,
            "the interval and the number together cost more than is promised",
        )
        _look_at_bought_interval(mechanism, law)
    if mechanism.clipped is None:  # else the mechanism that chose the range draws
        _look_at_crossed_draw(mechanism, law)
    return [
        "what one person can move at every cut that was looked at, a missing value and a person outside included: at most "
        "one person, monotone or of one sign with one peak",
        "every table of up to three people on a coarse grid and every neighbour: all events, exactly",
        "the law against direct sums at the level itself, and answers, cuts and weights by public numbers",
        "what is recorded is the answer to which scripted bits belong, by direct sums",
        f"for all tables, by theorem: {mechanism.proof}",
    ]


def _look_at_bought_interval(mechanism: Answering, law: Crossing) -> None:
    """Half of the risk for the noisy number of people, half for the crossing, and half a step of the answers."""
    family, risk = law.family, (1 - mechanism.question.said.confidence) / 2
    low, high = family.answer(0), family.answer(family.answers - 1)
    recorded, fewer = family.answer(family.answers // 2), _half_width(mechanism.counting(), 1 - risk)
    for people in (-3, fewer, fewer + 1, fewer + 40, fewer + 10**6):
        shown = mechanism.details_of(recorded, {"people": people})["interval"]
        ends = (low, high)
        if people > fewer:
            with precision(_BITS):
                spread = ball(high - low) * (1 / ball(risk)).log() / (law.level.epsilon.ball() * ball(law.share))
                width = Fraction(str(Ball(spread / (people - fewer)).str(30, radius=False))) + family.gap / 2
            ends = max(low, recorded - width), min(high, recorded + width)
        near = all(abs(Fraction(end) - known) <= _WIDER * (high - low + 1) for end, known in zip(shown, ends))
        _need(near, "the interval does not follow from the recorded number")


def _look_at_crossed_draw(mechanism: Answering, law: Crossing) -> None:
    table, bought = _MadeUp(mechanism, law.family.answers), mechanism.question.said.interval
    word, other = _SOME_WORDS[1:]
    away = mechanism.counting().place(other, _WORD) if bought else 0
    if away is None:
        return  # a level so small that one word does not decide
    details = _drawn(mechanism, table, *((word, other) if bought else (word,)))
    sums = _made_up_sums(mechanism, table, law)
    _need_place(confirm_crossing(law, sums), word, law.family, Fraction(details["recorded"]))
    if bought:
        _need(details["people"] == sums.below[0] + away, "the noisy number of people is not their number and one noise")


def _made_up_sums(mechanism: Answering, table: _MadeUp, law: Crossing) -> _Sums:
    question = mechanism.question
    if law.levels is None:
        return _Sums(*question.sums(question.fold(table.cells)))
    pairs = [question.sums(question.fold(cells)) for own, cells in table.by_level if not own.is_zero]
    sums = _Sums(Fraction(0), Fraction(0))
    sums.below, sums.above = tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
    return sums


def _need_place(confirm: Callable[[int, int, int], None], word: int, family: Answers, recorded: Fraction) -> None:
    """Whether a recorded answer is the one to which the word belongs."""
    place = (recorded - family.answer(0)) / family.gap
    _need(place.denominator == 1 and 0 <= place < family.answers, "what is recorded is not an answer")
    _need_confirmed(confirm, word, int(place))


def _need_confirmed(confirm: Callable[[int, int, int], None], word: int, place: int) -> None:
    try:
        confirm(word, _WORD, place)
    except NotCertifiedError:
        raise RefusedError("the sampler does not follow the law that was examined") from None


def _need_crossing_level(mechanism: Answering, law: Crossing) -> None:
    setting = mechanism.setting
    own = [epsilon for epsilon, _ in setting.levels if not epsilon.is_zero]
    if law.levels is not None:
        _need(
            list(law.levels) == own and max(own) <= setting.level.epsilon,
            "somebody would lose more than their own level",
        )
        _need(law.level.epsilon == max(own), "delta is not cut off by the loosest level")
    else:
        strictest = min([setting.level.epsilon, *(epsilon for epsilon, _ in setting.levels)])
        _need(law.level.epsilon == strictest, "the crossing is not at the level that is promised")
    _need(0 < law.share <= 1, "the crossing costs more than is promised")
    _need(0 <= law.level.delta <= setting.level.delta, "the crossing spends more delta than is promised")


Record = tuple[Fraction, Fraction]
"""What a record adds to the two sums of a crossing."""


def _records(mechanism: Answering) -> list[Record]:
    """What each possible record adds, from tables with one person; the empty table adds nothing."""
    question = mechanism.question
    nothing = question.sums(question.fold({}))
    _need(tuple(nothing) == (0, 0), "a table of nobody has sums")
    cells = _watched(question.cells)
    found = {cell: tuple(question.sums(question.fold({cell: 1}))) for cell in cells}
    mixed = {cell: 1 + cell % 3 for cell in cells[:50]}
    whole = question.sums(question.fold(mixed))
    _need(
        tuple(whole) == tuple(sum(n * found[cell][i] for cell, n in mixed.items()) for i in (0, 1)),
        "the sums do not add up over people",
    )
    unique: list[Any] = sorted(set(found.values()))
    if len(unique) > 40:  # the ends of a fine grid, some between, and whoever has no value
        ends = {unique[0], unique[1], unique[-2], unique[-1]}
        unique = sorted(ends | set(unique[:: len(unique) // 20]) | {one for one in unique if one[0] == 0})
    return unique


def check_family(family: Answers, records: Sequence[Record], *, replaced: bool) -> None:
    """Every move changes every cut by at most one person, in one of the two shapes for which the theorem holds."""
    places = _watched(family.answers - 1)
    cuts = [family.cut(place) for place in places]
    _need(all(a < b for a, b in pairwise(cuts)), "the cuts do not rise")
    answers = [family.answer(place) for place in places] + [family.answer(family.answers - 1)]
    _need(all(a < cut for a, cut in zip(answers, cuts)), "a cut does not lie between two answers")
    _need(answers[0] <= cuts[0] and cuts[-1] <= answers[-1], "a cut lies outside of the answers")
    most = [max(a + b * cut for a, b in family.reach) for cut in cuts]
    _need(min(most) > 0, "a cut lies where nobody can move it")
    moved = _differences(records, replaced=replaced)
    # A move is (cut x - y) / D at each cut: whole numbers above and below, for the many moves and cuts that there are.
    fine = math.lcm(*(part.denominator for part in (*cuts, *most, *(part for move in moved for part in move))))
    rises, below = [int(cut * fine) for cut in cuts], [int(d * fine) * fine for d in most]
    for x, y in moved:
        across, down = int(x * fine), int(y * fine) * fine
        above = [rise * across - down for rise in rises]
        _need(all(abs(n) <= d for n, d in zip(above, below)), "one person moves a cut by more than one person")
        _need(_theorem_shape(above, below), "one person moves the cuts in a way that the theorem does not cover")
        if min(above) < 0 < max(above):  # from the first cut to the last, by the shape
            spread = abs(Fraction(above[-1], below[-1]) - Fraction(above[0], below[0]))
            _need(spread <= 1 or family.both_tails, "one person moves both tails, but delta is cut off once")


def _differences(records: Sequence[Record], *, replaced: bool) -> set[Record]:
    """What one person adds to the two sums by coming, or by becoming another: each once, and without its mirror image."""
    before = [(Fraction(0), Fraction(0)), *(records if replaced else ())]
    found = {(x - a, y - b) for a, b in before for x, y in records}
    return {max(move, (-move[0], -move[1])) for move in found if any(move)}


def _theorem_shape(above: Sequence[int], below: Sequence[int]) -> bool:
    """Whether the move is monotone along the cuts, or of one sign and rising then falling in size."""
    both = pairwise(zip(above, below))
    steps = [n2 * d1 - n1 * d2 for (n1, d1), (n2, d2) in both]
    if min(steps, default=0) >= 0 or max(steps) <= 0:
        return True
    if min(above) < 0 < max(above):
        return False
    sign = 1 if max(above) > 0 else -1
    sizes = [sign * step for step in steps if step]
    turn = next(place for place, step in enumerate(sizes) if step < 0)
    return all(step < 0 for step in sizes[turn:])


def four_inequalities(moves: Sequence[Fraction]) -> bool:
    """The shift lemma's own conditions on a move h along the cuts: what the two shapes imply."""
    last = len(moves) - 1
    for j in range(last + 2):  # answer j lies between cut j - 1 and cut j
        behind, before = moves[j:], moves[:j]
        if behind and moves[j] + max(behind) > 2:
            return False
        if before and behind and max(before) + max(behind) + max(moves[j - 1 :]) - moves[j - 1] > 2:
            return False
        if before and -moves[j - 1] - min(before) > 2:
            return False
        if before and behind and moves[j] - min(behind) - min(moves[: j + 1]) - min(before) > 2:
            return False
    return True


def _coarse(family: Answers, most: int = 4) -> Any:
    """The same family with few answers: one code serves both."""
    few = min(family.answers, most)
    width = family.gap * (family.answers - 1)
    return _with(family, answers=few, gap=width / (few - 1))


def _look_at_small_tables(law: Crossing, records: Sequence[Record], *, replaced: bool) -> None:
    """Exactly, on a coarse grid: the law is a direct sum, and all neighbours are close in all events."""
    family, nothing = _coarse(law.family), [one for one in records if not any(one)]
    ends = sorted({records[0], records[-1], *nothing})
    middle = sorted({*ends, records[len(records) // 2]})
    cuts = [family.cut(place) for place in range(family.answers - 1)]
    most = [max(a + b * cut for a, b in family.reach) for cut in cuts]

    def parts_of(few: Sequence[Record]) -> int:
        parts = [Fraction(cut * x - y) / d for x, y in few for cut, d in zip(cuts, most)]
        return 2 * math.lcm(*(part.denominator for part in parts))

    for few in (ends, middle):
        # Where the heights have a small common denominator all numbers are exact; elsewhere they are balls.
        common = parts_of(few)
        ratio = (1 + Fraction(1, common)) ** common if common < _MOST_PARTS else None
        level = Epsilon.read("0.9") if ratio is None else Epsilon(Fraction(0), ratio)
        for delta in (Fraction(0), Fraction(1, 40)):
            levels = None if law.levels is None else (level,)
            tried = _with(law, family=family, level=approximate(level, delta), share=Fraction(1), levels=levels)
            with precision(_BITS):
                _compare_small(tried, few, ratio, delta, replaced=replaced)


def _compare_small(
    law: Crossing, records: Sequence[Record], ratio: Fraction | None, delta: Fraction, *, replaced: bool
) -> None:
    growth = ratio if ratio is not None else law.level.epsilon.exp()
    slack: Any = Fraction(0) if ratio is not None else Ball(2) ** -_SLACK
    rows: dict[tuple[Record, ...], Sequence[Any]] = {}
    for people in range(4):
        for table in combinations_with_replacement(records, people):
            rows[table] = _row(law, table, exact=ratio is not None)
            known = _direct_row(law, table, ratio)
            same = all(
                p == q if ratio is not None else bool(abs(ball(p) - q) <= Ball(2) ** -_SLACK)
                for p, q in zip(rows[table], known)
            )
            _need(len(known) == len(rows[table]) and same, "the law of a small table is not what direct sums say")
    limit = delta if ratio is not None else ball(delta) + slack
    for table, row in rows.items():
        for other in _neighbours(table, records, replaced=replaced):
            for p, q in ((row, rows[other]), (rows[other], row)):
                over = sum((_positive(a - growth * b) for a, b in zip(p, q)), 0 * growth)
                _need(over <= limit, "two small tables that differ in one person are not close")


def _positive(value: Any) -> Any:
    return value.max(Ball(0)) if isinstance(value, Ball) else max(value, Fraction(0))


def _neighbours(
    table: tuple[Record, ...], records: Sequence[Record], *, replaced: bool
) -> Iterator[tuple[Record, ...]]:
    for place in range(len(table)):
        rest = table[:place] + table[place + 1 :]
        yield rest
        if replaced:
            for one in records:
                yield tuple(sorted((*rest, one)))


def _row(law: Crossing, table: Sequence[Record], *, exact: bool) -> Sequence[Any]:
    sums = _sums(table)
    row: Sequence[Any] = law.probabilities(sums, exact=exact)
    return row


class _Sums:
    """Two sums, as a crossing reads them."""

    def __init__(self, below: Fraction, above: Fraction) -> None:
        self.below: tuple[Fraction, ...] = (below,)
        self.above: tuple[Fraction, ...] = (above,)


def _sums(table: Sequence[Record]) -> _Sums:
    return _Sums(sum((x for x, _ in table), Fraction(0)), sum((y for _, y in table), Fraction(0)))


def _direct_row(law: Crossing, table: Sequence[Record], ratio: Fraction | None) -> list[Any]:
    """Probabilities by direct sums over the cuts, with exact powers of a rational or with balls."""
    family, sums = law.family, _sums(table)
    cuts = [family.cut(place) for place in range(family.answers - 1)]
    heights = [(cut * sums.below[0] - sums.above[0]) / max(a + b * cut for a, b in family.reach) for cut in cuts]
    growth: Any
    if ratio is None:
        growth = law.level.epsilon.exp()
        size = law.level.epsilon.ball()

        def power(exponent: Fraction) -> Any:
            return (size * ball(exponent)).exp()
    else:
        growth, root, parts = ratio, *_root_of(ratio)

        def power(exponent: Fraction) -> Any:
            return root ** int(exponent * parts)

    left, right = [power(h / 2) for h in heights], [power(-h / 2) for h in heights]
    beta = _beta(growth, ball(law.level.delta) if ratio is None else law.level.delta, 2 if family.both_tails else 1)
    ends = []
    for t in range(len(cuts)):
        rho = sum(left[1 : t + 1], left[0]) / sum(right[t + 1 :], right[t])
        ends.append(_kept(rho / 2 if rho <= 1 else 1 - 1 / (2 * rho), beta))
    zero = 0 * growth
    return [b - a for a, b in pairwise([zero, *ends, zero + 1])]


@lru_cache(maxsize=64)
def _root_of(ratio: Fraction) -> tuple[Fraction, int]:
    """The root that the ratio was made of: ``(1 + 1/k)^k``."""
    for k in range(1, _MOST_PARTS):
        if (1 + Fraction(1, k)) ** k == ratio:
            return 1 + Fraction(1, k), k
    raise RefusedError("the referee's own level is not one of its roots")


def _look_at_direct_sums(law: Crossing, records: Sequence[Record], people: int) -> None:
    """At the level itself, at made-up tables of the public size: ends of answers near the number and far from it."""
    if law.family.answers > _MOST_DIRECT:  # the same family with fewer answers: one code serves both
        law = _with(law, family=_coarse(law.family, _MOST_DIRECT))
    family, levels = law.family, law.levels or (law.level.epsilon,)
    times, many = (2 if family.both_tails else 1), len(levels)
    with precision(_BITS + 64):
        beta = _beta((max(levels).ball() * ball(law.share)).exp(), ball(law.level.delta), times)
        for x, y in {records[0], records[-1], records[len(records) // 2]}:
            sums = _Sums(people * x, people * y)
            sums.below, sums.above = sums.below * many, sums.above * many
            ends, exponent = law.ends(sums, near=True), _exponents(law, sums)
            places = {0, (family.answers - 1) // 2, family.answers - 2}
            for place in sorted(place for place in places if 0 <= place < family.answers - 1):
                known = _kept(_by_direct_sums(place, family.answers, exponent), beta)
                _need(
                    abs(ends.end(place) - known) <= Ball(2) ** -60,
                    "the law is not what direct sums say at its own level",
                )


# Two crossings, two steps.


def examine_two_crossings(mechanism: Answering) -> Finding:
    """Each of the two numbers, and that their levels add up."""

    def look() -> list[str]:
        setting, (first, second) = mechanism.setting, mechanism.sides()
        for side in (first, second):
            finding = examine_crossing(side)
            _need(finding.private, finding.failure)
        each = first.setting.level
        _need(second.setting.level == each, "the two numbers are not at one level")
        apart = setting.public_groups or setting.neighbours is Neighbours.ADD_REMOVE
        if apart:
            _need(each.epsilon <= setting.level.epsilon and each.delta <= setting.level.delta, "a group costs too much")
            _need(
                setting.public_groups == (first.setting.neighbours is Neighbours.SUBSTITUTION)
                or setting.neighbours is Neighbours.ADD_REMOVE,
                "inside a public group records are replaced",
            )
        else:
            _need(each.epsilon * 2 <= setting.level.epsilon, "the two numbers together cost more than is promised")
            with precision(_BITS):
                _need(
                    ball(each.delta) * (1 + each.epsilon.exp()) <= ball(setting.level.delta) * (1 + Ball(2) ** -_SLACK),
                    "the two numbers together spend more delta than is promised",
                )
        _look_at_two_folds(mechanism)
        _look_at_two_draws(mechanism)
        return [*examine_crossing(first).checks[:3], f"for all tables, by theorem: {mechanism.proof}"]

    return _passed(look)


def _look_at_two_folds(mechanism: Answering) -> None:
    """Nobody is in both groups."""
    question, (first, second) = mechanism.question, mechanism.sides()
    for cell in _watched(question.cells):
        here, there = question.fold({cell: 1})
        counted = [any(side.question.sums(own)) for side, own in ((first, here), (second, there))]
        _need(not all(counted), "somebody is counted in both groups")


def _look_at_two_draws(mechanism: Answering) -> None:
    """What is recorded is the difference of two answers, each with its own bits."""
    table = _MadeUp(mechanism, mechanism.sides()[0].family().answers)
    words, values = _SOME_WORDS[1:], []
    for side, own, word in zip(mechanism.sides(), mechanism.question.fold(table.cells), words):
        law, sums = side.crossing(), _Sums(*side.question.sums(own))
        values.append(law.family.answer(law.draw(sums, _Words(word))))
        _need_place(confirm_crossing(law, sums), word, law.family, values[-1])
    recorded = Fraction(_drawn(mechanism, table, *words)["recorded"])
    _need(recorded == values[0] - values[1], "what is recorded is not the difference of the two answers")


def examine_two_steps(mechanism: Answering) -> Finding:
    """The ladder by public numbers, its law by direct sums, every second step, and that the two costs add up."""

    def look() -> list[str]:
        law, setting, question = mechanism.first_step(), mechanism.setting, mechanism.question
        steps = question.high / question.step
        known = set()
        for j in range(200):
            known.add(next(k for k in _from_root(int(steps), j) if k * k * 2**j >= int(steps) ** 2))
        _need([edge / question.step for edge in law.edges] == sorted(known), "the ladder is not the public one")
        strictest = min([setting.level.epsilon, *(own for own, _ in setting.levels)])
        _need(law.epsilon == strictest, "the first step is not at the level that is promised")
        for counts in ([0] * (len(law.edges) - 1), [100 // (k + 1) for k in range(len(law.edges) - 1)]):
            with precision(_BITS):
                ends, exponent = law.ends(counts), _ladder_exponents(law, counts)
                for place in range(len(counts)):
                    known_end = _by_direct_sums(place, len(law.edges), exponent)
                    _need(abs(ends.end(place) - known_end) <= Ball(2) ** -_SLACK, "the law of the edge is not right")
        for edge in law.edges:
            second = mechanism.second_step(edge)
            _need(second.share + law.share <= 1, "the two steps together cost more than is promised")
            if edge in (law.edges[0], law.edges[-1]):
                crossed = hasattr(second, "crossing")
                finding = examine_crossing(second) if crossed else examine_noise_number(second)
                _need(finding.private, finding.failure)
        _look_at_both_steps(mechanism, law)
        return [
            "the ladder of edges by public numbers, and the law of the edge against direct sums",
            "the number clipped at the lowest and at the highest edge, as a number of its own; the two costs add up",
            f"for all tables, by theorem: {mechanism.proof}",
        ]

    return _passed(look)


def _look_at_both_steps(mechanism: Answering, law: Ladder) -> None:
    """The edge and the clipped number, each with its own bits; nobody above the edge adds more than the edge."""
    question, (word, other) = mechanism.question, _SOME_WORDS[1:]
    last = mechanism.second_step(law.edges[-1])
    crossed = hasattr(last, "crossing")
    table = _MadeUp(mechanism, last.family().answers if crossed else 0)
    values = question.fold(table.cells).values
    above = [sum(people for at, people in values.items() if at * question.step > edge) for edge in law.edges[:-1]]
    if not crossed and any(mechanism.second_step(edge).noise().place(other, _WORD) is None for edge in law.edges):
        return  # a level so small that one word does not decide
    details = _drawn(mechanism, table, word, other)
    edge, recorded = Fraction(details["clipped_at"]), Fraction(details["recorded"])
    _need(edge in law.edges, "the clipping edge is not on the ladder")
    _need_confirmed(confirm_ladder(law, above), word, law.edges.index(edge))
    people = sum(values.values())
    clipped = sum((each * min(at * question.step, edge) for at, each in values.items()), Fraction(0))
    second = mechanism.second_step(edge)
    if crossed:
        number = second.crossing()
        _need_place(confirm_crossing(number, _Sums(Fraction(people), clipped)), other, number.family, recorded)
    else:
        linear = second.linear()
        known = linear.offset + clipped + linear.unit * second.noise().place(other, _WORD)
        _need(recorded == known, "what is recorded is not the clipped number and one noise")


def _from_root(steps: int, j: int) -> Iterator[int]:
    """Whole numbers from just below ``steps / sqrt(2)^j`` on."""
    start = max(1, math.isqrt(steps * steps >> j) - 1)
    return iter(range(start, start + 4))


NUMBERS: Mapping[str, Callable[[Any], Finding]] = {
    "geometric noise": examine_noise_number,
    "cut geometric noise": examine_noise_number,
    "discrete staircase": examine_noise_number,
    "cut discrete staircase": examine_noise_number,
    "smoothed crossing": examine_crossing,
    "two crossings": examine_two_crossings,
    "two steps": examine_two_steps,
}


def examine_number(mechanism: Answering) -> Finding:
    """Any mechanism that answers with a number."""
    try:
        return NUMBERS[mechanism.name](mechanism)
    except OptimalDPError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return Finding(False, (), f"its law cannot be examined: {type(error).__name__}")
