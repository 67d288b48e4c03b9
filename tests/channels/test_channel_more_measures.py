"""Capacities over gains and priors, orders of information, max-case refinement, choices, profiles, samples: laws and oracles."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.channels import (
    AnswerGraph,
    Channel,
    Databases,
    additive_capacity,
    additive_gain_leakage,
    additive_leakage,
    alpha_leakage,
    arimoto_information,
    capacity_over_gains,
    column_maxima_sum,
    estimate_leakage,
    gain_capacity,
    gain_leakage,
    hidden_choice,
    individual_leakage,
    least_epsilon,
    max_case_leakage,
    max_case_refinement,
    max_case_vulnerability,
    maximal_alpha_leakage,
    min_capacity,
    min_entropy_leakage,
    mutual_information,
    posterior_vulnerability,
    posteriors,
    prior_vulnerability,
    privacy_profile,
    renyi_entropy,
    shannon_capacity,
    sibson_information,
    visible_choice,
)
from optimaldp.errors import ChannelError

RESPONSE = Channel([["3/4", "1/4"], ["1/4", "3/4"]])


def _row(weights: list[int]) -> list[Fraction]:
    return [Fraction(w, sum(weights)) for w in weights]


def _matrices(rows: int, columns: int) -> st.SearchStrategy[list[list[Fraction]]]:
    row = st.lists(st.integers(0, 6), min_size=columns, max_size=columns).filter(any).map(_row)
    return st.lists(row, min_size=rows, max_size=rows)


channels = _matrices(3, 4).map(Channel)
priors = st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any).map(_row)
gains = st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=2), min_size=3, max_size=3).filter(
    lambda rows: all(map(any, rows))
)


@pytest.mark.long
@given(channels, priors, gains)
@settings(max_examples=30, deadline=None)
def test_no_gain_leaks_more_than_its_capacities(channel: Channel, prior: list[Fraction], gain: list[list[int]]) -> None:
    assert gain_leakage(gain, channel, prior) <= capacity_over_gains(channel, prior) <= column_maxima_sum(channel)
    over_priors = gain_capacity(gain, channel)
    assert over_priors.exact
    assert float(gain_leakage(gain, channel, prior)) <= over_priors.upper * (1 + 1e-9)
    attained = np.array(list(over_priors.prior.values()))
    assert float(gain_leakage(gain, channel, attained / attained.sum())) == pytest.approx(over_priors.lower)
    top = max(max(row) for row in gain)
    bounded = [[Fraction(cell, top) for cell in row] for row in gain]
    for kind in ("bounded", "spanning"):
        assert additive_gain_leakage(bounded, channel, prior) <= additive_capacity(channel, prior, gains=kind)
    assert additive_leakage(channel, prior) <= additive_capacity(channel, prior, gains="spanning")


@given(channels, priors)
@settings(max_examples=60, deadline=None)
def test_additive_capacities_are_attained(channel: Channel, prior: list[Fraction]) -> None:
    """By the gains of the proofs: one guess for each output, worth nothing beforehand."""
    possible = [x for x, mass in enumerate(prior) if mass]
    rarest = [min(possible, key=lambda x: column[x]) for column in zip(*channel.exact_rows)]
    columns = [[1 - (Fraction(int(x == rare)) / prior[rare]) for x in range(3)] for rare in rarest] + [
        [Fraction(0)] * 3
    ]
    assert additive_gain_leakage(list(zip(*columns)), channel, prior) == additive_capacity(channel, prior)
    after = posteriors(channel, prior)
    spread = [
        [Fraction(int(given[x] > prior[x])) - sum(prior[y] for y in range(3) if given[y] > prior[y]) for x in range(3)]
        for _, given in after.values()
    ]
    spanning = additive_capacity(channel, prior, gains="spanning")
    assert additive_gain_leakage(list(zip(*spread)), channel, prior) == spanning
    rough = additive_capacity(Channel(channel.array), [float(p) for p in prior], gains="spanning")
    assert rough == pytest.approx(float(spanning))
    assert additive_capacity(Channel(channel.array), prior) == pytest.approx(float(additive_capacity(channel, prior)))


def test_additive_capacities_of_the_peer() -> None:
    qif = pytest.importorskip("qif")
    generator = np.random.default_rng(3)
    for _ in range(5):
        rows = generator.random((4, 5))
        rows /= rows.sum(axis=1, keepdims=True)
        prior = generator.dirichlet(np.ones(4))
        theirs = qif.measure.g_vuln.add_capacity
        assert additive_capacity(Channel(rows), prior) == pytest.approx(theirs(prior, rows))
        assert additive_capacity(Channel(rows), prior, gains="spanning") == pytest.approx(theirs(prior, rows, True))


def test_gain_capacity_by_search_encloses_it() -> None:
    generator = np.random.default_rng(0)
    rows = generator.random((6, 20))
    channel = Channel(rows / rows.sum(axis=1, keepdims=True))
    gain = generator.integers(0, 4, (6, 3)).astype(float)
    found = gain_capacity(gain, channel)
    assert found.lower <= found.upper == pytest.approx(float(column_maxima_sum(channel)))
    for prior in generator.dirichlet(np.ones(6) * 0.3, 300):
        assert float(gain_leakage(gain, channel, prior)) <= found.lower * (1 + 1e-9)
    binary = gain_capacity(np.eye(6), channel)  # for the binary gain the search must find the known value
    assert binary.lower == pytest.approx(binary.upper)
    for bad, words in (([[-1, 1], [1, 1]], "negative"), ([[0, 0], [0, 0]], "must be worth something")):
        with pytest.raises(ChannelError, match=words):
            gain_capacity(bad, RESPONSE)
    with pytest.raises(ChannelError, match="class of gains"):
        additive_capacity(RESPONSE, gains="all")


@given(channels, priors)
@settings(max_examples=60, deadline=None)
def test_the_worst_output(channel: Channel, prior: list[Fraction]) -> None:
    worst = max(max(given.values()) for _, given in posteriors(channel, prior).values())
    assert max_case_vulnerability(channel, prior) == worst
    assert max_case_vulnerability(Channel(channel.array), [float(p) for p in prior]) == pytest.approx(float(worst))
    assert posterior_vulnerability(channel, prior) <= worst
    assert max_case_leakage(channel, prior) == worst / prior_vulnerability(channel, prior)
    assert float(max_case_leakage(channel, prior)) <= float(least_epsilon(channel).ratio) * (1 + 1e-12)


@given(channels, priors, st.sampled_from([0.5, 1.5, 2.0, 7.0]))
@settings(max_examples=80, deadline=None)
def test_orders_of_information(channel: Channel, prior: list[Fraction], order: float) -> None:
    masses, array = np.array([float(p) for p in prior]), channel.array
    plain = order / (order - 1) * math.log2(float((masses @ array**order).__pow__(1 / order).sum()))
    assert sibson_information(channel, order, prior) == pytest.approx(max(0.0, plain), abs=1e-9)
    # Arimoto: H_α(X) − H_α(X|Z) by the definition of the conditional entropy
    joint = array * masses[:, None]
    conditional = order / (1 - order) * math.log2(float((joint**order).sum(axis=0).__pow__(1 / order).sum()))
    expected = renyi_entropy([float(p) for p in prior], order) - conditional
    assert arimoto_information(channel, order, prior) == pytest.approx(expected, abs=1e-9)
    assert (
        sibson_information(channel, 1, prior)
        == arimoto_information(channel, 1, prior)
        == mutual_information(channel, prior)
    )
    near = sibson_information(channel, 1 + 1e-6, prior)
    assert near == pytest.approx(mutual_information(channel, prior), abs=1e-4)
    assert arimoto_information(channel, math.inf, prior) == pytest.approx(
        min_entropy_leakage(channel, prior), abs=1e-12
    )
    assert sibson_information(channel, math.inf) == pytest.approx(min_capacity(channel))
    # orders grow
    assert sibson_information(channel, order, prior) <= sibson_information(channel, order + 1, prior) + 1e-9
    if order > 1:
        most = maximal_alpha_leakage(channel, order, gap=1e-6)
        assert alpha_leakage(channel, order, prior) <= most.upper + 1e-9
        assert sibson_information(channel, order, prior) <= most.upper + 1e-9
        reached = sibson_information(channel, order, np.array(list(most.prior.values())))
        assert reached == pytest.approx(most.lower, abs=1e-9)


def test_maximal_leakage_of_all_orders() -> None:
    generator = np.random.default_rng(8)
    rows = generator.random((5, 6)) ** 3
    channel = Channel(rows / rows.sum(axis=1, keepdims=True))
    values = [maximal_alpha_leakage(channel, order) for order in (1, 1.2, 2, 5, 40, math.inf)]
    assert all(value.gap <= 2e-9 for value in values)
    assert [value.bits for value in values] == sorted(value.bits for value in values)
    assert values[0].bits == shannon_capacity(channel).bits
    assert values[-1].bits == min_capacity(channel)
    best = max(sibson_information(channel, 2, prior) for prior in generator.dirichlet(np.ones(5), 3000))
    assert values[2].bits - 0.01 < best <= values[2].upper
    assert maximal_alpha_leakage(Channel([["1/2", "1/2"]] * 3), 3).upper <= 1e-9
    for order in (0, -1, math.nan):
        with pytest.raises(ChannelError, match="order"):
            sibson_information(channel, order)
    with pytest.raises(ChannelError, match="order"):
        alpha_leakage(channel, 0.5)
    with pytest.raises(ChannelError, match="gap"):
        maximal_alpha_leakage(channel, 2, gap=0)


@given(_matrices(3, 3).map(Channel), _matrices(3, 2).map(Channel), priors)
@settings(max_examples=100, deadline=None)
def test_max_case_refinement(first: Channel, second: Channel, prior: list[Fraction]) -> None:
    found = max_case_refinement(first, second)
    if found.holds:
        assert max_case_vulnerability(second, prior) <= max_case_vulnerability(first, prior) + Fraction(1, 10**6)
        return
    assert found.exact
    assert found.gain is not None

    def worth(column: tuple[Fraction, ...]) -> Fraction:
        return sum((g * p for g, p in zip(found.gain or (), column)), Fraction(0)) / sum(column, Fraction(0))

    ours = max(worth(column) for column in zip(*first.exact_rows) if any(column))
    place = second.outputs.index(found.output)
    assert worth(tuple(row[place] for row in second.exact_rows)) > ours


def test_max_case_refinement_of_the_peer_and_of_post_processing() -> None:
    generator = np.random.default_rng(4)
    for _ in range(10):
        rows = generator.random((3, 4))
        channel = Channel(rows / rows.sum(axis=1, keepdims=True))
        remap = generator.random((4, 2))
        assert max_case_refinement(channel, channel.then(Channel(remap / remap.sum(axis=1, keepdims=True))))
    assert repr(max_case_refinement(RESPONSE, Channel.identity([0, 1]))).startswith(
        "MaxCaseRefinement(does not hold at output"
    )
    qif = pytest.importorskip("qif")
    for seed in range(20):
        rows = [np.random.default_rng([seed, k]).random((3, 5 - k)) ** 2 for k in (0, 1)]
        first, second = (part / part.sum(axis=1, keepdims=True) for part in rows)
        assert bool(max_case_refinement(Channel(first), Channel(second))) == qif.refinement.max_refined_by(
            first, second
        )
    with pytest.raises(ChannelError, match="other inputs"):
        max_case_refinement(RESPONSE, Channel.identity([0, 1, 2]))


@given(_matrices(3, 2).map(Channel), _matrices(3, 2).map(Channel), priors)
@settings(max_examples=60, deadline=None)
def test_choices(first: Channel, second: Channel, prior: list[Fraction]) -> None:
    weights = ["1/3", "2/3"]
    visible, hidden = visible_choice([first, second], weights), hidden_choice([first, second], weights)
    expected = (posterior_vulnerability(first, prior) + 2 * posterior_vulnerability(second, prior)) / 3
    assert posterior_vulnerability(visible, prior) == expected
    assert posterior_vulnerability(hidden, prior) <= expected
    assert hidden.exact_rows[0] == tuple((a + 2 * b) / 3 for a, b in zip(first.exact_rows[0], second.exact_rows[0]))
    assert visible.outputs == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert bool(visible.refined_by(hidden))
    rough = hidden_choice([Channel(first.array), second], weights)
    assert rough.array == pytest.approx(hidden.array)


def test_choices_that_do_not_fit() -> None:
    assert visible_choice([RESPONSE, RESPONSE]).exact_rows[0] == tuple(map(Fraction, ("3/8", "1/8", "3/8", "1/8")))
    named = hidden_choice([Channel([[1]], outputs=["a"]), Channel([["1/2", "1/2"]], outputs=["b", "a"])])
    assert named.row(0) == {"a": Fraction(3, 4), "b": Fraction(1, 4)}
    for several, weights in (([], None), ([RESPONSE, Channel.identity([0, 1, 2])], None), ([RESPONSE], ["1/2", "1/2"])):
        with pytest.raises(ChannelError):
            hidden_choice(several, weights)


@given(_matrices(4, 3).map(Channel), st.sampled_from(["1", "3/2", "2", "5"]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_profiles_against_all_events(channel: Channel, ratio: str, clique: bool) -> None:
    """delta is the largest excess of any event on any two neighbours."""
    graph = None if clique else AnswerGraph.path(4)
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b and (clique or abs(a - b) == 1)]
    events = list(product((0, 1), repeat=3))
    expected = max(
        sum((channel.rows[a][z] - Fraction(ratio) * channel.rows[b][z] for z in range(3) if event[z]), Fraction(0))
        for a, b in pairs
        for event in events
    )
    profile = privacy_profile(channel, graph)
    assert profile.delta(f"ln({ratio})") == expected
    assert privacy_profile(Channel(channel.array), graph).delta(f"ln({ratio})") == pytest.approx(float(expected))
    epsilon = profile.epsilon(expected)
    assert epsilon <= math.log(Fraction(ratio)) + 1e-9
    if epsilon > 1e-9:
        assert profile.delta(epsilon * (1 - 1e-6)) >= expected


def test_profiles_in_words_and_pictures() -> None:
    profile = privacy_profile(RESPONSE)
    assert profile.epsilon(0) == pytest.approx(math.log(3))
    assert profile.epsilon(1) == 0
    assert repr(profile) == "PrivacyProfile(delta 0.5 at epsilon 0, pure from 1.09861 on)"
    assert profile.to_document()["deltas"][-1] == pytest.approx(0, abs=1e-8)
    curve = profile.plot().lines[0].get_ydata()
    assert list(curve) == sorted(curve, reverse=True)
    open_ended = privacy_profile(Channel([["1/10", "9/10"], [0, 1]]))
    assert open_ended.delta(9) == pytest.approx(0.1)
    assert open_ended.epsilon(0) == open_ended.epsilon("0.09") == math.inf
    assert open_ended.epsilon("1/10") == 0
    mixed = privacy_profile(Channel([["1/10", "6/10", "3/10"], [0, "3/10", "7/10"]]))
    assert mixed.epsilon("1/10") == pytest.approx(math.log(2), abs=1e-6)
    assert mixed.delta("inf") == 0
    with pytest.raises(ChannelError, match="edge lengths"):
        privacy_profile(RESPONSE, AnswerGraph(range(2), {(0, 1): 2}))


def test_individuals_with_a_prior() -> None:
    """Two people answer by randomised response; one is nearly known beforehand."""
    databases = Databases.of_values((0, 1), 2)
    names = list(databases)
    rows = [
        [Fraction(3 if a == x else 1, 4) * Fraction(3 if b == y else 1, 4) for a, b in product((0, 1), repeat=2)]
        for x, y in names
    ]
    channel = Channel(rows, names)
    capacity = individual_leakage(channel, databases)
    assert capacity.factor == Fraction(3, 2)
    assert (capacity.guess_before, capacity.guess_after) == (Fraction(1, 2), Fraction(3, 4))
    assert individual_leakage(channel, databases, [Fraction(1, 4)] * 4).factor == Fraction(3, 2)
    prior = {names[0]: "9/20", names[1]: "9/20", names[2]: "1/20", names[3]: "1/20"}
    found = individual_leakage(channel, databases, prior)
    assert (found.individual, found.factor) == (
        1,
        Fraction(3, 2),
    )  # the first is 0 with 9/10: the guess stays as it was
    certain = individual_leakage(channel, databases, {names[0]: 1})
    assert (certain.factor, certain.guess_before, certain.guess_after) == (1, 1, 1)
    skewed = individual_leakage(channel, databases, {names[0]: "3/5", names[1]: "2/5"})
    assert (skewed.guess_before, skewed.guess_after) == (Fraction(3, 5), Fraction(3, 4))
    with pytest.raises(ChannelError, match="is not one of this channel's names"):
        individual_leakage(RESPONSE, databases)


def test_graphs_of_histograms() -> None:
    from optimaldp.channels import histogram, induced_graph

    for people, bins in ((0, 2), (3, 2), (3, 3), (2, 4), (4, 1)):
        made = AnswerGraph.histograms(people, bins)
        if people:
            walked = induced_graph(histogram(range(bins)), Databases.of_values(tuple(range(bins)), people))
            assert set(made.vertices) == set(walked.vertices)
            assert {frozenset(edge) for edge in made.edges} == {frozenset(edge) for edge in walked.edges}
    coming = AnswerGraph.histograms(3, 2, neighbours="add-remove")
    assert all(abs(sum(a) - sum(b)) == 1 for a, b in coming.edges)
    assert coming.distance((3, 0), (0, 3)) == 6
    moved = AnswerGraph.histograms(3, 3)
    rows = [
        [Fraction(1, 2) + Fraction(table[0], 10), Fraction(1, 2) - Fraction(table[0], 10)] for table in moved.vertices
    ]
    assert least_epsilon(Channel(rows, moved.vertices), moved).ratio == Fraction(3, 2)


@pytest.mark.parametrize("known", [True, False])
def test_leakage_from_samples_is_covered(known: bool) -> None:
    """Over many samplings the bounds fail no more often than they may."""
    truth = math.log2(0.75 / 0.5)
    failures, reached = 0, 0.0
    for seed in range(60):
        generator = np.random.default_rng([seed, 11])
        secrets = generator.integers(0, 2, 2000)
        seen = np.where(generator.random(2000) < 0.75, secrets, 1 - secrets)
        prior = {0: "1/2", 1: "1/2"} if known else None
        found = estimate_leakage(secrets.tolist(), seen.tolist(), prior=prior, confidence=0.9)
        failures += found.bits_lower > truth
        reached = max(reached, found.bits_lower)
        assert found.information == pytest.approx(mutual_information(RESPONSE), abs=0.05)
    assert failures <= 13  # 6 are expected at most; 14 or more happen once in a thousand
    assert reached > 0.45


def test_samples_of_nothing_and_of_everything() -> None:
    generator = np.random.default_rng(5)
    secrets = generator.integers(0, 3, 3000).tolist()
    nothing = estimate_leakage(secrets, generator.integers(0, 5, 3000).tolist())
    assert nothing.bits_lower == 0
    assert nothing.information < 0.01
    everything = estimate_leakage(secrets, secrets)
    assert everything.bits_lower > 1.4
    assert everything.information == pytest.approx(math.log2(3), abs=0.01)
    noisy = estimate_leakage(
        secrets, (np.array(secrets) + generator.normal(0, 0.3, 3000)).tolist()
    )  # continuous: in bins
    assert 1 < noisy.bits_lower < math.log2(3)
    assert "Samples never bound leakage from above" in noisy.words
    assert noisy.to_document()["samples"] == 3000
    for pairs, settings_, words in (
        (([1] * 10, [1] * 10), {}, "too few"),
        (([1] * 50, [1] * 51), {}, "not pairs"),
        (([1] * 50, [1] * 50), {"confidence": 1.0}, "not a confidence"),
    ):
        bad: Any = settings_
        with pytest.raises(ChannelError, match=words):
            estimate_leakage(*pairs, **bad)


def test_a_prior_of_secrets_that_is_none() -> None:
    with pytest.raises(ChannelError, match="is neither a list nor a dict of chances"):
        estimate_leakage(["a", "b"] * 50, ["+", "-"] * 50, prior=5)
