"""An oracle that shares nothing with the designer: all events of all edges as one linear program, solved by HiGHS."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, level

TOLERANCE = 1e-7


class Oracle:
    """All private extensions of a small problem with rational levels."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.q = len(problem.answers)
        rows, bounds = [], []
        events = [e for k in range(1, self.q) for e in combinations(range(self.q), k)]
        for u, v, own in problem.graph.edges():
            for tail, head, promises in ((u, v, own.forward), (v, u, own.backward)):
                for promise in promises:
                    for event in events:
                        row = np.zeros(len(problem.graph) * self.q)
                        for answer in event:
                            row[self.at(problem.graph.numbers[head], answer)] += 1
                            row[self.at(problem.graph.numbers[tail], answer)] -= float(promise.epsilon.exact_ratio)
                        rows.append(row)
                        bounds.append(float(promise.delta))
        self.rows = np.array(rows) if rows else np.zeros((0, len(problem.graph) * self.q))
        self.bounds = bounds
        self.equal = np.kron(np.eye(len(problem.graph)), np.ones(self.q))

    def at(self, vertex: int, answer: int) -> int:
        return vertex * self.q + answer

    def maximum(self, objective: np.ndarray) -> tuple[float, np.ndarray] | None:
        limits = [(0.0, 1.0)] * len(objective)
        for vertex, row in self.problem.fixed.items():
            for answer in range(self.q):
                limits[self.at(vertex, answer)] = (float(row[answer]),) * 2
        found = linprog(
            -objective, self.rows, self.bounds, self.equal, np.ones(len(self.problem.graph)), limits, method="highs"
        )
        return None if found.status == 2 else (-found.fun, found.x)

    def prefixes(self) -> list[np.ndarray]:
        vectors = []
        for vertex in range(len(self.problem.graph)):
            order = self.problem.preferences.order(vertex)
            for k in range(1, self.q):
                row = np.zeros(len(self.problem.graph) * self.q)
                for answer in order[:k]:
                    row[self.at(vertex, answer)] = 1
                vectors.append(row)
        return vectors

    def decide(self) -> tuple[str, list[float] | None]:
        """The status and, if optimal, every prefix sum of the optimum."""
        prefixes = self.prefixes()
        best = self.maximum(np.sum(prefixes, axis=0))
        if best is None:
            return "infeasible", None
        maxima = []
        for prefix in prefixes:
            single = self.maximum(prefix)
            assert single is not None
            maxima.append(single[0])
        attained = [float(prefix @ best[1]) for prefix in prefixes]
        optimal = all(m - a <= TOLERANCE for m, a in zip(maxima, attained))
        return ("optimal", maxima) if optimal else ("no-optimum", None)


RATIOS = ["1", "11/10", "5/4", "3/2", "2", "3", "10"]
DELTAS = ["0", "0", "0", "1/100", "1/10", "1/4", "1"]


def random_promises(rng: random.Random) -> tuple[Bound, ...]:
    count = rng.choice([1, 1, 1, 2])
    return tuple(
        Bound(Epsilon(Fraction(0), Fraction(rng.choice(RATIOS))), Fraction(rng.choice(DELTAS))) for _ in range(count)
    )


def random_problem(seed: int) -> Problem:
    """A few datasets, three or four answers, levels that differ, also by direction, and parallel edges."""
    rng = random.Random(seed)
    n, q = rng.randint(2, 7), rng.choice([3, 3, 3, 4])
    answers = tuple("abcd"[:q])
    names = [str(v) for v in range(n)]
    few = [level(f"ln({r})", d) for r, d in (("2", 0), ("3", "1/10"))]
    edges = []
    for v in range(1, n):
        edges.append((names[rng.randrange(v)], names[v]))
    edges += [tuple(rng.sample(names, 2)) for _ in range(rng.randint(0, n))]
    alike = rng.random() < 0.5  # few levels make classes, many do not
    levelled = []
    for u, v in edges:
        ahead = random_promises(rng)
        own = ApproximateDP(ahead, ahead if rng.random() < 0.7 else random_promises(rng))
        levelled.append((u, v, rng.choice(few) if alike else own))
    orders = [tuple(rng.sample(answers, q)) for _ in range(rng.choice([2, 3]))]
    wants = {name: rng.choice(orders) for name in names}
    return Problem(
        DatasetGraph.from_edges(names, levelled),
        Preferences.read(DatasetGraph.from_edges(names, levelled), wants, answers),
        {},
        "raised",
    )
