"""The second reading of a draw: the place of the drawn bits, found again by direct sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

from optimaldp.certify.core.examined import Finding, same
from optimaldp.certify.folding import counted_once
from optimaldp.certify.quantile_law import (
    DirectLaw,
    EnclosedPowers,
    ExactPowers,
    ExaminedQuantile,
    Heights,
    block_shifts,
    epsilons,
    flip_is_private,
    flip_plus_is_private,
    grid,
    max_growth,
    mirrored,
    people_at,
    stand_in_ratio,
)
from optimaldp.errors import NotCertifiedError
from optimaldp.privacy import ApproximateDP, approximate, level
from optimaldp.privacy.balls import Ball, Rational, ball, fraction, integer_below, precision, rational
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import first_where
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import enumerate_bits

_TRIES = 3


def second_reading(law: ExaminedQuantile, cells: Mapping[int, Any]) -> Callable[[int, int, int], None]:
    """A check of one draw from *law*: is shown the bits (as an integer and their count) and the index that was drawn.

    **Guarantee.** It returns only if the uniform numbers with these first bits certainly lie between ``P(answer < index)`` and
    ``P(answer <= index)``, both recomputed by sums that share nothing with the sampler. Otherwise
    :class:`NotCertifiedError`, whose words hold nothing of the cells.
    """

    def check(value: int, count: int, index: int) -> None:
        if not lies_at(law, cells, Fraction(value, 2**count), Fraction(value + 1, 2**count), index, bits=count):
            raise NotCertifiedError("a second reading of the draw did not confirm it. No answer was given.")

    return check


def lies_at(
    law: ExaminedQuantile, cells: Mapping[int, Any], low: Fraction, high: Fraction, index: int, *, bits: int
) -> bool:
    """Whether ``[low, high]`` certainly lies within the part of [0, 1] that belongs to bin *index*."""
    if not 0 <= index < law.bins:
        return False
    for attempt in range(_TRIES):
        with precision((2 * bits + 96) << attempt):
            direct = DirectLaw(law, cells, EnclosedPowers(epsilons(law), law.share))
            below, above = direct.end(index - 1), direct.end(index)
            if bool(below <= ball(low)) and bool(ball(high) <= above):
                return True
            if _certainly_not(below, above, ball(low), ball(high)):
                return False
    # Still open is not confirmed: the draw is refused, never passed.
    return False


def _certainly_not(below: Ball, above: Ball, low: Ball, high: Ball) -> bool:
    return bool(low < below) or bool(high > above)


# The law itself, at its real level, bins, weights and rank, on a few made-up tables: in balls, against direct sums.


Law = Any
Cells = Mapping[int, Any]

_BITS = 320
_WORD = 64
_PATTERNS: tuple[Heights, ...] = ((-3, -1, 0, 2, 4), (0, 0, 0, 0, 0), (-60, -7, -6, 1, 30), (-5, -4, -3, -2, -1))


def problem_at_real_level(law: Law) -> str:
    """What is wrong with the law at its own public numbers, or nothing."""
    with precision(_BITS):
        powers = EnclosedPowers(epsilons(law), law.share)
        starts = sorted(
            {cut for cut in (0, law.bins // 4, law.bins // 2, 3 * law.bins // 4, law.bins - 2) if cut < law.bins - 1}
        )
        tables = [cells for pattern in _PATTERNS if (cells := _people(law, pattern[: len(starts)], starts)) is not None]
        return (
            _mode_problem(law, powers)
            or next((problem for cells in tables if (problem := _law_problem(law, powers, cells, starts))), "")
            or _neighbour_problem(law, powers, tables, starts)
            or _word_problem(law, powers, tables[0], (starts[0], starts[len(starts) // 2], starts[-1]))
            or _word_problem(law, powers, tables[1 % len(tables)], (starts[len(starts) // 2],))
        )


def _mode_problem(law: Law, powers: EnclosedPowers) -> str:
    """C7: FLIP and FLIP+ only where Theorem 2 holds, decided exactly where ``e^-epsilon`` is rational."""
    mode = str(law.mode)
    if mode == "smoothed rank":
        return ""
    if law.weights is not None or law.levels is not None:
        return "C7: FLIP knows neither weights nor levels of one's own"
    ratio = law.level.epsilon.exact_ratio
    x: Number = 1 / ratio if ratio is not None and law.share == 1 else powers(1)
    if not (flip_plus_is_private(law.bins, x) if mode == "flip+" else flip_is_private(law.bins, x)):
        return "C7: it is not proven private for this many bins at this level"
    return ""


def _law_problem(law: Law, powers: EnclosedPowers, cells: Cells, starts: Sequence[int]) -> str:
    """C1 at the real level: the same ends, to 100 bits of their own size."""
    direct = DirectLaw(law, cells, powers)
    ends = law.ends(cells)
    floor = Ball(2) ** -200
    for cut in sorted({c for start in starts for c in (start - 1, start, start + 1) if 0 <= c < law.bins - 1}):
        if not same(ends.end(cut), direct.end(cut), floor) or not same(ends.rest(cut), 1 - direct.end(cut), floor):
            return "C1: at its real level it is not the law that direct sums give"
    return ""


def _neighbour_problem(law: Law, powers: EnclosedPowers, tables: list[Cells], starts: Sequence[int]) -> str:
    """C3 at the real level: one person more in a bin, for bins where the tables change."""
    # The bound is attained, and no enclosure shows an equality: 100 bits of it are enough.
    growth = max_growth(law, powers) * (1 + Ball(2) ** -100)
    delta = ball(law.level.delta)
    for cells in tables:
        here = _probabilities(law.ends(cells), starts)
        for place in (starts[0], starts[len(starts) // 2], law.bins - 1):
            there = _probabilities(law.ends(_with_one_more(law, cells, place)), starts)
            for p, q in zip(here, there):
                if p > growth * q + delta or q > growth * p + delta:
                    return "C3: at its real level one person can change a probability by more than e^epsilon"
    return ""


def _word_problem(law: Law, powers: EnclosedPowers, cells: Cells, cuts: Sequence[int]) -> str:
    """C8 at the real level: words next to the ends of bins are drawn to the bin that holds them."""
    direct = DirectLaw(law, cells, powers)
    for cut in cuts:
        word = integer_below(direct.end(cut) * 2**_WORD)
        for near, beside in ((max(0, word - 1), cut), (min(2**_WORD - 1, word + 1), cut + 1)):
            low, high = Fraction(near, 2**_WORD), Fraction(near + 1, 2**_WORD)
            # Usually one of the two bins at the cut; where they are narrower than a word, it is searched for.
            index = beside
            if not lies_at(law, cells, low, high, index, bits=_WORD):
                index = _place(direct, high, law.bins)
                if not lies_at(law, cells, low, high, index, bits=_WORD):
                    # The word holds the end of a bin: which bin it belongs to is up to later bits.
                    continue
            if law.draw(cells, _Written(near)) != index:
                return "C8: at its real level the sampler does not draw from the law"
    return ""


def _place(direct: DirectLaw, high: Fraction, bins: int) -> int:
    return first_where(lambda bin_: bool(direct.end(bin_) >= ball(high)), 0, bins - 1)


class _Written:
    """One word of bits, then zeros."""

    def __init__(self, word: int) -> None:
        self._bits, self._count = word, _WORD

    def take(self, count: int) -> int:
        if count > self._count:
            self._bits, self._count = self._bits << (count - self._count), count
        self._count -= count
        value = self._bits >> self._count
        self._bits &= (1 << self._count) - 1
        return value


def _probabilities(ends: Any, bins: Sequence[int]) -> list[Number]:
    """Of some bins; an end that two of them share is computed once."""
    known = {cut: ends.end(cut) for cut in {cut for bin_ in bins for cut in (bin_ - 1, bin_)} if cut >= 0}
    return [known[bin_] - known[bin_ - 1] if bin_ else known[0] for bin_ in bins]


def _people(law: Law, heights: Heights, starts: Sequence[int]) -> Cells | None:
    cells = people_at(heights, starts, law.bins, law.rank)
    if cells is None or law.levels is None:
        return cells
    # Every level has people, one more of each next level, in all bins of the table.
    return {place: tuple(count + g for g in range(len(law.levels))) for place, count in cells.items()}


def _with_one_more(law: Law, cells: Cells, place: int) -> Cells:
    if law.levels is None:
        return {**cells, place: cells.get(place, 0) + 1}
    loosest = max(range(len(law.levels)), key=lambda g: law.levels[g])
    before = cells.get(place, (0,) * len(law.levels))
    return {**cells, place: tuple(count + (g == loosest) for g, count in enumerate(before))}


# The very code of a law, run at rational stand-in levels on few bins, where everything can be compared exactly.


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


# The referee of quantiles: a finding about a law from its public numbers alone, before data is read.


_HALF = Fraction(1, 2)
_CHECKS = (
    "on all small tables of a grid, also without anybody, the law's own code gives what direct sums give, exactly",
    "there every shift of a block of cuts, which is all that one person can do, keeps to e^epsilon, exactly, and attains it",
    "with delta it is the derived law, and every event keeps to epsilon and delta",
    "at its real level, bins, weights and rank it agrees with direct sums to 100 bits",
    "the mechanism is one that is proven for these public numbers",
    "the sampler draws from the law: all short sequences of bits, and words next to the ends of bins",
)


def examine(law: Law) -> Finding:
    """What the referee finds about *law*, a frozen ``QuantileLaw``. It sees no data, and the same law is examined once.

    **Guarantee.** A passed finding: the law is the smoothed rank, FLIP or FLIP+ of the theorems, at a level where it is proven
    private for every table, every replaced, added or removed person, with or without a value.
    """
    # The public numbers are looked at each time: 5.0 bins are as good as 5 to a cache, and not to the referee.
    problem = _public_problem(law) or _examined_problem(law)
    return Finding(False, (), problem) if problem else Finding(True, _CHECKS)


def examine_ranking(mechanism: Any) -> Finding:
    """The same for the law that a question's mechanism has chosen."""
    found = examine(mechanism.chosen)
    return found if mechanism.listed else counted_once(mechanism, found)


