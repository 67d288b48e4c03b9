"""The tables that the referee makes up, from public numbers alone: all small ones, and long lines of the public size.

A neighbour moves one person from any cell to any other (substitution), or adds or removes one (add-remove): that is all the
referee knows about neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, combinations_with_replacement
from typing import Any

from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.meanings import MEANINGS, Meaning, cells_of_groups, own_meaning, public_group
from optimaldp.privacy import Neighbours

_MOST_PEOPLE = 4
_WORK = 800  # tables of one size, times the ways in which one person can move
_MOST_MIXED = 16  # cells that are all occupied at once; of more the watched ones are
_MIXED_LINES = 4
_NEAR = 3
_FAR_AGAIN = (7, 14, 15)
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
) -> tuple[dict[People, set[People]], int]:
    """Every table of up to so many people as the work allows, with its neighbours; and how many people that are."""
    replaced, size = relation is Neighbours.SUBSTITUTION, len(cells)
    # Of so many people all tables or none: a rule that is easy to say. Where people come, the largest of them gets one more.
    most = max(n for n in range(_MOST_PEOPLE + 1) if math.comb(size + n - 1, n) * size**2 <= _WORK)
    largest = most if replaced else most + 1
    near: dict[People, set[People]] = {
        table: set() for people in range(largest + 1) for table in combinations_with_replacement(cells, people)
    }
    swaps = [(a, b) for a, b in combinations(cells, 2) if group is None or group(a) == group(b)]
    for rest in near:
        if len(rest) < largest:  # with one person more: what this makes are neighbours of each other, or of the rest
            more = {cell: tuple(sorted((*rest, cell))) for cell in cells}
            for here, there in [(more[a], more[b]) for a, b in swaps] if replaced else [(rest, more[c]) for c in cells]:
                near[here].add(there)
                near[there].add(here)
    return near, most


@dataclass(frozen=True)
class LineOfTables:
    """Tables on which ever more of the people have gone from the first cell to the second; the others stay where they are."""

    first: int
    second: int
    moving: int
    others: Mapping[int, int]
    meaning: Meaning
    change: int
    """How many people have gone where the true answer changes; all of them where it does not."""
    places: Sequence[int]
    """How many have gone at the tables that are looked at."""


def lines_of(mechanism: Examined, people: int, far: Sequence[int] = ()) -> Iterator[LineOfTables]:
    """Lines between two cells with everybody on them; of questions about several numbers also with people in all cells.

    Each is looked at near the place where the answer changes, at its ends, and as *far* from the place as is said.
    """
    spec, size = mechanism.question.spec(), mechanism.question.cells
    known = MEANINGS.get(spec["kind"])
    meaning = own_meaning(mechanism) if known is None else partial(known, spec)
    lines: list[tuple[int, int, int, dict[int, int]]] = []
    if not mechanism.setting.public_groups:  # where groups are public, nobody goes from an empty group to another
        pairs = list(combinations(sorted(cell for cell in {0, 1, size - 2, size - 1} if 0 <= cell < size), 2))
        few = len(mechanism.question.answers) == 2 or known is None
        lines += [(*pair, people, {}) for pair in (pairs if few else pairs[:2])]
    if spec["kind"] in _ABOUT_SEVERAL_NUMBERS:
        lines += _mixed(mechanism, people)
    for first, second, moving, others in lines:
        at_first = meaning({**others, first: moving})
        low, high = moving if meaning({**others, second: moving}) == at_first else 0, moving
        while high - low > 1:
            middle = (low + high) // 2
            unchanged = meaning({**others, first: moving - middle, second: middle}) == at_first
            low, high = (middle, high) if unchanged else (low, middle)
        away = [low + sign * step for step in (_FAR_AGAIN if others else far) for sign in (-1, 1)]
        places = {0, moving - 1, *range(low - _NEAR, low + _NEAR + 1), *away}
        yield LineOfTables(first, second, moving, others, meaning, low, sorted(i for i in places if 0 <= i < moving))
        # Very far away the answer's law is a function of the distance: one line on which the answer changes tells.
        if 0 < low < moving:
            far = _FAR_AGAIN


def _mixed(mechanism: Examined, people: int) -> Iterator[tuple[int, int, int, dict[int, int]]]:
    """With people in all cells: questions about two numbers do not change while one of them is about nobody."""
    spec, size = mechanism.question.spec(), mechanism.question.cells
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
        yield *pair, people - each * len(staying), dict.fromkeys(staying, each)
