"""What a question about a sum means: what a record of each cell adds, and with what the sum is compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, prod
from typing import Any

from optimaldp.certify.core.closeness import Exponentials
from optimaldp.certify.core.drawing import close, draws_follow, is_distribution
from optimaldp.certify.core.examined import Finding, same
from optimaldp.certify.core.meanings import meaning_of
from optimaldp.laws.law import Table
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, ball, precision, upper
from optimaldp.privacy.trajectory import Number

Row = tuple[int, ...]
"""How many people fall into each cell."""


@dataclass(frozen=True)
class Inequality:
    """``sum of adds[cell] * people[cell]  <comparison>  bound``."""

    adds: tuple[Fraction, ...]
    comparison: str
    bound: Fraction

    def total(self, table: Sequence[int]) -> Fraction:
        return sum((add * people for add, people in zip(self.adds, table)), Fraction(0))

    def holds(self, table: Sequence[int]) -> bool:
        total = self.total(table)
        if self.comparison == ">=":
            return total >= self.bound
        if self.comparison == ">":
            return total > self.bound
        if self.comparison == "<=":
            return total <= self.bound
        if self.comparison == "<":
            return total < self.bound
        raise ValueError(f"{self.comparison!r} is not a comparison")

    @property
    def asks_for_more(self) -> bool:
        return self.comparison in (">=", ">")


def count_of(comparison: str, bound: Fraction, *, outside: bool = False) -> Inequality:
    """Cells (yes, no), or (yes, no, outside)."""
    return Inequality((Fraction(1), Fraction(0), Fraction(0))[: 3 if outside else 2], comparison, Fraction(bound))


def share_of(comparison: str, bound: Fraction, *, outside: bool = False) -> Inequality:
    """``yes / (yes + no) <comparison> bound``, times the number of those who are asked."""
    adds = (1 - Fraction(bound), -Fraction(bound), Fraction(0))
    return Inequality(adds[: 3 if outside else 2], comparison, Fraction(0))


def mean_of(comparison: str, bound: Fraction, values: Sequence[Fraction]) -> Inequality:
    """One cell for each value in rising order, and a last one for people without a value, who add nothing."""
    adds = (*(Fraction(value) - bound for value in values), Fraction(0))
    return Inequality(adds, comparison, Fraction(0))


# Yes or no about everybody, people with levels of their own: the three closed forms at the public sizes, each derived again.
#
# With the levels of those who could change in rising order, ``a_1 <= a_2 <= ...``, and k of them needed:
#
# * *fair*: ``e^-(a_1 + ... + a_k) / (1 + e^-alpha)``, alpha the least level of all people. The proof needs alpha to be
# exact.
# * *hedge*: the mean of the costs of two layers of votes, both inside of 0 to n, weighed so that their middle is the
# bound.
# * *balanced* (version 0.2): ``e^-(a_1 + ... + a_(k-1)) / (1 + e^(a_k))``, on L(L+1)/2 inequalities "e^p/(1 + e^p)
# rises".
#
# Each is private for everybody at their own level, for all sizes, by a theorem. What remains to be checked is that the function
# shown *is* the form: for each level g and the u-th person of it, u = 1, 2 and all, on both sides of the threshold, whoever is
# stricter being there or not; for the hedge also where a layer is reached.


Votes = list[tuple[int, int]]
"""(yes, no) of each level, in the order of the levels."""

Shown = Callable[[Votes], tuple[Number, Number]]
"""P(yes) and P(no) of such a table."""

_BITS = 256


def examine_balanced(
    shown: Shown,
    levels: Sequence[Epsilon],
    sizes: Sequence[int],
    least: int,
    *,
    delta: Fraction = Fraction(0),
) -> Finding:
    """Whether *shown* is the balanced form of "at least *least* of them say yes" at these public levels and sizes."""
    if failure := _not_in_order(levels, sizes):
        return Finding(False, (), failure)
    if not all(_rises(a, b) for a, b in combinations_with_replacement(levels, 2)):
        return Finding(False, (), "an inequality of the theorem does not hold")
    tried = 0
    for votes in probes(sizes, least):
        tried += 1
        if not agrees_balanced(shown, levels, votes, least, delta):
            return Finding(False, (), "the error at a table of the public sizes is not the balanced form")
    return Finding(
        True,
        (
            f"{len(levels) * (len(levels) + 1) // 2} inequalities of the theorem, exactly",
            f"the balanced form at {tried} tables of the public sizes: each level, its first, second and last person",
        ),
    )


def probes(sizes: Sequence[int], least: int) -> Iterator[Votes]:
    """Everybody on one side; then tables whose k-th cheapest change is person u of level g, u in {1, 2, all}, both ways."""
    people = sum(sizes)
    yield [(size, 0) for size in sizes]
    yield [(0, size) for size in sizes]
    if not 1 <= least <= people:
        return
    for level in range(len(sizes)):
        for u in {1, 2, sizes[level]}:
            if not 1 <= u <= sizes[level]:
                continue
            for strict in (0, 1):
                # The u-th of the level is the k-th to change: the level and looser ones hold (bound - 1) + u who could.
                for bound, yes in ((least, True), (people - least + 1, False)):
                    could = _placed(sizes, level, u, bound - 1 + u, strict)
                    if could is not None:
                        yield [(c, n - c) if yes else (n - c, c) for c, n in zip(could, sizes)]


def _placed(sizes: Sequence[int], level: int, u: int, total: int, strict: int) -> list[int] | None:
    """People who could change: *total* in this level and looser ones, at least u in this one; stricter ones all or none."""
    looser = sum(sizes[level + 1 :])
    here = max(u, total - looser)
    if here > sizes[level] or total < here:
        return None
    could, missing = [strict * size for size in sizes[:level]] + [here], total - here
    for size in sizes[level + 1 :]:
        could.append(min(size, missing))
        missing -= could[-1]
    return could


def agrees_balanced(shown: Shown, levels: Sequence[Epsilon], votes: Votes, least: int, delta: Fraction) -> bool:
    """Whether *shown* is the balanced form at this one table, derived by a second routine."""
    return _agrees(shown, levels, votes, least, delta, _error)


def examine_fair(
    shown: Shown,
    levels: Sequence[Epsilon],
    sizes: Sequence[int],
    least: int,
    *,
    alpha: Epsilon,
    delta: Fraction = Fraction(0),
) -> Finding:
    """Whether *shown* is the fair law of "at least *least* of them say yes" at these public levels and sizes."""
    if failure := _not_in_order(levels, sizes):
        return Finding(False, (), failure)
    if alpha != min(levels):
        return Finding(False, (), "alpha is not the least level among the people of the public sizes")
    tried = 0
    for votes in probes(sizes, least):
        tried += 1
        if not agrees_fair(shown, levels, votes, least, delta):
            return Finding(False, (), "the error at a table of the public sizes is not that of the fair law")
    return Finding(
        True,
        (
            "alpha is the least level among the people of the public sizes, exactly",
            f"the fair law at {tried} tables of the public sizes: each level, its first, second and last person",
        ),
    )


def agrees_fair(shown: Shown, levels: Sequence[Epsilon], votes: Votes, least: int, delta: Fraction) -> bool:
    """Whether *shown* is the fair law at this one table, derived by a second routine."""
    return _agrees(shown, levels, votes, least, delta, _fair_error)


def examine_hedge(
    shown: Shown,
    levels: Sequence[Epsilon],
    sizes: Sequence[int],
    least: int,
    *,
    width: Fraction,
    cap: Epsilon | None = None,
    alpha: Epsilon,
    delta: Fraction = Fraction(0),
) -> Finding:
    """Whether *shown* is the hedge of this width, after the cap, at these public levels and sizes."""
    if failure := _not_in_order(levels, sizes):
        return Finding(False, (), failure)
    if not 0 <= width <= sum(sizes):
        return Finding(False, (), "a layer of the hedge lies outside of the votes that there are")
    if alpha != min(_cut(levels, cap)):
        return Finding(False, (), "alpha is not the least level after the cap")
    tried = 0
    for votes in (*probes(sizes, least), *_near_layers(sizes, least, width)):
        tried += 1
        if not agrees_hedge(shown, levels, votes, least, width, cap, delta):
            return Finding(False, (), "the law at a table of the public sizes is not the hedge")
    return Finding(
        True,
        (
            "both layers of the hedge lie between nobody and everybody",
            f"the hedge at {tried} tables of the public sizes: each level, its first, second and last person, both layers",
        ),
    )


def agrees_hedge(
    shown: Shown,
    levels: Sequence[Epsilon],
    votes: Votes,
    least: int,
    width: Fraction,
    cap: Epsilon | None,
    delta: Fraction,
) -> bool:
    """Whether *shown* is the hedge at this one table, derived by a second routine."""
    people, yes = sum(map(sum, votes)), sum(own for own, _ in votes)
    if not 1 <= least <= people:
        return _certain(shown(votes), yes >= least)
    used = _cut(levels, cap)
    # Halfway between the last no and the first yes; what lies below it weighs as much as what lies above.
    middle = Fraction(2 * least - 1, 2)
    share = middle / people
    layers = ((middle - share * width, 1 - share), (middle + (1 - share) * width, share))
    size = sum(float(epsilon) * (own + other) for epsilon, (own, other) in zip(used, votes))
    with precision(_BITS + 2 * math.ceil(math.log2(2 + size))):
        exponent = sum((ball(weight) * _layer_cost(used, votes, layer) for layer, weight in layers), Ball(0))
        less = _stretched((-abs(exponent)).exp() / 2, max(used), delta)
        said_yes, said_no = (ball(side) for side in shown(votes))
        floor = Ball(2) ** (60 - _BITS)
        if exponent > 0 or exponent < 0:
            small = said_no if exponent > 0 else said_yes
            return same(small, less, floor if delta else Ball(0)) and bool((said_yes + said_no).overlaps(Ball(1)))
        return same(said_yes, Ball(1) / 2, floor) and same(said_no, Ball(1) / 2, floor)


def _layer_cost(levels: Sequence[Epsilon], votes: Votes, layer: Fraction) -> Ball:
    """Of each level, whoever lies beyond all stricter ones, up to the layer: no running total is kept."""
    above = sum(own for own, _ in votes) - layer
    sign, could = (1, [own for own, _ in votes]) if above >= 0 else (-1, [other for _, other in votes])
    parts = [
        min(max(abs(above) - sum(could[:place]), Fraction(0)), Fraction(number)) for place, number in enumerate(could)
    ]
    return sign * sum((epsilon.ball() * ball(part) for epsilon, part in zip(levels, parts)), Ball(0))


def _near_layers(sizes: Sequence[int], least: int, width: Fraction) -> Iterator[Votes]:
    """As many yes as a layer has, and one more or less; the strictest people first, or the loosest."""
    people = sum(sizes)
    if not 1 <= least <= people:
        return
    middle = Fraction(2 * least - 1, 2)
    share = middle / people
    totals = {
        math.floor(layer) + step for layer in (middle - share * width, middle + (1 - share) * width) for step in (0, 1)
    }
    for total in sorted(total for total in totals if 0 <= total <= people):
        for order in (range(len(sizes)), range(len(sizes))[::-1]):
            left, yes = total, dict[int, int]()
            for place in order:
                yes[place] = min(left, sizes[place])
                left -= yes[place]
            yield [(yes[place], size - yes[place]) for place, size in enumerate(sizes)]


def _cut(levels: Sequence[Epsilon], cap: Epsilon | None) -> list[Epsilon]:
    return [epsilon if cap is None or epsilon < cap else cap for epsilon in levels]


def _not_in_order(levels: Sequence[Epsilon], sizes: Sequence[int]) -> str:
    if any(epsilon.infinite for epsilon in levels) or list(levels) != sorted(set(levels)) or len(levels) != len(sizes):
        return "the levels are not finite, different and in rising order, each with its size"
    return "" if all(size > 0 for size in sizes) else "a level is named that nobody has"


def _certain(sides: tuple[Number, Number], yes: bool) -> bool:
    return bool(sides[0 if yes else 1] == 1) and bool(sides[1 if yes else 0] == 0)


def _agrees(
    shown: Shown,
    levels: Sequence[Epsilon],
    votes: Votes,
    least: int,
    delta: Fraction,
    error: Callable[[Sequence[Epsilon], Sequence[int], int], Ball],
) -> bool:
    """Whether the wrong answer's probability at this one table is the error of so many levels, people who could, and moves."""
    yes = sum(own for own, _ in votes)
    people = sum(own + other for own, other in votes)
    true = yes >= least
    if not 1 <= least <= people:
        return _certain(shown(votes), true)
    moves = yes - least + 1 if true else least - yes
    could = [own if true else other for own, other in votes]
    size = sum(float(epsilon) * people for epsilon, people in zip(levels, could))
    with precision(_BITS + 2 * math.ceil(math.log2(2 + size))):  # the error is not subtracted from anything
        sides = shown(votes)
        wrong, right = (ball(side) for side in (sides[::-1] if true else sides))
        derived = _stretched(error(levels, could, moves), max(levels), delta)
        floor = Ball(2) ** (60 - _BITS) if delta else Ball(0)
        return same(wrong, derived, floor) and bool((wrong + right).overlaps(Ball(1)))


