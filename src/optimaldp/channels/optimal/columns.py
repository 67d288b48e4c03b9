"""Many answers, any plain graph, any prior: a private channel near the optimum, and a potential that shows how near.

The steps of ``first_order`` give rows that are nearly a channel and a potential that is nearly a proof. Both are
made good here: cells are raised until every factor is kept and rows are filled to one; the potential gets flows that leave no
answer below 0, and is raised where the referee, who weighs it for every guess, finds that it falls short of the prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optimaldp.certify.channels.reading import AnswerPair, Factors
from optimaldp.certify.channels.weighing import by_weighed_potential, weigh_potential
from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.channels.numbers import FloatArray
from optimaldp.channels.optimal.proofs import (
    ChannelProof,
    CoveringGuesses,
    IntArray,
    WeighedPotentialProof,
    filled_rows,
    not_vanishing,
)
from optimaldp.extras import numba_if_installed, requiring
from optimaldp.kernels.loops import COLUMN_STEPS, SHORTEST_WAY_PRICES, WIDTH, ShortFloats, State
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.programs.linear import minimise

# The whole linear program of a channel with many answers, by compiled first-order steps.
#
#     maximise  Σ π_z M[z,z]   subject to   M[y,z] <= e^epsilon M[y',z] for neighbours,   rows of M sum to one,   M >= 0
#
# with columns for the useful guesses alone. The steps are those of the primal-dual hybrid gradient (Chambolle and Pock),
# reflected and drawn back to an anchor (Halpern), which is set anew whenever the moves have become much shorter. Two choices
# of units decide whether anything moves: cells are ``W = M / Φ``, in which every constraint has coefficients between 1 and
# ``e^(2 epsilon)``, and constraints far from the guess weigh as little as Φ does there. At the end the objective is left out
# for some steps, which settles the rows at one and hardly changes anything else.
#
# The steps begin at nothing, or at the solution of the small program (``covering``), with the prices that carry its potential
# to the guesses: there the prices are feasible, and only cells have a way to go. Then cells and prices keep their step lengths;
# from nothing, the lengths are balanced anew with each anchor.


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


_STEPS = 400  # at least, between two looks at how near the optimum is
_FEWEST_SETTLING_STEPS = 60
NEAR = 0.993  # of the bound: nothing more is looked for
_FEW_CELLS = 330_000  # edges times columns with which the search begins: a second for some hundred steps
_LOOKS_AT_FEW = 6  # at most, before all columns are taken
_WORTH_WIDENING = 0.96  # of the bound at the first look: below, the covering is no good beginning
_MOST_WORK = 6e9  # edges times columns times steps: some twenty seconds
_MOST_STEPS = 40_000  # at a small epsilon ways are long, and steps carry one edge further each
_MANY_CELLS = 2e6  # edges times columns from which unpromising columns are dropped: else too few steps are left
_MOST_CELLS = 3e7  # edges times columns: half a gigabyte
_UNUSED_REACH = 1.06  # times the prior: where a potential reaches that much, the guess is hardly one of a best channel
_UNUSED_REACH_WHERE_UNEVEN = 1.25  # where some answers have far more neighbours: there the potential settles later
_CARRYING_SHARE = 1e-3  # of some row: a column that no row can do without
_WORTH_NARROWING = 0.8  # of the columns left: the others are dropped
_ROUNDS = 12  # of filling rows and raising cells in turn
_ROUNDING = 1e-9  # by which a potential should reach more than the prior
_RAISING_PRICE = 1e3  # of the potential, where no flow reaches


@dataclass(frozen=True)
class ColumnProblem:
    """*steps* are the distances; *ratio* is an ``e^epsilon`` that floats may use, a little below it."""

    graph: AnswerGraph
    steps: IntArray
    prior: tuple[Fraction, ...]
    epsilon: Epsilon
    ratio: float

    @cached_property
    def masses(self) -> FloatArray:
        return np.array([float(mass) for mass in self.prior])

    def program(self, guesses: IntArray) -> ColumnProgram:
        return ColumnProgram(self.graph, self.steps, guesses, self.masses, self.ratio)


@dataclass(frozen=True)
class ColumnSolution:
    """Rows that keep every factor and sum to one, one column for each of some guesses, and the proof of a bound."""

    rows: FloatArray
    proof: ChannelProof


def solve_columns(problem: ColumnProblem, covering: CoveringGuesses, proof: ChannelProof) -> ColumnSolution | None:
    """A channel near its bound, and the sharper of *proof* and what the prices of the rows prove.

    ``None`` without a compiler, and where the columns would not fit into memory.
    """
    edges = len(problem.graph.edge_indices)
    # columns are filled up to whole blocks: fewer than a block cost as much, and up to a block more must fit
    few = covering.promising(max(WIDTH, int(_FEW_CELLS / edges)))
    if numba_if_installed() is None or edges * (len(few) + WIDTH) > _MOST_CELLS:
        return None
    program = problem.program(few)
    program.begin_at(covering)
    search = _Search(problem, proof)
    search.widen_few(program)
    if not search.near and edges * (len(covering.guesses) + WIDTH) <= _MOST_CELLS:
        search.solve_all(problem.program(covering.guesses))
    return ColumnSolution(search.rows, search.proof)


class _Search:
    """The best channel so far and the least bound."""

    def __init__(self, problem: ColumnProblem, proof: ChannelProof) -> None:
        self._problem, self.proof = problem, proof
        self.rows: FloatArray = np.zeros((0, 0))
        self._value = 0.0
        self._work = 0

    @property
    def near(self) -> bool:
        return self._value >= NEAR * float(self.proof.bound())

    def widen_few(self, program: ColumnProgram) -> None:
        """From the covering's columns, while that goes well: where its bound is near the optimum, it is soon reached."""
        for _ in range(_LOOKS_AT_FEW):
            before = self._value
            self._advance(program, _STEPS, _STEPS // 4)
            rest = float(self.proof.bound()) - self._value
            hopeless = self._value < _WORTH_WIDENING * float(self.proof.bound())
            # at the pace of the last look all looks together would not close what is missing
            if self.near or hopeless or rest > _LOOKS_AT_FEW * (self._value - before):
                return

    def solve_all(self, program: ColumnProgram) -> None:
        """All useful columns from nothing, until near the bound or until the work is done."""
        taken = 0
        many = len(self._problem.graph.edge_indices) * (len(program.guesses) + WIDTH) > _MANY_CELLS
        while True:
            more = max(_STEPS, taken // 2)  # looks cost time themselves: fewer and fewer
            value = self._advance(program, more, max(_FEWEST_SETTLING_STEPS, more // 4))
            taken += more
            last = self._work > _MOST_WORK or taken >= _MOST_STEPS
            if last or max(value, self._value) >= NEAR * float(program.potential.sum()):
                # A proof costs two linear programs and the referee's weighing: it is made at the end, and where the potential,
                # taken at its word, is near enough.
                proven = _covering_proof(self._problem, program.potential)
                self.proof = min(self.proof, proven, key=lambda one: one.bound())
            if last or self.near:
                return
            if many:
                kept = _worth_keeping(self._problem, program)
                if kept.sum() < _WORTH_NARROWING * len(kept):
                    program = program.narrowed(kept)

    def _advance(self, program: ColumnProgram, steps: int, settling: int) -> float:
        """So many steps, and what the channel that they lead to is worth."""
        program.take(steps)
        rows = _made_private(self._problem, program.settled_rows(settling))
        self._work += len(self._problem.graph.edge_indices) * program.kernel.shape[1] * (steps + settling)
        value = float((rows * self._problem.masses[:, None]).max(axis=0).sum())
        if value > self._value:
            self.rows, self._value = rows, value
        return value


def _worth_keeping(problem: ColumnProblem, program: ColumnProgram) -> NDArray[np.bool_]:
    """Which columns a best channel may use: of the others the potential reaches much more than the prior."""
    graph, masses = problem.graph, problem.masses
    arcs, weights, potential = _flows_under(graph, program.potential, program.ratio)
    edges = [AnswerPair(int(a), int(b), Fraction(1)) for a, b in graph.edge_indices]
    degrees = np.bincount(graph.edge_indices.ravel(), minlength=len(masses))
    enough = masses * (_UNUSED_REACH if degrees.max() <= 2 * degrees.min() else _UNUSED_REACH_WHERE_UNEVEN)
    _, reached, guesses = weigh_potential(potential, arcs, weights, edges, program.ratio, enough)
    idle = guesses[reached >= enough[guesses]]
    # early on a potential may reach too much everywhere: what rows consist of stays
    return np.asarray(~np.isin(program.guesses, idle) | (program.rows.max(axis=0) > _CARRYING_SHARE))


def _made_private(problem: ColumnProblem, rows: FloatArray) -> FloatArray:
    """Cells raised to what the factors ask, rows brought back to one, in turn; at last rows are filled from one column."""
    graph, masses, ratio = problem.graph, problem.masses, problem.ratio
    heads, tails = np.concatenate([graph.edge_indices, graph.edge_indices[:, ::-1]]).T
    order = np.argsort(heads, kind="stable")
    # answers without neighbours are no heads: for an empty group reduceat would return a cell of the next
    raised_ones, starts = np.unique(heads[order], return_index=True)
    tails = tails[order]

    def raised(cells: FloatArray) -> FloatArray:
        least = np.maximum.reduceat(cells[tails], starts, axis=0) / ratio
        higher = cells.copy()
        higher[raised_ones] = np.maximum(cells[raised_ones], least)
        return higher

    # Sums of one break factors, and raised cells break sums. Factors come last: filled_rows mends sums and keeps
    # factors, and nothing does the opposite.
    cells = not_vanishing(rows)
    for _ in range(_ROUNDS):
        cells = raised(cells / cells.sum(axis=1, keepdims=True))
    while not np.array_equal(higher := raised(cells), cells):  # each pass carries a raised cell one edge further
        cells = higher
    return filled_rows(cells, int((cells * masses[:, None]).max(axis=0).argmax()), ratio)


def _covering_proof(problem: ColumnProblem, potential: FloatArray) -> WeighedPotentialProof:
    """The potential with flows under it, raised where it does not reach the prior, and what the referee makes of it."""
    graph, steps, prior, masses = problem.graph, problem.steps, problem.prior, problem.masses
    factors = Factors(problem.epsilon)
    above = float(factors.between(Fraction(1))[1])
    # the steps used an e^epsilon rounded down, as rows must; a bound holds for e^epsilon itself only from above
    arcs, weights, potential = _flows_under(graph, potential, above)
    edges = [AnswerPair(int(a), int(b), Fraction(1)) for a, b in graph.edge_indices]
    lifted, reached, guesses = weigh_potential(potential, arcs, weights, edges, above, masses)
    # Adding μ >= 0 raises what λ reaches for guess z by (Φ μ)_z at least: the least of a sum is not below the sum of
    # the leasts. So it is enough that Φ μ covers what is lacking.
    lacking = np.zeros(len(masses))
    lacking[guesses] = np.maximum(masses[guesses] * (1 + _ROUNDING) - reached, 0)
    kernel = np.where(steps >= 0, above ** -np.maximum(steps, 0).astype(np.float64), 0.0)
    covering = (lifted + _cover(kernel, lacking)).tolist()
    flows = tuple((int(y), int(other), float(weight)) for (y, other), weight in zip(arcs, weights))
    bound = by_weighed_potential([Fraction(value) for value in covering], flows, edges, factors, prior)
    return WeighedPotentialProof(tuple(covering), flows, bound.value)


def _flows_under(graph: AnswerGraph, potential: FloatArray, x: float) -> tuple[IntArray, FloatArray, FloatArray]:
    """The least flows after which no answer is below 0, and the potential, raised where none suffice."""
    with requiring("scipy"):
        from scipy.sparse import csr_matrix, eye, hstack

    size, arcs = len(potential), np.concatenate([graph.edge_indices, graph.edge_indices[:, ::-1]])
    many, scale = len(arcs), float(np.abs(potential).max())
    # a flow w on (y, y') gives w to y and takes x w from y': what is taken may not exceed the potential
    entries = np.concatenate([np.full(many, -1.0), np.full(many, x)])
    places = (arcs.T.ravel(), np.tile(np.arange(many), 2))
    taken = csr_matrix((entries, places), shape=(size, many))
    found = minimise(
        np.concatenate([np.ones(many), np.full(size, _RAISING_PRICE)]),
        rows=hstack([taken, -eye(size)]).tocsr(),
        bounds=potential / scale,
        method="highs-ds",
    )
    if not found.solved:
        # a potential that is nowhere below 0 needs no flows: always sound, only a weaker bound
        return arcs[:0], np.zeros(0), np.maximum(potential, 0)
    amounts = np.maximum(found.point, 0) * scale
    used = np.flatnonzero(amounts[:many])
    return arcs[used], amounts[used], potential + amounts[many:]


def _cover(kernel: FloatArray, lacking: FloatArray) -> FloatArray:
    """The least μ >= 0 with ``Φ μ >= lacking``."""
    needed = np.flatnonzero(lacking)
    if not len(needed):
        return np.zeros(len(lacking))
    scale = float(lacking.max())
    found = minimise(np.ones(len(lacking)), rows=-kernel[needed], bounds=-lacking[needed] / scale, method="highs-ds")
    raise_by = np.maximum(found.point, 0) * scale if found.solved else lacking
    # where the program is not solved, or not to the last digit: stretched until it covers
    return np.asarray(raise_by * max(1.0, float((lacking[needed] / (kernel @ raise_by)[needed]).max())))
