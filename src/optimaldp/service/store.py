"""What the service keeps beside the ledgers: keys, requests, askers whom a steward added, and a log. SQLite or PostgreSQL.

The tables are those of the last migration. A database that a later optimaldp wrote is refused instead of guessed at.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimaldp.documents.json_text import read_json_text
from optimaldp.errors import LedgerError
from optimaldp.extras import requiring
from optimaldp.ledger.opening import is_server
from optimaldp.ledger.postgres_store import server_engine
from optimaldp.service.keys import KeyRecord, moment

_PREFIX = "optimaldp_service_"
_WAIT_SECONDS = 30
_MOST_LISTED = 500
_MOST_SIGN_INS = 1000

# Each step is run once, in order, on a database that has not seen it. A step that was published is never changed.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        f"CREATE TABLE {_PREFIX}keys (id TEXT PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, created TEXT NOT NULL, "
        "expires TEXT NOT NULL, revoked TEXT)",
        f"CREATE TABLE {_PREFIX}requests (id TEXT PRIMARY KEY, kind TEXT NOT NULL, asker TEXT NOT NULL, dataset TEXT NOT NULL, "
        "body TEXT NOT NULL, status TEXT NOT NULL, reason TEXT, approver TEXT, created TEXT NOT NULL, started TEXT, "
        "decided TEXT, recorded INTEGER NOT NULL DEFAULT 0, answer TEXT, idempotency TEXT, UNIQUE (asker, idempotency))",
        f"CREATE INDEX {_PREFIX}requests_of ON {_PREFIX}requests (asker, created)",
        f"CREATE INDEX {_PREFIX}requests_waiting ON {_PREFIX}requests (status, created)",
        f"CREATE TABLE {_PREFIX}askers (name TEXT PRIMARY KEY, document TEXT NOT NULL)",
        f"CREATE TABLE {_PREFIX}log (id NUMBERED, time TEXT NOT NULL, who TEXT NOT NULL, action TEXT NOT NULL, "
        "dataset TEXT, request TEXT, outcome TEXT NOT NULL)",
    ),
    (
        f"CREATE TABLE {_PREFIX}sign_ins (browser TEXT PRIMARY KEY, state TEXT, nonce TEXT NOT NULL, verifier TEXT NOT NULL, "
        "until TEXT NOT NULL, name TEXT)",
    ),
)
_NUMBERED = {"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "postgresql": "BIGSERIAL PRIMARY KEY"}


STATUSES = ("waiting", "running", "answered", "failed", "refused")
"""What can become of a request."""


class TakenError(Exception):
    """Another request of this asker has this idempotency key."""


@dataclass(frozen=True)
class RequestRecord:
    """A question that somebody asked, and what became of it."""

    id: str
    kind: str
    asker: str
    dataset: str
    body: str
    status: str
    created: str
    reason: str | None = None
    approver: str | None = None
    started: str | None = None
    decided: str | None = None
    recorded: bool = False
    answer: str | None = None
    idempotency: str | None = None

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked, as it was sent: numbers by their decimal text."""
        document: dict[str, Any] = read_json_text(self.body)
        return document

    def to_document(self) -> dict[str, Any]:
        """The request without its answer."""
        names = ("kind", "asker", "dataset", "status", "reason", "approver", "created", "decided")
        shown = {name: getattr(self, name) for name in names}
        return {"request": self.id, **shown, "replayed": bool(self.recorded), "ask": json.loads(self.body)}


def noted(who: str, action: str, outcome: str, of: RequestRecord | None = None) -> dict[str, Any]:
    """A line of the log: who did what, and how it went."""
    about = {"dataset": None, "request": None} if of is None else {"dataset": of.dataset, "request": of.id}
    return {"time": moment(), "who": who, "action": action, "outcome": outcome, **about}


