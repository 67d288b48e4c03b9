"""The steward's table with its ledger: the only part of the studio behind which there is data."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp.asking.ask import FIELDS, READING_FIELDS, from_json, meaning_of
from optimaldp.errors import BudgetError, InputError, QuestionError

if TYPE_CHECKING:
    from optimaldp.asking.ask import Ask
    from optimaldp.asking.request import Request
    from optimaldp.asking.session import OpenTable
    from optimaldp.ledger import Charge, Remaining
    from optimaldp.tables import Description, Source
    from optimaldp.tables.schema import ColumnType
    from optimaldp.tables.tally import Edge

OPTIONS = tuple(name for name in FIELDS if name not in ("question", "epsilon") and not meaning_of(name).of_table)
"""What a question may say here; what is said of the table, the ledger remembers."""
_NO_DATA = "choose a file on the Ask page, or start it with optimaldp studio --data survey.csv --ledger survey.ledger"
_NO_LEDGER = "answer the three questions of the start page"


class Desk:
    """One table with its budget, opened with the first request and kept."""

    def __init__(
        self,
        data: str | None = None,
        ledger: str | None = None,
        kept: bool = True,
        folder: str | None = None,
        name: str | None = None,
        number: int = 0,
        description: str | None = None,
        said: Mapping[str, Any] | None = None,
    ) -> None:
        self._description = description
        self.said = dict(said or {})
        self.data, self._location, self.kept, self.number = data, ledger, kept, number
        self.folder = None if folder is None else Path(folder)
        self.name = name
        self._opened: OpenTable | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is a ledger; before the start page was answered there is none."""
        from optimaldp.ledger.opening import ledger_exists

        return self._opened is not None or (self._location is not None and ledger_exists(self._location))

    @property
    def ledger_location(self) -> str:
        return str(self._location)

    @property
    def beside(self) -> Path:
        """Where the start page writes the description: beside the ledger; of a ledger on a server, where the studio runs."""
        from optimaldp.ledger.opening import is_server

        location = self.ledger_location
        name = location.rpartition("ledger=")[2] if is_server(location) else location
        return Path(name).with_suffix(".datapackage.json")

    def told(self) -> Description | None:
        """The description that was named with the table, or in its place."""
        return None if self.data is None else told_by(self.data, self._description)

    def source(self) -> Source:
        """The table, read as its ledger remembers; before there is one, as was said at the start."""
        from optimaldp.asking.releasing import open_read

        if self.is_open:
            return open_read(self._required(), **self.table.reading)
        said = {name: self.said[name] for name in READING_FIELDS if name in self.said}
        return open_read(self._required(), **said, description=self._description)

    def words(self, source: Source) -> str:
        """What the table is, in public words."""
        return source.describe().replace(self._required(), self.name or self._required())

    @property
    def table(self) -> OpenTable:
        if self._opened is None:
            from optimaldp.asking.session import open_table

            data = self._required()
            if not self.is_open:
                raise InputError("data", self.name or data, "is not opened yet", _NO_LEDGER)
            self._opened = open_table(data, ledger=self._location, description=self._described())
        return self._opened

    def _described(self) -> str | None:
        """The description to read the table by: the one that was named, or the one that the start page wrote."""
        from optimaldp.ledger import open_ledger

        if self._description is not None or self.told() is not None:
            return self._description
        with contextlib.closing(open_ledger(self.ledger_location, readonly=True)) as book:
            known = book.description
        return str(self.beside) if known is not None and self.beside.exists() else None

    def close(self) -> None:
        """Let go of the ledger."""
        if self._opened is not None:
            self._opened.close()

    def ask(self, fields: Mapping[str, Any]) -> Ask:
        """What a form says, as it was written, of this table."""
        return from_json(dict(fields) | dict(self.table.reading), remedy="correct the field", keys=False)

    def checked(self, fields: Mapping[str, Any], source: Source) -> Request:
        """The request, its conditions and columns checked against the schema; listed options filled in."""
        from optimaldp.asking.checking import check_ask
        from optimaldp.tables import plan_counting

        request = check_ask(self.ask(fields), ledger=self.table.ledger, data=self._required())
        plan_counting(source, request.tally, request.people)
        column = getattr(request.question, "column", None)
        listed = source.schema[column].options if column is not None and request.question.answers is None else None
        return request if listed is None else replace(request, question=request.question.with_options(listed))

    def is_recorded(self, request: Request, version: str | None) -> bool:
        """Whether the ledger holds the answer, so that asking again costs nothing."""
        from optimaldp.asking.corridor import charge_of

        return self.table.ledger.answered_charge(charge_of(request, data_version=version)) is not None

    def refused(self, charges: Sequence[Charge]) -> str | None:
        """Why the budget does not cover these together; ``None`` if it does."""
        try:
            self.table.ledger.require_together(charges)
        except BudgetError as error:
            return f"{capital(str(error)).rstrip('.')}."
        return None

    def book(self) -> dict[str, Any]:
        """The ledger as its steward may see it."""
        table = self.table
        opening, remaining = table.ledger.opening, table.remaining
        return {
            "kept": self.kept,
            "dataset": opening.dataset,
            "neighbours": table.ledger.neighbours_words,
            "unit": opening.unit,
            "parts": [str(part) for part in opening.parts],
            "limited": not opening.budget.unlimited,
            "remaining": remaining.to_document(),
            "words": left_words(remaining),
            "share": _share(remaining),
            "history": table.history().to_document()["history"],
        }

    def _required(self) -> str:
        if self.data is None:
            raise InputError("data", None, "was not given to this studio", _NO_DATA)
        return self.data


