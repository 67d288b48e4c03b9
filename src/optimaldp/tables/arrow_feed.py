"""Arrow tables and datasets, and Parquet files, made safe for the engine: no value of one row decides whether a query fails.

The engine counts time in microseconds and fails on a point in time that does not fit; it fails on text that is not UTF-8. Here
such a value is missing for its own record. Dictionaries are decoded first and then made safe like any other column.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.canonical import LONGEST_CELL, Stored
from optimaldp.tables.engines import FED, DuckdbEngine, duckdb_columns, embedded, forgives_bad_text
from optimaldp.tables.schema import OPEN, ColumnType
from optimaldp.tables.source import Source, source_of, without_engine_message
from optimaldp.tables.sql import SqlTable
from optimaldp.tables.tally import Option
from optimaldp.tables.versions import version_of

_PER_UNIT = {"s": 10**6, "ms": 10**3}
_US = "us"
_LARGEST = 9_223_372_022_400_000_000 - 1  # microseconds: the engine's last moment
_FOLDER = re.compile(r"[^=]+=.*")


def open_parquet(paths: list[str], label: str, *, delimiter: str | None = None, encoding: str | None = None) -> Source:
    """Parquet files as one table. They say themselves what a CSV must be told; folder names such as ``region=1`` are text."""
    if delimiter is not None or encoding is not None:
        field = "encoding" if delimiter is None else "delimiter"
        raise TableError(field, delimiter or encoding, "can be said of CSV files only", "leave it out")

    def version() -> str:
        return without_engine_message(label, "read", lambda: version_of(paths))

    remedy = "check that every file is Parquet and that all have the same columns"
    dataset = without_engine_message(label, "opened", lambda: _dataset(paths), remedy=remedy)
    folders = dict.fromkeys(_folders(paths[0]), OPEN)
    # By the schema alone: what the engine reads by itself without failing on any value, and quicker.
    if any(_is_unsafe(field.type) for field in dataset.schema) or not forgives_bad_text():
        return open_dataset(dataset, label, version=version, columns=folders)

    def opened() -> Source:
        exactly = ", ".join("'" + _unpatterned(path).replace("'", "''") + "'" for path in paths)
        hive = str(bool(folders)).upper()
        # Statistics of a file leave NaN out: believing them, the engine would fail on a row that has one, or pass over it.
        options = (
            f"hive_partitioning = {hive}, hive_types_autocast = FALSE, utf8_validation = 'replace', can_have_nan = TRUE"
        )
        relation = f"read_parquet([{exactly}], {options})"
        with embedded() as own:
            return source_of(
                relation, duckdb_columns(own, relation), DuckdbEngine(), label, version=version, columns=folders
            )

    return without_engine_message(label, "opened", opened, remedy=remedy)


def _dataset(paths: list[str]) -> Any:
    """The files as an Arrow dataset, refused unless all have the same columns of the same types."""
    import pyarrow as pa
    import pyarrow.dataset as datasets
    import pyarrow.parquet as parquet

    first = parquet.read_schema(paths[0])
    folders = _folders(paths[0])
    for path in paths[1:]:
        _check_alike(first, parquet.read_schema(path), paths[0], path)
        if list(_folders(path)) != list(folders):
            rule = f"lies in folders of other names than {paths[0]}"
            raise TableError("data", path, rule, "files that are read as one table have the same columns")
    twice = set(folders) & set(first.names)
    if twice:
        raise TableError("data", paths[0], f"has a column and a folder of the name {min(twice)}", "rename the folder")
    parting = datasets.partitioning(pa.schema([(name, pa.string()) for name in folders]), flavor="hive")
    return datasets.dataset(paths, format="parquet", partitioning=parting if folders else None)


def _check_alike(first: Any, other: Any, path: str, other_path: str) -> None:
    if first.names != other.names:
        rule = f"has other columns than {path}"
        raise TableError("data", other_path, rule, "files that are read as one table have the same columns")
    for one, two in zip(first, other):
        if one.type != two.type:
            rule = f"has a column {one.name} of type {two.type}, which is of type {one.type} in {path}"
            raise TableError("data", other_path, rule, "write all files with the same types")


def _folders(path: str) -> dict[str, str]:
    """The names and values that folders such as ``region=1`` say."""
    parts = os.path.dirname(path).split(os.sep)
    return dict(part.split("=", 1) for part in parts if _FOLDER.fullmatch(part))


def _unpatterned(path: str) -> str:
    """A path that the engine takes for that file alone, though it looks for patterns in every path."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def open_dataset(
    dataset: Any,
    label: str,
    *,
    options: Mapping[str, tuple[Option, ...]] | None = None,
    columns: Mapping[str, ColumnType] | None = None,
    version: Any = lambda: None,
) -> Source:
    """An Arrow dataset that is streamed into the engine."""
    stored = [_stored(field, (options or {}).get(field.name)) for field in dataset.schema]
    names = [f"r{place}" for place in range(len(stored))]
    made = source_of(FED, stored, DuckdbEngine(), label, version=version, columns=columns, raw_names=names)
    places = {name: place for place, name in enumerate(made.schema.names)}
    engine = DuckdbEngine(fill=DatasetFeed(dataset, places).fill)
    return Source(made.table, made.schema, label, engine, version)


