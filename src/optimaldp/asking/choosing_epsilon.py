"""The least epsilon with which an answer is as reliable as somebody wants it: public arithmetic, no table is read."""

from __future__ import annotations

import math
from fractions import Fraction

from optimaldp.asking.draft import Draft, Number
from optimaldp.asking.previewing import hypothetical_setting, read_people
from optimaldp.errors import InputError
from optimaldp.privacy import Neighbours, read_probability
from optimaldp.privacy.balls import ball
from optimaldp.questions.accuracy import refuse_options
from optimaldp.questions.base import Question


def epsilon_for(
    question: Question | str,
    *,
    accuracy: object = Fraction(95, 100),
    n: int,
    margin: object = Fraction(1, 100),
    delta: Number = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
) -> float:
    """The least epsilon that makes the answer right with probability *accuracy* when the margin is at least that share of *n*.

    Rounded up to three digits. "Which epsilon makes me 95 % sure when the margin is at least 1 % of n?"

    >>> epsilon_for("majority(smokes = 'yes')", n=1000)
    0.242
    """
    persons = read_people(n)
    wanted = 1 - read_probability(accuracy, name="accuracy")
    flips = max(1, math.floor(read_probability(margin, name="margin") * persons))

    def good(epsilon: Fraction) -> bool:
        request = Draft(question, epsilon, delta, neighbours=neighbours).request()
        refuse_options(request.question)
        return bool(request.question.accuracy(hypothetical_setting(request, persons)).error(flips) <= ball(wanted))

    low, high = Fraction(0), Fraction(1, 1000)
    while not good(high):
        low, high = high, 2 * high
        if high > 200:
            raise InputError("accuracy", accuracy, "cannot be reached at this margin", "ask for less, or allow a delta")
    while high - low > high / 2000:
        middle = (low + high) / 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return _up_to_three_digits(high)


def _up_to_three_digits(number: Fraction) -> float:
    places = 2 - math.floor(math.log10(float(number)))
    scale = Fraction(10) ** places
    return float(math.ceil(number * scale) / scale)
