"""A table that can be counted: where it lives, and what is public about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.celltext import read_declaration
from optimaldp.tables.engines import as_text, check_engine, engine_name, listed_options
from optimaldp.tables.feeding import Feed, fetch
from optimaldp.tables.safety import without_engine_message
from optimaldp.tables.schema import ColumnType, Schema, column_type, of_cell
from optimaldp.tables.tally import Option
from optimaldp.tables.versions import read_as, version_of_ibis


@dataclass(frozen=True, repr=False)
class Source:
    """A table that can be counted. Its schema and description are public; its rows stay where they are."""

    table: Any = field(compare=False)
    """The table that expressions are built on: of Ibis, or of our own SQL."""
    schema: Schema
    label: str
    token: Callable[[], str | None] = field(default=lambda: None, compare=False)
    feed: Feed | None = field(default=None, compare=False)
    """What streams the records into the engine, where they are not there already."""

    def describe(self) -> str:
        """What this is, in public words: where it lives and how many columns it has."""
        columns = "1 column" if len(self.schema) == 1 else f"{len(self.schema)} columns"
        return f"{self.label} ({columns})"

    def version(self) -> str | None:
        """A token that changes when the data does, or None where nothing tells: see :mod:`optimaldp.tables.versions`."""
        return self.token()

    def fetch(self, expression: object) -> list[tuple[Any, ...]]:
        """Run one expression and return its rows. Private: only :mod:`optimaldp.tables.counting` calls it."""
        return without_engine_message(self.label, "counted", lambda: fetch(self.table, expression, self.feed))

    def __repr__(self) -> str:
        return f"Source({self.describe()})"


def wrap(
    open_table: Callable[[], Any],
    label: str,
    *,
    token: Callable[[], str | None] = lambda: None,
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
    return Source(table, schema, label, token, feed)


def of_ibis(open_table: Callable[[], Any], label: str) -> Source:
    """A source from a function that opens an Ibis table; its engine says which version of the data it is."""
    opened = wrap(open_table, label)
    return replace(opened, token=lambda: version_of_ibis(opened.table, label))


def declare(source: Source, types: Mapping[str, str]) -> Source:
    """Say what the cells of some text columns mean; a cell that does not fit is NULL, and nothing else depends on it."""
    declared: dict[str, ColumnType] = {}
    for written, kind in types.items():
        name, column = source.schema.find(written, field="types")
        cell = read_declaration(name, kind)
        if column.kind != "text":
            raise TableError("types", name, f"holds {column.words} already", "declare types for columns of text only")
        engine = engine_name(source.table)
        if cell.meaning in ("date", "time") and engine != "duckdb":
            rule = f"cannot be read from text in {engine}, which fails on a text that is none"
            raise TableError("types", kind, rule, "give the column a type in the database")
        declared[name] = of_cell(cell)
    columns = tuple((name, declared.get(name, column)) for name, column in source.schema.columns)

    def declared_version() -> str | None:
        token = source.version()
        return None if token is None else read_as(token, sorted(types.items()))

    return replace(source, schema=Schema(columns), token=declared_version)
