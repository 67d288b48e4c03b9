"""The least expected error for a finite number of persons: the linear program (3)-(6) of paper 002.

    minimise   sum_h prior(h) sum_g W(g|h) cost(h, g)
    subject to sum_g W(g|h) = 1,   W(g|h) >= theta W(g|h') for neighbours h, h',   W >= 0

over all mechanisms from histograms to histograms. It has ``C(n+K-1,K-1)^2`` variables (erratum E3), so bins that the
prior and the cost do not distinguish are exchanged: averaging a mechanism over such exchanges keeps its privacy and its
expected error, and leaves one variable for each orbit. HiGHS finds the solution; what is reported is proven by exact
arithmetic (:mod:`optimaldp.histograms.finite.proof`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from math import comb
from typing import Any

from optimaldp.certify.noise import certify_rows, draw_row
from optimaldp.errors import HistogramError
from optimaldp.histograms.finite.proof import prove
from optimaldp.histograms.lattice import ConstraintGraph, Histogram, constraint_graph
from optimaldp.histograms.parameters import read_positive_epsilon
from optimaldp.histograms.priors import read_prior
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import read_number
from optimaldp.results import Result
from optimaldp.sampling import BitSource, SystemBits

_MOST_PAIRS = 250_000  # pairs of histograms before the reduction
_MOST_PERMUTED = 6  # bins whose permutations are tried

Cost = Callable[[Histogram, Histogram], Any] | Sequence[Sequence[Any]] | None


def program_size(bins: int, persons: int) -> tuple[int, int]:
    """Variables and privacy constraints of the linear program before any reduction (erratum E3).

    >>> program_size(3, 4)
    (225, 900)
    """
    vertices = comb(persons + bins - 1, bins - 1)
    return vertices**2, bins * (bins - 1) * comb(persons + bins - 2, bins - 1) * vertices


@dataclass(frozen=True)
class ReducedProgram:
    """The linear program with one variable for each orbit of pairs of histograms."""

    graph: ConstraintGraph
    orbit_of: Any
    """Array (h, g) -> variable."""
    costs: tuple[Fraction, ...]
    rows: tuple[dict[int, int], ...]
    """For each orbit of histograms, how often each variable occurs in its sum of probabilities."""
    pairs: tuple[tuple[int, int], ...]
    """Privacy: the first variable is at least theta times the second."""


@dataclass(frozen=True, repr=False)
class FiniteOptimum(Result):
    """The least expected error at a finite number of people, between proven bounds, with a mechanism that has it."""

    epsilon: Epsilon
    lower: Fraction
    upper: Fraction
    program: ReducedProgram = field(compare=False)
    values: tuple[Fraction, ...] = field(compare=False)
    dual_rows: tuple[Fraction, ...] = field(compare=False)
    dual_pairs: tuple[Fraction, ...] = field(compare=False)

    @property
    def exact(self) -> Fraction | None:
        """The optimum itself, where the two bounds meet."""
        return self.lower if self.lower == self.upper else None

    def probability(self, released: Sequence[int], true: Sequence[int]) -> Fraction:
        """``W(released | true)`` of the mechanism found: private at epsilon, exactly."""
        index = {histogram: i for i, histogram in enumerate(self.program.graph.vertices)}
        return self.values[int(self.program.orbit_of[index[tuple(true)], index[tuple(released)]])]

    def row(self, true: Sequence[int]) -> tuple[Fraction, ...]:
        """``W(. | true)`` over all histograms, in the order of the graph's vertices: exact, with sum 1."""
        vertices = self.program.graph.vertices
        orbits = self.program.orbit_of[vertices.index(tuple(true))]
        return tuple(self.values[int(orbit)] for orbit in orbits)

    def release(self, counts: Sequence[int], *, source: BitSource | None = None) -> FiniteRelease:
        """Draw one private histogram from the optimal mechanism itself.

        **Guarantee.** The referee has checked every pair of neighbours; the draw has exactly the probabilities of the row.
        """
        graph = self.program.graph
        true = tuple(counts)
        if true not in set(graph.vertices):
            rule = f"is no histogram of {graph.persons} people in {graph.bins} bins"
            raise HistogramError("counts", f"{len(true)} counts", rule, "make the optimum for this number of people")
        certified = certify_rows(self.values, self.program.orbit_of, graph.edges, epsilon=self.epsilon)
        drawn = draw_row(certified, graph.vertices.index(true), SystemBits() if source is None else source)
        return FiniteRelease(graph.vertices[drawn], self)

    def __float__(self) -> float:
        return float((self.lower + self.upper) / 2)

    def summary(self) -> str:
        graph = self.program.graph
        value = str(self.exact) if self.exact is not None else f"{float(self.lower):.9g} to {float(self.upper):.9g}"
        return f"FiniteOptimum({graph.bins} bins, {graph.persons} people, least expected error {value}, proven)"

    def to_document(self) -> dict[str, Any]:
        graph = self.program.graph
        return {
            "bins": graph.bins,
            "persons": graph.persons,
            "epsilon": str(self.epsilon),
            "lower": str(self.lower),
            "upper": str(self.upper),
            "variables": len(self.program.costs),
            "variables_unreduced": len(graph.vertices) ** 2,
        }


@dataclass(frozen=True, repr=False)
class FiniteRelease(Result):
    """A private histogram that was drawn from a finite optimum. Everything in it may be published."""

    counts: Histogram
    optimum: FiniteOptimum

    def expected_error(self) -> float:
        """The least expected error that any mechanism has at this number of people, under the optimum's prior."""
        return float(self.optimum)

    def summary(self) -> str:
        return f"FiniteRelease({list(self.counts)}, epsilon {self.optimum.epsilon}, substitution, certified, optimal)"

    def to_document(self) -> dict[str, Any]:
        return {"answer": list(self.counts), "neighbours": "substitution", "delta": 0} | self.optimum.to_document()


