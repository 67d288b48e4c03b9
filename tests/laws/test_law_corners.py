"""Corners of laws: nobody, everybody, one person, one level, an epsilon of nothing, an answer that cannot change."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from optimaldp.distances.linear import LinearCondition, MeanBound, count_condition, share_condition
from optimaldp.distances.ranking import moves_to, true_ranking
from optimaldp.errors import QuestionError
from optimaldp.laws import votes as weighted_votes
from optimaldp.laws import winner as distribution
from optimaldp.laws.law import Aim
from optimaldp.laws.level_accuracy import LevelSizes, hypergeometric_axis
from optimaldp.laws.log_number import LogNumber
from optimaldp.laws.options import TopLaw, TopMode
from optimaldp.laws.personal import (
    LevelCounts,
    Step,
    least_exponent,
    mean_sides,
    merged_rows,
    signed_exponent,
    threshold_sides,
    yes_probability_from,
)
from optimaldp.laws.quantile import quantile_law
from optimaldp.laws.quantile_accuracy import accuracy_with_rivals
from optimaldp.laws.votes import sides_at, weighted_counts, winner_by_weights
from optimaldp.laws.winner import flatten, winner_probabilities
from optimaldp.privacy import Epsilon, Neighbours, level
from optimaldp.privacy.balls import Ball, precision

TWO, THREE = Epsilon.read("ln(2)"), Epsilon.read("ln(3)")


@pytest.mark.parametrize("aim", Aim)
def test_a_share_of_none_or_all_among_some_is_a_count_of_everybody(aim: Aim) -> None:
    """Whoever is outside says neither, and a record can be replaced by one inside: they count as those who do not help."""
    rows: list[LevelCounts] = [(TWO, 2, 1, 3), (THREE, 1, 4, 2)]
    more_than_none = share_condition(">", Fraction(0))
    yes_of_all = [(epsilon, yes, no + outside, 0) for epsilon, yes, no, outside in rows]
    no_of_all = [(epsilon, no, yes + outside, 0) for epsilon, yes, no, outside in rows]
    assert more_than_none == LinearCondition(1, 0, 1)
    with precision(80):
        for condition, counted, people in (
            (more_than_none, count_condition(">=", 1), yes_of_all),
            (share_condition("<=", Fraction(0)), count_condition("<=", 0), yes_of_all),
            (share_condition(">=", Fraction(1)), count_condition("<=", 0), no_of_all),
            (share_condition("<", Fraction(1)), count_condition(">=", 1), no_of_all),
        ):
            among = threshold_sides(condition, rows, aim, among=True)
            assert [float(p) for p in among] == [float(p) for p in threshold_sides(counted, people, aim)]
            assert condition.holds(3, 5) is (float(among[0]) > 0.5)


def test_one_level_whose_answer_cannot_change_is_certain() -> None:
    rows: list[LevelCounts] = [(TWO, 2, 1, 0)]
    for aim in Aim:
        assert threshold_sides(count_condition(">=", 0), rows, aim) == (1, 0)
        assert threshold_sides(count_condition(">=", 4), rows, aim) == (0, 1)
        assert threshold_sides(count_condition(">=", 0), [], aim) == (1, 0)
        assert threshold_sides(count_condition(">=", 1), [(TWO, 0, 0, 0)], aim) == (0, 1)
        # One move from the boundary on either side.
        assert threshold_sides(count_condition(">=", 2), rows, aim) == (Fraction(2, 3), Fraction(1, 3))
        assert threshold_sides(count_condition(">=", 3), rows, aim) == (Fraction(1, 3), Fraction(2, 3))
        assert threshold_sides(count_condition(">=", 1), rows, aim) == (Fraction(5, 6), Fraction(1, 6))


def test_rows_are_merged_by_level_and_empty_ones_left_out() -> None:
    rows = [("ln(3)", 1, 2), ("ln(2)", 4, 0), ("ln(3)", 5, 1, 9), ("1", 0, 0)]
    assert merged_rows(rows) == [(TWO, (4, 0)), (THREE, (6, 3))]
    half = share_condition(">=", Fraction(1, 2))
    assert yes_probability_from(half, [("ln(2)", 2, 1)]) == Fraction(2, 3)
    assert yes_probability_from(half, [("ln(2)", 2, 1)], delta=Fraction(1, 10)) == Fraction(7, 10)


def test_people_who_together_gain_too_little() -> None:
    steps = [Step(2, 3, TWO), Step(1, 2, THREE), Step(0, 5, TWO), Step(-1, 5, TWO)]
    assert least_exponent(steps, 6) == LogNumber.of(TWO) * 3
    assert least_exponent(steps, 7) == LogNumber.of(TWO) * 3 + LogNumber.of(THREE)
    assert least_exponent(steps, 8) == LogNumber.of(TWO) * 3 + LogNumber.of(THREE) * 2
    assert least_exponent(steps, 5) == LogNumber.of(TWO) * Fraction(5, 2)
    assert least_exponent(steps, 9) is None
    assert least_exponent([], 1) is None
    assert least_exponent([], 0) == LogNumber()
    assert signed_exponent(17, steps, []) == math.inf
    assert signed_exponent(-17, [], steps) == -math.inf
    assert signed_exponent(-5, [], steps) == LogNumber.of(TWO) * Fraction(-5, 4)


@pytest.mark.parametrize("delta", ["0", "0.1", "1"])
def test_at_epsilon_nothing_the_winner_is_drawn_evenly(delta: str) -> None:
    assert winner_probabilities([7, 5], epsilon=0, delta=delta) == [Fraction(1, 2)] * 2
    assert winner_probabilities([5, 5], epsilon=0, delta=delta) == [Fraction(1, 2)] * 2


@pytest.mark.parametrize("options", [2, 5, 6])
def test_up_to_five_options_are_flattened_and_more_are_flipped(options: int) -> None:
    counts = [3 + place for place in range(options)]
    weights = [LogNumber.of(TWO) * count for count in counts]
    with precision(100):
        printed = [float(p) for p in winner_by_weights(weighted_counts([(TWO, counts)]))]
        flattened = [float(p) for p in flatten(weights, weighted_votes.WeightedWater())]  # type: ignore[arg-type]
        assert (printed == flattened) is (options <= 5)
    assert sum(printed) == pytest.approx(1)
    assert printed == sorted(printed)


def test_axes_of_one_person() -> None:
    for yes in (0, 1):
        values, weights = hypergeometric_axis(yes, 1, 0)
        assert (values.tolist(), weights.tolist()) == ([yes], [1.0])
    values, weights = hypergeometric_axis(1, 1, 1)
    assert (values.tolist(), weights.tolist()) == ([0, 1], [0.5, 0.5])


def test_curves_of_one_level_and_what_they_take_for_granted() -> None:
    one = LevelSizes(2, (0.5,), (5,))
    for margin in one.margins():
        expected = one.weighted(np.array([[one.total_at(margin, truth=True)]]))[0]
        assert one.average_at(one.weighted, margin) == pytest.approx(expected)
        assert one.worst_at(one.weighted, margin) == pytest.approx(expected)
    assert [*one.margins()] == [1, 2, 3, 4]
    assert [*one.margins(truth=False)] == [1, 2]
    two = LevelSizes(2, (0.2, 1.0), (2, 4))
    for margin in (1, 2):
        true, false = (two.average_at(two.weighted, margin, truth=truth) for truth in (True, False))
        assert two.average_at(two.weighted, margin) == true != false
        assert two.worst_at(two.weighted, margin) == two.worst_at(two.weighted, margin, truth=True)
        assert two.worst_at(two.weighted, margin) != two.worst_at(two.weighted, margin, truth=False)


def test_rivals_have_the_share_of_epsilon_that_a_quantile_has() -> None:
    cells = {0: 3, 1: 5, 2: 2, 3: 4}
    part = accuracy_with_rivals(quantile_law(4, Fraction(1, 2), level("0.8"), share=Fraction(1, 2)), cells)
    whole = accuracy_with_rivals(quantile_law(4, Fraction(1, 2), level("0.4")), cells)
    for ours, theirs in zip(part[1:], whole[1:], strict=True):
        assert ours.wrong == pytest.approx(theirs.wrong)
        assert ours.rank_error == pytest.approx(theirs.rank_error)


@pytest.mark.parametrize(
    ("neighbours", "rate", "votes"), [(Neighbours.SUBSTITUTION, 1 / 3, 2), (Neighbours.ADD_REMOVE, 1 / 2, 1)]
)
def test_how_often_a_list_of_leaders_is_wrong_at_most(neighbours: Neighbours, rate: float, votes: int) -> None:
    """Two leaders of four, one after the other: each has three rivals, and margin - 1 people can lead by so many votes each."""
    peeled = TopLaw(4, 2, Epsilon.read(1), neighbours, forced=TopMode.PEELING)
    joint = TopLaw(4, 2, Epsilon.read(1), neighbours, forced=TopMode.JOINT)
    for margin in (1, 2, 8, 20):
        lead = math.exp(-rate * votes * (margin - 1))
        assert float(peeled.most_wrong(margin)) == pytest.approx(min(1.0, 6 * lead))
        assert float(joint.most_wrong(margin)) == pytest.approx(min(1.0, 11 * math.exp(-(2 * margin - 1) / 2)))


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("mode", TopMode)
def test_no_list_of_leaders_is_wrong_more_often(mode: TopMode, neighbours: Neighbours) -> None:
    law = TopLaw(3, 2, Epsilon.read(2), neighbours, forced=mode)
    with precision(80):
        for counts in ((9, 5, 1), (12, 6, 0), (4, 4, 4), (20, 9, 8)):
            true = true_ranking(counts, 2)
            margin = min(moves_to(counts, other, neighbours) for other in law.rankings() if other != true)
            wrong = 1 - law.probabilities(counts)[true]
            assert wrong <= law.most_wrong(margin) + Ball(2) ** -70


def test_as_many_options_as_can_be_listed_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "_MOST_LISTED", 12)
    assert sum(winner_probabilities(range(12), epsilon=1)) == pytest.approx(1)
    with pytest.raises(QuestionError, match="too many to list every probability"):
        winner_probabilities(range(13), epsilon=1)


def test_the_mean_of_people_at_one_level_has_the_law_of_that_level() -> None:
    """Whatever the aim, and also where a level is named that nobody has: epsilon times the fractional distance."""
    question = MeanBound(">=", Fraction(2), Fraction(0), Fraction(4), Fraction(1))
    counts = {0: 1, 3: 2, 4: 1}
    expected = float(sides_at(question.signed(counts, 1, Neighbours.SUBSTITUTION), TWO)[0])
    for aim in Aim:
        assert float(mean_sides(question, [(TWO, counts, 1), (THREE, {}, 0)], aim)[0]) == pytest.approx(expected)
    apart = mean_sides(question, [(TWO, {0: 1, 3: 2}, 1), (THREE, {4: 1}, 0)], Aim.TYPICAL)
    assert float(apart[0]) != pytest.approx(expected)
