"""Values on the very edge of a bin, a hair beside it and at the end of what a type can hold, against exact arithmetic."""

from __future__ import annotations

import gzip
import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import plain
import pyarrow as pa
import pytest

import optimaldp as odp
from optimaldp.errors import QuestionError, TableError
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
    counting,
    plan_counting,
)
from optimaldp.tables.csv_files import open_csv
from optimaldp.tables.grammar import parse
from optimaldp.tables.opening import open_source

F = Fraction
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
LEAST, GREATEST = -(2**63), 2**63 - 1


def _around(*edges: float) -> list[float]:
    return [x for edge in edges for x in (math.nextafter(edge, -math.inf), edge, math.nextafter(edge, math.inf))]


def _column(name: str, values: list[Any], kind: Any = None) -> tuple[Source, list[dict[str, Any]]]:
    return open_source(pa.table({name: pa.array(values, kind)})), [{name: value} for value in values]


WHOLE = [None, LEAST, LEAST + 1, -(2**62), -7, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 100, 2**62, GREATEST - 1, GREATEST]
UNSIGNED = [None, 0, 1, 2**63 - 1, 2**63, 2**63 + 4, 2**63 + 5, 2**64 - 2, 2**64 - 1]
REAL = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    *_around(-0.3, -0.1, 0.0, 0.1, 0.2, 0.3, 0.7, 1.0, 2.5),
    1e300,
    -1e300,
]
MONEY = [
    None,
    *(Decimal(text) for text in ("-99999999.99", "-0.01", "0.00", "0.01", "0.33", "0.34", "0.66", "0.67", "99.99")),
]
HUGE = [None, *(Decimal(sign + "9" * 36 + tail) for sign in ("", "-") for tail in ("9.9", "9.8")), Decimal("0.0")]
LONG = [None, *(Decimal(f"{sign}12345678901234567890.12345678901234567{last}") for sign in ("-", "") for last in "987")]
DATES = [None, *(date(2000, 2, 27) + k * DAY for k in range(9)), date(1, 1, 1), date(9999, 12, 31)]
TIMES = [
    None,
    *(datetime(2000, 1, 1) + k * SECOND / 2 for k in range(-3, 9)),
    datetime(1900, 1, 1),
    datetime(2200, 1, 1),
]


@pytest.mark.parametrize(
    ("values", "kind", "reading"),
    [
        (WHOLE, None, Steps("x", F(0), F(6), F(1))),
        (WHOLE, None, Steps("x", F(-2), F(7), F(3))),
        (WHOLE, None, Steps("x", F(1, 2), F(7, 2), F(1))),
        (WHOLE, None, Steps("x", F(0), F(3), F(1, 2))),
        (WHOLE, None, Steps("x", F(0), F(2**62 - 1), F(2**62 - 1))),
        (WHOLE, None, Steps("x", F(-(2**61) + 1), F(1), F(2**59))),
        (WHOLE, None, Steps("x", F(0), F(3, 2**62 - 1), F(1, 2**62 - 1))),
        (WHOLE, None, Grid("x", F(0), F(6), F(2))),
        (WHOLE, None, Bins("x", (F(0), F(1), F(5, 2), F(6)))),
        (WHOLE, None, Bins("x", (F(-(2**70)), F(LEAST), F(0), F(GREATEST), F(2**70)))),
        (WHOLE, None, Bins("x", (F(-(2**80)), F(-(2**70)), F(2**70), F(2**80)))),
        (WHOLE, None, Options("x", (LEAST, -1, 0, GREATEST))),
        (UNSIGNED, pa.uint64(), Bins("x", (F(-(2**80)), F(-1), F(0), F(2**62), F(2**80)))),
        (REAL, pa.float64(), Steps("x", F(-3, 10), F(3, 10), F(1, 10))),
        (REAL, pa.float64(), Steps("x", F(0), F(1), F(1))),
        (REAL, pa.float64(), Steps("x", F(1, 10), F(5, 2), F(1, 5))),
        (REAL, pa.float64(), Grid("x", F(0), F(1), F(1, 5))),
        (REAL, pa.float64(), Bins("x", (F(-3, 10), F(1, 10), F(3, 10), F(1)))),
        (MONEY, pa.decimal128(10, 2), Steps("x", F(0), F(1), F(1, 3))),
        (MONEY, pa.decimal128(10, 2), Steps("x", F(-1, 100), F(7, 10) - F(1, 100), F(1, 100))),
        (MONEY, pa.decimal128(10, 2), Steps("x", F(0), F(1), F(1, 1000))),
        (MONEY, pa.decimal128(10, 2), Bins("x", (F(0), F(1, 3), F(2, 3), F(100)))),
        (MONEY, pa.decimal128(10, 2), Bins("x", (F(-(10**50)), F(0), F(10**50)))),
        (HUGE, pa.decimal128(38, 1), Bins("x", (F(-(10**50)), F(-(10**37)), F(0), F(10**37) - F(1, 10), F(10**37), F(10**50)))),
        (LONG, pa.decimal128(38, 18), Bins("x", (F(-(10**20)), F(LONG[2]), F(LONG[5]), F(10**20)))),
        (MONEY, pa.decimal128(38, 18), Steps("x", F(0), F(1), F(1, 3))),
        (DATES, pa.date32(), Steps("x", date(2000, 2, 28), date(2000, 3, 6), DAY)),
        (DATES, pa.date32(), Steps("x", date(2000, 2, 28), date(2000, 3, 5), 3 * DAY)),
        (TIMES, pa.timestamp("us"), Steps("x", datetime(2000, 1, 1), datetime(2000, 1, 1) + 3 * SECOND, SECOND)),
        (TIMES, pa.timestamp("us"), Steps("x", datetime(2000, 1, 1), datetime(2000, 1, 1) + 4 * SECOND, 2 * SECOND)),
    ],
    ids=str,
)  # fmt: skip
def test_edges_are_those_of_exact_arithmetic(values: list[Any], kind: Any, reading: Any) -> None:
    source, rows = _column("x", values, kind)
    tally = Tally((reading,))
    assert count_people(source, tally).cells == plain.counted(tally, rows, People(), {})


