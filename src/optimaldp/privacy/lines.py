"""A distribution that walks away from the boundary: 001 section 5, corrected, and its continuous form (section 6.5).

A row in preference order has prefix sums ``s_k``; t steps away they are ``F^t(s_k)``. Each one goes through a transition at
``tau_k``: growth before, decay of ``1 - s_k`` after; so the probability of the k-th answer has at most three phases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from optimaldp.errors import LevelError
from optimaldp.privacy.levels import ApproximateDP
from optimaldp.privacy.numbers import fraction_text, read_probability
from optimaldp.privacy.step_function import Level
from optimaldp.privacy.trajectory import Number, Steps

_FEWEST_PLACES = 3  # with fewer, half of the last place is so much that a slip of the pen would pass
_MOST_PLACES = 400  # of a float, written out


def row_after(level: Level, row: Sequence[object], steps: Steps) -> list[Number]:
    """The distribution *steps* away from a boundary that has *row* (most wanted answer first).

    Between whole steps the closed form is interpolated, as in the figures of 001.

    >>> from optimaldp.privacy import level
    >>> row_after(level("ln(2)"), [Fraction(1, 4), Fraction(3, 4)], 2)
    [Fraction(3, 4), Fraction(1, 4)]
    """
    sums = list(accumulate(_read_row(row)))
    sides = [level.sides(s, steps) for s in sums[:-1]]
    # The last answer takes the complement itself: subtracting from 1 would lose it.
    values = [value for value, _ in sides]
    inner = [after - before for before, after in pairwise(values)]
    return [*values[:1], *inner, sides[-1][1]] if sides else [Fraction(1)]


def transitions(level: ApproximateDP, row: Sequence[object]) -> list[int | float]:
    """tau_k for each prefix sum of *row*, non-increasing in k; infinite where a prefix has probability 0 and delta is 0.

    tau_k is the number of initial steps, in which a sum is multiplied by e^epsilon, as in 001 (corrected). Paper 000 counts one
    less: its transition parameter (Definition 8) is this number minus 1, never below -1.

    >>> from optimaldp.privacy import level
    >>> transitions(level("ln(2)"), ["1/16", "15/16"])
    [3, 0]
    """
    if not isinstance(level, ApproximateDP):
        raise LevelError(
            "level", str(level), "has no transition: its step is one curve", "use a single (epsilon, delta)"
        )
    return [level.transition(s) for s in accumulate(_read_row(row))]


@dataclass(frozen=True)
class Phases:
    """When the probability of one answer grows, turns and decays: two times, possibly equal, 0 or infinite."""

    turns: int | float
    decays: int | float

    def at(self, steps: Steps) -> int:
        """The phase (1, 2 or 3) at a distance; degenerate phases are passed over."""
        return 1 if steps < self.turns else 2 if steps < self.decays else 3


def phases(level: ApproximateDP, row: Sequence[object]) -> list[Phases]:
    """The phases of each answer's probability: it turns at tau_k and decays from tau_(k-1) on (infinite for the first)."""
    taus = transitions(level, row)
    before = [math.inf, *taus[:-1]]
    return [Phases(turns, decays) for turns, decays in zip(taus, before)]


def _read_row(row: Sequence[object]) -> list[Fraction]:
    """The probabilities as people write them (``"1/4"``, ``0.25``, a fraction); together they are one.

    Decimals may miss one by what rounding them took, as the row that 001 prints does (0.9999): the prefix sums are taken as
    written, and the last one is 1.
    """
    if isinstance(row, str) or not isinstance(row, Sequence):
        raise LevelError("row", row, "is not a list of probabilities", "write ['1/4', '3/4'], most wanted answer first")
    numbers = [read_probability(p, name=f"row[{k}]", error=LevelError) for k, p in enumerate(row)]
    total = sum(numbers, Fraction(0))
    if total == 1:
        return numbers
    last = numbers[-1] + 1 - total if numbers else Fraction(0)
    if last < 0 or abs(total - 1) > _rounded_away(numbers):
        raise LevelError(
            "row", fraction_text(total), "is what the probabilities sum to, and not one",
            "write thirds as '1/3', and give what rounding took to one of them",
        )  # fmt: skip
    return [*numbers[:-1], last]


def _rounded_away(numbers: Sequence[Fraction]) -> Fraction:
    """How far rounding can move the sum of decimals: half of the last place for each; nothing where a number is no decimal."""
    tens = [next((k for k in range(_MOST_PLACES + 1) if 10**k % p.denominator == 0), None) for p in numbers]
    places = [k for k in tens if k is not None]
    if len(places) < len(numbers) or max(places, default=0) < _FEWEST_PLACES:
        return Fraction(0)
    return Fraction(len(numbers), 2 * 10 ** max(places))


@dataclass(frozen=True)
class OrderedDistribution:
    """A distribution on an ordered set of answers, smaller ones preferred: its distribution function, and the least answer.

    ``cdf`` maps an answer to an exact probability. ``least`` is the least answer, or ``None`` if the set has none (an open
    interval): then delta > 0 leaves no optimum, because each step moves a mass of delta towards an infimum that is not there.
    """

    cdf: Callable[[Any], Fraction]
    least: Any = None

    def after(self, level: Level, steps: Steps) -> Callable[[Any], Number]:
        """The optimal distribution function *steps* away (first-order stochastic dominance): ``F^t`` of the given one."""
        if self.least is None and level.sides(Fraction(0), 1)[0] != 0 and steps > 0:
            raise LevelError(
                "least", None, f"is needed at {level}: without a least answer no optimum exists when delta > 0",
                "name the least answer, or use delta = 0",
            )  # fmt: skip
        least = self.least

        def moved(answer: object) -> Number:
            if least is not None and answer < least:
                return Fraction(0)
            return level.power(self.cdf(answer), steps)

        return moved
