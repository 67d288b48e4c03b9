"""Database files and servers, named by a URL."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from optimaldp.errors import TableError
from optimaldp.tables.engines import check_engine, embedded
from optimaldp.tables.source import Source, of_ibis, without_engine_message, wrap
from optimaldp.tables.versions import version_of_database

_EXAMPLE = "write for example duckdb:///survey.db?table=answers"


def open_url(url: str) -> Source:
    """``duckdb:///file.db?table=t``, ``postgres://user@host/base?table=t&schema=s``, or another Ibis URL with a table."""
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
    bare = urlunsplit((scheme, parts.netloc, parts.path, urlencode(rest), ""))
    remedy = "check the address, the user and the database"
    connection = without_engine_message(shown, "opened", lambda: _connect(bare), remedy=remedy)
    return _table(connection, name, schema, f"{scheme} table {name} at {parts.hostname or 'this machine'}", None)


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
    import ibis

    return ibis.connect(url)


def _open_duckdb(url: str, name: str, schema: str | None) -> Source:
    path = _duckdb_path(url)

    remedy = "check that it is a DuckDB database and that no other program writes to it"
    connection = without_engine_message(path, "opened", lambda: embedded(path), remedy=remedy)
    token = version_of_database(path, f"{schema or ''}:{name}")
    return _table(connection, name, schema, f"table {name} of DuckDB file {path}", token)


def _duckdb_path(url: str) -> str:
    """The file: absolute or relative, whether it was written with two, three or four slashes."""
    written = url.split("?")[0].removeprefix("duckdb://")
    bare = written.lstrip("/")
    for path in (f"/{bare}" if written.startswith("/") else bare, bare):
        if os.path.isfile(path):
            return path
    raise TableError("data", url, "names a DuckDB file that does not exist", _EXAMPLE)


def _table(connection: Any, name: str, schema: str | None, label: str, token: str | None) -> Source:
    def opened() -> Any:
        from ibis.common.exceptions import TableNotFound

        try:
            return connection.table(name, database=schema)
        except TableNotFound:
            rule = f"does not exist in schema {schema}" if schema else "does not exist"
            raise TableError("table", name, rule, "check the spelling, or add &schema=") from None

    return of_ibis(opened, label) if token is None else wrap(opened, label, version=lambda: token)
