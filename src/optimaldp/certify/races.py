"""Elections in which all options are close: their neighbours, and whether the options are treated alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from optimaldp.certify.core.drawing import MOST_OPTIONS, close
from optimaldp.certify.core.examined import Examined, same
from optimaldp.laws.law import Table
from optimaldp.privacy import Neighbours
from optimaldp.privacy.balls import Ball, ball
from optimaldp.privacy.trajectory import Number

_TOP = 10
_MOST_DIVISIBLE = 5

_NOTHING = Ball(2) ** -132  # smaller differences are none: probabilities may be what is left of a subtraction

Votes = tuple[int, ...]


def check_close_races(mechanism: Examined) -> tuple[str, list[str]]:
    """What is wrong, or nothing; and in words what was tried."""
    options = len(mechanism.question.answers)
    if "continuum" in mechanism.name and options > _MOST_DIVISIBLE:
        return "divisible votes are proven private for up to five options only", []
    if not 1 < options <= MOST_OPTIONS:  # the coins of more are tried one by one instead
        return "", []
    level, step = mechanism.setting.level, mechanism.question.cells // (options + 1)
    near = {votes: _moved(votes, mechanism.setting.neighbours) for votes in _races(options)}
    spread, handed = handed_on(options)
    ratio = level.epsilon.exact_ratio or level.epsilon.exp()
    rows = {}
    for votes in {*near, *chain(*near.values()), spread, handed}:
        cells = {option * step: number for option, number in enumerate(votes) if number}
        rows[votes] = mechanism.law(Table(cells)).probabilities()
    if not all(close(rows[votes], rows[other], ratio, level.delta) for votes in near for other in near[votes]):
        pair = "two tables on which the options are near each other, and that differ in one person"
        return f"{pair}, are not close", []
    if not treated_alike(rows[spread], rows[handed]):
        return "the options are not treated alike", []
    return "", ["tables on which all options are within two votes of each other, and their neighbours"]


def handed_on(options: int) -> tuple[Votes, Votes]:
    """Votes, and the same with every option's handed to the one before: an option that counts otherwise than the rest shows."""
    spread = tuple(place % 3 for place in range(options))  # few different numbers: laws of many take longer
    return spread, (*spread[1:], spread[0])


def treated_alike(spread: Sequence[Number], handed: Sequence[Number]) -> bool:
    """Whether the laws of two such tables are the same, but for the names of the options."""
    return all(same(ball(p), ball(q), _NOTHING) for p, q in zip((*spread[1:], spread[0]), handed))


def _races(options: int) -> Iterator[Votes]:
    """One or two lead; of the others all, one or none is one vote behind, the rest is two behind."""
    for tops in {1, min(2, options)}:
        for ones in {0, min(1, options - tops)}:
            yield (_TOP,) * tops + (_TOP - 1,) * ones + (_TOP - 2,) * (options - tops - ones)
    yield (_TOP,) + (_TOP - 1,) * (options - 1)


def _moved(votes: Votes, relation: Neighbours) -> list[Votes]:
    """One vote goes from an option to another, comes or goes: one of each kind, since options with equal votes are alike."""
    kinds = {number: place for place, number in enumerate(votes)}  # the last option of each kind
    near = []
    for source in {number: votes.index(number) for number in kinds}.values():
        less = [*votes]
        less[source] -= 1
        near.append(tuple(less))  # to nobody; the same pair is a vote that comes
        if relation is Neighbours.SUBSTITUTION:
            for target in kinds.values():
                if target != source:
                    more = [*less]
                    more[target] += 1
                    near.append(tuple(more))
    return near
