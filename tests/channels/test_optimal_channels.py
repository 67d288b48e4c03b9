"""Optimal channels: every route against the linear program, tampered proofs, odd epsilons and graphs."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.channels import (
    AnswerGraph,
    Channel,
    Databases,
    least_epsilon,
    optimal_mechanism,
    posterior_gain,
    ring_profile,
)
from optimaldp.channels.optimal import program as lp
from optimaldp.channels.optimal.large import large_form
from optimaldp.channels.optimal.program import DecayKernel, build_program, cell_orbits
from optimaldp.channels.optimal.proofs import PotentialProof, ProgramProof
from optimaldp.channels.vulnerability import identity_gain
from optimaldp.errors import ChannelError, LevelError
from optimaldp.privacy.epsilon import Epsilon


@st.composite
def problems(draw: st.DrawFn) -> tuple[AnswerGraph, str, list[Fraction]]:
    """Small graphs of every shape, also disconnected, with any prior."""
    size = draw(st.integers(2, 5))
    pairs = [(a, b) for a in range(size) for b in range(a)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True))
    weights = draw(st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any))
    ratio = draw(st.sampled_from(["5/4", "3/2", "2", "3", "10"]))
    return AnswerGraph(range(size), edges), f"ln({ratio})", [Fraction(w, sum(weights)) for w in weights]


def _private(found: Any) -> bool:
    return bool(least_epsilon(found.channel, found.graph).ratio <= found.epsilon.ratio_above(bits=64))


@given(problems())
@settings(max_examples=60, deadline=None)
def test_every_route_agrees_with_the_linear_program(problem: tuple[AnswerGraph, str, list[Fraction]]) -> None:
    graph, epsilon, prior = problem
    chosen = optimal_mechanism(graph, epsilon, prior=prior)
    program = optimal_mechanism(graph, epsilon, prior=prior, route="linear-program")
    assert chosen.check()
    assert program.check()
    assert _private(chosen)
    assert chosen.utility == pytest.approx(float(program.utility), abs=1e-7)
    assert chosen.utility <= program.upper_bound
    assert program.utility <= chosen.upper_bound
    assert chosen.optimal
    # the columns are guesses: reading the output any other way gains nothing
    assert posterior_gain(identity_gain(len(prior)), chosen.channel, prior) == chosen.utility


@given(problems(), st.data())
@settings(max_examples=30, deadline=None)
def test_any_gain(problem: tuple[AnswerGraph, str, list[Fraction]], data: st.DataObject) -> None:
    graph, epsilon, prior = problem
    gain = [[data.draw(st.integers(-2, 3)) for _ in range(3)] for _ in prior]
    found = optimal_mechanism(graph, epsilon, prior=prior, gain=gain, guesses=["x", "y", "z"])
    assert found.check()
    assert _private(found)
    assert 0 <= found.gap <= 1e-7
    assert posterior_gain(gain, found.channel, prior) >= found.utility - Fraction(1, 10**7)


@given(st.integers(2, 6), st.data())
@settings(max_examples=30, deadline=None)
def test_the_line_is_universal(size: int, data: st.DataObject) -> None:
    """One geometric mechanism serves every prior and every gain that falls with the distance; other gains go to the program."""
    weights = data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any))
    prior = [Fraction(w, sum(weights)) for w in weights]
    falls = sorted(data.draw(st.lists(st.integers(-5, 5), min_size=size, max_size=size)), reverse=True)
    gain = [[falls[abs(y - z)] for z in range(size)] for y in range(size)]
    line = optimal_mechanism(AnswerGraph.path(size), "ln(3)", prior=prior, gain=gain)
    program = optimal_mechanism(AnswerGraph.path(size), "ln(3)", prior=prior, gain=gain, route="linear-program")
    assert line.route in ("line", "constant-sum", "clique")
    assert line.utility <= program.upper_bound
    assert line.utility >= program.utility


def test_a_gain_that_rises_with_distance_is_not_given_to_the_line() -> None:
    gain = [[abs(y - z) for z in range(4)] for y in range(4)]
    found = optimal_mechanism(AnswerGraph.path(4), "ln(2)", gain=gain)
    assert found.route == "linear-program"
    with pytest.raises(ChannelError, match="does not apply"):
        optimal_mechanism(AnswerGraph.path(4), "ln(2)", gain=gain, route="line")


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, "0.5+ln(2)"])
@pytest.mark.parametrize(
    "graph", [AnswerGraph.ring(6), AnswerGraph.clique(5), AnswerGraph.path(5), AnswerGraph.grid(2, 3)]
)
def test_irrational_levels_are_enclosed(graph: AnswerGraph, epsilon: Any) -> None:
    """The channel is private at epsilon itself (its ratio lies below), the bound holds at epsilon (its ratio lies above)."""
    for route in (None, "linear-program"):
        found = optimal_mechanism(graph, epsilon, route=route)
        assert least_epsilon(found.channel, graph).ratio <= Epsilon.read(epsilon).ratio_below(bits=200)
        assert 0 <= found.gap < 1e-9
        assert found.check()


def test_epsilon_zero_and_infinity() -> None:
    graph, prior = AnswerGraph(range(4), [(0, 1), (2, 3)]), ["0.4", "0.1", "0.2", "0.3"]
    constant = optimal_mechanism(graph, 0, prior=prior)
    assert constant.utility == Fraction(7, 10)  # one guess for each part: 0 and 3
    assert least_epsilon(constant.channel, graph).ratio == 1
    truth = optimal_mechanism(graph, "inf", prior=prior)
    assert truth.utility == 1
    assert optimal_mechanism(AnswerGraph(range(3), []), 1).utility == 1  # no edge, nothing to hide
    with pytest.raises(LevelError, match="negative"):
        optimal_mechanism(graph, -1)


def test_parts_do_not_constrain_each_other() -> None:
    whole = optimal_mechanism(AnswerGraph(range(5), [(0, 1), (1, 2), (3, 4)]), "ln(2)")
    line, pair = optimal_mechanism(AnswerGraph.path(3), "ln(2)"), optimal_mechanism(AnswerGraph.path(2), "ln(2)")
    assert whole.utility == Fraction(3, 5) * line.utility + Fraction(2, 5) * pair.utility
    assert whole.check()
    with pytest.raises(ChannelError, match="connected"):
        optimal_mechanism(AnswerGraph(range(2), []), "ln(2)", gain="negdist")


def test_metric_privacy_on_places() -> None:
    """Geo-indistinguishability: every two places, with their Euclidean distance; the same solver."""
    places = [(0, 0), (0, 1), (1, 0), (2, 2)]
    graph = AnswerGraph.metric(places, lambda a, b: round(math.dist(a, b), 6))
    found = optimal_mechanism(graph, "1/2")
    assert found.check()
    assert found.optimal
    for (a, b), length in graph.lengths.items():
        one, two = found.channel.row(a), found.channel.row(b)
        assert all(float(one[z]) <= math.exp(float(length) / 2) * float(two[z]) * (1 + 1e-12) for z in one)
    closer = optimal_mechanism(AnswerGraph.metric(places, lambda a, b: 1), "1/2")
    assert closer.utility < found.utility


def test_local_privacy_is_randomised_response() -> None:
    found = optimal_mechanism(AnswerGraph.clique(["red", "green", "blue"]), "ln(3)")
    assert found.utility == Fraction(3, 5)
    assert found.channel.row("red") == {"red": Fraction(3, 5), "green": Fraction(1, 5), "blue": Fraction(1, 5)}


def test_tampered_proofs_prove_nothing() -> None:
    found = optimal_mechanism(AnswerGraph.ring(5), "ln(2)")
    assert isinstance(found.proof, PotentialProof)
    less = tuple(value * Fraction(999_999, 10**6) for value in found.proof.potential)
    assert replace(found.proof, potential=less).bound() == 1
    negative = (-found.proof.potential[0], *found.proof.potential[1:])
    assert replace(found.proof, potential=negative).bound() == 1
    assert not replace(found, upper_bound=found.upper_bound - Fraction(1, 10**9)).check()
    rows = [list(row) for row in found.channel.exact_rows]
    rows[0][0] += Fraction(1, 10**6)
    rows[0][1] -= Fraction(1, 10**6)
    assert not replace(found, channel=Channel(rows)).check()


def test_weak_duality_holds_for_any_weights() -> None:
    """The program's bound is a bound whoever chose the weights; a negative weight is refused."""
    generator = np.random.default_rng(3)
    graph = AnswerGraph.grid(2, 2)
    kernel, worth = (
        DecayKernel(graph, Epsilon.read("ln(2)")),
        [[Fraction(int(y == z), 4) for z in range(4)] for y in range(4)],
    )
    program = build_program(kernel, worth)
    best = optimal_mechanism(graph, "ln(2)").utility
    for _ in range(20):
        weights = [Fraction(int(w), 64) for w in generator.integers(0, 8, len(program.ratios))]
        assert program.dual_bound(weights) >= best
    clique = AnswerGraph.clique(5)  # here the constraints go through hubs, whose weights must pay for themselves
    hubs = build_program(
        DecayKernel(clique, Epsilon.read("ln(2)")), [[Fraction(int(y == z), 5) for z in range(5)] for y in range(5)]
    )
    for _ in range(20):
        weights = [Fraction(int(w), 64) for w in generator.integers(0, 8, len(hubs.ratios))]
        assert hubs.dual_bound(weights) >= optimal_mechanism(clique, "ln(2)").utility
    unpaid = [Fraction(int(factor != 1)) for _, _, factor in hubs.ratios]  # all debt, no income: it proves nothing
    assert hubs.dual_bound(unpaid) == 1
    with pytest.raises(ValueError, match="nonnegative"):
        program.dual_bound([Fraction(-1)] * len(program.ratios))


