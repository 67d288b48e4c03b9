"""One small table with everything that engines disagree on, and questions with their answers by plain Python."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from optimaldp.tables.tally import Bins, Condition, Option, Options, Tally

Row = dict[str, Any]

SCHEMA = pa.schema(
    [
        ("person", pa.int64()),
        ("age", pa.int32()),
        ("order", pa.string()),
        ('od"d näme', pa.int64()),
        ("weight", pa.float64()),
        ("paid", pa.decimal128(10, 2)),
        ("ok", pa.bool_()),
        ("born", pa.date32()),
        ("seen", pa.timestamp("us")),
        ("tier", pa.string()),
        ("level", pa.float64()),
    ]
)


def _rows() -> list[Row]:
    words = ["yes", "no", "it's", "Ünïcode", "", None, "a%b", "YES", "yes "]
    weights = [0.0, -0.0, 1.5, -2.5, 0.1, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, None, 2.675]
    ages = [17, 18, 30, None, 2**31 - 1, -(2**31), 64, 65]
    rows = []
    for n in range(80):
        day = None if n % 11 == 0 or n // 3 == 20 else datetime.date(1950 + n, 1 + n % 12, 1 + n % 28)
        rows.append(
            {
                "person": None if n in (5, 6) else n // 3,
                "age": ages[n * 5 % len(ages)],
                "order": words[n * 7 % len(words)],
                'od"d näme': [0, 1, -1, 2**63 - 1, -(2**63)][n % 5],
                "weight": weights[n % len(weights)],
                "paid": None if n % 9 == 0 else Decimal(n * 37 - 500) / 100,
                "ok": [True, False, None][n % 3] if n % 7 else True,
                "born": day,
                "seen": None if day is None else datetime.datetime(day.year, day.month, day.day, n % 24, n % 60),
                "tier": ["0.5", "1", "ln(2)"][n // 3 % 3],
                "level": [0.5, 1.0][n // 3 % 2],
            }
        )
    return rows


ROWS = _rows()


def arrow_table() -> pa.Table:
    return pa.Table.from_pylist(ROWS, schema=SCHEMA)


@dataclass(frozen=True)
class Case:
    """A question and, for each row, the cell that plain Python puts it into (None: everybody else)."""

    tally: Tally
    cell: Callable[[Row], int | None]
    size: int
    settings: dict[str, Any] = field(default_factory=dict)
    where: Callable[[Row], bool] = lambda row: True
    rule: str = "rows"

    @property
    def name(self) -> str:
        return f"{self.tally} {self.settings}"

    def expected(self, rows: list[Row]) -> tuple[int, ...]:
        counts = Counter(self._persons(rows))
        return tuple(counts[cell] for cell in range(self.size))

    def expected_by_level(self, rows: list[Row], column: str) -> dict[Any, tuple[int, ...]]:
        return {level: self.expected([r for r in rows if r[column] == level]) for level in {r[column] for r in rows}}

    def _persons(self, rows: list[Row]) -> list[int]:
        if self.rule == "rows":
            return [self._or_last(self.cell(row) if self.where(row) else None) for row in rows]
        unit = self.settings["unit"]
        people: dict[Any, list[Row]] = {}
        for row in rows:
            if row[unit] is not None:
                people.setdefault(row[unit], []).append(row)
        return [self._reduced([row for row in own if self.where(row)]) for own in people.values()]

    def _or_last(self, cell: int | None) -> int:
        return self.size - 1 if cell is None else cell

    def _reduced(self, own: list[Row]) -> int:
        cells = [self.cell(row) for row in own]
        if self.rule == "any":
            return 0 if 0 in cells else 1
        if self.rule == "all":
            return 0 if cells and set(cells) == {0} else 1
        if self.rule == "first":
            placed = [row for row in own if row[self.settings["reduce_order"]] is not None]
            if not placed:
                return self.size - 1
            first = min(row[self.settings["reduce_order"]] for row in placed)
            ties = [row for row in placed if row[self.settings["reduce_order"]] == first]
            return min(self._or_last(self.cell(row)) for row in ties)
        if self.rule == "max":  # cells rise with values
            return max((cell for cell in cells if cell is not None), default=self.size - 1)
        votes = Counter(cell for cell in cells if cell is not None)
        return min(votes, key=lambda cell: (-votes[cell], cell)) if votes else self.size - 1


def holds(text: str, test: Callable[[Row], bool | None], **more: Any) -> Case:
    return Case(Tally((Condition(text),)), lambda row: 0 if test(row) else 1, 2, **more)


def options(column: str, given: tuple[Option, ...], **more: Any) -> Case:
    return Case(Tally((Options(column, given),)), lambda row: _place(row[column], given), len(given) + 1, **more)


def _place(value: Any, given: tuple[Option, ...]) -> int | None:
    return given.index(value) if value in given else None


def _in_bins(value: Any, edges: tuple[Fraction, ...]) -> int | None:
    if value is None or value != value:
        return None
    return sum(value >= edge for edge in edges[1:-1])


def bins(column: str, *edges: str, **more: Any) -> Case:
    exact = tuple(Fraction(edge) for edge in edges)
    return Case(Tally((Bins(column, exact),)), lambda row: _in_bins(row[column], exact), len(edges), **more)


def _crossed(row: Row) -> int | None:
    first, second = _place(row["order"], ("yes", "no")), _place(row["ok"], (False, True))
    return (2 if first is None else first) * 3 + (2 if second is None else second)


def _known(value: Any, test: Callable[[Any], bool]) -> bool:
    return value is not None and test(value)


WORDS = ("no", "yes", "it's", "Ünïcode", "never seen")
EVERYDAY = [
    holds("order = 'yes'", lambda r: r["order"] == "yes"),
    holds("order <> 'it''s'", lambda r: _known(r["order"], lambda x: x != "it's")),
    holds("order = ''", lambda r: r["order"] == ""),
    holds("order is null", lambda r: r["order"] is None),
    holds("order like 'y%' or order like '_%b'", lambda r: r["order"] in ("yes", "yes ", "a%b")),
    holds("order not in ('yes', 'no')", lambda r: _known(r["order"], lambda x: x not in ("yes", "no"))),
    holds("order < 'b'", lambda r: _known(r["order"], lambda x: x < "b")),
    holds("lower(order) = 'yes' and length(order) = 3", lambda r: r["order"] in ("yes", "YES")),
    holds("upper(order) = 'ÜNïCODE'", lambda r: r["order"] == "Ünïcode"),  # ASCII alone
    holds("trim(order) = 'yes'", lambda r: r["order"] in ("yes", "yes ")),
    holds("length(order) = 7", lambda r: r["order"] == "Ünïcode"),
    holds("coalesce(order, 'nothing') = 'nothing'", lambda r: r["order"] is None),
    holds("age >= 18 and age < 65", lambda r: _known(r["age"], lambda x: 18 <= x < 65)),
    holds("age between 17.5 and 64.5", lambda r: _known(r["age"], lambda x: 17.5 <= x <= 64.5)),
    holds("age in (17, 65.0)", lambda r: r["age"] in (17, 65)),
    holds("ok", lambda r: r["ok"] is True),
    holds("not ok", lambda r: r["ok"] is False),
    holds("ok is not false", lambda r: r["ok"] is not False),
    holds("paid = 11.69", lambda r: r["paid"] == Decimal("11.69")),
    holds("paid > 0.1", lambda r: _known(r["paid"], lambda x: x > Decimal("0.1"))),
    holds("born >= '2000-01-01'", lambda r: _known(r["born"], lambda x: x.year >= 2000)),
    holds(
        "year(born) = 1990 or month(born) = 2", lambda r: _known(r["born"], lambda x: x.year == 1990 or x.month == 2)
    ),
    holds("extract(day from seen) = 3", lambda r: _known(r["seen"], lambda x: x.day == 3)),
    holds(
        "seen > '1999-12-31 12:30:00'",
        lambda r: _known(r["seen"], lambda x: x > datetime.datetime(1999, 12, 31, 12, 30)),
    ),
]

# Each of these would raise an error on some rows if it were handed to an engine as it is written.
TREACHEROUS = [
    holds("age + age > 0", lambda r: _known(r["age"], lambda x: x + x > 0)),
    holds("age * age > 1000", lambda r: _known(r["age"], lambda x: x * x > 1000)),
    holds("abs(age) > 100", lambda r: _known(r["age"], lambda x: abs(x) > 100)),
    holds("-age > 100", lambda r: _known(r["age"], lambda x: -x > 100)),
    holds('"od""d näme" + 1 > 0', lambda r: r['od"d näme'] + 1 > 0),
    holds('abs("od""d näme") > 5', lambda r: abs(r['od"d näme']) > 5),
    holds('"od""d näme" * "od""d näme" = 1', lambda r: r['od"d näme'] ** 2 == 1),
    holds('"od""d näme" % -1 = 0 and "od""d näme" % 2 = -1', lambda r: r['od"d näme'] == -1),
    holds('10 / "od""d näme" = 10', lambda r: r['od"d näme'] == 1),
    holds("1 / weight > 0", lambda r: _known(r["weight"], lambda x: 1e-100 < x < 1e100)),
    holds("weight * weight > 1", lambda r: _known(r["weight"], lambda x: 1 < abs(x) < 1e100)),
    holds("weight + weight > 1", lambda r: _known(r["weight"], lambda x: 0.5 < x < 1e100)),
    holds("weight * 1e-80 * 1e-80 * 1e-80 * 1e-80 = 0", lambda r: _known(r["weight"], lambda x: abs(x) < 1e100)),
    holds("weight * 1e80 * 1e80 * 1e80 * 1e80 > 0", lambda r: False),
    holds("weight / weight = 1", lambda r: _known(r["weight"], lambda x: 1e-100 < abs(x) < 1e100)),
    holds("round(weight) = 2 or round(weight) = -3", lambda r: r["weight"] in (1.5, -2.5)),
    holds("round(weight, 2) = 2.68", lambda r: r["weight"] == 2.675),
    holds("round(weight, 1) = 0.1", lambda r: r["weight"] == 0.1),
    holds("weight > 1e50", lambda r: _known(r["weight"], lambda x: x > 1e50)),
    holds("paid / (paid - paid) > 0", lambda r: False),
    holds("(age + 0.5) * 2 = 37", lambda r: r["age"] == 18),
]

VOTES = {"unit": "person"}
PEOPLE = [
    holds("order = 'yes'", lambda r: r["order"] == "yes", settings=VOTES, rule="any"),
    holds("ok", lambda r: r["ok"], settings={**VOTES, "reduce": "all"}, rule="all"),
    holds(
        "ok",
        lambda r: r["ok"],
        settings={**VOTES, "reduce": "all", "where": "age > 17"},
        where=lambda r: _known(r["age"], lambda x: x > 17),
        rule="all",
    ),
    holds("ok", lambda r: r["ok"], settings={**VOTES, "reduce": "most-frequent"}, rule="most-frequent"),
    holds("ok", lambda r: r["ok"], settings={**VOTES, "reduce": "first", "reduce_order": "seen"}, rule="first"),
    options("order", WORDS, settings=VOTES, rule="most-frequent"),
    options("order", WORDS, settings={**VOTES, "where": "ok"}, where=lambda r: r["ok"] is True, rule="most-frequent"),
    options("order", WORDS, settings={**VOTES, "reduce": "first", "reduce_order": "born"}, rule="first"),
    options("order", WORDS, settings={**VOTES, "reduce": "first", "reduce_order": "tier"}, rule="first"),
    bins("age", "0", "18", "64.5", "100", settings={**VOTES, "reduce": "max"}, rule="max"),
]

TABLES = [
    options("order", WORDS),
    options("order", WORDS, settings={"where": "age >= 18"}, where=lambda r: _known(r["age"], lambda x: x >= 18)),
    options("age", (17, 18, 99)),
    options("weight", (0, 1)),
    options("ok", (True, False)),
    bins("age", "0", "17.5", "30", "64", "120"),
    bins("weight", "-3", "0", "0.1", "1.5", "9"),
    bins("paid", "-5", "0.4", "11.69", "20"),
    bins('od"d näme', "-1", "0", "1/3", "1e30"),
    Case(Tally((Options("order", ("yes", "no")), Options("ok", None))), _crossed, 9),
]

NUMBERS = tuple(range(40, 60)) + tuple(range(10, 40)) + (65,)
MANY = [
    holds(f"age in {NUMBERS}", lambda r: r["age"] in NUMBERS),
    holds(f"age not in {NUMBERS}", lambda r: _known(r["age"], lambda x: x not in NUMBERS)),
    holds(f"weight in {(0, 0.1, 2.675, *NUMBERS)}", lambda r: r["weight"] in (0, 0.1, 2.675)),
    holds(f"order in {('yes', 'Ünïcode', *map(str, NUMBERS))}", lambda r: r["order"] in ("yes", "Ünïcode")),
    options("age", NUMBERS),
    options("weight", (0, *NUMBERS)),
    options("order", (*map(str, NUMBERS), *WORDS)),
    options("order", (*map(str, NUMBERS), *WORDS), settings=VOTES, rule="most-frequent"),
]

CASES = EVERYDAY + TREACHEROUS + PEOPLE + TABLES + MANY


def two_predicates(rows: list[Row]) -> tuple[int, ...]:
    """(yes yes, yes no, no yes, no no) for "order = 'yes'" and "ok"."""
    found = Counter((row["order"] == "yes", row["ok"] is True) for row in rows)
    return tuple(found[a, b] for a in (True, False) for b in (True, False))
