"""Remaps: the projection never hurts, the Bayes remap is best by brute force, the ball map is kept for the record."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from golden import vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.errors import HistogramError
from optimaldp.histograms import ball_map, dirichlet, histogram_noise, multinomial, project, read_prior, round_share
from optimaldp.histograms.lattice import histograms
from optimaldp.histograms.remaps.bayes import bayes_remap, posterior_marginals
from optimaldp.histograms.remaps.choosing import apply_remap, read_remap
from optimaldp.privacy import Epsilon


def distance_to_edge(persons: int, shares: Sequence[Fraction]) -> Fraction:
    """The L1 distance from ``n p`` to the relative boundary of the histograms, ``2 n min p`` (erratum E9; the paper has half)."""
    return 2 * persons * min(shares)


@pytest.mark.parametrize("case", vectors("channels_histograms", "project_l1"), ids=lambda x: x["id"])
def test_golden_projections(case):
    table, expect = np.array(case["input"]["g"]), case["expect"]
    found = project(table)
    assert np.abs(found - table).sum() == expect["L1_distance"]
    assert found.tolist() == expect["one_valid_output"]


tables = st.lists(st.integers(-6, 9), min_size=2, max_size=4).filter(lambda g: sum(g) >= 0)


@settings(max_examples=200, deadline=None)
@given(tables)
def test_projection_never_increases_the_error(table):
    """Erratum E10: for every histogram of the same total, and no histogram is nearer."""
    noisy = np.array(table)
    found = project(noisy)
    assert found.sum() == noisy.sum()
    assert (found >= 0).all()
    assert (found <= np.maximum(noisy, 0)).all()
    if sum(table) <= 8:
        every = np.array(list(histograms(len(table), sum(table))))
        assert (np.abs(every - found).sum(1) <= np.abs(every - noisy).sum(1)).all()
        assert np.abs(found - noisy).sum() == np.abs(every - noisy).sum(1).min()


def test_a_histogram_projects_to_itself_and_is_not_shared():
    table = np.array([3, 0, 2])
    found = project(table)
    assert found.tolist() == [3, 0, 2]
    found[0] = 9
    assert table[0] == 3


def test_projection_of_wide_integers():
    table = np.array([2**70, -(2**69), 5], dtype=object)
    found = project(table)
    assert found.sum() == table.sum()
    assert min(found) >= 0


def test_projection_needs_a_total():
    with pytest.raises(HistogramError, match="negative total"):
        project([-3, 1])


PRIORS = {
    "flat": lambda bins: read_prior("flat", bins),
    "uniform": lambda bins: read_prior("uniform", bins),
    "skewed": lambda bins: multinomial([Fraction(2 * (k + 1), bins * (bins + 1)) for k in range(bins)]),
    "sparse": lambda bins: dirichlet([Fraction(1, 2)] * bins),
    "mixed": lambda bins: dirichlet([k + 1 for k in range(bins)]),
}


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("epsilon", ["ln(2)", "0.2", "3"])
@pytest.mark.parametrize(("bins", "persons"), [(2, 7), (3, 5), (4, 4)])
def test_bayes_remap_is_best(name, epsilon, bins, persons):
    """Against the posterior expected error of every histogram."""
    prior, level = PRIORS[name](bins), Epsilon.read(epsilon)
    every = np.array(list(histograms(bins, persons)))
    weights = np.array([float(prior.probability(h)) for h in every.tolist()])
    for shift in ([0] * bins, [4, *[0] * (bins - 2), -4], [-9, *[0] * (bins - 2), 9]):
        noisy = every[len(every) // 2] + np.array(shift)
        posterior = weights * np.exp(-float(level) * np.abs(every - noisy).sum(1) / 2)
        costs = (posterior * np.abs(every[:, None] - every[None]).sum(2)).sum(1) / posterior.sum()
        found = bayes_remap(noisy, epsilon=level, prior=prior)
        place = np.flatnonzero((every == found).all(1))
        assert len(place) == 1
        assert costs[place[0]] <= costs.min() + 1e-9


def test_posterior_marginals_are_exact():
    prior, level = read_prior("uniform", 3), Epsilon.read("ln(2)")
    every = list(histograms(3, 6))
    noisy = [7, 2, -3]
    weights = [prior.probability(h) * Fraction(1, 2) ** (sum(abs(a - b) for a, b in zip(h, noisy)) // 2) for h in every]
    for k, window in enumerate(posterior_marginals(noisy, epsilon=level, prior=prior)):
        for x in range(window.start, window.end):
            exact = sum(w for w, h in zip(weights, every) if h[k] == x) / sum(weights)
            assert abs(window.weights[x - window.start] - float(exact)) < 1e-12


@pytest.mark.parametrize("prior", ["flat", "uniform"])
def test_conflict_with_the_prior_does_not_underflow(prior):
    """Ten thousand persons in one bin where the prior spreads them evenly."""
    noisy = np.array([10_000, *[0] * 9])
    found = bayes_remap(noisy, epsilon=Epsilon.read("0.5"), prior=read_prior(prior, 10))
    assert found.sum() == 10_000
    assert (found >= 0).all()
    assert found.argmax() == 0


def test_long_rows_use_fourier_and_agree():
    level, prior = Epsilon.read("0.01"), read_prior("flat", 4)
    noisy = np.array([900, 700, -100, 500])
    found = bayes_remap(noisy, epsilon=level, prior=prior)
    assert found.sum() == 2000
    # By symmetry of a flat prior: larger noisy counts stay larger.
    assert found[0] >= found[1] >= found[3] >= found[2] >= 0


def test_nobody_and_nothing():
    assert bayes_remap([3, -3], epsilon=Epsilon.read(1), prior=read_prior("flat", 2)).tolist() == [0, 0]
    with pytest.raises(HistogramError, match="negative total"):
        bayes_remap([-3, 1], epsilon=Epsilon.read(1), prior=read_prior("flat", 2))


@settings(max_examples=60, deadline=None)
@given(persons=st.integers(0, 50), weights=st.lists(st.integers(1, 9), min_size=2, max_size=6))
def test_rounded_shares_add_up(persons, weights):
    """Erratum E8: n p is not integral; largest remainders are."""
    shares = [Fraction(w, sum(weights)) for w in weights]
    counts = round_share(persons, shares)
    assert sum(counts) == persons
    assert all(abs(count - persons * share) < 1 for count, share in zip(counts, shares))


def test_ball_map_keeps_and_replaces():
    prior = read_prior("uniform", 3)
    assert ball_map([4, 3, 1], prior=prior).tolist() == [4, 3, 1]  # |g - np| = 10/3 <= 4
    assert ball_map([6, 2, 0], prior=prior).tolist() == [3, 3, 2]
    wide = ball_map([9, -2, 1], prior=prior, radius=100)
    assert wide.min() >= 0
    assert wide.sum() == 8


@pytest.mark.parametrize("case", vectors("channels_histograms", "ball_condition"), ids=lambda x: x["id"])
def test_distance_to_the_edge(case):
    persons, shares = case["input"]["n"], [Fraction(p) for p in case["input"]["p"]]
    assert distance_to_edge(persons, shares) == case["expect"]["L1_distance_np_to_boundary"]
    centre = [int(persons * p) for p in shares]
    # The nearest integer point outside: one step beyond the smallest count.
    outside = [(-1, a, persons + 1 - a) for a in range(persons + 2)]
    assert (
        min(sum(abs(x - c) for x, c in zip(point, centre)) for point in outside)
        == case["expect"]["nearest_infeasible_integer_point"]
    )
    # The ball of the map V, of radius n^(2/3) = 5.24, reaches beyond the edge: E9's factor of two decides it.
    assert distance_to_edge(persons, shares) ** 3 < persons**2 < (2 * distance_to_edge(persons, shares)) ** 3


def test_remaps_by_name():
    prior, noisy, level = read_prior("flat", 3), np.array([5, -2, 1]), Epsilon.read(1)
    assert read_remap(None, None) == "automatic"
    assert read_remap(None, prior) == "bayes"
    assert apply_remap("none", noisy, epsilon=level, prior=None).counts.tolist() == [5, -2, 1]
    for name in ("projection", "bayes", "ball"):
        found = apply_remap(name, noisy, epsilon=level, prior=prior).counts
        assert found.min() >= 0
        assert found.sum() == 4
    with pytest.raises(HistogramError, match="remap"):
        read_remap("best", None)
    with pytest.raises(HistogramError, match="needs a prior"):
        read_remap("bayes", None)


@pytest.mark.parametrize(
    "bad", [[0, 1], [1], [0.5, 0.6], [-1, 2], "great", 3, [0.5, "x"], {"a": 1}.keys, [0.2, 0.3, 0.5, 0.0]]
)
def test_bad_priors(bad):
    with pytest.raises(HistogramError, match="prior"):
        read_prior(bad, 4)


def test_good_priors():
    assert read_prior([0.25] * 4, 4).probabilities == (Fraction(1, 4),) * 4
    assert sum(read_prior([0.3333333333] * 3, 3).probabilities) == 1
    assert read_prior(None, 4) is None
    with pytest.raises(HistogramError, match="does not match"):
        read_prior([0.5, 0.5], 3)


@pytest.mark.parametrize("name", PRIORS)
def test_priors_are_distributions(name):
    prior = PRIORS[name](3)
    assert sum(prior.probability(h) for h in histograms(3, 5)) == 1
    assert sum(prior.means) == 1
    drawn = [prior.draw(50, np.random.default_rng(1)) for _ in range(3)]
    assert all(h.sum() == 50 for h in drawn)
    # Product form: the log weights give the same ratios as the exact probabilities.
    weights = [prior.log_weights(k, 5) for k in range(3)]
    first, second = (0, 2, 3), (4, 1, 0)
    ratio = sum(w[x] for w, x in zip(weights, first)) - sum(w[x] for w, x in zip(weights, second))
    assert abs(ratio - float(np.log(float(prior.probability(first) / prior.probability(second))))) < 1e-9


def test_noise_then_projection_is_never_worse_in_draws():
    noise, truth = histogram_noise(5, epsilon="0.3"), np.array([1, 0, 7, 2, 0])
    for _ in range(50):
        noisy = truth + noise.sample()
        assert np.abs(project(noisy) - truth).sum() <= np.abs(noisy - truth).sum()
