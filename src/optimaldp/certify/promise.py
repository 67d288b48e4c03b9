"""The promise that a user reads, handed to the referee beside the mechanism: the two are compared before anything is drawn.

A promise is computed from what was asked, a mechanism from what was chosen. The referee examines the mechanism at its own
setting; this is where that setting is compared with what was promised: level, neighbours, people's own levels, groups and what
is public.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimaldp.certify.questions.groups import groups_together
from optimaldp.errors import NotCertifiedError, QuestionError
from optimaldp.laws.setting import Table
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate
from optimaldp.privacy.epsilon import ZERO

_FEW = 64  # cells that are all occupied in a made-up table
_NOTHING = "Nothing was sampled and nothing was spent."


@dataclass(frozen=True)
class Promise:
    """What is promised to everyone in a table: computed from the ask alone, and from what is public by its declaration."""

    level: ApproximateDP
    neighbours: Neighbours
    question: str
    """The question as it is printed."""
    levels: Mapping[Epsilon, Epsilon] | None = None
    """With people's own levels: each as it is written, and what its people lose; ``None`` without them."""
    groups: tuple[str, ...] | None = None
    """The names of the groups that are answered separately; ``None`` if there is one answer."""
    public_groups: bool = False
    """Whether it is public who is in which group."""
    sizes: Mapping[Epsilon, int] | None = None
    """How many people have each level as it is written: public where people have levels of their own."""


def require_promise(promise: Promise, parts: Sequence[tuple[str | None, Any]]) -> None:
    """Refuse mechanisms (by the name of their group) that were examined for something else than what was promised.

    What it cannot see: which people were counted, a source of bits that is not random, and a draw that looks at other data.
    """
    failure = _difference_of_levels(promise)
    names = tuple(name for name, _ in parts)
    if not failure and names != ((None,) if promise.groups is None else promise.groups):
        failure = "it does not answer each group once"
    differences = (_difference(promise, mechanism) for _, mechanism in parts)
    if failure := failure or next(filter(None, differences), ""):
        raise NotCertifiedError(f"The mechanism is not the one that was promised: {failure}. {_NOTHING}")


def _difference_of_levels(promise: Promise) -> str:
    for own, lost in (promise.levels or {}).items():
        if lost > own or lost > promise.level.epsilon:
            return "somebody would lose more than their own level"
    return ""


def _difference(promise: Promise, mechanism: Any) -> str:
    setting = mechanism.setting
    if str(mechanism.question) != promise.question:
        return "it answers another question"
    if promise.groups is not None:
        inside = setting.level, setting.neighbours
        together = groups_together(promise.level, promise.neighbours, *inside, public=promise.public_groups)
        return "" if together else "the groups together spend more than the level, or for other neighbours"
    # Where everybody loses nothing, no delta is used: a smaller delta than promised breaks no promise.
    nobody = promise.levels is not None and all(lost.is_zero for lost in promise.levels.values())
    if setting.level != (approximate(promise.level.epsilon) if nobody else promise.level):
        return f"its level is {setting.level}, not {promise.level}"
    if setting.neighbours is not promise.neighbours:
        return f"its neighbours are {setting.neighbours}, not {promise.neighbours}"
    if setting.public_groups and not promise.public_groups:
        return "it treats as public who is in which group"
    return _levels_differ(promise, setting)


def _levels_differ(promise: Promise, setting: Any) -> str:
    """Whether each level that is honoured has as many people as lose just that much."""
    if promise.levels is None or promise.sizes is None:
        return "it weighs people by levels that nobody asked for" if setting.levels else ""
    wanted: dict[Epsilon, int] = {}
    for own, lost in promise.levels.items():
        wanted[lost] = wanted.get(lost, 0) + promise.sizes.get(own, 0)
    return "" if dict(setting.levels) == wanted else "people's own levels are not the ones that it honours"


# Whether what is handed over is what the mechanism draws: scripted bits run through the very function that makes a release.


class FixedBits:
    """The same bits for everyone who begins anew, and how many were taken: never a source for a real draw."""

    def __init__(self, name: str) -> None:
        self._name, self._words, self.taken = name, 0, 0

    def take(self, count: int) -> int:
        self.taken += count
        self._words += 1
        length = (count + 7) // 8
        drawn = hashlib.shake_128(f"{self._name} {self._words}".encode()).digest(length)
        return int.from_bytes(drawn, "big") >> (8 * length - count)


def require_draws(draw: Callable[[Sequence[Table], FixedBits], Any], parts: Sequence[tuple[str | None, Any]]) -> None:
    """Refuse a *draw* of a release that is not one draw of each mechanism, one after the other, from the bits that it is given.

    The tables are made up. Bits that two groups share, the best of several draws, the truth without a draw and the answer of one
    group for another take other bits, or give other answers.
    """
    tables = [made_up(mechanism, place) for place, (_, mechanism) in enumerate(parts)]
    for script in ("first", "second"):
        expected, given = FixedBits(script), FixedBits(script)
        try:
            answers = [mechanism.draw(table, expected) for (_, mechanism), table in zip(parts, tables)]
        except QuestionError:  # it answers no table that can be made up of so few people: a group would be empty
            return
        drawn = draw(tables, given)
        got = [drawn] if parts[0][0] is None else [drawn.get(name) for name, _ in parts]
        if got != answers or given.taken != expected.taken:
            raise NotCertifiedError(f"What is handed over is not what the mechanism draws. {_NOTHING}")


def made_up(mechanism: Any, place: int = 0) -> Table:
    """A table that the mechanism could see: of the public size, people dealt out over some cells."""
    setting, cells = mechanism.setting, mechanism.question.cells
    if not cells:
        return Table({"a": 3, "b": 40})  # type: ignore[dict-item]  # keys are counted by their names
    places = _spread(cells, place)
    groups = setting.levels or ((ZERO, 7 if setting.people is None else setting.people),)
    halves = [(own, Counter(_dealt(people, places))) for own, people in groups]
    whole = sum((inside for _, inside in halves), Counter())
    return Table(dict(whole), tuple((own, dict(inside)) for own, inside in halves) if setting.levels else ())


def _spread(cells: int, place: int) -> list[int]:
    """The cells that are occupied: all of a few, so that no public group is empty; of many the two ends and one between."""
    if cells <= _FEW:
        return [(place + cell) % cells for cell in range(cells)]
    return [place % cells, cells // 2, cells - 1 - place % cells]


def _dealt(people: int, places: Sequence[int]) -> dict[int, int]:
    """People dealt out evenly, the first places one more."""
    each, more = divmod(people, len(places))
    dealt = {place: each + (number < more) for number, place in enumerate(places)}
    return {place: number for place, number in dealt.items() if number}


def require_shares(whole: Epsilon, shares: Sequence[Epsilon]) -> None:
    """Refuse tables that together cost more than the level: everyone is in all of them."""
    if sum(shares, ZERO) > whole:
        raise NotCertifiedError(f"The tables together cost more than the level that was promised. {_NOTHING}")
