"""Where an answer is drawn, and a second calculation of its law: the question as one sum, its moves largest first.

It serves twice: on tables that the referee makes up, and at the real draw, where a mismatch stops the answer with one fixed
sentence. It shares no code with the questions, their distances or their laws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from optimaldp.certify.findings import Certified, same
from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.personal_tables import confirms_form
from optimaldp.errors import NotCertifiedError, SecondCalculationError
from optimaldp.laws.setting import Setting, Table
from optimaldp.privacy import Neighbours
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import BitSource

_BITS = 192
_MOST_CELLS = 1000  # of a tally whose cells are all weighed; sums of more cells are confirmed on small tables alone


def draw(certified: Certified[Any], table: Table, source: BitSource) -> Any:
    """The one place where an answer is drawn. Only what the referee has passed is accepted.

    A law that is not confirmed a second time gives no answer. It is looked at after the draw and whatever was drawn: that it is
    looked at tells nothing, and its failure is one fixed sentence.
    """
    if not isinstance(certified, Certified):
        raise NotCertifiedError("Only a certified mechanism can be drawn from. Nothing was sampled.")
    mechanism = certified.mechanism
    answer = mechanism.draw(table, source)
    confirmed = True  # where a law has no second calculation
    if mechanism.setting.personal and mechanism.listed:
        confirmed = confirms_form(mechanism, table)
    elif (second := SecondCalculation.of(mechanism)) is not None:
        with precision(second.bits):
            confirmed = second.agrees(table.cells, mechanism.law(table).probabilities())
    if not confirmed:
        raise SecondCalculationError
    return answer


@dataclass(frozen=True)
class SecondCalculation:
    """A question that is one sum, in whole numbers: units of half of the finest difference that it can show."""

    values: tuple[int, ...]
    """What a person of each cell adds."""
    bound: int
    comparison: str
    chain: bool
    """Whether people are whole, as on the balanced chain, or the last one counts in part."""
    setting: Setting
    bits: int
    """At which precision its numbers are compared."""

    @classmethod
    @lru_cache(maxsize=512)
    def of(cls, mechanism: Examined) -> Self | None:
        """``None`` where the law has no second calculation. Made once for the examination and every draw."""
        spec, cells = mechanism.question.spec(), mechanism.question.cells
        kind, summed = spec["kind"], mechanism.name in ("balanced chain", "signed distance")
        if not summed or kind not in ("count", "share", "compare", "mean") or cells > _MOST_CELLS:
            return None
        own = cells // 2 if spec["among"] else cells
        bound, comparison = (0, ">") if kind == "compare" else (spec["bound"], spec["comparison"])
        # What a person of each cell adds. Shares and means are multiplied by the number of people: their sum is compared with 0.
        if kind == "mean":
            values = int((spec["high"] - spec["low"]) / spec["step"]) + 1
            adds = [spec["low"] + place * spec["step"] - bound for place in range(values)]
        else:
            adds = {"count": [1], "compare": [1, -1], "share": [1 - bound, *[-bound] * (own - 1)]}[kind]
        adds += [0] * (own - len(adds))
        if spec["among"]:  # the odd cells hold the people who are not asked: they add nothing
            adds = [number for add in adds for number in (add, 0)]
        numbers = [*map(Fraction, adds), Fraction(bound if kind == "count" else 0)]
        # The finest difference between two sums: all are multiples of it. Where all are 0 any unit will do.
        below = math.lcm(*(number.denominator for number in numbers))
        finest = Fraction(math.gcd(*(int(number * below) for number in numbers)) or 1, below)
        *whole, need = (int(2 * number / finest) for number in numbers)
        bits = _BITS + 3 * mechanism.setting.level.epsilon.ceiling + 64
        return cls(tuple(whole), need, comparison, mechanism.name == "balanced chain", mechanism.setting, bits)

    def agrees(self, cells: Mapping[int, int], law: Sequence[Number]) -> bool:
        """Whether *law* is what this calculation gives for the table: the true answer, its margin in people, the error there."""
        total = sum(self.values[cell] * people for cell, people in cells.items()) - self.bound
        # Half of the finest difference, so that the sum is never 0 and its sign is the truth.
        total += 1 if self.comparison in (">=", "<") else -1
        side, gap = (1, total) if total > 0 else (-1, -total)
        truth = 0 if (side > 0) is (self.comparison in (">=", ">")) else 1
        # What one person can do against that side of the sum, and how many people can.
        far, replaced = min(side * value for value in self.values), self.setting.neighbours is Neighbours.SUBSTITUTION
        moves = [(side * self.values[cell] - (far if replaced else 0), people) for cell, people in cells.items()]
        if not replaced:  # whoever is there may go, and as many people as are needed may come
            moves.append((-far, gap))
        moved, remaining = Fraction(0), Fraction(gap)
        for gain, available in sorted(moves, reverse=True):  # who does most first: fewer people cannot do as much
            if gain > 0:
                going = min(remaining / gain, Fraction(available))  # the last one in part
                moved, remaining = moved + going, remaining - gain * going
        level = self.setting.level
        with precision(self.bits):
            wrong, ratio, delta = ball(law[1 - truth]), level.epsilon.exp(), ball(level.delta)
            if remaining:  # nobody can change the answer
                return bool(wrong == 0)
            # The signed law errs with 1/2 where the sum is 0. The chain errs with (1 - delta)/(E + 1) where the first person
            # changes the answer, and people are whole. From there on both fall by c -> (c - delta)/E for every person.
            start, steps = Ball(1) / 2, ball(moved)
            if self.chain:
                start, steps = (1 - delta) / (ratio + 1), ball(math.ceil(moved) - 1)
            if level.epsilon.is_zero:
                error = start - steps * delta
            else:
                fixed = delta / (ratio - 1) if level.delta else Ball(0)
                error = (start + fixed) * (-level.epsilon.ball() * steps).exp() - fixed
            # With delta a small error is a difference of two numbers: it is known to so many bits of 1, not of itself.
            return same(wrong, error.max(Ball(0)), Ball(2) ** (60 - _BITS) if level.delta else Ball(0))
