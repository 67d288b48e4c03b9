"""Solving the program: HiGHS finds a point, rationals make it a proof.

What a solver returns is *not* private as it stands: a violation of 1e-9 is a violation, and a zero against a non-zero
means epsilon = ∞. So its vertex is solved again over the rationals; where that fails, the point is repaired and the
loss reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels import exact_matrix
from optimaldp.channels.optimal.kernel import DecayKernel
from optimaldp.channels.optimal.program import Program, solver_arrays
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring

_ACTIVE = 1e-8  # slack below which a constraint is taken as tight; HiGHS works to 1e-9 and cells are rarely that small
_LARGEST_EXACT = 260  # variables: an exact solve of this size takes about a second
ExactChannel = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Solved:
    """What the solver found: values, and weights on the privacy constraints."""

    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    utility: float


def run_solver(program: Program, *, dense: bool) -> Solved:
    """Run HiGHS: interior point where the graph has branches (*dense*), else the dual simplex."""
    with requiring("scipy"):
        from scipy.optimize import linprog

    solution = linprog(**solver_arrays(program), bounds=(0, None), method="highs-ipm" if dense else "highs-ds")
    if solution.status != 0:
        raise ChannelError("linear program", solution.message, "was not solved")
    duals = -np.asarray(solution.ineqlin.marginals) if program.ratios else np.zeros(0)
    return Solved(np.asarray(solution.x), np.clip(duals, 0, None), -float(solution.fun))


def exact_vertex(program: Program, solved: Solved) -> list[Fraction] | None:
    """The rational vertex at which the solver stopped:
    its tight constraints solved exactly, and every constraint checked.
    """
    if program.size > _LARGEST_EXACT:
        return None
    values = solved.values
    # Floats say which cells are 0 and which constraints are tight. A degenerate vertex has more of these than unknowns,
    # which does no harm as long as they agree.
    free = [v for v in range(program.size) if values[v] > _ACTIVE]
    place = {v: k for k, v in enumerate(free)}
    lines: list[tuple[dict[int, Fraction], Fraction]] = []
    for row in program.sums:
        lines.append(({place[v]: Fraction(times) for v, times in row.items() if v in place}, Fraction(1)))
    for i, j, factor in program.ratios:
        if i in place and j in place and abs(values[i] - float(factor) * values[j]) < _ACTIVE:
            lines.append(({place[i]: Fraction(1), place[j]: -factor}, Fraction(0)))
    solution = _solve_lines(lines, len(free))
    if solution is None:
        return None
    exact = [Fraction(0)] * program.size
    for v, k in place.items():
        exact[v] = solution[k]
    # what was taken as tight was a guess: this check alone makes the point a private channel
    return exact if program.feasible(exact) else None


def exact_dual(program: Program, solved: Solved, vertex: Sequence[Fraction]) -> list[Fraction] | None:
    """Rational weights that prove *vertex* optimal, from the support of the solver's weights;
    ``None`` if that fails.
    """
    used = [k for k, weight in enumerate(solved.weights) if weight > _ACTIVE]
    place = {k: position for position, k in enumerate(used)}
    kinds = len(program.sums)
    lines: list[tuple[dict[int, Fraction], Fraction]] = [({}, program.weights[v]) for v in range(program.size)]
    for r, row in enumerate(program.sums):
        for v, times in row.items():
            lines[v][0][r] = Fraction(times)
    for k, position in place.items():
        i, j, factor = program.ratios[k]
        _add(lines[i][0], kinds + position, Fraction(1))
        _add(lines[j][0], kinds + position, -factor)
    needed = [lines[v] for v in range(program.size) if vertex[v] > 0]  # where a cell is positive, its price is exact
    solution = _solve_lines(needed, kinds + len(used))
    # prices of row sums have either sign, for those are equations; weights on inequalities have not
    if solution is None or any(weight < 0 for weight in solution[kinds:]):
        return None
    weights = [Fraction(0)] * len(program.ratios)
    for k, position in place.items():
        weights[k] = solution[kinds + position]
    return weights if program.dual_bound(weights) == program.value(vertex) else None


def _add(line: dict[int, Fraction], column: int, amount: Fraction) -> None:
    line[column] = line.get(column, Fraction(0)) + amount


def _solve_lines(lines: list[tuple[dict[int, Fraction], Fraction]], unknowns: int) -> list[Fraction] | None:
    if not unknowns or len(lines) < unknowns:
        return None
    matrix = [[line.get(column, Fraction(0)) for column in range(unknowns)] for line, _ in lines]
    return exact_matrix.unique_solution(matrix, [right for _, right in lines])


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
