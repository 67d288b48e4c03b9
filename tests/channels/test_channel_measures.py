"""Laws of the measures, and agreement with a peer where it is installed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_channel_matrix import channels, priors

from optimaldp.channels import (
    ABSENT,
    Channel,
    Databases,
    additive_gain_leakage,
    bayes_risk,
    column_maxima_sum,
    conditional_entropy,
    gain_bound,
    gain_leakage,
    guessing_entropy,
    individual_bound,
    individual_leakage,
    least_epsilon,
    mutual_information,
    posterior_gain,
    posterior_guessing_entropy,
    posterior_vulnerability,
    prior_gain,
    prior_vulnerability,
    range_bound,
    remap,
    renyi_entropy,
    shannon_entropy,
)
from optimaldp.channels.vulnerability import identity_gain
from optimaldp.errors import ChannelError


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_best_guesses_are_what_enumeration_finds(data: st.DataObject) -> None:
    channel = data.draw(channels(most=3))
    prior = data.draw(priors(len(channel.inputs)))
    strategies = product(range(len(channel.inputs)), repeat=len(channel.outputs))
    rows = channel.exact_rows
    best = max(sum(prior[x] * rows[x][z] for z, x in enumerate(guess)) for guess in strategies)
    assert posterior_vulnerability(channel, prior) == best
    chosen = remap(channel, prior)
    assert sum(prior[x] * rows[x][z] for z, x in chosen.items()) == best
    assert bayes_risk(channel, prior) == 1 - best


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_no_gain_grows_more_than_the_column_maxima(data: st.DataObject) -> None:
    channel = data.draw(channels(most=3))
    prior = data.draw(priors(len(channel.inputs)))
    gain = [[data.draw(st.integers(0, 4)) for _ in range(3)] for _ in channel.inputs]
    before, after = prior_gain(gain, channel, prior), posterior_gain(gain, channel, prior)
    assert before <= after <= gain_bound(before, column_maxima_sum(channel))
    assert additive_gain_leakage(gain, channel, prior) == after - before


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_floats_agree_with_rationals(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(len(channel.inputs)))
    rough, masses = Channel(np.array(channel.array)), np.array([float(p) for p in prior])
    gain = np.arange(len(channel.inputs) * 2, dtype=float).reshape(-1, 2)
    for measure in (
        prior_vulnerability,
        posterior_vulnerability,
        guessing_entropy,
        posterior_guessing_entropy,
        mutual_information,
    ):
        assert float(measure(channel, prior)) == pytest.approx(float(measure(rough, masses)), abs=1e-12)
    exact_gain = [[int(cell) for cell in row] for row in gain.tolist()]
    assert float(posterior_gain(exact_gain, channel, prior)) == pytest.approx(posterior_gain(gain, rough, masses))


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_entropies_are_ordered(data: st.DataObject) -> None:
    prior = data.draw(st.integers(1, 5).flatmap(priors))
    orders = [0, 0.5, 1, 2, 10, math.inf]
    entropies = [renyi_entropy(prior, order) for order in orders]
    assert all(a >= b - 1e-9 for a, b in pairwise(entropies))
    # A number of questions: H <= average < H + 1 (erratum F25), checked against the optimal code.
    channel = Channel.identity(list(range(len(prior))))
    assert shannon_entropy(channel, prior) <= _average_questions(prior) + 1e-9
    assert _average_questions(prior) < shannon_entropy(channel, prior) + 1


def _average_questions(prior: list[Fraction]) -> Fraction:
    """The length of the best yes/no questionnaire (Huffman)."""
    import heapq

    heap = [p for p in prior if p]
    heapq.heapify(heap)
    total = Fraction(0)
    while len(heap) > 1:
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        total += joined
        heapq.heappush(heap, joined)
    return total


def test_binary_gain_is_the_chance_of_a_right_guess() -> None:
    channel = Channel([["3/4", "1/4"], ["1/3", "2/3"]])
    assert posterior_gain(identity_gain(2), channel) == posterior_vulnerability(channel)
    assert conditional_entropy(channel) == pytest.approx(1 - channel.mutual_information())


def test_bad_gains() -> None:
    channel = Channel([["3/4", "1/4"], ["1/3", "2/3"]])
    for gain in ([[1]], [[1], [1, 2]], np.array([[1.0]]), "gain", [[1], ["x"]]):
        with pytest.raises(ChannelError, match="gain"):
            posterior_gain(gain, channel)
    with pytest.raises(ChannelError, match="no ratio"):
        gain_leakage([[-1], [-1]], channel)
    with pytest.raises(ChannelError, match="order"):
        renyi_entropy([1], -1)
    with pytest.raises(ChannelError, match="negative"):
        gain_bound(Fraction(-1), Fraction(2))


def test_remap_names_its_guesses() -> None:
    channel = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["sick", "well"], outputs=["+", "-"])
    assert remap(channel) == {"+": "sick", "-": "well"}
    assert remap(channel, gain=[[2], [1]], guesses=["treat"]) == {"+": "treat", "-": "treat"}
    with pytest.raises(ChannelError, match="do not fit"):
        remap(channel, guesses=["one"])


@pytest.fixture(scope="module")
def random_case() -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(5)
    rows = generator.random((12, 9))
    rows /= rows.sum(axis=1, keepdims=True)
    prior = generator.random(12)
    return rows, prior / prior.sum(), generator.random((7, 12))


def test_peer_agrees(random_case: tuple[Any, Any, Any]) -> None:
    qif = pytest.importorskip("qif")
    rows, prior, gain = random_case
    channel, measure = Channel(rows), qif.measure
    assert posterior_vulnerability(channel, prior) == pytest.approx(measure.bayes_vuln.posterior(prior, rows))
    assert column_maxima_sum(channel) == pytest.approx(measure.bayes_vuln.mult_capacity(rows))
    assert channel.min_entropy_leakage(prior) == pytest.approx(measure.bayes_vuln.min_entropy_leakage(prior, rows))
    assert mutual_information(channel, prior) == pytest.approx(measure.shannon.add_leakage(prior, rows))
    assert posterior_guessing_entropy(channel, prior) == pytest.approx(measure.guessing.posterior(prior, rows))
    # the peer's gain matrices are guess × secret
    assert posterior_gain(gain.T, channel, prior) == pytest.approx(measure.g_vuln.posterior(gain, prior, rows))


def test_individual_leakage_is_the_worst_case() -> None:
    """Only the second person's value is told, and only when the first is absent: the worst case must find exactly that."""
    databases = Databases.of_both((0, 1), 2)
    rows = [
        [1, 0, 0] if first is not ABSENT or second is ABSENT else [0, 1 - second, second] for first, second in databases
    ]
    found = individual_leakage(Channel(rows, list(databases)), databases)
    assert (found.factor, found.individual, found.others) == (3, 1, (ABSENT,))
    assert found.guess_before == Fraction(1, 3)
    assert found.guess_after == 1
    constant = individual_leakage(Channel([[1]] * 9, list(databases)), databases)
    assert (constant.factor, constant.bits) == (1, 0)


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_individual_leakage_keeps_its_bound(data: st.DataObject) -> None:
    databases = Databases.of_values((0, 1), 2)
    weights = [[data.draw(st.integers(1, 5)) for _ in range(3)] for _ in databases]
    channel = Channel([[Fraction(w, sum(row)) for w in row] for row in weights], list(databases))
    ratio = least_epsilon(channel, databases.graph()).ratio
    assert individual_leakage(channel, databases).factor <= individual_bound(2, f"ln({ratio})").factor
    assert column_maxima_sum(channel) <= range_bound(2, 2, 3, f"ln({ratio})").factor