def _stored(field: Any, options: tuple[Option, ...] | None) -> Stored:
    return Stored(field.name, _word(field.type), not field.nullable, options)


def _word(dtype: Any) -> str:
    """An Arrow type in our words; its own name where no question can use it."""
    import pyarrow.types as types

    if types.is_dictionary(dtype):
        return _word(dtype.value_type)
    if types.is_boolean(dtype):
        return "boolean"
    if types.is_integer(dtype) or types.is_float32(dtype) or types.is_float64(dtype):
        return {"float": "float32", "double": "float64"}.get(str(dtype), str(dtype))
    if types.is_float16(dtype):
        return "float32"
    if types.is_decimal(dtype) and dtype.bit_width <= 128:
        return "decimal"
    if _is_text(dtype) or types.is_null(dtype):
        return "string"
    if types.is_date(dtype):
        return "date"
    if types.is_timestamp(dtype):
        return "timestamp" if dtype.tz is None else "timestamptz"
    return str(dtype)


def _is_unsafe(dtype: Any) -> bool:
    """Whether the engine could fail on a value: points in time that are not in microseconds, days that are not days."""
    import pyarrow.types as types

    if types.is_dictionary(dtype):
        return _is_unsafe(dtype.value_type)
    return bool(types.is_timestamp(dtype) and dtype.unit != _US) or types.is_date64(dtype)


def _safe_type(dtype: Any) -> Any:
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_dictionary(dtype):
        return _safe_type(dtype.value_type)
    if types.is_float16(dtype):
        return pa.float32()
    if types.is_null(dtype):
        return pa.string()
    if types.is_date64(dtype):
        return pa.date32()
    return pa.timestamp(_US, tz=dtype.tz) if types.is_timestamp(dtype) else dtype


@dataclass(frozen=True)
class DatasetFeed:
    """An Arrow dataset, streamed with its times and texts made safe. Columns are called r and their place."""

    dataset: Any
    places: Mapping[str, int]

    def fill(self, connection: Any, query: SqlTable) -> None:
        wanted = [place for name, place in self.places.items() if name in query.needs]
        connection.register(FED, self.reader(wanted or [0]))

    def reader(self, wanted: Sequence[int]) -> Any:
        import pyarrow as pa

        fields = [self.dataset.schema.field(place) for place in wanted]
        types = [_safe_type(field.type) for field in fields]
        schema = pa.schema([(f"r{place}", dtype) for place, dtype in zip(wanted, types)])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema, [field.name for field in fields]))

    def _batches(self, schema: object, names: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in self.dataset.scanner(columns=names).to_batches():
            yield pa.RecordBatch.from_arrays([_safe(column) for column in batch.columns], schema=schema)


def _safe(column: Any) -> Any:
    import pyarrow.types as types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_float16(column.type) or types.is_null(column.type):
        return column.cast(_safe_type(column.type))
    return safe_text(safe_times(column))


def safe_text(column: Any) -> Any:
    """A column of text without a value where the bytes are no text or too many; other columns as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from optimaldp.tables.csv_lines import decoded  # with numpy

    if not _is_text(column.type):
        return column
    if (column.nbytes or 0) > LONGEST_CELL:
        binary = column.cast(pa.large_binary())
        short = pc.less_equal(pc.binary_length(binary), LONGEST_CELL)
        kept = pc.if_else(short, binary, pa.scalar(None, pa.large_binary())).cast(pa.binary())
        return decoded(kept, "utf-8").cast(column.type)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return decoded(column.cast(pa.binary()), "utf-8").cast(column.type)
    return column


def _is_text(dtype: object) -> bool:
    import pyarrow.types as types

    return bool(types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype))


def safe_times(column: Any) -> Any:
    """A column with time in microseconds; no value beyond the engine's range. Other columns as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    if not _is_unsafe(column.type):
        return column
    if types.is_date64(column.type):
        number, limit = column.cast(pa.int64()), 2**31 * 1000
        fits = pc.and_(pc.less_equal(number, limit * 1000), pc.greater_equal(number, -limit * 1000))
        safe = pc.if_else(fits, number, pa.scalar(None, pa.int64()))
        return pc.floor(pc.divide(safe.cast(pa.float64()), 86_400_000.0)).cast(pa.int32()).cast(pa.date32())
    if column.type.unit == "ns":
        return column.cast(_safe_type(column.type), safe=False)  # cut to microseconds; every one of them fits
    factor = _PER_UNIT[column.type.unit]
    number, limit = column.cast(pa.int64()), _LARGEST // factor
    fits = pc.and_(pc.less_equal(number, limit), pc.greater_equal(number, -limit))
    safe = pc.if_else(fits, number, pa.scalar(None, pa.int64()))
    return pc.multiply(safe, factor).cast(_safe_type(column.type))
