"""One writer of SQL for DuckDB, PostgreSQL and Spark: every construct that counting uses, once, with what differs written down.

Values of a row are canonical (see :mod:`optimaldp.tables.canonical`): text in the order of its bytes, whole numbers of 64 bits,
doubles that are never NaN, truth values. Dates and times are whole numbers (days, microseconds). What a caller typed as text
reaches an engine as a bound parameter; numbers are written as digits, which no setting of a session changes.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

_UPPER, _LOWER = string.ascii_uppercase, string.ascii_lowercase

# What is written alike everywhere; a dialect overrides it. Braces are the values in their order.
_COMMON: dict[str, str] = {
    "is": "({} = {})",
    "is_not": "({} <> {})",
    "below": "({} < {})",
    "at_most": "({} <= {})",
    "above": "({} > {})",
    "at_least": "({} >= {})",
    "both": "({} AND {})",
    "either": "({} OR {})",
    "not": "(NOT {})",
    "minus": "(-{})",
    "plus": "({} + {})",
    "less": "({} - {})",
    "times": "({} * {})",
    "over": "({} / {})",
    "in_steps": "({} / {})",
    "remainder": "({} % {})",
    "quotient": "({} / {})",
    "abs": "ABS({})",
    "floor": "FLOOR({})",
    "clipped": "LEAST(GREATEST({}, {}), {})",
    "null": "({} IS NULL)",
    "known": "({} IS NOT NULL)",
    "coalesce": "COALESCE({}, {})",
    "nullif": "NULLIF({}, {})",
    "between": "({} BETWEEN {} AND {})",
    "upper": f"TRANSLATE({{}}, '{_LOWER}', '{_UPPER}')",
    "lower": f"TRANSLATE({{}}, '{_UPPER}', '{_LOWER}')",
    "replace": "REPLACE({}, {}, {})",
    "trim": "TRIM({}, {})",
    "length": "LENGTH({})",
    "like": "({} LIKE {})",
    "among": "({} = ANY({}))",
    "min": "MIN({})",
    "max": "MAX({})",
    "sum": "SUM({})",
    "any": "BOOL_OR({})",
    "all": "BOOL_AND({})",
    "count": "COUNT({})",
    "median": "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY {})",
    "first": "MIN({}).v",
    "pattern": "REGEXP_MATCHES({}, '{}')",
    "part": "EXTRACT({} FROM (DATE '1970-01-01' + CAST({} AS INTEGER)))",
    "iso_date": "TRY_CAST({} AS DATE)",
    "days": "CAST(({} - DATE '1970-01-01') AS BIGINT)",
}


@dataclass(frozen=True, eq=False)
class Dialect:
    """What differs between engines: names of types, how a name is quoted, and the constructs that are not written alike."""

    name: str
    types: Mapping[str, str]
    text: str
    """Any value as text that is equal, grouped and sorted by its bytes."""
    size: str
    """The length of a text in bytes."""
    quote: str = '"'
    parameter: str = "${}"
    end: str = "$"
    """The end of a text in a pattern."""
    own: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "own", {**_COMMON, **self.own})

    def name_of(self, column: str) -> str:
        """A name of a column or table, quoted; where parameters start with a percent sign, that is doubled."""
        written = column.replace(self.quote, self.quote * 2)
        return self.quote + (written.replace("%", "%%") if "%" in self.parameter else written) + self.quote

    def write(self, construct: str, dtype: str, *parts: object) -> Value:
        """A construct of some values, or of Python's own."""
        return self.pattern(self.own[construct], dtype, *parts)

    def pattern(self, pattern: str, dtype: str, *parts: object) -> Value:
        values = [part if isinstance(part, Value) else self.literal(part) for part in parts]
        needs = frozenset().union(*(value.needs for value in values))
        return Value(pattern.format(*(value.text for value in values)), dtype, self, needs)

    def matches(self, value: Value, pattern: str) -> Value:
        """Whether a text fits a pattern of ours, from its beginning to its end."""
        quoted = f"^({pattern}){self.end}".replace("'", "\\x27")
        written = self.own["pattern"].format(value.text, quoted)
        return Value(written, "boolean", self, value.needs)

    def literal(self, value: Any, type: str | None = None) -> Value:
        """A value that the caller wrote, with its type."""
        if value is None:
            return Value("NULL", type or "null", self)
        if isinstance(value, bool):
            return Value(str(value).upper(), "boolean", self)
        if isinstance(value, int):
            return Value(f"CAST({value} AS {self.types['int64']})", "int64", self)
        if isinstance(value, float):
            written = repr(value).replace("inf", "Infinity")
            return Value(f"CAST('{written}' AS {self.types['float64']})", "float64", self)
        return self.bound(str(value), "string")

    def bound(self, value: str | tuple[str | int, ...], dtype: str) -> Value:
        """A text, or a list of texts or of whole numbers, as a bound parameter."""
        code = hashlib.sha256(repr((dtype, value)).encode(errors="surrogatepass")).hexdigest()[:16]
        parameter = Parameter(f"p{code}", value)
        placed = f"CAST({self.parameter.format(parameter.name)} AS {self.types[dtype]})"
        written = self.text.format(placed) if dtype == "string" else placed
        return Value(written, dtype, self, frozenset([parameter]))

    def cases(self, *branches: tuple[object, object], else_: object = None) -> Value:
        """The result of the first condition that holds."""
        pattern = f"(CASE{' WHEN {} THEN {}' * len(branches)} ELSE {{}} END)"
        results = [result for _, result in branches] + [else_]
        dtypes = [(one if isinstance(one, Value) else self.literal(one)).dtype for one in results]
        dtype = next((dtype for dtype in dtypes if dtype != "null"), "null")
        return self.pattern(pattern, dtype, *(part for branch in branches for part in branch), else_)

    def coalesce(self, *values: Value) -> Value:
        return self.pattern(f"COALESCE({', '.join(['{}'] * len(values))})", values[0].dtype, *values)

    def first_by(self, value: Value, keys: Sequence[Value], *, last: bool = False) -> Value:
        """Over a group: the value where the keys are least (*last*: greatest); of several, the least (greatest) that is known.

        Rows without keys do not count.
        """
        parts = [*keys, value.notnull() if last else value.isnull(), value]
        heard = self.pattern(" AND ".join(["{} IS NOT NULL"] * len(keys)), "boolean", *keys)
        if self.name == "postgres":
            order = ", ".join(["{} DESC NULLS LAST" if last else "{}"] * len(parts))
            pattern = f"(ARRAY_AGG({{}} ORDER BY {order}) FILTER (WHERE {{}}))[1]"
            return self.pattern(pattern, value.dtype, value, *parts, heard)
        names = [*(f"k{place}" for place in range(len(keys))), "n", "v"]
        fields = ", ".join(f"'{name}', {{}}" for name in names)
        made = f"NAMED_STRUCT({fields})"
        if self.name == "duckdb":
            made = f"STRUCT_PACK({', '.join(f'{name} := {{}}' for name in names)})"
        best = "MAX" if last else "MIN"
        return self.pattern(f"({best}({made}) FILTER (WHERE {{}})).v", value.dtype, *parts, heard)

    def listed(self, values: tuple[str, ...] | tuple[int, ...]) -> SqlTable:
        """A table of a list that the caller wrote: each value and its place, from 0."""
        texts = isinstance(values[0], str)
        bound = self.bound(values, "string[]" if texts else "int64[]")
        pattern = {
            "duckdb": "(SELECT UNNEST({0}) AS v, GENERATE_SUBSCRIPTS({0}, 1) - 1 AS p)",
            "postgres": "(SELECT v, p - 1 AS p FROM UNNEST({0}) WITH ORDINALITY AS u(v, p))",
            "pyspark": "(SELECT v, p FROM (SELECT POSEXPLODE({0}) AS (p, v)))",
        }[self.name]
        dtype = "string" if texts else "int64"
        name = self.text.format("t.v") if texts else "t.v"
        columns = {"v": Value(name, dtype, self), "p": Value("t.p", "int64", self)}
        return SqlTable(pattern.format(bound.text), columns, self, bound.needs)


