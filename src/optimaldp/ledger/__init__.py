"""Budgets that cannot be overspent: frozen entries, composition, a durable store.

>>> from optimaldp.ledger import Budget
>>> Budget(epsilon="ln(3)")
Budget(epsilon ln(3))
"""

from optimaldp.ledger.budget import UNLIMITED, Budget
from optimaldp.ledger.charge import Charge
from optimaldp.ledger.composition import Basic, Optimal, Planned
from optimaldp.ledger.entry import Answer, Entry, Opening, Spend
from optimaldp.ledger.history import History, Record
from optimaldp.ledger.ledger import Ledger
from optimaldp.ledger.opening import ledger_exists, open_ledger
from optimaldp.ledger.people import Group, Part
from optimaldp.ledger.remaining import Remaining
from optimaldp.ledger.reservation import Reservation
from optimaldp.ledger.verify import LedgerVerdict, verify_ledger

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
