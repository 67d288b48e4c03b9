"""A question in, one private answer out: the corridor's order for questions, and the function that everybody calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack, overload

from optimaldp.asking.ask import FIELDS, Ask, ReleaseOptions, ReleaseOptionsOfAll, takes_options
from optimaldp.asking.corridor import (
    Clock,
    Losses,
    Order,
    Ready,
    losses_of,
    opened_book,
    outside,
    read_own_level,
    walk,
)
from optimaldp.asking.request import OTHER, Groups, Request, setting_inside
from optimaldp.asking.result import About, Release
from optimaldp.asking.statements import (
    AboutPrepared,
    claimed_optimality,
    guarantee_words,
    meaning_of_answer,
    warn_of_reading,
)
from optimaldp.certify.asked import (
    lost_by,
    require_alike,
    require_counted,
    require_groups_together,
    require_levels_read,
    require_names,
    require_planned,
    require_read,
)
from optimaldp.certify.core.examined import Certified
from optimaldp.certify.core.referee import (
    Promise,
    certify,
    draw,
    draw_together,
    require_draws,
    require_promise,
    require_unused_delta,
)
from optimaldp.errors import NotCertifiedError, QuestionError
from optimaldp.laws.law import Table
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate
from optimaldp.privacy.epsilon import ZERO
from optimaldp.questions.base import Question, as_question
from optimaldp.questions.mechanism import Answer, QuestionMechanism
from optimaldp.results import Given
from optimaldp.sampling import BitSource, SystemBits
from optimaldp.tables import Description, Source, count_checked, open_source, plan_counting, read_description
from optimaldp.tables.description import is_described
from optimaldp.tables.plans import CountingPlan
from optimaldp.tables.schema import Schema
from optimaldp.tables.tally import Counted, KeyTally

if TYPE_CHECKING:
    import os

    from optimaldp.ledger import Ledger
    from optimaldp.ledger.entry import Answer as RecordedAnswer

Listed = list[str] | list[Question | str] | tuple[Question | str, ...]
"""Several questions of which some are texts: what their answers are is not known to readers of types."""
Parts = tuple[tuple[str | None, Certified[QuestionMechanism]], ...]
"""The name of each group, or none, and what answers it."""


# What the answer is follows from the question and from whether there are groups. Of a text it is not known to readers of types.
@overload
def release(
    source: object, question: Question[Given], *, by: None = None, **options: Unpack[ReleaseOptionsOfAll]
) -> Release[Given]: ...


@overload
def release(
    source: object, question: Question[Given], *, by: str | Sequence[str], **options: Unpack[ReleaseOptionsOfAll]
) -> Release[dict[str, Given]]: ...


@overload
def release(
    source: object, question: Sequence[Question[Given]], *, by: None = None, **options: Unpack[ReleaseOptionsOfAll]
) -> list[Release[Given]]: ...


@overload
def release(
    source: object,
    question: Sequence[Question[Given]],
    *,
    by: str | Sequence[str],
    **options: Unpack[ReleaseOptionsOfAll],
) -> list[Release[dict[str, Given]]]: ...


@overload
def release(source: object, question: Question | str, **options: Unpack[ReleaseOptions]) -> Release: ...


@overload
def release(source: object, question: Listed, **options: Unpack[ReleaseOptions]) -> list[Release]: ...


@takes_options()
def release(
    source: object,
    question: Question | str | Sequence[Question | str],
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    answer_after: float | None = None,
    **options: Any,
) -> Release[Any] | list[Release[Any]]:
    """Answer *question* about the table *source* privately.

    **Guarantee.** The answer is (epsilon, delta)-differentially private for the stated neighbours and people, drawn exactly
    from a mechanism that the referee has passed. Nothing else that was computed from the data leaves, not even in an error. With
    *levels* nobody loses more than their own level.

    Parameters
    ----------
    source
        A path, a URL, a data frame, or a description (``NAME.datapackage.json``).
    question
        A question or its text. Several questions in a list are each answered at this level and charged together, all or nothing.
    epsilon, delta
        The privacy level. There is no default epsilon.
    neighbours
        ``"substitution"`` (one record is replaced, the number of people is public) or ``"add-remove"``.
    unit
        The column that identifies a person. Without it, each row is one person.
    reduce, reduce_order
        How the rows of a person become one value: a rule, or a rule for each column, ``{"cost": "sum"}``.
    where
        A condition that filters rows, not people.
    by, groups, public_groups, groups_per_person
        Answer once for every public group of the column *by*, in one spend.
    levels, aim
        A public column with each person's own epsilon, and what the mechanism should be good at.
    part
        Ask and charge the people of one declared part of the *ledger* alone.
    types, delimiter, encoding, description
        How the cells of a file are read: ``types={"cost": "number 1,234.5"}``.
    ledger
        Who pays: the spend is durable before the draw.
    answer_after
        Give the answer that many seconds after the question, so that the time it took tells nothing.

    >>> import pyarrow
    >>> table = pyarrow.table({"smokes": ["yes"] * 10 + ["no"] * 990})
    >>> release(table, "share(smokes = 'yes') >= 0.3", epsilon=1, delta=1e-6)
    Release('no', (1, 1e-06)-DP, substitution, certified)
    """
    listed: Sequence[Any] = question if isinstance(question, (list, tuple)) else [question]
    asks = [Ask(one, **options) for one in listed]
    made = release_each(source, asks, ledger=ledger, answer_after=answer_after)
    return made if listed is question else made[0]


def release_each(
    source: object,
    asks: Sequence[Ask],
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    answer_after: float | None = None,
) -> list[Release]:
    """Release several questions, each with its own options: all are checked, then all or none is charged."""
    clock = None if answer_after is None else Clock(answer_after)
    if not asks:
        raise QuestionError("question", [], "is an empty list", "ask at least one question")
    bits = SystemBits()  # first: a broken generator is refused before anything is read or spent
    with opened_book(ledger) as book:
        for ask in asks if book is None and not is_described(source) else ():
            if ask.description is None and (ask.by is None or ask.groups is not None):
                ask.request()  # what is wrong without a table is said before one is opened
        opened = open_asked(source, asks, book)
        try:
            if book is not None:
                note_description(book, opened)
            made = walk(opened, [order_of(ask, opened, book) for ask in asks], book, bits, watched=clock is None)
            return made if book is None else [replace(one, left=book.remaining()) for one in made]
        except QuestionError:
            clock = None  # refused before anything was read: nothing to hide, and somebody wants to correct it
            raise
        finally:
            if clock is not None:
                clock.wait()  # a failure after reading too: when it comes must not tell more than that it comes


def open_asked(source: object, asks: Sequence[Ask], book: Ledger | None = None) -> Source:
    """The table as the asks say that its cells are read, or as the ledger remembers it: all of them say the same."""
    settings = {} if book is None or is_described(source) else book.opening.settings
    readings = [ask.remembered(settings) for ask in asks]
    if any(one != readings[0] for one in readings):
        remedy = "declare types, delimiter and encoding once for the table"
        raise QuestionError("types", "the questions", "want the table read in different ways", remedy)
    return open_read(source, **readings[0])


def note_description(book: Ledger, opened: Source) -> None:
    """Have the ledger keep by which description the table is read; one that promises something else now is refused."""
    told = opened.description
    if told is None:
        book.note_description(None)
    else:
        said = {"unit": told.unit} if told.says_person else {}
        book.note_description(told.hash, neighbours=told.neighbours, **said)


def open_read(source: object, *, description: object = None, **reading: Any) -> Source:
    """The table, read by types, delimiter and encoding, or by a description that is not the source itself."""
    if description is None:
        return open_source(source, **reading)
    if any(value is not None for value in reading.values()):
        rule = "is what the description says"
        raise QuestionError("types", "types, delimiter or encoding", rule, "leave it out, or change the description")
    told = reviewed(description)
    return told.apply(open_source(source, delimiter=told.delimiter, encoding=told.encoding))


def reviewed(description: object) -> Description:
    """A description, or the file of one; refused while nobody has reviewed it."""
    told = description if isinstance(description, Description) else read_description(str(description))
    told.need_review()
    return told


def order_of(ask: Ask, opened: Source, book: Ledger | None = None) -> QuestionOrder:
    """Read an ask about a table: everything public is settled, and every column and condition is found."""
    request = settled_request(ask, opened, book)
    plan = plan_counting(opened, request.tally, request.people)
    require_planned(plan.asked, (request.tally, request.people))
    warn_of_reading(request, opened.schema, outside())
    return QuestionOrder(request, plan, opened.schema)


def settled_request(ask: Ask, opened: Source, book: Ledger | None = None) -> Request:
    """The request, completed by the ledger, the description and the types of the columns."""
    ask = ask if book is None else ask.completed(book)
    ask = ask.described(opened.description)
    if ask.by is not None and ask.groups is None:
        found = [opened.schema.find(one, field="by") for one in ask.columns_of_groups]
        lists = [column.options or () for _, column in found]
        known: Any = None if () in lists else lists[0] if len(lists) == 1 else lists
        ask = replace(ask, by=[name for name, _ in found], groups=known)
    request = ask.request()
    require_read({name: getattr(ask, name) for name in FIELDS}, request.said())
    if request.groups is not None:
        require_names(request.groups.names, request.said()["groups"])
    if str(request.question) != str(as_question(ask.question)):
        raise NotCertifiedError("What was asked was not read as it was written: question. Nothing was sampled.")
    if opened.description is not None:
        request = replace(request, described=opened.description.published())
    return request.settled(opened.schema) if request.question.asks_the_schema else request


def restored_answer(question: Question, answer: Mapping[str, Any] | object, *, by_group: bool) -> Any:
    """An answer that was read from a ledger or a document, or one for each group, as it was when it was drawn."""
    if by_group and isinstance(answer, Mapping):
        return {name: question.restored(one) for name, one in answer.items()}
    return question.restored(answer)


@dataclass(frozen=True)
class QuestionOrder(Order[Release]):
    """A question about a table, settled."""

    request: Request
    plan: CountingPlan
    schema: Schema

    @property
    def asked(self) -> Request:
        return self.request

    def count(self, opened: Source) -> Counted:
        return count_checked(opened, self.plan)

    def counted_levels(self, counted: Counted) -> tuple[Epsilon, ...]:
        return tuple(read_own_level(text) for text, _ in counted.by_level or ())

    def prepare(self, counted: Counted, weightless: frozenset[Epsilon]) -> ReadyQuestion:
        prepared, tables = prepare(self.request, counted, weightless)
        guarantee_words(self.request)
        claimed_optimality(self.request, prepared.mechanism)

        def tried(made_up: Sequence[Table], bits: BitSource) -> Answer:
            made = ReadyQuestion(self, prepared, tuple(made_up)).draw(bits, None)
            promise = self.request.level, self.request.neighbours, str(prepared.question), prepared.spent
            if (made.level, made.neighbours, made.question, made.spent) != promise:
                raise NotCertifiedError("What would be handed over is not what was promised. Nothing was sampled.")
            return made.answer

        require_draws(tried, [(name, one.mechanism) for name, one in prepared.parts])
        return ReadyQuestion(self, prepared, tables)

    def restored(self, recorded: RecordedAnswer, dataset: str | None) -> Release:
        request = self.request
        # With the options that the column's type lists, so that its document says all that it depends on.
        question = request.question if self.plan.options is None else request.question.with_options(self.plan.options)
        return Release(
            restored_answer(question, recorded.answer, by_group=request.groups is not None),
            question,
            request.level,
            request.neighbours,
            About(dict(recorded.statement or {}), meaning_of_answer(request, dataset), ()),
            approximate(ZERO),
            recorded=True,
        )

    def to_record(self, made: Release) -> tuple[object, object]:
        return made.answer, made.statement


@dataclass(frozen=True)
class Prepared:
    """A request with a certified mechanism for each group: all of it public."""

    request: Request
    question: Question
    parts: Parts
    mechanism: QuestionMechanism
    """That of the first group, whose name and cost are those of all."""
    spent: ApproximateDP
    """What the release costs, without a delta that is not used."""
    losses: Losses = ()
    """With people's own levels: each level as it is written, and what its people lose."""

    def draw(self, tables: Sequence[Table], source: BitSource) -> Answer:
        """The private answer, or one for each group, from the table of each."""
        if self.mechanism.setting.groups:
            answers = draw_together(self.parts[0][1], tables, source)
            return {name: one for (name, _), one in zip(self.parts, answers, strict=True)}
        parts = zip(self.parts, tables, strict=True)
        drawn = {name: draw(certified, table, source) for (name, certified), table in parts}
        return drawn.get(None, drawn)


