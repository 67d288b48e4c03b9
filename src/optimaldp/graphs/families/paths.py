"""Lines, rings and cliques: the small graphs that others are products of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optimaldp.errors import GraphError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.edge_levels import read_edge_level
from optimaldp.graphs.names import NumberNames


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
