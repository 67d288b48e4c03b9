"""Trees with any prior: the program on the edges has the optimum, and the referee bounds it branch by branch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.certify.channels import verify_channel
from optimaldp.channels import AnswerGraph, Channel, least_epsilon, optimal_mechanism
from optimaldp.channels.optimal.large import is_forest, large_form
from optimaldp.privacy.epsilon import Epsilon


def _tree(size: int, seed: int) -> AnswerGraph:
    generator = np.random.default_rng(seed)
    return AnswerGraph(range(size), [(int(generator.integers(0, k)), k) for k in range(1, size)])


def _prior(size: int, seed: int) -> tuple[Fraction, ...]:
    weights = np.random.default_rng(seed).integers(0, 50, size).tolist()
    weights[0] += 1
    return tuple(Fraction(w, sum(weights)) for w in weights)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_the_program_on_the_edges_has_the_optimum_of_the_program_on_all_cells(seed: int) -> None:
    size = 5 + seed
    graph, prior = _tree(size, seed), _prior(size, seed)
    epsilon = Epsilon.read(["0.2", "ln(2)", "2"][seed % 3])
    best = optimal_mechanism(graph, epsilon, prior=prior, route="linear-program")
    form = large_form(graph, epsilon, prior)
    assert form.route in ("tree", "line")
    assert form.utility == pytest.approx(float(best.utility), abs=1e-9)
    assert form.utility <= best.upper_bound
    assert best.utility <= form.upper_bound <= float(best.utility) + 1e-9
    assert least_epsilon(Channel(form.rows, graph.vertices), graph).ratio <= epsilon.ratio_above(bits=64)


def test_a_forest_has_the_optima_of_its_trees() -> None:
    edges = [(0, 1), (0, 2), (0, 3), (5, 6), (5, 7), (5, 8)]
    graph, prior = AnswerGraph(range(9), edges), _prior(9, 3)
    assert is_forest(graph)
    best = optimal_mechanism(graph, "ln(2)", prior=prior, route="linear-program")
    form = large_form(graph, Epsilon.read("ln(2)"), prior)
    assert form.utility == pytest.approx(float(best.utility), abs=1e-9)
    assert form.upper_bound >= best.utility


@pytest.mark.long
@pytest.mark.parametrize(("graph", "epsilon"), [(_tree(600, 4), "ln(2)"), (AnswerGraph.tree(500, 1), 0.1)], ids=repr)
def test_a_large_tree_with_a_random_prior_is_proven_optimal(graph: AnswerGraph, epsilon: object) -> None:
    prior = np.random.default_rng(5).dirichlet(np.ones(len(graph.vertices)))
    found = optimal_mechanism(graph, epsilon, prior=prior)
    assert found.route == "tree"
    assert found.optimal
    assert repr(found).startswith("OptimalMechanism(")
    assert found.verdict().bound is not None
    assert float(found.utility) >= (1 - 1e-7) * float(found.verdict().bound)


numbers = st.fractions(min_value=-1, max_value=1, max_denominator=20)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 5), st.lists(numbers, min_size=6, max_size=6), st.booleans())
def test_a_potential_of_either_sign_never_proves_too_much_on_a_tree(
    seed: int, nudges: list[Fraction], near: bool
) -> None:
    """Whatever numbers the certificate has, the optimum is not above what the referee makes of them."""
    graph, prior = _tree(6, seed), _prior(6, seed)
    best = optimal_mechanism(graph, "ln(2)", prior=prior, route="linear-program")
    potential = nudges
    if near:
        solved = large_form(graph, Epsilon.read("ln(2)"), prior).proof
        assert solved is not None
        start = solved.to_document().get("potential", [0] * 6)
        potential = [Fraction(value) + nudge / 20 for value, nudge in zip(start, nudges)]
    proof = {"kind": "potential", "potential": [str(value) for value in potential]}
    verdict = verify_channel(best.channel, graph, epsilon="ln(2)", prior=prior, certificate=proof)
    assert verdict.bound is not None
    assert verdict.bound >= best.utility


def test_the_referee_weighs_a_negative_branch_by_hand() -> None:
    """A star of two leaves, e^epsilon = 2: v = λ_0 + λ_1/2 − 2·|λ_2| in the middle, and likewise from each leaf."""
    graph = AnswerGraph([0, 1, 2], [(0, 1), (0, 2)])
    prior = ["1/2", "1/2", 0]
    told = Channel([[1, 0, 0]] * 3)
    certificate = {"kind": "potential", "potential": ["1/2", "1/2", "-1/10"]}
    # middle 1/2 + 1/4 − 1/5 = 11/20; leaf 1: 1/2 + (1/2 − 1/5)/2 = 13/20; leaf 2: −1/10 + (1/2 + 1/4)/2 = 11/40
    # stretched by (1/2)/(11/20) = 10/11:  Σλ = 9/10 becomes 9/11
    verdict = verify_channel(told, graph, epsilon="ln(2)", prior=prior, certificate=certificate)
    assert verdict.bound == Fraction(9, 11)
    ring = AnswerGraph.ring(3)
    assert verify_channel(told, ring, epsilon="ln(2)", prior=prior, certificate=certificate).bound is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "x", None])
def test_a_potential_that_is_no_number_proves_nothing(value: object) -> None:
    graph = AnswerGraph([0, 1, 2], [(0, 1), (0, 2)])
    certificate = {"kind": "potential", "potential": ["1/2", value, "-1/10"]}
    verdict = verify_channel(Channel([[1, 0, 0]] * 3), graph, epsilon="ln(2)", certificate=certificate)
    assert verdict.bound is None
    assert verdict.optimal is False
