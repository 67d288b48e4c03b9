"""What a report says about one answer, wherever it comes from: an entry of a ledger, or the document of a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optimaldp.asking.promise import read_release_level
from optimaldp.asking.verifying import verify_document
from optimaldp.errors import InputError, OptimalDPError
from optimaldp.ledger.history import Record
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.numbers import fraction_text

# What changes the meaning of a document's question, in the words and the order of a ledger's entries.
_CONDITIONS = ("where", "reduce", "order", "levels", "aim")


@dataclass(frozen=True)
class Published:
    """One answer with all that is said about it."""

    number: int
    question: str
    """With every condition that changes its meaning."""
    time: str
    part: str
    epsilon: str
    delta: str
    answer: Any
    statement: Mapping[str, Any]
    missing: str = ""
    """Why there is no answer, where there is none."""
    examined: str = ""
    """What the referee said when it read the document again."""

    @property
    def title(self) -> str:
        return f"{self.number}. {self.question}"

    @property
    def short_answer(self) -> str:
        if self.missing:
            return "(none)"
        if isinstance(self.answer, Mapping):
            return "; ".join(f"{name}: {value}" for name, value in self.answer.items())
        return str(self.answer)


def from_record(record: Record) -> Published:
    """An entry of a ledger."""
    bound = record.spend.bound
    lost = "Spent, but no answer was recorded: the process ended before it."
    return Published(
        record.spend.sequence,
        record.question,
        record.time,
        record.part,
        str(bound.epsilon),
        fraction_text(bound.delta),
        record.answer,
        record.statement if isinstance(record.statement, Mapping) else {},
        "" if record.recorded is not None else lost,
    )


def from_document(document: object, number: int, source: str) -> Published:
    """The document of a release, examined again: whoever hands over a file may have changed it."""
    if not isinstance(document, Mapping) or not {"question", "answer", "epsilon", "neighbours"} <= set(document):
        rule = "is not the document of a release"
        raise InputError("file", source, rule, "give what release --json or release.save('answer.json') wrote")
    spent = spent_by(document)
    own = document.get("certificate")
    part = document.get("part")
    return Published(
        number,
        _question(document),
        str(document.get("time") or ""),
        f"{part['column']} = {part['value']!r}" if isinstance(part, Mapping) else "",
        str(spent.epsilon),
        fraction_text(spent.delta),
        document["answer"],
        {**(own if isinstance(own, Mapping) else {}), "mechanism_document": document.get("mechanism")},
        examined=_examined(document),
    )


def spent_by(document: Mapping[str, Any]) -> ApproximateDP:
    """What the release cost; where that is not written, the level that it was asked at."""
    own = document.get("spent")
    stated = own if isinstance(own, Mapping) and "epsilon" in own else document
    return read_release_level(str(stated["epsilon"]), str(stated.get("delta", 0)))


def protected_by(document: Mapping[str, Any]) -> tuple[str | None, str]:
    """The column that names a person, and the neighbours in words: guarantees add up only where both are the same."""
    return document.get("unit"), Neighbours(str(document["neighbours"])).words


def _question(document: Mapping[str, Any]) -> str:
    parts = {name: document.get(name) for name in _CONDITIONS}
    if document.get("by") is not None:
        parts["by"] = f"{document['by']} {list(document.get('groups') or [])}"
    if document.get("public_groups"):
        parts["groups"] = "public"
    return str(document["question"]) + "".join(f" | {name}: {value}" for name, value in parts.items() if value)


def _examined(document: Mapping[str, Any]) -> str:
    try:
        verdict = verify_document(document)
    except OptimalDPError as error:
        return f"The referee could not examine this document: {error}"
    if verdict.holds:
        return "The referee examined this document again when the report was written, without any data: it holds."
    return f"The referee examined this document again, and it does not hold: {verdict.failure}."
