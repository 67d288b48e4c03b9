"""What differs between engines: who writes expressions for them, what they are told, and which columns list their options."""

from __future__ import annotations

import atexit
import itertools
import re
import shutil
import tempfile
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables import sql
from optimaldp.tables.tally import Option

# The bar of a long query goes to standard output, where the answer belongs. A notebook without widgets has none, and there
# even switching it off is an error.
_HAS_BAR = "SELECT current_setting('enable_progress_bar')"
_NO_BAR = "SET enable_progress_bar = false"
_NUMBERS = itertools.count()
_SPILL: list[str] = []  # the folder for what does not fit into memory, once there is one


def writer(one: object) -> Any:
    """What writes expressions for a table, or beside a value of it: Ibis, or our own SQL for records of text in a file."""
    if isinstance(one, sql.SqlTable | sql.Value):
        return sql
    import ibis

    return ibis


def engine_name(one: Any) -> str:
    """The engine that a table, or the table of a value, lives in."""
    return "duckdb" if isinstance(one, sql.SqlTable | sql.Value) else str(one.get_backend().name)


def embedded(path: str | None = None) -> Any:
    """A DuckDB in this process: in memory, or a file that is only read."""
    import ibis

    connection = ibis.duckdb.connect() if path is None else ibis.duckdb.connect(path, read_only=True)
    configured(connection.con)
    return connection


def configured(connection: Any) -> Any:
    """An embedded engine that was told to print nothing, and to leave no row in the working folder.

    What does not fit into memory goes into a folder of this process that nobody else can read.
    """
    if connection.execute(_HAS_BAR).fetchone()[0]:
        connection.execute(_NO_BAR)
    if not _SPILL:
        made = tempfile.mkdtemp(prefix="optimaldp-")
        atexit.register(shutil.rmtree, made, ignore_errors=True)
        _SPILL.append(made)
    folder = _SPILL[0].replace("'", "''")
    connection.execute(f"SET temp_directory = '{folder}'")
    return connection


SUPPORTED = {"duckdb": "DuckDB", "postgres": "PostgreSQL", "pyspark": "Spark"}
"""The engines on which every expression was seen to come out right; others are refused by name."""


def check_engine(name: str, label: str) -> None:
    """Refuse an engine that is not among those that the conformance suite runs on."""
    if name not in SUPPORTED:
        rule = f"lives in {name}, on which counts were not seen to come out right"
        known = ", ".join(SUPPORTED.values())
        raise TableError(
            "data", label, rule, f"the engines are {known}; write the table to a Parquet file, for example"
        )


@cache
def forgives_bad_text() -> bool:
    """Whether this DuckDB can read a Parquet file in which some text is not UTF-8; older ones fail on such a file."""
    import duckdb

    query = "SELECT parameters FROM duckdb_functions() WHERE function_name = 'read_parquet'"
    with duckdb.connect() as own:
        return any("utf8_validation" in row[0] for row in own.execute(query).fetchall())


# Nothing that JSON or SQL would write in another way. Others are listed, which takes longer.
_PLAIN_NAME = re.compile(r"[^\x00-\x1f\x7f\"'\\]*")


def can_look_up(value: object) -> bool:
    """Whether the engine lives in this process, so that a long list need not be written into the query."""
    return engine_name(value) == "duckdb"


def look_up(kind: str, values: tuple[Option, ...], value: object) -> Any:
    """The place of a value among *values*, behind the last one if it is none of them: by a function in the embedded engine.

    No value makes it fail: DuckDB hands NULL to nobody, and would refuse it as the result for any other value.

    A query that lists 100,000 values takes Ibis 25 seconds to write, and a list is searched from its beginning for each value.
    """
    dtype = "string" if kind == "text" else "int64"
    if isinstance(value, sql.Value):
        return sql.call(_own_function(dtype, values), value, "int64")
    return _ibis_function(dtype, values)(value)


