"""Arrow data whose points in time are counted in seconds or milliseconds: what lies beyond the engine's range is NULL.

The engine counts in microseconds. It fails on a time that does not fit, and so one row would decide whether a query does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_PER_UNIT = {"s": 10**6, "ms": 10**3}
_LARGEST = 9_223_372_022_400_000_000 - 1  # microseconds: the engine's last moment


def has_coarse_times(schema: Any) -> bool:
    """Whether a column of an Arrow schema counts time in seconds or milliseconds."""
    return any(_is_coarse(field.type) for field in schema)


def _is_coarse(dtype: Any) -> bool:
    import pyarrow.types as types

    return types.is_timestamp(dtype) and dtype.unit in _PER_UNIT


def safe_schema(schema: Any) -> Any:
    """The same columns, with time in microseconds."""
    import pyarrow as pa

    return pa.schema([pa.field(field.name, _safe_type(field.type)) for field in schema])


def _safe_type(dtype: Any) -> Any:
    import pyarrow as pa

    return pa.timestamp("us", tz=dtype.tz) if _is_coarse(dtype) else dtype


@dataclass(frozen=True)
class DatasetFeed:
    """An Arrow dataset, streamed with its times made safe."""

    dataset: Any

    def reader(self, wanted: Sequence[str]) -> Any:
        import pyarrow as pa

        names = list(wanted) or self.dataset.schema.names[:1]
        schema = safe_schema(pa.schema([self.dataset.schema.field(name) for name in names]))
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema, names))

    def _batches(self, schema: Any, names: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in self.dataset.scanner(columns=names).to_batches():
            yield pa.RecordBatch.from_arrays([safe_times(column) for column in batch.columns], schema=schema)


def safe_times(column: Any) -> Any:
    """A column with time in microseconds; NULL beyond the engine's range. Other columns as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_coarse(column.type):
        return column
    factor = _PER_UNIT[column.type.unit]
    number, limit = column.cast(pa.int64()), _LARGEST // factor
    fits = pc.and_(pc.less_equal(number, limit), pc.greater_equal(number, -limit))
    safe = pc.if_else(fits, number, pa.scalar(None, pa.int64()))
    return pc.multiply(safe, factor).cast(_safe_type(column.type))
