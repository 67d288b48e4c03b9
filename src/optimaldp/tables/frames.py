"""Tables in memory: pandas, polars and pyarrow (through an embedded DuckDB), and Spark's data frames."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from numbers import Number
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.arrow_feed import open_dataset, safe_times
from optimaldp.tables.engines import SparkEngine, spark_view
from optimaldp.tables.schema import OBJECTS, ColumnType, unique_names
from optimaldp.tables.source import Source, source_of, without_engine_message
from optimaldp.tables.tally import Option
from optimaldp.tables.versions import version_of_arrow


def _open_pandas(frame: Any) -> Source:
    """A pandas frame as cells of text: the types of its columns are made from the values.

    One missing integer turns whole numbers into doubles, one odd value turns anything into objects. So no type of a column
    decides anything: the question, or a declared type, says how a cell is read.
    """
    if type(frame).__name__ != "DataFrame":
        raise TableError("data", type(frame).__name__, "is not a table", "give a DataFrame")
    label = "pandas table in memory"
    names = unique_names(tuple(map(str, frame.columns)))
    series = {name: frame.iloc[:, place] for place, name in enumerate(names)}
    table = without_engine_message(label, "opened", lambda: _arrow_table(series))
    return _open_arrow(table, label, columns=dict.fromkeys(names, OBJECTS))


def _arrow_table(series: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table({name: _cells(column) for name, column in series.items()})


def _cells(series: Any) -> Any:
    """The cells of a column as text, each by itself; quickly where the type of the column allows it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = str(series.dtype)
    if kind.startswith(("int", "uint", "bool", "float")):
        array = pa.array(series, from_pandas=True)
        array = array.cast(pa.float64()) if kind in ("float16", "float32") else array
        text = array.cast(pa.string())
        # A whole number has one text, whether pandas keeps it as an integer or as a double.
        return (
            pc.replace_substring_regex(text, pattern=r"^(-?\d+)\.0+$", replacement=r"\1") if "float" in kind else text
        )
    if kind.startswith(("datetime64[", "timestamp[")):
        moments = safe_times(pa.array(series, from_pandas=True))
        text = (moments if moments.type.tz is None else moments.cast(pa.timestamp("us"))).cast(pa.string())
        return pc.replace_substring_regex(text, pattern="( 00:00:00)?[.]000000$", replacement="")
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
            return _moment_text(value if value.tzinfo is None else value.astimezone(datetime.UTC))
        if isinstance(value, datetime.date):
            return value.isoformat()
        if isinstance(value, Decimal):
            return format(value, "f")
        if isinstance(value, float) or type(value).__name__.startswith("float"):
            return _double_text(float(value))  # type: ignore[arg-type]  # numpy's floats too
        return str(value) if isinstance(value, Number) else None
    except Exception:  # an object of any class may do anything when it is looked at
        return None


def _moment_text(value: datetime.datetime) -> str:
    """A point in time as text; midnight is a date, which beside points in time is its midnight."""
    plain = datetime.datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond
    )
    return plain.date().isoformat() if plain.time() == datetime.time() else plain.isoformat(" ")


def _double_text(value: float) -> str:
    """A double as Arrow writes it, whole numbers without a point."""
    import pyarrow as pa

    text = str(pa.scalar(value, pa.float64()).cast(pa.string()).as_py())
    return text.removesuffix(".0")


def _open_polars(frame: Any) -> Source:
    if type(frame).__name__ != "DataFrame":
        rule = "is not a table whose types are settled" if type(frame).__name__ == "LazyFrame" else "is not a table"
        raise TableError("data", type(frame).__name__, rule, "give a DataFrame, or the path of the file")
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
        _check_settled(table)
        return without_engine_message(label, "opened", lambda: open_dataset(table, "pyarrow dataset"))
    return _open_arrow(without_engine_message(label, "opened", lambda: _as_table(table)), label)


def _check_settled(dataset: Any) -> None:
    """Refuse a dataset of CSV or JSON files: the types of its columns come from its records."""
    for one in (dataset, *getattr(dataset, "children", ())):
        kind = type(getattr(one, "format", None)).__name__
        if kind in ("CsvFileFormat", "JsonFileFormat"):
            rule = f"of {kind.removesuffix('FileFormat').upper()} files takes its types from the records"
            raise TableError("data", "pyarrow dataset", rule, "give the path of the file or folder")


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


def open_spark(frame: Any, label: str = "Spark table") -> Source:
    """A data frame of Spark, or of Spark Connect."""

    def opened() -> Source:
        name, stored = spark_view(frame, label)
        names = [f"r{place}" for place in range(len(stored))]
        return source_of(name, stored, SparkEngine(frame.sparkSession), label, raw_names=names)

    return without_engine_message(label, "opened", opened)


OPENERS: dict[str, Callable[[Any], Source]] = {
    "pandas": _open_pandas,
    "polars": _open_polars,
    "pyarrow": _open_pyarrow,
    "pyspark": open_spark,
}
