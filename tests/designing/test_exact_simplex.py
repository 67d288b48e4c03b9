"""The exact simplex method against an exhaustive search over all bases, and the programs that floating point cannot decide."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.designing import Status, solve
from optimaldp.designing.event_program import EventProgram
from optimaldp.designing.many import free_prefixes
from optimaldp.mechanisms.documents import read_problem
from optimaldp.programs.linear import Constraint, FloatVertex, Infeasible, Simplex, SparseRow, inexact, maximise

SMALL = st.integers(-3, 3).map(fmpq)


@st.composite
def programs(draw: st.DrawFn) -> tuple[dict[int, fmpq], list[SparseRow], int]:
    columns = draw(st.integers(1, 3))
    rows = [
        SparseRow(dict(enumerate(draw(st.lists(SMALL, min_size=columns, max_size=columns)))), draw(SMALL))
        for _ in range(draw(st.integers(0, 4)))
    ]
    rows.append(SparseRow({j: fmpq(1) for j in range(columns)}, fmpq(2)))  # bounded, as probabilities are
    return dict(enumerate(draw(st.lists(SMALL, min_size=columns, max_size=columns)))), rows, columns


def best_of_all_bases(objective: dict[int, fmpq], rows: list[SparseRow], columns: int) -> fmpq | None:
    simplex = Simplex(objective, rows, columns)
    values = []
    for basis in combinations(range(len(rows) + columns), columns):
        try:
            point = simplex._point(list(basis))
        except (ZeroDivisionError, ValueError):
            continue
        if min(point) >= 0 and all(row.slack(point) >= 0 for row in rows):
            values.append(sum((c * point[j] for j, c in objective.items()), fmpq(0)))
    return max(values, default=None)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(programs(), st.data())
def test_from_any_basis_it_ends_at_the_optimum(
    program: tuple[dict[int, fmpq], list[SparseRow], int], data: st.DataObject
) -> None:
    objective, rows, columns = program
    start = data.draw(st.permutations(range(len(rows) + columns)))[:columns]
    best = best_of_all_bases(*program)
    try:
        found = Simplex(objective, rows, columns).solve(start, most_pivots=1000)
        if found is None:  # the start was no basis
            found = Simplex(objective, rows, columns).solve(range(len(rows), len(rows) + columns), most_pivots=1000)
        assert found is not None
    except Infeasible:
        assert best is None
        return
    assert sum((c * found.point[j] for j, c in objective.items()), fmpq(0)) == best
    assert min(found.multipliers.values()) >= 0
    assert min(found.point) >= 0
    assert all(row.slack(found.point) >= 0 for row in rows)


def test_a_wrong_guess_is_walked_right() -> None:
    """What floating point reports as tight and optimal is only where the walk starts."""
    import numpy as np

    one = Fraction(1)
    constraints = [
        Constraint({0: one, 1: one}, one),
        Constraint({0: one}, Fraction(1, 3)),
        Constraint({0: -one}, -one / 4),
    ]
    guess = FloatVertex(np.array([0.25, 0.75]), np.zeros(3), np.array([0.0, 1 / 12, 0.0]))
    found = maximise({0: Fraction(2), 1: one}, constraints, 2, guess)
    assert found is not None
    assert found.exact
    assert (found.point, found.value) == ([Fraction(1, 3), Fraction(2, 3)], Fraction(4, 3))


IRRATIONAL = {
    "answers": ["a", "b", "c"],
    "privacy": {"epsilon": "0.5", "delta": "0"},
    "edges": [["u", "v"], ["v", "w"], ["w", "x"], ["x", "u"]],
    "prefers": {"u": ["a", "b", "c"], "v": ["a", "b", "c"], "w": ["c", "a", "b"], "x": ["b", "c", "a"]},
    "fixed": {"u": {"a": "0.5", "b": "0.4", "c": "0.1"}, "w": {"a": "0.6", "b": "0.3", "c": "0.1"}},
}


def test_irrational_levels_are_decided_exactly() -> None:
    """Constraints that agree to 60 digits and still differ: every program ends in rationals."""
    problem = read_problem(IRRATIONAL)
    program = EventProgram(problem)
    for prefix in free_prefixes(problem):
        found = program.maximise(program.prefix(prefix.vertex, prefix.event)[0])
        assert found is not None
        assert found.exact


def test_no_event_is_left_out_by_a_hair() -> None:
    """An exact solution obeys every event exactly, not up to what a float would notice."""
    delta = Fraction(1, 10**11)
    given = {"a": "0.2", "b": "0.2", "c": "0.3", "d": "0.3"}
    problem = read_problem(
        {
            "answers": list("abcd"),
            "privacy": {"epsilon": "ln(2)", "delta": str(delta)},
            "edges": [["u", "v"]],
            "prefers": {"u": list("abcd"), "v": list("abcd")},
            "fixed": {"u": given},
        }
    )
    program = EventProgram(problem)
    best = program.maximise(program.prefix(1, (0, 1))[0])
    assert best is not None
    # c and d together may lose delta once; the constraints on c and on d alone would let each lose it.
    assert best.value == Fraction(7, 10) + delta / 2


ALL_GIVEN = {
    "answers": ["a", "b", "c"],
    "privacy": {"epsilon": "ln(2)", "delta": "0"},
    "edges": [["u", "v"]],
    "prefers": {"u": ["a", "b", "c"], "v": ["a", "b", "c"]},
    "fixed": {"u": {"a": "0.5", "b": "0.4", "c": "0.1"}},
}


@pytest.mark.parametrize(
    ("row", "status"),
    [
        ({"a": "0.5", "b": "0.4", "c": "0.1"}, Status.OPTIMAL),
        ({"a": "0.6", "b": "0.15", "c": "0.25"}, Status.INFEASIBLE),  # b is no prefix, and 0.4 > 2 · 0.15
    ],
)
def test_everything_given(row: dict[str, str], status: Status) -> None:
    """With nothing free there is no program: each edge is decided by itself, on every event."""
    found = solve(read_problem(ALL_GIVEN | {"fixed": {**ALL_GIVEN["fixed"], "v": row}}))
    assert found.status is status
    if status is Status.INFEASIBLE:
        assert sorted(found.witness["fixed"]) == ["u", "v"]


def test_an_endless_multiplier_of_the_floats_is_left_out():
    """HiGHS says infinity for some constraints of long chains; a point is worth keeping without it."""
    found = inexact({0: Fraction(1)}, FloatVertex(np.array([0.5]), np.array([np.inf, 2.0, np.nan, -1.0]), np.zeros(4)))
    assert found.multipliers == {1: 2}
    assert (found.value, found.exact) == (Fraction(1, 2), False)
