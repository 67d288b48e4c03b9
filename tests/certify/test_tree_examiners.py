"""Bound trees with several answers: the examiner of exact rows and that of floats, plain and compiled, right and wrong trees."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from optimaldp import graphs, level
from optimaldp.certify.graphs import rounding as loops
from optimaldp.certify.graphs.given import (
    Prefix,
    PrefixSums,
    ShortGaps,
    given_rows,
    number_above,
    number_below,
    prefixes,
)
from optimaldp.certify.graphs.optimality import check_optimality
from optimaldp.certify.graphs.privacy import LongRows, check_privacy
from optimaldp.designing import solve
from optimaldp.graphs import Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import BoundTree, FloatRows, Mechanism, SharedRows, TwoSides
from optimaldp.mechanisms.certificate import FREE, ROOT
from optimaldp.privacy.balls import precision

SIDE = 9


def problem(answers: int, levels: list[str]) -> Problem:
    bare = graphs.grid((SIDE, SIDE))
    which = np.random.default_rng(answers).integers(0, len(levels), bare.edge_count)
    graph = bare.with_levels([level(one) for one in levels], which)
    of = (np.arange(len(graph)) // SIDE * answers // SIDE).astype(np.int32)
    orders = tuple(tuple((first + k) % answers for k in range(answers)) for first in range(answers))
    return Problem(graph, Preferences(tuple("abcde"[:answers]), orders, of), {}, "balanced")


KINDS = {
    "shared": (3, ["ln(2)"], None, SharedRows),
    "long": (3, ["0.5"], None, SharedRows),
    "sides": (2, ["0.5", "1"], False, TwoSides),
    "floats": (3, ["1/3", "0.5"], False, FloatRows),
}


@pytest.fixture(params=KINDS)
def claim(request):
    answers, levels, exact, rows = KINDS[request.param]
    found = solve(problem(answers, levels), exact=exact)
    assert isinstance(found.mechanism.rows, rows)
    return found.certificate


def finding(claim, *, mechanism=None, trees=None):
    used = mechanism or claim.mechanism
    certificate = claim.proof if trees is None else replace(claim.proof, trees=trees)
    return check_optimality(used, certificate, given_rows(used, None, "balanced"))


def inner(claim) -> int:
    """A free dataset that is not sure, whose predecessor is free as well."""
    tree = claim.proof.trees[0].predecessor
    return next(v for v in range(len(tree)) if tree[v] >= 0 and tree[tree[v]] >= 0)


def with_predecessor(claim, vertex: int, predecessor: int):
    trees = []
    for tree in claim.proof.trees:
        changed = tree.predecessor.copy()
        changed[vertex] = predecessor
        trees.append(BoundTree(tree.event, changed))
    return tuple(trees)


def test_what_was_designed_is_optimal(claim):
    assert finding(claim).optimal


@pytest.mark.long
def test_the_compiled_loops_agree_with_the_plain_ones(claim, monkeypatch):
    plain, private = finding(claim), check_privacy(claim.mechanism)
    monkeypatch.setattr(loops, "COMPILE_FROM", 0)
    assert finding(claim) == plain
    assert check_privacy(claim.mechanism) == private


def test_a_value_below_its_bound_is_found(claim):
    """A dataset with the row of its predecessor is worse than it could be, and what rests on it is too."""
    vertex = inner(claim)
    u, rows = int(claim.proof.trees[0].predecessor[vertex]), claim.mechanism.rows
    if isinstance(rows, SharedRows):
        of = rows.of.copy()
        of[vertex] = of[u]
        lower = SharedRows(rows.rows, of)
    elif isinstance(rows, TwoSides):
        sides = rows.sides.copy()
        sides[vertex] = sides[u]
        lower = TwoSides(sides, rows.favourites)
    else:
        table = rows.table.copy()
        table[vertex] = table[u]
        lower = replace(rows, table=table)
    told = finding(claim, mechanism=Mechanism(claim.mechanism.graph, claim.mechanism.preferences, lower))
    assert not told.optimal
    assert "is below its bound" in told.reason or "above the bound" in told.reason


@pytest.mark.parametrize(
    ("forged", "words"),
    [
        (lambda claim, v: (v + 2 * SIDE + 3) % SIDE**2, "is no neighbour of it"),
        (lambda claim, v: ROOT, "is a root but its distribution is not given"),
        (lambda claim, v: FREE, "is below its bound"),
        (lambda claim, v: -3, "has no bound"),
        (lambda claim, v: SIDE**2, "does not fit the graph"),
    ],
)
def test_a_forged_tree_is_rejected(claim, forged, words):
    vertex = inner(claim)
    told = finding(claim, trees=with_predecessor(claim, vertex, forged(claim, vertex)))
    assert not told.optimal
    assert words in told.reason


def test_a_tree_that_runs_in_a_circle_is_rejected(claim):
    vertex = inner(claim)
    above = int(claim.proof.trees[0].predecessor[vertex])
    told = finding(claim, trees=with_predecessor(claim, above, vertex))
    assert not told.optimal
    assert "runs in a cycle" in told.reason or "above the bound" in told.reason


def test_every_event_is_asked_once_and_of_all_who_want_it():
    preferences = Preferences(
        ("a", "b", "c"), ((0, 1, 2), (1, 0, 2), (2, 1, 0)), np.array([0, 1, 2, 0], dtype=np.int32)
    )
    given = np.array([False, False, False, True])
    asked = {prefix.event: wanted.tolist() for prefix, wanted in prefixes(preferences, given)}
    assert asked == {
        (0,): [True, False, False, False],
        (0, 1): [True, True, False, False],
        (1,): [False, True, False, False],
        (2,): [False, False, True, False],
        (1, 2): [False, False, True, False],
    }


@pytest.mark.parametrize("arithmetic", [ShortGaps, LongRows])
def test_sums_along_an_order_are_sums_over_the_event(arithmetic):
    rows = [tuple(Fraction(n, 20) for n in row) for row in ((1, 2, 7, 10), (0, 20, 0, 0), (5, 0, 15, 0))]
    with precision(arithmetic.bits):
        sums = PrefixSums(rows, arithmetic(rows).row)
        for order in permutations(range(4)):
            for length in range(1, 4):
                prefix = Prefix(order, length)
                exact = [sum(row[a] for a in prefix.event) for row in rows]
                assert sums.sure(prefix).tolist() == [p == 1 for p in exact]
                for number, p in enumerate(exact):
                    inside, outside = sums.sides(number, prefix)
                    assert float(number_above(inside)) == pytest.approx(float(p))
                    assert float(number_below(outside)) == pytest.approx(float(1 - p))
                    assert number_below(inside) <= p <= number_above(inside)
                    assert number_below(outside) <= 1 - p <= number_above(outside)


def test_many_answers_are_proven_exactly_and_their_least_epsilon_is_the_promise():
    """Thousands of numbers in pairs of rows go through enclosures; what is tight to the last digit through rationals."""
    size, answers = 400, 20
    rng = np.random.default_rng(1)
    tails, heads = (rng.integers(0, size, 3 * size).astype(np.int32) for _ in range(2))
    kept = tails != heads
    graph = graphs.DatasetGraph(graphs.NumberNames(size), tails[kept], heads[kept], levels=[level("ln(2)", "0.01")])
    of = (np.arange(size) * answers // size).astype(np.int32)
    orders = tuple(tuple((first + k) % answers for k in range(answers)) for first in range(answers))
    made = solve(Problem(graph, Preferences(tuple(map(str, range(answers))), orders, of), {}, "balanced"))
    assert made.proof == "exact"
    assert made.verdict.epsilon == pytest.approx(np.log(2), abs=1e-12)
    rows = list(made.mechanism.rows.rows)
    number = next(k for k, row in enumerate(rows) if min(row) > 0)
    hair = min(rows[number]) / 10**9
    rows[number] = (rows[number][0] + hair, rows[number][1] - hair, *rows[number][2:])
    nudged = Mechanism(graph, made.mechanism.preferences, SharedRows(tuple(rows), made.mechanism.rows.of))
    assert not check_privacy(nudged).private
