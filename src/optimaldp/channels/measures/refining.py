"""Is one channel a post-processing of another? Then it leaks no more, for every prior and every gain;
else some gain tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from optimaldp.channels import numbers as exact_matrix
from optimaldp.channels.numbers import FloatArray, Label, cell_text
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring
from optimaldp.programs.highs import minimise
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
        from scipy.sparse import eye, hstack, kron, vstack

    (inputs, middle), outputs = left.shape, right.shape[1]
    equations = kron(left, eye(outputs))
    gaps = eye(inputs * outputs)
    sums = kron(eye(middle), np.ones((1, outputs)))
    nothing = kron(np.zeros((middle, 1)), np.zeros((1, 2 * inputs * outputs)))
    matrix = vstack([hstack([equations, gaps, -gaps]), hstack([sums, nothing])]).tocsr()
    cost = np.concatenate([np.zeros(middle * outputs), np.ones(2 * inputs * outputs)])
    found = minimise(cost, equal=matrix, values=np.concatenate([right.ravel(), np.ones(middle)]))
    if not found.solved:
        raise ChannelError("refinement", found.message, "was not decided by the linear program")
    prices = found.equal_prices[: inputs * outputs].reshape(inputs, outputs)
    return found.point[: middle * outputs].reshape(middle, outputs), prices, found.value


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


# Max-case refinement: may the second channel stand in for the first when only the worst output counts?
#
# For the average over outputs the answer is post-processing (``refining``). For the worst output it is weaker: every
# posterior of the second must be a mixture of posteriors of the first.


@dataclass(frozen=True, repr=False)
class MaxCaseRefinement(Result):
    """The verdict with its proof.

    **Guarantee.** If it does not hold, the analyst with ``gain[input]`` (one guess, uniform prior) can get more from
    seeing ``output`` of the second channel than from any output of the first; ``exact`` says whether rationals proved
    it. If it holds, each output of the second is a mixture of the first's within ``residual``.
    """

    holds: bool
    exact: bool
    output: Label | None
    gain: tuple[Fraction, ...] | None
    residual: float

    def __bool__(self) -> bool:
        return self.holds

    def summary(self) -> str:
        where = "" if self.holds else f" at output {self.output!r}"
        return f"MaxCaseRefinement({'holds' if self.holds else 'does not hold'}{where})"

    def to_document(self) -> dict[str, Any]:
        gain = None if self.gain is None else [cell_text(value) for value in self.gain]
        return {"refines": self.holds, "exact": self.exact, "output": str(self.output), "gain": gain}


def max_case_refinement(first: Channel, second: Channel) -> MaxCaseRefinement:
    """Whether no worst output of *second* tells more than the worst of *first*, for every prior and gain.

    >>> from optimaldp.channels import Channel
    >>> rare = Channel([["1/10", "9/10", 0], ["0", "9/10", "1/10"]])
    >>> bool(max_case_refinement(Channel.identity([0, 1]), rare)), bool(max_case_refinement(rare, Channel.identity([0, 1])))
    (True, True)
    """
    aligned = aligned_rows(first, second)
    ours, theirs = _posteriors(first.array), _posteriors(aligned.array)
    worst = 0.0
    for z, column in zip(np.flatnonzero(aligned.array.max(axis=0) > 0).tolist(), theirs.T):
        prices, distance = _nearest_mixture(ours, column)
        if distance > _SOLVER_NOISE and (gain := _separating_column(first, aligned, z, prices)) is not None:
            return MaxCaseRefinement(False, first.exact and second.exact, second.outputs[z], gain, distance)
        worst = max(worst, distance)
    if worst > 1e-6:
        raise ChannelError("refinement", worst, "is a distance that rounding left undecided", "use exact probabilities")
    return MaxCaseRefinement(True, worst == 0, None, None, worst)


def _posteriors(array: FloatArray) -> FloatArray:
    """The posteriors under a uniform prior, one column for each output that can occur."""
    used = array[:, array.max(axis=0) > 0]
    return np.asarray(used / used.sum(axis=0))


def _nearest_mixture(points: FloatArray, target: FloatArray) -> tuple[FloatArray, float]:
    """How far *target* is from all mixtures of the columns of *points*, and the prices that prove it."""
    size, many = points.shape
    gaps = np.eye(size)
    matrix = np.block([[points, gaps, -gaps], [np.ones((1, many)), np.zeros((1, 2 * size))]])
    cost = np.concatenate([np.zeros(many), np.ones(2 * size)])
    found = minimise(cost, equal=matrix, values=np.append(target, 1.0))
    if not found.solved:
        raise ChannelError("refinement", found.message, "was not decided by the linear program")
    return found.equal_prices[:size], found.value


def _separating_column(first: Channel, second: Channel, z: int, prices: FloatArray) -> tuple[Fraction, ...] | None:
    """The prices as a gain, if they prove exactly that this output is worth more than every output of the first."""
    # rounding the prices harms no proof: whether they separate is decided below, in rationals
    gain = tuple(Fraction(round(price * 2**40), 2**40) for price in prices.tolist())
    wanted = [row[z] for row in second.exact_rows]
    won = sum((g * p for g, p in zip(gain, wanted)), Fraction(0)) / sum(wanted, Fraction(0))
    for column in zip(*first.exact_rows):
        total = sum(column, Fraction(0))
        if total and sum((g * p for g, p in zip(gain, column)), Fraction(0)) >= won * total:
            return None
    return gain
