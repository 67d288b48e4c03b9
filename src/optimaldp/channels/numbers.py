"""Rows, priors and gains as the caller wrote them: exact rationals where possible, else checked floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from optimaldp.errors import ChannelError
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.numbers import fraction_text, read_number

# The names of a channel's inputs and outputs.


Label = Hashable


def read_labels(names: Sequence[Label] | None, size: int, field: str) -> tuple[Label, ...]:
    """The names as a tuple, each once; 0, 1, 2, … where none are given."""
    labels: tuple[Label, ...] = tuple(range(size)) if names is None else tuple(names)
    if len(labels) != size:
        raise ChannelError(field, f"{len(labels)} names", f"do not fit the matrix, which has {size}")
    if len(set(labels)) != size:
        twice = next(name for name in labels if labels.count(name) > 1)
        raise ChannelError(field, twice, "appears twice", "names are unique")
    return labels


def index_of(names: tuple[Label, ...], name: Label, field: str) -> int:
    """Where *name* stands, or an error that names it."""
    try:
        return names.index(name)
    except ValueError:
        raise ChannelError(field, name, "is not one of this channel's names") from None


def json_labels(names: Sequence[Label]) -> list[Any]:
    """Labels as JSON keeps them: texts and whole numbers stay, tuples become lists, the rest is written out."""
    return [_json_label(name) for name in names]


def _json_label(name: object) -> Any:
    if name is None or isinstance(name, (str, bool, int)):
        return name
    return [_json_label(part) for part in name] if isinstance(name, (tuple, frozenset)) else str(name)


# Exact linear algebra over the rationals, through python-flint.


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


ExactOrFloat = Fraction | float
FloatArray = NDArray[np.float64]
ExactRow = tuple[Fraction, ...]

# A row of decimals that were rounded for printing misses 1 by a little. Up to here it is read as floats; beyond, it is a mistake.
TOLERANCE = 1e-9
_HUGE = 1e30  # beyond which a sum is not written out
MANY_CELLS = 40_000  # from which decimals are not tried as exact rationals: seconds of work for no gain


def read_distribution(values: object, *, size: int, name: str) -> ExactRow | FloatArray:
    """Read one distribution: exact if its numbers sum to exactly one, floats if they miss one by rounding only.

    >>> read_distribution(["1/3", "2/3"], size=2, name="prior")
    (Fraction(1, 3), Fraction(2, 3))
    """
    cells = values if isinstance(values, np.ndarray) and values.dtype.kind == "f" else _listed(values, name)
    if len(cells) != size:
        raise ChannelError(name, f"{len(cells)} numbers", f"has the wrong length: {size} are needed, one for each")
    if isinstance(cells, np.ndarray):
        checked = check_float_rows(_doubles(cells.reshape(1, -1)), lambda _: name)
        return np.asarray(checked[0], dtype=np.float64)
    exact = tuple(read_number(cell, name=name, error=ChannelError) for cell in cells)
    return _exact_or_float(exact, name)


def _listed(values: object, name: str) -> list[Any]:
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise ChannelError(name, values, "is not a list of numbers")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _exact_or_float(exact: ExactRow, name: str) -> ExactRow | FloatArray:
    negative = next((p for p in exact if p < 0), None)
    if negative is not None:
        raise ChannelError(name, str(negative), "is negative", "probabilities are 0 or more")
    total = sum(exact, Fraction(0))
    if total == 1:
        return exact
    if abs(total - 1) <= TOLERANCE:
        return np.array([float(p) for p in exact])
    raise _bad_sum(name, total)


def _bad_sum(name: str, total: ExactOrFloat) -> ChannelError:
    if total > _HUGE:
        return ChannelError(
            name, f"more than {_HUGE:.0e}", "is what its numbers sum to, far too much", "they must sum to one"
        )
    off = float(total) - 1
    direction = "too much" if off > 0 else "too little"
    return ChannelError(
        name, f"{float(total):.12g}", f"is what its numbers sum to, {abs(off):.6g} {direction}", "they must sum to one"
    )


def _doubles(rows: NDArray[Any]) -> FloatArray:
    """Floats as doubles. Shorter ones miss one by their own rounding: then each row means the distribution next to it."""
    made = rows.astype(np.float64)
    if rows.dtype.itemsize >= made.dtype.itemsize or 0 in made.shape:
        return made
    sums = made.sum(axis=-1, keepdims=True)
    rounded = np.abs(sums - 1) <= made.shape[-1] * float(np.finfo(rows.dtype).eps)
    return np.asarray(np.where(rounded, made / np.where(rounded, sums, 1.0), made), dtype=np.float64)


def check_float_rows(rows: FloatArray, label: Callable[[int], str]) -> FloatArray:
    """Check floats row by row: finite, not negative, sums within rounding of one."""
    bad = ~np.isfinite(rows)
    if bad.any():
        index = int(np.argwhere(bad)[0][0])
        raise ChannelError(label(index), float(rows[bad][0]), "is not a finite number")
    if (rows < 0).any():
        index = int(np.argwhere(rows < 0)[0][0])
        raise ChannelError(label(index), float(rows[rows < 0][0]), "is negative", "probabilities are 0 or more")
    sums = rows.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > TOLERANCE:
        raise _bad_sum(label(worst), float(sums[worst]))
    return rows


def read_rows(rows: object, label: Callable[[int], str]) -> tuple[ExactRow, ...] | FloatArray:
    """Read a channel's matrix; *label* names row i in an error. One inexact row makes the whole matrix floats."""
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "f":
        return _float_matrix(rows, label)
    listed = [_listed(row, label(i)) for i, row in enumerate(_listed(rows, "rows"))]
    if not listed or not listed[0]:
        raise ChannelError("rows", rows, "is empty", "a channel has at least one input and one output")
    if sum(map(len, listed)) > MANY_CELLS and all(type(cell) in (float, Decimal) for row in listed for cell in row):
        return _float_matrix(_rectangle(listed, label), label)
    read = [read_distribution(row, size=len(listed[0]), name=label(i)) for i, row in enumerate(listed)]
    if all(isinstance(row, tuple) for row in read):
        return tuple(row for row in read if isinstance(row, tuple))
    return np.array([[float(cell) for cell in row] for row in read])


