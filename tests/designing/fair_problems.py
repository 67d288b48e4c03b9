"""Random problems with two answers, and a linear program that finds the fair mechanism by raising everybody at once."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.privacy import ApproximateDP, Bound, Epsilon

RATIOS = ("1", "11/10", "5/4", "3/2", "2", "3", "10")
DELTAS = ("0", "0", "0", "1/100", "1/10", "1/4")

_ROUNDING = 1e-7


def random_problem(seed: int, *, most: int = 7, fixed: bool = False) -> Problem:
    """Parallel and directed edges, several promises at once, epsilon 0, delta, parts without a boundary."""
    rng = random.Random(seed)
    size = rng.randint(2, most)

    def promises() -> tuple[Bound, ...]:
        return tuple(
            Bound(Epsilon(Fraction(0), Fraction(rng.choice(RATIOS))), Fraction(rng.choice(DELTAS)))
            for _ in range(rng.choice((1, 1, 1, 2)))
        )

    edges = []
    for u in range(size):
        for v in range(u):
            for _ in range(rng.choice((0, 0, 1, 1, 1, 2)) if size > 2 else 1):
                ahead = promises()
                edges.append((str(u), str(v), ApproximateDP(ahead, promises() if rng.random() < 0.3 else ahead)))
    graph = DatasetGraph.from_edges(map(str, range(size)), edges)
    truth = Preferences.of_truth(("a", "b"), np.array([rng.randint(0, 1) for _ in range(size)]))
    if not fixed:
        return Problem(graph, truth, {}, "fair")
    value = Fraction(rng.randint(2, 8), 10)
    chosen = rng.sample(range(size), rng.randint(1, max(1, size // 3)))
    return Problem(graph, truth, dict.fromkeys(chosen, (value, 1 - value)))


def promises_of(problem: Problem) -> tuple[list[list[float]], list[float]]:
    """Every promise as a row of ``A p <= b``, p the chances of the first answer."""
    graph, rows, limits = problem.graph, [], []
    for u, v, k in zip(graph.tails.tolist(), graph.heads.tolist(), graph.level_of_edge.tolist()):
        level = graph.levels[k]
        for above, below, bounds in ((v, u, level.forward), (u, v, level.backward)):
            for bound in bounds:
                ratio, delta = float(bound.epsilon.exact_ratio), float(bound.delta)
                for sign in (1.0, -1.0):  # the first answer, and the second: (1 - p) <= E (1 - q) + delta
                    row = [0.0] * len(graph)
                    row[above], row[below] = sign, -sign * ratio
                    rows.append(row)
                    limits.append(delta if sign > 0 else delta + ratio - 1)
    return rows, limits


class Program:
    """The private mechanisms of a problem as a polytope of the chances of the true answers."""

    def __init__(self, problem: Problem) -> None:
        self.size = len(problem.graph)
        self.favourites = problem.preferences.favourites
        self.rows, self.limits = promises_of(problem)
        self.fixed = {v: float(row[0]) for v, row in problem.fixed.items()}

    def maximise(self, weights: np.ndarray, least: np.ndarray, *, together: np.ndarray | None = None) -> np.ndarray:
        """The chances that maximise a weighted sum, or with *together* the least of some of them (the last entry)."""
        from scipy.optimize import linprog

        # The true answer's chance is p for the first answer and 1 - p for the second.
        sign = np.where(self.favourites == 0, 1.0, -1.0)
        bounds = [(self.fixed.get(v, 0.0), self.fixed.get(v, 1.0)) for v in range(self.size)]
        rows, limits = [[*row, 0.0] for row in self.rows], list(self.limits)
        for v in range(self.size):  # t(v) >= least(v), and >= z where it is raised together
            row = [0.0] * (self.size + 1)
            row[v] = -sign[v]
            rows.append(row)
            limits.append(float(-least[v] + (self.favourites[v] == 1)))
            if together is not None and together[v]:
                rows.append([*row[:-1], 1.0])
                limits.append(float(self.favourites[v] == 1))
        cost = np.zeros(self.size + 1)
        cost[: self.size] = -weights * sign
        cost[self.size] = -1.0 if together is not None else 0.0
        found = linprog(cost, np.array(rows), np.array(limits), bounds=[*bounds, (0.0, 1.0)], method="highs")
        assert found.status == 0, found.message
        chances = np.where(self.favourites == 0, found.x[:-1], 1.0 - found.x[:-1])
        return np.append(chances, found.x[-1])


def filled(problem: Problem) -> np.ndarray:
    """Progressive filling: raise everybody together, stop those who cannot rise further, go on with the others."""
    program = Program(problem)
    rising = np.ones(program.size, dtype=bool)
    rising[list(problem.fixed)] = False
    least = np.zeros(program.size)
    least[~rising] = [float(problem.fixed[v][int(program.favourites[v])]) for v in np.flatnonzero(~rising)]
    while rising.any():
        level = program.maximise(np.zeros(program.size), least - _ROUNDING, together=rising)[-1]
        least[rising] = level
        for v in np.flatnonzero(rising).tolist():
            weights = np.zeros(program.size)
            weights[v] = 1.0
            if program.maximise(weights, least - _ROUNDING)[v] <= level + 50 * _ROUNDING:
                rising[v] = False
    return least


def most_gained(problem: Problem, chances: np.ndarray) -> float:
    """By how much the sum of all chances can grow while none falls: 0 where nothing dominates."""
    return float((Program(problem).maximise(np.ones(len(chances)), chances - 1e-12)[:-1] - chances).sum())


def chances_of(problem: Problem, mechanism: object) -> np.ndarray:
    table = mechanism.to_array()  # type: ignore[attr-defined]
    return table[np.arange(len(table)), problem.preferences.favourites]
