"""The referee for personal levels: every edge of small grids of persons, each at the level of the person who changes.

Like all referees of releases it sees no data: the levels are public, and the grids are made up from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Protocol

from optimaldp.certify.exponentials import Exponentials
from optimaldp.certify.findings import Finding, same
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, precision

_PERSONS = 2  # of each level on a grid: enough for "the same level again" and "the next level"
_LEVELS = 3  # on one grid: of more, the two strictest and the loosest
_BITS = 256

Grid = tuple[int, ...]


class Personal(Protocol):
    """A threshold's error as a function of how many must flip and who could."""

    @property
    def levels(self) -> tuple[Epsilon, ...]: ...

    def error(self, flips: int, available: Sequence[int]) -> Ball: ...


def examine_personal(mechanism: Personal) -> Finding:
    """Check the mechanism on every edge of the grids with two persons of each level, for every threshold."""
    rising = all(a <= b for a, b in zip(mechanism.levels, mechanism.levels[1:]))
    if not rising or any(epsilon.infinite for epsilon in mechanism.levels):
        return Finding(False, (), "the levels are not finite and in rising order")
    levels = _few(mechanism.levels)
    for threshold in range(1, _PERSONS * len(levels) + 1):
        table = {grid: _exact_error(levels, grid, threshold) for grid in _grids(levels)}
        if not all(_shown(mechanism, levels, grid, threshold, table[grid]) for grid in table):
            return Finding(False, (), "an error probability is not the one that was derived")
        if not all(
            _close(levels[g], table[a], table[b], _true(a, threshold) == _true(b, threshold))
            for a, b, g in _edges(table)
        ):
            return Finding(False, (), "two grids that differ in one person are not close at that person's level")
    return Finding(
        True,
        (
            f"on all grids of {_PERSONS} persons for each of {len(levels)} levels, every edge keeps its own level, exactly",
        ),
    )


def _few(levels: tuple[Epsilon, ...]) -> tuple[Epsilon, ...]:
    return levels if len(levels) <= _LEVELS else levels[: _LEVELS - 1] + levels[-1:]


def _grids(levels: Sequence[Epsilon]) -> list[Grid]:
    """How many persons of each level say yes."""
    return list(product(range(_PERSONS + 1), repeat=len(levels)))


def _edges(table: dict[Grid, tuple[Exponentials, Exponentials]]) -> list[tuple[Grid, Grid, int]]:
    pairs = [(grid, (*grid[:g], grid[g] + 1, *grid[g + 1 :]), g) for grid in table for g in range(len(grid))]
    return [(a, b, g) for a, b, g in pairs if b in table]


def _true(grid: Grid, threshold: int) -> bool:
    return sum(grid) >= threshold


def _position(grid: Grid, threshold: int) -> tuple[int, Grid]:
    """How many must flip, and how many of each level could."""
    if _true(grid, threshold):
        return sum(grid) - threshold + 1, grid
    return threshold - sum(grid), tuple(_PERSONS - yes for yes in grid)


def _exact_error(levels: Sequence[Epsilon], grid: Grid, threshold: int) -> tuple[Exponentials, Exponentials]:
    """Numerator and denominator of the error, from the definition: the cheapest flips, one by one."""
    flips, available = _position(grid, threshold)
    cheapest = [epsilon for epsilon, persons in zip(levels, available) for _ in range(persons)][:flips]
    if len(cheapest) < flips:
        return Exponentials({}), Exponentials.of(1)
    product_of_others = Exponentials.of(1)
    for epsilon in cheapest[:-1]:
        product_of_others = product_of_others * Exponentials.exp(epsilon, -1)
    return product_of_others, Exponentials.exp(cheapest[-1]) + 1


def _shown(
    mechanism: Personal, levels: Sequence[Epsilon], grid: Grid, threshold: int, error: tuple[Exponentials, Exponentials]
) -> bool:
    flips, available = _position(grid, threshold)
    persons = dict(zip(levels, available))
    with precision(_BITS):
        shown = mechanism.error(flips, [persons.get(epsilon, 0) for epsilon in mechanism.levels])
        return same(shown, error[0].ball() / error[1].ball(), Ball(0))


def _close(
    epsilon: Epsilon, first: tuple[Exponentials, Exponentials], second: tuple[Exponentials, Exponentials], agree: bool
) -> bool:
    """Whether the two answers' probabilities differ by at most the factor e^epsilon, both ways, denominators cleared."""
    (a, below_a), (b, below_b) = first, second
    rows = ((a, below_a - a), (b, below_b - b) if agree else (below_b - b, b))
    ratio = Exponentials.exp(epsilon)
    return all(
        (p * below_b - ratio * q * below_a).sign() <= 0 and (q * below_a - ratio * p * below_b).sign() <= 0
        for p, q in zip(*rows)
    )
