"""Tables of the public size on the lines between two cells: where the answer changes, next to it, and far from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations
from typing import Any

from optimaldp.certify.questions.laws_compared import close, ratio_of
from optimaldp.certify.questions.meanings import Meaning
from optimaldp.certify.questions.second_calculation import confirms
from optimaldp.certify.questions.small_tables import watched_cells, with_people
from optimaldp.laws.setting import Table
from optimaldp.privacy import Neighbours

_UNKNOWN_SIZE = 1000  # people in the tables that are made up where their number is private
_NEAR = 3
_FAR = (7, 14, 15, 101, 127, 1 << 10, 1 << 19)


def check_lines(mechanism: Any, meaning: Meaning | None) -> tuple[str, int]:
    """What is wrong on one of the lines, or nothing; and how many people the tables have."""
    people = mechanism.setting.people or _UNKNOWN_SIZE
    if meaning is None:
        return "", people
    cells = watched_cells(mechanism.cells, 4)
    for first, second in list(combinations(cells, 2))[: 6 if len(mechanism.answers) == 2 else 2]:
        failure = _line(mechanism, meaning, partial(_between, people, first, second), people, second)
        if failure:
            return failure, people
    return "", people


def _between(people: int, first: int, second: int, moved: int) -> dict[int, int]:
    table = {first: people - moved, second: moved}
    return {cell: number for cell, number in table.items() if number}


def _line(mechanism: Any, meaning: Meaning, table: Callable[[int], dict[int, int]], people: int, second: int) -> str:
    change = _change(lambda i: meaning(table(i)) == meaning(table(0)), people)
    near = range(change - _NEAR, change + _NEAR + 1)
    far = [change + sign * step for step in _FAR for sign in (-1, 1)]
    for i in sorted({0, people - 1, *near, *far}):
        if not 0 <= i < people:
            continue
        here = table(i)
        there = (
            table(i + 1) if mechanism.setting.neighbours is Neighbours.SUBSTITUTION else with_people(here, second, 1)
        )
        if not _close(mechanism, here, there):
            return f"two tables of {people:,} people that differ in one person are not close"
        if not confirms(mechanism, Table(here)):
            return "a second calculation does not confirm the law of a table of the public size"
    return ""


def _change(same: Callable[[int], bool], people: int) -> int:
    """A place where the true answer changes; the end of the line where it does not."""
    low, high = 0, people
    if same(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if same(middle) else (low, middle)
    return low


def _close(mechanism: Any, first: Mapping[int, int], second: Mapping[int, int]) -> bool:
    level = mechanism.setting.level
    rows = [mechanism.law(Table(table)).probabilities() for table in (first, second)]
    return close(rows[0], rows[1], ratio_of(level), level.delta)
