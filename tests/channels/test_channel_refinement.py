"""Refinement: the witness rebuilds the second channel, or the gain proves that none can."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_channel_matrix import channels, priors

from optimaldp.channels import Channel, posterior_gain, refinement
from optimaldp.channels.privacy import _separating
from optimaldp.errors import ChannelError


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_every_post_processing_is_found(data: st.DataObject) -> None:
    first = data.draw(channels(most=3))
    second = first.then(data.draw(channels(inputs=len(first.outputs), most=3)))
    found = first.refined_by(second)
    assert found
    assert found.witness is not None
    rebuilt = first.then(found.witness)
    if found.exact:
        assert rebuilt.rows == second.rows
    else:
        assert rebuilt.array == pytest.approx(second.array, abs=1e-8)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_verdicts_are_proven_either_way(data: st.DataObject) -> None:
    first = data.draw(channels(most=3))
    second = data.draw(channels(inputs=len(first.inputs), most=3))
    found = refinement(first, second)
    if found.holds:
        prior = data.draw(priors(len(first.inputs)))
        gain = [[data.draw(st.integers(0, 3)) for _ in range(2)] for _ in first.inputs]
        assert posterior_gain(gain, second, prior) <= posterior_gain(gain, first, prior) + Fraction(1, 10**6)
    else:
        assert found.gain is not None
        assert posterior_gain(found.gain, second) > posterior_gain(found.gain, first)


def test_one_in_a_million_is_noticed() -> None:
    """Wrong twin: a channel that is nearly a post-processing is not one, and the gain proves it exactly."""
    first = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    nudged = Channel([[Fraction(3, 4) + Fraction(1, 10**6), Fraction(1, 4) - Fraction(1, 10**6)], ["1/4", "3/4"]])
    found = refinement(first, nudged)
    assert not found
    assert found.exact
    assert found.gain is not None
    assert posterior_gain(found.gain, nudged) > posterior_gain(found.gain, first)
    assert bool(refinement(nudged, first))


def test_floats_and_order_of_inputs() -> None:
    first = Channel(np.array([[0.9, 0.1], [0.2, 0.8]]), ["a", "b"])
    second = Channel(np.array([[0.2, 0.8], [0.9, 0.1]]), ["b", "a"])
    assert refinement(first, second)
    assert repr(refinement(first, second)).startswith("Refinement(holds")
    with pytest.raises(ChannelError, match="other inputs"):
        refinement(first, Channel([[1], [1]], ["a", "c"]))


def test_the_better_channel_is_not_refined_by_the_worse_only() -> None:
    one, two = Channel([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), Channel([["1/2", "1/2"], ["1/2", "1/2"], [1, 0]])
    assert refinement(one, two)
    back = refinement(two, one)
    assert not back
    assert back.to_document()["gain"] is not None


def test_prices_that_prove_nothing_are_not_taken_as_a_proof() -> None:
    first = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    assert _separating(first, first, np.array([[1.0, 0.0], [0.0, 1.0]])) is None
