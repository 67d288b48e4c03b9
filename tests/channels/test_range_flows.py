"""Weights on the privacy constraints, each for whole ranges of guesses: what the referee makes of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.certify.channels import potentials as flows
from optimaldp.certify.channels import verify_channel
from optimaldp.channels import AnswerGraph, Channel, optimal_mechanism


def _prior(size: int, seed: int) -> tuple[Fraction, ...]:
    weights = np.random.default_rng(seed).integers(1, 200, size).tolist()
    return tuple(Fraction(w, sum(weights)) for w in weights)


weights = st.lists(
    st.tuples(st.integers(0, 23), st.integers(0, 5), st.integers(1, 6), st.fractions(0, "1/4", max_denominator=40)),
    max_size=12,
)


@pytest.mark.long
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
    listed = [[0, 1, [[1, 4], [8, 9]], 0.013], [4, 5, [[0, 12]], 0.007], [5, 1, 3, 0.011]]
    bounds = []
    for most in (120, 0):
        monkeypatch.setattr(flows, "EXACT_ANSWERS", most)
        told = Channel([[1] + [0] * 11] * 12, graph.vertices)
        certificate = {"kind": "linear-program dual", "flows": listed}
        bounds.append(verify_channel(told, graph, epsilon="ln(2)", prior=prior, certificate=certificate).bound)
    exact, rounded = bounds
    assert exact is not None
    assert rounded is not None
    assert exact < rounded <= exact * (1 + Fraction(1, 10**12))
