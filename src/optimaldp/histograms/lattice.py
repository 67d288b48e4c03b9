"""Histograms as lattice points: how many lie at each distance, and the graph of privacy constraints (002 section III).

Vectors of K integers with sum 0, and the distance ``d_G = |z|_1 / 2``: the number of people who must change their
record. The vectors within distance d are the integer points of the d-th dilate of the root polytope A_{K-1} (erratum
E14).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.parameters import read_bins
from optimaldp.privacy.numbers import is_whole
from optimaldp.results import Result

Histogram = tuple[int, ...]

_MOST_VERTICES = 100_000  # a graph beyond this is no picture and no linear program


def sphere_size(bins: int, distance: int) -> int:
    """``N_d = sum_i C(K,i) C(d-1,i-1) C(K-i+d-1,d)``: vectors at distance *d* from any one, without an edge (002 (13)).

    >>> [sphere_size(3, d) for d in range(5)]
    [1, 6, 12, 18, 24]
    """
    if distance == 0:
        return 1
    return sum(
        comb(bins, i) * comb(distance - 1, i - 1) * comb(bins - i + distance - 1, distance) for i in range(1, bins)
    )


def ball_size(bins: int, distance: int) -> int:
    """The Ehrhart polynomial at *d*: vectors within distance d, ``sum_j C(K-1,j)^2 C(d-j+K-1, K-1)``.

    >>> [ball_size(6, d) for d in range(4)]
    [1, 31, 271, 1281]
    """
    steps = bins - 1
    return sum(comb(steps, j) ** 2 * comb(distance - j + steps, steps) for j in range(min(steps, distance) + 1))


def ehrhart_polynomial(bins: int) -> tuple[Fraction, ...]:
    """The coefficients of the Ehrhart polynomial, constant first.

    >>> [str(c) for c in ehrhart_polynomial(3)]
    ['1', '3', '3']
    """
    steps = bins - 1
    total = [Fraction(0)] * (steps + 1)
    for j in range(steps + 1):
        product = [Fraction(comb(steps, j) ** 2)]
        for i in range(1, steps + 1):  # C(d - j + steps, steps) = prod_i (d - j + i) / i
            product = _times_linear(product, Fraction(i - j, i), Fraction(1, i))
        total = [a + b for a, b in zip(total, product)]
    return tuple(total)


def ehrhart_numerator(bins: int) -> tuple[int, ...]:
    """The numerator of the Ehrhart series ``S(z)/(1-z)^K``: the coefficients ``C(K-1, j)^2``.

    >>> ehrhart_numerator(4)
    (1, 9, 9, 1)
    """
    return tuple(comb(bins - 1, j) ** 2 for j in range(bins))


def _times_linear(coefficients: Sequence[Fraction], constant: Fraction, slope: Fraction) -> list[Fraction]:
    product = [Fraction(0)] * (len(coefficients) + 1)
    for power, coefficient in enumerate(coefficients):
        product[power] += constant * coefficient
        product[power + 1] += slope * coefficient
    return product


def distances_from(histogram: Sequence[int]) -> tuple[int, ...]:
    """``N_d(h)`` for d = 0..n: how many histograms of the same total lie at distance d from *histogram*.

    Far from the edge these are ``N_d``; near it they are fewer, which is why the normalised geometric mechanism (14) fails.

    >>> distances_from((2, 0, 0))
    (1, 2, 3)
    """
    counts = read_histogram(histogram)
    # ways[i][d]: choices for the bins seen so far with i bins that do not lose and d people lost by the others
    ways = {(0, 0): 1}
    for count in counts:
        following: dict[tuple[int, int], int] = {}
        for (keeping, lost), number in ways.items():
            following[keeping + 1, lost] = following.get((keeping + 1, lost), 0) + number
            for loss in range(1, count + 1):
                following[keeping, lost + loss] = following.get((keeping, lost + loss), 0) + number
        ways = following
    sizes = [0] * (sum(counts) + 1)
    for (keeping, lost), number in ways.items():
        sizes[lost] += number * (comb(lost + keeping - 1, lost) if keeping else 0)
    return tuple(sizes)


def read_histogram(value: Sequence[int]) -> Histogram:
    """Read a public histogram (one that is not data): nonnegative integers, at least two."""
    counts = tuple(value)
    read_bins(len(counts))
    if not all(is_whole(x, 0) for x in counts):
        raise HistogramError("histogram", list(counts), "is not a list of nonnegative integers")
    return counts


def histograms(bins: int, persons: int) -> Iterator[Histogram]:
    """Every histogram of *persons* in *bins*, in lexicographic order.

    >>> list(histograms(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    if bins == 1:
        yield (persons,)
        return
    for first in range(persons + 1):
        for rest in histograms(bins - 1, persons - first):
            yield (first, *rest)


def histogram_count(bins: int, persons: int) -> int:
    """How many histograms there are: ``C(n+K-1, K-1)``."""
    return comb(persons + bins - 1, bins - 1)


@dataclass(frozen=True, repr=False)
class ConstraintGraph(Result):
    """The graph of privacy constraints: histograms, joined when one person's record makes the difference (002 Fig. 2)."""

    bins: int
    persons: int

    @cached_property
    def vertices(self) -> tuple[Histogram, ...]:
        return tuple(histograms(self.bins, self.persons))

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Each edge once, as indices of its two histograms."""
        index = {histogram: i for i, histogram in enumerate(self.vertices)}
        pairs = ((i, index[other]) for histogram, i in index.items() for other in neighbours(histogram))
        return tuple((i, j) for i, j in pairs if i < j)

    def summary(self) -> str:
        return f"ConstraintGraph({self.bins} bins, {self.persons} people, {len(self.vertices)} histograms)"

    def to_document(self) -> dict[str, Any]:
        return {"bins": self.bins, "persons": self.persons, "vertices": self.vertices, "edges": self.edges}

    def plot(self) -> Any:
        """Draw the graph; two, three or four bins."""
        from optimaldp.plots.histograms import draw_constraint_graph

        return draw_constraint_graph(self)


def neighbours(histogram: Histogram) -> Iterator[Histogram]:
    """Every histogram in which one person has moved to another bin."""
    for source, count in enumerate(histogram):
        if not count:
            continue
        for target in range(len(histogram)):
            if target != source:
                moved = list(histogram)
                moved[source] -= 1
                moved[target] += 1
                yield tuple(moved)


def constraint_graph(bins: int, persons: int) -> ConstraintGraph:
    """The graph of privacy constraints of all histograms with the given total.

    >>> graph = constraint_graph(3, 2)
    >>> len(graph.vertices), len(graph.edges)
    (6, 9)
    """
    bins = read_bins(bins)
    if not is_whole(persons, 1):
        raise HistogramError("persons", persons, "is not a number of persons", "write an integer from 1 on")
    if histogram_count(bins, persons) > _MOST_VERTICES:
        raise HistogramError("persons", persons, f"makes more than {_MOST_VERTICES} histograms", "use fewer")
    return ConstraintGraph(bins, persons)