@dataclass(frozen=True, repr=False)
class ReadyQuestion(Ready[Release]):
    """A prepared question with the tables that it is drawn from, which are private."""

    order: QuestionOrder
    prepared: Prepared
    tables: tuple[Table, ...]

    @property
    def spent(self) -> ApproximateDP:
        return self.prepared.spent

    @property
    def losses(self) -> Losses:
        return self.prepared.losses

    @property
    def mechanisms(self) -> list[QuestionMechanism]:
        return [certified.mechanism for _, certified in self.prepared.parts]

    def draw(self, source: BitSource, dataset: str | None) -> Release:
        prepared, request = self.prepared, self.order.request
        answer = prepared.draw(self.tables, source)
        about = AboutPrepared(prepared, answer, self.order.schema, dataset)
        return Release(answer, prepared.question, request.level, request.neighbours, about, prepared.spent)


def prepare(
    request: Request, counted: Counted, weightless: frozenset[Epsilon] = frozenset()
) -> tuple[Prepared, tuple[Table, ...]]:
    """Choose and certify the mechanism, by public things alone though the people have been counted already; and the tables
    that it is drawn from, which are private.

    *weightless*: the levels of people whose own budget is used up, who are not asked any more.
    """
    question = request.question if counted.options is None else request.question.with_options(counted.options)
    written = [read_own_level(text) for text, _ in counted.by_level or ()]
    require_levels_read((text, own) for (text, _), own in zip(counted.by_level or (), written))
    losses = losses_of(written, request.level.epsilon, weightless)
    require_alike(question, question.unnamed)
    if request.groups is not None:
        parts, tables = _by_group(request, question, counted, request.groups)
    else:
        by_level = _by_level(counted, dict(losses)) if losses else ()
        sizes = tuple((epsilon, sum(cells.values())) for epsilon, cells in by_level)
        setting = request.setting(sum(counted.cells.values()), sizes)
        table = Table(counted.cells, by_level)
        if isinstance(request.tally, KeyTally):  # which keys occur is private, and how many people there are unknown
            setting, table = replace(setting, people=None), Table(counted.keys)  # type: ignore[arg-type]
        parts, tables = ((None, certify(question.unnamed.mechanism(setting))),), (table,)
    require_promise(
        promised(request, question, losses, counted, weightless), [(name, one.mechanism) for name, one in parts]
    )
    public = [None if request.groups is None else one.mechanism.setting.people for _, one in parts]
    _require_counted(request, question, counted, losses, tables, public)
    for (_, one), table in zip(parts, tables):
        one.mechanism.require_public_sizes(table)
    mechanisms = dict.fromkeys(one.mechanism for _, one in parts)
    spent = lost_by(mechanisms, request.level)
    if spent != request.level:
        for mechanism in mechanisms:
            require_unused_delta(mechanism)
    return Prepared(request, question, parts, parts[0][1].mechanism, spent, losses), tables


