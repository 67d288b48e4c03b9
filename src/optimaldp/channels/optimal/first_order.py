"""The whole linear program of a channel with many answers, by compiled first-order steps.

    maximise  Σ π_z M[z,z]   subject to   M[y,z] <= e^epsilon M[y',z] for neighbours,   rows of M sum to one,   M >= 0

with columns for the useful guesses alone. The steps are those of the primal-dual hybrid gradient (Chambolle and Pock),
reflected and drawn back to an anchor (Halpern), which is set anew whenever the moves have become much shorter. Two choices
of units decide whether anything moves: cells are ``W = M / Φ``, in which every constraint has coefficients between 1 and
``e^(2 epsilon)``, and constraints far from the guess weigh as little as Φ does there. At the end the objective is left out
for some steps, which settles the rows at one and hardly changes anything else.

The steps begin at nothing, or at the solution of the small program (``covering``), with the prices that carry its potential
to the guesses: there the prices are feasible, and only cells have a way to go. Then cells and prices keep their step lengths;
from nothing, the lengths are balanced anew with each anchor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.numbers import FloatArray
from optimaldp.channels.optimal.covering import CoveringGuesses
from optimaldp.channels.optimal.floats import IntArray
from optimaldp.kernels.columns import COLUMN_STEPS, SHORTEST_WAY_PRICES, WIDTH, ShortFloats, State

_EDGE_WEIGHT = 0.25  # of the constraints along edges beside those on rows: between 0.1 and 0.5 it hardly matters
_LEAST_WEIGHT = 1e-20  # of a constraint far away: short floats end at 1e-38
_FARTHEST = 30.0  # distance in epsilons beyond which a cell moves no farther than before it
_MUCH_SHORTER, _SHORTER, _LONGEST_SHARE = 0.2, 0.8, 0.36  # when the anchor is set anew
_FEWEST_STEPS = 20  # between two anchors


class ColumnProgram:
    """The program and where its steps have come: cells, prices, and the levels, which are the potential of the answers."""

    def __init__(
        self, graph: AnswerGraph, steps: IntArray, guesses: IntArray, masses: FloatArray, ratio: float
    ) -> None:
        self.guesses, self.ratio, self._size = guesses, ratio, len(masses)
        self._graph, self._distances, self._masses = graph, steps, masses
        self._ends = np.ascontiguousarray(graph.edge_indices, dtype=np.int64)
        width = -(-len(guesses) // WIDTH) * WIDTH
        distances = np.full((self._size, width), -1)
        distances[:, : len(guesses)] = steps[:, guesses]
        one, other = self._ends.T
        self.kernel = np.where(distances >= 0, float(ratio) ** -np.maximum(distances, 0), 0.0)
        # M <= x M' in units of Φ; the distances of neighbours differ by one at most, so factors lie between 1 and x²
        factors = ratio * ratio ** (distances[one] - distances[other]).astype(np.float64)
        # far cells are free to move farther, and constraints between them weigh less: both by how little Φ is there
        reach = np.where(distances >= 0, ratio ** (np.minimum(distances, _FARTHEST / np.log(ratio)) / 2), 1.0)
        weights = np.maximum(_EDGE_WEIGHT * np.minimum(self.kernel[one], self.kernel[other]), _LEAST_WEIGHT)
        # A cell steps by reach / Σ weight·|coefficient| over its constraints, a constraint by weight / Σ reach·|coefficient|
        # over its cells: with any reach and weight such steps converge, on every graph (Pock and Chambolle 2011).
        sizes = self.kernel + _LEAST_WEIGHT
        np.add.at(sizes, one, (1 + ratio**2 / factors) * weights)
        np.add.at(sizes, other, (1 + factors) * weights)
        sizes /= reach
        forth = weights / (reach[one] + factors * reach[other])
        back = weights / (reach[other] + ratio**2 / factors * reach[one])
        wanted = np.zeros((self._size, width))
        wanted[guesses, np.arange(len(guesses))] = masses[guesses] * self._size  # priors are about 1/n, cells about one
        self._row_sizes = (self.kernel * reach).sum(axis=1)
        self._blocks = [_blocked(array) for array in (factors, forth, back, self.kernel, sizes, wanted)]
        self._levels = np.zeros(self._size)
        cells, prices = np.zeros_like(self._blocks[3]), np.zeros_like(self._blocks[0])
        self._state: State = (cells, prices, prices.copy())
        self._taken, self._balance, self._steady = 0, 1.0, False
        self._since: int
        self._first_length: float
        self._last_length: float
        self._set_anchor()

    @property
    def rows(self) -> FloatArray:
        """Nearly a channel and nearly private."""
        cells = self._state[0].transpose(1, 0, 2).reshape(self._size, -1)
        return np.asarray(np.maximum(cells, 0) * self.kernel)[:, : len(self.guesses)]

    @property
    def potential(self) -> FloatArray:
        """What each answer's row is worth: nearly a dual solution, of either sign."""
        return self._levels / self._size

    def begin_at(self, start: CoveringGuesses) -> None:
        """Go on from the small program's solution, whose potential the prices carry to every guess."""
        width = self.kernel.shape[1]
        distances, cells = np.full((self._size, width), -1), np.zeros((self._size, width))
        distances[:, : len(self.guesses)] = self._distances[:, self.guesses]
        cells[:, : len(self.guesses)] = start.weights_of(self.guesses)
        one, other = self._ends.T
        ways = np.zeros((self._size, width))
        np.add.at(ways, one, distances[one] > distances[other])
        np.add.at(ways, other, distances[other] > distances[one])
        loads = self.kernel * start.potential[:, None] * self._size
        forth, back = np.zeros((2, len(self._ends), width))
        SHORTEST_WAY_PRICES.compiled()(self._ends, distances, loads, ways, forth, back)
        self._state = (_blocked(np.where(distances >= 0, cells, 0.0)), _blocked(forth), _blocked(back))
        self._levels, self._steady = start.potential * self._size, True
        self._set_anchor()

    def narrowed(self, kept: NDArray[np.bool_]) -> ColumnProgram:
        """The same on some of the columns, from where the steps have come."""
        narrower = ColumnProgram(self._graph, self._distances, self.guesses[kept], self._masses, self.ratio)
        width = narrower.kernel.shape[1]
        columns = np.flatnonzero(kept)

        def chosen(array: ShortFloats) -> ShortFloats:
            whole = np.zeros((array.shape[1], width))
            whole[:, : len(columns)] = array.transpose(1, 0, 2).reshape(array.shape[1], -1)[:, columns]
            return _blocked(whole)

        cells, forth, back = self._state
        narrower._state = (chosen(cells), chosen(forth), chosen(back))
        narrower._levels, narrower._balance = self._levels, self._balance
        narrower._set_anchor()
        return narrower

    def settled_rows(self, steps: int) -> FloatArray:
        """Rows after some steps without the objective: private and summing to one nearly as floats are."""
        before = self._state, self._levels, self._taken, self._balance
        wanted = self._blocks[5]
        # prices begin at nothing, for those of the objective would go on pulling; cells are copied, for steps work in place
        self._state = (before[0][0].copy(), np.zeros_like(before[0][1]), np.zeros_like(before[0][2]))
        self._levels, self._blocks[5] = np.zeros(self._size), np.zeros_like(wanted)
        self._set_anchor()
        self.take(steps)
        rows = self.rows
        (self._state, self._levels, self._taken, self._balance), self._blocks[5] = before, wanted
        self._set_anchor()
        return rows

    def take(self, steps: int) -> None:
        """So many more steps."""
        loop = COLUMN_STEPS.compiled()
        pull, ahead = np.empty((2, self._size, WIDTH), dtype=np.float32)
        for _ in range(steps):
            # Halpern: after k steps the anchor still weighs 1/(k + 2)
            kept = (self._since + 1) / (self._since + 2)
            sums, moved = np.zeros((self._size, WIDTH), np.float32), np.zeros((2, WIDTH), np.float32)
            numbers = np.array([1, self.ratio**2, 1 / self._balance, self._balance, kept], dtype=np.float32)
            levels = self._levels.astype(np.float32)
            loop(self._ends, self._state, self._anchor, *self._blocks, levels, numbers, sums, pull, ahead, moved)
            raised = self._levels + self._balance * (sums.sum(axis=1, dtype=np.float64) - 1) / self._row_sizes
            change = float(((raised - self._levels) ** 2 * self._row_sizes).sum())
            self._levels = kept * (2 * raised - self._levels) + (1 - kept) * self._anchor_levels
            cells, prices = moved.sum(axis=1, dtype=np.float64).tolist()
            self._since, self._taken = self._since + 1, self._taken + 1
            self._consider_anchor((cells * self._balance + (prices + change) / self._balance) ** 0.5)

    def _consider_anchor(self, length: float) -> None:
        """Set the anchor anew if the last move was much shorter than the first one from it, or after very many."""
        self._first_length = self._first_length or length
        # the three conditions of cuPDLP (Lu and Yang 2023) with its constants, on the length of a move
        shorter = length < _SHORTER * self._first_length and length > self._last_length
        late = self._since > max(_LONGEST_SHARE * self._taken, _FEWEST_STEPS)
        if length < _MUCH_SHORTER * self._first_length or shorter or late:
            if not self._steady:
                self._rebalance()
            self._set_anchor()
        else:
            self._last_length = length

    def _rebalance(self) -> None:
        """Cells and prices should travel equally far: the steps of the ones grow where those of the others shrink."""
        _, forth_steps, back_steps, _, sizes, _ = self._blocks
        cells, forth, back = (now - then for now, then in zip(self._state, self._anchor))
        prices = float((forth**2 / forth_steps).sum(dtype=np.float64) + (back**2 / back_steps).sum(dtype=np.float64))
        prices += float(((self._levels - self._anchor_levels) ** 2 * self._row_sizes).sum())
        travelled = float((cells**2 * sizes).sum(dtype=np.float64))
        if travelled > 0 and prices > 0:
            # the geometric mean with the old balance, as in PDLP: one odd stretch must not turn it over
            self._balance = float((self._balance * (prices / travelled) ** 0.5) ** 0.5)

    def _set_anchor(self) -> None:
        cells, forth, back = self._state
        self._anchor: State = (cells.copy(), forth.copy(), back.copy())
        self._anchor_levels = self._levels.copy()
        self._since = 0
        self._first_length, self._last_length = 0.0, float("inf")


def _blocked(array: FloatArray) -> ShortFloats:
    """Blocks of columns, each of them in one piece."""
    parts: NDArray[np.float64] = array.reshape(len(array), -1, WIDTH).transpose(1, 0, 2)
    return np.ascontiguousarray(parts, dtype=np.float32)
