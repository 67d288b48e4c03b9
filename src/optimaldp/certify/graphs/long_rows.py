"""Rows whose rationals have thousands of digits: enclosures decide nearly everything, rationals what they leave open.

A chain of 100,000 datasets has probabilities like ``e^-50000``; dividing such rationals takes milliseconds, and enclosing
them a microsecond. Each probability is enclosed with a relative error of ``2**-500``, and so is the rest to one: as the sum
of the other answers, never as a difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from optimaldp.certify.core.closeness import Distribution
from optimaldp.certify.graphs.bounds import Walk
from optimaldp.certify.graphs.prefix_sums import Lines, Sides, number_above
from optimaldp.certify.graphs.rounding import decimal_above
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, Level
from optimaldp.privacy.balls import Ball, ball, precision, rational, upper

_MANY_PROBABILITIES = 4000  # probabilities in pairs of rows: beyond, Python's fractions take seconds
_LONG_BITS = 1024  # bits of a denominator from which on enclosing is quicker
_ZERO = Ball(0)
_UP = 1 + 1e-12  # far more than the rounding of a few floats; it only matters for the epsilon that is shown


class LongRows:
    """Distinct rows, enclosed once each."""

    bits = 512

    def __init__(self, rows: Sequence[Distribution]) -> None:
        self._rows = rows
        self._known: dict[int, list[Ball]] = {}
        self._most = 0.0  # the largest epsilon measured so far

    @staticmethod
    def pays(rows: Sequence[Distribution], levels: Sequence[Level], *, pairs: int = 0) -> bool:
        """Whether numbers are long, or *pairs* of rows have very many numbers; and all levels are made of finite bounds."""
        plain = all(
            isinstance(level, ApproximateDP) and not any(bound.epsilon.infinite for bound in level.bounds)
            for level in levels
        )
        many = bool(rows) and pairs * len(rows[0]) > _MANY_PROBABILITIES
        return plain and (many or any(max(p.denominator for p in row).bit_length() > _LONG_BITS for row in rows))

    def row(self, number: int) -> list[Ball]:
        """A row in this arithmetic, to be called at its precision."""
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = [ball(p) for p in self._rows[number]]
        return known

    def used(self, level: Level, tail: int, head: int) -> float | None:
        """If the edge certainly keeps its promises: an upper bound of the epsilon that it uses. Else ``None``.

        A promise that is no larger than what another edge was measured to use is not measured: 0 stands for it, because
        only the largest is reported.
        """
        assert isinstance(level, ApproximateDP)
        with precision(self.bits):
            most = 0.0
            for bounds, above, below in ((level.forward, head, tail), (level.backward, tail, head)):
                for bound in bounds:
                    certain = _certainly_kept(bound, self.row(above), self.row(below))
                    if not certain and not _exactly_kept(bound, self._rows[above], self._rows[below]):
                        return None
                    if float(bound.epsilon) * _UP > self._most and _promised(bound.epsilon) > self._most:
                        most = max(most, _epsilon(bound, self.row(above), self.row(below)))
            self._most = max(self._most, most)
            return most

    def lines(self, walks: Sequence[Walk]) -> Lines:
        """The bounds of parallel walks in this arithmetic, ahead and back, each with its slope."""
        with precision(self.bits):
            ahead = [(b.epsilon.exp(), ball(b.delta), number_above(b.epsilon.exp())) for w in walks for b in w.ahead]
            inverse = [(1 / b.epsilon.exp(), ball(b.delta)) for w in walks for b in w.back]
            return ahead, [(factor, delta, number_above(factor)) for factor, delta in inverse]

    def gap(self, lines: Lines, tail: Sides, head: Sides) -> tuple[float, float] | None:
        """From above: the bound that the tail imposes on the head minus what the head has, and the slope; ``None`` if unclear.

        To be called at this class's precision.
        """
        p, c = tail
        x, rest = head
        low = bool(x <= rest)
        best = (rest, 0.0)
        for ratio, delta, slope in lines[0]:
            value = ratio * p + delta
            best = _least(best, (value - x if low else rest - (1 - value).max(_ZERO), slope))
        for inverse, delta, slope in lines[1]:
            least = ((c - delta) * inverse).max(_ZERO)
            best = _least(best, ((1 - least) - x if low else rest - least, slope))
        # A gap of exactly 0 is enclosed with a radius of 2^-500 of the small side: zero for every purpose.
        return (max(0.0, number_above(best[0])), best[1]) if not best[0] < 0 else None


def _least(one: tuple[Ball, float], other: tuple[Ball, float]) -> tuple[Ball, float]:
    # By midpoints: each is a bound by itself, so the wrong choice of two that overlap costs sharpness alone.
    return other if other[0].mid() < one[0].mid() else one


def _certainly_kept(bound: Bound, above: list[Ball], below: list[Ball]) -> bool:
    """``sum of (P - E Q)_+ <= delta``, for certain."""
    ratio, total = _exp(bound.epsilon), Ball(0)
    for p, q in zip(above, below):
        excess = p - ratio * q
        if not excess <= 0:
            if bound.delta == 0:
                return False
            total = total + excess.max(Ball(0))
    return bool(total <= ball(bound.delta))


def _exactly_kept(bound: Bound, above: Distribution, below: Distribution) -> bool:
    """The same in rationals, where the promise is one: what is tight to the last digit no enclosure decides."""
    if bound.epsilon.exact_ratio is None:
        return False
    ratio, total = rational(bound.epsilon.exact_ratio), rational(0)
    for p, q in zip(above, below):
        if p and (excess := rational(p) - ratio * rational(q)) > 0:
            total += excess
    return bool(total <= rational(bound.delta))


def _epsilon(bound: Bound, above: list[Ball], below: list[Ball]) -> float:
    """From above: the least epsilon at the bound's delta, never more than is promised (the promise is kept)."""
    pairs = sorted(((p, q) for p, q in zip(above, below) if p != 0), key=lambda pair: -_rough(pair[0], pair[1]))
    p = q = Ball(0)
    most = 1.0
    for a, b in pairs:
        p, q = p + a, q + b
        excess = p - ball(bound.delta)
        if not excess <= 0:
            most = max(most, _rough(excess, q) * _UP)
    return min(_promised(bound.epsilon), math.log(most))


def _rough(p: Ball, q: Ball) -> float:
    return math.inf if q == 0 else float((p / q).mid())


@lru_cache(maxsize=1 << 16)
def _promised(epsilon: Epsilon) -> float:
    return decimal_above(upper(epsilon.ball()))


@lru_cache(maxsize=1 << 16)
def _exp(epsilon: Epsilon) -> Ball:
    return epsilon.exp()
