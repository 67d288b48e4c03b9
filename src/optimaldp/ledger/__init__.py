"""Budgets that cannot be overspent: frozen entries, composition, a durable store.

>>> from optimaldp.ledger import Budget
>>> Budget(epsilon="ln(3)")
Budget(epsilon ln(3))
"""

from optimaldp.ledger.budget import UNLIMITED, Budget
from optimaldp.ledger.composition import Basic, Optimal, Planned
from optimaldp.ledger.entry import Answer, Entry, Opening, Spend
from optimaldp.ledger.history import History, Record, Remaining
from optimaldp.ledger.ledger import Charge, Ledger, Reservation
from optimaldp.ledger.opening import LedgerVerdict, ledger_exists, open_ledger, verify_ledger
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
    "LedgerVerdict",
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
