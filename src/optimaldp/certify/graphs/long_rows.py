"""Rows whose rationals have thousands of digits: enclosures decide nearly everything, rationals what they leave open.

A chain of 100,000 datasets has probabilities like ``e^-50000``; dividing such rationals takes milliseconds, and enclosing
them a microsecond. Each probability is enclosed with a relative error of ``2**-500``, and so is the rest to one: as the sum
of the other answers, never as a difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from optimaldp.certify.closeness import Row
from optimaldp.certify.graphs.bounds import Walk
from optimaldp.certify.graphs.rounding import decimal_above
from optimaldp.mechanisms.certificate import Event
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, Level
from optimaldp.privacy.balls import Ball, ball, precision, upper

_LONG = 1024  # bits of a denominator from which on enclosing is quicker
_BITS = 512
_UP = 1 + 1e-12  # far more than the rounding of a few floats; it only matters for the epsilon that is shown


class LongRows:
    """Distinct rows, enclosed once each."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._known: dict[int, list[Ball]] = {}
        self._most = 0.0  # the largest epsilon measured so far

    @staticmethod
    def pays(rows: Sequence[Row], levels: Sequence[Level]) -> bool:
        """Whether some numbers are long and all levels are made of finite bounds."""
        plain = all(
            isinstance(level, ApproximateDP) and not any(bound.epsilon.infinite for bound in level.bounds)
            for level in levels
        )
        return plain and any(max(p.denominator for p in row).bit_length() > _LONG for row in rows)

    def row(self, number: int) -> list[Ball]:
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
        with precision(_BITS):
            most = 0.0
            for bounds, above, below in ((level.forward, head, tail), (level.backward, tail, head)):
                for bound in bounds:
                    if not _certainly_kept(bound, self.row(above), self.row(below)):
                        return None
                    if _promised(bound.epsilon) > self._most:
                        most = max(most, _epsilon(bound, self.row(above), self.row(below)))
            self._most = max(self._most, most)
            return most

    def gap(self, walks: Sequence[Walk], event: Event, tail: int, head: int) -> tuple[Fraction, Fraction] | None:
        """From above: the bound that the tail imposes on the head minus what the head has, and the slope; ``None`` if unclear."""
        with precision(_BITS):
            p, c = self._sides(tail, event)
            x, rest = self._sides(head, event)
            low = bool(x <= rest)
            best = (rest, Ball(0))
            for walk in walks:
                for bound in walk.ahead:
                    ratio = _exp(bound.epsilon)
                    value = ratio * p + ball(bound.delta)
                    best = _least(best, (value - x if low else rest - (1 - value).max(Ball(0)), ratio))
                for bound in walk.back:
                    ratio = _exp(bound.epsilon)
                    left = ((c - ball(bound.delta)) / ratio).max(Ball(0))
                    best = _least(best, ((1 - left) - x if low else rest - left, 1 / ratio))
            # A gap of exactly 0 is enclosed with a radius of 2^-500 of the small side: zero for every purpose.
            gap = upper(best[0])
            return (max(gap, Fraction(0)), upper(best[1])) if not best[0] < 0 else None

    def _sides(self, number: int, event: Event) -> tuple[Ball, Ball]:
        inside, outside = Ball(0), Ball(0)
        for answer, p in enumerate(self.row(number)):
            if answer in event:
                inside = inside + p
            else:
                outside = outside + p
        return inside, outside


def _least(one: tuple[Ball, Ball], other: tuple[Ball, Ball]) -> tuple[Ball, Ball]:
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


@lru_cache(maxsize=1024)
def _promised(epsilon: Epsilon) -> float:
    return decimal_above(upper(epsilon.ball()))


@lru_cache(maxsize=1024)
def _exp(epsilon: Epsilon) -> Ball:
    return epsilon.exp()
