"""The law itself, at its real level, bins, weights and rank, on a few made-up tables: in balls, against direct sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from optimaldp.certify.findings import same
from optimaldp.certify.quantile.direct import DirectLaw, epsilons, max_growth
from optimaldp.certify.quantile.powers import EnclosedPowers, first_where
from optimaldp.certify.quantile.reading import lies_at
from optimaldp.certify.quantile.rule import flip_is_private, flip_plus_is_private
from optimaldp.certify.quantile.tables import Heights, people_at
from optimaldp.privacy.balls import Ball, ball, integer_below, precision
from optimaldp.privacy.trajectory import Number

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
