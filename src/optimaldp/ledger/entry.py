"""The entries of a ledger: frozen values whose meaning never changes.

**The promise.** An entry that was written once means the same for ever. A field is never renamed, reused or read in another
way; what a later version of this project adds goes into entries of a higher version, which this version refuses to read
instead of guessing. The text of an entry (its canonical JSON: keys sorted, no spaces, ASCII) is what is stored, and its
SHA-256 is what the next entry repeats, so no entry can be changed, removed from the middle or put elsewhere unnoticed.

Version 1 (optimaldp 0.1.0) knows openings, spends and answers. Version 2 has openings whose parts are values of one column and
whose level groups name their column, and spends that say which level they were asked at. Version 3 has spends that say what the
question means, how the cells were read and what is treated as public. Version 4 has spends that say who asked and who approved.
Answers are still of version 1.

Nothing about the data is in an entry but released answers. The data version is kept as a keyed code
(:meth:`optimaldp.ledger.ledger.Ledger.code_of`), because a plain checksum of the data could be tested against guesses.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar

from optimaldp.errors import LedgerError
from optimaldp.ledger.budget import Budget, budget_words
from optimaldp.ledger.people import Group, Part, PartValue, is_level, read_part
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import fraction_text, read_probability
from optimaldp.results import Result

FIRST, SECOND, THIRD, FOURTH = 1, 2, 3, 4  # the versions of entries that are read
_PUBLIC_GROUPS = re.compile(r"(?:\| by: (?P<column>[^|]*?) \[[^|]*)?\| groups: public$")
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

    Since version 3: ``meaning`` is the version of what the question means (spends before it mean 1); ``reading`` says how the
    cells were read (types, delimiter, encoding, the hash of the description); ``public`` names what is treated as public, so
    that a record is only ever replaced by another that agrees in it.

    Since version 4: ``asker`` is who asked, ``approver`` who let the question through where somebody had to, ``request`` the
    number under which a service keeps it.
    """

    question: str
    bound: Bound
    part: Part | None
    personal: tuple[tuple[str, Bound], ...]
    data: str | None
    levels: str | None = None
    asked: Bound | None = None
    together: int | None = None
    meaning: int = 1
    reading: tuple[tuple[str, Any], ...] = ()
    public: tuple[str, ...] = ()
    asker: str | None = None
    approver: str | None = None
    request: str | None = None
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
        second = common | {
            "part": None if self.part is None else self.part.to_document(),
            "levels": self.levels,
            "asked": None if self.asked is None else bound_document(self.asked),
            "together": self.together,
        }
        if self.version == SECOND:
            return second
        third = second | {"meaning": self.meaning, "reading": dict(self.reading), "public": list(self.public)}
        return third if self.version == THIRD else third | self.people_document()

    def summary(self) -> str:
        return f"Spend(#{self.sequence}, {self.question!r}, {budget_words(self.bound.epsilon, self.bound.delta)})"

    def people_document(self) -> dict[str, str | None]:
        """Who asked and who approved, since version 4."""
        return {"asker": self.asker, "approver": self.approver, "request": self.request}

    def treated_as_public(self) -> tuple[str, ...]:
        """What is public in its guarantee: as it says, or for spends before version 3 as its question says."""
        if self.version >= THIRD:
            return self.public
        part = [] if self.part is None else [str(self.part.column or self.part)]
        levels = [] if self.levels is None else [self.levels]
        groups = _PUBLIC_GROUPS.search(self.question)
        named = [] if groups is None else [groups["column"] or "the groups of a question"]
        return tuple(dict.fromkeys([*part, *named, *levels]))

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


@dataclass(frozen=True, repr=False)
class Described(Entry):
    """From here on the table is read by the description with this hash. Person and neighbours are still those of the opening."""

    description: str

    kind: ClassVar[str] = "description"

    def written_version(self) -> int:
        return THIRD

    def content(self) -> dict[str, Any]:
        return {"description": self.description}

    def summary(self) -> str:
        return f"Described(#{self.sequence}, {self.description[:12]})"


def bound_document(bound: Bound) -> dict[str, str]:
    """A level as the ledger writes it."""
    return {"epsilon": str(bound.epsilon), "delta": fraction_text(bound.delta)}


# Reading entries back from their stored text, in every version that was ever written.


Document = dict[str, Any]


class OtherVersionError(LedgerError):
    """An entry that another version of optimaldp wrote."""


