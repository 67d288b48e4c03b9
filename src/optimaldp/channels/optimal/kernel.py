"""The kernel ``Φ[y,z] = e^(−epsilon · d(y,z))`` in rationals:
the least that one column of a private channel can keep of its maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush

from optimaldp.channels.graphs.answer_graph import AnswerGraph, Edge
from optimaldp.privacy.balls import ball, lower, precision, upper
from optimaldp.privacy.epsilon import Epsilon

ROUNDED_BITS = 48  # of an irrational e^epsilon: the utility given away is below 1e-13, and the rationals stay short


@dataclass(frozen=True)
class DecayKernel:
    """A graph with a rational factor on each edge: ``M[y,z] <= factor · M[y',z]`` is what privacy asks of it."""

    graph: AnswerGraph
    epsilon: Epsilon
    above: bool = False

    @property
    def exact(self) -> bool:
        """Whether the factors are ``e^(epsilon · length)`` themselves and not rationals next to them."""
        whole = all(length.denominator == 1 for length in self.graph.lengths.values())
        return self.epsilon.exact_ratio is not None and whole

    @cached_property
    def factors(self) -> dict[Edge, Fraction]:
        """One rational for each edge, not above ``e^(epsilon · length)`` (not below it for the kernel from above)."""
        known: dict[Fraction, Fraction] = {}
        for length in self.graph.lengths.values():
            if length not in known:
                known[length] = self._factor(length)
        return {edge: known[length] for edge, length in self.graph.lengths.items()}

    def _factor(self, length: Fraction) -> Fraction:
        ratio = self.epsilon.exact_ratio
        if ratio is not None and length.denominator == 1:
            return ratio ** int(length)
        with precision(ROUNDED_BITS + 16):
            value = (self.epsilon.ball() * ball(length)).exp()
            end = upper(value) if self.above else lower(value)
        scaled = end * 2**ROUNDED_BITS
        rounded = scaled.__ceil__() if self.above else scaled.__floor__()
        # a tiny epsilon may be rounded to a factor below 1, which no two neighbours could keep both ways
        return max(Fraction(1), Fraction(rounded, 2**ROUNDED_BITS))

    @cached_property
    def rows(self) -> tuple[tuple[Fraction, ...], ...]:
        """``Φ`` itself: the largest product of ``1/factor`` over all paths; 0 between components."""
        # Not e^(−epsilon·d) rounded: a column must keep the rational factor of every edge, so Φ is a product of these.
        if self.graph.plain:
            return self._powers()
        return tuple(self._from(i) for i in range(len(self.graph.vertices)))

    def _powers(self) -> tuple[tuple[Fraction, ...], ...]:
        t = 1 / next(iter(self.factors.values()), Fraction(1))
        distances = self.graph.exact_distances
        longest = max((int(d) for row in distances for d in row if d is not None), default=0)
        powers = [Fraction(1)]
        for _ in range(longest):
            powers.append(powers[-1] * t)
        return tuple(tuple(Fraction(0) if d is None else powers[int(d)] for d in row) for row in distances)

    def _from(self, source: int) -> tuple[Fraction, ...]:
        reached: dict[int, Fraction] = {}
        queue = [(Fraction(-1), source)]
        # Dijkstra's search with products: no factor is below 1, so values only fall along a path
        while queue:
            value, vertex = heappop(queue)
            if vertex in reached:
                continue
            reached[vertex] = -value
            for neighbour, factor in self._neighbours[vertex]:
                heappush(queue, (value / factor, neighbour))
        return tuple(reached.get(i, Fraction(0)) for i in range(len(self.graph.vertices)))

    @cached_property
    def _neighbours(self) -> list[list[tuple[int, Fraction]]]:
        lists: list[list[tuple[int, Fraction]]] = [[] for _ in self.graph.vertices]
        for (a, b), factor in self.factors.items():
            lists[self.graph.index(a)].append((self.graph.index(b), factor))
            lists[self.graph.index(b)].append((self.graph.index(a), factor))
        return lists

    @property
    def arcs(self) -> list[tuple[int, int, Fraction]]:
        """Every edge in both directions, with its factor."""
        pairs = [(self.graph.index(a), self.graph.index(b), factor) for (a, b), factor in self.factors.items()]
        return pairs + [(b, a, factor) for a, b, factor in pairs]
