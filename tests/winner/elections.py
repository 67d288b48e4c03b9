"""Small elections, the definition of every mechanism written down plainly, and the referee of these tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

Mechanism = Callable[[tuple[int, ...]], Sequence[Any]]


def elections(options: int, persons: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """Every way to give *persons* votes to *options* options, in descending order."""
    most = persons if most is None else most
    if options == 1:
        if persons <= most:
            yield (persons,)
        return
    for first in range(min(persons, most), -1, -1):
        if first * options >= persons:
            for rest in elections(options - 1, persons - first, first):
                yield (first, *rest)


def cached(mechanism: Mechanism) -> Mechanism:
    """The mechanism on sorted counts, remembered; the law that order does not matter has a test of its own."""
    known: dict[tuple[int, ...], Sequence[Any]] = {}

    def probabilities(counts: tuple[int, ...]) -> list[Any]:
        order = sorted(range(len(counts)), key=lambda i: -counts[i])
        key = tuple(counts[i] for i in order)
        if key not in known:
            known[key] = mechanism(key)
        result: list[Any] = [None] * len(counts)
        for place, index in enumerate(order):
            result[index] = known[key][place]
        return result

    return probabilities


def moved(counts: tuple[int, ...], giver: int | None, taker: int | None) -> tuple[int, ...]:
    return tuple(c - (i == giver) + (i == taker) for i, c in enumerate(counts))


def substitutions(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The elections one changed vote away."""
    for giver, held in enumerate(counts):
        for taker in range(len(counts)):
            if held and giver != taker:
                yield moved(counts, giver, taker)


def departures(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The elections with one vote less: it went to none of the options, or its person left."""
    for giver, held in enumerate(counts):
        if held:
            yield moved(counts, giver, None)


def worst_ratio(
    mechanism: Mechanism, options: int, persons: int, neighbours: Callable[[tuple[int, ...]], Iterator[tuple[int, ...]]]
) -> Any:
    """The largest ratio of probabilities over all neighbours: e^epsilon of the mechanism."""
    probabilities = cached(mechanism)
    worst: Any = 1
    for counts in elections(options, persons):
        here = probabilities(counts)
        for other in neighbours(counts):
            there = probabilities(other)
            for p, q in zip(here, there):
                worst = max(worst, p / q, q / p)
    return worst


def excess(here: Sequence[Fraction], there: Sequence[Fraction], ratio: Fraction) -> Fraction:
    """The hockey-stick divergence: the least delta at this e^epsilon, in one direction."""
    return sum((max(p - ratio * q, Fraction(0)) for p, q in zip(here, there)), Fraction(0))


def permute_and_flip(counts: Sequence[int], coin: Callable[[int], Fraction]) -> list[Fraction]:
    """Permute-and-flip by its definition: every order, flip until heads."""
    orders = list(permutations(range(len(counts))))
    result = [Fraction(0)] * len(counts)
    for order in orders:
        reached = Fraction(1, len(orders))
        for index in order:
            heads = coin(max(counts) - counts[index])
            result[index] += reached * heads
            reached *= 1 - heads
    return result
