"""Opening a ledger: an existing one as it is, or a new one as it is described."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optimaldp.errors import InputError, LedgerError
from optimaldp.ledger.budget import Budget
from optimaldp.ledger.composition.rules import Basic, Rule, read_rule
from optimaldp.ledger.ledger import Ledger, new_opening
from optimaldp.ledger.sqlite_store import SQLiteStore
from optimaldp.ledger.store import Store
from optimaldp.privacy.neighbours import Neighbours, read_neighbours

Location = str | os.PathLike[str]
AS_STORED: Any = object()  # "take it from the ledger", where None has a meaning of its own


def open_ledger(
    location: Location,
    *,
    dataset: str | None = None,
    budget: Budget | None = None,
    neighbours: str | Neighbours | None = None,
    unit: str | None = AS_STORED,
    composition: str | Rule | None = None,
    parts: Sequence[str] | None = None,
    groups: Mapping[str, Budget] | None = None,
    readonly: bool = False,
) -> Ledger:
    """Open the ledger at *location* (a file, or ``postgresql://host/database?ledger=name``), or make it.

    A ledger that exists is opened as it is; whatever is given here must agree with what it remembers. A new one needs *dataset*
    (the steward's name for the data) and *budget*.

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
    wanted: dict[str, Any] = {
        "dataset": dataset,
        "budget": budget,
        "neighbours": neighbours and read_neighbours(neighbours),
    }
    wanted |= {"composition": composition and read_rule(composition).to_document()}
    wanted |= {"parts": None if parts is None else tuple(parts), "groups": groups and tuple(sorted(groups.items()))}
    given = {name: value for name, value in wanted.items() if value is not None}
    if unit is not AS_STORED:
        given["unit"] = unit
    if not readonly and not ledger_exists(location):
        _require_description(location, given)
        _create(location, given)
    ledger = Ledger(_store(location, readonly=readonly))
    _require_agreement(ledger, given)
    return ledger


def ledger_exists(location: Location) -> bool:
    """Whether there is a ledger at *location*."""
    if is_server(location):
        from optimaldp.ledger.postgres_store import PostgresStore

        return PostgresStore.exists(str(location))
    return Path(location).exists()


def is_server(location: Location) -> bool:
    """Whether *location* is the URL of a PostgreSQL database and not a file."""
    return isinstance(location, str) and location.startswith(("postgresql://", "postgres://", "postgresql+psycopg://"))


def _store(location: Location, *, readonly: bool) -> Store:
    if is_server(location):
        from optimaldp.ledger.postgres_store import PostgresStore

        return PostgresStore(str(location))
    return SQLiteStore(location, readonly=readonly)


def _create(location: Location, given: dict[str, Any]) -> None:
    row = new_opening(_complete(given))
    if is_server(location):
        from optimaldp.ledger.postgres_store import PostgresStore

        PostgresStore.create(str(location), row)
    else:
        SQLiteStore.create(location, row)


def _require_description(location: Location, given: dict[str, Any]) -> None:
    """A mistyped path must not become a fresh budget: only who names a data set and a budget makes a ledger."""
    if "dataset" not in given and "budget" not in given:
        raise LedgerError(
            f"ledger {str(location)!r} does not exist. Check the path, or make it: "
            "optimaldp ledger create LEDGER --dataset NAME --epsilon BUDGET. Nothing was sampled."
        )


def _complete(given: dict[str, Any]) -> dict[str, Any]:
    """Everything that a new ledger remembers."""
    defaults = {
        "neighbours": Neighbours.SUBSTITUTION,
        "unit": None,
        "composition": Basic().to_document(),
        "parts": (),
        "groups": (),
    }
    whole = defaults | given
    for name, remedy in (("dataset", "name the data set"), ("budget", "give Budget(epsilon=…, delta=…)")):
        if name not in whole:
            raise InputError(name, None, "is missing: a new ledger needs it", remedy)
    _check(whole)
    return whole


def _check(whole: dict[str, Any]) -> None:
    if not isinstance(whole["budget"], Budget):
        raise InputError("budget", whole["budget"], "is not a budget", "give Budget(epsilon=…, delta=…)")
    if not isinstance(whole["dataset"], str) or not whole["dataset"].strip():
        raise InputError("dataset", whole["dataset"], "is not a name", "name the data set")
    parts = whole["parts"]
    if len(set(parts)) < len(parts) or not all(isinstance(part, str) and part for part in parts):
        raise InputError("parts", parts, "are not distinct names", "name each disjoint part once")
    rule = read_rule(whole["composition"])
    rule.check(whole["budget"])
    if whole["groups"] and not isinstance(rule, Basic):
        raise InputError(
            "groups", [name for name, _ in whole["groups"]], f"do not go with {rule.name} composition", "use 'basic'"
        )


def _require_agreement(ledger: Ledger, given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        stored = getattr(ledger.opening, name)
        if stored != value:
            ledger.close()
            raise LedgerError(
                f"ledger {ledger.location!r} was opened with {name} {stored!s}, and {value!s} was given now. "
                f"What a ledger remembers never changes: leave {name} out, or keep another ledger."
            )
