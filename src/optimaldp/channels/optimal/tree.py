"""Trees and forests, any prior: the optimum from a linear program on the edges alone.

Every edge of a tree parts the answers in two sides. Let ``Q[y→p]`` be the chance that answer y's output lies on the side of
its neighbour p. Privacy of the whole channel asks of these chances exactly what it asks of two answers:
``(1 − Q[p→y])/x <= Q[y→p] <= x (1 − Q[p→y])`` with ``x = e^(epsilon · length)``, because the columns beyond an edge may all
change by the same ratio across it. What remains of a row is its diagonal, ``D_y = 1 − Σ_p Q[y→p]``, and ``Σ π_y D_y`` is the
utility. So ``2(n − 1)`` unknowns stand for the n² cells, and the optimum on them is the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.numbers import FloatArray
from optimaldp.channels.optimal.floats import IntArray, not_vanishing, without_noise
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring

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
        from scipy.optimize import linprog
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
    solved = linprog(
        np.concatenate([np.zeros(arcs), -masses * size, np.zeros(size)]),
        A_ub=least,
        b_ub=np.zeros(arcs),
        A_eq=vstack([sums, fixed]).tocsr(),
        b_eq=np.concatenate([np.zeros(size), np.ones(size)]),
        bounds=(0, None),
        method="highs-ds",
    )
    if solved.status != 0:
        raise ChannelError("linear program", solved.message, "was not solved")
    values = np.asarray(solved.x, dtype=np.float64)
    potential = -np.asarray(solved.eqlin.marginals, dtype=np.float64)[size:] / size
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
