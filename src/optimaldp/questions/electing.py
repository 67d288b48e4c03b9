"""How a quantile is answered: the smoothed rank, or FLIP and FLIP+, whichever public numbers choose."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from optimaldp.certify.quantile import second_reading
from optimaldp.laws.law import Law, Setting, Table, certain, law_of
from optimaldp.laws.quantile import QuantileLaw, quantile_law
from optimaldp.laws.votes import weighted_counts, winner_by_weights
from optimaldp.laws.winner import (
    WinnerClaim,
    ball_power,
    claimed_probabilities,
    draw_winner,
    permute_and_flip_probabilities,
    winner_claim,
)
from optimaldp.privacy import ApproximateDP, Neighbours, approximate
from optimaldp.privacy.balls import precision
from optimaldp.questions.mechanism import Answer, QuestionMechanism
from optimaldp.sampling import BitSource

if TYPE_CHECKING:
    from optimaldp.questions.kinds.quantile import Quantile

_MOST_EXACT = 64  # people of a table whose law is written in fractions: those of more have too many digits to be read


@dataclass(frozen=True)
class Ranking(QuestionMechanism):
    """A law of :mod:`optimaldp.laws.quantile`, made from public numbers before data is read."""

    chosen: QuantileLaw

    best = "ranks"

    @classmethod
    def of(cls, question: Quantile, setting: Setting) -> Self:
        levels = tuple(epsilon for epsilon, _ in setting.levels) if setting.personal else None
        level = setting.level
        if levels is not None:
            # Nobody loses more than the loosest level that somebody has; one level for all has whole ranks.
            level = approximate(max(levels), level.delta)
            levels = levels if len(levels) > 1 else None
        chosen = quantile_law(question.binning.bins, question.rank, level, weights=question.weights, levels=levels)
        return cls(question, setting, chosen)

    @property
    def name(self) -> str:
        return str(self.chosen.mode)

    @property
    def listed(self) -> bool:  # type: ignore[override]
        return not self.setting.personal  # people's own levels are examined with the law itself

    def _cells(self, table: Table) -> Mapping[int, Any]:
        fold: Any = self.question.fold
        if self.chosen.levels is None:
            return dict(fold(table.cells).values)
        by_level = [fold(cells).values for _, cells in table.by_level]
        places = {place for values in by_level for place in values}
        return {place: tuple(values.get(place, 0) for values in by_level) for place in places}

    def law(self, table: Table) -> Law:
        cells, bins = self._cells(table), self.chosen.bins
        exact = self.chosen.exact and table.people <= _MOST_EXACT
        return Law(
            range(bins),
            lambda: self.chosen.probabilities(cells, exact=exact),
            lambda place: self.chosen.end(cells, place, exact=exact),
        )

    def draw(self, table: Table, source: BitSource) -> Answer:
        return self.answers[self.chosen.draw(self._cells(table), source, reread=second_reading)]

    def possible(self, answer: object) -> bool:
        question: Any = self.question
        return question.binning.place(answer) is not None

    def at(self, level: ApproximateDP) -> Self:
        return replace(self, setting=self.setting.at(level), chosen=replace(self.chosen, level=level))

    @property
    def proof(self) -> str:
        if self.name == "smoothed rank":
            return (
                "a replaced, added or removed record, with a value or without, shifts one block of ranks by one; the smoothed "
                "rank theorem bounds what that does to every bin, for every number of people"
            )
        return (
            "the distance to every bin changes by at most one with any replaced, added or removed record; the FLIP theorems "
            "bound every bin's probability where their public rule holds"
        )

    def parameters(self) -> dict[str, Any]:
        return {
            k: v
            for k, v in self.chosen.to_document().items()
            if k not in ("name", "epsilon", "delta") and v is not None
        }


# How a winner is drawn: the flip envelope where it is proven, permute-and-flip elsewhere.


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


# The error of the usual mechanisms at the same level and margin: what a preview puts next to ours. Floats, for display
# only.
#
# The margin is the number of flips: how many people would have to answer differently to change the answer.


Error = Callable[[int], float]


@dataclass(frozen=True)
class Rival:
    """A mechanism's name, how it was set up, and its probability of a wrong answer by margin."""

    name: str
    setting: str
    error: Error


