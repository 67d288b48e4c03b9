"""Damaged, changed, full and read-only ledgers: reported, never repaired, and nothing is spent or sampled."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from ledger.conftest import make, spend

from optimaldp.errors import LedgerError
from optimaldp.ledger import open_ledger, verify_ledger
from optimaldp.ledger.entry import canonical, hash_of


@pytest.fixture
def filled(file: Path) -> Path:
    """A closed ledger of five questions, all but the last answered."""
    with make(file, 1, 1e-6, parts={"region": ["north"]}) as ledger:
        for number in range(4):
            spend(ledger, 0.1, 1e-8, question=f"count(age > {number}) >= 3", data_version="v1").record(
                "yes", {"proof": number}
            )
        spend(ledger, 0.2, part="north")
    return file


def texts(file: Path) -> list[str]:
    with open_ledger(file) as ledger:
        return [entry.text() for entry in ledger.entries()]


def reported_or_whole(file: Path, before: list[str]) -> bool:
    """True if the damage was reported; it may be harmless (a bit that nothing uses), but never change what is read."""
    try:
        after = texts(file)
    except LedgerError as error:
        problem = str(error)
    else:
        assert after == before
        return False
    assert "\n" not in problem
    assert not verify_ledger(file).intact
    return True


def test_a_truncated_file_is_reported_at_every_length(filled: Path, tmp_path: Path) -> None:
    before, whole = texts(filled), filled.read_bytes()
    for length in [0, 1, 15, 16, 99, 100, 4095, *range(4096, len(whole), 2048), len(whole) - 1]:
        cut = tmp_path / f"cut-{length}.ledger"
        cut.write_bytes(whole[:length])
        assert reported_or_whole(cut, before), length
        assert cut.read_bytes() == whole[:length]  # left as it was


@pytest.mark.long
def test_a_flipped_bit_is_reported_or_harmless(filled: Path, tmp_path: Path) -> None:
    before, whole = texts(filled), filled.read_bytes()
    chance = random.Random(11)
    reported = 0
    for number in range(300):
        bit = chance.randrange(8 * len(whole))
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << (bit % 8)
        copy = tmp_path / f"flip-{number}.ledger"
        copy.write_bytes(damaged)
        reported += reported_or_whole(copy, before)
    assert reported > 30


def test_every_flipped_bit_of_an_entry_is_reported(filled: Path, tmp_path: Path) -> None:
    whole = filled.read_bytes()
    start = whole.index(b'"question":"count(age > 2)')
    for bit in range(8 * start, 8 * (start + 40)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << (bit % 8)
        copy = tmp_path / "flip.ledger"
        copy.write_bytes(damaged)
        with pytest.raises(LedgerError, match="damaged"):
            open_ledger(copy)


def crashed(file: Path) -> None:
    """Leave a ledger as a crash does: the last entries are in the write-ahead log only."""
    child = os.fork()
    if child == 0:
        ledger = make(file, 1)
        for _ in range(5):
            spend(ledger, 0.1).record("yes")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def copy_all(file: Path, target: Path) -> None:
    for suffix in ("", "-wal", "-head"):
        shutil.copy(f"{file}{suffix}", f"{target}{suffix}")


@pytest.mark.parametrize("length", [0, 10, 32, 5000, -1])
def test_a_shortened_log_is_noticed(file: Path, tmp_path: Path, length: int) -> None:
    """SQLite itself would drop the lost end without a word."""
    crashed(file)
    copy = tmp_path / "copy.ledger"
    copy_all(file, copy)
    assert len(texts(copy)) == 11
    copy_all(file, copy)
    log = Path(f"{copy}-wal")
    log.write_bytes(log.read_bytes()[:length])
    with pytest.raises(LedgerError, match="entries were lost"):
        open_ledger(copy)


def test_a_flipped_bit_of_the_log_is_reported_or_harmless(file: Path, tmp_path: Path) -> None:
    crashed(file)
    whole = Path(f"{file}-wal").read_bytes()
    chance = random.Random(5)
    reference = tmp_path / "reference.ledger"
    copy_all(file, reference)
    before, reported = texts(reference), 0
    for number in range(100):
        copy = tmp_path / f"flip-{number}.ledger"
        copy_all(file, copy)
        damaged = bytearray(whole)
        bit = chance.randrange(8 * len(whole))
        damaged[bit // 8] ^= 1 << (bit % 8)
        Path(f"{copy}-wal").write_bytes(damaged)
        reported += reported_or_whole(copy, before)
    assert reported > 30


def rewrite(file: Path, change: Callable[[sqlite3.Connection], None]) -> None:
    """Change a ledger as somebody who knows SQLite and can write the file would."""
    connection = sqlite3.connect(file)
    connection.execute("DROP TRIGGER entries_stay")
    connection.execute("DROP TRIGGER entries_last")
    change(connection)
    connection.commit()
    connection.close()


def change_text(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE entries SET text = replace(text, '\"yes\"', '\"no\"') WHERE sequence = 3")


def change_text_and_hash(connection: sqlite3.Connection) -> None:
    text = connection.execute("SELECT text FROM entries WHERE sequence = 4").fetchone()[0].replace('"0.1"', '"0.01"')
    connection.execute("UPDATE entries SET text = ?, hash = ? WHERE sequence = 4", (text, hash_of(text)))


def delete_from_the_middle(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM entries WHERE sequence = 4")


def delete_and_close_the_gap(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM entries WHERE sequence = 4")
    connection.execute("UPDATE entries SET sequence = sequence - 1 WHERE sequence > 4")


def swap_two(connection: sqlite3.Connection) -> None:
    for old, new in ((4, 400), (6, 4), (400, 6)):
        connection.execute("UPDATE entries SET sequence = ? WHERE sequence = ?", (new, old))


def delete_the_end(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM entries WHERE sequence > 6")


def delete_everything(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM entries")


def append(connection: sqlite3.Connection, document: dict[str, object]) -> None:
    sequence, digest = connection.execute("SELECT sequence, hash FROM entries ORDER BY sequence DESC").fetchone()
    place = {"version": 1, "sequence": sequence + 1, "previous": digest, "time": "2030-01-01T00:00:00.000+00:00"}
    text = canonical({**place, **document})
    connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (sequence + 1, text, hash_of(text)))


def answer_twice(connection: sqlite3.Connection) -> None:
    append(connection, {"kind": "answer", "spend": 2, "answer": "no", "certificate": None})


def answer_without_a_spend(connection: sqlite3.Connection) -> None:
    append(connection, {"kind": "answer", "spend": 77, "answer": "no", "certificate": None})


def answer_number_zero(connection: sqlite3.Connection) -> None:
    """Counted from the end, as Python does, it would answer the last spend under another number."""
    append(connection, {"kind": "answer", "spend": 0, "answer": "no", "certificate": None})


def open_again(connection: sqlite3.Connection) -> None:
    document = json.loads(connection.execute("SELECT text FROM entries WHERE sequence = 1").fetchone()[0])
    append(
        connection,
        {"kind": "opening"} | {k: v for k, v in document.items() if k not in ("sequence", "previous", "time")},
    )


def spend_on(connection: sqlite3.Connection, part: object) -> None:
    level = {"epsilon": "0.1", "delta": "0"}
    empty = {"data": None, "levels": None, "asked": None, "together": None}
    append(connection, {"version": 2, "kind": "spend", "question": "q", **level, "personal": {}, **empty, "part": part})


def spend_on_a_part_that_was_never_declared(connection: sqlite3.Connection) -> None:
    """It would be charged to nobody."""
    spend_on(connection, {"column": "region", "value": "west"})


def test_a_spend_that_is_appended_by_hand_is_read_like_any_other(filled: Path) -> None:
    rewrite(filled, lambda connection: spend_on(connection, {"column": "region", "value": "north"}))
    assert verify_ledger(filled).intact
    assert str(open_ledger(filled).spent().epsilon) == "0.7"


def an_unknown_field(connection: sqlite3.Connection) -> None:
    append(connection, {"kind": "answer", "spend": 10, "answer": "no", "certificate": None, "refund": True})


@pytest.mark.parametrize(
    "change",
    [
        change_text,
        change_text_and_hash,
        delete_from_the_middle,
        delete_and_close_the_gap,
        swap_two,
        delete_the_end,
        delete_everything,
        answer_twice,
        answer_without_a_spend,
        answer_number_zero,
        open_again,
        an_unknown_field,
        spend_on_a_part_that_was_never_declared,
    ],
)
def test_every_tampering_is_detected(filled: Path, change: Callable[[sqlite3.Connection], None]) -> None:
    assert verify_ledger(filled).intact
    rewrite(filled, change)
    verdict = verify_ledger(filled)
    assert not verdict.intact
    assert verdict.problem
    with pytest.raises(LedgerError):
        open_ledger(filled)


def test_the_place_of_the_damage_is_named(filled: Path, tmp_path: Path) -> None:
    for change, place in (
        (delete_from_the_middle, r"at entry 4: it is missing \(entry 5 follows\)"),
        (change_text, "at entry 3: its text does not have the hash"),
        (change_text_and_hash, "at entry 5: it does not follow"),
        (delete_and_close_the_gap, "at entry 4: it says that it is entry 5"),
    ):
        copy = tmp_path / f"{change.__name__}.ledger"
        shutil.copy(filled, copy)
        rewrite(copy, change)
        with pytest.raises(LedgerError, match=place):
            open_ledger(copy)


def test_a_spend_beyond_the_budget_is_found_even_with_good_hashes(filled: Path) -> None:
    spend_document = {
        "kind": "spend",
        "question": "q",
        "epsilon": "5",
        "delta": "0",
        "part": None,
        "personal": {},
        "data": None,
    }
    rewrite(filled, lambda connection: append(connection, spend_document))
    verdict = verify_ledger(filled)
    assert not verdict.intact
    assert "spends more" in str(verdict.problem)


def test_a_cut_end_without_its_note_is_found_by_a_noted_head(filled: Path) -> None:
    with open_ledger(filled) as ledger:
        noted, early = ledger.head, ledger.hashes()[3]
    assert verify_ledger(filled, head=noted).intact
    rewrite(filled, delete_the_end)
    Path(f"{filled}-head").unlink()
    assert verify_ledger(filled).intact  # from the file alone nobody can tell
    assert verify_ledger(filled, head=early).intact
    assert not verify_ledger(filled, head=noted).intact


def test_entries_cannot_be_changed_by_accident(filled: Path) -> None:
    connection = sqlite3.connect(filled)
    for statement in ("UPDATE entries SET text = ''", "DELETE FROM entries"):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            connection.execute(statement)


def test_something_else_is_not_a_ledger(tmp_path: Path) -> None:
    text, database = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("hello " * 1000)
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE entries (sequence, text, hash)")
    for path, words in ((text, "not a ledger"), (database, "not a ledger"), (tmp_path, "cannot be opened")):
        with pytest.raises(LedgerError, match=words):
            open_ledger(path)


def test_a_ledger_of_a_later_format_is_refused_unchanged(filled: Path) -> None:
    connection = sqlite3.connect(filled)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    before = filled.read_bytes()
    with pytest.raises(LedgerError, match="has format 2, and this optimaldp knows format 1"):
        open_ledger(filled)
    assert filled.read_bytes() == before


def test_an_entry_of_a_later_version_is_refused(filled: Path) -> None:
    rewrite(filled, lambda connection: append(connection, {"version": 5, "kind": "refund", "spend": 2}))
    with pytest.raises(LedgerError, match="entry 11: an entry has version 5, and this optimaldp reads versions 1 to 4"):
        open_ledger(filled)


def test_ledgers_of_two_versions_live_side_by_side(filled: Path, tmp_path: Path) -> None:
    later = tmp_path / "later.ledger"
    shutil.copy(filled, later)
    rewrite(later, lambda connection: append(connection, {"version": 5, "kind": "refund", "spend": 2}))
    assert not verify_ledger(later).intact
    assert verify_ledger(filled).intact


def test_a_full_disk_spends_nothing(file: Path) -> None:
    with make(file, 1) as ledger:
        spend(ledger, 0.1)
        connection = ledger._log._store._connection  # type: ignore[attr-defined]
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="disk is full"):
            spend(ledger, 0.1, question="x" * 20_000)
        connection.execute("PRAGMA max_page_count = 100000")
        assert str(ledger.spent().epsilon) == "0.1"
        spend(ledger, 0.9)
    assert verify_ledger(file).intact


def test_an_answer_that_cannot_be_written_leaves_its_spend(file: Path) -> None:
    with make(file, 1) as ledger:
        reservation = spend(ledger, 0.1)
        connection = ledger._log._store._connection  # type: ignore[attr-defined]
        connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
        with pytest.raises(LedgerError, match=r"disk is full.* The spend #2 stays, without an answer"):
            reservation.record(["x" * 20_000])
        assert str(ledger.spent().epsilon) == "0.1"


def run_child(work: Callable[[], str]) -> str:
    """Run *work* in a forked child and return its text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, work().encode())
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return pipe.read()


