"""The engines that count: DuckDB in this process, PostgreSQL, Spark. What they are told, their columns, how a query runs.

An engine is handed one query at a time, with its parameters bound. Errors of engines may quote cells: they are replaced by errors
that do not (see :func:`optimaldp.tables.source.without_engine_message`).
"""

from __future__ import annotations

import atexit
import itertools
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from optimaldp.errors import TableError
from optimaldp.tables.canonical import Stored
from optimaldp.tables.sql import DUCKDB, POSTGRES, SPARK, Dialect, Parameter, SqlTable

Rows = list[tuple[Any, ...]]
FED = "optimaldp_records"
"""The name under which an engine knows records that are streamed into it."""

# The bar of a long query goes to standard output, where the answer belongs. A notebook without widgets has none, and there
# even switching it off is an error.
_HAS_BAR = "SELECT current_setting('enable_progress_bar')"
_NO_BAR = "SET enable_progress_bar = false"
_NUMBERS = itertools.count()
_SPILL: list[str] = []  # the folder for what does not fit into memory, once there is one

SUPPORTED = {"duckdb": "DuckDB", "postgres": "PostgreSQL", "pyspark": "Spark"}
"""The engines on which every construct was seen to come out right; others are refused by name."""


class Engine(Protocol):
    """What runs a query on a table."""

    @property
    def dialect(self) -> Dialect:
        """How SQL is written for it."""

    def run(self, query: SqlTable) -> Rows:
        """Run one query, once. Private: only :mod:`optimaldp.tables.counting` calls it."""


def check_engine(name: str, label: str) -> None:
    """Refuse an engine that is not among those that the conformance suite runs on."""
    if name not in SUPPORTED:
        rule = f"lives in {name}, on which counts were not seen to come out right"
        known = ", ".join(SUPPORTED.values())
        raise TableError(
            "data", label, rule, f"the engines are {known}; write the table to a Parquet file, for example"
        )


def _bound(query: SqlTable) -> dict[str, Any]:
    return {
        need.name: list(need.value) if isinstance(need.value, tuple) else need.value
        for need in query.needs
        if isinstance(need, Parameter)
    }


# DuckDB


def embedded(path: str | None = None) -> Any:
    """A DuckDB in this process: in memory, or a file that is only read. It prints nothing.

    What does not fit into memory goes into a folder of this process that nobody else can read.
    """
    import duckdb

    connection = duckdb.connect() if path is None else duckdb.connect(path, read_only=True)
    _silence(connection)
    if not _SPILL:
        made = tempfile.mkdtemp(prefix="optimaldp-")
        atexit.register(shutil.rmtree, made, ignore_errors=True)
        _SPILL.append(made)
    folder = _SPILL[0].replace("'", "''")
    connection.execute(f"SET temp_directory = '{folder}'")
    return connection


def _silence(connection: Any) -> None:
    if connection.execute(_HAS_BAR).fetchall()[0][0]:
        connection.execute(_NO_BAR)


_IN_MEMORY: dict[int, Any] = {}  # by process: a database must not cross a fork
_MAKING = threading.Lock()


@contextmanager
def own_connection() -> Iterator[Any]:
    """A connection of its own to a database in memory: what it is told is temporary and ends with it.

    The database stays for the next query, because making one takes ten times as long as a small query. One in which anything
    failed is given up, so that no failure damages what is asked next.
    """
    process = os.getpid()
    with _MAKING:
        if process not in _IN_MEMORY:
            _IN_MEMORY[process] = embedded()
        database = _IN_MEMORY[process]
        own = database.cursor()
    try:
        with own:
            _silence(own)
            yield own
    except BaseException:
        with _MAKING:
            if _IN_MEMORY.get(process) is database:
                del _IN_MEMORY[process]
        raise


@cache
def forgives_bad_text() -> bool:
    """Whether this DuckDB can read a Parquet file in which some text is not UTF-8; older ones fail on such a file."""
    query = "SELECT parameters FROM duckdb_functions() WHERE function_name = 'read_parquet'"
    with embedded() as own:
        return any("utf8_validation" in row[0] for row in own.execute(query).fetchall())


@dataclass(frozen=True)
class DuckdbEngine:
    """A DuckDB that knows the table: one that stays open, or a connection of its own for each query."""

    connection: Any = None
    fill: Callable[[Any, SqlTable], None] | None = None
    """Makes the records known to the connection of a query, which no other query sees and no failure before has damaged."""
    dialect: Dialect = DUCKDB

    def run(self, query: SqlTable) -> Rows:
        if self.connection is not None:
            return list(self.connection.execute(query.text, _bound(query)).fetchall())
        # A database that reads files by itself may keep parts of them, which must not outlive their change: a new one for each.
        with embedded() if self.fill is None else own_connection() as own:
            if self.fill is not None:
                self.fill(own, query)
            return list(own.execute(query.text, _bound(query)).fetchall())