def told_by(data: str, description: str | None) -> Description | None:
    """The description of a table: named beside it, or in its place."""
    from optimaldp.tables.description import is_description, read_description

    path = description or (data if is_description(data) else None)
    if path is None:
        return None
    told = read_description(path)
    told.need_review()
    return told


def column_document(name: str, kind: ColumnType) -> dict[str, Any]:
    """A column as a form needs it; *open* cells are read as the question says, as in a CSV without declared types."""
    unread = kind.cell is not None and kind.cell.meaning == "open"
    reading = "read as you ask" if unread else kind.words
    listed = kind.options and list(kind.options)
    low, high, step = (None,) * 3 if kind.field is None else (kind.field.low, kind.field.high, kind.field.step)
    ends = {
        name: None if end is None else _end_text(end) for name, end in (("low", low), ("high", high), ("step", step))
    }
    own = {"name": name, "written": _written(name), "kind": kind.kind, "open": unread, "words": reading}
    return own | {"options": listed, **ends}


def _written(name: str) -> str:
    """The name as a question writes it: in quotes where it would be read as a word of SQL, such as ``alter`` or ``case``."""
    from optimaldp.questions.literals import write_column
    from optimaldp.tables.grammar import parse

    plain = write_column(name)
    if plain.startswith('"'):
        return plain
    try:
        parse(f"({plain}) > 0")
        read = parse(f"{plain} IS NULL")
    except QuestionError:
        return f'"{name}"'
    return plain if (read.key, read.this.key) == ("is", "column") else f'"{name}"'


def _end_text(end: Edge) -> str:
    from optimaldp.privacy.numbers import fraction_text

    return fraction_text(end) if isinstance(end, Fraction) else str(end)


def left_words(remaining: Remaining) -> str:
    """What is left of a budget, as a steward says it.

    >>> from optimaldp.ledger.history import Remaining
    >>> from optimaldp.ledger import Budget
    >>> from optimaldp.privacy import Epsilon
    >>> from optimaldp.privacy.levels import Bound
    >>> left_words(Remaining(Budget(epsilon=3), Bound(Epsilon.read("0.5"), Fraction(0)), 1, "basic"))
    'ε = 2.5 of 3 left after 1 question'
    """
    from optimaldp.ledger.account import remaining_words
    from optimaldp.ledger.budget import readable
    from optimaldp.privacy.numbers import fraction_text

    asked = f"{remaining.entries} question{'' if remaining.entries == 1 else 's'}"
    if remaining.budget.unlimited:
        return f"No limit; ε = {readable(remaining.spent.epsilon)} spent on {asked}"
    delta = (
        f" (δ = {fraction_text(remaining.delta)} of {fraction_text(remaining.budget.delta)})"
        if remaining.budget.delta
        else ""
    )
    left = remaining_words(remaining.budget.epsilon, remaining.spent.epsilon)
    return f"ε = {left} of {readable(remaining.budget.epsilon)} left{delta} after {asked}"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _share(remaining: Remaining) -> float | None:
    """How much of epsilon is spent, to draw a gauge with; ``None`` without a limit."""
    if remaining.budget.unlimited:
        return None
    total = float(remaining.budget.epsilon)
    return 1.0 if total == 0 else min(1.0, float(remaining.spent.epsilon) / total)
