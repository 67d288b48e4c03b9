"""Small graphs and lines of rows in rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from optimaldp.graphs import DatasetGraph, NumberNames, Preferences
from optimaldp.mechanisms import Mechanism, SharedRows

ZERO, ONE, HALF, THIRD, QUARTER = Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)


def graph_of(count, edges, levels, kinds=None):
    return DatasetGraph(
        NumberNames(count),
        [u for u, _ in edges],
        [v for _, v in edges],
        levels=levels,
        level_of_edge=[0] * len(edges) if kinds is None else kinds,
    )


def line_of(values, promised, *, of=None, answers=2):
    """Rows ``(p, (1 - p) / (answers - 1), …)`` on a line."""
    count = len(values)
    rows = [(p, *[(1 - p) / (answers - 1)] * (answers - 1)) for p in values]
    orders = tuple(tuple((first + k) % answers for k in range(answers)) for first in range(answers))
    chosen = np.zeros(count, dtype=np.int32) if of is None else np.array(of, dtype=np.int32)
    graph = graph_of(count, [(k, k + 1) for k in range(count - 1)], [promised])
    preferences = Preferences(tuple("abcdef"[:answers]), orders, chosen)
    return Mechanism(graph, preferences, SharedRows.from_rows(rows))
