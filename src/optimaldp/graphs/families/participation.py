"""Who took part: datasets are sets of people, and neighbours differ by one person who joins or leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optimaldp.errors import GraphError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.families.paths import read_size
from optimaldp.graphs.families.products import hypercube
from optimaldp.graphs.names import LazyNames, NumberNames, check_unique


class SubsetNames(LazyNames):
    """The subsets of some people, ``'{}'`` to ``'{1,2,3}'``; the bits of a number say who is in, the first person first."""

    def __init__(self, persons: Sequence[str]) -> None:
        self.persons = tuple(persons)
        check_unique(self.persons)
        if bad := [one for one in self.persons if not one or set(one) & set("{,}")]:
            raise GraphError("persons", bad[0], "cannot be written in a set", "use names without commas and braces")

    def __len__(self) -> int:
        return 1 << len(self.persons)

    def name(self, number: int) -> str:
        bits = len(self.persons)
        return "{" + ",".join(one for i, one in enumerate(self.persons) if number >> (bits - 1 - i) & 1) + "}"

    def find(self, name: str) -> int | None:
        present = set(name[1:-1].split(","))
        number = 0
        for one in self.persons:
            number = 2 * number + (one in present)
        return number if self.name(number) == name else None  # refuses strangers and another order


def participation(
    persons: int | Sequence[str], *, level: object = None, levels: Sequence[Any] | None = None
) -> DatasetGraph:
    """All sets of participants; neighbours differ by one person (add-remove; 000, Fig. 1b). *levels*: one per person.

    >>> list(participation(2).names)
    ['{}', '{2}', '{1}', '{1,2}']
    """
    if isinstance(persons, (str, bytes)) or not isinstance(persons, Sequence):
        persons = NumberNames(read_size(persons, 1, field="persons"), first=1)
    cube = hypercube(len(persons), level=level, levels=levels)
    return DatasetGraph(
        SubsetNames(persons), cube.tails, cube.heads, levels=cube.levels, level_of_edge=cube.level_of_edge
    )
