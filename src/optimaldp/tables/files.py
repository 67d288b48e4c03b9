"""CSV and Parquet files: one, a folder of them, or those that a pattern names."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables import sql
from optimaldp.tables.arrow_feed import DatasetFeed, has_unsafe_times, safe_schema
from optimaldp.tables.celltext import Cell
from optimaldp.tables.csv_files import open_csv
from optimaldp.tables.engines import embedded, forgives_bad_text
from optimaldp.tables.feeding import FED, fed_table
from optimaldp.tables.safety import without_engine_message
from optimaldp.tables.schema import Schema, of_cell
from optimaldp.tables.source import Source, wrap
from optimaldp.tables.tally import Option
from optimaldp.tables.versions import read_as, version_of

GLOB = "glob:"
"""What a path starts with that is a pattern."""

_ENDINGS: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "csv": tuple(f"{kind}{packed}" for kind in (".csv", ".tsv", ".txt") for packed in ("", ".gz", ".zst", ".bz2")),
}
_TITLES = {"parquet": "Parquet", "csv": "CSV"}


def open_path(text: str, delimiter: str | None = None, encoding: str | None = None, *, pattern: bool = False) -> Source:
    """A file or a folder of files; a pattern only if that is said."""
    paths = _matching(text) if pattern else _paths(text)
    kind = _format(text, paths)
    label = f"{_TITLES[kind]} {'file' if paths == [text] else 'files'} {text}"
    if kind == "csv":
        return _open_csv(paths, label, delimiter, encoding)
    if delimiter is not None or encoding is not None:
        field = "encoding" if delimiter is None else "delimiter"
        raise TableError(field, delimiter or encoding, "can be said of CSV files only", "leave it out")
    return _open_parquet(paths, label)


def _open_csv(paths: list[str], label: str, delimiter: str | None, encoding: str | None) -> Source:
    def token() -> str:
        own = without_engine_message(label, "read", lambda: version_of(paths))
        return own if delimiter is None and encoding is None else read_as(own, (delimiter, encoding))

    files = without_engine_message(label, "opened", lambda: open_csv(paths, delimiter=delimiter, encoding=encoding))
    schema = Schema(tuple((name, of_cell(Cell("open"))) for name in files.columns))
    table = sql.Records(FED, dict.fromkeys(files.columns, "string"))
    return Source(table, schema, label, token, files)


def _open_parquet(paths: list[str], label: str) -> Source:
    def token() -> str:
        return without_engine_message(label, "read", lambda: version_of(paths))

    remedy = "check that every file is Parquet and that all have the same columns"
    dataset = without_engine_message(label, "opened", lambda: _dataset(paths), remedy=remedy)
    # By the schema alone: what the engine reads by itself without failing on any value, and quicker.
    if has_unsafe_times(dataset.schema) or not forgives_bad_text():
        return open_dataset(dataset, label, token=token)
    exactly = [_unpatterned(path) for path in paths]
    return wrap(
        # Statistics of a file leave NaN out: believing them, the engine would fail on a row that has one, or pass over it.
        lambda: embedded().read_parquet(exactly, utf8_validation="replace", can_have_nan=True),
        label,
        token=token,
        options={},
        remedy=remedy,
    )


def _dataset(paths: list[str]) -> Any:
    """The files as an Arrow dataset."""
    import pyarrow.dataset as datasets

    return datasets.dataset(paths, format="parquet", partitioning="hive")


def open_dataset(dataset: Any, label: str, options: dict[str, tuple[Option, ...]] | None = None, **more: Any) -> Source:
    """An Arrow dataset that is streamed into the engine."""
    schema = safe_schema(dataset.schema)
    return wrap(lambda: fed_table(schema), label, options=options or {}, feed=DatasetFeed(dataset), **more)


def _unpatterned(path: str) -> str:
    """A path that the engine takes for that file alone, though it looks for patterns in every path."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def _paths(text: str) -> list[str]:
    if os.path.isdir(text):
        inside = [str(path) for path in sorted(Path(text).rglob("*")) if _ending(path.name) and path.is_file()]
        if not inside:
            raise TableError("data", text, "is a folder without CSV or Parquet files")
        return inside
    if os.path.exists(text):
        return [text]
    remedy = "give the path of a CSV or Parquet file"
    if glob.has_magic(text):
        remedy = f"if it is a pattern, write {GLOB}{text}, or say glob=True"
    raise TableError("data", text, "does not exist", remedy)


def _matching(text: str) -> list[str]:
    paths = sorted(path for path in glob.glob(text, recursive=True) if os.path.isfile(path))
    if not paths:
        raise TableError("data", text, "matches no file", "give a pattern such as surveys/*.csv")
    return paths


def _ending(name: str) -> str | None:
    return next((kind for kind, endings in _ENDINGS.items() if name.lower().endswith(endings)), None)


def _format(text: str, paths: list[str]) -> str:
    kinds = {_ending(path) for path in paths}
    kind = kinds.pop()
    if kinds:
        raise TableError("data", text, "holds files of several formats", "write glob:folder/*.parquet for example")
    if kind is None:
        raise TableError("data", text, "is neither a CSV nor a Parquet file", "its name should end in .csv or .parquet")
    return kind
