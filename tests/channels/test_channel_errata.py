"""Errata of paper 004: one test for each item that is wrong if copied (W), and for the proofs that were repaired (P)."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import pytest

from optimaldp.channels import (
    AnswerGraph,
    Channel,
    Databases,
    column_maxima_sum,
    database_bound,
    doubled_even_ring,
    equal_diagonal,
    extremal_channel,
    individual_bound,
    least_epsilon,
    min_capacity,
    min_entropy_leakage,
    mutual_information,
    optimal_mechanism,
    posterior_vulnerability,
    prior_vulnerability,
    range_bound,
    shannon_entropy,
    square,
)
from optimaldp.channels.optimal.closed_forms import ring_profile, truncated_geometric
from optimaldp.channels.report import border_utility_bound, proposition_2
from optimaldp.channels.vulnerability import conditional_min_entropy, min_entropy

RESPONSE = Channel([["2/3", "1/3"], ["1/3", "2/3"]])
CLIQUE_PRIOR = ["1/10", "1/5", "1/5", "1/5", "1/5", "1/10"]


def test_f1_capacity_is_a_logarithm() -> None:
    assert min_capacity(RESPONSE) == pytest.approx(math.log2(4 / 3))
    assert min_capacity(Channel([["1/2", "1/2"]] * 2)) == 0  # the printed formula says 1


def test_f2_zero_leakage_does_not_mean_independence() -> None:
    channel, prior = Channel([["3/5", "2/5"], ["2/5", "3/5"]]), ["9/10", "1/10"]
    assert min_entropy_leakage(channel, prior) == 0
    assert mutual_information(channel, prior) > 0


def test_f3_leakage_is_posterior_over_prior_and_entropy_has_a_minus() -> None:
    assert min_entropy_leakage(RESPONSE) == pytest.approx(math.log2((2 / 3) / (1 / 2)))
    assert min_entropy(RESPONSE) == 1 == -math.log2(prior_vulnerability(RESPONSE))


@pytest.mark.parametrize(("u", "v"), [(1, 2), (2, 2), (2, 3), (3, 2)])
def test_f4_f5_the_extremal_channel_is_a_channel(u: int, v: int) -> None:
    ratio = Fraction(2)
    channel = extremal_channel(u, v, "ln(2)")
    assert all(sum(row) == 1 for row in channel.exact_rows)
    assert channel.rows[0][0] == (ratio / (v - 1 + ratio)) ** u
    assert column_maxima_sum(channel) == database_bound(u, v, "ln(2)").factor
    printed = (v * ratio / (v - 1 + ratio)) ** u / channel.rows[0][0]
    assert printed != 1  # B in the place of alpha: rows would sum to this


def test_f6_private_cells_are_at_least_the_decayed_maximum() -> None:
    """DP bounds a cell from below by its column's maximum, not from above as the proof prints."""
    graph = AnswerGraph.path(3)
    channel = Channel([["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]])
    assert least_epsilon(channel, graph).ratio == 2
    assert all(
        channel.exact_rows[y][z] >= channel.exact_rows[z][z] / 2 ** abs(y - z) for y in range(3) for z in range(3)
    )
    assert channel.exact_rows[1][0] > channel.exact_rows[0][0] / 4


def test_f7_lemma_2_holds_though_its_inequality_does_not() -> None:
    databases = Databases.of_values((0, 1), 2)
    channel = square(
        Channel(
            [
                ["5/10", "3/10", "1/10", "1/10"],
                ["3/10", "5/10", "1/10", "1/10"],
                ["3/10", "2/10", "3/10", "2/10"],
                ["2/10", "3/10", "2/10", "3/10"],
            ],
            list(databases),
        )
    )
    level = least_epsilon(channel, databases.graph()).ratio
    rows, names = channel.exact_rows, list(databases)
    near = [(j, k) for j in range(4) for k in range(4) if sum(a != b for a, b in zip(names[j], names[k])) == 1]
    assert any(rows[i][j] > level * rows[i][k] for i in range(4) for j, k in near)  # the printed step, by columns
    made = equal_diagonal(channel, databases)
    assert least_epsilon(made, databases.graph()).ratio <= level
    assert column_maxima_sum(made) == column_maxima_sum(channel)


def test_f8_the_bijection_of_lemma_3_need_not_exist() -> None:
    """v = 3, u = 3, ℓ = 2: eight points at distance 3 from 000, but Val² has only four at distance 2."""
    chosen = [(0, 0, 0), *product((1, 2), repeat=3)]
    assert sum(sum(a != b for a, b in zip(chosen[0], x)) == 3 for x in chosen) == 8
    assert Databases.of_values(range(3), 2).graph().borders((0, 0))[2] == 4


def test_f9_f10_range_bounds_add_bits_and_are_never_worse() -> None:
    assert proposition_2(2, 2, 3, "ln(2)").factor == Fraction(8, 5) * Fraction(3, 2)  # +log2(r/v^ℓ), not times
    assert proposition_2(2, 2, 3, "ln(2)").bits > database_bound(2, 2, "ln(2)").bits  # often worse than Theorem 1
    for u, v, r, x in product((1, 2, 3), (2, 3), (3, 4, 5), ("5/4", "2", "4")):
        best = range_bound(u, v, r, f"ln({x})").factor
        assert best <= min(database_bound(u, v, f"ln({x})").factor, proposition_2(u, v, r, f"ln({x})").factor)


@pytest.mark.parametrize("u", [1, 2, 3, 4])
def test_f10_two_outputs_exactly(u: int) -> None:
    """Against the best over all pairs of datasets: two rows at distance u are the worst case."""
    t = Fraction(1, 2)
    # Along a shortest path between the two maxima both columns are bounded from both sides; LP by its two-answer closed form.
    error = t ** (u // 2) / 2 if u % 2 == 0 else t ** ((u + 1) // 2) / (1 + t)
    assert range_bound(u, 2, 2, "ln(2)").factor == 2 * (1 - error)


def test_f11_f12_individual_bounds() -> None:
    assert individual_bound(5, "ln(3)").factor < 3
    # "Theorem 2 is stronger than Theorem 1" is false for u = 1 and for u = v = 2 at every epsilon
    for x in ("11/10", "2", "10"):
        printed = Fraction(x)  # Theorem 2 as printed: e^epsilon
        assert printed > database_bound(1, 7, f"ln({x})").factor
        assert printed >= database_bound(2, 2, f"ln({x})").factor


def test_f13_utility_uses_the_answers_entropy() -> None:
    """I(Y;Z) = H(Y) + log2 U with Y the true answer; X, the dataset, has another entropy."""
    datasets = list(Databases.of_values((0, 1), 2))
    answers = ["1/4", "1/2", "1/4"]
    mechanism = Channel(truncated_geometric(3, Fraction(1, 2)))
    utility = posterior_vulnerability(mechanism, answers)
    assert min_entropy_leakage(mechanism, answers) == pytest.approx(
        min_entropy(mechanism, answers) + math.log2(utility)
    )
    assert min_entropy(Channel.identity(datasets)) != min_entropy(mechanism, answers)


def test_f14_theorem_3_needs_the_uniform_prior() -> None:
    assert border_utility_bound([1, 5], "ln(2)") == Fraction(2, 7)
    skewed = optimal_mechanism(AnswerGraph.clique(6), "ln(2)", prior=["9/10", *["1/50"] * 5])
    assert skewed.utility == Fraction(9, 10) > Fraction(2, 7)
    # x = 1 is 0/0 as printed; the value is 1/(1 + c n)
    assert border_utility_bound([1, 2, 2], 0) == Fraction(1, 5)


def test_f15_no_automorphism_is_needed() -> None:
    petersen = AnswerGraph(
        range(10),
        [(i, (i + 1) % 5) for i in range(5)]
        + [(i, i + 5) for i in range(5)]
        + [(5 + i, 5 + (i + 2) % 5) for i in range(5)],
    )
    for graph in (petersen, AnswerGraph.hypercube(3), AnswerGraph.ring(8), AnswerGraph.clique(4)):
        found = optimal_mechanism(graph, "ln(2)")
        assert found.route == "constant-sum"
        assert found.utility == found.upper_bound == border_utility_bound(graph.borders(graph.vertices[0]), "ln(2)")


def test_f16_connectivity_one_exists_and_six_answers_have_one_case() -> None:
    assert AnswerGraph.path(2).borders(0) == [1, 1]  # c = 1, declared impossible
    cases = set()
    for chosen in (s for k in (1, 2, 3) for s in combinations((1, 2, 3), k)):
        graph = AnswerGraph(range(6), [(i, (i + s) % 6) for i in range(6) for s in chosen])
        if graph.connected and len(set(graph.borders(0)[1:])) == 1:
            cases.add(graph.borders(0)[1])
    assert cases == {5}  # printed: floor(6/2) - 1 = 2 cases


@pytest.mark.parametrize("size", [4, 6, 8])
def test_f17_remark_1_is_legal_but_not_optimal(size: int) -> None:
    doubled = doubled_even_ring(size, Fraction(1, 2))
    assert least_epsilon(doubled, AnswerGraph.ring(size)).ratio == 2
    best = optimal_mechanism(AnswerGraph.ring(size), "ln(2)").utility
    assert posterior_vulnerability(doubled) < best == ring_profile(size, "ln(2)").utility
    illegal = doubled_even_ring(size, Fraction(4, 5))  # x² < 2
    assert least_epsilon(illegal, AnswerGraph.ring(size)).ratio > Fraction(5, 4)


def test_f18_f19_example_2() -> None:
    """θ = 2^(−1/5): M_1 has 0.2415 under the paper's prior, not 0.2412; and M_2 is not always better, nor optimal."""
    theta = Fraction(0.8705505632961241)
    first = Channel(truncated_geometric(6, theta))
    second = optimal_mechanism(AnswerGraph.clique(6), "ln(2)").channel
    assert float(posterior_vulnerability(first, CLIQUE_PRIOR)) == pytest.approx(0.24152235, abs=1e-8)
    assert float(posterior_vulnerability(first)) == pytest.approx(0.22433660, abs=1e-8)  # F20: correct as printed
    assert (
        optimal_mechanism(AnswerGraph.clique(6), "ln(2)", prior=CLIQUE_PRIOR).utility
        == Fraction(8, 25)
        > Fraction(2, 7)
    )
    other = ["0.3", "0.05", "0.15", "0.15", "0.05", "0.3"]
    assert float(posterior_vulnerability(first, other)) == pytest.approx(0.3884, abs=1e-4)
    assert posterior_vulnerability(second, other) == Fraction(12, 35)  # .3429: worse
    assert optimal_mechanism(AnswerGraph.clique(6), "ln(2)", prior=other).utility == Fraction(2, 5)


def test_f21_table_2() -> None:
    geometric = Channel(truncated_geometric(6, Fraction(1, 2)))
    assert posterior_vulnerability(geometric) == Fraction(4, 9)
    assert least_epsilon(geometric, AnswerGraph.path(6)).ratio == 2
    assert least_epsilon(geometric, AnswerGraph.ring(6)).ratio == 32  # not private if the ends are neighbours
    assert [str(cell) for cell in geometric.exact_rows[4]] == ["1/24", "1/24", "1/12", "1/6", "1/3", "1/3"]


def test_f22_lemma_5_keeps_the_mean_of_the_diagonal() -> None:
    from optimaldp.channels import average_over

    channel = square(Channel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/5", "2/5", "2/5"]]))
    made = average_over(channel, [1, 2, 0])
    assert conditional_min_entropy(made) == pytest.approx(
        -math.log2(sum(channel.exact_rows[i][i] for i in range(3)) / 3)
    )


def test_f23_leakage_relates_dataset_and_output() -> None:
    datasets = Databases.of_values((0, 1), 2)
    mechanism = Channel(truncated_geometric(3, Fraction(1, 2)))
    query = Channel.deterministic(sum, list(datasets))
    whole = query.then(mechanism)
    assert whole.min_entropy_leakage() != pytest.approx(query.min_entropy_leakage())  # X to Z is not X to Y
    assert whole.min_entropy_leakage() <= query.min_entropy_leakage()


def test_f25_entropy_and_questions() -> None:
    three = Channel.identity([0, 1, 2])
    assert shannon_entropy(three) == pytest.approx(math.log2(3))  # the best questionnaire needs 5/3 on average
    assert shannon_entropy(three) < 5 / 3 < shannon_entropy(three) + 1
