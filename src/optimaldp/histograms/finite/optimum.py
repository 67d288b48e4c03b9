"""Solving the reduced linear program, and proving the answer with rationals.

HiGHS gives floats. From them this module guesses which constraints are tight and solves those equations exactly, for the
mechanism and for the dual prices; when both are feasible and their values agree, the optimum is proven. A privacy
constraint that is tight ties two probabilities by a power of theta, so the equations for the mechanism shrink to one
unknown for each tied group. When the guess fails, or theta is irrational, the floats are repaired to exactly feasible
rationals instead, which proves two bounds.
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
from optimaldp.extras import requiring
from optimaldp.histograms.lattice import ConstraintGraph, Histogram, constraint_graph
from optimaldp.histograms.parameters import read_positive_epsilon
from optimaldp.histograms.priors import read_prior
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import read_number
from optimaldp.results import Result
from optimaldp.sampling import BitSource, SystemBits

_TIGHT = 1e-9
_PRICED = 1e-11
_BITS = 60  # of the rationals that floats are rounded to, and of theta where it is irrational


@dataclass(frozen=True)
class _Floats:
    """What HiGHS found: probabilities, prices of the sums and of the privacy constraints, and what they leave of the
    costs."""

    values: Any
    row_prices: Any
    pair_prices: Any
    reduced_costs: Any


@dataclass(frozen=True)
class ProvenProgram:
    """A mechanism that attains the upper bound, and the dual prices that prove the lower one."""

    lower: Fraction
    upper: Fraction
    values: tuple[Fraction, ...]
    row_prices: tuple[Fraction, ...]
    pair_prices: tuple[Fraction, ...]


def prove(program: ReducedProgram, level: Epsilon) -> ProvenProgram:
    """Solve the program and prove the answer."""
    floats = _solve(program, float((-level.ball()).exp()))
    strict, loose = _theta_bounds(level)
    values = _exact_values(program, floats, strict) if strict == loose else None
    prices = _exact_prices(program, floats, strict, values) if values is not None else None
    values = values if values is not None else _repaired_values(program, floats, strict)
    rows, pairs = prices if prices is not None else _repaired_prices(program, floats, loose)
    upper = sum((c * x for c, x in zip(program.costs, values)), Fraction(0))
    return ProvenProgram(sum(rows, Fraction(0)), upper, tuple(values), tuple(rows), tuple(pairs))


def _theta_bounds(level: Epsilon) -> tuple[Fraction, Fraction]:
    """Rationals on both sides of theta: the larger is stricter, so its mechanisms are private; the smaller bounds from
    below."""
    return 1 / level.ratio_below(bits=_BITS), 1 / level.ratio_above(bits=_BITS)


def _solve(program: ReducedProgram, ratio: float) -> _Floats:
    import numpy as np

    with requiring("scipy"):
        from scipy.sparse import csr_matrix

    size, pairs = len(program.costs), np.array(program.pairs)
    lines = np.arange(len(pairs))
    entries = np.concatenate((np.full(len(pairs), -1.0), np.full(len(pairs), ratio)))
    privacy = csr_matrix(
        (entries, (np.concatenate((lines, lines)), np.concatenate((pairs[:, 0], pairs[:, 1])))),
        shape=(len(pairs), size),
    )
    sums = csr_matrix(
        (
            [float(n) for row in program.rows for n in row.values()],
            ([i for i, row in enumerate(program.rows) for _ in row], [v for row in program.rows for v in row]),
        ),
        shape=(len(program.rows), size),
    )
    from optimaldp.programs.linear import minimise  # brings arrays along, and a solver

    found = minimise(
        [float(c) for c in program.costs],
        rows=privacy,
        bounds=np.zeros(len(pairs)),
        equal=sums,
        values=np.ones(len(program.rows)),
        method="highs-ds",
        precise=True,
    )
    if not found.solved:
        raise HistogramError("program", found.message, "was not solved", "use fewer people or another epsilon")
    return _Floats(found.point, found.equal_prices, found.row_prices, found.zero_prices)


def _exact_values(program: ReducedProgram, floats: _Floats, ratio: Fraction) -> list[Fraction] | None:
    """The vertex that the tight constraints determine, if they do and it is feasible."""
    groups = _tied_groups(program, floats, float(ratio))
    if groups is None:
        return None
    group_of, powers, count = groups
    matrix = [[Fraction(0)] * count for _ in program.rows]
    for i, row in enumerate(program.rows):
        for variable, times in row.items():
            if group_of[variable] >= 0:
                matrix[i][group_of[variable]] += times * ratio ** powers[variable]
    scales = _solve_exactly(matrix, [Fraction(1)] * len(matrix), count)
    if scales is None:
        return None
    values = [scales[g] * ratio**p if g >= 0 else Fraction(0) for g, p in zip(group_of, powers)]
    feasible = min(values) >= 0 and all(values[a] >= ratio * values[b] for a, b in program.pairs)
    return values if feasible else None


def _tied_groups(program: ReducedProgram, floats: _Floats, ratio: float) -> tuple[list[int], list[int], int] | None:
    """Group the variables that tight constraints tie: group and power of theta of each, -1 for those that are 0."""
    values = floats.values
    ties: dict[int, list[tuple[int, int]]] = {}
    for a, b in program.pairs:
        if (
            values[a] > _TIGHT
            and values[b] > _TIGHT
            and abs(values[a] - ratio * values[b]) <= _TIGHT * max(1e-3, values[b])
        ):
            ties.setdefault(b, []).append((a, 1))
            ties.setdefault(a, []).append((b, -1))
    group_of, powers, count = [-1] * len(values), [0] * len(values), 0
    for start in range(len(values)):
        if values[start] <= _TIGHT or group_of[start] >= 0:
            continue
        group_of[start], waiting = count, [start]
        while waiting:
            here = waiting.pop()
            for there, step in ties.get(here, ()):
                if group_of[there] < 0:
                    group_of[there], powers[there] = count, powers[here] + step
                    waiting.append(there)
                elif powers[there] != powers[here] + step:
                    return None
        count += 1
    return group_of, powers, count


def _solve_exactly(matrix: list[list[Fraction]], right: Sequence[Fraction], unknowns: int) -> list[Fraction] | None:
    """The unique solution of a rational system, or ``None`` where there is none or more than one."""
    from flint import fmpq, fmpq_mat

    joined = fmpq_mat(
        len(matrix),
        unknowns + 1,
        [fmpq(x.numerator, x.denominator) for row, b in zip(matrix, right) for x in (*row, b)],
    )
    reduced, rank = joined.rref()
    if rank != unknowns or any(reduced[i, i] != 1 for i in range(unknowns)):
        return None
    column = (reduced[i, unknowns] for i in range(unknowns))
    return [Fraction(int(x.p), int(x.q)) for x in column]


def _exact_prices(
    program: ReducedProgram, floats: _Floats, ratio: Fraction, values: list[Fraction]
) -> tuple[list[Fraction], list[Fraction]] | None:
    """Dual prices that prove the values optimal, if the priced constraints determine them."""
    priced = [e for e, price in enumerate(floats.pair_prices) if price > _PRICED]
    # A probability of 0 may have a reduced cost of 0, too: its equation is needed then.
    used = [v for v, cost in enumerate(floats.reduced_costs) if cost <= _PRICED or values[v] > 0]
    place = {v: i for i, v in enumerate(used)}
    matrix = [[Fraction(0)] * (len(program.rows) + len(priced)) for _ in used]
    for i, row in enumerate(program.rows):
        for variable, times in row.items():
            if variable in place:
                matrix[place[variable]][i] += times
    for column, edge in enumerate(priced, start=len(program.rows)):
        for variable, factor in zip(program.pairs[edge], (Fraction(1), -ratio)):
            if variable in place:
                matrix[place[variable]][column] += factor
    solution = _solve_exactly(matrix, [program.costs[v] for v in used], len(program.rows) + len(priced))
    if solution is None:
        return None
    rows, pairs = solution[: len(program.rows)], [Fraction(0)] * len(program.pairs)
    for edge, price in zip(priced, solution[len(program.rows) :]):
        pairs[edge] = price
    feasible = min(pairs, default=Fraction(0)) >= 0 and min(reduced_costs(program, ratio, rows, pairs)) >= 0
    return (rows, pairs) if feasible else None


def reduced_costs(
    program: ReducedProgram, ratio: Fraction, rows: Sequence[Fraction], pairs: Sequence[Fraction]
) -> list[Fraction]:
    """``cost - A'y - G'u``: nonnegative together with u exactly when (y, u) is feasible for the dual, and then sum(y) is
    a lower bound."""
    remaining = list(program.costs)
    for price, row in zip(rows, program.rows):
        for variable, times in row.items():
            remaining[variable] -= times * price
    for price, (a, b) in zip(pairs, program.pairs):
        if price:
            remaining[a] -= price
            remaining[b] += ratio * price
    return remaining


def _rounded(number: float) -> Fraction:
    return Fraction(round(number * 2**_BITS), 2**_BITS)


def _repaired_prices(
    program: ReducedProgram, floats: _Floats, ratio: Fraction
) -> tuple[list[Fraction], list[Fraction]]:
    """Prices near the floats that are exactly feasible: the price of a sum falls by the worst violation among its
    variables."""
    rows = [_rounded(float(price)) for price in floats.row_prices]
    pairs = [max(Fraction(0), _rounded(float(price))) for price in floats.pair_prices]
    reduced = reduced_costs(program, ratio, rows, pairs)
    for i, row in enumerate(program.rows):
        worst = min(reduced[variable] / times for variable, times in row.items())
        rows[i] += min(Fraction(0), worst)
    return rows, pairs


def _repaired_values(program: ReducedProgram, floats: _Floats, ratio: Fraction) -> list[Fraction]:
    """A mechanism near the floats that is exactly private: rounded, normalised, and mixed with as little uniform as
    needed."""
    vertices = len(program.graph.vertices)
    rounded = [max(Fraction(0), _rounded(float(x))) for x in floats.values]
    totals = [sum(times * rounded[v] for v, times in row.items()) for row in program.rows]
    scaled = list(rounded)
    for total, row in zip(totals, program.rows):
        for variable in row:
            scaled[variable] = rounded[variable] / total
    uniform, slack = Fraction(1, vertices), (1 - ratio) * Fraction(1, vertices)
    worst = max((ratio * scaled[b] - scaled[a] for a, b in program.pairs), default=Fraction(0))
    share = max(Fraction(0), worst) / (max(Fraction(0), worst) + slack)
    return [(1 - share) * x + share * uniform for x in scaled]


# The least expected error for a finite number of persons: the linear program (3)-(6) of paper 002.
#
#     minimise   sum_h prior(h) sum_g W(g|h) cost(h, g)
#     subject to sum_g W(g|h) = 1,   W(g|h) >= theta W(g|h') for neighbours h, h',   W >= 0
#
# over all mechanisms from histograms to histograms. It has ``C(n+K-1,K-1)^2`` variables (erratum E3), so bins that the prior
# and the cost do not distinguish are exchanged: averaging a mechanism over such exchanges keeps its privacy and its expected
# error, and leaves one variable for each orbit. HiGHS finds the solution; what is reported is proven by exact arithmetic
# (:mod:`optimaldp.histograms.finite.optimum`).


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
