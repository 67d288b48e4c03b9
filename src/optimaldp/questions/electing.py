"""How a quantile is answered: the smoothed rank, or FLIP and FLIP+, whichever public numbers choose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from optimaldp.laws.law import Law, Setting, Table, certain, law_of
from optimaldp.laws.quantile import QuantileLaw, quantile_law
from optimaldp.laws.quantile_accuracy import even_accuracy
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
from optimaldp.privacy import ApproximateDP, Neighbours, approximate
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.questions.accuracy import BITS, Accuracy, Distance, Error, Rival, least_margin, randomised_response
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
        from optimaldp.certify.quantile import second_reading

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


# How reliable a quantile is, as a function of public things: the bins, the level, and a hypothetical spread of people.


_LARGEST_EPSILON = 20  # an epsilon beyond which floats hold nothing but 0 and 1


_BINS_AROUND = 3  # bins on either side of the true one that hold as many people as it does


def rank_accuracy(question: Any, setting: Setting) -> Accuracy:
    """At a margin m the true bin holds 2m people, half of them on either side of the quantile, and so do the bins next to it."""
    law = Ranking.of(question, setting).chosen
    middle = _true_bin(law.bins, law.rank)
    nobody = [] if law.levels is None else [0] * (len(law.levels) - 1)

    def error(margin: int) -> Ball:
        people: dict[int, Any] = _spread(law.bins, middle, margin, law.rank)
        if law.levels is not None:
            people = {place: (number, *nobody) for place, number in people.items()}
        with precision(BITS):
            ends = law.ends(people)
            before = ball(ends.end(middle - 1)) if middle else Ball(0)
            return before + (ball(ends.rest(middle)) if middle < law.bins - 1 else Ball(0))

    note = "a margin of m: the true bin and those next to it hold 2m people each, the quantile in the middle of its bin"

    def distance() -> Distance:
        figures = _figures(law, setting)
        return tuple(_off(figures)), {"even_spread": [one.to_document() for one in figures]} if figures else {}

    return Accuracy(error, lambda: _rank_rivals(setting, law.bins), (note,), distance)


def _true_bin(bins: int, rank: Fraction) -> int:
    """The bin in the middle; of two bins the one that can hold the quantile in its middle."""
    return bins // 2 if bins > 2 or rank >= Fraction(1, 2) else 0


def _spread(bins: int, middle: int, margin: int, rank: Fraction) -> dict[int, int]:
    """People such that the quantile lies in the middle of bin *middle*: full bins next to it, the rest at the two ends."""
    below, above = _around(bins, middle, margin, rank)
    people = {middle: 2 * margin}
    for number, places in ((below, range(middle - 1, -1, -1)), (above, range(middle + 1, bins))):
        missing = max(0, number)
        for step, place in enumerate(places):
            last = step == len(places) - 1
            here = missing if last else min(missing, 2 * margin if step < _BINS_AROUND else missing)
            if here:
                people[place] = here
            missing -= here
    return people


def _around(bins: int, middle: int, margin: int, rank: Fraction) -> tuple[int, int]:
    """How many people are below and above bin *middle*, enough for the full bins next to it. Where there is no bin above (or
    below) it, so many are on the other side that half of its own people are: ``below + margin = rank (below + 2 margin)``."""
    if middle == bins - 1 and rank < 1:
        return max(0, math.ceil(margin * (2 * rank - 1) / (1 - rank))), 0
    if middle == 0:
        return 0, max(0, math.floor(margin * (1 - 2 * rank) / rank))
    rarer = min(rank, 1 - rank) if rank < 1 else rank  # of rank 1 nobody is above it
    total = 2 * margin * (2 * _BINS_AROUND + 2) * math.ceil(1 / rarer)
    below = max(0, math.ceil(rank * total) - margin)
    return below, total - below - 2 * margin


def _figures(law: Any, setting: Setting) -> tuple[Any, ...]:
    many = law.levels is not None or law.bins > 10**6 or float(law.level.epsilon) > _LARGEST_EPSILON
    if many or not setting.people or setting.people < law.bins:
        return ()
    return even_accuracy(law, setting.people)


def _off(figures: tuple[Any, ...]) -> list[str]:
    """How far off a wrong answer is, were people spread evenly over the bins."""
    if not figures:
        return []
    ours, others = figures[0], figures[1:]
    people = "1 person" if ours.rank_bound == 1 else f"{ours.rank_bound} people"
    bins = "1 bin" if ours.bins_bound == 1 else f"{ours.bins_bound} bins"
    first = f"If values are spread evenly, it is within {people} ({bins}) 95 % of the time"
    if ours.wrong < 1e-6:
        return ["If values are spread evenly, it is the wrong bin less than once in a million times."]
    compared = ", ".join(f"{one.mechanism} {one.rank_error:.3g}" for one in others)
    return [f"{first}, and off by {ours.rank_error:.3g} people on average ({compared})."]


def _rank_rivals(setting: Setting, bins: int) -> tuple[Rival, ...]:
    """The exponential mechanism with the same spread: its weight falls with half of epsilon for each person missed."""
    epsilon = float(setting.level.epsilon)
    near = min(bins - 1, 2 * _BINS_AROUND)

    def exponential(margin: int) -> float:
        others = sum(math.exp(-epsilon * margin * (2 * (step // 2) + 1) / 2) for step in range(near))
        return others / (1 + others)

    return (Rival("exponential", "score: minus the people by which a bin misses the rank", exponential),)
