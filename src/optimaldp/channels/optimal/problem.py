"""A problem of utility: graph, epsilon, prior and gain, as they were typed and as they are meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.labels import Label
from optimaldp.channels.measures.gains import identity_gain
from optimaldp.channels.numbers import read_distribution, read_gain
from optimaldp.errors import ChannelError
from optimaldp.privacy.epsilon import Epsilon

Exact = Sequence[Sequence[Fraction]]
_MOST_EPSILON = 1e4  # along one edge: numbers as long as e^10000 say nothing more


@dataclass(frozen=True)
class UtilityProblem:
    """Everything in rationals; ``matrix`` is ``None`` for the binary gain, which is never written out."""

    graph: AnswerGraph
    epsilon: Epsilon
    prior: tuple[Fraction, ...]
    matrix: Exact | None
    guesses: tuple[Label, ...]

    @property
    def binary(self) -> bool:
        return self.matrix is None

    @cached_property
    def gain(self) -> Exact:
        return identity_gain(len(self.prior)) if self.matrix is None else self.matrix

    @cached_property
    def worth(self) -> list[list[Fraction]]:
        return [[mass * g for g in row] for mass, row in zip(self.prior, self.gain)]

    def utility(self, rows: Exact) -> Fraction:
        """The expected gain when each column is the guess that it names."""
        if self.matrix is None:
            return sum((mass * rows[y][y] for y, mass in enumerate(self.prior)), Fraction(0))
        pairs = ((w, m) for ws, ms in zip(self.worth, rows) for w, m in zip(ws, ms))
        return sum((w * m for w, m in pairs if w and m), Fraction(0))


def read_problem(
    graph: AnswerGraph, epsilon: Epsilon, prior: object, gain: object, guesses: Sequence[Label] | None
) -> UtilityProblem:
    """Read a problem; a prior of floats that misses one by rounding means the distribution next to it."""
    size = len(graph.vertices)
    farthest = Fraction(1) if graph.plain else max(graph.lengths.values())  # a clique has half a million edges of one
    if not epsilon.infinite and float(epsilon) * float(farthest) > _MOST_EPSILON:
        raise ChannelError(
            "epsilon",
            str(epsilon),
            f"along an edge of length {float(farthest):g} is more than {_MOST_EPSILON:g}, which cannot be told from no privacy",
            "write 'inf' for none",
        )
    if isinstance(prior, dict):
        unknown = [name for name in prior if name not in graph.vertices]
        if unknown:
            raise ChannelError("prior", unknown[0], "is not a vertex of this graph")
        prior = [prior.get(vertex, 0) for vertex in graph.vertices]
    masses = [Fraction(1, size)] * size if prior is None else read_distribution(prior, size=size, name="prior")
    exact = [mass if isinstance(mass, Fraction) else Fraction(float(mass)) for mass in masses]
    total = sum(exact, Fraction(0))
    exact = [mass / total for mass in exact]  # floats that miss one by rounding mean the distribution next to them
    matrix = _read_gain(graph, gain)
    width = size if matrix is None else len(matrix[0])
    names = tuple(graph.vertices) if guesses is None and width == size else tuple(guesses or range(width))
    if len(names) != width:
        raise ChannelError("guesses", f"{len(names)} names", f"do not fit the gain, which has {width} columns")
    return UtilityProblem(graph, epsilon, tuple(exact), matrix, names)


def _read_gain(graph: AnswerGraph, gain: object) -> Exact | None:
    """The gain as a matrix; ``None`` for the binary one, which is never written out."""
    size = len(graph.vertices)
    if isinstance(gain, str):
        if gain == "binary":
            return None
        if gain == "negdist":
            return _minus_distances(graph)
        raise ChannelError("gain", gain, "is not a gain", "use 'binary', 'negdist' or a matrix gain[answer][guess]")
    matrix = read_gain(gain, secrets=size)
    exact = [[Fraction(cell) if not isinstance(cell, Fraction) else cell for cell in row] for row in matrix]
    return None if exact == [list(row) for row in identity_gain(size)] else exact


def _minus_distances(graph: AnswerGraph) -> Exact:
    if not graph.connected:
        raise ChannelError(
            "gain", "negdist", "needs a connected graph: some answers are infinitely far apart", "give a matrix"
        )
    return [[-(d or Fraction(0)) for d in row] for row in graph.exact_distances]