def test_hubs_say_the_same_as_all_pairs() -> None:
    prior = [Fraction(k, 21) for k in range(1, 7)]
    graph = AnswerGraph.clique(6)
    program = build_program(
        DecayKernel(graph, Epsilon.read("ln(3)")), [[prior[y] * int(y == z) for z in range(6)] for y in range(6)]
    )
    assert program.size == 36 + 6
    assert len(program.ratios) == 2 * 36  # all pairs would be 180
    found = optimal_mechanism(graph, "ln(3)", prior=prior, route="linear-program")
    assert found.utility == found.upper_bound == optimal_mechanism(graph, "ln(3)", prior=prior).utility


def test_symmetry_makes_the_program_smaller_and_changes_nothing() -> None:
    ring = AnswerGraph.ring(9)
    gain = [[int(min((y - z) % 9, (z - y) % 9) <= 1) for z in range(9)] for y in range(9)]
    worth = [[Fraction(g, 9) for g in row] for row in gain]
    orbits, used = cell_orbits(ring, worth)
    assert used == 2
    assert int(orbits.max()) + 1 == 5  # distances 0 to 4 instead of 81 cells
    plain = AnswerGraph(range(9), ring.edges)
    reduced, whole = optimal_mechanism(ring, "ln(2)", gain=gain), optimal_mechanism(plain, "ln(2)", gain=gain)
    assert reduced.utility == reduced.upper_bound == whole.utility
    # a prior that breaks the symmetry is noticed
    skewed = [[Fraction(g * (2 if y == 0 else 1), 10) for g in row] for y, row in enumerate(gain)]
    assert int(cell_orbits(ring, skewed)[0].max()) + 1 > 5


