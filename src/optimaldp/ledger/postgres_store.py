"""The shared store: a PostgreSQL database, with serialisable transactions that are tried again when they collide.

The URL is ``postgresql://user@host/database?ledger=name``; one database may hold many ledgers.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from optimaldp.errors import LedgerError
from optimaldp.extras import requiring
from optimaldp.ledger.store import STORE_FORMAT, Decide, Store, StoredEntry

_COLLISIONS = {
    "40001",
    "40P01",
    "23505",
}  # serialisation failure, deadlock, number taken: all mean "another one was faster"
_ATTEMPTS = 12
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS optimaldp_ledgers (name text PRIMARY KEY, format integer NOT NULL, secret bytea NOT NULL)",
    "CREATE TABLE IF NOT EXISTS optimaldp_entries (ledger text NOT NULL REFERENCES optimaldp_ledgers (name), "
    "sequence bigint NOT NULL, text text NOT NULL, hash text NOT NULL, PRIMARY KEY (ledger, sequence))",
    "CREATE OR REPLACE FUNCTION optimaldp_entries_stay() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'entries never change and are never deleted'; END $$",
    "CREATE OR REPLACE TRIGGER optimaldp_entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON optimaldp_entries "
    "FOR EACH STATEMENT EXECUTE FUNCTION optimaldp_entries_stay()",
)
_LOCK = "hashtextextended('optimaldp:' || :name, 0)"
_ROWS = (
    "SELECT sequence, text, hash FROM optimaldp_entries WHERE ledger = :name AND sequence > :after ORDER BY sequence"
)
_INSERT = "INSERT INTO optimaldp_entries VALUES (:name, :sequence, :text, :hash)"


class PostgresStore(Store):
    """Entries in a PostgreSQL database that several machines share."""

    def __init__(self, url: str) -> None:
        self._url, self._name = _read_url(url)
        self.location = _shown(self._url, self._name)
        self._start()
        with self._explained():
            self._check_format()

    @staticmethod
    def exists(url: str) -> bool:
        """Whether the database holds a ledger of this name."""
        address, name = _read_url(url)
        with _explain(_shown(address, name)), _one_connection(address) as connection:
            if connection.execute(_sql("SELECT to_regclass('optimaldp_ledgers')")).scalar() is None:
                return False
            row = connection.execute(_sql("SELECT 1 FROM optimaldp_ledgers WHERE name = :name"), {"name": name})
            return row.scalar() is not None

    @staticmethod
    def create(url: str, first: StoredEntry) -> bool:
        """Make a new ledger that holds *first*; False if it is there already."""
        address, name = _read_url(url)
        with _explain(_shown(address, name)), _one_connection(address) as connection:
            connection.execute(_sql("SELECT pg_advisory_xact_lock(7241990)"))  # two "IF NOT EXISTS" at once can collide
            for statement in _SCHEMA:
                connection.execute(_sql(statement))
            new = connection.execute(
                _sql("INSERT INTO optimaldp_ledgers VALUES (:name, :format, :secret) ON CONFLICT DO NOTHING"),
                {"name": name, "format": STORE_FORMAT, "secret": secrets.token_bytes(32)},
            )
            if new.rowcount == 1:
                connection.execute(_sql(_INSERT), _values(name, first))
            connection.commit()
            return bool(new.rowcount == 1)

    def append(self, after: int, decide: Decide) -> Sequence[StoredEntry]:
        with self._explained():
            for attempt in range(_ATTEMPTS):
                rows = self._try_append(after, decide)
                if rows is not None:
                    return rows
                time.sleep(0.001 * 2 ** min(attempt, 8) * (1 + os.getpid() % 8))  # processes that collided part ways
        raise LedgerError(
            f"ledger {self.location!r}: {_ATTEMPTS} attempts collided with other processes. Nothing was written; ask again."
        )

    def _try_append(self, after: int, decide: Decide) -> Sequence[StoredEntry] | None:
        """One serialisable transaction; ``None`` if it collided.

        The lock around it only makes waiting orderly. It is taken *before* the transaction, because the snapshot of a
        serialisable transaction is as old as its first statement. What keeps two spends apart is the transaction.
        """
        from sqlalchemy.exc import DBAPIError

        with self._connected().connect() as connection:
            connection.execute(_sql(f"SELECT pg_advisory_lock({_LOCK})"), {"name": self._name})
            connection.commit()
            try:
                rows = decide(_read(connection, self._name, after))
                connection.execute(_sql(_INSERT), [_values(self._name, row) for row in rows])
                connection.commit()
                return rows
            except DBAPIError as error:
                connection.rollback()
                if getattr(error.orig, "sqlstate", None) in _COLLISIONS:
                    return None
                raise
            finally:
                if not connection.invalidated:
                    connection.rollback()
                    connection.execute(_sql(f"SELECT pg_advisory_unlock({_LOCK})"), {"name": self._name})
                    connection.commit()

    def rows(self, after: int) -> Sequence[StoredEntry]:
        with self._explained(), self._connected().connect() as connection:
            return _read(connection, self._name, after)

    def secret(self) -> bytes:
        with self._explained(), self._connected().connect() as connection:
            return bytes(self._about(connection)[1])

    def damage(self) -> list[str]:
        return []  # the server checks its own pages; the chain of hashes checks the rest

    def close(self) -> None:
        self._engine.dispose(close=self._process == os.getpid())

    def _start(self) -> None:
        from sqlalchemy import create_engine

        self._process = os.getpid()
        self._engine = create_engine(self._url, isolation_level="SERIALIZABLE", pool_pre_ping=True, pool_size=2)

    def _connected(self) -> Any:
        # A connection must not cross a fork: the child makes its own and leaves the parent's alone.
        if self._process != os.getpid():
            self._engine.dispose(close=False)
            self._start()
        return self._engine

    def _about(self, connection: Any) -> tuple[int, bytes]:
        row = connection.execute(
            _sql("SELECT format, secret FROM optimaldp_ledgers WHERE name = :name"), {"name": self._name}
        ).fetchone()
        if row is None:
            raise LedgerError(
                f"ledger {self.location!r} does not exist. Create it with odp.open or optimaldp ledger create."
            )
        return row[0], row[1]

    def _check_format(self) -> None:
        with self._connected().connect() as connection:
            version, _ = self._about(connection)
        if version != STORE_FORMAT:
            raise LedgerError(
                f"ledger {self.location!r} has format {version}, and this optimaldp knows format {STORE_FORMAT}. "
                "Use the optimaldp that wrote it, or a later one. Nothing was changed."
            )

    def _explained(self) -> Any:
        return _explain(self.location)


def _sql(text: str) -> Any:
    from sqlalchemy import text as clause

    return clause(text)


def _read(connection: Any, name: str, after: int) -> list[StoredEntry]:
    # A server may be set to answer before the disk has: a spend must not be forgotten, so this transaction waits.
    connection.execute(
        _sql("SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'")
    )
    return [StoredEntry(*values) for values in connection.execute(_sql(_ROWS), {"name": name, "after": after})]


def _values(name: str, row: StoredEntry) -> dict[str, Any]:
    return {"name": name, "sequence": row.sequence, "text": row.text, "hash": row.hash}


def _read_url(url: str) -> tuple[Any, str]:
    with requiring("psycopg"):
        import psycopg  # noqa: F401
    with requiring("sqlalchemy"):
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        raise LedgerError("the address of the ledger is not postgresql://user@host/database?ledger=name.") from None
    name = address.query.get("ledger", "ledger")
    return address.set(drivername="postgresql+psycopg").difference_update_query(["ledger"]), str(name)


def _shown(address: Any, name: str) -> str:
    return f"{address.set(drivername='postgresql').render_as_string(hide_password=True)}?ledger={name}"


@contextmanager
def _one_connection(address: Any) -> Iterator[Any]:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    with create_engine(address, poolclass=NullPool).connect() as connection:
        yield connection


@contextmanager
def _explain(location: str) -> Iterator[None]:
    """Errors of the server in our words: its own may quote the address with its password."""
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    try:
        yield
    except DBAPIError as error:
        code = getattr(error.orig, "sqlstate", None)
        raise LedgerError(
            f"ledger {location!r}: {_REASONS.get(code or '', _UNREACHABLE if code is None else f'error {code}')}"
        ) from None
    except SQLAlchemyError as error:
        raise LedgerError(f"ledger {location!r}: {type(error).__name__}. Nothing was sampled.") from None


_UNREACHABLE = (
    "the server cannot be reached or ended the connection. Nothing was sampled; a spend under way may have been made."
)
_REASONS = {
    "42P01": "it does not exist. Create it with odp.open or optimaldp ledger create.",
    "25006": "the database is read-only. Nothing was written.",
    "42501": "this user may not write there. Nothing was written; grant the right.",
    "53100": "the server's disk is full. Nothing was written; make room and ask again.",
}
