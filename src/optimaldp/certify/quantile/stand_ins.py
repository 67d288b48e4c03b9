"""The very code of a law, run at rational stand-in levels on few bins, where everything can be compared exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from optimaldp.certify.quantile.direct import DirectLaw
from optimaldp.certify.quantile.powers import ExactPowers
from optimaldp.certify.quantile.rule import stand_in_ratio
from optimaldp.certify.quantile.tables import Heights, block_shifts, grid, mirrored, people_at
from optimaldp.privacy import approximate, level
from optimaldp.privacy.balls import Rational, fraction, rational
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.sampling import enumerate_bits

Law = Any  # the law as it will be drawn from: a frozen dataclass with the public fields of ``Examined``
LawRow = Sequence[Rational]

_DELTA = Fraction(1, 20)
_ROOT = Fraction(3, 5)  # e^(-epsilon/2) of the stand-in for the smoothed rank
_OWN_ROOTS = (Fraction(4, 5), Fraction(2, 3))  # e^(-epsilon/16) of two people's levels
_OWN_UNIT = 16  # ranks are quarters, people may be halves, discounts take half of the height
_UP_TO_FOUR = (-2, 2)  # heights of the cuts in tables of up to four people, at the median
_WEIGHTS = (Fraction(2), Fraction(1), Fraction(3, 2), Fraction(5))
_DEPTH = 5  # words next to the ends of bins are tried at the real level, to 64 bits


@dataclass(frozen=True)
class StandIn:
    """A law at a level where its numbers are rational, with the referee's powers for it."""

    law: Law
    powers: ExactPowers

    def row(self, cells: Mapping[int, Any]) -> list[Rational]:
        """What the law's own code gives."""
        return [rational(p) for p in self.law.probabilities(cells, exact=True)]

    def direct(self, cells: Mapping[int, Any]) -> list[Rational]:
        """What the referee derives."""
        ends = DirectLaw(self.law, cells, self.powers)
        sums = [ends.end(cut) for cut in range(-1, self.law.bins)]
        return [after - before for before, after in pairwise(sums)]

    def table(self, heights: Heights) -> dict[int, int] | None:
        return people_at(heights, range(self.law.bins - 1), self.law.bins, self.law.rank)


def stand_in(law: Law, bins: int, root: Fraction, unit: int, delta: Fraction = Fraction(0)) -> StandIn:
    """The same law on *bins* bins at ``e^-epsilon = root^unit``, or a power of it where the law's share is no unit fraction."""
    ratio = root ** -(unit * law.share.denominator)
    promise = approximate(Epsilon(Fraction(0), ratio), delta)
    return StandIn(
        replace(law, bins=bins, level=promise, weights=None), ExactPowers((root,), unit * law.share.numerator)
    )


def problem_at_stand_ins(law: Law) -> str:
    """What is wrong with the law's code, or nothing. It depends on mode, rank and share, not on the level or the bins."""
    if law.levels is not None:
        return _personal_problem(law)
    if str(law.mode) == "smoothed rank":
        return _smoothed_problem(law)
    return _flip_problem(law)


def _smoothed_problem(law: Law) -> str:
    for bins, heights in (
        (2, grid(1, -3, 2)),
        (3, grid(2, *_UP_TO_FOUR)),
        (4, grid(3, *_UP_TO_FOUR)),
        (6, grid(5, -1, 0)),
    ):
        problem = _grid_problem(stand_in(law, bins, _ROOT, 2), heights)
        if problem:
            return problem
    sliding = stand_in(law, 3, _ROOT, 2, _DELTA)
    weighted = StandIn(replace(stand_in(law, 4, _ROOT, 2).law, weights=_WEIGHTS), sliding.powers)
    return (
        _grid_problem(weighted, grid(3, -1, 1), symmetric=False)
        or _delta_problem(sliding, grid(2, *_UP_TO_FOUR))
        or _people_problem(stand_in(law, 4, _ROOT, 2))
        or _draw_problem(stand_in(law, 3, _ROOT, 2), (-1, 1))
    )


def _flip_problem(law: Law) -> str:
    plus = str(law.mode) == "flip+"
    three, four = (stand_in_ratio(bins) if plus else Fraction(1, bins - 1) for bins in (3, 4))
    near = (-2, 1)
    for bins, x, reach, reach_with_delta in (
        (2, Fraction(9, 10), (-3, 2), near),
        (2, Fraction(1, 2), (-3, 2), near),
        (3, three, _UP_TO_FOUR, near),
        (4, four, _UP_TO_FOUR, (-1, 1)),
    ):
        problem = _grid_problem(stand_in(law, bins, x, 1), grid(bins - 1, *reach)) or _delta_problem(
            stand_in(law, bins, x, 1, _DELTA), grid(bins - 1, *reach_with_delta)
        )
        if problem:
            return problem
    examined = stand_in(law, 3, three, 1)
    return _people_problem(examined) or _draw_problem(examined, (-1, 1))


