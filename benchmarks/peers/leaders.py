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
from optimaldp.laws.options import TopLaw
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import precision
from optimaldp.sampling import SystemBits

WRONG = "Leading options, probability of a wrong list"
SHORT = "Leading options, people missing at the worst place of the list"
_RELATIONS = {"substitution": "one record replaced", "add-remove": "one person more or less"}
_JOINT = "joint exponential mechanism (and FastJoint)"


@dataclass(frozen=True)
class Sizes:
    """Draws of a peer's own code, and of ours where there are too many lists to compute."""

    peer: int
    ours: int


FULL = Sizes(peer=2000, ours=600)
SAMPLE = Sizes(peer=20, ours=2)


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    for relation in _RELATIONS:
        for name, counts, size, epsilon in _few():
            task = f"{name}, {size} of {len(counts)}, {_RELATIONS[relation]}, ε = {epsilon:g}"
            ours = _exact(counts, TopLaw(len(counts), size, Epsilon.read(epsilon), Neighbours(relation)))
            yield from _compared(task, counts, size, epsilon, relation, ours, sizes)
        for name, counts, size, epsilon in _many():
            task = f"{name}, {size} of {len(counts)}, {_RELATIONS[relation]}, ε = {epsilon:g}"
            law, source = TopLaw(len(counts), size, Epsilon.read(epsilon), Neighbours(relation)), SystemBits()
            drawn_lists = [shortfall(counts, law.draw(counts, source)) for _ in range(sizes.ours)]
            ours = _wrong(drawn_lists), drawn(drawn_lists)
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
    joint = joint_shortfalls(counts, size, epsilon, relation)
    exact = Estimate(1 - joint[0]), Estimate(float(joint @ np.arange(len(joint))))
    scale = size / epsilon * (1 if relation == "add-remove" else 2)
    choose = libraries.opendp_top(size, scale, monotonic=relation == "add-remove")
    chosen = [shortfall(counts, choose(list(counts))) for _ in range(sizes.peer)]
    for peer, wrong, short in ((_JOINT, *exact), ("OpenDP noisy top-k", _wrong(chosen), drawn(chosen))):
        yield Comparison(WRONG, task, peer, ours[0], wrong)
        yield Comparison(SHORT, task, peer, ours[1], short)


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


def _exact(counts: Sequence[int], law: TopLaw) -> tuple[Estimate, Estimate]:
    """Of ours, from its law: the probability of a wrong list and the expected shortfall."""
    with precision(64):
        by_list = {chosen: float(chance) for chosen, chance in law.probabilities(counts).items()}
    short = {chosen: shortfall(counts, chosen) for chosen in by_list}
    wrong = math.fsum(chance for chosen, chance in by_list.items() if short[chosen])
    return Estimate(wrong), Estimate(math.fsum(chance * short[chosen] for chosen, chance in by_list.items()))
