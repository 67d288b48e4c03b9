"""Rational stand-ins for levels, so that a design is exact arithmetic throughout.

Two kinds of numbers are too long to keep: an irrational ``e^epsilon``, and a probability after thousands of steps. Both are
rounded only against *slack*. A level whose ``e^epsilon`` is irrational is replaced by one that is stricter by a relative
``2**-SLACK_BITS``; what is rounded afterwards is rounded by ``2**-WORKING_BITS``, so much less that an answer may be 2**-400
times less likely than the others and still keep its promise at the nominal level. (Rounding each prefix sum by itself, without
slack, was the old way: it broke promises by 10**-65 as soon as there were three answers.) The referee has the last word.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from optimaldp.privacy import ApproximateDP, Bound, Epsilon, GaussianDP, Level

SLACK_BITS = 160
WORKING_BITS = 640
GAUSSIAN_BITS = 256  # of a quantile: each bit costs, and 96 below the slack are plenty
LONGEST = 4096  # bits of a numerator or denominator that is kept exactly; longer ones are rounded

_HALF = Fraction(1, 2)
_ONE = Fraction(1)
_LEVEL_FACTOR = 1 - Fraction(1, 2**SLACK_BITS)


def stand_in(level: Level) -> Level:
    """A level with rational ``e^epsilon`` that implies *level*, with slack where it is irrational; Gaussian ones too."""
    if level.is_rational:
        return level
    if isinstance(level, GaussianDP):
        return tightened(level)
    assert isinstance(level, ApproximateDP)
    return ApproximateDP(*(tuple(_rational(b) for b in bounds) for bounds in (level.forward, level.backward)))


def tightened(level: Level) -> Level:
    """A rational level that implies *level* with slack in everything: what is rounded by less keeps the promise."""
    if isinstance(level, GaussianDP):
        return GaussianDP(level.mu * _LEVEL_FACTOR)
    assert isinstance(level, ApproximateDP)
    return ApproximateDP(*(tuple(_tighter(b) for b in bounds) for bounds in (level.forward, level.backward)))


def rational_ratio(bound: Bound) -> Fraction:
    """``e^epsilon`` of a finite bound: itself where it is rational, else smaller by a relative ``2**-SLACK_BITS``."""
    exact = bound.epsilon.exact_ratio
    return exact if exact is not None else _ratio_with_slack(bound.epsilon)


@lru_cache(maxsize=1 << 16)  # a metric has as many levels as edges, and each is asked for a dozen times
def _ratio_with_slack(epsilon: Epsilon) -> Fraction:
    ratio = epsilon.ratio_below(bits=SLACK_BITS + 32) * _LEVEL_FACTOR
    return max(_ONE, round_down(ratio, SLACK_BITS + 32))


def _rational(bound: Bound) -> Bound:
    return bound if bound.epsilon.infinite else Bound(Epsilon(Fraction(0), rational_ratio(bound)), bound.delta)


def _tighter(bound: Bound) -> Bound:
    epsilon = bound.epsilon if bound.epsilon.infinite else Epsilon(Fraction(0), _ratio_with_slack(bound.epsilon))
    return Bound(epsilon, round_down(bound.delta * _LEVEL_FACTOR, WORKING_BITS))


class Stepper:
    """The steps of several levels on rationals, remembered: graphs repeat their few values on many edges.

    With *tight* every step is taken at a tightened level and rounded, whether it is long or not: then the rounded step is
    monotone, so bounds on nested events stay nested. Otherwise what is short is exact, and only what has grown too long
    is rounded.
    """

    def __init__(self, levels: tuple[Level, ...], *, tight: bool = False) -> None:
        self._tight = tight
        self.rounded = tight  # whether a step was rounded that had grown too long
        self._levels = levels
        self._exact = [_Step(stand_in(level)) for level in levels]
        self._rounded: dict[int, _Step] = {}  # made when needed: with as many levels as edges most never are
        self._known: dict[tuple[int, Fraction], Fraction] = {}

    def __call__(self, level: int, s: Fraction) -> Fraction:
        """At most ``F(s)``, and equal to it unless the level is irrational or the number has grown too long."""
        value = self._known.get((level, s))
        if value is None:
            value = self._known[level, s] = max(s, self._taken(level, s))
        return value

    def _taken(self, level: int, s: Fraction) -> Fraction:
        if not self._tight:
            value = self._exact[level](s)
            if value.denominator.bit_length() <= LONGEST:
                return value
            self.rounded = True
        if level not in self._rounded:
            self._rounded[level] = _Step(tightened(self._levels[level]))
        return shorten(self._rounded[level](s))


class _Step:
    """One rational level as a function."""

    def __init__(self, level: Level) -> None:
        self._level = level
        # A plain (epsilon, delta) is one line, and nearly every level is plain.
        self._plain: tuple[Fraction, Fraction] | None = None
        if isinstance(level, ApproximateDP) and level.is_single and not level.epsilon.infinite:
            self._plain = rational_ratio(level.forward[0]), level.delta

    def __call__(self, s: Fraction) -> Fraction:
        if self._plain is None:
            gaussian = isinstance(self._level, GaussianDP)
            return self._level.step_below(s, bits=GAUSSIAN_BITS if gaussian else WORKING_BITS)
        ratio, delta = self._plain
        return min(_ONE, ratio * s + delta, 1 - (1 - s - delta) / ratio)


def shorten(p: Fraction) -> Fraction:
    """A probability just below *p*; the small side keeps its relative precision. Monotone."""
    if p in (0, 1):
        return p
    return round_down(p, WORKING_BITS) if p <= _HALF else 1 + round_down(p - 1, WORKING_BITS)


def round_down(number: Fraction, bits: int) -> Fraction:
    """Round towards minus infinity at a relative precision of about *bits*."""
    size = number.denominator.bit_length() - abs(number.numerator).bit_length()
    scale = 1 << max(0, bits + size)
    return Fraction((number.numerator * scale) // number.denominator, scale)
