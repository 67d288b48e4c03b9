"""Neighbouring tables: for each source, type and oddity a table and another one that differs in one record.

The outcome is the same (no error, the same columns), and the record of everybody else stays in its cell: at most one person
leaves a cell, and at most one enters another.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from postgres_server import PostgresServer

from optimaldp.errors import TableError
from optimaldp.tables import (
    Bins,
    Condition,
    Grid,
    KeyTally,
    Options,
    People,
    Source,
    Steps,
    Tally,
    count_people,
    csv_files,
    open_source,
    readings,
)
from optimaldp.tables import frames as arrow_feed
from optimaldp.tables.sql import DUCKDB, Value

F = Fraction
DAY, NOON = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30)
LONG = "x" * (2**20 + 1)
OTHERS: dict[str, list[Any]] = {
    "text": ["yes", "no", "Yes", "yes", "é", None],
    "whole": [1, 2, 3, 2, 40, None],
    "number": [1.0, 2.5, 3.0, 2.5, 40.0, None],
    "decimal": [Decimal("1.00"), Decimal("2.50"), Decimal("3.00"), Decimal("40.00"), None],
    "truth": [True, False, True, None],
    "date": [DAY, datetime.date(2000, 1, 1), DAY, None],
    "time": [NOON, datetime.datetime(2000, 1, 1), NOON, None],
}
ODD: dict[str, list[Any]] = {
    "text": [None, "YES", "yes ", "e\u0301", "\U0001f600", "it's", "\\' or true --", "1e400", LONG],
    "whole": [None, 0, -(2**63), 2**63 - 1],
    "number": [None, math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0],
    "decimal": [None, Decimal("99999999.99"), Decimal("-99999999.99")],
    "truth": [None, False],
    "date": [None, datetime.date.min, datetime.date.max],
    "time": [None, datetime.datetime.min, datetime.datetime.max],
}
ARROW = {
    "text": pa.string(),
    "whole": pa.int64(),
    "number": pa.float64(),
    "decimal": pa.decimal128(10, 2),
    "truth": pa.bool_(),
    "date": pa.date32(),
    "time": pa.timestamp("us"),
}
MANY, VERY_MANY = tuple(f"o{n}" for n in range(50)), tuple(f"o{n}" for n in range(600))
UNIT = {"unit": "who"}
_EDGES = (datetime.date(1990, 1, 1), datetime.date(2010, 1, 1), datetime.date(2030, 1, 1))
NUMBERS: list[tuple[Any, dict[str, Any]]] = [
    (Tally((Condition("v > 2"),)), {}),
    (Tally((Condition("v * v + 1 > 5 or v / 2 = 1"),)), {}),
    (Tally((Bins("v", (F(0), F(2), F(5, 2), F(50))),)), {}),
    (Tally((Bins("v", (F(0), F(2), F(50)), clipped=False),)), {}),
    (Tally((Steps("v", F(0), F(10), F(1, 2)),)), {}),
    (Tally((Grid("v", F(0), F(10), F(1)),)), UNIT | {"reduce": "sum"}),
    (Tally((Grid("v", F(0), F(10), F(1)),)), UNIT | {"reduce": "mean"}),
    (Tally((Condition("v >= 5"),)), UNIT | {"reduce": {"v": "sum"}}),
]
ASKED: dict[str, list[tuple[Any, dict[str, Any]]]] = {
    "text": [
        (Tally((Condition("v = 'yes' or v < 'no'"),)), {}),
        (Tally((Condition("lower(v) like 'y%' and length(v) < 9"),)), {}),
        (Tally((Options("v", ("yes", "no", "é")),)), {}),
        (Tally((Options("v", ("yes", "no", *MANY)),)), {}),
        (Tally((Options("v", ("yes", "no", *VERY_MANY)),)), {}),
        (Tally((Options("v", ("yes", "no")), Condition("who > 2"))), UNIT),
        (Tally((Condition("who > 2"),)), {"unit": "v"}),
        (Tally((Condition("who > 2"),)), {"part": ("v", "yes")}),
        (KeyTally("v"), {}),
        (KeyTally("v"), UNIT),
    ],
    "whole": [*NUMBERS, (Tally((Options("v", (1, 2, 3)),)), {}), (KeyTally("v"), {})],
    "number": NUMBERS,
    "decimal": NUMBERS,
    "truth": [
        (Tally((Condition("v = true"), Condition("v is null"))), {}),
        (Tally((Options("v", (True, False)),)), UNIT),
    ],
    "date": [
        (Tally((Condition("v >= date '2010-01-01' or year(v) = 2000"),)), {}),
        (Tally((Bins("v", _EDGES),)), {}),
        (Tally((Steps("v", _EDGES[0], _EDGES[2], datetime.timedelta(days=1)),)), UNIT | {"reduce": "max"}),
    ],
    "time": [
        (Tally((Condition("v >= timestamp '2010-01-01 00:00:00' or v is null"),)), {}),
        (Tally((Bins("v", _EDGES),)), UNIT | {"reduce": "min"}),
    ],
}


def tables(kind: str) -> list[tuple[Any, pa.Table]]:
    """One table for each record that the last person may have."""
    others = OTHERS[kind]

    def table(record: Any) -> pa.Table:
        who = [*range(1, len(others) + 1), len(others) + 1]
        return pa.table({"who": pa.array(who, pa.int64()), "v": pa.array([record, *others], ARROW[kind])})

    return [(record, table(record)) for record in (others[0], *ODD[kind])]


def _parquet(table: pa.Table, folder: Path) -> Any:
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def _parts(table: pa.Table, folder: Path) -> Any:
    (folder / "parts").mkdir(exist_ok=True)
    pq.write_table(table[:2], folder / "parts" / "a.parquet")
    pq.write_table(table[2:], folder / "parts" / "b.parquet")
    return folder / "parts"


def _csv(table: pa.Table, folder: Path) -> Any:
    lines = ["who,v"]
    for row in table.to_pylist():
        cell = "" if row["v"] is None else str(row["v"]).lower() if isinstance(row["v"], bool) else str(row["v"])
        lines.append(f'{row["who"]},"{cell}"')
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "t.csv"


def _duckdb(table: pa.Table, folder: Path) -> Any:
    path = folder / "t.db"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
        if table.schema.field("v").type == pa.string():
            connection.execute("ALTER TABLE t ALTER v TYPE VARCHAR COLLATE NOCASE.NOACCENT")
    return f"duckdb:///{path}?table=t"


def _collated(table: pa.Table, folder: Path) -> Any:
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("SET default_collation = 'NOCASE'; CREATE TABLE t AS SELECT * FROM given")
    return connection, "t"


def _far(table: pa.Table) -> pa.Table:
    """Times in seconds, the last of which the engine cannot hold: other tables as they are."""
    if not pa.types.is_timestamp(table["v"].type):
        return table
    seconds = [*range(1, len(table)), 2**62 if table["v"][0].as_py() != NOON else 4]
    return table.set_column(1, "v", pa.array(seconds, pa.int64()).cast(pa.timestamp("s")))


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda table, _: table,
    "dictionary": lambda table, _: table.set_column(1, "v", table["v"].dictionary_encode()),
    "far": lambda table, _: _far(table),
    "polars": lambda table, _: pl.from_arrow(table),
    "pandas": lambda table, _: table.to_pandas(),
    "parquet": _parquet,
    "folder": _parts,
    "csv": _csv,
    "duckdb": _duckdb,
    "default collation": _collated,
}


def outcome(source: Source, tally: Any, people: dict[str, Any]) -> dict[Any, int]:
    counted = count_people(source, tally, People(**people))
    return counted.keys if isinstance(tally, KeyTally) else counted.cells


def check_pairs(opened: list[tuple[Any, Source]], kind: str, share: int = 1, turn: int = 0) -> None:
    """All questions of all records, or one in *share* of them: another part for each *turn*, so that several sources try all."""
    plain = opened[0][1]
    for number, (tally, people) in enumerate(ASKED[kind]):
        if isinstance(tally, KeyTally) and "pandas" in plain.label:
            continue  # refused, whatever the values are
        first = outcome(plain, tally, people)
        for record, source in opened[1 + (number + turn) % share :: share]:
            assert source.schema == plain.schema
            other = outcome(source, tally, people)
            moved = [other.get(cell, 0) - first.get(cell, 0) for cell in first.keys() | other.keys()]
            assert all(abs(number) <= 1 for number in moved), (record, tally)
            assert sum(map(abs, moved)) <= 2, (record, tally)


@pytest.mark.long
@pytest.mark.parametrize("share", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", SOURCES)
def test_one_record_decides_nothing_for_others(name: str, kind: str, share: int, tmp_path: Path) -> None:
    opened = []
    for place, (record, table) in enumerate(tables(kind)):
        (tmp_path / str(place)).mkdir(parents=True)
        opened.append((record, open_source(SOURCES[name](table, tmp_path / str(place)))))
    check_pairs(opened, kind, share, list(SOURCES).index(name))


@pytest.mark.spark
@pytest.mark.parametrize("kind", ODD)
def test_one_record_decides_nothing_for_others_in_spark(spark: Any, kind: str, tmp_path: Path) -> None:
    opened = []
    for place, (record, table) in enumerate(tables(kind)):
        path = tmp_path / f"{place}.parquet"
        pq.write_table(table, path)
        opened.append((record, open_source(spark.read.parquet(str(path)))))
    check_pairs(opened, kind, 4)


POSTGRES = {
    "text": [("text", "text"), ("citext", "text"), ("mild", "text"), ("char(8)", "text")],
    "whole": [("bigint", "whole")],
    "number": [("double precision", "number"), ("numeric", "number"), ("numeric(1000,2)", "number")],
    "date": [("date", "date")],
    "time": [("timestamp", "time"), ("timestamptz", "time")],
}
FAR = {
    "numeric": ["1e400", "-1e400", "1e-400", "NaN"],
    "numeric(1000,2)": ["1e900", "-1e900", "NaN"],
    "double precision": ["Infinity", "NaN", "5e-324"],
    "date": ["infinity", "-infinity", "4713-01-01 BC", "5874897-12-31"],
    "timestamp": ["infinity", "-infinity", "4713-01-01 BC", "294276-12-31"],
    "timestamptz": ["infinity", "-infinity", "294276-12-31"],
}


@pytest.fixture(scope="module")
def odd_server(postgres: PostgresServer) -> str:
    """A database whose sessions take backslashes in text for escapes, and whose collations take letters for one."""
    url = postgres.new_database("pairs")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER DATABASE pairs SET standard_conforming_strings = off")
        connection.execute("ALTER DATABASE pairs SET extra_float_digits = -15")
        for wanted in ("CREATE EXTENSION citext", _MILD):
            try:
                connection.execute(wanted)
            except psycopg.Error:
                continue
    return url


_MILD = "CREATE COLLATION mild (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"


@pytest.mark.long
@pytest.mark.parametrize(("written", "kind"), [pair for pairs in POSTGRES.values() for pair in pairs])
def test_one_record_decides_nothing_for_others_in_postgres(odd_server: str, written: str, kind: str) -> None:
    declared = "text COLLATE mild" if written == "mild" else written
    cast = "text" if written == "mild" else written
    opened: list[tuple[Any, Source]] = []
    records = [OTHERS[kind][0], *(one for one in ODD[kind] if one != LONG), *FAR.get(written, ())]
    with psycopg.connect(odd_server, autocommit=True) as connection:
        for place, record in enumerate(records):
            name = f"t{abs(hash(written))}_{place}"
            try:
                connection.execute(f"CREATE TABLE {name} (who bigint, v {declared})")
            except psycopg.Error:
                pytest.skip(f"this PostgreSQL has no {written}")
            rows = [record, *OTHERS[kind]]
            if "char" in written:
                rows = [row if row is None else row[:8] for row in rows]
            try:
                for who, row in enumerate(rows):
                    connection.execute(f"INSERT INTO {name} VALUES (%s, %s::text::{cast})", (who + 1, row))
            except psycopg.Error:
                continue  # a record that the server itself cannot hold
            opened.append((record, open_source(f"{odd_server}?table={name}")))
    assert len(opened) >= 3
    check_pairs(opened, kind)


def test_quoted_text_is_never_code(odd_server: str) -> None:
    with psycopg.connect(odd_server, autocommit=True) as connection:
        connection.execute("CREATE TABLE secrets (v text); INSERT INTO secrets VALUES ('x')")
        connection.execute("CREATE TABLE asked (v text); INSERT INTO asked VALUES ('no')")
    source = open_source(f"{odd_server}?table=asked")
    attack = "v = '\\' or v = ' or exists (select 1 from secrets) or v = '''"
    assert count_people(source, Tally((Condition(attack),))).counts == (0, 1)


def test_a_connection_that_is_handed_over_is_read_whatever_it_was_told(odd_server: str) -> None:
    """One text beyond Latin-1 made the query fail; a function of the same name read everybody's text."""
    with psycopg.connect(odd_server, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA evil; CREATE TABLE handed (v text, i uuid)")
        connection.execute("CREATE FUNCTION evil.octet_length(text) RETURNS int LANGUAGE sql AS 'SELECT 2000000'")
        connection.execute("INSERT INTO handed VALUES ('no', gen_random_uuid()), ('\u03a9', gen_random_uuid())")
    told = {"row_factory": psycopg.rows.dict_row, "cursor_factory": psycopg.ClientCursor, "autocommit": True}
    with psycopg.connect(odd_server, **told) as connection:
        connection.execute("SET standard_conforming_strings = on; SET client_encoding = LATIN1")
        source = open_source((connection, "handed"))
        connection.execute("SET standard_conforming_strings = off; SET search_path = evil, pg_catalog")
        assert count_people(source, KeyTally("v")).keys == {"no": 1, "\u03a9": 1}
        assert set((count_people(source, KeyTally("i")).keys or {}).values()) == {1}
        first = source.version()
        assert connection.execute("SHOW search_path").fetchone() == {"search_path": "evil, pg_catalog"}
        connection.execute("INSERT INTO public.handed VALUES ('no')")
        assert source.version() != first
        connection.execute("SET client_encoding = SQL_ASCII")
        with pytest.raises(TableError, match="set client_encoding to UTF8"):
            open_source((connection, "handed"))


def test_a_database_in_another_encoding_is_refused_at_opening(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS western")
        connection.execute("CREATE DATABASE western ENCODING 'WIN1252' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    url = postgres.url_of("western")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (v text)")
    with pytest.raises(TableError, match="encoding WIN1252"):
        open_source(f"{url}?table=t")


@pytest.mark.parametrize("odd", [None, "x", 1.5, True, datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)])
@pytest.mark.parametrize("values", [[1, 2, 3], [True, False, True], [NOON, NOON, NOON]])
def test_the_types_of_pandas_are_not_made_from_the_values(values: list[Any], odd: Any) -> None:
    plain, other = pd.DataFrame({"v": [*values, values[0]]}), pd.DataFrame({"v": [*values, odd]})
    first, second = open_source(plain), open_source(other)
    assert first.schema == second.schema
    for text in ("v >= 2", "v = true", "v > timestamp '2020-01-01 00:00:00'", "v = '1'"):
        counts = [count_people(one, Tally((Condition(text),))).counts for one in (first, second)]
        assert abs(counts[0][0] - counts[1][0]) <= 1


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("int64", [10**15, -(10**16), 2**53 - 1, 0, 7]),
        ("uint64", [2**63, 5]),
        ("float32", [0.1, 2.5, -1e30, math.inf, -math.inf]),
        ("datetime64[ns]", ["1969-12-31 23:59:59.999999999", "1960-05-05 12:00:00.000000001", "2024-01-01"]),
        ("datetime64[s]", ["12024-01-01", "-0005-01-01", "2024-01-01 10:00:00"]),
    ],
)
def test_the_texts_of_pandas_cells_do_not_depend_on_how_they_are_kept(dtype: str, values: list[Any]) -> None:
    import numpy as np

    kept = pd.Series(np.array(values, dtype=dtype))
    others = [kept.astype(object), kept.astype("category")]
    others += [kept.astype(float)] if "int" in dtype else []
    texts = [
        count_people(open_source(pd.DataFrame({"v": one}), types={"v": "text"}), KeyTally("v")).keys
        for one in (kept, *others)
    ]
    assert texts[0]
    assert all(other == texts[0] for other in texts)


