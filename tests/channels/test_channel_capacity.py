"""Shannon capacity: known values, its own certificate, and the classical iteration as an oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from test_channel_matrix import channels

from optimaldp.channels import Channel, mutual_information, shannon_capacity
from optimaldp.channels.capacity import _iterate, _Search
from optimaldp.errors import ChannelError


def _entropy(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


@pytest.mark.parametrize("flip", [0.01, 0.1, 0.25, 0.49])
def test_binary_symmetric_channel(flip: float) -> None:
    found = shannon_capacity(Channel(np.array([[1 - flip, flip], [flip, 1 - flip]])))
    assert found.lower <= 1 - _entropy(flip) + 1e-12 <= found.upper + 2e-12


def test_z_channel_and_erasures() -> None:
    z_channel = shannon_capacity(Channel([[1, 0], ["1/2", "1/2"]]))
    assert z_channel.bits == pytest.approx(math.log2(5 / 4), abs=1e-9)
    erasures = shannon_capacity(Channel([["3/4", "1/4", 0], [0, "1/4", "3/4"]]))
    assert erasures.bits == pytest.approx(0.75, abs=1e-9)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_extremes(size: int) -> None:
    assert shannon_capacity(Channel.identity(list(range(size)))).bits == pytest.approx(math.log2(size), abs=1e-9)
    constant = shannon_capacity(Channel([["1/3", "2/3"]] * size))
    assert constant.lower == 0
    assert constant.upper < 1e-12


@given(channels(most=5))
@settings(max_examples=60, deadline=None)
def test_the_bounds_enclose_and_the_prior_attains(channel: Channel) -> None:
    found = shannon_capacity(channel, gap=1e-8)
    assert 0 <= found.gap <= 1e-8
    masses = np.array(list(found.prior.values()))
    assert mutual_information(channel, masses / masses.sum()) == pytest.approx(found.lower, abs=1e-9)
    uniform = mutual_information(channel)
    assert uniform <= found.upper + 1e-12


def test_agrees_with_the_classical_iteration() -> None:
    generator = np.random.default_rng(11)
    rows = generator.random((6, 5)) ** 3
    rows /= rows.sum(axis=1, keepdims=True)
    search = _Search(rows)
    masses, _ = _iterate(search, 1e-6, 200_000)
    lower, upper = search.bounds(masses)
    found = shannon_capacity(Channel(rows), gap=1e-9)
    assert lower <= found.upper
    assert found.lower <= upper
    assert upper - lower <= 1e-6


def test_many_inputs_with_sparse_support() -> None:
    generator = np.random.default_rng(1)
    rows = generator.random((80, 60))
    rows /= rows.sum(axis=1, keepdims=True)
    found = shannon_capacity(Channel(rows), gap=1e-9)
    assert found.gap <= 1e-9
    assert sum(mass > 1e-6 for mass in found.prior.values()) < 80  # most inputs are not worth sending


def test_wrong_twin_the_bounds_do_not_flatter_a_bad_prior() -> None:
    search = _Search(np.array([[1.0, 0.0], [0.5, 0.5]]))
    lower, upper = search.bounds(np.array([0.5, 0.5]))
    assert lower < math.log2(5 / 4) - 1e-3
    assert upper > math.log2(5 / 4) + 1e-3


@pytest.mark.parametrize("gap", [0, -1, math.nan])
def test_bad_gap(gap: float) -> None:
    with pytest.raises(ChannelError, match="gap"):
        shannon_capacity(Channel.identity([0, 1]), gap=gap)
