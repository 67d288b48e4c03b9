"""Opening a table: files, databases, data frames in memory, Ibis tables. Nothing is counted here."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from pathlib import Path

from optimaldp.errors import TableError
from optimaldp.tables.csv_files import open_csv
from optimaldp.tables.databases import open_ibis, open_pair, open_url
from optimaldp.tables.declaring import declare
from optimaldp.tables.description import Description, is_description, read_description
from optimaldp.tables.frames import OPENERS, open_parquet
from optimaldp.tables.source import Source

_PATTERN = "glob:"
"""What a path starts with that is a pattern."""
# What the names of files end with.
_ENDINGS: dict[str, tuple[str, ...]] = {
    "Parquet": (".parquet", ".pq"),
    "CSV": tuple(f"{kind}{packed}" for kind in (".csv", ".tsv", ".txt") for packed in ("", ".gz", ".zst", ".bz2")),
}


def open_source(
    source: object,
    *,
    types: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    glob: bool = False,
    unreviewed: bool = False,
) -> Source:
    """Open a table.

    *source* is the path of a CSV or Parquet file or of a folder of them, ``duckdb:///file.db?table=t``, the URL of a server with
    a table (``postgres://…?table=t``), a pandas, polars, pyarrow or Spark table, an Ibis table, or a pair (Ibis connection, table
    name). A path is that file, whatever characters are in it; with *glob*, or written ``glob:surveys/*.csv``, it is a pattern.
    ``NAME.datapackage.json`` (or ``.toml``) is a description: its table is opened and read as described. A description that is
    not reviewed is refused, except with *unreviewed*.

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
    if isinstance(source, Description) or (text is not None and is_description(text)):
        description = source if isinstance(source, Description) else read_description(str(text))
        for field, value in (("types", types), ("delimiter", delimiter), ("encoding", encoding)):
            if value:
                raise TableError(
                    field, value, "is what the description says", "leave it out, or change the description"
                )
        if not unreviewed:
            description.need_review()
        table = open_source(description.path, delimiter=description.delimiter, encoding=description.encoding)
        return description.apply(table)
    if (delimiter is not None or encoding is not None or glob) and (text is None or "://" in text):
        field = "glob" if glob else "delimiter" if delimiter is not None else "encoding"
        raise TableError(field, delimiter or encoding or glob, "can be said of files only", "leave it out")
    if text is None:
        opened = _open_object(source)
    elif "://" in text:
        opened = open_url(text)
    else:
        title, paths = _files(text, pattern=glob)
        text = text.removeprefix(_PATTERN) if glob or not os.path.exists(text) else text
        label = f"{title} {'file' if paths == [text] else 'files'} {text}"

        open_files = open_csv if title == "CSV" else open_parquet
        opened = open_files(paths, label, delimiter=delimiter, encoding=encoding)
    return declare(opened, types) if types else opened


def _files(text: str, *, pattern: bool = False) -> tuple[str, list[str]]:
    """The format of the files that a path or pattern names, and the files."""
    pattern = pattern or (text.startswith(_PATTERN) and not os.path.exists(text))
    text = text.removeprefix(_PATTERN) if pattern else text
    paths = [text] if os.path.isfile(text) and not pattern else _found(text, pattern=pattern)
    formats = {next((name for name in _ENDINGS if path.lower().endswith(_ENDINGS[name])), None) for path in paths}
    if len(formats) > 1:
        raise TableError("data", text, "holds files of several formats", "write glob:folder/*.parquet for example")
    title = formats.pop()
    if title is None:
        remedy = "its name should end in .csv or .parquet"
        raise TableError("data", text, "is neither a CSV nor a Parquet file", remedy)
    return title, paths


def csv_paths(source: object) -> list[str]:
    """The CSV files that a source names; none for any other source."""
    text = os.fsdecode(source) if isinstance(source, (str, os.PathLike)) else None
    if text is None or "://" in text or is_description(text):
        return []
    title, paths = _files(text)
    return paths if title == "CSV" else []


def _found(text: str, *, pattern: bool) -> list[str]:
    """The files that a pattern names or a folder holds."""
    if pattern:
        paths = sorted(path for path in glob.glob(text, recursive=True) if os.path.isfile(path))
        if not paths:
            raise TableError("data", text, "matches no file", "give a pattern such as surveys/*.csv")
        return paths
    if os.path.isdir(text):
        files = [path for path in sorted(Path(text).rglob("*")) if path.is_file()]
        inside = [str(path) for path in files if path.name.lower().endswith(_ENDINGS["CSV"] + _ENDINGS["Parquet"])]
        if not inside:
            raise TableError("data", text, "is a folder without CSV or Parquet files")
        return inside
    if os.path.exists(text):  # a pipe, for example
        return [text]
    remedy = "give the path of a CSV or Parquet file"
    if glob.has_magic(text):
        remedy = f"if it is a pattern, write {_PATTERN}{text}, or say glob=True"
    raise TableError("data", text, "does not exist", remedy)


def _open_object(source: object) -> Source:
    if isinstance(source, Source):
        return source
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str):
        return open_pair(*source)
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
    return open_ibis(lambda: source, f"table {node.name}" if named else "Ibis expression")
