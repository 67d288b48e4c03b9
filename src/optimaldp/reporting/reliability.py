"""The reliability curve of an answer that was given: computed again from the public numbers in its statement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from optimaldp.asking.preview_result import Preview
from optimaldp.asking.previewing import preview
from optimaldp.errors import OptimalDPError

# What a ledger remembers after the question itself: see Request.text.
_SUFFIX = re.compile(r" \| (?:where|reduce|order|levels|aim|by|groups): ")


def reliability_of(question: str, statement: Mapping[str, Any] | None) -> Preview | None:
    """Error by margin of the law that gave the answer; ``None`` where there is no margin or no statement."""
    law = (statement or {}).get("mechanism_document")
    if not isinstance(law, Mapping):
        return None
    sizes = law.get("levels")
    options: dict[str, Any] = {"epsilon": law.get("epsilon"), "delta": law.get("delta", 0)}
    options |= {"neighbours": law.get("neighbours", "substitution"), "n": _people(law)}
    if sizes:
        options |= {"level_sizes": {str(own): people for own, people in sizes}, "aim": law.get("aim")}
    if law.get("public_groups"):
        options["public_groups"] = True
    for text in question_texts(question):
        try:
            made = preview(text, **options)
        except OptimalDPError:
            continue
        return made if made.margins else None
    return None


def question_texts(asked: str) -> list[str]:
    """The text that was asked, and its beginnings before each thing that a ledger adds: one of them is the question."""
    return [asked, *(asked[: match.start()] for match in reversed(list(_SUFFIX.finditer(asked))))]


def _people(law: Mapping[str, Any]) -> int | None:
    people = law.get("people")
    count = people.get("n") if isinstance(people, Mapping) else None
    return count if isinstance(count, int) and count > 0 else None
