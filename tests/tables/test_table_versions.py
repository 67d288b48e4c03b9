"""The version of a table on a server: what it has committed, and none where a change could go unnoticed."""

from __future__ import annotations

from pathlib import Path

import ibis
import pyarrow
import pytest
from postgres_server import PostgresServer
from postgres_tables import write_postgres

import optimaldp as odp
from optimaldp.tables import open_source

PEOPLE = pyarrow.table({"smokes": ["yes"] * 40 + ["no"] * 60})


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    made = write_postgres(postgres, "versions", PEOPLE, "People")
    _run(made, 'ALTER TABLE "People" SET (autovacuum_enabled = false)')  # whose own transactions would be new versions
    return made


def _run(url: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(url.partition("?")[0], autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO \"People\" VALUES ('yes')",
        "UPDATE \"People\" SET smokes = 'no' WHERE ctid = '(0,1)'",
        "DELETE FROM \"People\" WHERE ctid = '(0,1)'",
        'TRUNCATE "People"',
    ],
)
def test_whatever_is_committed_makes_another_version(url: str, change: str) -> None:
    before = open_source(url).version()
    assert before is not None
    assert open_source(url).version() == before  # a new connection sees the same snapshot
    _run(url, change)
    assert open_source(url).version() not in (None, before)


def test_a_change_that_is_not_committed_changes_the_version_when_it_is(url: str) -> None:
    import psycopg

    with psycopg.connect(url.partition("?")[0]) as connection:
        connection.execute("INSERT INTO \"People\" VALUES ('yes')")
        during = open_source(url).version()
        connection.commit()
    assert open_source(url).version() != during


@pytest.mark.parametrize(
    "declare",
    [
        'CREATE VIEW seen AS SELECT *, now() FROM "People"',
        'CREATE TABLE seen (LIKE "People") PARTITION BY LIST (smokes)',
        'CREATE TABLE seen (LIKE "People"); CREATE TABLE more () INHERITS (seen)',
        'CREATE TABLE seen (LIKE "People"); ALTER TABLE seen ENABLE ROW LEVEL SECURITY',
    ],
)
def test_what_can_change_unnoticed_has_no_version(url: str, declare: str) -> None:
    _run(url, *declare.split("; "))
    assert open_source(url.replace("=People", "=seen")).version() is None


def test_tables_have_versions_of_their_own_however_they_are_named(url: str) -> None:
    _run(url, 'CREATE SCHEMA "old ones"', 'CREATE TABLE "old ones"."People" (LIKE "People")')
    here, there = open_source(url).version(), open_source(f"{url}&schema=old ones").version()
    assert None not in (here, there)
    assert here != there
    connection = ibis.connect(url.partition("?")[0].replace("postgresql", "postgres"))
    assert open_source((connection, "People")).version() == here
    assert open_source(connection.table("People").filter(ibis._.smokes == "yes")).version() is None


def test_a_question_to_a_quiet_server_is_paid_once(url: str, tmp_path: Path) -> None:
    with odp.open(url, ledger=tmp_path / "people.ledger", budget=odp.Budget(1)) as table:
        first, again = (table.ask("majority(smokes = 'yes')", epsilon="0.25") for _ in range(2))
        assert (first.recorded, again.recorded) == (False, True)
        _run(url, "INSERT INTO \"People\" VALUES ('yes')")
        with pytest.warns(odp.errors.PaidRepeatWarning):
            assert not table.ask("majority(smokes = 'yes')", epsilon="0.25").recorded
