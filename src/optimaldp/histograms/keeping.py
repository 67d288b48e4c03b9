"""People with levels of their own in a table of counts: each is kept with a probability, exactly.

A person with level ``e_i`` below the table's epsilon is kept with probability ``p = (e^(e_i) - 1) / (e^epsilon - 1)``. Whoever is
not kept is counted with everybody else (under add-remove: not at all). What the table then says about one person is a mixture,
and the ratio of its probabilities is at most ``1 + p (e^epsilon - 1) = e^(e_i)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from optimaldp.extras import numpy_if_installed
from optimaldp.privacy.balls import Ball
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.sampling import BitSource, SystemBits, draw_listed, draw_many

Kept = Callable[..., dict[int, int]]


def keep_chance(own: Epsilon, epsilon: Epsilon) -> Ball:
    """The probability of being kept, at the current precision."""
    return (own.exp() - 1) / (epsilon.exp() - 1)


def thinned(
    by_level: Sequence[tuple[Epsilon, Mapping[int, int]]],
    epsilon: Epsilon,
    *,
    everybody_else: int | None,
    source: BitSource | None = None,
) -> dict[int, int]:
    """The cells of the people who are kept; the others in the cell *everybody_else*, or nowhere if that is ``None``."""
    cells: dict[int, int] = {}
    for own, counts in by_level:
        kept = counts if own >= epsilon else _kept(counts, own, epsilon, source)
        for cell, people in kept.items():
            cells[cell] = cells.get(cell, 0) + people
        left_out = sum(counts.values()) - sum(kept.values())
        if everybody_else is not None and left_out:
            cells[everybody_else] = cells.get(everybody_else, 0) + left_out
    return cells


def _kept(counts: Mapping[int, int], own: Epsilon, epsilon: Epsilon, source: BitSource | None) -> dict[int, int]:
    if own.is_zero:
        return {}

    def chances() -> list[Ball]:
        chance = keep_chance(own, epsilon)
        return [chance, 1 - chance]

    # A cell without people would be given a neighbour's sum below.
    counts = {cell: people for cell, people in counts.items() if people}
    np = numpy_if_installed()
    if np is None:
        drawn = iter(draw_listed(chances, sum(counts.values()), source or SystemBits()))
        kept = {cell: sum(next(drawn) == 0 for _ in range(size)) for cell, size in counts.items()}
        return {cell: number for cell, number in kept.items() if number}
    people = np.fromiter(counts.values(), dtype=np.int64, count=len(counts))
    stays = draw_many(chances, int(people.sum()), source=source) == 0
    sums = np.add.reduceat(stays, np.concatenate(([0], np.cumsum(people)[:-1]))) if len(people) else people
    return {cell: int(number) for cell, number in zip(counts, sums.tolist()) if number}
