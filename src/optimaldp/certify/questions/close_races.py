"""Elections in which all options are near each other: where a flip envelope that is not private shows it.

The theorems behind the two envelopes have conditions; a mechanism that was chosen where they do not hold breaks its level first
on such tables. What the referee knows of the theorems by itself: divisible votes are proven for up to five options.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.laws_compared import close, ratio_of
from optimaldp.laws.setting import Table
from optimaldp.privacy import Neighbours

_TOP = 10
_MOST_DIVISIBLE = 5
MOST_OPTIONS = 60  # beyond that permute-and-flip flips its coins one by one, whatever their number

Votes = tuple[int, ...]


def check_close_races(mechanism: Examined) -> str:
    """What is wrong, or nothing."""
    options = len(mechanism.answers)
    if "continuum" in mechanism.name and options > _MOST_DIVISIBLE:
        return "divisible votes are proven private for up to five options only"
    if options > MOST_OPTIONS:
        return ""
    level = mechanism.setting.level
    ratio, step = ratio_of(level), mechanism.cells // (options + 1)
    known: dict[Votes, Any] = {}

    def row(votes: Votes) -> Any:
        if votes not in known:
            cells = {option * step: number for option, number in enumerate(votes) if number}
            known[votes] = mechanism.law(Table(cells)).probabilities()
        return known[votes]

    for votes in _races(options):
        for other in _moved(votes, mechanism.setting.neighbours):
            if not close(row(votes), row(other), ratio, level.delta):
                return (
                    "two tables on which the options are near each other, and that differ in one person, are not close"
                )
    return ""


def _races(options: int) -> Iterator[Votes]:
    """One or two lead; of the others all, one or none is one vote behind, the rest is two behind."""
    for tops in {1, min(2, options)}:
        for ones in {0, min(1, options - tops)}:
            yield (_TOP,) * tops + (_TOP - 1,) * ones + (_TOP - 2,) * (options - tops - ones)
    yield (_TOP,) + (_TOP - 1,) * (options - 1)


def _moved(votes: Votes, relation: Neighbours) -> Iterator[Votes]:
    """One vote goes from an option to another, comes or goes: one of each kind, since options with equal votes are alike."""
    kinds = {number: place for place, number in enumerate(votes)}  # the last option of each kind
    firsts = {number: votes.index(number) for number in kinds}
    for source in firsts.values():
        less = [*votes]
        less[source] -= 1
        yield tuple(less)  # to nobody; the same pair is a vote that comes
        if relation is Neighbours.SUBSTITUTION:
            for target in kinds.values():
                if target != source:
                    more = [*less]
                    more[target] += 1
                    yield tuple(more)
