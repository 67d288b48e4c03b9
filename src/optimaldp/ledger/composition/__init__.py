"""What many releases cost together."""

from optimaldp.ledger.composition.optimal import compose_optimal, most_spends
from optimaldp.ledger.composition.rules import (
    Basic,
    Optimal,
    Planned,
    Rule,
    Spending,
    compose_basic,
    compose_losses,
    read_rule,
)

__all__ = [
    "Basic",
    "Optimal",
    "Planned",
    "Rule",
    "Spending",
    "compose_basic",
    "compose_losses",
    "compose_optimal",
    "most_spends",
    "read_rule",
]
