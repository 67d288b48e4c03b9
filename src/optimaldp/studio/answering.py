"""A released answer as the pages show it: in words with its unit, as bars with intervals, as a cross table, as a card to share."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optimaldp.asking.result import Release
    from optimaldp.histograms.margins import CrossTable

_MOST_CELLS = 2000  # a larger cross table is downloaded, not drawn


def answer_document(made: Release) -> dict[str, Any]:
    """A release as the page shows it, and whole for its download."""
    return {
        "document": made.to_document(),
        "answer": made.answer,
        "words": made.asked.words(),
        "said": made.said(),
        "bars": bars(made),
        "table": table_document(made.crosstab()) if made.crossed else None,
        "level": str(made.level),
        "recorded": made.recorded,
        "spent": None if made.recorded else str(made.spent or made.level),
        "sentences": made.sentences(),
        "proof": [[name.replace("_", " "), text] for name, text in made.proof() if text],
        "warnings": list(made.warnings),
        "card": card(made),
    }


def bars(made: Release) -> list[dict[str, Any]] | None:
    """Numbers and counts with the ends of their intervals; ``None`` for answers that are none."""
    values = [] if made.crossed else list(made.answers().items())
    if not values or not all(type(value) is not bool and isinstance(value, (int, float)) for _, value in values):
        return None
    ends = made.intervals()
    return [
        {"name": name, "value": value, "low": None if (own := ends[name]) is None else own[0], "high": own and own[1]}
        for name, value in values
    ]


def table_document(table: CrossTable) -> dict[str, Any] | None:
    """A cross table by its rows, with margins; ``None`` where it is too large to be looked at."""
    if len(table.counts) > _MOST_CELLS:
        return {"csv": table.to_csv(), "rows": None}
    width = table.shape[-1]
    shares: Sequence[float | None] = table.shares()
    cells = [
        {"count": cell["count"], "interval": cell["interval"], "note": cell["note"], "percent": share}
        for cell, share in zip(table.cells(), shares)
    ]
    reach = table.error(width).quantile()
    rows = []
    for place, values in enumerate(product(*table.labels[:-1])):
        own = slice(place * width, (place + 1) * width)
        rows.append({"names": list(values), "cells": cells[own], "sum": sum(table.noisy[own]), "reach": reach})
    return {
        "names": list(table.names),
        "columns": list(table.labels[-1]),
        "rows": rows,
        "margins": {name: table.margin(name) for name in table.names},
        "total": table.total,
        "reach": table.reach,
        "csv": table.to_csv(),
    }


_STYLE = """body { margin: 0; padding: 1.5rem; background: #f5f6f8; color: #1b1f24; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 40rem; margin: auto; padding: 1.6rem 1.8rem; background: #fff; border: 1px solid #d5dae0; border-radius: 12px }
.asked { margin: 0; color: #55606d } .answer { margin: .4rem 0 1rem; font-size: 1.7rem; line-height: 1.25; font-weight: 700 }
pre.answer { font: .85rem/1.5 ui-monospace, monospace; overflow-x: auto } footer { margin-top: 1rem; color: #55606d; font-size: .85rem }
@media (prefers-color-scheme: dark) { body { background: #14171b; color: #e8ebee } main { background: #1d2126; border-color: #39414a }
.asked, footer { color: #a7b1bc } } @media print { body { background: none; padding: 0 } main { border: 0 } }"""


def card(made: Release) -> str:
    """One answer as a page of its own, to share: question, answer, and what it means for the people in the table."""
    said, words = html.escape(made.said()), html.escape(made.asked.words())
    shown = f'<pre class="answer">{said}</pre>' if "\n" in said else f'<p class="answer">{said}</p>'
    about = f"{html.escape(made.question)} · {html.escape(str(made.level))} · {html.escape(made.time[:10])}"
    dataset = made.meaning.get("dataset")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{words}</title><style>{_STYLE}</style></head><body><main><p class=\"asked\">{words}</p>{shown}"
        f"<p>{html.escape(ethics(made))}</p>"
        f"<footer>{html.escape(str(dataset)) + ' · ' if dataset else ''}{about} · optimaldp</footer></main></body></html>\n"
    )


def ethics(made: Release) -> str:
    """What an ethics board asks of one answer, in one paragraph: who is protected, how well, and what is not promised."""
    _, protected, means, reliable = made.sentences()
    return (
        f"This answer was made deliberately uncertain, so that it tells almost nothing about any one person. {protected} {means} "
        f"{_ended(reliable)} It does not hide what is true of people in general: someone who learns from it that a habit is "
        "common may still guess about you, whether or not you were asked."
    )


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