def _fair_error(levels: Sequence[Epsilon], could: Sequence[int], moves: int) -> Ball:
    """From the theorem: 0 where fewer could change than must."""
    if sum(could) < moves:
        return Ball(0)
    parts = [min(max(moves - sum(could[:place]), 0), number) for place, number in enumerate(could)]
    exponent = sum((epsilon.ball() * part for epsilon, part in zip(levels, parts)), Ball(0))
    alpha = min(levels).ball()
    return (alpha - exponent).exp() / (alpha.exp() + 1)


def _error(levels: Sequence[Epsilon], could: Sequence[int], moves: int) -> Ball:
    """From the theorem, level by level from the loosest that is needed down: a second routine."""
    place, before = 0, 0
    while before + could[place] < moves:
        before += could[place]
        place += 1
        if place == len(levels):
            return Ball(0)
    exponent = levels[place].ball() * (moves - before - 1)
    for epsilon, people in zip(levels[:place], could):
        exponent = exponent + epsilon.ball() * people
    return 1 / (exponent.exp() * (levels[place].exp() + 1))


def _stretched(error: Ball, largest: Epsilon, delta: Fraction) -> Ball:
    if not delta or largest.is_zero:
        return error
    # Stretching by rho costs a person with ratio E a delta of rho (E - 1): most at the loosest level, where it is delta.
    rho = ball(delta) / (largest.exp() - 1)
    return ((1 + 2 * rho) * error - rho).max(Ball(0))


