"""Exact elimination of sparse square matrices: the bases of linear programs on graphs, where each constraint has few entries.

A dense solve in rationals takes minutes at a thousand columns. Here the next pivot is in the row with the fewest entries, in the
column with the fewest (after Markowitz), so on graphs little fills in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

from flint import fmpq

_ZERO = fmpq(0)


class SparseLU:
    """A square matrix by rows (each a mapping from columns to entries), factored once; ``ZeroDivisionError`` if singular."""

    def __init__(self, rows: Sequence[Mapping[int, fmpq]]) -> None:
        self._work = [dict(row) for row in rows]
        self._steps: list[
            tuple[int, int, list[tuple[int, fmpq]]]
        ] = []  # pivot row, pivot column, (row, factor) below it
        self._eliminate()

    def _eliminate(self) -> None:
        holders: dict[int, set[int]] = {}
        for i, row in enumerate(self._work):
            for j in row:
                holders.setdefault(j, set()).add(i)
        queue = [(len(row), i) for i, row in enumerate(self._work)]
        heapify(queue)
        done: set[int] = set()
        while queue:
            size, i = heappop(queue)
            if i in done or size != len(self._active(i, holders)):
                if i not in done:
                    heappush(queue, (len(self._active(i, holders)), i))
                continue
            self._pivot(i, holders, done, queue)

    def _active(self, i: int, holders: Mapping[int, set[int]]) -> list[int]:
        return [j for j in self._work[i] if j in holders]

    def _pivot(self, i: int, holders: dict[int, set[int]], done: set[int], queue: list[tuple[int, int]]) -> None:
        active = self._active(i, holders)
        if not active:
            raise ZeroDivisionError("the matrix is singular")
        column = min(active, key=lambda j: (len(holders[j]), j))
        pivot, own = self._work[i][column], self._work[i]
        below: list[tuple[int, fmpq]] = []
        done.add(i)
        for r in holders.pop(column):
            if r in done:
                continue
            row = self._work[r]
            factor = row.pop(column) / pivot
            for j in active:
                if j == column:
                    continue
                value = row.get(j, _ZERO) - factor * own[j]
                if value == 0:
                    row.pop(j, None)
                    holders[j].discard(r)
                else:
                    row[j] = value
                    holders[j].add(r)
            below.append((r, factor))
            heappush(queue, (len(self._active(r, holders)), r))
        self._steps.append((i, column, below))

    def solve(self, right: Sequence[fmpq]) -> dict[int, fmpq]:
        """The x with ``row_i · x = right_i``, by columns."""
        values = list(right)
        for i, _, below in self._steps:
            if values[i] != 0:
                for r, factor in below:
                    values[r] -= factor * values[i]
        x: dict[int, fmpq] = {}
        for i, column, _ in reversed(self._steps):
            total = values[i]
            for j, c in self._work[i].items():
                if j != column and (known := x.get(j)) is not None:
                    total -= c * known
            if total != 0:
                x[column] = total / self._work[i][column]
        return x

    def solve_transposed(self, columns: Mapping[int, fmpq]) -> list[fmpq]:
        """The weights of the rows whose sum is *columns*."""
        rest = dict(columns)
        weights = [_ZERO] * len(self._work)
        for i, column, _ in self._steps:
            value = rest.get(column, _ZERO)
            if value == 0:
                continue
            weight = value / self._work[i][column]
            weights[i] = weight
            for j, c in self._work[i].items():
                if j != column:
                    rest[j] = rest.get(j, _ZERO) - c * weight
        for i, _, below in reversed(self._steps):
            for r, factor in below:
                if weights[r] != 0:
                    weights[i] -= factor * weights[r]
        return weights
