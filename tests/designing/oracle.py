"""An oracle that shares nothing with the designer: all events of all edges as one linear program, solved by HiGHS."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from optimaldp.graphs.problem import Problem

TOLERANCE = 1e-7


class Oracle:
    """All private extensions of a small problem with rational levels."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.q = len(problem.answers)
        rows, bounds = [], []
        events = [e for k in range(1, self.q) for e in combinations(range(self.q), k)]
        for u, v, level in problem.graph.edges():
            for tail, head, promises in ((u, v, level.forward), (v, u, level.backward)):
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
