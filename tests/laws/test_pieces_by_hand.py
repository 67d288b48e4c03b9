"""Small pieces of laws by hand: what is drawn, weighed, counted, recorded and refused at each of its borders."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optimaldp.distances.linear import MeanBound, count_condition, share_condition
from optimaldp.errors import QuestionError
from optimaldp.laws import level_accuracy
from optimaldp.laws import options as top
from optimaldp.laws.law import Aim, Law, law_of, read_aim
from optimaldp.laws.level_accuracy import LevelSizes, level_sizes
from optimaldp.laws.log_number import LogNumber
from optimaldp.laws.options import TopLaw, TopMode
from optimaldp.laws.personal import balanced_error, mean_sides, one_level_error, threshold_sides, yes_probability_from
from optimaldp.laws.quantile import QuantileLaw, quantile_law
from optimaldp.laws.rank_scales import rank_cuts
from optimaldp.laws.several_quantiles import JointQuartiles
from optimaldp.laws.votes import Chain, share_exponent, sides_at, sides_of_exponent
from optimaldp.privacy import Epsilon, Neighbours, approximate, level
from optimaldp.privacy.balls import Ball, ball
from optimaldp.privacy.levels import half_of, level_of_each_key

TWO, THREE = Epsilon.read("ln(2)"), Epsilon.read("ln(3)")


class Words:
    """Bits that are written down, word by word."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def take(self, count: int) -> int:
        word = self.words.pop(0)
        assert word < 2**count
        return word


def test_a_law_is_drawn_along_its_order() -> None:
    quarter = 2**62
    law = Law((2, 0, 1), row=lambda: [Fraction(1, 4), Fraction(1, 4)])
    by_sums = Law((2, 0, 1), sums=lambda place: Fraction(place + 1, 4))
    for one in (law, by_sums):
        drawn = [one.draw(Words(word)) for word in (0, quarter - 1, quarter, 2 * quarter - 1, 2 * quarter, 2**64 - 1)]
        assert drawn == [2, 2, 0, 0, 1, 1]
    assert Law((7,), row=list).draw(Words()) == 7  # one answer takes no bits
    assert [Law((0, 1), lambda: [Fraction(1, 4)]).draw(Words(word)) for word in (0, quarter)] == [0, 1]
    named = law_of(lambda: [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)], 1, 3)
    assert [named.draw(Words(word)) for word in (0, quarter, 2 * quarter)] == [0, 2, 1]


