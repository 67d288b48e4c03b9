"""Families of graphs: lines, rings, cliques, and graphs of points at a distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.extras import requiring
from optimaldp.graphs.dataset_graph import DatasetGraph, PlainLevels, read_edge_level
from optimaldp.graphs.names import NumberNames
from optimaldp.kernels.loops import TRIANGLES
from optimaldp.privacy import Epsilon
from optimaldp.privacy import level as make_level
from optimaldp.privacy.levels import approximate

# Lines, rings and cliques: the small graphs that others are products of.


def read_size(value: object, least: int, *, field: str) -> int:
    """A whole number of datasets, people, values or bins, at least *least*."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise GraphError(field, value, "is not a whole number")
    if value < least:
        raise GraphError(field, value, "is too small", f"it must be at least {least}")
    return int(value)


def line(
    size: int,
    *,
    level: object = None,
    levels: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    first: int = 0,
) -> DatasetGraph:
    """A path of *size* datasets; *levels* may give one level per edge (003, Theorem 3).

    >>> line(4, level="ln(2)")
    DatasetGraph(4 datasets, 3 edges, (ln(2), 0)-DP)
    """
    count = read_size(size, 1, field="size")
    start = np.arange(count - 1, dtype=np.int32)
    return _named(count, start, start + 1, level=level, levels=levels, names=names, first=first)


def ring(
    size: int,
    *,
    level: object = None,
    levels: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    first: int = 0,
) -> DatasetGraph:
    """A cycle of *size* datasets, at least three."""
    count = read_size(size, 3, field="size")
    start = np.arange(count, dtype=np.int32)
    return _named(count, start, (start + 1) % count, level=level, levels=levels, names=names, first=first)


def clique(size: int, *, level: object = None, names: Sequence[str] | None = None, first: int = 0) -> DatasetGraph:
    """*size* datasets that are all neighbours."""
    count = read_size(size, 1, field="size")
    tails, heads = np.triu_indices(count, 1)
    return _named(count, tails, heads, level=level, levels=None, names=names, first=first)


def _named(
    count: int,
    tails: Any,
    heads: Any,
    *,
    level: Any,
    levels: Sequence[Any] | None,
    names: Sequence[str] | None,
    first: int,
) -> DatasetGraph:
    if names is not None and len(names) != count:
        raise GraphError("names", len(names), f"names do not fit {count} datasets")
    graph = DatasetGraph(NumberNames(count, first=first) if names is None else names, tails, heads)
    if levels is None:
        return graph if level is None else graph.with_level(level)
    if level is not None:
        raise GraphError("levels", levels, "was given together with level", "give one level, or one per edge")
    if len(levels) != len(tails):
        raise GraphError("levels", len(levels), f"levels do not fit {len(tails)} edges", "give one per edge")
    return graph.with_levels([read_edge_level(one) for one in levels], np.arange(len(tails)))


# Metric privacy: a level for every pair of datasets, as large as their distance.


Distances = Callable[[str, str], Any] | Mapping[tuple[str, str], Any] | Sequence[Sequence[Any]] | npt.NDArray[Any]
_WAYS_PER_PASS = 64  # ways around that are tried in one pass over all pairs
_TRIANGLE_SLACK = 1e-12  # relative: by how much rounding may make three floats miss it, as points on a line do
_MOST_OBJECTS = 1000  # different distances: beyond, floats stand for them
_FLOAT_DOUBT = 1e-9  # relative: a float within this of equality is not trusted; doubles are right to about 1e-15


def metric(distances: Distances, *, names: Sequence[str] | None = None, triangle: bool = True) -> DatasetGraph:
    """All pairs of datasets are joined, at an epsilon equal to their distance (d-metric privacy; 003, Section III).

    *distances* is a symmetric matrix, a mapping from pairs of names, or a function of two names.

    **Guarantee.** Unless *triangle* is false, ``epsilon(u, v) <= epsilon(u, w) + epsilon(w, v)`` was checked exactly for all
    triples (of an array of floats, up to a relative 1e-12 of rounding); the error names the first that breaks it.

    >>> metric([[0, 1, 2], [1, 0, 1], [2, 1, 0]], names=["a", "b", "c"])
    DatasetGraph(3 datasets, 3 edges, 2 levels)
    """
    vertices = _read_names(distances, names)
    numbered = _numbered_table(distances, vertices)
    if triangle:
        _check_triangles(numbered, vertices)
    tails, heads = np.triu_indices(len(vertices), 1)
    used, which = np.unique(numbered.of[tails, heads], return_inverse=True)
    if numbered.rough is not None and len(used) > 1:
        return DatasetGraph(
            vertices, tails, heads, levels=PlainLevels(numbered.rough[used], np.zeros(len(used))), level_of_edge=which
        )
    levels = [approximate(numbered.values[k]) for k in used.tolist()]
    return DatasetGraph(vertices, tails, heads, levels=levels, level_of_edge=which)


