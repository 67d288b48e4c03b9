"""The peers, each set up as its own documentation would, and their versions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

PEERS = ("opendp", "diffprivlib", "qif", "dp-accounting")
BESIDE = ("numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """What is installed: ours, the peers, and what they stand on."""
    return {name: metadata.version(name) for name in ("optimaldp", *PEERS, *BESIDE)}


@cache
def opendp() -> Any:
    import opendp.prelude as library

    library.enable_features("contrib")
    return library


@cache
def diffprivlib() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from diffprivlib import mechanisms
    return mechanisms


def opendp_count(scale: float) -> Callable[[int], int]:
    """Integer Laplace noise on one count."""
    dp = opendp()
    made: Callable[[int], int] = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=scale)
    return made


def opendp_counts(scale: float) -> Callable[[list[int]], list[int]]:
    """Integer Laplace noise on each count of a list."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    made: Callable[[list[int]], list[int]] = dp.m.make_laplace(*space, scale=scale)
    return made


def opendp_canonical(epsilon: float, delta: float) -> Callable[[float], float]:
    """Canonical noise (Tulap): OpenDP's sharpest noise for one number at (epsilon, delta)."""
    dp = opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    made: Callable[[float], float] = dp.m.make_canonical_noise(*space, d_in=1.0, d_out=(epsilon, delta))
    return made


def opendp_gaussian(epsilon: float, delta: float) -> Callable[[int], int]:
    """Discrete Gaussian noise on one count, calibrated to (epsilon, delta) by its own maps."""
    dp = opendp()
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)

    def make(scale: float) -> Any:
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)), delta)

    made: Callable[[int], int] = make(dp.binary_search_param(make, d_in=1, d_out=(epsilon, delta), T=float))
    return made


def opendp_top(size: int, scale: float, *, monotonic: bool) -> Callable[[list[int]], list[int]]:
    """The leading options at once."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=monotonic), dp.max_divergence()
    made: Callable[[list[int]], list[int]] = dp.m.make_noisy_top_k(*space, k=size, scale=scale)
    return made


def diffprivlib_mean(epsilon: float, bounds: tuple[float, float]) -> Callable[[Any], float]:
    """Its mean of a public number of people."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from diffprivlib import tools

    return lambda people: float(tools.mean(people, epsilon=epsilon, bounds=bounds))


def opendp_noisy_max(epsilon: float) -> Callable[[list[int]], int]:
    """Selection by the highest score (permute-and-flip); every score may change by 1, some up and some down."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)

    def make(scale: float) -> Any:
        return dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale)

    made: Callable[[list[int]], int] = make(dp.binary_search_param(make, d_in=1, d_out=epsilon))
    return made


def opendp_quantile(size: int, bins: int, rank: float, epsilon: float) -> Callable[[list[int]], int]:
    """The candidate with the best rank, one for each bin, calibrated for a known number of people: its sharper way."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=int), size=size), dp.symmetric_distance(), dp.max_divergence()

    def make(scale: float) -> Any:
        return dp.m.make_private_quantile(*space, list(range(bins)), rank, scale)

    made: Callable[[list[int]], int] = make(dp.binary_search_param(make, d_in=2, d_out=epsilon))
    return made


def diffprivlib_quantile(rank: float, epsilon: float, bounds: tuple[float, float]) -> Callable[[list[float]], float]:
    """The exponential mechanism over the gaps between the values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from diffprivlib import tools

    def answer(people: list[float]) -> float:
        return float(tools.quantile(np.array(people), rank, epsilon=epsilon, bounds=bounds))

    return answer


def diffprivlib_count(epsilon: float, sensitivity: int) -> Callable[[int], int]:
    made: Callable[[int], int] = diffprivlib().Geometric(epsilon=epsilon, sensitivity=sensitivity).randomise
    return made


def diffprivlib_flip(epsilon: float, votes: list[int]) -> Callable[[], int]:
    """Its permute-and-flip. The votes are part of its set-up, so a new one is made for every table."""
    made: Callable[[], int] = diffprivlib().PermuteAndFlip(epsilon=epsilon, sensitivity=1, utility=votes).randomise
    return made


def qif_least_cost(prior: Any, answers: int, steps: Any, epsilon: float, cost: Callable[[int, int], float]) -> Any:
    """qif's linear program. Only neighbours are constrained, which its experts do for a metric that is made of steps."""
    import qif

    return qif.mechanism.d_privacy.min_loss_given_d(
        np.asarray(prior, dtype=float),
        answers,
        lambda a, b: epsilon * float(steps[a][b]),
        cost,
        d_priv_ch=lambda a, b: bool(steps[a][b] > 1),
    )
