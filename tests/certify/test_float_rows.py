"""The referee of many answers in floats says what the exact one says, and rejects each broken twin."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import optimaldp as odp
from optimaldp.certify.graphs.floats import float_table
from optimaldp.certify.graphs.privacy import check_exactly, check_privacy, is_private
from optimaldp.designing import solve
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import FloatRows, Mechanism

ROW = (Fraction(1, 7), Fraction(4, 7), Fraction(2, 7))


def chain(delta: str, size: int = 40) -> Mechanism:
    levels = [odp.level("0.4", delta), odp.level("0.9", delta)]
    number = np.arange(size - 1)
    graph = DatasetGraph([str(v) for v in range(size)], number, number + 1, levels=levels, level_of_edge=number % 2)
    preferences = Preferences(tuple("abc"), ((0, 2, 1),), np.zeros(size, dtype=np.int32))
    found = solve(Problem(graph, preferences, {0: ROW}), exact=False)
    assert isinstance(found.mechanism.rows, FloatRows)
    return found


def changed(mechanism: Mechanism, vertex: int, answer: int, factor: float) -> Mechanism:
    table = mechanism.rows.table.copy()
    table[vertex, answer] *= factor
    return replace(mechanism, rows=replace(mechanism.rows, table=table))


@pytest.mark.parametrize("delta", ["0", "0.001"])
def test_floats_and_rationals_agree(delta):
    mechanism = chain(delta).mechanism
    quick, exact = check_privacy(mechanism), check_exactly(mechanism)
    assert quick.private
    assert exact.private
    assert quick.epsilon >= exact.epsilon * (1 - 1e-15)
    assert quick.epsilon <= exact.epsilon + 1e-9


@pytest.mark.parametrize("delta", ["0", "0.001"])
@pytest.mark.parametrize(("vertex", "factor"), [(3, 1 + 1e-6), (3, 1 - 1e-6), (7, 0.0), (9, 1.3)])
def test_broken_twins_are_not_private(delta, vertex, factor):
    mechanism = chain(delta).mechanism
    answers = [a for a in range(3) if a != mechanism.rows.likeliest[vertex]]
    for answer in answers:
        twin = changed(mechanism, vertex, answer, factor)
        assert check_privacy(twin).private == check_exactly(twin).private == is_private(twin)
    assert not all(check_privacy(changed(mechanism, vertex, answer, factor)).private for answer in answers)


def test_less_than_the_bound_is_not_optimal():
    found = chain("0")
    row = tuple(Fraction(p) for p in (Fraction(1, 7), Fraction(4, 7), Fraction(2, 7)))
    lazy = FloatRows(
        np.tile([float(p) for p in row], (40, 1)), np.ones(40, dtype=np.int32), (row,), np.zeros(40, dtype=np.int32)
    )
    still = Mechanism(found.problem.graph, found.problem.preferences, lazy)
    verdict = odp.verify(still, found.certificate.proof, fixed=found.problem.fixed)
    assert verdict.private
    assert verdict.optimal is False
    assert odp.verify(found.mechanism, found.certificate.proof, fixed=found.problem.fixed).optimal is True
    assert odp.verify(found.mechanism, found.certificate.proof).optimal is False  # nothing is given by whoever asks


@pytest.mark.parametrize("bad", [-0.1, 0.9, float("nan")])
def test_rows_that_are_no_distributions(bad):
    mechanism = chain("0").mechanism
    table = mechanism.rows.table.copy()
    answer = next(a for a in range(3) if a != mechanism.rows.likeliest[5])
    table[5, answer] = bad
    twin = replace(mechanism, rows=replace(mechanism.rows, table=table))
    assert not check_privacy(twin).private
    assert not is_private(twin)


def test_the_table_is_what_the_rows_say():
    mechanism = chain("0").mechanism
    exact = [[float(p) for p in mechanism.rows.row(v)] for v in range(len(mechanism))]
    assert float_table(mechanism.rows) == pytest.approx(np.array(exact), rel=1e-15)
    assert all(sum(mechanism.rows.row(v)) == 1 for v in range(len(mechanism)))
