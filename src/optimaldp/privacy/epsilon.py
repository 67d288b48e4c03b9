"""The privacy parameter epsilon, exactly.

Every epsilon here is ``plain + ln(ratio)`` with rational ``plain >= 0`` and ``ratio >= 1``, or infinite. That form is closed
under addition, holds both ``0.5`` and ``ln(2)``, and makes comparison decidable: ``e`` to a non-zero rational is never
rational, so two such numbers are equal only when both parts are.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache, total_ordering

from optimaldp.errors import LevelError
from optimaldp.privacy.balls import Ball, ball, lower, precision, sign, upper, working_bits
from optimaldp.privacy.numbers import TOO_SMALL, fraction_text, read_number

_LOGARITHM = re.compile(r"\s*(?:log|ln)\s*\(\s*([^()]*?)\s*\)\s*")
_WAY_OUT = "write 0.5, '1/2', 'ln(2)', 'ln(3/2)' or 'inf'"


@total_ordering
@dataclass(frozen=True, eq=True)
class Epsilon:
    """``plain + ln(ratio)``, or infinity when both are ``None``."""

    plain: Fraction | None
    ratio: Fraction | None
    infinite: bool = field(init=False, repr=False, compare=False)
    is_zero: bool = field(init=False, repr=False, compare=False)
    exact_ratio: Fraction | None = field(init=False, repr=False, compare=False)
    """``e^epsilon`` when it is rational, else ``None``."""

    def __post_init__(self) -> None:
        # Kept: these are looked at far more often than an epsilon is made.
        rational = self.plain == 0
        vars(self).update(infinite=self.ratio is None, is_zero=rational and self.ratio == 1)
        vars(self).update(exact_ratio=self.ratio if rational else None)

    @staticmethod
    def read(value: object, *, name: str = "epsilon") -> Epsilon:
        """Read an epsilon from a number, a text such as ``"ln(3/2)"`` or ``"0.5+ln(2)"``, or ``"inf"``.

        >>> Epsilon.read("ln(2)").ratio, Epsilon.read(0.5).plain
        (Fraction(2, 1), Fraction(1, 2))
        """
        if isinstance(value, Epsilon):
            return value
        if value is None:
            raise LevelError(name, value, "is not a privacy parameter", "there is no default: " + _WAY_OUT)
        if isinstance(value, str):
            return _read_text(value, name)
        if isinstance(value, (float, Decimal)) and value == math.inf:
            return INFINITE
        return _plain(read_number(value, name=name, error=LevelError), value, name)

    def ball(self) -> Ball:
        """Enclose epsilon itself at the current precision."""
        return _enclosed(self, working_bits())

    def exp(self) -> Ball:
        """Enclose ``e^epsilon`` at the current precision."""
        return _enclosed_ratio(self, working_bits())

    def ratio_below(self, *, bits: int) -> Fraction:
        """A rational not above ``e^epsilon``: equal if that is rational, else within a relative ``2**-bits``."""
        if self.exact_ratio is not None:
            return self.exact_ratio
        with precision(bits + 16 + self._integer_bits()):
            # Not below 1 either: epsilon is never negative, and a step must never lower a probability.
            return max(Fraction(1), lower(self.exp()))

    def ratio_above(self, *, bits: int) -> Fraction:
        """A rational not below ``e^epsilon``, within a relative ``2**-bits``."""
        if self.exact_ratio is not None:
            return self.exact_ratio
        with precision(bits + 16 + self._integer_bits()):
            return upper(self.exp())

    def __float__(self) -> float:
        if self.ratio is None or self.plain is None:
            return math.inf
        return float(self.plain) + _log(self.ratio)

    def __add__(self, other: Epsilon) -> Epsilon:
        if self.infinite or other.infinite:
            return INFINITE
        (plain, ratio), (more, factor) = self.finite_parts(), other.finite_parts()
        return Epsilon(plain + more, ratio * factor)

    def __mul__(self, times: int) -> Epsilon:
        if self.infinite:
            return INFINITE if times else ZERO
        plain, ratio = self.finite_parts()
        return Epsilon(plain * times, ratio**times)

    def __lt__(self, other: Epsilon) -> bool:
        if self == other or self.infinite:
            return False
        if other.infinite:
            return True
        if self.plain == other.plain:
            return self.finite_parts()[1] < other.finite_parts()[1]
        return _is_less(self, other)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Kept: a fraction's own hash takes a modular inverse, and levels are looked up often."""
        return 0 if self.infinite else hash((self.plain, self.ratio))

    def __str__(self) -> str:
        if self.ratio is None or self.plain is None:
            return "inf"
        logarithm = f"ln({self.ratio})"
        if self.plain == 0:
            return "0" if self.ratio == 1 else logarithm
        plain = fraction_text(self.plain)
        return plain if self.ratio == 1 else f"{plain}+{logarithm}"

    def __repr__(self) -> str:
        return f"Epsilon({self})"

    def finite_parts(self) -> tuple[Fraction, Fraction]:
        """``plain`` and ``ratio``, or an error if epsilon is infinite."""
        if self.plain is None or self.ratio is None:
            raise LevelError("epsilon", "inf", "has no finite value")
        return self.plain, self.ratio

    def leading_zeros(self) -> int:
        """How many bits behind the point are zero, at least, in a positive epsilon: 0 from 1/2 on."""
        plain, ratio = self.finite_parts()
        smallest = plain if plain else (ratio - 1) / ratio  # ln(r) >= (r - 1) / r
        return max(0, smallest.denominator.bit_length() - smallest.numerator.bit_length())

    def _integer_bits(self) -> int:
        """Bits in front of the point of epsilon: what ``exp`` needs on top of the wanted precision."""
        plain, ratio = self.finite_parts()
        return (plain.__ceil__() + ratio.__ceil__().bit_length()).bit_length()


