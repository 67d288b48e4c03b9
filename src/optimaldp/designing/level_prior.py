"""The least average error for people with levels of their own and a public prior: a linear program on the grid of counts.

A point of the grid says how many people of each level say yes; an edge changes one person and carries that person's level. People
of one level are alike, so averaging a mechanism over their exchanges loses nothing, and the grid decides it for all mechanisms.
For small tables, with the multipliers that prove that nothing does better.

Where every ``e^epsilon`` is rational and the grid has at most 100 points everything is exact. Elsewhere the program is solved in
floating point, and a fair coin is mixed in, as little as makes every privacy constraint hold exactly; the multipliers then prove
how far from the least average that is: no farther than 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any

from optimaldp.designing.event_program import EventProgram
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.laws.grid_law import GridLaw, Multiplier
from optimaldp.laws.prior import Point, Prior, grid
from optimaldp.privacy import Epsilon, level
from optimaldp.privacy.numbers import read_probability
from optimaldp.programs.linear import Solution, solve_floats

MOST_POINTS = 400  # of a grid that is solved in a second

_EXACT_POINTS = 100  # of a grid that is solved exactly: where many tables are very unlikely, that takes long
_GRID = 2**64  # what was found in floating point is rounded to multiples of 1/_GRID


def prior_optimum(
    least: int,
    levels: Sequence[Any],
    sizes: Sequence[int],
    *,
    chance: object = Fraction(1, 2),
    prior: Mapping[Point, Any] | None = None,
    delta: object = 0,
) -> GridLaw:
    """The least average error of "at least *least* of them say yes" among all mechanisms that keep everybody's own level.

    The prior: everybody says yes independently with *chance*, or *prior* by point. **Guarantee.** The law is private on
    every edge exactly, and no private one has a smaller average error; with levels other than ln(p/q), or more than 100 points,
    none is smaller by more than 1e-6.

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
    weights: Mapping[Point, Fraction],
    delta: Fraction,
) -> GridLaw:
    points = list(grid(sizes))
    right = {point: 0 if truth(sum(point)) else 1 for point in points}
    graph = _graph(points, levels, sizes, delta)
    preferences = Preferences.read(graph, {_name(p): ("yes", "no")[a] for p, a in right.items()}, ["yes", "no"])
    program = EventProgram(Problem(graph, preferences))
    objective: dict[int, Fraction] = {}
    for number, point in enumerate(points):
        for column, factor in program.prefix(number, (right[point],))[0].items():
            objective[column] = factor * weights[point]
    exact = len(points) <= _EXACT_POINTS and all(epsilon.exact_ratio is not None for epsilon in levels)
    best = program.maximise(objective) if exact else _nearly(program, objective)
    if best is None:
        raise ProblemError("level sizes", list(sizes), "make a program that was not decided", "use a smaller table")
    yes = {point: row[0] for point, row in zip(points, program.rows(best.point))}
    if not best.exact:
        yes = _repaired(yes, levels, delta)
    multipliers = tuple(
        Multiplier(points[one.tail], points[one.head], one.event[0], weight)
        for one, weight in program.event_multipliers(best)
    )
    error = sum((weights[point] * (1 - p if right[point] == 0 else p) for point, p in yes.items()), Fraction(0))
    return GridLaw(tuple(yes.items()), multipliers, error)


def _nearly(program: EventProgram, objective: dict[int, Fraction]) -> Solution | None:
    """What floating point finds, on a grid of short fractions; multipliers are never negative."""
    floats = solve_floats(objective, program.constraints(), program.columns)
    if floats is None:
        return None
    point = [Fraction(round(min(1.0, max(0.0, x)) * _GRID), _GRID) for x in floats.point.tolist()]
    multipliers = {i: Fraction(round(m * _GRID), _GRID) for i, m in enumerate(floats.multipliers.tolist()) if m > 0}
    return Solution(point, Fraction(0), multipliers, exact=False)


def _repaired(yes: Mapping[Point, Fraction], levels: Sequence[Epsilon], delta: Fraction) -> dict[Point, Fraction]:
    """Mix in a fair coin until everything is private: at the coin each constraint has room of (ratio - 1)/2 + delta.

    Whoever weighs nothing must not show at all: there the probabilities are averaged first.
    """
    chances = dict(yes)
    for place in (g for g, epsilon in enumerate(levels) if epsilon.is_zero):
        lines: dict[Point, list[Point]] = {}
        for point in chances:
            lines.setdefault((*point[:place], *point[place + 1 :]), []).append(point)
        for line in lines.values():
            mean = sum((chances[point] for point in line), Fraction(0)) / len(line)
            chances |= dict.fromkeys(line, Fraction(round(mean * _GRID), _GRID))
    share = Fraction(0)
    for g, epsilon in enumerate(levels):
        ratio = epsilon.ratio_below(bits=64)
        if epsilon.is_zero:
            continue
        for at, here in chances.items():
            above = chances.get((*at[:g], at[g] + 1, *at[g + 1 :]))
            if above is not None:
                over = max(max(a - ratio * b, b - ratio * a) for a, b in ((here, above), (1 - here, 1 - above))) - delta
                room = (ratio - 1) / 2 + delta
                share = max(share, over / (over + room) if over > 0 else share)
    share = Fraction(-(-share * _GRID // 1), _GRID)
    return {point: (1 - share) * chance + share / 2 for point, chance in chances.items()}


def _name(point: Point) -> str:
    return ",".join(map(str, point))


def _graph(points: Sequence[Point], levels: Sequence[Epsilon], sizes: Sequence[int], delta: Fraction) -> DatasetGraph:
    # Whoever weighs nothing loses nothing, no delta either.
    promised = [level(epsilon, 0 if epsilon.is_zero else delta) for epsilon in levels]
    edges = [
        (_name(at), _name((*at[:g], at[g] + 1, *at[g + 1 :])), promised[g])
        for at in points
        for g in range(len(sizes))
        if at[g] < sizes[g]
    ]
    return DatasetGraph.from_edges(map(_name, points), edges)
