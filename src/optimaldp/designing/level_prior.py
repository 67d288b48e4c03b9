"""The least average error for people with levels of their own and a public prior: a linear program on the grid of counts.

A point of the grid says how many people of each level say yes; an edge changes one person and carries that person's level. People
of one level are alike, so averaging a mechanism over their exchanges loses nothing, and the grid decides it for all mechanisms.
For small tables: exact, with the multipliers that prove that nothing does better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, prod
from typing import Any

from optimaldp.designing.event_program import EventProgram
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Mechanism, SharedRows
from optimaldp.mechanisms.certificate import EventConstraint
from optimaldp.privacy import Epsilon, level
from optimaldp.privacy.numbers import read_probability

MOST_POINTS = 400  # of a grid that is solved exactly in a few seconds

Point = tuple[int, ...]
"""How many people of each level say yes."""

Prior = Callable[[Point], Fraction]


@dataclass(frozen=True)
class PriorOptimum:
    """A mechanism with the least average error, and what proves it."""

    mechanism: Mechanism
    average_error: Fraction
    multipliers: tuple[tuple[EventConstraint, Fraction], ...]
    """Of the privacy constraints that bind: a dual solution of the same value."""

    def __repr__(self) -> str:
        return f"PriorOptimum({len(self.mechanism.graph)} tables, average error {float(self.average_error):.4g}, exact)"

    def yes_probability(self, point: Sequence[int]) -> Fraction:
        """P(yes) when so many of each level say yes. Of private counts it is private."""
        return self.mechanism[_name(point)]["yes"]


def prior_optimum(
    least: int,
    levels: Sequence[Any],
    sizes: Sequence[int],
    *,
    chance: Any = Fraction(1, 2),
    prior: Mapping[Point, Any] | None = None,
    delta: Any = 0,
) -> PriorOptimum:
    """The least average error of "at least *least* of them say yes" among all mechanisms that keep everybody's own level.

    The prior: everybody says yes independently with *chance*, or *prior* by point. **Guarantee.** The mechanism is private on
    every edge exactly, and no private mechanism has a smaller average error (levels other than ln(p/q) are rounded down first).

    >>> prior_optimum(2, ["ln(2)", "ln(3)"], [1, 2]).average_error
    Fraction(1, 4)
    """
    points = list(product(*(range(size + 1) for size in sizes)))
    if len(points) > MOST_POINTS:
        raise ProblemError(
            "sizes", list(sizes), f"make a grid of more than {MOST_POINTS} points", "use a smaller table"
        )
    graph = _grid(points, [Epsilon.read(epsilon) for epsilon in levels], sizes, delta)
    preferences = Preferences.read(graph, _truth(points, least), ["yes", "no"])
    program = EventProgram(Problem(graph, preferences))
    weights = _weights(points, sizes, chance, prior)
    objective: dict[int, Fraction] = {}
    for number, point in enumerate(points):
        answer = 0 if sum(point) >= least else 1
        for column, factor in program.prefix(number, (answer,))[0].items():
            objective[column] = factor * weights[point]
    best = program.maximise(objective)
    if best is None or not best.exact:
        raise ProblemError("sizes", list(sizes), "make a program that was not decided exactly", "use a smaller table")
    rows = program.rows(best.point)
    mechanism = Mechanism(graph, preferences, SharedRows.from_rows(rows))
    total = sum(weights.values(), Fraction(0))
    return PriorOptimum(mechanism, total - best.value, program.event_multipliers(best))


def _name(point: Sequence[int]) -> str:
    return ",".join(map(str, point))


def _truth(points: Sequence[Point], least: int) -> dict[str, str]:
    return {_name(point): "yes" if sum(point) >= least else "no" for point in points}


def _grid(points: Sequence[Point], levels: Sequence[Epsilon], sizes: Sequence[int], delta: Any) -> DatasetGraph:
    promised = [level(epsilon, delta) for epsilon in levels]
    edges = [
        (_name(at), _name((*at[:g], at[g] + 1, *at[g + 1 :])), promised[g])
        for at in points
        for g in range(len(sizes))
        if at[g] < sizes[g]
    ]
    return DatasetGraph.from_edges(map(_name, points), edges)


def _weights(
    points: Sequence[Point], sizes: Sequence[int], chance: Any, prior: Mapping[Point, Any] | None
) -> dict[Point, Fraction]:
    if prior is not None:
        return {point: read_probability(prior.get(point, 0), name="prior", error=ProblemError) for point in points}
    yes = read_probability(chance, name="chance", error=ProblemError)
    return {
        point: prod(
            (comb(size, count) * yes**count * (1 - yes) ** (size - count) for size, count in zip(sizes, point)),
            start=Fraction(1),
        )
        for point in points
    }
