"""Who loses: the parts and the level groups into which a ledger divides people.

A **part** is one value of one column, so two parts cannot overlap, whatever the data is. A **level group** is everybody with the
same level in one column of levels; a level in another column is another group.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optimaldp.errors import InputError, LevelError
from optimaldp.privacy.epsilon import Epsilon

PartValue = str | int

_NAME = re.compile(r"[^\W\d]\w*")
_CONDITION = re.compile(
    r"""\s*(?:(?P<name>[^\W\d]\w*)|"(?P<quoted>(?:[^"]|"")+)")\s*=\s*(?:'(?P<text>(?:[^']|'')*)'|(?P<number>-?\d+))\s*"""
)


@dataclass(frozen=True, repr=False)
class Part:
    """The people for whom *column* is *value*, compared exactly.

    ``column`` is ``None`` for a part of a ledger of version 0.1.0 that is another condition: it may overlap with others, so it
    can be read and not asked; ``value`` is its text.

    >>> print(Part("region", "o'hare"))
    region = 'o''hare'
    """

    column: str | None
    value: PartValue
    written: str | None = field(default=None, compare=False)
    """How a ledger of version 0.1.0 wrote it."""

    def __str__(self) -> str:
        if self.written is not None:
            return self.written
        if self.column is None:
            return str(self.value)
        return f"{_quoted_name(self.column)} = {_literal(self.value)}"

    def __repr__(self) -> str:
        return f"Part({self})"

    def to_document(self) -> dict[str, PartValue | None]:
        return {"column": self.column, "value": self.value}


@dataclass(frozen=True, repr=False)
class Group:
    """The people whose level in *column* is *level* (the text of an epsilon).

    ``column`` is ``None`` in ledgers of version 0.1.0 where it was not written down.

    >>> print(Group.of("trust", 0.5))
    trust = 0.5
    """

    column: str | None
    level: str

    @staticmethod
    def of(column: str, level: object) -> Group:
        """The group of a level given in any form: ``0.5``, ``"1/2"`` and ``"0.50"`` are one."""
        if not isinstance(column, str) or not column:
            raise InputError(
                "groups", column, "is not the name of a column of levels", "write {'trust': {0.1: Budget(0.5)}}"
            )
        return Group(column, str(Epsilon.read(level, name="level")))

    def __str__(self) -> str:
        return self.level if self.column is None else f"{self.column} = {self.level}"

    def __repr__(self) -> str:
        return f"Group({self})"


def read_part(condition: str) -> Part:
    """Read the text of a part: ``column = 'value'`` or ``column = 3``; any other condition is a part that cannot be asked.

    >>> read_part("region = 'north'").column, read_part("age > 30").column
    ('region', None)
    """
    match = _CONDITION.fullmatch(condition)
    if match is None:
        return Part(None, condition, condition)
    column = match["name"] or match["quoted"].replace('""', '"')
    value = int(match["number"]) if match["number"] else match["text"].replace("''", "'")
    return Part(column, value, condition)


def read_parts(parts: Mapping[str, Sequence[PartValue]] | Sequence[Part | str]) -> tuple[Part, ...]:
    """The parts of a new ledger: distinct values of one column, all texts or all whole numbers.

    **Guarantee.** Nobody is in two of the parts, whatever the data is; anything else is refused.

    >>> [str(part) for part in read_parts({"region": ["north", "south"]})]
    ["region = 'north'", "region = 'south'"]
    """
    listed = _listed(parts)
    for part in listed:
        if part.column is None:
            raise InputError(
                "parts",
                part.value,
                "is not one value of one column, so that parts could overlap",
                "write region = 'north'",
            )
    if len({part.column for part in listed}) > 1:
        raise InputError(
            "parts",
            [str(part) for part in listed],
            "are values of several columns, and one person can be in a part of each",
            "declare the values of one column: {'region': ['north', 'south']}",
        )
    if len({type(part.value) for part in listed}) > 1:
        rule = "mix texts and numbers, which some databases take for the same value"
        raise InputError("parts", [part.value for part in listed], rule, "write all of them as texts")
    if len(set(listed)) < len(listed):
        raise InputError("parts", [part.value for part in listed], "name a value twice", "name each value once")
    return tuple(Part(part.column, part.value) for part in listed)


def _listed(parts: object) -> list[Part]:
    if isinstance(parts, Mapping):
        if len(parts) != 1:
            raise InputError(
                "parts",
                dict(parts),
                "do not name exactly one column",
                "values of one column are disjoint: {'region': [...]}",
            )
        ((column, values),) = parts.items()
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise InputError("parts", values, "is not a list of values", "write {'region': ['north', 'south']}")
        if not isinstance(column, str) or not column:
            raise InputError("parts", column, "is not the name of a column", "write {'region': ['north', 'south']}")
        return [Part(column, _value(value)) for value in values]
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise InputError("parts", parts, "is not a column with its values", "write {'region': ['north', 'south']}")
    return [part if isinstance(part, Part) else read_part(str(part)) for part in parts]


def _value(value: object) -> PartValue:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InputError("parts", value, "is neither a text nor a whole number", "write {'region': ['north', 'south']}")
    return value


def askable_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Those of the parts of a ledger that may be asked: values of one column, of one type.

    For a ledger of version 0.1.0, which took any condition, that is the first such column.
    """
    first = next((part for part in parts if part.column is not None), None)
    if first is None:
        return ()
    return tuple(part for part in parts if part.column == first.column and type(part.value) is type(first.value))


def disjoint_parts(parts: Sequence[Part]) -> frozenset[Part]:
    """Those of the parts that nobody shared with another one, in whatever way the database compared.

    Version 0.1.0 let the database compare, so 'north', 'North' and 'north ' may have been one value.
    """
    candidates = askable_parts(parts)
    alike = Counter(_folded(part.value) for part in parts)
    return frozenset(part for part in candidates if part.written is None or alike[_folded(part.value)] == 1)


def read_groups(groups: Mapping[str, Mapping[Any, Any]]) -> tuple[tuple[Group, Any], ...]:
    """The budgets of level groups as they are declared: column, then level, then budget."""
    if not isinstance(groups, Mapping) or not all(isinstance(budgets, Mapping) for budgets in groups.values()):
        raise InputError(
            "groups", groups, "does not say column, level and budget", "write {'trust': {0.1: Budget(0.5)}}"
        )
    pairs = [
        (Group.of(column, level), budget) for column, budgets in groups.items() for level, budget in budgets.items()
    ]
    if len({group for group, _ in pairs}) < len(pairs):
        raise InputError("groups", [str(group) for group, _ in pairs], "name a level twice", "name each level once")
    return tuple(sorted(pairs, key=lambda pair: (str(pair[0].column), pair[0].level)))


def is_level(text: str) -> bool:
    """Whether *text* is an epsilon as :meth:`Group.of` writes it."""
    try:
        return str(Epsilon.read(text)) == text
    except LevelError:
        return False


def _folded(value: PartValue) -> str:
    decomposed = unicodedata.normalize("NFKD", str(value))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).casefold().strip()


def _quoted_name(name: str) -> str:
    return name if _NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _literal(value: PartValue) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
