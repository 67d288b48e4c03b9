"""Release: the steward's table and ledger. The only part of the studio behind which there is data.

**Guarantee.** What leaves here is the schema, what the ledger has recorded, previews of made-up margins, and sampled answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from optimaldp.errors import BudgetError, InputError, NoMarginError
from optimaldp.studio.calls import read_fields

if TYPE_CHECKING:
    from optimaldp.asking.request import Request
    from optimaldp.asking.session import OpenTable
    from optimaldp.tables import Source
    from optimaldp.tables.schema import ColumnType

_OPTIONS = ("where", "reduce", "reduce_order", "by", "groups", "public_groups", "levels", "aim", "part")
_NO_DATA = "start it with a table: optimaldp studio --data survey.csv --ledger survey.ledger"


class Steward:
    """One table with its budget, opened with the first request and kept."""

    def __init__(self, data: str | None = None, ledger: str | None = None, kept: bool = True) -> None:
        self._data, self._location, self._kept = data, ledger, kept
        self._opened: OpenTable | None = None

    def session(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Whether there is a table; its columns by name and type, the budget, and the history."""
        read_fields(body, ())
        if self._data is None:
            return {"data": None, "ledger": None}
        source = self._source()
        columns = [_column(name, kind) for name, kind in source.schema.columns]
        return {"data": {"words": source.describe(), "columns": columns}, "ledger": self._book()}

    def check(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Whether a question can be asked of this table and paid, and its preview. Reads no row and spends nothing."""
        from optimaldp.asking.cautions import cautions

        fields = read_fields(body, ("question", "epsilon"), ("delta", "n", *_OPTIONS))
        source = self._source()
        request = self._checked(fields, source)
        return {
            "preview": _preview(request, fields.get("n")),
            "people": f"{_capital(request.protected())}; neighbours: {request.neighbours.words}.",
            "cautions": list(cautions(request, source.schema, fields.get("n"))),
            "price": self._price(request, source),
            "ledger": self._book(),
        }

    def release(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Spend, sample, record: one private answer."""
        fields = read_fields(body, ("question", "epsilon", "confirm"), ("delta", *_OPTIONS))
        if fields.pop("confirm") is not True:
            raise InputError("confirm", body.get("confirm"), "is not true", "confirm the spend")
        made = self._table().ask(fields.pop("question"), **fields)
        return {
            "document": made.to_document(),
            "answer": made.answer,
            "level": str(made.level),
            "recorded": made.recorded,
            "spent": None if made.recorded else str(made.spent or made.level),
            "sentences": made.sentences(),
            "proof": [[name.replace("_", " "), text] for name, text in made.proof() if text],
            "warnings": list(made.warnings),
            "ledger": self._book(),
        }

    def report(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Everything that the ledger has recorded, as a page to hand over and as a sheet. Reads no data, spends nothing."""
        from optimaldp.reporting.report import report_html

        read_fields(body, ())
        ledger = self._table().ledger
        return {"html": report_html(ledger), "csv": ledger.history().to_csv()}

    def close(self) -> None:
        """Let go of the ledger."""
        if self._opened is not None:
            self._opened.close()

    def _checked(self, fields: Mapping[str, Any], source: Source) -> Request:
        """The request, its conditions and columns checked against the schema; listed options filled in."""
        from optimaldp.asking.checking import check_request
        from optimaldp.tables import check

        options = {name: fields[name] for name in _OPTIONS if name in fields and name != "levels"}
        request = check_request(
            fields["question"],
            epsilon=fields["epsilon"],
            delta=fields.get("delta", 0),
            ledger=self._table().ledger,
            data=source,
            personal="levels" in fields,
            **options,
        )
        if "levels" in fields:
            request = replace(request, people=replace(request.people, levels=fields["levels"]))
            check(source, request.tally, request.people)
        column = getattr(request.question, "column", None)
        listed = source.schema[column].options if column is not None and request.question.answers is None else None
        return request if listed is None else replace(request, question=request.question.with_options(listed))

    def _price(self, request: Request, source: Source) -> dict[str, Any]:
        """Whether the answer is already there and costs nothing, and else whether the budget covers it now."""
        ledger, people = self._table().ledger, request.people
        part = None if people.part is None else people.part[1]
        if ledger.answered(request.text, request.level, source.version(), part=part) is not None:
            return {"covered": True, "recorded": True, "words": "This was answered before: asking again costs nothing."}
        try:
            ledger.require(question=request.text, level=request.level, part=part, levels=people.levels)
        except BudgetError as error:
            return {"covered": False, "recorded": False, "words": f"{_capital(str(error)).rstrip('.')}."}
        return {"covered": True, "recorded": False, "words": f"It costs {request.level}."}

    def _source(self) -> Source:
        from optimaldp.tables import open_source

        types = self._table().types
        return open_source(self._required(), types=None if types is None else dict(types))

    def _required(self) -> str:
        if self._data is None:
            raise InputError("data", None, "was not given to this studio", _NO_DATA)
        return self._data

    def _table(self) -> OpenTable:
        if self._opened is None:
            from optimaldp.asking.session import open_table

            self._opened = open_table(self._required(), ledger=self._location)
        return self._opened

    def _book(self) -> dict[str, Any]:
        """The ledger as its steward may see it."""
        table = self._table()
        opening = table.ledger.opening
        return {
            "kept": self._kept,
            "dataset": opening.dataset,
            "neighbours": opening.neighbours.words,
            "unit": opening.unit,
            "parts": [str(part) for part in opening.parts],
            "limited": not opening.budget.unlimited,
            "remaining": table.remaining.to_document(),
            "words": _words(table.remaining),
            "share": _share(table.remaining),
            "history": table.history().to_document()["history"],
        }


def _preview(request: Request, n: Any) -> dict[str, Any]:
    from optimaldp.asking.previewing import preview_of
    from optimaldp.studio.exploring import attacker, shown_preview

    try:
        return shown_preview(request, preview_of(request, n=n))
    except NoMarginError as error:
        question = str(request.question)
        return {
            "question": question,
            "error": None,
            "sentences": [],
            "notes": [str(error)],
            "attacker": attacker(request.level),
        }


def _column(name: str, kind: ColumnType) -> dict[str, Any]:
    """A column as the form needs it; *open* cells are read as the question says, as in a CSV without declared types."""
    unread = kind.cell is not None and kind.cell.meaning == "open"
    words = "read as you ask" if unread else kind.words
    return {
        "name": name,
        "kind": kind.kind,
        "open": unread,
        "words": words,
        "options": kind.options and list(kind.options),
    }


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _words(remaining: Any) -> str:
    return "remaining: " + str(remaining.summary()).removeprefix("Remaining(").removesuffix(")")


def _share(remaining: Any) -> float | None:
    """How much of epsilon is spent, to draw a gauge with; ``None`` without a limit."""
    if remaining.budget.unlimited:
        return None
    total = float(remaining.budget.epsilon)
    return 1.0 if total == 0 else min(1.0, float(remaining.spent.epsilon) / total)
