"""Products of graphs: votes, values, hypercubes and grids of counts. Two datasets are neighbours if one part differs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.graphs.dataset_graph import MOST_DATASETS, DatasetGraph
from optimaldp.graphs.edge_levels import levels_per_part, number_levels
from optimaldp.graphs.families.paths import clique, line, read_size
from optimaldp.graphs.families.product_edges import product_edges
from optimaldp.graphs.names import NumberNames, ProductNames
from optimaldp.privacy import Level

YES, NO = "1", "2"  # how votes are written in names, as in paper 000


def product(*graphs: DatasetGraph, separator: str = ",") -> DatasetGraph:
    """The product of graphs: a dataset has one part of each, and neighbours differ in one part, by an edge of that graph.

    An edge keeps the level that it has in its own graph: different levels per individual, group or attribute come out of it.

    >>> product(DatasetGraph(["a", "b"], [0], [1]), DatasetGraph(["x", "y"], [0], [1])).names[1]
    'a,y'
    """
    if not graphs:
        raise GraphError("graphs", (), "is empty", "name at least one graph")
    known = [graph.has_levels for graph in graphs if graph.edge_count]
    if any(known) and not all(known):
        bare = next(graph for graph in graphs if not graph.has_levels)
        raise GraphError("graphs", bare, "has no privacy level while others have", "set it by with_level")
    sizes = [len(graph) for graph in graphs]
    _check_size(sizes)
    levels, number = number_levels([level for graph in graphs for level in graph.levels])
    cuts = np.cumsum([len(graph.levels) for graph in graphs])[:-1]
    # A graph without levels numbers them all 0.
    own = [part if len(part) else np.zeros(1, dtype=np.int32) for part in np.split(number, cuts)]
    tails, heads, which = product_edges(graphs, own)
    names = ProductNames([part for graph in graphs for part in _parts(graph, separator)], separator=separator)
    return DatasetGraph(names, tails, heads, levels=levels, level_of_edge=which)


def _parts(graph: DatasetGraph, separator: str) -> Sequence[Sequence[str]]:
    """A product of products joined by the same separator is one product."""
    names = graph.names
    return names.parts if isinstance(names, ProductNames) and names.separator == separator else [names]


def _check_size(sizes: Sequence[int]) -> None:
    if math.prod(sizes) > MOST_DATASETS:
        way_out = "count people instead of listing them (a line or grid of counts)"
        raise GraphError("graph", f"{math.prod(sizes):.3g} datasets", "is too large to list", way_out)


def values(
    count: int,
    persons: int,
    *,
    level: object = None,
    levels: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
) -> DatasetGraph:
    """Each of *persons* has one of *count* values; neighbours differ in one person's value (substitution).

    *levels* gives each person a privacy level of their own. Values are written 1, 2, … unless *names* names them.

    >>> values(3, 2, level=1)
    DatasetGraph(9 datasets, 18 edges, (1, 0)-DP)
    """
    symbols = NumberNames(read_size(count, 1, field="count"), first=1) if names is None else names
    if len(symbols) != count:
        raise GraphError("names", len(symbols), f"names do not fit {count} values")
    separator = "" if all(len(name) == 1 for name in symbols) else ","
    return _power(clique(count, names=symbols), persons, level, levels, separator=separator, part="person")


def votes(persons: int, *, level: object = None, levels: Sequence[Any] | None = None) -> DatasetGraph:
    """All ways in which *persons* can vote, 1 for yes and 2 for no (000, Fig. 1a); neighbours differ in one vote.

    *levels* gives each person a privacy level of their own (personalised privacy).

    >>> list(votes(2).names)
    ['11', '12', '21', '22']
    """
    return values(2, persons, level=level, levels=levels, names=[YES, NO])


def hypercube(dimension: int, *, level: object = None, levels: Sequence[Any] | None = None) -> DatasetGraph:
    """All words of *dimension* bits; neighbours differ in one bit.

    >>> hypercube(20)
    DatasetGraph(1048576 datasets, 10485760 edges, no level yet)
    """
    return _power(line(2), dimension, level, levels, separator="", part="bit")


def grid(shape: Sequence[int], *, level: object = None, levels: Sequence[Any] | None = None) -> DatasetGraph:
    """All points of a grid of the given *shape*; neighbours differ by one in one coordinate. *levels*: one per axis.

    >>> grid((1000, 1000), levels=[0.1, 0.2])
    DatasetGraph(1000000 datasets, 1998000 edges, 2 levels)
    """
    sizes = [read_size(size, 1, field="shape") for size in shape]
    per_axis = levels_per_part(len(sizes), level, levels, part="axis")
    axes = [line(size) for size in sizes]
    return _product_with(axes, per_axis, separator=",")


def group_counts(sizes: Sequence[int], *, level: object = None, levels: Sequence[Any] | None = None) -> DatasetGraph:
    """How many people of each group answered yes: a grid of counts from 0 to the group's size.

    Neighbours differ in one person's answer, and *levels* may protect each group by a level of its own.

    >>> group_counts([2, 3], levels=["ln(2)", "ln(3)"]).names[5]
    '1,1'
    """
    return grid([read_size(size, 0, field="sizes") + 1 for size in sizes], level=level, levels=levels)


def coordinates(graph: DatasetGraph) -> npt.NDArray[np.int32]:
    """One row of numbers per dataset of a product, grid or lattice: what a true answer is computed from, by arrays.

    >>> coordinates(grid((2, 2))).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    compute = getattr(graph.names, "coordinates", None)
    if compute is None:
        raise GraphError("graph", graph, "has no coordinates", "only products, grids and lattices have them")
    rows: npt.NDArray[np.int32] = compute()
    return rows


def _power(
    factor: DatasetGraph, count: int, level: object, levels: Sequence[Any] | None, *, separator: str, part: str
) -> DatasetGraph:
    times = read_size(count, 1, field=f"{part}s")
    _check_size([len(factor)] * min(times, 64))
    return _product_with([factor] * times, levels_per_part(times, level, levels, part=part), separator=separator)


def _product_with(factors: Sequence[DatasetGraph], levels: list[Level] | None, *, separator: str) -> DatasetGraph:
    if levels is None:
        return product(*factors, separator=separator)
    return product(*(factor.with_level(one) for factor, one in zip(factors, levels)), separator=separator)
