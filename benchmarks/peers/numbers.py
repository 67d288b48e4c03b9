"""Counts, sums and means as numbers: the mean error, each peer at the same epsilon and for the same neighbours.

Ours is computed from the public laws (``noise_law``, ``number_probabilities``). What the peers do for a mean whose number
of people is private is drawn from their formulas: a sum centred in the range and a count with half of epsilon each; the
same with the split that is best on the very table; and Laplace noise on the two sums of distances to the ends of the range,
whose sensitivities add up to one (Kulesza, Suresh and Wang, "Mean estimation in the add-remove model of differential
privacy", 2024). Their hourglass noise is meant for levels above the ones that are compared here, and no formula of it was
found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import optimaldp as odp
from benchmarks.peers import data, environments, libraries
from benchmarks.peers.noise import canonical_size, laplace_size
from benchmarks.peers.record import Comparison, Estimate, checked, drawn

COUNT = "A count as a number: mean error"
SUM = "A sum of values in [0, 100]: mean error"
KNOWN = "A mean, number of people public: mean error"
PRIVATE = "A mean, one person more or less: mean error"
GROUPS = "Numbers by private group, one record replaced: mean error, averaged over groups"

_AGES = (18, 100)
_CANONICAL = "canonical noise by its formula"  # OpenDP 0.16 has it, but crashes where δ is 0

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """Draws of a peer's code and of a formula; splits of epsilon; tables of private means; whether Tumult Core is installed."""

    draws: int
    formula: int
    splits: int
    tables: int
    install: bool


FULL = Sizes(draws=2000, formula=200_000, splits=19, tables=7, install=True)
SAMPLE = Sizes(draws=50, formula=200, splits=3, tables=2, install=False)


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    for epsilon in (0.1, 1.0):
        yield from _count(epsilon, sizes)
    yield from _count_with_delta(1.0, 0.01, sizes.draws)
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        yield from _sum(epsilon, sizes.draws)
    for name, values, ends in _columns():
        yield from _known_mean(name, values, ends, 1.0, sizes.draws)
    for name, values, ends, epsilon in list(_tables())[: sizes.tables]:
        yield from _private_mean(f"{name}, ε = {epsilon:g}", values, ends, epsilon, sizes)
    yield from _groups(1.0, sizes)


def _columns() -> Iterator[tuple[str, data.Integers, tuple[int, int]]]:
    yield "ages in [18, 100], n = 944", data.ages(), _AGES
    yield "visits to a doctor in [0, 100], n = 20190", data.visits(), (0, 100)


def _tables() -> Iterator[tuple[str, data.Integers, tuple[int, int], float]]:
    yield "200 people at 50 in [0, 100]", np.full(200, 50), (0, 100), 1.0
    yield "200 people at 25 in [0, 100]", np.full(200, 25), (0, 100), 1.0
    yield "200 people at 0 in [0, 100]", np.zeros(200, dtype=np.int64), (0, 100), 1.0
    yield "30 people in [0, 100], mean 6.6", np.array([3] * 18 + [12] * 12), (0, 100), 0.2
    for name, values, ends in _columns():
        yield name, values, ends, 0.1
    yield "ages in [18, 100], n = 944", data.ages(), _AGES, 1.0


def _count(epsilon: float, sizes: Sizes) -> Iterator[Comparison]:
    task, value = f"ε = {epsilon:g}", laplace_size(1 / epsilon)
    ours = Estimate(float(odp.questions.noise_law("count(x = 1)", epsilon=epsilon).mean_error))
    for peer, noisy in (
        ("OpenDP integer Laplace", libraries.opendp_count(1 / epsilon)),
        ("diffprivlib Geometric", libraries.diffprivlib_count(epsilon, 1)),
    ):
        sizes_of_noise = [float(abs(noisy(600) - 600)) for _ in range(sizes.draws)]
        yield Comparison(COUNT, task, peer, ours, checked(value, sizes_of_noise, peer))
    peer = "Tumult Core geometric noise"
    made = environments.tumult_noise(epsilon, sizes.draws) if sizes.install else "not installed for a sample"
    if isinstance(made, str):
        yield Comparison(COUNT, task, peer, ours, ours, note=made, missing=True)
    else:
        yield Comparison(COUNT, task, peer, ours, checked(value, [abs(x) for x in made], peer))


