"""Release: one question about the steward's table, its price, its answer, and what the ledger has recorded.

**Guarantee.** What leaves here is the schema, what the ledger has recorded, previews of made-up margins, and sampled answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from optimaldp.errors import InputError, NoMarginError
from optimaldp.studio.calls import read_fields
from optimaldp.studio.desk import OPTIONS, Desk, capital, charge_of, column_document
from optimaldp.studio.keeping import kept_tables

if TYPE_CHECKING:
    from optimaldp.asking.request import Request
    from optimaldp.asking.result import Release

_CSV_WORDS = (
    "The first line names the columns and is public. Cells are text until a question says how they are read; nothing is guessed "
    "from them."
)
_TYPED_WORDS = "Names and types of columns are public. Nothing else of the file is looked at before you ask."


def session(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Whether there is a table; its columns by name and type, the budget, and the history."""
    read_fields(body, ())
    made = kept_tables(desk.folder)
    if desk.data is None:
        return {"table": desk.number, "data": None, "ledger": None, "made": made}
    source = desk.source()
    columns = [column_document(name, kind) for name, kind in source.schema.columns]
    read_as = _CSV_WORDS if any(column["open"] for column in columns) else _TYPED_WORDS
    shown = {"words": desk.words(source), "columns": columns, "read_as": read_as, "given": desk.name is not None}
    return {"table": desk.number, "data": shown, "ledger": desk.book() if desk.is_open else None, "made": made}


def settled(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """As session, when nothing is under way any more that could still spend: the web process has waited for it."""
    return session(desk, body)


def open(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Say who is one person in a file that was given to the page, and what may be spent on it."""
    from optimaldp.ledger import Budget
    from optimaldp.ledger.budget import UNLIMITED

    fields = read_fields(body, (), ("unit", "neighbours", "budget", "budget_delta"))
    delta = fields.get("budget_delta", 0)
    budget = Budget(epsilon=fields["budget"], delta=delta) if fields.get("budget") else UNLIMITED
    desk.open(budget=budget, unit=fields.get("unit") or None, neighbours=fields.get("neighbours") or None)
    return session(desk, {})


def check(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a question can be asked of this table and paid, and its preview. Reads no row and spends nothing."""
    from optimaldp.asking.cautions import cautions

    fields = read_fields(body, ("question", "epsilon"), ("delta", "n", "level_sizes", *OPTIONS))
    source = desk.source()
    request = desk.checked(fields, source)
    return {
        "preview": preview_document(request, fields.get("n"), fields.get("level_sizes")),
        "people": f"{capital(request.protected())}; neighbours: {request.neighbours.words}.",
        "cautions": list(cautions(request, source.schema, fields.get("n"))),
        "price": _price(desk, request, source.version()),
        "ledger": desk.book(),
    }


def _price(desk: Desk, request: Request, version: str | None) -> dict[str, Any]:
    """Whether the answer is already there and costs nothing, and else whether the budget covers it now."""
    if desk.is_recorded(request, version):
        return {"covered": True, "recorded": True, "words": "This was answered before: asking again costs nothing."}
    refused = desk.refused([charge_of(request)])
    return {"covered": refused is None, "recorded": False, "words": refused or f"It costs {request.level}."}


def release(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Spend, sample, record: one private answer."""
    fields = read_fields(body, ("question", "epsilon", "confirm"), ("delta", *OPTIONS))
    require_confirmed(fields)
    made = desk.table.ask(fields.pop("question"), **fields)
    return answer_document(made) | {"ledger": desk.book()}


def report(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the ledger has recorded, as a page to hand over and as a sheet. Reads no data, spends nothing."""
    from optimaldp.reporting.report import report_html

    read_fields(body, ())
    ledger = desk.table.ledger
    return {"html": report_html(ledger), "csv": ledger.history().to_csv()}


def require_confirmed(fields: dict[str, Any]) -> None:
    """A spend must be confirmed in so many words."""
    confirmed = fields.pop("confirm")
    if confirmed is not True:
        raise InputError("confirm", confirmed, "is not true", "confirm the spend")


def answer_document(made: Release) -> dict[str, Any]:
    """A release as the page shows it, and whole for its download."""
    return {
        "document": made.to_document(),
        "answer": made.answer,
        "level": str(made.level),
        "recorded": made.recorded,
        "spent": None if made.recorded else str(made.spent or made.level),
        "sentences": made.sentences(),
        "proof": [[name.replace("_", " "), text] for name, text in made.proof() if text],
        "warnings": list(made.warnings),
    }


def preview_document(request: Request, n: Any, sizes: Any = None) -> dict[str, Any]:
    """What to expect, from public numbers alone."""
    from optimaldp.asking.previewing import preview_of
    from optimaldp.studio.exploring import level_sizes_of, shown_preview, without_margin

    try:
        return shown_preview(request, preview_of(request, n=n, level_sizes=level_sizes_of(sizes)))
    except NoMarginError:
        return without_margin(request, n)
