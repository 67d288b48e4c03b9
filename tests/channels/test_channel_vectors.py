"""Every instance of the vector file that concerns channels."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from golden import vectors

from optimaldp.channels import (
    AnswerGraph,
    Channel,
    Databases,
    average_over,
    column_maxima_sum,
    compare_with_all,
    count,
    database_bound,
    doubled_even_ring,
    equal_diagonal,
    extremal_channel,
    gain_leakage,
    individual_bound,
    individual_leakage,
    induced_graph,
    largest,
    least_epsilon,
    optimal_mechanism,
    plurality,
    posterior_gain,
    prior_gain,
    proposition_2,
    range_bound,
    square,
)
from optimaldp.channels.optimal.closed_forms import truncated_geometric
from optimaldp.channels.report import improved_range_factor
from optimaldp.channels.vulnerability import conditional_min_entropy, min_entropy, posterior_vulnerability


def cases(*kinds: str) -> Any:
    chosen = vectors("channels_histograms", *kinds)
    assert chosen, kinds
    return pytest.mark.parametrize("case", chosen, ids=[x["id"] for x in chosen])


def exact(rows: Any) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(Fraction(cell) for cell in row) for row in rows)


def epsilon(case: dict[str, Any]) -> Any:
    given = case["input"]
    return f"ln({given['exp_eps']})" if "exp_eps" in given else given["eps"]


@cases("bound_thm1")
def test_bound_of_theorem_1(case: Any) -> None:
    given = case["input"]
    assert database_bound(given["u"], given["v"], epsilon(case)).bits == pytest.approx(
        case["expect"]["B_bits"], abs=case["tol"]
    )


@cases("bound_range")
def test_range_bounds(case: Any) -> None:
    given, expect = case["input"], case["expect"]
    sizes = given["u"], given["v"], given["r"]
    assert proposition_2(*sizes, epsilon(case)).factor == Fraction(expect["prop2_factor"])
    assert improved_range_factor(*sizes, epsilon(case)) == Fraction(expect["improved_factor"])
    assert database_bound(given["u"], given["v"], epsilon(case)).factor == Fraction(expect["thm1_factor"])
    best = range_bound(*sizes, epsilon(case)).factor
    truth = Fraction(expect["exact_max_sum_of_column_maxima"])
    assert best == truth if given["r"] == 2 else truth <= best <= Fraction(expect["improved_factor"])


@cases("bound_individual")
def test_individual_bounds(case: Any) -> None:
    assert individual_bound(case["input"]["v"], epsilon(case)).factor == Fraction(case["expect"]["tight_factor"])
    # Theorem 2 as printed allows the factor e^epsilon
    assert individual_bound(case["input"]["v"], epsilon(case)).factor <= Fraction(case["expect"]["thm2_factor"])


@cases("prop1_channel")
def test_extremal_channel(case: Any) -> None:
    channel = extremal_channel(case["input"]["u"], case["input"]["v"], epsilon(case))
    assert channel.rows[0][0] == Fraction(case["expect"]["a"])
    assert column_maxima_sum(channel) == Fraction(case["expect"]["capacity"])
    assert channel.min_entropy_leakage() == pytest.approx(case["expect"]["min_entropy_leakage_uniform_bits"], abs=1e-12)
    assert least_epsilon(channel, Databases.of_values(range(3), 2).graph()).ratio == case["input"]["exp_eps"]


@cases("distance_table")
def test_distance_table(case: Any) -> None:
    order = [tuple(name) for name in case["input"]["order"]]
    graph = Databases.of_values("abc", 2).graph()
    assert [[graph.distance(a, b) for b in order] for a in order] == case["expect"]["table"]


@cases("independence_counterexample")
def test_zero_leakage_is_not_independence(case: Any) -> None:
    channel = Channel(case["input"]["C"])
    assert channel.min_entropy_leakage(case["input"]["pi"]) == case["expect"]["min_entropy_leakage_bits"]
    assert channel.mutual_information(case["input"]["pi"]) > 0.01  # dependent all the same


@cases("capacity_log")
def test_capacity_has_its_logarithm(case: Any) -> None:
    channel = Channel(case["input"]["C"])
    assert column_maxima_sum(channel) == Fraction(case["expect"]["sum_of_column_maxima"])
    assert channel.min_capacity() == pytest.approx(case["expect"]["C_inf_bits"], abs=1e-12)


@cases("alpha", "optimal_mechanism")
@pytest.mark.parametrize("route", [None, "linear-program"])
def test_optimal_mechanisms(case: Any, route: str | None) -> None:
    given = case["input"]
    graph = AnswerGraph(range(given["n"]), given["edges"])
    prior = None if given.get("prior", "uniform") == "uniform" else given["prior"]
    found = optimal_mechanism(graph, epsilon(case), prior=prior, gain=given.get("gain", "binary"), route=route)
    assert found.utility == Fraction(case["expect"].get("utility", case["expect"].get("alpha")))
    assert found.upper_bound == found.utility
    assert found.check()
    if "borders_of_node0" in case["expect"]:
        assert graph.borders(0) == case["expect"]["borders_of_node0"]
    if case["expect"].get("closed_form_certified_optimal") and route is None:
        assert found.route in ("constant-sum", "closed-form")


@cases("remark1")
def test_remark_1(case: Any) -> None:
    ratio, size = Fraction(case["input"]["exp_eps"]), case["input"]["n"]
    channel = doubled_even_ring(size, 1 / ratio)
    level = least_epsilon(channel, AnswerGraph.ring(size)).ratio
    assert (level <= ratio) is case["expect"]["dp"]
    if "M" in case["expect"]:
        assert channel.rows == exact(case["expect"]["M"])
        assert posterior_vulnerability(channel) == Fraction(case["expect"]["utility_uniform"])
    else:
        assert level == Fraction(case["expect"]["dp_level"])
    best = optimal_mechanism(AnswerGraph.ring(size), epsilon(case)).utility
    assert best == Fraction(case["expect"]["optimal_on_ring"])


@cases("truncated_geometric")
def test_truncated_geometric(case: Any) -> None:
    theta = Fraction(case["input"]["theta"])
    channel = Channel(truncated_geometric(case["input"]["n"], theta))
    for got, want in zip(channel.rows, case["expect"]["M"]):
        assert [float(cell) for cell in got] == pytest.approx([float(Fraction(cell)) for cell in want], abs=1e-12)
    utility = posterior_vulnerability(channel)
    assert float(utility) == pytest.approx(float(Fraction(case["expect"]["utility_uniform"])), abs=1e-9)
    if "dp_on_ring6_exp_eps" in case["expect"]:
        level = least_epsilon(channel, AnswerGraph.ring(6)).ratio
        assert level == Fraction(case["expect"]["dp_on_ring6_exp_eps"])


@cases("c_cases")
def test_connectivity_of_circulants(case: Any) -> None:
    from itertools import combinations

    for size, wanted in case["expect"]["c_values"].items():
        n = int(size)
        found = set()
        steps = range(1, n // 2 + 1)
        for chosen in (subset for k in range(1, len(steps) + 1) for subset in combinations(steps, k)):
            graph = AnswerGraph(range(n), [(i, (i + s) % n) for i in range(n) for s in chosen])
            if graph.connected and len(set(graph.borders(0)[1:])) == 1:
                found.add(graph.borders(0)[1])
        assert sorted(found) == wanted
        assert all((n - 1) % c == 0 for c in found)


@cases("lemma1")
def test_lemma_1(case: Any) -> None:
    channel = Channel(case["input"]["C"])
    made = square(channel)
    assert made.rows == exact(case["expect"]["square"])
    assert column_maxima_sum(made) == column_maxima_sum(channel) == Fraction(case["expect"]["capacity"])
    assert least_epsilon(channel).ratio == Fraction(case["expect"]["dp_level_before"])
    assert least_epsilon(made).ratio == Fraction(case["expect"]["dp_level_after"])


@cases("lemma2")
def test_lemma_2(case: Any) -> None:
    databases = Databases.of_values(range(case["input"]["v"]), case["input"]["u"])
    channel = Channel(case["input"]["M"], list(databases), outputs=list(databases))
    made = equal_diagonal(channel, databases)
    assert made.rows == exact(case["expect"]["M_prime"])
    assert least_epsilon(channel, databases.graph()).ratio == Fraction(case["expect"]["dp_level_M"])
    assert least_epsilon(made, databases.graph()).ratio == Fraction(case["expect"]["dp_level_M_prime"])


@cases("lemma5")
def test_lemma_5(case: Any) -> None:
    made = average_over(Channel(case["input"]["M"]), case["input"]["sigma"])
    assert made.rows == exact(case["expect"]["M_prime"])


@cases("channel")
def test_measures(case: Any) -> None:
    given, expect = case["input"], case["expect"]
    channel, prior = Channel(given["C"]), given["prior"]
    assert channel.prior_vulnerability(prior) == Fraction(expect["prior_vulnerability"])
    assert channel.posterior_vulnerability(prior) == Fraction(expect["posterior_vulnerability"])
    assert min_entropy(channel, prior) == pytest.approx(expect["H_inf_bits"], abs=1e-12)
    assert conditional_min_entropy(channel, prior) == pytest.approx(expect["H_inf_cond_bits"], abs=1e-12)
    assert channel.min_entropy_leakage(prior) == pytest.approx(expect["min_entropy_leakage_bits"], abs=1e-12)
    assert column_maxima_sum(channel) == Fraction(expect["bayes_capacity"])
    assert channel.min_capacity() == pytest.approx(expect["C_inf_bits"], abs=1e-12)
    assert channel.mutual_information(prior) == pytest.approx(expect["shannon_MI_bits"], abs=1e-12)
    assert channel.shannon_capacity().bits == pytest.approx(expect["shannon_capacity_bits"], abs=1e-7)
    assert prior_gain(given["gain"], channel, prior) == Fraction(expect["g_prior"])
    assert posterior_gain(given["gain"], channel, prior) == Fraction(expect["g_post"])
    assert gain_leakage(given["gain"], channel, prior) == Fraction(expect["g_mult_leakage"])


@cases("individual_leakage")
def test_individual_leakage(case: Any) -> None:
    databases = Databases.of_values(range(case["input"]["v"]), case["input"]["u"])
    found = individual_leakage(Channel(case["input"]["C"], list(databases)), databases)
    assert found.factor == Fraction(case["expect"]["max_individual_capacity"])
    level = least_epsilon(Channel(case["input"]["C"], list(databases)), databases.graph()).ratio
    assert individual_bound(2, f"ln({level})").factor == Fraction(case["expect"]["tight_bound"])
    assert level == Fraction(case["expect"]["thm2_bound"])  # Theorem 2 as printed allows the factor e^epsilon


@cases("induced_graph")
def test_induced_graphs(case: Any) -> None:
    values = case["input"]["Val"]
    question = {
        "count ones": count(lambda value: value == 1),
        "max": largest(),
        "plurality (lowest index wins ties)": plurality(values),
    }[case["input"]["query"]]
    graph = induced_graph(question, Databases.of_values(values, case["input"]["u"]))
    assert [str(v) for v in graph.vertices] == case["expect"]["answers"]
    assert [[str(a), str(b)] for a, b in graph.edges] == case["expect"]["edges"]
    assert not graph.superset


@cases("non_oblivious")
def test_obliviousness_costs(case: Any) -> None:
    votes = Databases.of_values(range(case["input"]["v"]), case["input"]["u"])
    found = compare_with_all(lambda database: sum(database) >= 2, votes, epsilon(case))
    assert found.oblivious.utility == found.oblivious.upper_bound == Fraction(case["expect"]["oblivious_optimum"])
    assert (
        found.unrestricted.utility
        == found.unrestricted.upper_bound
        == Fraction(case["expect"]["non_oblivious_optimum"])
    )
    assert found.unrestricted.check()
