"""The last value that fits and the first that does not, and files whose pieces end in the most awkward places."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from optimaldp.errors import QuestionError, TableError
from optimaldp.tables import (
    Condition,
    KeyTally,
    Options,
    People,
    Steps,
    Tally,
    count_people,
    counting,
    csv_files,
    grammar,
    plan_counting,
)
from optimaldp.tables.csv_files import CsvFiles, open_csv
from optimaldp.tables.csv_lines import cut
from optimaldp.tables.opening import open_source
from optimaldp.tables.readings import MOST_BINS
from optimaldp.tables.readings import check as check_steps
from optimaldp.tables.sql import DUCKDB
from optimaldp.tables.terms import MANY

F = Fraction


def files_of(path: Path) -> CsvFiles:
    engine: Any = open_csv([str(path)], "t").engine
    return engine.fill.__self__  # type: ignore[no-any-return]


def cells(path: Path) -> list[tuple[str | None, ...]]:
    files = files_of(path)
    table = files.reader(files.columns).read_all()
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


@pytest.mark.parametrize("length", [20, 21, 26, 36])
def test_a_line_that_is_cut_off_ends_where_the_next_piece_begins_with_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    """The line feed is the first byte of a piece: the lines behind it in that piece are records of their own."""
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"x" * length + b"\nn,1\nm,2\n")
    monkeypatch.setattr(csv_files, "_CHUNK", 10)
    monkeypatch.setattr(csv_files, "_LONGEST_HEADER", 10)
    monkeypatch.setattr(csv_files, "_LONGEST_LINE", 20)
    assert cells(tmp_path / "t.csv") == [("m", "2"), ("n", "1"), ("x" * 20, None)]


@pytest.mark.parametrize(
    ("text", "records", "odd"),
    [
        (b"a,b\nc,d\n", 2, ()),
        (b'"a",b\n"c",d\n', 2, ()),
        (b'5" pipe,b\n', 0, (b'5" pipe,b',)),
        (b'a,b\n5" pipe,b\r\n"c",d\n', 2, (b'5" pipe,b',)),
    ],
)
def test_lines_are_counted_where_they_are_cut(text: bytes, records: int, odd: tuple[bytes, ...]) -> None:
    lines = cut(text, b",", [0])
    assert (lines.records, lines.odd) == (records, odd)
    assert [len(column.start) for column in lines.columns] == [records]


def test_every_record_is_a_question_with_two_answers() -> None:
    source = open_source(pa.table({"x": [1, 2, None]}))
    tally = Tally((Condition("*"), Options("x", (1,))))
    assert plan_counting(source, tally).shape == tally.shape == (2, 2)
    assert count_people(source, tally).cells == {0: 1, 1: 2}


def test_more_cells_by_level_than_a_query_can_be_limited_to() -> None:
    source = open_source(pa.table({"x": [0, 3], "e": [1, 2]}))
    wide, few = Steps("x", F(0), F(2**50), F(1)), Options("x", (0, 3))
    tally = Tally((wide, few, few, few))
    assert 1000 * tally.size > 2**63 > tally.size
    counted = count_people(source, tally, People(levels="e"))
    assert [sum(each.values()) for _, each in counted.by_level or ()] == [1, 1]


def test_most_bins() -> None:
    assert MOST_BINS == 2**50
    check_steps(F(0), F(2**50), F(1), "x")
    with pytest.raises(QuestionError, match="more than 2\\^50 bins"):
        check_steps(F(0), F(2**50 + 1), F(1), "x")


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_a_long_list_is_checked_to_its_last_number(number: int) -> None:
    """A short list is written into the query number by number; a long one is handed over whole."""
    source = open_source(pa.table({"x": [1]}))
    longest = tuple(range(MANY))
    fits = number - 1 if number > 0 else number + 1
    assert plan_counting(source, Tally((Options("x", (*longest, fits)),))).size == MANY + 2
    with pytest.raises(QuestionError, match="does not fit into 64 bits"):
        plan_counting(source, Tally((Options("x", (*longest, number)),)))


@pytest.mark.parametrize(
    ("values", "option"),
    [([1], "2020-02-29"), ([1.5], "2020-02-29"), ([date(2020, 2, 29)], 20200229), ([date(2020, 2, 29)], True)],
    ids=str,
)
def test_an_option_is_of_the_kind_of_its_column(values: list[Any], option: Any) -> None:
    source = open_source(pa.table({"x": values}))
    with pytest.raises(QuestionError, match="is not an option of column x"):
        plan_counting(source, Tally((Options("x", (option,)),)))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("x >= 0.1 + 0.2", [False, True]),
        ("x = 0.1 + 0.2", [False, True]),
        ("x >= 0.1 * 3", [False, True]),
        ("x - 0.1 >= 0.2", [False, True]),
        ("x <= 0.9 / 3", [True, False]),
        ("x > 0.7 - 0.4", [True, True]),
        ("x in (0.3)", [True, False]),
    ],
)
def test_numbers_in_a_condition_are_doubles_in_both_ways_of_writing_a_query(
    condition: str, holds: list[bool], tmp_path: Path
) -> None:
    """As decimals 0.1 + 0.2 is 0.3: a text file and a table in memory would be counted differently."""
    numbers = [0.3, 0.30000000000000004]
    assert [
        bool(eval(condition.replace(" = ", " == ").replace("in", "=="), {"x": x})) for x in numbers
    ] == holds  # as Python has it
    for x, expected in zip(numbers, holds, strict=True):
        (tmp_path / "t.csv").write_text(f"x\n{x!r}\n")
        for source in (str(tmp_path / "t.csv"), pa.table({"x": [x]})):
            assert count_people(source, Tally((Condition(condition),))).counts == ((1, 0) if expected else (0, 1))


@pytest.mark.parametrize(
    ("value", "dtype", "name"),
    [
        (0.1, "float64", "DOUBLE"),
        (0.30000000000000004, "float64", "DOUBLE"),
        (-2.0, "float64", "DOUBLE"),
        (1e-90, "float64", "DOUBLE"),
        (5, "int64", "BIGINT"),
        (True, "boolean", "BOOLEAN"),
        ("it's", "string", "VARCHAR"),
    ],
)
def test_what_is_written_into_a_query_has_the_type_that_it_says(value: Any, dtype: str, name: str) -> None:
    """DuckDB takes a bare 0.1 for a decimal and a bare 5 for 32 bits, whose sums are others and may not fit."""
    written = DUCKDB.literal(value)
    assert written.dtype == dtype
    bound = {need.name: need.value for need in written.needs if not isinstance(need, str)}
    with duckdb.connect() as engine:
        row = engine.execute(f"SELECT TYPEOF({written.text}), {written.text}", bound).fetchone()
    assert row == (name, value)


def test_as_many_cells_as_63_bits_can_number() -> None:
    source = open_source(pa.table({"x": [1]}))

    def cells(second: int) -> Tally:
        return Tally((Steps("x", F(0), F(2**50 - 1), F(1)), Steps("x", F(0), F(second - 1), F(1))))

    assert plan_counting(source, cells(2**12)).size == 2**62
    with pytest.raises(QuestionError, match="more than 2\\^62 cells"):
        plan_counting(source, cells(2**12 + 1))


def test_keys_are_not_counted_by_conditions() -> None:
    source = open_source(pa.table({"x": ["a", "b"]}))
    assert not plan_counting(source, KeyTally("x")).filtered
    assert plan_counting(source, Tally((Condition("x = 'a'"),) * 3)).filtered
    assert not plan_counting(source, Tally((Condition("x = 'a'"),) * 4)).filtered


def test_a_long_line_of_many_pieces_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cut off is longer than any record: a line of 100,000 bytes is none of that."""
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"x" * 100_000 + b",1\nn,2\n")
    monkeypatch.setattr(csv_files, "_CHUNK", 5000)
    monkeypatch.setattr(csv_files, "_LONGEST_HEADER", 10)
    assert cells(tmp_path / "t.csv") == [("n", "2"), ("x" * 100_000, "1")]


