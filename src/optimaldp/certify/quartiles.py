"""The referee of quartiles that are drawn jointly: the median, then both halves in one spend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from optimaldp.certify.core.drawing import Words
from optimaldp.certify.core.examined import Finding
from optimaldp.certify.folding import counted_once
from optimaldp.certify.quantile import examine, examine_several
from optimaldp.laws.law import Table
from optimaldp.privacy import Neighbours, level

Joint = Any  # the law of three quartiles: a frozen dataclass with a middle and two halves
Heights = list[Fraction]

_HALF = Fraction(1, 2)
_SMALL = 4  # bins on which every move is tried


def examine_quartiles(joint: Joint) -> Finding:
    """What the referee finds about the joint law of the quartiles, from public numbers alone.

    The median and each half pass by themselves; they spend half of epsilon each, the halves together; the heights of the halves
    are what the theorem needs: one person's moves shift them monotonely or by one block, by at most 1 in all.
    """
    places = sorted({1, joint.bins // 2, joint.bins - 2} & set(range(joint.bins)))
    laws = [joint.middle, *(law for m in places for law in (joint.lower(m), joint.upper(m)) if law is not None)]
    findings = [examine(law) for law in laws]
    problem = next((finding.failure for finding in findings if not finding.private), "")
    problem = (
        problem
        or _spend_problem(joint, laws)
        or _moves_problem(replace(joint, bins=_SMALL, weights=None, level=level(1)))
    )
    if problem:
        return Finding(False, (), problem)
    return Finding(True, (*findings[0].checks, "one person shifts the ranks of the two halves by at most 1 in all"))


def _spend_problem(joint: Joint, laws: list[Any]) -> str:
    """Half of epsilon for the median, half for both halves, a third of delta for each of the three draws."""
    if any(law.share > _HALF or law.level.epsilon > joint.level.epsilon for law in laws):
        return "the median and the halves spend more than epsilon"
    if any(3 * law.level.delta > joint.level.delta for law in laws):
        return "the median and the halves spend more than delta"
    if joint.middle.rank != _HALF or joint.middle.levels is not None:
        return "the first law is not that of the median"
    return ""


@lru_cache(maxsize=4)
def _moves_problem(joint: Joint) -> str:
    """Once for each process: the heights of the halves depend neither on the level nor on the bins."""
    for counts in _tables():
        for median in range(_SMALL):
            here = _heights(joint, counts, median)
            if here != _wanted(counts, median):
                return "the halves are not those of the theorem"
            for other in _moves(counts):
                shifts = [[b - a for a, b in zip(before, after)] for before, after in zip(here, _wanted(other, median))]
                if sum(max(map(abs, shift), default=Fraction(0)) for shift in shifts) > 1:
                    return "one person shifts the ranks of the halves by more than 1"
                if not all(_harmless(shift) for shift in shifts):
                    return "one person shifts the ranks of a half in a way that the theorem does not cover"
    return ""


def _heights(joint: Joint, counts: tuple[int, ...], median: int) -> tuple[Heights, Heights]:
    """The heights of the cuts of both halves, as the law's own cells give them."""
    cells = {bin_: count for bin_, count in enumerate(counts) if count}
    return (
        _ranks(joint.lower_cells(cells, median), median + 1),
        _ranks(joint.upper_cells(cells, median), _SMALL - median),
    )


def _ranks(cells: dict[int, tuple[Fraction]], bins: int) -> Heights:
    people = [Fraction(cells.get(bin_, (Fraction(0),))[0]) for bin_ in range(bins)]
    half = sum(people, Fraction(0)) / 2
    return [sum(people[: cut + 1]) - half for cut in range(bins - 1)]


def _wanted(counts: tuple[int, ...], median: int) -> tuple[Heights, Heights]:
    """``cum(t) - (cum(m-1) + c_m/2)/2`` below the median's bin and its mirror image from there on."""
    below, inside, people = sum(counts[:median]), Fraction(counts[median]), sum(counts)
    lower = [sum(counts[: t + 1]) - (below + inside / 2) / 2 for t in range(median)]
    upto = below + inside
    upper = [
        sum(counts[: t + 1]) - upto + inside / 2 - (people - upto + inside / 2) / 2 for t in range(median, _SMALL - 1)
    ]
    return lower, upper


