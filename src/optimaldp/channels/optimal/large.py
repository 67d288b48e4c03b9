"""Graphs with hundreds or thousands of answers: the closed forms in floats, each read by its Bayes guesses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.channels.numbers import ExactOrFloat, FloatArray
from optimaldp.channels.optimal.closed_forms import LINE_THEOREM, clique_proof, kept_on_clique
from optimaldp.channels.optimal.columns import NEAR, ColumnProblem, solve_columns
from optimaldp.channels.optimal.proofs import (
    UNIT,
    ChannelProof,
    CutTheoremProof,
    IntArray,
    RoundedPotentialProof,
    TheoremProof,
    UniformPotentialProof,
    cover_prior,
    covering_bound,
    filled_rows,
    kernel_of,
    not_vanishing,
    powers_not_larger,
    powers_not_steeper,
    without_noise,
)
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.programs.linear import minimise

# Trees and forests, any prior: the optimum from a linear program on the edges alone.
#
# Every edge of a tree parts the answers in two sides. Let ``Q[y→p]`` be the chance that answer y's output lies on the side of
# its neighbour p. Privacy of the whole channel asks of these chances exactly what it asks of two answers:
# ``(1 − Q[p→y])/x <= Q[y→p] <= x (1 − Q[p→y])`` with ``x = e^(epsilon · length)``, because the columns beyond an edge may all
# change by the same ratio across it. What remains of a row is its diagonal, ``D_y = 1 − Σ_p Q[y→p]``, and ``Σ π_y D_y`` is the
# utility. So ``2(n − 1)`` unknowns stand for the n² cells, and the optimum on them is the optimum.


_COLUMNS = 256  # outputs whose guesses are found at once
_ROUNDING = 1e-12  # of the sum of all |λ|: more than some thousand sums in floats can be wrong


@dataclass(frozen=True)
class TreeSolution:
    """Columns that keep every factor with rows that sum to about one, and a potential of either sign with what it proves."""

    rows: FloatArray
    potential: FloatArray
    upper_bound: float


def is_forest(graph: AnswerGraph) -> bool:
    """Whether no edges close a ring."""
    return len(graph.lengths) == len(graph.vertices) - len(graph.components)


def solve_tree(graph: AnswerGraph, masses: FloatArray, factors: FloatArray, above: FloatArray) -> TreeSolution:
    """The optimum of a forest; *factors* are ``e^(epsilon · length)`` of the edges, in their order, not above it for the
    channel and not below it for the bound.
    """
    ends = graph.edge_indices
    own, far = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])
    ratios = np.concatenate([factors, factors])
    chances, diagonal, potential = _edge_program(own, far, ratios, masses)
    edges = len(ends)
    back = np.concatenate([chances[edges:], chances[:edges]])
    beyond = np.maximum(1 - back, 0)
    # From p to y every column beyond p changes by Q[y→p] / (1 − Q[p→y]): what y gives to that side over what p keeps there.
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(beyond > 0, chances / beyond, 1.0)
    # the solver keeps factors to its tolerance, rows must keep them to the last digit; the sums are mended afterwards
    steps = np.clip(steps, 1 / ratios, ratios)
    rows = not_vanishing(_products(graph, steps)) * without_noise(diagonal)
    return TreeSolution(rows, potential, _covering_bound(graph, potential, above, masses))


def _edge_program(
    own: IntArray, far: IntArray, ratios: FloatArray, masses: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The chances of crossing each edge in each direction, the diagonal, and the price of each row's sum.

    The unknowns are the chances, the diagonal and the sums of the rows; these last are held at one by constraints of their
    own, whose prices are the potential.
    """
    with requiring("scipy"):
        from scipy.sparse import csr_matrix, eye, hstack, vstack

    arcs, size = len(own), len(masses)
    arc, back = np.arange(arcs), (np.arange(arcs) + arcs // 2) % max(arcs, 1)
    ones = np.ones(arcs)
    # with P = sum of far row − chance of coming back:  P/x − Q <= 0.  The other half, Q <= x P, holds by itself at the optimum:
    # Q only costs, so it is as small as the halves P/x <= Q of both directions let it be, and these points keep Q <= x P
    places = np.concatenate([arc, back, arcs + size + far])
    least = csr_matrix(
        (np.concatenate([-ones, -1 / ratios, 1 / ratios]), (np.tile(arc, 3), places)), shape=(arcs, arcs + 2 * size)
    )
    crossing = csr_matrix((ones, (own, arc)), shape=(size, arcs))
    sums = hstack([crossing, eye(size), -eye(size)])
    fixed = hstack([csr_matrix((size, arcs + size)), eye(size)])
    found = minimise(
        np.concatenate([np.zeros(arcs), -masses * size, np.zeros(size)]),
        rows=least,
        bounds=np.zeros(arcs),
        equal=vstack([sums, fixed]).tocsr(),
        values=np.concatenate([np.zeros(size), np.ones(size)]),
        method="highs-ds",
    )
    if not found.solved:
        raise ChannelError("linear program", found.message, "was not solved")
    values = found.point
    potential = -found.equal_prices[size:] / size
    return values[:arcs], values[arcs : arcs + size], potential


def _covering_bound(graph: AnswerGraph, potential: FloatArray, factors: FloatArray, masses: FloatArray) -> float:
    """``Σ λ`` after λ was raised everywhere until every column that keeps the factors costs at least what it is worth."""
    size = len(masses)
    heads, tails = graph.edge_indices.T.tolist()
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(size)]
    for one, other, factor in zip(heads, tails, factors.tolist()):
        neighbours[one].append((other, factor))
        neighbours[other].append((one, factor))
    order, parent = _outwards([[near for near, _ in pairs] for pairs in neighbours])
    sums = potential.tolist()  # of each answer with the branches that it has taken in
    upward = [0.0] * size
    up_factor = [next((f for near, f in neighbours[y] if near == parent[y]), 1.0) for y in range(size)]
    # Inwards and then outwards: after both, every answer has taken in all branches as if it were the root.
    for y in reversed(order):
        if parent[y] >= 0:
            upward[y] = _least_across(sums[y], up_factor[y])
            sums[parent[y]] += upward[y]
    for y in order:
        if parent[y] >= 0:
            sums[y] += _least_across(sums[parent[y]] - upward[y], up_factor[y])
    rounding = _ROUNDING * float(np.abs(potential).sum())
    # λ raised by as much everywhere raises each of the sums by at least that, at the answer itself
    shortfall = float(np.maximum(masses - np.array(sums), 0).max())
    return min(1.0, float(potential.sum()) + size * shortfall + rounding)