@pytest.mark.parametrize(
    ("kind", "low", "step", "fits"),
    [
        (pa.timestamp("us"), datetime(2020, 1, 1), timedelta(seconds=1), True),
        (pa.timestamp("us"), datetime(2020, 1, 1), timedelta(seconds=3), True),
        (pa.timestamp("us"), datetime(2020, 1, 1), timedelta(seconds=1.5), True),
        (pa.timestamp("us"), datetime(2020, 1, 1, 0, 0, 0, 500_000), timedelta(seconds=1), True),
        (pa.date32(), date(2020, 1, 1), timedelta(days=1), True),
        (pa.date32(), date(2020, 1, 1), timedelta(hours=36), False),
    ],
    ids=str,
)
def test_bins_of_microseconds_and_whole_days(kind: Any, low: Any, step: timedelta, fits: bool) -> None:
    source = open_source(pa.table({"x": pa.array([low], kind)}))
    tally = Tally((Steps("x", low, low + 4 * step, step),))
    if fits:
        assert plan_counting(source, tally).shape == (5,)
    else:
        with pytest.raises(QuestionError, match="whole days"):
            plan_counting(source, tally)


@pytest.mark.parametrize(
    ("line", "first"),
    [(b'"a"\rx,b', "a\rx"), (b'"a"\r\rx', "a\r\rx"), (b'"a"\r', "a"), (b'"a" \r', "a "), (b',"a"', None)],
)
def test_a_carriage_return_ends_a_line_only_before_its_line_feed(
    tmp_path: Path, line: bytes, first: str | None
) -> None:
    (tmp_path / "t.csv").write_bytes(b'a,b\n"p",q\n' + line + b"\n")
    assert {row[0] for row in cells(tmp_path / "t.csv")} == {"p", first}
    assert files_of(tmp_path / "t.csv").few(["a"]) == [["p", first]]


