"""The Gaussian part of an event program as it is, not as tangents: what the interior point method is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from optimaldp.designing.exact_lp import Constraint, Terms
from optimaldp.designing.smooth import Floats, GaussianRows, SmoothProgram
from optimaldp.designing.tangents import GaussianArc
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.certificate import Event

_MOST_ANSWERS = 6  # up to here every event of an arc is a row; with more there would be too many
_MOST_COLUMNS = 600  # of a dense program: some seconds

Affine = tuple[Terms, Fraction]


class CurvedProgram:
    """Probabilities of the free datasets, without the columns that are 0 everywhere."""

    def __init__(self, problem: Problem, column: dict[int, int], columns: int, impossible: set[int]) -> None:
        self._problem, self._column, self._q = problem, column, len(problem.answers)
        self.live = [j for j in range(columns) if j not in impossible]
        self._place = {j: k for k, j in enumerate(self.live)}
        self._columns = columns

    @property
    def fits(self) -> bool:
        """Whether it is small enough to be solved with dense matrices and all events."""
        return self._q <= _MOST_ANSWERS and len(self.live) <= _MOST_COLUMNS

    def maximise(
        self, objective: Terms, constraints: Iterable[Constraint], arcs: Sequence[GaussianArc], start: Floats
    ) -> Floats | None:
        """A point inside, a hair below the maximum; *constraints* are the linear ones beside the row sums."""
        rows, bounds = [], []
        for constraint in constraints:
            if any(j in self._place for j in constraint.terms):
                rows.append(self._vector(constraint.terms))
                bounds.append(float(constraint.bound))
        size = len(self.live)
        program = SmoothProgram(
            self._vector(objective),
            np.vstack([*rows, -np.eye(size)]),
            np.array([*bounds, *[0.0] * size]),
            np.array(
                [self._vector({first + a: Fraction(1) for a in range(self._q)}) for first in self._column.values()]
            ),
            self._gaussian_rows(arcs),
        )
        best = program.maximise(start[self.live])
        if best is None:
            return None
        point = np.zeros(self._columns)
        point[self.live] = best
        return point

    def _gaussian_rows(self, arcs: Sequence[GaussianArc]) -> GaussianRows:
        constraints = [
            (arc.mu, tail, head)
            for arc in arcs
            for event in self._events()
            for tail, head in [(self._probability(arc.tail, event), self._probability(arc.head, event))]
            if not (tail == head and not tail[0])  # never, or always, at both ends
        ]
        size = len(self.live)
        return GaussianRows(
            np.array([mu for mu, _, _ in constraints]),
            np.array([self._vector(tail[0]) for _, tail, _ in constraints]).reshape(-1, size),
            np.array([float(tail[1]) for _, tail, _ in constraints]),
            np.array([self._vector(head[0]) for _, _, head in constraints]).reshape(-1, size),
            np.array([float(head[1]) for _, _, head in constraints]),
        )

    def _events(self) -> Iterator[Event]:
        """All events in one direction of an arc are the complements of all events in the other."""
        return (event for k in range(1, self._q) for event in combinations(range(self._q), k))

    def _probability(self, vertex: int, event: Event) -> Affine:
        if vertex not in self._column:
            return {}, sum((self._problem.fixed[vertex][a] for a in event), Fraction(0))
        first = self._column[vertex]
        live = [a for a in range(self._q) if first + a in self._place]
        if all(a in event for a in live):
            return {}, Fraction(1)
        return {first + a: Fraction(1) for a in event if first + a in self._place}, Fraction(0)

    def _vector(self, terms: Terms) -> Floats:
        vector = np.zeros(len(self.live))
        for j, c in terms.items():
            if j in self._place:
                vector[self._place[j]] += float(c)
        return vector
