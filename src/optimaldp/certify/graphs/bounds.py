"""The referee's own step: the largest probability that a neighbour may give to an event, derived from raw (epsilon, delta).

Walking an edge from u to v with ``P_u(S) = y``: each bound towards v says ``P_v(S) <= e^epsilon y + delta``, and each bound
back says ``1 - y <= e^epsilon (1 - P_v(S)) + delta`` (the complement of S), so ``P_v(S) <= 1 - (1 - y - delta) / e^epsilon``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.certify.core.closeness import enclosure, normal_quantile
from optimaldp.errors import LevelError
from optimaldp.privacy import ApproximateDP, Bound, GaussianDP, Level
from optimaldp.privacy.balls import Ball, ball, lower, precision, upper

STEEP = Fraction(10**300)  # the slope of a step that jumps, or rises vertically
_BITS = 192


@dataclass(frozen=True)
class Walk:
    """One edge walked in one direction: forward is as the edge is written."""

    level: Level
    forward: bool

    @property
    def ahead(self) -> tuple[Bound, ...]:
        """The promises that bound the event where the walk arrives."""
        level = _approximate(self.level)
        return level.forward if self.forward else level.backward

    @property
    def back(self) -> tuple[Bound, ...]:
        """The promises that bound the event where the walk started."""
        level = _approximate(self.level)
        return level.backward if self.forward else level.forward

    @property
    def largest_delta(self) -> Fraction:
        if isinstance(self.level, GaussianDP):
            return Fraction(0)
        return max(bound.delta for bound in self.ahead + self.back)


def step_above(walks: Sequence[Walk], probability: Fraction) -> tuple[Fraction, Fraction]:
    """The bound that all *walks* (parallel edges) impose together, and its slope there.

    **Guarantee.** For every ``d >= 0`` the true bound at ``probability + d`` is at most ``value + slope d``; *value* is the true
    bound itself when the levels are rational, and above it by about ``2**-190`` at most when they are not.

    >>> from optimaldp.privacy import level
    >>> step_above([Walk(level("ln(2)", "0.1"), True)], Fraction(4, 5))
    (Fraction(19, 20), Fraction(1, 2))
    """
    lines = [(Fraction(1), Fraction(0))]
    for walk in walks:
        lines += (
            _gaussian(walk.level.mu, probability) if isinstance(walk.level, GaussianDP) else _lines(walk, probability)
        )
    # Each line is a bound by itself, so the lowest one with its own slope is one, too.
    return min(lines)


def _lines(walk: Walk, y: Fraction) -> Iterable[tuple[Fraction, Fraction]]:
    for bound in walk.ahead:
        if not bound.epsilon.infinite:
            # The upper end, here and below: a line that is too high is a weaker bound, but still one.
            ratio = enclosure(bound.epsilon, _BITS)[1]
            yield ratio * y + bound.delta, ratio
        elif y == 0:
            # An infinite epsilon still keeps down to delta what is impossible at the tail.
            yield bound.delta, STEEP
    for bound in walk.back:
        rest = 1 - y - bound.delta
        if not bound.epsilon.infinite and rest > 0:
            low, high = enclosure(bound.epsilon, _BITS)
            yield 1 - rest / high, 1 / low


def _gaussian(mu: Fraction, y: Fraction) -> list[tuple[Fraction, Fraction]]:
    if y == 1:
        return []
    if y == 0 or mu == 0:
        return [(y, STEEP if mu else Fraction(1))]
    with precision(_BITS):
        quantile, shift, root = normal_quantile(y), ball(mu), Ball(2).sqrt()
        reached = quantile + shift
        # Close to 1 it is the complement that keeps its digits.
        bound = 1 - lower((reached / root).erfc() / 2) if reached > 0 else upper((-reached / root).erfc() / 2)
        # The step is concave, so its tangent at y stays above it.
        slope = (-shift * quantile - shift * shift / 2).exp()
        return [(bound, upper(slope))]


def _approximate(level: Level) -> ApproximateDP:
    if not isinstance(level, ApproximateDP):
        raise LevelError("level", str(level), "is not made of (epsilon, delta) bounds")
    return level
