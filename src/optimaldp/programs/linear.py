"""One linear program: rows to HiGHS, its vertex to rationals, and the multipliers that prove it.

maximise c x subject to A x <= b, x >= 0 (equalities are written as two inequalities). HiGHS says which constraints are
tight; the exact simplex method starts from those, mostly to find that nothing is left to do. Then the value is proven.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from flint import fmpq

from optimaldp.errors import ProblemError
from optimaldp.extras import requiring

# HiGHS, asked in one place: the least ``cost · x`` with ``rows · x <= bounds``, ``equal · x = values`` and ``x >= 0``.
#
# Its floats prove nothing: a proof takes the tight constraints to rationals (:mod:`optimaldp.programs.linear`), or the
# prices to a referee.


Floats = npt.NDArray[np.float64]
Method = Literal[
    "highs", "highs-ds", "highs-ipm"
]  # its own choice, the dual simplex (which ends at a vertex), interior point

_SOLVED, _INFEASIBLE = 0, 2  # scipy's words
_PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_NONE: Floats = np.zeros(0)


@dataclass(frozen=True, eq=False)
class HighsAnswer:
    """What HiGHS found: the point, its cost, and what each constraint costs.

    ``row_prices`` are not negative at an optimum; ``equal_prices`` are what the cost grows by with each value, ``zero_prices``
    with each lower bound. Everything is empty where nothing was ``solved``.
    """

    solved: bool
    infeasible: bool
    message: str
    point: Floats
    value: float
    row_prices: Floats
    equal_prices: Floats
    zero_prices: Floats
    slacks: Floats


def minimise(
    cost: Any,
    *,
    rows: Any = None,
    bounds: Any = None,
    equal: Any = None,
    values: Any = None,
    method: Method = "highs",
    precise: bool = False,
) -> HighsAnswer:
    """Solve one program; *precise* asks for ten digits where seven are usual."""
    with requiring("scipy"):
        from scipy.optimize import linprog

    found = linprog(
        cost,
        A_ub=rows,
        b_ub=bounds,
        A_eq=equal,
        b_eq=values,
        bounds=(0, None),
        method=method,
        options=_PRECISE if precise else {},
    )
    message = " ".join(str(found.message).split())
    if found.status != _SOLVED:
        nothing = (_NONE, float("nan"), _NONE, _NONE, _NONE, _NONE)
        return HighsAnswer(False, found.status == _INFEASIBLE, message, *nothing)
    return HighsAnswer(
        True,
        False,
        message,
        np.asarray(found.x),
        float(found.fun),
        -np.asarray(found.ineqlin.marginals),
        np.asarray(found.eqlin.marginals),
        np.asarray(found.lower.marginals),
        np.asarray(found.ineqlin.residual),
    )


# A linear program solved in floating point and then exactly: HiGHS finds the vertex, rationals confirm it.
#
# maximise c x subject to A x <= b, x >= 0 (equalities are written as two inequalities). HiGHS says which constraints are tight;
# the exact simplex method starts from those, mostly to find that nothing is left to do. Then the value is proven.


_ZERO = fmpq(0)

# Exact elimination of sparse square matrices: the bases of linear programs on graphs, where each constraint has few entries.
#
# A dense solve in rationals takes minutes at a thousand columns. Here the next pivot is in the row with the fewest entries, in
# the column with the fewest (after Markowitz), so on graphs little fills in.


class SparseLU:
    """A square matrix by rows (each a mapping from columns to entries), factored once; ``ZeroDivisionError`` if singular."""

    def __init__(self, rows: Sequence[Mapping[int, fmpq]]) -> None:
        self._work = [dict(row) for row in rows]
        self._steps: list[
            tuple[int, int, list[tuple[int, fmpq]]]
        ] = []  # pivot row, pivot column, (row, factor) below it
        self._eliminate()

    def _eliminate(self) -> None:
        holders: dict[int, set[int]] = {}
        for i, row in enumerate(self._work):
            for j in row:
                holders.setdefault(j, set()).add(i)
        queue = [(len(row), i) for i, row in enumerate(self._work)]
        heapify(queue)
        done: set[int] = set()
        while queue:
            size, i = heappop(queue)
            if i in done or size != len(self._active(i, holders)):
                if i not in done:
                    heappush(queue, (len(self._active(i, holders)), i))
                continue
            self._pivot(i, holders, done, queue)

    def _active(self, i: int, holders: Mapping[int, set[int]]) -> list[int]:
        return [j for j in self._work[i] if j in holders]

    def _pivot(self, i: int, holders: dict[int, set[int]], done: set[int], queue: list[tuple[int, int]]) -> None:
        active = self._active(i, holders)
        if not active:
            raise ZeroDivisionError("the matrix is singular")
        column = min(active, key=lambda j: (len(holders[j]), j))
        pivot, own = self._work[i][column], self._work[i]
        below: list[tuple[int, fmpq]] = []
        done.add(i)
        for r in holders.pop(column):
            if r in done:
                continue
            row = self._work[r]
            factor = row.pop(column) / pivot
            for j in active:
                if j == column:
                    continue
                value = row.get(j, _ZERO) - factor * own[j]
                if value == 0:
                    row.pop(j, None)
                    holders[j].discard(r)
                else:
                    row[j] = value
                    holders[j].add(r)
            below.append((r, factor))
            heappush(queue, (len(self._active(r, holders)), r))
        self._steps.append((i, column, below))

    def solve(self, right: Sequence[fmpq]) -> dict[int, fmpq]:
        """The x with ``row_i · x = right_i``, by columns."""
        values = list(right)
        for i, _, below in self._steps:
            if values[i] != 0:
                for r, factor in below:
                    values[r] -= factor * values[i]
        x: dict[int, fmpq] = {}
        for i, column, _ in reversed(self._steps):
            total = values[i]
            for j, c in self._work[i].items():
                if j != column and (known := x.get(j)) is not None:
                    total -= c * known
            if total != 0:
                x[column] = total / self._work[i][column]
        return x

    def solve_transposed(self, columns: Mapping[int, fmpq]) -> list[fmpq]:
        """The weights of the rows whose sum is *columns*."""
        rest = dict(columns)
        weights = [_ZERO] * len(self._work)
        for i, column, _ in self._steps:
            value = rest.get(column, _ZERO)
            if value == 0:
                continue
            weight = value / self._work[i][column]
            weights[i] = weight
            for j, c in self._work[i].items():
                if j != column:
                    rest[j] = rest.get(j, _ZERO) - c * weight
        for i, _, below in reversed(self._steps):
            for r, factor in below:
                if weights[r] != 0:
                    weights[i] -= factor * weights[r]
        return weights


# The simplex method in rationals, for the last few steps that floating point cannot see.
#
# maximise c x subject to A x <= b, x >= 0, from a basis that is almost right: as many independent constraints (rows, or
# variables at zero) as there are variables, which together fix a point. Bland's rule picks the pivots, so it ends. What it
# returns is proven: a feasible point and feasible multipliers of the same value, or multipliers that show that nothing is
# feasible.


Sparse = Mapping[int, fmpq]


@dataclass(frozen=True)
class SparseRow:
    """``terms · x <= bound``."""

    terms: Sparse
    bound: fmpq

    def slack(self, x: Sequence[fmpq]) -> fmpq:
        total = self.bound
        for j, c in self.terms.items():
            total -= c * x[j]
        return total


@dataclass(frozen=True)
class Vertex:
    """A point where as many independent constraints are tight as there are variables."""

    point: list[fmpq]
    multipliers: dict[int, fmpq]  # of the basic constraints, variables at zero behind the rows; they may be negative
    basis: tuple[int, ...] = ()


class Infeasible(Exception):  # noqa: N818  (an answer, not a fault)
    """A sum of the constraints with weights that are not negative is contradictory."""


class Simplex:
    """One program; constraints are numbered rows first, then ``x_j >= 0`` as ``len(rows) + j``."""

    def __init__(self, objective: Sparse, rows: Sequence[SparseRow], columns: int) -> None:
        self._objective, self._rows, self._columns = objective, rows, columns
        self._last: tuple[object, SparseLU] | None = None

    def weights(self, basis: Sequence[int], terms: Sparse) -> dict[int, fmpq]:
        """How *terms* is a combination of the constraints of a basis: a proof of their maximum there if none is negative."""
        return self._multipliers(list(basis), terms)

    def solve(self, basis: Sequence[int], *, most_pivots: int) -> Vertex | None:
        """The optimum from *basis* (independent constraints); ``None`` if the basis is none, or it takes too many pivots.

        Raises :class:`Infeasible` if that is the truth.
        """
        try:
            feasible = self._make_feasible(list(basis), most_pivots)
            return None if feasible is None else self._make_best(feasible, most_pivots)
        except ZeroDivisionError:
            return None  # the constraints that were to fix a point are not independent

    def _make_feasible(self, basis: list[int], most_pivots: int) -> list[int] | None:
        """Dual simplex, for an objective that the basis is optimal for: negative multipliers are set to 0 first."""
        weights = {i: max(w, _ZERO) for i, w in self._multipliers(basis, self._objective).items()}
        for _ in range(most_pivots):
            entering = self._first_broken(self._point(basis))
            if entering is None:
                return basis
            share = self._multipliers(basis, self._terms(entering))
            allowed = [i for i in basis if share[i] > 0]
            if not allowed:
                raise Infeasible
            leaving = min(allowed, key=lambda i: (weights[i] / share[i], i))
            step = weights[leaving] / share[leaving]
            weights = {i: weights[i] - step * share[i] for i in basis} | {entering: step}
            del weights[leaving]
            basis = [entering if i == leaving else i for i in basis]
        return None

    def _make_best(self, basis: list[int], most_pivots: int) -> Vertex | None:
        """Primal simplex from a feasible basis."""
        for _ in range(most_pivots):
            weights = self._multipliers(basis, self._objective)
            point = self._point(basis)
            leaving = min((i for i in basis if weights[i] < 0), default=None)
            if leaving is None:
                return Vertex(point, weights, tuple(basis))
            entering = self._first_met(basis, point, self._direction(basis, leaving))
            if entering is None:
                return None  # unbounded: no program of probabilities is
            basis = [entering if i == leaving else i for i in basis]
        return None

    def _terms(self, number: int) -> Sparse:
        count = len(self._rows)
        return self._rows[number].terms if number < count else {number - count: fmpq(-1)}

    def _first_broken(self, point: Sequence[fmpq]) -> int | None:
        for i, row in enumerate(self._rows):
            if row.slack(point) < 0:
                return i
        return next((len(self._rows) + j for j, x in enumerate(point) if x < 0), None)

    def _first_met(self, basis: list[int], point: Sequence[fmpq], direction: Sequence[fmpq]) -> int | None:
        """The constraint that a walk from *point* along *direction* meets first."""
        basic, count = set(basis), len(self._rows)
        met: tuple[fmpq, int] | None = None
        for i in range(count + self._columns):
            if i in basic:
                continue
            speed = _dot(self._terms(i), direction)
            if speed > 0:
                slack = self._rows[i].slack(point) if i < count else point[i - count]
                if met is None or slack / speed < met[0]:
                    met = (slack / speed, i)
        return None if met is None else met[1]

    def _point(self, basis: list[int]) -> list[fmpq]:
        """Where the constraints of the basis are tight."""
        return self._solve(basis, {i: self._rows[i].bound for i in basis if i < len(self._rows)})

    def _direction(self, basis: list[int], leaving: int) -> list[fmpq]:
        """Away from one constraint of the basis, along all others."""
        return self._solve(basis, {leaving: fmpq(-1)})

    def _solve(self, basis: list[int], right: Mapping[int, fmpq]) -> list[fmpq]:
        """The x with ``terms(i) · x = right[i]`` (0 if not named) for every i of the basis."""
        count = len(self._rows)
        x = [_ZERO] * self._columns
        for i in basis:
            if i >= count:
                x[i - count] = -right.get(i, _ZERO)
        rows, live = self._split(basis)
        if live:
            values = [right.get(i, _ZERO) - _dot(self._rows[i].terms, x) for i in rows]
            for j, value in self._factored(rows, live).solve(values).items():
                x[j] = value
        return x

    def _multipliers(self, basis: list[int], terms: Sparse) -> dict[int, fmpq]:
        """How *terms* is a combination of the constraints of the basis."""
        count = len(self._rows)
        rows, live = self._split(basis)
        weights: dict[int, fmpq] = {}
        rest = {i - count: -terms.get(i - count, _ZERO) for i in basis if i >= count}
        if live:
            row_weights = self._factored(rows, live).solve_transposed({j: terms[j] for j in live if j in terms})
            for i, weight in zip(rows, row_weights):
                weights[i] = weight
                for j, c in self._rows[i].terms.items():
                    if j in rest:
                        rest[j] += weights[i] * c
        return weights | {count + j: weight for j, weight in rest.items()}

    def _split(self, basis: list[int]) -> tuple[list[int], list[int]]:
        """The rows of the basis, and the variables that it does not set to zero."""
        count = len(self._rows)
        zeros = {i - count for i in basis if i >= count}
        return [i for i in basis if i < count], [j for j in range(self._columns) if j not in zeros]

    def _factored(self, rows: list[int], live: list[int]) -> SparseLU:
        """The square matrix of the basis, factored; that of the last basis is kept, since three solves share it."""
        key = (tuple(rows), tuple(live))
        if self._last is None or self._last[0] != key:
            if len(rows) != len(live):
                raise ZeroDivisionError("the constraints do not fix a point")
            kept = set(live)
            terms = [{j: c for j, c in self._rows[i].terms.items() if j in kept and c != 0} for i in rows]
            self._last = (key, SparseLU(terms))
        return self._last[1]


def _dot(terms: Sparse, x: Sequence[fmpq]) -> fmpq:
    total = _ZERO
    for j, c in terms.items():
        total += c * x[j]
    return total


Terms = dict[int, Fraction]  # column -> coefficient

_TIGHT_SLACK = 1e-7
_LARGEST_COEFFICIENT = 10**4  # coefficients beyond this leave the tolerances of HiGHS without a meaning
_LEAST_COEFFICIENT = Fraction(1, 10**8)  # of the largest one
_VACUOUS_BOUND = Fraction(10**9)
EXACT_COLUMNS = 1500  # beyond this the exact solve takes longer than anybody waits
_MOST_PIVOTS = 2000  # of the exact simplex; from a basis that HiGHS found it needs a handful at most


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
class FloatVertex:
    """What HiGHS found."""

    point: np.ndarray
    multipliers: np.ndarray
    slacks: np.ndarray


def maximise(
    objective: Terms,
    constraints: Sequence[Constraint],
    columns: int,
    floats: FloatVertex | None = None,
    *,
    exact_columns: int = EXACT_COLUMNS,
) -> Solution | None:
    """The maximum, or ``None`` if nothing is feasible; *floats* is what HiGHS said, if it was asked already."""
    floats = floats or solve_floats(objective, constraints, columns)
    if floats is None:
        return None
    if columns <= exact_columns:
        try:
            solution = _confirm(objective, constraints, columns, floats)
        except Infeasible:
            return None
        if solution is not None:
            return solution
    return inexact(objective, floats)


def inexact(objective: Terms, floats: FloatVertex) -> Solution:
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


def solve_floats(objective: Terms, constraints: Sequence[Constraint], columns: int) -> FloatVertex | None:
    """Solve by HiGHS (dual simplex, so that the result is a vertex); ``None`` if it finds that nothing is feasible."""
    with requiring("scipy"):
        from scipy.sparse import csr_array

    parts = [constraint.floats for constraint in constraints]
    first = np.cumsum([0] + [len(columns_of) for columns_of, _, _ in parts])
    entries = ([c for _, cs, _ in parts for c in cs], [j for js, _, _ in parts for j in js], first)
    cost = np.zeros(columns)
    for j, c in objective.items():
        cost[j] = -float(c)
    found = minimise(
        cost,
        rows=csr_array(entries, shape=(len(constraints), columns)),
        bounds=[bound for _, _, bound in parts],
        method="highs-ds",
        precise=True,
    )
    if found.solved:
        return FloatVertex(found.point, found.row_prices, found.slacks)
    if found.infeasible:
        return None
    raise ProblemError("problem", f"{columns} probabilities", f"was not solved by HiGHS: {found.message}")


def _confirm(objective: Terms, constraints: Sequence[Constraint], columns: int, floats: FloatVertex) -> Solution | None:
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


def _basis(constraints: Sequence[Constraint], columns: int, floats: FloatVertex) -> list[int]:
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
