"""Tables that the referee makes up: all small ones, and those of the public size on the lines between two cells.

Which tables are looked at depends on public numbers alone. A neighbour moves one person from any cell to any other
(substitution), or adds or removes one (add-remove): that is all the referee knows about neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any

from optimaldp.privacy import Neighbours

Counts = Mapping[int, int]
Pair = tuple[dict[int, int], dict[int, int]]


def watched_cells(size: int, most: int) -> list[int]:
    """All cells, or the first, the second, the middle ones and the last two of many."""
    if size <= most:
        return list(range(size))
    spread = [0, 1, size - 1, size - 2, size // 2, size // 3, 2 * size // 3]
    return sorted(set(spread[:most]))


def tables_of(total: int, cells: Sequence[int]) -> Iterator[dict[int, int]]:
    """All tables of *total* people over *cells*."""
    for places in combinations_with_replacement(cells, total):
        table: dict[int, int] = {}
        for place in places:
            table[place] = table.get(place, 0) + 1
        yield table


def neighbours_of(
    table: Counts, cells: Sequence[int], relation: Neighbours, group: Callable[[int], Any] | None = None
) -> Iterator[dict[int, int]]:
    """Every table that one person makes out of this one; under add-remove only the larger ones, so that a pair comes once.

    *group*: the group of a cell where groups are public; a replaced record stays in its own.
    """
    for cell in cells:
        if relation is Neighbours.ADD_REMOVE:
            yield with_people(table, cell, 1)
            continue
        for source in table:
            if source != cell and table[source] and (group is None or group(source) == group(cell)):
                yield with_people(with_people(table, source, -1), cell, 1)


def with_people(table: Counts, cell: int, more: int) -> dict[int, int]:
    changed = dict(table)
    changed[cell] = changed.get(cell, 0) + more
    if not changed[cell]:
        del changed[cell]
    return changed


def key(table: Counts) -> tuple[tuple[int, int], ...]:
    """A table as something to remember it by."""
    return tuple(sorted(table.items()))
