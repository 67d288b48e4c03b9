"""Many answers: floats must keep what is known in closed form, stay private as they are, and enclose the optimum."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from optimaldp.certify.channels import verify_channel
from optimaldp.channels import AnswerGraph, Channel, OptimalMechanism, least_epsilon, optimal_mechanism
from optimaldp.channels.optimal import closed_forms
from optimaldp.channels.optimal.large import large_form
from optimaldp.channels.optimal.proofs import CliquePotentialProof
from optimaldp.errors import ChannelError, NotCertifiedError
from optimaldp.privacy.epsilon import Epsilon


def _prior(size: int, seed: int = 1) -> tuple[Fraction, ...]:
    weights = np.random.default_rng(seed).integers(1, 1000, size).tolist()
    return tuple(Fraction(w, sum(weights)) for w in weights)


def _geometric_with_guesses(graph: AnswerGraph, prior: tuple[Fraction, ...], epsilon: float) -> float:
    """The known optimum on a line, and what no graph with ``D ≥ 0`` may fall below."""
    kernel = np.exp(-epsilon * graph.distances)
    diagonal = np.linalg.solve(kernel, np.ones(len(prior)))
    assert diagonal.min() >= 0
    masses = np.array([float(p) for p in prior])
    return float((kernel * diagonal * masses[:, None]).max(axis=0).sum())


def _is_private(found: OptimalMechanism) -> bool:
    return least_epsilon(found.channel, found.graph).ratio <= found.epsilon.ratio_above(bits=64)


def test_a_large_clique_keeps_its_closed_form() -> None:
    """Utility ``max_k (mass of the top k)/(1+(k−1)t)``, which a channel with all outputs falls far short of."""
    prior = _prior(300)
    found = optimal_mechanism(AnswerGraph.clique(300), "0.7", prior=prior)
    ordered, t = sorted(map(float, prior), reverse=True), math.exp(-0.7)
    known = max(sum(ordered[:k]) / (1 + (k - 1) * t) for k in range(1, 301))
    assert float(found.utility) == pytest.approx(known, rel=1e-9)
    assert found.optimal
    assert found.check()
    assert _is_private(found)
    assert isinstance(found.proof, CliquePotentialProof)


def test_a_proof_on_a_clique_that_proves_nothing() -> None:
    prior = (Fraction(1, 2), Fraction(1, 2))
    half = Fraction(1, 2)
    assert CliquePotentialProof(prior, (Fraction(1, 3),) * 2, half).bound() == Fraction(2, 3)
    assert CliquePotentialProof(prior, (Fraction(1, 4),) * 2, half).bound() == 1  # Φλ falls short of the prior
    assert CliquePotentialProof(prior, (Fraction(-1), Fraction(2)), half).bound() == 1  # a negative potential


@pytest.mark.parametrize("epsilon", [0.2, 0.7])
def test_a_long_line_keeps_the_geometric_mechanism(epsilon: float) -> None:
    graph, prior = AnswerGraph.path(400), _prior(400)
    found = optimal_mechanism(graph, epsilon, prior=prior)
    assert float(found.utility) == pytest.approx(_geometric_with_guesses(graph, prior, epsilon), rel=1e-9)
    assert found.optimal
    assert found.route == "line"
    assert found.check()
    assert _is_private(found)


def test_a_long_line_whose_vertices_come_in_any_order() -> None:
    names = np.random.default_rng(3).permutation(300).tolist()
    graph = AnswerGraph(range(300), pairwise(names))
    prior = _prior(300)
    found = optimal_mechanism(graph, "ln(2)", prior=prior)
    assert float(found.utility) == pytest.approx(_geometric_with_guesses(graph, prior, math.log(2)), rel=1e-9)
    assert _is_private(found)


@pytest.mark.long
def test_a_long_line_with_a_gain_that_falls_with_the_distance() -> None:
    short = optimal_mechanism(AnswerGraph.path(40), "0.7", prior=_prior(40), gain="negdist")
    rough = large_form(
        short.graph, short.epsilon, short.prior, -np.abs(np.subtract.outer(np.arange(40.0), np.arange(40.0)))
    )
    assert short.channel.exact
    assert rough.utility <= short.upper_bound
    assert rough.utility == pytest.approx(float(short.utility), rel=1e-9)
    assert rough.upper_bound >= short.utility
    long = optimal_mechanism(AnswerGraph.path(300), "0.7", prior=_prior(300), gain="negdist")
    assert not long.channel.exact
    assert long.optimal
    assert _is_private(long)


@pytest.mark.long
@pytest.mark.parametrize("graph", [AnswerGraph.ring(200), AnswerGraph.grid(15, 15)], ids=repr)
def test_a_bayes_remap_comes_at_the_end(graph: AnswerGraph) -> None:
    prior = _prior(len(graph.vertices))
    found = optimal_mechanism(graph, 0.7, prior=prior)
    assert float(found.utility) >= _geometric_with_guesses(graph, prior, 0.7) * (1 - 1e-9)
    assert found.utility <= found.upper_bound
    assert _is_private(found)
    assert found.check()


@pytest.mark.long
def test_a_prior_on_a_cube_at_a_small_epsilon_is_served_by_few_outputs() -> None:
    """At a small epsilon most answers are not worth an output: the channel on the few that are comes near the bound."""
    graph = AnswerGraph.hypercube(8)
    found = optimal_mechanism(graph, "0.3", prior=_prior(256))
    assert found.route == "columns"
    assert float(found.utility) > 0.97 * float(found.upper_bound)
    assert float(found.utility) > 1.05 * _geometric_with_guesses(graph, found.prior, 0.3)
    assert _is_private(found)


@pytest.mark.parametrize("seed", range(12))
def test_large_forms_enclose_the_optimum_of_the_program(seed: int) -> None:
    """On small graphs the linear program knows: the float channel is not above it, and the bound not below."""
    generator = np.random.default_rng(seed)
    size = int(generator.integers(5, 10))
    edges = {(int(generator.integers(0, k)), k) for k in range(1, size)}
    edges |= {
        tuple(sorted(generator.choice(size, 2, replace=False).tolist())) for _ in range(int(generator.integers(0, 5)))
    }
    graph, prior = AnswerGraph(range(size), edges), _prior(size, seed)
    epsilon = Epsilon.read(["0.2", "ln(2)", "2"][seed % 3])
    rough = large_form(graph, epsilon, prior)
    exact = optimal_mechanism(graph, epsilon, prior=prior, route="linear-program")
    assert rough.utility <= exact.upper_bound
    assert exact.utility <= rough.upper_bound
    level = least_epsilon(Channel(rough.rows, graph.vertices), graph)
    assert level.ratio <= epsilon.ratio_above(bits=64)
    diagonal = sum(mass * Fraction(rough.rows[y, y]) for y, mass in enumerate(prior))
    assert diagonal >= rough.utility  # every output is the guess that it names


def test_what_is_not_proven_optimal_is_not_called_so() -> None:
    found = optimal_mechanism(AnswerGraph.ring(200), 0.7, prior=_prior(200))
    assert not found.optimal
    assert repr(found).startswith("PrivateMechanism(200 answers, 0.7-DP, utility 0.")
    assert "bound 0." in repr(found)
    assert "not proven optimal" in found.claim
    assert repr(optimal_mechanism(AnswerGraph.ring(200), 0.7)).startswith("OptimalMechanism(")


def test_too_many_answers_for_a_gain_of_ones_own() -> None:
    graph = AnswerGraph.ring(5)
    with pytest.raises(ChannelError, match="too many for a gain of your own"):
        large_form(graph, Epsilon.read(1), _prior(5), np.ones((5, 2)))


@pytest.mark.parametrize("epsilon", ["ln(1.2)", "ln(2)"])
def test_a_ring_is_bounded_by_the_line_that_it_becomes_without_an_edge(epsilon):
    prior = np.random.default_rng(11).dirichlet(np.ones(600))
    best = optimal_mechanism(AnswerGraph.ring(600), epsilon, prior=prior)
    assert float(best.utility) >= 0.99 * float(best.upper_bound)
    assert best.verdict().bound is not None
    assert best.verdict().bound <= Fraction(best.upper_bound) * (1 + Fraction(1, 10**9))


def test_the_cut_ring_bounds_what_the_linear_program_finds():
    weights = [1 + (7 * k) % 11 for k in range(9)]
    prior = [Fraction(w, sum(weights)) for w in weights]
    ring = AnswerGraph.ring(9)
    best = optimal_mechanism(ring, "ln(2)", prior=prior)
    for cut in ([[0, 1]], [[8, 0]], [[4, 3]]):
        proof = {"kind": "theorem", "cut": cut}
        verdict = verify_channel(best.channel, ring, epsilon="ln(2)", prior=prior, certificate=proof)
        assert verdict.bound >= best.utility
    for cut in ([], [[0, 2]], [[0, 1], [4, 5]], "01", [[0]], [["0", "1"]]):
        proof = {"kind": "theorem", "cut": cut}
        verdict = verify_channel(best.channel, ring, epsilon="ln(2)", prior=prior, certificate=proof)
        assert verdict.bound is None
        assert verdict.optimal is False


def test_what_the_referee_does_not_confirm_is_not_handed_out(monkeypatch):
    form = closed_forms.constant_sum

    def truthful(kernel, prior):
        size = len(prior)
        rows = tuple(tuple(Fraction(int(y == z)) for z in range(size)) for y in range(size))
        return replace(form(kernel, prior), rows=rows)

    monkeypatch.setattr(closed_forms, "constant_sum", truthful)
    with pytest.raises(NotCertifiedError):
        optimal_mechanism(AnswerGraph.ring(6), "ln(2)")


@pytest.mark.long
def test_a_gain_of_your_own_on_many_answers_is_refused_rather_than_endless():
    with pytest.raises(ChannelError, match="patience"):
        optimal_mechanism(AnswerGraph.grid(20, 20), "ln(2)", gain="negdist")
