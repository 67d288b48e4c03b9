"""Counting by plain Python: what every tally means, written down a second time and without an engine."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from optimaldp.tables import Bins, Condition, Grid, KeyTally, Options, People, Tally

Row = dict[str, Any]
Truths = dict[str, Callable[[Row], Any]]
"""What each condition means: its text, and whether it holds for a row (None where it is unknown)."""


def number_of(reading: Any, row: Row | None, truths: Truths) -> int:
    """The number of one record; of nobody's record, the last."""
    if row is None:
        return int(reading.size) - 1
    if isinstance(reading, Condition):
        return 0 if truths[reading.text](row) else 1
    value = row[reading.column]
    if isinstance(reading, Options):
        assert reading.values is not None
        same = [place for place, option in enumerate(reading.values) if value is not None and value == option]
        return same[0] if same else reading.size - 1
    if value is None or value != value:
        return int(reading.size) - 1
    if isinstance(reading, Bins):
        return sum(_edge(value, edge) <= 0 for edge in reading.edges[1:-1])
    low, step = reading.low, reading.step
    if isinstance(reading, Grid):
        low = low - step / 2
    return _last_not_above(value, low, step, reading.size - 1)


def _edge(value: Any, edge: Any) -> int:
    """Negative if the edge is below the value, zero on it: a double is compared with the nearest double of the edge."""
    if isinstance(value, float):
        edge = float(edge)
    elif isinstance(value, datetime.datetime) and not isinstance(edge, datetime.datetime):
        edge = datetime.datetime(edge.year, edge.month, edge.day)
    return -1 if edge < value else int(edge > value)


def _last_not_above(value: Any, low: Any, step: Any, bins: int) -> int:
    """Bisection over the edges low + k·step: no arithmetic on the value."""
    below, above = 0, bins
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if _edge(value, low + middle * step) <= 0 else (below, middle)
    return below


def reduced(reading: Any, rule: str, rows: list[Row], truths: Truths) -> int:
    """The number of a person from the rows that speak for them."""
    numbers = [number_of(reading, row, truths) for row in rows]
    last = reading.size - 1
    if rule == "any":
        return 0 if 0 in numbers else 1
    if rule == "all":
        return 0 if numbers and set(numbers) == {0} else 1
    heard = numbers if isinstance(reading, Condition) else [number for number in numbers if number != last]
    if not heard:
        return int(last)
    if rule == "most-frequent":
        votes = Counter(heard)
        return min(votes, key=lambda number: (-votes[number], number))
    if rule == "mean":
        return math.floor(Fraction(sum(heard), len(heard)) + Fraction(1, 2))
    return max(heard) if rule == "max" else min(heard)


def groups(rows: Iterable[Row], people: People, truths: Truths) -> list[list[Row]]:
    """The rows that speak for each person: part, then where, then unit."""
    if people.part is not None:
        column, value = people.part
        rows = [row for row in rows if row[column] == value]

    def speaks(row: Row) -> bool:
        return people.where is None or bool(truths[people.where](row))

    if people.unit is None:
        return [[row] if speaks(row) else [] for row in rows]
    own: dict[Any, list[Row]] = {}
    for row in rows:
        if row[people.unit] is not None:
            own.setdefault(row[people.unit], []).append(row)
    return [[row for row in each if speaks(row)] for each in own.values()]


def counted(tally: Tally, rows: Iterable[Row], people: People, truths: Truths) -> dict[int, int]:
    """People by cell."""
    rules = people.rules(tally)
    cells: Counter[int] = Counter()
    for own in groups(rows, people, truths):
        cells[_cell(tally, own, people, rules, truths)] += 1
    return dict(cells)


def _cell(tally: Tally, own: list[Row], people: People, rules: tuple[str, ...], truths: Truths) -> int:
    if people.unit is None:
        return _joined(tally, [number_of(one, own[0] if own else None, truths) for one in tally.readings])
    if people.reduce == "first":
        return min(
            (_joined(tally, [number_of(one, row, truths) for one in tally.readings]) for row in _first(own, people)),
            default=tally.size - 1,
        )
    return _joined(tally, [reduced(one, rule, own, truths) for one, rule in zip(tally.readings, rules)])


def _first(own: list[Row], people: People) -> list[Row]:
    placed = [row for row in own if row[people.reduce_order or ""] is not None]
    least = min((row[people.reduce_order or ""] for row in placed), default=None)
    return [row for row in placed if row[people.reduce_order or ""] == least]


def _joined(tally: Tally, numbers: list[int]) -> int:
    cell = 0
    for number, size in zip(numbers, tally.shape):
        cell = cell * size + number
    return cell


def keys(tally: KeyTally, rows: Iterable[Row], people: People, truths: Truths) -> dict[Any, int]:
    """People by key."""
    found: Counter[Any] = Counter()
    for own in groups(rows, people, truths):
        if people.reduce == "first":
            own = _first(own, people)
        votes = Counter(row[tally.column] for row in own if row[tally.column] is not None)
        if votes:
            most = max(votes.values()) if people.reduce != "first" else 0
            found[min(key for key in votes if votes[key] >= most)] += 1
    return dict(found)
