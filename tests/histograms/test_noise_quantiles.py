"""Quantiles of noise where bounds take over from exact sums: never understated, and close."""

from __future__ import annotations

import math

import pytest

from optimaldp.errors import HistogramError
from optimaldp.histograms import histogram_noise, laplace_noise, query_error
from optimaldp.histograms.noise.quantiles import _bin_tail, bin_quantile, error_quantile, least_size
from optimaldp.histograms.noise.sparse import sparse_noise
from optimaldp.histograms.noise.sums import epsilon_for_query
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.numbers import read_number


@pytest.mark.parametrize("bins", [101, 160])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
@pytest.mark.parametrize("level", ["0.9", "0.99"])
def test_one_of_many_bins_is_bounded_by_a_closed_form(bins: int, epsilon: str, level: str) -> None:
    """Beyond 100 bins a bound is used, too large by a factor of 1 + 1/(2K): at most one more than the exact quantile."""
    read, risk = Epsilon.read(epsilon), 1 - read_number(level, name="level")

    def exact(size: int) -> bool:
        with precision(2000):
            return bool(2 * _bin_tail(bins, read, size + 1) <= ball(risk))

    least = next(size for size in range(1000) if exact(size))
    assert least <= bin_quantile(bins, read, level) <= least + 1


def test_the_two_ways_to_a_quantile_meet_at_a_hundred_bins() -> None:
    epsilon = Epsilon.read("0.7")
    exact, summed = (error_quantile(bins, epsilon) for bins in (100, 101))
    assert 0 <= summed - exact <= 6
    assert 0 <= bin_quantile(101, epsilon) - bin_quantile(100, epsilon) <= 1


@pytest.mark.parametrize("bins", [2, 3, 50])
def test_huge_laplace_errors_are_bounded_by_cantelli(bins: int) -> None:
    epsilon = 1e-7
    theta = math.exp(-epsilon)
    mean = bins * 2 * theta / (1 - theta * theta)
    variance = bins * (2 * theta / (1 - theta) ** 2 - (2 * theta / (1 - theta * theta)) ** 2)
    expected = mean + math.sqrt(variance * 0.95 / 0.05) + 1
    assert laplace_noise(bins, epsilon="1e-7").error_quantile() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("bins", [2, 3, 5])
@pytest.mark.parametrize("level", ["0.5", "0.95"])
def test_laplace_quantiles_by_convolution(bins: int, level: str) -> None:
    theta, reach = math.exp(-0.4), 200
    one = [(1 - theta) / (1 + theta) * theta**z * (2 if z else 1) for z in range(reach)]
    law = [1.0]
    for _ in range(bins):
        law = [sum(law[k] * one[n - k] for k in range(n + 1) if k < len(law)) for n in range(reach)]
    below = 0.0
    least = next(size for size, mass in enumerate(law) if (below := below + mass) >= float(level))
    noise = laplace_noise(bins, epsilon="0.4")
    assert noise.error_quantile(level) == least
    single = next(size for size in range(reach) if 1 - sum(one[: size + 1]) <= 1 - float(level))
    assert noise.bin_quantile(level) == single


@pytest.mark.parametrize("start", [0, 1, 2, 3, 7, 8, 9, 1000])
def test_the_least_size_is_the_least(start: int) -> None:
    assert least_size(lambda size: size >= start, bits=64) == start


def test_sums_of_cells_against_the_variance() -> None:
    """The law from the transform has the variance that the formula says, and its mean size lies below the deviation."""
    for cells, chosen, neighbours in (
        (4, 1, "substitution"),
        (10, 3, "substitution"),
        (10, 3, "add-remove"),
        (2, 1, "substitution"),
    ):
        error = query_error(cells, chosen, epsilon="0.8", neighbours=neighbours)
        law = error._law
        assert law[0] + 2 * sum(law[1:]) == pytest.approx(1, abs=1e-12)
        assert 2 * sum(s * s * p for s, p in enumerate(law)) == pytest.approx(error.standard_deviation**2, rel=1e-9)
        assert 0.5 * error.standard_deviation < error.mean < error.standard_deviation
        tail = [2 * sum(law[s + 1 :]) for s in range(len(law))]
        assert error.quantile("0.95") == next(s for s, p in enumerate(tail) if p <= 0.05)
    assert query_error(10, 0, epsilon=1).quantile() == query_error(10, 10, epsilon=1).quantile() == 0
    assert query_error(10, 10, epsilon=1, neighbours="add-remove").quantile() > 0


def test_sums_of_very_noisy_cells_are_bounded_by_chebyshev() -> None:
    error = query_error(4, 2, epsilon="1e-6")
    assert error._law is None
    assert error.quantile("0.95") == math.ceil(error.standard_deviation / math.sqrt(1 - 0.95))
    assert error.mean == pytest.approx(error.standard_deviation * 0.7978845608, rel=1e-9)


def test_the_least_epsilon_for_a_query() -> None:
    for wanted in (3, 20):
        epsilon = epsilon_for_query(20, 4, error=wanted)
        assert query_error(20, 4, epsilon=epsilon).quantile() <= wanted
        less = Epsilon.read(str(round(float(epsilon) - 0.001, 3)))
        assert query_error(20, 4, epsilon=less).quantile() > wanted
    assert float(epsilon_for_query(20, 4, error=10**9)) == 0.001
    for bad in (0, -1):
        with pytest.raises(HistogramError, match="error"):
            epsilon_for_query(20, 4, error=bad)


@pytest.mark.parametrize(("cells", "chosen"), [(1, 1), (2, 3), (5, -1), (True, 1), (5, True), (5.0, 1), ("5", 1)])
def test_queries_that_cannot_be(cells: object, chosen: object) -> None:
    with pytest.raises(HistogramError):
        query_error(cells, chosen, epsilon=1)  # type: ignore[arg-type]


def test_lattice_noise_of_two_bins_is_one_number() -> None:
    """z and -z with P(z) ~ theta^|z|: its quantiles by addition."""
    noise = histogram_noise(2, epsilon="0.3")
    theta = math.exp(-0.3)
    tails = [2 * theta ** (size + 1) / (1 + theta) for size in range(200)]
    least = next(size for size, tail in enumerate(tails) if tail <= 0.05)
    assert noise.bin_quantile() == least
    assert noise.error_quantile() == 2 * least


@pytest.mark.parametrize("epsilon", ["1", "0.3", "ln(2)", "ln(3/2)", "2.5"])
def test_the_mode_of_how_many_empty_cells_survive(epsilon: str) -> None:
    """Of a binomial law: the least k with (N + 1) p <= k + 1, for hundreds of sizes, so that many are near a turn."""
    theta = math.exp(-float(Epsilon.read(epsilon)))
    for cells in [*range(1, 120), *range(1000, 1040)]:
        noise = sparse_noise(cells, epsilon=epsilon, survivors=max(1, cells // 3))
        chance = theta**noise.least / (1 + theta)
        turn = (cells + 1) * chance - 1
        expected = max(0, math.ceil(turn - 1e-9))
        assert noise.survivors.mode == min(expected, cells), cells
