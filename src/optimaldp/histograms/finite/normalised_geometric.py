"""The normalised geometric mechanism (002 (14)), shown to fail.

``W(g | h) = theta^(d(g,h)) / E_h`` on the histograms themselves. Near the edge of the histograms there are fewer
neighbours, so ``E_h`` depends on h and the mechanism is not theta-private for any finite number of people, as the paper
says. This module computes how much privacy it really keeps; nothing here is ever sampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optimaldp.histograms.lattice import Histogram, constraint_graph, distances_from
from optimaldp.histograms.parameters import Number, read_positive_epsilon, theta
from optimaldp.results import Result


@dataclass(frozen=True, repr=False)
class NormalisedGeometric(Result):
    """What the normalised geometric mechanism promises and what it keeps."""

    bins: int
    persons: int
    promised_theta: Number
    actual_theta: Number
    worst_pair: tuple[Histogram, Histogram]

    @property
    def private(self) -> bool:
        """Whether it keeps its promise: never, for two bins or more and at least two people."""
        return bool(self.actual_theta >= self.promised_theta)

    def summary(self) -> str:
        word = "private" if self.private else "NOT private"
        kept, promised = float(self.actual_theta), float(self.promised_theta)
        return f"NormalisedGeometric({self.bins} bins, {self.persons} people, {word}: theta {kept:.4g}, not {promised:.4g})"

    def to_document(self) -> dict[str, Any]:
        return {
            "bins": self.bins,
            "persons": self.persons,
            "promised_theta": str(self.promised_theta),
            "actual_theta": str(self.actual_theta),
            "private": self.private,
            "worst_pair": [list(histogram) for histogram in self.worst_pair],
        }


def normalised_geometric(bins: int, persons: int, *, epsilon: object) -> NormalisedGeometric:
    """How private the mechanism (14) really is: the least ratio of probabilities between neighbours.

    For neighbours h, h' the output g = h' has ``W(g|h)/W(g|h') = theta E_h' / E_h``, and no output has less: so the true
    theta is ``theta`` times the least quotient of normalisers.

    >>> normalised_geometric(2, 5, epsilon="ln(2)").actual_theta
    Fraction(21, 52)
    """
    ratio, graph = theta(read_positive_epsilon(epsilon)), constraint_graph(bins, persons)
    sizes = [sum(n * ratio**d for d, n in enumerate(distances_from(h))) for h in graph.vertices]
    pairs = [pair for i, j in graph.edges for pair in ((i, j), (j, i))]
    first, second = min(pairs, key=lambda pair: sizes[pair[1]] / sizes[pair[0]])
    return NormalisedGeometric(
        graph.bins,
        graph.persons,
        ratio,
        ratio * sizes[second] / sizes[first],
        (graph.vertices[first], graph.vertices[second]),
    )
