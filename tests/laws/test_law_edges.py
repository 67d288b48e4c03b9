"""The last digit, the part that delta takes, and other ends of laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from optimaldp.distances.linear import count_condition, share_condition
from optimaldp.laws import log_number as reading
from optimaldp.laws import quantile_accuracy as of_quantiles
from optimaldp.laws import quantile_rivals as rivals
from optimaldp.laws import winner as distribution
from optimaldp.laws import winner as permute_and_flip
from optimaldp.laws.law import Aim
from optimaldp.laws.level_accuracy import LevelSizes
from optimaldp.laws.log_number import exact_or_decimal, exact_or_decimals
from optimaldp.laws.options import TopLaw, TopMode
from optimaldp.laws.personal import merged_rows, threshold_sides
from optimaldp.laws.quantile import QuantileLaw, QuantileMode, quantile_law
from optimaldp.laws.quantile_accuracy import summarise
from optimaldp.laws.quantile_rivals import Spread, spread_of
from optimaldp.laws.rank_scales import BallScale, Window
from optimaldp.laws.votes import count_exponent
from optimaldp.laws.winner import winner_claim, winner_probabilities
from optimaldp.privacy import Epsilon, Neighbours, level
from optimaldp.privacy.balls import Ball, ball, context, precision
from optimaldp.privacy.levels import _shared_delta
from optimaldp.sampling import SystemBits


def thirds(share: float) -> list[Ball]:
    """Enclosures that only *share* of the bits in force have gone into."""
    with precision(int(context.prec * share)):
        return [Ball(1) / 3, Ball(2) / 3]


def test_all_digits_are_right_where_bits_are_lost_on_the_way() -> None:
    for share, digits in ((0.4, 30), (0.6, 45)):
        with localcontext(prec=digits):
            shown = exact_or_decimals(lambda share=share: thirds(share), digits=digits)
            assert shown == [Decimal(1) / 3, Decimal(2) / 3]


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_delta_takes_its_part_from_every_loser(neighbours: str) -> None:
    """tau = delta / (K e^epsilon), or all that there is."""
    counts, delta = [9, 5, 2, 0], "0.01"
    before = [float(p) for p in winner_probabilities(counts, epsilon="0.5", neighbours=neighbours)]
    after = [float(p) for p in winner_probabilities(counts, epsilon="0.5", delta=delta, neighbours=neighbours)]
    taken = float(delta) / (4 * math.exp(0.5))
    for plain, left in list(zip(before, after))[1:]:
        assert left == pytest.approx(max(0.0, plain - taken), rel=1e-12)
    assert sum(after) == pytest.approx(1, rel=1e-12)


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


def test_a_far_group_has_its_own_small_probability() -> None:
    """Far from the quantile on either side: as a difference of two sums near 1 it would be 0, or wrong in every digit."""
    counts, half = [0, 0, 60, 0, 60, 0, 0], Fraction(1, 2)
    law = quantile_law(len(counts), half, level(1))
    cells = {bin_: count for bin_, count in enumerate(counts) if count}
    shown = rivals.our_groups(law, cells, spread_of(cells, len(counts), half))
    exact = [float(p) for p in of_quantiles.quantile_probabilities(counts, epsilon=1)]
    assert min(exact) < 1e-20
    assert shown == pytest.approx(exact, rel=1e-9, abs=0)


def test_coins_of_which_one_is_sure_and_the_other_hardly_ever_shows() -> None:
    """The last interval is then so short that its points round to 1."""
    wins = rivals._flipped(np.array([1.0, 1.0]), np.array([0.0, 36.0]))
    assert wins == pytest.approx([1 - math.exp(-36) / 2, math.exp(-36) / 2], rel=1e-9)


@pytest.mark.parametrize("digits", [30, 45])
def test_no_more_bits_are_taken_than_the_digits_need(digits: int) -> None:
    """Once where the first number is enough; and what nobody can tell from 0 is 0 after the most bits."""
    taken: list[int] = []

    def decimals(number: Callable[[], Ball]) -> list[Decimal]:
        def row() -> list[Ball]:
            taken.append(context.prec)
            assert len(taken) < 12
            return [number()]

        return exact_or_decimals(row, digits=digits)

    assert len(decimals(lambda: Ball(1) / 3)) == len(taken) == 1
    assert decimals(lambda: Ball(0, 1)) == [Decimal(0)]
    assert taken[-2] < reading._MOST_BITS <= taken[-1]


def test_a_law_says_its_part_of_epsilon_only_if_it_is_a_part() -> None:
    law = quantile_law(5, Fraction(1, 2), level("0.5"))
    assert QuantileLaw(law.mode, law.bins, law.rank, law.level) == law
    assert law.share == 1
    assert "of it" not in law.summary()
    assert "0.5-DP, 1/3 of it" in replace(law, share=Fraction(1, 3)).summary()


def test_the_outermost_bins_of_many_are_groups_of_their_own() -> None:
    """They have a cut on one side only."""
    spread = spread_of({3: 5, 700: 4, 9000: 6}, 10_000, Fraction(1, 2))
    assert spread.first.tolist() == [0, 1, 3, 4, 700, 701, 9000, 9001, 9999]
    assert spread.size.tolist() == [1, 2, 1, 696, 1, 8299, 1, 998, 1]


@pytest.mark.parametrize(
    ("others", "coin"), [(2, Fraction(1, 100)), (5, Fraction(1, 100)), (30, Fraction(1, 100)), (2, Fraction(3, 10))]
)
def test_heads_that_are_not_counted_are_enclosed(others: int, coin: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were hardly any heads counted: whoever shares with at least one wins with a half at most, and the truth lies inside."""
    monkeypatch.setattr(permute_and_flip, "context", SimpleNamespace(prec=0))
    with precision(100):
        won = permute_and_flip.win_by_coins([Ball(1), *[ball(coin)] * others], 0)
        nobody = ball((1 - coin) ** others)
        truth = ball((1 - (1 - coin) ** (others + 1)) / (coin * (others + 1)))
        assert won.contains(truth)
        assert won.upper() <= nobody + (1 - nobody) / 2 + Ball(2) ** -20
        assert won.lower() >= nobody - Ball(2) ** -20


