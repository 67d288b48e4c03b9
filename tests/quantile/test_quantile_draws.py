"""The sampler against the law, by all bits that it could have drawn."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

from optimaldp.laws.quantile import QuantileLaw, QuantileMode, quantile_law
from optimaldp.laws.several_quantiles import several_quantiles
from optimaldp.privacy import level
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.sampling import SystemBits, enumerate_bits

HALF = Fraction(1, 2)
QUARTILES = (Fraction(1, 4), HALF, Fraction(3, 4))


def drawn_law(law: QuantileLaw, cells: dict[int, object], depth: int) -> tuple[dict[int, Fraction], Fraction]:
    sums: dict[int, Fraction] = defaultdict(Fraction)
    open_ = Fraction(0)
    for index, p in enumerate_bits(lambda source: law.draw(cells, source, first_bits=1), depth=depth):
        if index is None:
            open_ += p
        else:
            sums[index] += p
    return sums, open_


@pytest.mark.parametrize(
    ("counts", "epsilon", "options"),
    [
        ([2, 0, 3, 1, 4], "ln(25/9)", {}),
        ([2, 0, 3, 1, 4], "ln(25/9)", {"delta": "1/10"}),
        ([0, 0, 0], "ln(9/4)", {"mode": QuantileMode.SMOOTHED_RANK}),
        ([5, 0, 1, 2], "ln(9/4)", {"weights": (1, 2, 3, 4)}),
        ([0, 0, 0, 8], "ln(3)", {}),
        ([3, 4, 3], "ln(2)", {"delta": "1/20"}),
        ([5, 5], "ln(10/9)", {}),
        ([5, 6], "ln(3)", {"delta": "1/4"}),
        ([1, 0, 0, 1], "0", {}),
    ],
)
def test_every_bin_has_its_probability(counts: list[int], epsilon: str, options: dict[str, object]) -> None:
    weights = options.get("weights")
    law = quantile_law(
        len(counts),
        HALF,
        level(epsilon, options.get("delta", 0)),
        weights=tuple(map(Fraction, weights)) if weights else None,  # type: ignore[arg-type]
    )
    if "mode" in options:
        law = replace(law, mode=options["mode"])
    cells = {b: c for b, c in enumerate(counts) if c}
    sums, open_ = drawn_law(law, cells, depth=11)
    assert open_ <= Fraction(len(counts), 2**10)
    for index, p in enumerate(law.probabilities(cells, exact=True)):
        assert sums[index] <= p <= sums[index] + open_


def test_levels_are_drawn_from_their_law() -> None:
    levels = tuple(Epsilon.read(f"ln({root**-8})") for root in (Fraction(4, 5), Fraction(2, 3)))
    law = quantile_law(4, HALF, level(max(levels)), levels=levels)
    cells = {0: (2, 1), 2: (0, 1), 3: (3, 0)}
    sums, open_ = drawn_law(law, cells, depth=11)
    for index, p in enumerate(law.probabilities(cells, exact=True)):
        assert sums[index] <= p <= sums[index] + open_


def test_a_second_reading_is_shown_bits_and_index() -> None:
    law, shown = quantile_law(9, HALF, level(1)), []

    def reread(of: QuantileLaw, cells: object) -> object:
        return lambda value, count, index: shown.append((of, cells, value, count, index))

    cells = {3: 4, 7: 2}
    answer = law.draw(cells, SystemBits(), reread=reread)  # type: ignore[arg-type]
    [(of, held, value, count, index)] = shown
    assert of is law
    assert held is cells
    assert index == answer
    assert count == 64
    assert 0 <= value < 2**64


class _Counting(QuantileLaw):
    evaluations = 0

    def law_of(self, cuts, scale, window):  # type: ignore[no-untyped-def]
        ends = super().law_of(cuts, scale, window)
        plain = ends.end

        def counted(cut: int) -> object:
            type(self).evaluations += 1
            return plain(cut)

        return SimpleNamespace(end=counted)


def test_the_number_of_evaluations_does_not_tell_the_answer() -> None:
    law = _Counting(QuantileMode.SMOOTHED_RANK, 10**6, HALF, level(1))
    seen = set()
    for place in (0, 1, 3, 499_999, 999_999):
        _Counting.evaluations = 0
        law.draw({place: 1000}, SystemBits())
        seen.add(_Counting.evaluations)
    assert seen == {20}


def test_a_million_bins_are_drawn_from_near_the_median() -> None:
    rng = random.Random(3)
    cells = {rng.randrange(10**6): 1 for _ in range(5000)}
    occupied = sorted(cells)
    law = quantile_law(10**6, HALF, level(1))
    for _ in range(5):
        assert occupied[2400] <= law.draw(cells, SystemBits()) <= occupied[2600]


def test_several_quantiles_are_in_order() -> None:
    rng = random.Random(4)
    cells = {rng.randrange(60): 3 for _ in range(40)}
    for promise in (level("0.2"), level(2)):
        law = several_quantiles(60, QUARTILES, promise)
        assert law.ranks == QUARTILES
        for _ in range(10):
            answer = law.draw(cells, SystemBits())
            assert list(answer) == sorted(answer)
            assert len(answer) == 3
            assert 0 <= answer[0] <= answer[-1] < 60


def test_the_halves_reach_their_own_bins() -> None:
    law = several_quantiles(60, QUARTILES, level("0.9"))
    cells = {5: 4000, 20: 4000, 40: 4000, 55: 4000}
    for _ in range(5):
        first, median, third = law.draw(cells, SystemBits())
        assert 5 <= first <= 20 <= median <= 40 <= third <= 55


def test_which_law_several_quantiles_get_is_public() -> None:
    joint = several_quantiles(50, QUARTILES, level("0.9", "1e-6"))
    apart = several_quantiles(49, QUARTILES, level("0.9", "1e-6"))
    assert type(joint).__name__ == "JointQuartiles"
    assert type(apart).__name__ == "RepeatedQuantiles"
    assert type(several_quantiles(50, QUARTILES, level(1))).__name__ == "RepeatedQuantiles"
    assert type(several_quantiles(10, QUARTILES, level("0.8"), persons=100)).__name__ == "JointQuartiles"
    assert type(several_quantiles(10, QUARTILES, level("0.81"), persons=100)).__name__ == "RepeatedQuantiles"
    assert type(several_quantiles(50, (HALF, Fraction(3, 4)), level("0.9"))).__name__ == "RepeatedQuantiles"
    assert {law.share for law in apart.laws} == {Fraction(1, 3)}
    assert sum(law.level.delta for law in apart.laws) == Fraction(1, 10**6)
    parts = (joint.middle, joint.lower(20), joint.upper(20))
    assert sum(law.level.delta for law in parts) == Fraction(1, 10**6)
    assert {law.share for law in parts} == {HALF}
    assert joint.lower(0) is None
    assert joint.upper(49) is None