def _rectangle(listed: list[list[Any]], label: Callable[[int], str]) -> FloatArray:
    odd = next((i for i, row in enumerate(listed) if len(row) != len(listed[0])), None)
    if odd is not None:
        raise ChannelError(
            label(odd), f"{len(listed[odd])} numbers", f"has the wrong length: {len(listed[0])} are needed"
        )
    return np.array(listed, dtype=np.float64)


def _float_matrix(rows: FloatArray, label: Callable[[int], str]) -> FloatArray:
    if rows.ndim != 2 or 0 in rows.shape:
        raise ChannelError("rows", f"shape {rows.shape}", "is not a matrix with rows and columns")
    return check_float_rows(_doubles(rows), label)


def read_gain(gain: object, *, secrets: int, guesses: int | None = None) -> tuple[ExactRow, ...] | FloatArray:
    """Read a gain matrix ``gain[secret][guess]``: any finite numbers, exact unless given as an array of floats."""
    if isinstance(gain, np.ndarray) and gain.dtype.kind == "f":
        if gain.ndim != 2 or gain.shape[0] != secrets or not np.isfinite(gain).all():
            raise ChannelError("gain", f"shape {gain.shape}", f"needs {secrets} rows of finite numbers")
        _refuse_huge(float(np.abs(gain).max(initial=0.0)))
        return np.asarray(gain, dtype=np.float64)
    rows = [_listed(row, "gain") for row in _listed(gain, "gain")]
    width = guesses if guesses is not None else (len(rows[0]) if rows else 0)
    if len(rows) != secrets or width == 0 or any(len(row) != width for row in rows):
        raise ChannelError("gain", f"{len(rows)} rows", f"needs {secrets} rows (secrets) of equal length (guesses)")
    exact = tuple(tuple(read_number(cell, name="gain", error=ChannelError) for cell in row) for row in rows)
    _refuse_huge(max(abs(cell) for row in exact for cell in row))
    return exact


def _refuse_huge(largest: ExactOrFloat) -> None:
    if largest > _HUGE:
        raise ChannelError("gain", f"more than {_HUGE:.0e}", "is larger than a gain can be", "use a larger unit")


def bits_of(number: ExactOrFloat) -> float:
    """``log2`` of a number that is not negative, accurate to the last float even far from 1 (in bits)."""
    if number == 0:
        return -math.inf
    if not isinstance(number, Fraction):
        return math.log2(number)
    with precision(128):
        return float(ball(number).log() / Ball(2).log()) if number != 1 else 0.0


def as_floats(values: Sequence[ExactOrFloat] | FloatArray) -> FloatArray:
    """A distribution or row as an array of floats."""
    return np.array([float(value) for value in values]) if not isinstance(values, np.ndarray) else values


def cell_text(number: ExactOrFloat | Decimal) -> str | float:
    """A number for JSON: exact rationals as text, floats as they are."""
    return fraction_text(number) if isinstance(number, Fraction) else float(number)
