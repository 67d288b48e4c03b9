"""The embedded store: one SQLite file, with a write-ahead log, immediate transactions and full synchronisation."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from optimaldp.errors import LedgerError
from optimaldp.ledger.store import STORE_FORMAT, Decide, Store, StoredEntry

# The file of an embedded ledger: made whole or not at all, and recognised again.
#
# Nothing here needs a call that only Unix has: where one helps (a hard link, synchronising a folder) there is another way.


_NOTHING_SPENT = "Nothing was sampled and nothing was spent."


def create_whole(target: Path, write: Callable[[Path], None]) -> bool:
    """Let *write* fill a new file and give it the name *target*; False if that name is taken.

    The file appears under its name only when it is complete, so that no other process ever meets half a ledger, and of several
    that create at once exactly one wins.
    """
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.new")
    try:
        write(draft)
        _name(draft, target)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    _synchronise_folder(target.parent)
    return True


def _name(draft: Path, target: Path) -> None:
    """Give a finished file its name, unless that is taken."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except (OSError, AttributeError, NotImplementedError):
        # No hard links here (FAT, some shared folders). An empty file claims the name; it is replaced at once, and whoever
        # meets it in between waits (see `wait_until_whole`).
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            os.replace(draft, target)
        except BaseException:
            target.unlink(missing_ok=True)
            raise


def _synchronise_folder(folder: Path) -> None:
    """Make the new name durable. Windows cannot open a folder, and writes names through by itself."""
    directory = getattr(os, "O_DIRECTORY", None)
    if directory is None:
        return
    handle = os.open(folder, os.O_RDONLY | directory)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True)
class FileIdentity:
    """Which file a path led to, whatever it is called: device and number. A number of 0 says nothing (FAT on Windows)."""

    device: int
    number: int

    @staticmethod
    def of(path: Path) -> FileIdentity:
        state = path.stat()
        return FileIdentity(state.st_dev, state.st_ino)

    def require_unchanged(self, path: Path, location: str) -> None:
        """Refuse to spend if *path* leads to another file by now, or if the file has a second name.

        SQLite keeps its log beside the *name* of the file. Two handles on two files, or on two names of one file, would not see
        each other's spends.
        """
        try:
            state = path.stat()
        except OSError:
            raise LedgerError(
                f"ledger {location!r} is no longer where it was opened: it was moved or deleted. Open it again where it is now. "
                f"{_NOTHING_SPENT}"
            ) from None
        if self.number and (state.st_dev, state.st_ino) != (self.device, self.number):
            raise LedgerError(
                f"ledger {location!r} was replaced by another file since it was opened, and that file does not know what is "
                f"spent here. Open it again. {_NOTHING_SPENT}"
            )
        if state.st_nlink > 1 and not _only_a_draft(path, self):
            raise LedgerError(
                f"ledger {location!r} has a second name (a hard link), and spends under the one are not seen under the other. "
                f"Remove all names but one, then open that. {_NOTHING_SPENT}"
            )


def _only_a_draft(path: Path, identity: FileIdentity) -> bool:
    """Whether the other names are drafts of a process that made the ledger and died before it could remove them."""
    real = path.resolve()
    for draft in real.parent.glob(f".{_literal(real.name)}.*.new"):
        with suppress(OSError):
            if FileIdentity.of(draft) == identity:
                draft.unlink(missing_ok=True)
    with suppress(OSError):
        return real.stat().st_nlink == 1
    return False


