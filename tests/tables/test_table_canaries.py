"""Canaries: rare strings and odd counts are put into tables, every error is provoked, and nothing of them comes out."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from postgres_server import PostgresServer

from optimaldp.errors import OptimalDPError, TableError
from optimaldp.tables import Bins, Condition, Options, People, Tally, count_people, open_source

CANARY = "Zyzzogeton-7c1"
ROWS, SMOKERS = 7919, 4567  # primes that appear nowhere else
SECRETS = [CANARY, "Zyzz", str(ROWS), str(SMOKERS), str(ROWS - SMOKERS)]
SMOKES = Tally((Condition("smokes = 'yes'"),))


def everything_said(error: BaseException) -> str:
    """All text that can be reached from an error: its words, its parts, its traceback and all errors behind it."""
    said = []
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        said += [str(one), repr(one), repr(one.args), repr(vars(one)), *traceback.format_exception(one)]
        waiting += [one.__cause__, one.__context__]
    return "\n".join(said)


def leaked(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


@pytest.fixture
def silence(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing secret is printed or logged during the test."""
    caplog.set_level(logging.DEBUG)
    yield
    printed = capfd.readouterr()
    assert not leaked(printed.out + printed.err + caplog.text)


def refuses(work: Callable[[], Any]) -> None:
    with pytest.raises(OptimalDPError) as caught:
        work()
    assert leaked(everything_said(caught.value)) == []
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, OptimalDPError)


def _frame() -> pa.Table:
    smokes = ["yes"] * SMOKERS + ["no"] * (ROWS - SMOKERS)
    names = [f"{CANARY}-{n}" for n in range(ROWS)]
    return pa.table({"smokes": smokes, "name": names, "born": list(range(ROWS))})


def _csv(folder: Path, *bad_lines: str, before: int = 300) -> str:
    path = folder / "people.csv"
    good = [f"yes,{CANARY},{n}" for n in range(before)]
    path.write_bytes("\n".join(["smokes,name,born", *good, *bad_lines, *good, ""]).encode("utf-8", "surrogateescape"))
    return str(path)


def test_the_engine_itself_does_quote_cells(tmp_path: Path) -> None:
    """The wrong twin: without our care the canary comes out, so these tests can fail."""
    path = _csv(tmp_path, f"yes,x,{CANARY}", before=60_000)
    query = "SELECT sum(born) FROM read_csv(?, header = true, sample_size = 20)"
    with pytest.raises(duckdb.Error) as caught:
        duckdb.connect().execute(query, [path]).fetchall()
    assert CANARY in everything_said(caught.value)


def test_suppressing_the_context_alone_would_leak() -> None:
    """The wrong twin of safety.without_engine_message: ``from None`` hides the engine's error only from the printed traceback."""

    def careless() -> None:
        try:
            raise ValueError(CANARY)
        except ValueError:
            raise TableError("data", "x", "failed") from None

    with pytest.raises(TableError) as caught:
        careless()
    assert leaked(everything_said(caught.value)) != []


@pytest.mark.usefixtures("silence")
@pytest.mark.parametrize(
    ("line", "born"),
    [
        (f"yes,{CANARY},1,one,too,many", True),
        (f"{CANARY}", False),
        (f'yes,"{CANARY},1', False),
        (f"yes,{CANARY}\udcff\udcfe,1", True),
        (f'yes,"{CANARY}"{CANARY}",1', True),
        (f"yes,x,{CANARY}", False),
        ("", False),
        (f'"{CANARY}', False),
        (f"#{CANARY},,1", True),
        (f"yes,{CANARY},13/01/2020", False),
        (f"yes,{CANARY},1e999", True),
    ],
)
def test_no_line_of_a_csv_fails_a_query_or_changes_how_others_are_read(tmp_path: Path, line: str, born: bool) -> None:
    source = open_source(_csv(tmp_path, line))
    assert source.schema.names == ("smokes", "name", "born")
    assert count_people(source, Tally((Condition("born >= 0"),))).counts == (600 + born, 1 - born)
    twice = open_source(_csv(tmp_path, line, line))
    assert count_people(twice, Tally((Condition("born >= 0"),))).counts == (600 + 2 * born, 2 - 2 * born)