def _rises(smaller: Epsilon, larger: Epsilon) -> bool:
    """``e^a (1 + e^b) <= e^b (1 + e^a)`` for a <= b."""
    a, b = Exponentials.exp(smaller), Exponentials.exp(larger)
    return (a * (b + 1) - b * (a + 1)).sign() <= 0


# Weighted votes: a person of level epsilon_g moves the exponent by at most epsilon_g, and the law is the signed one.
#
# The exponent is ``sum over levels of epsilon_g * c_g`` with rational c_g, so what one person moves is a rational multiple of
# their own level alone, and "at most 1" is decided exactly. The function shown is compared with the referee's own at the public
# sizes, where the exponent changes its sign and far from there, with people of each level on either side.


ShownRows = Callable[[list[Row]], tuple[Number, Number]]
"""P(yes) and P(no) of a table: one row of counts by cell for each level."""


def examine_weighted(
    shown: ShownRows,
    question: Inequality,
    levels: Sequence[Epsilon],
    sizes: Sequence[int],
    *,
    centred: bool,
    delta: Fraction = Fraction(0),
) -> Finding:
    """Whether *shown* weighs every record by its level. *centred*: a count or share of everybody, whose number is public."""
    if any(epsilon.infinite for epsilon in levels) or len(levels) != len(sizes) or len(set(levels)) < 2:
        return Finding(False, (), "the levels are not finite and different, each with its size")
    weights = _weights(question, sum(sizes), centred=centred)
    if weights is not None and not _one_person_at_most_one(weights):
        return Finding(False, (), "one person moves the exponent by more than their level")
    tried = 0
    for table in weighted_probes(question, sizes):
        tried += 1
        if not _agrees_weighted(shown, weights, levels, table, question, delta):
            return Finding(False, (), "the law at a table of the public sizes is not the weighted one")
    return Finding(
        True,
        (
            "one person moves the exponent by at most their own level, exactly",
            f"the law at {tried} tables of the public sizes, each level for and against",
        ),
    )


