"""What a certificate speaks about: prefix sums, and the values that are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.core.closeness import Distribution, enclosure
from optimaldp.certify.graphs.rounding import Walk, float_above, float_below, group
from optimaldp.errors import ProblemError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.problem import Preferences
from optimaldp.mechanisms import Mechanism, SharedRows
from optimaldp.mechanisms.certificate import Event
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Bound, GaussianDP, Level
from optimaldp.privacy.balls import Ball, Rational, ball, dyadic, precision, rational
from optimaldp.privacy.numbers import narrowed

# Probabilities of nested events in shared rows, added up once along a preference, for the rows that are asked for.
#
# Two arithmetics: rationals while they are short, enclosures of 512 bits where they are long (see
# :mod:`optimaldp.certify.graphs.privacy`). Either way the rest to one is a sum of the other answers, never a difference.


# The events that optimality is about: the k most wanted answers of somebody's preference.


@dataclass(frozen=True)
class Prefix:
    """The first *length* answers of an order, and the numbers of the preferences that have this event as a prefix.

    Sums over nested events are added up along the order once, so the order is part of the event's name.
    """

    order: tuple[int, ...]
    length: int
    wanted_by: list[int] = field(default_factory=list, compare=False)

    @property
    def event(self) -> Event:
        return tuple(sorted(self.order[: self.length]))


def prefixes(preferences: Preferences, given: npt.NDArray[np.bool_]) -> Iterator[tuple[Prefix, npt.NDArray[np.bool_]]]:
    """Each event that is a proper prefix of somebody's preference, and the free datasets that want it; order after order."""
    known: dict[Event, Prefix] = {}
    for number, order in enumerate(preferences.orders):
        for length in range(1, len(order)):
            event = tuple(sorted(order[:length]))
            known.setdefault(event, Prefix(order, length)).wanted_by.append(number)
    for prefix in known.values():
        wants = np.zeros(len(preferences.orders), dtype=bool)
        wants[prefix.wanted_by] = True
        yield prefix, wants[preferences.of] & ~given


Sides = tuple[Any, Any]  # the probability of an event and that of its complement
# Ahead (ratio, delta, slope) and back (the same, whether by the ratio or by its inverse is the arithmetic's business).
Lines = tuple[list[tuple[Any, Any, float]], list[tuple[Any, Any, float]]]


class PrefixSums:
    """Sums along one order at a time: checking goes order by order."""

    def __init__(self, rows: Sequence[Distribution], enclose: Callable[[int], list[Any]]) -> None:
        """*enclose* gives a row, by its number, as numbers of the arithmetic."""
        self._enclose = enclose
        self._nonzero = np.array([[p != 0 for p in row] for row in rows])
        self._order: tuple[int, ...] | None = None
        self._known: dict[int, tuple[list[Any], list[Any]]] = {}
        self._possible: npt.NDArray[np.bool_] = self._nonzero

    def sides(self, number: int, prefix: Prefix) -> Sides:
        """The probability of the event in a row, and that of its complement."""
        self._turn_to(prefix.order)
        known = self._known.get(number)
        if known is None:
            row = self._enclose(number)
            wanted = [row[answer] for answer in prefix.order]
            known = self._known[number] = list(accumulate(wanted)), list(accumulate(reversed(wanted)))
        inside, outside = known
        return inside[prefix.length - 1], outside[len(outside) - prefix.length - 1]

    def sure(self, prefix: Prefix) -> npt.NDArray[np.bool_]:
        """For each row whether the event has probability one: then no other answer is possible."""
        self._turn_to(prefix.order)
        return ~self._possible[:, prefix.length]

    def _turn_to(self, order: tuple[int, ...]) -> None:
        if self._order != order:
            self._order, self._known = order, {}
            wanted = self._nonzero[:, list(order)]
            self._possible = np.logical_or.accumulate(wanted[:, ::-1], axis=1)[:, ::-1]