@dataclass(frozen=True)
class Parameter:
    """A value that is bound to a query, by a name that its content gives it."""

    name: str
    value: str | tuple[str | int, ...]


Need = str | Parameter
"""What a query needs: a column of the records, or a parameter."""


def _written(construct: str, dtype: str = "") -> Callable[..., Value]:
    """A method that writes a construct of its value and what it is given, as a value of that type or of the same one."""

    def write(self: Value, *others: object) -> Value:
        return self.dialect.write(construct, dtype or self.dtype, self, *others)

    return write


def _text(construct: str) -> Callable[..., Value]:
    """The same for functions of text, whose result is a text in the order of its bytes again."""

    def write(self: Value, *others: object) -> Value:
        made = self.dialect.write(construct, "string", self, *others)
        return replace(made, text=self.dialect.text.format(made.text))

    return write


@dataclass(frozen=True, eq=False)  # equality writes a comparison
class Value:
    """One value for each row: its SQL, which is complete in itself, its type, and what it needs."""

    text: str
    dtype: str
    dialect: Dialect
    needs: frozenset[Need] = frozenset()
    stored: str = ""
    """The same as it is stored, for comparisons: a text whose length is bounded without the bound, a whole number not widened."""

    __eq__ = _written("is", "boolean")  # type: ignore[assignment]  # as in every library of expressions
    __ne__ = _written("is_not", "boolean")  # type: ignore[assignment]
    __lt__, __le__ = _written("below", "boolean"), _written("at_most", "boolean")
    __gt__, __ge__ = _written("above", "boolean"), _written("at_least", "boolean")
    __and__, __or__ = _written("both", "boolean"), _written("either", "boolean")
    __invert__, __neg__ = _written("not"), _written("minus")
    __add__, __sub__, __mul__ = _written("plus"), _written("less"), _written("times")
    __mod__, __truediv__, __floordiv__ = _written("remainder"), _written("over", "float64"), _written("quotient")
    in_steps = _written("in_steps", "float64")  # a quotient whose floor is taken: a tiny one keeps its sign alone
    abs, floor = _written("abs"), _written("floor")
    isnull, notnull = _written("null", "boolean"), _written("known", "boolean")
    fill_null, nullif = _written("coalesce"), _written("nullif")
    between = _written("between", "boolean")
    clipped = _written("clipped")  # no value becomes the lower end, on every engine
    lower, upper, replaced = _text("lower"), _text("upper"), _text("replace")
    length = _written("length", "int64")
    like = _written("like", "boolean")
    min, max, sum = _written("min"), _written("max"), _written("sum")
    any, all = _written("any"), _written("all")
    count = _written("count", "int64")
    median = _written("median")

    def __rsub__(self, other: object) -> Value:
        return self.dialect.write("less", self.dtype, other, self)

    def matches(self, pattern: str) -> Value:
        return self.dialect.matches(self, pattern)

    def cast(self, dtype: str) -> Value:
        if dtype == self.dtype:
            return self
        return self.dialect.pattern(f"CAST({{}} AS {self.dialect.types[dtype]})", dtype, self)

    def cast_to(self, dtype: str) -> Value:
        """A cast also where the type is right already by name: sums and counts may be wider than their name says."""
        return self.dialect.pattern(f"CAST({{}} AS {self.dialect.types[dtype]})", dtype, self)

    def isin(self, values: Sequence[object]) -> Value:
        return self.dialect.pattern(f"({{}} IN ({', '.join(['{}'] * len(values))}))", "boolean", self, *values)

    def among(self, values: tuple[str | int, ...]) -> Value:
        """Whether it is one of many values that the caller wrote."""
        bound = self.dialect.bound(values, f"{self.dtype}[]")
        return self.dialect.write("among", "boolean", self, bound)

    def strip(self) -> Value:
        made = self.dialect.write("trim", "string", self, string.whitespace)
        return replace(made, text=self.dialect.text.format(made.text))

    def date_part(self, part: str) -> Value:
        """Year, month or day of a number of days."""
        written = self.dialect.own["part"].format(part, self.text)
        return Value(f"CAST({written} AS {self.dialect.types['int64']})", "int64", self.dialect, self.needs)

    def size(self) -> Value:
        """The length of a text in bytes."""
        return self.dialect.pattern(self.dialect.size, "int64", self)

    def over(self, groups: Sequence[Value]) -> Value:
        """An aggregate over the rows that agree in *groups*."""
        return self.dialect.pattern(
            f"{{}} OVER (PARTITION BY {', '.join(['{}'] * len(groups))})", self.dtype, self, *groups
        )


