"""The step at twice the precision, and the search on it, agree with rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import optimaldp as odp
from optimaldp.designing import Status, solve
from optimaldp.designing.large import difference, double_table
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.dataset_graph import PlainLevels
from optimaldp.graphs.problem import Problem
from optimaldp.kernels.double_dijkstra import SURE, below, double_step
from optimaldp.mechanisms import FloatRows

LEVELS = [
    odp.level("ln(2)"), odp.level("ln(3/2)", "0.1"), odp.level("0.01", "1e-6"), odp.level(0, "0.05"), odp.level(0), odp.level(20),
    odp.directed(forward=odp.level("ln(2)"), backward=odp.level("ln(5)", "0.01")),
    odp.directed(forward=odp.level("ln(9)", "0.2"), backward=odp.level("ln(3/2)")),
    odp.all_of(odp.level("ln(2)", "0.1"), odp.level("ln(3)")),
]  # fmt: skip


def side_of(p: Fraction) -> tuple[float, float]:
    if p == 1:
        return SURE, 0.0
    q = p if p <= Fraction(1, 2) else p - 1
    return float(q), float(q - Fraction(float(q)))


def value_of(high: float, low: float) -> Fraction:
    if high == SURE:
        return Fraction(1)
    return Fraction(high) + Fraction(low) + (1 if high < 0 else 0)


def step_of(level, p: Fraction) -> Fraction:
    spans, table = double_table((level,))
    values = [value_of(*double_step(*side_of(p), *row)) for row in table[spans[0] : spans[1]]]
    return min(values)


@pytest.mark.long
@given(
    st.sampled_from(LEVELS),
    st.fractions(0, 1, max_denominator=10**6) | st.sampled_from([Fraction(1, 2**80), 1 - Fraction(1, 2**80)]),
)
@settings(max_examples=500, deadline=None)
def test_a_step_is_just_below_the_exact_one(level, p):
    exact, mine = level.step_below(p, bits=400), step_of(level, p)
    scale = min(exact, 1 - exact) + max(bound.delta for bound in level.bounds)
    # Levels are tightened by 2**-44 of what a step reaches, which is at most some ten times the smaller side here (ln(9)).
    slack = Fraction(1, 2**40)
    assert mine <= exact + scale * Fraction(1, 2**90)
    assert exact - mine <= slack * max(scale, min(mine, 1 - mine))


def test_order_and_differences_of_sides():
    values = sorted(
        [
            Fraction(0),
            Fraction(1, 2**900),
            Fraction(1, 3),
            Fraction(1, 2),
            Fraction(2, 3),
            1 - Fraction(1, 2**300),
            Fraction(1),
        ]
    )
    sides = [side_of(p) for p in values]
    for i, one in enumerate(sides):
        for j, other in enumerate(sides):
            assert below(*one, *other) == (i < j)
            if i <= j:
                pair = [tuple(np.array([x]) for x in side) for side in (one, other)]
                found = Fraction(float(difference(*pair)[0]))
                assert abs(found - (values[j] - values[i])) <= (values[j] - values[i]) / 2**50


def tree_problem(seed: int, size: int, q: int, deltas=("0", "0.001")) -> Problem:
    rng = np.random.default_rng(seed)
    tails = (rng.random(size - 1) * np.arange(1, size)).astype(np.int32)
    levels = [odp.level(epsilon, delta) for epsilon in ("0.3", "ln(2)", "1") for delta in deltas]
    which = rng.integers(0, len(levels), size - 1)
    graph = DatasetGraph([str(v) for v in range(size)], tails, np.arange(1, size), levels=levels, level_of_edge=which)
    order = tuple(map(int, rng.permutation(q)))
    weights = [Fraction(int(w)) for w in rng.integers(0, 9, q)]
    weights[0] += 1
    row = tuple(w / sum(weights) for w in weights)
    return Problem(graph, Preferences(tuple("abcdef"[:q]), (order,), np.zeros(size, dtype=np.int32)), {0: row})


@pytest.mark.parametrize("seed", range(20))
def test_the_compiled_envelope_is_the_exact_one(seed):
    problem = tree_problem(seed, 60, 3 + seed % 3, deltas=("0", "0.001") if seed % 2 else ("0",))
    quick, exact = solve(problem, exact=False), solve(problem, exact=True)
    assert quick.status is exact.status
    if exact.status is Status.OPTIMAL and isinstance(quick.mechanism.rows, FloatRows):
        assert quick.proof == "floating-point"
        for name in quick.mechanism:
            mine, theirs = quick.mechanism[name], exact.mechanism[name]
            assert all(abs(mine[a] - theirs[a]) <= Fraction(1, 10**11) for a in theirs)


def test_a_given_value_that_a_path_forbids():
    problem = tree_problem(1, 40, 3, deltas=("0",))
    last = len(problem.graph) - 1
    order = problem.preferences.orders[0]
    sure = tuple(Fraction(int(a == order[0])) for a in range(3))
    impossible = Problem(problem.graph, problem.preferences, {**problem.fixed, last: sure})
    for exact in (False, True):
        found = solve(impossible, exact=exact)
        assert found.status is Status.INFEASIBLE
        assert found.witness["path"][-1] == str(last)


def test_levels_as_arrays_make_the_table_that_levels_as_objects_make() -> None:
    """No object for each level, and no ratio above the tightened one."""
    epsilon, delta = np.array([0.0, 1e-9, 0.1, 0.7, 2.0, 40.0]), np.array([0.0, 0.1, 0.0, 1.0, 1e-6, 0.25])
    arrays = PlainLevels(epsilon, delta)
    spans, table = double_table(arrays)
    assert not arrays._made
    own_spans, own = double_table(tuple(arrays))
    assert spans.tolist() == own_spans.tolist()
    for made, true in zip(table, own):
        for high in (0, 2, 4, 6):
            mine, theirs = (
                Fraction(made[high]) + Fraction(made[high + 1]),
                Fraction(true[high]) + Fraction(true[high + 1]),
            )
            assert abs(mine - theirs) <= theirs * Fraction(1, 2**46)
        growth, decay = Fraction(made[0]), Fraction(made[4]) + Fraction(made[5])
        assert abs(growth * decay - 1) < Fraction(1, 2**100)