def _count_with_delta(epsilon: float, delta: float, draws: int) -> Iterator[Comparison]:
    task = f"ε = {epsilon:g}, δ = {delta:g}"
    value = float(odp.questions.noise_law("count(x = 1)", epsilon=epsilon, delta=delta).mean_error)
    canonical, gaussian = libraries.opendp_canonical(epsilon, delta), libraries.opendp_gaussian(epsilon, delta)
    peer = "OpenDP canonical noise, rounded"
    # Rounded canonical noise is the cut geometric.
    rounded = [float(abs(round(canonical(600.0)) - 600)) for _ in range(draws)]
    yield Comparison(COUNT, task, peer, Estimate(value), checked(value, rounded, peer))
    noisy = [float(abs(gaussian(600) - 600)) for _ in range(draws)]
    yield Comparison(COUNT, task, "OpenDP discrete Gaussian", Estimate(value), drawn(noisy))


def _sum(epsilon: float, draws: int) -> Iterator[Comparison]:
    """One record is replaced, and a person may have no value: the sum moves by at most 100."""
    task, width = f"ε = {epsilon:g}", 100
    ours = Estimate(float(odp.questions.noise_law("sum(x, range=[0, 100])", epsilon=epsilon).mean_error))
    yield Comparison(SUM, task, _CANONICAL, ours, Estimate(width * canonical_size(epsilon)))
    value = laplace_size(width / epsilon)
    for peer, noisy in (
        ("OpenDP integer Laplace", libraries.opendp_count(width / epsilon)),
        ("diffprivlib Geometric", libraries.diffprivlib_count(epsilon, width)),
    ):
        sizes = [float(abs(noisy(6000) - 6000)) for _ in range(draws)]
        yield Comparison(SUM, task, peer, ours, checked(value, sizes, peer))


