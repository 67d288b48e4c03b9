"""Graphs of answers or secrets: which of them neighbouring datasets can give, and how far apart they are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from itertools import combinations, product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from optimaldp import graphs
from optimaldp.channels.numbers import json_labels
from optimaldp.errors import GraphError
from optimaldp.extras import requiring
from optimaldp.graphs.products import compositions
from optimaldp.privacy.numbers import fraction_text, read_number
from optimaldp.results import Result

# Graphs of answers (or of secrets): which of them neighbouring datasets can give, and how far apart they are.


Vertex = Hashable
Edge = tuple[Vertex, Vertex]
Permutation = tuple[int, ...]
_ONE = Fraction(1)
_LONGEST = 10**9  # of an edge


class AnswerGraph(Result):
    """Vertices and undirected edges; an edge may have a length (metric privacy grants it ``length · epsilon``).

    ``superset`` marks a graph with more edges than the question induces (004 Remark 2): private on it is private, but
    the best mechanism for it need not be the best for the question.

    >>> AnswerGraph.ring(5), AnswerGraph.ring(5).distance(0, 3)
    (AnswerGraph(5 answers, 5 edges), Fraction(2, 1))
    """

    def __init__(
        self,
        vertices: Iterable[Vertex],
        edges: Iterable[Sequence[Vertex]] | Mapping[Edge, Any],
        *,
        superset: bool = False,
        symmetries: Iterable[Sequence[int]] = (),
    ) -> None:
        self.vertices = tuple(vertices)
        self._index = {vertex: i for i, vertex in enumerate(self.vertices)}
        if not self.vertices or len(self._index) < len(self.vertices):
            raise GraphError(
                "vertices", self.vertices[:5], "does not name different answers", "name at least one answer, each once"
            )
        self.lengths = self._read_edges(edges)
        self.superset = superset
        self._candidates = tuple(tuple(s) for s in symmetries)

    def _read_edges(self, edges: Iterable[Sequence[Vertex]] | Mapping[Edge, Any]) -> dict[Edge, Fraction]:
        pairs = edges.items() if isinstance(edges, Mapping) else ((tuple(edge), _ONE) for edge in edges)
        lengths: dict[Edge, Fraction] = {}
        for edge, length in pairs:
            if len(edge) != 2 or edge[0] not in self._index or edge[1] not in self._index:
                raise GraphError("edge", edge, "does not join two vertices of this graph")
            # a clique of 1000 answers has half a million edges: lengths that are plainly one are not read again
            read = length if length is _ONE else read_number(length, name="length", error=GraphError)
            if read <= 0:
                raise GraphError("length", length, "is not positive", f"edge {edge}")
            if read > _LONGEST:
                raise GraphError(
                    "length",
                    str(length),
                    f"is more than {_LONGEST}",
                    "use a larger unit of length and a larger epsilon",
                )
            if edge[0] != edge[1]:
                # of parallel edges the shortest asks most, and what it asks implies the others
                key = (edge[0], edge[1]) if self._index[edge[0]] < self._index[edge[1]] else (edge[1], edge[0])
                lengths[key] = min(read, lengths.get(key, read))
        return lengths

    @classmethod
    def path(cls, size: int | Sequence[Vertex]) -> Self:
        """A line: counting."""
        names = _names(size)
        turned = [tuple(range(len(names) - 1, -1, -1))]
        return cls(names, _edges(graphs.line(len(names)), names), symmetries=turned)

    @classmethod
    def ring(cls, size: int | Sequence[Vertex]) -> Self:
        """A ring: counting modulo its size."""
        names = _names(size)
        n = len(names)
        turns = [tuple((i + 1) % n for i in range(n)), tuple(-i % n for i in range(n))]
        return cls(names, zip(names, [*names[1:], names[0]]), symmetries=turns)

    @classmethod
    def clique(cls, size: int | Sequence[Vertex]) -> Self:
        """Every two answers are neighbours: randomised response, "who won?"."""
        names = _names(size)
        n = len(names)
        swaps = [(*range(i), i + 1, i, *range(i + 2, n)) for i in range(n - 1)] if n <= 64 else []
        return cls(names, _edges(graphs.clique(n), names), symmetries=swaps)

    @classmethod
    def hypercube(cls, dimension: int) -> Self:
        """All words of zeros and ones; neighbours differ in one place."""
        words = list(product((0, 1), repeat=dimension))
        where = {word: i for i, word in enumerate(words)}
        if not dimension:
            return cls(words, [])
        flipped = [where[1 - w[0], *w[1:]] for w in words]
        swaps = [[where[(*w[:i], w[i + 1], w[i], *w[i + 2 :])] for w in words] for i in range(dimension - 1)]
        return cls(words, _edges(graphs.grid((2,) * dimension), words), symmetries=[flipped, *swaps])

    @classmethod
    def grid(cls, rows: int, columns: int) -> Self:
        """Places on a grid; neighbours are next to each other (geo-indistinguishability)."""
        places = list(product(range(rows), range(columns)))
        where = {place: i for i, place in enumerate(places)}
        flips = [[where[rows - 1 - r, c] for r, c in places], [where[r, columns - 1 - c] for r, c in places]]
        if rows == columns:
            flips.append([where[c, r] for r, c in places])
        return cls(places, _edges(graphs.grid((rows, columns)), places), symmetries=flips)

    @classmethod
    def histograms(cls, people: int, bins: int, *, neighbours: str = "substitution") -> Self:
        """All tables of counts: neighbours differ by one person who moves (``substitution``, everybody is counted) or
        who comes or goes (``add-remove``, up to *people* are counted).

        >>> from optimaldp.channels import AnswerGraph
        >>> AnswerGraph.histograms(3, 3), AnswerGraph.histograms(3, 2, neighbours="add-remove")
        (AnswerGraph(10 answers, 18 edges), AnswerGraph(10 answers, 12 edges))
        """
        if people < 0 or bins < 1 or neighbours not in ("substitution", "add-remove"):
            rule = "does not describe tables of counts"
            raise GraphError("histograms", (people, bins, neighbours), rule, "use substitution or add-remove")
        # Who is absent stands in a bin of their own, and comes or goes by a move from or to it.
        away = neighbours == "add-remove"
        lattice = graphs.histogram_lattice(bins + away, people)
        tables = [tuple(row) for row in compositions(bins + away, people)[:, away:].tolist()]
        edges = _edges(lattice, tables)
        by_total = sorted(tables, key=lambda table: (sum(table), table))
        return cls(by_total, [(a, b) for a, b in edges if sum(a) != sum(b)] if away else edges)

    @classmethod
    def tree(cls, branching: int, depth: int) -> Self:
        """A rooted tree in which every inner vertex has *branching* children."""
        size = sum(branching**level for level in range(depth + 1))
        return cls(range(size), [((i - 1) // branching, i) for i in range(1, size)])

    @classmethod
    def metric(cls, vertices: Sequence[Vertex], distance: Callable[[Any, Any], object]) -> Self:
        """Metric privacy: *distance(a, b)* for every two secrets, in units of epsilon."""
        return cls(vertices, {(a, b): distance(a, b) for a, b in combinations(vertices, 2)})

    def checked_symmetries(self) -> list[Permutation]:
        """The permutations of the vertices that were named as symmetries and are."""
        return [candidate for candidate in self._candidates if self.is_symmetry(candidate)]

    def is_symmetry(self, permutation: Sequence[int]) -> bool:
        """Whether a permutation of the vertices (by index) keeps every edge and its length."""
        if sorted(permutation) != list(range(len(self.vertices))):
            return False
        # edges to edges is enough: there are finitely many, and a permutation sends no two to one
        images = {vertex: self.vertices[permutation[i]] for i, vertex in enumerate(self.vertices)}
        return all(self.length(images[a], images[b]) == length for (a, b), length in self.lengths.items())

    @property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(self.lengths)

    def index(self, vertex: Vertex) -> int:
        try:
            return self._index[vertex]
        except (KeyError, TypeError):
            raise GraphError("vertex", vertex, "is not in this graph") from None

    def length(self, a: Vertex, b: Vertex) -> Fraction | None:
        """The length of the edge between two vertices, or ``None`` if there is none."""
        return self.lengths.get((a, b), self.lengths.get((b, a)))

    @cached_property
    def plain(self) -> bool:
        """Whether every edge has length 1."""
        return all(length is _ONE or length == 1 for length in self.lengths.values())

    @cached_property
    def is_clique(self) -> bool:
        """Whether every two vertices are joined."""
        return 2 * len(self.lengths) == len(self.vertices) * (len(self.vertices) - 1)

    @cached_property
    def line_order(self) -> list[int] | None:
        """The vertices by their places from one end to the other, if the graph is a plain line."""
        size = len(self.vertices)
        degrees = [len(near) for near in self._neighbours]
        # One part with n − 1 edges is a tree, and a tree without branches is a line.
        if len(self.lengths) != size - 1 or max(degrees) > 2 or not self.plain or len(self.components) > 1:
            return None
        order, last = [next(i for i, degree in enumerate(degrees) if degree <= 1)], -1
        while len(order) < size:
            onward = next(place for place, _ in self._neighbours[order[-1]] if place != last)
            last = order[-1]
            order.append(onward)
        return order

    @cached_property
    def edge_indices(self) -> NDArray[np.int64]:
        """The ends of each edge by their places among the vertices, one row for each edge."""
        places = [(self._index[a], self._index[b]) for a, b in self.lengths]
        return np.array(places, dtype=np.int64).reshape(-1, 2)

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """All distances as floats (``inf`` between components); exact for plain graphs."""
        with requiring("scipy"):
            from scipy.sparse import csr_matrix
            from scipy.sparse.csgraph import shortest_path

        size, ends = len(self.vertices), self.edge_indices
        if self.is_clique and self.plain:
            return np.ones((size, size)) - np.eye(size)
        weights = np.array([float(length) for length in self.lengths.values()])
        matrix = csr_matrix((weights, (ends[:, 0], ends[:, 1])), shape=(size, size))
        lengths: NDArray[np.float64] = shortest_path(matrix, method="D", directed=False, unweighted=self.plain)
        return lengths

    @cached_property
    def exact_distances(self) -> tuple[tuple[Fraction | None, ...], ...]:
        """All distances as rationals; ``None`` between components."""
        if self.plain:
            return tuple(
                tuple(None if d == np.inf else Fraction(int(d)) for d in row) for row in self.distances.tolist()
            )
        return tuple(self.distances_from(i) for i in range(len(self.vertices)))

    def distances_from(self, source: int) -> tuple[Fraction | None, ...]:
        """The distances from one vertex, given by its place, to all; ``None`` to other components."""
        reached: list[Fraction | None] = [None] * len(self.vertices)
        queue = [(Fraction(0), source)]
        while queue:
            distance, vertex = heappop(queue)
            if reached[vertex] is not None:
                continue
            reached[vertex] = distance
            for neighbour, length in self._neighbours[vertex]:
                heappush(queue, (distance + length, neighbour))
        return tuple(reached)

    @cached_property
    def _neighbours(self) -> list[list[tuple[int, Fraction]]]:
        lists: list[list[tuple[int, Fraction]]] = [[] for _ in self.vertices]
        for (a, b), length in self.lengths.items():
            lists[self._index[a]].append((self._index[b], length))
            lists[self._index[b]].append((self._index[a], length))
        return lists

    def degree(self, vertex: Vertex) -> int:
        return len(self._neighbours[self.index(vertex)])

    def distance(self, a: Vertex, b: Vertex) -> Fraction | None:
        """The distance of two vertices; ``None`` if nothing joins them."""
        return self.exact_distances[self.index(a)][self.index(b)]

    def borders(self, vertex: Vertex) -> list[int]:
        """How many vertices lie at distance 0, 1, 2, … of *vertex* (plain graphs)."""
        row = [int(d) for d in self.exact_distances[self.index(vertex)] if d is not None]
        return [row.count(d) for d in range(max(row) + 1)]

    @property
    def connected(self) -> bool:
        return len(self.components) == 1

    @cached_property
    def components(self) -> list[list[int]]:
        """The indices of each connected part."""
        visited: set[int] = set()
        parts = []
        for start in range(len(self.vertices)):
            if start not in visited:
                visited.add(start)
                part = [start]
                for vertex in part:  # grows while it is walked
                    near = [other for other, _ in self._neighbours[vertex] if other not in visited]
                    visited.update(near)
                    part += near
                parts.append(sorted(part))
        return parts

    def with_edges(self, extra: Iterable[Edge]) -> AnswerGraph:
        """The same graph with artificial edges (004 Remark 2): sound, marked as a superset, and it costs utility."""
        # An edge that is there already keeps its length, whichever end it is written from.
        known = set(map(frozenset, self.lengths))
        lengths: dict[Edge, Any] = dict.fromkeys((edge for edge in extra if frozenset(edge) not in known), 1)
        lengths.update(self.lengths)
        grown = AnswerGraph(self.vertices, lengths)
        grown.superset = self.superset or set(grown.lengths) != set(self.lengths)
        return grown

    def summary(self) -> str:
        marked = ", superset" if self.superset else ""
        return f"AnswerGraph({len(self.vertices)} answers, {len(self.lengths)} edges{marked})"

    def to_document(self) -> dict[str, Any]:
        edges = [
            [*json_labels(edge)] + ([] if length == 1 else [fraction_text(length)])
            for edge, length in self.lengths.items()
        ]
        return {"vertices": json_labels(self.vertices), "edges": edges, "superset": self.superset}

    @staticmethod
    def from_document(document: object) -> AnswerGraph:
        """Read ``{"vertices": [...], "edges": [[a, b], [a, b, length]]}``;
        vertices may be left out if every one has an edge.
        """
        if not isinstance(document, dict) or not isinstance(document.get("edges"), list):
            raise GraphError("graph", document, "is not an object with a list of edges")
        unknown = set(document) - {"vertices", "edges", "superset"}
        if unknown:
            raise GraphError("graph", sorted(unknown)[0], "is not a field of a graph", "use vertices and edges")
        edges = [[_vertex(part) for part in edge] if isinstance(edge, list) else edge for edge in document["edges"]]
        odd = next((edge for edge in edges if not isinstance(edge, list) or len(edge) not in (2, 3)), None)
        if odd is not None:
            raise GraphError("edge", odd, "is not a pair of vertices", "write [a, b] or [a, b, length]")
        named = document.get("vertices")
        vertices = (
            list(dict.fromkeys(v for edge in edges for v in edge[:2])) if named is None else [_vertex(v) for v in named]
        )
        lengths = {(edge[0], edge[1]): edge[2] if len(edge) == 3 else 1 for edge in edges}
        return AnswerGraph(vertices, lengths, superset=bool(document.get("superset", False)))


def _vertex(value: object) -> Any:
    return tuple(_vertex(part) for part in value) if isinstance(value, list) else value


def _edges(family: graphs.DatasetGraph, names: Sequence[Any]) -> list[tuple[Any, Any]]:
    """The edges of a family of graphs, between answers in the order of its datasets."""
    return [(names[u], names[v]) for u, v in zip(family.tails.tolist(), family.heads.tolist())]


def _names(size: int | Sequence[Vertex]) -> list[Vertex]:
    if isinstance(size, int) and size < 1:
        raise GraphError("size", size, "leaves no vertex", "a graph has at least one")
    return list(range(size)) if isinstance(size, int) else list(size)
