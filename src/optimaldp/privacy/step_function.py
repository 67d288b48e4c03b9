"""Privacy levels behind one small interface: ``step``, its power, and its inverse.

If a dataset gives an event probability ``s``, a neighbour may give it at most ``F(s)``. ``F`` is monotone, concave and
never below ``s``; ``1 - F`` is the trade-off function of the guarantee. Everything that this project optimises
follows from ``F`` alone, so one algorithm serves (epsilon, delta), several of them at once, a directed edge, and Gaussian DP.

Numbers: a ``Fraction`` in and a rational level (``ln(p/q)``) give a ``Fraction`` out, exactly; otherwise the result is a
rigorous ball at the current precision (:func:`optimaldp.privacy.balls.precision`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

from optimaldp.privacy.balls import lower, precision
from optimaldp.privacy.trajectory import Number, Steps


class Level(ABC):
    """What one edge of a dataset graph promises, as the step function ``F``."""

    is_rational: bool
    """Whether ``F`` maps rationals to rationals."""

    @abstractmethod
    def sides(self, s: Number, t: Steps) -> tuple[Number, Number]:
        """Return ``F^t(s)`` and ``1 - F^t(s)``, each computed without cancellation.

        The second is the number to keep when the first is close to 1: it decays like ``e^(-epsilon t)`` and
        would be lost by subtracting.
        """

    @abstractmethod
    def reversed(self) -> Level:
        """The level of the same edge walked in the other direction."""

    @abstractmethod
    def implies(self, other: Level) -> bool:
        """Whether this promise is certainly at least as strict as *other* (``F <= F_other`` everywhere)."""

    def step(self, s: Number) -> Number:
        """The largest probability that a neighbour may give to an event of probability *s*."""
        return self.sides(s, 1)[0]

    def power(self, s: Number, t: Steps) -> Number:
        """``F`` applied *t* times, in closed form; *t* may be 10**9, ``math.inf`` or, interpolated, any real >= 0."""
        return self.sides(s, t)[0]

    def inverse(self, probability: Number) -> Number:
        """The least *s* with ``F(s) >= probability``, by the duality ``x <= F(y)  <=>  1 - y <= F'(1 - x)``."""
        return 1 - self.reversed().step(1 - probability)

    def step_below(self, s: Fraction, *, bits: int) -> Fraction:
        """A rational in ``[s, F(s)]``, within a relative ``2**-bits`` of ``F(s)`` and of ``1 - F(s)``; exact if rational.

        **Guarantee.** A mechanism built with these values is private at the level itself, whatever was rounded.
        """
        if self.is_rational:
            value = self.step(s)
            assert isinstance(value, Fraction)
            return value
        with precision(bits + 32):
            value, rest = self.sides(s, 1)
            below = 1 - _above(rest) if s > Fraction(1, 4) else _below(value)
        return max(s, below)


def _below(number: Number) -> Fraction:
    return number if isinstance(number, Fraction) else lower(number)


def _above(number: Number) -> Fraction:
    return -_below(-number)