@pytest.mark.parametrize(("least", "yes"), [(0, 1), (1, 0)])
def test_where_nobody_is_the_condition_itself_answers(least: int, yes: int) -> None:
    condition = count_condition(">=", Fraction(least))
    nobody = [(Epsilon.read("1"), 0, 0, 0), (Epsilon.read("2"), 0, 0, 0)]
    for rows in ([], nobody):
        for aim in (Aim.TYPICAL, Aim.EVERY_TABLE):
            assert threshold_sides(condition, rows, aim)[0] == yes


def test_a_count_of_nobody_is_sure() -> None:
    assert count_exponent(count_condition(">=", 0), []) == math.inf
    assert count_exponent(count_condition(">=", 1), []) == -math.inf
    assert count_exponent(count_condition("<=", 0), []) == math.inf


@pytest.mark.parametrize("half", ["0.1", "3", "300"])
def test_a_shared_delta_is_rounded_down_by_a_hair(half: str) -> None:
    """Also where e^(epsilon/2) has more digits than any double."""
    delta = Fraction(1, 1000)
    shared = _shared_delta(Epsilon.read(half), delta)
    with precision(2000):
        exact = ball(delta) / (1 + ball(Fraction(half)).exp())
        assert 0 <= exact - ball(shared) < exact * Ball(2) ** -100


@pytest.mark.parametrize("mode", TopMode)
def test_a_bound_of_a_chance_is_one_at_most(mode: TopMode) -> None:
    law = TopLaw(5, 2, Epsilon.read("0.1"), Neighbours.SUBSTITUTION, mode)
    with precision(80):
        bounds = [float(law.most_wrong(margin)) for margin in (1, 2, 400)]
    assert bounds[:2] == [1, 1]
    assert 0 < bounds[2] < 1e-9


@pytest.mark.parametrize("mode", QuantileMode)
def test_what_is_not_visited_is_enclosed_on_either_side(mode: QuantileMode) -> None:
    """However few runs around the true bin are looked at, the exact probability lies in the ball."""
    law = replace(quantile_law(7, Fraction(1, 2), level("ln(4)")), mode=mode)
    cells = dict.fromkeys(range(7), 2)
    cuts, exact = law.cuts(cells), law.ends(cells, exact=True)
    with precision(500):
        sums = [ball(exact.end(cut)) for cut in range(6)]
    with precision(100):
        scale = BallScale((law.level.epsilon,), law.share)
        for low, high in ((0, 5), (1, 5), (2, 3), (2, 4), (0, 4), (1, 4)):
            ends = law.law_of(cuts, scale, Window(low, high))
            for cut in range(6):
                assert ends.end(cut).overlaps(sums[cut]), (low, high, cut)
                assert (1 - ends.rest(cut)).overlaps(sums[cut]), (low, high, cut)