def finite_optimum(
    bins: int, persons: int, *, epsilon: object, prior: object = "uniform", cost: Cost = None
) -> FiniteOptimum:
    """The least expected error of any epsilon-DP mechanism from histograms to histograms of *persons* people.

    *prior* is as for a release, or a mapping from histograms to probabilities: any prior at all. *cost* is the L1
    distance if not given, else a function of (true, released) or a matrix in the order of
    :func:`optimaldp.histograms.constraint_graph`.

    **Guarantee.** ``lower <= optimum <= upper`` by exact arithmetic; the mechanism attains ``upper`` and is epsilon-DP.
    Where ``e^epsilon`` is rational and the vertex can be recovered the two are equal.

    >>> finite_optimum(3, 2, epsilon="ln(2)").exact
    Fraction(17, 12)
    """
    level, graph = read_positive_epsilon(epsilon), constraint_graph(bins, persons)
    if len(graph.vertices) ** 2 > _MOST_PAIRS:
        size = len(graph.vertices) ** 2
        raise HistogramError("persons", persons, f"makes a program of {size} variables", "use fewer people or bins")
    program = _reduce(graph, _prior_weights(prior, graph), _cost_rows(cost, graph))
    proven = prove(program, level)
    return FiniteOptimum(
        level, proven.lower, proven.upper, program, proven.values, proven.row_prices, proven.pair_prices
    )


def _prior_weights(prior: object, graph: ConstraintGraph) -> tuple[Fraction, ...]:
    if isinstance(prior, Mapping):
        weights = {tuple(h): read_number(p, name="prior", error=HistogramError) for h, p in prior.items()}
        unknown = [h for h in weights if h not in set(graph.vertices)]
        if unknown or min(weights.values(), default=Fraction(0)) < 0 or sum(weights.values()) != 1:
            raise HistogramError("prior", unknown or "the mapping", "is not a distribution on these histograms")
        return tuple(weights.get(h, Fraction(0)) for h in graph.vertices)
    belief = read_prior(prior, graph.bins)
    if belief is None:
        raise HistogramError("prior", prior, "is missing", "the least expected error depends on it; try 'uniform'")
    return tuple(belief.probability(h) for h in graph.vertices)


def _cost_rows(cost: Cost, graph: ConstraintGraph) -> list[list[Fraction]]:
    vertices = graph.vertices
    if cost is None:
        return [[Fraction(sum(abs(a - b) for a, b in zip(h, g))) for g in vertices] for h in vertices]
    if callable(cost):
        rows: Any = [[cost(h, g) for g in vertices] for h in vertices]
    else:
        rows = [list(row) for row in cost]
    if len(rows) != len(vertices) or any(len(row) != len(vertices) for row in rows):
        raise HistogramError("cost", f"{len(rows)} rows", f"is not a {len(vertices)} × {len(vertices)} matrix")
    return [[read_number(x, name="cost", error=HistogramError) for x in row] for row in rows]


def _symmetries(graph: ConstraintGraph, weights: Sequence[Fraction], costs: list[list[Fraction]]) -> list[list[int]]:
    """The exchanges of bins that change neither prior nor cost, each as a permutation of the histograms."""
    index = {h: i for i, h in enumerate(graph.vertices)}
    identity = list(range(len(graph.vertices)))
    if graph.bins > _MOST_PERMUTED:
        return [identity]
    kept = []
    for order in permutations(range(graph.bins)):
        moved = [index[tuple(h[k] for k in order)] for h in graph.vertices]
        if all(weights[i] == weights[j] for i, j in enumerate(moved)) and _keeps(costs, moved):
            kept.append(moved)
    return kept


def _keeps(costs: list[list[Fraction]], moved: list[int]) -> bool:
    return all(costs[i] == [costs[j][moved[g]] for g in range(len(moved))] for i, j in enumerate(moved))


def _reduce(graph: ConstraintGraph, weights: Sequence[Fraction], costs: list[list[Fraction]]) -> ReducedProgram:
    import numpy as np

    size = len(graph.vertices)
    names, classes = np.arange(size * size).reshape(size, size), np.arange(size)
    for moved in _symmetries(graph, weights, costs):
        there = np.array(moved)
        names = np.minimum(names, there[:, None] * size + there[None, :])
        classes = np.minimum(classes, there)
    # The least name over the whole group is the same for all members of an orbit.
    labels, orbit_of = np.unique(names, return_inverse=True)
    orbit_of = orbit_of.reshape(size, size)
    objective = [Fraction(0)] * len(labels)
    for h in range(size):
        for g in range(size):
            objective[orbit_of[h, g]] += weights[h] * costs[h][g]
    return ReducedProgram(
        graph, orbit_of, tuple(objective), _sum_rows(orbit_of, classes), _privacy_pairs(graph, orbit_of)
    )


def _sum_rows(orbit_of: Any, classes: Any) -> tuple[dict[int, int], ...]:
    rows = []
    for representative in sorted(set(classes.tolist())):
        counts: dict[int, int] = {}
        for variable in orbit_of[representative].tolist():
            counts[variable] = counts.get(variable, 0) + 1
        rows.append(counts)
    return tuple(rows)


def _privacy_pairs(graph: ConstraintGraph, orbit_of: Any) -> tuple[tuple[int, int], ...]:
    pairs: set[tuple[int, int]] = set()
    for i, j in graph.edges:
        pairs.update(zip(orbit_of[i].tolist(), orbit_of[j].tolist()))
        pairs.update(zip(orbit_of[j].tolist(), orbit_of[i].tolist()))
    return tuple(sorted(pair for pair in pairs if pair[0] != pair[1]))