def read_entry(text: str) -> Entry:
    """Read an entry from its stored text.

    **Guarantee.** ``read_entry(entry.text()) == entry``; a text of another version or another shape is an error, never a guess.
    """
    try:
        document = json.loads(text)
        version = document["version"]
        if _is_known(version):
            entry = _READERS[version, document["kind"]](document)
            if entry.text() == text:
                return entry
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        version = None
    if type(version) is int and not _is_known(version):
        raise OtherVersionError(
            f"an entry has version {version}, and this optimaldp reads versions {FIRST} to {FOURTH}. "
            "Use the optimaldp that wrote the ledger, or a later one."
        )
    raise LedgerError("an entry is damaged: its text is not one that optimaldp writes.")


def _is_known(version: object) -> bool:
    return type(version) is int and FIRST <= version <= FOURTH


def read_bound(document: Document) -> Bound:
    """Read a level back from :func:`optimaldp.ledger.entry.bound_document`."""
    return _bound(document["epsilon"], document["delta"])


@lru_cache(maxsize=1024)  # a ledger of many entries has few levels
def _bound(epsilon: str, delta: str) -> Bound:
    return Bound(Epsilon.read(epsilon), read_probability(delta, name="delta"))


def _place(document: Document) -> tuple[int, str, str]:
    return document["sequence"], document["previous"], document["time"]


def _common_opening(document: Document) -> Document:
    return {
        "dataset": document["dataset"],
        "budget": Budget.from_document(document["budget"]),
        "neighbours": Neighbours(document["neighbours"]),
        "unit": document["unit"],
        "composition": document["composition"],
    }


def _first_opening(document: Document) -> Entry:
    return Opening(
        *_place(document),
        **_common_opening(document),
        parts=tuple(read_part(text) for text in document["parts"]),
        groups=tuple((Group(None, name), Budget.from_document(budget)) for name, budget in document["groups"].items()),
        version=FIRST,
    )


def _second_opening(document: Document) -> Entry:
    parts = document["parts"]
    return Opening(
        *_place(document),
        **_common_opening(document),
        parts=() if parts is None else tuple(Part(parts["column"], value) for value in parts["values"]),
        groups=tuple(
            (Group(one["column"], _level(one["level"])), Budget.from_document(one["budget"]))
            for one in document["groups"]
        ),
        unit_has_one_part=False if parts is None else parts["unit_has_one_part"],
        settings=document["settings"],
    )


def _level(text: str) -> str:
    if not is_level(text):
        raise ValueError("not the text of a level")
    return text


def _common_spend(document: Document) -> Document:
    return {
        "question": document["question"],
        "bound": read_bound(document),
        "personal": tuple((level, read_bound(bound)) for level, bound in document["personal"].items()),
        "data": document["data"],
    }


def _first_spend(document: Document) -> Entry:
    part = document["part"]
    return Spend(
        *_place(document),
        **_common_spend(document),
        part=None if part is None else read_part(part),
        version=FIRST,
    )


def _second_spend(document: Document) -> Spend:
    part, asked = document["part"], document["asked"]
    for level in document["personal"]:
        _level(level)
    return Spend(
        *_place(document),
        **_common_spend(document),
        part=None if part is None else Part(part["column"], part["value"]),
        levels=document["levels"],
        asked=None if asked is None else read_bound(asked),
        together=document["together"],
    )


def _third_spend(document: Document) -> Spend:
    public = document["public"]
    if not isinstance(public, list) or type(document["meaning"]) is not int:
        raise ValueError("not what a spend of version 3 says")
    return replace(
        _second_spend(document),
        meaning=document["meaning"],
        reading=tuple(sorted(document["reading"].items())),
        public=tuple(public),
        version=THIRD,
    )


def _fourth_spend(document: Document) -> Entry:
    named = {name: document[name] for name in ("asker", "approver", "request")}
    if not isinstance(named["asker"], str) or not all(isinstance(one, str | None) for one in named.values()):
        raise ValueError("not what a spend of version 4 says")
    return replace(_third_spend(document), **named, version=FOURTH)


def _answer(document: Document) -> Entry:
    return Answer(
        *_place(document), spend=document["spend"], answer=document["answer"], statement=document["certificate"]
    )


def _described(document: Document) -> Entry:
    return Described(*_place(document), description=document["description"])


_READERS: dict[tuple[int, str], Callable[[Document], Entry]] = {
    (FIRST, "opening"): _first_opening,
    (SECOND, "opening"): _second_opening,
    (FIRST, "spend"): _first_spend,
    (SECOND, "spend"): _second_spend,
    (THIRD, "spend"): _third_spend,
    (FOURTH, "spend"): _fourth_spend,
    (FIRST, "answer"): _answer,
    (THIRD, "description"): _described,
}
