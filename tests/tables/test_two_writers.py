"""One set of expressions, two writers: what our own SQL counts in a CSV is what Ibis counts in it, form by form.

The table holds what readers of text disagree on, people with several rows, people without a name, and short lines. Each form is
counted three times: cells handed over one by one, streamed through Arrow, and by the expressions that Ibis writes.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from optimaldp.errors import TableError
from optimaldp.tables import (
    Bins,
    Condition,
    Counted,
    Grid,
    KeyTally,
    Options,
    People,
    Source,
    Steps,
    Tally,
    count_people,
    counting,
    csv_files,
    open_source,
    plan_counting,
    sql,
)
from optimaldp.tables.arrow_feed import DatasetFeed
from optimaldp.tables.source import fed_table

WORDS = ["yes", "no", "YES", " yes ", "it's", 'say ""hi""', "ä", b"\xff", "", "a%b", "true", "False", "a\\b", "\t", "0"]
NUMBERS = [
    "1",
    "-1",
    "0",
    "17.5",
    "18",
    "65",
    "1e400",
    "1e-400",
    "nan",
    "inf",
    "",
    " 5",
    "9223372036854775808",
    "2.675",
]
AMOUNTS = ["1.234,5", "1234,5", "12.34", "-1.000", "1e2", "", "x", "1.234.567,25"]
DAYS = ["2024-02-29", "2024-02-30", "1999-12-31", "0001-01-01", "99999-01-01", "", "2024-2-1", "2024-03-01 12:30:59.5"]
FORMED = ["29/02/2024", "30/02/2024", "01/01/1999", "", "2024-02-29"]
TIERS, WARDS = ["0.5", "1"], ["north", "south", "North", "north ", ""]


def _line(number: int) -> bytes:
    person = "" if number % 13 == 5 else f"p{number // 3}"
    order = ["3", "10", "2", "b", "a", "", "10.0"][number % 7]
    cells = (
        person,
        order,
        WORDS[number % len(WORDS)],
        NUMBERS[number * 5 % len(NUMBERS)],
        AMOUNTS[number % len(AMOUNTS)],
        DAYS[number * 3 % len(DAYS)],
        FORMED[number % len(FORMED)],
        TIERS[number // 3 % 2],
        WARDS[number % len(WARDS)],
    )
    whole = b",".join(b'"' + cell.encode() + b'"' if isinstance(cell, str) else cell for cell in cells)
    return whole.rpartition(b",")[0] if number % 17 == 3 else whole


HEADER = b'who,when,word,number,amount,day,formed,tier,"wa""rd"'
TYPES = {"amount": "number 1.234,5", "formed": "date %d/%m/%Y"}
WARD = '"wa""rd"'
PREDICATES = [
    "word = 'yes'",
    "word <> 'it''s'",
    "word < 'b'",
    "word like 'y%' or word like '_%b'",
    "word in ('yes', 'no')",
    f"word not in {(*(f'w{n}' for n in range(31)), 'yes')}",
    "word is null",
    "not (word = 'yes')",
    "lower(word) = 'yes' and length(word) = 3",
    "upper(word) = 'Ä'",
    "trim(word) = 'yes'",
    "coalesce(word, 'none') = 'none'",
    "word is true",
    "word = false",
    "number > 17",
    "number >= 17.5 and number <= 65",
    "number between 0 and 18",
    "number in (1, 18, 2.675)",
    "number + number > 1",
    "number - 1 = 0",
    "number * number > 100",
    "1 / number > 0",
    "number % 2 = 1",
    "-number > 0",
    "abs(number) = 1",
    "round(number) = 18",
    "round(number, 2) = 2.68",
    "coalesce(number, 5) = 5",
    "amount = 1234.5",
    "amount > 99",
    "day >= DATE '2024-01-01'",
    "day = '2024-02-29'",
    "day > TIMESTAMP '2024-02-29 12:00:00'",
    "year(day) = 2024",
    "month(day) = 2 or day(day) = 31",
    "formed < DATE '2024-01-01'",
    "year(formed) = 2024",
    "day is not null and number is not null",
]
FEW, MANY = ("no", "yes", "ä", "never"), tuple(f"w{n}" for n in range(40))
VERY_MANY = tuple(f"w{n}" for n in range(600))
READINGS: list[Any] = [
    Options("word", FEW),
    Options("word", (True, False)),
    Options("number", (1, 18, 65)),
    Options("number", tuple(range(40))),
    Options("word", (*MANY, *FEW)),
    Options("word", (*VERY_MANY, *FEW)),
    Options("day", ("2024-02-29",)),
    Bins("number", tuple(map(Fraction, ("0", "17.5", "18", "65")))),
    Bins("day", (datetime.date(1999, 1, 1), datetime.date(2024, 2, 29), datetime.date(2030, 1, 1))),
    Bins("day", (datetime.datetime(1999, 1, 1), datetime.datetime(2024, 3, 1, 12, 30), datetime.datetime(2030, 1, 1))),
    Steps("number", Fraction(0), Fraction(100), Fraction(5)),
    Steps("amount", Fraction(0), Fraction(2000), Fraction(1, 2)),
    Steps("day", datetime.date(2024, 1, 1), datetime.date(2024, 3, 25), datetime.timedelta(days=7)),
    Steps("day", datetime.datetime(2024, 2, 29), datetime.datetime(2024, 3, 2), datetime.timedelta(hours=1)),
    Grid("number", Fraction(0), Fraction(100), Fraction(5)),
    Grid("number", Fraction(0), Fraction(1), Fraction(1, 2**33)),
]
WHO, FIRST = {"unit": "who"}, {"unit": "who", "reduce": "first", "reduce_order": "when"}
YES, ADULT, VOTE, AGE = Condition("word = 'yes'"), Condition("number >= 18"), Options("word", FEW), READINGS[-2]
PEOPLE: list[tuple[tuple[Any, ...] | KeyTally, dict[str, Any]]] = [
    ((YES, ADULT, Condition("*")), {"where": "number is not null"}),
    ((YES, ADULT, Condition("day is null"), Condition("number < 0")), {}),
    ((VOTE, ADULT), {"where": "number > 0"}),
    *itertools.product(
        [(YES,), (YES, ADULT)],
        [WHO, WHO | {"reduce": "all"}, WHO | {"reduce": "most-frequent"}, FIRST, WHO | {"where": "number > 0"}],
    ),
    *itertools.product([(VOTE,), (VOTE, YES), (VOTE, Options('wa"rd', ("north",)))], [WHO, FIRST]),
    *(((AGE,), WHO | {"reduce": rule}) for rule in ("mean", "max", "min")),
    ((READINGS[-1],), WHO | {"reduce": "max"}),
    ((READINGS[10],), WHO | {"where": "word <> 'no'"}),
    ((Steps("number", Fraction(0), Fraction(1), Fraction(1, 2**33)),), WHO),
    ((YES,), {"part": ('wa"rd', "north")}),
    ((VOTE,), WHO | {"part": ('wa"rd', "north"), "where": "number > 0"}),
    ((YES,), {"levels": "tier"}),
    ((VOTE,), {"levels": "tier"}),
    ((VOTE, YES), WHO | {"levels": "tier"}),
    ((YES,), FIRST | {"levels": "tier"}),
    (KeyTally("word"), {}),
    (KeyTally("word"), {"where": "number > 0"}),
    (KeyTally("word"), WHO),
    (KeyTally("word"), FIRST),
]
FORMS: list[tuple[Tally | KeyTally, dict[str, Any]]] = [
    *((Tally((Condition(text),)), {}) for text in PREDICATES),
    *((Tally((reading,)), {}) for reading in READINGS),
    *((tally if isinstance(tally, KeyTally) else Tally(tally), settings) for tally, settings in PEOPLE),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("writers") / "people.csv"
    file.write_bytes(b"\n".join([HEADER, *map(_line, range(120)), b""]))
    return file


@pytest.fixture(scope="module")
def own(path: Path) -> Source:
    return open_source(path, types=TYPES)


@pytest.fixture(scope="module")
def by_ibis(own: Source) -> Source:
    return replace(own, table=fed_table(dict.fromkeys(own.schema.names, "string")), feed=_NamedRecords(own.feed))


class _NamedRecords(DatasetFeed):
    """The records of a CSV for expressions of Ibis, under the names that the file gives its columns."""

    def reader(self, wanted: Sequence[str]) -> Any:
        names = list(wanted) or self.dataset.columns[:1]
        batches = self.dataset.reader(names)
        schema = pa.schema([(name, pa.string()) for name in names])
        renamed = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches)
        return pa.RecordBatchReader.from_batches(schema, renamed)


def _counts(source: Source, tally: Tally | KeyTally, settings: dict[str, Any]) -> Any:
    """What is counted, or which of our errors there is."""
    try:
        counted: Counted = count_people(source, tally, People(**settings))
    except TableError as error:
        return str(error)
    return counted.cells, counted.by_level, counted.keys


@pytest.mark.parametrize(("tally", "settings"), FORMS, ids=str)
def test_both_writers_count_the_same(
    own: Source, by_ibis: Source, tally: Tally | KeyTally, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = _counts(own, tally, settings)
    assert few == _counts(by_ibis, tally, settings)
    monkeypatch.setattr(csv_files, "_SMALL", 0)
    assert few == _counts(own, tally, settings)


@pytest.mark.parametrize("small", [0, 2**20], ids=["streamed", "handed over"])
def test_no_name_in_a_file_is_written_into_a_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(csv_files, "_SMALL", small)
    (tmp_path / "t.csv").write_text('b,"Zyzzo""geton; --"\n1,x\n2,y\n3,x\n')
    source = open_source(tmp_path / "t.csv")
    tally = Tally((Options('Zyzzo"geton; --', ("x",)), Condition("b > 1")))
    assert "Zyzzo" not in counting._query(source.table, plan_counting(source, tally)).text
    assert count_people(source, tally).counts == (1, 1, 1, 0)


def test_most_forms_tell_rows_apart(own: Source) -> None:
    """A count that puts everybody into one cell would agree whatever the writers write."""
    split = [form for form in FORMS if len(counted := _counts(own, *form)[0]) > 1 or not counted]
    assert len(split) >= len(FORMS) - 4


def test_every_operation_of_the_writer_is_used(own: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    used: set[str] = set()

    def noting(name: str, true: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *parts, **named: (used.add(name), true(*parts, **named))[1]

    operations = {name: each for name, each in vars(sql.Value).items() if callable(each) and name not in _NO_OPERATION}
    for name, each in operations.items():
        monkeypatch.setattr(sql.Value, name, noting(name, each))
    for form in FORMS:
        _counts(own, *form)
    assert set(operations) - used == set()


_NO_OPERATION = ("__init__", "__repr__", "__setattr__", "__delattr__", "of")
