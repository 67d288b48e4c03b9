"""Probabilities of nested events in shared rows, added up once along a preference, for the rows that are asked for.

Two arithmetics: rationals while they are short, enclosures of 512 bits where they are long (see
:mod:`optimaldp.certify.graphs.long_rows`). Either way the rest to one is a sum of the other answers, never a difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.closeness import Distribution
from optimaldp.certify.graphs.prefixes import Prefix
from optimaldp.privacy.balls import Ball, Rational

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
