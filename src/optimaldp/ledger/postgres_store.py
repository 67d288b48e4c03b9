"""The shared store: a PostgreSQL database. Two spends never take the same number: whoever comes second is tried again.

The URL is ``postgresql://user@host/database?ledger=name``; one database may hold many ledgers.
"""

from __future__ import annotations

import os
import secrets
import selectors
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
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
# A server may be set to answer before the disk has: a spend must not be forgotten, so its transaction waits.
_DURABLE = (
    "set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), true)"
)
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
        """One transaction; ``None`` if it collided, or lost its connection before anything could be written.

        The lock only makes waiting orderly. What keeps two spends apart is the primary key: an entry is decided on after
        every entry before it was read, and of two that were decided on after the same one, only one is stored.
        """
        from sqlalchemy.exc import DBAPIError

        committing = False
        with self._connected().connect() as connection:
            try:
                connection.execute(_sql(f"SELECT pg_advisory_xact_lock({_LOCK}), {_DURABLE}"), {"name": self._name})
                rows = decide(_read(connection, self._name, after))
                connection.execute(_sql(_INSERT), [_values(self._name, row) for row in rows])
                committing = True
                connection.commit()
                return rows
            except DBAPIError as error:
                lost = error.connection_invalidated and not committing
                if lost or getattr(error.orig, "sqlstate", None) in _COLLISIONS:
                    return None
                raise

    def rows(self, after: int) -> Sequence[StoredEntry]:
        with self._explained(), self._connected().connect() as connection:
            # One statement sees one state: a transaction around it would be two more ways to the server.
            return _read(connection.execution_options(isolation_level="AUTOCOMMIT"), self._name, after)

    def secret(self) -> bytes:
        with self._explained(), self._connected().connect() as connection:
            return bytes(self._about(connection)[1])

    def damage(self) -> list[str]:
        return []  # the server checks its own pages; the chain of hashes checks the rest

    def close(self) -> None:
        self._engine.dispose(close=self._process == os.getpid())

    def _start(self) -> None:
        self._process = os.getpid()
        self._engine = server_engine(self._url, isolation_level="READ COMMITTED", pool_size=2)

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


def server_engine(url: Any, **options: int | str) -> Any:
    """A pool of connections to PostgreSQL; one that the server has ended while nobody used it is replaced.

    The socket tells: nothing arrives on an idle connection but its end. Asking the server instead would cost as much as a
    query.
    """
    from sqlalchemy import create_engine, event
    from sqlalchemy.exc import DisconnectionError

    engine = create_engine(url, **options)

    @event.listens_for(engine, "checkout")
    def still_there(connection: Any, _record: object, _proxy: object) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(connection, selectors.EVENT_READ)
            if waiting.select(timeout=0):
                raise DisconnectionError

    return engine


@cache
def _sql(text: str) -> Any:
    from sqlalchemy import text as clause

    return clause(text)


def _read(connection: Any, name: str, after: int) -> list[StoredEntry]:
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
