"""Every digit that is printed is right, and what is printed exactly and what as a decimal changes where it is said to."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest

from optimaldp.distances.linear import share_condition
from optimaldp.laws import log_number as reading
from optimaldp.laws import quantile_accuracy as quantiles
from optimaldp.laws import winner as distribution
from optimaldp.laws.law import Aim
from optimaldp.laws.personal import chosen_law, everybody_sides, yes_probability_from
from optimaldp.laws.quantile import quantile_law
from optimaldp.laws.quantile_accuracy import quantile_probabilities
from optimaldp.laws.winner import winner_claim, winner_probabilities
from optimaldp.privacy import Epsilon, level
from optimaldp.privacy.balls import Ball, precision


def off(printed: Decimal, true: Ball) -> float:
    """The relative error of what is printed."""
    with precision(4000), localcontext() as context:
        context.prec = 1200
        exact = Decimal(true.mid().str(1100, radius=False))
        return float(abs(printed - exact) / exact)


def digits(printed: Decimal) -> int:
    return len(printed.as_tuple().digits)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "7"])
@pytest.mark.parametrize("counts", [[2, 3, 1, 4], [40, 0, 0, 1], [0, 300, 0, 0, 2]])
def test_quantiles_have_thirty_digits(counts: list[int], epsilon: str) -> None:
    printed = quantile_probabilities(counts, epsilon=epsilon)
    law = quantile_law(len(counts), Fraction(1, 2), level(epsilon))
    with precision(4000):
        true = law.probabilities({bin_: count for bin_, count in enumerate(counts) if count})
    for ours, exact in zip(printed, true, strict=True):
        assert isinstance(ours, Decimal)
        assert digits(ours) <= 30
        assert off(ours, exact) < 0.6e-29
    assert max(map(digits, printed)) == 30


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "0"), ("1", "0"), ("1", "1e-9"), ("5", "0"), ("5", "1e-30")])
@pytest.mark.parametrize("counts", [[5, 4], [30, 2, 7], [6, 5, 5, 5, 5, 1]])
def test_winners_have_forty_five_digits(counts: list[int], epsilon: str, delta: str) -> None:
    printed = winner_probabilities(counts, epsilon=epsilon, delta=delta)
    claim = winner_claim(len(counts), level(epsilon, delta))
    with precision(4000):
        true = distribution.enclosed_probabilities(counts, claim)
    for ours, exact in zip(printed, true, strict=True):
        assert isinstance(ours, Decimal)
        if exact == 0:
            assert ours == 0
        else:
            assert digits(ours) <= 45
            assert off(ours, exact) < 0.6e-44
    assert max(map(digits, printed)) == 45


@pytest.mark.parametrize("aim", Aim)
def test_answers_of_people_with_levels_have_forty_five_digits(aim: Aim) -> None:
    condition = share_condition(">=", Fraction(1, 2))
    for yes in (0, 3, 400):
        rows = [(Epsilon.read("0.3"), yes, 5, 0), (Epsilon.read("2"), 1, 400 - yes, 0)]
        printed = yes_probability_from(condition, [row[:3] for row in rows], aim)
        with precision(4000):
            sizes = tuple((epsilon, own + other) for epsilon, own, other, _ in rows)
            true = everybody_sides(condition, rows, chosen_law(condition, sizes, aim))[0]
        assert isinstance(printed, Decimal)
        assert digits(printed) <= 45
        assert off(printed, true) < 0.6e-44


@pytest.mark.parametrize(
    ("module", "bits", "printed"),
    [
        # One bit for each vote of the gap, and four sets of two options; five people in two bins of three bits.
        (distribution, 12, lambda: winner_probabilities([5, 2], epsilon="ln(2)")),
        (distribution, 24, lambda: winner_probabilities([5, 2], epsilon="ln(5/2)")),
        (quantiles, 30, lambda: quantile_probabilities([2, 3], epsilon="ln(4)")),
    ],
)
def test_rationals_that_are_too_long_become_decimals(
    module: Any, bits: int, printed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_EXACT_BITS", bits)
    exact = printed()
    assert all(isinstance(p, Fraction) for p in exact)
    monkeypatch.setattr(module, "_EXACT_BITS", bits - 1)
    enclosed = printed()
    assert all(isinstance(p, Decimal) for p in enclosed)
    assert [float(p) for p in enclosed] == pytest.approx([float(p) for p in exact], rel=1e-15)


def test_an_enclosure_is_sharpened_until_its_digits_are_right() -> None:
    """The first enclosures are too wide; what is returned comes from one that is not."""
    asked: list[float] = []

    def wide() -> tuple[Ball, Ball]:
        asked.append(1)
        third = Ball(1) / 3
        return (third + Ball(0, 1e-20) if len(asked) < 3 else third), 1 - third

    assert off(reading.exact_or_decimal(wide), _third()) < 0.6e-44  # type: ignore[arg-type]
    assert len(asked) == 3


def _third() -> Ball:
    with precision(4000):
        return Ball(1) / 3
