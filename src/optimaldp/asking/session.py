"""A table that is opened with a budget: ask, preview, see what remains and what was asked."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from optimaldp.asking.ask import READING_FIELDS, Ask, AskOptions, AskOptionsOfAll, takes_options
from optimaldp.asking.preview_result import Preview
from optimaldp.asking.previewing import preview_ask
from optimaldp.asking.releasing import Listed, open_read, release_each
from optimaldp.asking.result import Release
from optimaldp.errors import InputError
from optimaldp.ledger import Budget, History, Ledger, Remaining, open_ledger
from optimaldp.ledger.ledger import AS_STORED
from optimaldp.ledger.opening import is_server, ledger_exists
from optimaldp.ledger.people import Part, read_parts
from optimaldp.questions.base import Question
from optimaldp.results import Given
from optimaldp.tables import Source, plan_counting
from optimaldp.tables.tally import EVERY_RECORD, Condition, People, Tally

if TYPE_CHECKING:
    from optimaldp.ledger.account import NamedGroup, NamedPart
    from optimaldp.ledger.composition import Rule
    from optimaldp.privacy import Neighbours


class PaidOptionsOfAll(AskOptionsOfAll, total=False):
    """The options of :meth:`OpenTable.ask` but *by*, for readers of types."""

    answer_after: float | None


class PaidOptions(PaidOptionsOfAll, total=False):
    """All options of :meth:`OpenTable.ask`."""

    by: str | Sequence[str] | None


@dataclass(frozen=True, repr=False)
class OpenTable:
    """A table whose answers are paid from a budget. Get one from :func:`open_table` (``odp.open``)."""

    source: Any = field(compare=False)
    ledger: Ledger
    description: str
    """What the source is, in public words."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How its cells are read: types, delimiter, encoding, description."""

    @overload
    def ask(
        self, question: Question[Given], *, by: None = None, **options: Unpack[PaidOptionsOfAll]
    ) -> Release[Given]: ...

    @overload
    def ask(
        self, question: Question[Given], *, by: str | Sequence[str], **options: Unpack[PaidOptionsOfAll]
    ) -> Release[dict[str, Given]]: ...

    @overload
    def ask(
        self, question: Sequence[Question[Given]], *, by: None = None, **options: Unpack[PaidOptionsOfAll]
    ) -> list[Release[Given]]: ...

    @overload
    def ask(
        self, question: Sequence[Question[Given]], *, by: str | Sequence[str], **options: Unpack[PaidOptionsOfAll]
    ) -> list[Release[dict[str, Given]]]: ...

    @overload
    def ask(self, question: Question | str, **options: Unpack[PaidOptions]) -> Release: ...

    @overload
    def ask(self, question: Listed, **options: Unpack[PaidOptions]) -> list[Release]: ...

    @takes_options()
    def ask(
        self, question: Question | str | Sequence[Question | str], *, answer_after: float | None = None, **options: Any
    ) -> Release[Any] | list[Release[Any]]:
        """Answer *question* privately and pay for it.

        **Guarantee.** The spend is durable before anything is sampled, and everything that was asked of this ledger, in whatever
        process, keeps the budget together. The same question at the same level on unchanged data gives the recorded
        answer at no cost. The options are those of :func:`~optimaldp.asking.releasing.release`; the ledger remembers the unit,
        the neighbours and how the cells are read. A refusal (:class:`~optimaldp.errors.BudgetError`) spends and samples nothing.
        """
        listed: Sequence[Any] = question if isinstance(question, (list, tuple)) else [question]
        asks = [self.asked(one, **options) for one in listed]
        made = release_each(self.source, asks, ledger=self.ledger, answer_after=answer_after)
        return made if listed is question else made[0]

    @overload
    async def ask_async(
        self, question: Question[Given], *, by: None = None, **options: Unpack[PaidOptionsOfAll]
    ) -> Release[Given]: ...

    @overload
    async def ask_async(self, question: Question | str, **options: Unpack[PaidOptions]) -> Release: ...

    @overload
    async def ask_async(self, question: Listed, **options: Unpack[PaidOptions]) -> list[Release]: ...

    @takes_options()
    async def ask_async(
        self, question: Question | str | Sequence[Question | str], **options: Any
    ) -> Release[Any] | list[Release[Any]]:
        """Await :meth:`ask`: the question is answered in a thread, and the event loop goes on meanwhile.

        **Guarantee.** That of :meth:`ask`. Cancelling the wait does not stop the question: what was charged stays charged, and
        the recorded answer is there when the question is asked again.
        """
        ask: Callable[..., Release[Any] | list[Release[Any]]] = self.ask
        return await asyncio.to_thread(ask, question, **options)

    def asked(self, question: Question | str, **options: Any) -> Ask:
        """A question with its options, read as this table is."""
        ask = Ask(question, **options)
        if ask.description is None:  # named when the table was opened
            ask = replace(ask, description=self.reading.get("description"))
        return replace(ask, **ask.remembered(self.reading))

    @takes_options()
    def preview(
        self,
        question: Question | str,
        *,
        n: int | None = None,
        margins: Sequence[int] | None = None,
        level_sizes: Mapping[Any, int] | None = None,
        **options: Unpack[AskOptions],
    ) -> Preview:
        """How often the answer would be wrong, by margin: public, reads no data and spends nothing.

        The options are those of :meth:`ask`; the ledger's unit and neighbours hold here too.
        """
        ask = self.asked(question, **options).completed(self.ledger)
        return preview_ask(ask, n=n, margins=margins, level_sizes=level_sizes)

    @property
    def remaining(self) -> Remaining:
        """What is left of the budget for everybody."""
        return self.ledger.remaining()

    def remaining_of(self, *, part: NamedPart | None = None, group: NamedGroup | None = None) -> Remaining:
        """What is left for the people of one part, or of one level group: ``group=("trust", 0.1)``."""
        return self.ledger.remaining(part=part, group=group)

    def history(self) -> History:
        """Questions, levels, answers, times and statements, in order."""
        return self.ledger.history()

    def close(self) -> None:
        """Let go of the ledger."""
        self.ledger.close()

    def __enter__(self) -> OpenTable:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        opening = self.ledger.opening
        return f"OpenTable({self.description}, {opening.dataset!r}, {self.remaining!r}, {opening.neighbours})"

    def _repr_html_(self) -> str:
        return self.remaining._repr_html_() + self.history()._repr_html_()