def number_above(number: Any) -> float:
    """A float not below a number of either arithmetic."""
    if isinstance(number, Ball):
        return math.nextafter(float(number.upper()), math.inf)
    return 0.0 if number == 0 else math.nextafter(_quotient(number), math.inf)


def number_below(number: Any) -> float:
    """A float not above a number of either arithmetic."""
    if isinstance(number, Ball):
        return math.nextafter(float(number.lower()), -math.inf)
    return 0.0 if number == 0 else math.nextafter(_quotient(number), -math.inf)


def _quotient(number: Rational) -> float:
    try:
        return int(number.p) / int(number.q)  # integers divide with one rounding, however long they are
    except OverflowError:  # e^epsilon for an epsilon of more than 709
        return math.inf if number > 0 else -math.inf


# The gap between a value and the bound of its predecessor, in rationals, for rows whose numbers are short.


_BITS = 192  # of an irrational e^epsilon: what it is rounded by is far below what a proof in exact numbers may leave


class ShortGaps:
    """Distinct rows as flint's rationals: ten times as quick as Python's."""

    bits = 128  # nothing here is rounded; a precision must be named

    def __init__(self, rows: Sequence[Distribution]) -> None:
        self._rows = rows

    def row(self, number: int) -> list[Rational]:
        """A row in this arithmetic."""
        return [rational(p) for p in self._rows[number]]

    def lines(self, walks: Sequence[Walk]) -> Lines:
        """The bounds of parallel walks in this arithmetic, ahead and back, each with its slope."""
        ahead = [_line(bound) for walk in walks for bound in walk.ahead]
        back = [_line(bound) for walk in walks for bound in walk.back]
        return (
            [(high, delta, number_above(high)) for _, high, delta in ahead],
            [(high, delta, number_above(1 / low)) for low, high, delta in back],
        )

    def gap(self, lines: Lines, tail: Sides, head: Sides) -> tuple[float, float]:
        """From above: the bound that the tail imposes on the head minus what the head has, and the slope; -1 if it is below."""
        y, rest = tail
        # It starts with the bound 1. Back, the ratio from above divides: a smaller rest is a larger bound, the safe side.
        best, slope = head[1], 0.0
        for ratio, delta, steepness in lines[0]:
            if (gap := ratio * y + delta - head[0]) < best:
                best, slope = gap, steepness
        for ratio, delta, steepness in lines[1]:
            if rest > delta and (gap := head[1] - (rest - delta) / ratio) < best:
                best, slope = gap, steepness
        return (-1.0 if best < 0 else number_above(best)), slope


def _line(bound: Bound) -> tuple[Rational, Rational, Rational]:
    """``e^epsilon`` from below and above, and delta."""
    low, high = (rational(number) for number in enclosure(bound.epsilon, _BITS))
    return low, high, rational(bound.delta)


# What a certificate may take as given: the distributions that the problem fixes, or that its boundary rule chooses.
#
# A certificate proves that nothing does better *with the same given values*, so whoever may declare datasets given
# can prove anything: with all of them given every mechanism is the best. Hence the referee derives the given rows
# itself, from the problem (fixed rows, or one row for each preference) or by computing the rule again, and compares
# them with the mechanism.


Floats = npt.NDArray[np.float64]
Fixed = Mapping[int, Row]
Boundary = str | Mapping[int, Row]  # a rule, or a row for the number of each preference

TOLERANCE = Fraction(1, 10**9)  # a difference up to here, relative to the small side of a probability, is rounding
_LEAST = Fraction(1, 10**12)  # of a small side that differences are compared with


@dataclass(frozen=True, eq=False)
class GivenRows:
    """The rows that may be taken as given, each different one once; ``of`` says which one a dataset has, -1 for none."""

    rows: tuple[Row, ...]
    of: npt.NDArray[np.int32]

    def row(self, vertex: int) -> Row | None:
        number = int(self.of[vertex])
        return self.rows[number] if number >= 0 else None


