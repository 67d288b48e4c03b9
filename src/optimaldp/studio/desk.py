"""The steward's table with its ledger: the only part of the studio behind which there is data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp.asking.ask import FIELDS, from_json, meaning_of
from optimaldp.errors import BudgetError, InputError

if TYPE_CHECKING:
    from optimaldp.asking.ask import Ask
    from optimaldp.asking.request import Request
    from optimaldp.asking.session import OpenTable
    from optimaldp.ledger import Charge
    from optimaldp.tables import Source
    from optimaldp.tables.schema import ColumnType

OPTIONS = tuple(name for name in FIELDS if name not in ("question", "epsilon") and not meaning_of(name).of_table)
"""What a question may say here; what is said of the table, the ledger remembers."""
_NO_DATA = (
    "choose a file on the Release page, or start it with optimaldp studio --data survey.csv --ledger survey.ledger"
)
_NO_LEDGER = "say who is one person and open it"


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
    ) -> None:
        self._description = description
        self.data, self._location, self.kept, self.number = data, ledger, kept, number
        self.folder = None if folder is None else Path(folder)
        self.name = name
        self._opened: OpenTable | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is a ledger; a file that was just given to the page has none yet."""
        return self.name is None or os.path.exists(str(self._location))

    def open(self, *, budget: Any, unit: str | None, neighbours: str | None) -> None:
        """Make the record that pays for a file that was given to the page."""
        from optimaldp.ledger import open_ledger
        from optimaldp.tables import plan_counting
        from optimaldp.tables.tally import EVERY_RECORD, Condition, People, Tally

        if self.is_open:
            raise InputError("data", self.name, "is open already", "choose the file again to begin anew")
        plan_counting(self.source(), Tally((Condition(EVERY_RECORD),)), People(unit))
        dataset = str(self.name)
        open_ledger(str(self._location), budget=budget, dataset=dataset, neighbours=neighbours, unit=unit).close()

    def source(self) -> Source:
        from optimaldp.asking.releasing import open_read

        return open_read(self._required(), **(self.table.reading if self.is_open else {}))

    def words(self, source: Source) -> str:
        """What the table is, in public words."""
        return source.describe().replace(self._required(), self.name or self._required())

    @property
    def table(self) -> OpenTable:
        if self._opened is None:
            from optimaldp.asking.session import open_table

            data = self._required()
            if not self.is_open:
                raise InputError("data", self.name, "is not opened yet", _NO_LEDGER)
            self._opened = open_table(data, ledger=self._location, description=self._description)
        return self._opened

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

        request = check_ask(self.ask(fields), ledger=self.table.ledger, data=source)
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
            "words": "remaining: " + remaining.summary().removeprefix("Remaining(").removesuffix(")"),
            "share": _share(remaining),
            "history": table.history().to_document()["history"],
        }

    def _required(self) -> str:
        if self.data is None:
            raise InputError("data", None, "was not given to this studio", _NO_DATA)
        return self.data


def column_document(name: str, kind: ColumnType) -> dict[str, Any]:
    """A column as a form needs it; *open* cells are read as the question says, as in a CSV without declared types."""
    unread = kind.cell is not None and kind.cell.meaning == "open"
    reading = "read as you ask" if unread else kind.words
    listed = kind.options and list(kind.options)
    return {"name": name, "kind": kind.kind, "open": unread, "words": reading, "options": listed}


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _share(remaining: Any) -> float | None:
    """How much of epsilon is spent, to draw a gauge with; ``None`` without a limit."""
    if remaining.budget.unlimited:
        return None
    total = float(remaining.budget.epsilon)
    return 1.0 if total == 0 else min(1.0, float(remaining.spent.epsilon) / total)
