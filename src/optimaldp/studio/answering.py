"""A released answer as the pages show it: in words, as bars with intervals, as a cross table, as a card to share."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from optimaldp.privacy import ApproximateDP
from optimaldp.privacy.numbers import fraction_text
from optimaldp.studio.pages import asset

if TYPE_CHECKING:
    from optimaldp.asking.result import Release
    from optimaldp.histograms.margins import CrossTable

_MOST_CELLS = 2000  # a larger cross table is downloaded, not drawn


def answer_document(made: Release) -> dict[str, Any]:
    """A release as the page shows it, and whole for its download."""
    return {
        "document": made.to_document(),
        "answer": made.answer,
        "words": made.words(),
        "said": made.said(),
        "bars": bars(made),
        "table": table_document(made.crosstab()) if made.crossed else None,
        "level": str(made.level),
        "recorded": made.recorded,
        "spent": None if made.recorded else cost_words(made.spent or made.level),
        "sentences": made.sentences(),
        "proof": [[name.replace("_", " "), text] for name, text in made.proof() if text],
        "warnings": list(made.warnings),
        "card": card(made),
    }


def cost_words(level: ApproximateDP) -> str:
    """A level as the price of an answer.

    >>> from optimaldp.privacy import level
    >>> cost_words(level(0.5)), cost_words(level(1, 1e-6))
    ('ε = 0.5', 'ε = 1, δ = 1e-06')
    """
    return f"ε = {level.epsilon}" + (f", δ = {fraction_text(level.delta)}" if level.delta else "")


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


def card(made: Release) -> str:
    """One answer as a page of its own, to share: question, answer, and what it means for the people in the table."""
    dataset = made.meaning.get("dataset")
    about = [*([dataset] if dataset else []), made.question, cost_words(made.level), made.time[:10], "optimaldp"]
    parts = {"words": made.words(), "ethics": ethics(made), "about": " · ".join(map(str, about))}
    page = asset("card.html")
    for name, text in parts.items():
        page = page.replace("{{" + name + "}}", html.escape(text))
    shown = made.crosstab()._repr_html_() if made.crossed else f'<p class="answer">{html.escape(made.said())}</p>'
    return page.replace("{{answer}}", shown)


def ethics(made: Release) -> str:
    """What an ethics board asks of one answer, in one paragraph: who is protected, how well, and what is not promised."""
    (_, protected, means), reliable = made.sentences()[:3], _ended(made.statement["reliable"])
    return (
        f"This answer was made deliberately uncertain, so that it tells almost nothing about any one person. {protected} {means} "
        f"{reliable} It does not hide what is true of people in general: someone who learns from it that a habit is "
        "common may still guess about you, whether or not you were asked."
    )


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