class ServiceStore:
    """The tables of the service. Threads and processes may share a database."""

    def __init__(self, location: str) -> None:
        with requiring("sqlalchemy"):
            import sqlalchemy
        self._sql = sqlalchemy
        self._server = is_server(location)
        self._engine = self._connected(location)
        self._reader = self._engine.execution_options(isolation_level="AUTOCOMMIT")  # one statement, one way
        with self._explained():
            self._migrate()
            self._tables = sqlalchemy.MetaData()
            self._tables.reflect(self._engine, only=lambda name, _: name.startswith(_PREFIX))
        # What every question needs is put together once: that takes longer than carrying it out.
        keys, requests = self._table("keys"), self._table("requests")
        self._one_key = keys.select().where(keys.c.id == sqlalchemy.bindparam("number"))
        of: Any = sqlalchemy.bindparam("number")
        before: Any = sqlalchemy.bindparam("before")
        self._moved = requests.update().where((requests.c.id == of) & (requests.c.status == before))
        self._added = {name: self._table(name).insert() for name in ("keys", "requests", "log")}

    def close(self) -> None:
        """Let go of connections."""
        self._engine.dispose()

    def is_well(self) -> bool:
        """Whether the database answers."""
        with suppress(LedgerError), self._reading() as connection:
            connection.execute(self._sql.text("SELECT 1"))
            return True
        return False

    # Keys.

    def add_key(self, record: KeyRecord) -> None:
        self._insert("keys", record.__dict__)

    def key(self, number: str) -> KeyRecord | None:
        with self._reading() as connection:
            row = connection.execute(self._one_key, {"number": number}).mappings().first()
        return None if row is None else KeyRecord(**row)

    def all_keys(self) -> list[KeyRecord]:
        keys = self._table("keys")
        with self._reading() as connection:
            return [KeyRecord(**row) for row in connection.execute(keys.select().order_by(keys.c.created)).mappings()]

    def revoke_key(self, number: str) -> bool:
        """Whether there was such a key; it opens nothing from now on."""
        keys = self._table("keys")
        with self._writing() as connection:
            good = (keys.c.id == number) & keys.c.revoked.is_(None)
            connection.execute(keys.update().where(good).values(revoked=moment()))
        return self.key(number) is not None

    # Requests.

    def add_request(self, record: RequestRecord) -> None:
        """Keep a request; :class:`TakenError` if its asker sent this idempotency key before."""
        try:
            self._insert("requests", record.__dict__ | {"recorded": int(record.recorded)})
        except self._sql.exc.IntegrityError:
            raise TakenError from None

    def request(self, number: str) -> RequestRecord | None:
        return next(iter(self._requests(self._table("requests").c.id == number)), None)

    def request_sent(self, asker: str, idempotency: str) -> RequestRecord | None:
        """What the asker sent with this idempotency key."""
        requests = self._table("requests")
        sent = (requests.c.asker == asker) & (requests.c.idempotency == idempotency)
        return next(iter(self._requests(sent)), None)

    def requests(self, *, asker: str | None, datasets: Sequence[str], status: str | None = None) -> list[RequestRecord]:
        """The newest requests about these data sets, of one asker or of everybody, without their answers."""
        requests = self._table("requests")
        condition = requests.c.dataset.in_(list(datasets))
        for column, value in (("asker", asker), ("status", status)):
            if value is not None:
                condition &= requests.c[column] == value
        return self._requests(condition, [one for one in requests.c if one.name != "answer"])

    def move_request(self, number: str, before: str, *, noted: Mapping[str, Any] | None = None, **values: Any) -> bool:
        """Change a request that is in the state *before*, and note it: of two who try, one succeeds."""
        with self._writing() as connection:
            moved = connection.execute(self._moved, {"number": number, "before": before, **values}).rowcount == 1
            if noted is not None:
                connection.execute(self._added["log"], noted)
            return bool(moved)

    def drop_request(self, number: str, noted: Mapping[str, Any] | None = None) -> None:
        """Forget a request that came to nothing: it broke a rule, and nothing was spent."""
        requests = self._table("requests")
        with self._writing() as connection:
            connection.execute(requests.delete().where((requests.c.id == number) & (requests.c.status == "running")))
            if noted is not None:
                connection.execute(self._added["log"], noted)

    def _requests(self, condition: Any, columns: Sequence[Any] = ()) -> list[RequestRecord]:
        requests = self._table("requests")
        chosen = self._sql.select(*(columns or requests.c)).where(condition)
        chosen = chosen.order_by(requests.c.created.desc()).limit(_MOST_LISTED)
        with self._reading() as connection:
            rows = [dict(row) for row in connection.execute(chosen).mappings()]
        return [RequestRecord(**row | {"recorded": bool(row["recorded"])}) for row in rows]

    # Askers whom a steward added.

    def askers(self) -> dict[str, dict[str, Any]]:
        """What was granted, by name, in the keys of the file."""
        with self._reading() as connection:
            return _granted(connection.execute(self._table("askers").select()))

    def put_asker(
        self, name: str, document: Mapping[str, Any], check: Callable[[dict[str, dict[str, Any]]], None]
    ) -> None:
        """Keep what is granted to *name*, unless *check* raises an error on what was granted to everybody until then."""
        askers = self._table("askers")
        with self._writing() as connection:
            self._alone(connection)
            check(_granted(connection.execute(askers.select())))
            connection.execute(askers.delete().where(askers.c.name == name))
            connection.execute(askers.insert().values(name=name, document=json.dumps(document)))

    def drop_asker(self, name: str) -> None:
        """Forget what was granted to this name, and revoke its keys."""
        askers, keys = self._table("askers"), self._table("keys")
        with self._writing() as connection:
            connection.execute(askers.delete().where(askers.c.name == name))
            good = (keys.c.name == name) & keys.c.revoked.is_(None)
            connection.execute(keys.update().where(good).values(revoked=moment()))

    # Browsers on their way through a provider's pages: every step can be taken once, until its time is over.

    def begin_sign_in(self, browser: str, state: str, nonce: str, verifier: str, minutes: int) -> bool:
        """Keep what a browser is sent away with; False if too many are on their way."""
        sign_ins = self._table("sign_ins")
        with self._writing() as connection:
            connection.execute(sign_ins.delete().where(sign_ins.c.until < moment()))
            under_way = connection.execute(self._sql.select(self._sql.func.count()).select_from(sign_ins)).scalar()
            if under_way >= _MOST_SIGN_INS:
                return False
            values = {"browser": browser, "state": state, "nonce": nonce, "verifier": verifier}
            connection.execute(sign_ins.insert().values(until=moment(minutes=minutes), **values))
            return True

    def use_sign_in(self, browser: str, state: str) -> tuple[str, str] | None:
        """The nonce and the verifier of a state that this browser was sent away with; nobody gets them a second time."""
        sign_ins = self._table("sign_ins")
        there = (sign_ins.c.browser == browser) & (sign_ins.c.state == state) & (sign_ins.c.until > moment())
        with self._writing() as connection:
            row = connection.execute(sign_ins.select().where(there)).first()
            used = connection.execute(sign_ins.update().where(there).values(state=None)).rowcount
            return (row.nonce, row.verifier) if row is not None and used == 1 else None

    def name_sign_in(self, browser: str, name: str) -> None:
        """Note who the provider says it is."""
        sign_ins = self._table("sign_ins")
        with self._writing() as connection:
            connection.execute(sign_ins.update().where(sign_ins.c.browser == browser).values(name=name))

    def end_sign_in(self, browser: str) -> str | None:
        """Who this browser belongs to; asked once, then it is forgotten."""
        sign_ins = self._table("sign_ins")
        there = (sign_ins.c.browser == browser) & sign_ins.c.name.is_not(None) & (sign_ins.c.until > moment())
        with self._writing() as connection:
            row = connection.execute(sign_ins.select().where(there)).first()
            ended = connection.execute(sign_ins.delete().where(there)).rowcount
            return row.name if row is not None and ended == 1 else None

    # The log: who did what, and how it went. No question, no answer, no cell.

    def note(self, who: str, action: str, outcome: str, of: RequestRecord | None = None) -> None:
        self._insert("log", noted(who, action, outcome, of))

    def log(self, after: int, datasets: Sequence[str] | None) -> list[dict[str, Any]]:
        """What was noted after number *after*, of these data sets and of none."""
        log = self._table("log")
        chosen = log.select().where(log.c.id > after)
        if datasets is not None:
            chosen = chosen.where(log.c.dataset.in_(list(datasets)) | log.c.dataset.is_(None))
        with self._reading() as connection:
            return [dict(row) for row in connection.execute(chosen.order_by(log.c.id).limit(_MOST_LISTED)).mappings()]

    # Connections.

    def _connected(self, location: str) -> Any:
        if self._server:
            with requiring("psycopg"):
                import psycopg  # noqa: F401

            address = self._sql.engine.make_url(location).set(drivername="postgresql+psycopg")
            self.location = address.render_as_string(hide_password=True)
            address = address.difference_update_query(["ledger"])
            return server_engine(address, pool_size=4, max_overflow=4)
        self.location = location
        try:  # keys are hashed, and still nobody else's business
            os.close(os.open(Path(location), os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise LedgerError(
                f"the store {location!r} cannot be opened ({error.strerror}). Check the folder."
            ) from None
        engine = self._sql.create_engine(f"sqlite:///{location}", connect_args={"timeout": _WAIT_SECONDS})

        @self._sql.event.listens_for(engine, "connect")
        def configure(connection: Any, _: object) -> None:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")

        return engine

    def _migrate(self) -> None:
        with self._writing() as connection:
            self._alone(connection)  # two processes may start at once
            connection.execute(self._sql.text(f"CREATE TABLE IF NOT EXISTS {_PREFIX}version (number INTEGER NOT NULL)"))
            done = connection.execute(self._sql.text(f"SELECT MAX(number) FROM {_PREFIX}version")).scalar() or 0
            if done > len(MIGRATIONS):
                raise LedgerError(
                    f"the store {self.location!r} has version {done}, and this optimaldp knows version {len(MIGRATIONS)}. "
                    "Use the optimaldp that wrote it, or a later one. Nothing was changed."
                )
            for number, step in enumerate(MIGRATIONS[done:], start=done + 1):
                for statement in step:
                    numbered = statement.replace("NUMBERED", _NUMBERED[self._engine.dialect.name])
                    connection.execute(self._sql.text(numbered))
                said = {"number": number}
                connection.execute(self._sql.text(f"INSERT INTO {_PREFIX}version VALUES (:number)"), said)

    def _table(self, name: str) -> Any:
        return self._tables.tables[f"{_PREFIX}{name}"]

    def _insert(self, table: str, values: dict[str, Any]) -> None:
        with self._writing() as connection:
            connection.execute(self._added[table], values)

    def _alone(self, connection: Any) -> None:
        """Let the others wait until this transaction is over: what it reads is so when it writes."""
        if self._server:
            connection.execute(self._sql.text("SELECT pg_advisory_xact_lock(7241991)"))
        else:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        with self._explained(), self._reader.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        with self._explained(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of the database in our words: its own may quote the address with its password, or a row."""
        try:
            yield
        except self._sql.exc.IntegrityError:
            raise
        except self._sql.exc.SQLAlchemyError as error:
            raise LedgerError(f"the store {self.location!r} did not answer ({type(error).__name__}).") from None


def _granted(rows: Any) -> dict[str, dict[str, Any]]:
    return {row.name: json.loads(row.document) for row in rows}
