"""The referee's arithmetic: rounding to the safe side, loops that may be compiled, one step along an edge."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.core.closeness import (
    INFINITE_RATIO,
    Distribution,
    enclosure,
    least_ratio,
    normal_quantile,
    ratio_within,
    within_gaussian,
)
from optimaldp.errors import LevelError
from optimaldp.extras import numba_if_installed
from optimaldp.mechanisms import Mechanism
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, GaussianDP, Level
from optimaldp.privacy.balls import Ball, ball, lower, precision, upper

# Floats on a known side of an exact number: the referee's directed rounding.


# Many equal things once, by arrays.


Numbers = npt.NDArray[np.int64]


def group(code: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """The distinct codes (all below *size*), and for each entry the place of its code among them."""
    if size > 4 * len(code) + 10**6:
        distinct, place = np.unique(code, return_inverse=True)
        return distinct, place.astype(np.int64)
    # A table of all codes: linear, where sorting is not.
    present = np.zeros(size, dtype=bool)
    present[code] = True
    distinct = np.flatnonzero(present)
    places = np.empty(size, dtype=np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[code]


def first_of_each(place: Numbers, count: int) -> Numbers:
    """For each of *count* places the first entry that has it."""
    first = np.empty(count, dtype=np.int64)
    first[place[::-1]] = np.arange(len(place) - 1, -1, -1)  # the last assignment wins
    return first


_LARGEST = float.fromhex("0x1.fffffffffffffp+1023")
UNIT = 2.0**-53  # the relative error of one floating-point operation


def float_below(number: Fraction) -> float:
    """The largest float not above *number*."""
    nearest = _nearest(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def float_above(number: Fraction) -> float:
    """The smallest float not below *number*."""
    nearest = _nearest(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def decimal_above(number: Fraction) -> float:
    """A float whose shortest decimal, the text that people read, is not below *number*."""
    candidate = float_below(number)  # 0.69 as a float is below 69/100, but what people read is not
    while Fraction(repr(candidate)) < number:
        candidate = math.nextafter(candidate, math.inf)
    return candidate


def log_above(ratio: Fraction) -> float:
    """A float whose decimal is not below ``ln(ratio)``, for a ratio of at least 1; exactly 0 for the ratio 1."""
    if ratio == 1:
        return 0.0
    with precision(128):
        return decimal_above(upper(ball(ratio).log()))


def _nearest(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        # Not infinity: float_below must stay below the number, and one step further float_above is infinite anyway.
        return _LARGEST if number > 0 else -_LARGEST


# Twice the precision of a float, on arrays: enough to decide nearly every comparison that one float leaves open.
#
# A number is an unevaluated sum of two floats. Knuth's sum and Dekker's product of two floats are exact, so the only errors are
# those of the small parts, which are bounded below.


# A dozen roundings of parts that are 2^-52 of the whole come to less than 2^-101 of it; 2^-98 leaves room.
RELATIVE_ERROR = 2.0**-98
ABSOLUTE_ERROR = 2.0**-1060  # where products underflow
SPLIT = 2.0**27 + 1.0


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """``a + b`` exactly: the rounded sum and its error."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """``a b`` exactly (away from underflow): the rounded product and its error."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Any) -> tuple[Any, Any]:
    scaled = SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high


def parts_below(number: Fraction) -> tuple[float, float]:
    """Two floats whose sum is not above *number* and within ``2**-105`` of it."""
    high = float_below(number)
    return high, float_below(number - Fraction(high))


# The referee's own loops: plain Python while there is little to do, compiled when there is much. One source for both.


COMPILE_FROM = 20_000  # elementary steps: below, plain Python is done before numba has been imported