def test_an_infinity_of_pandas_is_a_number_as_in_every_other_source() -> None:
    cells = [math.inf, 5.0, None, -math.inf, math.nan]
    plain, objects = pd.DataFrame({"v": cells}), pd.DataFrame({"v": cells}, dtype=object)
    for source in (plain, objects, pa.table({"v": pa.array(cells)})):
        opened = open_source(source)
        counted = count_people(opened, Tally((Grid("v", Fraction(0), Fraction(10), Fraction(5)),)))
        assert [counted.cells.get(place, 0) for place in range(4)] == [1, 1, 1, 2]


@pytest.mark.parametrize(
    "values",
    [
        [1.5, 2.0, 10.0**20],
        [10**20, 1],
        np.array(["2024-01-01T10:00:00", "2024-01-02"], "datetime64[s]"),
        np.array([5, 7], "timedelta64[D]"),
        pd.arrays.IntervalArray.from_breaks([0, 1, 2]),
        np.array([1.5, 2.0], np.longdouble),
    ],
    ids=lambda values: str(getattr(values, "dtype", values)),
)
def test_an_odd_object_leaves_the_cells_of_other_people_as_they_are(values: Any) -> None:
    plain = arrow_feed._cells(pd.Series(values)).to_pylist()
    for odd in (None, "x", 1.5, 1j, 10**30, NOON, np.datetime64(2**60, "s"), object()):
        kept = [pd.Series(np.array([*values, odd], dtype=object))]
        kept += [pd.Series([*values, odd])] if isinstance(values, list) else []
        assert all(arrow_feed._cells(one).to_pylist()[:-1] == plain for one in kept), odd


