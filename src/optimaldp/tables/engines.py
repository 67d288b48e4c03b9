"""What differs between engines: how rows are fetched, and which column types list their options."""

from __future__ import annotations

from typing import Any

from optimaldp.tables.tally import Option


def embedded(path: str | None = None) -> Any:
    """A DuckDB in this process: in memory, or a file that is only read."""
    import ibis

    connection = ibis.duckdb.connect() if path is None else ibis.duckdb.connect(path, read_only=True)
    # The bar of a long query goes to standard output, where the answer belongs.
    connection.raw_sql("SET enable_progress_bar = false")
    return connection


def fetch(table: Any, expression: Any) -> list[tuple[Any, ...]]:
    """Run one expression where *table* lives. Plain rows: a data frame would cost a second of imports."""
    connection = table.get_backend()
    name = connection.name
    if name not in ("duckdb", "postgres", "pyspark"):
        return [tuple(row.values()) for row in connection.to_pyarrow(expression).to_pylist()]
    connection._run_pre_execute_hooks(expression)  # makes tables in memory known, as Ibis' own execution does
    query = connection.compile(expression)
    if name == "duckdb":
        return list(connection.raw_sql(query).fetchall())
    if name == "postgres":
        with connection.con.cursor() as cursor:
            return list(cursor.execute(query).fetchall())
    return [tuple(row) for row in connection._session.sql(query).collect()]


def listed_options(table: Any) -> dict[str, tuple[Option, ...]]:
    """The options of enum columns, from the engine's catalogue: types are public, data is never looked at."""
    import ibis.expr.operations as ops

    connection, node = table.get_backend(), table.op()
    if not isinstance(node, ops.DatabaseTable):
        return {}
    if connection.name == "duckdb":
        return _duckdb_enums(connection, node)
    if connection.name == "postgres":
        return _postgres_enums(connection, node)
    return {}


def as_text(table: Any, enums: list[str]) -> Any:
    """The same table with its enum columns as text: PostgreSQL compares an enum with its own options only."""
    if not enums or table.get_backend().name != "postgres":
        return table
    # Ibis takes an enum for text and would leave out a cast between equal types; these differ in nullability alone.
    return table.mutate(**{name: table[name].cast("!string") for name in enums})


def _duckdb_enums(connection: Any, node: Any) -> dict[str, tuple[Option, ...]]:
    relation = connection.raw_sql(connection.compile(node.to_expr().limit(0)))
    types = zip(node.schema.names, relation.description)
    return {name: _members(kind[1]) for name, kind in types if str(getattr(kind[1], "id", "")) == "enum"}


def _members(dtype: Any) -> tuple[Option, ...]:
    return tuple(dict(dtype.children)["values"])


def _postgres_enums(connection: Any, node: Any) -> dict[str, tuple[Option, ...]]:
    query = """
        SELECT a.attname, e.enumlabel FROM pg_attribute a
        JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_enum e ON e.enumtypid = a.atttypid
        WHERE c.relname = %s AND n.nspname = COALESCE(%s, current_schema()) AND NOT a.attisdropped
        ORDER BY a.attnum, e.enumsortorder"""
    with connection.con.cursor() as cursor:
        rows = cursor.execute(query, (node.name, node.namespace.database)).fetchall()
    found: dict[str, tuple[Option, ...]] = {}
    for column, label in rows:
        found[column] = (*found.get(column, ()), label)
    return found