@pytest.mark.parametrize("options", [2, 200])
def test_no_query_by_level_is_limited_below_all_cells_of_all_levels(options: int) -> None:
    source = open_source(pa.table({"x": [1], "e": [1]}))
    plan = plan_counting(source, Tally((Options("x", tuple(range(options))),)), People(levels="e"))
    limit = (counting.MOST_LEVELS + 1) * (options + 1)
    assert counting._query(source.table, plan).text.endswith(f"LIMIT {limit})")


def test_a_predicate_that_is_as_long_as_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "_LONGEST", 10)
    assert grammar.parse("x = 1".ljust(10)) == grammar.parse("x = 1")
    with pytest.raises(QuestionError, match="is longer than 10 characters"):
        grammar.parse("x = 1".ljust(11))


@pytest.mark.parametrize("mark", [b"", b'"'], ids=["bare", "quoted"])
def test_lines_may_end_with_two_bytes(tmp_path: Path, mark: bytes) -> None:
    one = mark + b"1" + mark
    (tmp_path / "t.csv").write_bytes(b"a,b\r\n" + one + b",2\r\n3," + one + b"\r\n,\r\n\r\n" + one + b"\r\n")
    records = [("1", "2"), ("3", "1"), (None, None), (None, None), ("1", None)]
    assert cells(tmp_path / "t.csv") == sorted(records, key=repr)
    assert list(zip(*files_of(tmp_path / "t.csv").few(["a", "b"]) or ())) == records


def test_whole_numbers_of_128_bits_are_not_taken_for_decimals(tmp_path: Path) -> None:
    """They are doubles, like everything that is wider than 64 bits."""
    with duckdb.connect(str(tmp_path / "t.db")) as engine:
        engine.execute(
            f"CREATE TABLE t (x HUGEINT); INSERT INTO t VALUES ({-(2**126)}), (-1), (0), (3), (4), ({2**126}), (NULL)"
        )
    tally = Tally((Steps("x", F(0), F(4), F(1)),))
    assert count_people(f"duckdb://{tmp_path / 't.db'}?table=t", tally).cells == {0: 3, 3: 3, 4: 1}


def test_as_many_readings_as_a_tally_may_have() -> None:
    source, everybody = open_source(pa.table({"x": [1]})), Condition("*")
    assert plan_counting(source, Tally((everybody,) * 20)).size == 2**20
    for number in (0, 21):
        with pytest.raises(QuestionError, match="between 1 and 20"):
            plan_counting(source, Tally((everybody,) * number))


def test_as_many_levels_as_a_column_may_have() -> None:
    thousand: dict[Any, dict[int, list[int]]] = {level: {0: [1]} for level in range(1000)}
    assert len(counting._named_levels(thousand, "e")) == 1000
    with pytest.raises(TableError, match="more than 1000 levels"):
        counting._named_levels(thousand | {1000: {0: [1]}}, "e")
