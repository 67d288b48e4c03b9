"""The linear program of the most useful private channel, for any graph, prior and gain.

    maximise  Σ weight_v m_v   subject to   m_i <= factor · m_j (privacy),   each row sums to one,   m >= 0

Variables are the cells of the channel, one for each orbit under the problem's symmetries, plus one *hub* for each
column of a clique: ``hub <= cell <= factor · hub`` says in 2n constraints what all pairs would say in n².
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.answer_graph import AnswerGraph, Edge, Permutation
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring
from optimaldp.privacy.balls import ball, lower, precision, upper
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.programs.linear import Constraint, FloatVertex, maximise, minimise

# Symmetries of a problem: cells of the channel that may be taken as equal,
# because averaging over a symmetry loses nothing.


Exact = Sequence[Sequence[Fraction]]


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


def cell_orbits(graph: AnswerGraph, worth: Exact, extra: Sequence[Permutation] = ()) -> tuple[IntArray, int]:
    """Number the orbits of cells under those symmetries of the graph that keep *worth*; the second result says how
    many do.

    A permutation of the vertices counts if the columns of *worth* can be permuted so that nothing changes: the
    guesses may move too.
    """
    columns = len(worth[0])
    parent = list(range(len(worth) * columns))
    used = 0
    for permutation in (*graph.checked_symmetries(), *(p for p in extra if graph.is_symmetry(p))):
        # Joining along generators is enough: what they connect are the orbits of the whole group.
        moved = _guess_permutation(permutation, worth)
        if moved is None:
            continue
        used += 1
        for y, image in enumerate(permutation):
            for z, target in enumerate(moved):
                _join(parent, y * columns + z, image * columns + target)
    roots = np.array([_root(parent, v) for v in range(len(parent))])
    _, numbers = np.unique(roots, return_inverse=True)
    return numbers.reshape(len(worth), columns).astype(np.int64), used


def _guess_permutation(permutation: Permutation, worth: Exact) -> list[int] | None:
    """Where each guess must move so that ``worth[σ y][τ z] = worth[y][z]``; equal columns are matched in order."""
    columns = list(zip(*worth))
    places: dict[tuple[Fraction, ...], list[int]] = {}
    for z, column in enumerate(columns):
        places.setdefault(column, []).append(z)
    moved = []
    for column in columns:
        carried = [Fraction(0)] * len(column)
        for y, image in enumerate(permutation):
            carried[image] = column[y]
        targets = places.get(tuple(carried))
        if not targets:
            return None
        # equal columns are guesses that nothing tells apart: any matching of them keeps the gain
        moved.append(targets.pop(0))
    return moved


def _root(parent: list[int], v: int) -> int:
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


def _join(parent: list[int], a: int, b: int) -> None:
    one, other = _root(parent, a), _root(parent, b)
    if one != other:
        # the smaller root wins: orbits are numbered by their first cells, the same in every run
        parent[max(one, other)] = min(one, other)


IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Program:
    """Exact data of the program. ``cells[y, z]`` is the variable of a cell; hubs follow after the cells' variables."""

    cells: IntArray
    weights: tuple[Fraction, ...]
    ratios: tuple[tuple[int, int, Fraction], ...]
    """``(i, j, factor)``: ``m_i <= factor · m_j``."""
    sums: tuple[dict[int, int], ...]
    """One for each kind of row: how often each variable occurs in it."""

    @property
    def size(self) -> int:
        return len(self.weights)

    def dual_bound(self, weights: Sequence[Fraction]) -> Fraction:
        """The upper bound on the value that nonnegative *weights* on the privacy constraints prove (weak duality),
        exactly.
        """
        if len(weights) != len(self.ratios) or any(w < 0 for w in weights):
            raise ValueError("one nonnegative weight for each constraint")
        # a variable occurs in rows of one kind alone, which its symmetries exchange: so each kind has its own maximum
        net = self._net(self.balanced(weights))
        return sum(
            (max((self.weights[v] - net[v]) / times for v, times in row.items()) for row in self.sums), Fraction(0)
        )

    def _net(self, weights: Sequence[Fraction]) -> list[Fraction]:
        net = [Fraction(0)] * self.size
        for (i, j, factor), weight in zip(self.ratios, weights):
            if weight:
                net[i] += weight
                net[j] -= factor * weight
        return net

    def balanced(self, weights: Sequence[Fraction]) -> list[Fraction]:
        """Weights that pay for themselves. A hub occurs in no row, so its weights must pay for themselves:
        what it owes is scaled down to what it has.
        """
        rowless = set(range(self.size)) - {v for row in self.sums for v in row}
        has, owes = dict.fromkeys(rowless, Fraction(0)), dict.fromkeys(rowless, Fraction(0))
        for (i, j, factor), weight in zip(self.ratios, weights):
            if i in rowless:
                has[i] += weight
            if j in rowless:
                owes[j] += factor * weight
        scale = {v: min(Fraction(1), has[v] / owes[v]) if owes[v] else Fraction(1) for v in rowless}
        return [weight * scale.get(j, Fraction(1)) for (_, j, _), weight in zip(self.ratios, weights)]

    def feasible(self, values: Sequence[Fraction]) -> bool:
        """Whether *values* keep every constraint, exactly."""
        return (
            all(value >= 0 for value in values)
            and all(values[i] <= factor * values[j] for i, j, factor in self.ratios)
            and all(sum((times * values[v] for v, times in row.items()), Fraction(0)) == 1 for row in self.sums)
        )

    def value(self, values: Sequence[Fraction]) -> Fraction:
        return sum((w * m for w, m in zip(self.weights, values) if w), Fraction(0))

    def with_factors(self, factor: dict[Fraction, Fraction]) -> Program:
        """The same program with each factor replaced:
        how a bound at the exact epsilon is had from rationals around it.
        """
        ratios = tuple((i, j, factor.get(f, f)) for i, j, f in self.ratios)
        return Program(self.cells, self.weights, ratios, self.sums)


