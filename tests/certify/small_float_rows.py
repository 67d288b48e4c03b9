"""Mechanisms with many answers in floats."""

from __future__ import annotations

import numpy as np

from optimaldp.graphs import DatasetGraph, NumberNames, Preferences
from optimaldp.mechanisms import FloatRows, Mechanism


def rows_of(table, exact=(), exact_of=None, likeliest=None):
    table = np.array(table, dtype=float)
    most = table.argmax(axis=1).astype(np.int32) if likeliest is None else np.array(likeliest, dtype=np.int32)
    numbers = np.full(len(table), -1, dtype=np.int32) if exact_of is None else np.array(exact_of, dtype=np.int32)
    return FloatRows(table, most, tuple(exact), numbers)


def mechanism_of(rows, edges, levels, kinds=None):
    count, answers = len(rows), rows.table.shape[1] if isinstance(rows, FloatRows) else len(rows.row(0))
    graph = DatasetGraph(
        NumberNames(count),
        [u for u, _ in edges],
        [v for _, v in edges],
        levels=levels,
        level_of_edge=[0] * len(edges) if kinds is None else kinds,
    )
    preferences = Preferences(tuple("abcdefgh"[:answers]), (tuple(range(answers)),), np.zeros(count, dtype=np.int32))
    return Mechanism(graph, preferences, rows)


def random_table(generator, count, answers):
    table = generator.random((count, answers)) ** 3 + 1e-3
    table /= table.sum(axis=1)[:, None]
    return table


def line(table, levels, kinds=None, **more):
    rows = rows_of(table, **more)
    return mechanism_of(rows, [(k, k + 1) for k in range(len(rows) - 1)], levels, kinds)


TABLE = [[0.2, 0.3, 0.5], [0.25, 0.25, 0.5], [0.1, 0.35, 0.55], [0.12, 0.3, 0.58], [0.3, 0.3, 0.4]]
