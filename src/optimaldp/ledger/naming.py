"""Finding a declared part or a level group by what people call it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optimaldp.errors import LedgerError, LevelError
from optimaldp.ledger.entry import Opening
from optimaldp.ledger.people import Group, Part, PartValue, askable_parts, read_part
from optimaldp.privacy.epsilon import Epsilon

NamedPart = Part | PartValue
"""A part, its value (``"north"``) or its condition (``"region = 'north'"``)."""

NamedGroup = Group | tuple[str, Any] | str | float | Epsilon
"""A group, ``("trust", 0.1)``, its text (``"trust = 0.1"``), or its level alone where only one column has it."""

_NOTHING_SPENT = "Nothing was spent."


def find_part(opening: Opening, name: NamedPart, column: str | None = None) -> Part:
    """The declared part of this name."""
    matches = [part for part in opening.parts if _is_called(part, name) and column in (None, part.column)]
    if not matches:
        raise LedgerError(
            f"part {str(name)!r} is not one of the declared parts {[str(part) for part in opening.parts]}. {_NOTHING_SPENT}"
        )
    if len(set(matches)) > 1:
        raise LedgerError(
            f"part {str(name)!r} can be any of {[str(part) for part in matches]}. Write the whole condition. {_NOTHING_SPENT}"
        )
    return matches[0]


def _is_called(part: Part, name: NamedPart) -> bool:
    if isinstance(name, Part):
        return part == name
    if isinstance(name, bool):
        return False
    return name in (part.value, str(part)) or (isinstance(name, str) and part == read_part(name))


def require_askable(opening: Opening, part: Part) -> None:
    """Charging a part alone is right only if nobody outside of it can change the answer."""
    if part not in askable_parts(opening.parts):
        raise LedgerError(
            f"part {str(part)!r} was declared by optimaldp 0.1.0 and can be read but no longer asked: it is not a value of the "
            f"one column by which this ledger tells people apart, so that it may overlap with another part. {_NOTHING_SPENT}"
        )
    if opening.unit is not None and not opening.unit_has_one_part:
        raise LedgerError(
            f"part {str(part)!r} cannot be charged alone with the unit {opening.unit!r}: a person may have rows in several "
            f"parts. Make a ledger with unit_has_one_part, if every unit has one part and that is public. {_NOTHING_SPENT}"
        )


def find_group(groups: Sequence[Group], name: NamedGroup, column: str | None = None) -> Group:
    """The level group of this name among *groups*."""
    if isinstance(name, tuple):
        column, name = name
    if isinstance(name, Group):
        matches = [group for group in groups if group == name]
    else:
        texts = {str(name), _level_text(name)}
        matches = [group for group in groups if texts & {group.level, str(group)} and column in (None, group.column)]
    if len(matches) == 1:
        return matches[0]
    known = [str(group) for group in (matches or groups)]
    if matches:
        raise LedgerError(f"level {str(name)!r} is a group of several columns: {known}. Name the column too.")
    raise LedgerError(f"this ledger has no level group {str(name)!r}. It has the groups {known}.")


def _level_text(name: object) -> str:
    try:
        return str(Epsilon.read(name))
    except LevelError:
        return str(name)
