"""How a winner is drawn: the flip envelope where it is proven, permute-and-flip elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.laws.law import Law, Setting, Table, certain, law_of
from optimaldp.laws.votes import weighted_counts, winner_by_weights
from optimaldp.laws.winner import (
    WinnerClaim,
    ball_power,
    claimed_probabilities,
    draw_winner,
    flip_probabilities,
    permute_and_flip_probabilities,
    winner_claim,
)
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.questions.accuracy import BITS, Accuracy, Error, Rival, least_margin, randomised_response
from optimaldp.questions.mechanism import Answer, QuestionMechanism
from optimaldp.sampling import BitSource

if TYPE_CHECKING:
    pass


MOST_LISTED = 60  # options whose whole distribution is computed for one draw; more of them flip one coin each


@dataclass(frozen=True)
class Electing(QuestionMechanism):
    """One vote for each person."""

    best = "winner"

    @property
    def claim(self) -> WinnerClaim:
        return winner_claim(len(self.answers), self.setting.level, self.setting.neighbours)

    @property
    def name(self) -> str:
        return str(self.claim.mode)

    def _votes(self, table: Table) -> tuple[int, ...]:
        votes: tuple[int, ...] = self.question.fold(table.cells)[:-1]
        return votes

    def law(self, table: Table) -> Law:
        votes, claim = self._votes(table), self.claim
        if len(votes) == 1:
            return certain(0, 1)
        return law_of(lambda: claimed_probabilities(votes, claim), votes.index(max(votes)), len(votes))

    def draw(self, table: Table, source: BitSource) -> Answer:
        if len(self.answers) <= MOST_LISTED:
            return super().draw(table, source)
        return self.answers[draw_winner(self._votes(table), self.setting.level, self.setting.neighbours, source)]

    @property
    def proof(self) -> str:
        # Under add-remove a gap costs the whole epsilon for each vote, so a replaced vote may cost it twice.
        replaced = self.setting.neighbours is Neighbours.SUBSTITUTION
        moves = "a record may be replaced, added or removed" if replaced else "a record may be added or removed"
        return f"{self.claim.proof}; {moves}, whether or not it names one of the options"

    def parameters(self) -> dict[str, Any]:
        return {"options": len(self.answers)}


@dataclass(frozen=True)
class WeightedElecting(QuestionMechanism):
    """People with levels of their own: everybody's vote weighs as much as their level."""

    name = "weighted winner"
    uses_delta = False  # the weighted law has no use for delta
    proof = (
        "a vote of weight epsilon_i that comes, goes or changes moves the logarithm of every option's probability by at "
        "most epsilon_i: the continuum flip envelope for up to five options, permute-and-flip beyond"
    )

    def law(self, table: Table) -> Law:
        by_level = [(epsilon, self.question.fold(cells)[:-1]) for epsilon, cells in table.by_level]
        if len(self.answers) == 1 or not by_level:
            return certain(0, len(self.answers))
        weights = weighted_counts(by_level)
        return law_of(lambda: winner_by_weights(weights), weights.index(max(weights)), len(weights))

    def parameters(self) -> dict[str, Any]:
        return {"options": len(self.answers)}


# The error of the usual mechanisms at the same level and margin: what a preview puts next to ours. Floats, for display only.
#
# The margin is the number of flips: how many people would have to answer differently to change the answer.


def winner_counts(options: int, margin: int, neighbours: Neighbours) -> tuple[int, ...]:
    """Made-up votes with the given margin: the first option leads the second, nobody else has a vote."""
    lead = 2 * margin - 1 if neighbours is Neighbours.SUBSTITUTION else margin - 1
    return (2 * lead + 2, lead + 2, *[0] * (options - 2))


def winner_rivals(level: ApproximateDP, neighbours: Neighbours, options: int) -> tuple[Rival, ...]:
    """The winner's usual mechanisms score by votes: e^(-epsilon gap / 2), or e^(-epsilon gap) where votes only come or go."""
    rate = float(level.epsilon) / (2 if neighbours is Neighbours.SUBSTITUTION else 1)

    def exponential(margin: int) -> float:
        votes = winner_counts(options, margin, neighbours)
        odds = sum(math.exp(-rate * (votes[0] - own)) for own in votes[1:])
        return odds / (1 + odds)

    def flipping(margin: int) -> float:
        votes = winner_counts(options, margin, neighbours)
        with precision(BITS):
            row = permute_and_flip_probabilities(votes, ball_power(level.epsilon), neighbours)
            return max(0.0, float(sum(row[1:], start=0 * row[0]).mid()))

    score = "score: the votes"
    return (
        Rival("exponential", score, exponential),
        Rival("permute-and-flip", score, flipping),
        randomised_response(level, options),
    )


def of_winner(question: Any, setting: Setting) -> Accuracy:
    """Two options lead, nobody else has a vote."""
    options = len(question.known_options())
    mechanism = question.mechanism(setting)

    def error(margin: int) -> Ball:
        if options == 1:
            return Ball(0)
        votes = winner_counts(options, margin, setting.neighbours)
        with precision(BITS):
            if options > MOST_LISTED:
                return _flipping_bound(votes, setting)
            table = Table({cell: people for cell, people in enumerate(votes) if people})
            row = [ball(p) for p in mechanism.law(table).probabilities()]
            return sum(row[1:], start=Ball(0))

    def others() -> tuple[Rival, ...]:
        return winner_rivals(setting.level, setting.neighbours, options) if options > 1 else ()

    note = "for the winner: two options lead, nobody else has a vote"
    return Accuracy(error, others, (note,), lambda: (_trailing(error, setting) if options > 1 else (), {}))


def _flipping_bound(votes: Sequence[int], setting: Setting) -> Ball:
    """Of very many options: an option wins with at most half of its coin's probability, because the leader's coin shows heads."""
    power = ball_power(setting.level.epsilon)
    coins = flip_probabilities(votes, power, setting.neighbours)
    return (sum(coins[1:], start=Ball(0)) / 2).min(Ball(1))


def _trailing(error: Error, setting: Setting) -> tuple[str, ...]:
    """By how many votes the announced option trails at most, with 95 %: the margin whose error is 5 %, in votes."""
    margin = least_margin(error, Fraction(5, 100))
    if margin is None:
        return ()
    votes = 2 * margin if str(setting.neighbours) == "substitution" else margin
    return (f"95 % of the time the announced option is fewer than {votes} votes behind the leader.",)
