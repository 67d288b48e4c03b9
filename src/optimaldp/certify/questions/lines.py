"""Tables of the public size on the lines between two cells: where the answer changes, next to it, and far from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.laws_compared import close, ratio_of
from optimaldp.certify.questions.meanings import Meaning, cell_values, cells_of_groups, is_known, public_group
from optimaldp.certify.questions.second_calculation import SecondCalculation
from optimaldp.certify.questions.small_tables import watched_cells, with_people
from optimaldp.laws.setting import Table
from optimaldp.privacy import Neighbours
from optimaldp.privacy.trajectory import Number

_UNKNOWN_SIZE = 1000  # people in the tables that are made up where their number is private
_NEAR = 3
_MOST_MIXED = 16  # cells that are all occupied at once; of more the watched ones are
_MIXED_LINES = 4
_ABOUT_SEVERAL_NUMBERS = ("several", "share-difference", "mean-difference")
_FAR = (7, 14, 15, 101, 127, 1 << 10, 1 << 19)
_FAR_MIXED = _FAR[:3]
_DERIVED_AGAIN = ("smoothed rank", "flip", "flip+")  # laws whose numbers are derived again, far away as well
_FAR_DERIVED = (7, 127)


def check_lines(mechanism: Examined, meaning: Meaning) -> tuple[str, int]:
    """What is wrong on one of the lines, or nothing; and how many people the tables have."""
    people = mechanism.setting.people or _UNKNOWN_SIZE
    second = SecondCalculation.of(mechanism)
    far: Sequence[int] = _FAR_DERIVED if mechanism.name in _DERIVED_AGAIN else _FAR
    for line in _lines(mechanism, people):
        change = line.change(meaning)
        steps = _FAR_MIXED if line.others else far
        if failure := _failure(mechanism, meaning, line, change, steps, second):
            return failure, people
        # Very far away the answer's law is a function of the distance: one line on which the answer changes tells.
        if 0 < change < line.moving:
            far = _FAR_MIXED
    return "", people


def own_meaning(mechanism: Examined) -> Meaning:
    """Of a question of a kind that the referee does not know: where its answer changes, it must say itself."""

    def truth(table: Mapping[int, int]) -> int:
        place: int = mechanism.truth(Table(table))
        return place

    return truth


@dataclass(frozen=True)
class _Line:
    """Tables on which *moved* of the people have gone from the first cell to the second; the others stay where they are."""

    first: int
    second: int
    moving: int
    others: Mapping[int, int]

    def table(self, moved: int) -> dict[int, int]:
        table = dict(self.others)
        for cell, number in ((self.first, self.moving - moved), (self.second, moved)):
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


def _lines(mechanism: Examined, people: int) -> Iterator[_Line]:
    pairs = list(combinations(watched_cells(mechanism.cells, 4), 2))
    if not mechanism.setting.public_groups:
        few = len(mechanism.answers) == 2 or not is_known(mechanism.spec())
        yield from (_Line(*pair, people, {}) for pair in pairs[: 6 if few else 2])
    spec = mechanism.spec()
    if cell_values(spec, ()) is None and spec["kind"] in _ABOUT_SEVERAL_NUMBERS:
        yield from _mixed(mechanism, people)


def _mixed(mechanism: Examined, people: int) -> Iterator[_Line]:
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
        yield _Line(*pair, people - each * len(staying), dict.fromkeys(staying, each))


def _failure(
    mechanism: Examined,
    meaning: Meaning,
    line: _Line,
    change: int,
    steps: Sequence[int],
    second: SecondCalculation | None,
) -> str:
    """What is wrong near the place where the answer changes, *steps* away from it, and at both ends of the line."""
    near = range(change - _NEAR, change + _NEAR + 1)
    far = [change + sign * step for step in steps for sign in (-1, 1)]
    replaced = mechanism.setting.neighbours is Neighbours.SUBSTITUTION
    level = mechanism.setting.level
    ratio = ratio_of(level)

    @cache  # where a record is replaced, the neighbour of a table is the next one on the line
    def row(i: int) -> list[Number]:
        return _row(mechanism, line.table(i))

    for i in sorted({0, line.moving - 1, *near, *far}):
        if not 0 <= i < line.moving:
            continue
        here, table = row(i), line.table(i)
        there = row(i + 1) if replaced else _row(mechanism, with_people(table, line.second, 1))
        if not close(here, there, ratio, level.delta):
            return "two tables of the public size that differ in one person are not close"
        if len(here) == 2 and here[(truth := meaning(table))] < here[1 - truth]:
            return "the true answer of a table of the public size is not the likeliest one"
        if second is not None and not second.agrees(table, here):
            return "a second calculation does not confirm the law of a table of the public size"
    return ""


def _row(mechanism: Examined, table: Mapping[int, int]) -> list[Number]:
    row: list[Number] = mechanism.law(Table(table)).probabilities()
    return row
