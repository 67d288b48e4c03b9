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
from optimaldp.privacy.numbers import first_where

# What each question means, read anew from its plain numbers: the referee shares no code with the questions themselves.
#
# A table is given by its occupied cells. A cell is a number for each way in which a record can be read, in the order of the
# tally: the question's own readings first, the condition behind ``among`` last (0: asked, 1: not asked).

Spec = Mapping[str, Any]
Cells = Mapping[int, int]
Meaning = Callable[[Cells], int]
"""The position of the true answer at a table."""

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


def _thresholds(spec: Spec, table: Cells) -> int:
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


def _asked(spec: Spec, table: Cells) -> dict[int, int]:
    """People by the question's own reading; those who are not asked are left out."""
    if not spec["among"]:
        return dict(table)
    return {cell // 2: people for cell, people in table.items() if cell % 2 == 0}


def _compare(spec: Spec, table: Cells) -> int:
    asked = _asked(spec, table)
    return 0 if asked.get(0, 0) > asked.get(1, 0) else 1


def _winner(spec: Spec, table: Cells) -> int:
    asked = _asked(spec, table)
    return max(range(spec["options"]), key=lambda option: (asked.get(option, 0), -option))


def _quantile(spec: Spec, table: Cells) -> int:
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


def _mean(spec: Spec, table: Cells) -> int:
    values = _values(spec)
    asked = {cell: people for cell, people in _asked(spec, table).items() if cell < values}
    total = sum((spec["low"] + cell * spec["step"]) * people for cell, people in asked.items())
    return 0 if _COMPARE[spec["comparison"]](total, spec["bound"] * sum(asked.values())) else 1


Sum = tuple[Sequence[Fraction], str, Fraction]
"""What a person of each cell adds (those of the cells behind add nothing), and the bound with which the sum is compared."""


def _sum_of_mean(spec: Spec) -> Sum:
    """Times the number of people: compared with 0."""
    adds = [spec["low"] + place * spec["step"] - spec["bound"] for place in range(_values(spec))]
    return (*adds, Fraction(0)), spec["comparison"], Fraction(0)


def _share_difference(spec: Spec, table: Cells) -> int:
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


def _mean_difference(spec: Spec, table: Cells) -> int:
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


def _group_of_pair(spec: Spec, cell: int) -> Any:
    (reads_a, in_a), (reads_b, in_b) = spec["first"], spec["second"]
    last = max(reads_a, in_a, reads_b, in_b)
    return tuple((cell >> (last - place)) & 1 for place in (in_a, in_b))


def public_group(spec: Spec, cell: int) -> Any:
    """Of two groups whose members are public: to which a record of this cell belongs. Nobody leaves theirs."""
    return known_kind(spec).group(spec, cell)


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
    kind, meaning = known_kind(spec), meaning_of(mechanism)
    lines: list[tuple[int, int, int, dict[int, int]]] = []
    if not mechanism.setting.public_groups:  # where groups are public, nobody goes from an empty group to another
        pairs = list(combinations(sorted(cell for cell in {0, 1, size - 2, size - 1} if 0 <= cell < size), 2))
        few = len(mechanism.question.answers) == 2 or kind is NEW
        lines += [(*pair, people, {}) for pair in (pairs if few else pairs[:2])]
    if kind.several_numbers:
        lines += _mixed(mechanism, people)
    for first, second, moving, others in lines:
        low = _unchanged(meaning, first, second, moving, others)
        away = [low + sign * step for step in (_FAR_AGAIN if others else far) for sign in (-1, 1)]
        places = {0, moving - 1, *range(low - _NEAR, low + _NEAR + 1), *away}
        yield LineOfTables(first, second, moving, others, meaning, low, sorted(i for i in places if 0 <= i < moving))
        # Very far away the answer's law is a function of the distance: one line on which the answer changes tells.
        if 0 < low < moving:
            far = _FAR_AGAIN


def _unchanged(meaning: Meaning, first: int, second: int, moving: int, others: Cells) -> int:
    """How many can go from the first cell to the second and leave the true answer as it is; all where it never changes."""

    def truth(gone: int) -> int:
        return meaning({**others, **{cell: n for cell, n in ((first, moving - gone), (second, gone)) if n}})

    start = truth(0)
    return moving if truth(moving) == start else first_where(lambda gone: truth(gone) != start, 1, moving) - 1


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


# What the referee knows of each kind of question by itself.


@dataclass(frozen=True)
class KnownKind:
    """A kind of question, as the referee reads it from the plain numbers of a question."""

    truth: Callable[[Spec, Cells], int] | None = None
    """Where the true answer of a table stands; ``None`` for a kind that must say so itself."""
    sum: Callable[[Spec], Sum] | None = None
    """The question as one sum over people, where it is one."""
    fold: str = ""
    """What looks at every person's place in the counts, where too few cells are watched from outside to see it."""
    group: Callable[[Spec, int], Any] = _group_of_pair
    """Where groups can be public, the group of a cell."""
    several_numbers: bool = False
    """Whether it compares numbers that can each be about nobody: then tables with people in all cells are looked at, too."""
    votes: bool = False
    """Whether its answers are options that are all treated alike."""


NEW = KnownKind()
KINDS: Mapping[str, KnownKind] = {
    "count": KnownKind(_thresholds, sum=lambda spec: ((Fraction(1), Fraction(0)), spec["comparison"], spec["bound"])),
    "share": KnownKind(
        _thresholds, sum=lambda spec: ((1 - spec["bound"], -spec["bound"]), spec["comparison"], Fraction(0))
    ),
    "several": KnownKind(_thresholds, several_numbers=True),
    "compare": KnownKind(_compare, sum=lambda spec: ((Fraction(1), Fraction(-1), Fraction(0)), ">", Fraction(0))),
    "winner": KnownKind(_winner, votes=True),
    "quantile": KnownKind(_quantile, fold="folding.check_fold"),
    "mean": KnownKind(_mean, sum=_sum_of_mean),
    "share-difference": KnownKind(_share_difference, several_numbers=True),
    "mean-difference": KnownKind(
        _mean_difference, fold="folding.check_group_fold", group=lambda _, cell: cell % 4, several_numbers=True
    ),
}


def known_kind(spec: Spec) -> KnownKind:
    """The kind of a question, or :data:`NEW`."""
    return KINDS.get(spec["kind"], NEW)


def meaning_of(mechanism: Examined) -> Meaning:
    """Where the true answer of a table stands; a question of a new kind must say itself where its answer changes."""
    spec, question = mechanism.question.spec(), mechanism.question
    truth = known_kind(spec).truth
    return partial(truth, spec) if truth else lambda table: question.truth(question.fold(table))
