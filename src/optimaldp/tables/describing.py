"""Making a description: types are proposed from the data for its steward's eyes; values are never written from the data.

What is computed here is not private. It is for the person who has the data anyway: a proposal that she reviews, and the cells
that cannot be read as described. Only names, types and formats are written to a file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from optimaldp.errors import TableError
from optimaldp.tables.csv_files import likely_encoding
from optimaldp.tables.description import Description, is_description, parse_description, read_description
from optimaldp.tables.opening import csv_paths, open_source
from optimaldp.tables.schema import Cell
from optimaldp.tables.source import Source, without_engine_message
from optimaldp.tables.sql import SqlTable

_LOOKED_AT = 100_000  # records that types are proposed from
_ENOUGH = 0.9  # of the cells: what a proposed type must be able to read
_SHOWN = 3
_TYPES = {
    "text": "string",
    "whole": "integer",
    "real": "number",
    "truth": "boolean",
    "date": "date",
    "time": "datetime",
}
# What a column of text may hold, the narrowest first; as keys of a field, and as the cell that reads it.
_CANDIDATES: tuple[tuple[dict[str, str], Cell], ...] = (
    ({"type": "boolean"}, Cell("truth")),
    ({"type": "integer"}, Cell("whole")),
    ({"type": "number"}, Cell("number")),
    ({"type": "number", "decimalChar": ",", "groupChar": "."}, Cell("number", (".", ","))),
    ({"type": "number", "groupChar": ","}, Cell("number", (",", "."))),
    ({"type": "number", "decimalChar": ",", "groupChar": " "}, Cell("number", (" ", ","))),
    ({"type": "date"}, Cell("date")),
    *(
        ({"type": "date", "format": form}, Cell("date", (form,)))
        for form in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y")
    ),
    ({"type": "datetime"}, Cell("time")),
    ({"type": "datetime", "format": "%d.%m.%Y %H:%M"}, Cell("time", ("%d.%m.%Y %H:%M",))),
    ({"type": "datetime", "format": "%d/%m/%Y %H:%M"}, Cell("time", ("%d/%m/%Y %H:%M",))),
)

WRITTEN = ({"type": "string"}, *(keys for keys, _ in _CANDIDATES))
"""The ways in which a column of text can be written, as keys of a field: what a proposal chooses from."""


@dataclass(frozen=True, repr=False)
class Unread:
    """Not for publication: how many cells of a column cannot be read as described, and up to three of them."""

    column: str
    cells: int
    examples: tuple[str, ...] = ()
    encoding: str | None = None
    """Where bytes of the cells cannot be decoded: the encoding that was tried."""

    def __str__(self) -> str:
        cells = "1 cell" if self.cells == 1 else f"{self.cells:,} cells"
        if self.encoding is not None:
            return f"{self.column}: {cells} cannot be read as {self.encoding}; is the encoding right?"
        shown = "".join(f" {example!r}" for example in self.examples)
        return f"{self.column}: {cells} cannot be read as described, for example{shown}"

    def __repr__(self) -> str:
        return f"Unread({self.column!r}, private)"


@dataclass(frozen=True, repr=False)
class Proposal:
    """A description that nobody has reviewed yet, for the steward of the data.

    ``document`` is the descriptor: names, types, formats. ``unread()`` reads the data again and is not for publication; nothing
    that a notebook shows of a proposal holds a cell.
    """

    document: Mapping[str, Any]
    source: Source = field(compare=False)

    def unread(self) -> list[Unread]:
        """What cannot be read as proposed. Not for publication."""
        return check_description(parse_description(self.document), self.source)

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the proposal; a file that is there already is never overwritten."""
        file = os.fspath(path)
        document = json.loads(json.dumps(self.document))
        where = document["resources"][0]["path"]
        if "://" not in where and not os.path.isabs(where):
            document["resources"][0]["path"] = os.path.relpath(where, os.path.dirname(file) or ".")
        try:
            with open(file, "x", encoding="utf-8") as opened:
                json.dump(document, opened, indent=2, ensure_ascii=False)
                opened.write("\n")
        except FileExistsError:
            rule = "exists already and is not overwritten"
            raise TableError("output", file, rule, "choose another name, or move the old one away") from None
        return file

    def __repr__(self) -> str:
        fields = self.document["resources"][0]["schema"]["fields"]
        return f"Proposal({self.source.describe()}: {', '.join(one['name'] + ' ' + one['type'] for one in fields[:8])})"


def describe(source: object, *, encoding: str | None = None, delimiter: str | None = None) -> Proposal:
    """Propose a description of a table, from its data, for the eyes of its steward.

    *source* is anything that can be opened; *encoding* and *delimiter* are those of a CSV. Where nobody says the encoding and
    the text does not seem to be UTF-8, windows-1252 (which is Latin-1 and more) is proposed.

    **Guarantee.** The proposal holds names, types and the way that cells are written, and ``"reviewed": false``. No value of the
    data is written into it. What she adds (options, ranges, who is a person) becomes public.

    >>> import pyarrow
    >>> describe(pyarrow.table({"age": [31, 47]})).document["optimaldp"]
    {'reviewed': False}
    """
    if encoding is None and (files := csv_paths(source)):
        encoding = without_engine_message("CSV", "described", lambda: likely_encoding(files))
    opened = open_source(source, encoding=encoding, delimiter=delimiter)
    fields = [{"name": name, **keys} for name, keys in _proposed(opened).items()]
    resource: dict[str, Any] = {"name": _resource_name(source), "path": _path(source)}
    if encoding is not None:
        resource["encoding"] = encoding
    if delimiter is not None:
        resource["dialect"] = {"delimiter": delimiter}
    resource["schema"] = {"missingValues": [""], "fields": fields}
    return Proposal({"name": resource["name"], "resources": [resource], "optimaldp": {"reviewed": False}}, opened)


