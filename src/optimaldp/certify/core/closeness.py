"""Is one probability at most e^ε times another plus δ? Decided in exact numbers or in balls, never by a float."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, ball, precision, sign

# Exact numbers of the form ``c_1 e^(a_1) + c_2 e^(a_2) + ...`` with rational c and a: where the referee decides equalities.
#
# A private mechanism that is optimal meets its bounds with equality, and no enclosure can decide an equality. Here it can be
# decided: by Lindemann and Weierstrass such a sum is 0 only if every coefficient is, and if it is not 0 its sign shows at some
# precision.


class Exponentials:
    """A finite sum of rational multiples of rational powers of e; hashable, exact, ordered.

    >>> e = Exponentials.exp(Epsilon.read(1))
    >>> (e - e).sign(), (e * e - e).sign(), (e - 3).sign()
    (0, 1, -1)
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Fraction, Fraction]) -> None:
        self.terms = {power: factor for power, factor in terms.items() if factor}

    @staticmethod
    def of(number: int | Fraction) -> Exponentials:
        return Exponentials({Fraction(0): Fraction(number)})

    @staticmethod
    def exp(epsilon: Epsilon, times: int = 1) -> Exponentials:
        """``e^(times * epsilon)``; *times* may be negative."""
        plain, ratio = epsilon.finite_parts
        return Exponentials({plain * times: ratio**times})

    def __add__(self, other: Exponentials | int | Fraction) -> Exponentials:
        total = dict(self.terms)
        for power, factor in _lift(other).terms.items():
            total[power] = total.get(power, Fraction(0)) + factor
        return Exponentials(total)

    def __neg__(self) -> Exponentials:
        return Exponentials({power: -factor for power, factor in self.terms.items()})

    def __sub__(self, other: Exponentials | int | Fraction) -> Exponentials:
        return self + -_lift(other)

    def __mul__(self, other: Exponentials | int | Fraction) -> Exponentials:
        total: dict[Fraction, Fraction] = {}
        for power, factor in self.terms.items():
            for more, times in _lift(other).terms.items():
                total[power + more] = total.get(power + more, Fraction(0)) + factor * times
        return Exponentials(total)

    def __eq__(self, other: object) -> bool:
        # Powers of e with different rational exponents are independent over the rationals: equal sums have equal terms.
        return isinstance(other, Exponentials) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def sign(self) -> int:
        """-1, 0 or 1, exactly."""
        if not self.terms:
            return 0
        return sign(self.ball)

    def ball(self) -> Ball:
        """An enclosure at the current precision."""
        total = Ball(0)
        for power, factor in self.terms.items():
            total = total + ball(factor) * ball(power).exp()
        return total

    def __repr__(self) -> str:
        return " + ".join(f"{factor}·e^{power}" for power, factor in sorted(self.terms.items())) or "0"


def _lift(number: Exponentials | int | Fraction) -> Exponentials:
    return number if isinstance(number, Exponentials) else Exponentials.of(number)


def positive_part(number: Exponentials) -> Exponentials:
    return number if number.sign() > 0 else Exponentials({})


def close(ratio: Exponentials, delta: Exponentials, first: list[Exponentials], second: list[Exponentials]) -> bool:
    """Whether two distributions are close in every event, both ways: ``sum of (P - E Q)_+ <= delta``.

    The rows, and with them *delta*, may carry one common positive factor that clears denominators.
    """
    return all(_excess(ratio, a, b, delta) <= 0 for a, b in ((first, second), (second, first)))


def _excess(ratio: Exponentials, first: list[Exponentials], second: list[Exponentials], delta: Exponentials) -> int:
    total = Exponentials({})
    parts: dict[tuple[Exponentials, Exponentials], int] = {}
    for pair in zip(first, second):  # long rows hold few different pairs
        parts[pair] = parts.get(pair, 0) + 1
    for (p, q), times in parts.items():
        total = total + positive_part(p - ratio * q) * times
    return (total - delta).sign()