def _literal(name: str) -> str:
    """A name in which no character has a meaning for ``glob``."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


# A note beside the ledger file that says how far the ledger had come.
#
# SQLite drops the end of a damaged write-ahead log without a word, because for it that is an unfinished transaction. For a ledger
# it would be forgotten spending. The note is written after each commit (without waiting for the disk: after a power cut it may be
# old, and an old note is still true), so a ledger that is *behind* its note has lost entries.


_LINE = re.compile(rb"(\d{20}) ([0-9a-f]{64})\n")


class HeadNote:
    """The number and hash of the last entry, in a small file of its own."""

    def __init__(self, path: Path, *, readonly: bool) -> None:
        self._path = path
        self._readonly = readonly
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()

    def write(self, sequence: int, digest: str) -> None:
        """Note the head. Failing to is no error: the entry itself is durable, only this second check is weaker."""
        if self._readonly:
            return
        with self._lock, suppress(OSError):
            if self._file is None:
                # Without a buffer, so that the line is written by one call: no reader meets half of it.
                self._path.touch(0o600)
                self._file = open(self._path, "r+b", buffering=0)  # noqa: SIM115
            self._file.seek(0)
            self._file.write(f"{sequence:020d} {digest}\n".encode("ascii"))

    def read(self) -> tuple[int, str] | None:
        """The head noted last; ``None`` if there is no note or it is unreadable (half written, or damaged)."""
        try:
            match = _LINE.fullmatch(self._path.read_bytes())
        except OSError:
            return None
        return (int(match[1]), match[2].decode("ascii")) if match else None

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None


_APPLICATION = 0x4F445031  # "ODP1": tells a ledger from any other SQLite file
_WAIT_SECONDS = 60.0  # how long to wait for other processes; each of them holds the lock for about a millisecond
_WAIT_FOR_CONTENT_SECONDS = 0.5  # how long a file may be empty while another process gives it its name
_SETTINGS = ("synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON", "trusted_schema=OFF")
_SCHEMA = """
CREATE TABLE entries (sequence INTEGER PRIMARY KEY, text TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE TABLE keys (secret BLOB NOT NULL) STRICT;
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries never change'); END;
CREATE TRIGGER entries_last BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;
"""


class SQLiteStore(Store):
    """Entries in one file. Several processes and threads may share it; a network file system may not hold it."""

    def __init__(self, path: str | os.PathLike[str], *, readonly: bool = False) -> None:
        self._path = Path(path)
        self.location = str(path)
        self._readonly = readonly
        self._lock = threading.RLock()
        self._head = HeadNote(Path(f"{self._path}-head"), readonly=readonly)
        with self._explained():
            self._require_content()
            self._identity = FileIdentity.of(self._path)
            self._connect()
            self._check_format()

    @staticmethod
    def create(path: str | os.PathLike[str], first: StoredEntry) -> bool:
        """Make a new ledger file that holds *first*; False if the file is there already."""
        try:
            return create_whole(Path(path), lambda draft: _write_new_file(draft, first))
        except (OSError, sqlite3.Error) as error:
            raise LedgerError(f"ledger {str(path)!r} cannot be created ({_reason(error)}). Check the folder.") from None

    def append(self, after: int, decide: Decide) -> Sequence[StoredEntry]:
        with self._lock, self._explained():
            with self._immediate() as connection:
                self._identity.require_unchanged(self._path, self.location)
                rows = decide(_read(connection, after))
                values = [(row.sequence, row.text, row.hash) for row in rows]
                connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", values)
            # Once more: a file that was replaced in the meantime has not got these rows, so nothing may be sampled for them.
            self._identity.require_unchanged(self._path, self.location)
        return rows

    def rows(self, after: int) -> Sequence[StoredEntry]:
        with self._lock, self._explained():
            return _read(self._connected(), after)

    def secret(self) -> bytes:
        with self._lock, self._explained():
            row = self._connected().execute("SELECT secret FROM keys").fetchone()
        if row is None:
            raise LedgerError(f"ledger {self.location!r} is damaged: its key is missing.")
        return bytes(row[0])

    def damage(self) -> list[str]:
        with self._lock, self._explained():
            connection = self._connected()
            if self._path.stat().st_size % connection.execute("PRAGMA page_size").fetchone()[0]:
                return ["its last page is incomplete"]  # SQLite would read the missing bytes as zeros
            complaints = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(20)")]
        return [] if complaints == ["ok"] else complaints

    def remember_head(self, row: StoredEntry) -> None:
        self._head.write(row.sequence, row.hash)

    def remembered_head(self) -> tuple[int, str] | None:
        return self._head.read()

    def close(self) -> None:
        with self._lock:
            self._head.close()
            if self._process == os.getpid():
                self._connection.close()

    def _require_content(self) -> None:
        patience = time.monotonic() + _WAIT_FOR_CONTENT_SECONDS
        while self._path.exists():
            if self._path.stat().st_size:
                return
            if time.monotonic() > patience:
                raise LedgerError(f"ledger {self.location!r} is an empty file: it was truncated or is not a ledger.")
            time.sleep(0.01)  # another process may be giving the file its name just now
        raise LedgerError(
            f"ledger {self.location!r} does not exist. Create it with odp.open or optimaldp ledger create."
        )

    def _connect(self) -> None:
        self._process = os.getpid()
        self._connection = sqlite3.connect(
            self._address(), uri=True, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        # A damaged text must reach the check of its hash instead of ending in a decoding error that quotes it.
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        _configure(self._connection)

    def _address(self) -> str:
        address = f"{self._path.absolute().as_uri()}?mode={'ro' if self._readonly else 'rw'}"
        # A finished ledger in a folder where nothing can be written has no log, and SQLite could not make one: read it as it is.
        no_log = not Path(f"{self._path}-wal").exists()
        return (
            address + "&immutable=1"
            if self._readonly and no_log and not os.access(self._path.parent, os.W_OK)
            else address
        )

    def _connected(self) -> sqlite3.Connection:
        # SQLite connections must not cross a fork: the child makes its own and leaves the parent's alone.
        if self._process != os.getpid():
            self._connect()
        return self._connection

    def _check_format(self) -> None:
        connection = self._connected()
        if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise LedgerError(f"{self.location!r} is not a ledger of optimaldp.")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != STORE_FORMAT:
            raise LedgerError(
                f"ledger {self.location!r} has format {version}, and this optimaldp knows format {STORE_FORMAT}. "
                "Use the optimaldp that wrote it, or a later one. Nothing was changed."
            )

    @contextmanager
    def _immediate(self) -> Iterator[sqlite3.Connection]:
        connection = self._connected()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError:  # SQLite's own message about a damaged file may quote its bytes
            raise LedgerError(f"ledger {self.location!r}: {_REASONS['SQLITE_CORRUPT']}") from None
        except sqlite3.Error as error:
            raise LedgerError(f"ledger {self.location!r}: {_reason(error)}") from None


def _configure(connection: sqlite3.Connection) -> None:
    """A commit returns only when the disk has it: without this a power cut could forget a spend whose answer got out."""
    for setting in _SETTINGS:
        connection.execute(f"PRAGMA {setting}")


def _read(connection: sqlite3.Connection, after: int) -> list[StoredEntry]:
    rows = connection.execute("SELECT sequence, text, hash FROM entries WHERE sequence > ? ORDER BY sequence", (after,))
    return [StoredEntry(*values) for values in rows]


def _write_new_file(path: Path, first: StoredEntry) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))  # answers are for whom the steward chooses
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        _configure(connection)
        connection.execute("BEGIN")
        for statement in _SCHEMA.strip().splitlines():
            connection.execute(statement)
        connection.execute("INSERT INTO keys VALUES (?)", (secrets.token_bytes(32),))
        connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (first.sequence, first.text, first.hash))
        connection.execute(f"PRAGMA application_id={_APPLICATION}")
        connection.execute(f"PRAGMA user_version={STORE_FORMAT}")
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode=WAL")
    finally:
        connection.close()


_REASONS = {
    "SQLITE_FULL": "the disk is full. Nothing was written; make room and ask again.",
    "SQLITE_READONLY": "it is read-only. Nothing was written; give this user the right to write the file and its folder.",
    "SQLITE_CANTOPEN": "it cannot be opened. Check the path and the rights on the file and its folder.",
    "SQLITE_BUSY": f"other processes held it for {_WAIT_SECONDS:g} seconds. Nothing was written; ask again.",
    "SQLITE_NOTADB": "it is damaged or not a ledger at all (not an SQLite file). It was left as it is; restore a copy.",
    "SQLITE_CORRUPT": "it is damaged. It was left as it is; restore a copy and run optimaldp ledger verify.",
    "SQLITE_IOERR": "the disk reported an error. Nothing was sampled; check the disk and run optimaldp ledger verify.",
}


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or "the system gave no reason"
    name = str(getattr(error, "sqlite_errorname", ""))
    for known, reason in _REASONS.items():
        if name.startswith(known):
            return reason
    return f"SQLite refused ({' '.join(str(error).split())}). It was left as it is."
