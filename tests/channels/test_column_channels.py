"""Any graph and prior with many answers: steps on columns come near the optimum, and a weighed potential shows how near."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.certify.channels import verify_channel, weighing
from optimaldp.channels import AnswerGraph, Channel, least_epsilon, optimal_mechanism
from optimaldp.channels.optimal import columns, large
from optimaldp.channels.optimal.large import large_form
from optimaldp.channels.optimal.proofs import (
    CoveringGuesses,
    RoundedPotentialProof,
    WeighedPotentialProof,
    cover_prior,
    useful_guesses,
)
from optimaldp.privacy.epsilon import Epsilon


def _drawn_prior(size: int, seed: int, kind: str = "uniform") -> list[Fraction]:
    generator = np.random.default_rng(seed)
    weights = {
        "uniform": generator.integers(1, 200, size),
        "peaked": 1 + (200 * generator.random(size) ** 6).astype(int),
        "zeros": generator.integers(0, 3, size) * generator.integers(1, 50, size) + (np.arange(size) == 0),
    }[kind].tolist()
    return [Fraction(weight, sum(weights)) for weight in weights]


def _torus(rows: int, across: int) -> AnswerGraph:
    places = list(product(range(rows), range(across)))
    return AnswerGraph(
        places, [(p, q) for r, c in places for p in [(r, c)] for q in [((r + 1) % rows, c), (r, (c + 1) % across)]]
    )


def _king(rows: int, across: int) -> AnswerGraph:
    places = list(product(range(rows), range(across)))
    near = [(p, (p[0] + a, p[1] + b)) for p in places for a, b in ((0, 1), (1, 0), (1, 1), (1, -1))]
    return AnswerGraph(places, [pair for pair in near if pair[1] in places])


def _rook(rows: int, across: int) -> AnswerGraph:
    places = list(product(range(rows), range(across)))
    return AnswerGraph(places, [(p, q) for p, q in combinations(places, 2) if p[0] == q[0] or p[1] == q[1]])


def _random(size: int, edges: int, seed: int) -> AnswerGraph:
    generator = np.random.default_rng(seed)
    pairs = {(int(generator.integers(0, k)), k) for k in range(1, size)}
    while len(pairs) < edges:
        a, b = sorted(generator.integers(0, size, 2).tolist())
        pairs |= {(a, b)} - {(a, a)}
    return AnswerGraph(range(size), sorted(pairs))


graphs = st.one_of(
    st.sampled_from([AnswerGraph.grid(3, 4), AnswerGraph.hypercube(3), _torus(3, 4), _king(3, 4), AnswerGraph.ring(7)]),
    st.builds(_random, st.integers(5, 12), st.integers(12, 14).map(lambda m: min(m, 10)), st.integers(0, 99)),
    st.just(AnswerGraph(range(9), [(0, 1), (1, 2), (2, 0), (2, 3), (4, 5), (5, 6), (6, 7), (7, 4), (8, 4)])),
)


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(
    graphs,
    st.sampled_from(["0.2", "ln(2)", "1", "3"]),
    st.integers(0, 99),
    st.sampled_from(["uniform", "peaked", "zeros"]),
)
def test_the_optimum_of_the_whole_program_lies_between_value_and_bound(
    graph: AnswerGraph, epsilon: str, seed: int, kind: str
) -> None:
    prior, level = _drawn_prior(len(graph.vertices), seed, kind), Epsilon.read(epsilon)
    best = optimal_mechanism(graph, epsilon, prior=prior, route="linear-program")
    form = large_form(graph, level, tuple(prior))
    assert 0.98 * float(best.utility) <= form.utility <= best.upper_bound
    assert best.utility <= form.upper_bound <= 1.02 * float(best.utility)
    assert form.proof is not None
    certificate = form.proof.to_document()
    verdict = verify_channel(
        Channel(form.rows, graph.vertices), graph, epsilon=epsilon, prior=prior, certificate=certificate
    )
    assert verdict.private
    assert verdict.bound == form.upper_bound or not isinstance(form.proof, WeighedPotentialProof)
    assert least_epsilon(Channel(form.rows, graph.vertices), graph).ratio <= level.ratio_above(bits=64)


@pytest.mark.long
@pytest.mark.parametrize(
    ("graph", "epsilon"),
    [
        (AnswerGraph.grid(12, 15), "ln(2)"),
        (AnswerGraph.hypercube(7), "1"),
        (_torus(11, 12), "0.5"),
        (_king(10, 12), "1"),
        (_random(150, 300, 1), "1.5"),
    ],
    ids=["grid", "cube", "torus", "king", "random"],
)
def test_a_hundred_answers_and_more_come_within_one_percent_of_their_bound(graph: AnswerGraph, epsilon: str) -> None:
    size = len(graph.vertices)
    found = optimal_mechanism(graph, epsilon, prior=np.random.default_rng(5).dirichlet(np.ones(size)))
    assert found.route == "columns"
    assert 0.99 * float(found.upper_bound) <= float(found.utility) < float(found.upper_bound)
    assert repr(found).startswith("PrivateMechanism(")
    verdict = found.verdict()
    assert verdict.private
    assert verdict.bound == found.upper_bound
    assert verdict.optimal is False


def test_a_smooth_prior_keeps_its_closed_form() -> None:
    centre = np.exp(-(((np.arange(180) - 90) / 45) ** 2) / 2)
    found = optimal_mechanism(AnswerGraph.grid(12, 15), "ln(2)", prior=centre / centre.sum())
    assert found.route == "closed-form"
    assert found.optimal


def test_without_a_compiler_the_small_program_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, prior = AnswerGraph.grid(4, 5), _drawn_prior(20, 2)
    monkeypatch.setattr(columns, "numba_if_installed", lambda: None)
    best = optimal_mechanism(graph, "ln(2)", prior=prior, route="linear-program")
    form = large.large_form(graph, Epsilon.read("ln(2)"), tuple(prior))
    assert form.route == "closed-form"
    assert isinstance(form.proof, RoundedPotentialProof)
    assert form.utility <= best.upper_bound
    assert best.utility <= form.upper_bound <= 1.1 * float(best.utility)


def test_a_guess_that_a_likelier_neighbour_replaces_is_no_column() -> None:
    masses = np.array([0.05, 0.19, 0.4, 0.2, 0.16, 0.0])
    distances = AnswerGraph.path(6).distances
    assert useful_guesses(1.9**-distances, masses).tolist() == [2, 4]
    assert useful_guesses(2.2**-distances, masses).tolist() == [1, 2, 3, 4]


def test_a_guess_is_replaced_from_afar_as_well() -> None:
    """Answer 2 is two steps from answer 0, which is likelier by more than the factor squared; answer 1 between is no guess."""
    masses = np.array([0.8, 0.0, 0.15, 0.05])
    assert useful_guesses(2.0 ** -AnswerGraph.path(4).distances, masses).tolist() == [0]
    assert useful_guesses(2.4 ** -AnswerGraph.path(4).distances, masses).tolist() == [0, 2]


def test_a_part_that_is_never_the_truth_has_one_guess() -> None:
    apart = AnswerGraph(range(5), [(0, 1), (2, 3), (3, 4)])
    kernel = np.where(np.isfinite(apart.distances), 2.0**-apart.distances, 0.0)
    assert useful_guesses(kernel, np.array([0.5, 0.5, 0, 0, 0])).tolist() == [0, 1, 2]


def _covered(graph: AnswerGraph, prior: list[Fraction], ratio: float) -> tuple[columns.ColumnProblem, CoveringGuesses]:
    problem = columns.ColumnProblem(graph, graph.distances.astype(np.int64), tuple(prior), Epsilon.read("ln(2)"), ratio)
    return problem, cover_prior(ratio**-graph.distances, problem.masses)


def test_the_small_program_covers_the_prior_and_names_the_guesses() -> None:
    graph, prior = AnswerGraph.hypercube(5), _drawn_prior(32, 3)
    problem, covering = _covered(graph, prior, 1.3)
    kernel = 1.3**-graph.distances
    assert (kernel @ covering.potential >= problem.masses - 1e-12).all()
    assert (kernel[:, covering.guesses] @ covering.weights <= 1 + 1e-9).all()
    value = float(problem.masses[covering.guesses] @ covering.weights)
    assert covering.potential.sum() == pytest.approx(value, rel=1e-9)
    made = covering.guesses[covering.weights > 0]
    assert 1 < len(made) < len(covering.guesses) - 1 < 31
    assert covering.promising(1).tolist() == made.tolist()
    one_more = np.setdiff1d(covering.promising(len(made) + 1), made)
    left = covering.weights <= 0
    assert one_more.tolist() == [covering.guesses[left][covering.excess[left].argmin()]]
    assert covering.weights_of(made).tolist() == covering.weights[covering.weights > 0].tolist()


def test_the_first_prices_carry_the_whole_potential_to_every_guess() -> None:
    """What the edges bring into a guess, and its own share, is what the potential reaches there; nothing is lost between."""
    graph, ratio = _king(3, 4), 1.4
    problem, covering = _covered(graph, _drawn_prior(12, 5), ratio)
    program = problem.program(covering.guesses)
    program.begin_at(covering)
    kernel, held = ratio**-graph.distances, covering.potential * 12
    _, forth, back = program._state
    for j, guess in enumerate(covering.guesses.tolist()):
        load = kernel[:, guess] * held
        for (one, other), there, here in zip(graph.edge_indices.tolist(), forth[0, :, j], back[0, :, j]):
            load[one] += there - here  # forth is the price of M[one] <= x M[other]: it takes from the one farther away
            load[other] += here - there
        assert load[guess] == pytest.approx(kernel[guess] @ held, rel=1e-5)
        assert np.delete(load, guess) == pytest.approx(np.zeros(11), abs=1e-6)


def test_an_epsilon_that_floats_cannot_tell_from_none_is_served() -> None:
    """Rows of Φ that are all the same in floats have no inverse: the likeliest guess alone is nearly the best channel."""
    prior = _drawn_prior(144, 2)
    found = optimal_mechanism(AnswerGraph.grid(12, 12), "1/1000000000000", prior=prior)
    assert found.check()
    assert float(found.utility) == pytest.approx(float(max(prior)), rel=1e-6)
    assert float(found.upper_bound) == pytest.approx(float(max(prior)), rel=1e-6)


@pytest.mark.long
def test_narrowing_leaves_what_rows_consist_of() -> None:
    """A potential that is far too high reaches more than the prior everywhere: no column is worth keeping by that alone."""
    graph = AnswerGraph.grid(4, 5)
    problem, covering = _covered(graph, _drawn_prior(20, 2), 2.0)
    program = problem.program(covering.guesses)
    program.take(100)
    program._levels = np.full(20, 20.0)
    kept = columns._worth_keeping(problem, program)
    assert (program.rows[:, kept].max(axis=1) > 0.05).all()


@pytest.mark.long
@pytest.mark.parametrize(
    ("graph", "epsilon"),
    [(_random(150, 1200, 3), "0.7"), (_rook(11, 12), "0.7"), (AnswerGraph.hypercube(7), "0.3")],
    ids=["random", "rook", "cube"],
)
def test_where_answers_are_a_few_steps_apart_the_covering_is_nearly_reached(graph: AnswerGraph, epsilon: str) -> None:
    size = len(graph.vertices)
    found = optimal_mechanism(graph, epsilon, prior=np.random.default_rng(5).dirichlet(np.ones(size)))
    assert found.route == "columns"
    assert isinstance(found.proof, RoundedPotentialProof)
    assert 0.99 * float(found.upper_bound) <= float(found.utility) < float(found.upper_bound)
    assert found.verdict().private


@pytest.mark.long
def test_a_part_that_is_never_the_truth_has_rows_as_well() -> None:
    pairs = [(k, k + 1) for k in range(129) if k % 65 != 64]
    apart = AnswerGraph(range(130), [*pairs, (0, 64), (0, 30), (65, 129)])
    prior = _drawn_prior(65, 1) + [Fraction(0)] * 65
    found = optimal_mechanism(apart, "0.7", prior=prior)
    assert found.check()
    assert float(found.utility) >= 0.98 * float(found.upper_bound)


def _least(graph: AnswerGraph, potential: list[float], guess: int, ratio: float) -> float:
    """The least of ``Σ λ φ`` over all φ that keep every factor and are one at the guess, by a solver."""
    from scipy.optimize import linprog

    size = len(potential)
    lines = []
    for a, b in graph.edge_indices.tolist():
        for y, other in ((a, b), (b, a)):
            line = np.zeros(size)
            line[y], line[other] = 1.0, -ratio
            lines.append(line)
    fixed = np.eye(size)[guess : guess + 1]
    solved = linprog(potential, A_ub=lines, b_ub=np.zeros(len(lines)), A_eq=fixed, b_eq=[1.0], bounds=(0, None))
    assert solved.status == 0
    return float(solved.fun)


def _neighbours(graph: AnswerGraph) -> list[Any]:
    from optimaldp.certify.channels.reading import read_edges

    return read_edges(graph)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(graphs, st.sampled_from([1.3, 2.0, 6.0]), st.integers(0, 10**6))
def test_weighing_finds_the_least_that_columns_leave_of_a_potential(
    graph: AnswerGraph, ratio: float, seed: int
) -> None:
    """Never more than the least, and with the least flows under the potential hardly less."""
    generator = np.random.default_rng(seed)
    size = len(graph.vertices)
    raw = generator.normal(0.4, 1.0, size)
    arcs, weights, potential = columns._flows_under(graph, raw, ratio)
    prior = np.full(size, 1e3)  # a target that is never reached: weigh to the end
    lifted, reached, guesses = weighing.weigh_potential(potential, arcs, weights, _neighbours(graph), ratio, prior)
    assert guesses.tolist() == list(range(size))
    assert np.allclose(lifted, potential, atol=1e-9)
    least = np.array([_least(graph, lifted.tolist(), guess, ratio) for guess in range(size)])
    assert (reached <= least + 1e-7 * (1 + np.abs(least))).all()
    assert (reached >= least - 1e-6 - 0.02 * np.abs(least)).all()


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 33), st.fractions(0, "1/3", max_denominator=30)), max_size=8),
    st.lists(st.fractions("-1/5", "1/3", max_denominator=60), min_size=12, max_size=12),
    st.integers(0, 3),
)
def test_flows_beside_a_potential_never_prove_too_much(
    drawn: list[tuple[int, Fraction]], potential: list[Fraction], seed: int
) -> None:
    """Whatever numbers a certificate has."""
    graph, prior = AnswerGraph.grid(3, 4), _drawn_prior(12, seed)
    arcs = [pair for a, b in graph.edge_indices.tolist() for pair in ((a, b), (b, a))]
    certificate = {
        "kind": "potential",
        "potential": [str(value) for value in potential],
        "flows": [[*arcs[arc], str(weight)] for arc, weight in drawn],
    }
    told = Channel([[1] + [0] * 11] * 12, graph.vertices)
    bound = verify_channel(told, graph, epsilon="ln(2)", prior=prior, certificate=certificate).bound
    assert bound is not None
    assert bound >= _OPTIMA[seed] - Fraction(1, 10**12)


_OPTIMA = [
    optimal_mechanism(AnswerGraph.grid(3, 4), "ln(2)", prior=_drawn_prior(12, seed), route="linear-program").utility
    for seed in range(4)
]


@pytest.mark.parametrize(
    "listed",
    ["all", [[0, 1]], [[0, 5, 0.1]], [[0, 1, -0.1]], [["0", 1, 0.1]], [[0, 1, float("nan")]], [[True, 0, 0.1]], [0]],
)
def test_flows_that_are_none_prove_nothing(listed: object) -> None:
    graph = AnswerGraph.grid(2, 3)
    certificate = {"kind": "potential", "potential": [0.2] * 6, "flows": listed}
    told = Channel([[1] + [0] * 5] * 6, graph.vertices)
    verdict = verify_channel(told, graph, epsilon="ln(2)", certificate=certificate)
    assert verdict.bound is None
    assert verdict.optimal is False


def test_flows_beside_a_potential_speak_of_edges_of_one_length() -> None:
    graph = AnswerGraph(range(3), {(0, 1): 1, (1, 2): 2, (0, 2): 2})
    certificate = {"kind": "potential", "potential": [0.3] * 3, "flows": []}
    verdict = verify_channel(Channel([[1, 0, 0]] * 3), graph, epsilon="ln(2)", certificate=certificate)
    assert verdict.bound is None
    assert "edges of one length" in verdict.reason


def test_a_potential_below_zero_is_lifted_to_where_flows_bear_it() -> None:
    """A ring of three at e^epsilon = 2: with λ = (1/4, 1/4, −1/20) and no flow the last answer is lifted to 0."""
    graph, told = AnswerGraph.ring(3), Channel([[1, 0, 0]] * 3)
    prior, potential = ["3/8", "3/8", "1/4"], [0.25, 0.25, -0.05]
    bounds = []
    for listed in ([], [[2, 0, 0.05]]):
        certificate = {"kind": "potential", "potential": potential, "flows": listed}
        bound = verify_channel(told, graph, epsilon="ln(2)", prior=prior, certificate=certificate).bound
        assert bound is not None
        bounds.append(float(bound))
    assert bounds[0] == pytest.approx(0.5, rel=1e-9)  # v = (3/8, 3/8, 1/4), Σλ = 1/2
    least = [_least(graph, potential, guess, 2.0) for guess in range(3)]
    assert bounds[1] == pytest.approx(0.45 * max(float(Fraction(mass)) / v for mass, v in zip(prior, least)), rel=1e-6)
