"""The leading options in order: how often the list is wrong, and by how many people its worst place falls short.

The joint exponential mechanism (Gillenwater, Joseph, Munoz Medina and Ribero Diaz, "A joint exponential mechanism for
differentially private top-k", ICML 2022) scores a list by its largest shortfall at a place. How many lists have a shortfall
of at most g is a product, so that its law of the shortfall is exact here; its faster variants (FastJoint) draw from the
same law, or from one whose rare lists are merged. The score moves by 1 when a person comes or goes, and by 2 when a record
is replaced.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.peers import data, libraries
from benchmarks.peers.record import Comparison, Estimate, drawn
from optimaldp.laws.options import Shortfalls, TopLaw
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import precision

WRONG = "Leading options, probability of a wrong list"
SHORT = "Leading options, people missing at the worst place of the list"
_RELATIONS = {"substitution": "one record replaced", "add-remove": "one person more or less"}
_JOINT = "joint exponential mechanism (and FastJoint)"


@dataclass(frozen=True)
class Sizes:
    """Draws of a peer's own code."""

    peer: int


FULL = Sizes(peer=2000)
SAMPLE = Sizes(peer=20)


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    for relation in _RELATIONS:
        for name, counts, size, epsilon in _few():
            task = f"{name}, {size} of {len(counts)}, {_RELATIONS[relation]}, ε = {epsilon:g}"
            ours = _exact(counts, TopLaw(len(counts), size, Epsilon.read(epsilon), Neighbours(relation)))
            yield from _compared(task, counts, size, epsilon, relation, ours, sizes)
        for name, counts, size, epsilon in _many():
            task = f"{name}, {size} of {len(counts)}, {_RELATIONS[relation]}, ε = {epsilon:g}"
            ours = _expected(our_shortfalls(counts, size, epsilon, relation))
            yield from _compared(task, counts, size, epsilon, relation, ours, sizes)


def _few() -> Iterator[tuple[str, list[int], int, float]]:
    for epsilon in (0.1, 0.5, 1.0):
        yield "parties", list(data.votes("party").values()), 3, epsilon
    yield "levels of education", list(data.votes("education").values()), 2, 0.1


def _many() -> Iterator[tuple[str, list[int], int, float]]:
    yield "10,000 people on a Zipf curve", zipf(100), 5, 0.1
    yield "10,000 people on a Zipf curve", zipf(100), 10, 1.0


def zipf(options: int) -> list[int]:
    """Different counts, the largest first."""
    shares = 1 / np.arange(1, options + 1)
    return sorted(np.round(10_000 * shares / shares.sum()).astype(int).tolist(), reverse=True)


def _compared(
    task: str,
    counts: Sequence[int],
    size: int,
    epsilon: float,
    relation: str,
    ours: tuple[Estimate, Estimate],
    sizes: Sizes,
) -> Iterator[Comparison]:
    exact = _expected(joint_shortfalls(counts, size, epsilon, relation))
    scale = size / epsilon * (1 if relation == "add-remove" else 2)
    choose = libraries.opendp_top(size, scale, monotonic=relation == "add-remove")
    chosen = [shortfall(counts, choose(list(counts))) for _ in range(sizes.peer)]
    for peer, wrong, short in ((_JOINT, *exact), ("OpenDP noisy top-k", _wrong(chosen), drawn(chosen))):
        yield Comparison(WRONG, task, peer, ours[0], wrong)
        yield Comparison(SHORT, task, peer, ours[1], short)


def _expected(law: npt.NDArray[np.float64]) -> tuple[Estimate, Estimate]:
    """The probability of a wrong list and the expected shortfall, from the probability of each shortfall from 0 on."""
    return Estimate(float(law[1:].sum())), Estimate(float(law @ np.arange(len(law))))


def _wrong(shortfalls: Sequence[float]) -> Estimate:
    return drawn([float(short > 0) for short in shortfalls])


def shortfall(counts: Sequence[int], chosen: Sequence[int]) -> int:
    """The largest number of people that the option at a place has less than the true one. Counts are in falling order."""
    return max(max(0, counts[place] - counts[option]) for place, option in enumerate(chosen))


def joint_shortfalls(counts: Sequence[int], size: int, epsilon: float, relation: str) -> npt.NDArray[np.float64]:
    """The probability of each shortfall from 0 on."""
    moves = 2 if relation == "substitution" else 1
    ordered = np.array(counts)
    gaps = np.arange(int(ordered[0]) + 1)
    # Lists with a shortfall of at most g: at each place the options that are near enough, less those already chosen.
    lists = np.zeros(len(gaps))
    for place in range(size):
        near = len(ordered) - np.searchsorted(ordered[::-1], ordered[place] - gaps, side="left")
        lists += np.log(near - place)
    largest = lists.max()
    new = np.diff(np.exp(lists - largest), prepend=0.0)
    logarithm = np.where(new > 0, np.log(np.maximum(new, 1e-300)), -math.inf) - epsilon * gaps / (2 * moves)
    weights = np.exp(logarithm - logarithm.max())
    made: npt.NDArray[np.float64] = weights / weights.sum()
    return made


def our_shortfalls(counts: Sequence[int], size: int, epsilon: float, relation: str) -> npt.NDArray[np.float64]:
    """The same for ours: a class is first at time t with the density of its own first heads, times nobody's heads before."""
    rate = epsilon / (4 if relation == "substitution" else 2)
    shortfalls = Shortfalls.of(counts, size)
    gaps, numbers = map(list, zip(*shortfalls.gaps()))
    short = [gap for gap, _ in shortfalls.classes()]
    log_time, weights = _quadrature()
    time = np.exp(log_time)
    coins, lists = np.exp(-rate * np.array(gaps, dtype=float)), np.array([float(number) for number in numbers])
    waiting = np.log1p(-np.minimum(np.outer(time, coins), 1 - 1e-16))
    nobody = waiting @ lists
    law = np.zeros(max(short) + 1)
    for place, gap in enumerate(short):
        first = np.exp(np.maximum(nobody - waiting[:, place], -700)) * lists[place] * coins[place]
        law[gap] = np.sum(weights * time * first)
    return law


def _quadrature() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Points and weights on the logarithms of all times from 10^-30 to 1, a few for each factor of two."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    ends = np.linspace(math.log(1e-30), 0, 101)
    half = (ends[1] - ends[0]) / 2
    return (ends[:-1, None] + half * (1 + nodes)).ravel(), np.tile(half * weights, 100)


def _exact(counts: Sequence[int], law: TopLaw) -> tuple[Estimate, Estimate]:
    """Of ours, from its law: the probability of a wrong list and the expected shortfall."""
    with precision(64):
        by_list = {chosen: float(chance) for chosen, chance in law.probabilities(counts).items()}
    short = {chosen: shortfall(counts, chosen) for chosen in by_list}
    wrong = math.fsum(chance for chosen, chance in by_list.items() if short[chosen])
    return Estimate(wrong), Estimate(math.fsum(chance * short[chosen] for chosen, chance in by_list.items()))
