"""Probabilities of nested events in shared rows, added up once along a preference, for the rows that are asked for.

Two arithmetics: rationals while they are short, enclosures of 512 bits where they are long (see
:mod:`optimaldp.certify.graphs.long_rows`). Either way the rest to one is a sum of the other answers, never a difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.core.closeness import Distribution, enclosure
from optimaldp.certify.graphs.bounds import Walk
from optimaldp.graphs.preferences import Preferences
from optimaldp.mechanisms.certificate import Event
from optimaldp.privacy import Bound
from optimaldp.privacy.balls import Ball, Rational, rational

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
