"""Max-case refinement: may the second channel stand in for the first when only the worst output counts?

For the average over outputs the answer is post-processing (``refining``). For the worst output it is weaker: every
posterior of the second must be a mixture of posteriors of the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from optimaldp.channels.labels import Label
from optimaldp.channels.measures.refining import aligned_rows
from optimaldp.channels.numbers import FloatArray, cell_text
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel

_SOLVER_NOISE = 1e-9


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
        if distance > _SOLVER_NOISE and (gain := _separating(first, aligned, z, prices)) is not None:
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
    with requiring("scipy"):
        from scipy.optimize import linprog

    size, many = points.shape
    gaps = np.eye(size)
    matrix = np.block([[points, gaps, -gaps], [np.ones((1, many)), np.zeros((1, 2 * size))]])
    cost = np.concatenate([np.zeros(many), np.ones(2 * size)])
    solved = linprog(cost, A_eq=matrix, b_eq=np.append(target, 1.0), bounds=(0, None), method="highs")
    if solved.status != 0:
        raise ChannelError("refinement", solved.message, "was not decided by the linear program")
    return np.asarray(solved.eqlin.marginals)[:size], float(solved.fun)


def _separating(first: Channel, second: Channel, z: int, prices: FloatArray) -> tuple[Fraction, ...] | None:
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
