"""All tables of a small universe as count vectors, and breadth-first search between them by a definition of its own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

Table = tuple[int, ...]


def tables(cells: int, most: int) -> Iterator[Table]:
    """All count vectors with at most *most* people."""
    if cells == 0:
        yield ()
        return
    for first in range(most + 1):
        for rest in tables(cells - 1, most - first):
            yield (first, *rest)


def shifted(table: Table, *changes: tuple[int, int]) -> Table:
    moved = list(table)
    for cell, change in changes:
        moved[cell] += change
    return tuple(moved)


def replaced(table: Table) -> list[Table]:
    """One person's record becomes any other record."""
    pairs = itertools.permutations(range(len(table)), 2)
    return [shifted(table, (i, -1), (j, 1)) for i, j in pairs if table[i]]


def added_or_removed(table: Table, most: int) -> list[Table]:
    fewer = [shifted(table, (i, -1)) for i, people in enumerate(table) if people]
    return fewer + ([shifted(table, (i, 1)) for i in range(len(table))] if sum(table) < most else [])


def search(
    universe: list[Table], neighbours: Callable[[Table], list[Table]], truth: Callable[[Table], bool]
) -> dict[Table, int | float]:
    """The least number of moves from every table to one with another answer, layer by layer."""
    answers = {table: truth(table) for table in universe}
    around = {table: [t for t in neighbours(table) if t in answers] for table in universe}
    flips: dict[Table, int | float] = dict.fromkeys(universe, math.inf)
    layer = [t for t in universe if any(answers[s] != answers[t] for s in around[t])]
    steps = 1
    while layer:
        flips.update(dict.fromkeys(layer, steps))
        steps += 1
        layer = list({s for t in layer for s in around[t] if answers[s] == answers[t] and flips[s] == math.inf})
    return flips


def substitution_flips(cells: int, most: int, truth: Callable[[Table], bool]) -> dict[Table, int | float]:
    return search(list(tables(cells, most)), replaced, truth)


def add_remove_flips(cells: int, most: int, truth: Callable[[Table], bool]) -> dict[Table, int | float]:
    """A way that leaves the universe is missing here: trust a number only if it is at most the room above its table."""
    return search(list(tables(cells, most)), lambda table: added_or_removed(table, most), truth)


def disagreements(
    ours: Callable[[Table], int | float], searched: dict[Table, int | float], *, small: int, room: int | None = None
) -> list[tuple[Table, int | float, int | float]]:
    """Tables of at most *small* people where *ours* is not the searched number; with *room* only where the search could know."""
    wrong = []
    for table, theirs in searched.items():
        if sum(table) > small:
            continue
        mine = ours(table)
        knows = room is None or theirs <= room - sum(table) or mine > theirs or mine <= room - sum(table)
        if mine != theirs and knows:
            wrong.append((table, mine, theirs))
    return wrong


def sparse_counts(counts: Sequence[int]) -> dict[int, int]:
    """Counts per grid value in rising order as {position: people}, occupied values only."""
    return {position: people for position, people in enumerate(counts) if people}
