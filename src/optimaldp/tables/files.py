"""CSV and Parquet files, folders and globs, read by an embedded DuckDB."""

from __future__ import annotations

import glob
import gzip
import hashlib
import os
from pathlib import Path
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.sources import Source, wrap

_ENDINGS: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".csv.zst"),
}
_SMALL = 64 * 2**20  # bytes: up to here the types of a CSV are found from every line, beyond from a sample
_SAMPLE = 200_000  # lines
_DELIMITERS = (",", ";", "\t", "|")
_LONGEST_HEADER = 2**20
# Without BOOLEAN: the engine would turn a column of yes and no into truth values, and smokes = 'yes' would not be typed.
_CSV_TYPES = ["BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR"]


def open_path(text: str, types: dict[str, str] | None) -> Source:
    """A file, a folder of files or a glob."""
    paths = _paths(text)
    words, kind = _words(text, paths), _format(text, paths)
    token = version_of(paths)
    if kind == "parquet":
        if types is not None:
            raise TableError("types", types, "can be declared for CSV files only", "Parquet has types")
        remedy = "check that every file is Parquet and that all have the same columns"
        return wrap(lambda: _connect().read_parquet(paths), words, token=token, options={}, remedy=remedy)
    if all(os.path.getsize(path) == 0 for path in paths):
        raise TableError("data", text, "is empty: not even a header line", "a CSV starts with the names of its columns")
    remedy = "check the delimiter, the quotes and the number of fields in every line, or declare types="
    opened = wrap(lambda: _read_csv(paths, declared=types is not None), words, token=token, options={}, remedy=remedy)
    return opened if types is None else _declare(opened, types)


def version_of(paths: list[str]) -> str:
    """A token for the present content of files, from their paths, sizes and times of change: nothing is read."""
    facts = []
    for path in sorted(paths):
        state = os.stat(path)
        facts.append(f"{os.path.realpath(path)}\0{state.st_size}\0{state.st_mtime_ns}")
    return hashlib.sha256("\n".join(facts).encode(errors="surrogateescape")).hexdigest()[:32]


def _paths(text: str) -> list[str]:
    if os.path.isdir(text):
        found = [str(path) for path in sorted(Path(text).rglob("*")) if _ending(path.name) and path.is_file()]
        if not found:
            raise TableError("data", text, "is a folder without CSV or Parquet files")
        return found
    if os.path.exists(text):
        return [text]
    found = sorted(path for path in glob.glob(text, recursive=True) if os.path.isfile(path))
    if not found:
        rule = "matches no file" if glob.has_magic(text) else "does not exist"
        raise TableError("data", text, rule, "give the path of a CSV or Parquet file")
    return found


def _ending(name: str) -> str | None:
    return next((kind for kind, endings in _ENDINGS.items() if name.lower().endswith(endings)), None)


def _format(text: str, paths: list[str]) -> str:
    kinds = {_ending(path) for path in paths}
    kind = kinds.pop()
    if kinds:
        raise TableError("data", text, "holds files of several formats", "give a glob such as folder/*.parquet")
    if kind is None:
        raise TableError("data", text, "is neither a CSV nor a Parquet file", "its name should end in .csv or .parquet")
    return kind


def _words(text: str, paths: list[str]) -> str:
    kind = "Parquet" if _ending(paths[0]) == "parquet" else "CSV"
    return f"{kind} file {text}" if paths == [text] else f"{kind} files {text}"


def _connect() -> Any:
    from optimaldp.tables.engines import embedded

    return embedded()


def _read_csv(paths: list[str], *, declared: bool) -> Any:
    # The first line always holds the names, and it alone decides the delimiter. Were that left to the engine's guess, one
    # person's odd line could change how all are read, and the first person of a file of text could become its header.
    small = sum(os.path.getsize(path) for path in paths) <= _SMALL
    sample = 1 if declared else -1 if small else _SAMPLE
    settings: dict[str, Any] = {"all_varchar": True} if declared else {"auto_type_candidates": _CSV_TYPES}
    dialect = {"header": True, "delim": _delimiter(paths[0]), "quote": '"', "escape": '"', "strict_mode": True}
    return _connect().read_csv(paths, sample_size=sample, **dialect, **settings)


def _delimiter(path: str) -> str:
    """The delimiter that the header line holds most often, outside of quotes."""
    header = _first_line(path)
    unquoted = "".join(header.split('"')[::2])
    return max(_DELIMITERS, key=unquoted.count)


def _first_line(path: str) -> str:
    if path.lower().endswith(".zst"):
        return ""  # Python cannot look into it: a comma, then
    opener = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rb") as file:
        return file.readline(_LONGEST_HEADER).decode("utf-8", "replace")


def _declare(opened: Source, types: dict[str, str]) -> Source:
    """Give types to the columns of a CSV that was read as text; cells that do not fit are NULL."""
    asked = {opened.schema.find(name, field="types"): _declared_type(name, kind) for name, kind in types.items()}
    cast = {name: opened.table[name].try_cast(dtype) for name, dtype in asked.items()}
    return wrap(lambda: opened.table.mutate(**cast), opened.words, token=opened.token, options={})


def _declared_type(name: str, kind: str) -> Any:
    import ibis

    from optimaldp.tables.schema import column_type

    try:
        dtype = ibis.dtype(kind)
    except Exception:
        dtype = None
    if dtype is None or column_type(dtype).kind == "other":
        raise TableError("types", kind, f"is not a type for column {name}", "for example int64, float64, boolean, date")
    return dtype
