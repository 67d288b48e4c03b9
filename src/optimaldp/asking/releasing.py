"""The one place where table, mechanism, referee, ledger and sampler meet: a question in, one private answer out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

from optimaldp.asking.cautions import cautions
from optimaldp.asking.draft import Asked, Draft, DraftOptions, Number
from optimaldp.asking.preparing import Prepared, counted_levels, personal_costs, prepare, withhold_details
from optimaldp.asking.repeats import warn_of_paid_repeats
from optimaldp.asking.request import Request
from optimaldp.asking.result import Release
from optimaldp.asking.statements import details_of, meaning_of_answer, statement
from optimaldp.asking.waiting import Clock
from optimaldp.errors import QuestionError
from optimaldp.laws.setting import AimLike, Table
from optimaldp.privacy import Epsilon, Neighbours, approximate
from optimaldp.privacy.epsilon import ZERO
from optimaldp.questions.base import Question
from optimaldp.sampling import BitSource, SystemBits
from optimaldp.tables import Source, count_checked, open_source, plan_counting
from optimaldp.tables.plans import CountingPlan
from optimaldp.tables.tally import Counted, Option

if TYPE_CHECKING:
    from optimaldp.ledger import Ledger

Listed = list[Question] | list[str] | list[Question | str] | tuple[Question | str, ...]


class ReleaseOptions(DraftOptions, total=False):
    """The options of :func:`release`, for readers of types."""

    ledger: Ledger | str | os.PathLike[str] | None
    types: Mapping[str, str] | None
    delimiter: str | None
    encoding: str | None
    answer_after: float | None


@overload
def release(source: object, question: Asked, **options: Unpack[ReleaseOptions]) -> Release: ...


@overload
def release(source: object, question: Listed, **options: Unpack[ReleaseOptions]) -> list[Release]: ...


def release(
    source: object,
    question: Asked | Listed,
    *,
    epsilon: Number,
    delta: Number = 0,
    neighbours: str | Neighbours | None = None,
    unit: str | None = None,
    reduce: str | None = None,
    reduce_order: str | None = None,
    where: str | None = None,
    by: str | None = None,
    groups: Iterable[Option] | None = None,
    public_groups: bool = False,
    levels: str | None = None,
    aim: AimLike | None = None,
    part: str | int | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    types: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    answer_after: float | None = None,
) -> Release | list[Release]:
    """Answer *question* about the table *source* privately.

    **Guarantee.** The answer is (epsilon, delta)-differentially private for the stated neighbours and people, drawn exactly,
    from a mechanism that the referee has passed; nothing else that was computed from the data leaves, not even in an error. With
    *levels* (a column with each person's own epsilon, public) nobody loses more than their own level.

    The order: check the question and the level, count, certify, sample. With a *ledger* the spend is durable before the draw, and
    *part* (a value of the column by which the ledger declares disjoint parts) asks and charges the people of that part alone.
    Several questions in a list are each answered at this level and charged together, all or nothing. *by* and *groups* answer
    once for every public group, in one spend. *types* says how the cells of a CSV are read (``{"cost": "number 1,234.5"}``),
    *delimiter* and *encoding* what its first line cannot. *answer_after* gives the answer that many seconds after the
    question, so that the time it took tells nothing.

    >>> import pyarrow
    >>> table = pyarrow.table({"smokes": ["yes"] * 10 + ["no"] * 990})
    >>> release(table, "share(smokes = 'yes') >= 0.3", epsilon=1, delta=1e-6)
    Release('no', (1, 1e-06)-DP, substitution, certified)
    """
    options: DraftOptions = {
        "epsilon": epsilon,
        "delta": delta,
        "neighbours": neighbours,
        "unit": unit,
        "reduce": reduce,
        "reduce_order": reduce_order,
        "where": where,
        "by": by,
        "groups": None if groups is None else list(groups),
        "public_groups": public_groups,
        "levels": levels,
        "aim": aim,
        "part": part,
    }
    asked = [question] if isinstance(question, (Question, str)) else question
    made = release_each(
        source,
        [Draft(one, **options) for one in asked],
        ledger=ledger,
        types=types,
        delimiter=delimiter,
        encoding=encoding,
        answer_after=answer_after,
    )
    return made[0] if isinstance(question, (Question, str)) else made


def release_each(
    source: object,
    drafts: Sequence[Draft],
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    types: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    answer_after: float | None = None,
) -> list[Release]:
    """Release several questions, each with its own options: all are checked, then all or none is charged."""
    clock = None if answer_after is None else Clock(answer_after)
    if not drafts:
        raise QuestionError("question", [], "is an empty list", "ask at least one question")
    bits = SystemBits()  # first: a broken generator is refused before anything is read or spent
    requests = [draft.request() for draft in drafts] if ledger is None else []
    opened = open_source(source, types=types, delimiter=delimiter, encoding=encoding)
    try:
        if ledger is not None:
            return _with_ledger(opened, drafts, ledger, bits)
        requests = [one.settled(opened.schema) if one.question.asks_the_schema else one for one in requests]
        plans = [plan_counting(opened, request.tally, request.people) for request in requests]
        made = []
        for request, plan in zip(requests, plans):
            prepared, tables = withhold_details(lambda: prepare(request, count_checked(opened, plan)))  # noqa: B023
            answer = withhold_details(lambda: prepared.draw(tables, bits))  # noqa: B023
            made.append(_made(answer, opened, prepared))
        return made
    except QuestionError:
        clock = None  # refused before anything was read: nothing to hide, and somebody wants to correct it
        raise
    finally:
        if clock is not None:
            clock.wait()  # a failure after reading too: when it comes must not tell more than that it comes


def _made(answer: object, opened: Source, prepared: Prepared, dataset: str | None = None) -> Release:
    """What is handed over. What it says about itself is written when somebody looks at it."""
    request, setting = prepared.request, prepared.mechanism.setting
    return Release(
        answer,
        prepared.question,
        request.level,
        request.neighbours,
        lambda: statement(prepared) | details_of(answer),
        lambda: meaning_of_answer(request, dataset),
        prepared.spent,
        cautioned=lambda: cautions(request, opened.schema, setting.people, setting.levels),
    )


def _with_ledger(
    opened: Source, drafts: Sequence[Draft], ledger: Ledger | str | os.PathLike[str], bits: BitSource
) -> list[Release]:
    """Spend first, then draw: a crash may lose budget, never privacy."""
    from optimaldp.ledger import Ledger, open_ledger

    if isinstance(ledger, Ledger):
        return _spend_and_draw(opened, drafts, ledger, bits)
    with open_ledger(ledger) as book:
        return _spend_and_draw(opened, drafts, book, bits)


def _spend_and_draw(opened: Source, drafts: Sequence[Draft], book: Ledger, bits: BitSource) -> list[Release]:
    asked = [draft.completed(book).request() for draft in drafts]
    requests = [one.settled(opened.schema) if one.question.asks_the_schema else one for one in asked]
    plans = [plan_counting(opened, request.tally, request.people) for request in requests]
    version = opened.version()
    known = [_recorded(book, request, plan, version) for request, plan in zip(requests, plans)]
    fresh = [(request, plan) for request, plan, recorded in zip(requests, plans, known) if recorded is None]
    released = iter(_paid(opened, fresh, book, version, bits) if fresh else [])
    return [recorded if recorded is not None else next(released) for recorded in known]


def _paid(
    opened: Source,
    fresh: Sequence[tuple[Request, CountingPlan]],
    book: Ledger,
    version: str | None,
    bits: BitSource,
) -> list[Release]:
    from optimaldp.ledger import Charge

    requests = [request for request, _ in fresh]
    agreed = {"neighbours": requests[0].neighbours, "unit": requests[0].people.unit}
    book.require_together([Charge(**_charge(request)) for request in requests], **agreed)
    warn_of_paid_repeats(book, requests)
    prepared = [withhold_details(lambda: _prepared(opened, one, requests, book)) for one in fresh]  # noqa: B023
    charges = [
        Charge(
            **_charge(one.request)
            | {"used": one.spent, "personal": personal_costs(one, weightless), "data_version": version},
        )
        for one, _, weightless in prepared
    ]
    reservations = book.reserve_together(charges, **agreed)
    answers = [withhold_details(lambda: one.draw(tables, bits)) for one, tables, _ in prepared]  # noqa: B023
    made = [_made(answer, opened, one, book.opening.dataset) for answer, (one, _, _) in zip(answers, prepared)]
    book.record_together([(held, one.answer, one.statement) for held, one in zip(reservations, made)])
    return made


def _prepared(
    opened: Source, checked: tuple[Request, CountingPlan], together: Sequence[Request], book: Ledger
) -> tuple[Prepared, tuple[Table, ...], frozenset[Epsilon]]:
    request, plan = checked
    counted = count_checked(opened, plan)
    weightless = _weightless(book, request, together, counted)
    return *prepare(request, counted, weightless), weightless


def _weightless(book: Ledger, request: Request, together: Sequence[Request], counted: Counted) -> frozenset[Epsilon]:
    """The levels whose people have too little budget of their own left: they are not asked, and the others still are."""
    column = request.people.levels
    if column is None:
        return frozenset()
    # All or none of the questions of this column: what is asked together is charged together.
    levels = [one.level for one in together if one.people.levels == column]
    askable = book.askable(column, counted_levels(counted), level=levels, part=_part_text(request))
    return frozenset(own for own, may in askable.items() if not may)


def _part_text(request: Request) -> Any:
    return None if request.people.part is None else request.people.part[1]


def _charge(request: Request) -> dict[str, Any]:
    return {
        "question": request.text,
        "level": request.level,
        "part": _part_text(request),
        "levels": request.people.levels,
    }


def _recorded(book: Ledger, request: Request, plan: CountingPlan, version: str | None) -> Release | None:
    """The answer that the ledger already holds for this very question, level, people and data: it costs nothing."""
    same = book.opening.neighbours is request.neighbours and book.opening.unit == request.people.unit
    if not same or version is None:
        return None
    entry = book.answered(request.text, request.level, version, part=_part_text(request))
    if entry is None:
        return None
    # With the options that the column's type lists, so that its document says all that it depends on.
    question = request.question if plan.options is None else request.question.with_options(plan.options)
    return Release(
        question.restored(entry.answer) if request.groups is None else entry.answer,
        question,
        request.level,
        request.neighbours,
        lambda: dict(entry.statement or {}),
        lambda: meaning_of_answer(request, book.opening.dataset),
        approximate(ZERO),
        recorded=True,
    )
