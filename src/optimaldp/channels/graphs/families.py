"""Families of graphs: lines, rings, cliques, cubes, grids, trees, histograms, metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise, product
from typing import Any, Self

from optimaldp.errors import GraphError

Vertex = Hashable


class GraphFamilies(ABC):
    """The ways to build a graph by its family; ``AnswerGraph`` is the graph."""

    @abstractmethod
    def __init__(
        self,
        vertices: Iterable[Vertex],
        edges: Iterable[Sequence[Vertex]] | Mapping[tuple[Vertex, Vertex], Any],
        *,
        superset: bool = False,
        symmetries: Iterable[Sequence[int]] = (),
    ) -> None:
        """A graph from its answers and edges."""

    @classmethod
    def path(cls, size: int | Sequence[Vertex]) -> Self:
        """A line: counting."""
        names = _names(size)
        turned = [tuple(range(len(names) - 1, -1, -1))]
        return cls(names, pairwise(names), symmetries=turned)

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
        return cls(names, combinations(names, 2), symmetries=swaps)

    @classmethod
    def hypercube(cls, dimension: int) -> Self:
        """All words of zeros and ones; neighbours differ in one place."""
        words = list(product((0, 1), repeat=dimension))
        where = {word: i for i, word in enumerate(words)}
        flipped = [[where[_flip(word, place)] for word in words] for place in range(dimension)]
        edges = [(word, words[i]) for images in flipped for word, i in zip(words, images) if word < words[i]]
        swaps = [[where[(*w[:i], w[i + 1], w[i], *w[i + 2 :])] for w in words] for i in range(dimension - 1)]
        return cls(words, edges, symmetries=[*flipped[:1], *swaps])

    @classmethod
    def grid(cls, rows: int, columns: int) -> Self:
        """Places on a grid; neighbours are next to each other (geo-indistinguishability)."""
        places = list(product(range(rows), range(columns)))
        edges = [((r, c), (r + 1, c)) for r, c in places if r + 1 < rows] + [
            ((r, c), (r, c + 1)) for r, c in places if c + 1 < columns
        ]
        where = {place: i for i, place in enumerate(places)}
        flips = [[where[rows - 1 - r, c] for r, c in places], [where[r, columns - 1 - c] for r, c in places]]
        if rows == columns:
            flips.append([where[c, r] for r, c in places])
        return cls(places, edges, symmetries=flips)

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
        totals = [people] if neighbours == "substitution" else range(people + 1)
        tables = [table for total in totals for table in _tables(total, bins)]
        own = set(tables)
        moves = [(k, j) for k in range(bins) for j in range(k + 1, bins)]
        if neighbours == "substitution":
            reached = ((table, _changed(table, (k, -1), (j, 1))) for table in tables for k, j in moves)
        else:
            reached = ((table, _changed(table, (k, 1))) for table in tables for k in range(bins))
        return cls(tables, [pair for pair in reached if pair[1] in own])

    @classmethod
    def tree(cls, branching: int, depth: int) -> Self:
        """A rooted tree in which every inner vertex has *branching* children."""
        size = sum(branching**level for level in range(depth + 1))
        return cls(range(size), [((i - 1) // branching, i) for i in range(1, size)])

    @classmethod
    def metric(cls, vertices: Sequence[Vertex], distance: Callable[[Any, Any], object]) -> Self:
        """Metric privacy: *distance(a, b)* for every two secrets, in units of epsilon."""
        return cls(vertices, {(a, b): distance(a, b) for a, b in combinations(vertices, 2)})


def _tables(total: int, bins: int) -> Iterator[tuple[int, ...]]:
    """All ways to spread *total* people over *bins*, in order."""
    if bins == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _tables(total - first, bins - 1):
            yield (first, *rest)


def _changed(table: tuple[int, ...], *changes: tuple[int, int]) -> tuple[int, ...]:
    counts = list(table)
    for k, amount in changes:
        counts[k] += amount
    return tuple(counts)


def _flip(word: tuple[int, ...], place: int) -> tuple[int, ...]:
    return (*word[:place], 1 - word[place], *word[place + 1 :])


def _names(size: int | Sequence[Vertex]) -> list[Vertex]:
    if isinstance(size, int) and size < 1:
        raise GraphError("size", size, "leaves no vertex", "a graph has at least one")
    return list(range(size)) if isinstance(size, int) else list(size)
