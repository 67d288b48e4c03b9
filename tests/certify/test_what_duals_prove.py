"""What the duals and trees of a certificate prove, up to a part in a billion and no further."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from small_lines import HALF, ONE, QUARTER, ZERO, graph_of, line_of

from optimaldp.certify.graphs.duals import HeldPromises, _implies, proven_bound
from optimaldp.certify.graphs.float_trees import SharedTrees
from optimaldp.certify.graphs.given import (
    Prefix,
    given_rows,
)
from optimaldp.certify.graphs.optimality import check_optimality
from optimaldp.errors import CertificateError
from optimaldp.graphs import Preferences
from optimaldp.mechanisms import BoundTree, Certificate, DualProof, Mechanism, SharedRows
from optimaldp.mechanisms.certificate import FREE, ROOT, EventConstraint
from optimaldp.privacy import all_of, directed, level
from optimaldp.privacy.balls import Ball, ball, precision


def bound_of(multipliers, *, levels, event=(0,), given=None, answers=2, vertex=1, edges=((0, 1),)):
    held = HeldPromises(graph_of(3, edges, levels))
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
    with precision(400):
        assert ball(4 * irrational) > Ball(1).exp()


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
    held = HeldPromises(
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
    assert optimal_by_dual(HALF, HALF - HALF * Fraction(1e-9)).optimal
    told = optimal_by_dual(HALF, HALF - Fraction(6, 10**10))
    assert not told.optimal
    assert "is claimed, but only 0.5 is proven" in told.reason
    # Tiny sides are compared with a least one.
    tiny = Fraction(1, 10**9)
    assert optimal_by_dual(2 * tiny - Fraction(9, 10**16), 2 * tiny, start=tiny).optimal
    assert not optimal_by_dual(2 * tiny - Fraction(11, 10**16), 2 * tiny, start=tiny).optimal


def test_duals_of_likely_answers_are_measured_by_what_is_left():
    """From 4/5 at ln 2 the bound is 9/10: short by 1.5e-10 is more than a billionth of a tenth."""
    for short, optimal in ((Fraction(5, 10**11), True), (Fraction(15, 10**11), False)):
        mechanism = line_of([Fraction(4, 5), Fraction(9, 10) - short], level("ln(2)"))
        dual = DualProof(1, (0,), Fraction(9, 10), ((EventConstraint(1, 0, (1,)), HALF),))
        allowed = given_rows(mechanism, {0: (Fraction(4, 5), Fraction(1, 5))}, None)
        certificate = Certificate(np.array([True, False]), (), (dual,))
        assert check_optimality(mechanism, certificate, allowed).optimal is optimal


def test_certificates_that_do_not_fit():
    mechanism = line_of([QUARTER, HALF], level("ln(2)"))
    allowed = given_rows(mechanism, {0: (QUARTER, 1 - QUARTER)}, None)
    tree = BoundTree((0,), np.array([ROOT, 0], dtype=np.int32))
    fine = Certificate(np.array([True, False]), (tree,))
    assert check_optimality(mechanism, fine, allowed).optimal
    assert "with 1 dataset given" in check_optimality(mechanism, fine, allowed).reason
    everything = given_rows(mechanism, {0: (QUARTER, 1 - QUARTER), 1: (HALF, HALF)}, None)
    nothing_free = check_optimality(mechanism, Certificate(np.array([True, True]), ()), everything)
    assert (nothing_free.optimal, nothing_free.gap) == (True, 0.0)
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
    assert "'2' is above" in shared_gaps([quarter, half, Fraction(7, 8)], level("ln(2)"), [ROOT, 0, 1]).fault
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
