"""Database files and servers, named by a URL or handed over as a connection; tables of Ibis by their SQL and connection."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from optimaldp.errors import TableError
from optimaldp.tables.engines import (
    DuckdbEngine,
    PostgresEngine,
    check_engine,
    check_postgres,
    duckdb_columns,
    duckdb_table,
    embedded,
    postgres_columns,
    postgres_required,
    postgres_table,
    settled_postgres,
)
from optimaldp.tables.frames import open_spark
from optimaldp.tables.source import Source, source_of, without_engine_message
from optimaldp.tables.versions import version_of_database, version_of_duckdb, version_of_postgres

_EXAMPLE = "write for example duckdb:///survey.db?table=answers"


def open_url(url: str) -> Source:
    """``duckdb:///file.db?table=t`` or ``postgres://user@host/base?table=t&schema=s``."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    named = dict(query)
    name, schema = named.get("table"), named.get("schema")
    rest = [(key, value) for key, value in query if key not in ("table", "schema")]
    shown = without_password(url)
    if not name:
        raise TableError("data", shown, "names no table", _EXAMPLE)
    if parts.scheme == "duckdb":
        return _open_duckdb(url, name, schema)
    scheme = "postgres" if parts.scheme == "postgresql" else parts.scheme
    check_engine(scheme, shown)
    bare = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(rest), ""))
    if scheme != "postgres":
        raise TableError("data", shown, "cannot be opened by a URL", "hand over the data frame")
    remedy = "check the address, the user and the database"
    connection = without_engine_message(shown, "opened", lambda: _connect(bare), remedy=remedy)
    label = f"postgres table {name} at {parts.hostname or 'this machine'}"
    return open_postgres(connection, name, schema, label, own=True)


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    secrets = [value for key, value in parse_qsl(parts.query) if "pass" in key.lower() or "token" in key.lower()]
    shown = url.replace(parts.netloc, f"{user.split(':')[0]}@{host}", 1) if ":" in user else url
    for secret in filter(None, secrets):
        shown = shown.replace(secret, "hidden")
    return shown


def _connect(url: str) -> Any:
    import psycopg

    return psycopg.connect(url, autocommit=True, client_encoding="utf8")


def _open_duckdb(url: str, name: str, schema: str | None) -> Source:
    path = _duckdb_path(url)
    remedy = "check that it is a DuckDB database and that no other program writes to it"
    connection = without_engine_message(path, "opened", lambda: embedded(path), remedy=remedy)
    token = version_of_database(path, f"{schema or ''}:{name}")
    return open_duckdb(connection, name, schema, f"table {name} of DuckDB file {path}", token)


def _duckdb_path(url: str) -> str:
    """The file: absolute or relative, whether it was written with two, three or four slashes."""
    written = url.split("?")[0].removeprefix("duckdb://")
    bare = written.lstrip("/")
    for path in (f"/{bare}" if written.startswith("/") else bare, bare):
        if os.path.isfile(path):
            return path
    raise TableError("data", url, "names a DuckDB file that does not exist", _EXAMPLE)


def open_duckdb(connection: Any, name: str, schema: str | None, label: str, token: str | None = None) -> Source:
    """A table or view of a DuckDB connection. A view has no version: it may read another file."""

    def opened() -> Source:
        found = duckdb_table(connection, name, schema)
        if found is None:
            raise _not_found(name, schema)
        relation, required, stands = found
        columns = duckdb_columns(connection, relation, required)

        def version() -> str | None:
            if token is not None:
                return token if stands else None
            return without_engine_message(label, "read", lambda: version_of_duckdb(connection, relation, name))

        return source_of(relation, columns, DuckdbEngine(connection), label, version=version)

    return without_engine_message(label, "opened", opened)


def open_postgres(connection: Any, name: str, schema: str | None, label: str, *, own: bool = False) -> Source:
    """A table or view of a PostgreSQL connection; a connection of our *own* is given the settings that we rely on."""

    def opened() -> Source:
        if own:
            settled_postgres(connection)
        check_postgres(connection, label)
        relation = postgres_table(connection, name, schema)
        if relation is None:
            raise _not_found(name, schema)
        columns = postgres_columns(connection, relation, postgres_required(connection, relation))

        def version() -> str | None:
            return without_engine_message(label, "read", lambda: version_of_postgres(connection, relation))

        return source_of(relation, columns, PostgresEngine(connection), label, version=version)

    return without_engine_message(label, "opened", opened)


def _not_found(name: str, schema: str | None) -> TableError:
    rule = f"does not exist in schema {schema}" if schema else "does not exist"
    return TableError("table", name, rule, "check the spelling, or add &schema=")


def open_pair(connection: Any, name: str) -> Source:
    """A table by its name on a connection of DuckDB, psycopg, Spark or Ibis."""
    label, package = f"table {name}", type(connection).__module__.split(".")[0]
    if package in ("duckdb", "_duckdb"):
        return open_duckdb(connection, name, None, label)
    if package == "psycopg":
        return open_postgres(connection, name, None, label)
    if package == "pyspark":
        return without_engine_message(label, "opened", lambda: open_spark(connection.table(name), label))
    return open_ibis(lambda: connection.table(name), label)


def open_ibis(open_table: Callable[[], Any], label: str) -> Source:
    """A table of Ibis: its own SQL, on its own connection."""

    def opened() -> Source:
        import ibis.expr.operations as operations

        table = open_table()
        backend, node = table.get_backend(), table.op()
        check_engine(backend.name, label)
        if isinstance(node, operations.DatabaseTable) and backend.name != "pyspark" and node.namespace.catalog is None:
            by_name = open_duckdb if backend.name == "duckdb" else open_postgres
            return by_name(backend.con, node.name, node.namespace.database, label)
        backend._run_pre_execute_hooks(table)  # makes tables in memory known, as Ibis' own execution does
        query = backend.compile(table)
        if backend.name == "pyspark":
            return open_spark(backend._session.sql(query), label)
        if backend.name == "duckdb":
            relation = f"({query})"
            columns = duckdb_columns(backend.con, relation)

            def version() -> str | None:
                return without_engine_message(label, "read", lambda: version_of_duckdb(backend.con, relation, None))

            return source_of(relation, columns, DuckdbEngine(backend.con), label, version=version)
        check_postgres(backend.con, label)
        relation = f"({query.replace('%', '%%')})"
        return source_of(
            relation, postgres_columns(backend.con, relation), PostgresEngine(backend.con, named=False), label
        )

    return without_engine_message(label, "opened", opened)