@pytest.mark.usefixtures("silence")
def test_a_record_never_becomes_the_header(tmp_path: Path) -> None:
    """A line with a comma too many right after the names, a file of text alone, and a question about what is not there."""
    path = tmp_path / "people.csv"
    path.write_text(f"name,hiv,age\n{CANARY},HIV+,51,Paris\n{CANARY},HIV-,52\n")
    source = open_source(path)
    assert source.schema.names == ("name", "hiv", "age")
    assert count_people(source, Tally((Condition("age >= 51"),))).counts == (2, 0)
    refuses(lambda: count_people(path, Tally((Condition("town = 'x'"),))))
    refuses(lambda: count_people(path, Tally((Options("town", ("x",)),))))


@pytest.mark.usefixtures("silence")
def test_broken_parquet_files_are_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(_frame(), path, compression="none", use_dictionary=False)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refuses(lambda: count_people(path, SMOKES))
    path.write_bytes(b"smokes,name\nyes," + CANARY.encode())
    refuses(lambda: count_people(path, SMOKES))


@pytest.mark.usefixtures("silence")
def test_casts_that_fail_in_a_view_are_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", _frame())
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
        connection.execute("CREATE VIEW ages AS SELECT smokes, CAST(name AS INTEGER) AS age FROM people")
    refuses(lambda: count_people(f"duckdb:///{path}?table=ages", Tally((Condition("age > 3"),))))
    refuses(
        lambda: count_people(f"duckdb:///{path}?table=ages", Tally((Options("smokes", ("yes",)),)), People(unit="age"))
    )


@pytest.mark.usefixtures("silence")
def test_postgres_errors_are_not_quoted(postgres: PostgresServer) -> None:
    import psycopg

    url = postgres.new_database("canaries")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE people (name text)")
        connection.execute("INSERT INTO people VALUES (%s)", [CANARY])
        connection.execute("CREATE VIEW ages AS SELECT CAST(name AS integer) AS age FROM people")
    source = open_source(f"{url}?table=ages")
    refuses(lambda: count_people(source, Tally((Condition("age > 3"),))))
    # The connection is still of use after an error.
    refuses(lambda: count_people(source, Tally((Condition("age > 4"),))))


@pytest.mark.spark
def test_spark_errors_are_not_quoted(spark: Any) -> None:
    frame = spark.createDataFrame([(CANARY,)], ["name"]).selectExpr("CAST(name AS INT) AS age")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    refuses(lambda: count_people(frame, Tally((Condition("age > 3"),))))


@pytest.mark.usefixtures("silence")
def test_questions_that_do_not_fit_tell_nothing_about_the_data() -> None:
    table = _frame()
    for work in (
        lambda: count_people(table, Tally((Condition("nme = 'x'"),))),
        lambda: count_people(table, Tally((Condition("name = 3"),))),
        lambda: count_people(table, Tally((Condition("smokes"),))),
        lambda: count_people(table, Tally((Options("smokes", None),))),
        lambda: count_people(table, Tally((Options("smokes", (1, 2)),))),
        lambda: count_people(table, Tally((Bins("name", ()),))),
        lambda: count_people(table, SMOKES, People(unit="person")),
        lambda: count_people(table, SMOKES, People(levels="name")),
        lambda: count_people(table, Tally((Options("smokes", ("yes",)),)), People(levels="born")),
        lambda: count_people(table, SMOKES, People(unit="smokes", levels="name")),
        lambda: count_people(table, SMOKES, People(where="name ~ 'x'")),
    ):
        refuses(work)


@pytest.mark.usefixtures("silence")
def test_strange_objects_in_a_pandas_table_are_no_values() -> None:
    class Strange:
        def __str__(self) -> str:
            raise ValueError(CANARY)

        __repr__ = __str__

        def __eq__(self, other: object) -> bool:
            raise ValueError(CANARY)

        __hash__ = None  # type: ignore[assignment]

    frame = pd.DataFrame({"smokes": ["yes", "no"], "name": [CANARY, Strange()]})
    assert count_people(frame, Tally((Condition("name is null"),))).counts == (1, 1)


@pytest.mark.usefixtures("silence")
def test_what_is_shown_of_sources_and_counts_is_public(tmp_path: Path) -> None:
    source = open_source(_frame())
    counted = count_people(source, SMOKES, People(unit="name"))
    assert counted.counts == (SMOKERS, ROWS - SMOKERS)  # the canaries are really there
    shown = [repr(source), source.describe(), repr(counted), str(counted), repr(source.schema), str(source.version())]
    assert not leaked(" ".join(shown))