def open_table(
    source: object,
    *,
    ledger: str | os.PathLike[str] | None = None,
    budget: Budget | None = None,
    dataset: str | None = None,
    neighbours: str | Neighbours | None = None,
    unit: str | None = AS_STORED,
    composition: str | Rule | None = None,
    parts: Mapping[str, Sequence[str | int]] | None = None,
    unit_has_one_part: bool | None = None,
    groups: Mapping[str, Mapping[Any, Budget]] | None = None,
    types: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    description: str | os.PathLike[str] | None = None,
) -> OpenTable:
    """Open *source* for questions that are paid from *ledger* (a file, or ``postgresql://host/database?ledger=name``).

    The first time, *budget* is needed and the ledger is made; *dataset* is the steward's name for the data (the ledger's own
    name if it is left out). Later the ledger remembers everything, and what is given must agree with it. *parts* declares
    disjoint parts by a column, ``{"region": ["north", "south"]}``: the column is public, and nobody changes theirs (with a
    *unit* say *unit_has_one_part* too). *groups* are budgets of people with a level of their own, ``{"trust": {0.1:
    Budget(0.5)}}``. *types* (``{"cost": "number 1,234.5"}``), *delimiter*, *encoding* and *description* say how the cells of a
    file are read. *neighbours* says what one person can change, as in :func:`~optimaldp.release`, and *composition* how spends
    add up (:class:`optimaldp.ledger.Optimal` for many small ones).

    >>> import pathlib, tempfile, pyarrow
    >>> survey = pyarrow.table({"smokes": ["yes"] * 10 + ["no"] * 990})
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "survey.ledger"
    >>> table = open_table(survey, budget=Budget(epsilon=3, delta=1e-6), ledger=path)
    >>> table.ask("share(smokes = 'yes') >= 0.3", epsilon=1, delta=1e-7)
    Release('no', (1, 1e-07)-DP, substitution, certified)
    >>> table.remaining
    Remaining(epsilon 2, delta 9e-07; 1 of 3 spent in 1 entry)
    """
    if ledger is None:
        raise InputError("ledger", None, "is missing", "name a file that keeps the budget: ledger='survey.ledger'")
    said = {"types": types, "delimiter": delimiter, "encoding": encoding, "description": description}
    reading = {name: value for name, value in said.items() if value is not None}
    opened = open_read(source, types=types, delimiter=delimiter, encoding=encoding, description=description)
    told = opened.description
    if told is not None:
        ask = Ask("", 0, neighbours=neighbours, unit=None if unit is AS_STORED else unit).described(told)
        neighbours = None if ask.neighbours is None else ask.neighbours
        unit = ask.unit if told.says_person else unit
        reading = {"description": told.hash}
    declared = None if parts is None else read_parts(parts)
    _check_parts(declared or (), opened)
    if budget is not None and dataset is None and not ledger_exists(ledger):
        dataset = _name_of(ledger)
    book = open_ledger(
        ledger,
        dataset=dataset,
        budget=budget,
        neighbours=neighbours,
        unit=unit,
        composition=composition,
        parts=declared,
        unit_has_one_part=unit_has_one_part,
        groups=groups,
        settings=reading or None,
    )
    remembered = {} if told else {name: book.opening.settings.get(name) for name in READING_FIELDS}
    own = {"description": description} if told else reading
    # The source as it was given: it is opened again for every question, so that changed data has a new version.
    return OpenTable(source, book, opened.describe(), {k: v for k, v in (remembered | own).items() if v is not None})


def _check_parts(parts: tuple[Part, ...], opened: Source) -> None:
    """Whether the table has the column of the parts, before a ledger remembers it for ever."""
    for part in parts:
        plan_counting(opened, Tally((Condition(EVERY_RECORD),)), People(part=(str(part.column), part.value)))


def _name_of(ledger: str | os.PathLike[str]) -> str:
    return str(ledger).rpartition("ledger=")[2] if is_server(ledger) else Path(ledger).stem
