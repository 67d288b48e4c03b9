"""A table that can be counted: where it lives, what is public about it, and the engine that runs a query on it.

Engine errors may quote cells (a CSV reader quotes the whole line): they are replaced by errors that do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from optimaldp.errors import MissingExtraError, OptimalDPError, TableError
from optimaldp.extras import EXTRAS
from optimaldp.tables.canonical import Stored, canonical, kind_of, name_of
from optimaldp.tables.engines import Engine
from optimaldp.tables.schema import ColumnType, Schema, unique_names
from optimaldp.tables.sql import SqlTable

if TYPE_CHECKING:
    from optimaldp.tables.description import Description

Answer = TypeVar("Answer")


@dataclass(frozen=True, repr=False)
class Source:
    """A table that can be counted. Its schema and description are public; its rows stay where they are."""

    table: SqlTable = field(compare=False)
    """The table that expressions are built on: its columns as canonical values."""
    schema: Schema
    label: str
    engine: Engine = field(compare=False)
    version: Callable[[], str | None] = field(default=lambda: None, compare=False)
    """A token that changes when the data does, or None where nothing tells: see :mod:`optimaldp.tables.versions`."""
    description: Description | None = None
    """The public description that the table is read by."""

    def describe(self) -> str:
        """What this is, in public words: where it lives and how many columns it has."""
        number = len(self.schema.columns)
        return f"{self.label} ({number} column{'' if number == 1 else 's'})"

    def __repr__(self) -> str:
        return f"Source({self.describe()})"


def source_of(
    relation: str,
    stored: list[Stored],
    engine: Engine,
    label: str,
    *,
    version: Callable[[], str | None] = lambda: None,
    columns: Mapping[str, ColumnType] | None = None,
    raw_names: list[str] | None = None,
) -> Source:
    """A source from a relation of an engine (SQL behind FROM) and its columns; *columns* replaces the types of some.

    *raw_names* are the names that the engine knows the columns by, where they are not their own.
    """
    if not stored:
        raise TableError("data", label, "has no columns")
    names = unique_names(tuple(column.name for column in stored))
    dialect, values, types = engine.dialect, {}, []
    for place, (name, column) in enumerate(zip(names, stored)):
        raw = f"t.{dialect.name_of(column.name if raw_names is None else raw_names[place])}"
        value, kind = canonical(column, raw, dialect), kind_of(column)
        options = (False, True) if kind == "truth" else column.options
        types.append((name, ColumnType(kind, name_of(column), options, required=column.required)))
        if value is not None:
            values[name] = replace(value, needs=frozenset([name]))
    given = dict(columns or {})
    schema = Schema(tuple((name, given.get(name, column)) for name, column in types))
    return Source(SqlTable(relation, values, dialect), schema, label, engine, version)


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
    return TableError("data", described, rule, "install it, or write the table to a Parquet file")
