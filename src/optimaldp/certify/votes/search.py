"""All small tables, and the neighbours of each."""

from __future__ import annotations

from collections.abc import Iterator

from optimaldp.certify.votes.meaning import Table
from optimaldp.privacy import Neighbours


def tables(cells: int, people: int) -> Iterator[Table]:
    """All tables of exactly so many people."""
    if cells == 1:
        yield (people,)
        return
    for first in range(people + 1):
        for rest in tables(cells - 1, people - first):
            yield (first, *rest)


def neighbours_of(table: Table, relation: Neighbours) -> Iterator[Table]:
    """One record replaced by any other; or one person more or less."""
    for giver, people in enumerate(table):
        without = (*table[:giver], people - 1, *table[giver + 1 :])
        if relation is Neighbours.ADD_REMOVE:
            if people:
                yield without
            yield (*table[:giver], people + 1, *table[giver + 1 :])
        elif people:
            for taker in range(len(table)):
                if taker != giver:
                    yield (*without[:taker], without[taker] + 1, *without[taker + 1 :])
