"""Checking a request against a table's columns and a ledger's rules, without reading a row or spending anything."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

from optimaldp.asking.draft import Draft, DraftOptions
from optimaldp.asking.request import Request
from optimaldp.ledger import Ledger, open_ledger
from optimaldp.questions.base import Question
from optimaldp.tables import open_source, plan_counting
from optimaldp.tables.tally import EVERY_RECORD, Condition, KeyTally


def check_request(
    question: Question | str,
    *,
    data: object = None,
    types: Mapping[str, str] | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    personal: bool = False,
    **options: Unpack[DraftOptions],
) -> Request:
    """A request, with every condition in it parsed; of a table, with every column found; of a ledger, with its own rules.

    *personal*: people have their own levels, whose column is not named yet.
    """
    draft = Draft(question, **options)
    if personal:
        draft = replace(draft, levels="level")
    draft = _completed(draft, ledger)
    request = draft.request()
    _conditions_parse(request)
    if data is not None:
        opened = open_source(data, types=types)
        request = request.settled(opened.schema)
        plan_counting(opened, request.tally, replace(request.people, levels=None))
    return request


def _completed(draft: Draft, ledger: Ledger | str | os.PathLike[str] | None) -> Draft:
    if ledger is None or isinstance(ledger, Ledger):
        return draft if ledger is None else draft.completed(ledger)
    with open_ledger(ledger, readonly=True) as book:
        return draft.completed(book)


def _conditions_parse(request: Request) -> None:
    from optimaldp.tables.grammar import parse  # with sqlglot

    tally = request.question.tally
    texts = (
        []
        if isinstance(tally, KeyTally)
        else [r.text for r in tally.readings if isinstance(r, Condition) and r.text != EVERY_RECORD]
    )
    for text in (*texts, *([request.people.where] if request.people.where else [])):
        parse(text)