def written_sizes(counted: Counted) -> dict[Epsilon, int]:
    """How many people have each level as it is written: public where people have levels of their own."""
    sizes: dict[Epsilon, int] = {}
    for text, cells in counted.by_level or ():
        own = read_own_level(text)
        sizes[own] = sizes.get(own, 0) + sum(cells.values())
    return sizes


def _require_counted(
    request: Request,
    question: Question,
    counted: Counted,
    losses: Losses,
    tables: tuple[Table, ...],
    public: Sequence[int | None],
) -> None:
    """Have it confirmed that the tables hold each counted person once; keys are counted by their names alone."""
    if isinstance(request.tally, KeyTally):
        return
    if request.groups is None:
        lost = dict(losses)
        by_level = [(lost[read_own_level(text)], cells) for text, cells in counted.by_level or ()]
        require_counted(counted.cells, tables, by_level=by_level)
        return
    listed: list[Sequence[Any]] = [one.values for one in request.tally.readings[: len(request.groups.columns)]]  # type: ignore[union-attr, misc]
    places = [0] * len(request.groups.values)
    for options, chosen in zip(listed, zip(*request.groups.values)):
        inside = [options.index(value) if value in options else len(options) for value in chosen]
        places = [place * (len(options) + 1) + own for place, own in zip(places, inside)]
    require_counted(counted.cells, tables, groups=places, size=question.cells, public=public)