@pytest.mark.parametrize(
    ("dtype", "odd"), [(pa.date32(), 2**31 - 1), (pa.duration("s"), 2**62), (pa.timestamp("s"), 2**62)]
)
def test_a_value_that_python_cannot_hold_is_missing_in_pandas(dtype: Any, odd: int) -> None:
    def frame(first: int) -> pd.DataFrame:
        raw = pa.array([first, 1, 2], pa.int32() if dtype == pa.date32() else pa.int64())
        return pd.DataFrame({"v": pd.Series(pa.chunked_array([raw.view(dtype)]), dtype=pd.ArrowDtype(dtype))})

    asked = Tally((Condition("v = '1970-01-03' or v = '1970-01-01 00:00:02'"),))
    plain, other = (count_people(frame(first), asked).counts for first in (1, odd))
    assert plain == other == ((0, 3) if dtype == pa.duration("s") else (1, 2))


def test_a_decimal_with_a_large_exponent_needs_no_memory() -> None:
    assert len(arrow_feed.cell_text(Decimal("1E+99999999")) or "") < 20
    assert arrow_feed.cell_text(Decimal("1E+20")) == "1" + "0" * 20


def test_dictionaries_of_views_of_texts_are_read() -> None:
    table = pa.table({"v": pa.array(["yes", "no", None], pa.string_view()).dictionary_encode()})
    assert count_people(table, Tally((Condition("v = 'yes'"),))).counts == (1, 2)


