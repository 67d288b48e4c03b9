"""Grids with hundreds of answers and any prior: a program on sums of cells instead of cells.

Seen from a place u, every other place lies some steps down or up and some across; steps beyond a *reach* are not told
apart. These are the directions of u: nine with reach 0 (u itself, the axes, the quadrants), 25 with reach 1. Let ``S[u,c]`` be
the chance that the output for u lies in direction c. The outputs in one direction of u are, seen from the neighbour p next
to u in that direction, again whole directions, so privacy of the channel asks ``S[u,c]/x <= Σ S[p,·] <= x S[u,c]`` of the
sums. With ``Σ_c S[u,c] = 1`` this is a program with a few unknowns for each place where the channel has n. It allows at
least as much as the channel's own program, so its value is a bound, and its prices prove it: each price is a weight on the
privacy constraints of all outputs in its direction. With reach 0 the bound was within 0.3 % of the optimum on grids of 36
and 49 places with a random prior.

The sums are then shared out among the outputs, place by place, so that every factor is kept. Rows may come out larger
than one; normalising them and restoring privacy in turn settles on a channel. The farther the reach, the less is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.numbers import FloatArray
from optimaldp.channels.optimal.floats import UNIT, without_noise
from optimaldp.channels.optimal.proofs import RangeFlowProof
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring

Step = tuple[int, int]
_HALVINGS = 40
_SMALLEST = 1e-280  # of a cell: far from where floats vanish
_CLEARLY = 1e-9  # by which a guess must be worse than another to be left out


_ROUNDS = 80
_LAST_ROUNDS = 5  # in which no column is made smaller any more
_MOST_UNKNOWNS = 12_000  # of the program on sums: some ten seconds


class Shape(NamedTuple):
    """Rows and columns of a grid."""

    rows: int
    columns: int

    def holds(self, row: int, column: int) -> bool:
        return 0 <= row < self.rows and 0 <= column < self.columns

    def beyond(self, place: Step, direction: Step, reach: int) -> tuple[slice, slice]:
        """All places in one direction of a place."""
        return _part(place[0], direction[0], reach), _part(place[1], direction[1], reach)

    def ranges(self, place: Step, direction: Step, reach: int) -> tuple[tuple[int, int], ...]:
        """The same as ranges of the places' numbers, from and to (not included)."""
        down, across = self.beyond(place, direction, reach)
        first, last, _ = across.indices(self.columns)
        return tuple((row * self.columns + first, row * self.columns + last) for row in range(*down.indices(self.rows)))

    def number(self, place: Step) -> int:
        return place[0] * self.columns + place[1]


def _part(here: int, step: int, reach: int) -> slice:
    """The place so many steps away; all from there on if that is more than the reach."""
    if abs(step) <= reach:
        return slice(max(here + step, 0), max(here + step + 1, 0))
    return slice(here + step, None) if step > 0 else slice(0, max(here + step + 1, 0))


class Pull(NamedTuple):
    """One constraint on sums: the outputs in *direction* of *place*, compared with the same outputs at *neighbour*."""

    place: Step
    direction: Step
    neighbour: Step


class Flow(NamedTuple):
    """A weight on ``M[place,z] <= x M[other,z]`` for all z in *direction* of *seen_from*."""

    place: int
    other: int
    seen_from: Step
    direction: Step
    weight: float


@dataclass(frozen=True)
class GridSolution:
    """Columns that keep every factor (rows about one or above), the flows, and the bound that they prove."""

    shape: Shape
    reach: int
    rows: FloatArray
    flows: list[Flow]
    upper_bound: float

    @property
    def proof(self) -> RangeFlowProof:
        """The flows with what they prove."""
        ranges = self.shape.ranges
        flows = tuple((f.place, f.other, ranges(f.seen_from, f.direction, self.reach), f.weight) for f in self.flows)
        return RangeFlowProof(flows, Fraction(self.upper_bound))


def grid_shape(graph: AnswerGraph) -> Shape | None:
    """Rows and columns, if the vertices are the places ``(row, column)`` of a whole grid in order and its edges are all edges."""
    last = graph.vertices[-1]
    if not (isinstance(last, tuple) and len(last) == 2 and all(type(part) is int for part in last)):
        return None
    shape = Shape(last[0] + 1, last[1] + 1)
    if min(shape) < 2 or tuple(graph.vertices) != tuple(product(range(shape.rows), range(shape.columns))):
        return None
    edges = shape.rows * (shape.columns - 1) + shape.columns * (shape.rows - 1)
    near = all(abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1 for a, b in graph.lengths)  # type: ignore[index]
    return shape if graph.plain and near and len(graph.lengths) == edges else None


