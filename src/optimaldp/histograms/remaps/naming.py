"""Remaps by name.

*projection*: the nearest histogram in L1. It never increases the error, whatever the true histogram is (erratum E10), so
the least error for many people is kept for every number of people, with no knowledge of the data. *bayes*: the
histogram with the least expected error given a prior. *ball*: the paper's map V, kept for the record; it loses badly for
few people and leaves the histograms unless rounded (errata E8, E9). *none*: the noisy table itself, with negative
counts.
"""

from __future__ import annotations

from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.priors import Prior
from optimaldp.histograms.remaps.ball import ball_map
from optimaldp.histograms.remaps.bayes import bayes_remap
from optimaldp.histograms.remaps.projection import project
from optimaldp.privacy.epsilon import Epsilon

REMAPS = ("projection", "bayes", "ball", "none")


def read_remap(value: str | None, prior: Prior | None) -> str:
    """The remap by its name; without one, Bayes where there is a prior and the projection where there is none."""
    if value is None:
        return "projection" if prior is None else "bayes"
    if value not in REMAPS:
        raise HistogramError("remap", value, "is not a remap", f"use one of {', '.join(REMAPS)}")
    if value in ("bayes", "ball") and prior is None:
        raise HistogramError("remap", value, "needs a prior", "name one (it must be public), or use the projection")
    return value


def apply_remap(name: str, noisy: Any, *, epsilon: Epsilon, prior: Prior | None) -> Any:
    """Map a noisy table back, by the name of the remap."""
    if name == "bayes" and prior is not None:
        return bayes_remap(noisy, epsilon=epsilon, prior=prior)
    if name == "ball" and prior is not None:
        return ball_map(noisy, prior=prior)
    return project(noisy) if name == "projection" else noisy
