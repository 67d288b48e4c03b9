"""The last digit, the part that delta takes, and other ends of laws."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from optimaldp.laws.quantile import probabilities as of_quantiles
from optimaldp.laws.winner import distribution, winner_probabilities
from optimaldp.laws.winner.modes import winner_claim
from optimaldp.privacy import Neighbours, level
from optimaldp.privacy.balls import Ball, precision, working_bits
from optimaldp.sampling import SystemBits


def thirds(share: float) -> list[Ball]:
    """Enclosures that only *share* of the bits in force have gone into."""
    with precision(int(working_bits() * share)):
        return [Ball(1) / 3, Ball(2) / 3]


def test_all_digits_are_right_where_bits_are_lost_on_the_way() -> None:
    law: Any = SimpleNamespace(probabilities=lambda _: thirds(0.4))
    for shown, digits in ((of_quantiles._decimals(law, {}), 30), (distribution._decimals(lambda: thirds(0.6)), 45)):
        with localcontext(prec=digits):
            assert shown == [Decimal(1) / 3, Decimal(2) / 3]


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_delta_takes_its_part_from_every_loser(neighbours: str) -> None:
    """tau = delta / (K e^epsilon), or all that there is."""
    counts, delta = [9, 5, 2, 0], "0.01"
    before = winner_probabilities(counts, epsilon="0.5", neighbours=neighbours)
    after = winner_probabilities(counts, epsilon="0.5", delta=delta, neighbours=neighbours)
    taken = float(delta) / (4 * math.exp(0.5))
    for plain, left in list(zip(before, after))[1:]:
        assert float(left) == pytest.approx(max(0.0, float(plain) - taken), rel=1e-12)
    assert sum(map(float, after)) == pytest.approx(1, rel=1e-12)


def test_a_drawn_loser_keeps_what_delta_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The draw flips a coin for (P - tau) / P: the same part that the listed probabilities lose."""
    counts, kept = [9, 5, 2, 0, 0, 0, 0, 0], []
    claim = winner_claim(len(counts), level("0.5", "0.01"), Neighbours.SUBSTITUTION)
    plain = winner_probabilities(counts, epsilon="0.5")

    def reveal(word: int, bits: int, keeps: Any, source: Any) -> bool:
        with precision(100):
            kept.append(float(keeps()))
        return True

    monkeypatch.setattr(distribution, "draw_by_flipping", lambda *_: 1)
    monkeypatch.setattr(distribution, "reveal_below", reveal)
    assert distribution._draw_permute_and_flip(counts, claim, SystemBits()) == 1
    tau = Fraction(1, 100) / len(counts) * Fraction(math.exp(-0.5))
    assert kept == [pytest.approx(1 - float(tau) / float(plain[1]), rel=1e-9)]
