"""No value of one row decides whether a query fails, how often the data is read, or how the other rows are read."""

from __future__ import annotations

import datetime
import os
import stat
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optimaldp.errors import QuestionError
from optimaldp.tables import Bins, Condition, Options, People, Tally, count_people, engines, open_source
from optimaldp.tables.csv_lines import decoded
from optimaldp.tables.frames import cell_text
from optimaldp.tables.tally import Grid, KeyTally, Steps

NUMBERS = [
    Tally((Condition("v >= 3"),)),
    Tally((Condition("v * v + v / 3 - abs(v) >= round(v, 2)"),)),
    Tally((Condition("v in (1, 2, 3)"),)),
    Tally((Condition("v is null"),)),
    Tally((Bins("v", (Fraction(0), Fraction(3), Fraction(10))),)),
    Tally((Steps("v", Fraction(0), Fraction(10), Fraction(1)),)),
    Tally((Grid("v", Fraction(0), Fraction(10), Fraction(1)),)),
    Tally((Options("v", (1, 2)),)),
    Tally((Options("v", tuple(range(50))),)),
]
DAY, HOUR = datetime.timedelta(days=1), datetime.timedelta(hours=1)
TIMES = [
    Tally((Condition("v >= TIMESTAMP '2020-01-01 00:00:00'"),)),
    Tally((Condition("v between TIMESTAMP '1500-01-01' and TIMESTAMP '3000-01-01'"),)),
    Tally((Condition("year(v) = 2020"),)),
    Tally((Bins("v", (datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1), datetime.datetime(2022, 1, 1))),)),
    Tally((Steps("v", datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2), HOUR),)),
]
DATES = [
    Tally((Condition("v >= DATE '2020-01-01'"),)),
    Tally((Condition("year(v) = 2020"),)),
    Tally((Bins("v", (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), datetime.date(2022, 1, 1))),)),
    Tally((Steps("v", datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), DAY),)),
]
TEXTS: list[Any] = [
    Tally((Condition("v = 'a'"),)),
    Tally((Condition("v like 'a%'"),)),
    Tally((Condition("lower(trim(v)) < 'b' and length(upper(v)) > 0"),)),
    Tally((Options("v", ("a", "b")),)),
    KeyTally("v"),
]


def times(unit: str, zone: str | None = None) -> Callable[[list[int | None]], pa.Array]:
    return lambda values: pa.array(values, pa.int64()).cast(pa.timestamp(unit, tz=zone))


def bytes_as_text(values: list[bytes | None]) -> pa.Array:
    """Text that Arrow did not check."""
    array = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(array), array.buffers())


ODD: dict[str, tuple[Callable[[Any], pa.Array], list[Any], list[Any], list[Any]]] = {
    "whole numbers": (lambda v: pa.array(v, pa.int64()), [1, 5], [2**63 - 1, -(2**63), None], NUMBERS),
    "unsigned": (lambda v: pa.array(v, pa.uint64()), [1, 5], [2**64 - 1, None], NUMBERS),
    "doubles": (
        lambda v: pa.array(v, pa.float64()),
        [1.0, 5.0],
        [float("inf"), -float("inf"), float("nan"), 1e308, 5e-324, -0.0, None],
        NUMBERS,
    ),
    "halves": (lambda v: pa.array(np.array(v, np.float16)), [1.0, 5.0], [float("inf"), float("nan")], NUMBERS),
    "decimals": (
        lambda v: pa.array(v, pa.decimal128(38, 0)),
        [Decimal(1), Decimal(5)],
        [Decimal("9" * 38), Decimal("-" + "9" * 38), None],
        NUMBERS,
    ),
    "small decimals": (
        lambda v: pa.array(v, pa.decimal128(38, 37)),
        [Decimal(1), Decimal(5)],
        [Decimal("9." + "9" * 37), Decimal("1e-37"), None],
        NUMBERS,
    ),
    "dates": (lambda v: pa.array(v, pa.int32()).cast(pa.date32()), [0, 18300], [2**31 - 1, -(2**31), None], DATES),
    "dates in milliseconds": (
        lambda v: pa.array(v, pa.int64()).cast(pa.date64()),
        [0, 18300 * 86_400_000],
        [86_400_000 * 2**36, -86_400_000 * 2**36, None],
        DATES,
    ),
    **{
        f"times in {unit} {zone or ''}": (
            times(unit, zone),
            [0, 1_590_000_000],
            [2**63 - 1, -(2**63), 2**63 - 2, 9_223_372_022_400_000_000, None],
            TIMES if zone is None else [TIMES[0], TIMES[3], TIMES[4]],
        )
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "Europe/Berlin")
    },
    "text": (
        bytes_as_text,
        [b"a", b"b"],
        [b"\xff", b"a\0b", b"", b"\xed\xa0\x80", b"a" * 100_000, "\u0130".encode(), None],
        TEXTS,
    ),
}


def counts(source: Any, tally: Any) -> dict[Any, int]:
    counted = count_people(source, tally)
    return counted.keys if isinstance(tally, KeyTally) else counted.cells