def test_repair_makes_any_matrix_private() -> None:
    generator = np.random.default_rng(8)
    for graph in (AnswerGraph.path(5), AnswerGraph.ring(4), AnswerGraph.grid(2, 3), AnswerGraph(range(3), [(0, 1)])):
        kernel = DecayKernel(graph, Epsilon.read("ln(2)"))
        size = len(graph.vertices)
        rough = generator.random((size, size)) * (generator.random((size, size)) < 0.5) + np.eye(size)
        worth = [[Fraction(int(y == z), size) for z in range(size)] for y in range(size)]
        repaired = lp.repair(rough / rough.sum(axis=1, keepdims=True), kernel, worth)
        assert least_epsilon(Channel(repaired, graph.vertices), graph).ratio <= 2


def test_repair_loses_next_to_nothing_when_the_vertex_is_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lp, "exact_optimum", lambda program, solved: None)
    found = optimal_mechanism(AnswerGraph.grid(2, 3), "ln(2)", gain="negdist")
    assert isinstance(found.proof, ProgramProof)
    assert least_epsilon(found.channel, found.graph).ratio <= 2
    assert 0 <= found.gap < 1e-7


@pytest.mark.parametrize("size", [3, 4, 5, 6, 11, 12])
@pytest.mark.parametrize("epsilon", ["ln(2)", "ln(5/4)", 0.3])
def test_ring_profiles(size: int, epsilon: Any) -> None:
    profile, found = ring_profile(size, epsilon), optimal_mechanism(AnswerGraph.ring(size), epsilon)
    assert float(profile.utility) == pytest.approx(float(found.utility), abs=1e-12)
    assert profile.utility <= profile.upper_bound
    assert profile.channel().array == pytest.approx(found.channel.array, abs=1e-9)
    level = least_epsilon(profile.channel(), AnswerGraph.ring(size)).ratio
    assert level <= float(Epsilon.read(epsilon).ratio_above(bits=64))


def test_a_ring_of_thousands_keeps_its_ratios() -> None:
    """Cells that would underflow to zero would mean epsilon = ∞: the floor keeps every ratio."""
    profile = ring_profile(10_001, "ln(2)")
    assert (profile.cells > 0).all()
    ratios = profile.cells / np.roll(profile.cells, 1)
    assert ratios.max() <= 2
    assert float(profile.utility) == pytest.approx(1 / 3)


