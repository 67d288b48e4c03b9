"""Exact linear algebra over the rationals, through python-flint."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import fmpq, fmpq_mat

ExactRows = Sequence[Sequence[Fraction]]


def to_flint(rows: ExactRows) -> fmpq_mat:
    """The same matrix as flint keeps it."""
    cells = [fmpq(cell.numerator, cell.denominator) for row in rows for cell in row]
    return fmpq_mat(len(rows), len(rows[0]), cells)


def from_flint(matrix: fmpq_mat) -> tuple[tuple[Fraction, ...], ...]:
    """Back to Python's fractions."""
    return tuple(
        tuple(Fraction(int(matrix[i, j].p), int(matrix[i, j].q)) for j in range(matrix.ncols()))
        for i in range(matrix.nrows())
    )


def multiply(left: ExactRows, right: ExactRows) -> tuple[tuple[Fraction, ...], ...]:
    """The exact product of two matrices."""
    return from_flint(to_flint(left) * to_flint(right))


def solve_exactly(matrix: ExactRows, right: ExactRows) -> tuple[tuple[Fraction, ...], ...] | None:
    """``X`` with ``matrix X = right`` for a square matrix, or ``None`` if the matrix is singular."""
    try:
        return from_flint(to_flint(matrix).solve(to_flint(right)))
    except ZeroDivisionError:
        return None


def unique_solution(matrix: ExactRows, right: Sequence[Fraction]) -> list[Fraction] | None:
    """The one vector ``v`` with ``matrix v = right``; ``None`` if there is none or more than one."""
    unknowns = len(matrix[0])
    reduced, rank = to_flint([[*row, value] for row, value in zip(matrix, right)]).rref()
    if rank != unknowns:
        return None  # too few equations, or one too many: then the last pivot lies in the right-hand column
    solution = [Fraction(int(reduced[i, unknowns].p), int(reduced[i, unknowns].q)) for i in range(unknowns)]
    return solution if all(reduced[i, i] == 1 for i in range(unknowns)) else None
