"""Is a ledger what it was? Every check that can be made from the ledger alone, and one that needs a hash noted elsewhere.

The chain shows that no entry was changed, taken out of the middle or moved. It cannot show that the *end* was cut off: whoever
can write the file can put an older copy in its place. Against that, note the head (``ledger show`` prints it) somewhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optimaldp.errors import LedgerError
from optimaldp.ledger.account import Account
from optimaldp.ledger.cost import cost_as_written
from optimaldp.ledger.entry import FIRST, Spend
from optimaldp.ledger.ledger import Ledger
from optimaldp.ledger.opening import Location, open_ledger
from optimaldp.results import Result


@dataclass(frozen=True, repr=False)
class LedgerVerdict(Result):
    """What :func:`verify_ledger` found. ``intact`` is the answer; ``problem`` says why not."""

    intact: bool
    entries: int
    head: str | None
    problem: str | None

    def __bool__(self) -> bool:
        return self.intact

    def summary(self) -> str:
        if self.intact:
            return f"LedgerVerdict(intact, {self.entries} entries, head {str(self.head)[:12]}…)"
        return f"LedgerVerdict(not intact: {self.problem})"

    def to_document(self) -> dict[str, Any]:
        return {"intact": self.intact, "entries": self.entries, "head": self.head, "problem": self.problem}


def verify_ledger(location: Location, *, head: str | None = None) -> LedgerVerdict:
    """Check the store, the chain of hashes, that no spend was ever made beyond the budget, and *head* if one was noted.

    **Guarantee.** An intact verdict means: every entry is byte for byte what was written, in its place, from the first to the
    last that is there; with *head*, the entry of that hash is among them. Nothing is repaired or changed.
    """
    try:
        with open_ledger(location, readonly=True) as ledger:
            return _verdict(ledger, head)
    except LedgerError as error:
        return LedgerVerdict(False, 0, None, str(error))


def _verdict(ledger: Ledger, head: str | None) -> LedgerVerdict:
    entries = ledger.entries()
    problem = _overspent(ledger)
    if head is not None and head not in ledger.hashes():
        problem = f"no entry has the noted hash {head!r}: the ledger was cut off or replaced"
    return LedgerVerdict(problem is None, len(entries), ledger.head, problem)


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
