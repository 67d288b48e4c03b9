"""The least epsilon with which an answer is as reliable as somebody wants it: public arithmetic, no table is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from optimaldp.asking.ask import Ask
from optimaldp.asking.previewing import hypothetical_setting, read_people
from optimaldp.errors import InputError
from optimaldp.privacy import Neighbours, read_number, read_probability
from optimaldp.privacy.balls import ball
from optimaldp.questions.accuracy import refuse_options
from optimaldp.questions.base import Question

if TYPE_CHECKING:
    from optimaldp.asking.ask import LevelLike


def epsilon_for(
    question: Question | str,
    *,
    accuracy: object = Fraction(95, 100),
    n: int | None = None,
    margin: object = Fraction(1, 100),
    delta: LevelLike = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
    within: object = None,
    confidence: object = Fraction(95, 100),
) -> float:
    """The least epsilon that makes the answer right with probability *accuracy* when the margin is at least that share of *n*.

    Rounded up to three digits. "Which epsilon makes me 95 % sure when the margin is at least 1 % of n?"

    Of a number: the least epsilon with which it is *within* this distance of the truth with probability *confidence*; for a share
    or mean, *n* is how many people have a value.

    >>> epsilon_for("majority(smokes = 'yes')", n=1000), epsilon_for("count(smokes = 'yes')", within=6)
    (0.242, 0.457)
    """
    if within is not None:
        return _epsilon_within(question, within, confidence, n, delta, neighbours)
    persons = read_people(n)
    wanted = 1 - read_probability(accuracy, name="accuracy")
    flips = max(1, math.floor(read_probability(margin, name="margin") * persons))

    def good(epsilon: Fraction) -> bool:
        request = Ask(question, epsilon, delta, neighbours=neighbours).request()
        refuse_options(request.question)
        return bool(request.question.accuracy(hypothetical_setting(request, persons)).error(flips) <= ball(wanted))

    return _least(good, InputError("accuracy", accuracy, "cannot be reached at this margin", "ask for less"))


def _epsilon_within(
    question: Question | str,
    within: object,
    confidence: object,
    n: int | None,
    delta: LevelLike,
    neighbours: str | Neighbours,
) -> float:
    distance = read_number(within, name="within")
    chance, persons = read_probability(confidence, name="confidence"), None if n is None else read_people(n)
    if distance < 0 or not 0 < chance < 1:
        raise InputError(
            "within", within, "is not a distance with a confidence below 1", "write within=6, confidence=0.95"
        )

    def good(epsilon: Fraction) -> bool:
        request = Ask(question, epsilon, delta, neighbours=neighbours).request()
        return request.question.half_width(hypothetical_setting(request, persons), chance, persons) <= distance

    return _least(good, InputError("within", within, "cannot be reached", "ask for less"))


def _least(good: Callable[[Fraction], bool], failure: InputError) -> float:
    """The least epsilon that is good enough, rounded up to three digits."""
    low, high = Fraction(0), Fraction(1, 1000)
    while not good(high):
        low, high = high, 2 * high
        if high > 200:
            raise failure
    while high - low > high / 2000:
        middle = (low + high) / 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return _up_to_three_digits(high)


def _up_to_three_digits(number: Fraction) -> float:
    places = 2 - math.floor(math.log10(float(number)))
    scale = Fraction(10) ** places
    return float(math.ceil(number * scale) / scale)
