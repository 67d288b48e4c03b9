"""What a release says it is expected to be off, beside what it really is off: by simulation, for every way to map back."""

from __future__ import annotations

import hashlib
import math
import os
from itertools import count, product

import numpy as np
import pytest

from optimaldp.histograms import optimal_error, private_histogram
from optimaldp.histograms.remaps.choosing import learned_judge

PEOPLE = 10_000


def zipf(cells, random):
    shares = 1 / np.arange(1, cells + 1) ** 1.2
    return random.permutation(random.multinomial(PEOPLE, shares / shares.sum()))


def concentrated(cells, random):
    table = np.zeros(cells, dtype=np.int64)
    table[random.choice(cells, 100, replace=False)] = random.multinomial(PEOPLE, np.full(100, 0.01))
    return table


def spread(cells, random):
    return random.multinomial(PEOPLE, np.full(cells, 1 / cells))


@pytest.fixture(autouse=True)
def written_bits(monkeypatch, request):
    """The operating system's bits, written down: six draws of other bits are now and then off by a third."""
    blocks, test = count(), request.node.name  # another test's bits again would be refused
    monkeypatch.setattr(os, "urandom", lambda size: hashlib.shake_256(f"{test} {next(blocks)}".encode()).digest(size))


def expected_and_real(shape, cells, draws, **options):
    random = np.random.default_rng(cells)
    said, real = [], []
    for _ in range(draws):
        truth = shape(cells, random)
        release = private_histogram(truth, epsilon=1, **options)
        said.append(release.expected_error())
        real.append(np.abs(np.array(release.counts) - truth).sum())
    # The middle ones: of a private total the hidden people are estimated, and now and then a draw shows far too many.
    return np.median(said), np.median(real)


@pytest.mark.long
@pytest.mark.parametrize(
    ("shape", "cells", "neighbours"),
    [
        *product([zipf, concentrated, spread], [1000], ["substitution", "add-remove"]),
        (zipf, 10_000, "add-remove"),
    ],
)
def test_the_expected_error_is_the_real_one(shape, cells, neighbours):
    said, real = expected_and_real(shape, cells, 6, neighbours=neighbours)
    assert said == pytest.approx(real, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "slack"), [(zipf, 0.4), (concentrated, 0.2), (spread, 0.2)])
def test_of_a_million_cells_with_a_private_total(shape, slack):
    """Of zipf a third of the people are hidden, and 10^6 noisy cells tell their number to a fifth and no better."""
    said, real = expected_and_real(shape, 10**6, 4, neighbours="add-remove")
    assert said == pytest.approx(real, rel=slack)


@pytest.mark.long
@pytest.mark.parametrize("remap", ["projection", "threshold", "empirical-bayes"])
@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_of_a_remap_that_was_asked_for(remap, neighbours):
    said, real = expected_and_real(zipf, 3000, 4, neighbours=neighbours, remap=remap)
    assert said == pytest.approx(real, rel=0.25)


def test_nobody_is_believed_where_luck_explains_the_table():
    random = np.random.default_rng(3)
    noise = random.geometric(0.6, 100_000) - random.geometric(0.6, 100_000)
    judge = learned_judge(noise, ratio=0.4, total=None)
    assert judge.error(np.zeros_like(noise)) < 300


@pytest.mark.parametrize(("number", "each"), [(4000, 1), (1500, 3), (500, 8)])
def test_hidden_people_are_counted(number, each):
    random = np.random.default_rng(number)
    table = random.geometric(0.6, 100_000) - random.geometric(0.6, 100_000)
    table[:number] += each
    judge = learned_judge(table, ratio=0.4, total=None)
    assert judge.error(np.zeros_like(table)) == pytest.approx(number * each, rel=0.2)


@pytest.mark.parametrize("cells", [2, 3, 5, 36])
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_counts_far_apart_are_off_by_their_noise_however_few(cells, epsilon):
    """Noise that adds up to 0 is smaller on few cells, and a law with a lump for every count has learned nothing."""
    counts = [round(60_000 / (cell + 1) ** 1.3) + 900 for cell in range(cells)]
    said = private_histogram(counts, epsilon=epsilon).expected_error()
    assert said == pytest.approx(optimal_error(cells, epsilon=epsilon), rel=0.1)


def test_hidden_people_of_small_tables_are_in_the_interval():
    """500 cells, 39 people in as many cells: a noisy table tells how many are hidden to about a hundred, and not better."""
    truth = [1] * 39 + [0] * 461
    for _ in range(6):
        release = private_histogram(truth, epsilon="0.38", neighbours="add-remove")
        assert release.error_interval[1] >= 39


def test_one_bin_under_add_remove_is_a_count():
    release = private_histogram([50], epsilon=1, neighbours="add-remove")
    assert release.expected_error() == pytest.approx(1 / math.sinh(1))
    assert release.reason == "a single count, or noise that is too wide, teaches nothing"
