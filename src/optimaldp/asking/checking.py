"""Checking a request against a table's columns and a ledger's rules, without reading a row or spending anything."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from optimaldp.asking.ask import Ask, takes_options
from optimaldp.asking.corridor import opened_book
from optimaldp.asking.releasing import open_asked, settled_request
from optimaldp.asking.request import Request
from optimaldp.ledger import Ledger
from optimaldp.questions.base import Question
from optimaldp.tables import plan_counting
from optimaldp.tables.tally import EVERY_RECORD, Condition, KeyTally


@takes_options()
def check_request(
    question: Question | str,
    *,
    data: object = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    personal: bool = False,
    **options: Any,
) -> Request:
    """A request, with every condition in it parsed; of a table, with every column found; of a ledger, with its own rules.

    *personal*: people have their own levels, whose column is not named yet.
    """
    return check_ask(Ask(question, **options), data=data, ledger=ledger, personal=personal)


def check_ask(
    ask: Ask,
    *,
    data: object = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    personal: bool = False,
) -> Request:
    """As :func:`check_request`, of an ask that was written already."""
    if personal:
        ask = replace(ask, levels="level")
    with opened_book(ledger, readonly=True) as book:
        if data is None:
            request = (ask if book is None else ask.completed(book)).request()
            _conditions_parse(request)
            return request
        opened = open_asked(data, [ask], book)
        request = settled_request(ask, opened, book)
        _conditions_parse(request)
        request = request.settled(opened.schema)
        plan_counting(opened, request.tally, replace(request.people, levels=None))
        return request


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
