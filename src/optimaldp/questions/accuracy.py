"""How often an answer is right, by margin, and how far off a wrong one is: public numbers, next to other mechanisms.

The margin is hypothetical: "if 13 or more people would have to answer differently". That of the actual table is private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.errors import QuestionError
from optimaldp.laws.law import Setting, Table
from optimaldp.laws.quantile_accuracy import even_accuracy
from optimaldp.laws.votes import Chain, sides_at
from optimaldp.laws.winner import ball_power, flip_probabilities
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.questions.electing import MOST_LISTED, Ranking, Rival, of_two_answers, winner_counts, winner_rivals

if TYPE_CHECKING:
    from optimaldp.questions.base import Question

_BITS = 192
MOST_PEOPLE = 10**12  # no table has more people

Error = Callable[[int], Ball]
LIMITS = (("at most 5 %", Fraction(5, 100)), ("at most 1 %", Fraction(1, 100)), ("0", Fraction(0)))


Distance = tuple[tuple[str, ...], dict[str, Any]]


@dataclass(frozen=True)
class Accuracy:
    """Ours and others' probability of a wrong answer by margin."""

    error: Error
    rivals: Callable[[], tuple[Rival, ...]]
    """What others would do, worked out when somebody asks."""
    notes: tuple[str, ...] = ()
    distance: Callable[[], Distance] = field(default=lambda: ((), {}))
    """How far off a wrong answer is, in sentences and in numbers: worked out when somebody asks."""

    @property
    def off(self) -> tuple[str, ...]:
        return self.distance()[0]

    def reliable(self) -> tuple[tuple[str, int | None], ...]:
        """From which margin on the error is at most 5 %, 1 % and 0; ``None`` where no margin is enough."""
        return tuple((name, least_margin(self.error, limit)) for name, limit in LIMITS)

    def sentence(self) -> str:
        """One sentence for a release: from when on it is reliable, and how far off it can be."""
        margin = least_margin(self.error, LIMITS[0][1])
        if margin is None:
            first = "At this level the answer is not reliable at any margin."
        elif margin == 1:
            first = "At least 95 % likely to be right at every table."
        else:
            first = f"At least 95 % likely to be right if {margin} or more people would have to answer differently to reverse it."
        return " ".join([first, *self.off])


def least_margin(error: Error, limit: Fraction) -> int | None:
    """The least margin from which on the error is at most *limit*, or ``None``: errors never rise with the margin."""

    def enough(margin: int) -> bool:
        return bool(error(margin) <= ball(limit))

    high = 1
    while not enough(high):
        high *= 2
        if high > MOST_PEOPLE:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _rivals(question: Question, setting: Setting) -> Callable[[], tuple[Rival, ...]]:
    return lambda: of_two_answers(setting.level, question.noise_rival(setting))


def at_distance(question: Question, setting: Setting) -> Accuracy:
    """Two answers at a distance: the closed form by the number of flips."""
    chain = Chain(setting.level)

    def error(margin: int) -> Ball:
        with precision(_BITS):
            return ball(chain.error(margin - 1))

    return Accuracy(error, _rivals(question, setting))


def of_winner(question: Any, setting: Setting) -> Accuracy:
    """Two options lead, nobody else has a vote."""
    options = len(question.known_options())
    mechanism = question.mechanism(setting)

    def error(margin: int) -> Ball:
        if options == 1:
            return Ball(0)
        votes = winner_counts(options, margin, setting.neighbours)
        with precision(_BITS):
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
    return (f"With 95 % the announced option trails the leader by fewer than {votes} votes.",)


def _signed_error(setting: Setting) -> Error:
    """The error of the signed distance by whole people: half a person less than the margin may be left."""

    def error(margin: int) -> Ball:
        with precision(_BITS):
            return ball(sides_at(Fraction(2 * margin - 1, 2), setting.level.epsilon, setting.level.delta)[1])

    return error


def of_public_groups(question: Question, setting: Setting) -> Accuracy:
    """Two groups whose members are public: the margin in people of the group whose people weigh more."""
    note = "a margin of m: m people would have to go to the far end of the range, those who weigh most first"
    return Accuracy(_signed_error(setting), _rivals(question, setting), (note,))


def of_mean(question: Any, setting: Setting) -> Accuracy:
    """The margin in people, each of whom goes to the far end of the range; ours at that many whole people."""
    error = _signed_error(setting)

    def distance() -> Distance:
        margin = least_margin(error, LIMITS[0][1])
        if not setting.people or margin is None:
            return (), {}
        away = float((question.high - question.low) * margin / setting.people)
        people, room = f"{setting.people:,} people", max(question.high - question.bound, question.bound - question.low)
        said = (
            f"With {people} it is not reliable: no mean in the range is {away:.2g} away from the bound."
            if away > room
            else f"With {people} who have a readable value, the mean of those values is far enough when it is at least "
            f"{away:.2g} away from the bound, and much nearer is enough where few values lie at the far end of the range."
        )
        return (said,), {"mean_away": away}

    note = "a margin of m: m people would have to go to the far end of the range"
    return Accuracy(error, _rivals(question, setting), (note,), distance)


def refuse_options(question: Question) -> None:
    """Refuse a question whose options only a table could tell; one that never has options says itself what it has not."""
    if question.answers is None and hasattr(question, "options"):
        remedy = "a preview reads no table: write the options out"
        raise QuestionError("options", str(question), "names no options", remedy)


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
        with precision(_BITS):
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
