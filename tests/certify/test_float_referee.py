"""The float referee decides as the exact one, also where one unit in the last place makes the difference."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_mechanisms import verify_given as verify

from optimaldp.certify.graphs.floats import Promises, SmallSides, float_stages
from optimaldp.certify.graphs.privacy import check_exactly, check_privacy
from optimaldp.certify.graphs.rounding import (
    decimal_above,
    float_above,
    float_below,
    log_above,
    parts_below,
    two_product,
    two_sum,
)
from optimaldp.certify.graphs.trees import add_up
from optimaldp.graphs import DatasetGraph, NumberNames, Preferences
from optimaldp.mechanisms import BoundTree, Certificate, Mechanism, SharedRows, TwoSides
from optimaldp.mechanisms.certificate import ROOT
from optimaldp.mechanisms.rows import SURE_SIDE, side_to_fraction
from optimaldp.privacy import all_of, directed, level

LEVELS = [
    level("ln(2)"),
    level("ln(2)", "0.1"),
    level(1),
    level(0.5, "1e-6"),
    level("inf", "0.25"),
    level(0, "1/4"),
    level(800),
    all_of(level("ln(3)"), level("ln(2)", "1/8")),
    directed(forward=level("ln(2)"), backward=level("ln(4)", "0.01")),
]
sides = st.one_of(
    st.floats(0, 0.5),
    st.floats(0, 0.5).map(lambda s: -s),
    st.sampled_from([0.0, 0.5, SURE_SIDE, 0.25, -0.25, 0.125, 2.0**-1000, -(2.0**-1000), 2.0**-1074, -(2.0**-60)]),
)


@st.composite
def side_mechanisms(draw):
    count = draw(st.integers(2, 6))
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda e: e[0] != e[1])
    edges = draw(st.lists(ends, min_size=1, max_size=8))
    kinds = draw(st.lists(st.integers(0, len(LEVELS) - 1), min_size=len(edges), max_size=len(edges)))
    return mechanism_of(
        draw(st.lists(sides, min_size=count, max_size=count)),
        draw(st.lists(st.integers(0, 1), min_size=count, max_size=count)),
        edges,
        kinds,
    )


def mechanism_of(values, favourites, edges, kinds, levels=LEVELS):
    chosen = np.array(favourites, dtype=np.int32)
    graph = DatasetGraph(
        NumberNames(len(values)), [u for u, _ in edges], [v for _, v in edges], levels=levels, level_of_edge=kinds
    )
    rows = TwoSides(np.array(values, dtype=float), chosen)
    return Mechanism(graph, Preferences.of_truth(("yes", "no"), chosen), rows)


def compare(mechanism):
    quick, exact = check_privacy(mechanism), check_exactly(mechanism)
    assert quick.private == exact.private
    if math.isinf(exact.epsilon):
        assert math.isinf(quick.epsilon)
    else:
        assert quick.epsilon >= exact.epsilon * (1 - 1e-15)
        # Where delta cancels all digits the bound is wide, but never wider than what is promised.
        promised = max(float(bound.epsilon) for k in mechanism.graph.levels for bound in k.bounds)
        assert quick.epsilon <= exact.epsilon * (1 + 1e-9) + 1e-9 or quick.epsilon <= promised


@pytest.mark.long
@given(side_mechanisms())
@settings(max_examples=150, deadline=None)
def test_the_verdict_is_that_of_the_exact_referee(mechanism):
    compare(mechanism)


@given(st.floats(2.0**-900, 0.5), st.integers(-3, 3), st.sampled_from([0, 1, 2, 3, 7]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_ulps_around_a_tight_edge(start, ulps, kind, high):
    """The neighbour at exactly the bound of the level, rounded to a float and moved by a few units in the last place."""
    y = side_to_fraction(-start if high else start)
    bound = LEVELS[kind].step_below(y, bits=200)
    side = float(bound) if bound <= Fraction(1, 2) else -float(1 - bound)
    for _ in range(abs(ulps)):
        side = math.nextafter(side, math.copysign(1.0, ulps))
    if not -0.5 <= side <= 0.5:
        return
    compare(mechanism_of([-start if high else start, side], [0, 0], [(0, 1)], [kind]))


@pytest.mark.parametrize("ulps", [-2, -1, 0, 1, 2])
def test_exact_equality_is_private_and_one_unit_more_is_not(ulps):
    """1/4 and 1/2 at ln 2 are exactly tight; so are 2/8 and 4/8 walked down."""
    top = 0.5 + ulps * 2.0**-54 if ulps <= 0 else -0.5 + ulps * 2.0**-54
    assert check_privacy(mechanism_of([0.25, top], [0, 0], [(0, 1)], [0])).private is (ulps <= 0)


@pytest.mark.parametrize(("hair", "private"), [(0, True), (-1, False), (1, True)])
def test_a_promise_that_is_broken_by_less_than_two_floats_can_tell(hair, private):
    """1/2 is twice 1/4; with a ratio of 2 - 2^-110 the promise is broken, by less than the error bound of two floats."""
    ratio = 2 + Fraction(hair, 2**110)
    near = [level(f"ln({ratio.numerator}/{ratio.denominator})")]
    assert check_privacy(mechanism_of([0.25, 0.5], [0, 0], [(0, 1)], [0], levels=near)).private is private


def test_most_edges_are_decided_without_rationals():
    """A chain at the bounds, rounded down by a few units: the second stage decides what the first cannot."""
    values, p = [], Fraction(1, 10**6)
    for _ in range(200):
        values.append(float_below(p) if p <= Fraction(1, 2) else -float_above(1 - p))
        p = LEVELS[2].step_below(side_to_fraction(values[-1]), bits=100) * (1 - Fraction(1, 2**52))
    edges = [(i, i + 1) for i in range(199)]
    mechanism = mechanism_of(values, [0] * 200, edges, [2] * 199)
    small, promises = SmallSides.of(mechanism.rows), Promises(mechanism.graph.levels)
    doubtful, _, _ = float_stages(mechanism, small, promises)
    assert 0 < len(doubtful.edges) < 199
    assert doubtful.kept.all()
    assert check_privacy(mechanism).private


def chain(nudge=0.0, at=30):
    """The same chain with its certificate; one value may be nudged."""
    values, p = [], Fraction(1, 10**6)
    for i in range(60):
        if i == at:
            p = p * (1 + Fraction(nudge)) if p < Fraction(1, 2) else 1 - (1 - p) * (1 - Fraction(nudge))
        values.append(float_below(p) if p <= Fraction(1, 2) else -float_above(1 - p))
        p = LEVELS[2].step_below(side_to_fraction(values[-1]), bits=100)
    mechanism = mechanism_of(values, [0] * 60, [(i, i + 1) for i in range(59)], [0] * 59, levels=[LEVELS[2]])
    predecessor = np.arange(ROOT, 59, dtype=np.int32)
    return mechanism, Certificate(np.arange(60) == 0, (BoundTree((0,), predecessor),))


@pytest.mark.parametrize("at", [1, 10, 30, 50])
def test_optimality_in_sides_has_a_small_gap(at):
    verdict = verify(*chain())
    assert verdict.private
    assert verdict.optimal is True
    assert 0 < verdict.gap < 1e-13
    lower = verify(*chain(-1e-6, at))
    assert lower.private
    assert lower.optimal is False
    assert not verify(*chain(1e-9, at)).private


def test_the_gap_in_sides_bounds_the_exact_gap():
    mechanism, certificate = chain(-1e-12, 7)
    exact = Mechanism(
        mechanism.graph, mechanism.preferences, SharedRows.from_rows([mechanism.rows.row(v) for v in range(60)])
    )
    quick, slow = verify(mechanism, certificate), verify(exact, certificate)
    assert quick.optimal is slow.optimal is True
    assert slow.gap <= quick.gap <= slow.gap + 1e-12


@pytest.mark.long
@given(st.data())
@settings(max_examples=300, deadline=None)
def test_gaps_add_up_along_any_forest(data):
    """Settling all chains at once against walking each one; cycles are found."""
    count = data.draw(st.integers(1, 40))
    parent = np.array([data.draw(st.integers(0, count - 1)) for _ in range(count)])
    if data.draw(st.booleans()):
        parent = np.minimum(parent, np.arange(count))  # a forest for certain
    gap = np.array([data.draw(st.integers(0, 9)) for _ in range(count)], dtype=float)
    factor = np.where(parent == np.arange(count), 0.0, 0.5)
    total, astray = add_up(parent, gap, factor)
    lost = set()
    for vertex in range(count):
        value, weight, at, seen = 0.0, 1.0, vertex, set()
        while at not in seen:
            seen.add(at)
            value, weight = value + weight * gap[at], weight * factor[at]
            at = parent[at]
        if weight == 0.0:
            assert total[vertex] == pytest.approx(value) or astray.size
        else:
            lost.add(vertex)
    assert bool(lost) == bool(astray.size)
    assert set(astray.tolist()) <= lost


def test_errors_of_sums_and_products_are_exact():
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal(200) * 10.0 ** rng.integers(-50, 50, 200), rng.standard_normal(200)
    for operation, combine in ((two_sum, lambda x, y: x + y), (two_product, lambda x, y: x * y)):
        whole, rest = operation(a, b)
        for x, y, w, r in zip(a.tolist(), b.tolist(), whole.tolist(), rest.tolist()):
            assert Fraction(w) + Fraction(r) == combine(Fraction(x), Fraction(y))


@given(st.fractions(0, 10**6))
def test_rounding_goes_where_it_says(number):
    below, above = float_below(number), float_above(number)
    assert Fraction(below) <= number <= Fraction(above)
    assert above <= math.nextafter(below, math.inf)
    assert Fraction(repr(decimal_above(number))) >= number
    high, low = parts_below(number)
    assert 0 <= number - Fraction(high) - Fraction(low) <= Fraction(1, 2**100) * max(number, 1)


def test_the_logarithm_is_rounded_up():
    assert log_above(Fraction(1)) == 0.0
    assert math.log(2) <= log_above(Fraction(2)) <= math.log(2) * (1 + 1e-15)


@given(st.decimals(0, 100, places=3).map(Fraction))
def test_a_short_decimal_stays_what_it_is(number):
    """Nobody reads 0.69 as less than 69/100, though the float is; 0.6900000000000001 would look like a broken promise."""
    assert Fraction(repr(decimal_above(number))) == number
