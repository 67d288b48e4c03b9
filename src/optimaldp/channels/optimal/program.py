"""The linear program of the most useful private channel, for any graph, prior and gain.

    maximise  Σ weight_v m_v   subject to   m_i <= factor · m_j (privacy),   each row sums to one,   m >= 0

Variables are the cells of the channel, one for each orbit under the problem's symmetries, plus one *hub* for each
column of a clique: ``hub <= cell <= factor · hub`` says in 2n constraints what all pairs would say in n².
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.optimal.kernel import DecayKernel
from optimaldp.extras import requiring

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
    """The program as ``scipy.optimize.linprog`` takes it."""
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
        "c": -np.array([float(w) for w in program.weights]),
        "A_ub": inequality,
        "b_ub": np.zeros(many) if many else None,
        "A_eq": equality,
        "b_eq": np.ones(len(program.sums)),
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