INFINITE = Epsilon(None, None)
ZERO = Epsilon(Fraction(0), Fraction(1))


@lru_cache(maxsize=256)
def _enclosed(epsilon: Epsilon, bits: int) -> Ball:
    """Balls are not changed in place, so one serves everybody who computes with *bits* of precision."""
    plain, ratio = epsilon.finite_parts()
    with precision(bits):
        return ball(plain) + ball(ratio).log()


@lru_cache(maxsize=256)
def _enclosed_ratio(epsilon: Epsilon, bits: int) -> Ball:
    plain, ratio = epsilon.finite_parts()
    with precision(bits):
        return ball(ratio) if plain == 0 else ball(plain).exp() * ball(ratio)


@lru_cache(maxsize=256)
def _is_less(one: Epsilon, other: Epsilon) -> bool:
    return sign(lambda: other.ball() - one.ball()) > 0


@lru_cache(maxsize=256)
def _log(ratio: Fraction) -> float:
    with precision(80):
        return float(ball(ratio).log())


def _read_text(text: str, name: str) -> Epsilon:
    stripped = text.strip()
    if stripped in ("inf", "infinity", "∞"):
        return INFINITE
    if "+" in stripped and ("ln" in stripped or "log" in stripped):
        total = ZERO
        for part in stripped.split("+"):
            total = total + _read_text(part, name)
        return total
    if match := _LOGARITHM.fullmatch(stripped):
        ratio = read_number(match[1], name=name, error=LevelError)
        if ratio < 1:
            raise LevelError(name, text, "is negative or no number", "a ratio must be at least 1")
        return Epsilon(Fraction(0), ratio)
    try:
        number = read_number(stripped, name=name, error=LevelError)
    except LevelError:
        raise LevelError(name, text, "is not a privacy parameter", _WAY_OUT) from None
    return _plain(number, text, name)


def _plain(number: Fraction, value: object, name: str) -> Epsilon:
    if number < 0:
        raise LevelError(name, value, "is negative", "a privacy parameter is 0 or more")
    if 0 < number < TOO_SMALL:
        raise LevelError(name, value, "is too small to mean anything", "write 0, or a number from 1e-1000 on")
    if number > 10**6:
        # e^(10^6) already has 434,295 digits; a mistyped exponent should not freeze the machine.
        raise LevelError(name, value, "is too large to mean privacy", "write 'inf' for no constraint beyond delta")
    return Epsilon(number, Fraction(1))
