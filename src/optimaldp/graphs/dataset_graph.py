"""Graphs of datasets: vertices are datasets, an edge joins neighbours and carries its own privacy level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.privacy import Level

Indices = npt.NDArray[np.int32]


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

    >>> from optimaldp.privacy import level
    >>> DatasetGraph.from_edges(["a", "b"], [("a", "b")], level=level("ln(2)"))
    DatasetGraph(2 datasets, 1 edges, (ln(2), 0)-DP)
    """

    def __init__(
        self, names: Sequence[str], tails: Any, heads: Any, *, levels: Sequence[Level], level_of_edge: Any = None
    ) -> None:
        """Make a graph from arrays of vertex numbers; see :meth:`from_edges` for names."""
        self.names = names
        self.tails: Indices = np.ascontiguousarray(tails, dtype=np.int32)
        self.heads: Indices = np.ascontiguousarray(heads, dtype=np.int32)
        self.levels = tuple(levels)
        self.level_of_edge: Indices = (
            np.zeros(len(self.tails), dtype=np.int32)
            if level_of_edge is None
            else np.ascontiguousarray(level_of_edge, dtype=np.int32)
        )
        self._check()

    def _check(self) -> None:
        count = len(self.names)
        if count == 0:
            raise GraphError("graph", "no datasets", "is empty", "name at least one dataset")
        if not len(self.tails) == len(self.heads) == len(self.level_of_edge):
            lengths = (len(self.tails), len(self.heads), len(self.level_of_edge))
            raise GraphError("edges", lengths, "are arrays of different lengths")
        if len(self.tails) == 0:
            return
        low = min(int(self.tails.min()), int(self.heads.min()))
        high = max(int(self.tails.max()), int(self.heads.max()))
        if low < 0 or high >= count:
            raise GraphError("edges", low if low < 0 else high, f"is not a dataset: they are numbered 0 to {count - 1}")
        if (loops := np.flatnonzero(self.tails == self.heads)).size:
            name = self.names[int(self.tails[loops[0]])]
            raise GraphError("edges", name, "is joined to itself", "a dataset is not its own neighbour")
        if self.level_of_edge.min() < 0 or self.level_of_edge.max() >= len(self.levels):
            raise GraphError("levels", int(self.level_of_edge.max()), f"is not one of {len(self.levels)} levels")

    @classmethod
    def from_edges(
        cls, names: Iterable[str], edges: Iterable[Sequence[Any]], *, level: Level | None = None
    ) -> DatasetGraph:
        """Make a graph from named vertices and edges ``(u, v)`` or ``(u, v, level)``; *level* is the default level."""
        vertices = list(names)
        number = {name: i for i, name in enumerate(vertices)}
        if len(number) < len(vertices):
            twice = next(name for i, name in enumerate(vertices) if number[name] != i)
            raise GraphError("datasets", twice, "is named twice", "names are unique")
        tails, heads, which = [], [], []
        levels: dict[Level, int] = {}
        for edge in edges:
            chosen = edge[2] if len(edge) > 2 else level
            if chosen is None:
                raise GraphError("edges", tuple(edge[:2]), "has no privacy level", "give a default level")
            for end in edge[:2]:
                if end not in number:
                    raise GraphError("edges", end, "is not a dataset of this graph", "name it among the datasets")
            tails.append(number[edge[0]])
            heads.append(number[edge[1]])
            which.append(levels.setdefault(chosen, len(levels)))
        return cls(vertices, tails, heads, levels=tuple(levels), level_of_edge=which)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def edge_count(self) -> int:
        return len(self.tails)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each named dataset."""
        return {name: i for i, name in enumerate(self.names)}

    @property
    def is_homogeneous(self) -> bool:
        """Whether every edge has the same level."""
        return len(set(self.levels)) <= 1

    @cached_property
    def arc_levels(self) -> tuple[Level, ...]:
        """The levels that arcs refer to: those of the edges as written, then those of directed edges walked backwards."""
        backwards = [level.reversed() for level in self.levels if level.reversed() != level]
        return self.levels + tuple(backwards)

    @cached_property
    def arcs(self) -> Arcs:
        """Every edge in both directions, as compressed sparse rows. Built once, without a Python loop."""
        back = self._backward_levels()[self.level_of_edge]
        tails = np.concatenate([self.tails, self.heads])
        order = np.argsort(tails, kind="stable")
        first = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(np.bincount(tails, minlength=len(self)), out=first[1:])
        heads = np.concatenate([self.heads, self.tails])[order]
        return Arcs(first, heads, np.concatenate([self.level_of_edge, back])[order])

    def _backward_levels(self) -> Indices:
        """For each level the index in :attr:`arc_levels` of the same level walked backwards."""
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
        return [
            (self.names[u], self.names[v], self.levels[k])
            for u, v, k in zip(self.tails.tolist(), self.heads.tolist(), self.level_of_edge.tolist())
        ]

    def __repr__(self) -> str:
        distinct = list(dict.fromkeys(self.levels))
        what = str(distinct[0]) if len(distinct) == 1 else f"{len(distinct)} levels"
        return f"DatasetGraph({len(self)} datasets, {self.edge_count} edges, {what})"
