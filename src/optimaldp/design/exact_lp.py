"""A linear program solved in floating point and then exactly: HiGHS finds the vertex, rationals confirm it.

maximise c x subject to A x <= b, x >= 0 (equalities are written as two inequalities). HiGHS says which constraints are
tight; solving those exactly gives the vertex and the multipliers, and exact checks show that both are feasible. Then
the value is proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat

Terms = dict[int, Fraction]  # column -> coefficient

_TIGHT = 1e-7
_EXACT_COLUMNS = 400  # beyond this the exact solve takes longer than anybody waits


@dataclass(frozen=True)
class Constraint:
    """``terms · x <= bound``."""

    terms: Terms
    bound: Fraction

    def slack(self, x: Sequence[Fraction]) -> Fraction:
        return self.bound - sum((c * x[j] for j, c in self.terms.items()), Fraction(0))


@dataclass(frozen=True)
class Solution:
    """An optimum: the point, its value, and the multiplier of each constraint. ``exact`` if rationals proved it."""

    point: list[Fraction]
    value: Fraction
    multipliers: dict[int, Fraction]
    exact: bool


@dataclass(frozen=True)
class Floats:
    """What HiGHS found."""

    point: np.ndarray
    multipliers: np.ndarray
    slacks: np.ndarray


def maximise(objective: Terms, constraints: Sequence[Constraint], columns: int) -> Solution | None:
    """The maximum, or ``None`` if nothing is feasible."""
    found = solve_floats(objective, constraints, columns)
    if found is None:
        return None
    if columns <= _EXACT_COLUMNS and (solution := _confirm(objective, constraints, columns, found)) is not None:
        return solution
    point = [Fraction(float(x)).limit_denominator(10**12) for x in found.point]
    value = sum((c * point[j] for j, c in objective.items()), Fraction(0))
    return Solution(point, value, {}, exact=False)


def solve_floats(objective: Terms, constraints: Sequence[Constraint], columns: int) -> Floats | None:
    """Solve by HiGHS (dual simplex, so that the result is a vertex)."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    entries = [(i, j, float(c)) for i, row in enumerate(constraints) for j, c in row.terms.items()]
    rows, cols, values = zip(*entries) if entries else ((), (), ())
    matrix = coo_array((values, (rows, cols)), shape=(len(constraints), columns)).tocsr()
    cost = np.zeros(columns)
    for j, c in objective.items():
        cost[j] = -float(c)
    result = linprog(
        cost,
        A_ub=matrix,
        b_ub=[float(row.bound) for row in constraints],
        bounds=(0, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        return None
    return Floats(result.x, -result.ineqlin.marginals, result.ineqlin.residual)


def _confirm(objective: Terms, constraints: Sequence[Constraint], columns: int, found: Floats) -> Solution | None:
    """Solve the tight constraints exactly and check the vertex and its multipliers; ``None`` if that fails."""
    basis = _basis(constraints, columns, found)
    if basis is None:
        return None
    rows, zeros = basis
    live = [j for j in range(columns) if j not in zeros]
    place = {j: k for k, j in enumerate(live)}
    square = fmpq_mat(len(live), len(live))
    right = fmpq_mat(len(live), 1)
    for k, i in enumerate(rows):
        right[k, 0] = _rational(constraints[i].bound)
        for j, c in constraints[i].terms.items():
            if j in place:
                square[k, place[j]] = _rational(c)
    cost = fmpq_mat(len(live), 1, [_rational(objective.get(j, Fraction(0))) for j in live])
    try:
        values = square.solve(right) if live else right
        weights = square.transpose().solve(cost) if live else cost
    except ZeroDivisionError:
        return None
    point = [Fraction(0)] * columns
    for j, k in place.items():
        point[j] = _fraction(values[k, 0])
    multipliers = {i: _fraction(weights[k, 0]) for k, i in enumerate(rows) if weights[k, 0] != 0}
    if not _proves(objective, constraints, columns, point, multipliers):
        return None
    return Solution(point, sum((c * point[j] for j, c in objective.items()), Fraction(0)), multipliers, exact=True)


def _proves(
    objective: Terms,
    constraints: Sequence[Constraint],
    columns: int,
    point: list[Fraction],
    weights: dict[int, Fraction],
) -> bool:
    """Whether the point and the multipliers are feasible; they are complementary by construction."""
    if any(x < 0 for x in point) or any(w < 0 for w in weights.values()):
        return False
    if any(row.slack(point) < 0 for row in constraints):
        return False
    reduced = [-objective.get(j, Fraction(0)) for j in range(columns)]
    for i, weight in weights.items():
        for j, c in constraints[i].terms.items():
            reduced[j] += weight * c
    return all(r >= 0 for r in reduced)


def _basis(constraints: Sequence[Constraint], columns: int, found: Floats) -> tuple[list[int], set[int]] | None:
    """Independent tight constraints and zero variables that fix the vertex; those with a multiplier come first."""
    tight: list[int] = np.flatnonzero(found.slacks < _TIGHT).tolist()
    tight.sort(key=lambda i: -abs(found.multipliers[i]))
    at_zero = [j for j in range(columns) if found.point[j] < _TIGHT]
    # A variable at zero may be basic all the same (a degenerate vertex): let the constraints with multipliers choose first.
    chosen, pivots = _independent([constraints[i].terms for i in tight], columns, set(at_zero))
    rows = [tight[k] for k in chosen]
    missing = [j for j in range(columns) if j not in pivots]
    if any(j not in set(at_zero) for j in missing):
        return None
    return rows, set(missing)


def _independent(rows: list[Terms], columns: int, last: set[int]) -> tuple[list[int], set[int]]:
    """Gaussian elimination, row by row: which rows are independent, and the column that each one settles.

    Columns in *last* (variables at zero) are used as pivots only when a row has no other.
    """
    kept: list[tuple[int, dict[int, fmpq]]] = []
    chosen: list[int] = []
    pivots: set[int] = set()
    for number, terms in enumerate(rows):
        if len(chosen) == columns:
            break
        work = {j: _rational(c) for j, c in terms.items()}
        for pivot, row in kept:
            factor = work.get(pivot)
            if factor is None or factor == 0:
                continue
            for j, c in row.items():
                work[j] = work.get(j, fmpq(0)) - factor * c
        live = [j for j, c in work.items() if c != 0 and j not in last]
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
