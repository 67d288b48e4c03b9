"""Single faults of the referee that once went unnoticed: each of these fails if one comparison is turned round."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import optimaldp as odp
from optimaldp.certify.graphs.privacy import is_private
from optimaldp.certify.graphs.trees import add_up
from optimaldp.designing import solve
from optimaldp.graphs import DatasetGraph, NumberNames, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Mechanism, SharedRows, TwoSides

HALF = Fraction(1, 2)


def large_line(size: int = 12_000) -> odp.designing.Design:
    number = np.arange(size - 1)
    levels = [odp.level("0.001"), odp.level("0.002")]
    graph = DatasetGraph(NumberNames(size), number, number + 1, levels=levels, level_of_edge=number % 2)
    truth = (np.arange(size) >= size // 2).astype(np.int32)
    return solve(Problem(graph, Preferences.of_truth(("yes", "no"), truth), {}, "balanced"), exact=False)


@pytest.mark.long
@pytest.mark.parametrize("side", [1e-12, 0.25, 0.5])
def test_never_the_wanted_answer_is_private_and_not_optimal(side):
    """The same wrong answer everywhere: perfectly private, as far from the bound as can be, on both sides of it."""
    found = large_line()
    assert found.verdict.optimal
    favourites = found.problem.preferences.favourites
    # The same distribution everywhere: "yes" with probability *side*.
    sides = np.where(favourites == 0, side, -side)
    lazy = Mechanism(found.problem.graph, found.problem.preferences, TwoSides(sides, favourites))
    certificate = found.certificate.proof
    fixed = {v: lazy.rows.row(v) for v in np.flatnonzero(certificate.given).tolist()}
    verdict = odp.verify(lazy, certificate, fixed=fixed)
    assert verdict.private
    assert verdict.optimal is False


def test_many_small_gaps_are_one_large_gap():
    """Each dataset is below its predecessor's bound by a hair that alone would pass; the last one is below by all of them."""
    size, hair = 40, Fraction(1, 10**10)
    level = odp.level("ln(2)", "0.001")
    rows = [Fraction(1, 1000)]
    for _ in range(size - 1):
        rows.append(level.step(rows[-1]) * (1 - hair))
    graph = odp.graphs.line(size).with_level(level)
    preferences = Preferences(("yes", "no"), ((0, 1),), np.zeros(size, dtype=np.int32))
    exact = [Fraction(1, 1000)]
    for _ in range(size - 1):
        exact.append(level.step(exact[-1]))
    certificate = solve(Problem(graph, preferences, {0: (exact[0], 1 - exact[0])})).certificate.proof

    def verdict(values):
        shared = SharedRows.from_rows([(p, 1 - p) for p in values])
        return odp.verify(Mechanism(graph, preferences, shared), certificate, fixed={0: (values[0], 1 - values[0])})

    assert verdict(exact).gap == 0
    short = verdict(rows[:])
    assert short.private
    assert short.gap is None or short.gap > 2 * float(hair)  # more than any single one of them
    worse = [rows[0]]
    for _ in range(size - 1):
        worse.append(level.step(worse[-1]) * (1 - 8 * hair))
    assert verdict(worse).optimal is False


def test_gaps_add_up_along_the_path_and_by_their_factors():
    parent = np.array([0, 0, 1, 2])
    total, astray = add_up(parent, np.array([1.0, 2.0, 4.0, 8.0]), np.array([0.0, 3.0, 5.0, 7.0]))
    assert not astray.size
    assert total == pytest.approx([1, 5, 29, 211])


@pytest.mark.parametrize("row", [(HALF, HALF, HALF), (Fraction(3, 2), -HALF, Fraction(0)), (HALF, HALF)])
def test_rows_that_are_no_distributions_are_not_private(row):
    graph = odp.graphs.line(2).with_level(odp.level(1))
    preferences = Preferences(tuple("abc"), ((0, 1, 2),), np.zeros(2, dtype=np.int32))
    same = Mechanism(graph, preferences, SharedRows.from_rows([row, row]))
    assert not is_private(same)
    assert not odp.verify(same).private
    sound = (HALF, HALF, Fraction(0))
    assert is_private(Mechanism(graph, preferences, SharedRows.from_rows([sound, sound])))


def test_sides_that_are_no_probabilities_are_not_private():
    graph = odp.graphs.line(2).with_level(odp.level(1))
    preferences = Preferences.of_truth(("yes", "no"), [0, 0])
    for bad in (0.7, -0.7, float("nan")):
        rows = TwoSides(np.array([bad, bad]), preferences.favourites)
        assert not is_private(Mechanism(graph, preferences, rows))