def _harmless(shift: Heights) -> bool:
    """Monotone, or a block of one sign without a dip."""
    steps = [b - a for a, b in pairwise(shift)]
    if all(step >= 0 for step in steps) or all(step <= 0 for step in steps):
        return True
    # With a dip, as 1, 0, 1, the shift lemma is false.
    signs = {value > 0 for value in shift if value}
    rises = [abs(value) for value in shift]
    top = rises.index(max(rises))
    up, down = pairwise(rises[: top + 1]), pairwise(rises[top:])
    return len(signs) == 1 and all(a <= b for a, b in up) and all(a >= b for a, b in down)


def _tables() -> Iterator[tuple[int, ...]]:
    yield from ((0, 0, 0, 0), (1, 1, 1, 1), (2, 0, 3, 1))


def _moves(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every replacement, addition and removal."""
    for place in range(len(counts)):
        added = tuple(c + (i == place) for i, c in enumerate(counts))
        yield added
        yield from (tuple(c - (i == source) for i, c in enumerate(added)) for source, c in enumerate(added) if c)
    yield from (tuple(c - (i == source) for i, c in enumerate(counts)) for source, c in enumerate(counts) if c)


# The referee of several quantiles in one answer: the law of each rank, what they spend together, and how they are drawn.


_JOINTLY = "quartiles jointly"
_DRAWN = (
    (Fraction(1, 7), Fraction(1, 2), Fraction(5, 6)),
    (Fraction(9, 10), Fraction(1, 5), Fraction(2, 7)),
    (Fraction(1, 100), Fraction(99, 100), Fraction(1, 3)),
)


def examine_several_ranks(mechanism: Any) -> Finding:
    """Each law passes, together they spend no more than the level, and what is drawn is drawn from them."""
    chosen, setting = mechanism.chosen, mechanism.setting
    if mechanism.name == _JOINTLY:
        if setting.neighbours is not Neighbours.SUBSTITUTION:
            return Finding(False, (), "quartiles jointly are proven for a replaced record only")
        if chosen.level != setting.level:
            return Finding(False, (), "the quartiles are made for another level")
        finding = examine_quartiles(chosen)
    else:
        finding = examine_several(mechanism.laws(), setting.level)
    if not finding.private:
        return finding
    if tuple(chosen.ranks) != tuple(mechanism.question.spec()["ranks"]) or not _is_drawn(mechanism):
        return Finding(False, (), "the sampler does not follow the law that was examined")
    drawn = "what is printed is drawn from these laws one after the other, by scripted bits"
    checks = (*finding.checks, drawn, f"for all tables, by theorem: {mechanism.proof}")
    return counted_once(mechanism, Finding(True, checks))


def _is_drawn(mechanism: Any) -> bool:
    """On two small tables and a large one: the printed bins are those that the laws themselves draw from the same numbers."""
    spec = mechanism.question.spec()
    bins, ranks, step = spec["bins"], len(spec["ranks"]), 2 if spec["among"] else 1
    draw_bins = _jointly if mechanism.name == _JOINTLY else _one_by_one
    for cells in ({}, {0: 2, bins // 2: 3, bins - 1: 2}, {0: 200, bins // 2: 300, bins - 1: 200}):
        table = Table({place * step: people for place, people in cells.items()})
        for numbers in _DRAWN:
            # Odd ones: a number that is exactly the end of a bin, such as 1/2 at a rational level, is never decided.
            words = [int(numbers[place % 3] * 2**64) | 1 for place in range(ranks)]
            printed = mechanism.draw(table, Words(words))
            wanted = [mechanism.question.binning.name(place) for place in draw_bins(mechanism.chosen, cells, words)]
            if list(printed.values()) != wanted:
                return False
    return True


def _one_by_one(chosen: Any, cells: dict[int, int], words: Sequence[int]) -> list[int]:
    # Ranks are drawn by themselves and may cross; putting them in order reads no data.
    return sorted(law.draw(cells, Words([word])) for law, word in zip(chosen.laws, words))


def _jointly(chosen: Any, cells: dict[int, int], words: Sequence[int]) -> list[int]:
    """The median, then each half with half of the people in the median's bin."""
    unread = iter(words)
    median = chosen.middle.draw(cells, Words([next(unread)]))
    halves = {place: Fraction(people, 2) if place == median else Fraction(people) for place, people in cells.items()}
    lower, upper = chosen.lower(median), chosen.upper(median)
    below = {place: (people,) for place, people in halves.items() if place <= median}
    above = {place - median: (people,) for place, people in halves.items() if place >= median}
    first = lower.draw(below, Words([next(unread)])) if lower is not None else median
    third = upper.draw(above, Words([next(unread)])) if upper is not None else 0
    return [first, median, median + third]
