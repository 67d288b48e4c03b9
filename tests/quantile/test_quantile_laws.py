"""The sparse laws against their definitions: every small table, long runs of empty bins, windows, weights, delta, levels."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from quantile_oracle import (
    cells,
    clipped,
    cut_heights,
    distances,
    flip,
    smoothed_rank,
    tables,
    true_bin,
    without_small_parts,
)

from optimaldp.errors import LevelError, QuestionError
from optimaldp.laws.quantile import QuantileLaw, QuantileMode, quantile_law
from optimaldp.laws.quantile_accuracy import quantile_probabilities
from optimaldp.laws.rank_scales import DiscountedSums, Window, unit_weights
from optimaldp.privacy import level
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.epsilon import Epsilon

HALF = Fraction(1, 2)
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)  # shrinking exact fractions takes minutes and shows little
ROOT = Fraction(3, 5)
SQUARED = level("ln(25/9)")


def smoothed(bins: int, rank: Fraction, delta: Fraction = Fraction(0), **extras: object) -> QuantileLaw:
    law = quantile_law(bins, rank, level("ln(25/9)", delta), **extras)
    return replace(law, mode=QuantileMode.SMOOTHED_RANK)


@pytest.mark.parametrize("rank", [HALF, Fraction(1, 5), Fraction(9, 10), Fraction(1)])
@pytest.mark.parametrize("bins", [2, 3, 4])
def test_smoothed_rank_is_its_definition_on_every_small_table(bins: int, rank: Fraction) -> None:
    law = smoothed(bins, rank)
    for counts in tables(bins, 4):
        wanted = smoothed_rank(cut_heights(counts[:-1], rank), ROOT, [1] * bins)
        assert law.probabilities(cells(counts[:-1]), exact=True) == wanted


@pytest.mark.long
@given(st.lists(st.integers(0, 4), min_size=2, max_size=9), st.data())
@settings(max_examples=80, deadline=None, phases=QUICK)
def test_smoothed_rank_with_weights_and_delta(counts: list[int], data: st.DataObject) -> None:
    rank = data.draw(st.fractions(Fraction(1, 9), 1, max_denominator=9))
    delta = data.draw(st.fractions(0, 1, max_denominator=40))
    weights = tuple(data.draw(st.lists(st.fractions(Fraction(1, 3), 5), min_size=len(counts), max_size=len(counts))))
    plain, law = (
        smoothed_rank(cut_heights(counts, rank), ROOT, weights),
        smoothed(len(counts), rank, delta, weights=weights),
    )
    before = clipped(plain, delta / (Fraction(25, 9) + 2 * delta))
    assert replace(law, version=1).probabilities(cells(counts), exact=True) == before
    wanted = clipped(plain, delta / (Fraction(25, 9) - 1 + 2 * delta))
    assert law.probabilities(cells(counts), exact=True) == wanted
    with precision(128):
        assert all(
            p.contains(ball(w)) or abs(p - ball(w)) < 1e-25 for p, w in zip(law.probabilities(cells(counts)), wanted)
        )


@pytest.mark.parametrize(("bins", "ratio"), [(3, 2), (3, 5), (4, 3), (5, 4), (6, 5)])
@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 20), Fraction(3, 4)])
def test_flips_are_their_definition_on_every_small_table(bins: int, ratio: int, plus: bool, delta: Fraction) -> None:
    x = Fraction(1, ratio)
    law = quantile_law(bins, HALF, level(f"ln({ratio})", delta))
    law = replace(law, mode=QuantileMode.FLIP_PLUS if plus else QuantileMode.FLIP)
    tau = delta / ((bins - 1) * ratio + 1)
    for counts in tables(bins, 5 if bins < 5 else 3):
        heights = cut_heights(counts[:-1], HALF)
        wanted = without_small_parts(flip(heights, x, plus=plus), true_bin(heights), tau)
        assert law.probabilities(cells(counts[:-1]), exact=True) == wanted


@given(
    st.dictionaries(st.integers(0, 39), st.integers(1, 3), max_size=6),
    st.sampled_from([Fraction(0), Fraction(1, 50), Fraction(1, 3)]),
)
@settings(max_examples=30, deadline=None, phases=QUICK)
def test_long_runs_of_empty_bins_are_summed_as_one_by_one(people: dict[int, int], delta: Fraction) -> None:
    bins, x = 40, Fraction(1, 39)
    law = replace(quantile_law(bins, HALF, level("ln(39)", delta)), mode=QuantileMode.FLIP_PLUS)
    heights = cut_heights([people.get(b, 0) for b in range(bins)], HALF)
    wanted = without_small_parts(flip(heights, x, plus=True), true_bin(heights), delta / (39 * 39 + 1))
    assert law.probabilities(people, exact=True) == wanted
    with precision(100):
        assert all(abs(p - ball(w)) < 1e-20 for p, w in zip(law.probabilities(people), wanted))
    ends = law.ends(people, exact=True)
    assert all(ends.end(cut) == sum(wanted[: cut + 1]) == 1 - ends.rest(cut) for cut in range(0, bins - 1, 7))


def test_bends_of_a_long_run_lie_inside_it() -> None:
    """The case that exercises both bends: some bins of one run at c, some below it, some lost to delta."""
    x, bins, people = Fraction(1, 40), 60, {0: 2, 59: 6}
    heights = cut_heights([people.get(b, 0) for b in range(bins)], HALF)
    row = flip(heights, x, plus=True)
    tau = row[20]
    law = QuantileLaw(QuantileMode.FLIP_PLUS, bins, HALF, level("ln(40)", tau * (59 * 40 + 1)))
    wanted = without_small_parts(row, true_bin(heights), tau)
    assert wanted[20] == 0 < wanted[21]
    assert len(set(row[:59])) > 20
    assert law.probabilities(people, exact=True) == wanted


@given(st.dictionaries(st.integers(0, 10**12 - 1), st.integers(1, 50), max_size=30), st.data())
@settings(max_examples=40, deadline=None, phases=QUICK)
def test_a_window_encloses_what_the_whole_table_gives(people: dict[int, int], data: st.DataObject) -> None:
    epsilon = data.draw(st.sampled_from(["0.1", "1", "28", "ln(5)"]))
    law = quantile_law(10**12, HALF, level(epsilon, data.draw(st.sampled_from(["0", "1e-6"]))))
    cuts = law.cuts(people)
    low = data.draw(st.integers(0, len(cuts.starts) - 1))
    high = data.draw(st.integers(low, len(cuts.starts) - 1))
    cut = data.draw(st.integers(0, 10**12 - 2) | st.sampled_from(cuts.starts))
    with precision(128):
        part = law.law_of(cuts, law._scale(exact=False), Window(low, high))
        whole = law.ends(people)
        assert part.end(cut).overlaps(whole.end(cut))
        assert part.rest(cut).overlaps(whole.rest(cut))
        near = law.law_of(cuts, law._scale(exact=False), law.near(cuts, 128)).end(cut)
        assert near.overlaps(whole.end(cut))
        assert near.rad() < 1e-18


@pytest.mark.parametrize("people", [{3: 1}, {3: 1, 6: 2}])
def test_what_a_window_leaves_out_is_enclosed_to_the_last_bin(people: dict[int, int]) -> None:
    """With all that is unvisited in the next run, the bound is attained: one bin less would be too little."""
    law = replace(quantile_law(10, HALF, level(1)), mode=QuantileMode.SMOOTHED_RANK)
    cuts, last = law.cuts(people), len(people)
    with precision(128):
        scale = law._scale(exact=False)

        def sums(low: int, high: int) -> DiscountedSums:
            return DiscountedSums(
                cuts, scale, lambda drop: scale.power(Fraction(drop, 2)), unit_weights, Window(low, high)
            )

        whole = sums(0, last)
        assert sums(0, last - 1).after[-1].overlaps(whole.after[last - 1])
        assert sums(1, last).before[0].overlaps(whole.before[1])


def test_the_window_does_not_visit_far_bins() -> None:
    law = quantile_law(10**6, HALF, level(1))
    cuts = law.cuts(dict.fromkeys(range(0, 10**6, 100), 10))
    window = law.near(cuts, 128)
    assert window.high - window.low < 100 < len(cuts.starts)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=6), st.data())
@settings(max_examples=40, deadline=None, phases=QUICK)
def test_levels_of_ones_own_are_their_definition(rows: list[tuple[int, int]], data: st.DataObject) -> None:
    """``A_t = C_1 + ... + C_t - q C`` in epsilons, discounts by half of the epsilons in a bin."""
    bins, rank = len(rows), data.draw(st.sampled_from([HALF, Fraction(1, 4), Fraction(3, 4), Fraction(1)]))
    strict, loose = Fraction(2, 3), Fraction(1, 2)  # e^(-epsilon / 16): every power of a rank below is rational
    levels = (Epsilon.read(f"ln({strict**-16})"), Epsilon.read(f"ln({loose**-16})"))
    law = quantile_law(bins, rank, level(max(levels)), levels=levels)
    whole = [sum(row[g] for row in rows) for g in (0, 1)]

    def rise(t: int) -> Fraction:
        """e^(-A_t / 2)"""
        below = [sum(row[g] for row in rows[: t + 1]) - rank * whole[g] for g in (0, 1)]
        return strict ** int(8 * below[0]) * loose ** int(8 * below[1])

    powers = [rise(t) for t in range(bins - 1)]
    ends = []
    for t in range(bins - 1):
        rho = sum(1 / p for p in powers[: t + 1]) / sum(powers[t:])
        ends.append(rho / 2 if rho <= 1 else 1 - 1 / (2 * rho))
    assert [law.end(dict(enumerate(rows)), t, exact=True) for t in range(bins - 1)] == ends


def test_nobody_at_all_is_a_table_like_others() -> None:
    assert quantile_probabilities([0, 0, 0], epsilon="ln(25/9)", mechanism="smoothed rank") == smoothed_rank(
        [0, 0], ROOT, [1, 1, 1]
    )
    assert distances([0, 0]) == [0, 1, 1]


def test_epsilon_zero_is_the_formula_at_one() -> None:
    assert quantile_probabilities([5, 0, 9, 1], epsilon=0) == [
        Fraction(1, 6),
        Fraction(1, 3),
        Fraction(1, 3),
        Fraction(1, 6),
    ]
    assert quantile_probabilities([5, 9], epsilon=0) == [HALF, HALF]
    assert quantile_probabilities([5, 9], epsilon=0, delta="1/10") == [Fraction(7, 20), Fraction(13, 20)]
    assert quantile_probabilities([1, 99], epsilon=0, delta="1/10") == [0, 1]


@pytest.mark.parametrize("height", range(-4, 4))
def test_two_bins_are_the_two_answer_chain(height: int) -> None:
    """From the truth outwards each step is the least that (epsilon, delta) allows: ``1 - q' <= E (1 - q) + delta``."""
    growth, delta = Fraction(2), Fraction(1, 100)
    wrong = (1 - delta) / (1 + growth)  # two tables that differ by the one person who decides
    for _ in range(height if height >= 0 else -height - 1):
        wrong = max(Fraction(0), (wrong - delta) / growth)
    counts = [10 + height, 10 - height]
    law = quantile_probabilities(counts, epsilon="ln(2)", delta=delta)
    assert law[1 if height >= 0 else 0] == wrong


