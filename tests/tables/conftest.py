"""The engines that every table test can run on. Each opens the same small table."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conformance_cases import arrow_table
from postgres_server import PostgresServer, postgres_server, why_missing
from postgres_tables import write_postgres

from optimaldp.tables import Source, open_source


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    reason = why_missing()
    if reason:
        pytest.skip(reason)
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A local Spark with one worker thread."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed (extra: spark)")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not on this machine")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = sql.SparkSession.builder.master("local[1]").appName("optimaldp tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def _parquet(folder: Path) -> Path:
    path = folder / "survey.parquet"
    pq.write_table(arrow_table(), path)
    return path


def _duckdb_file(folder: Path) -> str:
    import duckdb

    path = folder / "survey.db"
    survey = arrow_table()
    with duckdb.connect(str(path)) as connection:
        connection.register("given", survey)
        connection.execute("CREATE TABLE survey AS SELECT * FROM given")
    return f"duckdb:///{path}?table=survey"


ENGINES = ["memory", "parquet", "duckdb-file", "postgres", pytest.param("spark", marks=pytest.mark.spark)]


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Source:
    """The table of :mod:`conformance_cases`, on each engine in turn."""
    folder = tmp_path_factory.mktemp("engine")
    if request.param == "memory":
        return open_source(arrow_table())
    if request.param == "parquet":
        return open_source(_parquet(folder))
    if request.param == "duckdb-file":
        return open_source(_duckdb_file(folder))
    if request.param == "postgres":
        return open_source(write_postgres(request.getfixturevalue("postgres"), "tables", arrow_table(), "Survey"))
    return open_source(request.getfixturevalue("spark").read.parquet(str(_parquet(folder))))
