"""What a question asks to be charged for: handed to a ledger, alone or together with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Required, TypedDict

from optimaldp.errors import InputError, LevelError
from optimaldp.ledger.budget import single_bound
from optimaldp.ledger.people import Part, PartValue
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.step_function import Level


class ChargeFields(TypedDict, total=False):
    """What makes a :class:`Charge`, for readers of types."""

    question: Required[str]
    level: Required[Level]
    used: Level | None
    part: Part | PartValue | None
    levels: str | None
    personal: Mapping[Any, Level] | None
    data_version: str | None


@dataclass(frozen=True)
class Charge:
    """One question and what its release takes from whom.

    *level* is what was asked for; *used* is what the release really uses, where that is less (a histogram that has no use for its
    delta): only that is charged. *part* is a declared part that the question reads alone. *levels* is the column whose levels
    the release honours, and *personal* what it takes from the people of each level, delta included; a level of 0 (with a delta
    of 0) takes nothing from people who are left out. *data_version* is any text that changes when the data do; it is
    stored as a keyed code and lets the same question be answered again for nothing.
    """

    question: str
    level: Level
    used: Level | None = None
    part: Part | PartValue | None = None
    levels: str | None = None
    personal: Mapping[Any, Level] | None = None
    data_version: str | None = None

    def asked_bound(self) -> Bound:
        """The level that was asked for."""
        return single_bound(self.level)

    def used_bound(self) -> Bound:
        """The level that is charged."""
        asked = self.asked_bound()
        if self.used is None:
            return asked
        used = single_bound(self.used)
        if used.epsilon > asked.epsilon or used.delta > asked.delta:
            raise LevelError(
                "used", str(used), f"is more than the level {asked} that was asked for", "charge what is used"
            )
        return used

    def personal_bounds(self) -> tuple[tuple[str, Bound], ...]:
        """What the people of each level lose, by the text of the level."""
        if self.personal and self.levels is None:
            raise InputError("levels", None, "does not name the column of the personal levels", "write levels='trust'")
        named = {
            str(Epsilon.read(own, name="level")): single_bound(bound) for own, bound in (self.personal or {}).items()
        }
        return tuple(sorted(named.items()))