def test_where_everybody_has_one_level_whoever_is_outside_counts_as_no_unless_asked_among() -> None:
    """At ln 3 the error is 1 / (4 3^(f - 1)) at f flips: one of five must change their yes; among two it takes both."""
    condition, one = share_condition(">=", Fraction(1, 3)), Epsilon.read("ln(3)")
    for aim in (Aim.TYPICAL, Aim.EVERY_TABLE):
        assert threshold_sides(condition, [(one, 2, 0, 3)], aim) == (Fraction(3, 4), Fraction(1, 4))
        assert threshold_sides(condition, [(one, 2, 3, 0)], aim) == (Fraction(3, 4), Fraction(1, 4))
        assert threshold_sides(condition, [(one, 2, 0, 3)], aim, among=True) == (Fraction(11, 12), Fraction(1, 12))


def test_each_aim_has_its_own_law_among_some() -> None:
    """Four of ln 2 say yes, one of ln 4 says no, two are outside. Typical: the votes weigh 4/2 ln 2 - 1/2 ln 4 = ln 2, an error
    of 1/4. Every table: whoever is outside can come too, and the strict ones do first: another error."""
    condition, rows = (
        share_condition(">=", Fraction(1, 2)),
        [(Epsilon.read("ln(2)"), 4, 0, 2), (Epsilon.read("ln(4)"), 0, 1, 0)],
    )
    with precision(200):
        typical, every = (
            ball(threshold_sides(condition, rows, aim, among=True)[1]) for aim in (Aim.TYPICAL, Aim.EVERY_TABLE)
        )
        assert typical.overlaps(Ball(1) / 4)
        assert not every.overlaps(Ball(1) / 4)


def test_a_chance_of_yes_has_all_its_digits() -> None:
    def sides() -> tuple[Ball, Ball]:
        third, rest = thirds(0.6)
        return third, rest

    with localcontext(prec=45):
        assert exact_or_decimal(sides) == Decimal(1) / 3
    assert exact_or_decimal(lambda: (Ball(0, 1), Ball(1))) == 0
    assert exact_or_decimal(lambda: (Fraction(1, 3), Fraction(2, 3))) == Fraction(1, 3)


def test_rows_of_one_level_are_put_together() -> None:
    one, half = Epsilon.read("1"), Epsilon.read("0.5")
    rows = [("1", 2, 5), ("0.5", 1, 0, 7), ("1", 3, 1), ("2", 0, 0)]
    assert merged_rows(rows) == [(half, (1, 0)), (one, (5, 6))]


def test_inside_of_a_group_the_answer_is_taken_as_uniform() -> None:
    """Two bins from the truth on, five wide: four off in the mean. The truth has half, the group the other."""
    spread = Spread(8, 0, 1, *(np.array(column, dtype=float) for column in ((0, 2), (1, 5), (0, 1), (0, 1), (1, 0))))
    figures = summarise("made up", spread, np.array([0.5, 0.5]))
    assert figures.bins_off == pytest.approx(0.5 * 4)
    assert figures.wrong == pytest.approx(0.5)
    assert figures.rank_error == pytest.approx(0.5)


def test_where_only_the_loosest_level_has_people_all_of_them_are_kept() -> None:
    """The lead is yes less tau of all; the chain counts the people who must come, go or change before it turns."""
    asked = LevelSizes(3, (0.1, 0.5, 1.0), (0, 0, 5))
    wrong = asked.sampled(np.array([[0, 0, yes] for yes in range(6)]))
    flips = [3, 2, 1, 1, 2, 3]  # tau is 1/2: leads of -5/2 to 5/2
    assert wrong == pytest.approx([math.exp(1 - f) / (1 + math.e) for f in flips], rel=1e-9)


def test_of_two_options_delta_cuts_both_tails() -> None:
    """(P - beta) / (1 - 2 beta) with beta = delta / (e^epsilon - 1 + 2 delta); a tie stays one half each."""
    plain, cut = (float(winner_probabilities([7, 5], epsilon="0.5", delta=delta)[1]) for delta in (0, "0.01"))
    beta = 0.01 / (math.exp(0.5) - 1 + 0.02)
    assert cut == pytest.approx((plain - beta) / (1 - 2 * beta), rel=1e-12)
    assert [float(p) for p in winner_probabilities([5, 5], epsilon="0.5", delta="0.01")] == [0.5, 0.5]


@pytest.mark.parametrize("aim", Aim)
def test_with_levels_too_whoever_is_outside_counts_as_no(aim: Aim) -> None:
    condition, strict, loose = count_condition(">=", 3), Epsilon.read("0.5"), Epsilon.read("1")
    with precision(80):
        outside = threshold_sides(condition, [(strict, 2, 0, 3), (loose, 2, 1, 1)], aim)
        as_no = threshold_sides(condition, [(strict, 2, 3, 0), (loose, 2, 2, 0)], aim)
        assert [float(p) for p in outside] == [float(p) for p in as_no]
