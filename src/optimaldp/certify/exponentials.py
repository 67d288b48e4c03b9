"""Exact numbers of the form ``c_1 e^(a_1) + c_2 e^(a_2) + ...`` with rational c and a: where the referee decides equalities.

A private mechanism that is optimal meets its bounds with equality, and no enclosure can decide an equality. Here it can be
decided: by Lindemann and Weierstrass such a sum is 0 only if every coefficient is, and if it is not 0 its sign shows at some
precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, ball, sign


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
