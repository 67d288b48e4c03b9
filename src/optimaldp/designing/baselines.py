"""What people use otherwise, on the same graph: for comparison, never for release.

Each is exactly private at the stated level (irrational powers of e are rounded to the stricter side).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np

from optimaldp.designing.two_answers import balanced_row
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.kernels.loops import breadth_first
from optimaldp.mechanisms import Mechanism, SharedRows
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Epsilon, approximate
from optimaldp.privacy.balls import precision, upper

_BITS = 160


def randomised_response(graph: DatasetGraph, preferences: Preferences) -> Mechanism:
    """The same noise at every dataset, however far from the boundary."""
    level, q = _single(graph), len(preferences.answers)
    rows = [balanced_row(level, order[0], q) for order in preferences.orders]
    return Mechanism(graph, preferences, SharedRows(tuple(rows), preferences.of))


def exponential(graph: DatasetGraph, preferences: Preferences) -> Mechanism:
    """The exponential mechanism; the score of an answer is minus the distance to the nearest dataset that favours it."""
    return _by_scores(graph, preferences, _exponential_row)


def permute_and_flip(graph: DatasetGraph, preferences: Preferences) -> Mechanism:
    """Permute-and-flip with the same scores: never worse than the exponential mechanism."""
    return _by_scores(graph, preferences, _permute_and_flip_row)


def geometric_threshold(graph: DatasetGraph, preferences: Preferences) -> Mechanism:
    """Geometric noise on a count, then compare with the threshold; the graph is a line of counts with two answers.

    The noise has ``P(z) = (1-x)/(1+x) x^|z|``, so the answer is wrong with ``x^d / (1+x)``, d the steps to the other answer.
    """
    x = _power_above(_epsilon(graph), Fraction(1))
    if len(preferences.answers) != 2:
        raise ProblemError("answers", len(preferences.answers), "are not the two sides of a threshold")
    rows: list[Row] = []
    for vertex, scores in enumerate(_distances(graph, preferences).T.tolist()):
        favourite = int(preferences.favourites[vertex])
        wrong = Fraction(0) if max(scores) < 0 or min(scores) < 0 else x ** max(scores) / (1 + x)
        rows.append((1 - wrong, wrong) if favourite == 0 else (wrong, 1 - wrong))
    return Mechanism(graph, preferences, SharedRows.from_rows(rows))


def _single(graph: DatasetGraph) -> ApproximateDP:
    """The level of a graph; where several differ, the strictest of them for every edge."""
    known = [level for level in graph.levels if isinstance(level, ApproximateDP) and level.is_single]
    if not known or len(known) < len(graph.levels):
        raise ProblemError("graph", repr(graph), "has no (epsilon, delta) on each edge for a baseline")
    if len(set(known)) == 1:
        return known[0]
    return approximate(min(level.epsilon for level in known), min(level.delta for level in known))


def _epsilon(graph: DatasetGraph) -> Epsilon:
    return _single(graph).epsilon


def _power_above(epsilon: Epsilon, share: Fraction) -> Fraction:
    """``e^(-epsilon * share)`` rounded up: a little more noise, never less."""
    if share == 1 and epsilon.exact_ratio is not None:
        return 1 / epsilon.exact_ratio
    with precision(_BITS):
        exponent = epsilon.ball() * share.numerator / share.denominator
        return min(Fraction(1), upper((-exponent).exp()))


def _distances(graph: DatasetGraph, preferences: Preferences) -> np.ndarray:
    """For each answer (a row) the steps from each dataset to the nearest one that favours it; -1 if there is none."""
    everywhere = np.zeros(len(graph), dtype=np.int32)
    return np.stack([
        breadth_first(graph.arcs.first, graph.arcs.heads, everywhere, preferences.favourites == answer)
        for answer in range(len(preferences.answers))
    ])  # fmt: skip


def _by_scores(graph: DatasetGraph, preferences: Preferences, make_row: object) -> Mechanism:
    """Both ends of the ratio move by one step, hence half of epsilon for each."""
    half = _power_above(_epsilon(graph), Fraction(1, 2))
    assert callable(make_row)
    rows: list[Row] = []
    for scores in _distances(graph, preferences).T.tolist():
        weights = tuple(half**score if score >= 0 else Fraction(0) for score in scores)
        rows.append(make_row(weights))
    return Mechanism(graph, preferences, SharedRows.from_rows(rows))


def _exponential_row(weights: Row) -> Row:
    total = sum(weights)
    return tuple(w / total for w in weights)


def _permute_and_flip_row(weights: Row) -> Row:
    """Each answer's chance to be reached and accepted: an alternating sum over the sets of answers that come before it."""
    row = []
    for i, weight in enumerate(weights):
        others = [w for j, w in enumerate(weights) if j != i and w > 0]
        chance = Fraction(0)
        for size in range(len(others) + 1):
            for chosen in combinations(others, size):
                chance += Fraction((-1) ** size, size + 1) * _product(chosen)
        row.append(weight * chance)
    return tuple(row)


def _product(factors: tuple[Fraction, ...]) -> Fraction:
    result = Fraction(1)
    for factor in factors:
        result *= factor
    return result