def _least_across(branch: float, factor: float) -> float:
    """The least that a branch can sum to, seen from the other end of its edge."""
    # the cheapest column falls across the edge where a branch costs, and rises where it pays
    return branch / factor if branch >= 0 else branch * factor


def _outwards(neighbours: list[list[int]]) -> tuple[list[int], list[int]]:
    """Every answer after its parent; the parent of a root is −1."""
    parent = [-2] * len(neighbours)
    order: list[int] = []
    for root in range(len(neighbours)):
        if parent[root] != -2:
            continue
        parent[root] = -1
        part = [root]
        for y in part:  # grows while it is walked
            fresh = [near for near in neighbours[y] if parent[near] == -2]
            for near in fresh:
                parent[near] = y
            part += fresh
        order += part
    return order, parent


def _products(graph: AnswerGraph, steps: FloatArray) -> FloatArray:
    """The product of the steps along the one path from column to row; 0 where there is none."""
    size, edges = len(graph.vertices), graph.edge_indices.tolist()
    neighbours: list[list[tuple[int, float, float]]] = [[] for _ in range(size)]
    for k, (one, other) in enumerate(edges):
        # entering `one` from columns beyond `other` is steps[k]; the other direction is in the second half
        neighbours[one].append((other, float(steps[k + len(edges)]), float(steps[k])))
        neighbours[other].append((one, float(steps[k]), float(steps[k + len(edges)])))
    order, parent = _outwards([[near for near, _, _ in triples] for triples in neighbours])
    products = np.eye(size)
    part: list[int] = []
    for y in order:
        if parent[y] < 0:
            part = [y]
            continue
        inward, outward = next((i, o) for near, i, o in neighbours[parent[y]] if near == y)
        products[y, part] = products[parent[y], part] * inward
        products[part, y] = products[part, parent[y]] * outward
        part.append(y)
    return products


_LARGEST_PROGRAM = 2000  # answers up to which a search takes seconds
_CUTS = 24  # places at which a ring is cut, to bound it by a line
_NEAR_ON_A_RING = 0.98  # along a ring the steps are slow, and its closed form is good where there are many answers


@dataclass(frozen=True)
class LargeForm:
    """Rows in floats, utility and bound rounded outwards, and the proof where it is a short one."""

    rows: FloatArray
    utility: float
    upper_bound: ExactOrFloat
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
    order = graph.line_order
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


def _read_by_medians(rows: FloatArray, masses: FloatArray, order: IntArray) -> tuple[FloatArray, float]:
    """The same on a line where a guess costs its distance: the best guess is a median, found by sums along the line.

    Between two neighbouring places lies a step that everybody on the one side takes to a guess on the other.
    """
    merged, value = np.zeros((len(rows), len(rows))), 0.0
    for start in range(0, rows.shape[1], _COLUMNS):
        columns = np.ascontiguousarray(rows[order, start : start + _COLUMNS].T)
        worth = columns * masses[order]
        below, above = np.cumsum(worth, axis=1)[:, :-1], np.cumsum(worth[:, ::-1], axis=1)[:, -2::-1]
        costs = np.zeros_like(worth)
        costs[:, 1:] += np.cumsum(below, axis=1)
        costs[:, :-1] += np.cumsum(above[:, ::-1], axis=1)[:, ::-1]
        guesses = costs.argmin(axis=1)
        value += float(costs[np.arange(len(costs)), guesses].sum())
        for guess in np.unique(guesses).tolist():
            merged[order, order[guess]] += columns[guesses == guess].sum(axis=0)
    return merged, -value


def _size_of_terms(value: float, masses: FloatArray, gain: FloatArray | None) -> float:
    """What the terms of the best reading add up to without their signs, at most: rounding is relative to that."""
    if gain is None:
        return 1.0
    if gain.min() >= 0 or gain.max() <= 0:  # they all have one sign, so they add up to the value itself
        return 2 * abs(value)
    return float((np.abs(gain).max(axis=1) * masses).sum())


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

    private = geometric(powers_not_steeper(epsilon.ratio_below(bits=64), size))
    # The optimum grows with epsilon, so the same mechanism at an e^epsilon rounded up bounds it.
    looser = geometric(powers_not_larger(epsilon.ratio_above(bits=64), size))
    if gain is not None and np.array_equal(gain, -apart):
        rows, utility = _read_by_medians(private, masses, np.array(order))
        _, most = _read_by_medians(looser, masses, np.array(order))
    else:
        rows, utility = _read_by_guesses(private, masses, gain)
        _, most = _read_by_guesses(looser, masses, gain)
    rounding = 8 * (size + 4) * UNIT * _size_of_terms(most, masses, gain)
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
