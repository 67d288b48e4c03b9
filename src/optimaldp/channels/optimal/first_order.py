"""The linear program on a few outputs: by HiGHS while it is small, by first-order steps beyond.

    maximise  Σ π_z M[z,z]   subject to   M[y,z] <= e^epsilon M[y',z] for neighbours,   rows of M sum to one,   M >= 0

with columns only for the outputs that the small program keeps. What comes out is nearly private and nearly a channel;
making it one is left to the caller. The steps work on ``W = M / Φ``: in these units every constraint has coefficients
between 1 and ``e^(2 epsilon)``, so that near and far cells move alike; on M itself hardly anything moved.
"""

from __future__ import annotations

import numpy as np

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.numbers import FloatArray
from optimaldp.channels.optimal.floats import IntArray
from optimaldp.extras import requiring

_SMALL_PROGRAM = 15_000  # constraints up to which HiGHS takes a second or two
_MOST_STEPS = 1500
_MOST_CELLS = 3e8  # that all steps together may touch: some seconds


def improved_rows(
    graph: AnswerGraph, kernel: FloatArray, rows: FloatArray, worth: FloatArray, potential: FloatArray, ratio: float
) -> FloatArray:
    """Rows near the optimum on the given outputs, from private *rows*; *worth* is ``π_z`` where a cell is the right answer.

    *kernel* are the columns of Φ that belong to the outputs, *potential* a dual solution of the small program.
    """
    constraints = 2 * len(graph.lengths) * rows.shape[1]
    if constraints <= _SMALL_PROGRAM:
        return _by_program(graph, worth, ratio)
    steps = min(_MOST_STEPS, int(_MOST_CELLS / constraints))
    return _by_steps(graph, kernel, rows, worth, potential, ratio, steps)


def _ends(graph: AnswerGraph) -> tuple[IntArray, IntArray]:
    ends = graph.edge_indices
    return np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])


def _by_program(graph: AnswerGraph, worth: FloatArray, ratio: float) -> FloatArray:
    with requiring("scipy"):
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix, eye, kron

    size, columns = worth.shape
    heads, tails = _ends(graph)
    arc = np.arange(len(heads))
    entries = np.concatenate([np.ones(len(arc)), np.full(len(arc), -ratio)])
    places = (np.concatenate([arc, arc]), np.concatenate([heads, tails]))
    differences = csr_matrix((entries, places), shape=(len(arc), size))
    solved = linprog(
        -worth.ravel(),
        A_ub=kron(differences, eye(columns)).tocsr(),
        b_ub=np.zeros(len(arc) * columns),
        A_eq=kron(eye(size), np.ones((1, columns))).tocsr(),
        b_eq=np.ones(size),
        bounds=(0, None),
        method="highs-ipm",
    )
    if solved.status != 0:
        return np.full_like(worth, 1 / columns)  # a channel that tells nothing: the caller has better ones
    return np.asarray(np.maximum(solved.x, 0), dtype=np.float64).reshape(size, columns)


def _by_steps(
    graph: AnswerGraph,
    kernel: FloatArray,
    rows: FloatArray,
    worth: FloatArray,
    potential: FloatArray,
    ratio: float,
    steps: int,
) -> FloatArray:
    """Primal-dual steps (Chambolle and Pock) with diagonal preconditioning, from the channel and potential at hand."""
    heads, tails = _ends(graph)
    order = np.argsort(heads, kind="stable")
    heads, tails = heads[order], tails[order]
    by_tail = np.argsort(tails, kind="stable")
    head_starts = np.unique(heads, return_index=True)[1]
    tail_starts = np.unique(tails[by_tail], return_index=True)[1]
    factors = ratio * kernel[tails] / kernel[heads]

    def pulled(prices: FloatArray) -> FloatArray:
        """What the prices of the privacy constraints take from each cell; every answer has a neighbour."""
        outward = np.add.reduceat(prices, head_starts, axis=0)
        return np.asarray(outward - np.add.reduceat((factors * prices)[by_tail], tail_starts, axis=0))

    sizes = np.add.reduceat(np.ones_like(factors), head_starts, axis=0)
    sizes += np.add.reduceat(factors[by_tail], tail_starts, axis=0) + kernel
    price_steps, row_steps = 1 / (1 + factors), 1 / kernel.sum(axis=1)
    scale = float(len(worth))  # priors are about one over the number of answers, cells about one
    cells, total = rows / kernel, np.zeros_like(rows)
    prices, levels, wanted = np.zeros_like(factors), potential * scale, worth * scale
    for step in range(steps):
        moved = np.maximum(0, cells + (wanted - pulled(prices) - kernel * levels[:, None]) / sizes)
        ahead, cells = 2 * moved - cells, moved
        prices = np.maximum(0, prices + price_steps * (ahead[heads] - factors * ahead[tails]))
        levels = levels + row_steps * ((kernel * ahead).sum(axis=1) - 1)
        if step >= steps - steps // 4:
            total += cells  # the average of the last steps is steadier than the last
    return np.asarray(kernel * total)
