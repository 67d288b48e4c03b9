"""Bounds by a potential: λ ≥ 0 (of either sign on a forest, or with flows), stretched until ``Φλ`` covers the prior."""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush

import numpy as np

from optimaldp.certify.channels.bound import EXACT_ANSWERS, UNIT, UtilityBound, as_floats, certificate_number
from optimaldp.certify.channels.factors import Factors
from optimaldp.certify.channels.forests import by_signed_potential, is_forest
from optimaldp.certify.channels.reading import AnswerPair, FloatArray, all_are_neighbours, only_length
from optimaldp.certify.channels.weighing import by_weighed_potential
from optimaldp.errors import CertificateError

_MOST_STEPS = 20_000_000  # answers times edges up to which steps are counted one by one: seconds


def by_potential(
    given: object, edges: list[AnswerPair], factors: Factors, masses: tuple[Fraction, ...], *, flows: object = None
) -> UtilityBound:
    """``s·Σλ`` with the least s for which ``s·Φλ ≥ π``; one if λ does not reach some answer that has a chance.

    With *flows* beside it λ may have either sign (see ``weighing``).
    """
    size = len(masses)
    if flows is not None:
        return by_weighed_potential(_numbers(given, size, signed=True), flows, edges, factors, masses)
    signed = is_forest(size, edges)
    potential = _numbers(given, size, signed=signed)
    if signed and min(potential) < 0:
        return by_signed_potential(potential, edges, factors, masses)
    length = only_length(edges)
    if length is not None and all_are_neighbours(size, edges):
        t, total = 1 / factors.between(length)[1], sum(potential, Fraction(0))
        reached = [(1 - t) * value + t * total for value in potential]
    elif size <= EXACT_ANSWERS:
        reached = [
            sum((phi * value for phi, value in zip(row, potential) if value), Fraction(0))
            for row in _exact_kernel(size, edges, factors)
        ]
    else:
        # floats, rounded down: a sum of products of nonnegative numbers is wrong by a relative (terms + 3) · 2^-53
        kernel = _float_kernel(size, edges, factors)
        reached = [Fraction(r) for r in (kernel @ as_floats(potential) * (1 - 4 * (size + 8) * UNIT)).tolist()]
    if any(r == 0 < mass for r, mass in zip(reached, masses)):
        return UtilityBound(Fraction(1), "the potential does not reach every answer")
    stretch = max(mass / r for mass, r in zip(masses, reached) if mass)
    return UtilityBound(min(Fraction(1), stretch * sum(potential, Fraction(0))), "a potential that covers the prior")


def _exact_kernel(size: int, edges: list[AnswerPair], factors: Factors) -> list[list[Fraction]]:
    """``e^(−epsilon d)`` from below, by the likeliest path: the largest product of inverse factors."""
    neighbours: list[list[tuple[int, Fraction]]] = [[] for _ in range(size)]
    for edge in edges:
        inverse = 1 / factors.between(edge.length)[1]
        neighbours[edge.one].append((edge.other, inverse))
        neighbours[edge.other].append((edge.one, inverse))
    return [_products_from(source, neighbours) for source in range(size)]


def _products_from(source: int, neighbours: list[list[tuple[int, Fraction]]]) -> list[Fraction]:
    products = [Fraction(0)] * len(neighbours)
    done = [False] * len(neighbours)
    queue = [(Fraction(-1), source)]
    while queue:
        # The largest product first: inverse factors are at most 1, so no longer way to it is better (Dijkstra).
        product, vertex = heappop(queue)
        if done[vertex]:
            continue
        done[vertex], products[vertex] = True, -product
        for neighbour, inverse in neighbours[vertex]:
            if not done[neighbour]:
                heappush(queue, (product * inverse, neighbour))
    return products


def _float_kernel(size: int, edges: list[AnswerPair], factors: Factors) -> FloatArray:
    """The same in floats, never above."""
    length = only_length(edges)
    if length is not None and size * len(edges) <= _MOST_STEPS:
        return _by_steps(size, edges, float(1 / factors.between(length)[1]))
    return _by_relaxation(size, edges, factors)


def _by_steps(size: int, edges: list[AnswerPair], inverse: float) -> FloatArray:
    """Edges of one length: count steps from every answer, and take powers."""
    neighbours: list[list[int]] = [[] for _ in range(size)]
    for edge in edges:
        neighbours[edge.one].append(edge.other)
        neighbours[edge.other].append(edge.one)
    steps = np.full((size, size), -1, dtype=np.int64)
    for source in range(size):
        distance, frontier = 0, [source]
        reached = [-1] * size
        reached[source] = 0
        while frontier:
            distance += 1
            frontier = [near for y in frontier for near in neighbours[y] if reached[near] < 0]
            for y in frontier:
                reached[y] = distance
            frontier = list(dict.fromkeys(frontier))
        steps[source] = reached
    powers = (inverse * (1 - 2 * UNIT)) ** np.arange(size + 1) * (1 - 8 * UNIT)
    return np.where(steps >= 0, powers[steps], 0.0)


def _by_relaxation(size: int, edges: list[AnswerPair], factors: Factors) -> FloatArray:
    """Relaxed along all edges at once until nothing grows, then rounded down."""
    heads = np.array([edge.one for edge in edges] + [edge.other for edge in edges])
    tails = np.array([edge.other for edge in edges] + [edge.one for edge in edges])
    inverses = np.array([float(1 / factors.between(edge.length)[1]) * (1 - 2 * UNIT) for edge in edges] * 2)
    order = np.argsort(heads, kind="stable")
    tails, inverses = tails[order], inverses[order][:, None]
    firsts, starts = np.unique(heads[order], return_index=True)
    kernel = np.eye(size)
    block = max(1, 4_000_000 // max(1, len(tails)))
    for start in range(0, size, block):
        columns = slice(start, start + block)
        while True:
            longer = np.maximum.reduceat(kernel[:, columns][tails] * inverses, starts, axis=0)
            grown = np.maximum(kernel[firsts, columns], longer)
            if np.array_equal(grown, kernel[firsts, columns]):
                break
            kernel[firsts, columns] = grown
    return np.asarray(kernel * (1 - 4 * (size + 8) * UNIT))


def _numbers(values: object, size: int, *, signed: bool) -> list[Fraction]:
    if not isinstance(values, (list, tuple)) or len(values) != size:
        raise CertificateError("potential", values, f"is not a list of {size} numbers, one for each answer")
    return [certificate_number(value, "potential", signed=signed) for value in values]
