"""The referee accepts what is right, and rejects each of these broken twins by name."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from small_mechanisms import balanced_line, iterate, line_certificate, line_of, line_optimum, printed_step
from small_mechanisms import verify_given as verify

from optimaldp.errors import GraphError, MechanismError
from optimaldp.mechanisms import BoundTree, Certificate, Mechanism, SharedRows
from optimaldp.mechanisms.certificate import FREE, ROOT
from optimaldp.privacy import level

TWO, TENTH, NOTHING = Fraction(2), Fraction(1, 10), Fraction(0)
START = Fraction(1, 20)


def with_rows(mechanism: Mechanism, values) -> Mechanism:
    rows = SharedRows.from_rows([(p, 1 - p) for p in values])
    return Mechanism(mechanism.graph, mechanism.preferences, rows)


def values_of(mechanism: Mechanism) -> list[Fraction]:
    return [mechanism.rows.row(v)[0] for v in range(len(mechanism))]


@pytest.mark.parametrize("delta", [NOTHING, TENTH])
def test_the_right_mechanism_passes_exactly(delta):
    verdict = verify(line_optimum(START, 9, TWO, delta), line_certificate(9))
    assert verdict.private
    assert verdict.optimal is True
    assert verdict.gap == 0.0
    assert verdict.epsilon == pytest.approx(math.log(2))
    assert verdict.epsilon >= math.log(2)


@pytest.mark.parametrize("delta", [NOTHING, TENTH])
def test_a_balanced_line_passes_exactly(delta):
    mechanism, certificate = balanced_line(6, TWO, delta)
    verdict = verify(mechanism, certificate)
    assert (verdict.private, verdict.optimal, verdict.gap) == (True, True, 0.0)


@pytest.mark.parametrize("vertex", range(1, 9))
def test_value_nudged_by_1e_9_upwards(vertex):
    right = line_optimum(START, 9, TWO, NOTHING)
    values = values_of(right)
    values[vertex] += Fraction(1, 10**9)
    verdict = verify(with_rows(right, values), line_certificate(9))
    assert not verdict.private
    assert verdict.optimal is False
    assert f"d{vertex}" in verdict.worst_edge


@pytest.mark.parametrize("vertex", range(1, 8))
def test_value_nudged_by_1e_6_downwards_is_private_no_more_or_not_optimal(vertex):
    right = line_optimum(START, 9, TWO, NOTHING)
    values = values_of(right)
    values[vertex:] = [iterate(values[vertex] - Fraction(1, 10**6), t, TWO, NOTHING) for t in range(9 - vertex)]
    verdict = verify(with_rows(right, values), line_certificate(9))
    assert verdict.private
    assert verdict.optimal is False
    assert f"d{vertex}" in verdict.reason or "below its bound" in verdict.reason


def test_level_one_step_too_strict():
    """The mechanism of (ln 2, 0.1) on a graph that promises (ln 2, 0.09), and (ln 1.99, 0.1)."""
    right = line_optimum(START, 9, TWO, TENTH)
    for stricter in (level("ln(2)", "0.09"), level("ln(1.99)", "0.1"), level("ln(2)", 0)):
        twin = Mechanism(right.graph.with_level(stricter), right.preferences, right.rows)
        assert not verify(twin).private
        assert verify(twin, line_certificate(9)).optimal is False


def test_level_one_step_too_loose_is_private_but_not_optimal():
    right = line_optimum(START, 9, TWO, TENTH)
    twin = Mechanism(right.graph.with_level(level("ln(2.01)", "0.1")), right.preferences, right.rows)
    verdict = verify(twin, line_certificate(9))
    assert verdict.private
    assert verdict.optimal is False


def test_a_missing_edge_s_certificate():
    right = line_optimum(START, 9, TWO, NOTHING)
    predecessor = np.arange(-1, 8, dtype=np.int32)
    predecessor[5] = 3  # two steps away
    verdict = verify(right, Certificate(np.arange(9) == 0, (BoundTree((0,), predecessor),)))
    assert verdict.optimal is False
    assert "no neighbour" in verdict.reason


def test_a_certificate_that_leaves_a_dataset_out():
    right = line_optimum(START, 9, TWO, NOTHING)
    for code in (FREE, -3):
        predecessor = np.arange(-1, 8, dtype=np.int32)
        predecessor[5] = code
        assert verify(right, Certificate(np.arange(9) == 0, (BoundTree((0,), predecessor),))).optimal is False


def test_a_certificate_without_a_tree():
    right = line_optimum(START, 9, TWO, NOTHING)
    verdict = verify(right, Certificate(np.arange(9) == 0, ()))
    assert verdict.optimal is False
    assert "no bound" in verdict.reason


def test_a_certificate_with_a_cycle():
    """Two datasets that bound each other by equal values would prove anything."""
    flat = line_of([Fraction(1, 2)] * 4, Fraction(1), NOTHING)
    predecessor = np.array([ROOT, 2, 1, 2], dtype=np.int32)
    verdict = verify(flat, Certificate(np.arange(4) == 0, (BoundTree((0,), predecessor),)))
    assert verdict.private
    assert verdict.optimal is False
    assert "cycle" in verdict.reason


def test_a_root_that_is_not_given():
    right = line_optimum(START, 9, TWO, NOTHING)
    certificate = replace(line_certificate(9), given=np.zeros(9, dtype=bool))
    verdict = verify(right, certificate)
    assert verdict.optimal is False
    assert "not given" in verdict.reason


def test_a_certificate_that_takes_everything_as_given():
    right = line_optimum(START, 9, TWO, NOTHING)
    everything = Certificate(np.ones(9, dtype=bool), ())
    fixed = {0: right.rows.row(0)}
    assert verify(right, line_certificate(9), fixed=fixed).optimal is True
    assert verify(right, everything, fixed=fixed).optimal is False


def test_a_mechanism_that_does_not_have_the_fixed_values():
    right = line_optimum(START, 9, TWO, NOTHING)
    fixed = {0: (START + Fraction(1, 100), 1 - START - Fraction(1, 100))}
    assert verify(right, line_certificate(9), fixed=fixed).optimal is False


def test_rows_that_do_not_sum_to_one():
    right = line_optimum(START, 3, TWO, NOTHING)
    rows = SharedRows(((START, 1 - START - TENTH),), np.zeros(3, dtype=np.int32))
    verdict = verify(Mechanism(right.graph, right.preferences, rows))
    assert not verdict.private
    assert "no distribution" in verdict.reason
    with pytest.raises(MechanismError, match="sums to one"):
        Mechanism.read(right.graph, right.preferences, {f"d{i}": {"yes": "0.7"} for i in range(3)})


def test_a_negative_probability():
    right = line_optimum(START, 3, TWO, NOTHING)
    rows = SharedRows(((1 + TENTH, -TENTH),), np.zeros(3, dtype=np.int32))
    assert not verify(Mechanism(right.graph, right.preferences, rows)).private


def test_the_printed_operator_of_001_4_3():
    """With p = 0.8, ln 2 and delta 0.1 it gives 1, although the complement's 0.2 > 2 * 0 + 0.1 (001-1)."""
    twin = line_optimum(Fraction(4, 5), 2, TWO, TENTH, one_step=printed_step)
    assert values_of(twin) == [Fraction(4, 5), 1]
    assert not verify(twin).private
    assert verify(line_optimum(Fraction(4, 5), 2, TWO, TENTH)).private
    assert not any(
        verify(line_optimum(Fraction(k, 20), 9, TWO, TENTH, one_step=printed_step)).private for k in range(18)
    )