def agrees_weighted(
    shown: ShownRows,
    question: Inequality,
    levels: Sequence[Epsilon],
    table: list[Row],
    *,
    centred: bool,
    delta: Fraction = Fraction(0),
) -> bool:
    """Whether *shown* weighs every record by its level at this one table."""
    weights = _weights(question, sum(map(sum, table)), centred=centred)
    return _agrees_weighted(shown, weights, levels, table, question, delta)


def _weights(question: Inequality, people: int, *, centred: bool) -> tuple[Fraction, ...] | None:
    """What a record of each cell adds to the exponent, in units of its own level; ``None``: the answer is always the same."""
    span = max(question.adds) - min(question.adds)
    sign = 1 if question.asks_for_more else -1
    if not centred:
        return tuple(sign * add / span for add in question.adds)
    good, bad = question.adds[0], question.adds[1]
    # Of n people y say yes: y * (good - bad) + n * bad <comparison> bound, so y is compared with this number.
    border = (question.bound - people * bad) / (good - bad)
    least = math.ceil(border) if question.comparison in (">=", "<") else math.floor(border) + 1
    if not 1 <= least <= people:
        return None
    # Halfway between the last no and the first yes, so that neither side is favoured.
    tau = (least - Fraction(1, 2)) / people
    return tuple(sign * ((1 if add == good else 0) - tau) for add in question.adds)


