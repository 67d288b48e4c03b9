"""Sanitise: a whole table of the same kind, which may be published. What it would be off is told before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optimaldp.asking.promise import read_release_level
from optimaldp.ledger import Charge
from optimaldp.sanitising import estimate
from optimaldp.sanitising import sanitise as sanitised_table
from optimaldp.sanitising.columns import read_columns
from optimaldp.sanitising.planning import Asked, make_plan
from optimaldp.sanitising.releasing import kept_statement
from optimaldp.sanitising.splitting import read_marginals
from optimaldp.studio.calls import read_fields
from optimaldp.studio.desk import Desk
from optimaldp.studio.keeping import kept_tables, number_of, room_for_table
from optimaldp.studio.releasing import require_confirmed
from optimaldp.tables import People

_OPTIONS = ("where", "reduce", "reduce_order", "levels", "part", "marginals")
_MOST_BARS = 40  # a longer column is downloaded, not drawn


def check_sanitise(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """What a sanitised table of these columns would be off, and whether the budget covers it. Reads no row, spends nothing."""
    fields = read_fields(body, ("columns", "epsilon"), ("n", *_OPTIONS))
    level, ledger = read_release_level(fields["epsilon"]), desk.table.ledger
    people = People(
        None, fields.get("reduce"), fields.get("reduce_order"), fields.get("where"), None, fields.get("levels")
    )
    asked = Asked(fields["columns"], level, None, people, fields.get("part"), fields.get("marginals"), "automatic")
    plan = make_plan(desk.source(), asked.with_ledger(ledger))
    tables = None if "marginals" not in fields else read_marginals(fields["marginals"], plan.columns)
    shown = estimate(
        {column.name: column for column in plan.columns},
        epsilon=fields["epsilon"],
        n=fields.get("n"),
        neighbours=plan.neighbours,
        marginals=tables,
    )
    part = None if plan.people.part is None else plan.people.part[1]
    if kept_statement(ledger, plan, desk.source().version(), part) is not None:
        price = {"covered": True, "recorded": True, "words": "This table was made before: asking again costs nothing."}
    else:
        refused = desk.refused([Charge(question=plan.text, level=level, part=part, levels=plan.people.levels)])
        price = {"covered": refused is None, "recorded": False, "words": refused or f"It costs {level}."}
    return {
        "estimate": shown.to_document(),
        "method": plan.method,
        "price": price,
        "ledger": desk.book(),
    }


def sanitise(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Spend, draw, record, and keep the rows for their download."""
    fields = read_fields(body, ("columns", "epsilon", "confirm"), ("labels", *_OPTIONS))
    require_confirmed(fields)
    labels = fields.pop("labels", False) is True
    table = desk.table
    columns = {column.name: column for column in read_columns(fields.pop("columns"))}
    with room_for_table(desk.folder) as path:  # before anything is spent
        made = sanitised_table(table.source, columns, **fields, ledger=table.ledger, types=table.types)
        made.save(path, labels=labels)
    return {
        "number": number_of(path),
        "rows": made.rows,
        "recorded": made.recorded,
        "statement": made.to_document(),
        "margins": {column.name: _margin(made, column) for column in made.columns},
        "made": kept_tables(desk.folder),
        "ledger": desk.book(),
    }


def _margin(made: Any, column: Any) -> dict[str, int] | None:
    """People by one column's values, as the sanitised table has them."""
    if column.size > _MOST_BARS or made.tables[0].noisy.dense is None:
        return None
    counts = made.margin(column.name).counts.tolist()
    return {"(no value)" if label is None else label: count for label, count in zip(column.labels, counts)}
