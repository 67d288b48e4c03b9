"""Opening a ledger: an existing one as it is, or a new one as it is described."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimaldp.errors import InputError, LedgerError
from optimaldp.ledger.account import Account, cost_as_written
from optimaldp.ledger.budget import Budget
from optimaldp.ledger.chain import opening_row
from optimaldp.ledger.composition.rules import Basic, Rule, read_rule
from optimaldp.ledger.entry import FIRST, Spend, canonical
from optimaldp.ledger.ledger import AS_STORED, Ledger, require_agreement
from optimaldp.ledger.people import Part, PartValue, read_groups, read_parts
from optimaldp.ledger.postgres_store import PostgresStore
from optimaldp.ledger.sqlite_store import SQLiteStore
from optimaldp.ledger.store import Store
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.units import canonical_unit, limited_unit
from optimaldp.results import Result

Location = str | os.PathLike[str]
Parts = Mapping[str, Sequence[PartValue]] | Sequence[Part | str]
Groups = Mapping[str, Mapping[Any, Budget]]


def open_ledger(
    location: Location,
    *,
    dataset: str | None = None,
    budget: Budget | None = None,
    neighbours: str | Neighbours | None = None,
    unit: str | None = AS_STORED,
    composition: str | Rule | None = None,
    parts: Parts | None = None,
    unit_has_one_part: bool | None = None,
    groups: Groups | None = None,
    settings: Mapping[str, Any] | None = None,
    readonly: bool = False,
) -> Ledger:
    """Open the ledger at *location* (a file, or ``postgresql://host/database?ledger=name``), or make it.

    A ledger that exists is opened as it is; whatever is given here must agree with what it remembers. A new one needs *dataset*
    (the steward's name for the data) and *budget*. *parts* are values of one column, ``{"region": ["north", "south"]}``; with
    a *unit* they need *unit_has_one_part*, which declares that every unit has one part, publicly. *groups* are the budgets of
    people with a level of their own, by column and level: ``{"trust": {0.1: Budget(0.5)}}`` says that nobody with level 0.1
    in the column trust loses more than 0.5 in all. *settings* are whatever else is declared about reading the data (the types
    of columns), as plain JSON.

    **Guarantee.** An existing ledger is never changed by opening it, and a damaged one is reported, never repaired.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "survey.ledger"
    >>> ledger = open_ledger(path, dataset="survey", budget=Budget(epsilon=1))
    >>> from optimaldp.privacy import level
    >>> reservation = ledger.reserve(question="majority(smokes)", level=level(0.3), neighbours="substitution")
    >>> _ = reservation.record("no")
    >>> ledger.remaining()
    Remaining(epsilon 0.7; 0.3 of 1 spent in 1 entry)
    """
    described = _described(
        {
            "dataset": dataset,
            "budget": budget,
            "neighbours": neighbours and Neighbours(neighbours),
            "composition": composition and read_rule(composition).to_document(),
            "parts": None if parts is None else read_parts(parts),
            "unit_has_one_part": unit_has_one_part,
            "groups": None if groups is None else read_groups(groups),
            "settings": None if settings is None else _read_settings(settings),
        },
        unit,
    )
    if not readonly and not ledger_exists(location):
        _require_description(location, described)
        _require_comings(location, described)
        _create(location, described)
    ledger = Ledger(_store(location, readonly=readonly))
    try:
        require_agreement(ledger.opening, ledger.location, described)
    except LedgerError:
        ledger.close()
        raise
    return ledger


def _described(options: Mapping[str, Any], unit: str | None) -> dict[str, Any]:
    """What was said about the ledger; the unit may be said to be none."""
    described = {name: value for name, value in options.items() if value is not None}
    return described if unit is AS_STORED else described | {"unit": canonical_unit(unit)}


def ledger_exists(location: Location) -> bool:
    """Whether there is a ledger at *location*."""
    if is_server(location):
        return PostgresStore.exists(str(location))
    return Path(location).exists()


def is_server(location: Location) -> bool:
    """Whether *location* is the URL of a PostgreSQL database and not a file."""
    return isinstance(location, str) and location.startswith(("postgresql://", "postgres://", "postgresql+psycopg://"))


def _store(location: Location, *, readonly: bool) -> Store:
    if is_server(location):
        return PostgresStore(str(location))
    return SQLiteStore(location, readonly=readonly)


def _create(location: Location, described: Mapping[str, Any]) -> None:
    row = opening_row(_complete(described))
    if is_server(location):
        PostgresStore.create(str(location), row)
    else:
        SQLiteStore.create(location, row)


def _require_comings(location: Location, described: Mapping[str, Any]) -> None:
    """How many months people have is private, so a person who is limited in time needs add-remove."""
    limited = limited_unit(described.get("unit"))
    if limited is not None and described.get("neighbours") is not Neighbours.ADD_REMOVE:
        raise LedgerError(
            f"ledger {str(location)!r} would protect one {limited.record}, which needs add-remove neighbours: how many there "
            "are is private. Make it with neighbours='add-remove'. No ledger was made."
        )


def _require_description(location: Location, described: Mapping[str, Any]) -> None:
    """A mistyped path must not become a fresh budget: only naming a data set and a budget makes a ledger."""
    if "dataset" not in described and "budget" not in described:
        raise LedgerError(
            f"ledger {str(location)!r} does not exist. Check the path, or make it: "
            "optimaldp ledger create LEDGER --dataset NAME --epsilon BUDGET. Nothing was sampled."
        )


def _complete(described: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that a new ledger remembers."""
    defaults = {
        "neighbours": Neighbours.SUBSTITUTION,
        "unit": None,
        "composition": Basic().to_document(),
        "parts": (),
        "groups": (),
    }
    whole = defaults | dict(described)
    for name, remedy in (("dataset", "name the data set"), ("budget", "give Budget(epsilon=…, delta=…)")):
        if name not in whole:
            raise InputError(name, None, "is missing: a new ledger needs it", remedy)
    _check(whole)
    return whole


def _check(whole: Mapping[str, Any]) -> None:
    if not isinstance(whole["dataset"], str) or not whole["dataset"].strip():
        raise InputError("dataset", whole["dataset"], "is not a name", "name the data set")
    for budget in (whole["budget"], *(budget for _, budget in whole["groups"])):
        if not isinstance(budget, Budget):
            raise InputError("budget", budget, "is not a budget", "give Budget(epsilon=…, delta=…)")
    rule = read_rule(whole["composition"])
    rule.check(whole["budget"])
    if whole["groups"] and not isinstance(rule, Basic):
        names = [str(group) for group, _ in whole["groups"]]
        raise InputError("groups", names, f"do not go with {rule.name} composition", "use 'basic'")
    _check_parts(whole)


def _check_parts(whole: Mapping[str, Any]) -> None:
    declared = whole.get("unit_has_one_part", False)
    if whole["parts"] and whole["unit"] is not None and not declared:
        raise InputError(
            "parts",
            [str(part) for part in whole["parts"]],
            f"cannot be charged alone with the unit {whole['unit']!r}, because a person may have rows in several parts",
            "say unit_has_one_part=True if every unit has one part and that is public",
        )
    if declared and (not whole["parts"] or whole["unit"] is None):
        raise InputError(
            "unit_has_one_part", True, "says nothing without a unit and parts", "name both, or leave it out"
        )


def _read_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    try:
        plain: dict[str, Any] = json.loads(canonical(dict(settings)))
    except (TypeError, ValueError):
        raise InputError("settings", settings, "are not plain JSON", "use texts, numbers, lists and dicts") from None
    return plain


# Is a ledger what it was? Every check that can be made from the ledger alone, and one that needs a hash noted elsewhere.
#
# The chain shows that no entry was changed, taken out of the middle or moved. It cannot show that the *end* was cut off: whoever
# can write the file can put an older copy in its place. Against that, note the head (``ledger show`` prints it) somewhere else.


@dataclass(frozen=True, repr=False)
class LedgerCheck(Result):
    """What :func:`verify_ledger` found. ``intact`` is the answer; ``problem`` says why not."""

    intact: bool
    entries: int
    head: str | None
    problem: str | None

    def __bool__(self) -> bool:
        return self.intact

    def summary(self) -> str:
        if self.intact:
            return f"LedgerCheck(intact, {self.entries} entries, head {str(self.head)[:12]}…)"
        return f"LedgerCheck(not intact: {self.problem})"

    def to_document(self) -> dict[str, Any]:
        return {"intact": self.intact, "entries": self.entries, "head": self.head, "problem": self.problem}


def verify_ledger(location: Location, *, head: str | None = None) -> LedgerCheck:
    """Check the store, the chain of hashes, that no spend was ever made beyond the budget, and *head* if one was noted.

    **Guarantee.** An intact verdict means: every entry is byte for byte what was written, in its place, from the first to the
    last that is there; with *head*, the entry of that hash is among them. Nothing is repaired or changed.
    """
    try:
        with open_ledger(location, readonly=True) as ledger:
            return _verdict(ledger, head)
    except LedgerError as error:
        return LedgerCheck(False, 0, None, str(error))


def _verdict(ledger: Ledger, head: str | None) -> LedgerCheck:
    entries = ledger.entries()
    problem = _overspent(ledger)
    if head is not None and head not in ledger.hashes():
        problem = f"no entry has the noted hash {head!r}: the ledger was cut off or replaced"
    return LedgerCheck(problem is None, len(entries), ledger.head, problem)


def _overspent(ledger: Ledger) -> str | None:
    """Replay every spend against the budget, as if each were made now, by the rules of the version that made it."""
    account, as_written = Account(ledger.opening), Account(ledger.opening)
    for entry in ledger.entries():
        if not isinstance(entry, Spend):
            continue
        cost = cost_as_written(entry)
        judge = as_written if entry.version == FIRST else account
        try:
            judge.require([cost])
        except LedgerError:
            return f"entry {entry.sequence} spends more than the budget allowed"
        as_written.charge(cost)
        account.enter(entry)
    return None
