"""Graphs with hundreds or thousands of answers: the closed forms in floats, each read by its Bayes guesses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.numbers import FloatArray, Number
from optimaldp.channels.optimal.closed_forms import LINE_THEOREM, clique_proof, kept_on_clique, line_order
from optimaldp.channels.optimal.columns import NEAR, ColumnProblem, solve_columns
from optimaldp.channels.optimal.covering import cover_prior
from optimaldp.channels.optimal.floats import (
    UNIT,
    IntArray,
    covering_bound,
    filled_rows,
    kernel_of,
    powers_not_larger,
    powers_not_steeper,
    without_noise,
)
from optimaldp.channels.optimal.proofs import (
    ChannelProof,
    CutTheoremProof,
    RoundedPotentialProof,
    TheoremProof,
    UniformPotentialProof,
)
from optimaldp.channels.optimal.tree import is_forest, solve_tree
from optimaldp.errors import ChannelError
from optimaldp.privacy.epsilon import Epsilon

_LARGEST_PROGRAM = 2000  # answers up to which a search takes seconds
_CUTS = 24  # places at which a ring is cut, to bound it by a line
_NEAR_ON_A_RING = 0.98  # along a ring the steps are slow, and its closed form is good where there are many answers


@dataclass(frozen=True)
class LargeForm:
    """Rows in floats, utility and bound rounded outwards, and the proof where it is a short one."""

    rows: FloatArray
    utility: float
    upper_bound: Number
    route: str
    proof: ChannelProof | None


def large_form(
    graph: AnswerGraph, epsilon: Epsilon, prior: tuple[Fraction, ...], gain: FloatArray | None = None
) -> LargeForm:
    """The best channel that is known for a large plain graph; *gain* is ``None`` for the binary one.

    Optimal on lines (any prior, a gain that falls with the distance), on cliques (any prior) and where distance counts
    agree (uniform prior); elsewhere the better of two private channels beside a bound.
    """
    if not graph.plain:
        raise ChannelError(
            "graph",
            f"{len(graph.vertices)} vertices",
            "has edge lengths and is too large for exact arithmetic",
            "use fewer vertices",
        )
    masses = np.array([float(mass) for mass in prior])
    order = line_order(graph)
    if order is not None:
        return _line(order, epsilon, masses, gain)
    if gain is not None:
        raise ChannelError(
            "graph",
            f"{len(prior)} answers",
            "are too many for a gain of your own on a graph that is not a line",
            "use fewer answers, or route='linear-program' and patience",
        )
    if graph.is_clique:
        return _clique(epsilon, prior, masses)
    distances = graph.distances
    steps = np.where(np.isfinite(distances), distances, -1).astype(np.int64)
    longest = int(steps.max())
    if len(set(prior)) == 1 and (borders := _common_borders(steps, longest)) is not None:
        return _constant_sum(steps, longest, borders, epsilon)
    if is_forest(graph):
        return _tree(graph, epsilon, masses)
    return _any_graph(graph, steps, longest, epsilon, prior)


def _read_by_guesses(rows: FloatArray, masses: FloatArray, gain: FloatArray | None = None) -> tuple[FloatArray, float]:
    """Every output read by its Bayes guess: the channel from answers to guesses, and its utility.

    Merging outputs is post-processing: privacy stays, and no reading of the same outputs is worth more.
    """
    if gain is None:
        worth = rows * masses[:, None]
        guesses = worth.argmax(axis=0)
        values = worth.max(axis=0)
    else:
        expected = rows.T @ (gain * masses[:, None])
        guesses, values = expected.argmax(axis=1), expected.max(axis=1)
    merged = np.zeros((len(rows), len(rows) if gain is None else gain.shape[1]))
    np.add.at(merged.T, guesses, rows.T)
    return merged, float(values.sum())


def _line(order: list[int], epsilon: Epsilon, masses: FloatArray, gain: FloatArray | None) -> LargeForm:
    """The truncated geometric mechanism, read by Bayes guesses: optimal for every prior (Ghosh et al. 2009)."""
    size = len(order)
    place = np.empty(size, dtype=np.int64)
    place[order] = np.arange(size)
    apart = np.abs(place[:, None] - place[None, :])
    ends = (place == 0) | (place == size - 1)

    def geometric(powers: FloatArray) -> FloatArray:
        t = float(powers[1])
        return np.asarray(powers[apart] * np.where(ends, 1 / (1 + t), (1 - t) / (1 + t)))

    rows, utility = _read_by_guesses(geometric(powers_not_steeper(epsilon.ratio_below(bits=64), size)), masses, gain)
    # The optimum grows with epsilon, so the same mechanism at an e^epsilon rounded up bounds it.
    _, most = _read_by_guesses(geometric(powers_not_larger(epsilon.ratio_above(bits=64), size)), masses, gain)
    largest = 1.0 if gain is None else float((np.abs(gain).max(axis=1) * masses).sum())
    rounding = 8 * (size + 4) * UNIT * largest
    proof = TheoremProof(LINE_THEOREM, Fraction(most + rounding))
    return LargeForm(rows, utility - rounding, proof.value, "line", proof)


def _ring_order(graph: AnswerGraph) -> IntArray | None:
    """The answers around a ring, if the graph is one."""
    ends, size = graph.edge_indices, len(graph.vertices)
    degrees = np.bincount(ends.ravel(), minlength=size)
    if len(ends) != size or (degrees != 2).any() or not graph.connected or size < 3:
        return None
    neighbours: list[list[int]] = [[] for _ in range(size)]
    for one, other in ends.tolist():
        neighbours[one].append(other)
        neighbours[other].append(one)
    order, before = [0], -1
    while len(order) < size:
        onward = next(y for y in neighbours[order[-1]] if y != before)
        before = order[-1]
        order.append(onward)
    return np.array(order)


def _ring_proof(order: IntArray, epsilon: Epsilon, masses: FloatArray) -> CutTheoremProof:
    """Without one of its edges a ring is a line, whose optimum is known and not smaller: the least over some of the edges."""
    size = len(order)
    powers = powers_not_larger(epsilon.ratio_above(bits=64), size)
    t, place = float(powers[1]), np.arange(size)
    weights = np.where((place == 0) | (place == size - 1), 1 / (1 + t), (1 - t) / (1 + t))
    channel = powers[np.abs(place[:, None] - place[None, :])] * weights
    values = {}
    # a cut costs n² products, so some are tried and not all; each of them is a true bound
    for first in np.unique(np.linspace(0, size - 1, _CUTS).astype(np.int64)).tolist():
        along = masses[np.roll(order, -first)]
        values[first] = float((channel * along[:, None]).max(axis=0).sum())
    first = min(values, key=values.__getitem__)
    cut = (int(order[first - 1]), int(order[first]))
    return CutTheoremProof(LINE_THEOREM, cut, Fraction(values[first] + 8 * (size + 4) * UNIT))


def _clique(epsilon: Epsilon, prior: tuple[Fraction, ...], masses: FloatArray) -> LargeForm:
    """Randomised response among the k likeliest answers; the others are spread evenly over those (erratum F19)."""
    size = len(prior)
    t = float(powers_not_steeper(epsilon.ratio_below(bits=64), 2)[1])
    top, _ = kept_on_clique(prior, 1 / epsilon.ratio_below(bits=64))
    kept = np.zeros(size, dtype=bool)
    kept[top] = True
    rows = np.zeros((size, size))
    rows[np.ix_(kept, kept)] = t
    rows[top, top] = 1.0
    rows[kept] /= 1 + (len(top) - 1) * t
    rows[np.ix_(~kept, kept)] = 1 / len(top)
    proof = clique_proof(prior, epsilon)
    utility = float(masses @ np.diag(rows)) * (1 - 2 * (size + 4) * UNIT)
    return LargeForm(rows, utility, proof.bound(), "clique", proof)


def _common_borders(steps: IntArray, longest: int) -> list[int] | None:
    """The numbers of answers at each distance, if every answer has the same."""
    size = len(steps)
    keys = np.where(steps >= 0, steps, longest + 1) + np.arange(size)[:, None] * (longest + 2)
    counts = np.bincount(keys.ravel(), minlength=size * (longest + 2)).reshape(size, -1)
    return counts[0, : longest + 1].tolist() if (counts == counts[0]).all() else None


def _constant_sum(steps: IntArray, longest: int, borders: list[int], epsilon: Epsilon) -> LargeForm:
    kernel = kernel_of(steps, powers_not_steeper(epsilon.ratio_below(bits=64), longest + 1))
    # one divisor for all rows: their own sums differ in the last bits, which would shift the ratios between them
    rows = kernel / kernel[0].sum()
    proof = UniformPotentialProof(tuple(borders), 1 / epsilon.ratio_above(bits=64))
    return LargeForm(rows, float(rows[0, 0]) * (1 - 2 * len(rows) * UNIT), proof.bound(), "constant-sum", proof)


def _tree(graph: AnswerGraph, epsilon: Epsilon, masses: FloatArray) -> LargeForm:
    """The optimum by the program on the edges, at an ``e^epsilon`` that is smaller by a margin for rounding."""
    ratio = float(1 / powers_not_steeper(epsilon.ratio_below(bits=64), 2)[1])
    above = float(1 / powers_not_larger(epsilon.ratio_above(bits=64), 2)[1])
    edges = np.ones(len(graph.lengths))
    solution = solve_tree(graph, masses, ratio * edges, above * edges)
    rows = filled_rows(np.maximum(solution.rows, 0), int(masses.argmax()), ratio)
    best, utility = _read_by_guesses(rows, masses)
    proof = RoundedPotentialProof(tuple(solution.potential.tolist()), Fraction(solution.upper_bound))
    return LargeForm(best, utility * (1 - 4 * (len(masses) + 4) * UNIT), proof.bound(), "tree", proof)


def _closed_form(kernel: FloatArray, masses: FloatArray) -> FloatArray:
    """D with ``Φ D = 1`` and λ with ``Φ λ = π``, side by side.

    At an epsilon so small that floats cannot tell the rows of Φ apart, one guess alone and the prior itself, which covers.
    """
    try:
        return np.linalg.solve(kernel, np.column_stack([np.ones(len(masses)), masses])).astype(np.float64)
    except np.linalg.LinAlgError:
        return np.column_stack([np.arange(len(masses)) == masses.argmax(), masses]).astype(np.float64)


def _any_graph(
    graph: AnswerGraph, steps: IntArray, longest: int, epsilon: Epsilon, prior: tuple[Fraction, ...]
) -> LargeForm:
    """``Φ diag(D)`` with ``Φ D = 1`` where that meets its bound; else the whole program by steps on its columns."""
    size, below = len(prior), epsilon.ratio_below(bits=64)
    masses = np.array([float(mass) for mass in prior])
    powers = powers_not_steeper(below, longest + 1)
    kernel = kernel_of(steps, powers)
    solved = _closed_form(kernel, masses)
    smaller = kernel_of(steps, powers_not_larger(epsilon.ratio_above(bits=64), longest + 1))
    # where D < 0 its columns are dropped and rows are filled: private all the same, and the bound tells what it costs
    rows = filled_rows(kernel * without_noise(solved[:, 0]), int(masses.argmax()), float(below))
    best, utility = _read_by_guesses(rows, masses)
    potential = solved[:, 1]
    bound, route = covering_bound(smaller, potential, masses), "closed-form"
    proof: ChannelProof = RoundedPotentialProof(tuple(np.maximum(potential, 0).tolist()), Fraction(bound))
    if (around := _ring_order(graph)) is not None:
        proof = min(proof, _ring_proof(around, epsilon, masses), key=lambda one: one.bound())
    near = NEAR if around is None else _NEAR_ON_A_RING
    if utility < near * float(proof.bound()) and size <= _LARGEST_PROGRAM:
        covering = cover_prior(smaller, masses)
        proof = min(proof, covering.proof(smaller, masses), key=lambda one: one.bound())
        ratio = float(1 / powers[min(1, longest)])
        problem = ColumnProblem(graph, steps, prior, epsilon, ratio)
        # asked again before any step is taken: the covering's bound may show that the closed form is near enough
        if utility < near * float(proof.bound()) and (solution := solve_columns(problem, covering, proof)) is not None:
            merged, worth = _read_by_guesses(solution.rows, masses)
            if worth > utility:
                best, utility, route = merged, worth, "columns"
            # its bound is the least of all so far, also where its channel is not the better one
            proof = solution.proof
    return LargeForm(best, utility * (1 - 4 * (size + 4) * UNIT), proof.bound(), route, proof)
