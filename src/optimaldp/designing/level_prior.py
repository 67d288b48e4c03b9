"""The least average error for people with levels of their own and a public prior: a linear program on the grid of counts.

A point of the grid says how many people of each level say yes; an edge changes one person and carries that person's level. People
of one level are alike, so averaging a mechanism over their exchanges loses nothing, and the grid decides it for all mechanisms.
For small tables, with the multipliers that prove that nothing does better.

Where every ``e^epsilon`` is rational everything is exact. Elsewhere all levels are first made stricter by a relative 2^-48, which
leaves room to round the probabilities: then they are private exactly, and no farther from the least average than 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any

from optimaldp.designing.event_program import EventProgram
from optimaldp.designing.rational import round_down
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.laws.grid_law import GridLaw, Multiplier
from optimaldp.laws.prior import Counts, Prior, grid
from optimaldp.privacy import Epsilon, level
from optimaldp.privacy.numbers import read_probability

MOST_POINTS = 400  # of a grid that is solved exactly in a few seconds

_SLACK = 48  # bits by which an irrational level is made stricter
_ROUNDED = 96  # bits of a probability that are kept then, counted from the smaller side


def prior_optimum(
    least: int,
    levels: Sequence[Any],
    sizes: Sequence[int],
    *,
    chance: Any = Fraction(1, 2),
    prior: Mapping[Counts, Any] | None = None,
    delta: Any = 0,
) -> GridLaw:
    """The least average error of "at least *least* of them say yes" among all mechanisms that keep everybody's own level.

    The prior: everybody says yes independently with *chance*, or *prior* by point. **Guarantee.** The law is private on
    every edge exactly, and no private one has a smaller average error (levels other than ln(p/q): smaller by more than 1e-9).

    >>> prior_optimum(2, ["ln(2)", "ln(3)"], [1, 2]).average_error
    Fraction(1, 4)
    """
    require_small(sizes)
    known = [Epsilon.read(epsilon) for epsilon in levels]
    if prior is None:
        weights = Prior(read_probability(chance, name="chance", error=ProblemError)).weights(sizes)
    else:
        weights = {p: read_probability(prior.get(p, 0), name="prior", error=ProblemError) for p in grid(sizes)}
    spread = read_probability(delta, name="delta", error=ProblemError)
    return _solved(lambda total: total >= least, known, sizes, weights, spread)


def require_small(sizes: Sequence[int]) -> None:
    """Refuse a table whose grid is too large to be solved exactly."""
    points = prod(size + 1 for size in sizes)
    if points > MOST_POINTS:
        rule = (
            f"make {points:,} tables of counts by level, and the best average is worked out for at most {MOST_POINTS}"
        )
        raise ProblemError("level sizes", list(sizes), rule, "use the aim 'typical', or fewer people or levels")


@lru_cache(maxsize=32)
def optimum_for(
    truth: tuple[bool, ...], levels: tuple[tuple[Epsilon, int], ...], prior: Prior, delta: Fraction
) -> GridLaw:
    """The same for a question: *truth* says for each number of yes in all whether it is the answer. The same is solved once."""
    sizes = [people for _, people in levels]
    require_small(sizes)
    return _solved(truth.__getitem__, [epsilon for epsilon, _ in levels], sizes, prior.weights(sizes), delta)


def _solved(
    truth: Callable[[int], bool],
    levels: Sequence[Epsilon],
    sizes: Sequence[int],
    weights: Mapping[Counts, Fraction],
    delta: Fraction,
) -> GridLaw:
    points = list(grid(sizes))
    exact = all(epsilon.exact_ratio is not None for epsilon in levels)
    graph = _graph(points, levels if exact else [_stricter(epsilon) for epsilon in levels], sizes, delta)
    right = {point: 0 if truth(sum(point)) else 1 for point in points}
    preferences = Preferences.read(graph, {_name(p): ("yes", "no")[a] for p, a in right.items()}, ["yes", "no"])
    program = EventProgram(Problem(graph, preferences))
    objective: dict[int, Fraction] = {}
    for number, point in enumerate(points):
        for column, factor in program.prefix(number, (right[point],))[0].items():
            objective[column] = factor * weights[point]
    best = program.maximise(objective)
    if best is None or not best.exact:
        raise ProblemError("level sizes", list(sizes), "make a program that was not decided", "use a smaller table")
    rows = program.rows(best.point)
    yes = tuple((point, row[0] if exact else _rounded(row[0])) for point, row in zip(points, rows))
    multipliers = tuple(
        Multiplier(points[one.tail], points[one.head], one.event[0], weight if exact else round_down(weight, _ROUNDED))
        for one, weight in program.event_multipliers(best)
    )
    error = sum((weights[point] * (1 - p if right[point] == 0 else p) for point, p in yes), Fraction(0))
    return GridLaw(yes, multipliers, error)


def _name(point: Counts) -> str:
    return ",".join(map(str, point))


def _stricter(epsilon: Epsilon) -> Epsilon:
    if epsilon.is_zero:
        return epsilon
    ratio = epsilon.ratio_below(bits=2 * _SLACK) * (1 - Fraction(1, 2**_SLACK))
    return Epsilon(Fraction(0), max(Fraction(1), round_down(ratio, _SLACK + 8)))


def _rounded(chance: Fraction) -> Fraction:
    """The smaller side loses a relative 2^-96, the other one gains it: far less than the level was made stricter by."""
    if chance in (0, 1):
        return chance
    return round_down(chance, _ROUNDED) if 2 * chance <= 1 else 1 - round_down(1 - chance, _ROUNDED)


def _graph(points: Sequence[Counts], levels: Sequence[Epsilon], sizes: Sequence[int], delta: Fraction) -> DatasetGraph:
    # Whoever weighs nothing loses nothing, no delta either.
    promised = [level(epsilon, 0 if epsilon.is_zero else delta) for epsilon in levels]
    edges = [
        (_name(at), _name((*at[:g], at[g] + 1, *at[g + 1 :])), promised[g])
        for at in points
        for g in range(len(sizes))
        if at[g] < sizes[g]
    ]
    return DatasetGraph.from_edges(map(_name, points), edges)