@dataclass(frozen=True)
class SqlTable:
    """Rows: their SQL, their columns, and what they need. Whoever selects from them calls them t."""

    text: str
    columns: dict[str, Value]
    """Names, and what stands there. After the first selection no name but ours is written into a query."""
    dialect: Dialect
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
        named = {name: self.dialect.name_of(name) for name in wanted}
        written = ", ".join(f"{value.text} AS {named[name]}" for name, value in wanted.items())
        groups = f" GROUP BY {', '.join(key.text for key in keys.values())}" if keys else ""
        needs = self.needs.union(*(value.needs for value in wanted.values()))
        columns = {name: Value(f"t.{named[name]}", value.dtype, self.dialect) for name, value in wanted.items()}
        return SqlTable(f"(SELECT {written} FROM {self.text} AS t{groups})", columns, self.dialect, needs)

    aggregate = select

    def mutate(self, **values: Value) -> SqlTable:
        return self.select(**(self.columns | values))

    def drop(self, name: str) -> SqlTable:
        return self.select(**{own: value for own, value in self.columns.items() if own != name})

    def rename(self, old: str, new: str) -> SqlTable:
        return self.select(**{new if name == old else name: value for name, value in self.columns.items()})

    def filter(self, holds: Value) -> SqlTable:
        return replace(
            self, text=f"(SELECT * FROM {self.text} AS t WHERE {holds.text})", needs=self.needs | holds.needs
        )

    def limit(self, rows: int) -> SqlTable:
        return replace(self, text=f"(SELECT * FROM {self.text} AS t LIMIT {rows})")

    def count(self, where: Value | None = None) -> Value:
        if where is None:
            return Value("COUNT(*)", "int64", self.dialect)
        return self.dialect.pattern("COUNT(*) FILTER (WHERE {})", "int64", where)

    def group_by(self, *names: str) -> SqlTable:
        return replace(self, grouped=names)

    def looked_up(self, name: str, values: tuple[str, ...] | tuple[int, ...], place: str) -> SqlTable:
        """The same rows with the *place* of the column *name* among many values that the caller wrote; NULL for none of them.

        A join, so that 100,000 values cost one look at each row.
        """
        listed, named = self.dialect.listed(values), self.dialect.name_of
        columns = {own: replace(value, text=value.text) for own, value in self.columns.items()} | {
            place: Value(f"t.{named(place)}", "int64", self.dialect)
        }
        value = listed.columns["v"].text.replace("t.v", "u.v")
        key = self.columns[name].text
        text = (
            f"(SELECT t.*, u.p AS {named(place)} FROM {self.text} AS t LEFT JOIN {listed.text} AS u ON {key} = {value})"
        )
        return SqlTable(text, columns, self.dialect, self.needs | listed.needs)


