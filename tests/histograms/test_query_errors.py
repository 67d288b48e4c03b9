"""Sums over cells: the law of their error against enumeration, margins without bias, and their intervals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from optimaldp.errors import HistogramError
from optimaldp.histograms import (
    epsilon_for_query,
    histogram_noise,
    laplace_noise,
    private_histogram,
    query_error,
)


def enumerated(noise, chosen, reach):
    """The law of the sum of the first *chosen* cells, by adding the probabilities of all noise vectors within *reach*."""
    law = {}
    for head in product(range(-reach, reach + 1), repeat=noise.bins - 1):
        vectors = (
            [(*head, -sum(head))] if hasattr(noise, "covariance") else [(*head, x) for x in range(-reach, reach + 1)]
        )
        for z in vectors:
            law[sum(z[:chosen])] = law.get(sum(z[:chosen]), 0) + noise.probability(z)
    return law


@pytest.mark.parametrize(("bins", "chosen"), [(2, 1), (3, 1), (3, 2), (4, 2)])
def test_the_law_of_a_sum_by_enumeration(bins, chosen):
    law = enumerated(histogram_noise(bins, epsilon="ln(4)"), chosen, 9)
    found = query_error(bins, chosen, epsilon="ln(4)")
    mean = sum(abs(s) * p for s, p in law.items())
    variance = sum(s * s * p for s, p in law.items())
    assert found.mean == pytest.approx(float(mean), rel=1e-3)
    assert found.standard_deviation**2 == pytest.approx(float(variance), rel=5e-3)
    for level in ("0.5", "0.9", "0.99"):
        reach = found.quantile(level)
        inside = sum(p for s, p in law.items() if abs(s) <= reach)
        assert inside >= Fraction(level) - Fraction(1, 1000)
        assert sum(p for s, p in law.items() if abs(s) < reach) <= Fraction(level)


def test_the_law_of_a_sum_under_add_remove():
    law = enumerated(laplace_noise(3, epsilon="ln(4)"), 2, 8)
    found = query_error(3, 2, epsilon="ln(4)", neighbours="add-remove")
    assert found.mean == pytest.approx(float(sum(abs(s) * p for s, p in law.items())), rel=1e-3)


def test_what_is_public_has_no_error():
    assert query_error(10, 10, epsilon=1).quantile() == 0
    assert query_error(10, 0, epsilon=1).mean == 0
    assert query_error(10, 10, epsilon=1, neighbours="add-remove").quantile() > 0


def test_one_cell_agrees_with_the_quantile_of_a_bin():
    for bins in (2, 5, 40, 300):
        assert abs(query_error(bins, 1, epsilon=1).quantile() - histogram_noise(bins, epsilon=1).bin_quantile()) <= 1


def test_epsilon_for_a_query():
    epsilon = epsilon_for_query(100, 10, error=20)
    assert query_error(100, 10, epsilon=epsilon).quantile() <= 20
    assert query_error(100, 10, epsilon=float(epsilon) * 0.95).quantile() > 20
    with pytest.raises(HistogramError, match="positive"):
        epsilon_for_query(100, 10, error=0)


@pytest.mark.parametrize("chosen", [-1, 11, True, 2.0])
def test_bad_queries(chosen):
    with pytest.raises(HistogramError, match="chosen"):
        query_error(10, chosen, epsilon=1)


@pytest.mark.long
def test_margins_are_unbiased():
    """A skewed 30 × 30 table: sums of projected cells were pulled down by many standard errors."""
    rng = np.random.default_rng(3)
    shares = np.outer(1 / np.arange(1, 31), 1 / np.arange(1, 31)).ravel()
    truth = rng.multinomial(2000, shares / shares.sum())
    rows = truth.reshape(30, 30).sum(1)
    names, draws = range(30), 60
    margins, projected = [], []
    for _ in range(draws):
        release = private_histogram(truth, epsilon=1, remap="projection")
        margins.append(release.two_way(names, names).row_totals)
        projected.append(np.array(release.counts).reshape(30, 30).sum(1))
    deviation = query_error(900, 30, epsilon=1).standard_deviation / draws**0.5
    bias = np.mean(margins, axis=0) - rows
    assert np.abs(bias).max() < 5 * deviation
    assert np.mean(projected, axis=0)[0] - rows[0] < -5 * deviation  # the negative control: what was published before


@pytest.mark.long
def test_margins_say_how_far_off_they_are():
    table = private_histogram([10] * 60, epsilon=1).two_way(range(6), range(10))
    assert table.row_reach() == query_error(60, 10, epsilon=1).quantile()
    assert table.column_reach() == query_error(60, 6, epsilon=1).quantile()
    inside = 0
    for _ in range(100):
        shown = private_histogram([10] * 60, epsilon=1).two_way(range(6), range(10))
        inside += sum(abs(total - 100) <= table.row_reach() for total in shown.row_totals)
    assert inside / 600 > 0.92
