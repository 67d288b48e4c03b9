"""What a certificate may take as given: derived from the problem, compared with the mechanism."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from small_lines import HALF, ONE, QUARTER, THIRD, ZERO, graph_of, line_of

from optimaldp.certify.core.closeness import within_gaussian
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
from optimaldp.certify.graphs.rounding import check_pair
from optimaldp.errors import ProblemError
from optimaldp.graphs import Preferences
from optimaldp.mechanisms import FloatRows, Mechanism, SharedRows, TwoSides
from optimaldp.privacy import all_of, level


def test_rows_fixed_by_the_problem():
    mechanism = line_of([QUARTER] * 4, level(1))
    row, other = (QUARTER, 1 - QUARTER), (HALF, HALF)
    allowed = given_rows(mechanism, {0: row, 2: other, 3: row}, None)
    assert allowed.of.tolist() == [0, -1, 1, 0]
    assert [allowed.row(v) for v in range(4)] == [row, None, other, row]
    assert given_rows(mechanism, None, None).of.tolist() == [-1] * 4
    assert given_rows(mechanism, None, "fair").of.tolist() == [-1] * 4
    with pytest.raises(ProblemError, match="is not a rule"):
        given_rows(mechanism, None, "tilted")


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


@pytest.mark.parametrize("answers", [2, 3, 4])
def test_the_balanced_value_where_nothing_may_differ(answers):
    assert touching(level(mu=0), answers) == Fraction(1, answers)


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
        for change, differs in (
            (Fraction(4, 10**10), True),
            (-Fraction(4, 10**10), True),
            (Fraction(1, 10**12), False),
        ):
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
