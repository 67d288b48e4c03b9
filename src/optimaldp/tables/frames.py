"""Tables in memory: pandas, polars and pyarrow (through an embedded DuckDB) and Spark's data frames."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.sources import Source, wrap
from optimaldp.tables.tally import Option

_NUMBERS = itertools.count()


def _open_pandas(frame: Any) -> Source:
    if type(frame).__name__ != "DataFrame":
        raise TableError("data", type(frame).__name__, "is not a table", "give a DataFrame")
    named = frame.rename(columns=str)
    # The engine guesses the type of an object column from some rows and fails on others: let it look at all.
    setting = f"SET GLOBAL pandas_analyze_sample={max(1, len(frame))}"
    # The categories of a pandas column often come from the data (astype("category")), so they are not public.
    return _registered(named, "pandas table in memory", {}, setting)


def _open_polars(frame: Any) -> Source:
    frame = frame.collect() if type(frame).__name__ == "LazyFrame" else frame
    if type(frame).__name__ != "DataFrame":
        raise TableError("data", type(frame).__name__, "is not a table", "give a DataFrame or a LazyFrame")
    listed: dict[str, tuple[Option, ...]] = {
        name: tuple(str(option) for option in dtype.categories)
        for name, dtype in frame.schema.items()
        if type(dtype).__name__ == "Enum"
    }
    return _registered(frame, "polars table in memory", listed)


def _open_pyarrow(table: Any) -> Source:
    if not hasattr(table, "schema"):
        raise TableError("data", type(table).__name__, "is not a table", "give a pyarrow Table")
    return _registered(table, "pyarrow table in memory", {})


def _open_spark(frame: Any) -> Source:
    def opened() -> Any:
        import ibis

        name = f"optimaldp_{next(_NUMBERS)}"
        frame.createOrReplaceTempView(name)
        return ibis.pyspark.connect(frame.sparkSession).table(name)

    return wrap(opened, "Spark table", options={})


def _registered(frame: Any, words: str, options: dict[str, tuple[Option, ...]], setting: str = "") -> Source:
    def opened() -> Any:
        from optimaldp.tables.engines import embedded

        connection = embedded()
        if setting:
            connection.raw_sql(setting)
        connection.con.register("frame", frame)
        return connection.table("frame")

    remedy = "columns should hold one type each"
    return wrap(opened, words, options=options, remedy=remedy)


OPENERS: dict[str, Callable[[Any], Source]] = {
    "pandas": _open_pandas,
    "polars": _open_polars,
    "pyarrow": _open_pyarrow,
    "pyspark": _open_spark,
}