def line_metric(size: int, *, per_step: object) -> DatasetGraph:
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

    values: Sequence[Epsilon]
    of: npt.NDArray[np.int64]
    floats: bool = False  # whether they were floats, whose rounding is not held against them
    rough: npt.NDArray[np.float64] | None = None  # the values as floats, where there are too many to keep objects


class _Decimals(Sequence[Epsilon]):
    """Floats as the numbers that their shortest decimals are, each made when it is asked for."""

    def __init__(self, floats: npt.NDArray[np.float64]) -> None:
        self._floats = floats

    def __len__(self) -> int:
        return len(self._floats)

    def __getitem__(self, item: Any) -> Any:
        return Epsilon(Fraction(Decimal(repr(self._floats[item].item()))), Fraction(1))


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
        if len(known) > _MOST_OBJECTS and known.dtype == np.float64 and PlainLevels.holds(known, np.zeros(1)):
            return _Numbered(_Decimals(known), of, floats=True, rough=known)
        return _Numbered(_read_numbers(known), of, floats=distances.dtype.kind == "f")
    table = _read_table(distances, names)
    number: dict[Epsilon, int] = {}
    rows = [[number.setdefault(entry, len(number)) for entry in row] for row in table]
    return _Numbered(tuple(number), np.array(rows, dtype=np.int64))


def _read_numbers(known: npt.NDArray[Any]) -> tuple[Epsilon, ...]:
    """Each number by its shortest decimal; a matrix of floats may have millions of different ones."""
    plain = known.dtype == np.float64 and bool((np.isfinite(known) & ((known == 0) | (known > 1e-300))).all())
    if not plain or (known < 0).any():
        return tuple(Epsilon.read(value.item()) for value in known)
    one = Fraction(1)
    return tuple(Epsilon(Fraction(Decimal(repr(value))), one) for value in known.tolist())


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
    multiples = _multiples(numbered.values, len(names)) if numbered.rough is None else None
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
        for w in range(len(names)):
            broken = np.argwhere(whole > whole[:, w, None] + whole[None, w, :])
            if len(broken):
                raise _broken_triangle(numbered, names, (*broken[0].tolist(), w))
        return
    values = numbered.rough
    if values is None:
        values = np.array([float(epsilon) for epsilon in numbered.values])
    rough = values[numbered.of]
    for u, v, w in _doubtful_triangles(rough):
        if numbered.floats and rough[u, v] <= (rough[u, w] + rough[w, v]) * (1 + _TRIANGLE_SLACK):
            continue
        direct, there, back = (numbered.values[int(numbered.of[pair])] for pair in ((u, v), (u, w), (w, v)))
        if direct > there + back:
            raise _broken_triangle(numbered, names, (u, v, w))


def _broken_triangle(numbered: _Numbered, names: Sequence[str], triple: tuple[int, ...]) -> GraphError:
    u, v, w = triple
    direct, there, back = (numbered.values[int(numbered.of[pair])] for pair in ((u, v), (u, w), (w, v)))
    rule = f"is {direct}, more than {there + back} by way of {names[w]!r}"
    return GraphError("distances", (names[u], names[v]), rule, "a metric obeys the triangle inequality")


def _doubtful_triangles(rough: npt.NDArray[np.float64]) -> Iterator[tuple[int, int, int]]:
    """Triples (u, v, by way of w) that floats cannot pass; a number of them at a time, so that many ties fit too."""
    count = len(rough)
    doubtful = np.empty((_WAYS_PER_PASS * count, 3), dtype=np.int64)  # all triples of one u fit
    for w in range(0, count, _WAYS_PER_PASS):
        ways = np.arange(w, min(w + _WAYS_PER_PASS, count))
        first = 0
        while first < count:
            with np.errstate(invalid="ignore"):  # ∞ - ∞ is in doubt
                filled, first = TRIANGLES(count * count * len(ways), rough, ways, first, _FLOAT_DOUBT, doubtful)
            yield from map(tuple, doubtful[:filled].tolist())


def _multiples(values: Sequence[Epsilon], count: int) -> npt.NDArray[np.float64] | None:
    """The distances as whole multiples of one number, if they are and sums of all of them are exact in floats."""
    if any(value.infinite for value in values):
        return None
    parts = [value.finite_parts for value in values]
    if any(ratio != 1 for _, ratio in parts):
        return None
    unit = math.lcm(*(plain.denominator for plain, _ in parts))
    whole = [int(plain * unit) for plain, _ in parts]
    return np.array(whole, dtype=np.float64) if max(whole) * count < 2**53 else None
