"""The probability of "yes" where people have levels of their own: which aim uses which law.

*typical*: weighted votes, the best known on average; *every table*: the balanced boundary, the best at worst. Where all levels
are equal both are the exact optimum for one level. Nothing is best in both senses: on a strict edge across the boundary it would
not be private. So the aim is a public choice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from optimaldp.distances.ladder import Moves
from optimaldp.distances.linear import LinearCondition
from optimaldp.distances.mean import MeanBound
from optimaldp.errors import LevelError
from optimaldp.laws.balanced import Step, balanced_error, one_level_error, signed_exponent
from optimaldp.laws.log_number import LogNumber
from optimaldp.laws.reading import exact_or_decimal
from optimaldp.laws.setting import Aim, read_aim
from optimaldp.laws.signed import SURE, Sides, sides_of_exponent
from optimaldp.laws.weighted_votes import count_exponent, mean_exponent, share_exponent
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.trajectory import Number

LevelCounts = tuple[Epsilon, int, int, int]
"""(level, yes, no, outside)."""

MeanRow = tuple[Epsilon, Mapping[int, int], int]
"""(level, {position on the grid: people}, people without a value)."""


def threshold_sides(
    condition: LinearCondition,
    rows: Sequence[LevelCounts],
    aim: Aim,
    *,
    among: bool = False,
    delta: Fraction = Fraction(0),
) -> Sides:
    """P(yes) and P(no) of a count or share, exactly or at the current precision.

    **Guarantee.** Replacing the record of a person of level epsilon_i changes either probability as (epsilon_i, delta) allows.
    """
    held = [row for row in rows if sum(row[1:])]  # a level that nobody has decides nothing
    if not held:
        return SURE if condition.holds(0, 0) else SURE[::-1]
    if among and 0 in (condition.yes_weight, condition.no_weight):
        condition, held = _as_count(condition, held)
        among = False
    levels = [epsilon for epsilon, *_ in held]
    if len(set(levels)) == 1:
        return _one_level(condition, held, among, delta)
    if among:
        return _from_exponent(_among_exponent(condition, held, aim), max(levels), delta)
    if aim is Aim.TYPICAL:
        votes = [(epsilon, yes, no + outside) for epsilon, yes, no, outside in held]
        return _from_exponent(count_exponent(condition, votes), max(levels), delta)
    return _balanced(condition, held, delta)


def mean_sides(question: MeanBound, rows: Sequence[MeanRow], aim: Aim, *, delta: Fraction = Fraction(0)) -> Sides:
    """P(yes) and P(no) of a mean where levels differ."""
    levels = [epsilon for epsilon, counts, without in rows if without or any(counts.values())]
    if not levels:
        return SURE if question.holds({}) else SURE[::-1]
    if aim is Aim.TYPICAL and len(set(levels)) > 1:
        exponent: LogNumber | float = mean_exponent(question, [(epsilon, counts) for epsilon, counts, _ in rows])
    else:  # with one level, epsilon times the fractional distance: the law for one level
        exponent = mean_worst_exponent(question, rows)
    return _from_exponent(exponent, max(levels), delta)


def mean_worst_exponent(question: MeanBound, rows: Sequence[MeanRow]) -> LogNumber | float:
    """The least sum of levels between this table and another answer, positive for yes."""
    total: dict[int, int] = {}
    down, up = list[Step](), list[Step]()
    for epsilon, counts, without in rows:
        for position, people in counts.items():
            total[position] = total.get(position, 0) + people
        lower, higher = question.rungs(counts, without, Neighbours.SUBSTITUTION)
        down += [Step(gain, people or 0, epsilon) for gain, people in lower]
        up += [Step(gain, people or 0, epsilon) for gain, people in higher]
    above = signed_exponent(question.double_excess(total), down, up)
    return above if question.comparison in (">=", ">") else -above


def yes_probability_from(
    condition: LinearCondition,
    by_level: Sequence[Sequence[Any]],
    aim: str | Aim = Aim.TYPICAL,
    *,
    among: bool = False,
    delta: Fraction = Fraction(0),
) -> Fraction | Decimal:
    """P(yes) for counts that the caller made up: *by_level* holds (epsilon, yes, no) or (epsilon, yes, no, outside).

    Exact where it is rational, else a decimal with 40 right digits.

    >>> from optimaldp.distances.linear import share_condition
    >>> yes_probability_from(share_condition(">=", Fraction(1, 2)), [("ln(2)", 1, 2), ("ln(3)", 4, 0)], "every table")
    Fraction(7, 8)
    """
    rows = [_row(row) for row in by_level]
    wanted = read_aim(aim)
    if not isinstance(wanted, Aim):
        raise LevelError("aim", str(wanted), "has no law of its own for any table", "write 'typical' or 'every table'")
    return exact_or_decimal(lambda: threshold_sides(condition, rows, wanted, among=among, delta=delta))


def merged_rows(by_level: Sequence[Sequence[Any]]) -> list[tuple[Epsilon, tuple[int, int]]]:
    """(level, (yes, no)) in rising order of the levels, each named once."""
    merged: dict[Epsilon, tuple[int, int]] = {}
    for row in by_level:
        epsilon, yes, no, _ = _row(row)
        before = merged.get(epsilon, (0, 0))
        merged[epsilon] = (before[0] + yes, before[1] + no)
    return sorted((epsilon, counts) for epsilon, counts in merged.items() if sum(counts))


def _row(row: Sequence[Any]) -> LevelCounts:
    level, *counts = row
    if len(counts) not in (2, 3) or any(isinstance(c, bool) or not isinstance(c, int) or c < 0 for c in counts):
        raise LevelError("by_level", "(not shown)", "is not a list of (epsilon, yes, no)", "counts are whole numbers")
    epsilon = Epsilon.read(level)
    if epsilon.infinite:
        raise LevelError("epsilon", "inf", "promises nothing", "name a finite level for everybody")
    return epsilon, counts[0], counts[1], counts[2] if len(counts) == 3 else 0


def _as_count(condition: LinearCondition, rows: Sequence[LevelCounts]) -> tuple[LinearCondition, list[LevelCounts]]:
    """A share of none or of all among some people is a count among everybody, whose number is public."""
    if condition.no_weight == 0:
        return condition, [(epsilon, yes, no + outside, 0) for epsilon, yes, no, outside in rows]
    swapped = LinearCondition(condition.no_weight, 0, condition.need)
    return swapped, [(epsilon, no, yes + outside, 0) for epsilon, yes, no, outside in rows]


def _totals(rows: Sequence[LevelCounts]) -> tuple[int, int, int]:
    return sum(row[1] for row in rows), sum(row[2] for row in rows), sum(row[3] for row in rows)


def _sides(holds: bool, error: Number) -> Sides:
    return (1 - error, error) if holds else (error, 1 - error)


def _from_exponent(exponent: LogNumber | float, largest: Epsilon, delta: Fraction) -> Sides:
    if isinstance(exponent, LogNumber):
        return sides_of_exponent(exponent, largest, delta)
    return SURE if exponent > 0 else SURE[::-1]


def _one_level(condition: LinearCondition, rows: Sequence[LevelCounts], among: bool, delta: Fraction) -> Sides:
    yes, no, outside = _totals(rows)
    if not among:
        no, outside = no + outside, 0
    flips: Moves = condition.flips(yes, no, outside, Neighbours.SUBSTITUTION)
    error = Fraction(0) if flips == math.inf else one_level_error(rows[0][0], int(flips), delta)
    return _sides(condition.holds(yes, no), error)


def _balanced(condition: LinearCondition, rows: Sequence[LevelCounts], delta: Fraction) -> Sides:
    votes = sorted(((epsilon, yes, no + outside) for epsilon, yes, no, outside in rows), key=lambda row: row[0])
    yes, no = sum(own for _, own, _ in votes), sum(others for _, _, others in votes)
    holds = condition.holds(yes, no)
    target = condition.negated() if holds else condition
    missing = target.need - target.yes_weight * yes - target.no_weight * no
    # Replacing one who is bad for the target by a good one gains the same from everybody.
    flips = -(-missing // abs(target.yes_weight - target.no_weight))
    want_yes = target.yes_weight > target.no_weight
    error = balanced_error(
        [epsilon for epsilon, _, _ in votes], [others if want_yes else own for _, own, others in votes], flips, delta
    )
    return _sides(holds, error)


def _among_exponent(condition: LinearCondition, rows: Sequence[LevelCounts], aim: Aim) -> LogNumber | float:
    if aim is Aim.TYPICAL:
        return share_exponent(condition, [(epsilon, yes, no) for epsilon, yes, no, _ in rows])
    down, up = list[Step](), list[Step]()
    for epsilon, yes, no, outside in rows:
        for steps, lower in ((down, True), (up, False)):
            moves = condition.rungs(yes, no, outside, Neighbours.SUBSTITUTION, lower=lower)
            steps += [Step(gain, people or 0, epsilon) for gain, people in moves]
    yes, no, _ = _totals(rows)
    double_excess = 2 * (condition.yes_weight * yes + condition.no_weight * no - condition.need) + 1
    return signed_exponent(double_excess, down, up)
