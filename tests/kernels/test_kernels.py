"""The compiled search agrees with its exact twin, and never rounds to the unsafe side."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.designing import solve
from optimaldp.designing.large import level_table, side_below
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.kernels.dijkstra import _PROPAGATE, SURE, below, step
from optimaldp.kernels.loops import _BREADTH_FIRST, breadth_first
from optimaldp.mechanisms import TwoSides
from optimaldp.mechanisms.rows import side_to_fraction
from optimaldp.privacy import ApproximateDP, Level, all_of, directed, level

LEVELS: list[Level] = [
    level("ln(2)"),
    level("ln(11/10)", "1/50"),
    level(1, "1e-6"),
    level(0),
    level(0, "0.1"),
    level("30"),
    level("1e-9"),
    directed(forward=level("ln(2)"), backward=level(3, "0.05")),
    directed(forward=level(0), backward=level(2)),
    level("inf", "0.25"),
    directed(forward=level("inf", "0.1"), backward=level("ln(2)", "0.2")),
    directed(forward=level("ln(2)"), backward=level("inf", "1")),
]
sides = st.one_of(
    st.floats(0, 0.5),
    st.floats(-0.5, -(2.0**-1000)),
    st.sampled_from([SURE, 0.0, 0.5, -0.5, 2.0**-900, -(2.0**-900), 1e-300]),
)


@pytest.mark.long
@settings(max_examples=600, deadline=None)
@given(sides, st.sampled_from(LEVELS))
def test_a_float_step_is_at_most_the_true_step_and_close_to_it(side: float, promise: Level) -> None:
    _, *columns = level_table((promise,))
    got = side_to_fraction(step(side, *(float(column[0]) for column in columns)))
    start = side_to_fraction(side)
    exact = promise.step_below(start, bits=300)
    assert start <= got <= max(start, exact)
    assert exact - got <= Fraction(1, 2**44)
    if side < 0 and promise.reversed() == promise:
        # Above 1/2 the complement keeps its relative precision, up to what delta cancels.
        hair = Fraction(1, 2**44)
        assert isinstance(promise, ApproximateDP)
        assert 1 - got <= max((1 - exact) * (1 + hair) + promise.delta * hair, Fraction(1, 2**999))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("side", [-0.4, -0.2, -1e-9, SURE])
def test_an_infinite_epsilon_computes_with_no_number_that_is_none(side: float) -> None:
    """``inf * 0`` is no number, and which of two numbers is larger then depends on who compares."""
    _, *columns = level_table((level("inf", "0.25"), directed(forward=level("inf"), backward=level("ln(2)", "0.1"))))
    endless, one_way = (step(np.float64(side), *(column[k] for column in columns)) for k in (0, 1))
    assert endless == SURE
    assert one_way == (SURE if side in (-1e-9, SURE) else pytest.approx((side + 0.1) / 2))


@given(st.lists(sides, min_size=2, max_size=2))
def test_sides_order_like_probabilities(pair: list[float]) -> None:
    a, b = pair
    assert below(a, b) == (side_to_fraction(a) < side_to_fraction(b)) or {a, b} == {0.5, -0.5}


@given(st.fractions(0, 1))
def test_a_probability_is_stored_just_below_itself(p: Fraction) -> None:
    stored = side_to_fraction(side_below(p))
    assert stored <= p
    assert p - stored <= min(p, 1 - p) / 2**51


@st.composite
def binary_problems(draw: st.DrawFn) -> Problem:
    count = draw(st.integers(2, 9))
    names = [str(i) for i in range(count)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=2 * count))
    strict = [level("ln(2)"), level("ln(11/10)", "1/50"), level(1, "1e-6"), all_of(level(2), level("0.5", "0.1"))]
    graph = DatasetGraph.from_edges(names, [(a, b, draw(st.sampled_from(strict))) for a, b in chosen])
    truth = np.array([draw(st.integers(0, 1)) for _ in names], dtype=np.int32)
    return Problem(graph, Preferences.of_truth(("yes", "no"), truth), {}, "balanced")


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(binary_problems(), st.booleans())
def test_the_fast_design_agrees_with_its_exact_twin(problem: Problem, give: bool) -> None:
    exact = solve(problem, exact=True)
    if give:  # the same again with the boundary given: the other entrance of both designers
        assert exact.certificate is not None
        assert exact.mechanism is not None
        given = np.flatnonzero(exact.certificate.proof.given).tolist()
        fixed = {v: exact.mechanism.rows.row(v) for v in given}
        problem = Problem(problem.graph, problem.preferences, fixed)
        exact = solve(problem, exact=True)
    try:
        fast = solve(problem, exact=False)
    except ProblemError as error:
        assert "no room for rounding" in str(error)  # noqa: PT017
        return
    assert fast.status == exact.status
    assert exact.mechanism is not None
    assert fast.mechanism is not None
    for name in problem.graph.names:
        favourite = next(iter(exact.mechanism[name]))
        difference = exact.mechanism[name][favourite] - fast.mechanism[name][favourite]
        assert 0 <= difference < Fraction(1, 10**12)
    if isinstance(fast.mechanism.rows, TwoSides):
        assert fast.certificate is not None
        assert fast.certificate.check().private


@pytest.mark.long
def test_compiled_and_plain_are_the_same_source() -> None:
    rng = np.random.default_rng(1)
    count = 400
    tails, heads = rng.integers(0, count, 3000), rng.integers(0, count, 3000)
    keep = tails != heads
    promises = [level("0.1"), level("0.3", "1e-4"), directed(forward=level("0.2"), backward=level("0.4"))]
    names = [str(i) for i in range(count)]
    graph = DatasetGraph(
        names, tails[keep], heads[keep], levels=promises, level_of_edge=rng.integers(0, 3, int(keep.sum()))
    )
    results = []
    for run in (_PROPAGATE.plain, _PROPAGATE.compiled()):
        label = np.full(count, SURE)
        label[:5] = [0.1, -0.3, 1e-5, -1e-8, 0.0]
        keys, heap = np.full(9 * count, np.nan), np.zeros(9 * count, dtype=np.int32)
        order = [4, 2, 0, 1, 3]
        heap[:5], keys[:5] = order, [-np.inf, -1e5, -10.0, -0.3, -1e-8]
        predecessor = np.full(count, -2, np.int32)
        table = level_table(graph.arc_levels)
        arcs = graph.arcs
        assert run(arcs.first, arcs.heads, arcs.levels, table, label, predecessor, keys, heap, 5)
        results.append((label, predecessor))
    for plain, compiled in zip(*results):
        np.testing.assert_array_equal(plain, compiled)


@pytest.mark.parametrize("run", ["plain", "compiled"])
def test_breadth_first_by_hand(run: str) -> None:
    # a path 0-1-2-3-4, regions 00111: from the sources 0 and 2 nothing crosses between 1 and 2
    first = np.array([0, 1, 3, 5, 7, 8])
    heads = np.array([1, 0, 2, 1, 3, 2, 4, 3], dtype=np.int32)
    region = np.array([0, 0, 1, 1, 1], dtype=np.int32)
    waiting = np.array([-1, 0, -1, 1, 1], dtype=np.int8)
    distance = np.array([0, -1, 0, -1, -1], dtype=np.int32)
    queue = np.array([0, 2, 0, 0, 0], dtype=np.int32)
    kernel = _BREADTH_FIRST.plain if run == "plain" else _BREADTH_FIRST.compiled()
    parent = np.array([-1, -2, -1, -2, -2], dtype=np.int32)
    kernel(first, heads, region, waiting, distance, parent, queue, 2)
    assert distance.tolist() == [0, 1, 0, 1, 2]
    assert parent.tolist() == [-1, 0, -1, 2, 3]
    sources = np.array([False, False, True, False, False])
    assert breadth_first(first, heads, region, sources).tolist() == [-1, -1, 0, 1, 2]


def test_one_half_on_both_sides_is_no_clash() -> None:
    """At epsilon 0 every dataset has 1/2, stored from below at one answer and from above at the other."""
    graph = DatasetGraph.from_edges(["a", "b", "c"], [("a", "b"), ("b", "c")], level=level(0))
    half = Fraction(1, 2)
    problem = Problem(graph, Preferences.of_truth(("yes", "no"), [0, 0, 1]), {0: (half, half)})
    assert solve(problem, exact=False).status == solve(problem, exact=True).status == "optimal"
