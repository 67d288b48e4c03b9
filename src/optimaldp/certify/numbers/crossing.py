"""The referee of smoothed crossings: the moves of one person along the cuts, direct sums, exact small tables, the level."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise
from typing import Any

from optimaldp.certify.core.examined import Finding
from optimaldp.certify.numbers.direct_sums import by_direct_sums, confirm_crossing, exponents
from optimaldp.certify.numbers.parts import (
    BITS,
    SLACK,
    SOME_WORDS,
    WORD,
    MadeUp,
    RefusedError,
    changed,
    cut_off,
    drawn,
    kept,
    need,
    need_confirmed,
    passed,
    watched,
)
from optimaldp.certify.numbers.sums import check_noise_law, half_width, need_level
from optimaldp.privacy import Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball, ball, precision

_MOST_DIRECT = 5_000  # answers whose direct sums are computed at the level itself
_WIDER = Fraction(1, 10**9)  # of the range: what an interval may be rounded by
_MOST_PARTS = 400  # of a person into which heights are divided, where small tables are compared exactly


def examine_crossing(mechanism: Any) -> Finding:
    """N4, N5: the moves of one person along the cuts, the law against direct sums, exact small tables, the level."""
    return passed(lambda: _look_at_crossing(mechanism))


def _look_at_crossing(mechanism: Any) -> list[str]:
    law, setting = mechanism.crossing(), mechanism.setting
    _need_crossing_level(mechanism, law)
    records = _records(mechanism)
    check_family(law.family, records, replaced=setting.neighbours is Neighbours.SUBSTITUTION)
    _look_at_small_tables(law, records, replaced=setting.neighbours is Neighbours.SUBSTITUTION)
    _look_at_direct_sums(law, records, setting.people or 1000)
    if mechanism.question.said.interval:
        check_noise_law(mechanism.counting())
        need_level(mechanism.counting(), setting)
        need(
            mechanism.counting().share + law.share <= 1,
            "the interval and the number together cost more than is promised",
        )
        _look_at_bought_interval(mechanism, law)
    _look_at_crossed_draw(mechanism, law)
    return [
        "what one person can move at every cut that was looked at, a missing value and a person outside included: at most "
        "one person, monotone or of one sign with one peak",
        "every table of up to three people on a coarse grid and every neighbour: all events, exactly",
        "the law against direct sums at the level itself, and answers, cuts and weights by public numbers",
        "what is recorded is the answer to which scripted bits belong, by direct sums",
        f"for all tables, by theorem: {mechanism.proof}",
    ]


def _look_at_bought_interval(mechanism: Any, law: Any) -> None:
    """Half of the risk for the noisy number of people, half for the crossing, and half a step of the answers."""
    family, risk = law.family, (1 - mechanism.question.said.confidence) / 2
    low, high = family.answer(0), family.answer(family.answers - 1)
    recorded, fewer = family.answer(family.answers // 2), half_width(mechanism.counting(), 1 - risk)
    for people in (-3, fewer, fewer + 1, fewer + 40, fewer + 10**6):
        shown = mechanism.details_of(recorded, {"people": people})["interval"]
        ends = (low, high)
        if people > fewer:
            with precision(BITS):
                spread = ball(high - low) * (1 / ball(risk)).log() / (law.level.epsilon.ball() * ball(law.share))
                width = Fraction(str(Ball(spread / (people - fewer)).str(30, radius=False))) + family.gap / 2
            ends = max(low, recorded - width), min(high, recorded + width)
        near = all(abs(Fraction(end) - known) <= _WIDER * (high - low + 1) for end, known in zip(shown, ends))
        need(near, "the interval does not follow from the recorded number")


def _look_at_crossed_draw(mechanism: Any, law: Any) -> None:
    table, bought = MadeUp(mechanism, law.family.answers), mechanism.question.said.interval
    word, other = SOME_WORDS[1:]
    away = mechanism.counting().place(other, WORD) if bought else 0
    if away is None:
        return  # a level so small that one word does not decide
    details = drawn(mechanism, table, *((word, other) if bought else (word,)))
    sums = _made_up_sums(mechanism, table, law)
    need_place(confirm_crossing(law, sums), word, law.family, Fraction(details["recorded"]))
    if bought:
        need(details["people"] == sums.below[0] + away, "the noisy number of people is not their number and one noise")


def _made_up_sums(mechanism: Any, table: MadeUp, law: Any) -> TwoSums:
    question = mechanism.question
    if law.levels is None:
        return TwoSums(*question.sums(question.fold(table.cells)))
    pairs = [question.sums(question.fold(cells)) for own, cells in table.by_level if not own.is_zero]
    sums = TwoSums(Fraction(0), Fraction(0))
    sums.below, sums.above = tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
    return sums


def need_place(confirm: Callable[[int, int, int], None], word: int, family: Any, recorded: Fraction) -> None:
    """Whether a recorded answer is the one to which the word belongs."""
    place = (recorded - family.answer(0)) / family.gap
    need(place.denominator == 1 and 0 <= place < family.answers, "what is recorded is not an answer")
    need_confirmed(confirm, word, int(place))


def _need_crossing_level(mechanism: Any, law: Any) -> None:
    setting = mechanism.setting
    own = [epsilon for epsilon, _ in setting.levels if not epsilon.is_zero]
    if law.levels is not None:
        need(
            list(law.levels) == own and max(own) <= setting.level.epsilon,
            "somebody would lose more than their own level",
        )
        need(law.level.epsilon == max(own), "delta is not cut off by the loosest level")
    else:
        strictest = min([setting.level.epsilon, *(epsilon for epsilon, _ in setting.levels)])
        need(law.level.epsilon == strictest, "the crossing is not at the level that is promised")
    need(0 < law.share <= 1, "the crossing costs more than is promised")
    need(0 <= law.level.delta <= setting.level.delta, "the crossing spends more delta than is promised")


Record = tuple[Fraction, Fraction]
"""What a record adds to the two sums of a crossing."""


def _records(mechanism: Any) -> list[Record]:
    """What each possible record adds, from tables with one person; the empty table adds nothing."""
    question = mechanism.question
    nothing = question.sums(question.fold({}))
    need(tuple(nothing) == (0, 0), "a table of nobody has sums")
    cells = watched(question.cells)
    found = {cell: tuple(question.sums(question.fold({cell: 1}))) for cell in cells}
    mixed = {cell: 1 + cell % 3 for cell in cells[:50]}
    whole = question.sums(question.fold(mixed))
    need(
        tuple(whole) == tuple(sum(n * found[cell][i] for cell, n in mixed.items()) for i in (0, 1)),
        "the sums do not add up over people",
    )
    unique: list[Any] = sorted(set(found.values()))
    if len(unique) > 40:  # the ends of a fine grid, some between, and whoever has no value
        ends = {unique[0], unique[1], unique[-2], unique[-1]}
        unique = sorted(ends | set(unique[:: len(unique) // 20]) | {one for one in unique if one[0] == 0})
    return unique


def check_family(family: Any, records: Sequence[Record], *, replaced: bool) -> None:
    """Every move changes every cut by at most one person, in one of the two shapes for which the theorem holds."""
    places = watched(family.answers - 1)
    cuts = [family.cut(place) for place in places]
    need(all(a < b for a, b in pairwise(cuts)), "the cuts do not rise")
    answers = [family.answer(place) for place in places] + [family.answer(family.answers - 1)]
    need(all(a < cut for a, cut in zip(answers, cuts)), "a cut does not lie between two answers")
    need(answers[0] <= cuts[0] and cuts[-1] <= answers[-1], "a cut lies outside of the answers")
    most = [max(a + b * cut for a, b in family.reach) for cut in cuts]
    need(min(most) > 0, "a cut lies where nobody can move it")
    moved = _differences(records, replaced=replaced)
    # A move is (cut x - y) / D at each cut: whole numbers above and below, for the many moves and cuts that there are.
    fine = math.lcm(*(part.denominator for part in (*cuts, *most, *(part for move in moved for part in move))))
    rises, below = [int(cut * fine) for cut in cuts], [int(d * fine) * fine for d in most]
    for x, y in moved:
        across, down = int(x * fine), int(y * fine) * fine
        above = [rise * across - down for rise in rises]
        need(all(abs(n) <= d for n, d in zip(above, below)), "one person moves a cut by more than one person")
        need(theorem_shape(above, below), "one person moves the cuts in a way that the theorem does not cover")
        if min(above) < 0 < max(above):  # from the first cut to the last, by the shape
            spread = abs(Fraction(above[-1], below[-1]) - Fraction(above[0], below[0]))
            need(spread <= 1 or family.both_tails, "one person moves both tails, but delta is cut off once")


def _differences(records: Sequence[Record], *, replaced: bool) -> set[Record]:
    """What one person adds to the two sums by coming, or by becoming another: each once, and without its mirror image."""
    before = [(Fraction(0), Fraction(0)), *(records if replaced else ())]
    found = {(x - a, y - b) for a, b in before for x, y in records}
    return {max(move, (-move[0], -move[1])) for move in found if any(move)}


def theorem_shape(above: Sequence[int], below: Sequence[int]) -> bool:
    """Whether the move is monotone along the cuts, or of one sign and rising then falling in size."""
    both = pairwise(zip(above, below))
    steps = [n2 * d1 - n1 * d2 for (n1, d1), (n2, d2) in both]
    if min(steps, default=0) >= 0 or max(steps) <= 0:
        return True
    if min(above) < 0 < max(above):
        return False
    sign = 1 if max(above) > 0 else -1
    sizes = [sign * step for step in steps if step]
    turn = next(place for place, step in enumerate(sizes) if step < 0)
    return all(step < 0 for step in sizes[turn:])


def _coarse(family: Any, most: int = 4) -> Any:
    """The same family with few answers: one code serves both."""
    few = min(family.answers, most)
    width = family.gap * (family.answers - 1)
    return changed(family, answers=few, gap=width / (few - 1))


def _look_at_small_tables(law: Any, records: Sequence[Record], *, replaced: bool) -> None:
    """Exactly, on a coarse grid: the law is a direct sum, and all neighbours are close in all events."""
    family, nothing = _coarse(law.family), [one for one in records if not any(one)]
    ends = sorted({records[0], records[-1], *nothing})
    middle = sorted({*ends, records[len(records) // 2]})
    cuts = [family.cut(place) for place in range(family.answers - 1)]
    most = [max(a + b * cut for a, b in family.reach) for cut in cuts]

    def parts_of(few: Sequence[Record]) -> int:
        parts = [Fraction(cut * x - y) / d for x, y in few for cut, d in zip(cuts, most)]
        return 2 * math.lcm(*(part.denominator for part in parts))

    for few in (ends, middle):
        # Where the heights have a small common denominator all numbers are exact; elsewhere they are balls.
        common = parts_of(few)
        ratio = (1 + Fraction(1, common)) ** common if common < _MOST_PARTS else None
        level = Epsilon.read("0.9") if ratio is None else Epsilon(Fraction(0), ratio)
        for delta in (Fraction(0), Fraction(1, 40)):
            levels = None if law.levels is None else (level,)
            tried = changed(law, family=family, level=approximate(level, delta), share=Fraction(1), levels=levels)
            with precision(BITS):
                _compare_small(tried, few, ratio, delta, replaced=replaced)


def _compare_small(
    law: Any, records: Sequence[Record], ratio: Fraction | None, delta: Fraction, *, replaced: bool
) -> None:
    growth = ratio if ratio is not None else law.level.epsilon.exp()
    slack: Any = Fraction(0) if ratio is not None else Ball(2) ** -SLACK
    rows: dict[tuple[Record, ...], Sequence[Any]] = {}
    for people in range(4):
        for table in combinations_with_replacement(records, people):
            rows[table] = _row(law, table, exact=ratio is not None)
            known = _direct_row(law, table, ratio)
            same = all(
                p == q if ratio is not None else bool(abs(ball(p) - q) <= Ball(2) ** -SLACK)
                for p, q in zip(rows[table], known)
            )
            need(len(known) == len(rows[table]) and same, "the law of a small table is not what direct sums say")
    limit = delta if ratio is not None else ball(delta) + slack
    for table, row in rows.items():
        for other in _neighbours(table, records, replaced=replaced):
            for p, q in ((row, rows[other]), (rows[other], row)):
                over = sum((_positive(a - growth * b) for a, b in zip(p, q)), 0 * growth)
                need(over <= limit, "two small tables that differ in one person are not close")


def _positive(value: Any) -> Any:
    return value.max(Ball(0)) if isinstance(value, Ball) else max(value, Fraction(0))


def _neighbours(
    table: tuple[Record, ...], records: Sequence[Record], *, replaced: bool
) -> Iterator[tuple[Record, ...]]:
    for place in range(len(table)):
        rest = table[:place] + table[place + 1 :]
        yield rest
        if replaced:
            for one in records:
                yield tuple(sorted((*rest, one)))


def _row(law: Any, table: Sequence[Record], *, exact: bool) -> Sequence[Any]:
    sums = _sums(table)
    row: Sequence[Any] = law.probabilities(sums, exact=exact)
    return row


class TwoSums:
    """Two sums, as a crossing reads them."""

    def __init__(self, below: Fraction, above: Fraction) -> None:
        self.below: tuple[Fraction, ...] = (below,)
        self.above: tuple[Fraction, ...] = (above,)


def _sums(table: Sequence[Record]) -> TwoSums:
    return TwoSums(sum((x for x, _ in table), Fraction(0)), sum((y for _, y in table), Fraction(0)))


def _direct_row(law: Any, table: Sequence[Record], ratio: Fraction | None) -> list[Any]:
    """Probabilities by direct sums over the cuts, with exact powers of a rational or with balls."""
    family, sums = law.family, _sums(table)
    cuts = [family.cut(place) for place in range(family.answers - 1)]
    heights = [(cut * sums.below[0] - sums.above[0]) / max(a + b * cut for a, b in family.reach) for cut in cuts]
    growth: Any
    if ratio is None:
        growth = law.level.epsilon.exp()
        size = law.level.epsilon.ball()

        def power(exponent: Fraction) -> Any:
            return (size * ball(exponent)).exp()
    else:
        growth, root, parts = ratio, *_root_of(ratio)

        def power(exponent: Fraction) -> Any:
            return root ** int(exponent * parts)

    left, right = [power(h / 2) for h in heights], [power(-h / 2) for h in heights]
    beta = cut_off(growth, ball(law.level.delta) if ratio is None else law.level.delta, 2 if family.both_tails else 1)
    ends = []
    for t in range(len(cuts)):
        rho = sum(left[1 : t + 1], left[0]) / sum(right[t + 1 :], right[t])
        ends.append(kept(rho / 2 if rho <= 1 else 1 - 1 / (2 * rho), beta))
    zero = 0 * growth
    return [b - a for a, b in pairwise([zero, *ends, zero + 1])]


@lru_cache(maxsize=64)
def _root_of(ratio: Fraction) -> tuple[Fraction, int]:
    """The root that the ratio was made of: ``(1 + 1/k)^k``."""
    for k in range(1, _MOST_PARTS):
        if (1 + Fraction(1, k)) ** k == ratio:
            return 1 + Fraction(1, k), k
    raise RefusedError("the referee's own level is not one of its roots")


def _look_at_direct_sums(law: Any, records: Sequence[Record], people: int) -> None:
    """At the level itself, at made-up tables of the public size: ends of answers near the number and far from it."""
    if law.family.answers > _MOST_DIRECT:  # the same family with fewer answers: one code serves both
        law = changed(law, family=_coarse(law.family, _MOST_DIRECT))
    family, levels = law.family, law.levels or (law.level.epsilon,)
    times, many = (2 if family.both_tails else 1), len(levels)
    with precision(BITS + 64):
        beta = cut_off((max(levels).ball() * ball(law.share)).exp(), ball(law.level.delta), times)
        for x, y in {records[0], records[-1], records[len(records) // 2]}:
            sums = TwoSums(people * x, people * y)
            sums.below, sums.above = sums.below * many, sums.above * many
            ends, exponent = law.ends(sums, near=True), exponents(law, sums)
            places = {0, (family.answers - 1) // 2, family.answers - 2}
            for place in sorted(place for place in places if 0 <= place < family.answers - 1):
                known = kept(by_direct_sums(place, family.answers, exponent), beta)
                need(
                    abs(ends.end(place) - known) <= Ball(2) ** -60,
                    "the law is not what direct sums say at its own level",
                )
