"""The start page: who is a person, how cells are written and how large the budget is, said once before a ledger is made.

What is proposed here is computed from the data for the eyes of its steward, by the code of ``optimaldp describe``: types and ways
of writing, never a cell. Only what she confirms is written into the description, and that becomes public.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optimaldp.asking.ask import Ask
from optimaldp.asking.statements import likely_person
from optimaldp.errors import InputError
from optimaldp.ledger import Budget, open_ledger
from optimaldp.ledger.budget import UNLIMITED
from optimaldp.studio.calls import read_fields
from optimaldp.studio.desk import Desk
from optimaldp.studio.releasing import session
from optimaldp.tables import Description, plan_counting
from optimaldp.tables.describing import WRITTEN, Proposal, describe
from optimaldp.tables.description import parse_description, read_description
from optimaldp.tables.tally import EVERY_RECORD, Condition, People, Tally

_EXAMPLE = datetime.datetime(2024, 12, 31, 18, 30)
_KEYS = ("type", "format", "decimalChar", "groupChar", "trueValues", "falseValues", "constraints")
"""What the page may say of a column."""
_TYPES = {
    "string": "text",
    "integer": "whole numbers",
    "boolean": "yes or no",
    "any": "as each question says",
}


def proposal(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """How each column seems to be written, for the eyes of the steward. Reads the data; shows no cell and no count."""
    fields = read_fields(body, (), ("encoding",))
    told = desk.told()
    if told is not None:
        return {"described": True, "person": _person(told), "neighbours": told.neighbours, "columns": []}
    source = desk.source()
    if "types" in desk.said:
        return {"described": True, "person": desk.said.get("unit"), "neighbours": None, "columns": []}
    made = _proposed(desk, fields.get("encoding"))
    return {
        "described": False,
        "person": desk.said.get("unit"),
        "likely": likely_person(source.schema),
        "neighbours": desk.said.get("neighbours"),
        "encoding": made.document["resources"][0].get("encoding", "utf-8"),
        "columns": [
            {"keys": keys, "fixed": not source.schema[keys["name"]].open, "words": written_words(keys)}
            for keys in made.document["resources"][0]["schema"]["fields"]
        ],
        "written": [{"keys": dict(keys), "words": written_words(keys)} for keys in (*WRITTEN, {"type": "any"})],
    }


def _person(told: Description) -> object:
    return list(told.person) if isinstance(told.person, tuple) else told.person if told.says_person else None


def _proposed(desk: Desk, encoding: str | None) -> Proposal:
    return describe(desk.data, encoding=encoding or desk.said.get("encoding"), delimiter=desk.said.get("delimiter"))


def written_words(keys: Mapping[str, Any]) -> str:
    """How a column is written, by an example.

    >>> written_words({"type": "number", "decimalChar": ",", "groupChar": "."})
    'numbers like 1.234,5'
    """
    kind = keys["type"]
    if kind == "number":
        return f"numbers like 1{keys.get('groupChar', '')}234{keys.get('decimalChar', '.')}5"
    if kind in ("date", "datetime"):
        usual = "%Y-%m-%d" if kind == "date" else "%Y-%m-%d %H:%M"
        return f"{'dates' if kind == 'date' else 'moments'} like {_EXAMPLE.strftime(keys.get('format', usual))}"
    return _TYPES.get(kind, str(kind))


def open(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Make the ledger: who is one person, how cells are written, what one person can change, and what may be spent."""
    optional = ("unit", "neighbours", "budget", "budget_delta", "encoding", "fields", "reduce", "public")
    fields = read_fields(body, (), optional)
    name = desk.name or desk.data
    if desk.data is not None and desk.is_open:
        raise InputError("data", name, "is open already", "choose the file again to begin anew")
    budget = (
        Budget(epsilon=fields["budget"], delta=fields.get("budget_delta", 0)) if fields.get("budget") else UNLIMITED
    )
    if not fields.get("budget") and desk.kept:
        raise InputError("budget", None, "is missing", "say how much may be spent on these people in all, such as 3")
    people: dict[str, Any] = {"unit": fields.get("unit") or None, "neighbours": fields.get("neighbours") or None}
    plan_counting(desk.source(), Tally((Condition(EVERY_RECORD),)), People(people["unit"]))
    told, written = desk.told(), None
    settings: dict[str, Any] = {key: value for key, value in desk.said.items() if key not in people}
    if told is not None:
        ask = Ask("", 0, **people).described(told)
        people = {"unit": ask.unit, "neighbours": ask.neighbours}
    elif "fields" in fields:
        told = written = _written(desk, fields, people)
    settings = settings if told is None else {"description": told.hash}
    dataset = desk.name or Path(desk.ledger_location).stem
    try:
        open_ledger(desk.ledger_location, budget=budget, dataset=dataset, settings=settings or None, **people).close()
    except BaseException:
        if written is not None:
            desk.beside.unlink(missing_ok=True)  # it was made a moment ago, for this ledger alone
        raise
    return session(desk, {})


def _written(desk: Desk, fields: Mapping[str, Any], people: Mapping[str, Any]) -> Description:
    """The description that the steward confirmed, checked against the table and written beside the ledger."""
    made = _proposed(desk, fields.get("encoding"))
    document = json.loads(json.dumps(made.document))
    listed = {one["name"]: one for one in document["resources"][0]["schema"]["fields"]}
    said = fields["fields"]
    if not isinstance(said, Mapping) or not all(isinstance(keys, Mapping) for keys in said.values()):
        raise InputError("fields", said, "is not an object with what is said of each column")
    for name, keys in said.items():
        if name not in listed:
            raise InputError("fields", name, "is not a column of the table", f"the columns are {', '.join(listed)}")
        if unknown := next((key for key in keys if key not in _KEYS), None):
            raise InputError("fields", unknown, "is not said of a column here", f"the keys are {', '.join(_KEYS)}")
        listed[name].clear()
        listed[name].update({"name": name, **keys})
    own = {"person": people["unit"], "reviewed": True}
    more = {"neighbours": people["neighbours"], "reduce": fields.get("reduce"), "public": fields.get("public")}
    document["optimaldp"] = own | {key: value for key, value in more.items() if value}
    checked = parse_description(document)
    checked.apply(made.source)  # refused here where it does not fit
    Proposal(document, made.source).save(desk.beside)
    return read_description(desk.beside)
