"""The signed distance and its law: derived again person by person, and compared on every neighbour in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from optimaldp.certify.core.closeness import Exponentials, close
from optimaldp.certify.core.examined import Finding, same
from optimaldp.certify.leaders import neighbours_of, tables
from optimaldp.certify.votes import Inequality
from optimaldp.certify.votes import Row as Table
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.trajectory import Number

Distance = Fraction | float
Sides = tuple[Number, Number]

_BITS = 256
_WHOLE = range(-6, 7)
_IN_PART = ("1/2", "-1/2", "7/3", "-7/3", "1/1000", "-1/1000", "40", "-40", "1001/2", "-1001/2")


def examine_signed_distance(
    shown: Callable[[Table], Distance], question: Inequality, *, people: int, relation: Neighbours
) -> Finding:
    """Whether the signed distance has the sign of the truth, is what people moved one by one give, and moves by at most 1."""
    cells = len(question.adds)
    universe = [table for total in range(people + 1) for table in tables(cells, total)]
    known = {table: shown(table) for table in universe}
    for table, distance in known.items():
        if distance == 0 or (distance > 0) is not question.holds(table):
            return Finding(False, (), "the sign of a small table's distance is not its true answer")
        if distance != _by_person(question, table, relation):
            return Finding(False, (), "the distance of a small table is not what its people give one by one")
    for table in universe:
        for other in neighbours_of(table, relation):
            if other in known and not _at_most_one(known[table], known[other]):
                return Finding(False, (), "one person moves the distance by more than 1")
    return Finding(True, (f"one person moves the signed distance by at most 1: all tables of up to {people} people",))


def _at_most_one(first: Distance, second: Distance) -> bool:
    return first == second or (first - second <= 1 and second - first <= 1)


def _by_person(question: Inequality, table: Table, relation: Neighbours) -> Distance:
    """Move people one after the other, whoever gains most first, the last one in part."""
    unit = _unit(question)
    excess = question.total(table) - _reachable_bound(question, unit)
    excess += unit / 2 if question.comparison in (">=", "<") else -unit / 2
    gains = _gains(question, table, relation, down=excess > 0)
    missing, moved = abs(excess), Fraction(0)
    for gain in gains:
        if gain <= 0:
            break
        if gain >= missing:
            moved += missing / gain
            missing = Fraction(0)
            break
        moved, missing = moved + 1, missing - gain
    if missing > 0:
        arriving = _arrival(question, relation, down=excess > 0)
        moved = moved + missing / arriving if arriving > 0 else math.inf  # type: ignore[assignment]
    above = moved if excess > 0 else -moved
    return above if question.asks_for_more else -above


def _gains(question: Inequality, table: Table, relation: Neighbours, *, down: bool) -> list[Fraction]:
    """What each person gains by leaving for the far end, or by going away if that is more than somebody's arrival gains."""
    far = min(question.adds) if down else max(question.adds)
    sign = 1 if down else -1
    each = [(add, people) for add, people in zip(question.adds, table) for _ in range(people)]
    if relation is Neighbours.SUBSTITUTION:
        return sorted((sign * (add - far) for add, _ in each), reverse=True)
    arriving = _arrival(question, relation, down=down)
    return sorted((gain for add, _ in each if (gain := sign * add) > arriving), reverse=True)


def _arrival(question: Inequality, relation: Neighbours, *, down: bool) -> Fraction:
    if relation is Neighbours.SUBSTITUTION:
        return Fraction(0)
    return max(Fraction(0), -min(question.adds) if down else max(question.adds))


def _unit(question: Inequality) -> Fraction:
    """The largest number of which every record adds a multiple: public, whoever occurs."""
    whole = math.lcm(*(add.denominator for add in question.adds))
    return Fraction(math.gcd(*(int(add * whole) for add in question.adds)) or whole, whole)


def _reachable_bound(question: Inequality, unit: Fraction) -> Fraction:
    """The bound moved to the nearest multiple of the unit that asks for the same."""
    quotient = question.bound / unit
    up = question.comparison in (">=", "<")
    return unit * (math.ceil(quotient) if up else math.floor(quotient))


def examine_signed_law(shown: Callable[[Fraction], Sides], level: ApproximateDP) -> Finding:
    """Whether P(yes), P(no) at a signed distance are the Laplace law, stretched by delta, and close when it moves by 1."""
    if level.epsilon.infinite:
        return Finding(False, (), "an infinite epsilon promises nothing")
    rows = {}
    for distance in [*map(Fraction, _WHOLE), *map(Fraction, _IN_PART)]:
        with precision(_BITS + math.ceil(3 * float(level.epsilon) * (abs(float(distance)) + 1))):
            sides = [ball(side) for side in shown(distance)]
            wrong = sides[1] if distance >= 0 else sides[0]
            floor = Ball(2) ** (60 - _BITS) if level.delta else Ball(0)
            if not same(wrong, _wrong(distance, level), floor) or not (sides[0] + sides[1]).overlaps(Ball(1)):
                return Finding(False, (), "the law at a signed distance is not the one that was derived")
        rows[distance] = sides
    if not level.epsilon.is_zero and not _whole_steps_close(level):
        return Finding(False, (), "the law moves by more than its level allows when the distance moves by 1")
    return Finding(True, ("the law at whole and fractional distances, and its steps by one person, exactly",))


def _wrong(distance: Fraction, level: ApproximateDP) -> Ball:
    """The probability of the answer on the other side, from the formula."""
    away, delta = ball(abs(distance)), ball(level.delta)
    if level.epsilon.is_zero:
        return (Ball(1) / 2 - delta * away).max(Ball(0))
    plain = (-level.epsilon.ball() * away).exp() / 2
    if not level.delta:
        return plain
    rho = delta / (level.epsilon.exp() - 1)
    return ((1 + 2 * rho) * plain - rho).max(Ball(0))


def _whole_steps_close(level: ApproximateDP) -> bool:
    """Neighbouring whole distances in all events, decided exactly: rows times ``2 (E - 1)``, with E^k for e^(k epsilon)."""
    ratio = Exponentials.exp(level.epsilon)
    scale = (ratio - 1) * 2
    delta = Exponentials.of(level.delta) * scale

    def row(distance: int) -> list[Exponentials]:
        decayed = Exponentials.exp(level.epsilon, -abs(distance))
        wrong = decayed * (ratio - 1 + 2 * level.delta) - 2 * level.delta
        wrong = wrong if wrong.sign() > 0 else Exponentials({})
        return [scale - wrong, wrong] if distance >= 0 else [wrong, scale - wrong]

    return all(close(ratio, delta, row(k), row(k + 1)) for k in range(-6, 6))
