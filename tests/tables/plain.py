"""Counting by plain Python: what every tally means, written down a second time and without an engine."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
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
    if isinstance(value, float | Decimal) or (isinstance(value, int) and value >= 2**63):
        value, edge = float(value), float(edge)
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


def reduced(reading: Any, rule: str, rows: list[Row], truths: Truths, order: str | None = None) -> int:
    """The number of a person from the rows that speak for them."""
    last = reading.size - 1
    if not isinstance(reading, Condition | Options):
        return number_of(reading, {reading.column: value_of(rule, rows, reading.column, order)}, truths)
    if rule in ("first", "last"):
        numbers = [number_of(reading, row, truths) for row in _first(rows, order, last=rule == "last")]
        return (max if rule == "last" else min)(numbers, default=int(last))
    numbers = [number_of(reading, row, truths) for row in rows]
    if rule == "any":
        return 0 if 0 in numbers else 1
    if rule == "all":
        return 0 if numbers and set(numbers) == {0} else 1
    heard = numbers if isinstance(reading, Condition) else [number for number in numbers if number != last]
    if not heard:
        return int(last)
    votes = Counter(heard)
    return min(votes, key=lambda number: (-votes[number], number))


def value_of(rule: str, rows: list[Row], column: str, order: str | None) -> Any:
    """The value of a person from those of their rows."""
    if rule == "count":
        return len(rows)
    if rule in ("first", "last"):
        rows = _first(rows, order, last=rule == "last")
    values = [row[column] for row in rows if row[column] is not None and row[column] == row[column]]
    if not values:
        return None
    if rule in ("sum", "mean") and isinstance(values[0], float | Decimal):
        parts = sum(math.floor(float(value) * 2**20 + 0.5) for value in values)
        return parts / 2**20 if rule == "sum" else float(parts) / (len(values) * 2**20)
    if rule in ("sum", "mean"):
        return sum(values) if rule == "sum" else float(Fraction(sum(values), len(values)))
    if rule == "median":
        return sorted(values)[(len(values) - 1) // 2]
    return max(values) if rule in ("max", "last") else min(values)


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
    order = people.reduce_order
    return _joined(tally, [reduced(one, rule, own, truths, order) for one, rule in zip(tally.readings, rules)])


def _first(own: list[Row], order: str | None, *, last: bool = False) -> list[Row]:
    placed = [row for row in own if row[order or ""] is not None]
    best = (max if last else min)((row[order or ""] for row in placed), default=None)
    return [row for row in placed if row[order or ""] == best]


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
            own = _first(own, people.reduce_order)
        votes = Counter(row[tally.column] for row in own if row[tally.column] is not None)
        if votes:
            most = max(votes.values()) if people.reduce != "first" else 0
            found[min(key for key in votes if votes[key] >= most)] += 1
    return dict(found)
