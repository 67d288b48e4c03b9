"""Opening a table: files, databases, data frames in memory, Ibis tables. Nothing is counted here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.safety import without_engine_message
from optimaldp.tables.schema import Schema, column_type
from optimaldp.tables.tally import Option


@dataclass(frozen=True, repr=False)
class Source:
    """A table that can be counted. Its schema and description are public; its rows stay where they are."""

    table: Any = field(compare=False)
    """The Ibis table."""
    schema: Schema
    words: str
    token: str | None = None

    def describe(self) -> str:
        """What this is, in public words: where it lives and how many columns it has."""
        columns = "1 column" if len(self.schema) == 1 else f"{len(self.schema)} columns"
        return f"{self.words} ({columns})"

    def version(self) -> str | None:
        """A token that changes when the data does (from the files' paths, sizes and times); None where unknown."""
        return self.token

    def fetch(self, expression: Any) -> list[tuple[Any, ...]]:
        """Run one Ibis expression and return its rows. Private: only :mod:`optimaldp.tables.counting` calls it."""
        from optimaldp.tables.engines import fetch

        rows: list[tuple[Any, ...]] = without_engine_message(
            self.words, "counted", lambda: fetch(self.table, expression)
        )
        return rows

    def __repr__(self) -> str:
        return f"Source({self.describe()})"


def open_source(source: Any, *, types: dict[str, str] | None = None) -> Source:
    """Open a table.

    *source* is the path of a CSV or Parquet file (also a folder or a glob), ``duckdb:///file.db?table=t``, any Ibis URL with
    a table (``postgres://…?table=t``), a pandas, polars, pyarrow or Spark table, an Ibis table, or a pair (Ibis connection,
    table name).

    An Ibis expression is taken as the table: under substitution the number of its rows is public. A filter whose result should
    not be goes into *where* of the release.

    A CSV has no types. They are found by looking at the data, and count as public; *types* (``{"age": "int64"}``) declares them
    instead, and then a cell that does not fit is NULL.

    **Guarantee.** No error, repr or description holds a cell.

    >>> import pyarrow
    >>> open_source(pyarrow.table({"smokes": ["yes", "no"]}))
    Source(pyarrow table in memory (1 column))
    """
    if isinstance(source, Source):
        return source
    if types is not None and not _is_path(source):
        raise TableError("types", types, "can be declared for CSV files only", "other sources have types")
    if _is_path(source):
        return _open_text(source, types)
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str):
        connection, name = source
        return wrap(lambda: connection.table(name), f"table {name}")
    return _open_object(source)


def _is_path(source: Any) -> bool:
    return isinstance(source, str) or hasattr(source, "__fspath__")


def _open_text(source: Any, types: dict[str, str] | None) -> Source:
    from optimaldp.tables import databases, files

    text = source if isinstance(source, str) else source.__fspath__()
    return databases.open_url(text) if "://" in text else files.open_path(text, types)


def _open_object(source: Any) -> Source:
    from optimaldp.tables import frames

    package = type(source).__module__.split(".")[0]
    if package == "ibis":
        return _open_ibis(source)
    opener = frames.OPENERS.get(package)
    if opener is None:
        kinds = "a path, a URL, a pandas, polars, pyarrow or Spark table, an Ibis table, or (connection, table name)"
        raise TableError("data", type(source).__name__, "is not a table that can be read", f"give {kinds}")
    return opener(source)


def _open_ibis(source: Any) -> Source:
    import ibis.expr.operations as operations
    import ibis.expr.types as types

    if not isinstance(source, types.Table):
        kind = type(source).__name__
        raise TableError("data", kind, "is not a table", "give an Ibis table, or a pair (connection, table name)")
    node = source.op()
    # Only a table of a database has a name that a reader knows: an expression has none, a table in memory a made-up one.
    named = isinstance(node, operations.DatabaseTable)
    return wrap(lambda: source, f"table {node.name}" if named else "Ibis expression")


def wrap(
    open_table: Callable[[], Any],
    words: str,
    *,
    token: str | None = None,
    options: dict[str, tuple[Option, ...]] | None = None,
    remedy: str = "",
) -> Source:
    """A source from a function that opens an Ibis table, with its public schema."""

    def opened() -> tuple[Any, Schema]:
        from optimaldp.tables.engines import as_text, listed_options

        table = open_table()
        listed = listed_options(table) if options is None else options
        table = as_text(table, list(listed))
        columns = ((name, column_type(dtype, listed.get(name))) for name, dtype in table.schema().items())
        return table, Schema(tuple(columns))

    table, schema = without_engine_message(words, "opened", opened, remedy=remedy)
    if not len(schema):
        raise TableError("data", words, "has no columns")
    return Source(table, schema, words, token)