@lru_cache(maxsize=256)
def _examined_problem(law: Law) -> str:
    return _code_problem(_template(law)) or problem_at_real_level(law)


def examine_several(laws: Sequence[Law], promise: ApproximateDP) -> Finding:
    """Laws that are drawn one after the other: each passes, and together they spend no more than *promise*."""
    for law in laws:
        finding = examine(law)
        if not finding.private:
            return finding
    if sum(law.share for law in laws) > 1 or any(law.level.epsilon > promise.epsilon for law in laws):
        return Finding(False, (), "together the laws spend more than epsilon")
    if sum((law.level.delta for law in laws), Fraction(0)) > promise.delta:
        return Finding(False, (), "together the laws spend more than delta")
    return Finding(True, (*_CHECKS, "the parts of epsilon and delta add up to no more than the whole"))


@lru_cache(maxsize=64)
def _code_problem(template: Law) -> str:
    return problem_at_stand_ins(template)


def forget_code() -> None:
    """Examine the code of the laws anew: for whoever changes it while the process runs, or measures how long it takes."""
    _examined_problem.cache_clear()
    _code_problem.cache_clear()


def _template(law: Law) -> Law:
    """What the examination at stand-in levels depends on: mode, share and whether people have levels of their own.

    The rank decides the heights of a table's cuts and nothing else; the real one is examined at the real level.
    """
    levels = None if law.levels is None else (Epsilon.read(1), Epsilon.read(2))[: len(law.levels)]
    loosest = level(1 if levels is None else max(levels))
    return replace(law, bins=4, rank=_HALF, level=loosest, weights=None, levels=levels)


def _public_problem(law: Any) -> str:
    """C10: everything that the law depends on is fixed and makes sense."""
    parameters = getattr(type(law), "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        return "C10: the law could change between its examination and the draw"
    if not (isinstance(law.level, ApproximateDP) and law.level.is_single and not law.level.epsilon.infinite):
        return "C10: the level is not one finite (epsilon, delta)"
    if not (isinstance(law.bins, int) and law.bins >= 2 and 0 < law.rank <= 1 and 0 < law.share <= 1):
        return "C10: bins, rank or share make no question"
    if law.weights is not None and (len(law.weights) != law.bins or min(law.weights) <= 0):
        return "C10: weights are not one positive number for each bin"
    if law.levels is not None and (not law.levels or max(law.levels) > law.level.epsilon):
        return "C10: somebody's own level is looser than what is promised"
    return ""
