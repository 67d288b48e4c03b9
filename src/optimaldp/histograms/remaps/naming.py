"""Remaps by name.

*automatic*: the one with the least error expected, by public numbers and the noisy table alone. *projection*: the nearest
histogram in L1; it never increases the error, whatever the true histogram is (erratum E10). *top-fill*: another projection,
which keeps the largest counts whole. *empirical-bayes*: the posterior median of each cell under the law of cells that is
learned from the noisy table. *threshold*: counts that noise alone reaches become 0. *bayes*: the histogram with the least
expected error given a public prior. *ball*: the paper's map V, kept for the record; it loses badly for few people and leaves
the histograms unless rounded (errata E8, E9). *none*: the noisy table itself, with negative counts.
"""

from __future__ import annotations

import math
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.extras import numpy_if_installed
from optimaldp.histograms.independent import IndependentPrior, posterior_medians
from optimaldp.histograms.priors import CountPrior
from optimaldp.histograms.remaps.ball import ball_map
from optimaldp.histograms.remaps.bayes import bayes_remap
from optimaldp.histograms.remaps.choosing import Published, Remapped, choose_remap, learned_judge
from optimaldp.histograms.remaps.projection import project
from optimaldp.histograms.remaps.sparse import empirical_bayes, threshold, top_fill
from optimaldp.privacy.epsilon import Epsilon

REMAPS = ("automatic", "projection", "top-fill", "empirical-bayes", "threshold", "bayes", "ball", "none")
_NEED_TOTAL = ("top-fill", "ball")
_NAMED = "as asked"


def read_remap(value: str | None, prior: object, *, public_total: bool = True) -> str:
    """The remap by its name; without one, Bayes where there is a prior and the automatic choice where there is none."""
    if value is None:
        return "automatic" if prior is None else "bayes"
    if value not in REMAPS:
        raise HistogramError("remap", value, "is not a remap", f"use one of {', '.join(REMAPS)}")
    if value in ("bayes", "ball") and prior is None:
        raise HistogramError("remap", value, "needs a prior", "name one (it must be public), or use the projection")
    if value in _NEED_TOTAL and not public_total:
        raise HistogramError("remap", value, "needs a public total", "use 'automatic', 'projection' or 'none'")
    return value


def apply_remap(
    name: str,
    noisy: object,
    *,
    epsilon: Epsilon,
    prior: CountPrior | IndependentPrior | None,
    public_total: bool = True,
    keep_total: bool | None = None,
    published: Published | None = None,
) -> Remapped:
    """Map a noisy table back, by the name of the remap. *published* judges what is published in their place."""
    if name == "none" and numpy_if_installed() is None:
        return Remapped(noisy, name, _NAMED, None)
    import numpy as np

    table = np.asarray(noisy)
    total = int(table.sum()) if public_total else None
    # Not 0: its logarithm is needed, and at e^-300 there is no noise to speak of.
    ratio = math.exp(-min(300.0, float(epsilon) / (2 if public_total else 1)))
    if name == "automatic":
        return choose_remap(table, ratio=ratio, total=total, keep_total=keep_total, published=published)
    if name == "empirical-bayes":
        counts = empirical_bayes(table, ratio=ratio, total=total, keep_total=bool(keep_total))
    elif name == "threshold":
        counts = threshold(table, ratio=ratio, total=total)
    elif name == "top-fill":
        counts = top_fill(table)
    elif name == "bayes":
        counts = _with_prior(table, epsilon, prior)
    elif name == "ball" and isinstance(prior, CountPrior):
        counts = ball_map(table, prior=prior)
    elif name == "projection":
        # Under a private total the nearest table is the one with the negative counts raised to 0.
        counts = project(table) if public_total else np.maximum(table, 0)
    else:
        return Remapped(table, name, _NAMED, None)
    judge = learned_judge(table, ratio=ratio, total=total)
    return Remapped(counts, name, _NAMED, None) if judge is None else judge.judged(counts, name, _NAMED)


def _with_prior(table: object, epsilon: Epsilon, prior: CountPrior | IndependentPrior | None) -> Any:
    if isinstance(prior, IndependentPrior):
        return posterior_medians(table, epsilon=epsilon, prior=prior)
    assert prior is not None, "read_remap refuses bayes without a prior"
    return bayes_remap(table, epsilon=epsilon, prior=prior)
