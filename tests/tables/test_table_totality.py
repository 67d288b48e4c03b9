"""No value of one row decides whether a query fails, and parts never overlap, whatever the engine's collation."""

from __future__ import annotations

import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from postgres_server import PostgresServer

from optimaldp.errors import QuestionError
from optimaldp.tables import Bins, Condition, KeyTally, Options, People, Source, Steps, Tally, count_people, open_source

F = Fraction
YEAR_2000 = 946_684_800
FAR = [2**62, -(2**62), 2**63 - 1, -(2**63) + 1, 9_223_372_036_854, -9_223_372_036_855, 9_223_372_036_854_775]


def _times(unit: str, zone: str | None = None) -> pa.Table:
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    numbers = [YEAR_2000 * scale, 0, None, *FAR]
    return pa.table({"seen": pa.array(numbers, pa.int64()).cast(pa.timestamp(unit, tz=zone)), "vote": ["a"] * 10})


def everybody_in(*counted: Any) -> int:
    return sum(count_people(*counted).cells.values())


def _sources(table: pa.Table, folder: Path) -> list[Any]:
    pq.write_table(table, folder / "t.parquet")
    return [table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype), folder / "t.parquet"]


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_far_points_in_time_fail_no_query(tmp_path: Path, unit: str, zone: str | None) -> None:
    for source in _sources(_times(unit, zone), tmp_path):
        opened = open_source(source)
        assert opened.schema["seen"].kind == ("text" if "pandas" in opened.label else "time")
        for text in ("seen >= timestamp '1999-12-31 00:00:00'", "seen < '1970-01-02'", "seen is null"):
            counted = count_people(opened, Tally((Condition(text),)))
            assert sum(counted.cells.values()) == 10
            assert counted.counts[0] >= 1
        edges = tuple(datetime.date(year, 1, 1) for year in (1960, 1990, 2010))
        assert count_people(opened, Tally((Bins("seen", edges),))).counts[0] >= 1


def test_points_in_time_in_seconds(tmp_path: Path) -> None:
    """Parquet has none; what the engine could not hold is NULL, and what it can is compared."""
    table = _times("s")
    for source in (table, open_source(table)):
        assert count_people(source, Tally((Condition("seen = '2000-01-01'"),))).counts == (1, 9)
        assert count_people(source, Tally((Condition("seen is null"),))).counts == (8, 2)
    pandas = pd.DataFrame({"seen": pd.Series(["2000-01-01", "1960-01-01", None]).astype("datetime64[s]")})
    assert count_people(pandas, Tally((Condition("year(seen) = 2000"),))).counts == (1, 2)


def test_times_do_not_decide_the_reading_of_other_columns(tmp_path: Path) -> None:
    for source in _sources(_times("ms"), tmp_path):
        assert count_people(source, Tally((Options("vote", ("a", "b")),))).counts == (10, 0, 0)


def _bytes(values: list[bytes | None]) -> pa.Array:
    """A column of text that Arrow did not check."""
    raw = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


@pytest.mark.parametrize("text", ["lower(name) = 'ok'", "name = 'ok'", "name like 'o%'", "upper(trim(name)) = 'OK'"])
def test_bytes_that_are_no_text_fail_no_query(tmp_path: Path, text: str) -> None:
    table = pa.table({"name": _bytes([b"ok", b"\xff\xfe", None, b"\xc3\xa9t\xc3\xa9"]), "age": [1, 2, 3, 4]})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    for source in (open_source(table), open_source(path)):
        for _ in range(2):  # the source is still of use afterwards
            assert count_people(source, Tally((Condition(text),))).counts == (1, 3)
        assert everybody_in(source, Tally((Condition("name is null and age = 2"),))) == 4
        assert sum(count_people(source, KeyTally("name")).keys.values()) <= 3


def test_numbers_at_the_edges_of_their_types_fail_no_query() -> None:
    table = pa.table(
        {
            "byte": pa.array([127, -128, 0, None], pa.int8()),
            "unsigned": pa.array([2**64 - 1, 2**63, 0, None], pa.uint64()),
            "long": pa.array([2**63 - 1, -(2**63), 0, None], pa.int64()),
            "big": pa.array([10**37, -(10**37), 0, None], pa.decimal128(38, 0)),
            "fine": pa.array([10**37, -(10**37), 0, None], pa.decimal128(38, 0)).cast(pa.decimal128(38, 0)),
            "single": pa.array([3.4e38, -3.4e38, 0.0, None], pa.float32()),
            "double": pa.array([1e308, -1e308, float("nan"), None], pa.float64()),
        }
    )
    for name in table.column_names:
        for sign in ("+ 1", "* 3", "/ 0.001", "% 7", "- 5"):
            if (name, sign) != ("unsigned", "% 7"):
                assert everybody_in(table, Tally((Condition(f"{name} {sign} > 0"),))) == 4
        assert everybody_in(table, Tally((Condition(f"-{name} > 0 or abs({name}) = 1 or round({name}) = 2"),))) == 4
        for reading in (Bins(name, (F(-1), F(1, 3), F(10))), Steps(name, F(-5), F(5), F(1, 10)), Options(name, (0, 7))):
            assert everybody_in(table, Tally((reading,))) == 4
        assert count_people(table, Tally((Steps(name, F(0), F(10), F(1)),))).cells == {
            9: 1 + (name in ("unsigned",)),
            0: 1 + (name not in ("unsigned", "double")),
            10: 1 + (name == "double"),
        }


