"""Metric privacy: a level for every pair of datasets, as large as their distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.extras import requiring
from optimaldp.graphs.dataset_graph import DatasetGraph
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
    numbered = _numbered_table(distances, words)
    if triangle:
        _check_triangles(numbered, words)
    tails, heads = np.triu_indices(len(words), 1)
    used, which = np.unique(numbered.of[tails, heads], return_inverse=True)
    levels = [make_level(numbered.values[k]) for k in used.tolist()]
    return DatasetGraph(words, tails, heads, levels=levels, level_of_edge=which)


def line_metric(size: int, *, per_step: Any) -> DatasetGraph:
    """Numbers 0, 1, …, and for all pairs ``|i - j|`` times *per_step*: the metric that a line of that level implies."""
    step, count = Epsilon.read(per_step), read_size(size, 1, field="size")
    number = np.arange(count)
    tails, heads = np.triu_indices(count, 1)
    levels = [make_level(step * distance) for distance in range(1, count)]
    return DatasetGraph(
        NumberNames(count), tails, heads, levels=levels, level_of_edge=number[heads] - number[tails] - 1
    )


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


@dataclass(frozen=True)
class _Numbered:
    """Each different distance once, and for all ordered pairs which one it is."""

    values: tuple[Epsilon, ...]
    of: npt.NDArray[np.int64]


def _numbered_table(distances: Distances, names: Sequence[str]) -> _Numbered:
    """All distances; of an array the different numbers are read once each, without a Python loop over the pairs."""
    if isinstance(distances, np.ndarray) and distances.ndim == 2 and distances.dtype.kind in "iuf":
        if distances.shape != (len(names), len(names)):
            raise GraphError(
                "distances", distances.shape, f"entries do not fit {len(names)} datasets", "give a square matrix"
            )
        known, of = np.unique(distances, return_inverse=True)
        of = of.reshape(distances.shape)
        uneven = np.argwhere(of != of.T)
        if len(uneven):
            i, j = uneven[0].tolist()
            rule = f"is {distances[i, j]} one way and {distances[j, i]} the other"
            raise GraphError("distances", (names[i], names[j]), rule, "a metric is symmetric")
        return _Numbered(tuple(Epsilon.read(value.item()) for value in known), of)
    table = _read_table(distances, names)
    number: dict[Epsilon, int] = {}
    rows = [[number.setdefault(entry, len(number)) for entry in row] for row in table]
    return _Numbered(tuple(number), np.array(rows, dtype=np.int64))


def _entry(distances: Distances, names: Sequence[str], i: int, j: int) -> Epsilon:
    if callable(distances):
        return Epsilon.read(distances(names[i], names[j]))
    if isinstance(distances, Mapping):
        pair = (names[i], names[j])
        distance = distances.get(pair, distances.get(pair[::-1]))
        if distance is None:
            raise GraphError("distances", pair, "is missing", "metric privacy has a level for every pair")
        return Epsilon.read(distance)
    if len(distances) != len(names) or len(distances[i]) != len(names):
        raise GraphError(
            "distances", len(distances[i]), f"entries do not fit {len(names)} datasets", "give a square matrix"
        )
    value = distances[i][j]
    return Epsilon.read(value.item() if isinstance(value, np.generic) else value)


def _check_triangles(numbered: _Numbered, names: Sequence[str]) -> None:
    """Whole multiples of one number are compared exactly, all at once; otherwise floats decide where they can."""
    multiples = _multiples(numbered.values, len(names))
    if multiples is not None:
        with requiring("scipy"):
            from scipy.sparse.csgraph import floyd_warshall

        whole = multiples[numbered.of]
        np.fill_diagonal(whole, 0.0)
        # The triangle inequality holds exactly if no way around is shorter; sums of whole floats below 2^53 are exact.
        if (
            floyd_warshall(np.where(whole == 0.0, np.inf, whole) if (whole > 0).any() else whole) >= whole
        ).all() and not ((whole == 0.0) & ~np.eye(len(names), dtype=bool)).any():
            return
    _check_each_triangle([[numbered.values[k] for k in row] for row in numbered.of.tolist()], names)


def _multiples(values: tuple[Epsilon, ...], count: int) -> npt.NDArray[np.float64] | None:
    """The distances as whole multiples of one number, if they are and sums of all of them are exact in floats."""
    if any(value.infinite for value in values):
        return None
    parts = [value.finite_parts() for value in values]
    if any(ratio != 1 for _, ratio in parts):
        return None
    unit = math.lcm(*(plain.denominator for plain, _ in parts))
    whole = [int(plain * unit) for plain, _ in parts]
    return np.array(whole, dtype=np.float64) if max(whole) * count < 2**53 else None


def _check_each_triangle(table: list[list[Epsilon]], names: Sequence[str]) -> None:
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
