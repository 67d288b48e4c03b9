"""What the page for verifying runs in the reader's browser: the project's own referee, on documents that stay there."""

from __future__ import annotations

import json
import re
from typing import Any

from optimaldp import __version__
from optimaldp.asking.previewing import preview
from optimaldp.asking.request import read_release_level
from optimaldp.asking.result import epsilon_means
from optimaldp.asking.verifying import SANITISED, verify_document
from optimaldp.documents.json_text import read_json_text
from optimaldp.errors import OptimalDPError
from optimaldp.privacy.balls import ARITHMETIC
from optimaldp.questions.base import as_question

_INSIDE = re.compile(r'<script type="application/json" class="release">(.*?)</script>', re.DOTALL)
_NO_DOCUMENT = (
    "This report holds no documents of releases, so it cannot be examined here. "
    "A report that was written from documents (optimaldp report answer.json) does."
)
_DESIGN = (
    "This is a design on a graph of datasets. Its certificate is examined by optimaldp verify design.json, "
    "with numpy, which is not on this page."
)
_ROWS = "A sanitised table: rows made of noisy tables"


def about() -> str:
    """Which version examines, and with which arithmetic."""
    return json.dumps({"version": __version__, "arithmetic": ARITHMETIC})


def examine(text: str) -> str:
    """Every release in a document, a list of documents or a report: what was checked, or what is wrong."""
    try:
        found = _documents(text)
    except OptimalDPError as error:
        return json.dumps({"problem": str(error)})
    if not found:
        return json.dumps({"problem": _NO_DOCUMENT})
    # Numbers were read as exact decimals.
    return json.dumps({"releases": [_examined(document) for document in found]}, default=str)


def _documents(text: str) -> list[Any]:
    if text.lstrip()[:1] == "<":
        return [read_json_text(inside, source="the report") for inside in _INSIDE.findall(text)]
    content = read_json_text(text, source="what you gave")
    return content if isinstance(content, list) else [content]


def _examined(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        return {"holds": False, "failure": "This is not the document of a release."}
    if "edges" in document:
        return {"holds": False, "examined": False, "failure": _DESIGN}
    rows = document.get("kind") == SANITISED
    said: dict[str, Any] = {
        "question": _ROWS if rows else str(document.get("question")),
        "answer": document.get("answer"),
    }
    try:
        verdict = verify_document(document)
    except OptimalDPError as error:
        return said | {"holds": False, "failure": str(error)}
    except ModuleNotFoundError as error:
        return said | {
            "holds": False,
            "examined": False,
            "failure": f"This kind of release takes {error.name}, which is not on this page.",
        }
    said |= verdict.to_document()
    if verdict.holds:  # what an unconfirmed document says about itself is not repeated
        said["words"] = _ROWS if rows else as_question(said["question"]).words()
        said["means"] = epsilon_means(read_release_level(str(document["epsilon"]), str(document.get("delta", 0))))
        said["level"] = f"ε = {document['epsilon']}, δ = {document.get('delta', 0)}, {document['neighbours']}"
    return said


def previewed(question: str, epsilon: str, people: str) -> str:
    """How reliable an answer would be, in sentences and as a curve; reads no data."""
    try:
        made = preview(question, epsilon=epsilon, n=int(people) if people.strip().isdigit() else None)
        means = epsilon_means(made.level)
        words = as_question(question).words()
    except OptimalDPError as error:
        return json.dumps({"problem": str(error)})
    except ModuleNotFoundError as error:
        return json.dumps({"problem": f"A preview of this question takes {error.name}, which is not on this page."})
    curve = {"margins": made.margins, "right": [1 - error for error in made.series[0][1]]} if made.margins else None
    return json.dumps({"words": words, "means": means, "sentences": made.sentences(), "curve": curve})
