"""The error of the usual mechanisms at the same level and margin: what a preview puts next to ours. Floats, for display only.

The margin is the number of flips: how many people would have to answer differently to change the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import precision

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
    from optimaldp.laws.winner.distribution import ball_power
    from optimaldp.laws.winner.permute_and_flip import permute_and_flip_probabilities

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