def _known_mean(
    name: str, values: data.Integers, ends: tuple[int, int], epsilon: float, draws: int
) -> Iterator[Comparison]:
    """The schema excludes a missing value, so one record moves the sum by the width of the range."""
    low, high = ends
    people, width, task = len(values), high - low, f"{name}, ε = {epsilon:g}"
    law = odp.questions.noise_law(f"mean(x, range=[{low}, {high}], step=1, complete=true)", epsilon=epsilon)
    ours = Estimate(float(law.mean_error) / people)
    yield Comparison(KNOWN, task, _CANONICAL, ours, Estimate(width * canonical_size(epsilon) / people))
    noisy, total, peer = libraries.opendp_count(width / epsilon), int(values.sum()), "OpenDP integer Laplace on the sum"
    sizes = [abs(noisy(total) - total) / people for _ in range(draws)]
    value = laplace_size(width / epsilon) / people
    yield Comparison(KNOWN, task, peer, ours, checked(value, sizes, peer))
    mean, true = libraries.diffprivlib_mean(epsilon, (float(low), float(high))), float(values.mean())
    off = [abs(mean(values) - true) for _ in range(draws // 4)]
    yield Comparison(KNOWN, task, "diffprivlib mean", ours, drawn(off))


def _private_mean(
    task: str, values: data.Integers, ends: tuple[int, int], epsilon: float, sizes: Sizes
) -> Iterator[Comparison]:
    ours = Estimate(crossing_error(values, ends, epsilon))
    random = np.random.default_rng(4)
    drawn_errors = {
        "centred sum and count, ε/2 each": split_mean(values, ends, epsilon, 0.5, random, sizes.formula),
        "centred sum and count, best split on this table": _best_split(values, ends, epsilon, random, sizes),
        "Laplace noise on both distances to the ends": distances_mean(values, ends, epsilon, random, sizes.formula),
    }
    for peer, errors in drawn_errors.items():
        yield Comparison(PRIVATE, task, peer, ours, drawn(errors.tolist()))


def crossing_error(values: data.Integers, ends: tuple[int, int], epsilon: float) -> float:
    """Ours: the mean error of the smoothed crossing, from its exact law on this table."""
    low, high = ends
    counts, true = np.bincount(values - low, minlength=high - low + 1).tolist(), float(values.mean())
    expected = (high - low) / (len(values) * epsilon)
    grid = next(step for step in ("1", "0.1", "0.01", "0.001") if float(step) < expected / 10)
    question = f"mean(x, range=[{low}, {high}], step=1, grid={grid})"
    law = odp.questions.number_probabilities(question, [*counts, 0], epsilon=epsilon, neighbours="add-remove")
    return sum(float(chance) * abs(float(answer) - true) for answer, chance in law)


def split_mean(
    values: data.Integers, ends: tuple[int, int], epsilon: float, share: float, random: np.random.Generator, draws: int
) -> Floats:
    """Errors of a noisy centred sum, with a share of epsilon, divided by a noisy count with the rest; moved into the range."""
    low, high = ends
    middle, half = (low + high) / 2, (high - low) / 2
    total = (values - middle).sum() + random.laplace(scale=half / (share * epsilon), size=draws)
    people = np.maximum(1, len(values) + random.laplace(scale=1 / ((1 - share) * epsilon), size=draws))
    made: Floats = np.abs(np.clip(middle + total / people, low, high) - values.mean())
    return made


def _best_split(
    values: data.Integers, ends: tuple[int, int], epsilon: float, random: np.random.Generator, sizes: Sizes
) -> Floats:
    shares = np.linspace(0.05, 0.95, sizes.splits)
    few = {share: split_mean(values, ends, epsilon, share, random, sizes.formula // 4).mean() for share in shares}
    return split_mean(values, ends, epsilon, min(few, key=few.__getitem__), random, sizes.formula)


def distances_mean(
    values: data.Integers, ends: tuple[int, int], epsilon: float, random: np.random.Generator, draws: int
) -> Floats:
    """One person has a distance to the lower end and one to the upper end, which add up to the width of the range."""
    low, high = ends
    width = high - low
    below = (values - low).sum() + random.laplace(scale=width / epsilon, size=draws)
    above = (high - values).sum() + random.laplace(scale=width / epsilon, size=draws)
    people = np.maximum(width, below + above)
    made: Floats = np.abs(np.clip(low + width * below / people, low, high) - values.mean())
    return made


def _groups(epsilon: float, sizes: Sizes) -> Iterator[Comparison]:
    """A replaced record may leave one group and enter another one, so each group has half of epsilon."""
    noisy = laplace_size(2 / epsilon)
    ours = Estimate(float(odp.questions.noise_law("count(x = 1)", epsilon=epsilon / 2).mean_error))
    task = f"counts of 7 parties, ε = {epsilon:g}"
    yield Comparison(GROUPS, task, "OpenDP, noise on each count", ours, Estimate(noisy))
    ages, parties = data.ages(), np.array(data.column("anes1996.csv", "party"))
    groups = [ages[parties == name] for name in sorted(set(parties))]
    errors = [crossing_error(group, _AGES, epsilon / 2) for group in groups]
    ours, random = Estimate(sum(errors) / len(errors)), np.random.default_rng(5)
    task = f"mean age in 7 parties, ε = {epsilon:g}"
    draws, level = sizes.formula // 4, epsilon / 2
    by_group = {
        "centred sum and count, ε/4 each": [split_mean(one, _AGES, level, 0.5, random, draws) for one in groups],
        "Laplace noise on both distances to the ends, ε/2": [
            distances_mean(one, _AGES, level, random, draws) for one in groups
        ],
    }
    for peer, listed in by_group.items():
        yield Comparison(GROUPS, task, peer, ours, drawn(np.mean(listed, axis=0).tolist()))
