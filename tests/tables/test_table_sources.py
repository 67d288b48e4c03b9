"""Sources: every way to name a table opens the same one, and a wrong name is refused in public words."""

from __future__ import annotations

import glob
import gzip
import os
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from postgres_server import PostgresServer

from optimaldp.errors import OptimalDPError, QuestionError, TableError
from optimaldp.tables import Condition, Options, Tally, count_people, open_source

TABLE = pa.table({"name": ["Ann", "Bob", "Cleo", None], "age": [31, 17, 64, 20], "smokes": ["yes", "no", "yes", "no"]})
ADULT_SMOKERS = Tally((Condition("age >= 18 and smokes = 'yes'"),))


def _write_csv(path: Path) -> Path:
    TABLE.to_pandas().to_csv(path, index=False)
    return path


def _write_parquet(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(TABLE, path)
    return path


def _write_duckdb(path: Path) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.register("given", TABLE)
        connection.execute('CREATE TABLE people AS SELECT * FROM given; CREATE SCHEMA "old one"')
        connection.execute('CREATE TABLE "old one".people AS SELECT * FROM given WHERE age > 18')
    return path


def _connection() -> Any:
    connection = ibis.duckdb.connect()
    connection.con.register("people", TABLE)
    return connection


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: _write_csv(folder / "people.csv"),
        lambda folder: str(_write_csv(folder / "people.csv")),
        lambda folder: _write_parquet(folder / "people.parquet"),
        lambda folder: _write_parquet(folder / "a folder" / "it's.parquet").parent,
        lambda folder: f"glob:{_write_parquet(folder / 'part-1.parquet').parent}/part-*.parquet",
        lambda folder: f"duckdb://{_write_duckdb(folder / 'people.db')}?table=people",
        lambda folder: f"duckdb:///{_write_duckdb(folder / 'people.db')}?table=people",
        lambda folder: TABLE,
        lambda folder: TABLE.to_pandas(),
        lambda folder: pl.from_arrow(TABLE),
        lambda folder: _connection().table("people"),
        lambda folder: (_connection(), "people"),
        lambda folder: open_source(TABLE),
    ],
)
def test_every_way_to_name_a_table_opens_it(tmp_path: Path, make: Any) -> None:
    source = open_source(make(tmp_path))
    assert source.schema.names == ("name", "age", "smokes")
    kinds = ["text", "text" if "CSV" in source.label or "pandas" in source.label else "whole", "text"]
    assert [source.schema[name].kind for name in source.schema] == kinds
    assert count_people(source, ADULT_SMOKERS).counts == (2, 2)


def test_folders_and_globs_count_all_their_files(tmp_path: Path) -> None:
    for part in (1, 2, 3):
        _write_parquet(tmp_path / "parts" / f"year={2000 + part}" / "people.parquet")
    assert count_people(tmp_path / "parts", ADULT_SMOKERS).counts == (6, 6)
    assert count_people(tmp_path / "parts", Tally((Condition("year >= 2002"),))).counts == (8, 4)
    assert count_people(f"glob:{tmp_path}/parts/**/*.parquet", ADULT_SMOKERS).counts == (6, 6)


def test_a_relative_duckdb_file_may_have_three_slashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_duckdb(tmp_path / "people.db")
    monkeypatch.chdir(tmp_path)
    assert count_people("duckdb:///people.db?table=people", ADULT_SMOKERS).counts == (2, 2)
    assert count_people("duckdb:///people.db?table=people&schema=old one", ADULT_SMOKERS).counts == (2, 1)


def test_postgres_schemas_and_enums(postgres: PostgresServer) -> None:
    import psycopg

    url = postgres.new_database("sources")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA clinic; CREATE TYPE clinic.mood AS ENUM ('well', 'ill', 'it''s fine')")
        connection.execute("CREATE TABLE clinic.visits (mood clinic.mood, fee numeric)")
        connection.execute(
            "INSERT INTO clinic.visits VALUES ('ill', 1e400), ('ill', 1e-400), (NULL, 'NaN'), ('well', 2)"
        )
    source = open_source(f"{url.replace('postgresql', 'postgres')}?table=visits&schema=clinic")
    counted = count_people(source, Tally((Options("mood", None),)))
    assert (counted.counts, counted.options) == ((1, 2, 0, 1), ("well", "ill", "it's fine"))
    assert count_people(source, Tally((Options("mood", ("dead", "ill")),))).counts == (0, 2, 2)
    assert count_people(source, Tally((Condition("mood is null or lower(mood) = 'well'"),))).counts == (2, 2)
    assert count_people(source, Tally((Condition("fee >= 1"),))).counts == (2, 2)
    assert count_people(source, Tally((Condition("fee is null or fee / 2 >= 1"),))).counts == (2, 2)