def test_the_printed_transition_of_001_5_1():
    """tau with the +1 of (5.1) follows the growth one step too long (001-3)."""

    def closed_form(s, t, late):
        tau = max(0, math.ceil(-math.log(s * 3) / math.log(2) - 1e-12) + late)
        grown = min(Fraction(1), s * TWO ** min(t, tau))
        return grown if t <= tau else 1 - (1 - grown) / TWO ** (t - tau)

    for start in (Fraction(1, 2), Fraction(1, 4), Fraction(1, 5), START):
        right, printed = (line_of([closed_form(start, t, late) for t in range(8)], TWO, NOTHING) for late in (0, 1))
        assert verify(right, line_certificate(8)).optimal is True
        assert not verify(printed).private


def test_no_certificate_no_claim():
    verdict = verify(line_optimum(START, 4, TWO, NOTHING))
    assert verdict.private
    assert verdict.optimal is None
    assert verdict.gap is None


def test_a_graph_without_levels_cannot_be_checked():
    right = line_optimum(START, 3, TWO, NOTHING)
    bare = type(right.graph)(right.graph.names, right.graph.tails, right.graph.heads)
    with pytest.raises(GraphError, match="no privacy levels"):
        verify(Mechanism(bare, right.preferences, right.rows))


def test_a_parallel_edge_adds_its_promise():
    from optimaldp.graphs import DatasetGraph

    right = line_optimum(START, 3, TWO, NOTHING)
    edges = [("d0", "d1"), ("d1", "d2"), ("d2", "d1", level("ln(3/2)"))]
    twin = Mechanism(
        DatasetGraph.from_edges(["d0", "d1", "d2"], edges, level=level("ln(2)")), right.preferences, right.rows
    )
    verdict = verify(twin)
    assert not verdict.private
    assert set(verdict.worst_edge) == {"d1", "d2"}
    values = [START, 2 * START, 3 * START]
    verdict = verify(with_rows(twin, values), line_certificate(3))
    assert (verdict.private, verdict.optimal, verdict.gap) == (True, True, 0.0)


def test_a_verdict_reads_well():
    verdict = verify(line_optimum(START, 4, TWO, NOTHING), line_certificate(4))
    assert repr(verdict).startswith("DesignVerdict(private, greatest, proven exactly, least epsilon 0.693147")
    assert list(verdict.to_document()) == [
        "private",
        "worst_edge",
        "epsilon",
        "optimal",
        "proof",
        "claim",
        "gap",
        "reason",
    ]
    assert bool(verdict)
