"""Two-way tables from a flat list of counts: margins that add up, because they are computed from the released cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.results import Result


@dataclass(frozen=True, repr=False)
class TwoWayTable(Result):
    """A released two-way table with its margins; *rest* holds what belongs to no cell (counts beyond rows times
    columns)."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]
    rest: tuple[int, ...]

    @property
    def row_totals(self) -> tuple[int, ...]:
        return tuple(sum(row) for row in self.cells)

    @property
    def column_totals(self) -> tuple[int, ...]:
        return tuple(sum(column) for column in zip(*self.cells))

    @property
    def total(self) -> int:
        return sum(self.row_totals)

    def summary(self) -> str:
        return f"TwoWayTable({len(self.rows)} × {len(self.columns)} cells, margins add up)"

    def details(self) -> list[tuple[str, str]]:
        body = [(name, "  ".join(map(str, (*row, sum(row))))) for name, row in zip(self.rows, self.cells)]
        return [
            ("", "  ".join((*self.columns, "total"))),
            *body,
            ("total", "  ".join(map(str, (*self.column_totals, self.total)))),
        ]

    def to_document(self) -> dict[str, Any]:
        return {
            "rows": list(self.rows),
            "columns": list(self.columns),
            "cells": [list(row) for row in self.cells],
            "row_totals": list(self.row_totals),
            "column_totals": list(self.column_totals),
            "total": self.total,
            "rest": list(self.rest),
        }


def two_way_table(counts: Sequence[int], rows: Sequence[Any], columns: Sequence[Any]) -> TwoWayTable:
    """Fold a flat list of counts, the first variable varying slowest; counts beyond the cells go to ``rest``.

    >>> table = two_way_table([1, 2, 3, 4, 9], ["a", "b"], ["x", "y"])
    >>> table.row_totals, table.column_totals, table.total, table.rest
    ((3, 7), (4, 6), 10, (9,))
    """
    width, size = len(columns), len(rows) * len(columns)
    if not size or size > len(counts):
        raise HistogramError("rows and columns", (len(rows), width), f"do not fit {len(counts)} counts")
    cells = tuple(tuple(counts[start : start + width]) for start in range(0, size, width))
    return TwoWayTable(tuple(map(str, rows)), tuple(map(str, columns)), cells, tuple(counts[size:]))
