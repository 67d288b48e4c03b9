"""Solving the reduced linear program, and proving the answer with rationals.

HiGHS gives floats. From them this module guesses which constraints are tight and solves those equations exactly, for the
mechanism and for the dual prices; when both are feasible and their values agree, the optimum is proven. A privacy
constraint that is tight ties two probabilities by a power of theta, so the equations for the mechanism shrink to one
unknown for each tied group. When the guess fails, or theta is irrational, the floats are repaired to exactly feasible
rationals instead, which proves two bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.errors import HistogramError
from optimaldp.extras import requiring
from optimaldp.privacy.epsilon import Epsilon

if TYPE_CHECKING:
    from optimaldp.histograms.finite.optimum import ReducedProgram

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
    from optimaldp.programs.highs import minimise  # brings arrays along, and a solver

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
