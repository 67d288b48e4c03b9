"""The fair design of two answers: golden numbers, a progressive-filling oracle, nothing dominates it, infinite epsilon."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fair_problems import chances_of, filled, most_gained, random_problem

import optimaldp as odp
from optimaldp.designing import Status, solve
from optimaldp.designing.solving import NoRoomError
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import How
from optimaldp.privacy import ApproximateDP, Bound, Epsilon

GOLDEN = json.loads((Path(__file__).parents[1] / "vectors/raised.json").read_text())["two_answers_fair"]
QUICK, BULK = range(60), range(60, 460)


def promises(pairs: list[list[str]]) -> tuple[Bound, ...]:
    return tuple(Bound(Epsilon(Fraction(0), Fraction(ratio)), Fraction(delta)) for ratio, delta in pairs)


def golden_problem(instance: dict[str, Any]) -> Problem:
    ahead = {(u, v): promises(pairs) for u, v, pairs in instance["arcs"]}
    edges = [(str(u), str(v), ApproximateDP(level, ahead[v, u])) for (u, v), level in ahead.items() if u < v]
    graph = DatasetGraph.from_edges(map(str, range(instance["n"])), edges)
    return Problem(graph, Preferences.of_truth(("0", "1"), np.array(instance["true_answer"])), {}, "fair")


def exact_chances(found: odp.Design) -> list[Fraction]:
    assert found.mechanism is not None
    favourites = found.problem.preferences.favourites
    return [found.mechanism.rows.row(v)[int(a)] for v, a in enumerate(favourites)]


@pytest.mark.parametrize("instance", GOLDEN, ids=lambda x: x["name"])
@pytest.mark.parametrize("rule", ["fair", "balanced"])
def test_golden_numbers(instance: dict[str, Any], rule: str) -> None:
    found = solve(replace(golden_problem(instance), boundary=rule))
    assert exact_chances(found) == [Fraction(p) for p in instance[rule]]
    if rule == "fair":
        assert (found.claim, found.gap, found.status) == ("fair", 0.0, "optimal")


def check_against_the_oracles(problem: Problem) -> None:
    found = solve(problem)
    if found.status is Status.INFEASIBLE or (problem.fixed and found.status is Status.OPTIMAL):
        return
    assert found.claim == "fair"
    assert found.gap == 0
    chances = chances_of(problem, found.mechanism)
    assert np.abs(chances - filled(problem)).max() < 1e-4
    assert most_gained(problem, chances) < 1e-6
    try:
        floats = solve(problem, exact=False)
    except NoRoomError:  # fixed values that floats cannot hold beside an epsilon of 0
        assert problem.fixed
        return
    assert floats.claim == "fair"
    assert floats.gap is not None
    assert floats.gap < 1e-12
    assert np.abs(chances_of(problem, floats.mechanism) - chances).max() < 1e-12
    if not problem.fixed:
        balanced = chances_of(problem, solve(replace(problem, boundary="balanced")).mechanism)
        assert (chances >= balanced - 1e-12).all()


@pytest.mark.parametrize("seed", QUICK)
def test_progressive_filling_and_domination(seed: int) -> None:
    check_against_the_oracles(random_problem(seed, fixed=seed % 3 == 0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", BULK)
def test_progressive_filling_and_domination_in_bulk(seed: int) -> None:
    check_against_the_oracles(random_problem(seed, fixed=seed % 2 == 0, most=9))


def test_it_does_not_depend_on_names_or_the_order_of_edges() -> None:
    for seed in range(20):
        problem = random_problem(seed)
        graph, rng = problem.graph, np.random.default_rng(seed)
        new = rng.permutation(len(graph)).astype(np.int32)
        shuffled = rng.permutation(graph.edge_count)
        moved = DatasetGraph(
            [str(i) for i in range(len(graph))],
            new[graph.tails][shuffled],
            new[graph.heads][shuffled],
            levels=graph.levels,
            level_of_edge=graph.level_of_edge[shuffled],
        )
        truth = np.empty(len(graph), dtype=np.int32)
        truth[new] = problem.preferences.favourites
        again = exact_chances(solve(Problem(moved, Preferences.of_truth(("a", "b"), truth), {}, "fair")))
        assert [again[i] for i in new.tolist()] == exact_chances(solve(problem))


def test_the_default_of_both_doors() -> None:
    from optimaldp.mechanisms.documents import read_problem

    graph = odp.graphs.line(3).with_levels(["ln(2)", "ln(3)"], [0, 1])
    truth = {"0": "blue", "1": "red", "2": "blue"}
    document = {
        "answers": ["blue", "red"],
        "edges": [["0", "1", {"epsilon": "ln(2)"}], ["1", "2", {"epsilon": "ln(3)"}]],
        "prefers": truth,
    }
    found, read = odp.design(graph, truth), solve(read_problem(document))
    assert exact_chances(found) == exact_chances(read) == [Fraction(2, 3), Fraction(2, 3), Fraction(7, 9)]
    assert repr(found) == repr(read) == "Design(fair, 3 datasets × 2 answers, 2 levels, dijkstra, proven exactly)"
    assert "optimal" not in found.status_line
    assert read.to_document()["claim"] == "fair"


@pytest.mark.parametrize("exact", [True, False])
def test_an_infinite_epsilon_is_refused_only_where_it_decides(exact: bool) -> None:
    graph = odp.graphs.line(3).with_levels(["inf", "ln(2)"], [0, 1])
    truth = {"0": "a", "1": "b", "2": "a"}
    # The last edge gives 2/3 to both of its ends; the first dataset may then have any chance below 1.
    with pytest.raises(ProblemError, match="no max-min fair mechanism exists"):
        odp.design(graph, truth, exact=exact)
    ring = odp.graphs.ring(3).with_levels(["inf", "ln(2)"], [0, 1, 1])
    found = odp.design(ring, {"0": "a", "1": "b", "2": "b"}, exact=exact)
    assert found.claim == "fair"
    assert np.abs(chances_of(found.problem, found.mechanism) - np.array([2 / 3, 5 / 6, 2 / 3])).max() < 1e-9


def test_gaussian_levels() -> None:
    graph = odp.graphs.line(4).with_levels([odp.level(mu=1), odp.level(mu="1/2")], [0, 1, 0])
    found = odp.design(graph, {"0": "a", "1": "b", "2": "a", "3": "b"})
    from scipy.stats import norm

    low = norm.cdf(0.25)
    high = norm.cdf(norm.ppf(1 - low) + 1)
    assert found.claim == "fair"
    assert np.abs(chances_of(found.problem, found.mechanism) - np.array([high, low, low, high])).max() < 1e-12


def test_one_level_is_the_balanced_design_in_closed_form() -> None:
    graph, truth = odp.graphs.votes(5), odp.graphs.majority
    fair = odp.design(graph, truth, epsilon="0.3", delta="1/1000")
    balanced = odp.design(graph, truth, epsilon="0.3", delta="1/1000", boundary="balanced")
    assert fair.mechanism.to_array().tolist() == balanced.mechanism.to_array().tolist()  # type: ignore[union-attr]
    assert fair.route == "closed-form"
    settling = fair.certificate.proof.settling  # type: ignore[union-attr]
    assert settling is not None
    assert How.PAIR in settling.how


def test_three_answers_are_refused() -> None:
    truth = {"0": ["a", "b", "c"], "1": ["b", "a", "c"]}
    with pytest.raises(ProblemError, match="is a rule for two answers"):
        odp.design(odp.graphs.line(2), truth, epsilon=1, boundary="fair")


@pytest.mark.parametrize("instance", GOLDEN, ids=lambda x: x["name"])
@pytest.mark.parametrize("first", [0, 1])
def test_raising_a_mechanism_of_your_own_in_turn(instance: dict[str, Any], first: int) -> None:
    balanced = solve(replace(golden_problem(instance), boundary="balanced"))
    raised = odp.boost(balanced.mechanism, first=str(first))  # type: ignore[arg-type]
    assert exact_chances(raised) == [Fraction(p) for p in instance[f"first_{first}_raised"]]
    assert raised.witness["order"] == [str(first), str(1 - first)]


def test_only_private_mechanisms_are_raised() -> None:
    line = odp.graphs.line(2, level="ln(2)")
    sure = {"0": {"a": 1}, "1": {"b": 1}}
    with pytest.raises(ProblemError, match="is not private"):
        odp.boost(odp.Mechanism.read(line, {"0": "a", "1": "b"}, sure))


@pytest.mark.parametrize("seed", range(15))
def test_what_is_raised_in_turn_is_undominated(seed: int) -> None:
    problem = random_problem(seed)
    balanced = solve(replace(problem, boundary="balanced"))
    for first in problem.answers:
        raised = odp.boost(balanced.mechanism, first=first)  # type: ignore[arg-type]
        assert most_gained(problem, chances_of(problem, raised.mechanism)) < 1e-6


def test_a_networkx_graph_keeps_its_nodes() -> None:
    import networkx as nx

    cells = nx.grid_2d_graph(2, 3)
    nx.set_edge_attributes(cells, "ln(2)", "epsilon")
    truth = {cell: "north" if cell[0] == 0 else "south" for cell in cells}
    found = odp.design(cells, truth)
    assert found.mechanism is not None
    assert set(found.mechanism) == set(cells.nodes)
    assert found.mechanism[(0, 1)]["north"] == Fraction(2, 3)
    assert set(found.mechanism.to_networkx().nodes) == set(cells.nodes)
    assert found.mechanism.sample((0, 0)) in ("north", "south")
    fixed = odp.design(cells, truth, fixed={(0, 0): {"north": "0.6", "south": "0.4"}})
    assert fixed.mechanism is not None
    assert fixed.mechanism[(0, 0)]["north"] == Fraction(3, 5)
    numbers = odp.design(nx.path_graph(4), lambda node: node >= 2, answers=["yes", "no"], epsilon="ln(2)")
    assert numbers.mechanism is not None
    assert numbers.mechanism[3]["yes"] == numbers.mechanism["3"]["yes"] == Fraction(5, 6)
    mixed = nx.Graph([(1, "1"), ("1", (1,))])
    both = odp.design(mixed, {1: "a", "1": "b", (1,): "b"}, epsilon="ln(2)")
    assert both.mechanism is not None
    assert both.mechanism[1]["a"] == both.mechanism["1"]["b"] == Fraction(2, 3)
    assert both.mechanism[(1,)]["b"] == Fraction(5, 6)


def test_a_sparse_matrix_has_numbers_as_nodes() -> None:
    from scipy.sparse import csr_array

    matrix = csr_array(np.array([[0, 0.5, 0], [0.5, 0, 1.0], [0, 1.0, 0]]))
    found = odp.design(matrix, {0: "a", 1: "b", 2: "b"})
    assert found.mechanism is not None
    assert list(found.mechanism) == [0, 1, 2]
    assert len(found.problem.graph.levels) == 2
    one = odp.design(matrix, {0: "a", 1: "b", 2: "b"}, epsilon="ln(2)")
    assert one.mechanism is not None
    assert one.mechanism[2]["b"] == Fraction(5, 6)
    with pytest.raises(odp.errors.GraphError, match="is no graph of datasets"):
        odp.design([[0, 1], [1, 0]], {0: "a", 1: "b"}, epsilon=1)


def test_a_graph_without_edges_is_sure() -> None:
    found = odp.design(DatasetGraph.from_edges(["x", "y"], []), {"x": "a", "y": "b"})
    assert exact_chances(found) == [1, 1]
    assert found.claim == "fair"
