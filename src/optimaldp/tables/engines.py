"""What differs between engines: how rows are fetched, and which column types list their options."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, Protocol

from optimaldp.errors import TableError
from optimaldp.tables.tally import Option

# The bar of a long query goes to standard output, where the answer belongs. A notebook without widgets has none, and there
# even switching it off is an error.
_HAS_BAR = "SELECT current_setting('enable_progress_bar')"
_NO_BAR = "SET enable_progress_bar = false"


def embedded(path: str | None = None) -> Any:
    """A DuckDB in this process: in memory, or a file that is only read."""
    import ibis

    connection = ibis.duckdb.connect() if path is None else ibis.duckdb.connect(path, read_only=True)
    configure(connection.con)
    return connection


@cache
def _spill_folder() -> str:
    """Where the engine puts what does not fit into memory: a folder of our own that nobody else can read."""
    folder = tempfile.mkdtemp(prefix="optimaldp-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def configure(connection: Any) -> None:
    """Tell an embedded engine to print nothing, and to leave no row in the working folder."""
    if connection.execute(_HAS_BAR).fetchone()[0]:
        connection.execute(_NO_BAR)
    folder = _spill_folder().replace("'", "''")
    connection.execute(f"SET temp_directory = '{folder}'")


SUPPORTED = {"duckdb": "DuckDB", "postgres": "PostgreSQL", "pyspark": "Spark"}
"""The engines on which every expression was seen to come out right; others are refused by name."""


def check_engine(name: str, words: str) -> None:
    """Refuse an engine that is not among those that the conformance suite runs on."""
    if name not in SUPPORTED:
        rule = f"lives in {name}, on which counts were not seen to come out right"
        known = ", ".join(SUPPORTED.values())
        raise TableError(
            "data", words, rule, f"the engines are {known}; write the table to a Parquet file, for example"
        )


class Feed(Protocol):
    """Records that are streamed into the engine for each query anew, only the columns that it names."""

    def reader(self, wanted: Sequence[str]) -> Any: ...


FED = "optimaldp_records"
"""The name under which an engine knows records that are streamed into it."""


def fed_table(columns: object) -> Any:
    """A table in an embedded DuckDB that a feed fills when a query runs: its columns as names and Arrow types."""
    import pyarrow as pa

    connection = embedded()
    # Not empty_table(), which imports pandas where that is installed.
    connection.con.register(FED, pa.Table.from_batches([], schema=pa.schema(columns)))
    return connection.table(FED)


@cache
def forgives_bad_text() -> bool:
    """Whether this DuckDB can read a Parquet file in which some text is not UTF-8; older ones fail on such a file."""
    import duckdb

    query = "SELECT parameters FROM duckdb_functions() WHERE function_name = 'read_parquet'"
    with duckdb.connect() as own:
        return any("utf8_validation" in row[0] for row in own.execute(query).fetchall())


def fetch(table: Any, expression: Any, feed: Feed | None = None) -> list[tuple[Any, ...]]:
    """Run one expression where *table* lives, once. Plain rows: a data frame would cost a second of imports."""
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
    import duckdb
    import ibis.expr.operations as ops

    node = expression.op()
    wanted = dict.fromkeys(field.name for field in node.find(ops.Field) if isinstance(field.rel, ops.DatabaseTable))
    # A database of its own: what is registered there is seen by this query alone, and a failure before has not damaged it.
    with duckdb.connect() as own:
        configure(own)
        _register_functions(connection, node, own)
        own.register(node.find_topmost(ops.DatabaseTable)[0].name, feed.reader(tuple(wanted)))
        return list(own.execute(connection.compile(expression)).fetchall())


def _register_functions(connection: Any, node: Any, own: Any) -> None:
    """Make our own functions known to another connection, as Ibis does for its own."""
    import ibis.expr.operations as ops
    from ibis.expr.operations.udf import InputType

    for function in node.find(ops.ScalarUDF):
        if function.__input_type__ is InputType.PYARROW:
            connection._register_pyarrow_udf(function)(own)


def can_look_up(value: Any) -> bool:
    """Whether the engine lives in this process, so that a long list need not be written into the query."""
    return bool(value.get_backend().name == "duckdb")


@lru_cache(maxsize=16)
def look_up(kind: str, values: tuple[Option, ...]) -> Callable[[Any], Any]:
    """A function of the embedded engine: the place of a value among *values*, behind the last one if it is none of them.

    No value makes it fail: DuckDB hands NULL to nobody, and would refuse it as the result for any other value.

    A query that lists 100,000 values takes Ibis 25 seconds to write, and a list is searched from its beginning for each value.
    """
    import ibis
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(values, pa.string() if kind == "text" else pa.int64())

    @ibis.udf.scalar.pyarrow(signature=(("string" if kind == "text" else "int64",), "int64"))
    def optimaldp_place(value):  # type: ignore[no-untyped-def]
        return pc.fill_null(pc.index_in(value, value_set=known), len(known)).cast(pa.int64())

    return optimaldp_place  # type: ignore[no-any-return]


def equal_bytes(text: Any, value: str) -> Any:
    """Whether a text is that value byte by byte, whatever the engine's collation says; padding of a column is no part of it."""
    import ibis

    engine = text.get_backend().name
    if engine == "pyspark":
        return text.cast("binary") == ibis.literal(value, type="string").cast("binary")
    as_bytes = _ENCODERS[engine]()
    return as_bytes(text) == as_bytes(ibis.literal(value, type="string"))


@cache
def _duckdb_encoder() -> Callable[[Any], Any]:
    import ibis

    @ibis.udf.scalar.builtin(name="encode", signature=(("string",), "binary"))
    def encode(text):  # type: ignore[no-untyped-def]
        """The bytes of a text."""

    return encode  # type: ignore[no-any-return]


@cache
def _postgres_encoder() -> Callable[[Any], Any]:
    import ibis

    @ibis.udf.scalar.builtin(name="convert_to", signature=(("string", "string"), "binary"))
    def convert_to(text, encoding):  # type: ignore[no-untyped-def]
        """The bytes of a text in an encoding."""

    return lambda text: convert_to(text, "UTF8")


_ENCODERS = {"duckdb": _duckdb_encoder, "postgres": _postgres_encoder}


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
