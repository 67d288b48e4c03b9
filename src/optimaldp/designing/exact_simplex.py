"""The simplex method in rationals, for the last few steps that floating point cannot see.

maximise c x subject to A x <= b, x >= 0, from a basis that is almost right: as many independent constraints (rows, or variables
at zero) as there are variables, which together fix a point. Bland's rule picks the pivots, so it ends. What it returns is proven:
a feasible point and feasible multipliers of the same value, or multipliers that show that nothing is feasible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flint import fmpq

from optimaldp.designing.sparse_lu import SparseLU

Sparse = Mapping[int, fmpq]

_ZERO = fmpq(0)


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
