"""Add-remove is solved for independent bins: the posterior median after geometric noise against the linear program."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from optimaldp.errors import HistogramError
from optimaldp.histograms import independent, laplace_noise, least_error, poisson, private_histogram
from optimaldp.histograms.independent import posterior_medians
from optimaldp.privacy import Epsilon


def program(laws, ratio):
    """The least expected L1 error of any mechanism on the tables of the prior; neighbours differ by one in one bin."""
    tables = list(product(*(range(len(law)) for law in laws)))
    size = len(tables)
    weights = [math.prod(law[count] / sum(law) for law, count in zip(laws, table)) for table in tables]
    costs = [w * sum(abs(a - b) for a, b in zip(h, g)) for h, w in zip(tables, weights) for g in tables]
    rows = []
    for (i, h), (j, other) in product(enumerate(tables), repeat=2):
        if sum(abs(a - b) for a, b in zip(h, other)) == 1:
            for g in range(size):
                row = np.zeros(size * size)
                row[i * size + g], row[j * size + g] = ratio, -1.0
                rows.append(row)
    sums = np.kron(np.eye(size), np.ones(size))
    solved = linprog(
        costs, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(size), method="highs"
    )
    return solved.fun


@pytest.mark.parametrize(
    ("laws", "epsilon"),
    [
        ([[1, 1, 1], [1, 1, 1]], 1.0),
        ([[5, 2, 1], [1, 1, 1, 3]], 0.7),
        ([[8, 1, 1], [8, 1, 1]], 0.5),
        ([[1, 4, 1], [2, 1]], 1.5),
    ],
)
def test_two_bins_attain_the_linear_program(laws, epsilon):
    assert least_error(independent(laws), epsilon=epsilon) == pytest.approx(program(laws, math.exp(-epsilon)), abs=1e-7)


def test_raising_negatives_to_zero_costs_more():
    laws, ratio = [[8, 1, 1], [8, 1, 1]], math.exp(-0.5)
    inner = (1 - ratio) / (1 + ratio)
    clipped = sum(
        weight / 10 * inner * ratio ** abs(noise) * abs(max(0, count + noise) - count)
        for law in laws
        for count, weight in enumerate(law)
        for noise in range(-80, 81)
    )
    assert clipped > 1.3 * least_error(independent(laws), epsilon=0.5)


@pytest.mark.long
def test_the_release_has_the_error_that_is_promised():
    prior, rng, ratio = poisson([2, 2, 5, 0.3]), np.random.default_rng(4), math.exp(-1)
    level, errors = Epsilon.read(1), []
    for _ in range(600):
        truth = rng.poisson([2, 2, 5, 0.3])
        noisy = truth + rng.geometric(1 - ratio, 4) - rng.geometric(1 - ratio, 4)
        errors.append(np.abs(posterior_medians(noisy, epsilon=level, prior=prior) - truth).sum())
    mean, deviation = np.mean(errors), np.std(errors) / len(errors) ** 0.5
    assert abs(mean - least_error(prior, epsilon=1)) < 5 * deviation
    assert mean < float(laplace_noise(4, epsilon=1).expected_error())


def test_priors_are_accepted_under_add_remove():
    release = private_histogram([3, 0, 1], epsilon=1, neighbours="add-remove", prior=poisson([2, 1, 1]))
    assert release.remap == "bayes"
    assert min(release.counts) >= 0
    with pytest.raises(HistogramError, match="poisson"):
        private_histogram([3, 0, 1], epsilon=1, neighbours="add-remove", prior="flat")
    with pytest.raises(HistogramError, match="one law for each bin"):
        private_histogram([3, 0], epsilon=1, neighbours="add-remove", prior=poisson([2, 1, 1]))


@pytest.mark.parametrize("bad", [[[]], [[0, 0]], [[-1, 2]], [["x"]]])
def test_bad_laws(bad):
    with pytest.raises(HistogramError, match="prior"):
        independent(bad)


def test_a_named_prior_on_a_sparse_table_is_warned_of():
    with pytest.warns(UserWarning, match="more bins"):
        private_histogram([5] + [0] * 200, epsilon=1, prior="flat")
