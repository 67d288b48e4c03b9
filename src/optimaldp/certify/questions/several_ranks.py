"""The referee of several quantiles in one answer: the law of each rank, what they spend together, and how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from optimaldp.certify.findings import Finding
from optimaldp.certify.questions.scripted import Words
from optimaldp.laws.setting import Table
from optimaldp.privacy import Neighbours

_JOINTLY = "quartiles jointly"
_DRAWN = (
    (Fraction(1, 7), Fraction(1, 2), Fraction(5, 6)),
    (Fraction(9, 10), Fraction(1, 5), Fraction(2, 7)),
    (Fraction(1, 100), Fraction(99, 100), Fraction(1, 3)),
)


def examine_several_ranks(mechanism: Any) -> Finding:
    """Each law passes, together they spend no more than the level, and what is drawn is drawn from them."""
    from optimaldp.certify.quantile import examine_quartiles, examine_several

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
    return Finding(True, (*finding.checks, drawn, f"for all tables, by theorem: {mechanism.proof}"))


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
