"""Checking a request against a table's columns and a ledger's rules, without reading a row or spending anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from optimaldp.asking.request import Request, read_request
from optimaldp.errors import QuestionError
from optimaldp.laws.setting import Aim
from optimaldp.ledger import Ledger, open_ledger
from optimaldp.privacy import Neighbours
from optimaldp.questions.base import Question
from optimaldp.tables import check, open_source
from optimaldp.tables.people import People
from optimaldp.tables.predicates import parse
from optimaldp.tables.tally import EVERY_RECORD, Condition, Keys, Option


def check_request(
    question: Question | str,
    *,
    epsilon: Any,
    delta: Any = 0,
    neighbours: str | Neighbours | None = None,
    unit: str | None = None,
    reduce: str | None = None,
    reduce_order: str | None = None,
    where: str | None = None,
    by: str | None = None,
    groups: Iterable[Option] | None = None,
    public_groups: bool = False,
    aim: str | Aim | None = None,
    personal: bool = False,
    data: Any = None,
    types: Any = None,
    ledger: Any = None,
    part: Any = None,
) -> Request:
    """A request, with every condition in it parsed; of a table, with every column found; of a ledger, with its own rules."""
    people = People(unit, reduce, reduce_order, where, None, "level" if personal else None)
    if ledger is not None:
        people, neighbours = _with_ledger(ledger, people, neighbours, part)
    elif part is not None:
        rule = "means nothing without a ledger that declares it"
        raise QuestionError("part", str(part), rule, "ask without a part, or name the ledger")
    request = read_request(
        question,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours or Neighbours.SUBSTITUTION,
        people=people,
        by=by,
        groups=groups,
        public_groups=public_groups,
        aim=aim,
    )
    _conditions_parse(request)
    if data is not None:
        opened = open_source(data, types=types)
        check(opened, request.tally, replace(request.people, levels=None))
    return request


def _with_ledger(
    ledger: Any, people: People, neighbours: str | Neighbours | None, part: Any
) -> tuple[People, str | Neighbours]:
    if not isinstance(ledger, Ledger):
        with open_ledger(ledger, readonly=True) as book:
            return _with_ledger(book, people, neighbours, part)
    people = replace(people, unit=people.unit or ledger.opening.unit)
    if part is not None:
        own = ledger.part(part)
        people = replace(people, part=(str(own.column), own.value))
    return people, neighbours or ledger.opening.neighbours


def _conditions_parse(request: Request) -> None:
    tally = request.question.tally
    texts = (
        []
        if isinstance(tally, Keys)
        else [r.text for r in tally.readings if isinstance(r, Condition) and r.text != EVERY_RECORD]
    )
    for text in (*texts, *([request.people.where] if request.people.where else [])):
        parse(text)
