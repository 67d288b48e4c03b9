"""What is known about the noise before it is drawn: probabilities, moments, quantiles."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from golden import vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_again import epsilon_of

from optimaldp.errors import HistogramError
from optimaldp.histograms import histogram_noise, laplace_noise
from optimaldp.histograms.noise.quantiles import _bin_tail, _bin_tail_factor, _distance_masses, error_quantile
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import ball, precision


@pytest.mark.parametrize("case", vectors("channels_histograms", "noise_pmf"), ids=lambda x: x["id"])
def test_golden_numbers(case):
    vector, expect = case["input"]["z"], case["expect"]
    noise = histogram_noise(len(vector), epsilon=epsilon_of(Fraction(case["input"]["theta"])))
    assert noise.probability(vector) == Fraction(expect["p"])
    assert [noise.error_probability(2 * d) for d in range(6)] == [Fraction(x) for x in expect["radius_pmf_d0..5"]]
    assert [noise.total_probability(t) for t in range(6)] == [Fraction(x) for x in expect["T_pmf_0..5"]]
    assert noise.variance() == Fraction(expect["bin_variance"])
    assert noise.expected_error() == Fraction(expect["mean_L1"])


def window(bins, reach):
    for head in product(range(-reach, reach + 1), repeat=bins - 1):
        yield (*head, -sum(head))


@pytest.mark.parametrize("bins", [2, 3])
def test_moments_by_enumeration(bins):
    noise = histogram_noise(bins, epsilon="ln(5)")
    table = {z: noise.probability(z) for z in window(bins, 30)}
    close = Fraction(1, 10**12)
    assert abs(sum(table.values()) - 1) < close
    assert abs(sum(p * z[0] ** 2 for z, p in table.items()) - noise.variance()) < close
    assert abs(sum(p * z[0] * z[1] for z, p in table.items()) - noise.covariance()) < close
    errors = [(p, sum(map(abs, z))) for z, p in table.items()]
    mean = sum(p * e for p, e in errors)
    assert abs(mean - noise.expected_error()) < close
    assert abs(sum(p * e**2 for p, e in errors) - mean**2 - noise.error_variance()) < close


@settings(max_examples=40, deadline=None)
@given(
    bins=st.integers(2, 9),
    ratio=st.sampled_from(["ln(2)", "ln(9/8)", "ln(30)"]),
    level=st.sampled_from(["0.5", "0.95", "0.999"]),
)
def test_error_quantile_is_the_least(bins, ratio, level):
    noise, wanted = histogram_noise(bins, epsilon=ratio), Fraction(level)
    reached, distance = noise.error_probability(0), 0
    while reached < wanted:
        distance += 1
        reached += noise.error_probability(2 * distance)
    assert noise.error_quantile(level) == 2 * distance


@pytest.mark.long
@pytest.mark.parametrize(("bins", "ratio"), [(2, "ln(2)"), (3, "ln(2)"), (4, "ln(3)")])
def test_bin_quantile_is_the_least(bins, ratio):
    noise = histogram_noise(bins, epsilon=ratio)
    table = {z: noise.probability(z) for z in window(bins, 16)}
    for level in ("0.5", "0.9", "0.99"):
        reach = noise.bin_quantile(level)
        inside = sum(p for z, p in table.items() if abs(z[0]) <= reach)
        closer = sum(p for z, p in table.items() if abs(z[0]) < reach)
        assert inside >= Fraction(level) - Fraction(1, 10**3)
        assert closer < Fraction(level)


@pytest.mark.long
def test_bin_tail_is_exact_and_its_bound_holds():
    noise = histogram_noise(4, epsilon="ln(2)")
    table = {z: noise.probability(z) for z in window(4, 14)}
    with precision(200):
        for size in range(5):
            tail = sum(p for z, p in table.items() if z[0] >= size)
            exact = _bin_tail(4, noise.epsilon, size)
            assert abs(float(exact) - float(tail)) < 1e-3
            assert exact > ball(tail)
        root = (-noise.epsilon.ball() / 2).exp()
        for bins in (4, 40, 100):
            for size in (0, 1, 7, 30):
                bound = _bin_tail_factor(bins, noise.epsilon) * root**size
                assert _bin_tail(bins, noise.epsilon, size) <= bound
        # For many bins the bound costs next to nothing.
        assert float(_bin_tail_factor(100, noise.epsilon) * root**5 / _bin_tail(100, noise.epsilon, 5)) < 1.2


@pytest.mark.long
@pytest.mark.parametrize("bins", [101, 400])
def test_many_bins_by_floats_agree_with_the_exact_sum(bins):
    epsilon = Epsilon.read("ln(4)")
    noise = histogram_noise(bins, epsilon=epsilon)
    reached, distance = noise.error_probability(0), 0
    while reached < Fraction(95, 100):
        distance += 1
        reached += noise.error_probability(2 * distance)
    assert error_quantile(bins, epsilon, "0.95") == 2 * distance
    masses = list(_distance_masses(bins, epsilon, 600))
    assert abs(masses[distance] / sum(masses) - float(noise.error_probability(2 * distance))) < 1e-9


def test_huge_errors_are_bounded_by_cantelli():
    noise = histogram_noise(10**5, epsilon="0.0001")
    mean, spread = float(noise.expected_error()), float(noise.error_variance()) ** 0.5
    assert mean + spread < noise.error_quantile("0.95") < mean + 5 * spread


@pytest.mark.parametrize(("bins", "ratio"), [(2, "ln(2)"), (3, "ln(3)"), (2, "0.7")])
def test_laplace_law(bins, ratio):
    noise, window_reach = laplace_noise(bins, epsilon=ratio), 22 if bins == 2 else 12
    table = {z: float(noise.probability(z)) for z in product(range(-window_reach, window_reach + 1), repeat=bins)}
    assert abs(sum(table.values()) - 1) < 1e-5
    assert abs(sum(p * sum(map(abs, z)) for z, p in table.items()) - float(noise.expected_error())) < 1e-3
    assert abs(sum(p * z[0] ** 2 for z, p in table.items()) - float(noise.variance())) < 1e-2
    for level in (0.5, 0.95):
        errors = noise.error_quantile(level)
        assert sum(p for z, p in table.items() if sum(map(abs, z)) <= errors) >= level - 1e-5
        assert sum(p for z, p in table.items() if sum(map(abs, z)) < errors) < level
        reach = noise.bin_quantile(level)
        assert sum(p for z, p in table.items() if abs(z[0]) <= reach) >= level - 1e-5
        assert sum(p for z, p in table.items() if abs(z[0]) < reach) < level


def test_statements_name_the_neighbours():
    assert "replaced" in histogram_noise(3, epsilon=1).statement("19/20")
    assert "appears or disappears" in laplace_noise(3, epsilon=1).statement()
    assert "Cantelli" not in histogram_noise(3, epsilon=1).statement()


@pytest.mark.parametrize("level", [0, 1, 2, -1, "x"])
def test_confidence_is_checked(level):
    with pytest.raises(HistogramError, match="level"):
        histogram_noise(3, epsilon=1).error_quantile(level)


def test_vectors_are_checked():
    noise = histogram_noise(3, epsilon="ln(2)")
    assert noise.probability([1, 0, 0]) == 0
    assert noise.error_probability(3) == 0
    with pytest.raises(HistogramError, match="entries"):
        noise.probability([1, -1])


def test_results_describe_themselves():
    noise = histogram_noise(3, epsilon=1)
    assert repr(noise) == "HistogramNoise(3 bins, epsilon 1, substitution, sum 0)"
    assert "expected L1 error" in noise._repr_html_()
    assert '"neighbours": "add-remove"' in laplace_noise(3, epsilon=1).to_json()


@pytest.mark.parametrize("bins", [3, 101, 6000])
@pytest.mark.parametrize("epsilon", ["1e-150", "ln(2)", "1000", "0.1+ln(3)"])
def test_extreme_levels_have_quantiles_and_moments(bins, epsilon):
    for noise in (histogram_noise(bins, epsilon=epsilon), laplace_noise(bins, epsilon=epsilon)):
        assert noise.error_quantile() >= noise.bin_quantile() >= 0
        assert float(noise.variance()) >= 0
        assert float(noise.expected_error()) >= 0
    assert float(histogram_noise(bins, epsilon=epsilon).probability([0] * bins)) >= 0