def build_program(kernel: DecayKernel, worth: Sequence[Sequence[Fraction]], orbits: IntArray | None = None) -> Program:
    """The program for ``worth[y][z] = prior[y] · gain[y][z]``;
    *orbits* numbers the cells that may be taken as equal.
    """
    rows, columns = len(worth), len(worth[0])
    cells = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns) if orbits is None else orbits
    count = int(cells.max()) + 1
    weights = [Fraction(0)] * count
    for y in range(rows):
        for z in range(columns):
            weights[cells[y, z]] += worth[y][z]
    ratios, hubs = _ratios(kernel, cells, count)
    sums = {tuple(sorted(_occurrences(row).items())) for row in cells.tolist()}
    return Program(cells, (*weights, *[Fraction(0)] * hubs), ratios, tuple(dict(row) for row in sorted(sums)))


def _occurrences(row: list[int]) -> dict[int, int]:
    times: dict[int, int] = {}
    for variable in row:
        times[variable] = times.get(variable, 0) + 1
    return times


def _ratios(kernel: DecayKernel, cells: IntArray, count: int) -> tuple[tuple[tuple[int, int, Fraction], ...], int]:
    factors = set(kernel.factors.values())
    size = len(kernel.graph.vertices)
    if size > 4 and len(factors) == 1 and 2 * len(kernel.factors) == size * (size - 1):
        return _hub_ratios(cells, count, factors.pop())
    ratios: set[tuple[int, int, Fraction]] = set()
    for y, other, factor in kernel.arcs:
        # arcs that a symmetry exchanges ask the same of the same variables: a set keeps one of them
        pairs = np.unique(np.stack([cells[y], cells[other]], axis=1), axis=0).tolist()
        ratios.update((i, j, factor) for i, j in pairs if i != j)
    return tuple(sorted(ratios)), 0


def _hub_ratios(cells: IntArray, count: int, factor: Fraction) -> tuple[tuple[tuple[int, int, Fraction], ...], int]:
    """Columns with the same cells share a hub."""
    kinds = {tuple(sorted(set(column))): None for column in cells.T.tolist()}
    ratios: list[tuple[int, int, Fraction]] = []
    for hub, column in enumerate(kinds, start=count):
        ratios += [(v, hub, factor) for v in column] + [(hub, v, Fraction(1)) for v in column]
    return tuple(ratios), len(kinds)


