"""Finite numbers of persons: the linear program and its proof, two bins without it, the gap of each remap."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pyarrow
import pytest
from golden import vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_again import epsilon_of

import optimaldp as odp
from optimaldp.certify.core.referee import examine_release
from optimaldp.errors import HistogramError
from optimaldp.histograms import (
    compare_remaps,
    constraint_graph,
    dirichlet,
    exact_error,
    expected_error,
    finite_optimum,
    normalised_geometric,
    optimal_error,
    private_histogram,
    program_size,
    remap_error,
    two_bin_optimum,
)
from optimaldp.histograms.finite.optimum import _repaired_prices, _repaired_values, _solve, reduced_costs
from optimaldp.histograms.lattice import histograms
from optimaldp.histograms.public_error import least_at_least, least_possible
from optimaldp.laws.law import Setting
from optimaldp.privacy import Neighbours, level
from optimaldp.questions.text import parse


def expected_cost(optimum, prior_of, cost_of):
    vertices = optimum.program.graph.vertices
    return sum(prior_of(h) * optimum.probability(g, h) * cost_of(h, g) for h in vertices for g in vertices)


def assert_mechanism(optimum, theta):
    """Every row sums to one and every pair of neighbours keeps theta: over all histograms, not over orbits."""
    graph = optimum.program.graph
    for h in graph.vertices:
        assert sum(optimum.probability(g, h) for g in graph.vertices) == 1
    for i, j in graph.edges:
        for g in graph.vertices:
            a, b = optimum.probability(g, graph.vertices[i]), optimum.probability(g, graph.vertices[j])
            assert a >= theta * b
            assert b >= theta * a
            assert min(a, b) >= 0


def distance(h, g):
    return sum(abs(a - b) for a, b in zip(h, g))


def multinomial_of(shares):
    def probability(h):
        value = Fraction(math.factorial(sum(h)))
        for count, share in zip(h, shares):
            value *= share**count / math.factorial(count)
        return value

    return probability


@pytest.mark.parametrize("case", vectors("channels_histograms", "lp_histogram"), ids=lambda x: x["id"])
def test_golden_programs(case):
    given_, expect = case["input"], case["expect"]
    theta, shares = Fraction(given_["theta"]), [Fraction(p) for p in given_["p"]]
    optimum = finite_optimum(given_["K"], given_["n"], epsilon=epsilon_of(theta), prior=given_["p"])
    assert optimum.exact == Fraction(expect["D_n"])
    assert_mechanism(optimum, theta)
    assert expected_cost(optimum, multinomial_of(shares), distance) == optimum.exact
    assert min(reduced_costs(optimum.program, theta, optimum.dual_rows, optimum.dual_pairs)) >= 0
    assert min(optimum.dual_pairs) >= 0
    if "vertices" in expect:
        graph = constraint_graph(given_["K"], given_["n"])
        assert (len(graph.vertices), len(graph.edges)) == (expect["vertices"], expect["undirected_edges"])


@pytest.mark.parametrize("case", vectors("channels_histograms", "lp_size"), ids=lambda x: x["id"])
def test_program_sizes(case):
    """Erratum E3, and the formula against the program itself."""
    bins, persons = case["input"]["K"], case["input"]["n"]
    assert program_size(bins, persons) == (case["expect"]["variables"], case["expect"]["dp_constraints"])
    graph = constraint_graph(bins, persons)
    assert len(graph.vertices) ** 2 == case["expect"]["variables"]
    assert 2 * len(graph.edges) * len(graph.vertices) == case["expect"]["dp_constraints"]


def test_symmetry_reduces_and_changes_nothing():
    even = finite_optimum(3, 3, epsilon="ln(2)", prior="uniform")
    # The same prior with a cost that distinguishes bins by nothing but names the matrix out: still all symmetries.
    vertices = constraint_graph(3, 3).vertices
    matrix = [[distance(h, g) for g in vertices] for h in vertices]
    assert finite_optimum(3, 3, epsilon="ln(2)", prior="uniform", cost=matrix).exact == even.exact
    assert len(even.program.costs) < 100 / 5
    # Break the symmetry by a prior that differs by next to nothing: no reduction, nearly the same value.
    skewed = finite_optimum(3, 3, epsilon="ln(2)", prior=["333333333/1000000000", "333333334/1000000000", "1/3"])
    assert len(skewed.program.costs) == 100
    assert abs(skewed.lower - even.exact) < Fraction(1, 10**6)


def test_any_prior_and_any_cost():
    """Erratum E5: (1/3, 1/3, 1/3) on two persons and two bins is no binomial prior."""
    prior = {h: Fraction(1, 3) for h in histograms(2, 2)}
    optimum = finite_optimum(2, 2, epsilon="ln(2)", prior=prior)
    assert optimum.exact == two_bin_optimum(2, epsilon="ln(2)", prior=[1, 1, 1])
    assert optimum.exact == finite_optimum(2, 2, epsilon="ln(2)", prior="flat").exact
    wrong = finite_optimum(3, 2, epsilon="ln(2)", cost=lambda h, g: int(h != g))
    assert_mechanism(wrong, Fraction(1, 2))
    assert wrong.exact == expected_cost(wrong, multinomial_of([Fraction(1, 3)] * 3), lambda h, g: int(h != g))
    # 0-1 cost: at least the best guess without data is right sometimes, and never always.
    assert 0 < wrong.exact < 1


@pytest.mark.parametrize("epsilon", ["0.7", "1/3"])
def test_irrational_theta_has_proven_bounds(epsilon):
    optimum = finite_optimum(3, 4, epsilon=epsilon, prior=["0.2", "0.3", "0.5"])
    assert optimum.exact is None
    assert 0 < optimum.upper - optimum.lower < Fraction(1, 10**9)
    # A rational that is certainly above theta: keeping it is more than epsilon asks.
    assert_mechanism(optimum, 1 / optimum.epsilon.ratio_below(bits=60))
    assert "proven" in repr(optimum)


def test_repair_proves_bounds_from_bad_floats():
    """Floats that are off by a thousandth still give a private mechanism above and a lower bound below the optimum."""
    optimum = finite_optimum(3, 3, epsilon="ln(2)")
    theta, program = Fraction(1, 2), optimum.program
    floats = _solve(program, 0.5)
    bad = replace(
        floats, values=floats.values + 1e-3, row_prices=floats.row_prices + 1e-3, pair_prices=floats.pair_prices * 1.001
    )
    values = _repaired_values(program, bad, theta)
    rows, pairs = _repaired_prices(program, bad, theta)
    assert min(reduced_costs(program, theta, rows, pairs)) >= 0
    assert all(sum(n * values[v] for v, n in row.items()) == 1 for row in program.rows)
    assert all(values[a] >= theta * values[b] for a, b in program.pairs)
    upper = sum(c * x for c, x in zip(program.costs, values))
    assert sum(rows) < optimum.exact < upper
    assert upper - sum(rows) < Fraction(1, 10)


@pytest.mark.parametrize("case", vectors("channels_histograms", "k2_optimal"), ids=lambda x: x["id"])
def test_golden_two_bins(case):
    p = Fraction(case["input"]["p"])
    epsilon = epsilon_of(Fraction(case["input"]["theta"]))
    found = two_bin_optimum(case["input"]["n"], epsilon=epsilon, prior=[p, 1 - p])
    assert found == Fraction(case["expect"]["D_n_exact"])


@pytest.mark.parametrize("persons", [1, 2, 5, 9])
@pytest.mark.parametrize("prior", ["uniform", "flat", ["0.1", "0.9"], dirichlet(["1/2", 3])])
@pytest.mark.parametrize("epsilon", ["ln(2)", "ln(6/5)", "ln(10)"])
def test_two_bins_are_the_linear_program(persons, prior, epsilon):
    """Erratum E11: truncated geometric and posterior median is the optimum for two bins."""
    optimum = finite_optimum(2, persons, epsilon=epsilon, prior=prior)
    assert optimum.lower <= two_bin_optimum(persons, epsilon=epsilon, prior=prior) <= optimum.upper
    assert optimum.upper - optimum.lower < Fraction(1, 10**9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=3, max_size=9).filter(any), st.sampled_from(["ln(2)", "ln(4/3)", "ln(9)"]))
def test_discounted_sums_against_the_definition(weights, epsilon):
    persons, theta = len(weights) - 1, 1 / Fraction(epsilon[3:-1])
    total = Fraction(0)
    for shown in range(persons + 1):
        joint = [Fraction(w, sum(weights)) * theta ** abs(shown - h) for h, w in enumerate(weights)]
        best = min(sum(x * abs(h - m) for h, x in enumerate(joint)) for m in range(persons + 1))
        total += best * (1 if shown in (0, persons) else 1 - theta)
    assert two_bin_optimum(persons, epsilon=epsilon, prior=weights) == 2 * total / (1 + theta)


@pytest.mark.parametrize(("persons", "printed"), [(30, 2.3157), (100, 2.5989), (300, 2.66073), (1000, 2.66665)])
def test_two_bins_converge(persons, printed):
    """Erratum E16."""
    found = float(two_bin_optimum(persons, epsilon="ln(2)"))
    assert abs(found - printed) < 6e-5
    assert found < exact_error(2, epsilon="ln(2)")


def test_two_bins_floats_agree_with_rationals_and_scale():
    exact = two_bin_optimum(200, epsilon="ln(3)", prior=[0.3, 0.7])
    from optimaldp.histograms.finite.two_bins import _float_weights, _least_error, _weights

    floats = _least_error(_float_weights(_weights([0.3, 0.7], 200), 200), 1 / 3)
    assert math.isclose(float(exact), floats, rel_tol=1e-12)
    assert math.isclose(two_bin_optimum(10_000, epsilon=1), optimal_error(2, epsilon=1), rel_tol=1e-12)


@pytest.mark.parametrize(("persons", "wanted"), [(3, 0.7003), (6, 0.9196), (9, 0.9888)])
def test_three_bins_approach_the_limit(persons, wanted):
    """Erratum E16, K = 3, theta = 0.1: below D* for every number of persons (erratum E10)."""
    optimum = finite_optimum(3, persons, epsilon="ln(10)")
    assert abs(float(optimum) - wanted) < 5e-5
    assert optimum.upper < exact_error(3, epsilon="ln(10)")


@pytest.mark.long
@pytest.mark.parametrize("case", vectors("channels_histograms", "remap_errors"), ids=lambda x: x["id"])
def test_golden_remap_errors(case):
    given_, expect = case["input"], case["expect"]
    epsilon = epsilon_of(Fraction(str(given_["theta"])))
    found = compare_remaps(given_["K"], given_["n"], epsilon=epsilon)
    errors = {error.remap: error.value for error in found.errors}
    assert abs(found.least - expect["lp"]) < case["tol"]
    assert abs(errors["bayes"] - expect["bayes_remap"]) < case["tol"]
    assert abs(errors["projection"] - expect["project_l1"]) < case["tol"]
    assert abs(errors["ball"] - expect["ball_map_R1"]) < case["tol"]
    assert abs(errors["none"] - expect["D_star"]) < 1e-9
    # Bayes is never below the optimum, and within 4 per cent of it here (erratum E12).
    assert 0 < found.gap("bayes") < 0.04
    assert found.gap("projection") > found.gap("bayes")


@pytest.mark.long
def test_simulated_errors_hold_the_computed_ones():
    computed = remap_error("bayes", 3, 8, epsilon="ln(5)")
    assert computed.draws is None
    simulated = remap_error("projection", 6, 300, epsilon=1, draws=100)
    assert simulated.draws == 100
    # Far from the edge the projection does nothing: the error is D*.
    spread = (simulated.high - simulated.low) / 2 / 2.5758
    assert abs(simulated.value - optimal_error(6, epsilon=1)) < 8 * spread
    assert "interval" in repr(simulated)
    assert "computed" in repr(computed)


def test_comparison_describes_itself_and_draws():
    found = compare_remaps(2, 3, epsilon="ln(3)")
    assert abs(found.gap("bayes")) < 1e-8
    assert len(found.plot().axes[0].patches) == 4
    assert "least for many people" in found._repr_html_()
    with pytest.raises(HistogramError, match="not compared"):
        found.gap("other")


@pytest.mark.parametrize("case", vectors("channels_histograms", "normalised_geometric_dp"), ids=lambda x: x["id"])
def test_the_normalised_geometric_mechanism_fails(case):
    given_, theta = case["input"], Fraction(case["input"]["theta"])
    found = normalised_geometric(given_["K"], given_["n"], epsilon=epsilon_of(theta))
    assert found.actual_theta == Fraction(case["expect"]["actual_theta"])
    assert not found.private
    assert "NOT private" in repr(found)
    # The same from the mechanism's own table, over all neighbours and outputs.
    graph = constraint_graph(given_["K"], given_["n"])
    weights = {h: {g: theta ** (distance(h, g) // 2) for g in graph.vertices} for h in graph.vertices}
    table = {h: {g: w / sum(row.values()) for g, w in row.items()} for h, row in weights.items()}
    pairs = [(graph.vertices[i], graph.vertices[j]) for i, j in graph.edges]
    ratios = [table[a][g] / table[b][g] for p in pairs for a, b in (p, p[::-1]) for g in graph.vertices]
    assert min(ratios) == found.actual_theta


@pytest.mark.parametrize(
    "call",
    [
        lambda: finite_optimum(3, 0, epsilon=1),
        lambda: finite_optimum(3, 60, epsilon=1),
        lambda: finite_optimum(3, 2, epsilon=1, prior=None),
        lambda: finite_optimum(3, 2, epsilon=1, prior={(1, 1, 1): 1}),
        lambda: finite_optimum(3, 2, epsilon=1, prior={(2, 0, 0): "1/2"}),
        lambda: finite_optimum(3, 2, epsilon=1, cost=[[1, 2], [3, 4]]),
        lambda: two_bin_optimum(0, epsilon=1),
        lambda: two_bin_optimum(5, epsilon=1, prior=None),
        lambda: two_bin_optimum(3, epsilon=1, prior=[1, -1, 2, 0]),
        lambda: two_bin_optimum(3, epsilon=1, prior=[0, 0, 0, 0]),
        lambda: remap_error("projection", 3, 0, epsilon=1),
        lambda: remap_error("projection", 3, 5, epsilon=1, prior=None),
    ],
)
def test_bad_input(call):
    with pytest.raises(HistogramError):
        call()


@pytest.mark.parametrize(("people", "epsilon"), [(8, "ln(2)"), (944, "0.05")])
def test_what_is_said_under_a_prior_is_the_least_possible(people, epsilon):
    """Two bins: the release is exactly optimal at any number of people, and says so; without a prior nothing is known."""
    release = private_histogram([people // 2, people - people // 2], epsilon=epsilon, prior="uniform")
    least = float(two_bin_optimum(people, epsilon=epsilon))
    assert release.expected_error() == release.least_possible == pytest.approx(least)
    assert private_histogram([5, 3], epsilon=1).least_possible is None
    assert expected_error(2, epsilon=epsilon, people=people, prior="uniform") == pytest.approx(least)
    assert least < expected_error(2, epsilon=epsilon)


def test_the_program_says_what_is_least_for_three_bins():
    least = least_possible(3, epsilon="ln(2)", people=3, prior="uniform")
    assert least == pytest.approx(float(finite_optimum(3, 3, epsilon="ln(2)")))
    assert least < remap_error("bayes", 3, 3, epsilon="ln(2)").value + 1e-9
    assert least_possible(30, epsilon=1, people=1000, prior="uniform") is None


@pytest.mark.parametrize(
    ("people", "epsilon", "prior"),
    [(8, "ln(2)", "uniform"), (5, "ln(2)", "flat"), (6, "0.5", ["0.5", "0.3", "0.2"]), (6, "2", dirichlet([3, 1, 2]))],
)
def test_no_mechanism_is_below_its_two_bins(people, epsilon, prior):
    bound = least_at_least(3, epsilon=epsilon, people=people, prior=prior)
    least = float(finite_optimum(3, people, epsilon=epsilon, prior=prior))
    assert 0.6 * least < bound <= least * (1 + 1e-9)


def test_a_release_says_what_it_is_off_beside_the_least_possible():
    release = private_histogram([300, 200, 100], epsilon=1, prior="flat")
    assert release.least_possible is None
    assert release.least_at_least == pytest.approx(least_at_least(3, epsilon=1, people=600, prior="flat"))
    # Of all tables that the prior allows, not of this one: what is expected of one table may well be below.
    assert release.gap == pytest.approx(optimal_error(3, epsilon=1) / release.least_at_least - 1)
    assert f"no mechanism is below {release.least_at_least:.4g}" in release.statement()
    assert private_histogram([5, 3], epsilon=1, prior="flat").statement().endswith("the least possible.")
    made = odp.release(
        pyarrow.table({"a": ["x", "y", "y"] * 10}), "histogram(a, ['x'], prior='uniform')", epsilon=1
    ).histogram()
    assert made.gap == 0
    assert made.least_possible == pytest.approx(least_possible(2, epsilon=1, people=30, prior="uniform"))


def test_two_bins_have_their_optimum_at_any_number_of_people():
    question = parse("histogram(v, ['a'], optimum=true)")
    mechanism = question.mechanism(Setting(level("0.05"), Neighbours.SUBSTITUTION, people=944))
    assert mechanism.best == "finite optimum"
    assert "the least possible" in mechanism.reliability()
    assert examine_release(mechanism).private
