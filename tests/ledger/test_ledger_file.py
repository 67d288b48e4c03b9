"""The file of a ledger: durable, recognised again, and made without any call that only Unix has."""

from __future__ import annotations

import builtins
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ledger.conftest import make, spend

from optimaldp.errors import LedgerError
from optimaldp.ledger import Ledger, open_ledger, sqlite_store, verify_ledger
from optimaldp.ledger import sqlite_store as ledger_file
from optimaldp.ledger.sqlite_store import FileIdentity, HeadNote


def connection_of(ledger: Ledger) -> sqlite3.Connection:
    connection: sqlite3.Connection = ledger._log._store._connection  # type: ignore[attr-defined]
    return connection


# --- durability: every setting that a power cut would ask for ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("synchronous", 2),  # FULL: a commit returns when the disk has it
        ("fullfsync", 1),
        ("checkpoint_fullfsync", 1),
        ("trusted_schema", 0),
        ("journal_mode", "wal"),
        ("application_id", 0x4F445031),
        ("user_version", 1),
    ],
)
def test_every_connection_is_durable(file: Path, pragma: str, value: Any) -> None:
    make(file, 1).close()
    for readonly in (False, True):
        with open_ledger(file, readonly=readonly) as ledger:
            assert connection_of(ledger).execute(f"PRAGMA {pragma}").fetchone()[0] == value


class Listening(sqlite3.Connection):
    """A connection that remembers what was said to it."""

    said: list[str] = []  # noqa: RUF012

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        Listening.said.append(statement)
        return super().execute(statement, *values)

    def executemany(self, statement: str, values: Any) -> sqlite3.Cursor:
        Listening.said.append(statement)
        return super().executemany(statement, values)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite_store.sqlite3, "connect", lambda *a, **k: connect(*a, factory=Listening, **k))
    Listening.said = []
    return Listening.said


def test_a_new_file_is_written_durably_from_its_first_byte(file: Path, said: list[str]) -> None:
    make(file, 1)
    start = said.index("BEGIN")
    for setting in ("synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON", "trusted_schema=OFF"):
        assert f"PRAGMA {setting}" in said[:start]
    assert said.index("COMMIT") < said.index("PRAGMA journal_mode=WAL")


def test_a_spend_is_one_transaction_that_locks_before_it_reads(file: Path, said: list[str]) -> None:
    ledger = make(file, 1)
    said.clear()
    spend(ledger, 0.1)
    assert [statement.split()[0] for statement in said] == ["BEGIN", "SELECT", "INSERT", "COMMIT"]
    assert said[0] == "BEGIN IMMEDIATE"


def test_a_refusal_ends_its_transaction(file: Path, said: list[str]) -> None:
    ledger = make(file, 1)
    said.clear()
    with pytest.raises(LedgerError):
        spend(ledger, 2)
    assert [statement.split()[0] for statement in said] == ["BEGIN", "SELECT", "ROLLBACK"]
    assert not connection_of(ledger).in_transaction


# --- which file it is --------------------------------------------------------------------------------------------------------


