"""A rehearsal: the same question, the same mechanism and the same referee, on people who were made up. Nothing is read or spent.

The made-up people depend on the question and on how many of them are wanted, never on the table: shares fall from the first
option to the last, numbers crowd around the middle of their range, three in ten people satisfy a condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from optimaldp.asking.releasing import QuestionOrder, ReadyQuestion, prepare
from optimaldp.asking.request import Request
from optimaldp.errors import InputError
from optimaldp.questions.base import Question
from optimaldp.questions.kinds.histogram import Histogram
from optimaldp.questions.number_mechanisms import number_text
from optimaldp.questions.numbers import Crossed, Quantity, Summed
from optimaldp.sampling import SystemBits
from optimaldp.studio.answering import answer_document
from optimaldp.studio.calls import read_fields
from optimaldp.studio.desk import OPTIONS, Desk
from optimaldp.tables import plan_counting
from optimaldp.tables.tally import Condition, Counted, KeyTally, Options, Reading, Tally

_USUAL = 1000  # people, where nobody says how many there are
_MOST = 10_000_000
_MOST_CELLS = 200_000
_HOLDS = 3  # of ten people satisfy a condition


def rehearse(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """One answer about made-up people, with what is true of them. Reads no row and spends nothing."""
    fields = read_fields(body, ("question", "epsilon"), ("delta", "n", *OPTIONS))
    wanted = fields.get("n", _USUAL)
    if type(wanted) is not int or not 1 <= wanted <= _MOST:
        raise InputError("n", wanted, "is not a number of people to make up", f"write a number from 1 to {_MOST}")
    source = desk.source()
    request = desk.checked(fields, source)
    if request.people.levels is not None or isinstance(request.tally, KeyTally) or request.tally.size > _MOST_CELLS:
        rule = "cannot be rehearsed: people with levels of their own, keys and very fine grids are not made up here"
        raise InputError("question", str(request.question), rule, "look at what to expect instead")
    counted = made_up(request.tally, wanted)
    prepared, tables = prepare(request, counted)
    order = QuestionOrder(request, plan_counting(source, request.tally, request.people), source.schema)
    made = ReadyQuestion(order, prepared, tables).draw(SystemBits(), None)
    return answer_document(made) | {"truth": _truth(request, counted), "people": wanted}


def made_up(tally: Tally, people: int) -> Counted:
    """Counts of people who were made up, as many as are wanted.

    >>> made_up(Tally((Condition("smokes"),)), 10).cells
    {0: 3, 1: 7}
    """
    weights = [_weights(reading) for reading in tally.readings]
    shares = [Fraction(_product(cell)) for cell in product(*weights)]
    whole = sum(shares)
    exact = [people * share / whole for share in shares]
    counts = [int(part) for part in exact]
    missing = people - sum(counts)
    for place in sorted(range(len(counts)), key=lambda place: counts[place] - exact[place])[:missing]:
        counts[place] += 1
    return Counted({cell: count for cell, count in enumerate(counts) if count}, tally.shape)


def _weights(reading: Reading) -> list[int]:
    """How the made-up people spread over the values of one reading; nobody is without a value."""
    if isinstance(reading, Condition):
        return [10, 0] if reading.text == "*" else [_HOLDS, 10 - _HOLDS]
    named = reading.size - 1
    if isinstance(reading, Options):
        return [*range(named, 0, -1), 0]
    return [*(min(place + 1, named - place) for place in range(named)), 0]


def _product(weights: Sequence[int]) -> int:
    made = 1
    for weight in weights:
        made *= weight
    return made


def _truth(request: Request, counted: Counted) -> str | None:
    """What is true of the made-up people; of several groups nothing is said."""
    if request.groups is not None:
        return None
    question, counts = request.question, request.question.fold(counted.cells)
    if isinstance(question, Histogram):
        return None  # counts beside counts say less than the intervals
    if isinstance(question, Quantity):
        value = _value(question, counts, request, sum(counted.cells.values()))
        return None if value is None else number_text(value)
    return _answer(question, counts)


def _answer(question: Question, counts: Any) -> str | None:
    answers = question.answers
    return None if answers is None else str(answers[question.truth(counts)])


def _value(question: Quantity, counts: Any, request: Request, people: int) -> Fraction | None:
    if isinstance(question, Summed) and (linear := question.linear(request.setting(people))) is not None:
        return linear.value(question.total(counts))
    if not isinstance(question, Crossed):  # a difference of two numbers
        return None
    below, above = question.sums(counts)
    return above / below if below else None
