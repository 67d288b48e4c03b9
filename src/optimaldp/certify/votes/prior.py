"""The referee of the least average error over a prior: every table of the public sizes, and a dual solution.

The grid of counts by level is small, so nothing rests on a theorem: each table is compared with each neighbour at the level of
the person who changes. That nothing private errs less on average follows from multipliers y >= 0 of the privacy constraints:
adding them up bounds the average of every private law, at the levels themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import comb, prod
from typing import Any

from optimaldp.certify.findings import Finding
from optimaldp.certify.questions.laws_compared import close, draws_follow, is_distribution
from optimaldp.certify.questions.meanings import MEANINGS
from optimaldp.laws.setting import Table
from optimaldp.privacy.balls import Ball, ball, precision, upper
from optimaldp.privacy.trajectory import Number

_BITS = 320
_MOST_POINTS = 400
_NEAR = Fraction(1, 10**6)  # of the least average, where probabilities were found in floating point and rounded

Counts = tuple[int, ...]


def examine_prior(mechanism: object) -> Finding:
    """Compare all neighbours, and bound what any other private law could reach on average."""
    with precision(_BITS):
        try:
            failure = _Grid(mechanism).failure()
        except (ArithmeticError, KeyError, LookupError) as error:
            failure = str(error) or "the law is not defined at every table"
    if failure:
        return Finding(False, (), failure)
    return Finding(
        True,
        (
            "every table of the public sizes and every neighbour, each at the level of the person who changes",
            "no private law has a smaller average error over the prior by more than 1e-6, by the multipliers, at the levels "
            "themselves",
            "the sampler gives each answer exactly where its law says so, by scripted bits",
        ),
    )


class _Grid:
    """How many people of each level say yes; the law, the truth and the prior at every point."""

    def __init__(self, mechanism: Any) -> None:
        self.mechanism, self.setting = mechanism, mechanism.setting
        self.levels = [epsilon for epsilon, _ in self.setting.levels]
        self.sizes = [people for _, people in self.setting.levels]
        self.exact = all(epsilon.exact_ratio is not None for epsilon in self.levels)
        if mechanism.question.cells != 2 or mechanism.question.spec()["among"]:
            raise ArithmeticError("the question is not one of yes and no about everybody")
        if prod(size + 1 for size in self.sizes) > _MOST_POINTS or sum(self.sizes) != self.setting.people:
            raise ArithmeticError("the levels are not those of a small table")
        if len(set(self.levels)) < len(self.levels) or max(self.levels) > self.setting.level.epsilon:
            raise ArithmeticError("a level is named twice, or is above the epsilon of the release")
        spec = mechanism.question.spec()
        meaning = MEANINGS[spec["kind"]]
        self.points = list(product(*(range(size + 1) for size in self.sizes)))
        people = sum(self.sizes)
        self.truth = {p: meaning(spec, {0: sum(p), 1: people - sum(p)}) for p in self.points}
        self.rows = {p: mechanism.law(self.table(p)).probabilities() for p in self.points}

    def table(self, point: Counts) -> Table:
        by_level = tuple(
            (epsilon, {0: yes, 1: size - yes}) for epsilon, size, yes in zip(self.levels, self.sizes, point)
        )
        return Table({0: sum(point), 1: sum(self.sizes) - sum(point)}, by_level)

    def edges(self) -> Iterator[tuple[Counts, Counts, int]]:
        for at in self.points:
            for place, size in enumerate(self.sizes):
                if at[place] < size:
                    yield at, (*at[:place], at[place] + 1, *at[place + 1 :]), place

    def ratio(self, place: int) -> Number:
        exact = self.levels[place].exact_ratio
        return exact if exact is not None else self.levels[place].exp()

    def delta(self, place: int) -> Fraction:
        return Fraction(0) if self.levels[place].is_zero else self.setting.level.delta

    def failure(self) -> str:
        if not all(is_distribution(row) for row in self.rows.values()):
            return "the law of a table is no distribution"
        for first, second, place in self.edges():
            if not close(self.rows[first], self.rows[second], self.ratio(place), self.delta(place)):
                return "two tables that differ in one person are not close at that person's own level"
        if failure := self._not_the_best():
            return failure
        ends = (self.points[0], self.points[-1], self.points[len(self.points) // 2])
        if not all(draws_follow(self.mechanism, self.table(point)) for point in ends):
            return "the sampler does not follow the law that was examined"
        return ""

    def _not_the_best(self) -> str:
        weights = self._weights()
        error = sum((weights[p] * (1 - row[self.truth[p]]) for p, row in self.rows.items()), Fraction(0))
        if error != self.mechanism.optimum.average_error:
            return "the average error is not the one that is stated"
        bound = self._least_error(weights)
        if bound is None:
            return "a multiplier is negative or does not belong to two neighbouring tables"
        gap = upper(ball(error) - ball(bound))
        return "" if gap <= _NEAR else "the multipliers do not prove that the average error is the least possible"

    def _weights(self) -> dict[Counts, Fraction]:
        prior, people = self.setting.aim, sum(self.sizes)
        weights = {}
        for point in self.points:
            yes, ways = sum(point), prod(comb(size, count) for size, count in zip(self.sizes, point))
            if prior.chance is None:
                # Only the total has a prior: who of them says yes is equally likely.
                weights[point] = prior.by_total[yes] * Fraction(ways, comb(people, yes))
            else:
                weights[point] = ways * prior.chance**yes * (1 - prior.chance) ** (people - yes)
        if sum(weights.values()) != 1:
            raise ArithmeticError("the prior is none: its probabilities do not add up to 1")
        return weights

    def _least_error(self, weights: Mapping[Counts, Fraction]) -> Number | None:
        """What no private law can fall below. With p = P(yes) the error is a constant plus ``sum of c_v p_v``.

        Yes: ``p_head - r p_tail <= delta``. No: ``r p_tail - p_head <= r - 1 + delta``. Each is weighed with y >= 0 and added;
        what is left of the objective at a point is at most its positive part, because p lies between 0 and 1.
        """
        coefficient = {p: self._number(w if self.truth[p] == 0 else -w) for p, w in weights.items()}
        best = self._number(sum((w for p, w in weights.items() if self.truth[p] == 1), Fraction(0)))
        for one in self.mechanism.optimum.multipliers:
            place = self._place(one.tail, one.head)
            if place is None or one.weight < 0 or one.answer not in (0, 1):
                return None
            ratio, delta = self._number(self.ratio(place)), self._number(self.delta(place))
            weight = self._number(one.weight)
            yes = weight if one.answer == 0 else -weight
            coefficient[one.head] = coefficient[one.head] - yes
            coefficient[one.tail] = coefficient[one.tail] + ratio * yes
            best = best + weight * (delta if one.answer == 0 else ratio - 1 + delta)
        for rest in coefficient.values():
            best = best + (max(Fraction(0), rest) if isinstance(rest, Fraction) else rest.max(Ball(0)))
        return 1 - best

    def _number(self, number: Number) -> Any:
        """Fractions where every level has a rational ``e^epsilon``, else balls."""
        return number if self.exact else ball(number)

    def _place(self, tail: Counts, head: Counts) -> int | None:
        if tail not in self.rows or head not in self.rows:
            return None
        steps = [(place, b - a) for place, (a, b) in enumerate(zip(tail, head)) if a != b]
        return steps[0][0] if len(steps) == 1 and abs(steps[0][1]) == 1 else None
