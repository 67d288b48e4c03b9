"""Expressions written as DuckDB's SQL: the few operations of Ibis that counting uses, under the same names.

A table of text in a file needs no other engine, and importing Ibis takes longer than all of a release from it. The expressions
are built by the same functions for both (see :func:`optimaldp.tables.engines.writer`), and tests compare the counts of both.
"""

from __future__ import annotations

import datetime
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

_TYPES = {
    "boolean": "BOOLEAN",
    "date": "DATE",
    "float64": "DOUBLE",
    "int64": "BIGINT",
    "string": "VARCHAR",
    "timestamp": "TIMESTAMP",
}
_LISTS = {"array<string>": "VARCHAR[]", "array<int64>": "BIGINT[]"}
_PARTS = ("year", "month", "day")


@dataclass(frozen=True)
class DataType:
    """The type of a value, by its name in Ibis."""

    name: str

    def is_decimal(self) -> bool:
        return False

    def is_float64(self) -> bool:
        return self.name == "float64"

    is_floating = is_float64

    def is_uint64(self) -> bool:
        return False

    def is_integer(self) -> bool:
        return self.name == "int64"


@dataclass(frozen=True)
class Function:
    """A function of ours that the engine must know before a query that calls it."""

    name: str
    register: Callable[[Any], None]


Need = str | Function
"""What a query needs: a column of the records, or a function."""


def _written(pattern: str, dtype: str = "") -> Any:
    """A method that writes *pattern* around its value and what it is given, as a value of that type or of the same one."""
    return lambda self, *others: Value.of(pattern, dtype or self.dtype, self, *others)


def _converted(word: str) -> Any:
    return lambda self, dtype: Value.of(f"{word}({{}} AS {_TYPES[dtype]})", dtype, self)


@dataclass(frozen=True, eq=False)  # equality writes a comparison
class Value:
    """One value for each row: its SQL, which is complete in itself, its type, and what it needs."""

    text: str
    dtype: str
    needs: frozenset[Need] = frozenset()

    @classmethod
    def of(cls, pattern: str, dtype: str, *parts: object) -> Value:
        """A value made of others, or of Python's own."""
        values = [part if isinstance(part, Value) else literal(part) for part in parts]
        needs = frozenset().union(*(value.needs for value in values))
        return cls(pattern.format(*(value.text for value in values)), dtype, needs)

    def type(self) -> DataType:
        return DataType(self.dtype)

    __eq__, __ne__ = _written("({} = {})", "boolean"), _written("({} <> {})", "boolean")
    __lt__, __le__ = _written("({} < {})", "boolean"), _written("({} <= {})", "boolean")
    __gt__, __ge__ = _written("({} > {})", "boolean"), _written("({} >= {})", "boolean")
    __and__, __or__ = _written("({} AND {})", "boolean"), _written("({} OR {})", "boolean")
    __invert__, __neg__ = _written("(NOT {})"), _written("(-{})")
    __add__, __sub__, __mul__ = _written("({} + {})"), _written("({} - {})"), _written("({} * {})")
    __mod__, __truediv__ = _written("({} % {})"), _written("({} / {})", "float64")
    abs, floor, round = _written("ABS({})"), _written("FLOOR({})"), _written("ROUND({})")
    isnan = _written("ISNAN({})", "boolean")
    isnull, notnull = _written("({} IS NULL)", "boolean"), _written("({} IS NOT NULL)", "boolean")
    fill_null, nullif = _written("COALESCE({}, {})"), _written("NULLIF({}, {})")
    between = _written("({} BETWEEN {} AND {})", "boolean")
    cast, try_cast = _converted("CAST"), _converted("TRY_CAST")
    lower, upper = _written("LOWER({})"), _written("UPPER({})")
    length = _written("LENGTH({})", "int64")
    like, re_search = _written("({} LIKE {})", "boolean"), _written("REGEXP_MATCHES({}, {})", "boolean")
    re_extract = _written("REGEXP_EXTRACT({}, {}, {})")
    replace = _written("REPLACE({}, {}, {})")
    encoded = _written("ENCODE({})", "binary")
    try_strptime = _written("TRY_STRPTIME({}, {})", "timestamp")
    year, month, day = (_written(f"EXTRACT({part} FROM {{}})", "int64") for part in _PARTS)
    epoch_seconds = _written("EPOCH({})", "float64")
    contains = _written("LIST_CONTAINS({}, {})", "boolean")
    min, max, sum = _written("MIN({})"), _written("MAX({})"), _written("SUM({})")
    any, all = _written("BOOL_OR({})"), _written("BOOL_AND({})")
    count = _written("COUNT({})", "int64")

    def __rsub__(self, other: object) -> Value:
        return Value.of("({} - {})", self.dtype, other, self)

    def isin(self, values: Sequence[object]) -> Value:
        return Value.of(f"({{}} IN ({', '.join(['{}'] * len(values))}))", "boolean", self, *values)

    def index(self, value: Value) -> Value:
        """The place of a value in this list; -1 where it is not in it, NULL for NULL."""
        return cases((value.notnull(), Value.of("COALESCE(LIST_POSITION({}, {}), 0)", "int64", self, value) - 1))

    def strip(self) -> Value:
        return Value.of("TRIM({}, {})", "string", self, string.whitespace)

    def truncate(self, unit: str) -> Value:
        return Value.of("CAST(DATE_TRUNC({}, {}) AS TIMESTAMP)", "timestamp", {"s": "second"}[unit], self)

    def delta(self, other: Value, *, unit: str) -> Value:
        return Value.of("DATE_DIFF({}, {}, {})", "int64", unit, other, self)

    def cases(self, *branches: tuple[object, object], else_: object) -> Value:
        """The result beside the first value that equals this one."""
        return cases(*branches, else_=else_, beside=(self,))

    def argmin(self, key: Value, *, where: Value) -> Value:
        return Value.of("FIRST({} ORDER BY {}) FILTER (WHERE {})", self.dtype, self, key, where)

    def over(self, groups: Sequence[Value]) -> Value:
        """An aggregate over the rows that agree in *groups*."""
        return Value.of(f"{{}} OVER (PARTITION BY {', '.join(['{}'] * len(groups))})", self.dtype, self, *groups)


