"""What a histogram is expected to be off, before anything is drawn: public numbers only."""

from __future__ import annotations

from optimaldp.histograms.error import optimal_error
from optimaldp.histograms.noise.laplace import LaplaceNoise
from optimaldp.histograms.parameters import read_bins, read_positive_epsilon
from optimaldp.privacy.neighbours import Neighbours


def expected_error(
    bins: int, *, epsilon: object, neighbours: str | Neighbours = "substitution", people: int | None = None
) -> float:
    """The expected sum of errors of a private histogram, at most: of the noise, which what follows never makes larger.

    Two histograms of *people* people are never more than ``2 people`` apart, and neither is this.

    >>> round(expected_error(10, epsilon=1), 3), expected_error(1000, epsilon="0.01", people=50)
    (17.141, 100.0)
    """
    size, level = read_bins(bins), read_positive_epsilon(epsilon)
    if Neighbours(neighbours) is Neighbours.SUBSTITUTION:
        noise = optimal_error(size, epsilon=level)
    else:
        noise = float(LaplaceNoise(size, level).expected_error())
    return noise if people is None else min(noise, 2.0 * people)