def test_a_law_of_balls_is_drawn_with_its_probabilities() -> None:
    law = Law((0, 1), row=lambda: [ball(Fraction(1, 3))])
    assert law.draw(Words((2**64 - 1) // 3 - 1)) == 0
    assert law.draw(Words((2**64 + 2) // 3)) == 1


def test_exact_errors_of_a_chain_end_at_eight_thousand_bits() -> None:
    five = Chain(approximate(Epsilon.read("ln(5)")))  # four bits for each of 2048 steps
    assert isinstance(five.error(2048), Fraction)
    assert isinstance(five.error(2049), Ball)


def test_votes_among_some_weigh_by_level_for_and_against() -> None:
    """A third of those asked: a yes adds two thirds of a vote, a no takes one third."""
    condition = share_condition(">=", Fraction(1, 3))
    exponent = share_exponent(condition, [(TWO, 2, 1), (THREE, 0, 4)])
    assert exponent == LogNumber.of(TWO) * Fraction(3, 3) + LogNumber.of(THREE) * Fraction(-4, 3)
    assert share_exponent(share_condition("<=", Fraction(1, 3)), [(TWO, 2, 1)]) == LogNumber.of(TWO) * -1


def test_the_bits_of_a_quantile_are_shown_to_whoever_reads_them_again() -> None:
    shown: list[tuple[int, int, int]] = []

    def reread(law: QuantileLaw, cells: Mapping[int, Any]) -> Callable[[int, int, int], None]:
        return lambda value, count, index: shown.append((value, count, index))

    law = quantile_law(3, Fraction(1, 2), level(1))
    word = 0xFEDCBA9876543210
    index = law.draw({0: 2, 1: 3}, Words(word), reread=reread)
    assert shown == [(word, 64, index)]
    # The first bits say nothing: more are put behind them.
    shown.clear()
    half = quantile_law(2, Fraction(1, 2), level("0"))
    index = half.draw({0: 1, 1: 1}, Words(1, 0, 1, 1, 1), reread=reread, first_bits=1)
    value, count, drawn = shown[0]
    assert (value >> (count - 1), drawn) == (1, index)


def test_runs_begin_at_the_bins_that_are_named_and_end_before_the_last() -> None:
    cuts = rank_cuts({1: 1, 3: 2}, 4, Fraction(1, 2))
    assert (list(cuts.starts), list(cuts.heights)) == ([0, 1], [-2, -1])
    assert list(rank_cuts({0: 1, 2: 1}, 4, Fraction(1, 2)).starts) == [0, 2]
    assert list(rank_cuts({3: 5}, 4, Fraction(1, 2)).starts) == [0]
    assert list(rank_cuts({}, 4, Fraction(1, 2)).starts) == [0]


def test_weights_are_made_whole_and_added_up() -> None:
    law = quantile_law(3, Fraction(1, 2), level(1), weights=(Fraction(1, 2), Fraction(1, 3), Fraction(1)))
    assert [law._weights_up_to(bin_) for bin_ in (-1, 0, 1, 2)] == [0, 3, 5, 11]
    plain = quantile_law(3, Fraction(1, 2), level(1))
    assert [plain._weights_up_to(bin_) for bin_ in (-1, 0, 1, 2)] == [0, 1, 2, 3]


def test_lists_are_read_up_to_a_number_and_each_way_has_its_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    law = TopLaw(4, 2, Epsilon.read(1), Neighbours.SUBSTITUTION)
    monkeypatch.setattr(top, "MOST_READABLE", 12)
    assert sum(map(float, law.probabilities([4, 3, 2, 1]).values())) == pytest.approx(1)
    monkeypatch.setattr(top, "MOST_READABLE", 11)
    with pytest.raises(QuestionError, match="at most 11 can be listed"):
        law.probabilities([4, 3, 2, 1])
    assert law.proof.startswith("one person moves the signed distance of every list by at most 1")
    peeled = TopLaw(4, 2, Epsilon.read(1), Neighbours.SUBSTITUTION, forced=TopMode.PEELING)
    assert peeled.proof.startswith("k rounds of permute-and-flip cost at most k + 1 units")
    monkeypatch.setattr(top, "MOST_COMPARED", 48)
    assert law.mode is TopMode.JOINT
    monkeypatch.setattr(top, "MOST_COMPARED", 47)
    assert law.mode is TopMode.SHORTFALL


def test_where_the_answer_cannot_change_nobody_errs() -> None:
    tables = np.array([[0, 0], [1, 1], [1, 2]])
    for least in (0, 4):
        assert LevelSizes(least, (0.2, 0.5), (1, 2)).balanced(tables).tolist() == [0, 0, 0]
    assert LevelSizes(1, (0.2, 0.5), (1, 2)).balanced(tables).min() > 0


def test_votes_that_are_certain_are_one_point() -> None:
    with np.errstate(all="raise"):
        for chance, value in ((0.0, 0), (1.0, 5), (0, 0), (1, 5)):
            values, weights = level_accuracy._binomial_axis(5, chance)
            assert (values.tolist(), weights.tolist()) == ([value], [1.0])


def test_every_level_above_nothing_is_tried_as_a_cap() -> None:
    """Where some people have a level of nothing, the caps are the other levels; here the lowest of them is the best."""
    asked = level_sizes(50, [(0.0, 1), (0.3, 60), (3.0, 1), (4.0, 39)])
    averages = {cap: asked.capped(cap).average_weighted(0.5) for cap in (0.3, 3.0, 4.0)}
    best = min(averages, key=averages.__getitem__)
    assert best == 0.3
    assert asked.best_cap(0.5) == (best, averages[best])
    assert math.isclose(asked.capped(0.3).levels[-1], 0.3)


def test_without_a_delta_none_is_used() -> None:
    """What every law takes for granted: a delta of nothing, the typical aim, everybody asked."""
    exponent = LogNumber.of(TWO)
    assert sides_of_exponent(exponent, TWO) == (Fraction(3, 4), Fraction(1, 4))
    assert sides_at(Fraction(1), TWO) == (Fraction(3, 4), Fraction(1, 4))
    assert balanced_error([TWO, THREE], [1, 5], 2) == Fraction(1, 8)
    assert one_level_error(TWO, 2) == Fraction(1, 6)
    assert one_level_error(Epsilon.read(0), 3) == Fraction(1, 2)
    assert one_level_error(Epsilon.read(0), 3, Fraction(1, 10)) == Fraction(1, 4)
    rows: list[tuple[Epsilon, int, int, int]] = [(TWO, 2, 1, 4)]
    assert threshold_sides(count_condition(">=", 2), rows, Aim.EVERY_TABLE) == (Fraction(2, 3), Fraction(1, 3))
    typical = yes_probability_from(count_condition(">=", 3), [("ln(2)", 2, 1), ("ln(3)", 2, 2)])
    assert typical == yes_probability_from(count_condition(">=", 3), [("ln(2)", 2, 1), ("ln(3)", 2, 2)], "typical")
    assert read_aim("typical") is Aim.TYPICAL


@pytest.mark.parametrize(("comparison", "holds"), [(">=", True), (">", False), ("<=", True), ("<", False)])
def test_a_mean_of_nobody_is_what_the_question_says_it_is(comparison: str, holds: bool) -> None:
    question = MeanBound(comparison, Fraction(2), Fraction(0), Fraction(4), Fraction(1))
    assert question.holds({}) is holds
    for rows in ([], [(TWO, {}, 0)], [(TWO, {1: 0}, 0), (THREE, {}, 0)]):
        for aim in Aim:
            assert mean_sides(question, rows, aim) == ((1, 0) if holds else (0, 1))


@pytest.mark.parametrize("text", ["0.3+ln(9/4)", "ln(2)", "ln(8)", "0.7+ln(3)", "2+ln(27/8)", "1", "0", "1e-9+ln(5)"])
def test_two_halves_are_the_whole_but_for_a_hair(text: str) -> None:
    whole, half = Epsilon.read(text), half_of(Epsilon.read(text))
    assert half * 2 <= whole
    assert whole <= half * 2 + Epsilon.read("1e-38")


def test_each_key_has_half_of_both_where_a_person_touches_two() -> None:
    for epsilon in (Epsilon.read("1"), TWO):
        each = level_of_each_key(epsilon, Fraction(1, 50), Neighbours.SUBSTITUTION)
        assert (each.epsilon, each.delta, each.neighbours) == (
            half_of(epsilon), Fraction(1, 100), Neighbours.ADD_REMOVE,
        )  # fmt: skip
        alone = level_of_each_key(epsilon, Fraction(1, 50), Neighbours.ADD_REMOVE)
        assert (alone.epsilon, alone.delta, alone.neighbours) == (epsilon, Fraction(1, 50), Neighbours.ADD_REMOVE)


@pytest.mark.parametrize("aim", Aim)
def test_with_two_levels_an_answer_that_cannot_change_is_certain(aim: Aim) -> None:
    rows = [(TWO, 2, 1, 1), (THREE, 1, 1, 0)]
    for least, certain in ((0, (1, 0)), (7, (0, 1))):
        assert threshold_sides(count_condition(">=", least), rows, aim) == certain
        assert threshold_sides(count_condition("<", least), rows, aim) == certain[::-1]


def test_on_the_balanced_boundary_whoever_is_outside_can_be_moved_to_yes() -> None:
    """Three say yes and six are asked for: of those who do not, the strictest level has three, one of them outside."""
    rows = [(TWO, 2, 2, 1), (THREE, 1, 1, 0)]
    # Three people at ln(2): e^-(2 ln 2) / (1 + 2).
    assert threshold_sides(count_condition(">=", 6), rows, Aim.EVERY_TABLE)[0] == Fraction(1, 12)
    without = [(TWO, 2, 2, 0), (THREE, 1, 1, 1)]
    assert threshold_sides(count_condition(">=", 6), without, Aim.EVERY_TABLE)[0] == Fraction(1, 16)


def test_documents_of_quartiles_name_their_weights() -> None:
    weights = (Fraction(1, 2), Fraction(1), Fraction(2))
    assert JointQuartiles(3, approximate(TWO, Fraction(1, 100)), weights).to_document() == {
        "name": "quartiles jointly", "bins": 3, "epsilon": "ln(2)", "delta": "0.01", "weights": ["0.5", "1", "2"],
    }  # fmt: skip
    assert JointQuartiles(3, approximate(TWO), None).to_document()["weights"] is None


@pytest.mark.parametrize("aim", Aim)
def test_at_most_is_the_opposite_of_more_than(aim: Aim) -> None:
    rows = [(TWO, {0: 2, 3: 1}, 1), (THREE, {1: 1, 4: 2}, 0)]
    for bound in (Fraction(1), Fraction(2), Fraction(7, 2)):
        for more, less in ((">", "<="), (">=", "<")):
            sides = [
                [float(p) for p in mean_sides(MeanBound(word, bound, Fraction(0), Fraction(4), Fraction(1)), rows, aim)]
                for word in (more, less)
            ]
            assert sides[0] == pytest.approx(sides[1][::-1])
            assert sides[0] != pytest.approx(sides[1])


def test_two_bins_at_epsilon_nothing_share_delta() -> None:
    """Three of five below the cut, and the median asked for: the first bin by 1/2 + delta (3 - 3 + 1/2)."""
    law = quantile_law(2, Fraction(1, 2), level(0, "0.1")).ends({0: 3, 1: 2}, exact=True)
    assert (law.end(0), law.rest(0)) == (Fraction(11, 20), Fraction(9, 20))
    law = quantile_law(2, Fraction(1, 2), level(0, "0.1")).ends({0: 1, 1: 4}, exact=True)
    assert (law.end(0), law.rest(0)) == (Fraction(7, 20), Fraction(13, 20))


def test_a_law_of_quantiles_says_what_it_is() -> None:
    plain = quantile_law(82, Fraction(1, 2), level("0.1"))
    assert plain.summary() == "QuantileLaw(smoothed rank, 82 bins, rank 0.5, 0.1-DP)"
    weighted = quantile_law(2, Fraction(1, 4), level("1", "0.01"), weights=(Fraction(1), Fraction(2)))
    assert weighted.summary() == "QuantileLaw(smoothed rank, 2 bins, rank 0.25, (1, 0.01)-DP, weighted)"
    own = quantile_law(3, Fraction(1, 2), level("ln(3)"), levels=(TWO, THREE), share=Fraction(1, 2))
    assert own.summary() == "QuantileLaw(smoothed rank, 3 bins, rank 0.5, ln(3)-DP, 0.5 of it, personal levels)"
