"""What a histogram is expected to be off, before anything is drawn: public numbers only."""

from __future__ import annotations

from collections import Counter

from optimaldp.errors import HistogramError
from optimaldp.histograms.error import optimal_error
from optimaldp.histograms.finite.optimum import finite_optimum
from optimaldp.histograms.finite.two_bins import two_bin_optimum
from optimaldp.histograms.independent import IndependentPrior, least_error
from optimaldp.histograms.lattice import histogram_count
from optimaldp.histograms.noise.laplace import LaplaceNoise
from optimaldp.histograms.parameters import read_bins, read_positive_epsilon
from optimaldp.histograms.priors import CountPrior, read_prior
from optimaldp.privacy.neighbours import Neighbours

_MOST_TWO_BINS = 200_000  # people for whom the closed form takes a fraction of a second
_MOST_PAIRS = 400  # pairs of histograms for which a linear program is solved without being asked for


def expected_error(
    bins: int,
    *,
    epsilon: object,
    neighbours: str | Neighbours = "substitution",
    people: int | None = None,
    prior: object = None,
) -> float:
    """The expected sum of errors of a private histogram, at most: of the noise, which what follows never makes larger.

    Two histograms of *people* people are never more than ``2 people`` apart, and neither is this. Under a *prior* for which the
    release is exactly optimal, the least possible error, which it has.

    >>> round(expected_error(10, epsilon=1), 3), expected_error(1000, epsilon="0.01", people=50)
    (17.141, 100.0)
    >>> round(expected_error(2, epsilon="0.05", people=944, prior="uniform"), 1)
    20.7
    """
    public_total = Neighbours(neighbours) is Neighbours.SUBSTITUTION
    size, level = read_bins(bins, public_total=public_total), read_positive_epsilon(epsilon)
    if attained(size, neighbours, prior):
        least = least_possible(size, epsilon=level, neighbours=neighbours, people=people, prior=prior)
        if least is not None:
            return least
    noise = optimal_error(size, epsilon=level) if public_total else float(LaplaceNoise(size, level).expected_error())
    return noise if people is None else min(noise, 2.0 * people)


def attained(bins: int, neighbours: str | Neighbours, prior: object) -> bool:
    """Whether noise and the Bayes remap under *prior* have the least error of all mechanisms, at every number of people."""
    if prior is None:
        return False
    return bins == 2 if Neighbours(neighbours) is Neighbours.SUBSTITUTION else isinstance(prior, IndependentPrior)


def least_possible(
    bins: int,
    *,
    epsilon: object,
    neighbours: str | Neighbours = "substitution",
    people: int | None = None,
    prior: object = None,
) -> float | None:
    """The least expected sum of errors of any epsilon-DP mechanism at this number of people under *prior*.

    By a closed form for two bins and for independent bins, by a linear program for the smallest others; ``None`` where it is
    not known (see :func:`least_at_least`).

    >>> round(least_possible(3, epsilon="ln(2)", people=3, prior="uniform"), 4)
    1.7778
    """
    if prior is None:
        return None
    if Neighbours(neighbours) is Neighbours.ADD_REMOVE:
        return least_error(prior, epsilon=epsilon) if isinstance(prior, IndependentPrior) else None
    if people is None or people < 1:
        return None
    belief = prior if isinstance(prior, CountPrior) else read_prior(prior, bins)
    if bins == 2:
        return None if people > _MOST_TWO_BINS else float(two_bin_optimum(people, epsilon=epsilon, prior=belief))
    if histogram_count(bins, people) ** 2 > _MOST_PAIRS:
        return None
    try:
        return float(finite_optimum(bins, people, epsilon=epsilon, prior=belief))
    except HistogramError:  # a prior that no program is written for
        return None


def least_at_least(bins: int, *, epsilon: object, people: int | None, prior: object) -> float | None:
    """What no epsilon-DP mechanism for replaced records stays below under *prior*, where the least itself is not known.

    Each bin by itself, beside all others together, has two bins, whose least error is known. No mechanism does better in any of
    them: whoever knows that bin's count can draw the others as the prior says, one record apart for counts that are one apart. So
    half of the sum, since two bins are off by the same.

    >>> round(least_at_least(3, epsilon="ln(2)", people=8, prior="uniform"), 3)  # the program finds 2.619
    2.415
    """
    if prior is None or isinstance(prior, IndependentPrior) or people is None or people < 1:
        return None
    belief = prior if isinstance(prior, CountPrior) else read_prior(prior, bins)
    assert belief is not None, "read_prior gives nothing for None alone"
    weights = Counter(belief.parameters)
    if people * len(weights) > _MOST_TWO_BINS:
        return None
    each = (
        times * two_bin_optimum(people, epsilon=epsilon, prior=belief.beside_all_others(own))
        for own, times in weights.items()
    )
    return float(sum(each)) / 2
