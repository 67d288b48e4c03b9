"""Arrow tables and datasets, and Parquet files, made safe for the engine: no value of one row decides whether a query fails.

The engine counts time in microseconds and fails on a point in time that does not fit; it fails on text that is not UTF-8. Here
such a value is missing for its own record. Dictionaries are decoded first and then made safe like any other column.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Complex, Number, Real
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.canonical import FIRST_MOMENT, LAST_MOMENT, LONGEST_CELL, Stored
from optimaldp.tables.engines import (
    FED,
    DuckdbEngine,
    SparkEngine,
    duckdb_columns,
    embedded,
    forgives_bad_text,
    spark_view,
)
from optimaldp.tables.schema import OBJECTS, OPEN, ColumnType, unique_names
from optimaldp.tables.source import Source, source_of, without_engine_message
from optimaldp.tables.sql import SqlTable
from optimaldp.tables.tally import Option
from optimaldp.tables.versions import version_of, version_of_arrow

_PER_UNIT = {"s": 10**6, "ms": 10**3}
_US = "us"
_LARGEST = 9_223_372_022_400_000_000 - 1  # microseconds: the engine's last moment
_MOST_BYTES = 2**30  # of the text in one piece of a table
_MOST_DIGITS = 400  # of a decimal that is written out
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
        return _safe_type(_decodable(dtype.value_type))
    if types.is_float16(dtype):
        return pa.float32()
    if types.is_null(dtype):
        return pa.string()
    if types.is_date64(dtype):
        return pa.date32()
    return pa.timestamp(_US, tz=dtype.tz) if types.is_timestamp(dtype) else dtype


def _decodable(dtype: Any) -> Any:
    """The type of a dictionary's values from which Arrow can take some: it cannot from views of texts."""
    import pyarrow as pa
    import pyarrow.types as types

    return pa.large_string() if types.is_string_view(dtype) else dtype


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
            for piece in _pieces(batch):
                yield pa.RecordBatch.from_arrays([_safe(column) for column in piece.columns], schema=schema)


def _pieces(batch: Any) -> Iterator[Any]:
    """A batch in pieces whose text has fewer bytes than Arrow can count in 32 bits, however long the cells are."""
    rows = _MOST_BYTES // LONGEST_CELL if any(map(_is_heavy, batch.columns)) else max(1, len(batch))
    yield from (batch.slice(start, rows) for start in range(0, len(batch), rows))


def _is_heavy(column: Any) -> bool:
    import pyarrow.compute as pc
    import pyarrow.types as types

    if types.is_dictionary(column.type) and _is_text(column.type.value_type):
        longest = pc.max(pc.binary_length(column.dictionary.cast(_decodable(column.type.value_type)))).as_py()
        return len(column) * min(longest or 0, LONGEST_CELL) > _MOST_BYTES
    return _is_text(column.type) and (column.nbytes or 0) > _MOST_BYTES


