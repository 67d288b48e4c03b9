"""What a certificate may take as given, what its duals prove, and where rationals decide: each function at its edges."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from optimaldp.certify.closeness import _MOST_BITS, _gaussian_pair, enclosure, least_ratio, within_gaussian
from optimaldp.certify.graphs import loops
from optimaldp.certify.graphs.duals import _implies, promises, proven_bound
from optimaldp.certify.graphs.files import _compared
from optimaldp.certify.graphs.given import (
    GivenRows,
    _differ,
    _gaussian_favourite,
    _touching,
    differing,
    given_fault,
    given_rows,
    root_values,
)
from optimaldp.certify.graphs.grouping import first_of_each, group
from optimaldp.certify.graphs.loops import Loop
from optimaldp.certify.graphs.optimality import check_optimality
from optimaldp.certify.graphs.prefixes import Prefix
from optimaldp.certify.graphs.privacy import (
    check_exactly,
    check_pair,
    check_privacy,
    distinct_pairs,
    is_private,
    promised_above,
    row_fault,
)
from optimaldp.certify.graphs.shared_trees import SharedTrees
from optimaldp.certify.graphs.verdict import Verdict
from optimaldp.errors import CertificateError, GraphError, LevelError, MechanismError, ProblemError
from optimaldp.graphs import DatasetGraph, NumberNames, Preferences
from optimaldp.mechanisms import BoundTree, Certificate, DualProof, FloatRows, Mechanism, SharedRows, TwoSides
from optimaldp.mechanisms.certificate import FREE, ROOT, EventConstraint
from optimaldp.privacy import Epsilon, all_of, directed, level

ZERO, ONE, HALF, THIRD, QUARTER = Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)


def graph_of(count, edges, levels, kinds=None):
    return DatasetGraph(
        NumberNames(count),
        [u for u, _ in edges],
        [v for _, v in edges],
        levels=levels,
        level_of_edge=[0] * len(edges) if kinds is None else kinds,
    )


def line_of(values, promised, *, of=None, answers=2):
    """Rows ``(p, (1 - p) / (answers - 1), …)`` on a line."""
    count = len(values)
    rows = [(p, *[(1 - p) / (answers - 1)] * (answers - 1)) for p in values]
    orders = tuple(tuple((first + k) % answers for k in range(answers)) for first in range(answers))
    chosen = np.zeros(count, dtype=np.int32) if of is None else np.array(of, dtype=np.int32)
    graph = graph_of(count, [(k, k + 1) for k in range(count - 1)], [promised])
    preferences = Preferences(tuple("abcdef"[:answers]), orders, chosen)
    return Mechanism(graph, preferences, SharedRows.from_rows(rows))


# --- given rows ------------------------------------------------------------------------------------------------------


def test_rows_fixed_by_the_problem():
    mechanism = line_of([QUARTER] * 4, level(1))
    row, other = (QUARTER, 1 - QUARTER), (HALF, HALF)
    allowed = given_rows(mechanism, {0: row, 2: other, 3: row}, None)
    assert allowed.of.tolist() == [0, -1, 1, 0]
    assert [allowed.row(v) for v in range(4)] == [row, None, other, row]
    assert given_rows(mechanism, None, None).of.tolist() == [-1] * 4
    with pytest.raises(ProblemError, match="is not a rule"):
        given_rows(mechanism, None, "fair")


def test_a_row_for_each_preference_on_its_boundary():
    mechanism = line_of([QUARTER] * 6, level(1), of=[0, 0, 0, 1, 1, 1])
    rows = {1: (HALF, HALF), 0: (QUARTER, 1 - QUARTER)}
    allowed = given_rows(mechanism, None, rows)
    assert [allowed.row(v) for v in range(6)] == [None, None, rows[0], rows[1], None, None]
    only = given_rows(mechanism, None, {1: (HALF, HALF)})
    assert [only.row(v) for v in range(6)] == [None, None, None, (HALF, HALF), None, None]


def touching(promised, answers=2):
    return _touching(promised, answers)


def test_the_balanced_value_on_an_edge():
    """Two rows that mirror each other are as close as the level allows, and a hair more is not allowed."""
    for answers in (2, 3, 5):
        for promised in (
            level("ln(2)"),
            level("ln(3)", "0.1"),
            level("0.5"),
            level(0, "0.3"),
            all_of(level("ln(4)"), level("ln(2)", "0.2")),
        ):
            top = touching(promised, answers)
            rest = (1 - top) / (answers - 1)
            hair = Fraction(1, 10**40)
            for value, kept in ((top - hair, True), (top + hair, False)):
                small = (1 - value) / (answers - 1)
                row = (value, *[small] * (answers - 1))
                mirrored = (small, value, *[small] * (answers - 2))
                assert check_pair(promised, row, mirrored).kept is kept
            assert rest > 0
    assert touching(level("ln(2)")) == Fraction(2, 3)
    assert touching(level("ln(2)"), 4) == Fraction(2, 5)
    assert touching(level("inf")) == 1
    assert touching(level("inf", "0.1"), 3) == 1


@pytest.mark.parametrize("answers", [2, 3, 4])
def test_the_balanced_value_at_a_gaussian_level(answers):
    promised, hair = level(mu=1), Fraction(1, 10**30)
    top = touching(promised, answers)
    for value, kept in ((top - hair, True), (top + hair, False)):
        small = (1 - value) / (answers - 1)
        row, mirrored = (value, *[small] * (answers - 1)), (small, value, *[small] * (answers - 2))
        assert (within_gaussian(row, mirrored, ONE) and within_gaussian(mirrored, row, ONE)) is kept
    if answers == 2:
        assert float(top) == pytest.approx(0.6914624612740131, rel=1e-14)  # Phi(1/2)
    else:
        assert _gaussian_favourite(promised, answers) == top


def test_the_balanced_rule_on_a_graph_with_several_levels():
    loose, tight = level("ln(3)"), level("ln(2)")
    edges = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (1, 4)]
    graph = graph_of(6, edges, [loose, tight], [0, 0, 1, 0, 0, 1])
    of = np.array([0, 0, 1, 1, 1, 0], dtype=np.int32)
    preferences = Preferences(("a", "b"), ((0, 1), (1, 0)), of)
    mechanism = Mechanism(graph, preferences, SharedRows.from_rows([(HALF, HALF)] * 6))
    allowed = given_rows(mechanism, None, "balanced")
    three, two = Fraction(3, 4), Fraction(2, 3)
    # Crossing: 1-2 and 0-4 and 4-5 at ln 3, 1-4 at ln 2. Each dataset has the least of its own edges.
    expected = [(three, 1 - three), (two, 1 - two), (1 - three, three), None, (1 - two, two), (three, 1 - three)]
    assert [allowed.row(v) for v in range(6)] == expected
    # With three answers there is one value, the least of all crossing edges, for everybody.
    preferences = Preferences(("a", "b", "c"), ((0, 1, 2), (1, 0, 2), (2, 0, 1)), of)
    thirds = Mechanism(graph, preferences, SharedRows.from_rows([(THIRD, THIRD, THIRD)] * 6))
    allowed = given_rows(thirds, None, "balanced")
    rows = {0: (HALF, QUARTER, QUARTER), 1: (QUARTER, HALF, QUARTER)}
    assert [allowed.row(v) for v in range(6)] == [rows[0], rows[0], rows[1], None, rows[1], rows[0]]
    # Nobody differs: nothing is given.
    alike = Mechanism(graph, Preferences(("a", "b"), ((0, 1),), np.zeros(6, dtype=np.int32)), mechanism.rows)
    assert given_rows(alike, None, "balanced").of.tolist() == [-1] * 6


def test_rows_that_differ_by_more_than_rounding():
    theirs = (Fraction(1, 10), Fraction(9, 10))
    for change, differs in ((0, False), (1, False), (Fraction(1000001, 10**6), True), (-1, False), (-2, True)):
        moved = theirs[0] + Fraction(change, 10**10)  # a part in a billion of a tenth
        assert _differ((moved, 1 - moved), theirs) is differs
    # A side of 0 is compared with a least one.
    nothing = (ZERO, ONE)
    assert not _differ((Fraction(1, 10**21), 1 - Fraction(1, 10**21)), nothing)
    assert _differ((Fraction(2, 10**21), 1 - Fraction(2, 10**21)), nothing)


@pytest.mark.parametrize("kind", ["shared", "sides", "floats"])
def test_the_dataset_that_differs_is_named(kind):
    values = [0.25, 0.125, 0.25, 0.375]
    fractions = [(Fraction(v), 1 - Fraction(v)) for v in values]
    graph = graph_of(4, [(0, 1), (1, 2), (2, 3)], [level(1)])
    preferences = Preferences(("a", "b"), ((0, 1),), np.zeros(4, dtype=np.int32))
    rows = {
        "shared": SharedRows.from_rows(fractions),
        "sides": TwoSides(np.array(values), np.zeros(4, dtype=np.int32)),
        "floats": FloatRows(
            np.array([[v, 1 - v] for v in values]), np.ones(4, dtype=np.int32), (), np.full(4, -1, dtype=np.int32)
        ),
    }[kind]
    mechanism = Mechanism(graph, preferences, rows)
    everybody = np.ones(4, dtype=bool)
    same = given_rows(mechanism, dict(enumerate(fractions)), None)
    assert differing(mechanism, same, everybody) == []
    assert given_fault(mechanism, everybody, same) == ""
    for vertex in range(4):
        for change, differs in ((Fraction(1, 10**8), True), (-Fraction(1, 10**8), True), (Fraction(1, 10**12), False)):
            fixed = dict(enumerate(fractions))
            p = fixed[vertex][0] + change
            fixed[vertex] = (p, 1 - p)
            other = given_rows(mechanism, fixed, None)
            assert differing(mechanism, other, everybody) == ([vertex] if differs else [])
            assert (f"'{vertex}'" in given_fault(mechanism, everybody, other)) is differs
            nobody = np.arange(4) != vertex
            assert differing(mechanism, other, nobody) == []
    some = given_rows(mechanism, {0: fractions[0]}, None)
    assert "takes '1' as given" in given_fault(mechanism, everybody, some)
    assert given_fault(mechanism, np.arange(4) == 0, some) == ""
    assert differing(mechanism, given_rows(mechanism, None, None), everybody) == []


def test_root_values_are_rounded_apart():
    allowed = GivenRows(((THIRD, THIRD, THIRD), (HALF, QUARTER, QUARTER)), np.zeros(1, dtype=np.int32))
    above, rest, exact = root_values(allowed, (0, 2))
    assert exact == [Fraction(2, 3), Fraction(3, 4)]
    assert Fraction(above[0]) > Fraction(2, 3)
    assert Fraction(rest[0]) < Fraction(1, 3)
    assert (above[1], rest[1]) == (0.75, 0.25)


# --- duals -----------------------------------------------------------------------------------------------------------


def bound_of(multipliers, *, levels, event=(0,), given=None, answers=2, vertex=1, edges=((0, 1),)):
    held = promises(graph_of(3, edges, levels))
    proof = DualProof(vertex, event, ZERO, tuple(multipliers))
    return proven_bound(proof, held, answers, lambda v: (given or {}).get(v))


def test_a_dual_is_weak_duality():
    ahead = EventConstraint(0, 1, (0,))
    two = [level("ln(2)", "1/10")]
    assert bound_of([(ahead, ONE)], levels=two, given={0: (QUARTER, 1 - QUARTER)}) == Fraction(1, 10) + HALF
    assert bound_of([(ahead, HALF)], levels=two, given={0: (QUARTER, 1 - QUARTER)}) == Fraction(1, 20) + QUARTER + HALF
    assert bound_of([(ahead, ONE)], levels=two) == Fraction(1, 10) + 2  # nothing is given: at most the largest weight
    assert bound_of([], levels=two) == 1
    both = EventConstraint(0, 1, (0, 1))
    rows = {0: (QUARTER, QUARTER, HALF)}
    assert bound_of([(both, ONE)], levels=two, event=(0, 1), given=rows, answers=3) == Fraction(1, 10) + 1
    assert bound_of([(both, ONE)], levels=two, event=(0,), given=rows, answers=3) == Fraction(1, 10) + 1
    with pytest.raises(CertificateError, match="is negative"):
        bound_of([(ahead, Fraction(-1, 10**9))], levels=two)
    assert bound_of([(ahead, ZERO)], levels=two) == 1
    irrational = bound_of([(ahead, ONE)], levels=[level(1)], given={0: (QUARTER, 1 - QUARTER)})
    assert math.e / 4 < irrational <= Fraction(math.e) / 4 + Fraction(1, 10**15)
    assert irrational > enclosure(Epsilon.read(1), 160)[0] / 4


def test_a_dual_uses_promises_that_hold():
    ahead, back = EventConstraint(0, 1, (0,)), EventConstraint(1, 0, (0,))
    tilted = [directed(forward=level("ln(2)"), backward=level("ln(4)"))]
    given = {0: (QUARTER, 1 - QUARTER), 1: (QUARTER, 1 - QUARTER)}
    assert bound_of([(ahead, ONE)], levels=tilted, given={0: given[0]}) == HALF
    assert bound_of([(back, ONE)], levels=tilted, given={1: given[1]}, vertex=0) == 1
    with pytest.raises(CertificateError, match="made none"):
        bound_of([(EventConstraint(0, 2, (0,)), ONE)], levels=tilted)
    with pytest.raises(CertificateError, match="made none"):
        bound_of([(ahead, ONE)], levels=[level("inf", "0.1")])
    with pytest.raises(CertificateError, match="made none"):
        bound_of([(ahead, ONE)], levels=[level(mu=1)])
    loose, strict, other = (
        level(text, delta).bounds[0] for text, delta in (("ln(3)", "0"), ("ln(2)", "0"), ("ln(3/2)", "0.1"))
    )
    several = [all_of(level("ln(2)"), level("ln(3/2)", "0.1"))]
    with pytest.raises(CertificateError, match="does not say which"):
        bound_of([(ahead, ONE)], levels=several)
    named = EventConstraint(0, 1, (0,), bound=other)
    assert bound_of([(named, ONE)], levels=several, given={0: given[0]}) == Fraction(1, 10) + Fraction(3, 8)
    looser = EventConstraint(0, 1, (0,), bound=loose)
    assert bound_of([(looser, ONE)], levels=several, given={0: given[0]}) == Fraction(3, 4)
    with pytest.raises(CertificateError, match="is stricter"):
        bound_of([(EventConstraint(0, 1, (0,), bound=strict), ONE)], levels=[level("ln(3)")])
    twice = bound_of([(ahead, ONE)], levels=[level("ln(3)"), level("ln(2)")], given={0: given[0]}, edges=((0, 1),))
    assert twice == Fraction(3, 4)
    assert _implies(strict, loose)
    assert _implies(strict, strict)
    assert not _implies(loose, strict)
    assert not _implies(other, strict)


def test_of_parallel_edges_the_strictest_promise_counts():
    held = promises(
        graph_of(2, [(0, 1), (1, 0), (0, 1)], [level("ln(3)"), level("ln(2)"), level("ln(4)", "0.1")], [0, 1, 2])
    )
    proof = DualProof(1, (0,), ZERO, ((EventConstraint(0, 1, (0,)), ONE),))
    assert proven_bound(proof, held, 2, {0: (QUARTER, 1 - QUARTER)}.get) == HALF


def optimal_by_dual(value, claimed, *, start=QUARTER):
    mechanism = line_of([start, value], level("ln(2)"))
    dual = DualProof(1, (0,), claimed, ((EventConstraint(0, 1, (0,)), ONE),))
    certificate = Certificate(np.array([True, False]), (), (dual,))
    return check_optimality(mechanism, certificate, given_rows(mechanism, {0: (start, 1 - start)}, None))


def test_duals_prove_up_to_a_part_in_a_billion():
    assert optimal_by_dual(HALF, HALF).optimal
    assert optimal_by_dual(HALF, HALF).gap == 0.0
    for short, optimal in (("0.9e-9", True), ("1.1e-9", False)):
        value = HALF * (1 - Fraction(short))
        finding = optimal_by_dual(value, HALF)
        assert finding.optimal is optimal
        assert not optimal or finding.gap == pytest.approx(float(Fraction(short)), rel=1e-6)
    # A claim below what is proven is a lie, up to the same rounding.
    assert optimal_by_dual(HALF, HALF - Fraction(4, 10**10)).optimal
    told = optimal_by_dual(HALF, HALF - Fraction(6, 10**10))
    assert not told.optimal
    assert "is claimed, but only 0.5 is proven" in told.reason
    # Tiny sides are compared with a least one.
    tiny = Fraction(1, 10**9)
    assert optimal_by_dual(2 * tiny - Fraction(9, 10**16), 2 * tiny, start=tiny).optimal
    assert not optimal_by_dual(2 * tiny - Fraction(11, 10**16), 2 * tiny, start=tiny).optimal


def test_certificates_that_do_not_fit():
    mechanism = line_of([QUARTER, HALF], level("ln(2)"))
    allowed = given_rows(mechanism, {0: (QUARTER, 1 - QUARTER)}, None)
    tree = BoundTree((0,), np.array([ROOT, 0], dtype=np.int32))
    fine = Certificate(np.array([True, False]), (tree,))
    assert check_optimality(mechanism, fine, allowed).optimal
    assert "with 1 datasets given" in check_optimality(mechanism, fine, allowed).reason
    for certificate, words in (
        (Certificate(np.array([True]), (tree,)), "does not fit the graph"),
        (Certificate(np.array([True, True]), (tree,)), "takes '1' as given"),
        (Certificate(np.array([True, False]), ()), "has no bound for {a} at '1'"),
        (
            Certificate(np.array([True, False]), (BoundTree((0,), np.array([ROOT, FREE], dtype=np.int32)),)),
            "below its bound by 2",
        ),
        (
            Certificate(np.array([True, False]), (BoundTree((0,), np.array([ROOT, ROOT], dtype=np.int32)),)),
            "tree for {a}.*is a root",
        ),
        (Certificate(np.array([True, False]), (BoundTree((1,), np.array([ROOT, 0], dtype=np.int32)),)), "has no bound"),
    ):
        finding = check_optimality(mechanism, certificate, allowed)
        assert not finding.optimal
        assert finding.gap is None
        assert re.search(words, finding.reason)


def test_the_largest_gap_of_all_events_is_told():
    """Somebody short by 4e-10, somebody by 2e-10, and of two trees the better one counts."""
    for shorts in ((4, 2), (2, 4)):
        values = [QUARTER, *(HALF * (1 - Fraction(n, 10**10)) for n in shorts)]
        rows = [(p, 1 - p) for p in values]
        graph = graph_of(3, [(0, 1), (0, 2)], [level("ln(2)")])
        mechanism = Mechanism(
            graph, Preferences(("a", "b"), ((0, 1),), np.zeros(3, dtype=np.int32)), SharedRows.from_rows(rows)
        )
        allowed = given_rows(mechanism, {0: rows[0]}, None)
        trees = tuple(
            BoundTree((0,), np.array(p, dtype=np.int32)) for p in ([ROOT, 0, FREE], [ROOT, FREE, 0], [ROOT, 0, 0])
        )
        for chosen in (trees[2:], trees[:2], trees):
            finding = check_optimality(mechanism, Certificate(np.array([True, False, False]), chosen), allowed)
            assert finding.optimal
            assert finding.gap == pytest.approx(4e-10, rel=1e-6)
        finding = check_optimality(mechanism, Certificate(np.array([True, False, False]), trees[:1]), allowed)
        assert not finding.optimal
        assert "'2'" in finding.reason


# --- trees over exact rows -------------------------------------------------------------------------------------------


def shared_gaps(values, promised, predecessor, *, fixed=None, edges=None, kinds=None):
    count = len(values)
    rows = SharedRows.from_rows([(p, 1 - p) for p in values])
    levels = promised if isinstance(promised, list) else [promised]
    graph = graph_of(count, [(k, k + 1) for k in range(count - 1)] if edges is None else edges, levels, kinds)
    mechanism = Mechanism(graph, Preferences(("a", "b"), ((0, 1),), np.zeros(count, dtype=np.int32)), rows)
    fixed = {0: (values[0], 1 - values[0])} if fixed is None else fixed
    given = np.isin(np.arange(count), list(fixed))
    trees = SharedTrees(mechanism, given, given_rows(mechanism, fixed, None), 1)
    tree = BoundTree((0,), np.array(predecessor, dtype=np.int32))
    return trees.gaps(tree, Prefix((0, 1), 1), ~given)


def test_gaps_over_exact_rows_add_up_in_their_scales():
    values = [QUARTER, Fraction(3, 8), Fraction(1, 2), Fraction(5, 8)]
    finding = shared_gaps(values, level("ln(2)"), [ROOT, 0, 1, 2])
    # Bounds 1/2, 5/8 (from 3/8: min(3/4, 11/16)), 3/4; slopes 2, 1/2, 1/2.
    gaps = [0, Fraction(1, 8)]
    gaps.append(Fraction(11, 16) - HALF + HALF * gaps[1])
    gaps.append(Fraction(3, 4) - Fraction(5, 8) + HALF * gaps[2])
    scales = [QUARTER, Fraction(3, 8), HALF, Fraction(3, 8)]
    assert finding.gaps.tolist() == pytest.approx([float(g / s) for g, s in zip(gaps, scales)], rel=1e-9)
    assert all(told >= g / s for told, g, s in zip(finding.gaps.tolist(), gaps, scales))


def test_trees_over_exact_rows_at_their_edges():
    quarter, half = QUARTER, HALF
    assert shared_gaps([quarter, half], level("ln(2)"), [ROOT, 0]).gaps.tolist() == [0.0, 0.0]
    assert shared_gaps([quarter, half], level("ln(2)"), [ROOT, FREE]).gaps[1] == pytest.approx(2.0)
    assert shared_gaps([quarter, half], level("ln(2)"), [ROOT, -3]).gaps[1] >= 1e100
    assert "above the bound" in shared_gaps([quarter, half], level("ln(3/2)"), [ROOT, 0]).fault
    assert "'1'" in shared_gaps([quarter, half, half], level("ln(3/2)"), [ROOT, 0, 1]).fault
    assert "runs in a cycle" in shared_gaps([quarter] * 3, level(1), [ROOT, 2, 1]).fault
    assert "no neighbour" in shared_gaps([quarter] * 3, level(1), [ROOT, 0, 0]).fault
    assert "is a root" in shared_gaps([quarter] * 3, level(1), [ROOT, ROOT, 1]).fault
    for predecessor in ([ROOT, 0, 1], [ROOT], [ROOT, 2]):
        assert "does not fit" in shared_gaps([quarter, half], level("ln(2)"), predecessor).fault
    # delta, where it is larger than the small side, is the scale.
    tiny = Fraction(1, 1000)
    found = shared_gaps([ZERO, tiny], level("ln(2)", "1/100"), [ROOT, 0]).gaps
    assert found[1] == pytest.approx(float((Fraction(1, 100) - tiny) / Fraction(1, 100)))
    # Levels without a finite ratio go through fractions: infinite ones, Gaussian ones.
    assert shared_gaps([ZERO, tiny], level("inf", "1/100"), [ROOT, 0]).gaps[1] == pytest.approx(0.9)
    assert shared_gaps([quarter, half], level("inf"), [ROOT, 0]).gaps[1] == pytest.approx(1.0)
    phi = shared_gaps([half, Fraction(84, 100)], level(mu=1), [ROOT, 0]).gaps[1]
    assert phi == pytest.approx((0.8413447460685429 - 0.84) / 0.16, rel=1e-9)
    assert "above the bound" in shared_gaps([half, Fraction(85, 100)], level(mu=1), [ROOT, 0]).fault
    # Of parallel edges both count.
    both = shared_gaps(
        [quarter, Fraction(3, 8)], [level("ln(2)"), level("ln(3/2)")], [ROOT, 0], edges=[(0, 1), (1, 0)], kinds=[0, 1]
    )
    assert both.gaps.tolist() == [0.0, 0.0]


def test_given_values_that_were_rounded_down_are_a_gap_from_the_start():
    printed, true = Fraction(24999, 100000), QUARTER
    found = shared_gaps([printed, 2 * printed], level("ln(2)"), [ROOT, 0], fixed={0: (true, 1 - true)}).gaps
    lost = (true - printed) / printed
    assert found.tolist() == pytest.approx([float(lost), float(lost)], rel=1e-9)
    more = shared_gaps([true, 2 * true], level("ln(2)"), [ROOT, 0], fixed={0: (printed, 1 - printed)}).gaps
    assert more.tolist() == [0.0, 0.0]


# --- privacy in rationals --------------------------------------------------------------------------------------------


def test_distinct_pairs_and_their_first_edges():
    of = np.array([0, 1, 0, 1, 2], dtype=np.int32)
    tails, heads = np.array([0, 2, 1, 0, 3, 0]), np.array([1, 3, 4, 1, 4, 4])
    kinds = np.array([0, 0, 1, 1, 1, 0])
    rows = distinct_pairs(of, tails, heads, kinds)
    found = sorted(zip(*(part.tolist() for part in rows)))
    assert found == [(0, 1, 0, 0), (0, 1, 1, 3), (0, 2, 0, 5), (1, 2, 1, 2)]


def test_groups_by_table_and_by_sorting():
    code = np.array([7, 3, 7, 9, 3, 0])
    for size in (10, 10**7):
        distinct, place = group(code, size)
        assert distinct.tolist() == [0, 3, 7, 9]
        assert distinct[place].tolist() == code.tolist()
        assert first_of_each(place, 4).tolist() == [5, 1, 0, 3]
    assert group(np.zeros(0, dtype=np.int64), 5)[0].tolist() == []


def test_epsilons_are_told_not_below_what_is_used_and_not_above_what_is_promised():
    kept = check_pair(level("ln(2)"), (QUARTER, 1 - QUARTER), (HALF, HALF))
    assert kept.kept
    assert kept.used == pytest.approx(math.log(2))
    assert kept.strain == pytest.approx(0.0, abs=1e-15)
    broken = check_pair(level("ln(3/2)"), (QUARTER, 1 - QUARTER), (HALF, HALF))
    assert (broken.kept, broken.used) == (False, pytest.approx(math.log(2)))
    assert broken.strain == pytest.approx(math.log(4 / 3))
    never = check_pair(level(1), (ZERO, ONE), (HALF, HALF))
    assert (never.kept, never.used, never.strain) == (False, math.inf, math.inf)
    both = check_pair(all_of(level("ln(3)"), level("ln(2)", "1/10")), (QUARTER, 1 - QUARTER), (HALF, HALF))
    assert both.used == pytest.approx(math.log(2))
    assert both.strain == pytest.approx(max(math.log(2) - math.log(3), math.log(1.6) - math.log(2)))
    gaussian = check_pair(level(mu=1), (HALF, HALF), (Fraction(84, 100), Fraction(16, 100)))
    assert gaussian.kept
    assert gaussian.used == gaussian.strain == pytest.approx(math.log(50 / 16))
    beyond = check_pair(level(mu=1), (HALF, HALF), (Fraction(85, 100), Fraction(15, 100)))
    assert (beyond.kept, beyond.strain) == (False, math.inf)
    assert beyond.used == pytest.approx(math.log(50 / 15))
    other = check_pair(level(mu=1), (Fraction(85, 100), Fraction(15, 100)), (HALF, HALF))
    assert not other.kept
    with pytest.raises(LevelError, match="is not a level"):
        check_pair("strict", (HALF, HALF), (HALF, HALF))  # type: ignore[arg-type]


def test_promises_as_people_read_them():
    assert promised_above(Epsilon.read("0.69")) == 0.69
    assert promised_above(Epsilon.read("inf")) == math.inf
    assert promised_above(Epsilon.read("ln(2)")) == pytest.approx(math.log(2), rel=1e-15)
    assert Fraction(repr(promised_above(Epsilon.read("ln(2)")))) >= Fraction(6931471805599453094172321, 10**25)
    assert promised_above(Epsilon.read("0.5+ln(2)")) == pytest.approx(0.5 + math.log(2), rel=1e-15)


def test_the_worst_edge_in_rationals():
    values = [QUARTER, Fraction(3, 8), HALF, Fraction(3, 10)]
    mechanism = line_of(values, level(1))
    finding = check_exactly(mechanism)
    assert (finding.private, finding.worst_edge, finding.reason) == (True, 2, "")
    assert finding.epsilon == pytest.approx(math.log(5 / 3))
    levels, kinds = [level("ln(3/2)"), level("ln(5/4)"), level("ln(8/5)")], [0, 1, 2]
    graph = graph_of(4, [(0, 1), (1, 2), (2, 3)], levels, kinds)
    broken = check_exactly(Mechanism(graph, mechanism.preferences, mechanism.rows))
    assert (broken.private, broken.worst_edge) == (False, 1)  # 4/3 against 5/4 is more than 5/3 against 8/5
    assert "between '1' and '2'" in broken.reason
    assert broken.epsilon == pytest.approx(math.log(5 / 3))
    for same in ([QUARTER, HALF, QUARTER], [HALF, QUARTER, HALF]):
        assert check_exactly(line_of(same, level(1))).worst_edge == 0  # of equals the first
        assert check_exactly(line_of(same, level("0.1"))).worst_edge == 0


def test_is_private_says_the_same():
    for values in ([QUARTER, HALF, QUARTER], [QUARTER, Fraction(501, 1000), QUARTER], [QUARTER], [QUARTER, QUARTER]):
        mechanism = line_of(values, level("ln(2)"))
        assert is_private(mechanism) is check_privacy(mechanism).private
    alone = line_of([QUARTER], level("ln(2)"))
    assert (check_privacy(alone).private, check_privacy(alone).worst_edge, check_privacy(alone).epsilon) == (
        True,
        None,
        0.0,
    )
    wrong = Mechanism(alone.graph, alone.preferences, SharedRows(((HALF, QUARTER),), np.zeros(1, dtype=np.int32)))
    assert not is_private(wrong)
    told = check_privacy(wrong)
    assert (told.private, told.worst_edge, told.epsilon) == (False, None, math.inf)
    assert "it sums to 0.75" in told.reason
    unused = SharedRows(((HALF, HALF), (HALF, QUARTER)), np.zeros(1, dtype=np.int32))
    assert row_fault(Mechanism(alone.graph, alone.preferences, unused)) == ""
    with pytest.raises(MechanismError, match=r"\(1, 2, 1\)"):
        is_private(Mechanism(alone.graph, alone.preferences, SharedRows(((HALF, HALF),), np.zeros(2, dtype=np.int32))))
    pair = line_of([HALF, HALF], level(1))
    bare = Mechanism(DatasetGraph(NumberNames(2), [0], [1]), pair.preferences, pair.rows)
    with pytest.raises(GraphError, match="has no privacy levels"):
        check_privacy(bare)
    gaussian = line_of([HALF, Fraction(84, 100)], level(mu=1))
    assert check_privacy(gaussian).private
    sides = TwoSides(np.array([0.5, -0.1640625]), np.zeros(2, dtype=np.int32))
    assert check_privacy(Mechanism(gaussian.graph, gaussian.preferences, sides)).private
    far = TwoSides(np.array([0.5, -0.125]), np.zeros(2, dtype=np.int32))
    assert not check_privacy(Mechanism(gaussian.graph, gaussian.preferences, far)).private


@pytest.mark.parametrize("answers", [2, 5])
def test_long_rows_are_checked_by_enclosures_with_the_same_verdict(answers, monkeypatch):
    values = [QUARTER, Fraction(3, 8), HALF, Fraction(7, 20)]
    for promised in (level("0.5"), level("ln(3/2)"), level("0.3"), level("ln(4/3)", "1/20")):
        mechanism = line_of(values, promised, answers=answers)
        plain = check_exactly(mechanism)
        with monkeypatch.context() as patch:
            patch.setattr("optimaldp.certify.graphs.long_rows._MANY", 0)
            enclosed = check_exactly(mechanism)
        assert (enclosed.private, enclosed.reason) == (plain.private, plain.reason)
        assert plain.epsilon <= enclosed.epsilon * (1 + 1e-15)
        assert enclosed.epsilon == pytest.approx(plain.epsilon, rel=1e-11)
        if not plain.private:
            assert enclosed.worst_edge == plain.worst_edge


# --- loops, verdicts and files ---------------------------------------------------------------------------------------


def test_loops_are_compiled_from_where_it_pays(monkeypatch):
    def source(x):
        return ("plain", x)

    loop = Loop(source)
    loop.__dict__["compiled"] = lambda x: ("compiled", x)
    assert loop(loops.COMPILE_FROM - 1, 5) == ("plain", 5)
    assert loop(loops.COMPILE_FROM, 5) == ("compiled", 5)
    monkeypatch.setattr(loops, "numba_if_installed", lambda: None)
    assert Loop(source).compiled is source


def verdict(**changes):
    settings = {"private": True, "worst_edge": ("u", "v"), "epsilon": 1.0, "optimal": True, "gap": 0.0, "reason": "so"}
    return Verdict(**(settings | changes))


def test_how_a_verdict_was_proven():
    assert verdict().proof == "exact"
    assert verdict(gap=1e-30).proof == "exact"
    assert verdict(gap=1.1e-30).proof == verdict(gap=1e-12).proof == "floating-point"
    assert verdict(optimal=False).proof is verdict(optimal=None).proof is verdict(gap=None).proof is None
    assert repr(verdict()) == "Verdict(private, optimal, proven exactly, least epsilon 1, worst edge u – v)"
    assert "proven in floating point" in repr(verdict(gap=1e-12))
    assert repr(verdict(optimal=False, worst_edge=None)) == "Verdict(private, not proven optimal, least epsilon 1)"
    assert "optimal" not in repr(verdict(optimal=None, private=False))
    assert [
        bool(verdict(private=p, optimal=o)) for p, o in ((True, True), (True, None), (True, False), (False, True))
    ] == [
        True,
        True,
        False,
        False,
    ]
    assert verdict(epsilon=math.inf).to_document()["epsilon"] == "inf"
    assert verdict().to_document() == {
        "private": True, "worst_edge": ["u", "v"], "epsilon": 1.0, "optimal": True, "gap": 0.0, "reason": "so",
    }  # fmt: skip
    assert verdict(worst_edge=None).to_document()["worst_edge"] == []
    assert dict(verdict(gap=0.00123456).details())["gap"] == "0.00123"
    assert dict(verdict(gap=None).details())["gap"] == ""


def test_what_a_file_claims_is_compared():
    unproven = verdict(optimal=None, gap=None)
    assert _compared(unproven, "optimal", "exact").optimal is False
    told = _compared(unproven, "optimal", "floating-point")
    assert told.optimal is None
    assert "was not checked" in told.reason
    assert _compared(unproven, None, "exact") is unproven
    assert _compared(verdict(), "optimal", "exact") == verdict()
    assert _compared(verdict(private=False, optimal=None), "optimal", "exact").optimal is None
    assert "proves the mechanism optimal" in _compared(verdict(), "infeasible", None).reason
    assert "says nothing of the kind" in _compared(unproven, "no-optimum", None).reason


# --- closeness -------------------------------------------------------------------------------------------------------


def test_gaussian_quantiles_that_agree_too_long_count_as_broken(monkeypatch):
    """2 Phi^-1(p) = mu for a mu known to few bits only: with so few, neither side is certain."""
    calls = []
    monkeypatch.setattr("optimaldp.certify.closeness.normal_quantile", lambda p: calls.append(p) or p - p)
    assert not _gaussian_pair(Fraction(2, 3), THIRD, Fraction(1, 2**30000))
    bits = 128
    steps = 0
    while bits <= _MOST_BITS:
        bits, steps = 2 * bits, steps + 1
    assert len(calls) == 2 * steps


def test_ends_of_the_gaussian_trade_off():
    assert _gaussian_pair(ZERO, ZERO, ONE)
    assert not _gaussian_pair(Fraction(1, 10**9), ZERO, ONE)
    assert not _gaussian_pair(ONE, Fraction(999, 1000), Fraction(50))
    assert _gaussian_pair(Fraction(999, 1000), Fraction(998, 1000), ONE)
    assert not _gaussian_pair(HALF + Fraction(1, 10**9), HALF, ZERO)


def test_ratios_collect_answers_by_their_own_ratio():
    upper = (Fraction(1, 10), Fraction(4, 10), Fraction(3, 10), Fraction(2, 10), ZERO)
    lower = (ZERO, Fraction(2, 10), Fraction(1, 10), Fraction(7, 10), ZERO)
    assert least_ratio(upper, lower, Fraction(1, 10)) == Fraction(3)
    assert least_ratio(upper, lower, Fraction(2, 10)) == max(Fraction(3 + 1 - 2, 1), Fraction(8 - 2, 3))
    assert least_ratio(upper, lower, Fraction(9, 100)) is None
