"""A second calculation of what is drawn, for any table: the question's meaning as one sum, its moves largest first.

It serves twice: on tables that the referee makes up, and at the real draw, where a mismatch stops the answer with one fixed
sentence. It shares no code with the questions, their distances or their laws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

from optimaldp.certify.findings import same
from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.meanings import cell_values, sum_needed
from optimaldp.certify.questions.personal_forms import confirms_form
from optimaldp.laws.setting import Setting, Table
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.trajectory import Number

_BITS = 192
_MOST_CELLS = 64  # of a tally whose cells are all weighed; sums of more cells are confirmed on small tables alone


def confirms(mechanism: Examined, table: Table) -> bool:
    """Whether the law of *table* is what a second calculation gives; true for mechanisms that have none."""
    if mechanism.setting.personal and mechanism.listed:
        return confirms_form(mechanism, table)
    second = SecondCalculation.of(mechanism)
    if second is None:
        return True
    with precision(second.bits):
        return second.agrees(table.cells, mechanism.law(table).probabilities())


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
        spec = mechanism.spec()
        values = cell_values(spec, range(mechanism.cells))
        if values is None:
            return None
        bound, comparison = sum_needed(spec)
        unit = _unit([*values, bound]) / 2
        whole = tuple(int(value / unit) for value in values)
        bits = _BITS + math.ceil(3 * float(mechanism.setting.level.epsilon)) + 64
        chain = mechanism.name == "balanced chain"
        return cls(whole, int(bound / unit), comparison, chain, mechanism.setting, bits)

    def agrees(self, cells: Mapping[int, int], law: Sequence[Number]) -> bool:
        """Whether *law* is what this calculation gives for the table."""
        distance, level = self._signed(cells), self.setting.level
        truth = 0 if distance > 0 else 1
        size = distance if distance > 0 else -distance
        with precision(self.bits):
            wrong = ball(law[1 - truth])
            if size == math.inf:
                return bool(wrong == 0)
            people = Fraction(size)
            error = _chain_error(math.ceil(people), level) if self.chain else _signed_error(people, level)
            return same(wrong, error, Ball(2) ** (60 - _BITS) if level.delta else Ball(0))

    def _signed(self, cells: Mapping[int, int]) -> Fraction | float:
        """How many people, the last one in part, must move to bring the sum to the other side; positive for yes."""
        total = sum(self.values[cell] * people for cell, people in cells.items()) - self.bound
        # Half of the finest difference, so that the sign is the truth.
        total += 1 if self.comparison in (">=", "<") else -1
        side = 1 if total > 0 else -1
        far = min(side * value for value in self.values)
        # What one person can do against that side of the sum, and how many people can.
        moves: list[tuple[int, float]]
        if self.setting.neighbours is Neighbours.SUBSTITUTION:
            moves = [(side * self.values[cell] - far, people) for cell, people in cells.items()]
        else:
            moves = [(max(0, -far), math.inf), *((side * self.values[cell], people) for cell, people in cells.items())]
        above = side * _people_needed(moves, abs(total))
        return above if self.comparison in (">=", ">") else -above


def _unit(numbers: list[Fraction]) -> Fraction:
    below = math.lcm(*(number.denominator for number in numbers))
    return Fraction(math.gcd(*(int(number * below) for number in numbers)) or 1, below)


def _people_needed(moves: list[tuple[int, float]], gap: int) -> Fraction | float:
    people = 0
    for gain, available in sorted(moves, reverse=True):
        if gain <= 0:
            break
        if available == math.inf or gain * int(available) >= gap:
            return people + Fraction(gap, gain)
        people, gap = people + int(available), gap - gain * int(available)
    return math.inf


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
