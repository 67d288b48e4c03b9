"""A table that can be counted: where it lives, what is public about it, and how one query runs on it.

Engine errors may quote cells (a CSV reader quotes the whole line): they are replaced by errors that do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from optimaldp.errors import MissingExtraError, OptimalDPError, TableError
from optimaldp.extras import EXTRAS
from optimaldp.tables.engines import as_text, check_engine, embedded, listed_options
from optimaldp.tables.schema import ColumnType, Schema, column_type
from optimaldp.tables.tally import Option
from optimaldp.tables.versions import version_of_ibis

Answer = TypeVar("Answer")


Rows = list[tuple[Any, ...]]


class Feed(Protocol):
    """Records that are streamed into an engine for each query anew, only the columns that it names."""

    def fetch(self, table: Any, expression: Any) -> Rows:
        """Run one expression, once, in a database for this query alone: nobody else sees what is registered there, and no
        failure before has damaged it."""


FED = "optimaldp_records"
"""The name under which an engine knows records that are streamed into it."""


@dataclass(frozen=True, repr=False)
class Source:
    """A table that can be counted. Its schema and description are public; its rows stay where they are."""

    table: Any = field(compare=False)
    """The table that expressions are built on: of Ibis, or of our own SQL."""
    schema: Schema
    label: str
    version: Callable[[], str | None] = field(default=lambda: None, compare=False)
    """A token that changes when the data does, or None where nothing tells: see :mod:`optimaldp.tables.versions`."""
    feed: Feed | None = field(default=None, compare=False)
    """What streams the records into the engine, where they are not there already."""

    def describe(self) -> str:
        """What this is, in public words: where it lives and how many columns it has."""
        number = len(self.schema.columns)
        return f"{self.label} ({number} column{'' if number == 1 else 's'})"

    def __repr__(self) -> str:
        return f"Source({self.describe()})"


def wrap(
    open_table: Callable[[], Any],
    label: str,
    *,
    version: Callable[[], str | None] = lambda: None,
    options: dict[str, tuple[Option, ...]] | None = None,
    columns: Mapping[str, ColumnType] | None = None,
    feed: Feed | None = None,
    remedy: str = "",
) -> Source:
    """A source from a function that opens an Ibis table, with its public schema; *columns* replaces some of its types."""

    def opened() -> tuple[Any, Schema]:
        table = open_table()
        check_engine(table.get_backend().name, label)
        listed = listed_options(table) if options is None else options
        table = as_text(table, list(listed))
        types = {name: column_type(dtype, listed.get(name)) for name, dtype in table.schema().items()}
        return table, Schema(tuple((types | dict(columns or {})).items()))

    table, schema = without_engine_message(label, "opened", opened, remedy=remedy)
    if not len(schema):
        raise TableError("data", label, "has no columns")
    return Source(table, schema, label, version, feed)


def of_ibis(open_table: Callable[[], Any], label: str) -> Source:
    """A source from a function that opens an Ibis table; its engine says which version of the data it is."""
    opened = wrap(open_table, label)

    def version() -> str | None:
        return without_engine_message(label, "read", lambda: version_of_ibis(opened.table))

    return replace(opened, version=version)


def fed_table(columns: object) -> Any:
    """A table in an embedded DuckDB that a feed fills when a query runs: its columns as names and Arrow types."""
    import pyarrow as pa

    connection = embedded()
    # Not empty_table(), which imports pandas where that is installed.
    connection.con.register(FED, pa.Table.from_batches([], schema=pa.schema(columns)))
    return connection.table(FED)


def fetch(table: Any, expression: Any) -> Rows:
    """Run one expression, once, where the table lives. Plain rows: a data frame would cost a second of imports.

    Private, as are feeds: only :mod:`optimaldp.tables.counting` calls it.
    """
    connection = table.get_backend()
    name = connection.name
    connection._run_pre_execute_hooks(expression)  # makes tables in memory known, as Ibis' own execution does
    query = connection.compile(expression)
    if name == "duckdb":
        return list(connection.raw_sql(query).fetchall())
    if name == "postgres":
        with connection.con.cursor() as cursor:
            return list(cursor.execute(query).fetchall())
    return [tuple(row) for row in connection._session.sql(query).collect()]


def without_engine_message(described: str, doing: str, work: Callable[[], Answer], *, remedy: str = "") -> Answer:
    """Run *work* on data; an error of the engine becomes one that names only the source and the error's type.

    **Guarantee.** The new error has neither a cause nor a context: nothing that the engine said can be reached from it.
    """
    try:
        return work()
    except OptimalDPError:
        raise
    except ImportError as error:
        replacement: Exception = _missing(described, error)
    except Exception as error:
        replacement = _replacement(described, doing, type(error).__name__, remedy)
    # Outside of the except block: even with "from None" the engine's error would stay reachable as the context.
    raise replacement


def _replacement(described: str, doing: str, name: str, remedy: str) -> TableError:
    rule = f"could not be {doing}: the engine reported {name}; its words are withheld because they may quote cells"
    return TableError("data", described, rule, remedy)


def _missing(described: str, error: ImportError) -> Exception:
    package = (error.name or "").split(".")[0]
    extra = EXTRAS.get(package)
    if extra:
        return MissingExtraError(package, extra)
    rule = (
        f"needs the package {package}, which is not installed" if package else "needs a package that is not installed"
    )
    return TableError("data", described, rule, "install Ibis with the part for this engine")
