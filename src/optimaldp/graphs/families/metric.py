"""Metric privacy: a level for every pair of datasets, as large as their distance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.edge_levels import number_levels
from optimaldp.graphs.families.paths import read_size
from optimaldp.graphs.names import NumberNames
from optimaldp.privacy import Epsilon
from optimaldp.privacy import level as make_level

Distances = Callable[[str, str], Any] | Mapping[tuple[str, str], Any] | Sequence[Sequence[Any]] | npt.NDArray[Any]
_DOUBT = 1e-9  # relative: a float within this of equality is not trusted; doubles are right to about 1e-15


def metric(distances: Distances, *, names: Sequence[str] | None = None, triangle: bool = True) -> DatasetGraph:
    """All pairs of datasets are joined, at an epsilon equal to their distance (d-metric privacy; 003, Section III).

    *distances* is a symmetric matrix, a mapping from pairs of names, or a function of two names.

    **Guarantee.** Unless *triangle* is false, ``epsilon(u, v) <= epsilon(u, w) + epsilon(w, v)`` was checked exactly for all
    triples; the error names the first that breaks it.

    >>> metric([[0, 1, 2], [1, 0, 1], [2, 1, 0]], names=["a", "b", "c"])
    DatasetGraph(3 datasets, 3 edges, 2 levels)
    """
    words = _read_names(distances, names)
    table = _read_table(distances, words)
    if triangle:
        _check_triangles(table, words)
    tails, heads = np.triu_indices(len(words), 1)
    pairs = zip(tails.tolist(), heads.tolist())
    levels, which = number_levels([make_level(table[u][v]) for u, v in pairs])
    return DatasetGraph(words, tails, heads, levels=levels, level_of_edge=which)


def line_metric(size: int, *, per_step: Any) -> DatasetGraph:
    """Numbers 0, 1, …, and for all pairs ``|i - j|`` times *per_step*: the metric that a line of that level implies."""
    step = Epsilon.read(per_step)
    return metric(lambda u, v: step * abs(int(u) - int(v)), names=NumberNames(read_size(size, 1, field="size")))


def _read_names(distances: Distances, names: Sequence[str] | None) -> Sequence[str]:
    if names is not None:
        return names
    if isinstance(distances, Mapping):
        return list(dict.fromkeys(name for pair in distances for name in pair))
    if callable(distances):
        raise GraphError("names", None, "is missing", "a function of two names needs the names")
    return NumberNames(len(distances))


def _read_table(distances: Distances, names: Sequence[str]) -> list[list[Epsilon]]:
    """Epsilon for all ordered pairs; symmetric, and zero from a dataset to itself."""
    count = len(names)
    table = [[Epsilon.read(0)] * count for _ in range(count)]
    for i in range(count):
        for j in range(i):
            there, back = _entry(distances, names, i, j), _entry(distances, names, j, i)
            if there != back:
                rule = f"is {there} one way and {back} the other"
                raise GraphError("distances", (names[i], names[j]), rule, "a metric is symmetric")
            table[i][j] = table[j][i] = there
    return table


def _entry(distances: Distances, names: Sequence[str], i: int, j: int) -> Epsilon:
    if callable(distances):
        return Epsilon.read(distances(names[i], names[j]))
    if isinstance(distances, Mapping):
        pair = (names[i], names[j])
        found = distances.get(pair, distances.get(pair[::-1]))
        if found is None:
            raise GraphError("distances", pair, "is missing", "metric privacy has a level for every pair")
        return Epsilon.read(found)
    if len(distances) != len(names) or len(distances[i]) != len(names):
        raise GraphError(
            "distances", len(distances[i]), f"entries do not fit {len(names)} datasets", "give a square matrix"
        )
    value = distances[i][j]
    return Epsilon.read(value.item() if isinstance(value, np.generic) else value)


def _check_triangles(table: list[list[Epsilon]], names: Sequence[str]) -> None:
    """Floats decide where they are far from equality; near it, exact numbers do."""
    rough = np.array([[float(epsilon) for epsilon in row] for row in table])
    for w in range(len(names)):
        around = rough[:, w, None] + rough[None, w, :]
        with np.errstate(invalid="ignore"):
            doubtful = ~(rough <= around - _DOUBT * np.maximum(1, around))
        for u, v in np.argwhere(doubtful).tolist():
            if u < v and w not in (u, v) and table[u][v] > table[u][w] + table[w][v]:
                rule = f"is {table[u][v]}, more than {table[u][w] + table[w][v]} by way of {names[w]!r}"
                raise GraphError("distances", (names[u], names[v]), rule, "a metric obeys the triangle inequality")
