"""The referee of numbers that are made of two: two crossings subtracted, and a clipping edge before a clipped number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from optimaldp.certify.core.examined import Finding
from optimaldp.certify.numbers.crossing import TwoSums, examine_crossing, need_place
from optimaldp.certify.numbers.direct_sums import by_direct_sums, confirm_crossing, confirm_ladder, ladder_exponents
from optimaldp.certify.numbers.parts import (
    BITS,
    SLACK,
    SOME_WORDS,
    WORD,
    MadeUp,
    Repeated,
    drawn,
    need,
    need_confirmed,
    passed,
    watched,
)
from optimaldp.certify.numbers.sums import examine_noise_number
from optimaldp.privacy import Neighbours
from optimaldp.privacy.balls import Ball, ball, precision


def examine_two_crossings(mechanism: Any) -> Finding:
    """Each of the two numbers, and that their levels add up."""

    def look() -> list[str]:
        setting, (first, second) = mechanism.setting, mechanism.sides()
        for side in (first, second):
            finding = examine_crossing(side)
            need(finding.private, finding.failure)
        each = first.setting.level
        need(second.setting.level == each, "the two numbers are not at one level")
        apart = setting.public_groups or setting.neighbours is Neighbours.ADD_REMOVE
        if apart:
            need(each.epsilon <= setting.level.epsilon and each.delta <= setting.level.delta, "a group costs too much")
            need(
                setting.public_groups == (first.setting.neighbours is Neighbours.SUBSTITUTION)
                or setting.neighbours is Neighbours.ADD_REMOVE,
                "inside a public group records are replaced",
            )
        else:
            need(each.epsilon * 2 <= setting.level.epsilon, "the two numbers together cost more than is promised")
            with precision(BITS):
                need(
                    ball(each.delta) * (1 + each.epsilon.exp()) <= ball(setting.level.delta) * (1 + Ball(2) ** -SLACK),
                    "the two numbers together spend more delta than is promised",
                )
        _look_at_two_folds(mechanism)
        _look_at_two_draws(mechanism)
        return [*examine_crossing(first).checks[:3], f"for all tables, by theorem: {mechanism.proof}"]

    return passed(look)


def _look_at_two_folds(mechanism: Any) -> None:
    """Nobody is in both groups."""
    question, (first, second) = mechanism.question, mechanism.sides()
    for cell in watched(question.cells):
        here, there = question.fold({cell: 1})
        counted = [any(side.question.sums(own)) for side, own in ((first, here), (second, there))]
        need(not all(counted), "somebody is counted in both groups")


def _look_at_two_draws(mechanism: Any) -> None:
    """What is recorded is the difference of two answers, each with its own bits."""
    table = MadeUp(mechanism, mechanism.sides()[0].family().answers)
    words, values = SOME_WORDS[1:], []
    for side, own, word in zip(mechanism.sides(), mechanism.question.fold(table.cells), words):
        law, sums = side.crossing(), TwoSums(*side.question.sums(own))
        values.append(law.family.answer(law.draw(sums, Repeated(word))))
        need_place(confirm_crossing(law, sums), word, law.family, values[-1])
    recorded = Fraction(drawn(mechanism, table, *words)["recorded"])
    need(recorded == values[0] - values[1], "what is recorded is not the difference of the two answers")


def examine_two_steps(mechanism: Any) -> Finding:
    """The ladder by public numbers, its law by direct sums, every second step, and that the two costs add up."""

    def look() -> list[str]:
        law, setting, question = mechanism.first_step(), mechanism.setting, mechanism.question
        steps = question.high / question.step
        known = set()
        for j in range(200):
            known.add(next(k for k in _from_root(int(steps), j) if k * k * 2**j >= int(steps) ** 2))
        need([edge / question.step for edge in law.edges] == sorted(known), "the ladder is not the public one")
        strictest = min([setting.level.epsilon, *(own for own, _ in setting.levels)])
        need(law.epsilon == strictest, "the first step is not at the level that is promised")
        for counts in ([0] * (len(law.edges) - 1), [100 // (k + 1) for k in range(len(law.edges) - 1)]):
            with precision(BITS):
                ends, exponent = law.ends(counts), ladder_exponents(law, counts)
                for place in range(len(counts)):
                    known_end = by_direct_sums(place, len(law.edges), exponent)
                    need(abs(ends.end(place) - known_end) <= Ball(2) ** -SLACK, "the law of the edge is not right")
        for edge in law.edges:
            second = mechanism.second_step(edge)
            need(second.share + law.share <= 1, "the two steps together cost more than is promised")
            if edge in (law.edges[0], law.edges[-1]):
                crossed = hasattr(second, "crossing")
                finding = examine_crossing(second) if crossed else examine_noise_number(second)
                need(finding.private, finding.failure)
        _look_at_both_steps(mechanism, law)
        return [
            "the ladder of edges by public numbers, and the law of the edge against direct sums",
            "the number clipped at the lowest and at the highest edge, as a number of its own; the two costs add up",
            f"for all tables, by theorem: {mechanism.proof}",
        ]

    return passed(look)


def _look_at_both_steps(mechanism: Any, law: Any) -> None:
    """The edge and the clipped number, each with its own bits; nobody above the edge adds more than the edge."""
    question, (third, word, other) = mechanism.question, SOME_WORDS
    last = mechanism.second_step(law.edges[-1])
    crossed = hasattr(last, "crossing")
    bought = crossed and question.said.interval
    counted = last.counting().place(third, WORD) if bought else 0
    table = MadeUp(mechanism, last.family().answers if crossed else 0)
    values = question.fold(table.cells).values
    above = [sum(people for at, people in values.items() if at * question.step > edge) for edge in law.edges[:-1]]
    if counted is None:
        return  # a level so small that one word does not decide
    if not crossed and any(mechanism.second_step(edge).noise().place(other, WORD) is None for edge in law.edges):
        return  # a level so small that one word does not decide
    details = drawn(mechanism, table, word, other, *((third,) if bought else ()))
    edge, recorded = Fraction(details["clipped_at"]), Fraction(details["recorded"])
    need(edge in law.edges, "the clipping edge is not on the ladder")
    need_confirmed(confirm_ladder(law, above), word, law.edges.index(edge))
    people = sum(values.values())
    clipped = sum((each * min(at * question.step, edge) for at, each in values.items()), Fraction(0))
    second = mechanism.second_step(edge)
    if crossed:
        number = second.crossing()
        need_place(confirm_crossing(number, TwoSums(Fraction(people), clipped)), other, number.family, recorded)
        need(not bought or details["people"] == people + counted, "the noisy number of people has no noise of its own")
    else:
        linear = second.linear()
        known = linear.offset + clipped + linear.unit * second.noise().place(other, WORD)
        need(recorded == known, "what is recorded is not the clipped number and one noise")


def _from_root(steps: int, j: int) -> Iterator[int]:
    """Whole numbers from just below ``steps / sqrt(2)^j`` on."""
    start = max(1, math.isqrt(steps * steps >> j) - 1)
    return iter(range(start, start + 4))
