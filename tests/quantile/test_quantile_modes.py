"""The public rule that chooses FLIP+: against its definition, at its switches, with equality."""

from __future__ import annotations

from fractions import Fraction

import pytest

from optimaldp.laws.quantile import QuantileMode, choose_mode, flip_plus_rule
from optimaldp.privacy.epsilon import Epsilon


def rule_as_written(bins: int, x: Fraction) -> bool:
    """``(K-1) x^2 <= 1`` and ``B <= 1/(1+x)``, with the maximum over all four numbers."""
    cuts = bins - 1
    g = 1 / (1 + cuts * x)

    def side(near: int, all_: int) -> Fraction:
        return (near * x + (all_ - near) * x**2) * (1 - g * near * x)

    most = max(
        side(left, on_left) + side(right, cuts - on_left) - 2 * g * left * right * x**3
        for on_left in range(cuts + 1)
        for left in range(on_left + 1)
        for right in range(cuts - on_left + 1)
    )
    return cuts * x**2 <= 1 and most <= 1 / (1 + x)


@pytest.mark.long
@pytest.mark.parametrize("bins", [3, 4, 5, 6, 7, 8, 9, 10, 11, 20])
def test_the_rule_is_its_definition(bins: int) -> None:
    step = 40 if bins < 12 else 150
    for numerator in range(1, step):
        x = Fraction(numerator, step)
        if bins < 12 or 8 <= numerator <= 14:
            assert flip_plus_rule(bins, x) == rule_as_written(bins, x), x


@pytest.mark.parametrize(
    ("bins", "switch"), [(3, 654), (4, 931), (5, 1212), (6, 1394), (8, 1704), (10, 1937), (20, 2644)]
)
def test_the_switches_of_the_page(bins: int, switch: int) -> None:
    below, above = Epsilon.read(Fraction(switch - 1, 1000)), Epsilon.read(Fraction(switch + 1, 1000))
    assert choose_mode(bins, below) is QuantileMode.SMOOTHED_RANK
    assert choose_mode(bins, above) is QuantileMode.FLIP_PLUS


def test_equality_counts_where_it_is_decided() -> None:
    """The edge itself is irrational in every case, so it is squeezed; the first condition can be met with equality."""
    low, high = Fraction(1, 3), Fraction(1, 2)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rule_as_written(4, middle) else (low, middle)
    assert flip_plus_rule(4, low)
    assert not flip_plus_rule(4, high)
    assert choose_mode(4, Epsilon.read(f"ln({1 / low})")) is QuantileMode.FLIP_PLUS
    assert choose_mode(4, Epsilon.read(f"ln({1 / high})")) is QuantileMode.SMOOTHED_RANK


def test_a_million_million_bins() -> None:
    assert choose_mode(10**12, Epsilon.read(28)) is QuantileMode.FLIP_PLUS
    assert choose_mode(10**12, Epsilon.read(27)) is QuantileMode.SMOOTHED_RANK


def test_two_bins_and_what_overrides() -> None:
    assert choose_mode(2, Epsilon.read(0)) is QuantileMode.FLIP
    assert choose_mode(2, Epsilon.read(9), weights=True) is QuantileMode.SMOOTHED_RANK
    assert choose_mode(9, Epsilon.read(9), personal=True) is QuantileMode.SMOOTHED_RANK
    assert choose_mode(9, Epsilon.read(9)) is QuantileMode.FLIP_PLUS
    assert choose_mode(9, Epsilon.read(9), share=Fraction(1, 9)) is QuantileMode.SMOOTHED_RANK
