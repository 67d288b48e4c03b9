"""Making entries: from what a caller hands in to the frozen values that are stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from optimaldp.errors import LedgerError
from optimaldp.ledger.chain import EntryChain
from optimaldp.ledger.entry import BEGINNING, Answer, Entry, Opening, Spend, hash_of
from optimaldp.ledger.entry_log import MakeEntry
from optimaldp.ledger.store import StoredEntry


def now() -> str:
    """What the clock shows: a remark, never an order."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def opening_row(described: Mapping[str, Any]) -> StoredEntry:
    """The first row of a new ledger."""
    text = Opening(1, BEGINNING, now(), **described).text()
    return StoredEntry(1, text, hash_of(text))


def spend_makers(spends: Sequence[Spend]) -> list[MakeEntry]:
    """Give *spends* their places, one after the other; several of them say that they were made together."""

    def maker(offset: int, spend: Spend) -> MakeEntry:
        def make(sequence: int, previous: str) -> Entry:
            together = sequence - offset if len(spends) > 1 else None
            return replace(spend, sequence=sequence, previous=previous, time=now(), together=together)

        return make

    return [maker(offset, spend) for offset, spend in enumerate(spends)]


def answer_maker(spend: int, answer: object, statement: object) -> MakeEntry:
    """The answer of the spend of this number."""
    plain_answer, plain_statement = _plain(answer), _plain(statement)
    return lambda sequence, previous: Answer(sequence, previous, now(), spend, plain_answer, plain_statement)


def require_unanswered(chain: EntryChain, spends: Sequence[int]) -> None:
    """Every answer needs a spend of its own."""
    for number in spends:
        if number in chain.answers or spends.count(number) > 1:
            raise LedgerError(f"spend #{number} already has its answer: every answer needs a spend of its own.")


def _plain(value: object) -> Any:
    """A JSON value: what the ledger can keep for ever. Answers are released already, so they may be written as they are."""
    if hasattr(value, "to_document"):
        value = value.to_document()
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        raise LedgerError(
            "an answer or statement that is not plain JSON cannot be recorded. The spend stays, without its answer."
        ) from None
