"""The least error: three forms, exact numbers, limits, inverse."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from golden import vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_again import epsilon_of, sphere_sizes

from optimaldp.errors import HistogramError, LevelError
from optimaldp.histograms import (
    epsilon_for_error,
    error_ball,
    exact_error,
    large_epsilon_error,
    many_bins_error,
    normaliser,
    optimal_error,
    small_epsilon_error,
)
from optimaldp.histograms.error import hypergeometric_form, legendre_form
from optimaldp.privacy.balls import Ball, ball, context, precision

thetas = st.fractions(min_value="1/50", max_value="19/20", max_denominator=50)


@pytest.mark.parametrize("case", vectors("channels_histograms", "D_star"), ids=lambda x: x["id"])
def test_exact_numbers(case):
    theta, wanted = Fraction(case["input"]["theta"]), Fraction(case["expect"]["D"])
    assert exact_error(case["input"]["K"], epsilon=epsilon_of(theta)) == wanted
    assert math.isclose(optimal_error(case["input"]["K"], epsilon=epsilon_of(theta)), wanted, rel_tol=1e-14)


@pytest.mark.parametrize("case", vectors("channels_histograms", "D_star_eps"), ids=lambda x: x["id"])
def test_numbers_at_a_plain_epsilon(case):
    found = optimal_error(case["input"]["K"], epsilon=case["input"]["eps"])
    assert math.isclose(found, case["expect"]["D"], rel_tol=1e-13)


@pytest.mark.parametrize("case", vectors("channels_histograms", "normaliser"), ids=lambda x: x["id"])
def test_normaliser_is_a_legendre_polynomial(case):
    bins, theta = case["input"]["K"], Fraction(case["input"]["theta"])
    found = normaliser(bins, epsilon=epsilon_of(theta))
    assert found == Fraction(case["expect"]["E"]) == Fraction(case["expect"]["legendre_P4_of_y"])
    assert found * (1 - theta) ** (bins - 1) == Fraction(case["expect"]["S4"])


def series_form(bins, ratio):
    """``sum 2d N_d theta^d / sum N_d theta^d``, summed until the rest is below the current precision and enclosed with
    it."""
    value = ratio if isinstance(ratio, Ball) else Ball(ratio.numerator) / Ball(ratio.denominator)
    count, moment, power = Ball(0), Ball(0), Ball(1)
    for distance, size in enumerate(sphere_sizes(bins)):
        count, moment = count + size * power, moment + 2 * distance * size * power
        power = power * value
        rest = _tail(bins, value, distance)
        if rest is not None and rest < moment * Ball(2) ** -context.prec:
            slack = Ball(0).union(rest)  # the rest of either sum lies between 0 and this bound
            return (moment + slack) / (count + slack)
    raise AssertionError("the series has no end")  # pragma: no cover


def _tail(bins, ratio, distance):
    """A bound on ``sum_{d > distance} 2d N_d theta^d``, or ``None`` where it is not geometric yet.

    ``N_d <= C(K-1+d, d)^2`` (each vector is a difference of two compositions of d), and the quotients of the bound fall.
    """
    d = distance + 1
    quotient = (Ball(bins + d) / (d + 1)) ** 2 * ratio * (d + 1) / d
    if not quotient < 1:
        return None
    size = Ball.bin_uiui(bins - 1 + d, d) ** 2
    return 2 * d * size * ratio**d / (1 - quotient)


@settings(max_examples=60, deadline=None)
@given(bins=st.integers(2, 12), theta=thetas)
def test_three_forms_are_one(bins, theta):
    exact = hypergeometric_form(bins, theta)
    assert legendre_form(bins, theta) == exact
    with precision(128):
        for form in (series_form, hypergeometric_form, legendre_form):
            assert form(bins, ball(theta)).overlaps(ball(exact))
        assert series_form(bins, theta).rel_accuracy_bits() > 100


@settings(max_examples=40, deadline=None)
@given(bins=st.integers(2, 40), theta=thetas)
def test_the_other_legendre_form(bins, theta):
    """(K-1)(y - P_{K-2}/P_{K-1}), also of erratum E1."""
    y = (1 + theta) / (1 - theta)
    polynomials = [Fraction(1), y]
    for k in range(1, bins):
        polynomials.append(((2 * k + 1) * y * polynomials[k] - k * polynomials[k - 1]) / (k + 1))
    other = (bins - 1) * (y - polynomials[bins - 2] / polynomials[bins - 1])
    assert other == exact_error(bins, epsilon=epsilon_of(theta))


@settings(max_examples=40, deadline=None)
@given(bins=st.integers(2, 30), theta=thetas)
def test_more_bins_and_more_privacy_cost_more(bins, theta):
    here = exact_error(bins, epsilon=epsilon_of(theta))
    assert exact_error(bins + 1, epsilon=epsilon_of(theta)) > here
    assert exact_error(bins, epsilon=epsilon_of((theta + 1) / 2)) > here


def test_two_bins_in_closed_form():
    assert exact_error(2, epsilon="ln(7)") == 4 * Fraction(1, 7) / (1 - Fraction(1, 49))


@pytest.mark.parametrize("bins", [2, 3, 100, 10**6])
@pytest.mark.parametrize("epsilon", ["1e-9", "0.3", "7", "60", "4000"])
def test_ball_holds_any_size(bins, epsilon):
    value = error_ball(bins, epsilon=epsilon, bits=100)
    assert value > 0
    assert value.rel_accuracy_bits() >= 100


def test_limits():
    assert math.isclose(optimal_error(10**5, epsilon=1), many_bins_error(10**5, epsilon=1), rel_tol=1e-4)
    assert math.isclose(optimal_error(7, epsilon="1e-6"), small_epsilon_error(7, epsilon="1e-6"), rel_tol=1e-6)
    assert math.isclose(optimal_error(7, epsilon=40), large_epsilon_error(7, epsilon=40), rel_tol=1e-6)
    assert many_bins_error(3, epsilon=5000) == 0.0


@settings(max_examples=30, deadline=None)
@given(bins=st.integers(2, 200), error=st.fractions(min_value="1/1000", max_value=10**6, max_denominator=1000))
def test_inverse(bins, error):
    epsilon = epsilon_for_error(bins, error)
    assert error_ball(bins, epsilon=epsilon) <= ball(error)
    assert error_ball(bins, epsilon=epsilon.plain * (1 - Fraction(1, 10**10))) > ball(error)


@pytest.mark.parametrize("bad", [0, -1, "nothing", float("inf")])
def test_inverse_refuses(bad):
    with pytest.raises(HistogramError, match="error"):
        epsilon_for_error(3, bad)


@pytest.mark.parametrize("bins", [1, 0, -3, 2.5, True, "4", 10**9])
def test_bins_are_checked(bins):
    with pytest.raises(HistogramError, match="bins"):
        optimal_error(bins, epsilon=1)


@pytest.mark.parametrize("epsilon", [0, "inf", -1, None, "ln(1)", float("nan")])
def test_epsilon_is_checked(epsilon):
    with pytest.raises(LevelError, match="epsilon"):
        optimal_error(3, epsilon=epsilon)


def test_exact_needs_a_rational():
    with pytest.raises(HistogramError, match="rational"):
        exact_error(3, epsilon=1)
    with pytest.raises(HistogramError, match="too many"):
        exact_error(10**5, epsilon="ln(2)")
