"""A private channel on the outputs that the small program would keep.

The diagonal D of any private channel has ``Φ D ≤ 1`` and ``D ≥ 0``, so ``max π·D`` under these n constraints bounds the
utility of all of them: the *small program*, with n unknowns where the whole channel has n². Its solution is not a
channel: rows of answers that it gives up fall short of one. Filling them up breaks privacy and restoring privacy
overfills them; a few rounds of both in turn settle on a channel that is private and close to the bound where the prior
is concentrated. (Lowering cells instead of raising them was tried: it stalls with rows that cannot be filled.)
"""

from __future__ import annotations

import numpy as np

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.numbers import FloatArray
from optimaldp.channels.optimal.floats import IntArray, filled_rows, without_noise
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring

_ROUNDS = 60
_MOST_CELLS = 1.5e8  # that all passes over the arcs together may touch: some seconds


def small_program(kernel: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``max π·D`` with ``Φ D ≤ 1``, ``D ≥ 0``: the diagonal, and the potential λ ≥ 0 with ``Φ λ ≥ π`` that proves it."""
    with requiring("scipy"):
        from scipy.optimize import linprog

    solved = linprog(-masses, A_ub=kernel, b_ub=np.ones(len(masses)), bounds=(0, None), method="highs-ds")
    if solved.status != 0:
        raise ChannelError("linear program", solved.message, "was not solved")
    return np.asarray(solved.x), -np.asarray(solved.ineqlin.marginals)


def channel_on_support(
    graph: AnswerGraph, kernel: FloatArray, diagonal: FloatArray, masses: FloatArray, inverse_ratio: float
) -> FloatArray | None:
    """A private channel that answers only where *diagonal* is positive; ``None`` where that would take too long."""
    weights = without_noise(diagonal)
    chosen = np.flatnonzero(weights)
    arcs = _Arcs(graph)
    passes = int(_MOST_CELLS / (max(1, arcs.count) * len(chosen)))
    if passes < 2 * _ROUNDS or not graph.connected:
        return None
    rows = kernel[:, chosen] * weights[chosen]
    for _ in range(_ROUNDS):
        rows /= rows.sum(axis=1, keepdims=True)
        rows = arcs.raised(rows, inverse_ratio)
    rows /= rows.sum(axis=1, keepdims=True)
    for _ in range(passes - _ROUNDS):  # each pass carries a raised cell one edge further: the longest distance suffices
        raised = arcs.raised(rows, inverse_ratio)
        if np.array_equal(raised, rows):
            break
        rows = raised
    else:
        return None
    favourite = int((rows * masses[:, None]).max(axis=0).argmax())
    return filled_rows(rows, favourite, 1 / inverse_ratio)


class _Arcs:
    """The edges in both directions, sorted by their head, so that one pass over all of them is two array operations."""

    def __init__(self, graph: AnswerGraph) -> None:
        ends = graph.edge_indices
        heads, tails = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])
        order = np.argsort(heads, kind="stable")
        self.tails: IntArray = tails[order]
        self.heads, self.starts = np.unique(heads[order], return_index=True)
        self.count = len(heads)

    def raised(self, rows: FloatArray, inverse_ratio: float) -> FloatArray:
        """Every cell at least ``inverse_ratio`` times its neighbours' cells, as these were."""
        most = np.maximum.reduceat(rows[self.tails], self.starts, axis=0) * inverse_ratio
        raised = rows.copy()
        raised[self.heads] = np.maximum(rows[self.heads], most)
        return raised
