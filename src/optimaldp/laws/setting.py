"""Everything public that decides how a question is answered: settled before any data is read, or public by declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from optimaldp.errors import LevelError
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours

Cells = Mapping[int, int]
"""People by cell of a tally: only the occupied cells."""


class Aim(StrEnum):
    """What a mechanism for people with levels of their own is good at."""

    TYPICAL = "typical"
    EVERY_TABLE = "every-table"


def read_aim(value: str | Aim | None) -> Aim:
    """Read an aim from its name; ``None`` is the typical table."""
    if value is None:
        return Aim.TYPICAL
    try:
        return Aim(str(value).replace(" ", "-"))
    except ValueError:
        rule = "is not an aim for people with levels of their own"
        raise LevelError("aim", value, rule, "write 'typical' or 'every table'") from None


@dataclass(frozen=True)
class Setting:
    """A level, the neighbours, the number of people where it is public, and people's own levels where they have them."""

    level: ApproximateDP
    neighbours: Neighbours
    people: int | None = None
    """The public number of people, under substitution."""
    levels: tuple[tuple[Epsilon, int], ...] = ()
    """Each level that people have, in rising order, with how many have it; none of them above the level's epsilon."""
    aim: Aim = Aim.TYPICAL
    public_groups: bool = False
    """Whether the two groups of a comparison are declared public."""

    def at(self, level: ApproximateDP) -> Setting:
        return replace(self, level=level)

    @property
    def personal(self) -> bool:
        """Whether people's levels really differ from the one of the release."""
        return any(epsilon != self.level.epsilon for epsilon, _ in self.levels)


@dataclass(frozen=True, repr=False)
class Table:
    """What a mechanism sees of a table. Private: it must never be shown, logged or put into an error."""

    cells: Cells
    by_level: tuple[tuple[Epsilon, Cells], ...] = field(default=())

    @property
    def people(self) -> int:
        return sum(self.cells.values())

    def dense(self, size: int) -> tuple[int, ...]:
        return tuple(self.cells.get(cell, 0) for cell in range(size))

    def __repr__(self) -> str:
        return "Table(private)"