def _grid_problem(examined: StandIn, grids: list[Heights], *, symmetric: bool = True) -> str:
    """C1 to C5 on a grid of heights."""
    tables = {heights: cells for heights in grids if (cells := examined.table(heights)) is not None}
    rows = {heights: examined.row(cells) for heights, cells in tables.items()}
    growth = 1 / examined.powers(1)
    attained = False
    for heights, row in rows.items():
        if not _distribution(row):
            return "C2: its probabilities are not positive or do not add up to one"
        other = mirrored(heights) if symmetric else heights
        # Direct sums are the same from either end (swap l and r in the theorem), so of two mirror images one is derived.
        if (heights <= other or other not in rows) and row != examined.direct(tables[heights]):
            return "C1: it is not the law that direct sums give"
        if symmetric and rows.get(other, row[::-1]) != row[::-1]:
            return "C5: read from the other end it is another law"
        for moved in block_shifts(heights):
            # A move and its mirror image, from the mirrored end to the mirrored start, compare the same numbers.
            if moved not in rows or (
                symmetric and mirrored(moved) in rows and mirrored(moved) < heights and other in rows
            ):
                continue
            for a, b in zip(row, rows[moved]):
                more, less = a - growth * b, b - growth * a
                if more > 0 or less > 0:
                    return "C3: one person can change a probability by more than e^epsilon"
                attained = attained or not more or not less
    return "" if attained else "C4: no person can change a probability by e^epsilon: it wastes some of it"


def _distribution(row: LawRow) -> bool:
    return all(p > 0 for p in row) and sum(row) == 1


def _delta_problem(examined: StandIn, grids: list[Heights]) -> str:
    """C6: the (epsilon, delta) version is the derived one, and events stay within it."""
    tables = {heights: cells for heights in grids if (cells := examined.table(heights)) is not None}
    rows = {heights: examined.row(cells) for heights, cells in tables.items()}
    growth = 1 / examined.powers(1)
    for heights, row in rows.items():
        mirror = mirrored(heights)  # as in the law without delta: of two mirror images one is derived
        derived = rows[mirror][::-1] if mirror in rows and mirror < heights else examined.direct(tables[heights])
        if row != derived:
            return "C6: with delta it is not the law that direct sums give"
        for moved in block_shifts(heights):
            other = rows.get(moved)
            if other is not None and max(_excess(row, other, growth), _excess(other, row, growth)) > rational(_DELTA):
                return "C6: an event exceeds epsilon by more than delta"
    return ""


def _people_problem(examined: StandIn) -> str:
    """Nobody has a value, then one person has one: no special case (C3, C10)."""
    nobody = examined.row({})
    growth = 1 / examined.powers(1)
    if nobody != examined.direct({}):
        return "C10: without anybody who has a value it is another law"
    for bin_ in range(examined.law.bins):
        somebody = examined.row({bin_: 1})
        if somebody != examined.direct({bin_: 1}):
            return "C1: it is not the law that direct sums give for one person"
        if not all(1 / growth <= a / b <= growth for a, b in zip(nobody, somebody)):
            return "C3: the first person who has a value is not protected"
    return ""


def _draw_problem(examined: StandIn, heights: Heights) -> str:
    """C8: the sampler on all short sequences of bits."""
    law, cells = examined.law, examined.table(heights) or {}
    drawn = [Fraction(0)] * law.bins
    undecided = Fraction(0)
    for index, p in enumerate_bits(lambda source: law.draw(cells, source, first_bits=1), depth=_DEPTH):
        if index is None:
            undecided += p
        elif 0 <= index < law.bins:
            drawn[index] += p
        else:
            return "C8: the sampler draws a bin that does not exist"
    row = examined.direct(cells)
    if undecided > Fraction(law.bins, 2 ** (_DEPTH - 1)):
        return "C8: the sampler does not come to an end"
    if not all(part <= fraction(p) <= part + undecided for part, p in zip(drawn, row)):
        return "C8: the sampler does not draw from the law"
    return ""


def _personal_problem(law: Law) -> str:
    """Levels of one's own: definition and privacy on all tables with at most one person of each level, and a few more."""
    roots = _OWN_ROOTS[: min(2, len(law.levels))]
    rank = Fraction(1, 4)
    unit = _OWN_UNIT * law.share.numerator
    epsilons = tuple(Epsilon.read(f"ln({root ** -(_OWN_UNIT * law.share.denominator)})") for root in roots)
    plain = replace(law, bins=3, rank=rank, level=level(max(epsilons)), weights=None, levels=epsilons)
    examined = StandIn(plain, ExactPowers(roots, unit))
    places = (None, 0, 1, 2)
    rows: dict[tuple[int | None, ...], LawRow] = {}
    for where in product(places, repeat=len(roots)):
        cells = _one_each(where)
        rows[where] = examined.row(cells)
        if not _distribution(rows[where]):
            return "C2: its probabilities are not positive or do not add up to one"
        if rows[where] != examined.direct(cells):
            return "C1: it is not the law that direct sums give"
    largest = max(rank, 1 - rank)
    for where, row in rows.items():
        for person, root in enumerate(roots):
            for place in places:
                there = rows[(*where[:person], place, *where[person + 1 :])]
                # Who comes or goes moves the ranks on one side by q and on the other by 1 - q: no more than the larger of both.
                most = rational(root) ** -(unit if None not in (place, where[person]) else int(unit * largest))
                if not all(1 / most <= a / b <= most for a, b in zip(row, there)):
                    return "C3: a person can change a probability by more than her own e^epsilon"
    sliding = StandIn(replace(plain, level=level(max(epsilons), _DELTA)), examined.powers)
    crowded = {0: (2,) * len(roots), 1: (Fraction(1, 2),) * len(roots), 2: (1,) * len(roots)}
    if any(s.row(cells) != s.direct(cells) for s in (examined, sliding) for cells in (crowded, {})):
        return "C6: with delta it is not the law that direct sums give"
    return ""


def _one_each(where: tuple[int | None, ...]) -> dict[int, tuple[int, ...]]:
    return {
        place: tuple(int(here == place) for here in where) for place in {here for here in where if here is not None}
    }


def _excess(p: LawRow, q: LawRow, growth: Rational) -> Rational:
    return sum((max(Rational(0), a - growth * b) for a, b in zip(p, q)), Rational(0))
