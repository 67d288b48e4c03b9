"""How often an answer is right, by margin, and how far off a wrong one is: public numbers, next to other mechanisms.

The margin is hypothetical: "if 13 or more people would have to answer differently". That of the actual table is private.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.errors import QuestionError
from optimaldp.laws.law import Setting
from optimaldp.laws.votes import Chain, sides_at
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.numbers import first_where

if TYPE_CHECKING:
    from optimaldp.questions.base import Question

BITS = 192
MOST_PEOPLE = 10**12  # no table has more people

Error = Callable[[int], Ball]
LIMITS = (("at most 5 %", Fraction(5, 100)), ("at most 1 %", Fraction(1, 100)), ("0", Fraction(0)))


Distance = tuple[tuple[str, ...], dict[str, Any]]


@dataclass(frozen=True)
class Rival:
    """A mechanism's name, how it was set up, and its probability of a wrong answer by margin."""

    name: str
    setting: str
    error: Callable[[int], float]


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

    least = first_where(lambda margin: margin > MOST_PEOPLE or bool(error(margin) <= ball(limit)), 1)
    return None if least > MOST_PEOPLE else least


def _rivals(question: Question, setting: Setting) -> Callable[[], tuple[Rival, ...]]:
    return lambda: of_two_answers(setting.level, question.noise_rival(setting))


def at_distance(question: Question, setting: Setting) -> Accuracy:
    """Two answers at a distance: the closed form by the number of flips."""
    chain = Chain(setting.level)

    def error(margin: int) -> Ball:
        with precision(BITS):
            return ball(chain.error(margin - 1))

    return Accuracy(error, _rivals(question, setting))


def _signed_error(setting: Setting) -> Error:
    """The error of the signed distance by whole people: half a person less than the margin may be left."""

    def error(margin: int) -> Ball:
        with precision(BITS):
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


# What others would do with two answers.


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