def check_description(description: Description, source: Source | None = None) -> list[Unread]:
    """The cells that cannot be read as described, by column. Not for publication."""
    stored = source
    if stored is None:
        open_source(description, unreviewed=True)  # refused here where it does not fit
        stored = open_source(description.path, encoding=description.encoding, delimiter=description.delimiter)
    known = {name: f"c{place}" for place, name in enumerate(stored.schema.names)}
    read = {one.name: one.cell for one in description.fields if one.cell and stored.schema[one.name].kind == "text"}
    unread = {name: cell for name, cell in read.items() if cell.meaning not in ("open", "text")}
    values = {known[name]: stored.table[name] for name in known if stored.schema[name].kind == "text"}
    for name, cell in unread.items():
        text = stored.table[name]
        there = text.notnull() & ~text.isin(cell.missing) if cell.missing else text.notnull()
        values[f"bad_{known[name]}"] = there & cell.value(text).isnull()
    rows = stored.table.select(**values) if values else stored.table
    # One look at the table for all columns, then one more for each that is not read as described.
    told = {
        name: rows.count(where=value) if name.startswith("bad_") else rows[name].count()
        for name, value in rows.columns.items()
    }
    counts = dict(zip(told, _fetch(stored, rows.aggregate(**told))[0])) if values else {}
    found = _undecoded(description, stored, {name: counts.get(place, 0) for name, place in known.items()})
    for name in unread:
        if number := counts[f"bad_{known[name]}"]:
            cells = stored.table.select(cell=stored.table[name], bad=values[f"bad_{known[name]}"])
            different = cells.filter(cells["bad"]).group_by("cell").aggregate(number=cells.count())
            examples = _fetch(stored, different.limit(_SHOWN))
            found.append(Unread(name, int(number), tuple(str(example[0])[:40] for example in examples)))
    return found


def _undecoded(description: Description, stored: Source, there: Mapping[str, int]) -> list[Unread]:
    """The cells of a CSV whose bytes are no text in the encoding that is said: with Latin-1 every byte is some letter."""
    if not stored.label.startswith("CSV "):
        return []
    whole = open_source(description.path, encoding="latin-1", delimiter=description.delimiter)
    columns = {f"n{place}": whole.table[name].count() for place, name in enumerate(whole.schema.names)}
    counts = zip(stored.schema.names, _fetch(whole, whole.table.aggregate(**columns))[0])
    codec = description.encoding or "utf-8"
    return [Unread(name, int(cells - there[name]), encoding=codec) for name, cells in counts if cells > there[name]]


def _fetch(source: Source, query: SqlTable) -> list[tuple[Any, ...]]:
    return without_engine_message(source.label, "described", lambda: source.engine.run(query))


def _proposed(source: Source) -> dict[str, dict[str, str]]:
    """For each column a type and the way it is written; what a source with types says itself is taken over."""
    made: dict[str, dict[str, str]] = {}
    open_columns = [name for name, column in source.schema.columns if column.open]
    looks = _looks(source, open_columns) if open_columns else {}
    for name, column in source.schema.columns:
        made[name] = looks.get(name) or {"type": _TYPES.get(column.kind, "any")}
    return made


def _looks(source: Source, names: list[str]) -> dict[str, dict[str, str]]:
    """What most cells of each column look like, from the first records."""
    named = {f"c{place}": source.table[name] for place, name in enumerate(names)}
    first = source.table.select(**named).limit(_LOOKED_AT)
    counts = {}
    for place in range(len(names)):
        text = first[f"c{place}"]
        counts[f"n{place}"] = text.count()
        for number, (_, cell) in enumerate(_CANDIDATES):
            counts[f"n{place}_{number}"] = cell.value(text).count()
    row = _fetch(source, first.aggregate(**counts))[0]
    width = len(_CANDIDATES) + 1
    looks = {}
    for place, name in enumerate(names):
        there, *read = row[place * width : (place + 1) * width]
        best = max(read, default=0)
        if not there or best < _ENOUGH * there:
            looks[name] = {"type": "string"}
        else:
            looks[name] = dict(_CANDIDATES[read.index(best)][0])
    return looks


def _path(source: object) -> str:
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else "table"


def _resource_name(source: object) -> str:
    """The name of a table, from its path or URL."""
    path = _path(source)
    if "://" in path:
        return (parse_qs(urlsplit(path).query).get("table") or ["table"])[0]
    return os.path.basename(path.rstrip("/")).split(".")[0] or "table"


def accept(path: str | os.PathLike[str]) -> Description:
    """Set ``reviewed`` in the file of a description, which must say who is a person."""
    file = os.fspath(path)
    if not is_description(file):
        raise TableError(
            "description", file, "is not named like a description", "it ends in .datapackage.json or .toml"
        )
    made = read_description(file)
    if not made.says_person:
        remedy = 'write "person": "COLUMN" under "optimaldp", or "person": null if each row is a person'
        raise TableError("description", file, "does not say who is a person", remedy)
    if made.reviewed:
        return made
    with open(file, encoding="utf-8-sig") as opened:
        text = opened.read()
    pattern = r"(\breviewed\s*=\s*)false" if file.lower().endswith(".toml") else r'("reviewed"\s*:\s*)false'
    changed, times = re.subn(pattern, r"\1true", text)
    if times != 1:
        raise TableError("description", file, "does not say reviewed: false exactly once", "set it to true by hand")
    with open(file, "w", encoding="utf-8") as opened:
        opened.write(changed)
    return read_description(file)
