"""Rational stand-ins for levels, so that a design is exact arithmetic throughout.

A level whose ``e^epsilon`` is irrational is replaced by one that is stricter by a relative 2**-200. What is private at the
stricter level is private at the nominal one, so nothing that is rounded here can break a promise; the referee checks
against the nominal level.
"""

from __future__ import annotations

from fractions import Fraction

from optimaldp.privacy import ApproximateDP, Bound, Epsilon, Level

LEVEL_BITS = 200
LONGEST = 4096  # bits of a numerator or denominator that is kept exactly; longer ones are rounded down

_HALF = Fraction(1, 2)


def stand_in(level: Level) -> Level:
    """A level with rational ``e^epsilon`` that implies *level*; Gaussian levels round when they step."""
    if level.is_rational or not isinstance(level, ApproximateDP):
        return level
    return ApproximateDP(_rational(level.forward), _rational(level.backward))


def rational_ratio(bound: Bound) -> Fraction:
    """``e^epsilon`` of a finite bound, rounded down where it is irrational."""
    return bound.epsilon.ratio_below(bits=LEVEL_BITS)


def _rational(bounds: tuple[Bound, ...]) -> tuple[Bound, ...]:
    return tuple(b if b.epsilon.infinite else Bound(Epsilon(Fraction(0), rational_ratio(b)), b.delta) for b in bounds)


class Stepper:
    """The steps of several levels on rationals, remembered: graphs repeat their few values on many edges."""

    def __init__(self, levels: tuple[Level, ...]) -> None:
        self._levels = [stand_in(level) for level in levels]
        self._bounds = [_simple(level) for level in self._levels]
        self._known: dict[tuple[int, Fraction], Fraction] = {}

    def __call__(self, level: int, s: Fraction) -> Fraction:
        """At most ``F(s)``, and equal to it unless the level is irrational or the number has grown too long."""
        found = self._known.get((level, s))
        if found is None:
            simple = self._bounds[level]
            value = _step(s, *simple) if simple else self._levels[level].step_below(s, bits=LEVEL_BITS)
            found = self._known[level, s] = max(s, shorten(value))
        return found


def _simple(level: Level) -> tuple[Fraction, Fraction] | None:
    """``e^epsilon`` and delta of a plain level, for which a step is one line."""
    if isinstance(level, ApproximateDP) and level.is_single and level.epsilon.exact_ratio is not None:
        return level.epsilon.exact_ratio, level.delta
    return None


def _step(s: Fraction, ratio: Fraction, delta: Fraction) -> Fraction:
    return min(Fraction(1), ratio * s + delta, 1 - (1 - s - delta) / ratio)


def shorten(p: Fraction) -> Fraction:
    """*p* itself, or a value just below it when it has grown too long; the small side keeps its relative precision."""
    if p.denominator.bit_length() <= LONGEST or p in (0, 1):
        return p
    return _floor(p) if p <= _HALF else 1 + _floor(p - 1)


def _floor(number: Fraction) -> Fraction:
    """Round towards minus infinity at a relative precision of about ``LEVEL_BITS``."""
    size = number.denominator.bit_length() - abs(number.numerator).bit_length()
    scale = 1 << (LEVEL_BITS + max(0, size))
    return Fraction((number.numerator * scale) // number.denominator, scale)
