"""Noise on a whole number: geometric, discrete staircase, and both with their tails cut off where delta is spent.

One person moves the number by at most *sensitivity* (written D). With ``b = e^-epsilon`` the staircase of width r has
``P(i) ~ b^level(i)``, ``level(i) = |i| // D + [|i| mod D >= r]``; D = r = 1 is the geometric law. A shift by at most D crosses
one jump on each side, so the law is epsilon-DP. Where neighbouring distribution functions are ordered, cutting ``beta =
delta/(e^epsilon - 1 + 2 delta)`` off both tails and stretching the rest gives (epsilon, delta)-DP, and an error beyond
:attr:`NoiseLaw.largest` never happens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from optimaldp.errors import LevelError, QuestionError
from optimaldp.laws.law import Loss
from optimaldp.laws.log_number import exact_or_decimals
from optimaldp.laws.rank_scales import rational_root
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, ball, integer_above, precision
from optimaldp.privacy.numbers import first_where, fraction_text, read_probability
from optimaldp.privacy.trajectory import Number
from optimaldp.results import Result
from optimaldp.sampling import BitSource

_DIGITS = 30  # of a Decimal result, all of them right
_EXACT_BITS = 1 << 16  # of one exact rational: beyond that nobody reads it
_SURE_BITS = 512  # an undecided comparison of rationals is made exactly from here on
_FIRST_BITS = 64
_COMPARED = 64  # sensitivities up to which all widths are compared, where no formula is known
_GRID_OF_WIDTHS = 64

SecondReading = Callable[[int, int, int], None]
"""Shown the bits of a draw (a whole number and how many bits it has) and the noise; raises if it comes to another one."""


@dataclass(frozen=True, repr=False)
class NoiseLaw(Result):
    """The law of the noise on a whole number, which one person moves by at most *sensitivity*. All of it is public.

    **Guarantee.** (share * epsilon, delta)-DP. Probabilities are ``Fraction`` where ``e^(share epsilon)`` is rational and
    ``Decimal`` values with 30 correct digits elsewhere. All numbers count steps of the grid: people for a count.

    >>> law = noise_law_for(Epsilon.read("ln(3)"), Fraction(1, 1000))
    >>> law.largest, law.probability(0), law.half_width(Fraction(19, 20))
    (6, Fraction(1001, 2000), 3)
    """

    epsilon: Epsilon
    delta: Fraction
    sensitivity: int
    width: int
    share: Fraction = Fraction(1)

    @property
    def name(self) -> str:
        base = "geometric noise" if self.sensitivity == 1 else "discrete staircase"
        return f"cut {base}" if self.delta else base

    def probability(self, value: int) -> Fraction | Decimal:
        """P(X = value)."""
        place = abs(int(value))
        return self._shown(lambda parts: parts.tail(place - 1) - parts.tail(place), place)

    def tail(self, value: int) -> Fraction | Decimal:
        """P(X > value)."""
        return self._shown(lambda parts: parts.tail(int(value)), abs(int(value)) + 1)

    @property
    def flat(self) -> bool:
        """Whether delta alone decides: at epsilon = 0, and at delta = 1, where nothing is added."""
        return self.epsilon.is_zero or self.delta == 1

    @property
    def largest(self) -> int | None:
        """The largest error that can happen; ``None`` where there is none."""
        return self._least(Fraction(0)) if self.delta else None

    def half_width(self, confidence: object = Fraction(19, 20)) -> int:
        """The least w such that the error is at most w with probability *confidence*."""
        wanted = read_probability(confidence, name="confidence", error=QuestionError)
        if wanted == 1:
            if self.largest is None:
                remedy = "ask for less than 1, or spend a delta"
                raise QuestionError("confidence", "1", "is never reached: the noise has no end", remedy)
            return self.largest
        return self._least((1 - wanted) / 2)

    @property
    def mean_error(self) -> Fraction | Decimal:
        """The expected distance between the noisy number and the true one."""
        largest = self.largest
        return self._shown(lambda parts: parts.mean_distance(largest), 0 if largest is None else largest)

    @property
    def mean_square(self) -> Fraction | Decimal:
        """The expected square of the error; without delta."""
        if self.delta:
            raise QuestionError("delta", fraction_text(self.delta), "has no formula for the square", "use delta=0")
        return self._shown(lambda parts: parts.mean_square(), 0)

    def draw(self, source: BitSource, *, reread: SecondReading | None = None, first_bits: int = _FIRST_BITS) -> int:
        """One noise number.

        **Guarantee.** Exactly this law, for fair bits: a uniform number is revealed bit by bit until the balls around the
        tails tell which number it belongs to. Its first bit is the sign.
        """
        value, bits = source.take(first_bits), first_bits
        while True:
            place = self.place(value, bits)
            if place is not None:
                if reread is not None:
                    reread(value, bits, place)
                return place
            more = max(8, bits // 2) if bits >= _FIRST_BITS else 1
            value, bits = (value << more) | source.take(more), bits + more

    def place(self, value: int, bits: int) -> int | None:
        """The noise for which all uniform numbers that begin with these bits stand; ``None`` if they do not decide."""
        negative = not value >> (bits - 1)
        # Counted from the end of the half in which the uniform number lies: [low, low + 1) / 2**bits, at most 1/2.
        low = value if negative else (1 << bits) - 1 - value
        with precision(2 * bits + 64 + self._more_bits(bits)):
            parts, scale = self._balls(), Ball(2) ** bits
            above, below = Ball(low + 1) / scale, Ball(low) / scale

            def side(k: int) -> int:
                """1: the number belongs to k or less; -1: it belongs beyond k; 0: undecided."""
                tail = parts.tail(k)
                return 1 if tail <= below else -1 if tail >= above else 0

            found = _first(side, self._guess(low + 1, bits))
        return found if found is None or not negative else -found

    def summary(self) -> str:
        end = "" if self.largest is None else f", at most {self.largest}"
        return f"NoiseLaw({self.name}, epsilon {self.epsilon}, sensitivity {self.sensitivity}{end})"

    def to_document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "epsilon": str(self.epsilon),
            "delta": fraction_text(self.delta),
            "sensitivity": self.sensitivity,
            "width": self.width,
            "share": fraction_text(self.share),
            "largest": self.largest,
            "half_width": self.half_width(),
        }

    def _guess(self, low: int, bits: int) -> int:
        """Where to look first: a float that never decides."""
        size = float(self.epsilon) * float(self.share)
        if size <= 0:
            return 0
        return max(0, int(self.sensitivity * (bits - 1 - math.log2(low)) * math.log(2) / size))

    def _more_bits(self, bits: int = 0) -> int:
        """A small epsilon needs more bits to be told from 0, and a far tail to be told from a cut."""
        small = self.share.denominator.bit_length() + self.epsilon.leading_zeros
        return 3 * (small + self.sensitivity.bit_length()) + bits + 2 * self.epsilon.ceiling

    def _least(self, limit: Fraction) -> int:
        """The least k >= 0 with P(X > k) <= limit, decided exactly."""
        risk = limit if limit else self.delta / 4 if self.delta else Fraction(1, 4)
        bits = risk.denominator.bit_length()
        start = self._guess(max(1, int(risk * 2**bits)), bits)
        found = _first(lambda k: 1 if self._at_most(k, limit) else -1, start)
        assert found is not None
        return found

    def _at_most(self, k: int, limit: Fraction) -> bool:
        bits = 128
        while True:
            with precision(bits + self._more_bits()):
                parts = self._balls()
                # Before clipping: where the tail is cut, 0 is reached from above.
                gap = parts.plain_tail(k) - parts.beta - ball(limit) * (1 - 2 * parts.beta)
                if gap > 0 or gap <= 0:
                    return bool(gap <= 0)
            bits *= 2
            # A power of a transcendental number equals no rational function of rationals: only rationals can be equal.
            if bits > _SURE_BITS and (exact := self._exact()) is not None:
                return bool(exact.plain_tail(k) - exact.beta <= limit * (1 - 2 * exact.beta))

    def _shown(self, number: Callable[[_Parts], Number], place: int) -> Fraction | Decimal:
        exact = self._exact()
        if exact is not None and exact.size(place) <= _EXACT_BITS:
            return Fraction(number(exact))
        more = self._more_bits()
        return exact_or_decimals(lambda: [ball(number(self._balls()))], digits=_DIGITS, more_bits=more)[0]  # type: ignore[no-any-return]

    def _balls(self) -> _Parts:
        size = -self.epsilon.ball() * ball(self.share)
        return _Parts.of(self, size.exp(), ball(self.delta), lambda q: (size * q).exp())

    def _exact(self) -> _Parts | None:
        ratio = _ratio(self.epsilon, self.share)
        if ratio is None:
            return None
        return _Parts.of(self, 1 / ratio, self.delta, lambda q: ratio**-q)


@dataclass(frozen=True)
class _Parts:
    """The law in one kind of number: fractions, or balls at the precision of the moment."""

    law: NoiseLaw
    b: Any
    """``e^-epsilon``"""
    beta: Any
    """What is cut off each tail."""
    power: Callable[[int], Any]

    @staticmethod
    def of(law: NoiseLaw, b: Any, delta: Any, power: Callable[[int], Any]) -> _Parts:
        return _Parts(law, b, 0 * b if law.flat else delta * b / (1 - b + 2 * delta * b), power)

    def size(self, place: int) -> int:
        """About how many bits an exact power has."""
        return (place // self.law.sensitivity + 2) * Fraction(self.b).denominator.bit_length()

    def tail(self, k: int) -> Any:
        """P(X > k)."""
        if k < 0:
            return 1 - self.tail(-k - 1)
        return _not_negative((self.plain_tail(k) - self.beta) / (1 - 2 * self.beta))

    def plain_tail(self, k: int) -> Any:
        """P(X > k) before anything is cut off, k >= 0; of flat noise delta alone decides."""
        if self.law.flat:
            return self._like(Fraction(1, 2) - self.law.delta * (k + Fraction(1, 2)))
        whole, rest = divmod(k + 1, self.law.sensitivity)
        return self.power(whole) * self._within(rest)

    def _like(self, value: Fraction) -> Any:
        return ball(value) if isinstance(self.b, Ball) else value

    @property
    def _period(self) -> Any:
        """The weight of 0, 1, 2, ...: W."""
        steps, width = self.law.sensitivity, self.law.width
        return (width + self.b * (steps - width)) / (1 - self.b)

    def _within(self, rest: int) -> Any:
        """P(X >= rest) within the first period."""
        steps, width = self.law.sensitivity, self.law.width
        weight = max(0, width - rest) + self.b * (steps - max(rest, width)) + self.b * self._period
        return weight / (2 * self._period - 1)

    def _summed(self, stop: int) -> Any:
        """The sum of P(X >= j) over 0 <= j < stop, before anything is cut off."""
        steps = self.law.sensitivity
        whole, rest = divmod(stop, steps)
        power = self.power(whole)
        return self._summed_within(steps) * (1 - power) / (1 - self.b) + power * self._summed_within(rest)

    def _summed_within(self, stop: int) -> Any:
        steps, width = self.law.sensitivity, self.law.width
        short = min(stop, width)
        first = short * width - short * (short - 1) // 2
        second = short * (steps - width) + sum_of_range(steps - stop + 1, steps - short + 1)
        return (first + self.b * second + stop * self.b * self._period) / (2 * self._period - 1)

    def mean_distance(self, largest: int | None) -> Any:
        if self.law.flat:
            assert largest is not None
            # 2 * sum over k < largest of 1/2 - delta (k + 1/2)
            return self._like(largest - self.law.delta * largest * largest)
        if largest is None:
            everything = self._summed_within(self.law.sensitivity) / (1 - self.b)
            return 2 * (everything - self._within(0))
        kept = self._summed(largest + 1) - self._within(0) - largest * self.beta
        return 2 * kept / (1 - 2 * self.beta)

    def mean_square(self) -> Any:
        steps, width, b = self.law.sensitivity, self.law.width, self.b
        first, second = (
            sum_of_powers(width, p) + b * (sum_of_powers(steps, p) - sum_of_powers(width, p)) for p in (1, 2)
        )
        start, rest = width + b * (steps - width), 1 - b
        far = steps**2 * start * b * (1 + b) / rest**3 + 2 * steps * first * b / rest**2
        return 2 * (far + second / rest) / (2 * self._period - 1)


def _not_negative(value: Any) -> Any:
    return value.max(Ball(0)) if isinstance(value, Ball) else max(value, 0 * value)


def sum_of_range(first: int, stop: int) -> int:
    """first + ... + (stop - 1)"""
    return (stop - first) * (first + stop - 1) // 2


def sum_of_powers(stop: int, power: int) -> int:
    """The sum of ``u ** power`` over 0 <= u < stop, for the powers 1 and 2."""
    return stop * (stop - 1) // 2 if power == 1 else stop * (stop - 1) * (2 * stop - 1) // 6


def _first(side: Callable[[int], int], guess: int) -> int | None:
    """The least k >= 0 with ``side(k) == 1``, where -1 stands before; ``None`` as soon as a side is not decided."""
    low, step, high = -1, 1, max(0, guess)
    while (here := side(high)) != 1:  # a bound above
        if not here:
            return None
        low, high, step = high, high + step, 2 * step
    step = 1
    while low < high - 1 and low < 0:  # a bound below, near the guess
        probe = max(0, high - step)
        here = side(probe)
        if not here:
            return None
        if here == 1:
            high, step = probe, 2 * step
            if not probe:
                return 0
        else:
            low = probe
    while high - low > 1:
        middle = (low + high) // 2
        here = side(middle)
        if not here:
            return None
        low, high = (low, middle) if here == 1 else (middle, high)
    return high


@lru_cache(maxsize=256)
def _ratio(epsilon: Epsilon, share: Fraction) -> Fraction | None:
    return rational_root(epsilon, share)


def best_width(sensitivity: int, epsilon: Epsilon, loss: Loss = Loss.ABSOLUTE, *, share: Fraction = Fraction(1)) -> int:
    """The width of the staircase with the least expected loss.

    For the distance ``ceil(D/(1 + e^(epsilon/2)))``: r is no worse than r + 1 exactly if ``e^epsilon r^2 >= (D - r)^2``. For
    exactness 1, which makes P(0) largest. For squares all widths are compared, or those next to the best of a few.

    >>> best_width(10, Epsilon.read("ln(3)")), best_width(10, Epsilon.read("ln(3)"), Loss.SQUARED)
    (4, 5)
    """
    if loss is Loss.EXACT or sensitivity == 1:
        return 1
    if loss is Loss.ABSOLUTE:
        return _best_for_distance(sensitivity, epsilon, share)
    return _best_for_squares(sensitivity, epsilon, share)


def _best_for_distance(steps: int, epsilon: Epsilon, share: Fraction) -> int:
    ratio = _ratio(epsilon, share)

    def enough(width: int) -> bool:
        if ratio is not None:
            return ratio * width**2 >= (steps - width) ** 2
        bits = 128 + 2 * epsilon.leading_zeros + 2 * steps.bit_length()
        while True:
            with precision(bits):
                gap = (epsilon.ball() * ball(share)).exp() * width**2 - (steps - width) ** 2
                if gap > 0 or gap < 0:
                    return bool(gap > 0)
            bits *= 2

    with precision(128):
        root = integer_above(ball(Fraction(steps)) / (1 + (epsilon.ball() * ball(share) / 2).exp()))
    width = max(1, min(steps, root) - 2)
    while not enough(width):
        width += 1
    return width


def _best_for_squares(steps: int, epsilon: Epsilon, share: Fraction) -> int:
    def square(width: int) -> Any:
        return NoiseLaw(epsilon, Fraction(0), steps, width, share).mean_square

    if steps <= _COMPARED:
        return min(range(1, steps + 1), key=square)
    spread = sorted({1 + (steps - 1) * i // _GRID_OF_WIDTHS for i in range(_GRID_OF_WIDTHS + 1)})
    best = min(spread, key=square)
    low, high = max(1, best - steps // _GRID_OF_WIDTHS - 1), min(steps, best + steps // _GRID_OF_WIDTHS + 1)
    return first_where(lambda width: square(width) <= square(width + 1), low, high)  # falls, then rises


def noise_law_for(
    epsilon: Epsilon,
    delta: Fraction = Fraction(0),
    sensitivity: int = 1,
    *,
    loss: Loss = Loss.ABSOLUTE,
    share: Fraction = Fraction(1),
) -> NoiseLaw:
    """The noise for a number that one person moves by at most *sensitivity* steps; refuses a level without any privacy loss.

    >>> noise_law_for(Epsilon.read(1), sensitivity=100)
    NoiseLaw(discrete staircase, epsilon 1, sensitivity 100)
    """
    if epsilon.infinite or (delta == 1 and sensitivity > 1):
        name, said = ("epsilon", "inf") if epsilon.infinite else ("delta", "1")
        raise LevelError(
            name, said, "promises nothing", "name a finite epsilon, and a delta below 1 where there is one"
        )
    if epsilon.is_zero and (sensitivity > 1 or not delta):
        rule = "needs noise without bound" if not delta else "is not built for a number that one person moves so far"
        raise LevelError("epsilon", "0", rule, "name a positive epsilon")
    return _made(epsilon, delta, sensitivity, loss, share)


@lru_cache(maxsize=256)
def _made(epsilon: Epsilon, delta: Fraction, sensitivity: int, loss: Loss, share: Fraction) -> NoiseLaw:
    width = 1 if epsilon.is_zero else best_width(sensitivity, epsilon, loss, share=share)
    return NoiseLaw(epsilon, delta, sensitivity, width, share)


def bayes_step(noisy: int, prior: Sequence[int | Fraction], law: NoiseLaw, loss: Loss = Loss.ABSOLUTE) -> int:
    """The count with the least expected loss, from a noisy one and a public prior on the counts 0, 1, ..., n.

    Posterior median for the distance, the mean rounded to the better neighbour for squares, the mode for exactness; the least
    on ties. With geometric noise no epsilon-DP mechanism has a smaller expected loss under the prior
    (Ghosh, Roughgarden, Sundararajan).

    >>> law = noise_law_for(Epsilon.read("ln(2)"))
    >>> [bayes_step(z, [1] * 6, law, Loss.SQUARED) for z in range(-1, 7)]
    [1, 1, 1, 2, 3, 4, 4, 4]
    """
    last = len(prior) - 1
    if not law.delta:
        noisy = max(0, min(last, noisy))  # beyond the ends all noisy counts have one posterior
    bits = 256
    while True:
        with precision(bits + law._more_bits()):
            weights = _posterior(noisy, prior, law, exact=last <= _COMPARED)
            sure = _decided(weights, loss, _surely_at_least)
            if sure is not None:
                return sure if isinstance(sure, int) else max(0, min(last, noisy))
        bits *= 2
        if bits > 1 << 12:  # equal to so many bits: a tie, and the least wins
            with precision(bits):
                tied = _decided(_posterior(noisy, prior, law, exact=False), loss, lambda a, b: not a < b)
                assert isinstance(tied, int)
                return tied


def _surely_at_least(a: Any, b: Any) -> bool | None:
    return bool(a >= b) if a >= b or a < b else None


def _posterior(noisy: int, prior: Sequence[int | Fraction], law: NoiseLaw, *, exact: bool) -> list[Any]:
    parts = (law._exact() if exact else None) or law._balls()
    chances: dict[int, Any] = {}
    for count in range(len(prior)):
        away = abs(noisy - count)
        if away not in chances:
            chances[away] = parts.tail(away - 1) - parts.tail(away) if law.delta else parts.power(away)
    number: Callable[[Any], Any] = ball if isinstance(parts.b, Ball) else Fraction
    return [number(weight) * chances[abs(noisy - count)] for count, weight in enumerate(prior)]


def _decided(weights: list[Any], loss: Loss, at_least: Callable[[Any, Any], Any]) -> int | str | None:
    """The best count, ``None`` where a comparison is not decided, a word where no count is possible."""
    total = sum(weights[1:], start=weights[0])
    if total == 0:
        return "impossible"  # the prior excludes every count from which this noise comes: the prior is wrong
    if loss is Loss.EXACT:
        best = 0
        for count, weight in enumerate(weights[1:], start=1):
            if (keeps := at_least(weights[best], weight)) not in (True, False):
                return None
            best = best if keeps else count
        return best
    if loss is Loss.ABSOLUTE:
        reached = 0 * total
        for count, weight in enumerate(weights):
            reached = reached + weight
            if (enough := at_least(2 * reached, total)) not in (True, False):
                return None
            if enough:
                return count
    # The least count c with mean <= c + 1/2.
    first = sum((count * weight for count, weight in enumerate(weights)), start=0 * total)
    for count in range(len(weights)):
        if (enough := at_least((2 * count + 1) * total, 2 * first)) not in (True, False):
            return None
        if enough:
            return count
    return len(weights) - 1


def posterior_ends(noisy: int, prior: Sequence[int | Fraction], law: NoiseLaw, confidence: Fraction) -> tuple[int, int]:
    """A credible set under the prior: at most half of the risk lies below it and half above it."""
    last = len(prior) - 1
    if not law.delta:
        noisy = max(0, min(last, noisy))
    with precision(256 + law._more_bits()):
        weights = _posterior(noisy, prior, law, exact=False)
        total = sum(weights[1:], start=weights[0])
        if total == 0:
            return 0, last
        most = total * ball((1 - confidence) / 2)

        def passed(along: Sequence[Any]) -> int:
            """How many counts may be left out from this end."""
            reached, places = Ball(0), 0
            for weight in along:
                reached = reached + weight
                if not reached <= most:
                    break
                places += 1
            return places

        return passed(weights), last - passed(weights[::-1])