WRITTEN = ["north", "NORTH", "north ", " north", "North", "norþ", None]


def _overlap(source: Any, column: str = "region") -> list[int]:
    """How many people each written part has: no part may have another's."""
    vote = Tally((Condition("vote = 'a'"),))
    return [everybody_in(source, vote, People(part=(column, part))) for part in WRITTEN if part is not None]


def test_parts_are_compared_exactly_in_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (region VARCHAR COLLATE NOCASE, vote VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, 'a')", [[part] for part in WRITTEN])
        connection.execute(
            "CREATE TABLE e AS SELECT region::ENUM ('north', 'NORTH', 'north ', ' north', 'North', 'norþ') "
            "AS region, vote FROM t"
        )
    source = open_source(f"duckdb:///{path}?table=t")
    assert count_people(source, Tally((Condition("region = 'north'"),))).counts[0] == 1
    with duckdb.connect(str(path), read_only=True) as connection:  # the engine itself takes them for one
        assert connection.execute("SELECT count(*) FROM t WHERE region = 'north'").fetchone() > (1,)
    assert _overlap(source) == [1] * 6
    assert _overlap(f"duckdb:///{path}?table=e") == [1] * 6


def test_parts_are_compared_exactly_in_postgres(postgres: PostgresServer) -> None:
    import psycopg

    url = postgres.new_database("parts")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE padded (region char(8), vote text)")
        connection.execute("CREATE TABLE plain (region text, vote text)")
        for part in WRITTEN:
            for name in ("padded", "plain"):
                connection.execute(f"INSERT INTO {name} VALUES (%s, 'a')", [part])
    assert _overlap(f"{url}?table=plain") == [1] * 6
    # char(n) does not keep trailing blanks: two of the rows hold the same value, and 'north ' is nobody's.
    assert _overlap(f"{url}?table=padded") == [2, 1, 0, 1, 1, 1]


def test_parts_under_a_collation_that_ignores_case(postgres: PostgresServer) -> None:
    import psycopg

    url = postgres.new_database("collated")
    with psycopg.connect(url) as connection:
        try:
            connection.execute(
                "CREATE COLLATION mild (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
            )
        except psycopg.Error:
            pytest.skip("this PostgreSQL has no ICU")
        connection.execute("CREATE TABLE t (region text COLLATE mild, vote text)")
        for part in WRITTEN:
            connection.execute("INSERT INTO t VALUES (%s, 'a')", [part])
    source = open_source(f"{url}?table=t")
    assert count_people(source, Tally((Condition("region = 'north'"),))).counts[0] == 1
    assert _overlap(source) == [1] * 6


def test_parts_in_memory_and_in_files(tmp_path: Path) -> None:
    table = pa.table({"region": WRITTEN, "vote": ["a"] * 7})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("region,vote\n" + "".join(f"{part or ''},a\n" for part in WRITTEN))
    for source in (table, tmp_path / "t.parquet", tmp_path / "t.csv"):
        assert _overlap(source) == [1] * 6


@pytest.mark.spark
def test_parts_are_compared_exactly_in_spark(spark: Any) -> None:
    frame = spark.createDataFrame([(part, "a") for part in WRITTEN], "region string, vote string")
    assert _overlap(frame) == [1] * 6


def test_conditions_are_never_pasted_together(engine: Source) -> None:
    """Each is parsed by itself: brackets that close another's are no condition."""

    for where in ("order = 'zzz') OR (order = 'yes'", "ok) or (ok", "ok -- "):
        with pytest.raises(QuestionError):
            count_people(engine, Tally((Condition("ok"),)), People(part=("tier", "1"), where=where))
    part = People(part=("tier", "1"), where="order = 'zzz' or order = 'yes'")
    everybody = everybody_in(engine, Tally((Condition("ok"),)), People(part=("tier", "1")))
    assert everybody_in(engine, Tally((Condition("ok"),)), part) == everybody


def test_a_double_next_to_an_edge_is_in_the_bin_that_the_edge_begins() -> None:
    """1/49 times 49 is less than 1 in doubles: the place is a guess that is compared with the edges themselves."""
    assert 1 / 49 * 49 < 1
    table = pa.table({"x": [k / 49 for k in range(49)]})
    assert count_people(table, Tally((Steps("x", F(0), F(1), F(1, 49)),))).cells == dict.fromkeys(range(49), 1)


def test_a_moment_on_an_edge_is_in_the_bin_that_the_edge_begins() -> None:
    days = [datetime.date(2024, month, 1) for month in (1, 2, 3)]
    table = pa.table({"day": [*days, None], "time": [*(datetime.datetime(d.year, d.month, d.day) for d in days), None]})
    for column in ("day", "time"):
        assert count_people(table, Tally((Bins(column, tuple(days)),))).cells == {0: 1, 1: 2, 2: 1}


def test_edges_beyond_the_largest_number_of_a_column() -> None:
    table = pa.table({"x": pa.array([5, 2**63 - 1, None], pa.int64())})
    for beyond in (2**63, 2**63 + 5, 2**64):
        assert count_people(table, Tally((Bins("x", (F(0), F(7), F(beyond))),))).cells == {0: 1, 1: 1, 2: 1}
        assert count_people(table, Tally((Bins("x", (F(0), F(beyond), F(2 * beyond))),))).cells == {0: 2, 2: 1}
