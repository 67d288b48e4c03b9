"""The referee of "which categories occur": one category at a time, at the level that each of them has."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from optimaldp.certify.core.drawing import ScriptedBits, close
from optimaldp.certify.core.examined import Examined, Finding, same
from optimaldp.certify.noise import STREAMS, Stream
from optimaldp.laws.law import Table
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball, ball, precision

_BITS = 256
_NEAR = 60
_NOTHING = Ball(2) ** -200
_COARSE = approximate(Epsilon.read("ln(2)"), Fraction(1, 10))
_DRAWN = (12, 40, 90, 300)  # people of categories that are drawn as well: a sampler may take another way for many
_FAR = (75, 100, 150, 250, 400, 600)  # where a category of so many people is still not sure


def examine_keys(mechanism: Examined) -> Finding:
    """Nobody's category is never kept, every further person may raise it by one step, and the two levels add up."""
    with precision(_BITS):
        failure = _level_failure(mechanism) or _law_failure(mechanism) or _draw_failure(mechanism)
    if failure:
        return Finding(False, (), failure)
    return Finding(
        True,
        (
            f"a category of 0 to {_NEAR} people against one of one more: all events, at the level of one category",
            "the probability of keeping it, against the step function applied once for each person, up to 2^20 people",
            "the level of one category, used once or twice by one person, stays within the level of the release",
            "the sampler keeps a category exactly where its law says so, by scripted bits",
            f"for all tables, by theorem: {mechanism.proof}",
        ),
    )


def _level_failure(mechanism: Any) -> str:
    whole, single = mechanism.setting.level, mechanism.chosen.single
    times = 1 if mechanism.setting.neighbours is Neighbours.ADD_REMOVE else 2
    if single.epsilon * times > whole.epsilon or single.delta * times > whole.delta:
        return "the categories that one person touches spend more than the level"
    return ""


def _law_failure(mechanism: Any) -> str:
    single: ApproximateDP = mechanism.chosen.single
    derived = Ball(0)
    for people in range(_NEAR):
        here, there = (mechanism.law(Table({0: n})).probabilities() for n in (people, people + 1))
        if not close(here, there, single.epsilon.exact_ratio or single.epsilon.exp(), single.delta):
            return "one person more or less changes the chance of a category by too much"
        if not same(ball(here[0]), derived, _NOTHING):
            return "the chance of a category is not the one that was derived"
        derived = _step(derived, single)
    for people in range(_NEAR, _FAR[-1] + 1):
        if people in _FAR and not same(ball(mechanism.law(Table({0: people})).probabilities()[0]), derived, _NOTHING):
            return "the chance of a category is not the one that was derived"
        derived = _step(derived, single)
    far = mechanism.law(Table({0: 1 << 20})).probabilities()[0]
    return "" if ball(far) <= 1 else "the chance of a category is above one"


def _step(chance: Ball, level: ApproximateDP) -> Ball:
    ratio, delta = level.epsilon.exp(), ball(level.delta)
    lower = _lower(ratio * chance + delta, 1 - (1 - chance - delta) / ratio)
    return _lower(lower, Ball(1))


def _lower(first: Ball, second: Ball) -> Ball:
    """The lower of two; by their difference, because numbers next to one are the same float."""
    return first if float((first - second).mid()) <= 0 else second


def _draw_failure(mechanism: Any) -> str:
    for people in (1, 3, *_DRAWN):
        kept = mechanism.law(Table({0: people})).probabilities()[0]
        chance = Fraction(float(ball(kept).mid()))
        for number, named in ((chance / 2, True), ((1 + chance) / 2, False)):
            if number < 1 and (mechanism.draw(Table({"a": people}), ScriptedBits(number)) == ["a"]) is not named:  # type: ignore[dict-item]
                return "the sampler does not follow the law that was examined"
    # Several categories are drawn one after the other: numbers that two of them share would tell one by the other. At a level
    # where two people are kept with 3/10 and three with 7/10, so that shared numbers show.
    coarse = replace(mechanism, chosen=replace(mechanism.chosen, single=_COARSE))
    several: dict[Any, int] = dict(zip("abcdef", (2, 3, 2, 3, 2, 3)))
    for name in STREAMS:
        source = Stream(name)
        one_by_one = [key for key, people in several.items() if coarse.draw(Table({key: people}), source)]
        if coarse.draw(Table(several), Stream(name)) != one_by_one:
            return "the sampler does not follow the law that was examined"
    # Who has more people, or stands first in the table, must not show in the order of the answer.
    # At the number 0 whoever may be kept is, however small the level.
    many = 1 << 20
    for tables in ({"a": many, "b": many + 1}, {"b": many, "a": many + 1}, {"b": many + 1, "a": many}):
        if mechanism.draw(Table(tables), ScriptedBits(Fraction(0))) != ["a", "b"]:  # type: ignore[arg-type]
            return "the order of categories tells more than which of them are kept"
    return "" if mechanism.draw(Table({}), ScriptedBits(Fraction(0))) == [] else "a category that nobody has was named"
