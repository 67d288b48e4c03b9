"""The entries of a ledger: frozen values whose meaning never changes.

**The promise.** An entry that was written once means the same for ever. A field is never renamed, reused or read in another
way; what a later version of this project adds goes into entries of a higher version, which this version refuses to read
instead of guessing. The text of an entry (its canonical JSON: keys sorted, no spaces, ASCII) is what is stored, and its
SHA-256 is what the next entry repeats, so no entry can be changed, removed from the middle or put elsewhere unnoticed.

Nothing about the data is in an entry but released answers. The data version is kept as a keyed code
(:meth:`optimaldp.ledger.ledger.Ledger.code_of`), because a plain checksum of the data could be tested against guesses.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from optimaldp.errors import LedgerError
from optimaldp.ledger.budget import Budget, budget_words
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import fraction_text, read_probability
from optimaldp.results import Result

FORMAT_VERSION = 1
BEGINNING = "0" * 64  # what the first entry repeats in place of a hash


class OtherVersionError(LedgerError):
    """An entry that another version of optimaldp wrote."""


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical(document: Any) -> str:
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
    def content(self) -> dict[str, Any]:
        """The fields of this kind of entry."""

    def to_document(self) -> dict[str, Any]:
        place = {"sequence": self.sequence, "previous": self.previous, "time": self.time}
        return {"version": FORMAT_VERSION, "kind": self.kind, **place, **self.content()}

    def text(self) -> str:
        """The canonical text, which is what is stored and hashed."""
        return canonical(self.to_document())


@dataclass(frozen=True, repr=False)
class Opening(Entry):
    """The first entry: whose ledger this is and what all later entries mean.

    ``neighbours`` and ``unit`` hold for every spend. ``parts`` name disjoint groups of persons: nobody is in two of them, and
    under substitution a record is replaced by one of the same part. ``groups`` are budgets of persons with a level of their own.
    """

    dataset: str
    budget: Budget
    neighbours: Neighbours
    unit: str | None
    composition: dict[str, Any]
    parts: tuple[str, ...]
    groups: tuple[tuple[str, Budget], ...]

    kind: ClassVar[str] = "opening"

    def content(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "budget": self.budget.to_document(),
            "neighbours": self.neighbours.value,
            "unit": self.unit,
            "composition": self.composition,
            "parts": list(self.parts),
            "groups": {name: budget.to_document() for name, budget in self.groups},
        }

    def summary(self) -> str:
        return f"Opening({self.dataset!r}, {self.budget}, {self.neighbours})"


@dataclass(frozen=True, repr=False)
class Spend(Entry):
    """Privacy that is gone: written durably *before* an answer is sampled, and never taken back.

    ``bound`` is what it costs everybody in ``part`` (everybody at all when that is ``None``); ``personal`` says what it costs
    the persons of a level group, where that is less. ``data`` is the keyed code of the data version.
    """

    question: str
    bound: Bound
    part: str | None
    personal: tuple[tuple[str, Bound], ...]
    data: str | None

    kind: ClassVar[str] = "spend"

    def content(self) -> dict[str, Any]:
        return {
            "question": self.question,
            **bound_document(self.bound),
            "part": self.part,
            "personal": {group: bound_document(bound) for group, bound in self.personal},
            "data": self.data,
        }

    def summary(self) -> str:
        return f"Spend(#{self.sequence}, {self.question!r}, {budget_words(self.bound.epsilon, self.bound.delta)})"

    def costs(self, group: str | None) -> Bound:
        """What this spend costs the persons of *group*; everybody else is charged the full level."""
        return dict(self.personal).get(group, self.bound) if group is not None else self.bound


@dataclass(frozen=True, repr=False)
class Answer(Entry):
    """The answer that was released for the spend number ``spend``, with the certificate of its mechanism."""

    spend: int
    answer: Any
    certificate: Any

    kind: ClassVar[str] = "answer"

    def content(self) -> dict[str, Any]:
        return {"spend": self.spend, "answer": self.answer, "certificate": self.certificate}

    def summary(self) -> str:
        return f"Answer(#{self.sequence} to spend #{self.spend})"


def bound_document(bound: Bound) -> dict[str, str]:
    """A level as the ledger writes it."""
    return {"epsilon": str(bound.epsilon), "delta": fraction_text(bound.delta)}


def read_bound(document: dict[str, Any]) -> Bound:
    """Read a level back from :func:`bound_document`."""
    return _bound(document["epsilon"], document["delta"])


@lru_cache(maxsize=1024)  # a ledger of many entries has few levels
def _bound(epsilon: str, delta: str) -> Bound:
    return Bound(Epsilon.read(epsilon), read_probability(delta, name="delta"))


def read_entry(text: str) -> Entry:
    """Read an entry from its stored text.

    **Guarantee.** ``read_entry(entry.text()) == entry``; a text of another version or another shape is an error, never a guess.
    """
    try:
        document = json.loads(text)
        version = document["version"]
        if version == FORMAT_VERSION:
            entry = _READERS[document["kind"]](document)
            if entry.text() == text:
                return entry
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        version = None
    if isinstance(version, int) and version != FORMAT_VERSION:
        raise OtherVersionError(
            f"an entry has version {version}, and this optimaldp reads version {FORMAT_VERSION}. "
            "Use the optimaldp that wrote the ledger, or a later one."
        )
    raise LedgerError("an entry is damaged: its text is not one that optimaldp writes.")


def _place(document: dict[str, Any]) -> tuple[int, str, str]:
    return document["sequence"], document["previous"], document["time"]


def _read_opening(document: dict[str, Any]) -> Entry:
    return Opening(
        *_place(document),
        dataset=document["dataset"],
        budget=Budget.from_document(document["budget"]),
        neighbours=Neighbours(document["neighbours"]),
        unit=document["unit"],
        composition=document["composition"],
        parts=tuple(document["parts"]),
        groups=tuple((name, Budget.from_document(budget)) for name, budget in document["groups"].items()),
    )


def _read_spend(document: dict[str, Any]) -> Entry:
    return Spend(
        *_place(document),
        question=document["question"],
        bound=read_bound(document),
        part=document["part"],
        personal=tuple((group, read_bound(bound)) for group, bound in document["personal"].items()),
        data=document["data"],
    )


def _read_answer(document: dict[str, Any]) -> Entry:
    return Answer(
        *_place(document), spend=document["spend"], answer=document["answer"], certificate=document["certificate"]
    )


_READERS = {"opening": _read_opening, "spend": _read_spend, "answer": _read_answer}