@pytest.mark.parametrize(
    ("kind", "reading", "fits"),
    [
        (pa.int64(), Steps("x", F(0), F(2**50), F(1)), True),
        (pa.int64(), Steps("x", F(0), F(2**50 + 1), F(1)), False),
        (pa.int64(), Steps("x", F(0), F(2**62), F(2**62)), False),
        (pa.int64(), Steps("x", F(-(2**61)), F(0), F(2**59)), False),
        (pa.int64(), Steps("x", F(-(2**61) + 1), F(1), F(2**59)), True),
        (pa.int64(), Steps("x", F(0), F(3, 2**62), F(1, 2**62)), False),
        (pa.float64(), Steps("x", F(0), F(2**51 - 1), F(2**51 - 1)), True),
        (pa.float64(), Steps("x", F(0), F(2**51), F(2**51)), False),
        (pa.int64(), Options("x", (GREATEST, LEAST)), True),
        (pa.int64(), Options("x", (GREATEST + 1,)), False),
        (pa.int64(), Options("x", (LEAST - 1,)), False),
        (pa.float64(), Options("x", (2**53, -(2**53))), True),
        (pa.float64(), Options("x", (2**53 + 1,)), False),
        (pa.float64(), Options("x", (2**63,)), False),
        (pa.int64(), Bins("x", (F(1),)), False),
        (pa.int64(), Bins("x", (F(1), F(2))), True),
        (pa.int64(), Bins("x", (F(1), F(1))), False),
        (pa.int64(), Bins("x", (F(1), F(3), F(2))), False),
        (pa.int64(), Options("x", ()), False),
        (pa.int64(), Options("x", (1, 1)), False),
        (pa.int64(), Options("x", (1, "a")), False),
    ],
    ids=str,
)
def test_what_the_engine_can_hold_is_accepted_up_to_the_last_number(kind: Any, reading: Any, fits: bool) -> None:
    source, _ = _column("x", [], kind)
    if fits:
        assert plan_counting(source, Tally((reading,))).size == reading.size
        assert count_people(source, Tally((reading,))).cells == {}
    else:
        with pytest.raises(QuestionError):
            plan_counting(source, Tally((reading,)))


def test_a_mean_of_whole_numbers_rounds_half_up() -> None:
    rows = [
        {"id": person, "x": value}
        for person, values in enumerate(
            [(0, 1), (1, 2), (0, 0, 1), (0, 1, 1), (3, 3, 4, 4), (None, 2), (None,), (-9, 9)]
        )
        for value in values
    ]
    tally, people = Tally((Grid("x", F(0), F(5), F(1)),)), People(unit="id", reduce="mean")
    source = open_source(pa.Table.from_pylist(rows, schema=pa.schema({"id": pa.int64(), "x": pa.int64()})))
    assert count_people(source, tally, people).cells == plain.counted(tally, rows, people, {})