# How close two distributions are, exactly: the least ratio ``e^epsilon`` at a given delta, and the least mu.
#
# ``P(S) <= x Q(S) + delta`` must hold for every event S. Among events of the same Q those that collect the answers with the
# largest ratios ``P / Q`` are the worst (Neyman and Pearson), so q nested events decide about all ``2^q``. Never answer by
# answer: with ``delta > 0`` that is weaker. Everything here follows from the raw (epsilon, delta) of a level and from two rows.

Distribution = Sequence[Fraction]

INFINITE_RATIO = None  # no finite epsilon is enough
_FIRST_BITS = 128
_MOST_BITS = 1 << 14  # two Gaussian quantiles that agree to this many bits count as a violation: the safe side


def least_ratio(upper: Distribution, lower: Distribution, delta: Fraction) -> Fraction | None:
    """The least ``x >= 1`` with ``upper(S) <= x lower(S) + delta`` for every event S; ``None`` if there is none.

    >>> least_ratio((Fraction(9, 10), Fraction(1, 10)), (Fraction(8, 10), Fraction(2, 10)), Fraction(1, 10))
    Fraction(1, 1)
    """
    ratio = Fraction(1)
    for above, below in _worst_events(upper, lower):
        if above > delta:
            if below == 0:
                return INFINITE_RATIO
            ratio = max(ratio, (above - delta) / below)
    return ratio


def ratio_within(ratio: Fraction | None, epsilon: Epsilon) -> bool:
    """Whether ``ratio <= e^epsilon``, decided exactly.

    ``e^epsilon`` is rational only where it is known as a rational; otherwise the two are never equal and some precision tells
    them apart.
    """
    if ratio is INFINITE_RATIO or epsilon.infinite:
        return ratio is not INFINITE_RATIO
    if epsilon.exact_ratio is not None:
        return ratio <= epsilon.exact_ratio
    bits = _FIRST_BITS
    while True:
        low, high = enclosure(epsilon, bits)
        if ratio <= low:
            return True
        if ratio >= high:
            return False
        bits *= 2


@lru_cache(maxsize=4096)
def enclosure(epsilon: Epsilon, bits: int = _FIRST_BITS) -> tuple[Fraction, Fraction]:
    """Two rationals with ``e^epsilon`` between them; equal if it is rational."""
    return epsilon.ratio_below(bits=bits), epsilon.ratio_above(bits=bits)


def within_gaussian(upper: Distribution, lower: Distribution, mu: Fraction) -> bool:
    """Whether ``upper(S) <= Phi(Phi^-1(lower(S)) + mu)`` for every event S.

    The worst events are the same: Phi(Phi^-1(.) + mu) is concave, so it lies above the hull of what the nested events reach.
    """
    return all(_gaussian_pair(above, below, mu) for above, below in _worst_events(upper, lower))


def _gaussian_pair(above: Fraction, below: Fraction, mu: Fraction) -> bool:
    if above <= below:
        return True
    # Phi^-1 is infinite at both ends: no finite mu leads away from 0 or up to 1.
    if below == 0 or above == 1 or mu == 0:
        return False
    bits = _FIRST_BITS
    while bits <= _MOST_BITS:
        with precision(bits):
            needed = normal_quantile(above) - normal_quantile(below) - ball(mu)
            if needed < 0:
                return True
            if needed > 0:
                return False
        bits *= 2
    return False


def normal_quantile(probability: Fraction) -> Ball:
    """``Phi^-1`` at the current precision, from the nearer end: the complement is taken while it is exact."""
    nearer = -Ball(2).sqrt() * ball(2 * min(probability, 1 - probability)).erfcinv()
    return nearer if 2 * probability <= 1 else -nearer


def _worst_events(upper: Distribution, lower: Distribution) -> Iterator[tuple[Fraction, Fraction]]:
    """The probabilities under both of the nested events, largest ratio first; answers that neither gives are left out."""
    pairs = [(a, b) for a, b in zip(upper, lower) if a or b]
    pairs.sort(key=_by_falling_ratio)
    above = below = Fraction(0)
    for a, b in pairs:
        above, below = above + a, below + b
        yield above, below


def _by_falling_ratio(pair: tuple[Fraction, Fraction]) -> tuple[int, Fraction]:
    a, b = pair
    return (0, Fraction(0)) if b == 0 else (1, -a / b)