def of_two_answers(level: ApproximateDP, noisy: Rival | None) -> tuple[Rival, ...]:
    """What others would do; *noisy* is noise on the number that decides. None of them can use delta but randomised response."""
    return (*_by_signed_margin(float(level.epsilon)), *([noisy] if noisy else []), randomised_response(level, 2))


def _by_signed_margin(epsilon: float) -> list[Rival]:
    """Two answers: the fairest score is the signed margin, ``flips - 1/2`` for the truth and its negative for the other answer.

    Each score changes by at most 1, so they differ by ``2 flips - 1`` in units of epsilon / 2.
    """
    score = "score: the signed margin"

    def odds(margin: int) -> float:
        return math.exp(-epsilon * (margin - 0.5))

    return [
        Rival("exponential", score, lambda margin: odds(margin) / (1 + odds(margin))),
        Rival("permute-and-flip", score, lambda margin: odds(margin) / 2),
    ]


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
        with precision(192):
            row = permute_and_flip_probabilities(votes, ball_power(level.epsilon), neighbours)
            return max(0.0, float(sum(row[1:], start=0 * row[0]).mid()))

    score = "score: the votes"
    return (
        Rival("exponential", score, exponential),
        Rival("permute-and-flip", score, flipping),
        randomised_response(level, options),
    )


def noise_on_count(epsilon: float) -> Rival:
    """One person changes the count by at most one."""
    return Rival("discrete Laplace", "noise of scale 1/epsilon on the count", lambda f: _tail(epsilon, f))


def _tail(rate: float, distance: float) -> float:
    """P(noise >= distance) for two-sided geometric noise with ``P(z) ~ e^(-rate |z|)``, distance >= 1; a half at rate 0."""
    return math.exp(-rate * distance) / (1 + math.exp(-rate))


def noise_on_lead(epsilon: float, neighbours: Neighbours) -> Rival:
    if neighbours is Neighbours.ADD_REMOVE:
        return Rival("discrete Laplace", "noise of scale 1/epsilon on the lead", lambda f: _tail(epsilon, f))

    def error(margin: int) -> float:
        # A lead of 2f - 1 and one of 2f have the same flips; on the losing side the noise must reach 2f - 1 or 2f too.
        return (_tail(epsilon / 2, 2 * margin - 1) + _tail(epsilon / 2, 2 * margin)) / 2

    return Rival("discrete Laplace", "noise of scale 2/epsilon on the lead, mean over both leads of a margin", error)


def noise_on_excess(epsilon: float, bound: Fraction) -> Rival:
    """``q yes - p people`` for the bound p/q changes by at most s = max(p, q - p) when one person appears or disappears.

    At a margin f the noise must reach one of the distances ``(f - 1) s + 1 .. f s``: the mean over them.
    """
    step = max(bound.numerator, bound.denominator - bound.numerator)
    rate = epsilon / step

    def error(margin: int) -> float:
        if rate == 0:
            return 0.5
        x = math.exp(-rate)
        return _tail(rate, (margin - 1) * step + 1) * (1 - math.exp(-epsilon)) / ((1 - x) * step)

    return Rival("discrete Laplace", "noise on the excess over the bound, mean over the tables of a margin", error)


def randomised_response(level: ApproximateDP, q: int) -> Rival:
    """The truth with the boundary's probability, whatever the margin."""
    ratio, delta = math.exp(min(700.0, float(level.epsilon))), float(level.delta)
    wrong = (q - 1) * (1 - delta) / (ratio + q - 1)
    return Rival("randomised response", "of the answer, as if every table were at the boundary", lambda _: wrong)
