"""Weighted votes: a person of level epsilon_g moves the exponent by at most epsilon_g, and the law is the signed one.

The exponent is ``sum over levels of epsilon_g * c_g`` with rational c_g, so what one person moves is a rational multiple of their
own level alone, and "at most 1" is decided exactly. The function shown is compared with the referee's own at the public sizes,
where the exponent changes its sign and far from there, with people of each level on either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from optimaldp.certify.findings import Finding, same
from optimaldp.certify.votes.meaning import Inequality, Table
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.trajectory import Number

Shown = Callable[[list[Table]], tuple[Number, Number]]
"""P(yes) and P(no) of a table: one row of counts by cell for each level."""

_BITS = 256


def examine_weighted(
    shown: Shown,
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
    for table in probes(question, sizes):
        tried += 1
        if not _agrees(shown, weights, levels, table, question, delta):
            return Finding(False, (), "the law at a table of the public sizes is not the weighted one")
    return Finding(
        True,
        (
            "one person moves the exponent by at most their own level, exactly",
            f"the law at {tried} tables of the public sizes, each level for and against",
        ),
    )


def agrees_weighted(
    shown: Shown,
    question: Inequality,
    levels: Sequence[Epsilon],
    table: list[Table],
    *,
    centred: bool,
    delta: Fraction = Fraction(0),
) -> bool:
    """Whether *shown* weighs every record by its level at this one table."""
    weights = _weights(question, sum(map(sum, table)), centred=centred)
    return _agrees(shown, weights, levels, table, question, delta)


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


def probes(question: Inequality, sizes: Sequence[int]) -> Iterator[list[Table]]:
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


def _row(cells: int, near: int, other: int, moved: int, people: int) -> Table:
    return tuple(people - moved if cell == near else moved if cell == other else 0 for cell in range(cells))


def _agrees(
    shown: Shown,
    weights: Sequence[Fraction] | None,
    levels: Sequence[Epsilon],
    table: list[Table],
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


def _stretched(error: Ball, largest: Epsilon, delta: Fraction) -> Ball:
    if not delta or largest.is_zero:
        return error
    rho = ball(delta) / (largest.exp() - 1)
    return ((1 + 2 * rho) * error - rho).max(Ball(0))
