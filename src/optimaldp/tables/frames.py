"""Tables in memory: pandas, polars and pyarrow (through an embedded DuckDB) and Spark's data frames."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from decimal import Decimal
from numbers import Number
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.arrow_feed import open_dataset
from optimaldp.tables.schema import OPEN, ColumnType, unique_names
from optimaldp.tables.source import Source, without_engine_message, wrap
from optimaldp.tables.tally import Option
from optimaldp.tables.versions import version_of_arrow

_NUMBERS = itertools.count()


def _open_pandas(frame: Any) -> Source:
    if type(frame).__name__ != "DataFrame":
        raise TableError("data", type(frame).__name__, "is not a table", "give a DataFrame")
    label = "pandas table in memory"
    names = unique_names(tuple(map(str, frame.columns)))
    series = {name: frame.iloc[:, place] for place, name in enumerate(names)}
    table = without_engine_message(label, "opened", lambda: _arrow_table(series))
    # A column of Python objects has no type. Its cells are text, each by itself, and the question says how they are read.
    columns = {name: OPEN for name in names if _is_object(series[name])}
    # The categories of a pandas column often come from the data (astype("category")), so they are not public.
    return _open_arrow(table, label, columns=columns)


def _is_object(series: Any) -> bool:
    """Python objects, or categories that are: one odd category must not change the type of the others."""
    categories = getattr(series.dtype, "categories", None)
    return str(series.dtype if categories is None else categories.dtype) == "object"


def _arrow_table(series: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table({name: _arrow_column(column) for name, column in series.items()})


def _arrow_column(series: Any) -> Any:
    import pyarrow as pa

    if not _is_object(series):
        try:
            return pa.array(series, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError):
            pass  # a type that Arrow does not know: its cells as text
    return pa.array([cell_text(value) for value in series], pa.string())


def cell_text(value: object) -> str | None:
    """A Python object as the text of a cell, by itself; None for what is missing or has no text of its own."""
    try:
        if value is None or value != value:
            return None
        if isinstance(value, str):
            text = str.__str__(value)
            return text if text.isascii() or text.encode() else None  # half of a pair of characters is no text
        if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            return "true" if value else "false"
        if isinstance(value, datetime.datetime):
            return value.isoformat(" ") if value.tzinfo is None else None
        if isinstance(value, datetime.date):
            return value.isoformat()
        if isinstance(value, Decimal):
            return format(value, "f")
        return str(value) if isinstance(value, Number) else None
    except Exception:  # an object of any class may do anything when it is looked at
        return None


def _open_polars(frame: Any) -> Source:
    frame = frame.collect() if type(frame).__name__ == "LazyFrame" else frame
    if type(frame).__name__ != "DataFrame":
        raise TableError("data", type(frame).__name__, "is not a table", "give a DataFrame or a LazyFrame")
    listed: dict[str, tuple[Option, ...]] = {
        name: tuple(str(option) for option in dtype.categories)
        for name, dtype in frame.schema.items()
        if type(dtype).__name__ == "Enum"
    }
    label = "polars table in memory"
    return _open_arrow(without_engine_message(label, "opened", frame.to_arrow), label, options=listed)


def _open_pyarrow(table: object) -> Source:
    label = "pyarrow table in memory"
    if not hasattr(table, "schema"):
        raise TableError("data", type(table).__name__, "is not a table", "give a pyarrow Table")
    if hasattr(table, "scanner"):
        return without_engine_message(label, "opened", lambda: open_dataset(table, "pyarrow dataset"))
    return _open_arrow(without_engine_message(label, "opened", lambda: _as_table(table)), label)


def _as_table(table: object) -> Any:
    import pyarrow as pa

    if isinstance(table, pa.RecordBatchReader):
        rule = "can be read only once, and each question reads its table anew"
        raise TableError("data", "RecordBatchReader", rule, "give the table: reader.read_all()")
    return pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table


def _open_arrow(
    table: object,
    label: str,
    *,
    options: dict[str, tuple[Option, ...]] | None = None,
    columns: dict[str, ColumnType] | None = None,
) -> Source:
    def version() -> str:
        return without_engine_message(label, "read", lambda: version_of_arrow(table))

    import pyarrow.dataset as datasets

    return open_dataset(datasets.dataset(table), label, version=version, options=options, columns=columns)


def _open_spark(frame: Any) -> Source:
    def opened() -> Any:
        import ibis

        name = f"optimaldp_{next(_NUMBERS)}"
        frame.createOrReplaceTempView(name)
        return ibis.pyspark.connect(frame.sparkSession).table(name)

    return wrap(opened, "Spark table", options={})


OPENERS: dict[str, Callable[[Any], Source]] = {
    "pandas": _open_pandas,
    "polars": _open_polars,
    "pyarrow": _open_pyarrow,
    "pyspark": _open_spark,
}
