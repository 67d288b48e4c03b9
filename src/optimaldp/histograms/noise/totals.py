"""How many persons the noise moves in and out: a total T with ``P(T) proportional to C(K-1+T, T)^copies theta^T``, drawn
exactly.

Two copies: the total that the two halves of lattice noise share. One copy: a sum of K geometric numbers, for Laplace
noise. The weights are log-concave, so around the mode M they halve within some width w and keep halving: block j of w
totals on either side has weights of at most ``f(M) 2^-j``. A side, a block and an offset cost a few fair bits; what
remains is to accept with probability ``f(T) 2^j / f(M)``, which a ball encloses. About one proposal in two is accepted,
for any K and epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from optimaldp.privacy.balls import Ball, precision, sign, upper
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.sampling import BitSource, choose_enclosed, uniform_below

_FIRST_BITS = 64


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
        while True:
            total = self.propose(source)
            if total is not None:
                return total

    def propose(self, source: BitSource, *, first_bits: int = _FIRST_BITS) -> int | None:
        """One attempt: each total with probability ``f(total) / (4 width f(mode))``, or ``None``."""
        right, block = source.take(1), _fair_block(source)
        offset = block * self.width + uniform_below(self.width, source)
        total = self.mode + offset if right else self.mode - 1 - offset
        accepted = total >= 0 and self._accept(total, block, source, first_bits)
        return total if accepted else None

    def _accept(self, total: int, block: int, source: BitSource, first_bits: int) -> bool:
        def chances() -> list[Ball]:
            accept = self.relative_weight(total) * Ball(2) ** block
            return [accept, 1 - accept]

        return choose_enclosed(chances, source, first_bits=first_bits) == 0

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

    return TotalLaw(bins, epsilon, copies, mode, least_positive(halved))


def _mode(bins: int, epsilon: Epsilon, copies: int) -> int:
    """The least T from which on the weights do not rise."""
    with precision(128 + 2 * epsilon.leading_zeros()):
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
    with precision(160 + 4 * epsilon.leading_zeros()):
        return bool(2 * _relative_weight(bins, epsilon, copies, total, mode) <= 1)


def least_positive(holds: Callable[[int], bool]) -> int:
    """The least positive integer that holds, of a property that stays true once it is."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _relative_weight(bins: int, epsilon: Epsilon, copies: int, total: int, mode: int) -> Ball:
    if total == mode:
        return Ball(1)
    growth = _log_compositions(bins, total) - _log_compositions(bins, mode)
    return (copies * growth - (total - mode) * epsilon.ball()).exp()


def _log_compositions(bins: int, total: int) -> Ball:
    """``ln C(K-1+T, T)`` up to the constant ``ln (K-1)!``."""
    return Ball(bins + total).lgamma() - Ball(total + 1).lgamma()


def _fair_block(source: BitSource) -> int:
    """How many fair coins show heads before the first tail."""
    block = 0
    while source.take(1):
        block += 1
    return block
