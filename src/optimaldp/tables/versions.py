"""Which version of a table this is: a token that stays while the data stays, so that a repeated question can be answered free.

A token is never shown: a ledger keeps a keyed code of it. It may change though the data did not (then a repeat is paid), and
where a change could go unnoticed there is none.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

from optimaldp.tables.engines import postgres_cursor

_POSTGRES = """
    SELECT c.oid::text, pg_current_snapshot()::text, pg_postmaster_start_time()::text, current_user::text,
           current_database()::text
    FROM pg_class c
    WHERE c.oid = to_regclass(%s) AND c.relkind IN ('r', 'm') AND NOT c.relhassubclass AND NOT c.relrowsecurity
      AND NOT pg_is_in_recovery()"""


def version_of(paths: list[str]) -> str:
    """A token for the present content of files, from their paths, sizes and times of change: nothing is read."""
    facts = []
    for path in sorted(paths):
        state = os.stat(path)
        facts.append(f"{os.path.realpath(path)}\0{state.st_size}\0{state.st_mtime_ns}")
    return _token("\n".join(facts))


def version_of_database(path: str, table: str) -> str:
    """A token for a table in a DuckDB file: what is committed is in the file or in the log beside it."""
    logs = [f"{path}.wal"] if os.path.exists(f"{path}.wal") else []
    return f"{version_of([path, *logs])}:{table}"


def version_of_arrow(table: Any) -> str:
    """A token for what is in memory: a hash of all of it, whatever chunks it is in."""
    whole = table.combine_chunks().replace_schema_metadata(None)
    return _content(whole.schema, whole.to_batches())


def read_as(token: str, reading: object) -> str:
    """The token of the same data under another reading of its cells: another table, as far as answers go."""
    return _token(f"{token}\0{reading!r}")


def version_of_duckdb(connection: Any, relation: str, name: str | None) -> str:
    """A token for a relation of a DuckDB: the state of its file for a table of that *name*, else a hash of what it gives now."""
    if name is not None:
        query = """SELECT d.path FROM duckdb_tables() t JOIN duckdb_databases() d USING (database_oid)
            WHERE t.table_name = $name AND NOT t.temporary AND t.database_name = current_database()"""
        paths = {row[0] for row in connection.execute(query, {"name": name}).fetchall()}
        path = paths.pop() if len(paths) == 1 else None
        if path:
            return version_of_database(path, relation)
    # In memory, a view or an expression: what it gives now. An order that varies only makes a repeat cost again.
    result = connection.sql(f"SELECT * FROM {relation}")
    batches = result.to_arrow_reader() if hasattr(result, "to_arrow_reader") else result.fetch_record_batch()
    return _content(batches.schema, batches)


def version_of_postgres(connection: Any, relation: str) -> str | None:
    """The snapshot that a query sees: whatever any transaction of the server commits makes another one.

    Ordinary tables of this server alone: a view may depend on the time, a foreign table on another server, rows under row
    security on who asks, and a standby does not say which transactions it has not applied yet.
    """
    with postgres_cursor(connection) as cursor:
        facts = cursor.execute(_POSTGRES, (relation.replace("%%", "%"),)).fetchone()
    address = f"{connection.info.host}:{connection.info.port}"
    return None if facts is None else _token("\0".join((address, *facts)))


class _Digest:
    """A file that keeps nothing but the hash of what is written to it."""

    closed = False

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.hash.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""


def _content(schema: Any, batches: Any) -> str:
    import pyarrow as pa

    digest = _Digest()
    with pa.ipc.new_stream(pa.PythonFile(digest, mode="w"), schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return digest.hash.hexdigest()[:32]


def _token(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]