def test_a_replaced_file_is_noticed_by_who_has_the_old_one_open(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.ledger"
    make(file, 1).close()
    shutil.copy(file, copy)
    first = open_ledger(file)
    spend(first, 0.6)
    os.replace(copy, file)
    for suffix in ("-wal", "-shm", "-head"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    second = open_ledger(file)  # knows nothing of the 0.6
    with pytest.raises(LedgerError, match="was replaced by another file") as caught:
        spend(first, 0.4)
    assert "nothing was spent" in str(caught.value)
    spend(second, 0.6)
    assert len(second.history()) == 1


def test_a_file_that_is_gone_is_noticed(file: Path, tmp_path: Path) -> None:
    with make(file, 1) as ledger:
        file.rename(tmp_path / "elsewhere.ledger")
        with pytest.raises(LedgerError, match="moved or deleted"):
            spend(ledger, 0.1)


def test_a_file_with_two_names_can_be_read_and_not_spent_from(file: Path, tmp_path: Path) -> None:
    """SQLite keeps its log beside the name, so each of two names would have a log of its own."""
    make(file, 1).close()
    other = tmp_path / "other.ledger"
    os.link(file, other)
    first, second = open_ledger(file), open_ledger(other)
    for ledger in (first, second):
        with pytest.raises(LedgerError, match="second name"):
            spend(ledger, 0.6)
        assert not ledger.history()
    second.close()
    other.unlink()
    spend(first, 0.6)


def test_a_link_that_is_made_later_is_noticed_too(file: Path, tmp_path: Path) -> None:
    ledger = make(file, 1)
    reservation = spend(ledger, 0.1)
    os.link(file, tmp_path / "later.ledger")
    with pytest.raises(LedgerError, match="second name"):
        spend(ledger, 0.1)
    with pytest.raises(LedgerError, match=r"second name.*The spend #2 stays, without an answer"):
        reservation.record("yes")


def test_a_file_that_is_replaced_during_a_spend_gives_no_reservation(file: Path, tmp_path: Path) -> None:
    ledger = make(file, 1)
    copy = tmp_path / "copy.ledger"
    shutil.copy(file, copy)
    store = ledger._log._store

    def replaced_meanwhile(rows: Any) -> Any:
        os.replace(copy, file)
        return []

    with pytest.raises(LedgerError, match="was replaced"):
        store.append(1, replaced_meanwhile)


def test_a_symbolic_link_is_one_more_way_to_the_same_file(file: Path, tmp_path: Path) -> None:
    make(file, 1).close()
    link = tmp_path / "link.ledger"
    link.symlink_to(file)
    with open_ledger(link) as through, open_ledger(file) as direct:
        spend(through, 0.6)
        with pytest.raises(LedgerError):
            spend(direct, 0.6)
        spend(direct, 0.4)
        assert len(through.history()) == 2


@pytest.mark.parametrize("name", ["survey.ledger", "a[1]*?.ledger"])
def test_the_draft_of_a_creator_that_died_is_not_a_second_name(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    make(file, 1).close()
    draft = file.with_name(f".{file.name}.0123456789abcdef.new")
    os.link(file, draft)
    with open_ledger(file) as ledger:
        spend(ledger, 0.1)
    assert not draft.exists()


def test_somebody_elses_draft_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "a[1]*.ledger"
    make(file, 1).close()
    foreign = tmp_path / ".a[1]*.ledger.0123.new"
    foreign.write_text("not a link")
    os.link(file, tmp_path / ".other.ledger.0123.new")
    with open_ledger(file) as ledger, pytest.raises(LedgerError, match="second name"):
        spend(ledger, 0.1)
    assert foreign.exists()


def test_where_files_have_no_number_nothing_is_claimed_about_them(file: Path) -> None:
    """FAT on Windows gives 0: then only the name can be checked."""
    make(file, 1).close()
    FileIdentity(0, 0).require_unchanged(file, "x")
    real = file.stat()
    for other in (FileIdentity(real.st_dev + 1, real.st_ino), FileIdentity(real.st_dev, real.st_ino + 1)):
        with pytest.raises(LedgerError, match="replaced"):
            other.require_unchanged(file, "x")


# --- without Unix ------------------------------------------------------------------------------------------------------------

UNIX_ONLY = (
    "pwrite",
    "pread",
    "fork",
    "fchmod",
    "fdatasync",
    "O_DIRECTORY",
    "O_NOFOLLOW",
    "getuid",
    "geteuid",
    "lockf",
)
UNIX_MODULES = ("fcntl", "pwd", "grp", "resource", "termios", "posix_ipc")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An os without what Windows has not, where a folder cannot be opened. *tmp_path* comes first: making it needs Unix."""
    for name in UNIX_ONLY:
        monkeypatch.delattr(os, name, raising=False)
    for name in UNIX_MODULES:
        monkeypatch.setitem(sys.modules, name, None)
    real_open = os.open

    def no_folders(path: Any, *options: Any, **more: Any) -> int:
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied")
        return real_open(path, *options, **more)

    monkeypatch.setattr(os, "open", no_folders)


def no_link(*_: Any, **__: Any) -> None:
    raise OSError(1, "no hard links here")


def without_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "link")


def with_a_failing_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_link)


def with_links(_: pytest.MonkeyPatch) -> None:
    """NTFS has hard links."""


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("links", [with_links, with_a_failing_link, without_link])
def test_a_ledger_lives_without_unix(
    file: Path, monkeypatch: pytest.MonkeyPatch, links: Callable[[pytest.MonkeyPatch], None]
) -> None:
    links(monkeypatch)
    with make(file, 1, parts={"region": ["north"]}) as ledger:
        spend(ledger, 0.25, data_version="v").record("yes", {"proof": 1})
        spend(ledger, 0.5, part="north")
        assert Path(f"{file}-head").read_bytes().startswith(b"%020d " % 4)
    with open_ledger(file) as again:
        assert [record.answer for record in again.history()] == ["yes", None]
        with pytest.raises(LedgerError, match="remains"):
            spend(again, 0.5)
    assert verify_ledger(file).intact
    assert not list(file.parent.glob(".*.new"))


@pytest.mark.usefixtures("windows")
def test_without_unix_the_lost_end_is_noticed_too(file: Path) -> None:
    with make(file, 1) as ledger:
        spend(ledger, 0.25)
    HeadNote(Path(f"{file}-head"), readonly=False).write(9, "f" * 64)
    with pytest.raises(
        LedgerError, match=r"ends at entry 2, but it had reached entry 9 with another hash: entries were lost"
    ):
        open_ledger(file)


def test_the_windows_of_these_tests_has_nothing_of_unix(windows: None) -> None:
    with pytest.raises(PermissionError):
        os.open("/tmp", os.O_RDONLY)
    assert not any(hasattr(os, name) for name in UNIX_ONLY)
    with pytest.raises(ImportError):
        builtins.__import__("fcntl")


@pytest.mark.parametrize("links", [with_links, with_a_failing_link])
def test_of_two_that_create_at_once_one_wins(
    file: Path, monkeypatch: pytest.MonkeyPatch, links: Callable[[pytest.MonkeyPatch], None]
) -> None:
    links(monkeypatch)
    first = make(file, 1)
    before = first.head
    row = sqlite_store.StoredEntry(1, "{}", "x")
    assert not sqlite_store.SQLiteStore.create(file, row)
    assert open_ledger(file).head == before
    assert not list(file.parent.glob(".*.new"))


@pytest.mark.skipif(os.name != "posix", reason="Windows has other rights")
@pytest.mark.parametrize("links", [with_links, with_a_failing_link])
def test_a_new_ledger_is_for_its_owner_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch, links: Callable[[pytest.MonkeyPatch], None]
) -> None:
    links(monkeypatch)
    assert sqlite_store.SQLiteStore.create(file, sqlite_store.StoredEntry(1, "{}", "x"))
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_name_that_cannot_be_given_leaves_nothing_behind(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_link)
    monkeypatch.setattr(os, "replace", no_link)
    with pytest.raises(LedgerError, match="cannot be created"):
        make(file, 1)
    assert not list(file.parent.iterdir())


def test_whoever_meets_a_name_that_is_being_given_waits(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(file.with_name("made"), 1).close()
    file.touch()
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            os.replace(file.with_name("made"), file)

    monkeypatch.setattr(sqlite_store.time, "sleep", pause)
    assert not open_ledger(file).history()
    assert len(pauses) == 3


def test_a_file_that_stays_empty_is_reported(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "_WAIT_FOR_CONTENT_SECONDS", 0.02)
    file.touch()
    with pytest.raises(LedgerError, match="empty file"):
        open_ledger(file)
    assert file.stat().st_size == 0


def test_the_folder_is_synchronised_where_that_is_possible(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synchronised: list[bool] = []
    real = os.fsync

    def watch(handle: int) -> None:
        synchronised.append(os.path.isdir(f"/proc/self/fd/{handle}") if sys.platform == "linux" else True)
        real(handle)

    monkeypatch.setattr(ledger_file.os, "fsync", watch)
    make(file, 1).close()
    assert synchronised == [True]


def test_a_note_is_private_and_written_in_one_call(file: Path) -> None:
    note = HeadNote(file, readonly=False)
    note.write(3, "a" * 64)
    note.write(12, "b" * 64)
    assert note.read() == (12, "b" * 64)
    assert file.stat().st_size == 86
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0
    note.close()
    note.close()
    HeadNote(file, readonly=True).write(13, "c" * 64)
    assert note.read() == (12, "b" * 64)
    for text in (b"", b"x", b"0" * 20 + b" " + b"g" * 64 + b"\n", b"0" * 20 + b" " + b"a" * 64 + b"\r\n", b"\xff" * 86):
        file.write_bytes(text)
        assert note.read() is None