def _types(text: str, double: str, wide: str, arrays: str) -> dict[str, str]:
    types = {"boolean": "BOOLEAN", "int64": "BIGINT", "float64": double, "string": text, "wide": wide}
    return types | {f"{name}[]": arrays.format(types[name]) for name in ("string", "int64")}


DUCKDB = Dialect(
    "duckdb",
    _types("VARCHAR", "DOUBLE", "HUGEINT", "{}[]"),
    text="CAST({} AS VARCHAR) COLLATE C",
    size="STRLEN({})",
    own={"quotient": "({} // {})", "median": "QUANTILE_DISC({}, 0.5)", "among": "LIST_CONTAINS({1}, {0})"},
)
POSTGRES = Dialect(
    "postgres",
    _types("text", "double precision", "numeric", "{}[]"),
    text='(CAST({} AS text) COLLATE "C")',
    size="OCTET_LENGTH({})",
    parameter="%({})s",
    own={
        "pattern": "({} ~ '{}')",
        "remainder": "MOD({}, {})",
        "trim": "BTRIM({}, {})",
        "iso_date": "CAST({} AS date)",
        # A quotient that underflows is an error here: one tiny cell would make the query fail.
        "in_steps": "(CASE WHEN ABS({0}) < {1} * 1e-10::float8 THEN SIGN({0}) * 1e-10::float8 ELSE {0} / {1} END)",
    },
)
SPARK = Dialect(
    "pyspark",
    _types("STRING", "DOUBLE", "DECIMAL(38,0)", "ARRAY<{}>"),
    text="TRY_VALIDATE_UTF8(CAST({} AS STRING COLLATE UTF8_BINARY))",
    size="OCTET_LENGTH({})",
    quote="`",
    parameter=":{}",
    end="\\z",
    own={
        "pattern": "({} RLIKE r'{}')",
        "quotient": "({} DIV {})",
        "trim": "TRIM(BOTH {1} FROM {0})",
        "among": "ARRAY_CONTAINS({1}, {0})",
        "part": "EXTRACT({} FROM DATE_FROM_UNIX_DATE(CAST({} AS INT)))",
        "days": "CAST(UNIX_DATE({}) AS BIGINT)",
    },
)