def given_rows(mechanism: Mechanism, fixed: Fixed | None, boundary: Boundary | None) -> GivenRows:
    """Derive what is given; nothing if the problem neither fixes rows nor has a rule."""
    graph, preferences = mechanism.graph, mechanism.preferences
    if boundary is None:
        shared = SharedRows.from_rows(list((fixed or {}).values()))
        of = np.full(len(graph), -1, dtype=np.int32)
        of[list(fixed or {})] = shared.of
        return GivenRows(shared.rows, of)
    if boundary == "raised":  # chooses everything at once, so that nothing is given
        return GivenRows((), np.full(len(graph), -1, dtype=np.int32))
    if isinstance(boundary, str):
        if boundary == "balanced":
            return _balanced(graph, preferences)
        if boundary == "fair":  # nothing is given: its certificate starts from the edges between the two answers
            return GivenRows((), np.full(len(graph), -1, dtype=np.int32))
        raise ProblemError(
            "boundary", boundary, "is not a rule that the referee knows", 'it knows "balanced" and "fair"'
        )
    numbers = sorted(boundary)
    place = np.full(len(preferences.orders), -1, dtype=np.int32)
    place[numbers] = np.arange(len(numbers), dtype=np.int32)
    of = np.where(_is_boundary(graph, preferences), place[preferences.of], -1).astype(np.int32)
    return GivenRows(tuple(boundary[k] for k in numbers), of)


def _crossing(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.bool_]:
    crossing: npt.NDArray[np.bool_] = preferences.of[graph.tails] != preferences.of[graph.heads]
    return crossing


def _is_boundary(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.bool_]:
    crossing, mask = _crossing(graph, preferences), np.zeros(len(graph), dtype=bool)
    mask[graph.tails[crossing]] = mask[graph.heads[crossing]] = True
    return mask


def _balanced(graph: DatasetGraph, preferences: Preferences) -> GivenRows:
    """The rule, computed again: on an edge between regions the favourite has ``(E + (q-1) delta) / (E + q - 1)``.

    For two answers each dataset has the least of its own edges; for more there is one value, the least of all, for everybody.
    """
    q, crossing = len(preferences.answers), _crossing(graph, preferences)
    used = np.unique(graph.level_of_edge[crossing]).tolist()
    tops = sorted((_touching(graph.levels[k], q), k) for k in used)
    # The smaller the rank, the smaller the value. For more than two answers all ranks stay 0: the least of all.
    rank = np.zeros(max(1, len(graph.levels)), dtype=np.int32)
    if q == 2:
        rank[[k for _, k in tops]] = np.arange(len(tops))
    least = np.full(len(graph), len(tops), dtype=np.int32)
    for ends in (graph.tails[crossing], graph.heads[crossing]):
        np.minimum.at(least, ends, rank[graph.level_of_edge[crossing]])
    rows = tuple(_row(top, favourite, q) for top, _ in tops for favourite in range(q))
    of = np.where(least < len(tops), least * q + preferences.favourites, -1).astype(np.int32)
    return GivenRows(rows, of)


def _row(top: Fraction, favourite: int, q: int) -> Row:
    rest = (1 - top) / (q - 1)
    return tuple(top if answer == favourite else rest for answer in range(q))


def _touching(level: Level, q: int) -> Fraction:
    """The value that the rule gives to the favourite on an edge of this level (within 2^-190 where it is irrational)."""
    if isinstance(level, GaussianDP):
        if q != 2:
            return _gaussian_favourite(level, q)
        with precision(_BITS):
            return dyadic(((-ball(level.mu / 2) / Ball(2).sqrt()).erfc() / 2).mid())
    assert isinstance(level, ApproximateDP)
    finite = [bound for bound in level.bounds if not bound.epsilon.infinite]
    ratios = [(enclosure(bound.epsilon, _BITS)[0], bound.delta) for bound in finite]
    return min(((ratio + (q - 1) * delta) / (ratio + q - 1) for ratio, delta in ratios), default=Fraction(1))