def _one_person_at_most_one(weights: Sequence[Fraction]) -> bool:
    return max(weights) - min(weights) <= 1


def weighted_probes(question: Inequality, sizes: Sequence[int]) -> Iterator[list[Row]]:
    """One level apart from the others: everybody in one cell but a few of one level, and shares that go up step by step."""
    cells = len(question.adds)
    for near in range(cells):
        for other in range(cells):
            if near == other:
                continue
            for level, size in enumerate(sizes):
                for moved in sorted({m for m in (0, 1, size // 3, size // 2, size - 1, size) if 0 <= m <= size}):
                    yield [
                        _row(cells, near, other, moved if g == level else (n // 2 if (g + level) % 2 else 0), n)
                        for g, n in enumerate(sizes)
                    ]


def _row(cells: int, near: int, other: int, moved: int, people: int) -> Row:
    return tuple(people - moved if cell == near else moved if cell == other else 0 for cell in range(cells))


def _agrees_weighted(
    shown: ShownRows,
    weights: Sequence[Fraction] | None,
    levels: Sequence[Epsilon],
    table: list[Row],
    question: Inequality,
    delta: Fraction,
) -> bool:
    if weights is None:
        everybody = [sum(row[cell] for row in table) for cell in range(len(question.adds))]
        return bool(shown(table)[0 if question.holds(everybody) else 1] == 1)
    sums = [sum((w * people for w, people in zip(weights, row)), Fraction(0)) for row in table]
    size = sum(float(epsilon) * abs(float(c)) for epsilon, c in zip(levels, sums))
    with precision(_BITS + 2 * math.ceil(math.log2(2 + size))):  # e^-W is not subtracted from anything
        exponent = sum((epsilon.ball() * ball(c) for epsilon, c in zip(levels, sums)), Ball(0))
        wrong = _stretched((-abs(exponent)).exp() / 2, max(levels), delta)
        yes, no = (ball(side) for side in shown(table))
        floor = Ball(2) ** (60 - _BITS) if delta else Ball(0)
        if exponent > 0 or exponent < 0:
            return same(no if exponent > 0 else yes, wrong, floor) and bool((yes + no).overlaps(Ball(1)))
        # Not to be told from 0: then the answer is a fair coin.
        return same(yes, Ball(1) / 2, Ball(2) ** (60 - _BITS)) and same(no, Ball(1) / 2, Ball(2) ** (60 - _BITS))


# The referee of the least average error over a prior: every table of the public sizes, and a dual solution.
#
# The grid of counts by level is small, so nothing rests on a theorem: each table is compared with each neighbour at the level
# of the person who changes. That nothing private errs less on average follows from multipliers y >= 0 of the privacy
# constraints: adding them up bounds the average of every private law, at the levels themselves.


_PRIOR_BITS = 320
_MOST_POINTS = 400
_NEAR = Fraction(1, 10**6)  # of the least average, where probabilities were found in floating point and rounded

Point = tuple[int, ...]


def examine_prior(mechanism: object) -> Finding:
    """Compare all neighbours, and bound what any other private law could reach on average."""
    with precision(_PRIOR_BITS):
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
        meaning = meaning_of(mechanism)
        self.points = list(product(*(range(size + 1) for size in self.sizes)))
        people = sum(self.sizes)
        self.truth = {p: meaning({0: sum(p), 1: people - sum(p)}) for p in self.points}
        self.rows = {p: mechanism.law(self.table(p)).probabilities() for p in self.points}

    def table(self, point: Point) -> Table:
        by_level = tuple(
            (epsilon, {0: yes, 1: size - yes}) for epsilon, size, yes in zip(self.levels, self.sizes, point)
        )
        return Table({0: sum(point), 1: sum(self.sizes) - sum(point)}, by_level)

    def edges(self) -> Iterator[tuple[Point, Point, int]]:
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

    def _weights(self) -> dict[Point, Fraction]:
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

    def _least_error(self, weights: Mapping[Point, Fraction]) -> Number | None:
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

    def _place(self, tail: Point, head: Point) -> int | None:
        if tail not in self.rows or head not in self.rows:
            return None
        steps = [(place, b - a) for place, (a, b) in enumerate(zip(tail, head)) if a != b]
        return steps[0][0] if len(steps) == 1 and abs(steps[0][1]) == 1 else None