@pytest.mark.long
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("share", [2, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["memory", "parquet"])
def test_an_odd_value_changes_its_own_record_alone(name: str, kind: str, share: int, tmp_path: Path) -> None:
    """The quick half: every value with every question, in memory or in a file."""
    make, usual, odd, tallies = ODD[name]
    if kind == "parquet" and "in s " in name:
        pytest.skip("Parquet has no times in seconds")
    share = 1 if "in s " in name else share

    def opened(values: list[Any]) -> Any:
        table = pa.table({"v": make(values)})
        if kind == "memory":
            return open_source(table)
        pq.write_table(table, tmp_path / "people.parquet")
        return open_source(tmp_path / "people.parquet")

    for number, tally in enumerate(tallies):
        before = counts(opened(usual), tally)
        for value in odd[(number + (kind == "parquet")) % share :: share]:
            after = counts(opened([*usual, value]), tally)
            more = {cell: people - before.get(cell, 0) for cell, people in after.items()}
            assert sum(more.values()) <= 1, (tally, value)
            assert set(more.values()) <= {0, 1}, (tally, value)
            assert set(before) <= set(after), (tally, value)


@pytest.mark.long
@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
@pytest.mark.parametrize("value", [2**62, -(2**63), 2**63 - 1])
def test_times_of_a_database_file_that_the_engine_cannot_compare(unit: str, value: int, tmp_path: Path) -> None:
    """DuckDB keeps such times in columns of their own types, and fails where one does not fit into its usual one."""
    table = pa.table({"v": times(unit)([0, value])})
    with duckdb.connect(str(tmp_path / "people.db")) as database:
        database.register("given", table)
        database.execute("CREATE TABLE people AS FROM given")
    for tally in TIMES:
        assert sum(counts(f"duckdb:///{tmp_path}/people.db?table=people", tally).values()) == 2


def test_whole_numbers_of_128_bits(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "people.db")) as database:
        database.execute("CREATE TABLE people (v HUGEINT)")
        database.execute(f"INSERT INTO people VALUES (1), (5), ({2**127 - 1}), ({-(2**127)}), (NULL)")
    source = f"duckdb:///{tmp_path}/people.db?table=people"
    for tally in NUMBERS:
        assert sum(counts(source, tally).values()) == 5
    assert count_people(source, NUMBERS[4]).counts == (2, 2, 1)


def test_dates_without_an_end(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "people.db")) as database:
        database.execute("CREATE TABLE people (v DATE)")
        database.execute(
            "INSERT INTO people VALUES ('infinity'), ('-infinity'), ('2020-05-05'), ('5877642-06-25 (BC)')"
        )
    for tally in DATES:
        assert sum(counts(f"duckdb:///{tmp_path}/people.db?table=people", tally).values()) == 4


@pytest.mark.parametrize(
    "dtype", [pa.struct([("a", pa.timestamp("s"))]), pa.list_(pa.string()), pa.duration("s")], ids=str
)
def test_columns_on_which_engines_fail_identify_nobody(dtype: Any) -> None:
    table = pa.table({"v": pa.nulls(2, dtype), "w": [1, 2]})
    with pytest.raises(QuestionError, match="cannot serve as unit"):
        count_people(table, Tally((Condition("w = 1"),)), People(unit="v"))


HALF = "\ud800"  # half of a pair of characters: Python keeps it, no encoding does


@pytest.mark.parametrize("dtype", ["object", pd.StringDtype("python")], ids=str)
def test_half_a_character_is_no_text(dtype: Any) -> None:
    frame = pd.DataFrame({"v": pd.Series(["a", HALF, "b", None], dtype=dtype)})
    for tally in TEXTS[:-1]:
        assert sum(counts(frame, tally).values()) == 4
    assert counts(open_source(frame, types={"v": "text"}), KeyTally("v")) == {"a": 1, "b": 1}
    with pytest.raises(QuestionError, match="declare what it is"):
        counts(frame, KeyTally("v"))
    assert cell_text(HALF) is None
    assert cell_text("ä") == "ä"


def test_an_odd_category_does_not_change_the_others() -> None:
    question = Tally((Condition("v > 1"),))
    for values in ([1, 2], [1, 2, "x"], [1, 2, None], [1, 2, 1.5, "2"], [1, 2, HALF]):
        frame = pd.DataFrame({"v": pd.Series(values, dtype="object").astype("category")})
        assert count_people(frame, question).counts[0] == sum(str(v) > "1" and str(v)[0].isdigit() for v in values)


@pytest.mark.long
def test_the_data_is_read_once_whatever_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that failed on one cell and was run again would show it by its time."""
    runs: list[str] = []
    true = engines.DuckdbEngine.run
    monkeypatch.setattr(engines.DuckdbEngine, "run", lambda *rest: (runs.append("run"), true(*rest))[1])
    for values in ([b"a", b"b"], [b"a", b"\xff"], [b"a", None]):
        table = pa.table({"v": bytes_as_text(values)})
        pq.write_table(table, tmp_path / "people.parquet")
        (tmp_path / "people.csv").write_bytes(b"v\n" + b"\n".join(value or b"" for value in values) + b"\n")
        for source in (table, tmp_path / "people.parquet", tmp_path / "people.csv"):
            for tally in TEXTS:
                runs.clear()
                assert sum(counts(source, tally).values()) <= 2
                assert len(runs) == 1


@pytest.mark.parametrize(
    "bad", [(), (0,), (999,), (500, 501), tuple(range(0, 1000, 3))], ids=lambda places: str(places)[:20]
)
def test_each_cell_is_decoded_by_itself(bad: tuple[int, ...]) -> None:
    cells = [b"\xff" if place in bad else f"ä{place}".encode() for place in range(1000)]
    expected = [None if place in bad else f"ä{place}" for place in range(1000)]
    assert decoded(pa.array([*cells, None], pa.binary()), "utf-8").to_pylist() == [*expected, None]


def test_what_does_not_fit_into_memory_goes_where_nobody_else_can_read_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    connection = engines.embedded()
    folder = connection.execute("SELECT current_setting('temp_directory')").fetchone()[0]
    assert Path(folder).resolve() != tmp_path.resolve()
    assert tmp_path.resolve() not in Path(folder).resolve().parents
    if os.name == "posix":
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
