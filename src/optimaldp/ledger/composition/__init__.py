"""What many releases cost together."""

from optimaldp.ledger.composition.basic import compose_basic
from optimaldp.ledger.composition.losses import compose_losses
from optimaldp.ledger.composition.optimal import compose_optimal, most_spends
from optimaldp.ledger.composition.rules import Basic, Optimal, Planned, Rule, Spending, read_rule

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
