"""A channel, a graph and a prior as the referee reads them: plain numbers in the graph's order, nothing taken on trust."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from optimaldp.documents.json_text import without_collection
from optimaldp.errors import CertificateError, ChannelError
from optimaldp.privacy.balls import ball, lower, precision, upper
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import read_number

# ``e^(epsilon · length)`` between two rationals, and comparisons with it that are never wrong.


_BITS = 160
_MOST_BITS = 1 << 16


@dataclass
class Factors:
    """The factors of one epsilon, one for each length that occurs."""

    epsilon: Epsilon
    _known: dict[tuple[Fraction, int], tuple[Fraction, Fraction]] = field(default_factory=dict)

    def between(self, length: Fraction, *, bits: int = _BITS) -> tuple[Fraction, Fraction]:
        """Rationals not above and not below ``e^(epsilon · length)``; equal where that is rational and known to be."""
        key = (length, bits)
        if key not in self._known:
            self._known[key] = self._enclose(length, bits)
        return self._known[key]

    def _enclose(self, length: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        ratio = self.epsilon.exact_ratio
        if ratio is not None and length.denominator == 1:
            return ratio ** int(length), ratio ** int(length)
        with precision(bits):
            value = (self.epsilon.ball() * ball(length)).exp()
            return max(Fraction(1), lower(value)), upper(value)

    def allows(self, high: Fraction, low: Fraction, length: Fraction) -> bool:
        """Whether ``high <= e^(epsilon · length) · low``, exactly."""
        if high <= low:
            return True
        if low == 0:
            return False
        ratio, bits = self.epsilon.exact_ratio, _BITS
        while True:
            below, above = self.between(length, bits=bits)
            if high <= below * low:
                return True
            if high > above * low:
                return False
            if (
                ratio is not None
            ):  # a root of a rational, which may be met exactly; its powers are long, so they come last
                return high**length.denominator <= ratio**length.numerator * low**length.denominator
            # e to a non-zero rational is irrational, so that the enclosure parts from any ratio of rationals in the end
            bits *= 2
            if bits > _MOST_BITS:
                return False


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


class AnswerPair(NamedTuple):
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
    possible = [bool(row.all()) for row in matrix.floats >= 0]  # the float of a negative rational is not above 0
    for y, (name, row) in enumerate(zip(matrix.names, matrix.rows)):
        if (
            not possible[y]
            or (matrix.exact and not all(cell >= 0 for cell in row))
            or not math.isfinite(matrix.sums[y])
        ):
            raise ChannelError(f"row {name!r}", min(map(float, row)), "is not a probability", "cells are 0 or more")
        off = abs((sum(row, Fraction(0)) if matrix.exact else Fraction(matrix.sums[y])) - 1)
        if off > (0 if matrix.exact else _ROUNDED):
            raise ChannelError(f"row {name!r}", f"{matrix.sums[y]:.12g}", "is what it sums to", "rows sum to one")


def read_edges(graph: GraphLike) -> list[AnswerPair]:
    """Every edge once, by the places of its ends."""
    where = {vertex: i for i, vertex in enumerate(graph.vertices)}
    given = list(graph.lengths.values())
    lengths = _different(given)  # a clique of 1000 answers has half a million edges and one length
    for length in lengths.values():
        if not length > 0:
            edge = next(edge for edge, other in graph.lengths.items() if other is length)
            raise ChannelError("length", length, "is not positive", f"edge {edge}")
    exact = {key: Fraction(length) for key, length in lengths.items()}
    ones, others = (map(where.__getitem__, map(itemgetter(end), graph.lengths)) for end in (0, 1))
    # What AnswerPair(one, other, length) does, without a call of Python for each of half a million edges.
    with without_collection():
        return list(map(partial(tuple.__new__, AnswerPair), zip(ones, others, map(exact.__getitem__, map(id, given)))))


def _different(numbers: list[Any]) -> dict[int, Any]:
    """Every object of a list once: many edges share one length."""
    return dict(zip(map(id, numbers), numbers))


def only_length(edges: list[AnswerPair]) -> Fraction | None:
    """The one length that all edges have, if they have one."""
    lengths = set(_different([edge.length for edge in edges]).values())
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


@dataclass(frozen=True)
class FloatWorth:
    """A gain of floats, each the dyadic rational that it is, beside the prior: where a million rationals would take long."""

    gain: FloatArray
    masses: tuple[Fraction, ...]

    @cached_property
    def table(self) -> FloatArray:
        """``prior[y] · gain[y][guess]``, each to two roundings."""
        return np.asarray(as_floats(self.masses)[:, None] * self.gain)

    def exactly(self) -> list[list[Fraction]]:
        return [[mass * Fraction(cell) for cell in row] for mass, row in zip(self.masses, self.gain.tolist())]


def size_of_terms(value: float, table: FloatArray) -> float:
    """What the terms of an expected gain add up to without their signs, at most: rounding is relative to that.

    *value* is the largest expected gain. Where no gain is negative, or none is positive, the terms of the best reading add up to
    it; the rounding of a reading that is nearly as good is not larger.
    """
    if table.min() >= 0 or table.max() <= 0:
        return 2 * abs(value)
    return float(np.abs(table).max(axis=1).sum())


def read_worth(
    gain: Any, masses: tuple[Fraction, ...], *, floats: bool = False
) -> list[list[Fraction]] | FloatWorth | None:
    """``prior[y] · gain[y][guess]``; ``None`` for the gain of one for the right answer, which is never written out.

    With *floats* an array of floats for many answers stays one.
    """
    if gain is None:
        return None
    if isinstance(gain, np.ndarray):
        fits = gain.ndim == 2 and len(gain) == len(masses) > EXACT_ANSWERS and gain.dtype == np.float64
        if floats and fits and bool(np.isfinite(gain).all()):
            return FloatWorth(gain, masses)
        gain = gain.tolist()
    if len(gain) != len(masses) or len({len(row) for row in gain}) != 1:
        raise ChannelError(
            "gain", f"{len(gain)} rows", f"are not one for each of {len(masses)} answers, of equal length"
        )
    numbers = [[read_number(_plain(cell), name="gain", error=ChannelError) for cell in row] for row in gain]
    return [[mass * cell for cell in row] for mass, row in zip(masses, numbers)]


def _plain(number: object) -> Any:
    """A float is the dyadic rational that it is: what is checked is what was written, not the decimal next to it."""
    return Fraction(float(number)) if isinstance(number, (float, np.floating)) else number


# An upper bound on the utility of every private channel, and the numbers of a certificate.


Worth = Sequence[Sequence[Fraction]] | FloatWorth | None
"""``prior[answer] · gain[answer][guess]``; ``None`` where the gain is one for the right answer."""
EXACT_ANSWERS = 120  # up to which sums over all pairs are taken in rationals
UNIT = 2.0**-53


@dataclass(frozen=True)
class UtilityBound:
    """An upper bound on the utility of every private channel, and in words why it holds."""

    value: Fraction
    reason: str


def certificate_number(value: object, name: str, *, signed: bool = False) -> Fraction:
    """A number of 0 or more (any number if *signed*), as a certificate writes it; a float is the dyadic rational that it is."""
    if isinstance(value, float) and not math.isfinite(value):
        raise CertificateError(name, str(value), "is not a number", "a proof has finite numbers")
    number = Fraction(value) if isinstance(value, float) else read_number(value, name=name, error=CertificateError)
    if number < 0 and not signed:
        raise CertificateError(name, str(value), "is negative", "a dual proof has numbers of 0 or more")
    return number


def as_floats(numbers: Sequence[Fraction]) -> FloatArray:
    """The nearest floats."""
    return np.array([float(number) for number in numbers])
