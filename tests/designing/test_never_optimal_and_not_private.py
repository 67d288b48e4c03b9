"""Whatever the designer calls optimal has passed the referee, with any number of answers and any level."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import optimaldp as odp
from optimaldp import graphs
from optimaldp.designing import Proof, Status
from optimaldp.designing import solving as gate
from optimaldp.designing.result import Outcome, Route
from optimaldp.errors import NotCertifiedError
from optimaldp.graphs import Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import SharedRows

FOUR = ("a", "b", "c", "d")


def rotated(count: int):
    """Along a line the favourite changes three times, and the others follow in a circle."""

    def order(name: str) -> list[str]:
        first = int(name) * 4 // count
        return [FOUR[(first + k) % 4] for k in range(4)]

    return order


@pytest.mark.parametrize("boundary", ["balanced", "undominated"])
@pytest.mark.parametrize(
    ("count", "epsilon", "delta"), [(20, 0.5, 0), (60, 0.1, "1e-6"), (120, 1, 0), (90, "0.7", "1e-3")]
)
def test_long_chains_of_four_answers(count, epsilon, delta, boundary):
    found = odp.design(
        graphs.line(count), rotated(count), answers=FOUR, epsilon=epsilon, delta=delta, boundary=boundary
    )
    assert found.status is Status.OPTIMAL
    assert found.proof is Proof.EXACT
    assert found.certificate.check().private
    assert "proven exactly" in repr(found)
    assert found.to_document()["proof"] == "exact"


def test_numbers_too_long_to_keep_are_rounded_against_slack():
    """Rational steps need no slack until their numbers are too long: with ln(3/2) after some 2,500 steps."""
    found = odp.design(
        graphs.line(2700), lambda n: list("abc") if n == "0" else list("bca"), answers=tuple("abc"), epsilon="ln(3/2)",
        boundary={"a>b>c": {"a": "0.4", "b": "0.3", "c": "0.3"}, "b>c>a": {"b": "0.3", "c": "0.3", "a": "0.4"}},
    )  # fmt: skip
    assert found.status is Status.OPTIMAL
    assert found.proof is Proof.EXACT


def random_tree(seed: int, size: int, q: int) -> tuple[graphs.DatasetGraph, Preferences]:
    rng = np.random.default_rng(seed)
    parents = [int(rng.integers(max(0, v - 6), v)) for v in range(1, size)]
    edges = [(str(u), str(v + 1), odp.level(str(rng.choice(["0.3", "0.5", "1"])))) for v, u in enumerate(parents)]
    graph = graphs.DatasetGraph.from_edges([str(v) for v in range(size)], edges)
    order = tuple(map(int, rng.permutation(q)))
    return graph, Preferences(tuple("abcd"[:q]), (order,), np.zeros(size, dtype=np.int32))


@pytest.mark.parametrize("seed", range(12))
def test_trees_with_irrational_levels_go_by_the_envelope(seed):
    graph, preferences = random_tree(seed, 60, 3 + seed % 2)
    root = {"a": "0.2", "b": "0.5", "c": "0.3"}  # the fourth answer, if there is one, is never given
    found = odp.design(graph, preferences, fixed={"0": root})
    assert found.status is Status.OPTIMAL
    assert found.route == "envelope"
    assert found.proof is Proof.EXACT


def test_what_the_referee_does_not_pass_is_an_error():
    found = odp.design(graphs.line(4), lambda n: "yes" if int(n) < 2 else "no", epsilon="ln(2)")
    broken = SharedRows(tuple(tuple(reversed(row)) for row in found.mechanism.rows.rows), found.mechanism.rows.of)
    outcome = Outcome(Status.OPTIMAL, Route.CLOSED_FORM, broken, found.certificate.proof)
    with pytest.raises(NotCertifiedError, match="referee"):
        gate.passed(found.problem, outcome)


def test_a_chain_beyond_every_visible_probability_stands_still():
    """At epsilon 5 the error is below 10^-1200 after 560 steps: from there on one row serves all datasets, and is private."""
    found = odp.design(graphs.line(4000), lambda n: "a" if int(n) < 2000 else "b", answers=("a", "b"), epsilon=5)
    assert found.status is Status.OPTIMAL
    assert found.verdict.private
    assert len(found.mechanism.rows.rows) < 1200
    assert found.mechanism["0"] == found.mechanism["100"]
    assert 0 < found.mechanism["0"]["b"] < found.mechanism["1900"]["b"]


def several_levels(count: int, answers: int, regions: int) -> Problem:
    """A line whose edges have three levels in a fixed disorder."""
    levels = odp.level("0.3"), odp.level("ln(2)"), odp.level("1")
    kinds = np.random.default_rng(1).integers(0, 3, count - 1).astype(np.int32)
    path = np.arange(count)
    graph = graphs.DatasetGraph([str(v) for v in path], path[:-1], path[1:], levels=levels, level_of_edge=kinds)
    orders = tuple(tuple((k * answers // regions + a) % answers for a in range(answers)) for k in range(regions))
    wants = Preferences(tuple(f"a{k}" for k in range(answers)), orders, (path * regions // count).astype(np.int32))
    return Problem(graph, wants, {}, "balanced")


@pytest.mark.long
@pytest.mark.parametrize(("answers", "regions"), [(4, 2), (5, 4)])
def test_far_from_the_boundary_floats_end_and_privacy_does_not(answers, regions):
    """Beyond the faintest float the answers of a row would vanish one by one, each between two neighbours."""
    found = odp.solve(several_levels(4200, answers, regions), exact=False)
    assert found.status is Status.OPTIMAL
    assert found.route == "envelope"
    assert found.proof is Proof.FLOATING_POINT
    assert found.verdict.optimal
    far = found.mechanism["0"]
    assert all(0 < p < Fraction(1, 2**800) for answer, p in far.items() if answer != "a0")


def test_what_is_impossible_stays_so_far_from_the_boundary():
    problem = several_levels(4200, 4, 1)
    row = (Fraction(1, 2), Fraction(1, 4), Fraction(0), Fraction(1, 4))
    found = odp.solve(Problem(problem.graph, problem.preferences, {4199: row}), exact=False)
    assert found.verdict.optimal
    assert found.proof is Proof.FLOATING_POINT  # what floats break would be done again in rationals
    assert found.mechanism["0"]["a2"] == 0
    assert found.mechanism["0"]["a1"] > 0
