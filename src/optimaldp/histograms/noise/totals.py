"""How many people the noise moves in and out: a total T with ``P(T) proportional to C(K-1+T, T)^copies theta^T``, drawn
exactly.

Two copies: the total that the two halves of lattice noise share. One copy: a sum of K geometric numbers, for Laplace
noise. The weights are log-concave: see :mod:`optimaldp.histograms.noise.log_concave`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from optimaldp.histograms.noise import log_concave
from optimaldp.privacy.balls import Ball, precision, sign, upper
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import first_where
from optimaldp.sampling import BitSource


@dataclass(frozen=True)
class TotalLaw:
    """The law of T with the plan by which it is drawn (mode and width of the blocks)."""

    bins: int
    epsilon: Epsilon
    copies: int
    mode: int
    width: int

    def relative_weight(self, total: int) -> Ball:
        """``f(total) / f(mode)`` at the current precision."""
        return _relative_weight(self.bins, self.epsilon, self.copies, total, self.mode)

    def draw(self, source: BitSource) -> int:
        """One total, with exactly the stated law."""
        return log_concave.draw(self.relative_weight, self.mode, self.width, source)

    def propose(self, source: BitSource, *, first_bits: int = log_concave.FIRST_BITS) -> int | None:
        """One attempt: each total with probability ``f(total) / (4 width f(mode))``, or ``None``."""
        return log_concave.propose(self.relative_weight, self.mode, self.width, source, first_bits=first_bits)

    def to_document(self) -> dict[str, Any]:
        """The plan, for the referee."""
        return {"ratio_epsilon": str(self.epsilon), "copies": self.copies, "mode": self.mode, "width": self.width}


@lru_cache(maxsize=256)
def total_law(bins: int, epsilon: Epsilon, copies: int) -> TotalLaw:
    """Plan the drawing of T: find the mode and a width in which the weights halve on both sides."""
    mode = _mode(bins, epsilon, copies)

    def halved(width: int) -> bool:
        left = mode < width or _at_most_half(bins, epsilon, copies, mode - width, mode)
        return left and _at_most_half(bins, epsilon, copies, mode + width, mode)

    return TotalLaw(bins, epsilon, copies, mode, first_where(halved, 1))


def _mode(bins: int, epsilon: Epsilon, copies: int) -> int:
    """The least T from which on the weights do not rise."""
    with precision(128 + 2 * epsilon.leading_zeros):
        root = (-epsilon.ball() / copies).exp()
        guess = upper((bins * root - 1) / (1 - root)).__ceil__()
    mode = max(0, guess)
    while mode > 0 and _not_rising(bins, epsilon, copies, mode - 1):
        mode -= 1
    return mode


def _not_rising(bins: int, epsilon: Epsilon, copies: int, total: int) -> bool:
    """Whether ``f(total + 1) <= f(total)``, decided exactly."""
    growth = Fraction(bins + total, total + 1)
    if epsilon.exact_ratio is not None:
        return growth**copies <= epsilon.exact_ratio
    # e to a non-zero rational is irrational, so the two sides differ and a finite precision shows by how much.
    return sign(lambda: epsilon.ball() - copies * (Ball(growth.numerator) / growth.denominator).log()) > 0


def _at_most_half(bins: int, epsilon: Epsilon, copies: int, total: int, mode: int) -> bool:
    # Near the mode the logarithms of the weights are about 1/epsilon long and differ by about 1.
    with precision(160 + 4 * epsilon.leading_zeros):
        return bool(2 * _relative_weight(bins, epsilon, copies, total, mode) <= 1)


def _relative_weight(bins: int, epsilon: Epsilon, copies: int, total: int, mode: int) -> Ball:
    if total == mode:
        return Ball(1)
    growth = _log_compositions(bins, total) - _log_compositions(bins, mode)
    return (copies * growth - (total - mode) * epsilon.ball()).exp()


def _log_compositions(bins: int, total: int) -> Ball:
    """``ln C(K-1+T, T)`` up to the constant ``ln (K-1)!``."""
    return Ball(bins + total).lgamma() - Ball(total + 1).lgamma()
