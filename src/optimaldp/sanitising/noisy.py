"""A noisy table of cells: what was drawn, which is private already, and what sums of it say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimaldp.errors import HistogramError, QuestionError
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.questions.columns import Column
from optimaldp.results import Result, html_bars


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Noise on every cell of the crossed *columns*: all of them (*dense*), or those from a value on (*kept*)."""

    columns: tuple[Column, ...]
    epsilon: Epsilon
    neighbours: Neighbours
    dense: Any = None
    kept: Mapping[int, int] | None = None
    least: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(column.size for column in self.columns)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def place(self, name: str) -> int:
        """Which of the columns has this name."""
        names = [column.name for column in self.columns]
        if name not in names:
            raise QuestionError("column", name, "is not in the table", f"the columns are {', '.join(names)}")
        return names.index(name)

    def margin(self, names: Sequence[str]) -> Margin:
        """The table of some columns alone: sums of noisy cells, unbiased."""
        import numpy as np

        places = [self.place(name) for name in names]
        if not places or len(set(places)) < len(places):
            raise QuestionError("columns", list(names), "are none, or one of them twice", "name each column once")
        cells = self._all_cells("margin").reshape(self.shape)
        others = tuple(place for place in range(len(self.shape)) if place not in places)
        summed = cells.sum(axis=others) if others else cells
        kept_order = sorted(places)
        counts = np.transpose(summed, [kept_order.index(place) for place in places])
        chosen = math.prod(self.shape[place] for place in others)
        error = QueryError(self.size, chosen, self.epsilon, self.neighbours)
        return Margin(tuple(self.columns[place] for place in places), counts, error)

    def query(self, conditions: Mapping[str, Any]) -> tuple[int, QueryError]:
        """The noisy number of people whose columns have one of the named values, and how far off it is."""
        import numpy as np

        chosen = self.chosen(conditions)
        picked = self._all_cells("query").reshape(self.shape)[np.ix_(*chosen)]
        return int(picked.sum()), self.query_error(conditions)

    def query_error(self, conditions: Mapping[str, Any]) -> QueryError:
        """The error of such a query: public, before and after."""
        cells = math.prod(len(positions) for positions in self.chosen(conditions))
        return QueryError(self.size, cells, self.epsilon, self.neighbours)

    def chosen(self, conditions: Mapping[str, Any]) -> list[list[int]]:
        return chosen_positions(self.columns, conditions)

    def _all_cells(self, asked: str) -> Any:
        if self.dense is None:
            rule = f"needs every noisy cell, and cells below {self.least} were never drawn"
            raise HistogramError(asked, f"{self.size} cells", rule, "sanitise those columns by themselves")
        return self.dense


def chosen_positions(columns: Sequence[Column], conditions: Mapping[str, Any]) -> list[list[int]]:
    """For each column the positions that a query asks for; all of them where it says nothing."""
    known = {column.name for column in columns}
    for name in conditions:
        if name not in known:
            raise QuestionError("column", name, "is not in the table", f"the columns are {', '.join(sorted(known))}")
    chosen = []
    for column in columns:
        if column.name not in conditions:
            chosen.append(list(range(column.size)))
            continue
        wanted = conditions[column.name]
        values = wanted if isinstance(wanted, (list, tuple, set)) else [wanted]
        chosen.append(sorted({column.position(value) for value in values}))
    return chosen


@dataclass(frozen=True, repr=False, eq=False)
class Margin(Result):
    """A table of some of the columns, from the noisy cells: unbiased, so counts may be negative; with intervals."""

    columns: tuple[Column, ...]
    counts: Any
    error: QueryError

    def reach(self, level: object = "0.95") -> int:
        """How far off each count is at most, with probability *level*."""
        return self.error.quantile(level)

    def count(self, **values: object) -> int:
        """The count of one combination of values."""
        return int(self.counts[tuple(column.position(values[column.name]) for column in self.columns)])

    def interval(self, level: object = "0.95", **values: object) -> tuple[int, int]:
        """An interval that covers the true count with probability *level*."""
        middle, reach = self.count(**values), self.reach(level)
        return max(0, middle - reach), max(0, middle + reach)

    def rows(self) -> list[tuple[tuple[str | None, ...], int]]:
        """Each combination of values with its count."""
        import numpy as np

        return [
            (tuple(column.labels[place] for column, place in zip(self.columns, position)), int(count))
            for position, count in np.ndenumerate(self.counts)
        ]

    def summary(self) -> str:
        names = " × ".join(column.name for column in self.columns)
        return f"Margin({names}, {self.counts.size} counts, each ±{self.reach()} with probability 0.95)"

    def _bars(self) -> str:
        rows = self.rows()
        return html_bars([", ".join(_shown(value) for value in values) for values, _ in rows], [n for _, n in rows])

    def to_document(self) -> dict[str, Any]:
        return {
            "columns": [column.name for column in self.columns],
            "counts": [{"values": list(values), "count": count} for values, count in self.rows()],
            "error": self.error.to_document(),
        }


def _shown(value: str | None) -> str:
    return "(no value)" if value is None else value
