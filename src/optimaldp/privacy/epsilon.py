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
from functools import cached_property
from typing import Union

from optimaldp.errors import LevelError
from optimaldp.privacy.balls import Ball, ball, context, lower, precision, sign, upper
from optimaldp.privacy.numbers import TOO_SMALL, fraction_text, read_number

_INFINITY = ("inf", "infinity", "∞")
_LOGARITHM = re.compile(r"\s*(?:log|ln)\s*\(\s*([^()]*?)\s*\)\s*")
_KEPT = 8  # precisions for which an epsilon keeps its enclosures: one or two are in use
_MOST = 10**6  # its e^epsilon already has 434,295 digits; a mistyped exponent should not freeze the machine
_WAY_OUT = "write 0.5, '1/2', 'ln(2)', 'ln(3/2)' or 'inf'"


EpsilonLike = Union["Epsilon", str, int, float, Fraction, Decimal]
"""An epsilon, or what :meth:`Epsilon.read` reads."""


@dataclass(frozen=True)
class Epsilon:
    """*plain* + ln(*ratio*), or infinity when both are ``None``.

    >>> float(Epsilon(Fraction(1, 2), Fraction(1)))
    0.5
    """

    plain: Fraction | None = field(hash=False)
    ratio: Fraction | None = field(hash=False)
    infinite: bool = field(init=False, compare=False)
    is_zero: bool = field(init=False, compare=False)
    exact_ratio: Fraction | None = field(init=False, compare=False)
    """``e^epsilon`` when it is rational, else ``None``."""
    leading_zeros: int = field(init=False, compare=False)
    """How many bits behind the point are zero, at least: 0 from 1/2 on, and for 0 itself."""
    ceiling: int = field(init=False, compare=False)
    """A whole number that a finite epsilon does not exceed: the next one, if ``ratio`` is 1."""
    parts_hash: int = field(init=False, compare=False, hash=True)
    """Kept: a fraction's own hash takes a modular inverse, and levels are looked up often."""
    kept_balls: dict[int, Ball] = field(init=False, compare=False)
    kept_exponentials: dict[int, Ball] = field(init=False, compare=False)
    """Enclosures by precision. Balls are not changed in place, so one serves everybody who computes with so many bits."""

    def __post_init__(self) -> None:
        # Made once: these are looked at far more often than an epsilon is made.
        plain, ratio, known = self.plain, self.ratio, vars(self)
        known.update(kept_balls={}, kept_exponentials={})
        if plain is None or ratio is None:
            known.update(infinite=True, is_zero=False, exact_ratio=None, leading_zeros=0, ceiling=0, parts_hash=0)
            return
        above, below = plain.numerator, plain.denominator
        ceiling = -(-above // below) + ((ratio.numerator - 1) // ratio.denominator).bit_length()  # ln(r) <= log2(r)
        if not plain:  # ln(r) >= (r - 1) / r
            above, below = ratio.numerator - ratio.denominator, ratio.numerator
        known.update(
            infinite=False,
            is_zero=not above,
            exact_ratio=None if plain else ratio,
            leading_zeros=max(0, below.bit_length() - above.bit_length()) if above else 0,
            ceiling=ceiling,
            parts_hash=hash((plain, ratio)),
            finite_parts=(plain, ratio),
        )

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
        text = value.strip() if isinstance(value, str) else None
        if text in _INFINITY or (isinstance(value, (float, Decimal)) and value == math.inf):
            return INFINITE
        if text is not None and ("ln" in text or "log" in text):
            return _read_logarithms(text, name)
        try:
            number = read_number(value, name=name, error=LevelError)
        except LevelError:
            raise LevelError(name, value, "is not a privacy parameter", _WAY_OUT) from None
        if number < 0:
            raise LevelError(name, value, "is negative", "a privacy parameter is 0 or more")
        if 0 < number < TOO_SMALL:
            raise LevelError(name, value, "is too small to mean anything", "write 0, or a number from 1e-1000 on")
        if number > _MOST:
            raise LevelError(name, value, "is too large to mean privacy", "write 'inf' for no constraint beyond delta")
        return Epsilon(number, Fraction(1))

    def ball(self) -> Ball:
        """Enclose epsilon itself at the current precision."""
        bits, kept = context.prec, self.kept_balls
        if (enclosed := kept.get(bits)) is None:
            plain, ratio = self.finite_parts
            with precision(bits):
                enclosed = ball(plain) + ball(ratio).log()
            if len(kept) >= _KEPT:
                kept.clear()
            kept[bits] = enclosed
        return enclosed

    def exp(self) -> Ball:
        """Enclose ``e^epsilon`` at the current precision."""
        bits, kept = context.prec, self.kept_exponentials
        if (enclosed := kept.get(bits)) is None:
            plain, ratio = self.finite_parts
            with precision(bits):
                enclosed = ball(ratio) if plain == 0 else ball(plain).exp() * ball(ratio)
            if len(kept) >= _KEPT:
                kept.clear()
            kept[bits] = enclosed
        return enclosed

    def ratio_below(self, *, bits: int) -> Fraction:
        """A rational not above ``e^epsilon``: equal if that is rational, else within a relative ``2**-bits``."""
        if self.exact_ratio is not None:
            return self.exact_ratio
        with precision(bits + 16 + self.ceiling.bit_length()):
            # Not below 1 either: epsilon is never negative, and a step must never lower a probability.
            return max(Fraction(1), lower(self.exp()))

    def ratio_above(self, *, bits: int) -> Fraction:
        """A rational not below ``e^epsilon``, within a relative ``2**-bits``."""
        if self.exact_ratio is not None:
            return self.exact_ratio
        with precision(bits + 16 + self.ceiling.bit_length()):
            return upper(self.exp())

    def __float__(self) -> float:
        if self.ratio is None or self.plain is None:
            return math.inf
        if self.ratio == 1:
            return float(self.plain)
        with precision(80):
            return float(self.plain) + float(ball(self.ratio).log())

    def __add__(self, other: EpsilonLike) -> Epsilon:
        other = Epsilon.read(other)
        if self.infinite or other.infinite:
            return INFINITE
        (plain, ratio), (more, factor) = self.finite_parts, other.finite_parts
        return Epsilon(plain + more, ratio * factor)

    def __sub__(self, other: EpsilonLike) -> Epsilon:
        """The difference: exact wherever it can be written exactly, else rounded down; what would be negative is refused.

        >>> Epsilon.read("0.5") - 0.1
        Epsilon(0.4)
        """
        less = Epsilon.read(other)
        if less.infinite or less > self:
            raise LevelError("epsilon", f"{self} - {less}", "is not a number of 0 or more", "take less away")
        if self.infinite:
            return INFINITE
        (plain, ratio), (part, factor) = self.finite_parts, less.finite_parts
        if plain >= part and ratio >= factor:
            return Epsilon(plain - part, ratio / factor)
        with precision(128):
            return Epsilon(max(Fraction(0), lower(self.ball() - less.ball())), Fraction(1))

    def __rsub__(self, other: EpsilonLike) -> Epsilon:
        return Epsilon.read(other) - self

    def __format__(self, form: str) -> str:
        return format(float(self), form) if form else str(self)

    def __mul__(self, times: int) -> Epsilon:
        if self.infinite:
            return INFINITE if times else ZERO
        plain, ratio = self.finite_parts
        return Epsilon(plain * times, ratio**times)

    def __lt__(self, other: EpsilonLike) -> bool:
        other = Epsilon.read(other)
        if self.infinite or other.infinite:
            return not self.infinite
        (plain, ratio), (more, factor) = self.finite_parts, other.finite_parts
        if plain >= more and ratio >= factor:
            return False
        if plain <= more and ratio <= factor:
            return True
        # One part is larger and the other one smaller: then the two are not equal, and their difference has a sign.
        return sign(lambda: other.ball() - self.ball()) > 0

    def __le__(self, other: EpsilonLike) -> bool:
        return not Epsilon.read(other) < self

    def __gt__(self, other: EpsilonLike) -> bool:
        return Epsilon.read(other) < self

    def __ge__(self, other: EpsilonLike) -> bool:
        return not self < other

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

    def __reduce__(self) -> tuple[type[Epsilon], tuple[Fraction | None, Fraction | None]]:
        """Without what is kept for speed: balls cannot be sent elsewhere."""
        return Epsilon, (self.plain, self.ratio)

    @cached_property
    def finite_parts(self) -> tuple[Fraction, Fraction]:
        """``plain`` and ``ratio``; they are made with a finite epsilon, so only infinity comes here."""
        raise LevelError("epsilon", "inf", "has no finite value")


INFINITE = Epsilon(None, None)
ZERO = Epsilon(Fraction(0), Fraction(1))


def _read_logarithms(text: str, name: str) -> Epsilon:
    """``ln(p/q)``, or a sum in which such logarithms stand beside numbers."""
    parts = []
    for part in text.split("+"):
        if match := _LOGARITHM.fullmatch(part):
            ratio = read_number(match[1], name=name, error=LevelError)
            if ratio < 1:
                raise LevelError(name, part, "is negative or no number", "a ratio must be at least 1")
            parts.append(Epsilon(Fraction(0), ratio))
        elif "ln" in part or "log" in part:
            raise LevelError(name, part, "is not a privacy parameter", _WAY_OUT)
        else:
            parts.append(Epsilon.read(part, name=name))
    return sum(parts[1:], start=parts[0])