def literal(value: Any, type: str | None = None) -> Value:
    """A value that the caller wrote, with its type: DuckDB takes 0.1 for a decimal and 5 for a number of 32 bits."""
    if type in _LISTS:
        listed = ", ".join(literal(one).text for one in value)
        return Value(f"CAST([{listed}] AS {_LISTS[type]})", type)
    if value is None:
        return Value("NULL", type or "null")
    if isinstance(value, bool):
        return Value(str(value).upper(), "boolean")
    if isinstance(value, int):
        return Value(f"CAST({value} AS BIGINT)", "int64") if type else Value(f"({value})", "int64")
    if isinstance(value, float):
        return Value(f"CAST('{value!r}' AS DOUBLE)", "float64")
    if isinstance(value, datetime.datetime):
        return Value(f"TIMESTAMP '{value.isoformat(' ')}'", "timestamp")
    if isinstance(value, datetime.date):
        return Value(f"DATE '{value.isoformat()}'", "date")
    return Value("'" + str(value).replace("'", "''") + "'", "string")


def cases(*branches: tuple[object, object], else_: object = None, beside: tuple[Value, ...] = ()) -> Value:
    """The result of the first condition that holds; with a value *beside*, of the first value that equals it."""
    pattern = f"(CASE{' {}' * len(beside)}{' WHEN {} THEN {}' * len(branches)} ELSE {{}} END)"
    parts = [*(part for branch in branches for part in branch), else_]
    results = [part if isinstance(part, Value) else literal(part) for part in (*parts[1:-1:2], else_)]
    dtype = next((result.dtype for result in results if result.dtype != "null"), "null")
    return Value.of(pattern, dtype, *beside, *parts)


def coalesce(*values: object) -> Value:
    first = values[0]
    dtype = first.dtype if isinstance(first, Value) else literal(first).dtype
    return Value.of(f"COALESCE({', '.join(['{}'] * len(values))})", dtype, *values)


def struct(fields: Mapping[str, Value]) -> Value:
    inside = ", ".join(f"'{name}': {{}}" for name in fields)
    return Value.of(f"{{{{{inside}}}}}", "struct", *fields.values())


def window(*, group_by: Value | Sequence[Value]) -> Sequence[Value]:
    return [group_by] if isinstance(group_by, Value) else group_by


def call(function: Function, value: Value, dtype: str) -> Value:
    """A function of ours, applied."""
    made = Value.of(f"{function.name}({{}})", dtype, value)
    return Value(made.text, dtype, made.needs | {function})


@dataclass(frozen=True)
class SqlTable:
    """Rows: their SQL, their columns, and what they need. Whoever selects from them calls them t."""

    text: str
    columns: dict[str, Value]
    """Names, and what stands there. No name but ours is written into a query."""
    needs: frozenset[Need] = frozenset()
    grouped: tuple[str, ...] = ()
    """The columns by which the rows are aggregated."""

    def __getitem__(self, name: str) -> Value:
        return self.columns[name]

    def __getattr__(self, name: str) -> Value:
        try:
            return self.columns[name]
        except KeyError:
            raise AttributeError(name) from None

    def select(self, **values: Value) -> SqlTable:
        """These values alone; where the rows are grouped, beside what they are grouped by."""
        keys = {name: self.columns[name] for name in self.grouped}
        wanted = keys | values
        assert all(name.isidentifier() for name in wanted), "a name of the table's own would be written into the query"
        written = ", ".join(f'{value.text} AS "{name}"' for name, value in wanted.items())
        groups = f" GROUP BY {', '.join(key.text for key in keys.values())}" if keys else ""
        needs = self.needs.union(*(value.needs for value in wanted.values()))
        columns = {name: Value(f't."{name}"', value.dtype) for name, value in wanted.items()}
        return SqlTable(f"(SELECT {written} FROM {self.text} AS t{groups})", columns, needs)

    aggregate = select

    def mutate(self, **values: Value) -> SqlTable:
        return self.select(**(self.columns | values))

    def drop(self, name: str) -> SqlTable:
        return self.select(**{own: value for own, value in self.columns.items() if own != name})

    def filter(self, holds: Value) -> SqlTable:
        return SqlTable(f"(SELECT * FROM {self.text} AS t WHERE {holds.text})", self.columns, self.needs | holds.needs)

    def limit(self, rows: int) -> SqlTable:
        return SqlTable(f"(SELECT * FROM {self.text} AS t LIMIT {rows})", self.columns, self.needs)

    def count(self, where: Value | None = None) -> Value:
        return Value("COUNT(*)", "int64") if where is None else Value.of("COUNT(*) FILTER (WHERE {})", "int64", where)

    def group_by(self, *names: str) -> SqlTable:
        return replace(self, grouped=names)
