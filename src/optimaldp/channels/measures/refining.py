"""Is one channel a post-processing of another? Then it leaks no more, for every prior and every gain;
else some gain tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from optimaldp.channels import exact_matrix
from optimaldp.channels.numbers import FloatArray, cell_text
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel

_SOLVER_NOISE = 1e-9
_LARGEST_EXACT = 300  # unknowns of an exact witness


@dataclass(frozen=True, repr=False)
class Refinement(Result):
    """The verdict with its proof.

    **Guarantee.** If ``holds``, ``first.then(witness)`` is the second channel (exactly if ``exact``, else within
    ``residual``). If it does not hold, the analyst with ``gain`` (rows: inputs, columns: the second channel's outputs)
    and a uniform prior gains more from the second.
    """

    holds: bool
    exact: bool
    witness: Channel | None
    gain: tuple[tuple[Fraction, ...], ...] | None
    residual: float

    def __bool__(self) -> bool:
        return self.holds

    def summary(self) -> str:
        how = "exact" if self.exact else f"within {self.residual:.1e}"
        return f"Refinement({'holds' if self.holds else 'does not hold'}, {how})"

    def to_document(self) -> dict[str, Any]:
        return {
            "refines": self.holds,
            "exact": self.exact,
            "witness": self.witness.to_document() if self.witness else None,
            "gain": [[cell_text(cell) for cell in row] for row in self.gain] if self.gain else None,
        }


def refinement(first: Channel, second: Channel) -> Refinement:
    """Whether ``second = first·R`` for some channel R: the witness R, or a gain for which the second leaks more.

    >>> from optimaldp.channels import Channel
    >>> sure = Channel.identity(["a", "b"])
    >>> bool(refinement(sure, Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"])))
    True
    """
    aligned = aligned_rows(first, second)
    witness, prices, residual = _least_difference(first.array, aligned.array)
    # a residual is the solver's opinion: only a gain that separates in rationals refutes
    if residual > _SOLVER_NOISE and (gain := _separating(first, aligned, prices)) is not None:
        return Refinement(False, True, None, gain, residual)
    exact = _exact_witness(first, aligned, witness) if first.exact and aligned.exact else None
    if exact is not None:
        return Refinement(True, True, type(first)(exact, first.outputs, outputs=second.outputs), None, 0.0)
    # neither proof went through: the residual decides, and ``exact`` says that nothing is proven
    if residual > 1e-6:
        return Refinement(False, False, None, None, residual)
    rough = np.clip(witness, 0, None)
    rough /= rough.sum(axis=1, keepdims=True)
    return Refinement(True, False, type(first)(rough, first.outputs, outputs=second.outputs), None, residual)


def aligned_rows(first: Channel, second: Channel) -> Channel:
    """The second channel with its inputs in the order of the first's."""
    if set(first.inputs) != set(second.inputs):
        raise ChannelError(
            "refinement", second.inputs[:3], "are other inputs than the first channel's", "use the same inputs"
        )
    order = [second.inputs.index(name) for name in first.inputs]
    rows = [second.rows[i] for i in order] if second.exact else second.array[order]
    return type(second)(rows, first.inputs, outputs=second.outputs)


def _least_difference(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The channel R with the least ``Σ|left·R − right|``, that sum, and the prices of the equations."""
    with requiring("scipy"):
        from scipy.optimize import linprog
        from scipy.sparse import eye, hstack, kron, vstack

    (inputs, middle), outputs = left.shape, right.shape[1]
    equations = kron(left, eye(outputs))
    gaps = eye(inputs * outputs)
    sums = kron(eye(middle), np.ones((1, outputs)))
    nothing = kron(np.zeros((middle, 1)), np.zeros((1, 2 * inputs * outputs)))
    matrix = vstack([hstack([equations, gaps, -gaps]), hstack([sums, nothing])]).tocsr()
    cost = np.concatenate([np.zeros(middle * outputs), np.ones(2 * inputs * outputs)])
    solved = linprog(
        cost, A_eq=matrix, b_eq=np.concatenate([right.ravel(), np.ones(middle)]), bounds=(0, None), method="highs"
    )
    if solved.status != 0:
        raise ChannelError("refinement", solved.message, "was not decided by the linear program")
    prices = np.asarray(solved.eqlin.marginals)[: inputs * outputs].reshape(inputs, outputs)
    return np.asarray(solved.x)[: middle * outputs].reshape(middle, outputs), prices, float(solved.fun)


def _separating(first: Channel, second: Channel, prices: FloatArray) -> tuple[tuple[Fraction, ...], ...] | None:
    """The prices as a gain, if they prove exactly that the second channel is worth more to its owner."""
    gain = tuple(tuple(Fraction(round(price * 2**40), 2**40) for price in row) for row in prices.tolist())
    rows, others = first.exact_rows, second.exact_rows
    won = sum((g * p for gs, ps in zip(gain, others) for g, p in zip(gs, ps)), Fraction(0))
    values = exact_matrix.multiply(list(zip(*rows)), gain)
    return gain if won > sum((max(row) for row in values), Fraction(0)) else None


def _exact_witness(first: Channel, second: Channel, rough: FloatArray) -> list[list[Fraction]] | None:
    middle, outputs = rough.shape
    used = [(y, z) for y in range(middle) for z in range(outputs) if rough[y, z] > _SOLVER_NOISE]
    if len(used) > _LARGEST_EXACT:
        return None
    place = {cell: k for k, cell in enumerate(used)}
    lines: list[list[Fraction]] = []
    right: list[Fraction] = []
    for x, row in enumerate(first.exact_rows):
        for z in range(outputs):
            lines.append([row[y] if z == target else Fraction(0) for y, target in used])
            right.append(second.exact_rows[x][z])
    for y in range(middle):
        lines.append([Fraction(int(y == source)) for source, _ in used])
        right.append(Fraction(1))
    solution = exact_matrix.unique_solution(lines, right)
    if solution is None or min(solution) < 0:
        return None
    return [[solution[place[y, z]] if (y, z) in place else Fraction(0) for z in range(outputs)] for y in range(middle)]
