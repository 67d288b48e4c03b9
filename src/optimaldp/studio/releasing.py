"""Release: the steward's table and ledger. The only part of the studio behind which there is data.

**Guarantee.** What leaves here is the schema, what the ledger has recorded, previews of made-up margins, and sampled answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from optimaldp.asking.request import Request
from optimaldp.errors import InputError, NoMarginError
from optimaldp.studio.calls import read_fields

_OPTIONS = ("where", "reduce", "reduce_order", "levels", "part")
_NO_DATA = "start it with a table: optimaldp studio --data survey.csv --ledger survey.ledger"


class Steward:
    """One table with its budget, opened with the first request and kept."""

    def __init__(self, data: str | None = None, ledger: str | None = None, kept: bool = True) -> None:
        self._data, self._location, self._kept = data, ledger, kept
        self._table: Any = None

    def session(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Whether there is a table; its columns by name and type, the budget, and the history."""
        read_fields(body, ())
        if self._data is None:
            return {"data": None, "ledger": None}
        from optimaldp.tables import open_source

        opened = open_source(self._data)
        columns = [
            {"name": name, "kind": kind.kind, "words": kind.words, "options": kind.options and list(kind.options)}
            for name, kind in opened.schema.columns
        ]
        return {"data": {"words": opened.describe(), "columns": columns}, "ledger": self._book()}

    def check(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Whether a question can be asked of this table, and its preview. Reads no row and spends nothing."""
        from optimaldp.asking.cautions import cautions
        from optimaldp.studio.exploring import preview
        from optimaldp.tables import open_source

        given = read_fields(body, ("question", "epsilon"), ("delta", "n", *_OPTIONS))
        request = self._checked(given)
        asked = {name: given[name] for name in ("epsilon", "delta", "n") if name in given}
        question, neighbours = str(request.question), str(request.neighbours)
        try:
            shown = preview({"question": question, "neighbours": neighbours} | asked)
        except NoMarginError as error:
            shown = {"question": question, "error": None, "sentences": [], "notes": [str(error)]}
        notes = list(cautions(request, open_source(self._required()).schema))
        return {"preview": shown, "persons": self._persons(given), "ledger": self._book(), "cautions": notes}

    def release(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Spend, sample, record: one private answer."""
        given = read_fields(body, ("question", "epsilon", "confirm"), ("delta", *_OPTIONS))
        if given.pop("confirm") is not True:
            raise InputError("confirm", body.get("confirm"), "is not true", "confirm the spend")
        made = self._open().ask(given.pop("question"), **given)
        document: dict[str, Any] = made.to_document()
        more = {"level": str(made.level), "spent": not made.recorded, "sentences": made.sentences()}
        return document | more | {"proof": made.proof(), "ledger": self._book()}

    def close(self) -> None:
        """Let go of the ledger."""
        if self._table is not None:
            self._table.close()

    def _checked(self, given: Mapping[str, Any]) -> Request:
        """The request, its conditions and columns checked against the schema; listed options filled in."""
        from optimaldp.asking.checking import check_request
        from optimaldp.tables import open_source

        options = {name: given.get(name) for name in ("where", "reduce", "reduce_order", "part")}
        opened, book = open_source(self._required()), self._open().ledger
        asked = {"epsilon": given["epsilon"], "delta": given.get("delta", 0), "ledger": book, "data": opened}
        request = check_request(given["question"], **asked, **options)
        column = getattr(request.question, "column", None)
        listed = opened.schema[column].options if column is not None and request.question.answers is None else None
        return request if listed is None else replace(request, question=request.question.with_options(listed))

    def _persons(self, given: Mapping[str, Any]) -> str:
        opening = self._open().ledger.opening
        person = "each row is a person" if opening.unit is None else f"a person is a value of the column {opening.unit}"
        return f"{person}; neighbours: {opening.neighbours.words}"

    def _required(self) -> str:
        if self._data is None:
            raise InputError("data", None, "was not given to this studio", _NO_DATA)
        return self._data

    def _open(self) -> Any:
        if self._table is None:
            import optimaldp as odp

            self._table = odp.open(self._required(), ledger=self._location)
        return self._table

    def _book(self) -> dict[str, Any]:
        """The ledger as its steward may see it."""
        table = self._open()
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


def _words(remaining: Any) -> str:
    return "remaining: " + str(remaining.summary()).removeprefix("Remaining(").removesuffix(")")


def _share(remaining: Any) -> float | None:
    """How much of epsilon is spent, to draw a gauge with; ``None`` without a limit."""
    if remaining.budget.unlimited:
        return None
    total = float(remaining.budget.epsilon)
    return 1.0 if total == 0 else min(1.0, float(remaining.spent.epsilon) / total)
