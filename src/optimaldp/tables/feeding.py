"""Running a query: one expression where its table lives, once; records that live elsewhere are streamed into the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from optimaldp.tables import sql
from optimaldp.tables.engines import configure, embedded


class Feed(Protocol):
    """Records that are streamed into the engine for each query anew, only the columns that it names."""

    def reader(self, wanted: Sequence[str]) -> Any: ...


class TextFeed(Feed, Protocol):
    """Records of text; where there are few, they are handed over as they are, without Arrow."""

    def few(self, wanted: Sequence[str]) -> list[list[str | None]] | None: ...


FED = "optimaldp_records"
"""The name under which an engine knows records that are streamed into it."""


def fed_table(columns: object) -> Any:
    """A table in an embedded DuckDB that a feed fills when a query runs: its columns as names and Arrow types."""
    import pyarrow as pa

    connection = embedded()
    # Not empty_table(), which imports pandas where that is installed.
    connection.con.register(FED, pa.Table.from_batches([], schema=pa.schema(columns)))
    return connection.table(FED)


def fetch(table: Any, expression: Any, feed: Feed | None = None) -> list[tuple[Any, ...]]:
    """Run one expression where *table* lives, once. Plain rows: a data frame would cost a second of imports."""
    if isinstance(table, sql.Table):
        return _fetch_text(table, expression, feed)
    connection = table.get_backend()
    return _fetch(connection, expression) if feed is None else _fetch_fed(connection, expression, feed)


def _fetch(connection: Any, expression: Any) -> list[tuple[Any, ...]]:
    name = connection.name
    connection._run_pre_execute_hooks(expression)  # makes tables in memory known, as Ibis' own execution does
    query = connection.compile(expression)
    if name == "duckdb":
        return list(connection.raw_sql(query).fetchall())
    if name == "postgres":
        with connection.con.cursor() as cursor:
            return list(cursor.execute(query).fetchall())
    return [tuple(row) for row in connection._session.sql(query).collect()]


def _fetch_fed(connection: Any, expression: Any, feed: Feed) -> list[tuple[Any, ...]]:
    import ibis.expr.operations as ops

    node = expression.op()
    wanted = dict.fromkeys(field.name for field in node.find(ops.Field) if isinstance(field.rel, ops.DatabaseTable))
    with _own_database() as own:
        _register_functions(connection, node, own)
        own.register(node.find_topmost(ops.DatabaseTable)[0].name, feed.reader(tuple(wanted)))
        return list(own.execute(connection.compile(expression)).fetchall())


def _fetch_text(table: sql.Table, expression: sql.Table, feed: Any) -> list[tuple[Any, ...]]:
    wanted = [name for name in table.types if name in expression.needs] or [next(iter(table.types))]
    with _own_database() as own:
        for need in expression.needs:
            if isinstance(need, sql.Function):
                need.register(own)
        few = feed.few(wanted)
        if few is None:
            own.register(FED, feed.reader(wanted))
        else:
            columns = ", ".join(f"UNNEST(CAST(? AS VARCHAR[])) AS {sql.quoted(name)}" for name in wanted)
            own.execute(f"CREATE TEMP TABLE {FED} AS SELECT {columns}", few)
        return list(own.execute(expression.text).fetchall())


def _own_database() -> Any:
    """A database for one query: what is registered there is seen by it alone, and a failure before has not damaged it."""
    import duckdb

    own = duckdb.connect()
    configure(own)
    return own


def _register_functions(connection: Any, node: Any, own: Any) -> None:
    """Make our own functions known to another connection, as Ibis does for its own."""
    import ibis.expr.operations as ops
    from ibis.expr.operations.udf import InputType

    for function in node.find(ops.ScalarUDF):
        if function.__input_type__ is InputType.PYARROW:
            connection._register_pyarrow_udf(function)(own)
