"""A drawn histogram as details of its release, and back: the noisy table, the remap, what is expected to be off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optimaldp.errors import InputError
from optimaldp.histograms.noise.laplace import LaplaceNoise
from optimaldp.histograms.noise.lattice_noise import HistogramNoise
from optimaldp.histograms.release import HistogramRelease
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours


def details_of_noise(drawn: HistogramRelease) -> dict[str, Any]:
    """What a drawn histogram is made of: all of it may be published."""
    return {
        "noisy": list(drawn.noisy),
        "remap": drawn.remap,
        "reason": drawn.reason,
        "expected_error": drawn.expected_error(),
        "learned_error": drawn.learned_error,
        "error_interval": None if drawn.error_interval is None else list(drawn.error_interval),
        "epsilon": str(drawn.epsilon),
        "neighbours": drawn.neighbours.value,
    }


def restored_histogram(counts: Mapping[str, int], details: object) -> HistogramRelease:
    """The histogram of a release, from its answer and what its statement keeps."""
    if not isinstance(details, Mapping) or "noisy" not in details:
        remedy = "only histograms with noise have one, and those that this version recorded"
        raise InputError("histogram", "this release", "has no noisy table", remedy)
    epsilon, relation = Epsilon.read(str(details["epsilon"])), Neighbours(details["neighbours"])
    noise = HistogramNoise if relation is Neighbours.SUBSTITUTION else LaplaceNoise
    return HistogramRelease(
        tuple(counts.values()),
        tuple(map(int, details["noisy"])),
        tuple(counts),
        epsilon,
        relation,
        str(details["remap"]),
        noise(len(counts), epsilon),
        str(details["reason"]),
        details["learned_error"],
        _pair(details.get("error_interval")),
    )


def _pair(interval: Any) -> tuple[float, float] | None:
    return None if interval is None else (float(interval[0]), float(interval[1]))
