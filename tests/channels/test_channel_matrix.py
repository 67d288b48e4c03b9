"""The Channel itself: reading, refusing, composing."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.channels import (
    AnswerGraph,
    Channel,
    Databases,
    after_query,
    decompose,
    explain_epsilon,
    individual_bound,
    least_epsilon,
    optimal_mechanism,
    posterior_vulnerability,
    posteriors,
    privacy_profile,
    ring_profile,
)
from optimaldp.channels.reading import read_channel
from optimaldp.errors import ChannelError, InputError


@st.composite
def channels(draw: st.DrawFn, *, inputs: int | None = None, most: int = 4) -> Channel:
    """Random exact channels; zeros are frequent, because zeros are where ratios break."""
    rows = inputs or draw(st.integers(1, most))
    columns = draw(st.integers(1, most))
    weights = [draw(st.lists(st.integers(0, 5), min_size=columns, max_size=columns).filter(any)) for _ in range(rows)]
    return Channel([[Fraction(w, sum(row)) for w in row] for row in weights])


@st.composite
def priors(draw: st.DrawFn, size: int) -> list[Fraction]:
    weights = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any))
    return [Fraction(w, sum(weights)) for w in weights]


def test_decimals_are_exact_and_rounded_decimals_are_floats() -> None:
    assert Channel([[0.75, 0.25]]).rows == ((Fraction(3, 4), Fraction(1, 4)),)
    assert not Channel([[1 / 3, 2 / 3]]).exact
    assert not Channel(np.array([[0.75, 0.25]])).exact


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["1/2", "1/4"], ["1/2", "1/2"]], "row 0: '0.75' is what its numbers sum to, 0.25 too little"),
        ([["1/2", "1/2"], ["1/2", "0.6"]], "row 1: '1.1' is what its numbers sum to, 0.1 too much"),
        (np.array([[0.5, 0.5], [0.5, 0.51]]), "row 1: '1.01' is what its numbers sum to, 0.01 too much"),
        ([["3/2", "-1/2"]], "row 0: '-1/2' is negative"),
        (np.array([[1.5, -0.5]]), "row 0: -0.5 is negative"),
        ([[math.nan, 1]], "row 0: nan is not a finite number"),
        (np.array([[np.nan, 1]]), "row 0: nan is not a finite number"),
        ([["1/2", "1/2"], ["1"]], "row 1: '1 numbers' has the wrong length: 2 are needed"),
        ([], "rows: [] is empty"),
        ([["half", "half"]], "row 0: 'half' is not a number"),
        ("ab", "rows: 'ab' is not a list of numbers"),
    ],
)
def test_bad_rows_are_named(rows: object, words: str) -> None:
    with pytest.raises(ChannelError) as caught:
        Channel(rows)
    assert str(caught.value).startswith(words)


def test_bad_priors_and_names() -> None:
    channel = Channel([["1/2", "1/2"], ["1/4", "3/4"]], ["a", "b"])
    with pytest.raises(ChannelError, match="prior: '3 numbers' has the wrong length: 2 are needed"):
        channel.posterior_vulnerability([1, 0, 0])
    with pytest.raises(ChannelError, match="'c' is not an input"):
        channel.posterior_vulnerability({"c": 1})
    with pytest.raises(ChannelError, match="'a' appears twice"):
        Channel([[1], [1]], ["a", "a"])
    with pytest.raises(ChannelError, match="row 'b'"):
        Channel([[1, 0], [1, 1]], ["a", "b"])


@given(channels())
@settings(max_examples=40, deadline=None)
def test_json_is_the_identity(channel: Channel) -> None:
    again, prior = read_channel(json.loads(channel.to_json()))
    assert again == channel
    assert sum(prior) == 1


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_post_processing_never_helps_the_attacker(data: st.DataObject) -> None:
    first = data.draw(channels())
    second = data.draw(channels(inputs=len(first.outputs)))
    prior = data.draw(priors(len(first.inputs)))
    assert posterior_vulnerability(first.then(second), prior) <= posterior_vulnerability(first, prior)
    assert first.then(second).mutual_information(prior) <= first.mutual_information(prior) + 1e-12
    assert least_epsilon(first.then(second)).ratio <= least_epsilon(first).ratio


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_parallel_and_repetition(data: st.DataObject) -> None:
    channel = data.draw(channels(most=3))
    prior = data.draw(priors(len(channel.inputs)))
    both = channel.beside(channel)
    assert both.rows == channel.repeated(2).rows
    assert posterior_vulnerability(both, prior) >= posterior_vulnerability(channel, prior)
    unordered = channel.repeated(3, ordered=False)
    assert posterior_vulnerability(unordered, prior) == posterior_vulnerability(channel.repeated(3), prior)
    assert len(unordered.outputs) <= len(channel.outputs) ** 3
    one, two = least_epsilon(channel).ratio, least_epsilon(both).ratio
    assert two == math.inf if one == math.inf else two == one**2


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_reduction_keeps_every_posterior(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(len(channel.inputs)))
    small = channel.reduced()
    assert small.reduced().rows == small.rows
    assert posterior_vulnerability(small, prior) == posterior_vulnerability(channel, prior)
    assert sum(mass for mass, _ in posteriors(channel, prior).values()) == 1
    assert all(sum(after.values()) == 1 for _, after in posteriors(channel, prior).values())


def test_floats_compose_like_rationals() -> None:
    rows = [["3/4", "1/6", "1/12"], ["1/4", "1/2", "1/4"]]
    exact = Channel(rows)
    rough = Channel(np.array([[float(Fraction(cell)) for cell in row] for row in rows]))
    for made, want in (
        (rough.beside(rough), exact.beside(exact)),
        (rough.repeated(2, ordered=False), exact.repeated(2, ordered=False)),
        (rough.then(Channel(np.eye(3))), exact),
        (rough.reduced(), exact.reduced()),
    ):
        assert not made.exact
        assert made.array == pytest.approx(want.array)


def test_series_needs_matching_names() -> None:
    with pytest.raises(ChannelError, match="without a partner"):
        Channel([[1]], outputs=["a"]).then(Channel([[1]], ["b"]))
    with pytest.raises(ChannelError, match="too many"):
        Channel([["1/2", "1/2"]]).repeated(60)


def test_decomposition_finds_the_mechanism_or_a_witness() -> None:
    datasets = list(Databases.of_values((0, 1), 2))
    mechanism = Channel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]])
    whole = after_query(sum, datasets, mechanism)
    assert decompose(whole, sum).mechanism == mechanism
    nudged = [list(row) for row in whole.exact_rows]
    nudged[2][0] += Fraction(1, 10**6)
    nudged[2][1] -= Fraction(1, 10**6)
    broken = decompose(Channel(nudged, datasets), sum)
    assert not broken.oblivious
    assert broken.witness == ((0, 1), (1, 0))


def test_obliviousness_and_privacy_agree_on_both_graphs() -> None:
    """K = H∘f is private on the databases exactly when H is on the answers."""
    databases = Databases.of_values((0, 1), 3)
    mechanism = Channel(
        [
            ["8/15", "4/15", "2/15", "1/15"],
            ["4/15", "2/5", "1/5", "2/15"],
            ["2/15", "1/5", "2/5", "4/15"],
            ["1/15", "2/15", "4/15", "8/15"],
        ]
    )
    whole = after_query(sum, list(databases), mechanism)
    assert least_epsilon(whole, databases.graph()).ratio == least_epsilon(mechanism, AnswerGraph.path(4)).ratio


def test_from_anything_that_looks_like_a_mechanism() -> None:
    class Coin:
        datasets = ("heads", "tails")
        answers = ("yes", "no")

        def row(self, dataset: str) -> dict[str, Fraction]:
            return {"yes": Fraction(1)} if dataset == "heads" else {"no": Fraction(2, 3), "yes": Fraction(1, 3)}

    channel = Channel.from_mechanism(Coin())
    assert channel.row("tails") == {"yes": Fraction(1, 3), "no": Fraction(2, 3)}
    assert repr(channel) == "Channel(2 inputs × 2 outputs, exact)"
    assert "<table>" in channel._repr_html_()


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "is not an object"),
        ({"rows": [[1]], "priors": [1]}, "'priors' is not a field"),
        ({"inputs": ["a"]}, "rows is missing"),
        ({"rows": [[1]], "inputs": "a"}, "is not a list of names"),
        ({"rows": [[1]], "inputs": [{}]}, "is an object"),
        ({"rows": [[1]], "prior": [1, 0]}, "wrong length"),
    ],
)
def test_bad_documents(document: object, words: str) -> None:
    with pytest.raises(ChannelError, match=words):
        read_channel(document)


def test_least_epsilon_conventions() -> None:
    both_zero = Channel([["1/2", "1/2", 0], ["1/4", "3/4", 0]])
    assert least_epsilon(both_zero).ratio == 2
    one_zero = Channel([["1/2", "1/2", 0], ["1/4", "1/2", "1/4"]])
    assert least_epsilon(one_zero).ratio == math.inf
    assert least_epsilon(one_zero).output == 2
    apart = least_epsilon(one_zero, AnswerGraph([0, 1], []))
    assert apart.ratio == 1  # no edge, no constraint
    metric = least_epsilon(both_zero, AnswerGraph([0, 1], {(0, 1): 2}))
    assert metric.epsilon == pytest.approx(math.log(2) / 2)
    with pytest.raises(ChannelError, match="without a partner"):
        least_epsilon(both_zero, AnswerGraph.path(3))


def test_every_result_is_json_that_anything_reads() -> None:
    """No Infinity and no label that JSON does not have, in whatever is infinite or oddly named."""
    odd = Channel([[1, 0], [0, 1]], [Fraction(1, 2), (0, 1)], outputs=[None, True])
    worst = least_epsilon(odd)
    read = json.loads(worst.to_json(), parse_constant=lambda name: pytest.fail(name))
    assert read == {"epsilon": "inf", "ratio": "inf", "edge": ["1/2", [0, 1]], "output": None}
    ring = ring_profile(7, "ln(2)")
    assert repr(ring) == "RingProfile(7 answers, ln(2)-DP, utility 0.363636)"
    assert json.loads(ring.to_json())["size"] == 7
    assert "0.363636" in ring._repr_html_()


def test_pictures_are_written_where_one_says(tmp_path: Path) -> None:
    channel = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    for result in (channel, privacy_profile(channel), optimal_mechanism(AnswerGraph.ring(4), "ln(2)")):
        result.plot(tmp_path / "picture.svg")
        assert (tmp_path / "picture.svg").read_text().startswith("<?xml")
        (tmp_path / "picture.svg").unlink()
        with pytest.raises(InputError, match="is not a kind of picture"):
            result.plot(tmp_path / "picture.bmp")


@pytest.mark.parametrize("epsilon", [720, 10_000, 100_000])
def test_an_epsilon_beyond_all_floats_bounds_nothing(epsilon: int) -> None:
    assert individual_bound(3, epsilon).factor == 3
    assert "at most 100 %" in explain_epsilon(epsilon)