@pytest.mark.parametrize("epsilon", ["ln(2)", 0.7])
@pytest.mark.parametrize(
    "graph", [AnswerGraph.path(9), AnswerGraph.grid(3, 4), AnswerGraph.tree(2, 2), AnswerGraph.hypercube(3)]
)
def test_the_float_route_encloses_the_exact_one(graph: AnswerGraph, epsilon: Any) -> None:
    size = len(graph.vertices)
    exact = optimal_mechanism(graph, epsilon)
    rough = large_form(graph, Epsilon.read(epsilon), (Fraction(1, size),) * size)
    assert rough.utility <= exact.upper_bound
    assert exact.utility <= rough.upper_bound
    assert rough.upper_bound - rough.utility < 1e-10
    level = least_epsilon(Channel(rough.rows, graph.vertices), graph).ratio
    assert level <= float(Epsilon.read(epsilon).ratio_above(bits=64))


def test_large_graphs_take_the_float_route() -> None:
    found = optimal_mechanism(AnswerGraph.grid(14, 14), "ln(2)")
    assert not found.channel.exact
    assert found.optimal
    assert 0 <= found.gap < 1e-10
    assert found.check()
    skewed = optimal_mechanism(AnswerGraph.tree(2, 7), 0.1)  # D < 0 here: the closed form is not legal
    assert skewed.route == "tree"
    assert skewed.optimal
    assert skewed.check()


def test_reports_and_documents() -> None:
    found = optimal_mechanism(AnswerGraph.path(3), "ln(2)")
    assert repr(found) == "OptimalMechanism(3 answers, ln(2)-DP, utility 0.555556, line)"
    assert found.claim.startswith("optimal for the chance of the right answer")
    document = found.to_document()
    assert document["utility"] == "5/9"
    assert document["certificate"]["kind"] == "potential"
    assert document["rows"][0] == ["2/3", "1/6", "1/6"]


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"prior": ["1/2", "1/2"]}, "prior: '2 numbers' has the wrong length: 3 are needed"),
        ({"prior": ["1/2", "1/2", "1/2"]}, "sum to, 0.5 too much"),
        ({"prior": {0: "1/2", 7: "1/2"}}, "prior: 7 is not a vertex"),
        ({"gain": "best"}, "gain: 'best' is not a gain"),
        ({"gain": [[1, 0]]}, "needs 3 rows"),
        ({"guesses": ["a"]}, "do not fit"),
    ],
)
def test_bad_problems(settings_: dict[str, Any], words: str) -> None:
    with pytest.raises(ChannelError, match=words):
        optimal_mechanism(AnswerGraph.path(3), "ln(2)", **settings_)


def test_databases_as_secrets() -> None:
    """On the graph of databases every mechanism is covered, not only oblivious ones."""
    databases = Databases.of_values((0, 1), 2)
    found = optimal_mechanism(databases.graph(), "ln(2)")
    assert found.utility == Fraction(4, 9)  # (x/(1+x))^2: Theorem 1's extremal channel
    assert found.channel.min_entropy_leakage() == pytest.approx(math.log2(16 / 9))


def test_the_graph_designer_attains_the_unrestricted_optimum() -> None:
    """Majority of three: the program over all datasets and the designer on the dataset graph meet at 17/24."""
    import optimaldp as odp
    from optimaldp.channels import compare_with_all
    from optimaldp.designing.choosing import choose_boundary

    graph = odp.graphs.votes(3, level=odp.level("ln(2)", 0))
    designed = choose_boundary(graph, odp.graphs.majority)
    channel = Channel.from_mechanism(designed.mechanism)
    right = [[int(name.count("1") >= 2), int(name.count("1") < 2)] for name in channel.inputs]
    both = compare_with_all(lambda votes: sum(votes) >= 2, Databases.of_values((0, 1), 3), "ln(2)")
    assert posterior_gain(right, channel) == both.unrestricted.utility == Fraction(17, 24)
    assert both.gain == Fraction(1, 24)
    assert both.to_document() == {"oblivious": "2/3", "unrestricted": "17/24"}


def test_peer_finds_the_same_utility() -> None:
    qif = pytest.importorskip("qif")
    prior = [Fraction(k, 21) for k in (1, 6, 2, 5, 3, 4)]
    masses, step = np.array([float(p) for p in prior]), math.log(2)
    theirs = qif.mechanism.d_privacy.min_loss_given_d(
        masses, 6, lambda a, b: step * abs(a - b), lambda a, b: float(abs(a - b))
    )
    distances = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    loss = float((masses[:, None] * np.asarray(theirs) * distances).sum())
    ours = optimal_mechanism(AnswerGraph.path(6), "ln(2)", prior=prior, gain="negdist")
    assert -float(ours.utility) == pytest.approx(loss, abs=1e-7)
