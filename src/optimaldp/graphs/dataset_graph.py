"""Graphs of datasets: vertices are datasets, an edge joins neighbours and carries its own privacy level."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.graphs.edge_levels import PlainLevels, number_levels, read_edge_level
from optimaldp.graphs.names import check_unique, numbers_of
from optimaldp.kernels.graph_loops import both_directions
from optimaldp.privacy import Level

Indices = npt.NDArray[np.int32]
MOST_DATASETS = 2**31 - 1  # vertices are numbered by 32-bit integers
_MANY_ARCS = 1_000_000  # from here on a linear sort repays loading the compiler


@dataclass(frozen=True)
class Arcs:
    """Every edge in both directions, sorted by where the arc starts (compressed sparse rows).

    The arcs out of vertex v are ``first[v] : first[v + 1]``; ``heads`` says where they lead and ``levels`` at which level
    (an index into :attr:`DatasetGraph.arc_levels`).
    """

    first: npt.NDArray[np.int64]
    heads: Indices
    levels: Indices

    def tails(self) -> Indices:
        """Where each arc starts."""
        degrees = np.diff(self.first)
        return np.repeat(np.arange(len(degrees), dtype=np.int32), degrees)


class DatasetGraph:
    """Datasets, which of them are neighbours, and what each pair of neighbours promises.

    Parallel edges mean that both levels hold. An edge of infinite epsilon is not the same as no edge: its delta still counts.
    A graph may be made before its level is known (``levels`` is then empty); :meth:`with_level` sets it.

    >>> from optimaldp.privacy import level
    >>> DatasetGraph.from_edges(["a", "b"], [("a", "b")], level=level("ln(2)"))
    DatasetGraph(2 datasets, 1 edges, (ln(2), 0)-DP)
    """

    def __init__(
        self,
        names: Sequence[str],
        tails: object,
        heads: object,
        *,
        levels: Sequence[Level] = (),
        level_of_edge: object = None,
        nodes: Sequence[Hashable] | None = None,
    ) -> None:
        """Make a graph from arrays of vertex numbers; see :meth:`from_edges` for names.

        *nodes* are what the datasets are called where the graph comes from, such as whole numbers or pairs of them.
        """
        if len(names) == 0:
            raise GraphError("graph", "no datasets", "is empty", "name at least one dataset")
        self.names = names
        self.nodes: Sequence[Hashable] = names if nodes is None else nodes
        self.tails = _numbers(tails, len(names), "dataset")
        self.heads = _numbers(heads, len(names), "dataset")
        # An array of levels behaves like a tuple of them, and makes each when it is asked for.
        self.levels = cast("tuple[Level, ...]", levels) if isinstance(levels, PlainLevels) else tuple(levels)
        self.edge_count = len(self.tails)
        self.has_levels = len(self.levels) > 0 or self.edge_count == 0
        """Whether the level of every edge is known."""
        self.level_of_edge: Indices = (
            np.zeros(len(self.tails), dtype=np.int32)
            if level_of_edge is None
            else _numbers(level_of_edge, max(1, len(self.levels)), "level")
        )
        self._check()

    def _check(self) -> None:
        check_unique(self.names)
        if not len(self.tails) == len(self.heads) == len(self.level_of_edge):
            lengths = (len(self.tails), len(self.heads), len(self.level_of_edge))
            raise GraphError("edges", lengths, "are arrays of different lengths")
        if (loops := np.flatnonzero(self.tails == self.heads)).size:
            name = self.names[int(self.tails[loops[0]])]
            raise GraphError("edges", name, "is joined to itself", "a dataset is not its own neighbour")

    @classmethod
    def from_edges(
        cls, names: Iterable[str], edges: Iterable[Sequence[Any]], *, level: Level | None = None
    ) -> DatasetGraph:
        """Make a graph from named vertices and edges ``(u, v)`` or ``(u, v, level)``; *level* is the default level."""
        vertices = list(names)
        check_unique(vertices)
        number = numbers_of(vertices)
        rows = [_read_edge(edge, number, level) for edge in edges]
        own_levels = [row[2] for row in rows if row[2] is not None]
        if own_levels and len(own_levels) < len(rows):
            bare = next(row for row in rows if row[2] is None)
            pair = (vertices[bare[0]], vertices[bare[1]])
            raise GraphError("edges", pair, "has no privacy level", "give a default level")
        levels, which = number_levels(own_levels)
        tails, heads = [row[0] for row in rows], [row[1] for row in rows]
        return cls(vertices, tails, heads, levels=levels, level_of_edge=which if own_levels else None)

    def with_level(self, level: object) -> DatasetGraph:
        """The same graph with one level on every edge: a :class:`Level`, an epsilon or a pair (epsilon, delta)."""
        made = self.with_levels([read_edge_level(level)])
        if "arcs" in self.__dict__ and made.levels[0].reversed() == made.levels[0]:
            # The arcs were sorted already, and one symmetric level needs no sorting.
            made.__dict__["arcs"] = Arcs(self.arcs.first, self.arcs.heads, np.zeros_like(self.arcs.heads))
        return made

    def with_levels(self, levels: Sequence[Any], level_of_edge: object = None) -> DatasetGraph:
        """The same graph with other levels; *level_of_edge* says which of them each edge has (all the first if left out)."""
        read = [read_edge_level(level) for level in levels]
        nodes = None if self.nodes is self.names else self.nodes
        return DatasetGraph(self.names, self.tails, self.heads, levels=read, level_of_edge=level_of_edge, nodes=nodes)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each named dataset."""
        return numbers_of(self.names)

    @cached_property
    def _number_of_node(self) -> Mapping[Hashable, int]:
        return {node: number for number, node in enumerate(self.nodes)}

    def find(self, dataset: Hashable) -> int | None:
        """The number of a dataset, by its node in the graph that this one was made from, or by its name."""
        if self.nodes is not self.names and dataset in self._number_of_node:
            return self._number_of_node[dataset]
        return self.numbers.get(dataset) if isinstance(dataset, str) else None

    def number(self, name: str) -> int:
        """The number of one dataset, or an error that names it."""
        try:
            return self.numbers[name]
        except KeyError:
            raise GraphError("dataset", name, f"is not one of the {len(self)} datasets of this graph") from None

    @property
    def is_homogeneous(self) -> bool:
        """Whether every edge has the same level."""
        return all(level == self.levels[0] for level in self.levels)

    @cached_property
    def arc_levels(self) -> tuple[Level, ...]:
        """The levels that arcs refer to: those of the edges as written, then those of directed edges walked backwards."""
        if isinstance(self.levels, PlainLevels):
            return self.levels
        backwards = [level.reversed() for level in self.levels if level.reversed() != level]
        return self.levels + tuple(backwards)

    @cached_property
    def arcs(self) -> Arcs:
        """Every edge in both directions, as compressed sparse rows. Built once, without a Python loop."""
        if 2 * self.edge_count < _MANY_ARCS:
            return self._sort_arcs()
        return Arcs(*both_directions(self.tails, self.heads, self.level_of_edge, self._backward_levels(), len(self)))

    def _sort_arcs(self) -> Arcs:
        """The arcs of a small graph, without loading a compiler."""
        tails = np.concatenate([self.tails, self.heads])
        order = np.argsort(tails, kind="stable")
        first = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(np.bincount(tails, minlength=len(self)), out=first[1:])
        levels = np.concatenate([self.level_of_edge, self._backward_levels()[self.level_of_edge]])
        return Arcs(first, np.concatenate([self.heads, self.tails])[order], levels[order])

    def _backward_levels(self) -> Indices:
        """For each level the index in :attr:`arc_levels` of the same level walked backwards."""
        if isinstance(self.levels, PlainLevels):
            return np.arange(len(self.levels), dtype=np.int32)
        index, extra = [], len(self.levels)
        for i, level in enumerate(self.levels):
            if level.reversed() == level:
                index.append(i)
            else:
                index.append(extra)
                extra += 1
        return np.array(index or [0], dtype=np.int32)

    def edges(self) -> list[tuple[str, str, Level]]:
        """Every edge with its names and level, as written."""
        if not self.has_levels:
            raise GraphError("graph", self, "has no privacy levels yet", "set them by with_level")
        ends = zip(self.tails.tolist(), self.heads.tolist(), self.level_of_edge.tolist())
        return [(self.names[u], self.names[v], self.levels[k]) for u, v, k in ends]

    def __repr__(self) -> str:
        return f"DatasetGraph({len(self)} datasets, {self.edge_count} edges, {self.level_words})"

    @property
    def level_words(self) -> str:
        """The one level of all edges, or how many different ones there are."""
        if isinstance(self.levels, PlainLevels):
            return f"{len(self.levels)} levels"
        distinct = list(dict.fromkeys(self.levels))
        return str(distinct[0]) if len(distinct) == 1 else f"{len(distinct)} levels" if distinct else "no level yet"


def _numbers(values: object, count: int, what: str) -> Indices:
    """Numbers of datasets or levels as 32-bit integers, checked before they are cut to that size."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GraphError("edges", array.dtype, "is not a row of whole numbers", f"give the number of each {what}")
    if count > MOST_DATASETS:
        raise GraphError("datasets", count, f"are more than {MOST_DATASETS}", "merge datasets by a quotient")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= count:
        raise GraphError("edges", low if low < 0 else high, f"is not a {what}: they are numbered 0 to {count - 1}")
    return np.ascontiguousarray(array, dtype=np.int32)


def _read_edge(edge: Sequence[Any], number: Mapping[str, int], level: Level | None) -> tuple[int, int, Level | None]:
    if isinstance(edge, str) or len(edge) not in (2, 3):
        raise GraphError("edges", edge, "is not an edge", "write (u, v) or (u, v, level)")
    for end in edge[:2]:
        if end not in number:
            raise GraphError("edges", end, "is not a dataset of this graph", "name it among the datasets")
    chosen = edge[2] if len(edge) > 2 else level
    return number[edge[0]], number[edge[1]], None if chosen is None else read_edge_level(chosen)
