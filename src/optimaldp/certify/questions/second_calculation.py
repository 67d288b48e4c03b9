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
from optimaldp.certify.questions.meanings import deciding_sum
from optimaldp.certify.questions.personal_forms import confirms_form
from optimaldp.errors import NotCertifiedError, SecondCalculationError
from optimaldp.laws.setting import Setting, Table
from optimaldp.privacy import ApproximateDP, Neighbours
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
        if mechanism.name not in ("balanced chain", "signed distance") or mechanism.cells > _MOST_CELLS:
            return None
        found = deciding_sum(mechanism.spec(), mechanism.cells)
        if found is None:
            return None
        adds, bound, comparison = found
        # The finest difference between two sums: all are multiples of it. Where all are 0 any unit will do.
        below = math.lcm(*(number.denominator for number in (*adds, bound)))
        finest = Fraction(math.gcd(*(int(number * below) for number in (*adds, bound))) or 1, below)
        values = tuple(int(2 * add / finest) for add in adds)
        bits = _BITS + 3 * mechanism.setting.level.epsilon.ceiling + 64
        chain = mechanism.name == "balanced chain"
        return cls(values, int(2 * bound / finest), comparison, chain, mechanism.setting, bits)

    def agrees(self, cells: Mapping[int, int], law: Sequence[Number]) -> bool:
        """Whether *law* is what this calculation gives for the table."""
        (truth, people), level = self.margin(cells), self.setting.level
        with precision(self.bits):
            wrong = ball(law[1 - truth])
            if people is None:
                return bool(wrong == 0)
            error = _chain_error(math.ceil(people), level) if self.chain else _signed_error(people, level)
            # With delta a small error is a difference of two numbers: it is known to so many bits of 1, not of itself.
            return same(wrong, error, Ball(2) ** (60 - _BITS) if level.delta else Ball(0))

    def margin(self, cells: Mapping[int, int]) -> tuple[int, Fraction | None]:
        """The true answer, and how many people, the last one in part, must move to change it; ``None`` where nobody can."""
        total = sum(self.values[cell] * people for cell, people in cells.items()) - self.bound
        # Half of the finest difference, so that the sum is never 0 and its sign is the truth.
        total += 1 if self.comparison in (">=", "<") else -1
        side, gap = (1, total) if total > 0 else (-1, -total)
        truth = 0 if (side > 0) is (self.comparison in (">=", ">")) else 1
        # What one person can do against that side of the sum, and how many people can.
        far = min(side * value for value in self.values)
        moves: list[tuple[int, float]]
        if self.setting.neighbours is Neighbours.SUBSTITUTION:
            moves = [(side * self.values[cell] - far, people) for cell, people in cells.items()]
        else:  # whoever is there may go, and any number of people may come
            moves = [(max(0, -far), math.inf), *((side * self.values[cell], people) for cell, people in cells.items())]
        moved = 0
        for gain, available in sorted(moves, reverse=True):  # who does most first: fewer people cannot do as much
            if gain <= 0:
                break
            if available == math.inf or gain * int(available) >= gap:
                return truth, moved + Fraction(gap, gain)
            moved, gap = moved + int(available), gap - gain * int(available)
        return truth, None


def _chain_error(flips: int, level: ApproximateDP) -> Ball:
    """``1 - F^(flips-1)`` from the boundary's ``(1 - delta)/(E + 1)``: it falls by ``c -> (c - delta)/E`` from there on."""
    steps, ratio, delta = flips - 1, level.epsilon.exp(), ball(level.delta)
    start = (1 - delta) / (ratio + 1)
    if level.epsilon.is_zero:
        return (start - steps * delta).max(Ball(0))
    decay = (-level.epsilon.ball() * steps).exp()
    if not level.delta:
        return start * decay
    fixed = delta / (ratio - 1)
    return ((start + fixed) * decay - fixed).max(Ball(0))


def _signed_error(people: Fraction, level: ApproximateDP) -> Ball:
    """``e^(-epsilon W)/2``; with delta, what is left of it when ``beta`` is cut off both tails."""
    delta = ball(level.delta)
    if level.epsilon.is_zero:
        return (ball(Fraction(1, 2)) - delta * ball(people)).max(Ball(0))
    plain = (-level.epsilon.ball() * ball(people)).exp() / 2
    if not level.delta:
        return plain
    beta = delta / (level.epsilon.exp() - 1 + 2 * delta)
    return ((plain - beta) / (1 - 2 * beta)).max(Ball(0))