def test_levels_that_are_all_in_use_are_counted_whole_and_one_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_LEVELS", 60)
    tally, people = Tally((Options("v", ("a", "b")), Condition("v = 'a'"))), People(levels="e")

    def table(levels: int) -> pa.Table:
        return pa.Table.from_pylist([{"v": v, "e": e} for e in range(levels) for v in ("a", "b", None)])

    counted = count_people(table(60), tally, people)
    assert dict(counted.by_level or ()) == {str(e): {0: 1, 3: 1, 5: 1} for e in range(60)}
    with pytest.raises(TableError, match="more than 60 levels"):
        count_people(table(61), tally, people)


def test_the_longest_predicate_is_read_and_nothing_beyond() -> None:
    assert parse("x = 1".ljust(1_000_000)) == parse("x = 1")
    with pytest.raises(QuestionError, match="is longer than 1000000 characters"):
        parse("x = 1".ljust(1_000_001))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("x = 1 -- y", "holds a comment"),
        ("x = 1 /* y */", "holds a comment"),
        ("x = 1; y = 2", "more than one expression"),
        ("x = (1", "Expecting ) (column 6)"),
        ("x =", "something is missing (column 3)"),
        ("x = 'a", "it cannot be read"),
    ],
)
def test_what_is_no_expression_is_told_where(text: str, words: str) -> None:
    with pytest.raises(QuestionError) as caught:
        parse(text)
    assert words in str(caught.value)


def test_an_expression_that_is_nested_too_deeply_is_refused() -> None:
    source, _ = _column("x", [1])
    with pytest.raises(QuestionError, match="nested too deeply"):
        plan_counting(source, Tally((Condition("(" * 5000 + "x = 1" + ")" * 5000),)))


def test_keys_without_a_row_that_speaks_are_nobodys() -> None:
    rows = [
        {"id": 1, "k": "a", "t": None, "s": True},
        {"id": 2, "k": "b", "t": 1, "s": False},
        {"id": 2, "k": "c", "t": 2, "s": True},
        {"id": 3, "k": None, "t": 1, "s": True},
        {"id": 3, "k": "d", "t": 2, "s": True},
        {"id": 4, "k": "f", "t": 1, "s": True},
        {"id": 4, "k": "e", "t": 1, "s": True},
    ]
    people = People(unit="id", reduce="first", reduce_order="t", where="s")
    assert count_people(pa.Table.from_pylist(rows), KeyTally("k"), people).keys == {"c": 1, "e": 1}


def test_a_packed_file_is_counted_like_a_plain_one(tmp_path: Path) -> None:
    content = b"x,v\n1,a\n2,b\n,a\n"
    plain_file, packed = tmp_path / "survey.csv", tmp_path / "survey.csv.gz"
    plain_file.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    tally = Tally((Options("v", ("a", "b")), Condition("x >= 1")))
    assert count_people(plain_file, tally).cells == count_people(packed, tally).cells == {0: 1, 1: 1, 2: 1}


def test_a_file_with_another_header_is_named_beside_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # long paths are shortened
    for name, header in (("a.csv", "x,v"), ("b.csv", "x,v"), ("c.csv", "x,w")):
        (tmp_path / name).write_text(f"{header}\n1,a\n")
    with pytest.raises(TableError) as caught:
        open_csv(["a.csv", "b.csv", "c.csv"], "t")
    assert "'c.csv' has another first line than a.csv" in str(caught.value)


@pytest.mark.parametrize("parts", [49, 98, 103])
def test_a_double_at_an_edge_is_in_the_bin_that_begins_there(parts: int) -> None:
    """1/49 · 49 is less than 1 in doubles: the guess is one too low and is put right."""
    places = [k for k in range(1, parts) if k / parts * parts < k]
    assert places
    for place in places[:3]:
        table = pa.table({"v": [place / parts] * 9})
        release = odp.release(table, f"quantile(v, 0.5, range=[0, 1], step=1/{parts})", epsilon=1000)
        begins = Fraction(release.answer.strip("[").split(",")[0])
        assert begins == Fraction(place, parts)


def test_no_value_is_in_no_bin_whatever_the_edges_are() -> None:
    table = pa.table({"v": pa.array([1, None, 2**63 - 1], pa.int64())})
    for edges, cells in (
        ((0, 2, 5), {0: 1, 1: 1, 2: 1}),
        ((0, 2**70, 2**71), {0: 2, 2: 1}),
        ((-(2**71), -(2**70), 5), {1: 2, 2: 1}),
    ):
        assert count_people(table, Tally((Bins("v", tuple(map(Fraction, edges))),))).cells == cells
