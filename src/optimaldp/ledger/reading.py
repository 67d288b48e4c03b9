"""Reading entries back from their stored text, in every version that was ever written."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from optimaldp.errors import LedgerError
from optimaldp.ledger.budget import Budget
from optimaldp.ledger.entry import FIRST, SECOND, Answer, Entry, Opening, Spend
from optimaldp.ledger.people import Group, Part, is_level, read_part
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import read_probability

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
            f"an entry has version {version}, and this optimaldp reads versions {FIRST} to {SECOND}. "
            "Use the optimaldp that wrote the ledger, or a later one."
        )
    raise LedgerError("an entry is damaged: its text is not one that optimaldp writes.")


def _is_known(version: object) -> bool:
    return type(version) is int and FIRST <= version <= SECOND


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


def _second_spend(document: Document) -> Entry:
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


def _answer(document: Document) -> Entry:
    return Answer(
        *_place(document), spend=document["spend"], answer=document["answer"], statement=document["certificate"]
    )


_READERS: dict[tuple[int, str], Callable[[Document], Entry]] = {
    (FIRST, "opening"): _first_opening,
    (SECOND, "opening"): _second_opening,
    (FIRST, "spend"): _first_spend,
    (SECOND, "spend"): _second_spend,
    (FIRST, "answer"): _answer,
}
