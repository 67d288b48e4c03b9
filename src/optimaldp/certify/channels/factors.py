"""``e^(epsilon · length)`` between two rationals, and comparisons with it that are never wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from optimaldp.privacy.balls import ball, lower, precision, upper
from optimaldp.privacy.epsilon import Epsilon

_BITS = 160
_MOST_BITS = 1 << 16


@dataclass
class Factors:
    """The factors of one epsilon, one for each length that occurs."""

    epsilon: Epsilon
    _known: dict[tuple[Fraction, int], tuple[Fraction, Fraction]] = field(default_factory=dict)

    def between(self, length: Fraction, *, bits: int = _BITS) -> tuple[Fraction, Fraction]:
        """Rationals not above and not below ``e^(epsilon · length)``; equal where that is rational and known to be."""
        key = (length, bits)
        if key not in self._known:
            self._known[key] = self._enclose(length, bits)
        return self._known[key]

    def _enclose(self, length: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        ratio = self.epsilon.exact_ratio
        if ratio is not None and length.denominator == 1:
            return ratio ** int(length), ratio ** int(length)
        with precision(bits):
            value = (self.epsilon.ball() * ball(length)).exp()
            return max(Fraction(1), lower(value)), upper(value)

    def allows(self, high: Fraction, low: Fraction, length: Fraction) -> bool:
        """Whether ``high <= e^(epsilon · length) · low``, exactly."""
        if high <= low:
            return True
        if low == 0:
            return False
        ratio, bits = self.epsilon.exact_ratio, _BITS
        while True:
            below, above = self.between(length, bits=bits)
            if high <= below * low:
                return True
            if high > above * low:
                return False
            if (
                ratio is not None
            ):  # a root of a rational, which may be met exactly; its powers are long, so they come last
                return high**length.denominator <= ratio**length.numerator * low**length.denominator
            # e to a non-zero rational is irrational, so that the enclosure parts from any ratio of rationals in the end
            bits *= 2
            if bits > _MOST_BITS:
                return False
