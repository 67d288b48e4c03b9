"""A private channel on the outputs that the small program would keep.

The diagonal D of any private channel has ``Φ D ≤ 1`` and ``D ≥ 0``, so ``max π·D`` under these n constraints bounds the
utility of all of them: the *small program*, with n unknowns where the whole channel has n². Its solution is not a
channel: rows of answers that it gives up fall short of one. Filling them up breaks privacy and restoring privacy
overfills them; a few rounds of both in turn settle on a channel that is private and close to the bound where the prior
is concentrated. (Lowering cells instead of raising them was tried: it stalls with rows that cannot be filled.) From
there the linear program on these few outputs goes on.
"""

from __future__ import annotations

import numpy as np

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.numbers import FloatArray
from optimaldp.channels.optimal.first_order import improved_rows
from optimaldp.channels.optimal.floats import IntArray, filled_rows, without_noise
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring

_ROUNDS = 40
_MOST_CELLS = 3e8  # that all passes over the arcs together may touch: some seconds


def small_program(kernel: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``max π·D`` with ``Φ D ≤ 1``, ``D ≥ 0``: the diagonal, and the potential λ ≥ 0 with ``Φ λ ≥ π`` that proves it."""
    with requiring("scipy"):
        from scipy.optimize import linprog

    solved = linprog(-masses, A_ub=kernel, b_ub=np.ones(len(masses)), bounds=(0, None), method="highs-ds")
    if solved.status != 0:
        raise ChannelError("linear program", solved.message, "was not solved")
    return np.asarray(solved.x), -np.asarray(solved.ineqlin.marginals)


def channel_on_support(
    graph: AnswerGraph,
    kernel: FloatArray,
    diagonal: FloatArray,
    potential: FloatArray,
    masses: FloatArray,
    inverse_ratio: float,
) -> FloatArray | None:
    """A private channel that answers only where *diagonal* is positive; ``None`` where that would take too long."""
    weights = without_noise(diagonal)
    chosen = np.flatnonzero(weights)
    arcs = _Arcs(graph)
    passes = int(_MOST_CELLS / (max(1, arcs.count) * len(chosen)))
    # on a ring the closed form read by guesses is better than any few outputs, and programs along it are slow
    if passes < 4 * _ROUNDS or not graph.connected or arcs.most_neighbours <= 2:
        return None
    columns = kernel[:, chosen]
    first = arcs.private(columns * weights[chosen], inverse_ratio, passes // 2)
    if first is None:
        return None
    worth = np.zeros_like(columns)
    worth[chosen, np.arange(len(chosen))] = masses[chosen]
    better = improved_rows(graph, columns, first, worth, potential, 1 / inverse_ratio)
    second = arcs.private(better, inverse_ratio, passes // 2)
    both = [rows for rows in (first, second) if rows is not None]
    made = [filled_rows(rows, int(_worth(rows, masses).argmax()), 1 / inverse_ratio) for rows in both]
    return max(made, key=lambda rows: float(_worth(rows, masses).sum()))


def _worth(rows: FloatArray, masses: FloatArray) -> FloatArray:
    """What each output is worth to the analyst who guesses best."""
    return np.asarray((rows * masses[:, None]).max(axis=0))


class _Arcs:
    """The edges in both directions, sorted by their head, so that one pass over all of them is two array operations."""

    def __init__(self, graph: AnswerGraph) -> None:
        ends = graph.edge_indices
        heads, tails = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])
        order = np.argsort(heads, kind="stable")
        self.tails: IntArray = tails[order]
        self.heads, self.starts = np.unique(heads[order], return_index=True)
        self.count = len(heads)
        self.most_neighbours = int(np.bincount(heads).max(initial=0))

    def raised(self, rows: FloatArray, inverse_ratio: float) -> FloatArray:
        """Every cell at least ``inverse_ratio`` times its neighbours' cells, as these were."""
        most = np.maximum.reduceat(rows[self.tails], self.starts, axis=0) * inverse_ratio
        raised = rows.copy()
        raised[self.heads] = np.maximum(rows[self.heads], most)
        return raised

    def private(self, rows: FloatArray, inverse_ratio: float, passes: int) -> FloatArray | None:
        """Rows that keep every factor and sum to about one; ``None`` if *passes* over all arcs are not enough."""
        for _ in range(_ROUNDS):
            rows = self.raised(rows / rows.sum(axis=1, keepdims=True), inverse_ratio)
        rows = rows / rows.sum(axis=1, keepdims=True)
        for _ in range(
            passes - _ROUNDS
        ):  # each pass carries a raised cell one edge further: the longest distance suffices
            raised = self.raised(rows, inverse_ratio)
            if np.array_equal(raised, rows):
                return rows
            rows = raised
        return None
