"""Cross tables and two-way tables. Margins come from the noisy cells: unbiased, with an error that is known."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.extras import requiring
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.results import Result

_ROUNDS = 200  # of fitting a table to its margins
_CLOSE = 1e-6
READABLE = 0.1  # of itself: a count that is off by no more, 19 times in 20, is called readable
_RELIABLE = 2  # times its reach: smaller counts may be noise


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


def fitted_to_margins(
    counts: Sequence[int], noisy: Sequence[int], shape: Sequence[int], total: int | None, *, reach: float = math.inf
) -> tuple[int, ...]:
    """Counts moved until they add up to the margin of every column, as far as whole people, empty cells and *reach* allow.

    The margins are sums of noisy cells, with negative ones raised to 0 and scaled to the *total* where that is public. No count
    is moved further from its noisy one than *reach*: a margin over cells that are nearly all empty is mostly their noise.

    >>> fitted_to_margins([4, 0, 0, 4], [6, 0, 0, 4], (2, 2), 10)
    (6, 0, 0, 4)
    >>> fitted_to_margins([5, 5, 0, 0], [5, 3, 1, 1], (2, 2), 10)  # nobody is in the second row, whatever its noise says
    (6, 4, 0, 0)
    """
    import numpy as np

    body, table = (np.asarray(part, dtype=float).reshape(shape) for part in (counts, noisy))
    if not body.any():
        return tuple(int(count) for count in counts)
    whole = max(0.0, float(table.sum())) if total is None else float(total)
    low = np.minimum(body, np.maximum(table - reach, 0.0))
    high = np.where(body > 0, np.maximum(body, np.minimum(table + reach, whole)), 0.0)
    for _ in range(_ROUNDS):
        before = body
        for axis in range(table.ndim):
            others = tuple(place for place in range(table.ndim) if place != axis)
            wanted = np.maximum(table.sum(axis=others, keepdims=True), 0.0)
            wanted *= whole / max(float(wanted.sum()), 1e-300)
            there = body.sum(axis=others, keepdims=True)
            body = np.clip(body * np.divide(wanted, there, out=np.zeros_like(wanted), where=there > 0), low, high)
        if np.abs(body - before).max() < _CLOSE:
            break
    flat = body.reshape(-1)
    if not flat.any():  # every margin with people in it has empty cells alone
        return tuple(int(count) for count in counts)
    if total is not None:
        # A margin over empty cells alone cannot be met; the total still is, first of all where there is room.
        missing = whole - float(flat.sum())
        room = (high if missing > 0 else low).reshape(-1) - flat
        flat = flat + room * min(1.0, abs(missing) / max(float(np.abs(room).sum()), 1e-300))
        flat = flat * (whole / float(flat.sum()))
    floors = np.floor(flat + _CLOSE)
    missing = max(0, round(min(whole, float(flat.sum())) - float(floors.sum())))
    floors[np.argsort(floors - flat, kind="stable")[:missing]] += 1
    return tuple(int(count) for count in floors.tolist())


@dataclass(frozen=True, repr=False)
class CrossTable(Result):
    """A released cross table: counts fitted to margins, which are sums of noisy cells, unbiased and with intervals.

    Rows are the combinations of all columns but the last, whose values stand side by side.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: tuple[int, ...]
    noisy: tuple[int, ...]
    error: Callable[[int], QueryError] = field(compare=False)
    percent: str | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.labels)

    @cached_property
    def reach(self) -> int:
        """How far off one noisy count is at most, with probability 0.95."""
        return self.error(1).quantile()

    @property
    def total(self) -> int:
        """Everybody: the sum of all noisy cells."""
        return sum(self.noisy)

    def margin(self, name: str) -> list[dict[str, Any]]:
        """The counts of one column alone: sums of noisy cells, each with an interval that covers the truth with 95 %.

        *difference*: what the counts shown in the body add up to, less this; 0 where the body could be fitted.
        """
        import numpy as np

        if name not in self.names:
            raise HistogramError("column", name, "is not in the table", f"the columns are {', '.join(self.names)}")
        axis = self.names.index(name)
        others = tuple(place for place in range(len(self.shape)) if place != axis)
        sums, shown = (
            np.asarray(part, dtype=object).reshape(self.shape).sum(axis=others) for part in (self.noisy, self.counts)
        )
        reach = self.error(len(self.noisy) // self.shape[axis]).quantile()
        return [
            {
                name: label,
                "count": int(count),
                "interval": [max(0, int(count) - reach), max(0, int(count) + reach)],
                "difference": int(body) - int(count),
            }
            for label, count, body in zip(self.labels[axis], np.atleast_1d(sums), np.atleast_1d(shown))
        ]

    def cells(self) -> list[dict[str, Any]]:
        """Every cell: its values, count, percentage if asked for, interval, and whether the noise is as large as the count."""
        return [
            {
                **dict(zip(self.names, values)),
                "count": count,
                **({} if share is None else {"percent": share}),
                "interval": [max(0, noisy - self.reach), max(0, noisy + self.reach)],
                "note": self._note(count),
            }
            for values, count, noisy, share in zip(product(*self.labels), self.counts, self.noisy, self.shares())
        ]

    def _note(self, count: int) -> str:
        return f"unreliable: ± {self.reach}" if count < _RELIABLE * self.reach else ""

    def grid(self) -> list[list[str]]:
        """The table as it is printed: a head, a line for each row with its sum, and the sums of the columns last."""
        width = self.shape[-1]
        shares = self.shares()
        lines = [[*self.names[:-1], *(f"{self.names[-1]}: {value}" for value in self.labels[-1]), "all"]]
        sums = self.error(width).quantile()
        for place, values in enumerate(product(*self.labels[:-1])):
            row = slice(place * width, (place + 1) * width)
            shown = [self._shown(count, share) for count, share in zip(self.counts[row], shares[row])]
            all_of_row = sum(self.noisy[row])
            lines.append([*values, *shown, _sum_shown(all_of_row, sums, sum(self.counts[row]) - all_of_row)])
        last = self.margin(self.names[-1])
        reach = self.error(len(self.noisy) // width).quantile()
        blank = [""] * max(0, len(self.names) - 2)
        head = ["all", *blank] if len(self.names) > 1 else []
        lines.append([*head, *(_sum_shown(one["count"], reach, one["difference"]) for one in last), str(self.total)])
        return lines

    def _shown(self, count: int, share: float | None) -> str:
        part = "" if share is None else f" ({share:.1f} %)"
        note = self._note(count)
        return f"{count}{part}" + (f" [{note}]" if note else "")

    def shares(self) -> list[float | None]:
        """The percentage beside each count, of what was asked; none where none was asked."""
        if self.percent is None:
            return [None] * len(self.counts)
        return list(percentages(self.counts, self.shape, self.percent))

    def summary(self) -> str:
        return f"CrossTable({' × '.join(self.names)}, {len(self.counts)} cells, each ± {self.reach} with 95 %)"

    def __str__(self) -> str:
        lines = self.grid()
        widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
        return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines)

    def details(self) -> list[tuple[str, str]]:
        return [
            (", ".join(line[: len(self.names) - 1]), "  ".join(line[len(self.names) - 1 :])) for line in self.grid()
        ]

    def _repr_html_(self) -> str:
        head, *body = self.grid()
        rows = [f"<tr>{''.join(f'<th>{html.escape(word)}</th>' for word in head)}</tr>"]
        rows += [f"<tr>{''.join(f'<td>{html.escape(word)}</td>' for word in line)}</tr>" for line in body]
        return f"<table>{''.join(rows)}</table>"

    def to_csv(self) -> str:
        """One line for each cell, as spreadsheets read it: values, count, percentage, ends of the interval, note.

        Below them one for each margin, with nothing in the other columns.
        """
        written = io.StringIO()
        lines = csv.writer(written, lineterminator="\r\n")
        numbers = ["count"] if self.percent is None else ["count", "percent"]
        lines.writerow([*self.names, *numbers, "low", "high", "note"])
        for cell in self.cells():
            lines.writerow([*(cell[name] for name in (*self.names, *numbers)), *cell["interval"], cell["note"]])
        for name in self.names if len(self.names) > 1 else ():
            for one in self.margin(name):
                of_all = [one.get(own, "") for own in self.names]
                part = [] if self.percent is None else [""]
                lines.writerow([*of_all, one["count"], *part, *one["interval"], "margin"])
        return "\ufeff" + written.getvalue()

    def _writers(self) -> dict[str, Callable[[], str]]:
        return super()._writers() | {".csv": self.to_csv}

    def to_frame(self) -> Any:
        """One row for each cell, as a pandas table."""
        with requiring("pandas"):
            import pandas

        return pandas.DataFrame(self.cells())

    def to_document(self) -> dict[str, Any]:
        return {
            "columns": list(self.names),
            "cells": self.cells(),
            "margins": {name: self.margin(name) for name in self.names},
            "total": self.total,
        }

    def plot(self) -> Any:
        """A heat map of the counts."""
        from optimaldp.plots.histograms import draw_cross_table

        return draw_cross_table(self)


def _sum_shown(count: int, reach: int, difference: int) -> str:
    """A sum of noisy cells; where the counts shown add up to something else, what they do."""
    return f"{count} ± {reach}" + (f" [counts: {count + difference}]" if difference else "")


def percentages(counts: Sequence[float], shape: Sequence[int], of: str) -> list[float]:
    """The counts as percentages of their row (all columns but the last), of their column, or of everybody; 0 of nobody is 0.

    >>> percentages([1, 3, 0, 0], (2, 2), "rows")
    [25.0, 75.0, 0.0, 0.0]
    """
    import numpy as np

    table = np.asarray(counts, dtype=float).reshape(-1, shape[-1])
    wholes = table.sum(axis={"rows": 1, "columns": 0}.get(of), keepdims=True)
    shares = np.divide(100 * table, wholes, out=np.zeros_like(table), where=wholes > 0)
    return [round(float(share), 4) for share in shares.reshape(-1)]
