"""Whether a request speaks of the same people, neighbours and data as the ledger does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optimaldp.errors import LedgerError
from optimaldp.ledger.entry import FIRST, Opening
from optimaldp.privacy.neighbours import Neighbours

AS_STORED: Any = object()  # "take it from the ledger", where None has a meaning of its own

NOTHING_SPENT = "Nothing was sampled and nothing was spent."


def require_same(
    opening: Opening, location: str, neighbours: str | Neighbours | None, unit: str | None, dataset: str | None
) -> None:
    """A sum of guarantees means something only if all of them speak of the same neighbours and people."""
    asked_for = opening.neighbours if neighbours is None else Neighbours(neighbours)
    if asked_for is not opening.neighbours:
        raise LedgerError(
            f"ledger {location!r} adds up guarantees for neighbours {opening.neighbours.value!r} "
            f"({opening.neighbours.words}), and the question was asked for {asked_for.value!r} ({asked_for.words}): "
            f"the two do not add up. Ask with neighbours={opening.neighbours.value!r}. {NOTHING_SPENT}"
        )
    if unit is not AS_STORED and unit != opening.unit:
        raise LedgerError(
            f"ledger {location!r} protects {_unit_words(opening.unit)}, and the question was asked for "
            f"{_unit_words(unit)}: the two do not add up. Ask with unit={opening.unit!r}. {NOTHING_SPENT}"
        )
    if dataset is not None and dataset != opening.dataset:
        raise LedgerError(
            f"ledger {location!r} belongs to the data set {opening.dataset!r}, not to {dataset!r}. "
            f"Every data set has a ledger of its own. {NOTHING_SPENT}"
        )


def require_agreement(opening: Opening, location: str, described: Mapping[str, Any]) -> None:
    """What is said about a ledger that exists must be what it remembers."""
    for name, value in described.items():
        if name == "settings":
            _require_settings(opening, location, value)
        elif getattr(opening, name) != value:
            raise _disagreement(location, name, _words(getattr(opening, name)), _words(value))


def _require_settings(opening: Opening, location: str, settings: Mapping[str, Any]) -> None:
    if opening.version == FIRST:
        return  # version 0.1.0 did not remember them, so there is nothing to contradict
    for name, value in settings.items():
        stored = opening.settings.get(name)
        if stored != value:
            raise _disagreement(location, name, "none" if name not in opening.settings else str(stored), str(value))


def _disagreement(location: str, name: str, stored: str, now: str) -> LedgerError:
    return LedgerError(
        f"ledger {location!r} was opened with {name} {stored}, and {now} was given now. "
        f"What a ledger remembers never changes: leave {name} out, or keep another ledger."
    )


def _words(value: object) -> str:
    return str([str(one) for one in value]) if isinstance(value, tuple) else str(value)


def _unit_words(unit: str | None) -> str:
    return "single rows (no unit column)" if unit is None else f"people named by the column {unit!r}"
