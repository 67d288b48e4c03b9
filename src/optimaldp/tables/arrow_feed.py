"""Arrow datasets and Parquet files, made safe for the engine: no value of one row decides whether a query fails.

The engine counts time in microseconds and fails on a point in time that does not fit; it fails on text that is not UTF-8. Here
such a value is NULL for its own record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.csv_arrays import decoded
from optimaldp.tables.engines import configured, embedded, forgives_bad_text
from optimaldp.tables.source import Rows, Source, fed_table, without_engine_message, wrap
from optimaldp.tables.tally import Option
from optimaldp.tables.versions import version_of

_PER_UNIT = {"s": 10**6, "ms": 10**3}
_US = "us"
_LARGEST = 9_223_372_022_400_000_000 - 1  # microseconds: the engine's last moment


def open_parquet(paths: list[str], label: str, *, delimiter: str | None = None, encoding: str | None = None) -> Source:
    """Parquet files as one table. They say themselves what a CSV must be told."""
    if delimiter is not None or encoding is not None:
        field = "encoding" if delimiter is None else "delimiter"
        raise TableError(field, delimiter or encoding, "can be said of CSV files only", "leave it out")

    def version() -> str:
        return without_engine_message(label, "read", lambda: version_of(paths))

    remedy = "check that every file is Parquet and that all have the same columns"
    dataset = without_engine_message(label, "opened", lambda: _dataset(paths), remedy=remedy)
    # By the schema alone: what the engine reads by itself without failing on any value, and quicker.
    if has_unsafe_times(dataset.schema) or not forgives_bad_text():
        return open_dataset(dataset, label, version=version)
    exactly = [_unpatterned(path) for path in paths]
    return wrap(
        # Statistics of a file leave NaN out: believing them, the engine would fail on a row that has one, or pass over it.
        lambda: embedded().read_parquet(exactly, utf8_validation="replace", can_have_nan=True),
        label,
        version=version,
        options={},
        remedy=remedy,
    )


def _dataset(paths: list[str]) -> Any:
    """The files as an Arrow dataset."""
    import pyarrow.dataset as datasets

    return datasets.dataset(paths, format="parquet", partitioning="hive")


def _unpatterned(path: str) -> str:
    """A path that the engine takes for that file alone, though it looks for patterns in every path."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def open_dataset(dataset: Any, label: str, options: dict[str, tuple[Option, ...]] | None = None, **more: Any) -> Source:
    """An Arrow dataset that is streamed into the engine."""
    schema = safe_schema(dataset.schema)
    return wrap(lambda: fed_table(schema), label, options=options or {}, feed=DatasetFeed(dataset), **more)


def has_unsafe_times(schema: Any) -> bool:
    """Whether the engine could fail on a point in time of an Arrow schema: any that is not in microseconds."""
    return any(_is_unsafe(field.type) for field in schema)


def _is_unsafe(dtype: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_timestamp(dtype) and dtype.unit != _US)


def safe_schema(schema: Any) -> Any:
    """The same columns, with time in microseconds."""
    import pyarrow as pa

    return pa.schema([pa.field(field.name, _safe_type(field.type)) for field in schema])


def _safe_type(dtype: Any) -> Any:
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_dictionary(dtype):
        return _safe_type(dtype.value_type)
    if types.is_float16(dtype):
        return pa.float32()
    return pa.timestamp(_US, tz=dtype.tz) if _is_unsafe(dtype) else dtype


@dataclass(frozen=True)
class DatasetFeed:
    """An Arrow dataset, streamed with its times and texts made safe."""

    dataset: Any

    def fetch(self, table: Any, expression: Any) -> Rows:
        import duckdb
        import ibis.expr.operations as ops

        connection, node = table.get_backend(), expression.op()
        wanted = dict.fromkeys(field.name for field in node.find(ops.Field) if isinstance(field.rel, ops.DatabaseTable))
        with configured(duckdb.connect()) as own:
            _register_functions(connection, node, own)
            own.register(node.find_topmost(ops.DatabaseTable)[0].name, self.reader(tuple(wanted)))
            return list(own.execute(connection.compile(expression)).fetchall())

    def reader(self, wanted: Sequence[str]) -> Any:
        import pyarrow as pa

        names = list(wanted) or self.dataset.schema.names[:1]
        schema = safe_schema(pa.schema([self.dataset.schema.field(name) for name in names]))
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema, names))

    def _batches(self, schema: object, names: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in self.dataset.scanner(columns=names).to_batches():
            columns = [_safe(column) for column in batch.columns]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _register_functions(connection: Any, node: Any, own: Any) -> None:
    """Make our own functions known to another connection, as Ibis does for its own."""
    import ibis.expr.operations as ops
    from ibis.expr.operations.udf import InputType

    for function in node.find(ops.ScalarUDF):
        if function.__input_type__ is InputType.PYARROW:
            connection._register_pyarrow_udf(function)(own)


def _safe(column: Any) -> Any:
    import pyarrow.types as types

    if types.is_float16(column.type):
        return column.cast(_safe_type(column.type))
    return safe_text(safe_times(column))


def safe_text(column: Any) -> Any:
    """A column of text with NULL where the bytes are none; other columns as they are."""
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not _is_text(column.type):
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return decoded(column.cast(pa.binary()), "utf-8").cast(column.type)
    return column


def _is_text(dtype: object) -> bool:
    import pyarrow.types as types

    return bool(types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype))


def safe_times(column: Any) -> Any:
    """A column with time in microseconds; NULL beyond the engine's range. Other columns as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_unsafe(column.type):
        return column
    if column.type.unit == "ns":
        return column.cast(_safe_type(column.type), safe=False)  # cut to microseconds; every one of them fits
    factor = _PER_UNIT[column.type.unit]
    number, limit = column.cast(pa.int64()), _LARGEST // factor
    fits = pc.and_(pc.less_equal(number, limit), pc.greater_equal(number, -limit))
    safe = pc.if_else(fits, number, pa.scalar(None, pa.int64()))
    return pc.multiply(safe, factor).cast(_safe_type(column.type))
