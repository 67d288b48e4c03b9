"""Budgets that cannot be overspent: frozen entries, composition, a durable store.

>>> from optimaldp.ledger import Budget
>>> Budget(epsilon="ln(3)")
Budget(epsilon ln(3))
"""

import warnings
from typing import Any

from optimaldp.ledger.budget import UNLIMITED, Budget
from optimaldp.ledger.composition import Basic, Optimal, Planned
from optimaldp.ledger.entry import Answer, Entry, Opening, Spend
from optimaldp.ledger.history import History, Record, Remaining
from optimaldp.ledger.ledger import Charge, Ledger, Reservation
from optimaldp.ledger.opening import LedgerCheck, ledger_exists, open_ledger, verify_ledger
from optimaldp.ledger.people import Group, Part

__all__ = [
    "UNLIMITED",
    "Answer",
    "Basic",
    "Budget",
    "Charge",
    "Entry",
    "Group",
    "History",
    "Ledger",
    "LedgerCheck",
    "Opening",
    "Optimal",
    "Part",
    "Planned",
    "Record",
    "Remaining",
    "Reservation",
    "Spend",
    "ledger_exists",
    "open_ledger",
    "verify_ledger",
]


def __getattr__(name: str) -> Any:
    if name == "LedgerVerdict":  # of version 0.2, for one version
        warnings.warn("LedgerVerdict is called LedgerCheck now: the referee gives verdicts.", DeprecationWarning, 2)
        return LedgerCheck
    raise AttributeError(f"module 'optimaldp.ledger' has no attribute {name!r}")
