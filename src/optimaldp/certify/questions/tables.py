"""The tables that the referee makes up, from public numbers alone: all small ones, and long lines of the public size.

A neighbour moves one person from any cell to any other (substitution), or adds or removes one (add-remove): that is all the
referee knows about neighbours. Under add-remove only the larger table of a pair is named, so that each pair comes once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any

from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.meanings import MEANINGS, Meaning, cells_of_groups, public_group
from optimaldp.privacy import Neighbours

_MOST_PEOPLE = 4
_WORK = 800  # neighbouring pairs of small tables that are compared
_MOST_MIXED = 16  # cells that are all occupied at once; of more the watched ones are
_MIXED_LINES = 4
_ABOUT_SEVERAL_NUMBERS = ("several", "share-difference", "mean-difference")

People = tuple[int, ...]
"""A small table: the cells that its people are in, sorted. Each table has one such list, and a person is one place of it."""
Group = Callable[[int], Any]
"""The group of a cell where groups are public; a replaced record stays in its own."""


def watched_cells(size: int, most: int) -> list[int]:
    """All cells, or the first, the second, the middle ones and the last two of many."""
    if size <= most:
        return list(range(size))
    spread = [0, 1, size - 1, size - 2, size // 2, size // 3, 2 * size // 3]
    return sorted(set(spread[:most]))


def small_tables(
    cells: Sequence[int], relation: Neighbours, group: Group | None = None
) -> tuple[dict[People, list[People]], int]:
    """Every table of up to so many people as the work allows, with its neighbours; and how many people that are."""
    near: dict[People, list[People]] = {}
    pairs, people = 0, 0
    for people in range(_MOST_PEOPLE + 1):
        tables = list(combinations_with_replacement(cells, people))
        if (
            pairs + len(tables) * len(cells) ** 2 > _WORK
        ):  # of this many people all tables or none: a rule that is easy to say
            people -= 1
            break
        near |= {table: neighbours_of(table, cells, relation, group) for table in tables}
        pairs = sum(map(len, near.values()))
    if relation is Neighbours.ADD_REMOVE:  # the larger ones of the last pairs are tables too
        near |= {table: [] for table in combinations_with_replacement(cells, people + 1)}
    return near, people


def neighbours_of(
    people: People, cells: Sequence[int], relation: Neighbours, group: Group | None = None
) -> list[People]:
    """Every table that one person makes out of this one; under add-remove only the larger ones."""
    if relation is Neighbours.ADD_REMOVE:
        return [tuple(sorted((*people, cell))) for cell in cells]
    near = []
    for place, source in enumerate(people):
        if source in people[:place]:
            continue  # people of one cell are alike
        staying = people[:place] + people[place + 1 :]
        near += [
            tuple(sorted((*staying, cell)))
            for cell in cells
            if cell != source and (group is None or group(cell) == group(source))
        ]
    return near


def moves_to_another(near: Mapping[People, Sequence[People]], truths: Mapping[People, int]) -> dict[People, int]:
    """Breadth-first: how many moves lead from a table to one with another true answer; where none do, it is left out."""
    around = {table: set(others) for table, others in near.items()}
    for table, others in near.items():
        for other in others:
            around[other].add(table)
    front = [table for table in near if any(truths[other] != truths[table] for other in around[table])]
    found: dict[People, int] = {}
    steps = 1
    while front:
        found.update(dict.fromkeys(front, steps))
        # On a shortest way the answer changes with the last move, so it leads through tables of the same answer.
        inward = {other for table in front for other in around[table] if truths[other] == truths[table]}
        front, steps = [table for table in inward if table not in found], steps + 1
    return found


@dataclass(frozen=True)
class LineOfTables:
    """Tables on which *moved* of the people have gone from the first cell to the second; the others stay where they are."""

    first: int
    second: int
    moving: int
    others: Mapping[int, int]

    def table(self, moved: int, *, more: int = 0) -> dict[int, int]:
        """Only the occupied cells; *more* people have come to the second one."""
        table = dict(self.others)
        for cell, number in ((self.first, self.moving - moved), (self.second, moved + more)):
            table[cell] = table.get(cell, 0) + number
        return {cell: number for cell, number in table.items() if number}

    def change(self, meaning: Meaning) -> int:
        """A place where the true answer changes; the end of the line where it does not."""
        at_first = meaning(self.table(0))
        low, high = 0, self.moving
        if meaning(self.table(high)) == at_first:
            return high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if meaning(self.table(middle)) == at_first else (low, middle)
        return low


def lines_of(mechanism: Examined, people: int) -> Iterator[LineOfTables]:
    """Lines between two cells with everybody on them; of questions about several numbers also with people in all cells."""
    spec, size = mechanism.spec(), mechanism.cells
    if not mechanism.setting.public_groups:  # where groups are public, nobody goes from an empty group to another
        pairs = list(combinations(watched_cells(size, 4), 2))
        few = len(mechanism.answers) == 2 or spec["kind"] not in MEANINGS
        yield from (LineOfTables(*pair, people, {}) for pair in pairs[: 6 if few else 2])
    if spec["kind"] in _ABOUT_SEVERAL_NUMBERS:
        yield from _mixed(mechanism, people)


def _mixed(mechanism: Examined, people: int) -> Iterator[LineOfTables]:
    """With people in all cells: questions about two numbers do not change while one of them is about nobody."""
    spec, size = mechanism.spec(), mechanism.cells
    if mechanism.setting.public_groups:
        cells: Sequence[int] = cells_of_groups(spec, size)
        pairs = [pair for pair in combinations(cells, 2) if len({public_group(spec, cell) for cell in pair}) == 1]
    else:
        cells = range(size) if size <= _MOST_MIXED else watched_cells(size, 7)
        whole = list(combinations(cells, 2))
        pairs = whole[:: max(1, len(whole) // _MIXED_LINES)]
    for pair in pairs:
        staying = [cell for cell in cells if cell not in pair]
        each = (people - people // 4) // len(staying)
        yield LineOfTables(*pair, people - each * len(staying), dict.fromkeys(staying, each))