_DUCKDB_TYPES = {
    "BOOLEAN": "boolean",
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
    "UBIGINT": "uint64",
    "HUGEINT": "int128",
    "UHUGEINT": "uint128",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "VARCHAR": "string",
    "UUID": "uuid",
    '"NULL"': "string",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_S": "timestamp_other",
    "TIMESTAMP_MS": "timestamp_other",
    "TIMESTAMP_NS": "timestamp_other",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
}


def duckdb_columns(connection: Any, relation: str, required: Iterable[str] = ()) -> list[Stored]:
    """The columns of a relation; no record is read."""
    described = connection.execute(f"SELECT * FROM {relation} LIMIT 0").description
    never_null = set(required)
    return [_duckdb_column(name, dtype, required=name in never_null) for name, dtype, *_ in described]


def _duckdb_column(name: str, dtype: Any, *, required: bool) -> Stored:
    if str(getattr(dtype, "id", "")) == "enum":
        return Stored(name, "string", required, tuple(dict(dtype.children)["values"]))
    written = str(dtype)
    if re.fullmatch(r"DECIMAL\([0-9, ]+\)", written):
        return Stored(name, "decimal", required)
    if written.startswith("VARCHAR") and not written.endswith("]"):  # with or without a collation
        return Stored(name, "string", required)
    return Stored(name, _DUCKDB_TYPES.get(written, written.lower()), required)


def duckdb_table(connection: Any, name: str, schema: str | None) -> tuple[str, list[str], bool] | None:
    """A table or view by its name: its SQL, its columns that are never NULL, and whether it is a table with rows of its own."""
    query = """SELECT * FROM (SELECT database_name AS d, schema_name AS s, table_name AS t, NOT temporary FROM duckdb_tables()
        UNION ALL SELECT database_name, schema_name, view_name, FALSE FROM duckdb_views())
        WHERE t = $name AND s = COALESCE($schema, current_schema()) AND d IN (current_database(), 'temp') ORDER BY d <> 'temp'"""
    found = connection.execute(query, {"name": name, "schema": schema}).fetchone()
    if found is None:
        return None
    *place, stands = found
    query = """SELECT column_name FROM duckdb_columns() WHERE NOT is_nullable
        AND database_name = $p0 AND schema_name = $p1 AND table_name = $p2"""
    required = connection.execute(query, {f"p{number}": part for number, part in enumerate(place)}).fetchall()
    return ".".join(map(DUCKDB.name_of, place)), [row[0] for row in required] if stands else [], bool(stands)


# PostgreSQL

_OLDEST_POSTGRES = 140000
_SETTINGS = {
    "standard_conforming_strings": "on",
    "default_transaction_read_only": "on",
    "lc_messages": "C",
}
_OF_QUERIES = {"standard_conforming_strings": "on", "client_encoding": "UTF8", "search_path": "pg_catalog"}
"""Set for each query, because a connection that was handed over may be told something else at any time."""


@dataclass(frozen=True)
class PostgresEngine:
    """A connection to PostgreSQL; results come in binary, so no setting decides how a number is written."""

    connection: Any
    named: bool = True
    """Whether the table is named with its schema: an expression of somebody else's may need the search path."""
    dialect: Dialect = POSTGRES

    def run(self, query: SqlTable) -> Rows:
        told = [pair for pair in _OF_QUERIES.items() if self.named or pair[0] != "search_path"]
        settings = f"SELECT {', '.join(['set_config(%s, %s, true)'] * len(told))}"
        # Rolled back: nothing was written, and the settings end with it.
        with self.connection.transaction(force_rollback=True), postgres_cursor(self.connection) as cursor:
            cursor.execute(settings, [part for pair in told for part in pair])
            return list(cursor.execute(query.text, _bound(query), binary=True).fetchall())


def postgres_cursor(connection: Any) -> Any:
    """A cursor that binds parameters at the server and gives rows as tuples, whatever the connection was told."""
    import psycopg

    return psycopg.Cursor(connection, row_factory=psycopg.rows.tuple_row)


