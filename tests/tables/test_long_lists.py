"""Lists of many options are looked up by the embedded engine: the same counts as by hand, whatever the records hold."""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from postgres_tables import write_postgres

from optimaldp.tables import Options, People, Tally, count_people, open_source, readings

OPTIONS = tuple(f"v{number}" for number in range(700))
RECORDS = ["v3", "v699", None, "", "V3", "v700", "v3 ", "ü", "v3", "v0"]
EXPECTED = {0: 1, 3: 2, 699: 1, 700: 6}


def counted(source, options=OPTIONS, people=None):
    return count_people(source, Tally((Options("c", options),)), people).cells


@pytest.fixture
def looked_up(monkeypatch):
    """Fails if a long list is written into a query all the same."""
    monkeypatch.setattr(readings, "_place_in", lambda *_: pytest.fail("the list is in the query"))


@pytest.mark.usefixtures("looked_up")
@pytest.mark.parametrize("kind", ["arrow", "parquet", "csv", "duckdb"])
def test_every_source(kind, tmp_path):
    table = pa.table({"c": RECORDS})
    if kind == "parquet":
        pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
        source = str(tmp_path / "t.parquet")
    elif kind == "csv":
        (tmp_path / "t.csv").write_text("c\n" + "\n".join("" if cell is None else f'"{cell}"' for cell in RECORDS))
        source = str(tmp_path / "t.csv")
    elif kind == "duckdb":
        with duckdb.connect(str(tmp_path / "t.db")) as database:
            database.execute("CREATE TABLE t (c VARCHAR)")
            database.executemany("INSERT INTO t VALUES (?)", [[cell] for cell in RECORDS])
        source = f"duckdb://{tmp_path / 't.db'}?table=t"
    else:
        source = table
    assert counted(source) == EXPECTED
    assert counted(source) == EXPECTED  # a second time: functions may be declared again


@pytest.mark.usefixtures("looked_up")
def test_whole_numbers_of_any_width():
    for dtype in (pa.int8(), pa.int64(), pa.uint32()):
        table = pa.table({"c": pa.array([5, 5, 100, None], dtype)})
        assert counted(table, tuple(range(-600, 10))) == {605: 2, 610: 2}


@pytest.mark.usefixtures("looked_up")
def test_enumerations(tmp_path):
    path = tmp_path / "t.db"
    with duckdb.connect(str(path)) as database:
        listed = ", ".join(f"'{option}'" for option in OPTIONS)
        database.execute(f"CREATE TYPE kinds AS ENUM ({listed}); CREATE TABLE t (c kinds)")
        database.execute("INSERT INTO t VALUES ('v3'), ('v699'), (NULL)")
    assert counted(f"duckdb://{path}?table=t", None) == {3: 1, 699: 1, 700: 1}


@pytest.mark.usefixtures("looked_up")
def test_people_with_several_rows_and_levels():
    table = pa.table(
        {
            "who": [1, 1, 1, 2, 2, 3, None],
            "c": ["v5", "v5", "v6", "else", "v9", None, "v1"],
            "own": ["1", "1", "1", "0.5", "0.5", "0.5", "1"],
        }
    )
    assert counted(table, people=People(unit="who")) == {5: 1, 9: 1, 700: 1}
    levels = count_people(table, Tally((Options("c", OPTIONS),)), People(unit="who", levels="own")).by_level
    assert dict(levels) == {"1": {5: 1}, "0.5": {9: 1, 700: 1}}


@pytest.mark.usefixtures("looked_up")
def test_crossed_with_another_column_and_where():
    table = pa.table({"c": ["v1", "v1", "v2", None], "sex": ["m", "f", "x", "m"], "age": [20, 70, 20, 20]})
    tally = Tally((Options("c", OPTIONS), Options("sex", ("m", "f"))))
    assert count_people(table, tally).cells == {3 * 1 + 0: 1, 3 * 1 + 1: 1, 3 * 2 + 2: 1, 3 * 700 + 0: 1}
    assert counted(table, people=People(where="age < 50")) == {1: 1, 2: 1, 700: 2}


def test_the_list_in_the_query_counts_the_same(monkeypatch):
    values = [f"v{number * 7919 % 1400}" for number in range(3000)]
    table = open_source(pa.table({"c": values}))
    quick = counted(table)
    monkeypatch.setattr(readings, "_MANY_LISTED", 10**6)
    assert counted(table) == quick
    by_hand = Counter(OPTIONS.index(value) if value in OPTIONS else 700 for value in values)
    assert quick == dict(by_hand)


@pytest.fixture(scope="module")
def in_postgres(postgres):
    odd = ["'", '"', "\\", "{", "0", "v3\\", "v3,v0", "null"]
    whole = [3, 3, 5, None, -1, 700, *[0] * (len(RECORDS) + len(odd) - 6)]
    who = list(range(len(whole)))
    return write_postgres(postgres, "long", pa.table({"c": RECORDS + odd, "n": whole, "who": who}), "t")


@pytest.mark.usefixtures("looked_up")
def test_postgres_finds_them_in_one_text(in_postgres):
    expected = EXPECTED | {700: EXPECTED[700] + 8}
    assert counted(in_postgres) == expected
    assert counted(in_postgres, people=People(unit="who")) == expected
    places = count_people(in_postgres, Tally((Options("n", tuple(range(700))),))).cells
    assert places == {0: 12, 3: 2, 5: 1, 700: 3}


@pytest.mark.parametrize("odd", ["it's", 'say "hi"', "back\\slash", "new\nline", "tab\t"])
def test_postgres_lists_names_that_texts_write_in_another_way(in_postgres, odd):
    assert counted(in_postgres, (odd, *OPTIONS[:600])) == {1: 1, 4: 2, 601: 15}