def solver_arrays(program: Program) -> dict[str, Any]:
    """The program as :func:`optimaldp.programs.linear.minimise` takes it."""
    with requiring("scipy"):
        from scipy.sparse import csr_matrix

    many = len(program.ratios)
    lines = np.repeat(np.arange(many), 2)
    columns = np.array([v for i, j, _ in program.ratios for v in (i, j)], dtype=int)
    entries = np.array([e for _, _, f in program.ratios for e in (1.0, -float(f))])
    inequality = csr_matrix((entries, (lines, columns)), shape=(many, program.size)) if many else None
    places = [(r, v, times) for r, row in enumerate(program.sums) for v, times in row.items()]
    r, v, times = (np.array(part) for part in zip(*places))
    equality = csr_matrix((times.astype(float), (r, v)), shape=(len(program.sums), program.size))
    return {
        "cost": -np.array([float(w) for w in program.weights]),
        "rows": inequality,
        "bounds": np.zeros(many) if many else None,
        "equal": equality,
        "values": np.ones(len(program.sums)),
    }


Arc = tuple[int, int, Fraction]
Flows = dict[tuple[int, int, int], Fraction]


def cell_flows(program: Program, weights: Sequence[Fraction], arcs: Sequence[Arc]) -> Flows:
    """The weights on the program's constraints as weights on ``M[y,z] <= factor · M[other,z]``, cell by cell.

    A constraint between orbits stands for all of its cells, which share its weight; averaging over the symmetries shows
    that the bound stays. What passes through a hub is paired: each cell held down by the hub with cells that hold it up.
    """
    count = int(program.cells.max()) + 1
    balanced = program.balanced(weights)
    if any(max(i, j) >= count for i, j, _ in program.ratios):
        return _through_hubs(program, balanced, count)
    places: dict[tuple[int, int, Fraction], list[tuple[int, int, int]]] = {}
    for y, other, factor in arcs:
        for z, (i, j) in enumerate(zip(program.cells[y].tolist(), program.cells[other].tolist())):
            places.setdefault((i, j, factor), []).append((y, other, z))
    flows: Flows = {}
    for ratio, weight in zip(program.ratios, balanced):
        if weight:
            for place in places[ratio]:
                flows[place] = flows.get(place, Fraction(0)) + weight / len(places[ratio])
    return flows


def _through_hubs(program: Program, weights: Sequence[Fraction], count: int) -> Flows:
    columns: dict[tuple[int, ...], list[int]] = {}
    for z, column in enumerate(program.cells.T.tolist()):
        columns.setdefault(tuple(sorted(set(column))), []).append(z)
    hub_columns = dict(enumerate(columns.values(), start=count))
    flows: Flows = {}
    for hub, alike in hub_columns.items():
        down = {i: w for (i, j, _), w in zip(program.ratios, weights) if j == hub and w}
        up = {j: w for (i, j, _), w in zip(program.ratios, weights) if i == hub and w}
        factor = next(f for _, j, f in program.ratios if j == hub)
        occurrences = _occurrences(program.cells[:, alike].ravel().tolist())
        for z in alike:
            column = program.cells[:, z].tolist()
            held_down = [(y, down[v] / occurrences[v]) for y, v in enumerate(column) if v in down]
            held_up = [(y, up[v] / occurrences[v] / factor) for y, v in enumerate(column) if v in up]
            for y, other, amount in _paired(held_down, held_up):
                if y != other:  # a cell against itself says nothing
                    flows[y, other, z] = flows.get((y, other, z), Fraction(0)) + amount
    return flows


def _paired(
    needs: list[tuple[int, Fraction]], offers: list[tuple[int, Fraction]]
) -> Iterator[tuple[int, int, Fraction]]:
    """Each need met by offers, one after the other."""
    waiting = iter(offers)
    other, room = next(waiting, (0, Fraction(0)))
    for y, need in needs:
        while need > 0:
            amount = min(need, room)
            if amount:
                yield y, other, amount
            need, room = need - amount, room - amount
            if need > 0:
                # never runs short: balanced() has scaled what a hub owes down to what it has
                other, room = next(waiting)


# Solving the program: HiGHS finds a point, rationals make it a proof.
#
# What a solver returns is *not* private as it stands: a violation of 1e-9 is a violation, and a zero against a non-zero
# means epsilon = ∞. So its vertex is solved again over the rationals; where that fails, the point is repaired and the
# loss reported.


