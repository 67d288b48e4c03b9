"""A linear program solved in floating point and then exactly: HiGHS finds the vertex, rationals confirm it.

maximise c x subject to A x <= b, x >= 0 (equalities are written as two inequalities). HiGHS says which constraints are
tight; the exact simplex method starts from those, mostly to find that nothing is left to do. Then the value is proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf

import numpy as np
from flint import fmpq

from optimaldp.designing.exact_simplex import Infeasible, Simplex, SparseRow
from optimaldp.errors import ProblemError
from optimaldp.extras import requiring

Terms = dict[int, Fraction]  # column -> coefficient

_TIGHT_SLACK = 1e-7
_LARGEST_COEFFICIENT = 10**4  # coefficients beyond this leave the tolerances of HiGHS without a meaning
_LEAST_COEFFICIENT = Fraction(1, 10**8)  # of the largest one
_VACUOUS_BOUND = Fraction(10**9)
_EXACT_COLUMNS = 1500  # beyond this the exact solve takes longer than anybody waits
_MOST_PIVOTS = 2000  # of the exact simplex; from a basis that HiGHS found it needs a handful at most
_DONE, _INFEASIBLE = 0, 2  # what HiGHS says, in scipy's words


@dataclass(frozen=True)
class Constraint:
    """``terms · x <= bound``."""

    terms: Terms
    bound: Fraction

    @cached_property
    def exact(self) -> SparseRow:
        """The same in the arithmetic of the exact solver."""
        return SparseRow({j: _rational(c) for j, c in self.terms.items()}, _rational(self.bound))

    @cached_property
    def floats(self) -> tuple[list[int], list[float], float]:
        """Columns, coefficients and bound for HiGHS, which says where to begin.

        Divided by what is too large for it, as ``e^epsilon`` may be; what is then too small for it is 0, and a bound that no
        probabilities reach is a large one.
        """
        largest = max((abs(c) for c in self.terms.values()), default=Fraction(1))
        scale = largest if largest > _LARGEST_COEFFICIENT else Fraction(1)
        kept = {j: float(c / scale) for j, c in self.terms.items() if scale == 1 or abs(c) > scale * _LEAST_COEFFICIENT}
        return list(kept), list(kept.values()), float(min(self.bound / scale, _VACUOUS_BOUND))


@dataclass(frozen=True)
class Solution:
    """An optimum: the point, its value, and the multiplier of each constraint. ``exact`` if rationals proved it."""

    point: list[Fraction]
    value: Fraction
    multipliers: dict[int, Fraction]
    exact: bool
    basis: tuple[int, ...] = ()  # of an exact solution: the constraints that fix the point


@dataclass(frozen=True)
class Floats:
    """What HiGHS found."""

    point: np.ndarray
    multipliers: np.ndarray
    slacks: np.ndarray


def maximise(
    objective: Terms, constraints: Sequence[Constraint], columns: int, floats: Floats | None = None
) -> Solution | None:
    """The maximum, or ``None`` if nothing is feasible; *floats* is what HiGHS said, if it was asked already."""
    floats = floats or solve_floats(objective, constraints, columns)
    if floats is None:
        return None
    if columns <= _EXACT_COLUMNS:
        try:
            solution = _confirm(objective, constraints, columns, floats)
        except Infeasible:
            return None
        if solution is not None:
            return solution
    return inexact(objective, floats)


def inexact(objective: Terms, floats: Floats) -> Solution:
    """What HiGHS found, as a solution that nothing but floats stands behind."""
    point = [Fraction(float(x)).limit_denominator(10**12) for x in floats.point]
    value = sum((c * point[j] for j, c in objective.items()), Fraction(0))
    multipliers = {i: Fraction(float(w)) for i, w in enumerate(floats.multipliers) if 0 < w < inf}  # HiGHS may say inf
    return Solution(point, value, multipliers, exact=False)


class SharedBasis:
    """The basis of an exact solution, asked whether it proves the maximum of other objectives at the same point too."""

    def __init__(self, constraints: Sequence[Constraint], columns: int, solution: Solution) -> None:
        self._count, self._basis = len(constraints), solution.basis
        self._simplex = Simplex({}, [c.exact for c in constraints], columns)

    def multipliers(self, objective: Terms) -> dict[int, Fraction] | None:
        """Multipliers that prove that the solution maximises *objective*, or ``None`` if this basis does not show it."""
        weights = self._simplex.weights(self._basis, {j: _rational(c) for j, c in objective.items()})
        if any(weight < 0 for weight in weights.values()):
            return None
        return {i: _fraction(w) for i, w in sorted(weights.items()) if w != 0 and i < self._count}


def solve_floats(objective: Terms, constraints: Sequence[Constraint], columns: int) -> Floats | None:
    """Solve by HiGHS (dual simplex, so that the result is a vertex); ``None`` if it finds that nothing is feasible."""
    with requiring("scipy"):
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

    parts = [constraint.floats for constraint in constraints]
    first = np.cumsum([0] + [len(columns_of) for columns_of, _, _ in parts])
    entries = ([c for _, cs, _ in parts for c in cs], [j for js, _, _ in parts for j in js], first)
    cost = np.zeros(columns)
    for j, c in objective.items():
        cost[j] = -float(c)
    result = linprog(
        cost,
        A_ub=csr_array(entries, shape=(len(constraints), columns)),
        b_ub=[bound for _, _, bound in parts],
        bounds=(0, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status == _DONE:
        return Floats(result.x, -result.ineqlin.marginals, result.ineqlin.residual)
    if result.status == _INFEASIBLE:
        return None
    raise ProblemError(
        "problem", f"{columns} probabilities", "was not solved by HiGHS: " + " ".join(str(result.message).split())
    )


def _confirm(objective: Terms, constraints: Sequence[Constraint], columns: int, floats: Floats) -> Solution | None:
    """Walk from the tight constraints to the exact optimum; ``None`` if that takes too long."""
    basis = _basis(constraints, columns, floats)
    cost = {j: _rational(c) for j, c in objective.items()}
    vertex = Simplex(cost, [c.exact for c in constraints], columns).solve(basis, most_pivots=_MOST_PIVOTS)
    if vertex is None:
        return None
    point = [_fraction(x) for x in vertex.point]
    weights = {i: _fraction(w) for i, w in sorted(vertex.multipliers.items()) if w != 0 and i < len(constraints)}
    value = sum((c * point[j] for j, c in objective.items()), Fraction(0))
    return Solution(point, value, weights, exact=True, basis=vertex.basis)


def _basis(constraints: Sequence[Constraint], columns: int, floats: Floats) -> list[int]:
    """Independent tight constraints, those with a multiplier first; ``x_j >= 0`` is numbered behind them all."""
    tight: list[int] = np.flatnonzero(floats.slacks < _TIGHT_SLACK).tolist()
    tight.sort(key=lambda i: -abs(floats.multipliers[i]))
    at_zero = {j for j in range(columns) if floats.point[j] < _TIGHT_SLACK}
    # A variable at zero may be basic all the same (a degenerate vertex): let the constraints with multipliers choose first.
    chosen, pivots = _independent([constraints[i].exact for i in tight], columns, at_zero)
    return [tight[k] for k in chosen] + [len(constraints) + j for j in range(columns) if j not in pivots]


def _independent(rows: list[SparseRow], columns: int, last: set[int]) -> tuple[list[int], set[int]]:
    """Gaussian elimination, row by row: which rows are independent, and the column that each one settles.

    Columns in *last* (variables at zero) settle nothing.
    """
    kept: list[tuple[int, dict[int, fmpq]]] = []
    chosen: list[int] = []
    pivots: set[int] = set()
    for number, candidate in enumerate(rows):
        if len(chosen) == columns - len(last):
            break
        work = {j: c for j, c in candidate.terms.items() if j not in last}
        for pivot, row in kept:
            factor = work.get(pivot)
            if factor is None or factor == 0:
                continue
            for j, c in row.items():
                work[j] = work.get(j, fmpq(0)) - factor * c
        live = [j for j, c in work.items() if c != 0]
        if not live:
            continue
        pivot = live[0]
        scale = work[pivot]
        kept.append((pivot, {j: c / scale for j, c in work.items() if c != 0}))
        chosen.append(number)
        pivots.add(pivot)
    return chosen, pivots


def _rational(number: Fraction) -> fmpq:
    return fmpq(number.numerator, number.denominator)


def _fraction(number: fmpq) -> Fraction:
    return Fraction(int(number.p), int(number.q))
