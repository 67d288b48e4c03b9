"""What one spend costs, and whom: the same question costs the people of different parts and levels differently."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from optimaldp.ledger.entry import FIRST, Spend
from optimaldp.ledger.people import Group, Part, is_level
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import Bound

_LEVELS_OF_VERSION_ONE = re.compile(r".* \| levels: (?P<column>[^\W\d]\w*)", re.DOTALL)


@dataclass(frozen=True)
class Cost:
    """What a spend takes from everybody in *part* (``None``: from everybody), and from those who have a level of their own."""

    part: Part | None
    bound: Bound
    levels: str | None = None
    personal: tuple[tuple[str, Bound], ...] = ()

    def of(self, group: Group | None) -> Bound:
        """What it takes from the people of *group*.

        A question that honours the levels of a column takes from nobody more than their level there, whether or not the level is
        named. For a group of another column nothing is known, so it loses what everybody loses.
        """
        if group is None or group.column != self.levels:
            return self.bound
        named = dict(self.personal).get(group.level)
        if named is not None:
            return named
        return self.bound if self.levels is None else self.at_most(Epsilon.read(group.level))

    def at_most(self, level: Epsilon) -> Bound:
        """What it takes from people who lose no more than *level*."""
        return Bound(min(level, self.bound.epsilon), self.bound.delta)


def cost_of(spend: Spend, disjoint: Collection[Part]) -> Cost:
    """What *spend* certainly took, where *disjoint* are the parts that cannot overlap with others.

    Entries of version 1 say less than was lost in three cases, and are read on the safe side: a part that could overlap with
    another one is charged to everybody; the delta of a question is charged to every level group; a group is one of the column
    that the question names, and only of that one.
    """
    if spend.version != FIRST:
        return cost_as_written(spend)
    part = spend.part if spend.part in disjoint else None
    personal = tuple((level, Bound(own.epsilon, max(own.delta, spend.bound.delta))) for level, own in spend.personal)
    return Cost(part, spend.bound, _column_of_version_one(spend), personal)


def cost_as_written(spend: Spend) -> Cost:
    """What *spend* says of itself; for version 1 that is what version 0.1.0 charged."""
    return Cost(spend.part, spend.bound, spend.levels, spend.personal)


def _column_of_version_one(spend: Spend) -> str | None:
    """Version 0.1.0 wrote the column of levels at the end of the question and nowhere else."""
    match = _LEVELS_OF_VERSION_ONE.fullmatch(spend.question)
    if match is None or not spend.personal or not all(is_level(name) for name, _ in spend.personal):
        return None
    return match["column"]
