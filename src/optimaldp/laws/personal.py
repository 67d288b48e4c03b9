"""The probability of "yes" where people have levels of their own: which aim uses which law.

**Yes or no about everybody** (a count or share without *among*; substitution, public sizes). To change the answer takes k
people; of those who could, the k with the smallest levels cost ``d = a_1 + ... + a_k``.

*every table*: the fair law ``error = e^-d / (1 + e^-alpha)``, where alpha is the least level among all people of the public
sizes, after any cap. Nothing that is private for everybody is at least as good at every table and better at one. *Proof of
privacy.* With ``c = 1/(1 + e^-alpha) >= 1/2``: inside, d moves by at most epsilon_i, and errors are at most ``c e^-alpha <=
1/2``, which bounds the other answer. Across, when i changes the answer and ``epsilon = epsilon_i >= alpha``: somebody of level
alpha could change on one of the sides, so the smaller d is alpha and both are at most epsilon; say ``d(u) = alpha``: ``1 - c
e^-alpha = c <= c e^(epsilon - d(v))``, and ``1 - c e^-d(v) <= 1 - c e^-epsilon <= c e^(epsilon - alpha)`` because ``e^(epsilon
- alpha) + e^-epsilon`` rises from ``1 + e^-alpha``. So alpha must be exact: a smaller one breaks the first inequality and a
larger one the last.

*typical*: the hedge. ``S_c`` is the signed cost of bringing the count of yes to c (the cheapest people first, the last one in
part), ``tau = (t - 1/2)/n`` for a count of at least t, and a public width M between 0 and n: ``f = (1 - tau) S_(t - 1/2 - tau
M) + tau S_(t - 1/2 + (1 - tau) M)``, ``P(yes) = 1 - e^-f/2`` or ``e^f/2``. When i turns from yes to no every S_c falls by 0 to
epsilon_i, so does a mean of them, and log P moves by no more: epsilon_i-DP for any M. M = n is weighted votes. All levels may
be cut to a public cap first. M and the cap are chosen by public numbers alone (:mod:`optimaldp.laws.level_accuracy`); so is the
fair law, where it errs least on average too.

**Sums in which people count differently** (among, compare, mean). *typical*: weighted votes
(:mod:`optimaldp.laws.votes`). *every table*: the exponent is the least ``sum of epsilon_i w_i`` over shares w_i of
people who bring the sum to the bound, best gain for its level first; the argument of the fractional distance holds with
epsilon_i in place of 1.

Version 0.2 answered yes or no about everybody by weighted votes and by the balanced form ``e^-(a_1 + ... + a_(k-1)) / (1 +
e^(a_k))``: *law 1*, which stays for documents of that version. With one level all of them are the exact optimum. Delta enters
by the two-answer transform with the largest level asked; where that level is 0, no delta is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from typing import Any

from optimaldp.distances.linear import LinearCondition, MeanBound
from optimaldp.distances.ranking import Moves
from optimaldp.errors import LevelError
from optimaldp.laws.law import Aim, read_aim
from optimaldp.laws.log_number import ZERO, LogNumber, exact_or_decimal
from optimaldp.laws.votes import (
    SURE,
    Sides,
    count_exponent,
    mean_exponent,
    share_exponent,
    sides_of_exponent,
    stretched,
)
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.numbers import is_whole
from optimaldp.privacy.trajectory import Number

LevelCounts = tuple[Epsilon, int, int, int]
"""(level, yes, no, outside)."""

MeanRow = tuple[Epsilon, Mapping[int, int], int]
"""(level, {position on the grid: people}, people without a value)."""


@dataclass(frozen=True)
class LevelLaw:
    """Which law answers yes or no about everybody: fixed by public numbers before any record is read."""

    spread: Fraction | None = None
    """The width M of the hedge as a share of all people, 0 to 1; ``None``: the fair law."""
    cap: Epsilon | None = None
    """All levels are cut to it before anything else."""

    def capped(self, epsilon: Epsilon) -> Epsilon:
        return epsilon if self.cap is None else min(epsilon, self.cap)

    def alpha(self, levels: Iterable[tuple[Epsilon, int]]) -> Epsilon:
        """The least level that somebody has, after the cap."""
        return self.capped(min(epsilon for epsilon, people in levels if people))


FAIR = LevelLaw()


def least_yes(condition: LinearCondition, people: int) -> int:
    """From how many yes on the sum is on the upper side of its bound."""
    if condition.yes_weight < condition.no_weight:
        condition = condition.negated()
    gain = condition.yes_weight - condition.no_weight
    return -(-(condition.need - condition.no_weight * people) // gain)


@lru_cache(maxsize=256)
def chosen_law(
    condition: LinearCondition, sizes: tuple[tuple[Epsilon, int], ...], aim: Aim, delta: Fraction = Fraction(0)
) -> LevelLaw:
    """The law for this aim at these public levels and sizes: see :meth:`optimaldp.laws.level_accuracy.LevelSizes.best_choice`."""
    held = [(epsilon, people) for epsilon, people in sizes if people]
    people = sum(number for _, number in held)
    least = least_yes(condition, people)
    if aim is Aim.EVERY_TABLE or len(held) < 2 or not 1 <= least <= people:
        return FAIR
    from optimaldp.laws.level_accuracy import level_sizes  # arrays, where levels differ

    choice = level_sizes(least, [(float(epsilon), number) for epsilon, number in held]).best_choice(delta=float(delta))
    if choice.width is None:
        return FAIR
    largest = max(epsilon for epsilon, _ in held)
    cap = None if choice.cap is None or choice.cap >= float(largest) else Epsilon.read(repr(choice.cap))
    return LevelLaw(Fraction(choice.width, people), cap)


def everybody_sides(
    condition: LinearCondition, rows: Sequence[LevelCounts], law: LevelLaw, *, delta: Fraction = Fraction(0)
) -> Sides:
    """P(yes) and P(no) of a count or share of everybody, exactly or at the current precision.

    **Guarantee.** Replacing the record of a person of level epsilon_i changes either probability as (epsilon_i, delta) allows,
    and not at all where epsilon_i is 0.

    >>> rows = [(Epsilon.read("ln(2)"), 0, 1, 0), (Epsilon.read("ln(3)"), 4, 1, 0)]
    >>> everybody_sides(LinearCondition(1, 0, 4), rows, FAIR)
    (Fraction(7, 9), Fraction(2, 9))
    """
    votes = sorted((law.capped(epsilon), yes, no + outside) for epsilon, yes, no, outside in rows if yes + no + outside)
    people, yes = sum(own + other for _, own, other in votes), sum(own for _, own, _ in votes)
    least, holds = least_yes(condition, people), condition.holds(yes, people - yes)
    if not 1 <= least <= people:
        return SURE if holds else SURE[::-1]
    above, largest = yes >= least, votes[-1][0]
    if law.spread is None:
        flips = yes - least + 1 if above else least - yes
        could = [(epsilon, own if above else other) for epsilon, own, other in votes]
        error = _fair_error(could, flips, votes[0][0])
        return _sides(holds, stretched(error, largest, delta))
    exponent = _hedge_exponent(votes, yes, least, people, law.spread)
    sides = sides_of_exponent(exponent, largest, delta)
    return sides if holds == above else sides[::-1]


def _fair_error(could: Sequence[tuple[Epsilon, int]], flips: int, alpha: Epsilon) -> Number:
    if sum(people for _, people in could) < flips:
        return Fraction(0)
    cost = -_cheapest(could, Fraction(flips))
    decayed, ratio = cost.rational_exp(), alpha.exact_ratio
    if decayed is None or ratio is None:
        return cost.exp() / (1 + 1 / alpha.exp())
    return decayed / (1 + 1 / ratio)


def _hedge_exponent(
    votes: Sequence[tuple[Epsilon, int, int]], yes: int, least: int, people: int, spread: Fraction
) -> LogNumber:
    middle = least - Fraction(1, 2)
    tau, width = middle / people, spread * people
    low, high = middle - tau * width, middle + (1 - tau) * width
    return _signed_cost(votes, yes - low) * (1 - tau) + _signed_cost(votes, yes - high) * tau


def _signed_cost(votes: Sequence[tuple[Epsilon, int, int]], above: Fraction) -> LogNumber:
    """What it costs to take away so many yes, the cheapest first; negative where yes must be added."""
    if above >= 0:
        return _cheapest([(epsilon, yes) for epsilon, yes, _ in votes], above)
    return -_cheapest([(epsilon, no) for epsilon, _, no in votes], -above)


def _cheapest(could: Sequence[tuple[Epsilon, int]], wanted: Fraction) -> LogNumber:
    """The levels of so many people, in rising order, the last one in part."""
    total = ZERO
    for epsilon, people in could:
        used = min(wanted, Fraction(people))
        total, wanted = total + LogNumber.of(epsilon) * used, wanted - used
    return total


def balanced_error(
    levels: Sequence[Epsilon], available: Sequence[int], flips: int, delta: Fraction = Fraction(0)
) -> Number:
    """The probability of a wrong answer when *flips* people must change and *available* could, by level in rising order.

    0 where fewer people could: then no table with these public sizes has another answer.

    >>> balanced_error([Epsilon.read("ln(2)"), Epsilon.read("ln(3)")], [1, 5], 2)
    Fraction(1, 8)
    """
    missing, total, last = flips, ZERO, None
    for epsilon, people in zip(levels, available):
        used = min(missing, people)
        if used:
            last = epsilon
            total = total + LogNumber.of(epsilon) * used
        missing -= used
    if missing or last is None:
        return Fraction(0)
    others = -(total - LogNumber.of(last))
    decayed, ratio = others.rational_exp(), last.exact_ratio
    error: Number = others.exp() / (1 + last.exp()) if decayed is None or ratio is None else decayed / (1 + ratio)
    return stretched(error, max(levels), delta)


def one_level_error(epsilon: Epsilon, flips: int, delta: Fraction = Fraction(0)) -> Number:
    """Everybody has the same level: the exact optimum with a balanced boundary, delta included (papers 000, 001)."""
    steps = flips - 1
    if epsilon.is_zero:
        return max(Fraction(0), (1 - delta) / 2 - steps * delta)
    return balanced_error([epsilon], [flips], flips, delta)  # on a chain the transform is the chain's own optimum


@dataclass(frozen=True)
class Step:
    """A kind of person: what moving one of them gains, how many there are, and their level."""

    gain: int
    people: int
    epsilon: Epsilon


def least_exponent(steps: Sequence[Step], gap: int) -> LogNumber | None:
    """The least sum of levels, the last person counted in part, that gains *gap*; ``None`` if all together gain less."""
    useful = [(step, LogNumber.of(step.epsilon)) for step in steps if step.gain > 0 and step.people]

    def cheaper(first: tuple[Step, LogNumber], second: tuple[Step, LogNumber]) -> int:
        return (first[1] * second[0].gain - second[1] * first[0].gain).sign

    total, missing = ZERO, gap
    for step, epsilon in sorted(useful, key=cmp_to_key(cheaper)):
        if step.gain * step.people >= missing:
            return total + epsilon * Fraction(missing, step.gain)
        total, missing = total + epsilon * step.people, missing - step.gain * step.people
    return total if missing <= 0 else None


def signed_exponent(double_excess: int, down: Sequence[Step], up: Sequence[Step]) -> LogNumber | float:
    """The signed exponent of a sum: *double_excess* is twice (sum minus bound) plus or minus one, the steps gain whole units."""
    rungs, sign = (down, 1) if double_excess > 0 else (up, -1)
    doubled = [Step(2 * step.gain, step.people, step.epsilon) for step in rungs]
    exponent = least_exponent(doubled, abs(double_excess))
    return sign * math.inf if exponent is None else exponent * sign


def threshold_sides(
    condition: LinearCondition,
    rows: Sequence[LevelCounts],
    aim: Aim,
    *,
    among: bool = False,
    delta: Fraction = Fraction(0),
) -> Sides:
    """P(yes) and P(no) of a count or share by law 1, which is the law of today *among* some of the people.

    **Guarantee.** Replacing the record of a person of level epsilon_i changes either probability as (epsilon_i, delta) allows.
    """
    held = [row for row in rows if sum(row[1:])]  # a level that nobody has decides nothing
    if not held:
        return SURE if condition.holds(0, 0) else SURE[::-1]
    if among and 0 in (condition.yes_weight, condition.no_weight):
        condition, held = _as_count(condition, held)
        among = False
    levels = [epsilon for epsilon, *_ in held]
    if max(levels).is_zero:
        delta = Fraction(0)  # nobody is asked, so nobody is charged
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
    Fraction(8, 9)
    """
    rows = [_row(row) for row in by_level]
    wanted = read_aim(aim)
    if not isinstance(wanted, Aim):
        raise LevelError("aim", str(wanted), "has no law of its own for any table", "write 'typical' or 'every table'")
    if among:
        return exact_or_decimal(lambda: threshold_sides(condition, rows, wanted, among=True, delta=delta))
    merged: dict[Epsilon, int] = {}
    for epsilon, *counts in rows:
        merged[epsilon] = merged.get(epsilon, 0) + sum(counts)
    law = chosen_law(condition, tuple(sorted(merged.items())), wanted, delta)
    return exact_or_decimal(lambda: everybody_sides(condition, rows, law, delta=delta))


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
    if len(counts) not in (2, 3) or not all(is_whole(c, 0) for c in counts):
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
