"""Grids with any prior: the program on sums bounds every channel, and what it is shared out to is private and near."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.certify.channels import flows, verify_channel
from optimaldp.channels import AnswerGraph, Channel, least_epsilon, optimal_mechanism
from optimaldp.channels.optimal import grid
from optimaldp.channels.optimal.grid import Shape, grid_shape, solve_grid
from optimaldp.channels.optimal.large import large_form
from optimaldp.privacy.epsilon import Epsilon


def _prior(size: int, seed: int) -> tuple[Fraction, ...]:
    weights = np.random.default_rng(seed).integers(1, 200, size).tolist()
    return tuple(Fraction(w, sum(weights)) for w in weights)


def test_what_is_a_grid() -> None:
    assert grid_shape(AnswerGraph.grid(3, 5)) == Shape(3, 5)
    whole = AnswerGraph.grid(3, 3)
    others = [
        AnswerGraph.path(9),
        AnswerGraph.grid(1, 9),
        AnswerGraph(whole.vertices, whole.edges[1:]),
        AnswerGraph(whole.vertices[::-1], whole.edges),
        AnswerGraph(whole.vertices, [*whole.edges[1:], ((0, 0), (2, 2))]),
        AnswerGraph(whole.vertices, dict.fromkeys(whole.edges, 2)),
        AnswerGraph([("a", "b"), ("a", "c")], [(("a", "b"), ("a", "c"))]),
    ]
    assert [grid_shape(graph) for graph in others] == [None] * len(others)


@pytest.mark.parametrize("epsilon", ["0.3", "ln(2)", "2"])
@pytest.mark.parametrize("unknowns", [0, 12_000])
def test_sums_enclose_the_optimum_of_the_program_on_all_cells(
    epsilon: str, unknowns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the least reach and with one that tells all places apart, where the bound is the optimum."""
    monkeypatch.setattr(grid, "_MOST_UNKNOWNS", unknowns)
    graph, prior, level = AnswerGraph.grid(3, 4), _prior(12, 3), Epsilon.read(epsilon)
    best = optimal_mechanism(graph, epsilon, prior=prior, route="linear-program")
    form = large_form(graph, level, prior)
    assert 0.97 * float(best.utility) <= form.utility <= best.upper_bound
    assert best.utility <= form.upper_bound <= float(best.utility) * (1.01 if unknowns == 0 else 1 + 1e-7)
    assert least_epsilon(Channel(form.rows, graph.vertices), graph).ratio <= level.ratio_above(bits=64)


def test_a_large_grid_with_a_random_prior_comes_near_its_bound() -> None:
    graph = AnswerGraph.grid(12, 15)
    found = optimal_mechanism(graph, "ln(2)", prior=np.random.default_rng(5).dirichlet(np.ones(180)))
    assert found.route == "grid"
    assert float(found.utility) > 0.96 * float(found.upper_bound)
    assert repr(found).startswith("PrivateMechanism(")
    verdict = found.verdict()
    assert verdict.private
    assert verdict.bound is not None
    assert float(verdict.bound) == pytest.approx(float(found.upper_bound), rel=1e-9)


def test_a_smooth_prior_keeps_its_closed_form() -> None:
    centre = np.exp(-(((np.arange(180) - 90) / 45) ** 2) / 2)
    found = optimal_mechanism(AnswerGraph.grid(12, 15), "ln(2)", prior=centre / centre.sum())
    assert found.route == "closed-form"
    assert found.optimal


weights = st.lists(
    st.tuples(st.integers(0, 23), st.integers(0, 5), st.integers(1, 6), st.fractions(0, "1/4", max_denominator=40)),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(weights, st.integers(0, 3))
def test_flows_on_ranges_never_prove_too_much(drawn: list[tuple[int, int, int, Fraction]], seed: int) -> None:
    """Whatever weights a certificate has; and ranges say what single guesses say."""
    graph, prior = AnswerGraph.grid(2, 3), _prior(6, seed)
    best = optimal_mechanism(graph, "ln(2)", prior=prior, route="linear-program")
    arcs = [pair for a, b in graph.edge_indices.tolist() for pair in ((a, b), (b, a))]
    ranges: list[object] = []
    single: list[object] = []
    for arc, start, length, weight in drawn:
        one, other = arcs[arc % len(arcs)]
        stop = min(start + length, 6)
        ranges.append([one, other, [[start, stop]], str(weight)])
        single += [[one, other, z, str(weight)] for z in range(start, stop)]
    verdicts = [
        verify_channel(
            best.channel,
            graph,
            epsilon="ln(2)",
            prior=prior,
            certificate={"kind": "linear-program dual", "flows": listed},
        )
        for listed in (ranges, single)
    ]
    assert verdicts[0].bound is not None
    assert verdicts[0].bound == verdicts[1].bound >= best.utility


def test_a_guess_that_a_likelier_neighbour_replaces_needs_no_flow() -> None:
    """A line of three at e^epsilon = 2: the middle is three times as likely as its neighbours, so it is the only guess."""
    graph, told = AnswerGraph.path(3), Channel([[0, 1, 0]] * 3)
    certificate = {"kind": "linear-program dual", "flows": [[1, 0, 1, "1/10"], [1, 2, 1, "1/10"]]}
    verdict = verify_channel(
        told,
        graph,
        epsilon="ln(2)",
        prior=["1/5", "3/5", "1/5"],
        certificate={"kind": "linear-program dual", "flows": []},
    )
    assert verdict.bound == Fraction(3, 5)
    assert verdict.optimal
    moved = verify_channel(told, graph, epsilon="ln(2)", prior=["1/5", "3/5", "1/5"], certificate=certificate)
    assert moved.bound == Fraction(4, 5)  # 2/5 in the middle, 1/5 at each end
    even = verify_channel(told, graph, epsilon="ln(4)", prior=["1/5", "3/5", "1/5"], certificate=certificate)
    assert even.bound == Fraction(2, 5) + 2 * Fraction(4, 10)


@pytest.mark.parametrize(
    "guesses", [[[0, 7]], [[-1, 2]], [[2, 2]], [[0]], ["01"], [[0, "1"]], [[0.0, 1.0]], "all", None, [[True, 2]]]
)
def test_ranges_that_are_none_prove_nothing(guesses: object) -> None:
    graph = AnswerGraph.grid(2, 3)
    listed = [[0, 1, guesses, "1/10"]]
    verdict = verify_channel(
        Channel([[1] + [0] * 5] * 6, graph.vertices),
        graph,
        epsilon="ln(2)",
        certificate={"kind": "linear-program dual", "flows": listed},
    )
    assert verdict.bound is None
    assert verdict.optimal is False


def test_the_referee_in_floats_says_what_it_says_in_rationals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many answers are weighed in floats, rounded up."""
    graph, prior = AnswerGraph.grid(3, 4), _prior(12, 3)
    certificate = solve_grid(Shape(3, 4), np.array([float(p) for p in prior]), 2.0, 2.0).proof.to_document()
    bounds = []
    for most in (120, 0):
        monkeypatch.setattr(flows, "EXACT_ANSWERS", most)
        told = Channel([[1] + [0] * 11] * 12, graph.vertices)
        bounds.append(verify_channel(told, graph, epsilon="ln(2)", prior=prior, certificate=certificate).bound)
    exact, rounded = bounds
    assert exact is not None
    assert rounded is not None
    assert exact * (1 + Fraction(1, 2**51)) < rounded <= exact * (1 + Fraction(1, 10**12))