def test_options_come_from_types_and_never_from_data(tmp_path: Path) -> None:
    path = tmp_path / "moods.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('well', 'it''s fine')")
        connection.execute("CREATE TABLE moods (mood mood, ok boolean); INSERT INTO moods VALUES ('it''s fine', true)")
    counted = count_people(f"duckdb:///{path}?table=moods", Tally((Options("mood", None),)))
    assert (counted.counts, counted.options) == ((0, 1, 0), ("well", "it's fine"))
    assert count_people(f"duckdb:///{path}?table=moods", Tally((Options("ok", None),))).options == (False, True)
    enum = pl.DataFrame({"mood": pl.Series(["b", None], dtype=pl.Enum(["a", "b"]))})
    assert count_people(enum, Tally((Options("mood", None),))).counts == (0, 1, 1)
    # These were made from the values, so they are no public list.
    for made_from_data in (
        pd.DataFrame({"mood": pd.Categorical(["a", "b"])}),
        pl.DataFrame({"mood": pl.Series(["a", "b"], dtype=pl.Categorical)}),
        pa.table({"mood": pa.array(["a", "b"]).dictionary_encode()}),
    ):
        with pytest.raises(QuestionError, match="never taken from the data"):
            count_people(made_from_data, Tally((Options("mood", None),)))
        assert count_people(made_from_data, Tally((Options("mood", ("b",)),))).counts == (1, 1)


def test_the_first_line_of_a_csv_holds_the_names_even_if_all_is_text(tmp_path: Path) -> None:
    path = tmp_path / "text.csv"
    path.write_text("name,town\nAnn,Rome\nBob,Oslo\n")
    assert open_source(path).schema.names == ("name", "town")
    path.write_text("name,town\n")
    assert count_people(path, Tally((Condition("town = 'Rome'"),))).counts == (0, 0)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_header_decides_the_delimiter(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "people.csv.gz"
    lines = ['"name, with; all|of them"', "age"], ["a,b;c|d;;;;", "3"], ["x", "4"]
    with gzip.open(path, "wt") as file:
        file.write("\n".join(delimiter.join(f'"{cell}"' for cell in line).replace('""', '"') for line in lines) + "\n")
    assert count_people(path, Tally((Condition("age = 3"),))).counts == (1, 1)


def test_the_version_changes_with_the_file_and_only_with_it(tmp_path: Path) -> None:
    path = _write_csv(tmp_path / "people.csv")
    before = open_source(path).version()
    assert before is not None
    assert open_source(path).version() == before
    os.utime(path, ns=(1, 1))
    assert open_source(path).version() not in (before, None)
    database = _write_duckdb(tmp_path / "people.db")
    here, there = (open_source(f"duckdb:///{database}?table=people{more}") for more in ("", "&schema=old one"))
    assert here.version() != there.version()


@pytest.mark.parametrize(
    "make", [lambda t: t, lambda t: t.to_pandas(), pl.from_arrow], ids=["arrow", "pandas", "polars"]
)
def test_the_version_of_a_table_in_memory_is_its_content(make: Any) -> None:
    other = TABLE.set_column(1, "age", pa.array([31, 17, 64, 21]))
    halves = pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)])
    first, again, changed, cut = (open_source(make(table)).version() for table in (TABLE, TABLE, other, halves))
    assert first is not None
    assert first == again == cut
    assert changed != first
    assert open_source(make(TABLE.rename_columns(["a", "b", "c"]))).version() != first


def _empty_folder(folder: Path) -> Path:
    (folder / "nothing").mkdir()
    return folder / "nothing"


def _file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: folder / "missing.csv", "does not exist"),
        (lambda folder: f"glob:{folder}/*.csv", "matches no file"),
        (lambda folder: f"{folder}/*.csv", "if it is a pattern, write glob:"),
        (lambda folder: _empty_folder(folder), "folder without CSV or Parquet"),
        (lambda folder: _file(folder, "notes.docx", "x"), "neither a CSV nor a Parquet file"),
        (lambda folder: _file(folder, "empty.csv", ""), "not even a header line"),
        (lambda folder: _file(folder, "text.parquet", "hello"), "could not be opened"),
        (lambda folder: "duckdb:///missing.db?table=t", "does not exist"),
        (lambda folder: f"duckdb:///{_write_duckdb(folder / 'people.db')}", "names no table"),
        (lambda folder: f"duckdb:///{_write_duckdb(folder / 'people.db')}?table=persons", "does not exist"),
        (lambda folder: f"duckdb:///{_file(folder, 'people.db', 'hello')}?table=people", "could not be opened"),
        (lambda folder: 3, "not a table"),
        (lambda folder: ["a.csv"], "not a table"),
        (lambda folder: pd.Series([1]), "not a table"),
        (lambda folder: (_connection(), "persons"), "could not be opened"),
    ],
)
def test_what_cannot_be_opened_is_refused_in_public_words(tmp_path: Path, make: Any, words: str) -> None:
    with pytest.raises(TableError) as caught:
        open_source(make(tmp_path))
    assert words in str(caught.value)


