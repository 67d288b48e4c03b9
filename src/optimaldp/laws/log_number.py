"""Exact sums of rationals and logarithms of rationals: what privacy levels become when they are added, weighted and compared.

``plain + sum of c_p ln(p)`` over primes p, with rational coefficients, is written in one way only (logarithms of primes are
independent of each other over the rationals by unique factorisation, and of the rationals by Lindemann's theorem). So equality is
decided by comparing coefficients, and every other sign shows at some precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, total_ordering
from numbers import Integral
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, ball, precision, prime_powers, sign
from optimaldp.privacy.trajectory import Number

_EXACT_BITS = 1 << 16  # of an exact power; beyond that nobody reads it and balls are quicker


@total_ordering
@dataclass(frozen=True)
class LogNumber:
    """``plain + sum of factor * ln(prime)``.

    >>> twice = LogNumber.of(Epsilon.read("ln(2)")) * 2
    >>> twice == LogNumber.of(Epsilon.read("ln(4)")), (twice - LogNumber(Fraction(7, 5))).sign
    (True, -1)
    """

    plain: Fraction = Fraction(0)
    logarithms: tuple[tuple[int, Fraction], ...] = ()

    @staticmethod
    def of(epsilon: Epsilon) -> LogNumber:
        """A finite privacy level."""
        return _of_level(epsilon)

    def __add__(self, other: LogNumber) -> LogNumber:
        if not self.logarithms or not other.logarithms:
            return LogNumber(self.plain + other.plain, self.logarithms or other.logarithms)
        return _collected(self.plain + other.plain, (*self.logarithms, *other.logarithms))

    def __radd__(self, nothing: int) -> LogNumber:
        """``0 + number``, so that sums may begin at 0."""
        return self if nothing == 0 else NotImplemented

    def __mul__(self, factor: Fraction | int) -> LogNumber:
        if not factor:
            return ZERO
        return LogNumber(self.plain * factor, tuple((prime, power * factor) for prime, power in self.logarithms))

    def __neg__(self) -> LogNumber:
        return LogNumber(-self.plain, tuple((prime, -power) for prime, power in self.logarithms))

    def __sub__(self, other: LogNumber) -> LogNumber:
        if not other.logarithms:
            return LogNumber(self.plain - other.plain, self.logarithms)
        return self + -other

    def __truediv__(self, divisor: Fraction | int) -> LogNumber:
        return self * (1 / Fraction(divisor))

    def __abs__(self) -> LogNumber:
        return self if self.sign >= 0 else -self

    def __lt__(self, other: LogNumber) -> bool:
        if self.logarithms == other.logarithms:
            return self.plain < other.plain
        return (self - other).sign < 0

    def __gt__(self, other: LogNumber) -> bool:
        return other < self

    def __hash__(self) -> int:  # fractions are in lowest terms; their own hash takes a modular inverse each
        return hash((self.plain.numerator, self.plain.denominator, len(self.logarithms)))

    @property
    def sign(self) -> int:
        """-1, 0 or 1, exactly."""
        if not self.logarithms:
            return (self.plain > 0) - (self.plain < 0)
        return sign(self.ball)

    def ball(self) -> Ball:
        """Enclose the number at the current precision."""
        total = ball(self.plain)
        for prime, power in self.logarithms:
            total = total + ball(power) * Ball(prime).log()
        return total

    def exp(self) -> Ball:
        """Enclose ``e^number`` at the current precision."""
        return self.ball().exp()

    def rational_exp(self) -> Fraction | None:
        """``e^number`` where it is a rational of reasonable length, else ``None``."""
        if self.plain or any(power.denominator > 1 for _, power in self.logarithms):
            return None
        if sum(abs(power) * prime.bit_length() for prime, power in self.logarithms) > _EXACT_BITS:
            return None
        value = Fraction(1)
        for prime, power in self.logarithms:
            value *= Fraction(prime) ** int(power)
        return value


ZERO = LogNumber()


def _collected(plain: Fraction, terms: Iterable[tuple[int, Fraction]]) -> LogNumber:
    powers: dict[int, Fraction] = {}
    for prime, power in terms:
        powers[prime] = powers.get(prime, Fraction(0)) + power
    return LogNumber(plain, tuple(sorted((prime, power) for prime, power in powers.items() if power)))


@lru_cache(maxsize=256)
def _of_level(epsilon: Epsilon) -> LogNumber:
    plain, ratio = epsilon.finite_parts
    return _collected(plain, ((prime, Fraction(power)) for prime, power in _factors(ratio)))


@lru_cache(maxsize=256)
def _factors(ratio: Fraction) -> tuple[tuple[int, int], ...]:
    below = ((prime, -power) for prime, power in prime_powers(ratio.denominator))
    return (*prime_powers(ratio.numerator), *below)


# Probabilities that a caller reads, of counts that a caller gives: rationals, or decimals all of whose digits are right.


_DIGITS = 45
_MOST_BITS = 1 << 15  # a probability that is 0 to this many bits is reported as 0


def exact_or_decimal(sides: Callable[[], tuple[Number, Number]]) -> Fraction | Decimal:
    """P(yes): a Fraction if both sides are, else a Decimal with at least 40 right digits."""
    shown: Fraction | Decimal = exact_or_decimals(lambda: [sides()[0]])[0]
    return shown


def exact_or_decimals(
    numbers: Callable[[], Sequence[Number]], *, digits: int = _DIGITS, more_bits: int = 0
) -> list[Any]:
    """Fractions as they are, balls as Decimals with so many right digits; *numbers* are made at the precision of the moment."""
    bits = 4 * digits + 32 + more_bits
    while True:
        with precision(bits):
            listed = numbers()
            if bits >= _MOST_BITS + more_bits or all(_is_sharp(one, digits) for one in listed):
                return [one if isinstance(one, Fraction) else _decimal(one, digits) for one in listed]
        bits *= 2


def _is_sharp(number: Number, digits: int) -> bool:
    return isinstance(number, Fraction) or number == 0 or bool(number.rel_accuracy_bits() > 3.4 * digits)


def _decimal(enclosed: Ball, digits: int) -> Decimal:
    return Decimal(0) if enclosed.contains(0) else Decimal(enclosed.str(digits, radius=False))


def listed_counts(counts: Sequence[int]) -> list[int]:
    """Counts that a caller gives, as Python's own integers. No message quotes one: they may have been read from a table."""
    try:
        listed = list(counts)
    except TypeError:
        raise QuestionError("counts", "(not shown)", "are not a list of whole numbers") from None
    if any(isinstance(count, bool) or not isinstance(count, Integral) or count < 0 for count in listed):
        raise QuestionError("counts", "(not shown)", "are not whole numbers of 0 or more") from None
    return [int(count) for count in listed]