def promised(
    request: Request, question: Question, losses: Losses, counted: Counted, weightless: frozenset[Epsilon]
) -> Promise:
    """What everyone in the table is promised: from what was asked, not from what was chosen."""
    groups, personal, several = request.groups, bool(losses), request.ask.groups_per_person
    n_is_public = request.neighbours is Neighbours.SUBSTITUTION and not isinstance(request.tally, KeyTally)
    return Promise(
        request.level,
        request.neighbours,
        str(question.unnamed),
        dict(losses) if personal else None,
        None if groups is None else groups.names,
        request.public_groups if groups is None else groups.public,
        written_sizes(counted) if personal else None,
        1 if groups is None or several is None else min(several, len({*groups.lists[0]} - {OTHER})),
        weightless,
        sum(counted.cells.values()) if n_is_public else None,
        request.aim,
    )


def _by_group(
    request: Request, question: Question, counted: Counted, groups: Groups
) -> tuple[Parts, tuple[Table, ...]]:
    own = question.tally
    assert not isinstance(own, KeyTally)
    inside: dict[int, dict[int, int]] = {}
    for cell, people in counted.cells.items():
        group, place = divmod(cell, own.size)
        inside.setdefault(group, {})[place] = people
    made: list[tuple[str | None, Certified[QuestionMechanism]]] = []
    tables: list[Table] = []
    for value, name in zip(groups.values, groups.names):
        table = Table(inside.get(groups.place(value), {}))
        setting = setting_inside(request, table.people)
        require_groups_together(
            request.level,
            request.neighbours,
            setting,
            groups=len(groups.values),
            public=groups.public,
            per_person=groups.per_person,
        )
        made.append((name, certify(question.unnamed.mechanism(setting))))
        tables.append(table)
    return tuple(made), tuple(tables)


def _by_level(counted: Counted, losses: Mapping[Epsilon, Epsilon]) -> tuple[tuple[Epsilon, Mapping[int, int]], ...]:
    """The people by what they lose, in rising order. The levels are public, the counts are not."""
    merged: dict[Epsilon, dict[int, int]] = {}
    for text, cells in counted.by_level or ():
        inside = merged.setdefault(losses[read_own_level(text)], {})
        for cell, people in cells.items():
            inside[cell] = inside.get(cell, 0) + people
    return tuple(sorted(merged.items(), key=lambda item: item[0]))
