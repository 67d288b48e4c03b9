"""A sanitised table: rows that may be published, and the noisy cells behind them that say how far off a count is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp.errors import HistogramError, QuestionError
from optimaldp.extras import requiring
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.plots import style
from optimaldp.plots.histograms import draw_margin
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import is_whole
from optimaldp.questions.columns import Column
from optimaldp.results import Result
from optimaldp.sanitising.drawing import Drawn
from optimaldp.sanitising.noisy import Margin
from optimaldp.sanitising.rows import frame_columns, generator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_DRAWN = 3  # columns that a notebook shows
_KINDS = ("pandas", "polars", "arrow")
_ENDINGS = (".csv", ".parquet")


@dataclass(frozen=True, repr=False, eq=False)
class Sanitised(Result):
    """A sanitised table. Everything in it may be published."""

    columns: tuple[Column, ...]
    codes: Any
    """One row for each person: the position of each column's value."""
    tables: tuple[Drawn, ...]
    """What was measured: the joint table, or one table for each marginal."""
    epsilon: Epsilon
    neighbours: Neighbours
    method: str
    statement: dict[str, Any]
    whole: Mapping[str, bool]
    """Which binned columns may hold whole numbers: all but those of a type with fractions."""
    seed: int = 0
    """Where the values inside bins come from: nobody's secret."""
    recorded: bool = False
    """Whether the ledger had it already, so that it cost nothing."""

    @property
    def rows(self) -> int:
        return len(self.codes)

    @property
    def counts(self) -> dict[tuple[str | None, ...], int]:
        """People by the values of all columns, where any could be told from noise (of the joint table)."""
        import numpy as np

        drawn = self._joint("counts")
        cells = np.fromiter(drawn.counts, dtype=np.int64, count=len(drawn.counts))
        positions = np.stack(np.unravel_index(cells, drawn.noisy.shape), axis=1).tolist()
        return {
            tuple(column.labels[place] for column, place in zip(self.columns, position)): people
            for position, people in zip(positions, drawn.counts.values())
        }

    @property
    def unplaced(self) -> int:
        """People whose cell is too small to be told from noise; their rows follow the margins, or have no value."""
        return self.tables[0].unplaced if self.method == "joint" else 0

    def expected_error(self) -> float:
        """The sum of errors to expect over all cells of the joint table, or over all cells of the measured tables."""
        released = self.tables[:1] if self.method == "joint" else self.tables
        return sum(drawn.expected_error for drawn in released)

    @property
    def error_interval(self) -> tuple[float, float] | None:
        """Where the sum of errors over the cells of the joint table lies for about 19 tables in 20, by the noisy cells."""
        return self.tables[0].error_interval if self.method == "joint" else None

    def margin(self, columns: str | Sequence[str]) -> Margin:
        """The table of some of the columns, from noisy cells: unbiased, with intervals."""
        names = [columns] if isinstance(columns, str) else list(columns)
        return self._measured(names).noisy.margin(names)

    def query(self, **conditions: object) -> tuple[int, QueryError]:
        """How many people have one of the named values in each named column, and how far off that is."""
        return self._measured(conditions).noisy.query(conditions)

    def query_error(self, **conditions: object) -> QueryError:
        """How far off such a count is: the same for every count over as many cells."""
        return self._measured(conditions).noisy.query_error(conditions)

    def _measured(self, names: Any) -> Drawn:
        """The measured table that has these columns and the fewest others' cells to sum over."""
        wanted = set(names)
        for name in wanted - {column.name for column in self.columns}:
            known = ", ".join(column.name for column in self.columns)
            raise QuestionError("column", name, "is not in the table", f"the columns are {known}")
        able = [drawn for drawn in self.tables if wanted <= {column.name for column in drawn.noisy.columns}]
        if able and all(drawn.noisy.dense is None for drawn in able):
            beside = f"measure them beside it: margins=[{sorted(wanted)}]"
            rule = f"cannot be summed: cells below {able[0].noisy.least} people were never drawn"
            raise QuestionError("columns", sorted(wanted), rule, beside)
        able = [drawn for drawn in able if drawn.noisy.dense is not None]
        if not able:
            rule = "were not measured together"
            raise QuestionError(
                "columns", sorted(wanted), rule, "count them in the rows, or measure them in one marginal"
            )
        return min(able, key=lambda drawn: _spread(drawn, wanted))

    def _joint(self, asked: str) -> Drawn:
        if self.method != "joint":
            raise HistogramError(asked, self.method, "has no joint table", "count the rows, or ask for a margin")
        return self.tables[0]

    @cached_property
    def _frame(self) -> dict[str, list[Any]]:
        return frame_columns(self.columns, self.codes, generator(self.seed + 1), labels=False, whole=self.whole)

    def to_frame(self, kind: str = "pandas", *, labels: bool = False) -> Any:
        """The rows as a pandas, polars or Arrow table. Binned columns hold a number inside the bin, or with *labels* its name."""
        if kind not in _KINDS:
            raise HistogramError("kind", kind, "is not a kind of table", f"use one of {', '.join(_KINDS)}")
        data = self._labelled() if labels else self._frame
        if kind == "arrow":
            return _arrow(data)
        with requiring(kind):
            if kind == "pandas":
                import pandas

                return pandas.DataFrame({name: _plain(values) for name, values in data.items()})
            import polars

            return polars.DataFrame(data, strict=False)

    def _labelled(self) -> dict[str, list[Any]]:
        return frame_columns(self.columns, self.codes, generator(self.seed + 1), labels=True, whole=self.whole)

    def save(self, path: str | os.PathLike[str], *, labels: bool = False) -> Path:
        """Write the rows (``.csv``, ``.parquet``) and the statement beside them, or that alone (``.json``, ``.html``)."""
        if Path(path).suffix.lower() in self._writers():
            return super().save(Path(path))
        target = check_output(path)
        table = _arrow(self._labelled() if labels else self._frame)
        if target.suffix.lower() == ".csv":
            import pyarrow.csv

            # Text in quotes, no value as an empty cell without: so the two stay apart.
            pyarrow.csv.write_csv(table, target)
        else:
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, target)
        beside = target.with_name(target.name + ".json")
        beside.write_text(json.dumps(self.to_document(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return target

    def summary(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        promise = f"epsilon {self.epsilon}, {self.neighbours.value}, certified"
        return f"Sanitised({self.rows} rows of {names}, {self.method}, {promise})"

    def details(self) -> list[tuple[str, str]]:
        return [(name, str(value)) for name, value in self.statement.items() if not isinstance(value, (list, dict))]

    def _bars(self) -> str:
        """The first columns, each by itself, from the noisy cells."""
        measured = {column.name for one in self.tables if one.noisy.dense is not None for column in one.noisy.columns}
        shown = [column.name for column in self.columns if column.name in measured][:_MOST_DRAWN]
        return "".join(self.margin(name)._repr_html_() for name in shown)

    def to_document(self) -> dict[str, Any]:
        return {"rows": self.rows} | self.statement

    def plot(self, path: str | Path | None = None, *, column: str | None = None) -> Figure:
        """Bars of one column's margin (the first column's) with its intervals. Also written to *path* if one is given."""
        return style.drawn(draw_margin(self.margin(column or self.columns[0].name)), path)


def _plain(values: list[Any]) -> Any:
    """Whole numbers stay whole beside missing values."""
    with requiring("pandas"):
        import pandas

    whole = all(value is None or is_whole(value) for value in values)
    return pandas.array(values, dtype="Int64" if whole else None)


def _spread(drawn: Drawn, wanted: set[str]) -> float:
    """How far off one count of these columns is, summed from this table."""
    one_each = {column.name: column.labels[0] for column in drawn.noisy.columns if column.name in wanted}
    return drawn.noisy.query_error(one_each).standard_deviation


def _arrow(data: dict[str, list[Any]]) -> Any:
    import pyarrow

    return pyarrow.table({name: pyarrow.array(values) for name, values in data.items()})


def check_output(path: str | os.PathLike[str]) -> Path:
    """Where rows can be written, checked before anything is drawn."""
    target = Path(path)
    if target.suffix.lower() not in _ENDINGS or not target.parent.is_dir():
        raise HistogramError(
            "output", str(path), "cannot be written", "name a .csv or .parquet in a folder that exists"
        )
    return target
