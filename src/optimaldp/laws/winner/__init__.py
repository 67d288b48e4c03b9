"""Who wins? The flip envelope where it is proven private, permute-and-flip elsewhere, both sampled exactly."""

from optimaldp.laws.winner.distribution import draw_winner, winner_probabilities
from optimaldp.laws.winner.modes import MOST_FLATTENED, WinnerClaim, WinnerMode, winner_claim

__all__ = ["MOST_FLATTENED", "WinnerClaim", "WinnerMode", "draw_winner", "winner_claim", "winner_probabilities"]
