"""The referee of channels: it passes what is right, rejects each named wrong twin, and no certificate makes it lie."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optimaldp.certify.channels import verify_channel
from optimaldp.certify.channels.potentials import _by_relaxation, _by_steps, _exact_kernel
from optimaldp.certify.channels.reading import Factors, read_edges
from optimaldp.channels import AnswerGraph, Channel, OptimalMechanism, optimal_mechanism
from optimaldp.errors import ChannelError
from optimaldp.privacy.epsilon import Epsilon

GRAPHS = {
    "path": AnswerGraph.path(5),
    "ring": AnswerGraph.ring(6),
    "clique": AnswerGraph.clique(6),
    "grid": AnswerGraph.grid(2, 3),
    "tree": AnswerGraph.tree(2, 2),
    "cube": AnswerGraph.hypercube(3),
    "parts": AnswerGraph(range(5), [(0, 1), (2, 3), (3, 4)]),
    "metric": AnswerGraph(range(4), {(0, 1): 1, (1, 2): "1/2", (2, 3): 2, (0, 3): "3/2"}),
}


def _prior(size: int, seed: int = 2) -> list[Fraction]:
    weights = np.random.default_rng(seed).integers(1, 20, size).tolist()
    return [Fraction(w, sum(weights)) for w in weights]


def _judge(found: OptimalMechanism, **changes: Any) -> Any:
    settings: dict[str, Any] = {
        "epsilon": found.epsilon,
        "prior": found.prior,
        "gain": found.gain,
        "certificate": found.proof.to_document() if found.proof else None,
    }
    channel, graph = changes.pop("channel", found.channel), changes.pop("graph", found.graph)
    return verify_channel(channel, graph, **(settings | changes))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("epsilon", ["ln(2)", "0.3", "2", "0", "inf"])
@pytest.mark.parametrize("prior", ["uniform", "skewed"])
@pytest.mark.parametrize("gain", ["binary", "rows"])
def test_what_is_found_is_confirmed(name: str, epsilon: str, prior: str, gain: str) -> None:
    """Potentials, flows through orbits and hubs, theorems: every kind of proof that a route gives is understood."""
    graph = GRAPHS[name]
    size = len(graph.vertices)
    table = "binary" if gain == "binary" else [[(3 * y + 5 * z + y * z) % 7 for z in range(3)] for y in range(size)]
    found = optimal_mechanism(graph, epsilon, prior=_prior(size) if prior == "skewed" else None, gain=table)
    verdict = found.verdict()
    assert verdict.private
    assert verdict.optimal
    assert verdict.utility == found.utility
    assert verdict.bound is not None
    assert verdict.bound <= found.upper_bound
    assert verdict.epsilon <= float(found.epsilon) * (1 + 1e-11) + 1e-14
    assert found.check()


@pytest.mark.long
@pytest.mark.parametrize(
    "graph", [AnswerGraph.path(150), AnswerGraph.ring(200), AnswerGraph.clique(300), AnswerGraph.grid(13, 13)], ids=repr
)
def test_what_is_found_in_floats_is_confirmed(graph: AnswerGraph) -> None:
    found = optimal_mechanism(graph, "0.7", prior=_prior(len(graph.vertices)))
    verdict = found.verdict()
    assert not found.channel.exact
    assert verdict.private
    assert verdict.optimal == found.optimal
    assert verdict.bound is not None
    assert float(verdict.bound) == pytest.approx(float(found.upper_bound), rel=1e-10)
    assert float(verdict.utility) == pytest.approx(float(found.utility), rel=1e-10)
    uniform = optimal_mechanism(graph, "0.7").verdict()
    assert uniform.private
    assert uniform.optimal


def _nudged(channel: Channel, row: int, amount: Fraction) -> Channel:
    """A little mass of one row moved from its least output to its likeliest."""
    rows = [list(cells) for cells in channel.exact_rows]
    high, low = (
        max(range(len(rows[row])), key=rows[row].__getitem__),
        min(range(len(rows[row])), key=rows[row].__getitem__),
    )
    rows[row][high] += amount
    rows[row][low] -= amount
    return Channel(rows, channel.inputs, outputs=channel.outputs)


@pytest.mark.parametrize("name", ["path", "ring", "clique", "grid", "cube"])
def test_wrong_twins_of_privacy(name: str) -> None:
    found = optimal_mechanism(GRAPHS[name], "ln(2)")
    nudged = _judge(found, channel=_nudged(found.channel, 1, Fraction(1, 10**6)))
    assert not nudged.private
    assert not nudged
    assert nudged.optimal is False
    assert nudged.worst_edge is not None
    assert "breaks epsilon = ln(2)" in nudged.reason
    assert not _judge(found, channel=_nudged(found.channel, 0, Fraction(1, 10**60))).private
    assert not _judge(found, epsilon="ln(1999999/1000000)").private
    assert _judge(found, epsilon="ln(2000001/1000000)").private
    shuffled = Channel([found.channel.rows[i] for i in [1, 0, *range(2, len(found.prior))]], found.channel.inputs)
    assert name == "clique" or not _judge(found, channel=shuffled).private


@pytest.mark.parametrize("graph", [AnswerGraph.path(2), AnswerGraph.clique(3), AnswerGraph.ring(4)], ids=repr)
def test_an_irrational_factor_is_met_to_the_last_bit(graph: AnswerGraph) -> None:
    epsilon = Epsilon.read("0.7")
    for ratio, private in ((epsilon.ratio_below(bits=300), True), (epsilon.ratio_above(bits=300), False)):
        size = len(graph.vertices)
        low = Fraction(1, 10)
        rows = [[low, 1 - low]] * (size - 1) + [[low * ratio, 1 - low * ratio]]
        assert verify_channel(Channel(rows), graph, epsilon=epsilon).private == private


def test_nothing_against_something_is_never_private() -> None:
    for rows in ([["1", "0"], ["1/2", "1/2"]], [[f"1/{10**400}", 1 - Fraction(1, 10**400)], [0, 1]]):
        for epsilon in (5, "ln(1000000)"):
            verdict = verify_channel(Channel(rows), AnswerGraph.path(2), epsilon=epsilon)
            assert not verdict.private
            assert verdict.epsilon == np.inf
        assert verify_channel(Channel(rows), AnswerGraph.path(2), epsilon="inf").private


def test_floats_are_the_distributions_that_they_are() -> None:
    """Rows that miss one by rounding are divided by their sum first: here that is what breaks the promise."""
    rows = np.array([[2 / 3, 1 / 3], [1 / 3, 2 / 3]])
    fine = verify_channel(Channel(rows * [[1], [1 + 4e-10]]), AnswerGraph.path(2), epsilon="ln(2)")
    assert fine.private == verify_channel(Channel(rows), AnswerGraph.path(2), epsilon="ln(2)").private
    stretched = np.array([[2 / 3, 1 / 3 - 4e-10], [1 / 3, 2 / 3]])  # 2/3 against 1/3 as written, more as a distribution
    assert not verify_channel(Channel(stretched), AnswerGraph.path(2), epsilon="ln(2)").private


def test_wrong_twins_of_optimality() -> None:
    found = optimal_mechanism(AnswerGraph.ring(6), "ln(2)")
    assert _judge(found).optimal
    constant = Channel([[1, 0]] * 6, found.channel.inputs)
    assert _judge(found, channel=constant).optimal is False
    assert _judge(found, channel=constant).private
    doubled = optimal_mechanism(AnswerGraph.ring(6), "ln(3/2)").channel  # private, and made for a smaller epsilon
    assert _judge(found, channel=doubled).optimal is False
    assert _judge(found, prior=["1/2", "1/2", 0, 0, 0, 0]).optimal is False
    assert _judge(found, graph=AnswerGraph.path(6), certificate={"kind": "theorem"}).optimal is False


@pytest.mark.parametrize(
    "certificate",
    [
        {},
        {"kind": "because"},
        {"kind": "theorem"},
        {"kind": "potential"},
        {"kind": "potential", "potential": ["1/6"] * 5},
        {"kind": "potential", "potential": ["-1", "1", "1", "1", "1", "1"]},
        {"kind": "potential", "potential": ["a"] * 6},
        {"kind": "linear-program dual", "flows": "none"},
        {"kind": "linear-program dual", "flows": [[0, 1, 0]]},
        {"kind": "linear-program dual", "flows": [[0, 3, 0, "1"]]},
        {"kind": "linear-program dual", "flows": [[0, 1, 6, "1"]]},
        {"kind": "linear-program dual", "flows": [[0, 1, 0, "-1"]]},
        {"kind": "linear-program dual", "flows": [[True, 1, 0, "1"]]},
    ],
    ids=str,
)
def test_certificates_that_prove_nothing(certificate: dict[str, Any]) -> None:
    verdict = _judge(optimal_mechanism(AnswerGraph.ring(6), "ln(2)"), certificate=certificate)
    assert verdict.private
    assert verdict.optimal is False
    assert verdict.bound is None
    assert verdict.reason.startswith("the certificate proves nothing")


@pytest.mark.parametrize("seed", range(30))
def test_no_certificate_makes_the_bound_too_small(seed: int) -> None:
    """Weak duality asks nothing of the numbers: the optimum of the linear program is never above what they give."""
    generator = np.random.default_rng(seed)
    graph = list(GRAPHS.values())[seed % len(GRAPHS)]
    size, epsilon = len(graph.vertices), ["ln(2)", "0.3", "1.5"][seed % 3]
    found = optimal_mechanism(graph, epsilon, prior=_prior(size, seed), route="linear-program")
    potential = (generator.random(size) * (generator.random(size) < 0.8)).tolist()
    bound = _judge(found, certificate={"kind": "potential", "potential": potential}).bound
    assert bound is not None
    assert bound >= found.utility
    ends = graph.edge_indices.tolist()
    flows = [
        [*(pair if generator.random() < 0.5 else pair[::-1]), int(generator.integers(size)), float(generator.random())]
        for pair in (ends[int(generator.integers(len(ends)))] for _ in range(12))
    ]
    bound = _judge(found, certificate={"kind": "linear-program dual", "flows": flows}).bound
    assert bound is not None
    assert bound >= found.utility


def test_what_is_no_channel_is_refused() -> None:
    graph = AnswerGraph.path(2)

    class Odd:
        inputs, outputs = (0, 1), ("a", "b")

        def __init__(self, rows: Any) -> None:
            self.rows = rows

    for rows, words in (
        ([[1, "1/10"], [1, 0]], "sums to"),
        ([[2, -1], [1, 0]], "not a probability"),
        ([[1], [1]], "number of outputs"),
        (np.array([[0.5, 0.6], [0.5, 0.5]]), "sums to"),
        (np.array([[0.5, np.nan], [0.5, 0.5]]), "not a probability"),
    ):
        with pytest.raises(ChannelError, match=words):
            verify_channel(Odd(rows), graph, epsilon=1)
    with pytest.raises(ChannelError, match="are not the inputs"):
        verify_channel(Odd([[1, 0], [1, 0]]), AnswerGraph.path(3), epsilon=1)
    with pytest.raises(ChannelError, match="are not a prior"):
        verify_channel(Odd([[1, 0], [1, 0]]), graph, epsilon=1, prior=["1/2", "1/3"])


def test_the_referee_needs_no_designer() -> None:
    code = (
        "import sys, optimaldp.certify.channels\n"
        "assert not [name for name in sys.modules if name.startswith('optimaldp.channels')]"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_the_referee_says_in_words() -> None:
    verdict = optimal_mechanism(AnswerGraph.ring(6), "ln(2)").verdict()
    assert repr(verdict) == "ChannelVerdict(private, optimal, least epsilon 0.693147, utility 0.380952)"
    assert "no private channel exceeds 0.380952381" in verdict.reason
    assert verdict.gap == 0
    document = verdict.to_document()
    assert document["utility"] == document["bound"] == "8/21"
    assert document["private"] is document["optimal"] is True
    without = verify_channel(Channel([["1/2", "1/2"]] * 2), AnswerGraph.path(2), epsilon=0)
    assert repr(without) == "ChannelVerdict(private, least epsilon 0, utility 0.5)"
    assert without.gap is None
    assert bool(without)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_kernels_of_the_referee_agree_and_are_never_above(name: str) -> None:
    """Steps counted one by one, relaxation along all edges, and rationals along the likeliest paths."""
    graph = GRAPHS[name]
    size, edges, factors = len(graph.vertices), read_edges(graph), Factors(Epsilon.read("0.7"))
    exact = _exact_kernel(size, edges, factors)
    rough = [_by_relaxation(size, edges, factors)]
    if graph.plain:
        rough.append(_by_steps(size, edges, float(1 / factors.between(Fraction(1))[1])))
    for kernel in rough:
        assert kernel == pytest.approx(np.array([[float(cell) for cell in row] for row in exact]), rel=1e-12)
        assert all(Fraction(cell) <= phi for row, phis in zip(kernel.tolist(), exact) for cell, phi in zip(row, phis))
