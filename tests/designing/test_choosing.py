"""Choosing boundaries, boosting, lexicographic optima, baselines and the dominance order."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from golden import vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle, random_problem

import optimaldp as odp
from optimaldp.certify import verify
from optimaldp.designing import Design, Status, design, solve
from optimaldp.designing.baselines import exponential, geometric_threshold, permute_and_flip, randomised_response
from optimaldp.designing.choosing import boost, choose_boundary, lexicographic
from optimaldp.designing.two_answers import balanced_row, balanced_value, frontier
from optimaldp.errors import MechanismError, ProblemError
from optimaldp.graphs import DatasetGraph, Preferences, clique, line, majority, values, votes
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Claimed, Mechanism
from optimaldp.mechanisms.documents import read_problem
from optimaldp.mechanisms.dominance import (
    Relation,
    compare,
    expected_utility,
    hamming,
)
from optimaldp.privacy import all_of, directed, level

BASELINES = [randomised_response, exponential, permute_and_flip, geometric_threshold]


def voting(n: int, epsilon: str = "ln(2)", delta: str = "0") -> tuple[object, Preferences]:
    graph = votes(n, level=level(epsilon, delta))
    return graph, Preferences.read(graph, majority)


def test_the_first_example() -> None:
    found = odp.design(votes(3), majority, epsilon="ln(2)", delta="0.1")
    assert found.mechanism is not None
    assert found.mechanism["111"] == {"yes": Fraction(9, 10), "no": Fraction(1, 10)}
    assert found.mechanism["112"] == {"yes": Fraction(7, 10), "no": Fraction(3, 10)}
    assert repr(found) == "Design(fair, 8 datasets × 2 answers, (ln(2), 0.1)-DP, closed-form, proven exactly)"


@pytest.mark.parametrize(
    "promise", [level("ln(2)"), level("ln(3)", "1/10"), level(1, "1e-6"), level(0), level(mu=1)], ids=str
)
def test_balanced_is_where_the_step_meets_itself(promise: odp.privacy.Level) -> None:
    m = balanced_value(promise)
    assert Fraction(1, 2) <= m <= 1
    assert m <= promise.step_below(1 - m, bits=400)
    assert promise.step_below(1 - m - Fraction(1, 2**40), bits=400) < m + Fraction(1, 2**40)


def test_balanced_takes_the_strictest_of_several_bounds() -> None:
    assert balanced_value(all_of(level("ln(3)"), level("ln(2)", "1/10"))) == Fraction(7, 10)
    assert balanced_value(directed(forward=level("ln(2)"), backward=level("ln(9)"))) == Fraction(2, 3)


def test_balanced_has_no_value_without_a_finite_epsilon() -> None:
    with pytest.raises(ProblemError, match="no largest value"):
        balanced_value(level("inf"))


@pytest.mark.parametrize("q", [2, 3, 5])
def test_touching_regions_get_randomised_response(q: int) -> None:
    promise = level("ln(2)", "1/50")
    graph = clique(q, level=promise)
    rows = {name: dict(zip(map(str, range(q)), balanced_row(promise, i, q))) for i, name in enumerate(graph.names)}
    prefers = {name: [str(i), *(str(j) for j in range(q) if j != i)] for i, name in enumerate(graph.names)}
    assert verify(Mechanism.read(graph, Preferences.read(graph, prefers, list(map(str, range(q)))), rows)).private
    top = rows[graph.names[0]]["0"]
    nudged = {
        **rows,
        graph.names[0]: {
            "0": top + Fraction(1, 10**9),
            "1": rows[graph.names[0]]["1"] - Fraction(1, 10**9),
            **{k: v for k, v in rows[graph.names[0]].items() if k not in "01"},
        },
    }
    assert not verify(Mechanism.read(graph, Preferences.read(graph, prefers, list(map(str, range(q)))), nudged)).private


def test_three_touching_answers_by_closed_form() -> None:
    graph = values(3, 2, level=level("ln(2)"))
    order = {name: [name[0], *(c for c in "123" if c != name[0])] for name in graph.names}
    found = design(graph, order, answers=list("123"))
    assert found.status is Status.OPTIMAL
    assert found.certificate is not None
    assert found.certificate.check().optimal is True


@given(st.fractions("1/20", 1, max_denominator=60))
def test_the_frontier_is_private_and_tight(value: Fraction) -> None:
    promise = level("ln(2)", "1/20")
    own, other = frontier(promise, value)
    fixed = {"0": {"a": own, "b": 1 - own}}
    found = design(line(2, level=promise), {"0": "a", "1": "b"}, fixed=fixed)
    assert found.mechanism is not None
    assert found.mechanism["1"]["b"] == other


def test_the_best_boundary_for_a_prior() -> None:
    graph, preferences = voting(3)
    assert expected_utility(choose_boundary(graph, preferences)._mechanism()) == Fraction(17, 24)
    sure = choose_boundary(graph, preferences, prior={"111": 1})
    assert sure.mechanism is not None
    assert sure.mechanism["111"]["yes"] == 1


def test_classes_know_how_many_datasets_they_have() -> None:
    edges = [(a, b, level("ln(2)")) for a, b in ("01", "02", "03", "13", "23", "35", "45")]
    graph = DatasetGraph.from_edges(map(str, range(6)), edges)
    orders = {name: ["2", "0", "1"] if name in "04" else ["0", "2", "1"] for name in graph.names}
    found = choose_boundary(graph, orders, answers=["0", "1", "2"], values=[2, 1])
    assert found.witness["expected"] == "61/6"  # 10, if a class counted once and its arcs were a set
    assert found.claim is Claimed.UNDOMINATED
    assert found.certificate is not None
    assert found.certificate.check()
    assert odp.Design.from_json(found.to_json()).claim is Claimed.UNDOMINATED


@pytest.mark.parametrize("seed", range(30))
def test_no_private_mechanism_has_a_larger_expected_value(seed: int) -> None:
    problem, rng = random_problem(seed), random.Random(seed)
    oracle = Oracle(problem)
    graph, preferences, q = problem.graph, problem.preferences, len(problem.answers)
    masses = {name: rng.choice((0, 1, 1, 2)) for name in graph.names}
    worth = sorted((rng.randint(0, 3) for _ in range(q)), reverse=True)
    found = choose_boundary(graph, preferences, prior=masses, values=worth)
    objective = np.zeros(len(graph) * q)
    for vertex, name in enumerate(graph.names):
        for value, answer in zip(worth, preferences.order(vertex)):
            objective[oracle.at(vertex, answer)] = masses[name] * value
    most = oracle.maximum(objective)
    assert most is not None
    assert float(Fraction(found.witness["expected"])) == pytest.approx(most[0], abs=1e-7)
    assert found.certificate is not None
    assert found.certificate.check().claim == Claimed.UNDOMINATED


def test_values_must_fall_along_the_preference() -> None:
    graph, preferences = voting(3)
    with pytest.raises(ProblemError, match="must not increase"):
        choose_boundary(graph, preferences, values=[0, 1])


@pytest.mark.parametrize(("prior", "words"), [({"nobody": 1}, "not a dataset"), ({"111": -1}, "is negative")])
def test_a_prior_weighs_known_datasets(prior: dict[str, int], words: str) -> None:
    graph, preferences = voting(3)
    with pytest.raises(ProblemError, match=words):
        choose_boundary(graph, preferences, prior=prior)


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("epsilon", ["ln(2)", "0.7"])
def test_baselines_are_private_and_never_better(baseline: object, epsilon: str) -> None:
    graph, preferences = voting(5, epsilon)
    usual = baseline(graph, preferences)  # type: ignore[operator]
    assert verify(usual).private
    balanced = solve(odp.graphs.problem.Problem(graph, preferences, {}, "balanced"))
    assert balanced.mechanism is not None
    relation = compare(balanced.mechanism, usual).relation
    if baseline is geometric_threshold and epsilon == "ln(2)":
        assert relation is Relation.EQUAL  # a threshold on a count: nothing to gain
    elif baseline is not geometric_threshold:
        assert relation is Relation.BETTER


@pytest.mark.parametrize("baseline", BASELINES)
def test_a_boosted_mechanism_dominates_the_original(baseline: object) -> None:
    graph, preferences = voting(5)
    usual = baseline(graph, preferences)  # type: ignore[operator]
    better = boost(usual)
    assert better.mechanism is not None
    assert compare(better.mechanism, usual).relation in (Relation.BETTER, Relation.EQUAL)
    assert verify(better.mechanism).private


def _lexicographic(orders: dict[str, str], given: tuple[str, str, str, str], edges: list[str]) -> Design:
    graph = DatasetGraph.from_edges(list(orders), [tuple(edge) for edge in edges], level=level("ln(4/3)"))
    fixed = {graph.number("z"): tuple(map(Fraction, given))}
    return lexicographic(
        Problem(graph, Preferences.read(graph, {v: list(o) for v, o in orders.items()}, "abcd"), fixed)
    )


def test_second_prefix_sums_are_compared_before_any_of_them_is_kept() -> None:
    """What w has at most beside the largest sum of v is less than what w could have: nothing is largest for both."""
    orders = {"v": "dabc", "w": "bcad", "z": "bcad", "x": "dabc"}
    found = _lexicographic(orders, ("1/2", "1/10", "7/20", "1/20"), ["vz", "wx", "vw"])
    assert found.status is Status.NO_OPTIMUM
    assert "907/1440 for its 2 most wanted answers" in found.witness["reason"]


def test_parallel_edges_make_one_promise_in_a_proof_of_single_datasets() -> None:
    orders = {"v": "acbd", "z": "acbd", "w": "cabd"}
    found = _lexicographic(orders, ("0", "3/5", "2/5", "0"), ["vz", "zw", "wz"])
    assert (found.status, found.claim, found.gap) == (Status.OPTIMAL, "undominated", 0)


def test_a_lexicographic_optimum_without_a_dominance_optimum() -> None:
    instance = next(x for x in vectors("graphs", "solve") if x["id"] == "R14")
    problem = read_problem(instance["problem"])
    assert solve(problem).status is Status.NO_OPTIMUM
    found = lexicographic(problem)
    assert found.status is Status.OPTIMAL
    assert found.mechanism is not None
    assert list(found.mechanism["v"].values()) == [Fraction(p) for p in instance["lexicographic_optimum_v"]]
    assert found.claim is Claimed.UNDOMINATED  # never the greatest, which does not exist here
    again = odp.Design.from_json(found.to_json())
    assert (again.status, again.claim, again.gap) == (found.status, found.claim, 0.0)


def test_incomparable_mechanisms_name_their_evidence() -> None:
    instance = next(x for x in vectors("graphs", "dominance"))
    graph = line(2, level=level("ln(2)", "1/10"))
    prefers = {"0": ["a", "b"], "1": ["b", "a"]}
    made = []
    for key in ("M1", "M2"):
        rows = {n: dict(zip(prefers[n], instance[key][str(i + 1)])) for i, n in enumerate(graph.names)}
        made.append(Mechanism.read(graph, Preferences.read(graph, prefers, ["a", "b"]), rows))
    found = compare(*made)
    assert found.relation is Relation.INCOMPARABLE
    assert {found.better_at, found.worse_at} == {"0", "1"}
    assert compare(made[0], made[0]).relation is Relation.EQUAL


def test_utilities_by_hand() -> None:
    graph = line(2, level=level("ln(2)"))
    rows = {"0": {"1": "3/4", "4": "1/4"}, "1": {"1": "1/2", "4": "1/2"}}
    mechanism = Mechanism.read(graph, Preferences.read(graph, {"0": "1", "1": "4"}, ["1", "4"]), rows)
    assert expected_utility(mechanism) == Fraction(5, 8)
    assert expected_utility(mechanism, lambda wanted, given: -abs(int(wanted) - int(given))) == Fraction(-9, 8)
    certain = {"0": Fraction(1)}
    assert expected_utility(
        mechanism, lambda wanted, given: -((int(wanted) - int(given)) ** 2), prior=certain
    ) == Fraction(-9, 4)
    with pytest.raises(MechanismError, match="above the more wanted"):
        expected_utility(mechanism, lambda wanted, answer: -hamming(wanted, answer))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_dominance_means_no_reasonable_utility_is_lost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, preferences = voting(3)
    usual = exponential(graph, preferences)
    better = boost(usual).mechanism
    assert better is not None
    low, high = sorted(rng.integers(-50, 50, 2).tolist())
    worth = lambda wanted, answer: high if wanted == answer else low  # noqa: E731
    assert expected_utility(better, worth) >= expected_utility(usual, worth)
