"""A second calculation of what is drawn, for any table: the question's meaning as one sum, its moves largest first.

It serves twice: on tables that the referee makes up, and at the real draw, where a mismatch stops the answer with one fixed
sentence. It shares no code with the questions, their distances or their laws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from optimaldp.certify.findings import same
from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.meanings import cell_values, sum_needed
from optimaldp.certify.questions.personal_forms import confirms_form
from optimaldp.laws.setting import Table
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.trajectory import Number, to_ball

_BITS = 192
_MOST_CELLS = 64  # of a tally whose cells are all weighed; sums of more cells are confirmed on small tables alone


def confirms(mechanism: Examined, table: Table) -> bool:
    """Whether the law of *table* is what a second calculation gives; true for mechanisms that have none."""
    if mechanism.setting.personal and mechanism.listed:
        return confirms_form(mechanism, table)
    if not _has_second(mechanism):
        return True
    with precision(_bits(mechanism)):
        return agrees(mechanism, table, mechanism.law(table).probabilities())


def _has_second(mechanism: Examined) -> bool:
    return mechanism.name in ("balanced chain", "signed distance") and mechanism.cells <= _MOST_CELLS


def _bits(mechanism: Examined) -> int:
    return _BITS + math.ceil(3 * float(mechanism.setting.level.epsilon)) + 64


def agrees(mechanism: Examined, table: Table, law: Sequence[Number]) -> bool:
    """As :func:`confirms`, where the law of the table has been computed already."""
    if not _has_second(mechanism):
        return True
    chain = mechanism.name == "balanced chain"
    spec, setting = mechanism.spec(), mechanism.setting
    values = cell_values(spec, range(mechanism.cells))
    if values is None:
        return True
    distance = _signed(table.cells, values, sum_needed(spec), setting.neighbours)
    truth = 0 if distance > 0 else 1
    size = distance if distance > 0 else -distance
    with precision(_bits(mechanism)):
        row = [to_ball(p) for p in law]
        if size == math.inf:
            return bool(row[1 - truth] == 0)
        people = Fraction(size)
        error = _chain_error(math.ceil(people), setting.level) if chain else _signed_error(people, setting.level)
        floor = Ball(2) ** (60 - _BITS) if setting.level.delta else Ball(0)
        return same(row[1 - truth], error, floor)


def _signed(
    cells: Mapping[int, int], values: list[Fraction], needed: tuple[Fraction, str], relation: Neighbours
) -> Fraction | float:
    """How many people, the last one in part, must move to bring the sum to the other side; positive for yes."""
    bound, comparison = needed
    unit = _unit([*values, bound])
    total = sum((values[cell] * people for cell, people in cells.items()), Fraction(0)) - bound
    # Half a unit, so that the sign is the truth.
    total += unit / 2 if comparison in (">=", "<") else -unit / 2
    best, worst = max(values), min(values)
    if total > 0:
        moves = _gains(
            cells, values, relation, lambda value: value - worst, -min(worst, Fraction(0)), lambda value: value
        )
    else:
        moves = _gains(
            cells, values, relation, lambda value: best - value, max(best, Fraction(0)), lambda value: -value
        )
    reached = _people_needed(moves, abs(total))
    above = reached if total > 0 else -reached
    return above if comparison in (">=", ">") else -above


def _unit(numbers: list[Fraction]) -> Fraction:
    below = math.lcm(*(number.denominator for number in numbers))
    return Fraction(math.gcd(*(int(number * below) for number in numbers)) or 1, below)


def _gains(
    cells: Mapping[int, int], values: list[Fraction], relation: Neighbours, replaced: Any, added: Fraction, removed: Any
) -> list[tuple[Fraction, float]]:
    if relation is Neighbours.SUBSTITUTION:
        return [(replaced(values[cell]), people) for cell, people in cells.items()]
    return [(added, math.inf), *((removed(values[cell]), people) for cell, people in cells.items())]


def _people_needed(moves: list[tuple[Fraction, float]], gap: Fraction) -> Fraction | float:
    people = Fraction(0)
    for gain, available in sorted(moves, key=lambda move: -move[0]):
        if gain <= 0:
            break
        if gain * available >= gap if available < math.inf else True:
            return people + gap / gain
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
