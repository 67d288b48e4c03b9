"""Yes or no about everybody, people with levels of their own: the three closed forms at the public sizes, each derived again.

With the levels of those who could change in rising order, ``a_1 <= a_2 <= ...``, and k of them needed:

* *fair*: ``e^-(a_1 + ... + a_k) / (1 + e^-alpha)``, alpha the least level of all people. The proof needs alpha to be exact.
* *hedge*: the mean of the costs of two layers of votes, both inside of 0 to n, weighed so that their middle is the bound.
* *balanced* (version 0.2): ``e^-(a_1 + ... + a_(k-1)) / (1 + e^(a_k))``, on L(L+1)/2 inequalities "e^p/(1 + e^p) rises".

Each is private for everybody at their own level, for all sizes, by a theorem. What remains to be checked is that the function
shown *is* the form: for each level g and the u-th person of it, u = 1, 2 and all, on both sides of the threshold, whoever is
stricter being there or not; for the hedge also where a layer is reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

from optimaldp.certify.exponentials import Exponentials
from optimaldp.certify.findings import Finding, same
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.trajectory import Number

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
