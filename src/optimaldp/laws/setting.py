"""Everything public that decides how a question is answered: settled before any data is read, or public by declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from optimaldp.errors import LevelError
from optimaldp.laws.prior import WORD, Prior, read_prior
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate

Cells = Mapping[int, int]
"""People by cell of a tally: only the occupied cells."""


class Aim(StrEnum):
    """What a mechanism for people with levels of their own is good at."""

    TYPICAL = "typical"
    EVERY_TABLE = "every-table"


AnyAim = Aim | Prior
"""The least error at every table, nearly the least on average, or the least on average over a prior."""
AimLike = str | Aim | Prior | Mapping[str, Any]
"""An aim as people write it: ``"typical"``, ``"every table"``, ``{"prior": 0.5}`` or ``"prior: 0.5"``."""


def read_aim(value: AimLike) -> AnyAim:
    """Read an aim from its name or its prior."""
    if isinstance(value, (Prior, Mapping)) or str(value).partition(":")[0].strip() == WORD:
        return read_prior(value)
    try:
        return Aim(str(value).replace(" ", "-"))
    except ValueError:
        rule = "is not an aim for people with levels of their own"
        remedy = "write 'typical', 'every table', or {\"prior\": 0.5} for a small table"
        raise LevelError("aim", value, rule, remedy) from None


@dataclass(frozen=True)
class Setting:
    """A level, the neighbours, the number of people where it is public, and people's own levels where they have them."""

    level: ApproximateDP
    neighbours: Neighbours
    people: int | None = None
    """The public number of people, under substitution."""
    levels: tuple[tuple[Epsilon, int], ...] = ()
    """Each level that people have, in rising order, with how many have it; none of them above the level's epsilon."""
    aim: AnyAim = Aim.TYPICAL
    public_groups: bool = False
    """Whether the two groups of a comparison are declared public."""

    def __post_init__(self) -> None:
        """Drop delta where nobody's own epsilon is above 0: people who are promised epsilon = 0 are charged no delta either."""
        if self.level.delta and self.levels and self.levels[-1][0].is_zero:
            object.__setattr__(self, "level", approximate(self.level.epsilon))

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
