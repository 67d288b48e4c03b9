"""How a winner is drawn: the flip envelope where it is proven, permute-and-flip elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optimaldp.laws.law import Law, certain, law_of
from optimaldp.laws.setting import Table
from optimaldp.laws.weighted_votes import weighted_counts, winner_by_weights
from optimaldp.laws.winner import WinnerClaim, draw_winner, winner_claim
from optimaldp.laws.winner.distribution import claimed_probabilities
from optimaldp.privacy import Neighbours
from optimaldp.questions.mechanism import Answer, QuestionMechanism
from optimaldp.sampling import BitSource

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
