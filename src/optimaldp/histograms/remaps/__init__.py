"""Back to a table of counts: what may be done with a noisy table at no cost in privacy (post-processing)."""

from optimaldp.histograms.remaps.projection import ball_map, project, round_share

__all__ = ["ball_map", "project", "round_share"]
