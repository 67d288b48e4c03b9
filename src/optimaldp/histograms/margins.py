"""Two-way tables from a flat list of counts. Margins come from the noisy cells: unbiased, with an error that is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.results import Result


@dataclass(frozen=True, repr=False)
class TwoWayTable(Result):
    """A released two-way table with its margins; *rest* holds what belongs to no cell (counts beyond rows times columns).

    *cells* are the released counts; the margins are sums of *noisy* cells, so they need not be the sums of *cells*.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]
    rest: tuple[int, ...]
    noisy: tuple[tuple[int, ...], ...]
    error: Callable[[int], QueryError] | None = field(default=None, compare=False)

    @property
    def row_totals(self) -> tuple[int, ...]:
        return tuple(sum(row) for row in self.noisy)

    @property
    def column_totals(self) -> tuple[int, ...]:
        return tuple(sum(column) for column in zip(*self.noisy))

    @property
    def total(self) -> int:
        return sum(self.row_totals)

    def row_reach(self, level: object = "0.95") -> int:
        """How far off a row total is at most, with probability *level*; 0 for a table that was not released."""
        return self.error(len(self.columns)).quantile(level) if self.error else 0

    def column_reach(self, level: object = "0.95") -> int:
        """How far off a column total is at most, with probability *level*."""
        return self.error(len(self.rows)).quantile(level) if self.error else 0

    def summary(self) -> str:
        return f"TwoWayTable({len(self.rows)} × {len(self.columns)} cells, margins unbiased)"

    def details(self) -> list[tuple[str, str]]:
        body = [
            (name, "  ".join(map(str, (*row, total))))
            for name, row, total in zip(self.rows, self.cells, self.row_totals)
        ]
        return [
            ("", "  ".join((*self.columns, f"total (±{self.row_reach()})"))),
            *body,
            (f"total (±{self.column_reach()})", "  ".join(map(str, (*self.column_totals, self.total)))),
        ]

    def to_document(self) -> dict[str, Any]:
        return {
            "rows": list(self.rows),
            "columns": list(self.columns),
            "cells": [list(row) for row in self.cells],
            "row_totals": list(self.row_totals),
            "row_totals_off_by_95": self.row_reach(),
            "column_totals": list(self.column_totals),
            "column_totals_off_by_95": self.column_reach(),
            "total": self.total,
            "rest": list(self.rest),
        }


def two_way_table(
    counts: Sequence[int],
    rows: Sequence[Any],
    columns: Sequence[Any],
    *,
    noisy: Sequence[int] | None = None,
    error: Callable[[int], QueryError] | None = None,
) -> TwoWayTable:
    """Fold a flat list of counts, the first variable varying slowest; counts beyond the cells go to ``rest``.

    Without *noisy* cells the margins are sums of the counts themselves.

    >>> table = two_way_table([1, 2, 3, 4, 9], ["a", "b"], ["x", "y"])
    >>> table.row_totals, table.column_totals, table.total, table.rest
    ((3, 7), (4, 6), 10, (9,))
    """
    width, size = len(columns), len(rows) * len(columns)
    if not size or size > len(counts):
        raise HistogramError("rows and columns", (len(rows), width), f"do not fit {len(counts)} counts")

    def fold(flat: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(flat[start : start + width]) for start in range(0, size, width))

    shown = counts if noisy is None else noisy
    return TwoWayTable(
        tuple(map(str, rows)), tuple(map(str, columns)), fold(counts), tuple(counts[size:]), fold(shown), error
    )
