"""What many releases cost together."""

from optimaldp.ledger.composition.basic import basic
from optimaldp.ledger.composition.losses import losses
from optimaldp.ledger.composition.optimal import most, optimal
from optimaldp.ledger.composition.rules import Basic, Optimal, Planned, Rule, Tally, read_rule

__all__ = ["Basic", "Optimal", "Planned", "Rule", "Tally", "basic", "losses", "most", "optimal", "read_rule"]
