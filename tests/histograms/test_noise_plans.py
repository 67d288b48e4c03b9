"""The plans by which numbers are drawn: around the mode the weights halve within the width, on both sides, and not before."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from optimaldp.certify.noise import NoiseVerdict
from optimaldp.errors import NotCertifiedError
from optimaldp.histograms import histogram_noise
from optimaldp.histograms.error import error_ball
from optimaldp.histograms.noise import sparse
from optimaldp.histograms.noise.quantiles import _moments
from optimaldp.histograms.noise.sparse import SparseNoise, sparse_noise
from optimaldp.histograms.noise.sums import query_error
from optimaldp.histograms.noise.totals import total_law
from optimaldp.histograms.parameters import theta_ball
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import Ball, ball, precision


def least_width(logarithm: Callable[[int], float], mode: int, most: float) -> int:
    """The least width at which the weights on both sides are at most half of the highest; nothing lies outside."""

    def half(number: int) -> bool:
        return not 0 <= number <= most or logarithm(number) <= logarithm(mode) - math.log(2)

    return next(width for width in range(1, 10**4) if half(mode - width) and half(mode + width))


@pytest.mark.parametrize("epsilon", ["0.2", "0.364", "1", "ln(2.1)", "ln(1.439)"])
def test_widths_of_how_many_cells_survive(epsilon: str) -> None:
    theta = math.exp(-float(Epsilon.read(epsilon)))
    widths = set()
    for cells in (1, 2, 3, 4, 5, 7, 11, 30, 100):
        for least in (1, 2):
            chance = theta**least / (1 + theta)

            def logarithm(number: int, cells: int = cells, chance: float = chance) -> float:
                ways = math.log(math.comb(cells, number))
                return ways + number * math.log(chance) + (cells - number) * math.log1p(-chance)

            survivors = SparseNoise(cells, Epsilon.read(epsilon), least).survivors
            assert logarithm(survivors.mode) == pytest.approx(max(map(logarithm, range(cells + 1))))
            assert survivors.width == least_width(logarithm, survivors.mode, cells), (cells, least)
            for number in range(cells + 1):
                relative = float(survivors.relative_weight(number))
                assert relative == pytest.approx(math.exp(logarithm(number) - logarithm(survivors.mode)), rel=1e-9)
            widths.add(survivors.width)
    assert len(widths) > 2


def test_the_left_side_may_be_the_wider_one() -> None:
    """Four cells that survive with 0.41: three of them are at most half as likely as two, but one is nearly as likely."""
    survivors = SparseNoise(4, Epsilon.read("ln(1.439)"), 1).survivors
    assert (survivors.mode, survivors.width) == (2, 2)
    assert float(survivors.relative_weight(3)) < 0.5 < float(survivors.relative_weight(1))


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("epsilon", ["0.05", "0.7", "ln(2.1)", "3"])
@pytest.mark.parametrize("bins", [2, 3, 8, 40])
def test_modes_and_widths_of_totals(bins: int, epsilon: str, copies: int) -> None:
    rate = float(Epsilon.read(epsilon))

    def logarithm(total: int) -> float:
        return copies * (math.lgamma(bins + total) - math.lgamma(total + 1)) - rate * total

    law = total_law(bins, Epsilon.read(epsilon), copies)
    highest = max(map(logarithm, range(5 * law.mode + 200)))
    assert logarithm(law.mode) == pytest.approx(highest, abs=1e-9)
    assert law.mode == 0 or logarithm(law.mode - 1) < logarithm(law.mode) - 1e-12, "the least of them"
    assert law.width == least_width(logarithm, law.mode, math.inf)
    for total in (0, law.mode + 1, law.mode + law.width):
        relative = float(law.relative_weight(total))
        assert relative == pytest.approx(math.exp(logarithm(total) - logarithm(law.mode)), rel=1e-7)


@pytest.mark.parametrize("epsilon", ["ln(2)", "ln(3)"])
def test_the_mode_of_more_cells_than_a_float_can_count(epsilon: str) -> None:
    """The least k with (N + 1) p <= k + 1, where the first guess is off by a few."""
    theta = 1 / Fraction(Epsilon.read(epsilon).exact_ratio or 1)
    chance = theta / (1 + theta)
    for cells in range(10**17, 10**17 + 8):
        survivors = SparseNoise(cells, Epsilon.read(epsilon), 1).survivors
        assert survivors.mode == math.ceil((cells + 1) * chance) - 1, cells


@pytest.mark.parametrize("epsilon", ["0.01", "1", "5"])
@pytest.mark.parametrize("bins", [2, 7, 150])
def test_moments_are_rounded_up_and_hardly(bins: int, epsilon: str) -> None:
    level = Epsilon.read(epsilon)
    mean, spread = _moments(bins, level)
    with precision(300):
        theta = theta_ball(level)
        exact = error_ball(bins, epsilon=level, bits=256) / 2
        variance = bins * (bins - 1) * theta / (1 - theta) ** 2 - exact**2
        for shown, true in ((mean, exact), (spread, variance.sqrt())):
            assert bool(ball(Fraction(shown)) > true)
            assert bool(ball(Fraction(shown)) < true * (1 + Ball(10) ** -11))


@pytest.mark.parametrize("epsilon", ["0.05", "0.3", "1"])
@pytest.mark.parametrize("cells", [10**6, 10**12])
def test_about_as_many_empty_cells_survive_as_one_can_pay_for(cells: int, epsilon: str) -> None:
    """At most 65,536 on average, and one value lower there would be more."""
    noise = sparse_noise(cells, epsilon=epsilon)
    theta = math.exp(-float(Epsilon.read(epsilon)))

    def survive(least: int) -> float:
        return cells * theta**least / (1 + theta)

    assert survive(noise.least) <= 65_536 < survive(noise.least - 1)


def test_the_first_objection_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Epsilon.read("1")
    verdict = NoiseVerdict(one, one, Neighbours.ADD_REMOVE, ("the first", "the second"))
    monkeypatch.setattr(sparse, "_verdict", lambda _: verdict)
    with pytest.raises(NotCertifiedError, match=r"not certified: the first\. Nothing was sampled"):
        SparseNoise(100, one, 3).sample({})


@pytest.mark.parametrize(
    ("bins", "epsilon", "copies"), [(2, "ln(2)", 1), (3, "ln(3/2)", 2), (3, "0.1", 2), (6, "0.3", 1)]
)
def test_the_mode_is_the_least_total_from_which_the_weights_do_not_rise(bins: int, epsilon: str, copies: int) -> None:
    level = Epsilon.read(epsilon)
    decay = Fraction(1) / level.exact_ratio if level.exact_ratio else Fraction(math.exp(-float(level)))
    weights = [Fraction(math.comb(total + bins - 1, total)) ** copies * decay**total for total in range(200)]
    assert total_law(bins, level, copies).mode == weights.index(max(weights)), "of equal weights the first"


def test_an_error_in_sum_is_half_as_many_people() -> None:
    noise = histogram_noise(4, epsilon=1)
    worst = noise.error_quantile()
    assert f"at most {worst} in sum (at most {worst // 2} people in a wrong bin)" in noise.statement()


@pytest.mark.parametrize("chosen", [0, 5])
def test_a_sum_of_nothing_or_of_everything_has_no_error(chosen: int) -> None:
    error = query_error(5, chosen, epsilon=1)
    assert (error.mean, error.standard_deviation, error.quantile()) == (0.0, 0.0, 0)
