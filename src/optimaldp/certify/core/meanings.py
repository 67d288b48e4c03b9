"""What a question means on a table: every small table, its neighbours, and the truth written a second time."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, combinations_with_replacement
from typing import Any

from optimaldp.certify.core.examined import Examined
from optimaldp.privacy import Neighbours

# What each question means, read anew from its plain numbers: the referee shares no code with the questions themselves.
#
# A table is given by its occupied cells. A cell is a number for each way in which a record can be read, in the order of the
# tally: the question's own readings first, the condition behind ``among`` last (0: asked, 1: not asked).

Spec = Mapping[str, Any]
Counts = Mapping[int, int]
Meaning = Callable[[Counts], int]
"""The position of the true answer at a table."""

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


def own_meaning(mechanism: Examined) -> Meaning:
    """Of a question of a kind that the referee does not know: where its answer changes, it must say itself."""
    return lambda table: mechanism.question.truth(mechanism.question.fold(table))


def _thresholds(spec: Spec, table: Counts) -> int:
    """Counts and shares: one of them, or several that are joined by "and" or "or".

    A cell has one bit for each condition, the first one on top, and 0 says that it holds. A part reads one of them and may ask
    that another one holds: whoever is not asked is left out.
    """
    alone = spec["kind"] != "several"
    parts = [{**spec, "reads": 0, "asks": 1 if spec["among"] else None}] if alone else spec["thresholds"]
    last = max(max(part["reads"], part["asks"] or 0) for part in parts)
    held = []
    for part in parts:
        said = [0, 0]
        for cell, people in table.items():
            if part["asks"] is None or not cell >> (last - part["asks"]) & 1:
                said[cell >> (last - part["reads"]) & 1] += people
        # A share of nobody: both sides multiplied by the number of people, so 0 is compared with 0.
        bound = part["bound"] if part["kind"] == "count" else part["bound"] * sum(said)
        held.append(_COMPARE[part["comparison"]](said[0], bound))
    return 0 if (all(held) if alone or spec["word"] == "and" else any(held)) else 1


def _asked(spec: Spec, table: Counts) -> dict[int, int]:
    """People by the question's own reading; those who are not asked are left out."""
    if not spec["among"]:
        return dict(table)
    return {cell // 2: people for cell, people in table.items() if cell % 2 == 0}


def _compare(spec: Spec, table: Counts) -> int:
    asked = _asked(spec, table)
    return 0 if asked.get(0, 0) > asked.get(1, 0) else 1


def _winner(spec: Spec, table: Counts) -> int:
    asked = _asked(spec, table)
    return max(range(spec["options"]), key=lambda option: (asked.get(option, 0), -option))


def _quantile(spec: Spec, table: Counts) -> int:
    asked = {cell: people for cell, people in _asked(spec, table).items() if cell < spec["bins"]}
    total, below = sum(asked.values()), 0
    for cell in sorted(asked):
        below += asked[cell]
        if below >= spec["rank"] * total and below:
            return cell
    return 0


def _values(spec: Spec) -> int:
    """How many values a record can have; the cell behind them is for people without one."""
    return int((spec["high"] - spec["low"]) / spec["step"]) + 1


def _mean(spec: Spec, table: Counts) -> int:
    values = _values(spec)
    asked = {cell: people for cell, people in _asked(spec, table).items() if cell < values}
    total = sum((spec["low"] + cell * spec["step"]) * people for cell, people in asked.items())
    return 0 if _COMPARE[spec["comparison"]](total, spec["bound"] * sum(asked.values())) else 1


def _share_difference(spec: Spec, table: Counts) -> int:
    (reads_a, in_a), (reads_b, in_b) = spec["first"], spec["second"]
    last = max(reads_a, in_a, reads_b, in_b)
    a, b = [0, 0], [0, 0]  # who says yes and who says no
    for cell, people in table.items():
        says = [cell >> (last - place) & 1 for place in range(last + 1)]  # 0: the condition holds
        if says[in_a] < says[in_b]:  # in the first group alone; who is in both, or in none, is in no comparison
            a[says[reads_a]] += people
        elif says[in_b] < says[in_a]:
            b[says[reads_b]] += people
    # Both sides multiplied by both sizes: nothing is divided, and two empty groups are equal.
    left = Fraction(a[0]) * sum(b)
    right = Fraction(b[0]) * sum(a) + spec["margin"] * sum(a) * sum(b)
    return 0 if _COMPARE[spec["comparison"]](left, right) else 1


def _mean_difference(spec: Spec, table: Counts) -> int:
    values, middle = _values(spec), Fraction(spec["low"] + spec["high"]) / 2
    sums, sizes = [Fraction(0), Fraction(0)], [0, 0]
    for cell, people in table.items():
        place, membership = divmod(cell, 4)  # 1: in the first group alone, 2: in the second alone
        if membership in (1, 2):
            # Who is in a public group stays in it, also without a value: then the middle of the range stands for it.
            value = spec["low"] + place * spec["step"] if place < values else middle
            sums[membership - 1] += people * value
            sizes[membership - 1] += people
    left = sums[0] * sizes[1]
    right = sums[1] * sizes[0] + spec["margin"] * sizes[0] * sizes[1]
    return 0 if _COMPARE[spec["comparison"]](left, right) else 1


MEANINGS: dict[str, Callable[[Spec, Counts], int]] = {
    "count": _thresholds,
    "share": _thresholds,
    "several": _thresholds,
    "compare": _compare,
    "winner": _winner,
    "quantile": _quantile,
    "mean": _mean,
    "share-difference": _share_difference,
    "mean-difference": _mean_difference,
}
"""The kinds that the referee knows by itself: where the true answer stands, from a question's plain numbers and a table."""


def public_group(spec: Spec, cell: int) -> Any:
    """Of two groups whose members are public: to which a record of this cell belongs. Nobody leaves theirs."""
    if spec["kind"] == "mean-difference":
        return cell % 4
    (reads_a, in_a), (reads_b, in_b) = spec["first"], spec["second"]
    last = max(reads_a, in_a, reads_b, in_b)
    return tuple((cell >> (last - place)) & 1 for place in (in_a, in_b))


def cells_of_groups(spec: Spec, size: int) -> list[int]:
    """Of each public group the first, the last and the last but one of its cells."""
    groups: dict[Any, list[int]] = {}
    for cell in range(size):
        groups.setdefault(public_group(spec, cell), []).append(cell)
    return sorted({cell for cells in groups.values() for cell in (cells[0], cells[-1], cells[-2])})


# The tables that the referee makes up, from public numbers alone: all small ones, and long lines of the public size.
#
# A neighbour moves one person from any cell to any other (substitution), or adds or removes one (add-remove): that is all the
# referee knows about neighbours.

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


# From the cells of a tally to the counts that are made noisy or ranked: every person in one place, once.
#
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