def test_a_file_that_may_not_grow_spends_nothing(file: Path) -> None:
    make(file, 100).close()

    def ask_until_it_fails() -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
        ledger = open_ledger(file)
        granted = 0
        try:
            while granted < 900:
                spend(ledger, 0.1)
                granted += 1
        except LedgerError as error:
            before = len(ledger.history())
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            spend(ledger, 0.1)
            return f"{granted} {before} {len(ledger.history())} {error}"
        return "never failed"

    granted, before, after, *words = run_child(ask_until_it_fails).split()
    assert 0 < int(granted) <= int(before) < int(after), words
    assert "disk" in words
    assert len(open_ledger(file).history()) == int(after)


def test_a_read_only_handle_cannot_spend(filled: Path) -> None:
    with open_ledger(filled, readonly=True) as ledger:
        assert len(ledger.history()) == 5
        with pytest.raises(LedgerError, match="read-only"):
            spend(ledger, 0.1)
        assert len(ledger.history()) == 5


def test_a_read_only_file_can_be_read_and_not_spent() -> None:
    folder = Path(tempfile.mkdtemp())
    file = folder / "survey.ledger"
    try:
        with make(file, 1) as ledger:
            spend(ledger, 0.1)
        file.chmod(0o444)
        folder.chmod(0o555)

        def as_another_user() -> str:
            if os.geteuid() == 0:
                os.setuid(65534)  # nobody: permissions mean nothing to root
            with open_ledger(file, readonly=True) as reader:
                seen = len(reader.history())
            try:
                spend(open_ledger(file), 0.1)
            except LedgerError as error:
                return f"{seen} {error}"
            return "it was spent"

        said = run_child(as_another_user)
    finally:
        folder.chmod(0o755)
        with open_ledger(file, readonly=True) as ledger:
            total = str(ledger.spent().epsilon)
        shutil.rmtree(folder)
    assert said.startswith("1 ledger")
    assert "read-only" in said or "cannot be opened" in said
    assert total == "0.1"