def _safe(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_dictionary(column.type):
        values = safe_text(column.dictionary.cast(_decodable(column.type.value_type)))
        column = pa.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()
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
        return _floored(safe, 86_400_000).cast(pa.int32()).cast(pa.date32())
    if column.type.unit == "ns":
        return _floored(column.cast(pa.int64()), 1000).cast(_safe_type(column.type))
    factor = _PER_UNIT[column.type.unit]
    number, limit = column.cast(pa.int64()), _LARGEST // factor
    fits = pc.and_(pc.less_equal(number, limit), pc.greater_equal(number, -limit))
    safe = pc.if_else(fits, number, pa.scalar(None, pa.int64()))
    return pc.multiply(safe, factor).cast(_safe_type(column.type))


def _floored(number: Any, unit: int) -> Any:
    """Whole numbers in a coarser unit, rounded down also below zero."""
    import pyarrow as pa
    import pyarrow.compute as pc

    near = pc.divide(number, unit)
    above = pc.less(number, pc.multiply(near, unit)).cast(pa.int64())
    return pc.subtract(near, above)


# Tables in memory: pandas, polars and pyarrow (through an embedded DuckDB), and Spark's data frames.


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
    if kind in ("float16", "float32", "float64"):
        return _double_texts(pa.array(series, from_pandas=True).cast(pa.float64()))
    if kind == "bool" or re.fullmatch("u?int(8|16|32|64)", kind):
        return pa.array(series, from_pandas=True).cast(pa.string())
    if kind.startswith(("datetime64[", "timestamp[")):
        number = safe_times(pa.array(series, from_pandas=True)).cast(pa.int64())
        told = pc.and_(pc.greater_equal(number, FIRST_MOMENT), pc.less_equal(number, LAST_MOMENT))
        moments = pc.if_else(told, number, pa.scalar(None, pa.int64())).cast(pa.timestamp(_US))
        return pc.replace_substring_regex(moments.cast(pa.string()), pattern="( 00:00:00)?[.]000000$", replacement="")
    return pa.array([cell_text(value) for value in _objects(series)], pa.string())


def _double_texts(numbers: Any) -> Any:
    """Doubles as texts: a whole number has one text, whether pandas keeps it as an integer or as a double."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = numbers.cast(pa.string())
    for dtype, low, high in ((pa.int64(), -(2.0**63), 0.0), (pa.uint64(), 0.0, 2.0**64)):
        fits = pc.and_(pc.greater_equal(numbers, low), pc.less(numbers, high))
        whole = pc.and_(fits, pc.equal(pc.floor(numbers), numbers))
        digits = pc.if_else(whole, numbers, pa.scalar(None, pa.float64())).cast(dtype).cast(pa.string())
        texts = pc.coalesce(digits, texts)
    # An infinity is a number: it is clipped, or lies in an end bin. The text of one that reads as a number is beyond all doubles.
    beyond = pc.if_else(pc.greater(numbers, 0.0), pa.scalar("1e999"), pa.scalar("-1e999"))
    return pc.if_else(pc.is_inf(numbers), beyond, texts)


def _objects(series: Any) -> Iterator[object]:
    """The values of a column as Python's objects; None for one that Python cannot hold, such as a day of the year 20,000."""
    values = series.array
    for place in range(len(values)):
        try:
            value = values[place]
        except Exception:  # the words of a library's error may quote the value
            value = None
        yield value


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
        if type(value).__name__ in ("datetime64", "timedelta64"):  # of numpy: what a day is, and what is none
            value = _moment_of_numpy(value)
        if isinstance(value, datetime.datetime):
            return _moment_text(value if value.tzinfo is None else value.astimezone(datetime.UTC))
        if isinstance(value, datetime.date):
            return value.isoformat()
        if isinstance(value, Complex) and not isinstance(value, Real):
            value = value.real if value.imag == 0 else None  # one complex number makes all of a column complex
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            value = float(value)  # which one fraction makes of all of a column
        if isinstance(value, Decimal) and value.is_infinite():
            value = float(value)
        if isinstance(value, Decimal):
            # A few bytes may stand for a thousand million digits.
            return format(value, "f") if abs(value.adjusted()) <= _MOST_DIGITS else str(value)
        if isinstance(value, float) or type(value).__name__.startswith("float"):
            return _double_text(float(value))  # type: ignore[arg-type]  # numpy's floats too
        return str(value) if isinstance(value, Number) else None
    except Exception:  # an object of any class may do anything when it is looked at
        return None


def _moment_of_numpy(value: Any) -> object:
    """A point in time of numpy as Python's; None for one that Python cannot hold, and for lengths of time."""
    short = value.dtype.str[4:6] in ("ns", "ps", "fs", "as")
    plain = value.astype("datetime64[us]").item() if short else value.item()
    return plain if isinstance(plain, datetime.date) else None


def _moment_text(value: datetime.datetime) -> str:
    """A point in time as text; midnight is a date, which beside points in time is its midnight."""
    plain = datetime.datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond
    )
    return plain.date().isoformat() if plain.time() == datetime.time() else plain.isoformat(" ")


def _double_text(value: float) -> str:
    import pyarrow as pa

    return str(_double_texts(pa.array([value], pa.float64()))[0].as_py())


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
    # Arrow has no whole numbers of 128 bits; here they are numbers anyway.
    wide = [name for name, dtype in frame.schema.items() if type(dtype).__name__ in ("Int128", "UInt128")]
    frame = frame.cast(dict.fromkeys(wide, float)) if wide else frame
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
    """Refuse a dataset whose types come from its records or from the names of its folders, or whose scan may fail on a value."""
    for one in (dataset, *getattr(dataset, "children", ())):
        kind = type(getattr(one, "format", None)).__name__
        if kind in ("CsvFileFormat", "JsonFileFormat"):
            rule = f"of {kind.removesuffix('FileFormat').upper()} files takes its types from the records"
            raise TableError("data", "pyarrow dataset", rule, "give the path of the file or folder")
        if getattr(one, "_scan_options", None):
            raise TableError("data", "pyarrow dataset", "is filtered", "give it unfiltered, and the condition as where")
        for part in one.get_fragments() if hasattr(one, "files") else ():
            _check_fragment(dataset.schema, part)


def _check_fragment(schema: Any, fragment: Any) -> None:
    """Refuse a file that Arrow would cast to the dataset's types, and columns that Arrow makes from names of folders."""
    own = fragment.physical_schema
    for field in schema:
        if field.name not in own.names:
            rule = f"has a column {field.name}, which {fragment.path} does not have"
            raise TableError("data", "pyarrow dataset", rule, "give the path of the folder")
        if own.field(field.name).type != field.type:
            rule = f"has a column {field.name} of type {field.type}"
            remedy = (
                f"it is of type {own.field(field.name).type} in {fragment.path}; write all files with the same types"
            )
            raise TableError("data", "pyarrow dataset", rule, remedy)


def _as_table(table: object) -> Any:
    import pyarrow as pa

    if isinstance(table, pa.RecordBatchReader):
        rule = "can be read only once, and each question reads its table anew"
        raise TableError("data", "RecordBatchReader", rule, "give the table: reader.read_all()")
    made: Any = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
    return made.rename_columns(unique_names(tuple(made.column_names)))


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
