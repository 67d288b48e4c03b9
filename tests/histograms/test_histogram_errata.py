"""Each erratum of paper 002 that would be wrong if copied: what is printed fails, what is computed here holds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from lattice_again import epsilon_of
from scipy.stats import binom

from optimaldp.errors import HistogramError, LevelError
from optimaldp.histograms import (
    ball_map,
    exact_error,
    finite_optimum,
    histogram_noise,
    multinomial,
    program_size,
    read_prior,
    remap_error,
    round_share,
    two_bin_optimum,
)
from optimaldp.histograms.lattice import histograms

HALF = Fraction(1, 2)


def legendre(degree, y):
    before, current = Fraction(1), y
    for k in range(1, degree):
        before, current = current, ((2 * k + 1) * y * current - k * before) / (k + 1)
    return current if degree else Fraction(1)


@pytest.mark.parametrize(("bins", "right"), [(2, "8/3"), (3, "72/13"), (4, "176/21"), (5, "1200/107")])
def test_e1_corollary_1_as_printed_is_wrong(bins, right):
    theta = HALF
    y = (1 + theta) / (1 - theta)
    quotient = legendre(bins, y) / legendre(bins - 1, y)
    printed = bins * ((1 + 4 * theta - theta**2) / (1 - theta) + quotient)
    assert exact_error(bins, epsilon="ln(2)") == Fraction(right) == bins * (quotient - y)
    assert printed > 2 * Fraction(right)
    if bins == 2:
        assert printed == Fraction(59, 3)


def test_e2_theta_one_and_zero_are_no_levels():
    for epsilon in (0, "inf"):
        with pytest.raises(LevelError, match="epsilon"):
            exact_error(3, epsilon=epsilon)


def test_e3_the_program_is_much_smaller_than_printed():
    for bins, persons in ((2, 3), (3, 4), (4, 3)):
        variables = program_size(bins, persons)[0]
        assert variables == len(list(histograms(bins, persons))) ** 2
        assert variables < (persons + 1) ** (2 * bins)


def test_e4_it_grows_like_a_polynomial():
    assert program_size(3, 400)[1] < 2**4.5 * program_size(3, 200)[1]


def test_e5_the_multinomial_is_not_the_most_generic_prior():
    """A binomial (a, b, c) on two persons has b^2 = 4ac; the flat prior has not, and is taken all the same."""
    flat = read_prior("flat", 2)
    a, b, c = (flat.probability(h) for h in histograms(2, 2))
    assert (a, b, c) == (Fraction(1, 3),) * 3
    assert b**2 != 4 * a * c
    assert finite_optimum(2, 2, epsilon="ln(2)", prior=dict.fromkeys(histograms(2, 2), "1/3")).exact is not None


def test_e6_the_ball_is_left_with_a_moderate_deviation():
    """P(outside B(1/2)) decays like exp(-c n^(1/3)), not like exp(-a n)."""

    def outside(persons):
        return 2 * binom.cdf(math.ceil(persons / 2 - persons ** (2 / 3) / 4) - 1, persons, 0.5)

    assert abs(outside(1000) - 0.11) < 0.01
    assert 5e-7 < outside(10**6) < 7e-7
    # Per person the exponent vanishes; per cube root it stays.
    per_person = [math.log(outside(n)) / n for n in (10**3, 10**6)]
    per_root = [math.log(outside(n)) / n ** (1 / 3) for n in (10**3, 10**6)]
    assert abs(per_person[1]) < abs(per_person[0]) / 100
    assert 0.1 < abs(per_root[1]) < 0.3


def test_e7_far_histograms_have_large_errors():
    """D(W, h) is bounded by 2n only: at a corner the ball map is off by about n, whatever n is."""
    for persons in (27, 64, 125):
        prior, noise, corner = read_prior("uniform", 2), histogram_noise(2, epsilon="ln(2)"), np.array([persons, 0])
        error = sum(
            float(noise.probability([z, -z])) * np.abs(ball_map(corner + np.array([z, -z]), prior=prior) - corner).sum()
            for z in range(-40, 41)
        )
        assert persons * 0.9 < error <= 2 * persons


def test_e8_np_is_rounded():
    prior = multinomial(["0.15", "0.35", "0.5"])
    far = ball_map([30, -20, 0], prior=prior)
    assert far.tolist() == list(round_share(10, prior.means))
    assert far.sum() == 10
    assert far.dtype.kind == "i"


def test_e10_the_ball_map_is_needless():
    """At n = 8 it loses to the Bayes remap, and for a large epsilon even to the projection and to doing nothing."""
    errors = {name: remap_error(name, 3, 8, epsilon="ln(5)").value for name in ("projection", "bayes", "ball", "none")}
    assert errors["ball"] > errors["none"] > errors["projection"] > errors["bayes"]


def test_e12_geometric_noise_is_not_optimal_for_three_bins():
    optimum = finite_optimum(3, 5, epsilon="ln(2)")
    assert optimum.exact == Fraction(137383, 63504)
    assert abs(remap_error("bayes", 3, 5, epsilon="ln(2)").value - 2.18744) < 5e-6
    assert remap_error("bayes", 3, 5, epsilon="ln(2)").value > float(optimum) * 1.01


def test_e13_bins_that_cannot_occur_cost_nothing():
    """With one bin of probability 0 the optimum is that of the other two; a release refuses such a prior and says what to do."""
    prior = {(a, 4 - a, 0): Fraction(math.comb(4, a), 16) for a in range(5)}
    optimum = finite_optimum(3, 4, epsilon="ln(2)", prior=prior)
    assert optimum.lower <= two_bin_optimum(4, epsilon="ln(2)") <= optimum.upper
    assert optimum.upper - optimum.lower < Fraction(1, 10**9)
    with pytest.raises(HistogramError, match="leave out bins that cannot occur"):
        read_prior(["1/2", "1/2", 0], 3)


def test_e15_the_quotient_has_a_derivative():
    """The last line of the proof prints S/S for S'/S: with it the error would not even vanish like theta."""
    theta, bins = Fraction(1, 1000), 3
    printed = 2 * theta * (Fraction(bins - 1) / (1 - theta) + 1)
    right = exact_error(bins, epsilon=epsilon_of(theta))
    assert abs(right / (2 * bins * (bins - 1) * theta) - 1) < Fraction(1, 100)
    assert printed < right * Fraction(6, 10)
