"""The entries of a ledger: frozen values whose meaning never changes.

**The promise.** An entry that was written once means the same for ever. A field is never renamed, reused or read in another
way; what a later version of this project adds goes into entries of a higher version, which this version refuses to read
instead of guessing. The text of an entry (its canonical JSON: keys sorted, no spaces, ASCII) is what is stored, and its
SHA-256 is what the next entry repeats, so no entry can be changed, removed from the middle or put elsewhere unnoticed.

Version 1 (optimaldp 0.1.0) knows openings, spends and answers. Version 2 has openings whose parts are values of one column and
whose level groups name their column, and spends that say which level they were asked at; answers are still of version 1.

Nothing about the data is in an entry but released answers. The data version is kept as a keyed code
(:meth:`optimaldp.ledger.ledger.Ledger.code_of`), because a plain checksum of the data could be tested against guesses.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from optimaldp.ledger.budget import Budget, budget_words
from optimaldp.ledger.people import Group, Part, PartValue
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import fraction_text
from optimaldp.results import Result

FIRST, SECOND = 1, 2  # the versions of entries that are read
BEGINNING = "0" * 64  # what the first entry repeats in place of a hash

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical(document: object) -> str:
    """The one text of a JSON value.

    >>> canonical({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    return _ENCODER.encode(document)


def hash_of(text: str) -> str:
    """The hash of an entry's text."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True, repr=False)
class Entry(Result):
    """What every entry has: its place, the hash of the entry before, and the time that the clock showed.

    The order of entries is their sequence alone. The time is a remark: a clock may be wrong or go backwards.
    """

    sequence: int
    previous: str
    time: str

    kind: ClassVar[str]

    @abstractmethod
    def written_version(self) -> int:
        """The version of this entry's fields."""

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """The fields of this kind of entry."""

    def to_document(self) -> dict[str, Any]:
        place = {"sequence": self.sequence, "previous": self.previous, "time": self.time}
        return {"version": self.written_version(), "kind": self.kind, **place, **self.content()}

    def text(self) -> str:
        """The canonical text, which is what is stored and hashed."""
        return canonical(self.to_document())


@dataclass(frozen=True, repr=False)
class Opening(Entry):
    """The first entry: whose ledger this is and what all later entries mean.

    ``neighbours``, ``unit`` and ``settings`` (whatever else was declared about reading the data, such as the types of columns)
    hold for every spend. ``parts`` are disjoint groups of people: nobody is in two of them, and under substitution a record is
    replaced by one of the same part; with a unit, ``unit_has_one_part`` declares that a person's part is public and the same
    in all their rows. ``groups`` are budgets of people with a level of their own.
    """

    dataset: str
    budget: Budget
    neighbours: Neighbours
    unit: str | None
    composition: dict[str, Any]
    parts: tuple[Part, ...]
    groups: tuple[tuple[Group, Budget], ...]
    unit_has_one_part: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    version: int = SECOND

    kind: ClassVar[str] = "opening"

    def written_version(self) -> int:
        return self.version

    def content(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "budget": self.budget.to_document(),
            "neighbours": self.neighbours.value,
            "unit": self.unit,
            "composition": self.composition,
            **(self._people_of_version_one() if self.version == FIRST else self._people()),
        }

    def summary(self) -> str:
        return f"Opening({self.dataset!r}, {self.budget}, {self.neighbours})"

    def _people(self) -> dict[str, Any]:
        return {
            "parts": self._parts(),
            "groups": [
                {"column": group.column, "level": group.level, "budget": budget.to_document()}
                for group, budget in self.groups
            ],
            "settings": self.settings,
        }

    def _parts(self) -> dict[str, Any] | None:
        if not self.parts:
            return None
        values: list[PartValue] = [part.value for part in self.parts]
        return {"column": self.parts[0].column, "values": values, "unit_has_one_part": self.unit_has_one_part}

    def _people_of_version_one(self) -> dict[str, Any]:
        return {
            "parts": [str(part) for part in self.parts],
            "groups": {group.level: budget.to_document() for group, budget in self.groups},
        }


@dataclass(frozen=True, repr=False)
class Spend(Entry):
    """Privacy that is gone: written durably *before* an answer is sampled, and never taken back.

    ``bound`` is what it costs everybody in ``part`` (everybody at all when that is ``None``); ``personal`` says what it costs
    the people of a level in the column ``levels``, where that is less. ``data`` is the keyed code of the data version.
    ``asked`` is the level that the question named, where less than that is used up (``None``: all of it). ``together`` is the
    number of the first of several spends that were made at once, all or none.
    """

    question: str
    bound: Bound
    part: Part | None
    personal: tuple[tuple[str, Bound], ...]
    data: str | None
    levels: str | None = None
    asked: Bound | None = None
    together: int | None = None
    version: int = SECOND

    kind: ClassVar[str] = "spend"

    def written_version(self) -> int:
        return self.version

    def content(self) -> dict[str, Any]:
        common = {
            "question": self.question,
            **bound_document(self.bound),
            "personal": {level: bound_document(bound) for level, bound in self.personal},
            "data": self.data,
        }
        if self.version == FIRST:
            return common | {"part": None if self.part is None else str(self.part)}
        return common | {
            "part": None if self.part is None else self.part.to_document(),
            "levels": self.levels,
            "asked": None if self.asked is None else bound_document(self.asked),
            "together": self.together,
        }

    def summary(self) -> str:
        return f"Spend(#{self.sequence}, {self.question!r}, {budget_words(self.bound.epsilon, self.bound.delta)})"

    @property
    def asked_bound(self) -> Bound:
        """The level that the question named."""
        return self.bound if self.asked is None else self.asked


@dataclass(frozen=True, repr=False)
class Answer(Entry):
    """The answer that was released for the spend number ``spend``, with the statement of what is proven about it."""

    spend: int
    answer: Any
    statement: Any

    kind: ClassVar[str] = "answer"

    def written_version(self) -> int:
        return FIRST

    @property
    def certificate(self) -> Any:
        """Another name of :attr:`statement`, and the one that files use."""
        return self.statement

    def content(self) -> dict[str, Any]:
        return {"spend": self.spend, "answer": self.answer, "certificate": self.statement}

    def summary(self) -> str:
        return f"Answer(#{self.sequence} to spend #{self.spend})"


def bound_document(bound: Bound) -> dict[str, str]:
    """A level as the ledger writes it."""
    return {"epsilon": str(bound.epsilon), "delta": fraction_text(bound.delta)}