def _gaussian_favourite(level: GaussianDP, q: int) -> Fraction:
    """The largest favourite of randomised response over q answers at a Gaussian level, by halving an interval.

    Two rows ``(t, r, …, r)`` and ``(r, t, r, …)`` are close if ``t + j r <= F(r + j r)`` for every j: the events that hold the
    favourite of the one and j answers that neither wants.
    """
    if level.mu == 0:
        return Fraction(1, q)  # everybody has the same row, and the step below is no ball

    def close(t: Fraction) -> bool:
        r = (1 - t) / (q - 1)
        # What the balls leave open counts as too large, so what is returned in the end was proven close.
        return all(bool(ball(t + j * r) <= level.step(r + j * r)) for j in range(q - 1))

    with precision(_BITS + 64):
        return narrowed(close, Fraction(1, q), Fraction(1), _BITS)[0]


def given_fault(mechanism: Mechanism, given: npt.NDArray[np.bool_], allowed: GivenRows) -> str:
    """Why the certificate may not start where it does, or nothing.

    It may take as given only what is; and the mechanism must have these rows (as far as they are printed).
    """
    names = mechanism.graph.names
    astray = np.flatnonzero(given & (allowed.of < 0))
    if astray.size:
        return f"it takes {names[int(astray[0])]!r} as given, which the problem neither fixes nor puts on its boundary"
    for vertex in differing(mechanism, allowed, given):
        return f"the row of {names[vertex]!r} is not the one that is given"
    return ""


def differing(mechanism: Mechanism, allowed: GivenRows, given: npt.NDArray[np.bool_]) -> list[int]:
    """A dataset whose row differs from the given one by more than rounding, if there is one."""
    vertices = np.flatnonzero(given & (allowed.of >= 0))
    if not vertices.size:
        return []
    rows = mechanism.rows
    if isinstance(rows, SharedRows):
        code = rows.of[vertices].astype(np.int64) * len(allowed.rows) + allowed.of[vertices]
        distinct, place = group(code, len(rows.rows) * len(allowed.rows))
        for number, one in enumerate(distinct.tolist()):
            mine, theirs = divmod(one, len(allowed.rows))
            if _differ(rows.rows[mine], allowed.rows[theirs]):
                return [int(vertices[int(np.flatnonzero(place == number)[0])])]
        return []
    return _differing_floats(mechanism, allowed, vertices)


def _differing_floats(mechanism: Mechanism, allowed: GivenRows, vertices: npt.NDArray[np.int64]) -> list[int]:
    """Floats find the suspects, rationals decide about them."""
    table = np.array([[float(p) for p in row] for row in allowed.rows])[allowed.of[vertices]]
    mine = mechanism.rows.floats(vertices)
    small = np.minimum(table, 1.0 - table)
    # Half of the tolerance: floats of small entries are wrong by far less than the other half. An entry near 1 may look
    # equal where it is not; then another one of its row tells.
    suspects = (np.abs(mine - table) > 0.5e-9 * np.maximum(small, 1e-12)).any(axis=1)
    for vertex in vertices[suspects].tolist():
        theirs = allowed.row(vertex)
        assert theirs is not None
        if _differ(mechanism.rows.row(vertex), theirs):
            return [vertex]
    return []


def _differ(mine: Row, theirs: Row) -> bool:
    if mine == theirs:
        return False
    return any(abs(a - b) > TOLERANCE * max(min(b, 1 - b), _LEAST) for a, b in zip(mine, theirs))


def root_values(allowed: GivenRows, event: tuple[int, ...]) -> tuple[Floats, Floats, list[Fraction]]:
    """For each given row the probability of an event: a float above it, a float below its complement, and itself."""
    exact = [sum((row[a] for a in event), Fraction(0)) for row in allowed.rows]
    above = np.array([float_above(p) for p in exact])
    rest = np.array([float_below(1 - p) for p in exact])
    return above, rest, exact
