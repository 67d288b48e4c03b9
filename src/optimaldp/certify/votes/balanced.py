"""The balanced closed form for people with levels of their own, at the public sizes.

The theorem: with the levels of those who could change in rising order, ``err(k) = e^-(a_1 + ... + a_(k-1)) / (1 + e^(a_k))`` is
private for everybody at their own level, for all sizes. It rests on L(L+1)/2 inequalities that all say "e^p/(1 + e^p) rises",
which are decided here exactly. What remains to be checked is that the function shown *is* this form: for each level g and the
u-th person of it, u = 1, 2 and all, on both sides of the threshold, whoever is stricter being there or not.
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
    if any(epsilon.infinite for epsilon in levels) or list(levels) != sorted(set(levels)) or len(levels) != len(sizes):
        return Finding(False, (), "the levels are not finite, different and in rising order, each with its size")
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
    yes = sum(own for own, _ in votes)
    people = sum(own + other for own, other in votes)
    true = yes >= least
    if not 1 <= least <= people:
        sides = shown(votes)
        return bool(sides[0 if true else 1] == 1) and bool(sides[1 if true else 0] == 0)
    moves = yes - least + 1 if true else least - yes
    could = [own if true else other for own, other in votes]
    size = sum(float(epsilon) * people for epsilon, people in zip(levels, could))
    with precision(_BITS + 2 * math.ceil(math.log2(2 + size))):  # the error is not subtracted from anything
        sides = shown(votes)
        wrong, right = (ball(side) for side in (sides[::-1] if true else sides))
        derived = _stretched(_error(levels, could, moves), max(levels), delta)
        floor = Ball(2) ** (60 - _BITS) if delta else Ball(0)
        return same(wrong, derived, floor) and bool((wrong + right).overlaps(Ball(1)))


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
