"""Back to a table of counts: what may be done with a noisy table at no cost in privacy (post-processing)."""

from optimaldp.histograms.remaps.ball import ball_map, round_share
from optimaldp.histograms.remaps.projection import project

__all__ = ["ball_map", "project", "round_share"]