def check_postgres(connection: Any, label: str) -> None:
    """Refuse a server on which the SQL that is written here would not mean the same for every cell."""
    if connection.info.server_version < _OLDEST_POSTGRES:
        raise TableError("data", label, "lives in a PostgreSQL before version 14", "write it to a Parquet file")
    if connection.info.encoding == "ascii":
        rule = "is handed over by a connection with client_encoding SQL_ASCII, in which texts are bytes"
        raise TableError("data", label, rule, "set client_encoding to UTF8")
    with postgres_cursor(connection) as cursor:
        query = "SELECT current_setting('server_encoding'), current_setting('standard_conforming_strings')"
        encoding, conforming = cursor.execute(query).fetchone()
    if encoding != "UTF8":
        rule = f"lives in a database with the encoding {encoding}, in which some cells have no text of their own"
        raise TableError("data", label, rule, "use a database in UTF8, or write the table to a Parquet file")
    if conforming != "on":
        rule = "is handed over by a connection with standard_conforming_strings off, in which quoted text can be code"
        raise TableError("data", label, rule, "switch it on for this connection")


def settled_postgres(connection: Any) -> None:
    """Set what the SQL that is written here relies on, for a connection of our own."""
    with postgres_cursor(connection) as cursor:
        for name, value in _SETTINGS.items():
            cursor.execute("SELECT set_config(%s, %s, false)", (name, value))


_POSTGRES_TYPES = {
    "bool": "boolean",
    "int2": "int16",
    "int4": "int32",
    "int8": "int64",
    "float4": "float32",
    "float8": "float64",
    "numeric": "decimal",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext"), "string"),
    "uuid": "uuid",
}
_SURE_DIGITS = 300  # digits on either side of the point that a double always holds


def postgres_table(connection: Any, name: str, schema: str | None) -> str | None:
    """A table by its name, as SQL with its schema; None if there is none."""
    written = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, name) if part is not None)
    query = """SELECT n.nspname::text, c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.oid = to_regclass(%s) AND c.relkind IN ('r', 'v', 'm', 'f', 'p')"""
    with postgres_cursor(connection) as cursor:
        found = cursor.execute(query, (written,)).fetchone()
    return None if found is None else ".".join(map(POSTGRES.name_of, found))


def postgres_columns(connection: Any, relation: str, required: Iterable[str] = ()) -> list[Stored]:
    """The columns of a relation; no record is read."""
    with postgres_cursor(connection) as cursor:
        described = cursor.execute(f"SELECT * FROM {relation} AS t LIMIT 0", {}).description
        codes = list({column.type_code for column in described})
        query = """SELECT t.oid::bigint, t.typname::text, ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid
            ORDER BY e.enumsortorder) FROM pg_type t WHERE t.oid::bigint = ANY(%s::bigint[])"""
        types = {code: (name, labels) for code, name, labels in cursor.execute(query, (codes,)).fetchall()}
    never_null = set(required)
    columns = []
    for column in described:
        name, labels = types[column.type_code]
        own = column.name in never_null
        if labels:
            columns.append(Stored(column.name, "string", own, tuple(labels)))
            continue
        digits = (column.precision, column.scale)
        wide = None in digits or max(abs(digits[1]), digits[0] - digits[1]) > _SURE_DIGITS
        columns.append(Stored(column.name, _POSTGRES_TYPES.get(name, name), own, wide=name == "numeric" and wide))
    return columns


def postgres_required(connection: Any, relation: str) -> list[str]:
    """The columns of a table that are never NULL, as the server enforces."""
    query = "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnotnull AND attnum > 0"
    with postgres_cursor(connection) as cursor:
        return [row[0] for row in cursor.execute(query, (relation.replace("%%", "%"),)).fetchall()]


# Spark


@dataclass(frozen=True)
class SparkEngine:
    """A Spark session."""

    session: Any
    dialect: Dialect = SPARK

    def run(self, query: SqlTable) -> Rows:
        return [tuple(row) for row in self.session.sql(query.text, args=_bound(query) or None).collect()]


_SPARK_TYPES = {
    "boolean": "boolean",
    "byte": "int8",
    "short": "int16",
    "integer": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "decimal": "decimal",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    **dict.fromkeys(("string", "varchar", "char"), "string"),
}


def spark_view(frame: Any, label: str) -> tuple[str, list[Stored]]:
    """A data frame under a name of ours, its columns renamed: names that differ in case alone, or hold dots, are told apart."""
    session = frame.sparkSession
    if int(str(session.version).split(".")[0]) < 4:
        raise TableError("data", label, "lives in a Spark before version 4", "write it to a Parquet file")
    name = f"optimaldp_{next(_NUMBERS)}"
    fields = frame.schema.fields
    frame.toDF(*(f"r{place}" for place in range(len(fields)))).createOrReplaceTempView(name)
    columns = []
    for field in fields:
        word = re.sub(r"\W.*", "", field.dataType.typeName())
        columns.append(Stored(field.name, _SPARK_TYPES.get(word, word), not field.nullable))
    return name, columns