def solve_grid(shape: Shape, masses: FloatArray, ratio: float, above: float) -> GridSolution:
    """*ratio* is ``e^epsilon``, not above it for the channel; *above* is not below it, for the bound."""
    reach = max((int((_MOST_UNKNOWNS / len(masses)) ** 0.5) - 3) // 2, 0)
    program = _Sums(shape, reach)
    values, prices = program.solve(masses, ratio)
    flows = program.flows(prices, ratio)
    bound = _bound(program, flows, masses, above)
    return GridSolution(shape, reach, _shared_out(program, values, ratio), flows, bound)


class _Sums:
    """The program on sums: where each unknown stands, and which constraints there are."""

    def __init__(self, shape: Shape, reach: int) -> None:
        self.shape, self.reach = shape, reach
        steps = range(-reach - 1, reach + 2)
        # along the axes first, and nearer before farther: what is shared out rests on what was
        self.directions = sorted(product(steps, steps), key=lambda d: (d[0] != 0 and d[1] != 0, abs(d[0]) + abs(d[1])))[
            1:
        ]
        self.unknowns: dict[tuple[Step, Step], int] = {}
        self.pulls: list[Pull] = []
        self.places = list(product(range(shape.rows), range(shape.columns)))
        for place in self.places:
            self.unknowns[place, (0, 0)] = len(self.unknowns)
        for place in self.places:
            for step in self.directions:
                if shape.holds(place[0] + step[0], place[1] + step[1]):
                    self.unknowns[place, step] = len(self.unknowns)
                    self.pulls += [Pull(place, step, near) for near in _towards(place, step)]

    def same_outputs(self, pull: Pull) -> list[int]:
        """The unknowns of the neighbour that together are the same outputs as the one direction of the place."""
        down, across = pull.neighbour[0] - pull.place[0], pull.neighbour[1] - pull.place[1]
        nearer = (pull.direction[0] - down, pull.direction[1] - across)
        endless = abs(pull.direction[0] if down else pull.direction[1]) > self.reach
        keys = [(pull.neighbour, nearer)] + ([(pull.neighbour, pull.direction)] if endless else [])
        return [self.unknowns[key] for key in keys if key in self.unknowns]

    def solve(self, masses: FloatArray, ratio: float) -> tuple[FloatArray, FloatArray]:
        """The sums, and the prices of the constraints (first the lower ones of all pulls, then the upper ones)."""
        with requiring("scipy"):
            from scipy.optimize import linprog
            from scipy.sparse import csr_matrix, vstack

        size, many, width = len(masses), len(self.pulls), len(self.unknowns)
        own = [self.unknowns[pull.place, pull.direction] for pull in self.pulls]
        theirs = [(k, other) for k, pull in enumerate(self.pulls) for other in self.same_outputs(pull)]
        lines = np.array([k for k, _ in theirs] + list(range(many)))
        places = np.array([other for _, other in theirs] + own)

        def constraints(other: float, self_: float) -> object:
            entries = np.concatenate([np.full(len(theirs), other), np.full(many, self_)])
            return csr_matrix((entries, (lines, places)), shape=(many, width))

        rows = np.array([self.shape.number(place) for place, _ in self.unknowns])
        sums = csr_matrix((np.ones(width), (rows, np.arange(width))), shape=(size, width))
        cost = np.zeros(width)
        cost[:size] = -masses * size
        solved = linprog(
            cost,
            A_ub=vstack([constraints(1 / ratio, -1.0), constraints(-ratio, 1.0)]).tocsr(),
            b_ub=np.zeros(2 * many),
            A_eq=sums,
            b_eq=np.ones(size),
            bounds=np.column_stack([np.zeros(width), self._most(masses, ratio)]),
            method="highs-ipm",
        )
        if solved.status != 0:
            raise ChannelError("linear program", solved.message, "was not solved")
        prices = np.maximum(-np.asarray(solved.ineqlin.marginals), 0) / size
        return np.asarray(solved.x, dtype=np.float64), prices

    def useful(self, masses: FloatArray, ratio: float) -> NDArray[np.bool_]:
        """The guesses that are worth having: another's output is read better by a neighbour that is likelier by the factor."""
        weights = masses.reshape(self.shape)
        likeliest = np.zeros_like(weights)
        likeliest[1:] = weights[:-1]
        likeliest[:-1] = np.maximum(likeliest[:-1], weights[1:])
        likeliest[:, 1:] = np.maximum(likeliest[:, 1:], weights[:, :-1])
        likeliest[:, :-1] = np.maximum(likeliest[:, :-1], weights[:, 1:])
        return np.asarray(weights * ratio * (1 + _CLEARLY) > likeliest).ravel()

    def _most(self, masses: FloatArray, ratio: float) -> FloatArray:
        """One for a sum with a useful guess in it, else 0."""
        useful = self.useful(masses, ratio).reshape(self.shape)
        return np.array(
            [float(useful[self.shape.beyond(place, direction, self.reach)].any()) for place, direction in self.unknowns]
        )

    def flows(self, prices: FloatArray, ratio: float) -> list[Flow]:
        """The prices as weights on privacy constraints, the same for every output in a direction."""
        many, number = len(self.pulls), self.shape.number
        found = []
        for k in np.flatnonzero(prices > 0).tolist():
            pull = self.pulls[k % many]
            here, near = number(pull.place), number(pull.neighbour)
            if k < many:
                found.append(Flow(near, here, pull.place, pull.direction, float(prices[k]) / ratio))
            else:
                found.append(Flow(here, near, pull.place, pull.direction, float(prices[k])))
        return found


def _towards(place: Step, step: Step) -> list[Step]:
    """The neighbours next to a place in one direction: one along an axis, two in a quadrant."""
    down, across = (step[0] > 0) - (step[0] < 0), (step[1] > 0) - (step[1] < 0)
    return [(place[0] + a, place[1] + b) for a, b in ((down, 0), (0, across)) if (a, b) != (0, 0)]


def _bound(program: _Sums, flows: list[Flow], masses: FloatArray, above: float) -> float:
    """What the flows prove: every row gives at most the largest of its coefficients."""
    size, shape = len(masses), program.shape
    left = np.zeros((size, shape.rows, shape.columns))
    terms = np.zeros_like(left)
    for place, other, seen_from, direction, weight in flows:
        part = shape.beyond(seen_from, direction, program.reach)
        left[place][part] -= weight
        left[other][part] += above * weight
        terms[place][part] += weight
        terms[other][part] += above * weight
    cells = left.reshape(size, size)
    cells[np.arange(size), np.arange(size)] += masses
    most = (cells + 32 * UNIT * (terms.reshape(size, size) + masses[:, None]))[:, program.useful(masses, above)].max(
        axis=1
    )
    return min(1.0, float(most.sum()) + 4 * (size + 4) * UNIT * float(np.abs(most).sum()))


def _shared_out(program: _Sums, values: FloatArray, ratio: float) -> FloatArray:
    """A channel whose sums are those of the program as nearly as the factors allow: nearer places first."""
    shape, size = program.shape, len(program.places)
    cells = np.zeros((shape.rows, shape.columns, shape.rows, shape.columns))
    diagonal = without_noise(values[:size])
    for place, value in zip(program.places, diagonal.tolist()):
        cells[place][place] = value
    for direction in program.directions:
        for place in _nearest_first(shape, direction):
            if (place, direction) in program.unknowns:
                wanted = float(values[program.unknowns[place, direction]])
                part = shape.beyond(place, direction, program.reach)
                near = [cells[neighbour][part] for neighbour in _towards(place, direction)]
                cells[place][part] = _between(near, wanted, ratio)
    return cells.reshape(size, size)[:, diagonal > 0]


def _nearest_first(shape: Shape, direction: Step) -> list[Step]:
    """All places, each after its neighbours in the direction."""
    down = range(shape.rows)[:: -1 if direction[0] > 0 else 1]
    across = range(shape.columns)[:: -1 if direction[1] > 0 else 1]
    return list(product(down, across))


def _between(near: list[FloatArray], wanted: float, ratio: float) -> FloatArray:
    """Cells within the factor of all neighbours' cells, that sum to what is wanted as nearly as that allows."""
    least, most = np.maximum.reduce(near) / ratio, np.minimum.reduce(near) * ratio
    if least.sum() >= wanted or not least.any():
        return np.asarray(least)
    if most.sum() <= wanted:
        return np.asarray(most)
    middle = near[0] if len(near) == 1 else np.sqrt(near[0] * near[1])
    low, high = 1 / ratio, ratio
    for _ in range(_HALVINGS):
        scale = (low * high) ** 0.5
        low, high = (scale, high) if np.clip(scale * middle, least, most).sum() < wanted else (low, scale)
    return np.asarray(np.clip(low * middle, least, most))


def settled(rows: FloatArray, shape: Shape, ratio: float) -> FloatArray:
    """Rows that keep every factor and sum to one or a little more, near *rows*.

    Rows that stay above one are those whose neighbours differ too much: the columns that are largest there are made a
    little smaller in every round.
    """
    for turn in range(_ROUNDS):
        rows = _raised(rows / rows.sum(axis=1, keepdims=True), shape, ratio)
        above_one = np.maximum(rows.sum(axis=1) - 1, 0)
        if turn < _ROUNDS - _LAST_ROUNDS:
            rows = rows * (1 - np.minimum(above_one @ (rows / rows.max(axis=0)), 0.2))
    return rows


def _raised(rows: FloatArray, shape: Shape, ratio: float) -> FloatArray:
    """Every cell at least what the factors leave of every other cell of its column: along one axis, then along the other."""
    logarithms = np.log(np.maximum(rows, _SMALLEST)).reshape(*shape, -1)
    for axis, length in enumerate(shape):
        slope = np.expand_dims(np.arange(length) * np.log(ratio), tuple({0, 1, 2} - {axis}))
        forth = np.maximum.accumulate(logarithms + slope, axis=axis) - slope
        back = np.flip(np.maximum.accumulate(np.flip(logarithms - slope, axis), axis=axis), axis) + slope
        logarithms = np.maximum(forth, back)
    return np.asarray(np.exp(logarithms).reshape(rows.shape))
