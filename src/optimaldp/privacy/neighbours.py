"""Which datasets are neighbours: the other half of every guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NoReturn

from optimaldp.errors import LevelError

if TYPE_CHECKING:
    from optimaldp.privacy.units import Limited


class Neighbours(StrEnum):
    """The neighbour relation that a guarantee speaks of; ``Neighbours("add-remove")`` reads it from its name."""

    SUBSTITUTION = "substitution"
    ADD_REMOVE = "add-remove"

    @property
    def words(self) -> str:
        """The relation in a sentence that a reader without the jargon understands."""
        if self is Neighbours.SUBSTITUTION:
            return "one person's record is replaced by another (the number of people is public)"
        return "one person appears or disappears (the number of people is private)"

    def within(self, public: Sequence[str], limited: Limited | None = None) -> str:
        """The relation in words where groups are public: a record is replaced by another that agrees in *public*.

        Where a person is *limited* in time, one of their records comes or goes.

        >>> Neighbours.SUBSTITUTION.within(["ward"])
        "one person's record is replaced by another of the same group; who is in which group is public (ward)"
        """
        if limited is not None and self is Neighbours.ADD_REMOVE:
            return f"one {limited.record} appears or disappears (how many there are is private)"
        if not public or self is Neighbours.ADD_REMOVE:
            return self.words
        groups = ", ".join(dict.fromkeys(public))
        return (
            f"one person's record is replaced by another of the same group; who is in which group is public ({groups})"
        )

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise LevelError(
            "neighbours",
            value,
            "is not a neighbour relation",
            "use 'substitution' (one record replaced, n public) or 'add-remove' (one person more or less)",
        )
