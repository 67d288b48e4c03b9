"""What only a server can do wrong: collisions, lost connections, addresses with passwords."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from ledger.conftest import make, spend
from postgres_server import PostgresServer

from optimaldp.errors import BudgetError, LedgerError
from optimaldp.ledger import ledger_exists, open_ledger, verify_ledger
from optimaldp.ledger.entry import hash_of
from optimaldp.ledger.postgres_store import PostgresStore
from optimaldp.ledger.store import StoredEntry


@pytest.fixture
def database(server: PostgresServer) -> str:
    return server.new_database("alone")


def test_the_numbers_of_entries_alone_keep_the_budget(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the lock that makes waiting orderly, collisions happen and are tried again."""
    monkeypatch.setattr("optimaldp.ledger.postgres_store._LOCK", "(random() * 1e15)::bigint + length(:name)")
    location = f"{database}?ledger=survey"
    make(location, 1).close()
    handles = [open_ledger(location) for _ in range(4)]

    def ask(number: int) -> int:
        granted = 0
        for _ in range(6):
            try:
                spend(handles[number], 0.1)
                granted += 1
            except BudgetError:
                break
        return granted

    with ThreadPoolExecutor(4) as pool:
        granted = sum(pool.map(ask, range(4)))
    assert granted == 10
    assert verify_ledger(location).intact


def test_a_ledger_on_a_server_is_made_once_and_has_a_key_of_its_own(database: str) -> None:
    first, other = f"{database}?ledger=first", f"{database}?ledger=other"
    assert [PostgresStore.create(first, StoredEntry(1, text, "a")) for text in ("one", "two")] == [True, False]
    assert PostgresStore.create(other, StoredEntry(1, "three", "b")) is True
    assert [row.text for row in PostgresStore(first).rows(0)] == ["one"]
    keys = [PostgresStore(url).secret() for url in (first, first, other)]
    assert [len(key) for key in keys] == [32, 32, 32]
    assert keys[0] == keys[1] != keys[2]


def test_one_database_holds_many_ledgers(database: str) -> None:
    first, second = make(f"{database}?ledger=one", 1), make(f"{database}?ledger=two", 2)
    spend(first, 1)
    assert second.spent().epsilon.is_zero
    assert not ledger_exists(f"{database}?ledger=three")


def test_entries_on_a_server_cannot_be_changed_by_accident(database: str) -> None:
    spend(make(f"{database}?ledger=one", 1), 0.1)
    with psycopg.connect(database) as connection, pytest.raises(psycopg.errors.RaiseException, match="never change"):
        connection.execute("UPDATE optimaldp_entries SET text = ''")


def test_tampering_on_a_server_is_detected(database: str) -> None:
    location = f"{database}?ledger=one"
    spend(make(location, 1), 0.1).record("no")
    with psycopg.connect(database) as connection:
        connection.execute("ALTER TABLE optimaldp_entries DISABLE TRIGGER ALL")
        row = connection.execute("SELECT text FROM optimaldp_entries WHERE sequence = 2").fetchone()
        assert row is not None
        text = row[0].replace('"0.1"', '"0.01"')
        connection.execute(
            "UPDATE optimaldp_entries SET text = %s, hash = %s WHERE sequence = 2", (text, hash_of(text))
        )
    assert "entry 3" in str(verify_ledger(location).problem)


def test_a_ledger_of_a_later_format_on_a_server_is_refused(database: str) -> None:
    location = f"{database}?ledger=one"
    make(location, 1).close()
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE optimaldp_ledgers SET format = 2")
    with pytest.raises(LedgerError, match="has format 2, and this optimaldp knows format 1"):
        open_ledger(location)


def test_a_lost_connection_is_an_error_and_then_works_again(database: str) -> None:
    ledger = make(f"{database}?ledger=one", 1)
    spend(ledger, 0.1)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    spend(ledger, 0.1)
    assert str(ledger.spent().epsilon) == "0.2"


def test_a_server_out_of_reach_is_named_without_its_password() -> None:
    with pytest.raises(LedgerError, match="cannot be reached") as caught:
        open_ledger("postgresql://steward:hunter2@127.0.0.1:1/none?ledger=survey")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_read_only_database_spends_nothing(database: str) -> None:
    location = f"{database}?ledger=one"
    make(location, 1).close()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER DATABASE alone SET default_transaction_read_only = on")
    ledger = open_ledger(location)
    with pytest.raises(LedgerError, match="read-only"):
        spend(ledger, 0.1)
    assert not ledger.history()


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="address"):
        open_ledger("postgresql://host:port:port/x")


def test_a_spend_waits_for_the_disk_where_the_server_would_not(database: str) -> None:
    make(f"{database}?ledger=survey", 1).close()
    for setting, held in (("off", "on"), ("local", "local")):
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS seen (setting text)")
            connection.execute(
                "CREATE OR REPLACE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$"
            )
            connection.execute("CREATE OR REPLACE TRIGGER see AFTER INSERT ON optimaldp_entries EXECUTE FUNCTION see()")
            connection.execute(f"ALTER DATABASE {connection.info.dbname} SET synchronous_commit = {setting}")
        with open_ledger(f"{database}?ledger=survey") as ledger:
            spend(ledger, 0.1)
        with psycopg.connect(database, autocommit=True) as connection:
            assert connection.execute("DELETE FROM seen RETURNING setting").fetchall() == [(held,)]