class Loop:
    """A function of arrays and numbers; those that it *calls* stand in its own file, where numba's cache notices a change."""

    def __init__(self, source: Callable[..., Any], *calls: Callable[..., Any]) -> None:
        assert all(inner.__module__ == source.__module__ for inner in calls)
        self.plain = source
        self._calls = calls

    def __call__(self, work: int, *arguments: object) -> Any:
        """Run on *arguments*; *work* is roughly the number of elementary steps of this call and its like."""
        if work >= COMPILE_FROM:
            return self.compiled(*arguments)
        with np.errstate(over="ignore"):  # what is infinite is caught where it matters, as in the compiled form
            return self.plain(*arguments)

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The compiled form; without numba the plain one."""
        numba = numba_if_installed()
        if numba is None:
            return self.plain
        assert isinstance(self.plain, FunctionType)
        scope = dict(self.plain.__globals__)
        for inner in self._calls:
            assert isinstance(inner, FunctionType)
            scope[inner.__name__] = _compile(numba, inner, scope)
        return _compile(numba, self.plain, scope)


def _compile(numba: Any, source: FunctionType, scope: dict[str, Any]) -> Callable[..., Any]:
    copy = FunctionType(source.__code__, scope, source.__name__, source.__defaults__)
    copy.__qualname__, copy.__module__ = source.__qualname__, source.__module__
    # Never fast mathematics: the error bounds count on every rounding being one of IEEE 754, in the order written.
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        result: Callable[..., Any] = numba.njit(copy, cache=True, **settings)
    except RuntimeError:  # nowhere to write: then each process compiles for itself
        result = numba.njit(copy, **settings)
    return result


# The referee's own step: the largest probability that a neighbour may give to an event, derived from raw (epsilon, delta).
#
# Walking an edge from u to v with ``P_u(S) = y``: each bound towards v says ``P_v(S) <= e^epsilon y + delta``, and
# each bound back says ``1 - y <= e^epsilon (1 - P_v(S)) + delta`` (the complement of S), so ``P_v(S) <= 1 - (1 - y -
# delta) / e^epsilon``.


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


# One edge: whether two rows keep the promises of its level, in rationals, and how much of them they use.


@dataclass(frozen=True)
class EdgeUse:
    """What one pair of rows says about one level."""

    kept: bool
    used: float  # the least epsilon at the level's deltas, rounded up
    strain: float  # epsilon used minus epsilon promised: the larger, the worse


def check_pair(level: Level, tail: Distribution, head: Distribution) -> EdgeUse:
    """Check one edge: the forward bounds of its level hold from tail to head, the backward bounds from head to tail."""
    if isinstance(level, ApproximateDP):
        checked = [_check_bound(bound, head, tail) for bound in level.forward]
        checked += [_check_bound(bound, tail, head) for bound in level.backward]
        return EdgeUse(
            all(item.kept for item in checked), max(item.used for item in checked), max(item.strain for item in checked)
        )
    if isinstance(level, GaussianDP):
        return _check_gaussian(level.mu, tail, head)
    raise LevelError("level", str(level), "is not a level that the referee knows")


def promised_above(epsilon: Epsilon) -> float:
    """A float whose decimal is not below a promised epsilon."""
    if epsilon.infinite:
        return math.inf
    if epsilon.ratio == 1:
        return decimal_above(epsilon.finite_parts[0])
    with precision(128):
        return decimal_above(upper(epsilon.ball()))


def _check_bound(bound: Bound, above: Distribution, below: Distribution) -> EdgeUse:
    ratio = least_ratio(above, below, bound.delta)
    kept, used = ratio_within(ratio, bound.epsilon), _log(ratio)
    if kept:
        used = min(used, promised_above(bound.epsilon))  # rounding up should not make a kept promise look broken
    return EdgeUse(kept, used, used - float(bound.epsilon) if kept or math.isfinite(used) else math.inf)


def _check_gaussian(mu: Fraction, tail: Distribution, head: Distribution) -> EdgeUse:
    kept = within_gaussian(head, tail, mu) and within_gaussian(tail, head, mu)
    used = max(_log(least_ratio(a, b, Fraction(0))) for a, b in ((head, tail), (tail, head)))
    return EdgeUse(kept, used, used if kept else math.inf)


def _log(ratio: Fraction | None) -> float:
    return math.inf if ratio is INFINITE_RATIO else log_above(ratio)


def violation(mechanism: Mechanism, edge: int) -> str:
    """In words: which promise is broken."""
    graph = mechanism.graph
    tail, head = graph.names[int(graph.tails[edge])], graph.names[int(graph.heads[edge])]
    return f"not private: {graph.levels[int(graph.level_of_edge[edge])]} does not hold between {tail!r} and {head!r}"
