"""People with levels of their own, right for the typical table: everybody votes with the weight of their level.

``W = sum of epsilon_i (x_i - tau)`` with a public tau, then the signed law of :mod:`optimaldp.laws.signed`. A person moves W by
at most epsilon_i, and the logarithm of either answer's probability moves by no more than W does: epsilon_i-DP, at any number of
people. Without "among" the number of people n is public and ``tau = (t - 1/2)/n`` for a count of at least t; among some of the
people ``tau`` is the share that is asked for, and whoever is outside contributes nothing. A level of 0 weighs nothing.
Substitution only: with n private the weights of those who might come are not known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial

from optimaldp.distances.linear import LinearCondition
from optimaldp.distances.mean import MeanBound
from optimaldp.laws.log_number import ZERO, LogNumber
from optimaldp.laws.winner.flattening import flatten
from optimaldp.laws.winner.permute_and_flip import reveal_below, win_by_coins
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import BitSource, choose_enclosed, uniform_below

Votes = Sequence[tuple[Epsilon, int, int]]
"""(level, yes, no), one row for each level."""

MOST_FLATTENED = 5  # options up to which the continuum flip envelope is proven at real counts


def count_exponent(condition: LinearCondition, votes: Votes) -> LogNumber | float:
    """W of a count or share of everybody, positive for yes; infinite where no table of this public size has another answer."""
    if condition.yes_weight < condition.no_weight:
        return -_at_least(condition.negated(), votes)
    return _at_least(condition, votes)


def _at_least(condition: LinearCondition, votes: Votes) -> LogNumber | float:
    people = sum(yes + no for _, yes, no in votes)
    gain = condition.yes_weight - condition.no_weight
    # yes_weight * y + no_weight * (n - y) >= need
    threshold = -(-(condition.need - condition.no_weight * people) // gain)
    if not 1 <= threshold <= people:
        return math.inf if threshold < 1 else -math.inf
    tau = (threshold - Fraction(1, 2)) / people
    return sum((LogNumber.of(epsilon) * (yes - tau * (yes + no)) for epsilon, yes, no in votes), ZERO)


def share_exponent(condition: LinearCondition, votes: Votes) -> LogNumber:
    """W of a share among some of the people; those outside are in no row."""
    span = abs(condition.yes_weight - condition.no_weight)
    sums = ((condition.yes_weight * yes + condition.no_weight * no, epsilon) for epsilon, yes, no in votes)
    return sum((LogNumber.of(epsilon) * Fraction(total, span) for total, epsilon in sums), ZERO)


def mean_exponent(question: MeanBound, by_level: Sequence[tuple[Epsilon, Mapping[int, int]]]) -> LogNumber:
    """W of a mean: ``sum of epsilon_i (v_i - t)/(hi - lo)``, positive for yes; whoever has no value contributes nothing."""
    span = (question.high - question.low) / question.unit
    above = sum((LogNumber.of(epsilon) * (question.excess(counts) / span) for epsilon, counts in by_level), ZERO)
    return above if question.comparison in (">=", ">") else -above


def weighted_counts(by_level: Sequence[tuple[Epsilon, Sequence[int]]]) -> list[LogNumber]:
    """What the voters of each option weigh together: the sum of their levels."""
    options = len(by_level[0][1])
    return [sum((LogNumber.of(epsilon) * counts[k] for epsilon, counts in by_level), ZERO) for k in range(options)]


def weighted_winner(by_level: Sequence[tuple[Epsilon, Sequence[int]]]) -> list[Ball]:
    """The distribution of the winner by weighted counts, at the current precision. People without an option are in no count.

    Up to five options the continuum flip envelope at ``epsilon = 1`` on the weights themselves: its proof bounds derivatives at
    real counts, so a vote of weight epsilon_i that goes from one option to another costs epsilon_i. Beyond, permute-and-flip with
    ``e^(-gap/2)``: such a vote moves the weight of each option by at most epsilon_i.
    """
    return winner_by_weights(weighted_counts(by_level))


def winner_by_weights(weights: Sequence[LogNumber]) -> list[Ball]:
    """As :func:`weighted_winner`, from what the voters of each option weigh."""
    if len(weights) <= MOST_FLATTENED:
        return flatten(weights, WeightedWater())  # type: ignore[arg-type]
    top = max(weights)
    coins = {weight: _decay((top - weight) / 2) for weight in dict.fromkeys(weights)}
    all_coins = [coins[weight] for weight in weights]
    known = {weight: win_by_coins(all_coins, weights.index(weight)) for weight in coins}
    return [known[weight] for weight in weights]


def draw_weighted_winner(by_level: Sequence[tuple[Epsilon, Sequence[int]]], source: BitSource) -> int:
    """The position of the announced winner, with exactly the probabilities of :func:`weighted_winner`, among any number."""
    weights = weighted_counts(by_level)
    top = max(weights)
    if len(weights) <= MOST_FLATTENED:
        order = sorted(
            range(len(weights)), key=weights.__getitem__
        )  # losers first: their ends are sums of small numbers

        def probabilities() -> list[Ball]:
            enclosed = weighted_winner(by_level)
            return [enclosed[index] for index in order]

        return order[choose_enclosed(probabilities, len(weights), source)]
    heads = [
        index
        for index, weight in enumerate(weights)
        if reveal_below(source.take(64), 64, partial(_decay, (top - weight) / 2), source)
    ]
    return heads[uniform_below(len(heads), source)]


class WeightedWater:
    """Real water at exact heights: all members at ``total / members``."""

    def surface(self, total: LogNumber, members: int) -> LogNumber:
        return total / members

    def floods(self, count: LogNumber, total: LogNumber, members: int) -> bool:
        return count * members >= total

    def shares(self, total: LogNumber, members: int) -> Number:
        return members

    def decay(self, moves: LogNumber | int) -> Ball:
        return _decay(moves)


def _decay(moves: LogNumber | int) -> Ball:
    return (-moves).exp() if isinstance(moves, LogNumber) else Ball(1)
