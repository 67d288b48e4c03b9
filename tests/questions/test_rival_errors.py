"""What a preview puts next to ours, worked out again: noise by adding up its probabilities, scores by their definition."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from optimaldp.laws.law import Setting
from optimaldp.privacy import Neighbours, level
from optimaldp.privacy.balls import Ball
from optimaldp.questions import accuracy as rivals
from optimaldp.questions import parse
from optimaldp.questions.accuracy import LIMITS, MOST_PEOPLE, Accuracy, least_margin
from optimaldp.questions.electing import winner_counts, winner_rivals
from optimaldp.questions.kinds.quantile import _spread, _true_bin

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE
MARGINS = (1, 2, 3, 8)


def geometric_tail(rate: float, distance: int) -> float:
    """P(noise >= distance), by addition."""
    x = math.exp(-rate)
    return sum((1 - x) / (1 + x) * x**z for z in range(distance, distance + 4000))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_noise_on_a_count_and_on_a_lead(epsilon: float) -> None:
    for margin in MARGINS:
        tail = geometric_tail(epsilon, margin)
        assert rivals.noise_on_count(epsilon).error(margin) == pytest.approx(tail, rel=1e-9)
        assert rivals.noise_on_lead(epsilon, ADD_REMOVE).error(margin) == pytest.approx(tail, rel=1e-9)
        both = (geometric_tail(epsilon / 2, 2 * margin - 1) + geometric_tail(epsilon / 2, 2 * margin)) / 2
        assert rivals.noise_on_lead(epsilon, SUBSTITUTION).error(margin) == pytest.approx(both, rel=1e-9)


def test_without_privacy_budget_noise_is_a_coin() -> None:
    assert rivals.noise_on_count(0.0).error(3) == 0.5
    assert rivals.noise_on_excess(0.0, Fraction(1, 3)).error(3) == 0.5


def test_two_answers_by_the_signed_margin() -> None:
    exponential, flipping, response = rivals.of_two_answers(level("ln(3)"), None)
    assert [one.name for one in (exponential, flipping, response)] == [
        "exponential",
        "permute-and-flip",
        "randomised response",
    ]
    for margin in MARGINS:
        scores = (margin - 0.5), -(margin - 0.5)
        weights = [math.exp(math.log(3) / 2 * score) for score in scores]
        assert exponential.error(margin) == pytest.approx(weights[1] / sum(weights), rel=1e-12)
        # Permute and flip: the better one is accepted at once; the other is first with 1/2 and accepted with e^(-eps gap / 2).
        assert flipping.error(margin) == pytest.approx(0.5 * 3 ** -(margin - 0.5), rel=1e-12)
        assert response.error(margin) == pytest.approx(1 / 4, rel=1e-12)
    noisy = rivals.noise_on_count(1.0)
    assert rivals.of_two_answers(level(1), noisy)[2] is noisy


@pytest.mark.parametrize("options", [2, 3, 5])
def test_randomised_response_of_several_answers(options: int) -> None:
    error = rivals.randomised_response(level("ln(2)", "1/10"), options).error(1)
    right = 1 - error
    assert right == pytest.approx(2 * error / (options - 1) + Fraction(1, 10), rel=1e-12)  # the promise, with equality
    assert rivals.randomised_response(level(10**5), options).error(1) == pytest.approx(0, abs=1e-300)


@pytest.mark.parametrize("neighbours", [SUBSTITUTION, ADD_REMOVE])
def test_made_up_votes_have_the_margin(neighbours: Neighbours) -> None:
    """The first option leads; the margin is the number of moves until the second, who loses ties, is ahead."""
    for margin in MARGINS:
        votes = winner_counts(4, margin, neighbours)
        lead = votes[0] - votes[1]
        moves = lead // 2 + 1 if neighbours is SUBSTITUTION else lead + 1
        assert (moves, votes[2:], len(votes)) == (margin, (0, 0), 4)
        assert votes[1] > 0
        assert votes[0] > 0


@pytest.mark.parametrize("neighbours", [SUBSTITUTION, ADD_REMOVE])
def test_the_winner_by_scores(neighbours: Neighbours) -> None:
    epsilon = 0.7
    exponential, flipping, response = winner_rivals(level("0.7"), neighbours, 3)
    rate = epsilon / 2 if neighbours is SUBSTITUTION else epsilon
    for margin in (1, 2, 4):
        votes = winner_counts(3, margin, neighbours)
        weights = [math.exp(rate * own) for own in votes]
        assert exponential.error(margin) == pytest.approx(1 - weights[0] / sum(weights), rel=1e-9)
        coins = [math.exp(-rate * (votes[0] - own)) for own in votes]
        # Three options in a random order, and the leader's coin always shows heads: first of all, or second behind the other.
        pairs = ((coins[1], coins[2]), (coins[2], coins[1]))
        wrong = sum(coin * (1 / 3 + (1 - other) / 6) for coin, other in pairs)
        assert flipping.error(margin) == pytest.approx(wrong, rel=1e-9)
    assert response.error(1) == pytest.approx(2 / (math.exp(0.7) + 2), rel=1e-12)


@pytest.mark.parametrize("start", [1, 2, 3, 4, 5, 7, 8, 1000, 1023, 1024, 1025])
def test_the_least_margin_is_the_least(start: int) -> None:
    assert least_margin(lambda margin: Ball(0 if margin >= start else 1), Fraction(1, 20)) == start


def test_a_margin_beyond_every_table_is_none() -> None:
    assert least_margin(lambda _: Ball(1), Fraction(1, 20)) is None
    assert least_margin(lambda margin: Ball(0 if margin >= 5 * 10**11 else 1), Fraction(0)) == 5 * 10**11
    assert least_margin(lambda margin: Ball(0 if margin > MOST_PEOPLE else 1), Fraction(0)) is None
    assert [limit for _, limit in LIMITS] == [Fraction(1, 20), Fraction(1, 100), 0]


def test_the_sentence_of_an_accuracy() -> None:
    def sentence(start: int) -> str:
        return Accuracy(lambda margin: Ball(0 if margin >= start else 1), lambda: ()).sentence()

    assert sentence(1) == "At least 95 % likely to be right at every table."
    assert (
        sentence(2)
        == "At least 95 % likely to be right if 2 or more people would have to answer differently to reverse it."
    )
    assert sentence(2 * MOST_PEOPLE) == "At this level the answer is not reliable at any margin."


@pytest.mark.parametrize("rank", [*map(Fraction, ("0.5", "0.25", "0.001", "0.9", "0.99", "0.999", "1"))])
@pytest.mark.parametrize("bins", [1, 2, 9, 40])
@pytest.mark.parametrize("margin", [1, 5])
def test_the_made_up_spread_has_its_quantile_in_the_middle(rank: Fraction, bins: int, margin: int) -> None:
    middle = _true_bin(bins, rank)
    people = _spread(bins, middle, margin, rank)
    total = sum(people.values())
    before = sum(number for place, number in people.items() if place < middle)
    wanted = math.ceil(rank * total)
    assert people[middle] == 2 * margin
    assert before < wanted <= before + 2 * margin
    assert all(0 <= place < bins for place in people)
    if bins > 1 and rank < 1:
        assert wanted - before == margin
    if bins == 40 and rank < 1:
        assert [people[middle + k] for k in (-3, -2, -1, 1, 2, 3)] == [2 * margin] * 6
        assert people[middle - 4] > 2 * margin  # the rest stands behind them
        assert total == 2 * margin * 8 * math.ceil(1 / min(rank, 1 - rank))


@pytest.mark.parametrize(("rank", "mirrored"), [("0.9", "0.1"), ("0.99", "0.01"), ("0.999", "0.001")])
def test_a_high_quantile_is_as_reliable_as_the_low_one_that_mirrors_it(rank: str, mirrored: str) -> None:
    setting = Setting(level(1), SUBSTITUTION)
    high, low = (parse(f"quantile(a, {own}, range=[0, 9], step=1)").accuracy(setting) for own in (rank, mirrored))
    assert high.reliable() == low.reliable()
    for margin in (1, 5):
        assert float(high.error(margin)) == pytest.approx(float(low.error(margin)), rel=1e-9)


@pytest.mark.parametrize("bins", [[0, 1, 2], [0, 1, 2, 3]])
@pytest.mark.parametrize("rank", ["0.1", "0.5", "0.9"])
def test_the_error_of_a_quantile_falls_with_the_margin_also_with_two_bins(bins: list[int], rank: str) -> None:
    accuracy = parse(f"quantile(a, {rank}, bins={bins})").accuracy(Setting(level(1), SUBSTITUTION))
    errors = [float(accuracy.error(margin)) for margin in (1, 5, 20)]
    assert 0.5 > errors[0] > errors[1] > errors[2]
    assert errors[1] < math.exp(-4)


def test_previewed_errors_are_those_of_the_chain() -> None:
    """Two answers at a margin m: F^(m-1) from the balanced boundary 1/(1 + e^eps)."""
    question = parse("majority(x)")
    accuracy = question.accuracy(Setting(level("ln(3)"), SUBSTITUTION))
    assert float(accuracy.error(1)) == pytest.approx(1 / 4, rel=1e-12)
    assert float(accuracy.error(2)) == pytest.approx(1 / 12, rel=1e-12)
    assert [margin for _, margin in accuracy.reliable()] == [3, 4, None]