def _places(dtype: str, values: tuple[Option, ...]) -> Callable[[Any], Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(values, pa.string() if dtype == "string" else pa.int64())
    return lambda value: pc.fill_null(pc.index_in(value, value_set=known), len(known)).cast(pa.int64())


@lru_cache(maxsize=16)
def _ibis_function(dtype: str, values: tuple[Option, ...]) -> Callable[[Any], Any]:
    import ibis

    places = _places(dtype, values)

    @ibis.udf.scalar.pyarrow(signature=((dtype,), "int64"))
    def optimaldp_place(value):  # type: ignore[no-untyped-def]
        return places(value)

    return optimaldp_place  # type: ignore[no-any-return]


@lru_cache(maxsize=16)
def _own_function(dtype: str, values: tuple[Option, ...]) -> sql.Function:
    name = f"optimaldp_place_{next(_NUMBERS)}"  # a query may look up in several lists

    def register(connection: Any) -> None:
        written = "VARCHAR" if dtype == "string" else "BIGINT"
        connection.create_function(name, _places(dtype, values), [written], "BIGINT", type="arrow")

    return sql.Function(name, register)


@cache
def _member() -> Callable[[str, Any], Any]:
    """PostgreSQL's own functions: a text as an object, and the text of one of its members, NULL if there is none."""
    import ibis

    binary = ibis.dtype("jsonb")

    @ibis.udf.scalar.builtin(name="jsonb", signature=(("string",), binary))
    def as_object(text): ...  # type: ignore[no-untyped-def]

    @ibis.udf.scalar.builtin(name="jsonb_extract_path_text", signature=((binary, "string"), "string"))
    def member(object, name): ...  # type: ignore[no-untyped-def]

    return lambda text, name: member(as_object(text), name)


def place_by_name(key: Any, values: tuple[Option, ...]) -> Any:
    """In PostgreSQL the place of a key among many *values* as a member of one JSON object; ``None`` elsewhere.

    One text is written into the query instead of 100,000 literals, and searched by halving instead of from its beginning.
    Names are compared byte by byte, so no collation can make two of them one.
    """
    plain = all(_PLAIN_NAME.fullmatch(str(value)) for value in values)
    if engine_name(key) != "postgres" or not plain:
        return None
    members = ",".join(f'"{value}":{place}' for place, value in enumerate(values))
    name = key if key.type().is_string() else key.cast("int64").cast("string")
    return _member()("{" + members + "}", name).cast("int64")


def equal_bytes(text: Any, value: str) -> Any:
    """Whether a text is that value byte by byte, whatever the engine's collation says; padding of a column is no part of it."""
    if isinstance(text, sql.Value):
        return text.encoded() == sql.literal(value).encoded()
    import ibis

    engine = engine_name(text)
    if engine == "pyspark":
        return text.cast("binary") == ibis.literal(value, type="string").cast("binary")
    as_bytes = _ENCODERS[engine]()
    return as_bytes(text) == as_bytes(ibis.literal(value, type="string"))


def parsed_moment(text: Any, form: str) -> Any:
    """The point in time that a text is in that form, NULL where it is none: DuckDB alone can say."""
    return text.try_strptime(form) if isinstance(text, sql.Value) else _ibis_parser()(text, form)


@cache
def _ibis_parser() -> Callable[[Any, str], Any]:
    import ibis

    @ibis.udf.scalar.builtin(name="try_strptime", signature=(("string", "string"), "timestamp"))
    def try_strptime(text, form):  # type: ignore[no-untyped-def]
        """DuckDB's own."""

    return try_strptime  # type: ignore[no-any-return]


@cache
def _duckdb_encoder() -> Callable[[Any], Any]:
    import ibis

    @ibis.udf.scalar.builtin(name="encode", signature=(("string",), "binary"))
    def encode(text):  # type: ignore[no-untyped-def]
        """The bytes of a text."""

    return encode  # type: ignore[no-any-return]


@cache
def _postgres_encoder() -> Callable[[Any], Any]:
    import ibis

    @ibis.udf.scalar.builtin(name="convert_to", signature=(("string", "string"), "binary"))
    def convert_to(text, encoding):  # type: ignore[no-untyped-def]
        """The bytes of a text in an encoding."""

    return lambda text: convert_to(text, "UTF8")


_ENCODERS = {"duckdb": _duckdb_encoder, "postgres": _postgres_encoder}


def listed_options(table: Any) -> dict[str, tuple[Option, ...]]:
    """The options of enum columns, from the engine's catalogue: types are public, data is never looked at."""
    import ibis.expr.operations as ops

    connection, node = table.get_backend(), table.op()
    if not isinstance(node, ops.DatabaseTable):
        return {}
    if connection.name == "duckdb":
        return _duckdb_enums(connection, node)
    if connection.name == "postgres":
        return _postgres_enums(connection, node)
    return {}


def as_text(table: Any, enums: list[str]) -> Any:
    """The same table with its enum columns as text: PostgreSQL compares an enum with its own options only."""
    if not enums or table.get_backend().name != "postgres":
        return table
    # Ibis takes an enum for text and would leave out a cast between equal types; these differ in nullability alone.
    return table.mutate(**{name: table[name].cast("!string") for name in enums})


def _duckdb_enums(connection: Any, node: Any) -> dict[str, tuple[Option, ...]]:
    relation = connection.raw_sql(connection.compile(node.to_expr().limit(0)))
    types = zip(node.schema.names, relation.description)
    return {name: _members(kind[1]) for name, kind in types if str(getattr(kind[1], "id", "")) == "enum"}


def _members(dtype: Any) -> tuple[Option, ...]:
    return tuple(dict(dtype.children)["values"])


def _postgres_enums(connection: Any, node: Any) -> dict[str, tuple[Option, ...]]:
    query = """
        SELECT a.attname, e.enumlabel FROM pg_attribute a
        JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_enum e ON e.enumtypid = a.atttypid
        WHERE c.relname = %s AND n.nspname = COALESCE(%s, current_schema()) AND NOT a.attisdropped
        ORDER BY a.attnum, e.enumsortorder"""
    with connection.con.cursor() as cursor:
        rows = cursor.execute(query, (node.name, node.namespace.database)).fetchall()
    options: dict[str, tuple[Option, ...]] = {}
    for column, label in rows:
        options[column] = (*options.get(column, ()), label)
    return options
