"""The referee of "which categories occur": one category at a time, at the level that each of them has."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from optimaldp.certify.findings import Finding, same
from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.laws_compared import ScriptedBits, close, ratio_of
from optimaldp.laws.setting import Table
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import Ball, ball, precision

_BITS = 256
_NEAR = 60


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
        if not close(here, there, ratio_of(single), single.delta):
            return "one person more or less changes the chance of a category by too much"
        if not same(ball(here[0]), derived, Ball(2) ** -200):
            return "the chance of a category is not the one that was derived"
        derived = _step(derived, single)
    far = mechanism.law(Table({0: 1 << 20})).probabilities()[0]
    return "" if ball(far) <= 1 else "the chance of a category is above one"


def _step(chance: Ball, level: ApproximateDP) -> Ball:
    ratio, delta = level.epsilon.exp(), ball(level.delta)
    return min(
        (ratio * chance + delta, 1 - (1 - chance - delta) / ratio, Ball(1)), key=lambda number: float(number.mid())
    )


def _draw_failure(mechanism: Examined) -> str:
    for people in (1, 3):
        kept = mechanism.law(Table({0: people})).probabilities()[0]
        chance = Fraction(float(ball(kept).mid()))
        for number, named in ((chance / 2, True), ((1 + chance) / 2, False)):
            if number < 1 and (mechanism.draw(Table({"a": people}), ScriptedBits(number)) == ["a"]) is not named:  # type: ignore[dict-item]
                return "the sampler does not follow the law that was examined"
    return "" if mechanism.draw(Table({}), ScriptedBits(Fraction(0))) == [] else "a category that nobody has was named"
