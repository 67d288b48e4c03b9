"""From the cells of a tally to the counts that are made noisy or ranked: every person in one place, once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optimaldp.certify.core.examined import Examined, Finding
from optimaldp.certify.core.meanings import watched_cells

# Where the law of the printed answer cannot be read (noisy counts, several quantiles, a list of leaders), its parts are
# examined. Then the step before it must be examined too: a person who counts twice would lose twice the level.

_WATCHED = 7
_MOST_CELLS = 5000


def check_fold(mechanism: Any) -> str:
    """What is wrong, or nothing. Of very many cells the same question with few is tried: one code serves both."""
    if mechanism.question.cells > _MOST_CELLS:
        mechanism = mechanism.small_twin()
    spec, cells = mechanism.question.spec(), mechanism.question.cells
    among = spec["among"]
    last = (cells // 2 if among else cells) - 1
    # Without a place for everybody else a record that no value lists is in the first place: still in one, and in one only.
    outsiders = last if spec.get("everyone_else", True) else 0
    watched = watched_cells(cells, _WATCHED)
    tables: list[dict[int, int]] = [{cell: 3} for cell in watched]
    # And everybody at once, in every cell: one cell among many that counts twice is as bad as all of them.
    tables += [{}, {cell: cell + 1 for cell in range(cells)}]
    for table in tables:
        expected: dict[int, int] = {}
        for cell, people in table.items():
            # The question's own reading; people who are not asked are in its last place.
            place = (last if cell % 2 else cell // 2) if among else cell
            place = _crossed(place, spec) if "sides" in spec else outsiders if place == last else place
            expected[place] = expected.get(place, 0) + people
        if _people(mechanism.question.fold(table), last) != expected:
            return "somebody is not counted once and in their own place"
    return ""


def _crossed(place: int, spec: Any) -> int:
    """The cell of a cross table: in a column that is closed, whoever has no value has the first."""
    positions = []
    for size in reversed(spec["sides"]):
        place, position = divmod(place, size)
        positions.append(position)
    crossed = 0
    for size, closed, position in zip(spec["sides"], spec["closed"], reversed(positions)):
        crossed = crossed * (size - closed) + (0 if closed and position == size - 1 else position)
    return crossed


def check_group_fold(mechanism: Any) -> str:
    """The same for two groups: a cell is a value and whether its people are in the first alone, the second alone, or neither."""
    cells = {cell: cell + 1 for cell in range(mechanism.question.cells)}
    last = mechanism.question.cells // 4 - 1
    for folded, membership in zip(mechanism.question.fold(cells), (1, 2)):
        expected = {cell // 4: people for cell, people in cells.items() if cell % 4 == membership}
        if _people(folded, last) != expected:
            return "somebody is not counted once and in their own place"
    return ""


def _people(folded: Any, last: int) -> Mapping[int, int]:
    """Counts by place: a list of them, or those with a value by place and those without."""
    if isinstance(folded, tuple):
        return {place: people for place, people in enumerate(folded) if people}
    by_place = {place: people for place, people in folded.values.items() if people}
    return by_place | ({last: folded.without} if folded.without else {})


def counted_once(mechanism: Examined, parts: Finding) -> Finding:
    """What was found of the *parts* of a mechanism whose printed answers cannot be listed, and of the step before them."""
    if not parts.private:
        return parts
    if failure := check_fold(mechanism):
        return Finding(False, parts.checks, failure)
    return Finding(True, ("every person is counted once and in their own place", *parts.checks))
