"""Opening a table: files, databases, data frames in memory, Ibis tables. Nothing is counted here."""

from __future__ import annotations

import os
from collections.abc import Mapping

from optimaldp.errors import TableError
from optimaldp.tables.databases import open_url
from optimaldp.tables.files import GLOB, open_path
from optimaldp.tables.frames import OPENERS
from optimaldp.tables.source import Source, declare, of_ibis


def open_source(
    source: object,
    *,
    types: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    glob: bool = False,
) -> Source:
    """Open a table.

    *source* is the path of a CSV or Parquet file or of a folder of them, ``duckdb:///file.db?table=t``, the URL of a server with
    a table (``postgres://…?table=t``), a pandas, polars, pyarrow or Spark table, an Ibis table, or a pair (Ibis connection, table
    name). A path is that file, whatever characters are in it; with *glob*, or written ``glob:surveys/*.csv``, it is a pattern.

    An Ibis expression is taken as the table: under substitution the number of its rows is public. A filter whose result should
    not be goes into *where* of the release.

    A CSV has no types, and its rows never decide any: every column is text, and the question says how a cell is read. *types*
    declares what the cells of a text column mean (``{"cost": "number 1,234.5", "day": "date %d/%m/%Y"}``); a cell that does not
    fit is NULL for that record alone. *delimiter* and *encoding* of a CSV are those of its first line and UTF-8 unless declared.

    **Guarantee.** No error, repr or description holds a cell, and no row decides how another is read.

    >>> import pyarrow
    >>> open_source(pyarrow.table({"smokes": ["yes", "no"]}))
    Source(pyarrow table in memory (1 column))
    """
    text = os.fsdecode(source) if isinstance(source, (str, os.PathLike)) else None
    if (delimiter is not None or encoding is not None or glob) and (text is None or "://" in text):
        field = "glob" if glob else "delimiter" if delimiter is not None else "encoding"
        raise TableError(field, delimiter or encoding or glob, "can be said of files only", "leave it out")
    if text is None:
        opened = _open_object(source)
    elif "://" in text:
        opened = open_url(text)
    else:
        pattern = glob or (text.startswith(GLOB) and not os.path.exists(text))
        opened = open_path(text.removeprefix(GLOB) if pattern else text, delimiter, encoding, pattern=pattern)
    return declare(opened, types) if types else opened


def _open_object(source: object) -> Source:
    if isinstance(source, Source):
        return source
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str):
        connection, name = source
        return of_ibis(lambda: connection.table(name), f"table {name}")
    package = type(source).__module__.split(".")[0]
    if package == "ibis":
        return _open_ibis(source)
    opener = OPENERS.get(package)
    if opener is None:
        kinds = "a path, a URL, a pandas, polars, pyarrow or Spark table, an Ibis table, or (connection, table name)"
        raise TableError("data", type(source).__name__, "is not a table that can be read", f"give {kinds}")
    return opener(source)


def _open_ibis(source: object) -> Source:
    import ibis.expr.operations as operations
    import ibis.expr.types as types

    if not isinstance(source, types.Table):
        kind = type(source).__name__
        raise TableError("data", kind, "is not a table", "give an Ibis table, or a pair (connection, table name)")
    node = source.op()
    # Only a table of a database has a name that a reader knows: an expression has none, a table in memory a made-up one.
    named = isinstance(node, operations.DatabaseTable)
    return of_ibis(lambda: source, f"table {node.name}" if named else "Ibis expression")