def test_mixed_folders_are_refused(tmp_path: Path) -> None:
    _write_csv(tmp_path / "people.csv")
    _write_parquet(tmp_path / "people.parquet")
    with pytest.raises(TableError, match="several formats"):
        open_source(tmp_path)


def test_passwords_are_never_shown() -> None:
    with pytest.raises(OptimalDPError) as caught:
        open_source("postgres://steward:hunter2@127.0.0.1:1/base?table=t&sslpassword=hunter3")
    assert "steward" in str(caught.value)
    assert "hunter" not in str(caught.value) + repr(vars(caught.value))


def test_types_are_declared_for_columns_of_text(tmp_path: Path) -> None:
    for source in (TABLE, _write_parquet(tmp_path / "people.parquet")):
        with pytest.raises(TableError, match="holds whole numbers already"):
            open_source(source, types={"age": "number"})
        assert open_source(source, types={"name": "number"}).schema["name"].kind == "real"
    path = _write_csv(tmp_path / "people.csv")
    with pytest.raises(TableError, match="not a type"):
        open_source(path, types={"age": "drop table"})
    with pytest.raises(QuestionError, match="not a column"):
        open_source(path, types={"agee": "whole"})


def test_a_path_that_exists_is_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, name in enumerate(("a[1]", "a1", "b*", "bc", "q?", "qx")):
        table = pa.table({"number": [number], "name": [name]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
        table.to_pandas().to_csv(tmp_path / f"{name}.csv", index=False)
    for number, name in enumerate(("a[1]", "a1", "b*", "bc", "q?", "qx")):
        for ending in ("csv", "parquet"):
            wanted = Tally((Condition(f"number = {number}"),))
            assert count_people(tmp_path / f"{name}.{ending}", wanted).counts == (1, 0)
            if glob.has_magic(name):
                assert sum(count_people(open_source(tmp_path / f"{name}.{ending}", glob=True), wanted).counts) >= 1
    (tmp_path / "glob:x.csv").write_text("number\n7\n")
    monkeypatch.chdir(tmp_path)
    assert count_people("glob:x.csv", Tally((Condition("number = 7"),))).counts == (1, 0)
    assert sum(count_people("glob:?[1x].csv", Tally((Condition("number = 1"),))).counts) == 2


def test_engines_that_are_not_supported_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "people.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE people (name TEXT)")
    connection = ibis.sqlite.connect(path)
    for given in (connection.table("people"), (connection, "people"), f"sqlite://{path}?table=people"):
        with pytest.raises(TableError) as caught:
            open_source(given)
        assert "sqlite" in str(caught.value)
        assert "DuckDB, PostgreSQL, Spark" in str(caught.value)
    for name in ("mssql", "oracle", "clickhouse", "nonsense"):
        with pytest.raises(TableError, match=name):
            open_source(f"{name}://steward:hunter2@host/base?table=t")


def test_delimiter_encoding_and_glob_are_for_files(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="files only"):
        open_source(TABLE, delimiter=";")
    with pytest.raises(TableError, match="files only"):
        open_source("duckdb:///x.db?table=t", encoding="latin-1")
    with pytest.raises(TableError, match="CSV files only"):
        open_source(_write_parquet(tmp_path / "people.parquet"), encoding="latin-1")


def test_ibis_expressions_are_tables(tmp_path: Path) -> None:
    table = ibis.duckdb.connect().read_parquet(_write_parquet(tmp_path / "t.parquet"))
    in_memory = ibis.memtable(TABLE.to_pandas())
    for given in (table.filter(table.age > 0), table.mutate(older=table.age + 1), in_memory, in_memory.limit(4)):
        opened = open_source(given)
        assert opened.label == "Ibis expression"
        assert count_people(opened, ADULT_SMOKERS).counts == (2, 2)


def test_an_ibis_column_is_not_a_table() -> None:
    with pytest.raises(TableError, match="is not a table"):
        open_source(ibis.memtable(TABLE.to_pandas()).age)


def test_what_can_be_read_only_once_is_refused() -> None:
    with pytest.raises(TableError, match="only once"):
        open_source(TABLE.to_reader())
    batch = TABLE.combine_chunks().to_batches()[0]
    assert count_people(batch, ADULT_SMOKERS).counts == (2, 2)


def test_arrow_datasets_are_streamed(tmp_path: Path) -> None:
    dataset = pyarrow.dataset.dataset(_write_parquet(tmp_path / "people.parquet"))
    source = open_source(dataset)
    for _ in range(2):
        assert count_people(source, ADULT_SMOKERS).counts == (2, 2)


def test_large_options_of_a_csv_are_not_rounded(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("id\n9007199254740992\n9007199254740993\n")
    with pytest.raises(QuestionError, match="told from its neighbours"):
        count_people(path, Tally((Options("id", (9007199254740993,)),)))
    assert count_people(path, Tally((Options("id", ("9007199254740993",)),))).counts == (1, 1)