@pytest.mark.parametrize("longest", ["yes", "x" * 40, "x" * 41])
@pytest.mark.parametrize("dtype", [pa.string(), pa.large_string(), pa.string_view()])
def test_the_cells_of_a_piece_fit_together(dtype: Any, longest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with limits of a few bytes as with those of 32 bits: cells that are allowed never fail together."""
    monkeypatch.setattr(arrow_feed, "LONGEST_CELL", 40)
    monkeypatch.setattr(arrow_feed, "_MOST_BYTES", 120)
    texts = pa.array([longest, "no", None, *[longest] * 9, "no"], dtype)
    for column in (texts, texts.dictionary_encode()):
        pieces = list(arrow_feed._pieces(pa.record_batch({"v": column})))
        assert sum(map(len, pieces)) == len(texts)
        assert longest == "yes" or max(map(len, pieces)) == 3
        counted = count_people(pa.table({"v": column}), KeyTally("v")).keys
        assert counted == ({"no": 2} if len(longest) > 40 else {"no": 2, longest: 10})


def test_what_takes_its_types_from_records_is_refused(tmp_path: Path) -> None:
    import pyarrow.dataset as datasets

    (tmp_path / "t.csv").write_text("v\n1\n")
    (tmp_path / "region=1").mkdir()
    pq.write_table(pa.table({"v": [1]}), tmp_path / "region=1" / "t.parquet")
    named = datasets.dataset(tmp_path / "region=1", partitioning="hive", partition_base_dir=str(tmp_path))
    for source in (pl.scan_csv(tmp_path / "t.csv"), datasets.dataset(tmp_path / "t.csv", format="csv"), named):
        with pytest.raises(TableError, match="path"):
            open_source(source)


def test_no_value_decides_whether_a_dataset_of_arrow_can_be_read(tmp_path: Path) -> None:
    import pyarrow.compute as pc
    import pyarrow.dataset as datasets

    pq.write_table(pa.table({"v": [1, 2]}), tmp_path / "a.parquet")
    plain = datasets.dataset(tmp_path / "a.parquet")
    assert count_people(plain, Tally((Condition("v = 1"),))).counts[0] == 1
    pq.write_table(pa.table({"v": [1.5, math.nan]}), tmp_path / "b.parquet")
    narrow = datasets.dataset(tmp_path / "a.parquet", schema=pa.schema([("v", pa.int8())]))
    for source in (datasets.dataset(tmp_path), datasets.dataset([narrow, narrow]), narrow):
        with pytest.raises(TableError, match=r"of type .* write all files with the same types"):
            open_source(source)
    with pytest.raises(TableError, match=r"is filtered; .* where"):
        open_source(plain.filter(pc.divide(pc.scalar(1), pc.field("v")) > 0))


def test_files_of_one_table_have_one_type(tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"v": [1.5, math.nan]}), tmp_path / "b.parquet")
    with pytest.raises(TableError, match=r"of type double, which is of type int64 in"):
        open_source(tmp_path)


@pytest.mark.parametrize("odd", ["1", "x", "2024-01-01"])
def test_folder_names_are_text(tmp_path: Path, odd: str) -> None:
    for name in ("1", "2", odd):
        (tmp_path / f"region={name}").mkdir(exist_ok=True)
        pq.write_table(pa.table({"v": [1]}), tmp_path / f"region={name}" / "t.parquet")
    opened = open_source(tmp_path)
    assert opened.schema["region"].kind == "text"
    assert count_people(opened, Tally((Condition("region = '2'"),))).counts[0] == 1


@pytest.mark.parametrize("seconds", [0, 2**40, -(2**40)])
@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_dictionaries_of_times_are_made_safe(unit: str, seconds: int) -> None:
    times = pa.array([0, seconds, None], pa.int64()).cast(pa.timestamp(unit)).dictionary_encode()
    counted = count_people(pa.table({"v": times}), Tally((Condition("v <= timestamp '1970-01-01 00:00:00'"),)))
    assert sum(counted.counts) == 3
    assert counted.counts[0] >= 1


@pytest.mark.parametrize("high", [10**5 - 1, 10**6 - 1])
@pytest.mark.parametrize("name", ["arrow", "parquet", "pandas", "csv", "duckdb"])
def test_cells_have_64_bits(name: str, high: int, tmp_path: Path) -> None:
    wide = pa.table({"who": pa.array([0, high], pa.int64()), "v": pa.array([0, high], pa.int64())})
    steps = [Steps(column, F(0), F(high + 1), F(1)) for column in ("who", "v")]
    cells = count_people(SOURCES[name](wide, tmp_path), Tally(tuple(steps))).cells
    assert cells == {0: 1, high * (high + 2) + high: 1}


def test_the_types_of_duckdb_are_read_by_their_whole_names() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (v UUID, w VARCHAR[], x DECIMAL(5, 2)[], y VARCHAR(9))")
    connection.execute("INSERT INTO t VALUES (uuid(), ['a'], [1.5], 'a'), (uuid(), NULL, NULL, 'b')")
    source = open_source((connection, "t"))
    assert [source.schema[name].kind for name in "vwxy"] == ["text", "other", "other", "text"]
    assert set((count_people(source, KeyTally("v")).keys or {}).values()) == {1}


def test_the_order_of_a_session_does_not_choose_the_groups_of_a_person() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 'a'), (1, 'b'), (1, 'b')) v(who, v)")
    people = People(unit="who", groups_per_person=1)
    for order in ("ASC", "DESC"):
        connection.execute(f"SET default_order = '{order}'")
        assert count_people((connection, "t"), Tally((Options("v", ("a", "b")),)), people).counts == (0, 1, 0)


def test_columns_of_the_same_name_and_wide_numbers_are_read() -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    assert count_people(twice, Tally((Condition("a_2 = 2"),))).counts == (1, 0)
    wide = pl.DataFrame({"v": pl.Series([1, 2**120], dtype=pl.Int128)})
    assert count_people(wide, Tally((Condition("v > 1"),))).counts == (1, 1)


@pytest.mark.parametrize("before", range(12))
def test_where_a_long_line_ends_does_not_depend_on_the_lines_before(
    before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, number in {"_LONGEST_LINE": 16, "_LONGEST_HEADER": 8, "_CHUNK": 4, "_SMALL": 0}.items():
        monkeypatch.setattr(csv_files, name, number)
    cut, kept = "y" * 15 + ",yes", "z" * 12 + ",yes"
    (tmp_path / "t.csv").write_text(f"a,b\n{'x' * before},no\n{cut}\n{kept}\n{cut}")
    assert count_people(tmp_path / "t.csv", Tally((Options("b", ("yes", "no")),))).counts == (1, 1, 2)


@pytest.mark.parametrize("known", [1, 8, 9, 20])
@pytest.mark.parametrize("step", [F(1), F(10**10)])
def test_how_many_people_have_a_value_does_not_decide_whether_a_sum_is_exact(known: int, step: Fraction) -> None:
    table = pa.table({"v": [10.0**15] * known + [None] * (20 - known)})
    cells = count_people(table, Tally((Grid("v", F(0), F(10**15), step),), summed=True)).cells
    assert sum(cells.values()) == 20
    assert cells[int(10**15 / step)] == known


def test_a_view_has_no_version(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    (tmp_path / "other.csv").write_text("v\n1\n")
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE VIEW seen AS SELECT * FROM read_csv('{tmp_path / 'other.csv'}')")
        connection.execute("CREATE TABLE kept (v INTEGER)")
    assert open_source(f"duckdb:///{path}?table=seen").version() is None
    assert open_source(f"duckdb:///{path}?table=kept").version() is not None


TWINS: dict[str, tuple[str, str, Callable[[pytest.MonkeyPatch], None]]] = {
    "text meets a collation": (
        "default collation",
        "text",
        lambda patch: patch.setitem(vars(DUCKDB), "text", "CAST({} AS VARCHAR)"),
    ),
    "a cast that can fail": ("csv", "text", lambda patch: patch.setattr(readings, "parse_predicate", _casting)),
    "numbers of 32 bits": (
        "arrow",
        "whole",
        lambda patch: patch.setitem(vars(DUCKDB), "types", {**DUCKDB.types, "int64": "INTEGER"}),
    ),
    "times that overflow": ("far", "time", lambda patch: patch.setattr(arrow_feed, "safe_times", _as_they_are)),
}


def _casting(text: str, schema: Any) -> Any:
    def build(table: Any) -> Any:
        return Value(f"(CAST({table['v'].text} AS BIGINT) > 0)", "boolean", DUCKDB, table["v"].needs)

    return readings.Predicate(text, ("v",), build)


def _as_they_are(column: Any) -> Any:
    return column.cast(pa.timestamp("us"))


@pytest.mark.long
@pytest.mark.parametrize("twin", TWINS)
def test_wrong_twins_are_noticed(twin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, kind, spoil = TWINS[twin]
    test_one_record_decides_nothing_for_others(name, kind, 1, tmp_path / "right")
    spoil(monkeypatch)
    with pytest.raises((AssertionError, TableError, pa.ArrowInvalid)):
        test_one_record_decides_nothing_for_others(name, kind, 1, tmp_path / "wrong")
