"""A channel, a graph and a prior as the referee reads them: plain numbers in the graph's order, nothing taken on trust."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from optimaldp.errors import ChannelError
from optimaldp.privacy.numbers import read_number

FloatArray = NDArray[np.float64]
_ROUNDED = Fraction(1, 10**9)  # by which a row of floats may miss one; a row of rationals may not miss it at all


class ChannelLike(Protocol):
    """Names and rows; cells are rationals or floats."""

    @property
    def inputs(self) -> Sequence[Hashable]: ...
    @property
    def outputs(self) -> Sequence[Hashable]: ...
    @property
    def rows(self) -> Any: ...


class GraphLike(Protocol):
    """Vertices, and the length of each edge."""

    @property
    def vertices(self) -> Sequence[Hashable]: ...
    @property
    def lengths(self) -> Mapping[tuple[Hashable, Hashable], Fraction]: ...


@dataclass(frozen=True)
class Matrix:
    """The channel's cells with its rows in the order of the graph's vertices."""

    names: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]
    rows: tuple[tuple[Fraction, ...], ...] | FloatArray

    @property
    def exact(self) -> bool:
        return not isinstance(self.rows, np.ndarray)

    @cached_property
    def floats(self) -> FloatArray:
        if isinstance(self.rows, np.ndarray):
            return self.rows
        return np.array([[float(cell) for cell in row] for row in self.rows])

    @cached_property
    def sums(self) -> list[float]:
        """The rows' sums, correctly rounded."""
        return [math.fsum(row) for row in self.floats.tolist()]

    def cell(self, y: int, z: int) -> Fraction:
        """One cell as the rational that it is."""
        return Fraction(self.rows[y][z])

    def share(self, y: int, z: int) -> Fraction:
        """One cell as a part of its row."""
        return self.cell(y, z) / self.total(y)

    def total(self, y: int) -> Fraction:
        """The exact sum of a row: a row of floats means the distribution next to it, each cell divided by this."""
        if self.exact:
            return Fraction(1)
        if y not in self._totals:
            self._totals[y] = sum(map(Fraction, self.rows[y].tolist()), Fraction(0))  # type: ignore[union-attr]
        return self._totals[y]

    @cached_property
    def _totals(self) -> dict[int, Fraction]:
        return {}


@dataclass(frozen=True)
class AnswerPair:
    """Two neighbours by their places, and the length by which epsilon is multiplied between them."""

    one: int
    other: int
    length: Fraction


def read_matrix(channel: ChannelLike, graph: GraphLike) -> Matrix:
    """The rows in the graph's order; every row a distribution."""
    names, vertices = list(channel.inputs), list(graph.vertices)
    if set(names) != set(vertices) or len(names) != len(vertices):
        raise ChannelError(
            "graph", f"{len(vertices)} vertices", "are not the inputs of the channel", "use the same names"
        )
    where = {name: i for i, name in enumerate(names)}
    order = [where[vertex] for vertex in vertices]
    if isinstance(channel.rows, np.ndarray):
        matrix = Matrix(tuple(vertices), tuple(channel.outputs), np.asarray(channel.rows[order], dtype=np.float64))
    else:
        rows = tuple(tuple(Fraction(cell) for cell in channel.rows[i]) for i in order)
        matrix = Matrix(tuple(vertices), tuple(channel.outputs), rows)
    _check_distributions(matrix)
    return matrix


def _check_distributions(matrix: Matrix) -> None:
    for name, row in zip(matrix.names, matrix.rows):  # all of them first: rows of different lengths are no matrix
        if len(row) != len(matrix.outputs):
            raise ChannelError(f"row {name!r}", len(row), f"is not the number of outputs, {len(matrix.outputs)}")
    for y, (name, row) in enumerate(zip(matrix.names, matrix.rows)):
        if not all(cell >= 0 for cell in row) or not math.isfinite(matrix.sums[y]):
            raise ChannelError(f"row {name!r}", min(map(float, row)), "is not a probability", "cells are 0 or more")
        off = abs((sum(row, Fraction(0)) if matrix.exact else Fraction(matrix.sums[y])) - 1)
        if off > (0 if matrix.exact else _ROUNDED):
            raise ChannelError(f"row {name!r}", f"{matrix.sums[y]:.12g}", "is what it sums to", "rows sum to one")


def read_edges(graph: GraphLike) -> list[AnswerPair]:
    """Every edge once, by the places of its ends."""
    where = {vertex: i for i, vertex in enumerate(graph.vertices)}
    checked: dict[int, Fraction] = {}  # a clique of 1000 answers has half a million edges and one length
    edges = []
    for (a, b), length in graph.lengths.items():
        if id(length) not in checked:
            if not length > 0:
                raise ChannelError("length", length, "is not positive", f"edge {(a, b)}")
            checked[id(length)] = Fraction(length)
        edges.append(AnswerPair(where[a], where[b], checked[id(length)]))
    return edges


def only_length(edges: list[AnswerPair]) -> Fraction | None:
    """The one length that all edges have, if they have one."""
    lengths = set({id(edge.length): edge.length for edge in edges}.values())
    return lengths.pop() if len(lengths) == 1 else None


def all_are_neighbours(size: int, edges: list[AnswerPair]) -> bool:
    """Whether every two answers are joined by an edge."""
    return 2 * len(edges) == size * (size - 1)


def read_masses(prior: Sequence[Any] | None, size: int) -> tuple[Fraction, ...]:
    """The prior as rationals, divided by their sum if floats miss one by rounding; ``None`` is uniform."""
    if prior is None:
        return (Fraction(1, size),) * size
    masses = [read_number(_plain(mass), name="prior", error=ChannelError) for mass in prior]
    total = sum(masses, Fraction(0))
    if len(masses) != size or min(masses) < 0 or abs(total - 1) > _ROUNDED:
        raise ChannelError(
            "prior", f"{len(masses)} numbers with sum {float(total):.9g}", f"are not a prior of {size} answers"
        )
    return tuple(mass / total for mass in masses)


def read_worth(gain: Any, masses: tuple[Fraction, ...]) -> list[list[Fraction]] | None:
    """``prior[y] · gain[y][guess]``; ``None`` for the gain of one for the right answer, which is never written out."""
    if gain is None:
        return None
    if len(gain) != len(masses) or len({len(row) for row in gain}) != 1:
        raise ChannelError(
            "gain", f"{len(gain)} rows", f"are not one for each of {len(masses)} answers, of equal length"
        )
    numbers = [[read_number(_plain(cell), name="gain", error=ChannelError) for cell in row] for row in gain]
    return [[mass * cell for cell in row] for mass, row in zip(masses, numbers)]


def _plain(number: object) -> Any:
    """A float is the dyadic rational that it is: what is checked is what was written, not the decimal next to it."""
    return Fraction(float(number)) if isinstance(number, (float, np.floating)) else number
