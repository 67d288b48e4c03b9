"""How often an answer is right, by margin, and how far off a wrong one is: public numbers, next to other mechanisms.

The margin is hypothetical: "if 13 or more people would have to answer differently". That of the actual table is private.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.errors import QuestionError
from optimaldp.laws.chain import Chain
from optimaldp.laws.setting import Setting, Table
from optimaldp.laws.signed import sides_at
from optimaldp.laws.winner.distribution import ball_power
from optimaldp.laws.winner.permute_and_flip import flip_probabilities
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.questions.electing import MOST_LISTED
from optimaldp.questions.rivals import Rival, of_two_answers, winner_counts, winner_rivals

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