@pytest.mark.parametrize(
    ("counts", "options", "error"),
    [
        ([5], {"epsilon": 1}, "known without data"),
        ([5, 5], {"epsilon": 1, "rank": 0}, "above 0"),
        ([5, 5], {"epsilon": 1, "weights": [1]}, "positive numbers"),
        ([5, 5], {"epsilon": 1, "weights": [1, 0]}, "positive numbers"),
        ([5, 5], {"epsilon": 1, "weights": [1, 2], "mechanism": "flip"}, "does not use weights"),
        ([5, 5], {"epsilon": 1, "mechanism": "chain"}, "'smoothed rank', 'flip', 'flip\\+'"),
        ([5, -5], {"epsilon": 1}, "whole numbers"),
        ([5, 2.5], {"epsilon": 1}, "whole numbers"),
        (7, {"epsilon": 1}, "list of whole numbers"),
    ],
)
def test_bad_input_is_refused_in_words(counts: object, options: dict[str, object], error: str) -> None:
    with pytest.raises(QuestionError, match=error):
        quantile_probabilities(counts, **options)  # type: ignore[arg-type]


def test_levels_must_fit() -> None:
    with pytest.raises(LevelError):
        quantile_law(3, HALF, level("inf"))
    with pytest.raises(LevelError):
        quantile_law(3, HALF, level(1), levels=(Epsilon.read("0.5"),))
    with pytest.raises(QuestionError, match="not have"):
        quantile_law(3, HALF, level(1)).end({3: 1}, 0)


def test_a_document_gives_the_law_back() -> None:
    levels = (Epsilon.read("ln(2)"), Epsilon.read("0.1"))
    laws = [
        quantile_law(7, Fraction(1, 3), level("ln(2)", "1e-6"), weights=tuple(map(Fraction, range(1, 8)))),
        quantile_law(7, HALF, level("ln(2)"), levels=levels, share=Fraction(1, 3)),
        quantile_law(3, HALF, level(2)),
    ]
    for law in laws:
        assert QuantileLaw.from_document(law.to_document()) == law
        assert "\n" not in repr(law)
        assert "QuantileLaw" in law._repr_html_()
