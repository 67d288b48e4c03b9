"""The sampler: exact probabilities by enumerating bits, the algebra that joins its parts, and one statistical test."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from enumerated import measured
from lattice_again import epsilon_of
from scipy.stats import chi2

from optimaldp.certify.core.referee import FixedBits
from optimaldp.histograms import histogram_noise, laplace_noise
from optimaldp.histograms.lattice import histograms
from optimaldp.histograms.noise import compositions
from optimaldp.histograms.noise.compositions import (
    _plain_composition,
    bitmap_subset,
    sorted_subset,
    uniform_words,
    weak_composition,
)
from optimaldp.histograms.noise.totals import TotalLaw, total_law
from optimaldp.privacy import Epsilon
from optimaldp.sampling import SystemBits


def proposals(law, depth):
    """One attempt of the rejection sampler, by enumeration; a rejection is the outcome -1."""

    def attempt(bits):
        total = law.propose(bits, first_bits=1)
        return -1 if total is None else total

    return measured(attempt, depth)


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize(("bins", "theta"), [(2, "1/2"), (3, "1/4"), (5, "1/8"), (2, "3/4"), (4, "1/2")])
def test_totals_by_enumeration(bins, theta, copies):
    """Each total is proposed and accepted with f(T) / (4 w f(M)), so that accepted totals have exactly the law f."""
    law, ratio = total_law(bins, epsilon_of(Fraction(theta)), copies), Fraction(theta)
    found, undecided = proposals(law, 14)
    assert undecided < Fraction(1, 8)

    def weight(total):
        return comb(bins - 1 + total, total) ** copies * ratio**total

    for total in range(40):
        exact = weight(total) / (4 * law.width * weight(law.mode))
        assert found[total] <= exact <= found[total] + undecided
    assert found[-1] <= Fraction(7, 8)  # at least an eighth of the proposals is accepted


def test_totals_at_an_irrational_ratio():
    law = total_law(3, Epsilon.read(1), 2)
    found, undecided = proposals(law, 14)
    for total in range(12):
        exact = Fraction(float(law.relative_weight(total))) / (4 * law.width)
        slack = Fraction(1, 10**12)
        assert found[total] - slack <= exact <= found[total] + undecided + slack
    assert undecided < Fraction(1, 8)


@pytest.mark.parametrize(("total", "parts"), [(0, 3), (1, 2), (2, 3), (3, 2), (4, 3), (2, 5)])
def test_compositions_by_enumeration(total, parts):
    found, undecided = measured(lambda bits: tuple(weak_composition(total, parts, bits).tolist()), 14)
    assert set(found) == set(histograms(parts, total))
    assert undecided < Fraction(1, 3)
    for weight in found.values():
        assert abs(weight - Fraction(1, len(found))) <= undecided


@pytest.mark.long
@pytest.mark.parametrize(
    ("subset", "size", "bound"),
    [
        (bitmap_subset, 1, 5),
        (bitmap_subset, 2, 4),
        (sorted_subset, 1, 5),
        pytest.param(sorted_subset, 2, 4, marks=pytest.mark.slow),
    ],
)
def test_array_subsets_by_enumeration(subset, size, bound):
    """The array code with words of 8 bits: the same code as for 32 and 64, small enough to enumerate."""
    found, undecided = measured(lambda bits: tuple(subset(size, bound, bits, word_bits=8).tolist()), 16)
    assert undecided < Fraction(1, 3)
    assert len(found) == comb(bound, size)
    assert max(found.values()) - min(found.values()) <= undecided / 8


def test_words_are_even_below_the_bound():
    """Of the 256 words of 8 bits, 253 = 23 * 11 are kept for a bound of 11: each remainder equally often."""
    found, _ = measured(lambda bits: tuple(uniform_words(1, 11, bits, word_bits=8).tolist()), 8)
    assert found.pop(()) == Fraction(3, 256)
    assert set(found.values()) == {Fraction(23, 256)}
    assert len(found) == 11


@pytest.mark.parametrize(("size", "bound"), [(200, 400), (500, 600), (300, 10**9), (100, 2**40), (60, 2**70), (60, 60)])
def test_large_subsets(size, bound):
    chosen = compositions.uniform_subset(size, bound, SystemBits()).tolist()
    assert len(set(chosen)) == size
    assert chosen == sorted(chosen)
    assert 0 <= chosen[0] <= chosen[-1] < bound


@pytest.mark.parametrize("bins", [2, 3, 4, 5])
def test_halves_make_the_lattice_law(bins):
    """sum_m P(T = d+m) C(K-1+m, m) / C(K-1+d+m, d+m)^2 is the probability of a vector at distance d: exactly, term by term."""
    noise, theta = histogram_noise(bins, epsilon="ln(3)"), Fraction(1, 3)
    for distance in range(4):
        vector = [distance, -distance, *[0] * (bins - 2)]
        reached = Fraction(0)
        for m in range(60):
            ways = Fraction(comb(bins - 1 + m, m), comb(bins - 1 + distance + m, distance + m) ** 2)
            reached += noise.total_probability(distance + m) * ways
        exact = noise.probability(vector)
        assert 0 <= exact - reached < theta**50
    assert sum(noise.error_probability(2 * d) for d in range(200)) > 1 - Fraction(1, 10**60)


def pooled(expected, observed, least=20.0):
    """Merge cells until each expects enough draws."""
    cells, total, seen = [], 0.0, 0.0
    for key in sorted(expected, key=expected.get, reverse=True):
        total, seen = total + expected[key], seen + observed.get(key, 0)
        if total >= least:
            cells.append((total, seen))
            total = seen = 0.0
    return cells, total, seen


@pytest.mark.long
@pytest.mark.parametrize("bins", [2, 3, 4, 5])
def test_drawn_vectors_fit_the_law(bins):
    draws, noise = 4000, histogram_noise(bins, epsilon="ln(2)")
    bits = SystemBits()
    observed = Counter(tuple(noise.sample(bits).tolist()) for _ in range(draws))
    expected = {z: draws * float(noise.probability(z)) for z in near_vectors(bins, 6)}
    cells, rest, seen = pooled(expected, observed)
    outside = draws - sum(e for e, _ in cells)
    cells.append((outside, draws - sum(o for _, o in cells)))
    statistic = sum((o - e) ** 2 / e for e, o in cells)
    assert chi2.sf(statistic, len(cells) - 1) > 1e-6
    # The same test must see a wrong law: noise at another epsilon.
    wrong = {z: draws * float(histogram_noise(bins, epsilon="ln(3)").probability(z)) for z in expected}
    wrong_cells, _, _ = pooled(wrong, observed)
    assert chi2.sf(sum((o - e) ** 2 / e for e, o in wrong_cells), len(wrong_cells) - 1) < 1e-6
    assert rest >= 0
    assert seen >= 0


def near_vectors(bins, reach):
    for shifted in histograms(bins, bins * reach):
        vector = tuple(x - reach for x in shifted)
        if sum(map(abs, vector)) <= 2 * reach:
            yield vector


@pytest.mark.long
@pytest.mark.parametrize(("bins", "epsilon"), [(60, "0.5"), (1000, "1"), (300, "1e-5"), (200, "6"), (10**6, "1")])
def test_arrays_have_the_right_size_of_error(bins, epsilon):
    """The array code, by its mean error: within eight standard deviations (p about 1e-15)."""
    noise = histogram_noise(bins, epsilon=epsilon)
    draws = 1 if bins > 10**5 else 40
    bits = SystemBits()
    vectors = [noise.sample(bits) for _ in range(draws)]
    assert all(int(v.sum()) == 0 and len(v) == bins for v in vectors)
    mean = np.mean([np.abs(v).sum() for v in vectors])
    tolerance = 8 * (float(noise.error_variance()) / draws) ** 0.5
    assert abs(mean - float(noise.expected_error())) < tolerance


def test_tiny_epsilon_needs_wide_integers():
    vector = histogram_noise(3, epsilon="1e-40").sample()
    assert sum(vector.tolist()) == 0
    assert max(abs(x) for x in vector.tolist()) > 2**64


@pytest.mark.long
def test_laplace_totals_make_independent_geometric_numbers():
    noise = laplace_noise(2, epsilon="ln(2)")
    draws, bits = 4000, SystemBits()
    observed = Counter(tuple(noise.sample(bits).tolist()) for _ in range(draws))
    near = [(a, b) for a in range(-4, 5) for b in range(-4, 5)]
    expected = {z: draws * float(noise.probability(z)) for z in near}
    cells, _, _ = pooled(expected, observed)
    cells.append((draws - sum(e for e, _ in cells), draws - sum(o for _, o in cells)))
    assert chi2.sf(sum((o - e) ** 2 / e for e, o in cells), len(cells) - 1) > 1e-6


@pytest.mark.parametrize("bins", [2, 7, 1000, 10**6])
@pytest.mark.parametrize("epsilon", ["1e-12", "0.1", "ln(2)", "50", "100000"])
def test_plans_are_sound_and_quick(bins, epsilon):
    noise = histogram_noise(bins, epsilon=epsilon)
    assert noise.recipe.verdict().accepted
    assert isinstance(noise.recipe.totals, TotalLaw)
    assert noise.recipe.totals.draw(SystemBits()) >= 0


@pytest.mark.parametrize(("total", "parts"), [(5, 3), (2, 4), (3, 1), (0, 3), (30, 4)])
def test_a_composition_without_arrays_is_the_same_one(total: int, parts: int) -> None:
    for turn in range(20):
        listed = _plain_composition(total, parts, FixedBits(f"turn {turn}"))
        assert listed == weak_composition(total, parts, FixedBits(f"turn {turn}")).tolist()
        assert (sum(listed), len(listed)) == (total, parts)