_LARGEST_EXACT = 260  # variables: an exact solve of this size takes about a second
ExactChannel = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Solved:
    """What the solver found: values, weights on the privacy constraints, and what each kind of row is worth."""

    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    utility: float
    row_prices: NDArray[np.float64]


def run_solver(program: Program, *, dense: bool) -> Solved:
    """Run HiGHS: interior point where the graph has branches (*dense*), else the dual simplex."""
    solution = minimise(**solver_arrays(program), method="highs-ipm" if dense else "highs-ds")
    if not solution.solved:
        raise ChannelError("linear program", solution.message, "was not solved")
    duals = solution.row_prices if program.ratios else np.zeros(0)
    return Solved(solution.point, np.clip(duals, 0, None), -solution.value, -solution.equal_prices)


def exact_optimum(program: Program, solved: Solved) -> tuple[list[Fraction], list[Fraction]] | None:
    """The rational vertex near which the solver stopped, and the weights on the privacy constraints that prove it optimal.

    ``None`` where the program is too large, or rationals take too long.
    """
    if program.size > _LARGEST_EXACT:
        return None
    values, one = solved.values, Fraction(1)
    constraints = [Constraint({i: one, j: -factor}, Fraction(0)) for i, j, factor in program.ratios]
    slacks = [float(factor) * values[j] - values[i] for i, j, factor in program.ratios]
    for row in program.sums:  # an equation is two inequalities, both of them tight
        constraints.append(Constraint({v: Fraction(times) for v, times in row.items()}, one))
        constraints.append(Constraint({v: Fraction(-times) for v, times in row.items()}, -one))
        slacks += [0.0, 0.0]
    prices = np.stack([solved.row_prices, -solved.row_prices], axis=1).ravel()
    floats = FloatVertex(values, np.concatenate([solved.weights, np.clip(prices, 0, None)]), np.array(slacks))
    objective = {v: weight for v, weight in enumerate(program.weights) if weight}
    best = maximise(objective, constraints, program.size, floats)
    if best is None or not best.exact:
        return None
    return best.point, [best.multipliers.get(k, Fraction(0)) for k in range(len(program.ratios))]


def rational_weights(solved: Solved) -> list[Fraction]:
    """The solver's weights as rationals: weak duality asks nothing of them but not to be negative."""
    return [
        Fraction(weight).limit_denominator(10**12) if weight > 1e-13 else Fraction(0)
        for weight in solved.weights.tolist()
    ]


def repair(rough: NDArray[np.float64], kernel: DecayKernel, worth: Sequence[Sequence[Fraction]]) -> ExactChannel:
    """A rational channel that is private exactly, next to the solver's.

    **Guarantee.** Rows sum to one and every edge's factor is kept, whatever *rough* was. Each column is raised to its
    envelope ``max_y' Φ[y,y'] m(y')``, all rows are scaled below one, and the rest goes to one distribution for all
    rows, after giving up just so much of the channel that those rests keep the factors too.
    """
    # 2^-60 is far below the solver's noise and keeps the rationals short
    cells = [[Fraction(round(max(0.0, cell) * 2**60), 2**60) for cell in row] for row in rough.tolist()]
    phi = kernel.rows
    raised = [
        [max(weight * cells[other][z] for other, weight in enumerate(row) if weight) for z in range(len(cells[0]))]
        for row in phi
    ]
    scale = max(sum(row, Fraction(0)) for row in raised)
    kept = [sum(row, Fraction(0)) / scale for row in raised]
    rest = 1 - min(kept)
    # the rests must keep every factor, and the smallest leaves the least room
    least_factor = min(kernel.factors.values(), default=Fraction(1))
    if rest and least_factor == 1:
        raise ChannelError("epsilon", "0", "leaves no room for a repair")
    # (1 − g) rest + g <= factor · g, solved for g: see filled_rows
    given_up = rest / (least_factor - 1 + rest) if rest else Fraction(0)
    best = max(range(len(cells[0])), key=lambda z: sum(row[z] for row in worth))
    final = []
    for row, share in zip(raised, kept):
        scaled = [(1 - given_up) * cell / scale for cell in row]
        scaled[best] += 1 - (1 - given_up) * share
        final.append(tuple(scaled))
    return tuple(final)
